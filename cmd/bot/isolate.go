package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"faultline/analysis/artifact/nccltests"
	"faultline/analysis/hostlist"
	"faultline/incident"
	"faultline/isolate"
	probes "faultline/probe"
)

func newIsolateCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "isolate --ledger FILE [flags] [TEST=OUTCOME...]",
		Short: "narrow a fault down to a node, link, switch or size, test by test",
		Long: `
Proposes a round of tests, explains what each outcome would mean, and narrows your results down to one culprit, in about
log₂(number of nodes) rounds. You run the tests; this command runs nothing and contacts no cluster. Outcomes may be wrong
now and then (a flaky fault passes), so no single test rules anything out. The ledger
is a file: pass it again with the outcomes. You can correct an outcome.

A test reproduces the fault: it fails, hangs, or falls below a bandwidth. Without --test it is all_reduce_perf from nccl-tests, whose
output can be given as the outcome (1a=run-1a.txt; set the minimum bandwidth with --floor).

With --components it tests compute, memory, data and communication one at a time instead, on all nodes, with the program that bot probe writes. Its
output can be given as the outcome, too.

Examples:
  bot isolate --ledger f.json --nodes 'cn[001-064]' --gpus 8 --partition gpu --time 10 --floor 180
  bot isolate --ledger f.json 1a=fail
  bot isolate --ledger f.json 2a=run-2a.txt 2b=run-2b.txt
  bot isolate --ledger f.json --report report.json --for link --topology /etc/slurm/topology.conf
  bot isolate --ledger s.json --sizes gpus --good 8 --bad 512 --gpus 8 --test './train.sh'
  bot isolate --ledger c.json --components --nodes 'cn[001-008]' --gpus 8
  bot isolate --ledger c.json 1a=compute.txt 1b=memory.txt 1c=data.txt 1d=communication.txt
  bot isolate --ledger b.json --sizes batch --good 16 --bad 64 --test 'srun -N1 ./train.sh --batch {size}'

Exit code: 0 = found the culprit or the failing size; 3 = more tests are needed, or the search found nothing; 2 = usage error; 1 = a file can't
be read or written.`,
	}
	fs := cmd.Flags()
	var x isolation
	x.declare(fs)
	cmd.RunE = e.does(x.run)
	return cmd
}

// isolation is one run of the command.
type isolation struct {
	ledger, nodes, suspects, report, topology, kind string
	partition, limit, test, sizes                   string
	gpus, groups, good, bad, step                   int
	components                                      bool
	flaky, floor                                    float64
}

func (x *isolation) declare(fs *pflag.FlagSet) {
	fs.StringVar(&x.ledger, "ledger", "", "keep the search state in `FILE`; starts a new search if it does not exist\ne.g. --ledger isolate-4242.json")
	fs.StringVar(&x.nodes, "nodes", "", "search among these nodes (`LIST`)\ne.g. --nodes 'cn[001-064]'")
	fs.StringVar(&x.report, "report", "", "take the nodes and suspects from the report in `FILE` (bot diagnose --format json)\ne.g. --report report.json")
	fs.StringVar(&x.suspects, "suspects", "", "nodes (`LIST`) already under suspicion\ne.g. --suspects cn017")
	fs.StringVar(&x.kind, "for", "any", "what to look for: any, node, link or switch (`KIND`)\ne.g. --for link")
	fs.StringVar(&x.topology, "topology", "", "SLURM's topology.conf (`FILE`), to find a switch\ne.g. --topology /etc/slurm/topology.conf")
	fs.StringVar(&x.partition, "partition", "", "run in this partition (`NAME`)\ne.g. --partition gpu")
	fs.StringVar(&x.limit, "time", "10", "time limit per test, as for srun (`TIME`)\ne.g. --time 10")
	fs.StringVar(&x.test, "test", "", "the `COMMAND` that reproduces the fault; {size} is replaced by a size\ne.g. --test './train.sh --steps 20'")
	fs.IntVar(&x.gpus, "gpus", 0, "GPUs per node (`N`)\ne.g. --gpus 8")
	fs.IntVar(&x.groups, "side-by-side", 2, "run up to `N` tests of a round at once\ne.g. --side-by-side 4")
	fs.StringVar(&x.sizes, "sizes", "", "search for a size instead of a culprit: gpus, batch or layers (`OF`)\ne.g. --sizes gpus")
	fs.BoolVar(&x.components, "components", false, "test compute, memory, data and communication one at a time\ne.g. --components")
	fs.IntVar(&x.good, "good", 0, "the size that works (`N`)\ne.g. --good 8")
	fs.IntVar(&x.bad, "bad", 0, "the size that fails (`N`)\ne.g. --bad 512")
	fs.IntVar(&x.step, "step", 0, "only try multiples of `N`; 0 = whole nodes for GPUs, otherwise 1\ne.g. --step 8")
	fs.Float64Var(&x.flaky, "flaky", 0.05, "fraction of outcomes that are wrong (`P`)\ne.g. --flaky 0.2")
	fs.Float64Var(&x.floor, "floor", 0, "an nccl-tests run below this bus bandwidth counts as failed (`GB/s`)\ne.g. --floor 180")
}

// maxLedger bounds a ledger that is read.
const maxLedger = 64 << 20

// search is what the file holds.
type search struct {
	isolate.Ledger
	Floor float64 `json:"floor,omitempty"`
}

func (x *isolation) run(ctx context.Context, e env, args []string) (int, error) {
	if x.ledger == "" {
		return exitUsage, usage("give the ledger file: bot isolate --ledger isolate-4242.json --nodes 'cn[001-064]'")
	}
	l, err := x.load()
	if errors.Is(err, fs.ErrNotExist) {
		if len(args) > 0 {
			return exitUsage, usage("%s does not exist yet, so there is no test %s: begin with --nodes or --sizes", x.ledger, args[0])
		}
		l, err = x.begin()
		if err != nil {
			return exitUsage, usage("%v", err)
		}
	} else if err != nil {
		return exitUnreadable, err
	} else if x.nodes != "" || x.sizes != "" || x.report != "" {
		return exitUsage, usage("%s already holds a search: continue without --nodes, --sizes and --report, or use another file", x.ledger)
	}
	if x.floor > 0 {
		l.Floor = x.floor
	}
	for _, a := range args {
		if err := l.take(ctx, a); err != nil {
			return exitUsage, usage("%v", err)
		}
	}
	tests, f, err := l.Next()
	if err != nil {
		return exitUsage, usage("%v", err)
	}
	err = writeFile(x.ledger, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", " ")
		return enc.Encode(l)
	})
	if err != nil {
		return exitUnreadable, err
	}
	if err := l.Write(e.out, x.ledger, tests, f); err != nil {
		return exitUnreadable, err
	}
	if f == nil || f.Absent || len(f.Open) > 0 {
		return exitInconclusive, nil
	}
	return exitOK, nil
}

func (x *isolation) load() (*search, error) {
	file, err := os.Open(x.ledger)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var l search
	d := json.NewDecoder(io.LimitReader(file, maxLedger))
	d.DisallowUnknownFields()
	if err := d.Decode(&l); err != nil {
		return nil, fmt.Errorf("%s is not a bot isolate ledger: %w", x.ledger, err)
	}
	return &l, nil
}

// begin makes a ledger of the flags.
func (x *isolation) begin() (*search, error) {
	l := &search{Ledger: isolate.Ledger{Flaky: x.flaky, Groups: x.groups, Command: x.test, Partition: x.partition, Limit: x.limit, GPUs: x.gpus}}
	if x.sizes != "" {
		return l, x.beginSizes(l)
	}
	switch {
	case l.Command == "" && x.components:
		l.Command = isolate.ComponentTest
	case l.Command == "":
		l.Command = isolate.UsualTest
	}
	if x.components {
		l.Components = isolate.JobComponents
	}
	l.Kind = isolate.Kind(x.kind)
	var err error
	if x.report != "" {
		r, err := readReport(x.report)
		if err != nil {
			return nil, err
		}
		l.Nodes, l.Suspects = r.Coverage.NodesExpected, suspects(r)
		if len(l.Nodes) == 0 {
			l.Nodes = r.Coverage.NodesSeen
		}
	}
	if x.nodes != "" {
		if l.Nodes, err = hostlist.Expand(x.nodes); err != nil {
			return nil, fmt.Errorf("--nodes: %w", err)
		}
	}
	if len(l.Nodes) == 0 {
		return nil, errors.New("name the nodes: --nodes 'cn[001-064]', or --report report.json")
	}
	if x.suspects != "" {
		if l.Suspects, err = hostlist.Expand(x.suspects); err != nil {
			return nil, fmt.Errorf("--suspects: %w", err)
		}
	}
	if x.topology != "" {
		file, err := os.Open(x.topology)
		if err != nil {
			return nil, fmt.Errorf("--topology: %w", err)
		}
		defer file.Close()
		if l.Topology, err = isolate.ReadTopology(file); err != nil {
			return nil, fmt.Errorf("--topology %s: %w", x.topology, err)
		}
	}
	return l, nil
}

func (x *isolation) beginSizes(l *search) error {
	if l.Command == "" {
		return errors.New("--sizes needs the command that shows the fault: --test './train.sh --batch {size}'")
	}
	if x.sizes != isolate.GPUs && !strings.Contains(l.Command, isolate.Size) {
		return fmt.Errorf("--test has no %s, so every size would run the same", isolate.Size)
	}
	step := x.step
	if step == 0 && x.sizes == isolate.GPUs {
		step = max(1, x.gpus)
	}
	l.Sizes = &isolate.Sizes{Of: x.sizes, Good: x.good, Bad: x.bad, Step: step}
	return nil
}

// suspects are the nodes of the verdict's root.
func suspects(r *incident.Report) []string { return slices.Clone(r.Verdict.Root.Nodes) }

// take records one TEST=OUTCOME.
func (l *search) take(ctx context.Context, arg string) error {
	id, value, ok := strings.Cut(arg, "=")
	if !ok {
		return fmt.Errorf("%q is not an outcome: write 1a=fail, 1a=pass, or 1a=FILE with the output of nccl-tests or bot probe", arg)
	}
	o := isolate.Outcome(strings.ToLower(value))
	switch o {
	case isolate.Pass, isolate.Fail, isolate.Void:
		return l.Record(id, o)
	}
	data, err := os.ReadFile(value)
	if err != nil {
		return fmt.Errorf("%s: not pass, fail or void, and not a file: %w", arg, err)
	}
	if o, err = l.judge(ctx, data); err != nil {
		return fmt.Errorf("%s: %w", value, err)
	}
	return l.Record(id, o)
}

// judge is how a run of nccl-tests ended.
func (l *search) judge(ctx context.Context, data []byte) (isolate.Outcome, error) {
	if results, err := probes.Read(bytes.NewReader(data)); err == nil && len(results) > 0 {
		if len(probes.Judge(results)) > 0 {
			return isolate.Fail, nil
		}
		return isolate.Pass, nil
	}
	runs, err := nccltests.Read(ctx, bytes.NewReader(data))
	if err != nil {
		return "", err
	}
	if len(runs) == 0 {
		return "", errors.New("this isn't nccl-tests output: say pass or fail")
	}
	r := runs[len(runs)-1]
	_, bus, measured := r.Peak()
	switch {
	case r.Failed || r.Below || len(r.Errors) > 0 || !measured || !r.HasAverage:
		return isolate.Fail, nil
	case l.Floor == 0:
		return "", fmt.Errorf("the test completed at %.1f GB/s: say pass or fail, or set the minimum with --floor", bus)
	case bus < l.Floor:
		return isolate.Fail, nil
	}
	return isolate.Pass, nil
}
