package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"faultline/fetch/slurm"
	"faultline/knowledge/collect"
)

func newCollectCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "collect JOBID",
		Short: "print a command that collects evidence from a hanging job",
		Long: `
Prints one command. Run it on a host with srun, in a folder shared with the job's nodes. On every node, alongside the
running job (srun --overlap), it collects: stacks of all training processes (py-spy) with their ranks and kernel state,
flight-recorder dumps, NCCL RAS output, nvidia-smi -q, the kernel log, and network counters. Stacks, RAS and counters are taken twice, 90 s apart: what has moved is slow, not stuck. An earlier bundle is never overwritten. It is read-only, needs no root and takes at most
eight minutes; the bundle lists anything it could not collect. Don't cancel the job until it is done.

Examples:
  bot collect 4242
  bot diagnose --evidence faultline-4242.tar.gz logs-4242/

Exit code: 0 on success; 2 on a usage error.`,
	}
	cmd.RunE = e.does(func(_ context.Context, e env, args []string) (int, error) {
		if len(args) != 1 {
			return exitUsage, usage("name one job: bot collect 4242")
		}
		id, err := slurm.ParseID(strings.TrimSpace(args[0]))
		if err != nil {
			return exitUsage, usage("%v", err)
		}
		text, err := collect.Command(id.String())
		if err != nil {
			return exitUsage, usage("%v", err)
		}
		_, err = fmt.Fprint(e.out, text)
		return exitOK, err
	})
	return cmd
}
