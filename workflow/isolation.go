package workflow

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"faultline/isolate"
	"faultline/messages/redact"
)

// testLimit is how long a test may take, unless the job had less.
const testLimit = 10 * time.Minute

// plain says that a name from a cluster can go into a line that people paste.
func plain(name string) bool {
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }
	return name != "" && letter(rune(name[0])) && !strings.ContainsFunc(name, func(r rune) bool { return !letter(r) && !strings.ContainsRune("_.-", r) })
}

// Components is what people write to search for a component of the job instead of a node.
const Components = "components"

// NewSearch begins a search among the nodes of an investigation's report. command is what shows the fault, "" = the usual test, or
// Components. The error says for people why there is nothing to search.
func (f *Flow) NewSearch(ctx context.Context, inv Investigation, command string) (*isolate.Ledger, error) {
	r := redact.Report(inv.Report)
	l := &isolate.Ledger{Kind: isolate.Any, Nodes: r.Coverage.NodesExpected, Suspects: r.Verdict.Root.Nodes, Command: command, Limit: clock(testLimit)}
	if len(l.Nodes) == 0 {
		l.Nodes = r.Coverage.NodesSeen
	}
	switch l.Command {
	case "":
		l.Command = isolate.UsualTest
	case Components:
		l.Command, l.Components = isolate.ComponentTest, isolate.JobComponents
	}
	if n := r.Job.RanksPerNode; n != nil {
		l.GPUs = *n
	}
	if f.Facts != nil && inv.Job != "" {
		if found, err := f.Facts(ctx, inv.Cluster, inv.Job); err == nil { // without it the line has no partition
			if first, _, _ := strings.Cut(found.Partition, ","); plain(first) {
				l.Partition = first
			}
			if d, ok := limitOf(found.Limit); ok && d < testLimit {
				l.Limit = clock(d)
			}
		}
	}
	return l, l.Check()
}

// clock is a time limit as SLURM reads it.
func clock(d time.Duration) string {
	return strconv.Itoa(max(1, int(d.Minutes())))
}

// limitOf reads a time limit as sacct writes it: 2-00:00:00, 01:30:00, 10:00.
func limitOf(text string) (time.Duration, bool) {
	days, rest, dashed := strings.Cut(text, "-")
	if !dashed {
		days, rest = "0", text
	}
	parts := strings.Split(rest, ":")
	if len(parts) < 2 || len(parts) > 3 { // UNLIMITED, Partition_Limit
		return 0, false
	}
	seconds := 0
	for _, p := range parts {
		n, err := strconv.Atoi(p)
		if err != nil || n < 0 {
			return 0, false
		}
		seconds = seconds*60 + n
	}
	n, err := strconv.Atoi(days)
	return time.Duration(n)*24*time.Hour + time.Duration(seconds)*time.Second, err == nil
}

// searched goes on with a search: it begins one, or records how tests ended. The event becomes SearchEnded where that decides.
func (f *Flow) searched(inv *Investigation, in *Input) (n Notice, entries []Entry, err error) {
	l := in.Search
	if l == nil {
		l = inv.Search
	}
	if l == nil {
		return n, nil, &NotAllowedError{State: inv.State, Event: in.Event}
	}
	l = l.Clone()
	for _, t := range in.Tests {
		if err := l.Record(t.ID, t.Outcome); err != nil {
			return n, nil, err
		}
		entries = append(entries, f.entry("answer", fmt.Sprintf("test %s: %s", t.ID, t.Outcome)))
	}
	before := len(l.Tests)
	tests, found, err := l.Next()
	if err != nil {
		return n, nil, err
	}
	if in.Event == Isolate || len(l.Tests) > before {
		n.Tests, n.Submit = tests, map[string]float64{}
		for _, t := range tests {
			if f.maySubmit(inv, l, t) == nil {
				n.Submit[t.ID] = l.Hours(t)
			}
			entries = append(entries, f.entry("question", fmt.Sprintf("test %s: %s", t.ID, l.Line(t))))
		}
	}
	if n.Found = found; found != nil {
		in.Event, n.Tests = SearchEnded, nil
		in.Text = l.Conclude(found)[0].Text
	}
	inv.Search = l
	return n, entries, nil
}

// endings are how the states of a job read as the outcome of a test. Whoever stopped a job did not learn from it.
var endings = map[string]isolate.Outcome{
	"COMPLETED": isolate.Pass, "FAILED": isolate.Fail, "TIMEOUT": isolate.Fail, "NODE_FAIL": isolate.Fail, "OUT_OF_MEMORY": isolate.Fail,
	"CANCELLED": isolate.Void, "PREEMPTED": isolate.Void, "BOOT_FAIL": isolate.Void, "DEADLINE": isolate.Void,
}

// OutcomeOf is how a job ended that ran a test; ok is false where it has not, or the cluster does not tell.
func (f *Flow) OutcomeOf(ctx context.Context, inv Investigation, job string) (o isolate.Outcome, ok bool) {
	if f.Facts == nil {
		return "", false
	}
	found, err := f.Facts(ctx, inv.Cluster, job)
	if err != nil || found.Running || f.Permit != nil && !f.Permit(inv, found) {
		return "", false
	}
	state, _, _ := strings.Cut(found.State, " ")
	o, ok = endings[state]
	return o, ok
}

// Pending are the tests of a search that are still to be run, where one goes on.
func (inv Investigation) Pending() []isolate.Test {
	if inv.Search == nil {
		return nil
	}
	return slices.Clone(inv.Search.Pending())
}
