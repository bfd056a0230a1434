package workflow

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"faultline/analysis"
	"faultline/incident"
	"faultline/knowledge"
)

// mostEvidence is how many artefacts one after the other nobody has to have before nothing more is asked for.
const mostEvidence = 4

// about tells what a question asks for: the same thing is not asked for twice once nobody had it.
func (q Question) about() string { return q.Kind + " " + cmp.Or(q.Artefact, q.Text) }

// Is tells whether a member of Investigation.Without is what this question asks for.
func (q Question) Is(without string) bool { return q.about() == without }

// optional questions ask for what may not be to be had; the report stands without.
func (q Question) optional() bool { return q.Kind == AskMissing || q.Kind == AskEvidence }

// worthAsking are the questions under a report that nobody has declined.
func (f *Flow) worthAsking(inv *Investigation, jobs []analysis.JobSummary) []Question {
	return questions(*inv, jobs, f.hint(inv), f.AskStorage)
}

// Declined settles questions whose answer is not to be had, and finds what to ask for instead; where nothing is left that could decide,
// the notice says what stays open. It changes nothing but the investigation.
func (f *Flow) Declined(inv *Investigation, ids ...int) Notice {
	var n Notice
	kept := inv.Open[:0:0]
	for _, q := range inv.Open {
		if !slices.Contains(ids, q.ID) {
			kept = append(kept, q)
			continue
		}
		n.Answered = append(n.Answered, q)
	}
	inv.Open = kept
	f.goWithout(inv, n.Answered, &n)
	return n
}

// goWithout notes that nobody has what was asked for, and adds to the notice what follows.
func (f *Flow) goWithout(inv *Investigation, qs []Question, n *Notice) {
	passed := false
	for _, q := range qs {
		if q.optional() {
			inv.Without, passed = append(inv.Without, q.about()), true
		}
	}
	if !passed || inv.Report == nil || !slices.Contains([]State{Reported, Disputed, Isolating, AwaitingAIS}, inv.State) {
		return
	}
	open := inv.Open
	for _, q := range f.worthAsking(inv, nil) {
		if q.optional() && !slices.ContainsFunc(open, func(o Question) bool { return o.Kind == q.Kind && o.Text == q.Text }) {
			open = append(open, q)
		}
	}
	n.Asks = f.ask(inv, open...)
	if len(n.Asks) == 0 && !slices.ContainsFunc(inv.Open, Question.optional) {
		n.Rest = restOf(inv)
	}
}

// Decline is Declined for somebody who is shown things at once.
func (f *Flow) Decline(ctx context.Context, id string, question int, actor string) error {
	inv, err := f.Store.Load(ctx, id)
	if err != nil {
		return err
	}
	n := f.Declined(&inv, question)
	if len(n.Answered) == 0 {
		return nil
	}
	n.Event, n.From, n.Actor = Tick, inv.State, actor
	e := f.entry("answer", "not available: "+n.Answered[0].Text)
	e.Actor = actor
	if err := f.save(ctx, &inv, n, Input{running: true}, e); err != nil || f.Post == nil {
		return err
	}
	var errs []error
	for _, q := range n.Asks {
		errs = append(errs, f.Post.Ask(ctx, id, q))
	}
	if n.Rest != nil {
		errs = append(errs, f.Post.Say(ctx, id, n.Rest.Text()))
	}
	return errors.Join(errs...)
}

// Rest is what stays open when nothing is left to ask for.
type Rest struct {
	// Between are the causes that nothing decides between, for people; empty where not even these are known.
	Between []string
	// Next is what the next run can leave, so that it is decided then.
	Next []NextTime
}

// NextTime is something to switch on before the next run, or to do during it.
type NextTime struct{ What, Command string }

// nextSaid is how many such things are named.
const nextSaid = 3

// stand fills in what of a command only the next run knows.
var stand = strings.NewReplacer("{job}", "JOBID", "{pid}", "PID", "{node}", "NODE", "{nodes}", "NODES")

// restOf is nil where the verdict is decided: then nothing stays open.
func restOf(inv *Investigation) *Rest {
	v := inv.Report.Verdict
	if v.Status != incident.Inconclusive {
		return nil
	}
	r := &Rest{}
	for _, c := range v.Candidates {
		if c.Mechanism != "unknown" {
			r.Between = append(r.Between, title(c.Mechanism))
		}
	}
	add := func(what, command string) {
		same := func(n NextTime) bool { return n.What == what || n.Command == command }
		if command != "" && len(r.Next) < nextSaid && !slices.ContainsFunc(r.Next, same) {
			r.Next = append(r.Next, NextTime{what, command})
		}
	}
	for _, n := range v.Needs {
		if a, ok := knowledge.ArtefactBySlug(n.Artefact); ok && n.Obtainable != "next-time" {
			add(n.What, stand.Replace(a.Next))
		}
	}
	for _, n := range v.Needs {
		if n.Obtainable == "next-time" {
			add(n.What, stand.Replace(n.Command))
		}
	}
	return r
}

// Text is all of it in words.
func (r Rest) Text() string {
	text := "Nothing more needed. " + r.Open()
	for i, n := range r.Next {
		if i == 0 {
			text += " To confirm on the next run:"
		} else {
			text += ";"
		}
		text += " " + n.What + " (" + n.Command + ")"
	}
	return strings.TrimRight(text, ".") + "."
}

// Open says what is not decided.
func (r Rest) Open() string {
	if len(r.Between) < 2 {
		return "Can't tell what ended the job."
	}
	return "Can't tell: " + strings.Join(r.Between[:len(r.Between)-1], ", ") + " or " + r.Between[len(r.Between)-1] + "."
}
