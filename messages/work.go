package messages

import (
	"slices"

	"faultline/incident"
	"faultline/knowledge"
)

// Hypothesis is a cause that the report leaves standing, or suspects, with what tests it.
type Hypothesis struct {
	Mechanism, Title string
	Test, Command    string // "" where nothing is known that would
	Tell             string // how it differs from another one of the list
}

// Hypotheses are those of a report that people can work on: none where one cause is left and nothing is suspected beside it.
func Hypotheses(r *incident.Report) []Hypothesis {
	v := newView(r)
	r = v.Report
	var list []string
	if len(r.Verdict.Candidates) > 1 {
		for _, c := range r.Verdict.Candidates {
			list = append(list, c.Mechanism)
		}
	}
	for _, s := range r.Verdict.Suspects {
		list = append(list, s.Mechanism)
	}
	var out []Hypothesis
	for i, m := range list {
		if slices.Contains(list[:i], m) {
			continue
		}
		h := Hypothesis{Mechanism: m, Title: m}
		if known, ok := mechanism(m); ok {
			h.Title = known.Title
		}
		h.Test, h.Command = tested(r, m)
		for _, l := range knowledge.LookAlikes(knowledge.Slug(m)) {
			if h.Tell == "" && slices.Contains(list, string(l.Mechanism)) {
				h.Tell = l.Tell
			}
		}
		out = append(out, h)
	}
	return out
}

// tested is what would decide about a mechanism, with the command where the report has one.
func tested(r *incident.Report, mechanism string) (test, command string) {
	i := slices.IndexFunc(r.Hypotheses, func(h incident.Hypothesis) bool { return h.Mechanism == mechanism && len(h.WouldDecide) > 0 })
	if i >= 0 {
		test = r.Hypotheses[i].WouldDecide[0]
	}
	for _, n := range r.Verdict.Needs {
		if n.What == test || test == "" {
			return n.What, n.Command
		}
	}
	return test, ""
}

// Why is one level of the five whys; Answer is "" where people are to say it.
type Why struct{ Question, Answer string }

// Whys are the levels for a report: what evidence fills, and what is asked of people.
func Whys(r *incident.Report) []Why {
	p := &postmortem{}
	p.whys(newView(r))
	var out []Why
	for _, w := range p.Whys {
		if w.Open {
			w.Answer = ""
		}
		out = append(out, Why{w.Question, w.Answer})
	}
	return out
}

// Task is something to be done so that it does not come back.
type Task struct{ Text, Owner, Due string }

// Tasks are what a report says is to be done.
func Tasks(r *incident.Report) []Task {
	p := &postmortem{}
	p.actions(newView(r))
	var out []Task
	for _, a := range p.Actions {
		out = append(out, Task{a.Text, a.Owner, a.Due})
	}
	return out
}
