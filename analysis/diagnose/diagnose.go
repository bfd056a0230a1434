package diagnose

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/history"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// unknown is the mechanism of a run that nothing explains.
const unknown = "unknown"

// Earlier is what is kept of earlier runs, and who this one is among them.
type Earlier struct {
	Book *history.Book // nil: nothing was given
	Who  history.Who
}

// Run makes the report of a run. Quotations carry positions only; whoever owns the files fills in their text.
func Run(f *resolve.Facts) *incident.Report { return run(f, mechanism.All()) }

// RunAfter is Run for one of whose predecessors something is known.
func RunAfter(f *resolve.Facts, e Earlier) *incident.Report { return judge(f, mechanism.All(), e) }

func run(f *resolve.Facts, all []mechanism.Mechanism) *incident.Report {
	return judge(f, all, Earlier{})
}

func judge(f *resolve.Facts, all []mechanism.Mechanism, e Earlier) *incident.Report {
	s := &mechanism.Scene{Facts: f, Graph: waitfor.Build(f)}
	d := arbitrate(s, all)
	r := &incident.Report{Schema: incident.Schema}
	b := builder{s: s, d: d, r: r}
	b.job()
	b.coverage()
	b.recall(e)
	b.verdict()
	b.action()
	b.groups()
	b.ranks()
	b.syncs()
	b.chain()
	b.course()
	b.timeline()
	b.hypotheses()
	b.advice()
	b.reads()
	r.Warnings = append(r.Warnings, f.Warnings...)
	r.Revisions = []incident.Revision{}
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	return r
}

type builder struct {
	s    *mechanism.Scene
	d    decision
	r    *incident.Report
	root map[int]bool // the verdict's ranks
	// rows counts the rows of groups that carry evidence.
	rows int
	// again are the recurrences that weigh, by kind.
	again map[string]*incident.Recurrence
}

func ptr[T any](v T) *T { return &v }

func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

func (b *builder) job() {
	f := b.s.Facts
	j := &f.Job
	out := &b.r.Job
	out.ID, out.Framework, out.Task, out.DataSource = optional(j.ID), optional(j.Framework), optional(j.Task), optional(j.DataSource)
	out.Run, out.Runs = ptr(f.Run), f.Runs
	out.StartTime, out.EndTime = f.Format(j.Start), f.Format(j.End)
	out.WorldSize, out.RanksPerNode = optional(j.WorldSize), optional(j.PerNode)
	n := len(f.Coverage.NodesExpected)
	if n == 0 && j.WorldSize > 0 && j.PerNode > 0 && j.WorldSize%j.PerNode == 0 {
		n = j.WorldSize / j.PerNode
	}
	out.NodesCount = optional(n)
	out.Versions = j.Versions
	if out.Versions == nil {
		out.Versions = []incident.NameOf{}
	}
	out.Name, out.StepsLogged = optional(j.Name), j.StepsLogged
	out.Arguments = []incident.NameOf{}
	for _, a := range j.Arguments {
		out.Arguments = append(out.Arguments, incident.NameOf{Name: a.Name, Value: a.Value})
	}
	if c := j.ResumedFrom; c != nil && c.Step >= 0 {
		out.ResumedFrom = &incident.Step{Step: c.Step, Path: c.Path, Evidence: []incident.Evidence{mechanism.QuoteAt(c.At, nil)}}
	}
	if step, ok := b.lastStep(); ok {
		out.LastStep = &step
	}
}

func (b *builder) lastStep() (int64, bool) {
	best, ok := int64(-1), false
	for _, p := range b.s.Facts.Progress {
		if p.Step > best {
			best, ok = p.Step, true
		}
	}
	return best, ok
}

func (b *builder) coverage() {
	f := b.s.Facts
	c := &f.Coverage
	out := &b.r.Coverage
	out.Files = len(f.Tails)
	for _, t := range f.Tails {
		out.Lines += t.Lines
		out.Bytes += t.Bytes
	}
	out.NodesExpected = c.NodesExpected
	out.NodesSeen, out.NodesMissing = orEmpty(c.NodesSeen), orEmpty(c.NodesMissing)
	out.RanksExpected = optional(c.RanksExpected)
	out.RanksMissing = c.RanksMissing
	if out.RanksMissing == nil {
		out.RanksMissing = []int{}
	}
	out.ExpectedFrom, out.FilesMissing = c.From, orEmpty(c.FilesMissing)
	out.Truncated = c.Cut
	if out.Truncated == nil {
		out.Truncated = []incident.CutFile{}
	}
	for _, r := range f.Ranks {
		if r.Lines > 0 || len(r.Pending) > 0 || r.Dump != nil || len(r.Failures) > 0 {
			out.RanksSeen++
		}
		if len(r.Pending) > 0 || r.Dump != nil {
			out.RanksStateKnown++
		}
	}
	out.TimeFrom, out.TimeTo = f.Format(f.Job.Start), f.Format(f.Job.End)
	out.Unclassified = f.Obs.UnclassifiedN
	b.unclassified()
}

// unclassified groups the lines that look like errors and match nothing, numbers aside, so that a wording that drifted
// stands out.
func (b *builder) unclassified() {
	tally := map[string]*incident.Tally{}
	var order []string
	for i := range b.s.Facts.Obs.Unclassified {
		u := &b.s.Facts.Obs.Unclassified[i]
		key := withoutNumbers(u.Text)
		t := tally[key]
		if t == nil {
			ev := mechanism.QuoteAt(u.At, nil)
			t = &incident.Tally{Text: u.Text, First: &ev}
			tally[key] = t
			order = append(order, key)
		}
		t.Count++
	}
	sort.SliceStable(order, func(i, j int) bool {
		a, c := tally[order[i]], tally[order[j]]
		if a.Count != c.Count {
			return a.Count > c.Count
		}
		return order[i] < order[j]
	})
	b.r.Coverage.UnclassifiedTop = []incident.Tally{}
	for i, k := range order {
		if i == 10 {
			break
		}
		b.r.Coverage.UnclassifiedTop = append(b.r.Coverage.UnclassifiedTop, *tally[k])
	}
}

func withoutNumbers(s string) string {
	var out strings.Builder
	last := byte(0)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c >= '0' && c <= '9' {
			c = '#'
		}
		if c == '#' && last == '#' {
			continue
		}
		out.WriteByte(c)
		last = c
	}
	return out.String()
}

func orEmpty(s []string) []string {
	if s == nil {
		return []string{}
	}
	return s
}

func origin(slug string) string {
	if m, ok := knowledge.MechanismBySlug(slug); ok {
		return m.Origin
	}
	return unknown
}

// taskEnd says how the task ended that srun names first: "a task on node7 end (Exited with exit code 120)"; "" where it names
// none. Without a proven identity that is no accusation: the first task to end need not be the first that failed.
func taskEnd(f *resolve.Facts) string {
	var first *worker.TaskExit
	for i := range f.Obs.TaskExits {
		x := &f.Obs.TaskExits[i]
		if x.Code != 0 && (first == nil || x.File == first.File && x.Off < first.Off || x.File < first.File) {
			first = x
		}
	}
	switch {
	case first == nil:
		return ""
	case len(first.Hosts) == 1 && len(first.Tasks) == 1:
		return fmt.Sprintf("task %d on %s end (%s)", first.Tasks[0], first.Hosts[0], first.What)
	}
	return fmt.Sprintf("tasks end (%s)", first.What)
}

func (b *builder) verdict() {
	v := &b.r.Verdict
	v.Candidates, v.Suspects, v.Needs = []incident.Candidate{}, []incident.Suspect{}, []incident.Need{}
	v.Root = incident.Root{Ranks: []int{}, Nodes: []string{}, Frontier: []int{}}
	v.Phase, v.Scope = b.phase(), unknown
	w := b.d.winners
	if len(w) == 0 {
		v.Status, v.Mechanism, v.Origin = incident.Inconclusive, unknown, unknown
		v.Summary = "nothing in these logs explains how the job ended"
		v.Why = "no failure, no hang and no normal end was found"
		if how := taskEnd(b.s.Facts); how != "" {
			v.Why = "SLURM saw " + how + ", and no line says why"
		}
		if state, _, ok := b.s.Facts.Accounting.State(); ok {
			v.Why += "; SLURM's records say only " + strings.ToLower(strings.ReplaceAll(state, "_", " "))
		}
		if o := mechanism.Odd(b.s); o != nil {
			v.Summary, v.Why = o.Summary, o.Why
			v.Suspects = append(v.Suspects, o.Suspects...)
			for _, n := range o.Needs {
				v.Needs = append(v.Needs, b.fillNeed(n, nil))
			}
		}
		v.Candidates = append(v.Candidates, incident.Candidate{Origin: unknown, Mechanism: unknown})
		v.Needs = append(v.Needs, b.fillNeed(incident.Need{What: "the remaining logs of the job", Why: "the batch script's own file holds what SLURM says about each task",
			Command: "scp '<cluster>:<log dir>/*{job}*' logs/", Obtainable: "now"}, nil))
		return
	}
	top := w[0]
	b.contradicted(top)
	v.Mechanism, v.Summary, v.Why, v.Scope = top.Mechanism, top.Summary, top.Why, top.Scope
	set := []string{}
	for _, p := range w {
		set = appendNew(set, p.Mechanism)
		for _, o := range p.Rivals {
			set = appendNew(set, o)
		}
		v.Suspects = append(v.Suspects, p.Suspects...)
		for _, n := range p.Needs {
			v.Needs = appendNeed(v.Needs, b.fillNeed(n, p))
		}
	}
	for _, p := range b.d.proposals {
		if b.d.by[p] != nil && p.Class == mechanism.Degraded && p.Plausible != "" && !contains(set, p.Mechanism) {
			v.Suspects = append(v.Suspects, incident.Suspect{Mechanism: p.Mechanism, Why: p.Plausible})
		}
	}
	if len(v.Needs) > 6 {
		v.Needs = v.Needs[:6]
	}
	conf := stated(top.Base)
	if len(w) > 1 {
		conf = unordered
		v.Summary = "several failures that nothing puts in order: " + join(w)
		v.Why = "none of them is proven to come before the others"
	}
	switch {
	case !b.s.Facts.Coverage.Partial:
	case top.Class == mechanism.Nothing:
		conf *= unfinished
	case top.Class != mechanism.Environment && len(set) == 1:
		conf -= cut
	}
	v.Confidence = incident.Confidence(conf)
	v.Origin = origin(set[0])
	for _, m := range set {
		v.Candidates = append(v.Candidates, incident.Candidate{Origin: origin(m), Mechanism: m, Confidence: incident.Confidence(conf)})
		if origin(m) != v.Origin {
			v.Origin = unknown
		}
	}
	// Nothing in the evidence weighs the members of a set against each other: each has its share of the set's confidence.
	for i := range v.Candidates {
		v.Candidates[i].Confidence = incident.Confidence(conf / float64(len(set)))
	}
	switch {
	case len(set) > 1:
		v.Status = incident.Inconclusive
	case top.Class == mechanism.Nothing || top.Mechanism == "cancelled":
		v.Status = incident.NoFailure
	case top.Direct && (len(top.Ranks) > 0 || len(top.Nodes) > 0 || top.Scope == "all"):
		v.Status = incident.Confirmed
	default:
		v.Status = incident.Probable
	}
	if len(w) == 1 {
		v.Root.Ranks = append(v.Root.Ranks, top.Ranks...)
		v.Root.Nodes = append(v.Root.Nodes, top.Nodes...)
		v.Root.Frontier = append(v.Root.Frontier, top.Frontier...)
		if len(v.Root.Nodes) == 0 && len(top.Ranks) > 0 {
			for _, id := range top.Ranks {
				if r := b.s.Facts.Rank(id); r != nil && r.Node != "" {
					v.Root.Nodes = appendNew(v.Root.Nodes, r.Node)
				}
			}
		}
		if top.Component != "" {
			v.Root.Component = ptr(top.Component)
		}
		v.Root.Item = optional(item(top))
	}
	b.root = map[int]bool{}
	for _, id := range v.Root.Ranks {
		b.root[id] = true
	}
	b.incomplete()
}

// contradicted makes visible that SLURM's records and the logs do not say the same. A script may well hide how its programs
// ended, and a program may survive what it prints: the records alone do not overrule the logs, nor these the records.
func (b *builder) contradicted(top *mechanism.Proposal) {
	at, ok := b.s.Facts.Accounting.Ended()
	if !ok || top.Class == mechanism.Nothing || top.Class == mechanism.Degraded {
		return
	}
	top.Rivals = appendNew(top.Rivals, "completed")
	top.Against = append(top.Against, incident.Finding{Statement: "SLURM's records have the job and all its steps completed, with exit codes of 0: either it went on after this, or its script hides how it ended",
		Evidence: []incident.Evidence{mechanism.QuoteAt(at, &incident.Predicate{Literals: []string{"COMPLETED"}})}})
	b.r.Warnings = append(b.r.Warnings, "the logs show a failure, SLURM's records have the job completed")
}

// incomplete adds what to fetch where something expected is missing.
func (b *builder) incomplete() {
	c := &b.s.Facts.Coverage
	if len(c.NodesMissing) == 0 && len(c.FilesMissing) == 0 {
		return
	}
	what := several(c.NodesMissing, "node")
	if what == "" {
		what = several(c.FilesMissing, "file")
	}
	b.r.Verdict.Needs = appendNeed(b.r.Verdict.Needs, b.fillNeed(incident.Need{What: "the logs of " + what, Why: "they are expected and not here; the verdict may change",
		Command: "scp '<cluster>:<log dir>/*{job}*' logs/", Obtainable: "now"}, nil))
}

// mostNamed is how many names stand in a sentence; the coverage has them all.
const mostNamed = 8

// several names a few of many in a sentence.
func several(names []string, noun string) string {
	if more := len(names) - mostNamed; more > 1 {
		return fmt.Sprintf("%s and %d more %ss", strings.Join(names[:mostNamed], ", "), more, noun)
	}
	return strings.Join(names, ", ")
}

func join(ps []*mechanism.Proposal) string {
	var names []string
	for _, p := range ps {
		names = append(names, p.Summary)
	}
	return strings.Join(names, "; ")
}

func appendNew(list []string, s string) []string {
	if contains(list, s) {
		return list
	}
	return append(list, s)
}

func appendNeed(list []incident.Need, n incident.Need) []incident.Need {
	for _, x := range list {
		if x.What == n.What {
			return list
		}
	}
	return append(list, n)
}

// duringSave says that the job failed while the save that began at this place went on: soon after it by the clock, or in
// the same file below it, and no step came between.
func (b *builder) duringSave(at worker.At, start resolve.Moment) bool {
	f := b.s.Facts
	for i := range f.Progress {
		if p := &f.Progress[i]; p.File == at.File && p.Off > at.Off && p.Phase == "training" {
			return false
		}
	}
	if m := f.At(at); m.Valid && start.Valid {
		return start.T >= m.T-5 && start.T-m.T < 1800
	}
	if len(b.d.winners) == 0 {
		return false
	}
	for _, fl := range b.d.winners[0].Failures {
		if fl.At.File == at.File && fl.At.Off > at.Off {
			return true
		}
	}
	return false
}

// phase says in which part of its life the job failed.
func (b *builder) phase() string {
	f := b.s.Facts
	start := b.s.Graph.Start
	if len(b.d.winners) > 0 && b.d.winners[0].At.Valid {
		start = b.d.winners[0].At
	}
	if f.Job.ExitOK != nil {
		return "shutdown"
	}
	if n := len(f.Saves); n > 0 {
		// A save that began and was not seen to end is where the job was.
		var open *worker.At
		for i := range f.Saves {
			c := &f.Saves[i]
			switch c.Kind {
			case "save-start":
				open = &c.At
			case "save-done":
				open = nil
			}
		}
		if open != nil && b.duringSave(*open, start) {
			return "checkpoint"
		}
	}
	switch {
	case len(f.Progress) == 0:
		if f.Job.Framework == "" && len(b.s.Graph.Groups) > 0 {
			for _, g := range f.Groups {
				for _, p := range g.Pending {
					if p.Work.Seq > 50 {
						return "training"
					}
				}
			}
		}
		return "init"
	case len(f.Progress) == 1 && f.Progress[0].Step <= 1:
		return "first-step"
	}
	for i := len(f.Progress) - 1; i >= 0; i-- {
		if f.Progress[i].Phase == "evaluation" {
			return "evaluation"
		}
		if f.Progress[i].Phase != "" {
			break
		}
	}
	return "training"
}

// values are what is known for the placeholders of advice. What is not known stays a name in capitals.
func (b *builder) values(p *mechanism.Proposal) map[string]string {
	v := &b.r.Verdict
	out := map[string]string{}
	nodes, ranks := v.Root.Nodes, v.Root.Ranks
	if p != nil {
		nodes, ranks = p.Nodes, p.Ranks
	}
	if len(nodes) > 0 {
		out["node"], out["nodes"] = nodes[0], strings.Join(nodes, ",")
	} else if n := b.s.Facts.Coverage.NodesSeen; len(n) > 0 && len(n) <= 8 {
		out["nodes"] = strings.Join(n, ",")
	}
	if len(ranks) > 0 {
		out["rank"] = fmt.Sprint(ranks[0])
		if r := b.s.Facts.Rank(ranks[0]); r != nil && len(r.Pids) == 1 {
			for id := range r.Pids {
				out["pid"] = fmt.Sprint(id)
			}
		}
	}
	if id := b.s.Facts.Job.ID; id != "" {
		out["job"] = id
	}
	return out
}

// fill puts what is known into a sentence and into the command that goes with it.
func (b *builder) fill(text, command string, p *mechanism.Proposal) (string, string) {
	a := knowledge.Advice{Text: text, Command: command}.Fill(b.values(p))
	return a.Text, a.Command
}

func (b *builder) fillNeed(n incident.Need, p *mechanism.Proposal) incident.Need {
	if n.Obtainable == "next-time" {
		n.Command = strings.ReplaceAll(n.Command, "{pid}", "PID") // the next run has other processes
	}
	n.What, n.Command = b.fill(n.What, n.Command, p)
	n.Why, _ = b.fill(n.Why, "", p)
	return n
}

func (b *builder) hypotheses() {
	b.r.Hypotheses = []incident.Hypothesis{}
	for _, p := range b.d.proposals {
		h := incident.Hypothesis{Mechanism: p.Mechanism, Status: "accepted", For: slices.Concat(nonNil(p.For), p.Led, p.Past), Against: nonNil(p.Against), WouldDecide: []string{}}
		for _, n := range p.Needs {
			h.WouldDecide = append(h.WouldDecide, b.fillNeed(n, p).What)
		}
		if by := b.d.by[p]; by != nil {
			h.Status = "rejected"
			why := "it follows from what is kept: "
			if p.Class == mechanism.Degraded && by.Class != mechanism.Degraded {
				why = "it ended nothing; what did is kept: "
			}
			h.Against = append(h.Against, incident.Finding{Statement: why + by.Summary, Evidence: []incident.Evidence{}})
		} else if len(b.d.winners) > 1 || len(p.Rivals) > 0 {
			h.Status = "open"
		}
		b.r.Hypotheses = append(b.r.Hypotheses, h)
		for _, rival := range p.Rivals {
			if rival == unknown {
				continue
			}
			o := incident.Hypothesis{Mechanism: rival, Status: h.Status, For: h.For, Against: nonNil(p.AgainstRival[rival]), WouldDecide: h.WouldDecide}
			b.r.Hypotheses = append(b.r.Hypotheses, o)
		}
	}
}

func nonNil(fs []incident.Finding) []incident.Finding {
	if fs == nil {
		return []incident.Finding{}
	}
	return fs
}
