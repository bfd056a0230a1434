package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"

	"github.com/spf13/cobra"

	"faultline/analysis"
	"faultline/config"
	"faultline/fetch"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/knowledge/site"
)

// siteKnowledge is what the site knows, as it was last read.
type siteKnowledge struct {
	now atomic.Pointer[knowledge.Catalogue]
}

// load reads files; where one of them is wrong, what was known before stays.
func (k *siteKnowledge) load(files []string) error {
	if len(files) == 0 {
		k.now.Store(nil)
		return nil
	}
	s, err := site.Load(files)
	if err != nil {
		return err
	}
	k.now.Store(knowledge.Whole().With(s.Site))
	return nil
}

// catalogue is everything that is known here.
func (k *siteKnowledge) catalogue() *knowledge.Catalogue { return k.now.Load() }

// give lets the engine know it.
func (k *siteKnowledge) give(in *analysis.Input) {
	if in.Known = k.catalogue(); in.Bandwidth == 0 && len(in.Baseline) == 0 {
		in.Bandwidth = in.Known.Site().Bandwidth
	}
}

func newKnowledgeCommand(e env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "knowledge check FILE [LOGS...]",
		Short: "test a site's own knowledge file",
		Long: `
Reads a site's knowledge file: the failures, owners and noise that only the site knows (docs/site-knowledge.md). Each
example is diagnosed as a line in a small job. LOGS, a directory or files from one job, are diagnosed with and without
that knowledge.

Examples:
  bot knowledge check site.yaml
  bot knowledge check site.yaml logs-4242/

Exit code: 0 = all as expected; 1 = an example gives a different result, or the logs can't be read; 2 = the file is invalid.`,
	}
	cmd.RunE = e.does(func(ctx context.Context, e env, args []string) (int, error) {
		if len(args) < 2 || args[0] != "check" {
			return exitUsage, usage("bot knowledge check FILE [LOGS...]")
		}
		return checkKnowledge(ctx, e, args[1], args[2:])
	})
	return cmd
}

func checkKnowledge(ctx context.Context, e env, file string, logs []string) (int, error) {
	s, err := site.Load([]string{file})
	if err != nil {
		return exitUsage, usage("%v", err)
	}
	dir, remove, err := scratch()
	if err != nil {
		return exitUnreadable, err
	}
	defer remove()
	known := knowledge.Whole().With(s.Site)
	failed := 0
	for i, x := range s.Examples {
		where := filepath.Join(dir, fmt.Sprint(i), exampleNode+".log")
		got, err := tryExample(ctx, known, where, x)
		if err != nil {
			return exitUnreadable, err
		}
		told, ok := judged(x, got)
		word := "ok  "
		if !ok {
			word, failed = "FAIL", failed+1
		}
		fmt.Fprintln(e.out, printable(fmt.Sprintf("%s  %s  %s: %s", word, x.Site, x.Entry, told), maxTrail))
	}
	fmt.Fprintf(e.out, "%s, %s, %d of %s as expected\n", listed(len(s.Entries)), count(len(s.Acts), "action"), len(s.Examples)-failed, count(len(s.Examples), "example"))
	if len(logs) > 0 {
		if err := compareLogs(ctx, e.out, known, logs, filepath.Join(dir, "logs")); err != nil {
			return exitUnreadable, err
		}
	}
	if failed > 0 {
		return exitUnreadable, fmt.Errorf("%s not as expected", count(failed, "example"))
	}
	return exitOK, nil
}

// The job that tries an example out: eight ranks on one node, which had trained.
const (
	exampleNode  = "gn02"
	exampleRanks = 8
	exampleSteps = 3
)

// tryExample diagnoses a job in which the example's lines are the last.
func tryExample(ctx context.Context, known *knowledge.Catalogue, file string, x site.Example) (*incident.Report, error) {
	var b strings.Builder
	for r := range exampleRanks {
		fmt.Fprintf(&b, "%s:%d:%d [%d] NCCL INFO ncclCommInitRank comm 0x1 rank %d nranks %d cudaDev %[4]d nvmlDev %[4]d busId %[4]d000 commId 0x1 - Init COMPLETE\n",
			exampleNode, 100+r, 100+r, r, r, exampleRanks)
	}
	for step := range exampleSteps {
		fmt.Fprintf(&b, "step %d loss 2.1%d\n", step+1, 9-step)
	}
	for line := range strings.SplitSeq(x.Text, "\n") {
		if x.Rank != site.NoRank {
			fmt.Fprintf(&b, "[rank%d]: ", x.Rank)
		}
		b.WriteString(line + "\n")
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("writing an example: %w", err)
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		return nil, fmt.Errorf("writing an example: %w", err)
	}
	in := analysis.Input{Sources: []incident.Source{{Name: filepath.Base(file), Path: file, Bytes: int64(b.Len())}}, Known: known, Unhashed: true, Version: version}
	r, err := analysis.Diagnose(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("%s: diagnosing the example: %w", x.Site, err)
	}
	return r, nil
}

func listed(entries int) string {
	if entries == 1 {
		return "1 entry"
	}
	return fmt.Sprintf("%d entries", entries)
}

// judged says what an example came to, and whether that was expected.
func judged(x site.Example, r *incident.Report) (told string, ok bool) {
	part := ""
	for _, n := range r.Site {
		if n.ID == string(x.Entry) {
			part = n.Part
		}
	}
	told = fmt.Sprintf("%s (%s)", r.Verdict.Mechanism, r.Verdict.Status)
	if part != "" {
		told += ", the entry " + part
	}
	switch x.Expect {
	case site.Nothing:
		return told, part == ""
	case site.Match:
		return told, part != ""
	}
	if r.Verdict.Mechanism == x.Expect {
		return told, part != ""
	}
	return told + ", expected " + x.Expect, false
}

// compareLogs diagnoses logs with the site's knowledge and without it.
func compareLogs(ctx context.Context, w io.Writer, known *knowledge.Catalogue, logs []string, dir string) error {
	set, err := fetch.Local(ctx, typed(logs), localOptions(config.Default(), dir))
	if err != nil {
		return err
	}
	in := analysis.Input{Sources: set.Sources, Unhashed: true, Version: version}
	without, err := analysis.Diagnose(ctx, in)
	if err != nil {
		return err
	}
	in.Known = known
	with, err := analysis.Diagnose(ctx, in)
	if err != nil {
		return err
	}
	for _, l := range []struct {
		word string
		r    *incident.Report
	}{{"without", without}, {"with", with}} {
		v := &l.r.Verdict
		fmt.Fprintln(w, printable(fmt.Sprintf("%-7s  %s (%s): %s", l.word, v.Mechanism, v.Status, v.Summary), maxTrail))
	}
	for _, n := range with.Site {
		fmt.Fprintln(w, printable(fmt.Sprintf("  %s  %s: %s, %s", n.At, n.ID, count(n.N, "line"), n.Part), maxTrail))
	}
	return nil
}

// knownTo is what a configuration's site knows.
func knownTo(cfg config.Config) (*siteKnowledge, error) {
	k := new(siteKnowledge)
	if err := k.load(cfg.Knowledge); err != nil {
		return nil, usage("%v", err)
	}
	return k, nil
}
