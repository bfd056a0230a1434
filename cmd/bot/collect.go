package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"faultline/fetch/slurm"
	"faultline/knowledge/collect"
)

var collectCommand = command{
	name:     "collect",
	synopsis: "JOBID",
	short:    "print the command that gathers evidence of a job that hangs right now",
	long: `
Prints one command. Paste it where srun is, in a folder that the nodes of the job see as well. On every node it takes, beside the
running job (srun --overlap): stacks of all training processes (py-spy) with their ranks, what the kernel says of them, dumps of
flight recorders, NCCL's own RAS, nvidia-smi -q, the kernel's log, and counters of the network. It reads only, needs no root and at most
six minutes; what cannot be had is listed in the bundle. Do not cancel the job before it is done.

Examples:
  bot collect 4242
  bot diagnose --evidence faultline-4242.tar.gz logs-4242/

Exit code: 0; 2 wrong usage.`,
	setup: func(*flag.FlagSet) func(context.Context, env, []string) (int, error) {
		return func(_ context.Context, e env, args []string) (int, error) {
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
		}
	},
}
