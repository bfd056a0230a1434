package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// What is to be done: the decision about a resubmission, and the advice.

// lastSave is the newest save whose completion was seen.
func (b *builder) lastSave() (s worker.Checkpoint, ok bool) {
	for _, c := range b.s.Facts.Saves {
		if c.Kind == worker.SaveDone && c.Step >= 0 && (!ok || c.Step > s.Step) {
			s, ok = c, true
		}
	}
	return s, ok
}

// soundSave is the newest completed save from before the numbers went wrong: of a save at or after the last sound line
// nobody knows whether it holds them.
func (b *builder) soundSave() (s worker.Checkpoint, ok bool) {
	if len(b.d.winners) == 0 || b.d.winners[0].Onset == nil {
		return b.lastSave()
	}
	from := b.d.winners[0].Onset
	for _, c := range b.s.Facts.Saves {
		before := from.Step >= 0 && c.Step < from.Step || from.Step < 0 && c.Above(from.At.Pos)
		if c.Kind == worker.SaveDone && c.Step >= 0 && before && (!ok || c.Step > s.Step) {
			s, ok = c, true
		}
	}
	return s, ok
}

// action decides: resubmit or not, without which nodes, from which save, who acts, what was lost.
func (b *builder) action() {
	f := b.s.Facts
	a, v := &b.r.Action, &b.r.Verdict
	a.ExcludeNodes = []string{}
	a.Resubmit, a.Owner = unknown, unknown
	if m, ok := b.known(knowledge.Slug(v.Mechanism)); ok && len(v.Candidates) == 1 {
		a.Resubmit, a.Owner = m.Resubmit, string(cmp.Or(b.entry().Owner, m.Owner))
		if b.open() {
			a.Resubmit, a.Owner = unknown, unknown
		}
		a.Owner = cmp.Or(string(b.acts().Owner), a.Owner)
	} else if len(v.Candidates) > 1 {
		a.Owner = b.shared(func(m knowledge.Mechanism) string { return string(m.Owner) })
		// That each of them may be got over without a change does not say which nodes to leave out; that each needs one says enough.
		if b.shared(func(m knowledge.Mechanism) string { return m.Resubmit }) == "after-fix" {
			a.Resubmit = "after-fix"
		}
	}
	if a.Resubmit == "yes" && len(b.d.winners) > 0 && b.d.winners[0].Lasting {
		a.Resubmit = "after-fix"
	}
	if v.Ending == incident.EndStalled {
		a.Resubmit, a.Owner = unknown, unknown
	}
	if a.Resubmit == "yes" && b.mayRecur() {
		a.Resubmit = unknown
	}
	// A node is left out only for a sign from that very node.
	proven := len(b.d.winners) == 1 && b.d.winners[0].Machine
	if proven && a.Resubmit == unknown {
		a.Resubmit = "yes"
	}
	if len(v.Candidates) == 1 && (proven || knowledge.Slug(v.Mechanism).Is(knowledge.Hardware)) {
		a.ExcludeNodes = append(a.ExcludeNodes, v.Root.Nodes...)
	}
	b.fromBefore(a)
	a.ExcludeNodes = b.ours(a.ExcludeNodes)
	if s, ok := b.soundSave(); ok {
		a.ResumeFrom = &incident.Step{Step: s.Step, Path: s.Path, Evidence: []incident.Evidence{mechanism.QuoteAt(s.At, nil)}}
		if last, ok := b.lastStep(); ok && last >= s.Step && v.Status != incident.NoFailure {
			a.Lost.Steps = new(last - s.Step)
		}
		from := f.At(s.At)
		if from.Valid && f.Job.End.Valid && f.Job.WorldSize > 0 && f.Job.End.T >= from.T && v.Status != incident.NoFailure {
			h := math.Round((f.Job.End.T-from.T)/3600*float64(f.Job.WorldSize)*10) / 10
			a.Lost.GPUHours = &h
		}
	}
	a.Text = b.sentence(a)
	b.finished()
	for _, n := range v.Needs {
		switch {
		case n.Artefact != knowledge.Bundle || n.Obtainable == "next-time":
		case v.Ending == incident.EndStalled:
			a.Text = "don't cancel the job yet: run bot collect first; these files don't show which rank is blocking it"
		case v.Status == incident.NoFailure:
			a.Text = "nothing has failed so far; if it hangs, collect stacks and state from its processes before cancelling it"
		default:
			a.Text = "don't cancel the job yet: first collect stacks and state from its processes; then " + a.Text
		}
	}
}

// mayRecur says that nothing shows the job working before its own software stopped it, for a reason that is not known: it may stop there again.
func (b *builder) mayRecur() bool {
	m, _ := b.known(knowledge.Slug(b.r.Verdict.Mechanism))
	return (m.Origin == unknown || m.Origin == "software") && !b.worked()
}

// worked says that steps were seen, or so many collectives as only steps call.
func (b *builder) worked() bool {
	const many = 100
	f := b.s.Facts
	return len(f.Progress) > 0 || f.Job.ExitOK != nil ||
		slices.ContainsFunc(f.Obs.Timeouts, func(t worker.Timeout) bool { return t.Work.Seq >= many }) ||
		slices.ContainsFunc(f.Obs.States, func(s worker.State) bool { return s.Completed >= many })
}

// ours are those of some nodes that may be the job's: no scheduler leaves out what it does not give.
func (b *builder) ours(nodes []string) []string {
	return slices.DeleteFunc(slices.Clone(nodes), b.s.Facts.Foreign)
}

// entry is the entry of the line at the verdict's root, where one failure or several alike are the root; else an empty one.
func (b *builder) entry() knowledge.Signature {
	if len(b.d.winners) != 1 {
		return knowledge.Signature{}
	}
	return b.d.winners[0].Entry()
}

// unplaced is what the root's own line says to do first where a machine is at fault that no line names: it is more than to find that machine.
func (b *builder) unplaced(a *incident.Action) string {
	if a.Owner != string(knowledge.OwnerCluster) {
		return ""
	}
	if len(b.r.Verdict.Root.Nodes) > 0 {
		return ""
	}
	e := b.entry()
	if len(e.Do) == 0 {
		return ""
	}
	return lowered(strings.TrimSuffix(b.fillOwn(e.Do[0], e.Site).Text, "."))
}

// open says that the lines which speak for the verdict leave open who has to act.
func (b *builder) open() bool {
	var fls []*resolve.Failure
	if len(b.d.winners) > 0 {
		fls = b.d.winners[0].Failures
	}
	return len(fls) > 0 && !slices.ContainsFunc(fls, func(fl *resolve.Failure) bool {
		return !fl.Entry().Open
	})
}

// known is what people should know of a mechanism, where the verdict's component is at fault.
func (b *builder) known(slug knowledge.Slug) (knowledge.Mechanism, bool) {
	m, ok := knowledge.MechanismBySlug(slug)
	if c := b.r.Verdict.Root.Component; c != nil {
		m = m.For(*c)
	} else if w := b.d.winners; len(w) > 0 && len(w[0].Failures) > 0 && strings.HasSuffix(string(w[0].Failures[0].Sign), "-ais") {
		m = m.For("ais:") // a daemon that no line names
	}
	return m, ok
}

// shared is what all candidates have in common, unknown where they differ.
func (b *builder) shared(of func(knowledge.Mechanism) string) string {
	all := ""
	for _, c := range b.r.Verdict.Candidates {
		m, ok := b.known(knowledge.Slug(c.Mechanism))
		if !ok || all != "" && of(m) != all {
			return unknown
		}
		all = of(m)
	}
	if all == "" {
		return unknown
	}
	return all
}

// untied is the one node of whose kernel the cause is known, where nothing ties that to the job, or of which a line tells that is none of its nodes.
func (b *builder) untied() string {
	if len(b.d.winners) == 0 {
		return ""
	}
	if len(b.outsiders) == 1 {
		return b.outsiders[0]
	}
	node := ""
	for _, fl := range b.d.winners[0].Failures {
		if fl.Kernel == nil || fl.Kernel.Node == "" || node != "" && fl.Kernel.Node != node {
			return ""
		}
		node = fl.Kernel.Node
	}
	return node
}

func (b *builder) sentence(a *incident.Action) string {
	v := &b.r.Verdict
	from := ""
	if a.ResumeFrom != nil {
		from = fmt.Sprintf(" from the step %d checkpoint", a.ResumeFrom.Step)
	}
	without := ""
	if len(a.ExcludeNodes) > 0 {
		without = " without " + strings.Join(a.ExcludeNodes, ", ")
	}
	first := b.unplaced(a)
	switch {
	case v.Ending == incident.EndStalled:
		return "if the job is still there, don't cancel it yet: run bot collect first; these files don't show which rank is blocking it"
	case v.Ending == incident.EndUnseen:
		return "nothing to do if it finished normally; if it hangs, run bot collect before cancelling it"
	case v.Status == incident.NoFailure:
		return "nothing to do"
	case first != "":
		return first
	case a.Resubmit == "yes" && a.Owner == "cluster" && len(v.Root.Nodes) == 0:
		if node := b.untied(); node != "" {
			return "find out whether " + node + " was one of the job's nodes, then resubmit without it" + from
		}
		return "find out which node it was, then resubmit without it" + from
	case a.Resubmit == "yes":
		return "resubmit" + without + from
	case a.Resubmit == "after-fix" && len(v.Candidates) > 1:
		return "find out which one it was and fix it, then resubmit" + from
	case a.Resubmit == "after-fix":
		return "fix it first, then resubmit" + from
	case a.Resubmit == "no":
		return "do not resubmit yet"
	case v.Origin == knowledge.Performance && len(b.d.winners) == 1 && len(b.d.winners[0].Now) > 0:
		return lowered(strings.TrimSuffix(b.d.winners[0].Now[0].Text, "."))
	case v.Origin == knowledge.Performance:
		return "nothing has failed: find out why it stopped before resubmitting" + from
	case v.Mechanism == unknown:
		return "get the missing evidence before deciding"
	}
	return "a resubmission" + without + from + " may fail the same way"
}

// lowered begins a sentence in the middle of another.
func lowered(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func (b *builder) advice() {
	v := &b.r.Verdict
	b.r.Recommendations = []incident.Recommendation{}
	seen := map[string]bool{}
	addAs := func(fill func(knowledge.Advice) knowledge.Advice, when string, list []knowledge.Advice) {
		for _, a := range list {
			if len(v.Candidates) > 1 && len(v.Root.Ranks)+len(v.Root.Nodes) == 0 && strings.ContainsAny(a.Text, "{}") {
				continue // nobody is found yet: nobody is to be examined, left out or drained
			}
			taken, but := b.taken(a)
			if taken || !b.possible(a, when) {
				continue
			}
			owner := a.OwnedBy(knowledge.Owner(b.r.Action.Owner))
			a = fill(b.fromLastWords(a))
			a.Text += but
			if seen[a.Text] {
				continue
			}
			seen[a.Text] = true
			b.r.Recommendations = append(b.r.Recommendations, incident.Recommendation{When: when, Text: a.Text, Command: a.Command, Owner: string(owner)})
		}
	}
	add := func(when string, list []knowledge.Advice) { addAs(b.fillAdvice, when, list) }
	if b.r.Action.Finished != nil && b.r.Action.Resubmit == "no" {
		add("now", []knowledge.Advice{{Text: "No rerun needed: training had finished and its last step is saved. Check what kept its processes from exiting."}})
		seen[knowledge.Resubmit().Text] = true
	}
	b.before(func(a knowledge.Advice) { add("now", []knowledge.Advice{a}) })
	own, act := b.entry(), b.acts()
	if w := b.d.winners; len(w) > 0 {
		addAs(b.bySite(act.Site), "now", act.Do)
		add("now", w[0].Now)
		addAs(b.bySite(own.Site), "now", own.Do)
		for _, text := range w[0].Moot {
			seen[text] = true
		}
	}
	var ms []knowledge.Mechanism
	for i, c := range v.Candidates {
		if m, ok := b.known(knowledge.Slug(c.Mechanism)); ok && i < 3 {
			ms = append(ms, m)
		}
	}
	for _, m := range ms {
		if v.Ending == incident.EndStalled { // it is not as if nothing were to do
			continue
		}
		if len(ms) > 1 {
			own.Owner = "" // it is not decided that the line is why
		}
		if cmp.Or(act.Owner, own.Owner, m.Owner) == m.Owner { // what another owner is to do helps this one little
			add("now", m.Now)
		}
	}
	for _, m := range ms {
		add("structural", m.Structural)
	}
	for _, m := range ms {
		add("next-time", m.NextTime)
	}
	b.r.KeyFiles = []incident.KeyFile{}
	files := map[string]bool{}
	for _, l := range b.r.Chain {
		for _, e := range l.Evidence {
			if e.Kind == incident.KindQuote && !files[e.File] && len(b.r.KeyFiles) < 8 {
				files[e.File] = true
				b.r.KeyFiles = append(b.r.KeyFiles, incident.KeyFile{File: e.File, Line: e.Line, Why: l.Statement})
			}
		}
	}
}
