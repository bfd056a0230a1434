package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"faultline/analysis"
	"faultline/analysis/hostlist"
	"faultline/analysis/worker"
	"faultline/eval"
	"faultline/incident"
	"faultline/simulate"
)

func newEvalCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval [flags] DIR...",
		Short: "run cases with known answers and score the results",
		Long: `
Diagnoses every case under DIR (a folder with case.json and logs/, and ais-logs/ if it has storage
logs) and prints the scoreboard: root rank and node, origin, mechanism, size of the answer,
coverage, forbidden conclusions, and confidence against outcome.

Examples:
  bot eval corpus/
  bot eval --simulated 1000 --seed 7
  bot eval corpus/ --simulated 200 --format markdown > docs/scoreboard.md
  bot eval corpus/ captures/ --simulated 2000 --freeze ../frozen    keep every report, and the cases
  bot eval --against ../frozen --sample                             run them again: what changed?
  bot eval --blind corpus/ --simulated 200     as if the lines that verdicts rest on were unknown
  bot eval --drift                             with those lines reworded, over 200 simulated incidents
  bot eval --collected                         with all logs in one, as a collector nobody has seen writes it

--freeze also takes folders of raw captures, which have no case.json. It copies the logs of all cases; keep the copies as private as the originals.
bench/freeze.sh freezes everything, including the tables in the engine's tests.

Exit code: 0 on success; 1 when a case cannot be read, or a field is not what was frozen; 2 on a usage error.`,
	}
	fs := cmd.Flags()
	var v evaluation
	v.common.declare(fs)
	fs.IntVar(&v.workers, "workers", 0, "run `N` cases at a time; 0 means one per CPU. Doesn't affect the score\ne.g. --workers 4")
	fs.StringVar(&v.format, "format", "text", "text, markdown or json (`FORMAT`)\ne.g. --format markdown")
	fs.BoolVar(&v.failures, "failures", false, "list every failed case, not just the first\ne.g. --failures")
	fs.IntVar(&v.simulated, "simulated", 0, "also run `N` simulated incidents, in a temporary directory\ne.g. --simulated 1000")
	fs.Uint64Var(&v.seed, "seed", 1, "random seed for those, `N`\ne.g. --seed 7")
	fs.IntVar(&v.line, "line", 0, "simulate only 1 = hangs, 2 = process killers, 3 = data and storage, 4 = numerics and performance, 5 = synchronization points, or 6 = storage with daemon logs; 0 = everything the job's logs alone can show (`LINE`)\ne.g. --line 1")
	fs.StringVar(&v.freeze, "freeze", "", "write the cases and their full reports to `DIR`, one file per folder of cases\ne.g. --freeze ../frozen")
	fs.StringVar(&v.against, "against", "", "run the cases frozen in `DIR` (or in one of its files), and list every report field that changed\ne.g. --against ../frozen")
	fs.BoolVar(&v.sample, "sample", false, "with --against: run only about 200 cases of each kind, always the same ones\ne.g. --sample")
	fs.StringArrayVar(&v.ignore, "ignore", nil, "with --against: this `FIELD` and everything in it may change; may be repeated\ne.g. --ignore terminal")
	fs.BoolVar(&v.sized, "with-world-size", false, "also give the engine each case's number of ranks; most people give only the logs\ne.g. --with-world-size")
	fs.BoolVar(&v.blind, "blind", false, "run each case again without any knowledge of the lines its verdict cites, buried in noise\ne.g. --blind")
	fs.BoolVar(&v.collected, "collected", false, "run each case again with its logs merged into one, each line behind a prefix that was made up for the case\ne.g. --collected")
	fs.StringVar(&v.collectors, "collectors", "", "with --collected, take the prefixes from FILE: name, source, kind (text, json) and template, a line each\ne.g. --collectors formats.tsv")
	fs.BoolVar(&v.drift, "drift", false, "run each case again with the lines its verdict rests on reworded, buried in noise\ne.g. --drift")
	complete(cmd, "format", []string{"text", "markdown", "json"})
	cmd.RunE = e.does(v.run)
	return cmd
}

type evaluation struct {
	common
	format          string
	failures        bool
	simulated, line int
	seed            uint64
	freeze, against string
	sample          bool
	ignore          []string
	blind, drift    bool
	collected       bool
	collectors      string
	sized           bool
}

// tries says that cases are run twice.
func (v *evaluation) tries() bool { return v.blind || v.drift || v.collected }

// sampled is how many simulated incidents are tried where no case is named.
const sampled = 200

func (v *evaluation) run(ctx context.Context, e env, dirs []string) (int, error) {
	if _, _, err := v.load(e.err); err != nil {
		return exitUsage, err
	}
	if v.tries() && len(dirs) == 0 && v.simulated == 0 {
		v.simulated = sampled
	}
	if err := v.valid(dirs); err != nil {
		return exitUsage, err
	}
	switch {
	case v.freeze != "":
		return v.freezeCases(ctx, e, dirs)
	case v.against != "":
		return v.compare(ctx, e)
	}
	return v.score(ctx, e, dirs)
}

func (v *evaluation) valid(dirs []string) error {
	switch {
	case v.sized && (v.freeze != "" || v.against != ""):
		return usage("--with-world-size is for scores: frozen cases always get their number of ranks")
	case v.against != "" && (v.freeze != "" || len(dirs) > 0 || v.simulated > 0):
		return usage("--against runs only the frozen cases")
	case v.tries() && (v.against != "" || v.freeze != ""):
		return usage("--blind, --drift and --collected keep a separate score; they freeze nothing")
	case v.tries() && v.format == "markdown":
		return usage("--format markdown: --blind, --drift and --collected write only text or json")
	case v.against == "" && (v.sample || len(v.ignore) > 0):
		return usage("--sample and --ignore only work with --against")
	case v.against != "" && v.format == "markdown":
		return usage("--format markdown: --against lists changes only as text or json")
	case len(dirs) == 0 && v.simulated == 0 && v.against == "":
		return usage("name a directory of cases, or run simulated ones: bot eval --simulated 100")
	case v.format != "text" && v.format != "markdown" && v.format != "json":
		return usage("--format %s: choose text, markdown or json", v.format)
	case v.line < 0 || v.line > len(simulate.Lines()) || v.simulated < 0:
		return usage("--line must be 0 to %d, and --simulated must not be negative", len(simulate.Lines()))
	case v.simulated > 0 && len(simulate.Mechanisms(v.line)) == 0:
		return usage("--line %d: nothing is simulated for it", v.line)
	}
	return nil
}

// score diagnoses cases whose answer is known and prints the scoreboard.
func (v *evaluation) score(ctx context.Context, e env, dirs []string) (int, error) {
	if v.simulated > 0 {
		dir, err := os.MkdirTemp("", "faultline-eval-")
		if err != nil {
			return exitUnreadable, fmt.Errorf("making a temporary directory: %w", err)
		}
		defer os.RemoveAll(dir)
		for _, spec := range simulate.Grid(v.simulated, v.seed, v.line) {
			inc, err := simulate.Generate(spec)
			if err != nil {
				return exitUnreadable, err
			}
			if err := simulate.Write(dir, inc); err != nil {
				return exitUnreadable, err
			}
		}
		dirs = append(dirs, dir)
	}
	if v.tries() {
		return v.try(ctx, e, dirs)
	}
	count := newCounter(e.err)
	board, err := eval.Run(ctx, dirs, eval.Options{Diagnose: diagnoseCase, Sized: v.sized, Workers: v.workers, Progress: count.update})
	count.clear()
	if err != nil {
		return exitUnreadable, err
	}
	switch v.format {
	case "json":
		err = board.JSON(e.out)
	case "markdown":
		err = board.Markdown(e.out)
	default:
		err = board.Text(e.out, v.failures)
	}
	if err != nil {
		return exitUnreadable, fmt.Errorf("writing the scoreboard: %w", err)
	}
	return exitOK, nil
}

// try runs cases as if nobody had foreseen them.
func (v *evaluation) try(ctx context.Context, e env, dirs []string) (int, error) {
	for _, t := range []struct {
		trial eval.Trial
		asked bool
	}{{eval.Blind, v.blind}, {eval.Drift, v.drift}, {eval.Collected, v.collected}} {
		if !t.asked {
			continue
		}
		collectors, err := readCollectors(v.collectors)
		if err != nil {
			return exitUnreadable, err
		}
		count := newCounter(e.err)
		tried, err := eval.Try(ctx, dirs, t.trial,
			eval.Options{Diagnose: diagnoseCase, Sized: v.sized, Readers: worker.Foreseen, Collectors: collectors, Workers: v.workers, Progress: count.update})
		count.clear()
		if err != nil {
			return exitUnreadable, err
		}
		if v.format == "json" {
			err = json.NewEncoder(e.out).Encode(tried)
		} else {
			err = eval.TriedText(e.out, t.trial, tried, v.failures)
		}
		if err != nil {
			return exitUnreadable, fmt.Errorf("writing the results: %w", err)
		}
	}
	return exitOK, nil
}

// readCollectors reads how collectors write lines.
func readCollectors(file string) ([]eval.Collector, error) {
	if file == "" {
		return nil, nil
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("reading how collectors write: %w", err)
	}
	var out []eval.Collector
	for l := range strings.Lines(string(b)) {
		if f := strings.Split(strings.TrimSuffix(l, "\n"), "\t"); len(f) >= 4 && (f[2] == "text" || f[2] == "json") {
			out = append(out, eval.Collector{Template: strings.Join(f[3:], "\t"), JSON: f[2] == "json"})
		}
	}
	return out, nil
}

// diagnoseCase runs the engine as an operator would, on one worker: cases already run side by side.
func diagnoseCase(ctx context.Context, in eval.CaseInput) (*incident.Report, error) {
	input := analysis.Input{Sources: in.Sources, Storage: in.Storage, Evidence: in.Evidence, WorldSize: in.WorldSize, Known: in.Known, Workers: 1, Unhashed: true, Version: version}
	if in.Nodes != "" {
		nodes, err := hostlist.Expand(in.Nodes)
		if err != nil {
			return nil, fmt.Errorf("nodes of case %s: %w", filepath.Base(in.ID), err)
		}
		input.Nodes = nodes
	}
	return analysis.Diagnose(ctx, input)
}
