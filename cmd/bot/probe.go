package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"faultline/analysis/hostlist"
	probes "faultline/probe"
)

func newProbeCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "probe [--out FILE | RESULT...]",
		Short: "test compute, memory, data or communication alone, on every rank",
		Long: `
Without RESULT it writes a small Python program that tests one component of a training job and nothing else, on every rank: "compute" repeats
a forward and backward pass and compares the bits, "memory" fills the GPU's memory and reads it again, "data" reads files or the job's
own loader, "communication" runs an all-reduce whose sum is known. Start one process for each GPU, with srun or torchrun, on the nodes and in the
environment of the job. A component that works alone is not the cause.

With RESULT, the output of that program, it says which ranks failed, are missing, or were slower than the median by half.

The program also checks a tensor within your training script: probe.same("hidden", x, group) raises on all ranks where one holds another
shape or type.

Examples:
  bot probe --out probe.py
  srun --ntasks-per-node=8 --gpus-per-node=8 python3 probe.py compute > compute.txt
  srun --ntasks-per-node=8 python3 probe.py data --loader train:make_loader > data.txt
  bot probe compute.txt data.txt
  bot isolate --ledger c.json --components --nodes 'cn[001-008]' --gpus 8

Exit code: 0 = the program was written, or every rank is fine; 3 = a component failed or is slow on some rank; 2 = usage error; 1 = a file can't be read or
holds no result.`,
	}
	var out string
	cmd.Flags().StringVar(&out, "out", "", "write the program to `FILE` instead of standard output\ne.g. --out probe.py")
	cmd.RunE = e.does(func(_ context.Context, e env, args []string) (int, error) {
		if len(args) > 0 && out != "" {
			return exitUsage, usage("--out and a result: give one of them")
		}
		if len(args) > 0 {
			return probed(e, args)
		}
		write := func(w io.Writer) error {
			_, err := w.Write(probes.Script)
			return err
		}
		if out == "" {
			return exitOK, write(e.out)
		}
		if err := writeFile(out, write); err != nil {
			return exitUnreadable, err
		}
		fmt.Fprintf(e.err, "Run: srun --ntasks-per-node=N --gpus-per-node=N python3 %s %s > RESULT; bot probe RESULT\n", out, strings.Join(probes.Components, "|"))
		return exitOK, nil
	})
	return cmd
}

// probed says what results show.
func probed(e env, files []string) (int, error) {
	var all []probes.Result
	for _, name := range files {
		results, err := probeResults(name)
		if err != nil {
			return exitUnreadable, fmt.Errorf("%s: %w", name, err)
		}
		if len(results) == 0 {
			return exitUnreadable, fmt.Errorf("%s holds no result of bot probe", name)
		}
		all = append(all, results...)
	}
	troubles := probes.Judge(all)
	for _, t := range troubles {
		where := ""
		if len(t.Nodes) > 0 {
			where = " on " + hostlist.Compress(t.Nodes)
		}
		fmt.Fprintln(e.out, printable(fmt.Sprintf("%s: %s%s: %s", t.Component, ranksText(t.Ranks), where, t.Text), 500))
	}
	if len(troubles) > 0 {
		return exitInconclusive, nil
	}
	fmt.Fprintf(e.out, "Nothing wrong: %s.\n", count(len(all), "result"))
	return exitOK, nil
}

func probeResults(name string) ([]probes.Result, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return probes.Read(f)
}

// mostNamed bounds how many ranks a line names.
const mostNamed = 8

func ranksText(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	text := "ranks " + strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ranks[:min(len(ranks), mostNamed)])), ", "), "[]")
	if more := len(ranks) - mostNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}
