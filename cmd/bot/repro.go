package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"faultline/fetch"
	"faultline/incident"
	"faultline/messages/repro"
	probes "faultline/probe"
)

func newReproCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "repro [flags] [PATH...]",
		Short: "write a small script that reproduces the suspected fault",
		Long: `
Writes a torchrun program that reproduces the kind of fault the verdict suspects: the same collective and data type
in the same group layout, on a few ranks with tiny tensors. It works for collective-mismatch, rank-stalled,
rank-busy, lone-waiter and uneven-data; for collective-hang and gpu-hang the program has no bug and only repeats the
collective, to test the machines. Where testing one component tells the machine from the program (memory for gpu-oom,
compute for slow ranks and losses that are not finite, data for loaders and storage, communication for slow or broken
links), it writes the program of bot probe instead. PATH is the logs, as for "bot diagnose"; or use an existing report (--report).

Examples:
  bot repro logs-4242/ --out repro.py
  bot repro --cpu logs-4242/ --out repro.py
  bot repro --report report.json --mechanism collective-mismatch
  torchrun --nproc-per-node=4 repro.py > repro.log 2>&1; bot diagnose --world-size 4 repro.log

Exit code: 0 = a script was written; 3 = a script can't reproduce this failure (it says what to do instead);
2 = usage error, or several jobs without --job; 1 = no readable input.`,
	}
	fs := cmd.Flags()
	var c reproduction
	c.declare(fs)
	fs.IntVar(&c.workers, "workers", 0, "read `N` files at a time; 0 means one per CPU. Doesn't affect the report\ne.g. --workers 4")
	fs.StringVar(&c.report, "report", "", "use the report in `FILE` (bot diagnose --format json) instead of logs\ne.g. --report report.json")
	fs.StringVar(&c.job, "job", "", "the job with this `ID` if the files hold several\ne.g. --job 4242")
	fs.IntVar(&c.worldSize, "world-size", 0, "the job's number of ranks, `N`\ne.g. --world-size 128")
	fs.StringArrayVar(&c.evidence, "evidence", nil, "also use other evidence in `PATH`, as bot diagnose does; may be repeated\ne.g. --evidence /tmp/nccl_trace/")
	fs.StringVar(&c.mechanism, "mechanism", "", "which candidate to use, `NAME`; default: the first one a script can reproduce\ne.g. --mechanism collective-mismatch")
	fs.BoolVar(&c.cpu, "cpu", false, "use Gloo, which needs no GPU, instead of NCCL\ne.g. --cpu")
	fs.StringVar(&c.out, "out", "", "write the script to `FILE` instead of standard output\ne.g. --out repro.py")
	cmd.RunE = e.does(c.do)
	return cmd
}

// maxReport bounds a report that is read.
const maxReport = 256 << 20

// reproduction is one run of the command.
type reproduction struct {
	common
	report, job, mechanism, out string
	evidence                    []string
	worldSize                   int
	cpu                         bool
}

func (c *reproduction) do(ctx context.Context, e env, paths []string) (int, error) {
	r, code, err := c.verdict(ctx, e, paths)
	if err != nil {
		return code, err
	}
	if c.mechanism != "" && !candidate(r, c.mechanism) {
		return exitUsage, usage("--mechanism %s is not a candidate; choose from %s", c.mechanism, strings.Join(candidates(r), ", "))
	}
	s, err := repro.Make(r, repro.Options{CPU: c.cpu, Mechanism: c.mechanism})
	var unsuitable *repro.UnsuitableError
	if errors.As(err, &unsuitable) && unsuitable.Component != "" {
		return c.component(e, r, unsuitable.Component)
	}
	if errors.As(err, &unsuitable) {
		return exitInconclusive, err
	}
	if err != nil {
		return exitUnreadable, err
	}
	write := func(w io.Writer) error {
		_, err := w.Write(s.Text)
		return err
	}
	if c.out == "" {
		return exitOK, write(e.out)
	}
	if err := writeFile(c.out, write); err != nil {
		return exitUnreadable, err
	}
	c.explain(e.err, r, s)
	return exitOK, nil
}

// component writes the program that tests one component, where no script of collectives shows the fault.
func (c *reproduction) component(e env, r *incident.Report, component string) (int, error) {
	write := func(w io.Writer) error {
		_, err := w.Write(probes.Script)
		return err
	}
	name := c.out
	if name == "" {
		name = "probe.py"
		if err := write(e.out); err != nil {
			return exitUnreadable, err
		}
	} else if err := writeFile(name, write); err != nil {
		return exitUnreadable, err
	}
	test := repro.TestOf(r, component)
	fmt.Fprintf(e.err, "No script reproduces %s itself. This one tests %s alone, on every rank. %s\n", r.Verdict.Mechanism, component, probes.Means(component))
	if test.Says != "" {
		fmt.Fprintln(e.err, test.Says)
	}
	fmt.Fprintf(e.err, "Run: %s\n", test.Command(component, name))
	return exitOK, nil
}

// verdict reads the report, or makes it from the logs.
func (c *reproduction) verdict(ctx context.Context, e env, paths []string) (*incident.Report, int, error) {
	switch {
	case c.report != "" && len(paths)+len(c.evidence) > 0:
		return nil, exitUsage, usage("--report %s and logs: give only one", c.report)
	case c.report != "":
		r, err := readReport(c.report)
		return r, exitUnreadable, err
	}
	d := diagnosis{common: c.common, job: c.job, worldSize: c.worldSize, evidence: c.evidence, format: "json"}
	cfg, log, err := d.load(e.err)
	if err != nil {
		return nil, exitUsage, err
	}
	if len(paths)+len(c.evidence) == 0 {
		return nil, exitUsage, usage("name the logs, or a report: bot repro logs-4242/ --out repro.py")
	}
	in, err := d.input(cfg, paths)
	if err != nil {
		return nil, exitUsage, err
	}
	dir, remove, err := scratch()
	if err != nil {
		return nil, exitUnreadable, err
	}
	defer remove()
	if len(paths) > 0 {
		set, err := fetch.Local(ctx, typed(paths), localOptions(cfg, dir))
		if err != nil {
			return nil, exitUnreadable, err
		}
		in.Sources = set.Sources
	}
	if len(c.evidence) > 0 {
		handed, err := fetch.Evidence(ctx, c.evidence, filepath.Join(dir, fetch.EvidenceDir), localOptions(cfg, ""))
		if err != nil {
			return nil, exitUnreadable, fmt.Errorf("the evidence: %w", err)
		}
		in.Evidence = handed.Sources
	}
	r, err := d.diagnose(ctx, e, log, in)
	if err != nil {
		code, err := failure(err)
		return nil, code, err
	}
	return r, exitOK, nil
}

// readReport reads what bot diagnose --format json wrote.
func readReport(name string) (*incident.Report, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("reading the report: %w", err)
	}
	defer f.Close()
	var r incident.Report
	if err := json.NewDecoder(io.LimitReader(f, maxReport)).Decode(&r); err != nil || r.Schema != incident.Schema {
		return nil, fmt.Errorf("%s is not a report: bot diagnose --format json --out %s writes one", name, name)
	}
	return &r, nil
}

func candidates(r *incident.Report) (slugs []string) {
	for _, c := range r.Verdict.Candidates {
		slugs = append(slugs, c.Mechanism)
	}
	return slugs
}

func candidate(r *incident.Report, slug string) bool {
	return slug == r.Verdict.Mechanism || strings.Contains(" "+strings.Join(candidates(r), " ")+" ", " "+slug+" ")
}

// explain says what was written and how to go on.
func (c *reproduction) explain(w io.Writer, r *incident.Report, s *repro.Script) {
	fmt.Fprintf(w, "%s shows %s.\n", c.out, s.Mechanism)
	for _, n := range s.Notes {
		fmt.Fprintln(w, n)
	}
	if all := candidates(r); len(all) > 1 {
		fmt.Fprintf(w, "It could also be %s: choose with --mechanism.\n", strings.Join(all, ", "))
	}
	fmt.Fprintf(w, "Run: torchrun --nproc-per-node=%d %s\n", s.Processes, c.out)
	if len(s.Nodes) > 0 {
		fmt.Fprintf(w, "Suspected nodes: %s. See the top of the script for how to run it there.\n", strings.Join(s.Nodes, ","))
	}
}
