package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"sort"

	"faultline/analysis/diagnose/lanes"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
)

// Run makes the report of a run. Quotations carry positions only; whoever owns the files fills in their text.
func Run(f *resolve.Facts) *incident.Report { return run(f, mechanism.All()) }

// RunAfter is Run for one of whose predecessors something is known.
func RunAfter(f *resolve.Facts, e Earlier) *incident.Report { return judge(f, mechanism.All(), e) }

func run(f *resolve.Facts, all []mechanism.Mechanism) *incident.Report {
	return judge(f, all, Earlier{})
}

func judge(f *resolve.Facts, all []mechanism.Mechanism, e Earlier) *incident.Report {
	s := &mechanism.Scene{Facts: f, Graph: waitfor.Build(f), Here: map[string]bool{}}
	beside := besideLogs(f)
	for _, a := range beside {
		s.Here[a.Kind] = true
	}
	d := arbitrate(s, all)
	first := d
	if len(f.Daemons) > 0 {
		s.Ask(d.winners)
		d = arbitrate(s, all)
		for _, p := range d.winners {
			s.Relieved(p)
		}
	}
	if p := mechanism.Explained(s); p != nil && len(d.winners) == 0 {
		d.winners, d.proposals = []*mechanism.Proposal{p}, append(d.proposals, p)
	}
	r := &incident.Report{Schema: incident.Schema}
	b := builder{s: s, d: d, r: r, beside: beside}
	b.job()
	b.coverage()
	b.clocks()
	b.recall(e)
	b.verdict()
	b.states()
	b.action()
	b.severity()
	b.groups()
	b.ranks()
	b.syncs()
	b.said = b.saidLast()
	b.chain()
	b.course()
	b.timeline()
	b.precursors()
	r.Lanes = lanes.Of(s, r, b.when, b.whenCaused(), whatKernel)
	b.hypotheses()
	b.advice()
	b.reads()
	b.narrowing()
	b.artifacts()
	b.standouts()
	b.statesClue()
	b.alsoStated()
	b.site()
	r.Warnings = append(r.Warnings, f.Warnings...)
	r.Revisions = b.overturned(first)
	if r.Warnings == nil {
		r.Warnings = []string{}
	}
	return r
}

func (b *builder) job() {
	f := b.s.Facts
	j := &f.Job
	out := &b.r.Job
	out.ID, out.Framework, out.Task, out.DataSource = optional(j.ID), optional(j.Framework), optional(j.Task), optional(j.DataSource)
	out.Run, out.Runs = new(f.Run), f.Runs
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
	out.RanksMissing, out.ExpectedFrom = c.RanksMissing, c.From
	if b.s.Graph.Shape != waitfor.NoHang && len(c.RanksUnseen) > 0 {
		out.RanksMissing = c.RanksUnseen
		out.ExpectedFrom = cmp.Or(c.From, fmt.Sprintf("at least %d ranks: %s", f.Job.Least, f.Job.LeastFrom))
	}
	if out.RanksMissing == nil {
		out.RanksMissing = []int{}
	}
	out.FilesMissing = orEmpty(c.FilesMissing)
	out.Truncated = c.Cut
	if out.Truncated == nil {
		out.Truncated = []incident.CutFile{}
	}
	for _, r := range f.Ranks {
		if r.Lines > 0 || len(r.Pending) > 0 || r.Dump != nil || r.Recorded != nil || len(r.Failures) > 0 {
			out.RanksSeen++
		}
		if len(r.Pending) > 0 || r.Dump != nil || r.Recorded != nil {
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

func (b *builder) hypotheses() {
	b.r.Hypotheses = []incident.Hypothesis{}
	for _, p := range b.d.proposals {
		h := incident.Hypothesis{Mechanism: string(p.Mechanism), Status: "accepted", For: slices.Concat(nonNil(p.For), p.Because, p.Led, p.Past), Against: nonNil(p.Against), WouldDecide: []string{}}
		for _, n := range p.Needs {
			if mechanism.AtHand(b.s, n.Artefact) {
				continue
			}
			h.WouldDecide = append(h.WouldDecide, b.fillNeed(n, p).What)
		}
		if by := b.d.by[p]; by != nil {
			h.Status = "rejected"
			why := "something else explains it: "
			if p.Class == mechanism.Degraded && by.Class != mechanism.Degraded {
				why = "it didn't end the job; this did: "
			}
			h.Against = append(h.Against, incident.Finding{Statement: why + by.Summary, Evidence: []incident.Evidence{}})
		} else if len(b.d.winners) > 1 || len(p.Rivals) > 0 {
			h.Status = "open"
		}
		b.r.Hypotheses = append(b.r.Hypotheses, h)
		for _, rival := range p.Rivals {
			if rival == knowledge.Unknown {
				continue
			}
			o := incident.Hypothesis{Mechanism: string(rival), Status: h.Status, For: h.For, Against: nonNil(p.AgainstRival[rival]), WouldDecide: h.WouldDecide}
			b.r.Hypotheses = append(b.r.Hypotheses, o)
		}
	}
}
