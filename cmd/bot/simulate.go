package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"faultline/simulate"
)

func newSimulateCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "simulate [flags]",
		Short: "generate test incidents with a known cause",
		Long: `
Writes logs for simulated incidents, in the formats of real systems, with the true cause alongside
(case.json). The same flags always produce the same bytes. Without --mechanism, everything varies:
mechanism, PyTorch generation, layout, size, clocks, noise and damage.

Examples:
  bot simulate --list
  bot simulate --mechanism rank-stalled --ranks 128 --out incidents/
  bot simulate --count 100 --seed 7 --out incidents/     then: bot eval incidents/
  bot simulate --mechanism native-crash --history host --out incidents/
                     then: bot diagnose --history incidents/*/history.jsonl incidents/*/logs

Exit code: 0 on success; 1 when files cannot be written; 2 on a usage error.`,
	}
	fs := cmd.Flags()
	var s simulation
	fs.BoolVar(&s.list, "list", false, "list the mechanisms\ne.g. --list")
	fs.StringVar(&s.mechanism, "mechanism", "", "what goes wrong: a `NAME` from --list\ne.g. --mechanism rank-stalled")
	fs.IntVar(&s.ranks, "ranks", 0, "number of ranks, `N`; 0 means the mechanism's default\ne.g. --ranks 128")
	fs.IntVar(&s.perNode, "per-node", 8, "ranks per node, `N`\ne.g. --per-node 4")
	fs.Uint64Var(&s.seed, "seed", 1, "random seed, `N`\ne.g. --seed 7")
	fs.StringVar(&s.torch, "torch", "", "PyTorch `VERSION` to imitate\ne.g. --torch 2.7")
	fs.StringVar(&s.layout, "layout", "", "how ranks are arranged: ddp, fsdp, hsdp:SHARDS or megatron:tpN,cpN,epN,ppN (`LAYOUT`)\ne.g. --layout megatron:tp4,pp2")
	fs.IntVar(&s.count, "count", 1, "how many incidents, `N`\ne.g. --count 100")
	fs.StringVar(&s.history, "history", "", "also write earlier runs of a `KIND` from --list, as history.jsonl next to the logs\ne.g. --history host")
	fs.StringVar(&s.out, "out", "", "`DIR` to write into; each incident gets a folder with logs/ and case.json, and ais-logs/ if it has storage logs\ne.g. --out incidents/")
	cmd.RunE = e.does(s.run)
	return cmd
}

type simulation struct {
	list                          bool
	mechanism, torch, layout, out string
	history                       string
	ranks, perNode, count         int
	seed                          uint64
}

func (s *simulation) run(ctx context.Context, e env, args []string) (int, error) {
	if len(args) > 0 {
		return exitUsage, usage("unexpected argument %q; use --out for the output directory", args[0])
	}
	if s.list {
		for i, title := range simulate.Lines() {
			fmt.Fprintln(e.out, title+":")
			for _, name := range simulate.Mechanisms(i + 1) {
				fmt.Fprintf(e.out, "  %s\n", name)
			}
		}
		fmt.Fprintln(e.out, "Histories of earlier runs (--history):")
		for _, kind := range simulate.Histories() {
			fmt.Fprintf(e.out, "  %s\n", kind)
		}
		return exitOK, nil
	}
	if s.history != "" && !slices.Contains(simulate.Histories(), s.history) {
		return exitUsage, usage("--history %s: unknown; bot simulate --list shows the names", s.history)
	}
	if s.out == "" {
		return exitUsage, usage("give an output directory: --out incidents/")
	}
	specs, err := s.specs()
	if err != nil {
		return exitUsage, err
	}
	for _, spec := range specs {
		if ctx.Err() != nil {
			return exitUnreadable, ctx.Err()
		}
		inc, err := simulate.Generate(spec)
		if err != nil {
			return exitUsage, usage("%s", strings.TrimPrefix(err.Error(), "simulate: ")) // the command's own name stands in front
		}
		if err := s.write(inc); err != nil {
			return exitUnreadable, err
		}
		fmt.Fprintf(e.out, "%s  %s\n", filepath.Join(s.out, inc.ID), inc.Title)
	}
	return exitOK, nil
}

// write writes an incident and, where one was asked for, its history: then a line of its logs states the job's name.
func (s *simulation) write(inc *simulate.Incident) error {
	if s.history == "" {
		return simulate.Write(s.out, inc)
	}
	const name = "nightly"
	inc.Files = append(inc.Files, simulate.File{Name: "environment.txt", Data: []byte("SLURM_JOB_NAME=" + name + "\n")})
	if err := simulate.Write(s.out, inc); err != nil {
		return err
	}
	data, _ := simulate.History(inc, simulate.HistorySpec{Seed: s.seed, Kind: s.history, Name: name})
	return writeFile(filepath.Join(s.out, inc.ID, "history.jsonl"), func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// specs are the incidents asked for: a grid over everything, or the demo's job with what the flags change.
func (s *simulation) specs() ([]simulate.Spec, error) {
	if s.count < 1 {
		return nil, usage("--count %d: must be at least 1", s.count)
	}
	shaped := s.ranks != 0 || s.torch != "" || s.layout != ""
	if s.mechanism == "" {
		if shaped {
			return nil, usage("--ranks, --torch and --layout belong to one mechanism: add --mechanism NAME (bot simulate --list)")
		}
		return simulate.Grid(s.count, s.seed, 0), nil
	}
	if !slices.Contains(simulate.Mechanisms(0), s.mechanism) {
		return nil, usage("unknown --mechanism %s; bot simulate --list shows them all", s.mechanism)
	}
	var specs []simulate.Spec
	for i := range s.count {
		spec, err := exampleOf(s.mechanism)
		if err != nil {
			return nil, err
		}
		spec.Seed = s.seed + uint64(i)
		if s.torch != "" {
			spec.Torch = s.torch
		}
		if err := s.shape(&spec); err != nil {
			return nil, err
		}
		specs = append(specs, spec)
	}
	return specs, nil
}

// exampleOf is an undamaged incident of a mechanism, in a shape that the simulator itself chose for it: of several the
// one with a log for each node, then of the newest PyTorch.
func exampleOf(mechanism string) (simulate.Spec, error) {
	if demo := simulate.Demo(); demo.Mechanism == mechanism {
		return demo, nil
	}
	var best simulate.Spec
	// What comes with logs of the storage is in no grid of all lines.
	for _, spec := range slices.Concat(simulate.Grid(1000, 1, 0), simulate.Grid(400, 1, len(simulate.Lines()))) {
		if spec.Mechanism != mechanism {
			continue
		}
		spec.Damage, spec.Ablate = "", ""
		if best.Mechanism == "" || better(spec, best) {
			best = spec
		}
	}
	if best.Mechanism != "" {
		return best, nil
	}
	return simulate.Spec{}, fmt.Errorf("the simulator has no example of %s", mechanism)
}

func better(a, b simulate.Spec) bool {
	if (a.FileMode == "node") != (b.FileMode == "node") {
		return a.FileMode == "node"
	}
	return newer(a.Torch, b.Torch)
}

// newer compares versions as the simulator names them: "2.10" is newer than "2.9", and a word ("recent") than a number.
func newer(a, b string) bool {
	parse := func(v string) (major, minor int) {
		if n, _ := fmt.Sscanf(v, "%d.%d", &major, &minor); n == 0 {
			return 1 << 30, 0
		}
		return major, minor
	}
	aMajor, aMinor := parse(a)
	bMajor, bMinor := parse(b)
	return aMajor > bMajor || aMajor == bMajor && aMinor > bMinor
}

// shape applies --ranks, --per-node and --layout.
func (s *simulation) shape(spec *simulate.Spec) error {
	if s.ranks == 0 && s.layout == "" {
		return nil
	}
	ranks := spec.NodeCount * spec.PerNode
	if s.ranks != 0 {
		ranks = s.ranks
		spec.PerNode = min(s.perNode, ranks)
	}
	switch {
	case ranks < 2:
		return usage("--ranks %d: must be at least 2", ranks)
	case spec.PerNode < 1:
		return usage("--per-node %d: must be at least 1", s.perNode)
	case ranks%spec.PerNode != 0:
		return usage("--ranks %d can't be divided into nodes of %d; change --per-node", ranks, s.perNode)
	}
	spec.NodeCount = ranks / spec.PerNode
	if s.layout != "" {
		var err error
		if spec.Layout, err = parseLayout(s.layout); err != nil {
			return err
		}
	}
	l := &spec.Layout
	fixed := max(l.TP, 1) * max(l.CP, 1) * max(l.EP, 1) * max(l.PP, 1)
	if l.Kind == "hsdp" || l.Kind == "megatron" {
		if ranks%fixed != 0 {
			return usage("%d ranks can't be divided by the layout's %d", ranks, fixed)
		}
		l.DP = ranks / fixed
	} else {
		l.DP = ranks
	}
	return nil
}

func parseLayout(text string) (simulate.Layout, error) {
	kind, rest, _ := strings.Cut(text, ":")
	l := simulate.Layout{Kind: kind, TP: 1, CP: 1, EP: 1, DP: 1, PP: 1}
	bad := usage("--layout %s: write ddp, fsdp, hsdp:8 or megatron:tp4,pp2", text)
	switch kind {
	case "ddp", "fsdp":
		if rest != "" {
			return l, bad
		}
	case "hsdp":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 {
			return l, bad
		}
		l.TP = n
	case "megatron":
		for _, part := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' }) {
			if len(part) < 3 {
				return l, bad
			}
			n, err := strconv.Atoi(part[2:])
			if err != nil || n < 1 {
				return l, bad
			}
			to := map[string]*int{"tp": &l.TP, "cp": &l.CP, "ep": &l.EP, "pp": &l.PP}[part[:2]]
			if to == nil {
				return l, bad
			}
			*to = n
		}
	default:
		return l, bad
	}
	return l, nil
}
