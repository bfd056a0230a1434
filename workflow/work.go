package workflow

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"faultline/incident"
	"faultline/messages"
	"faultline/messages/redact"
)

// Work is what people do about a case beside its report: they test causes, answer whys, and take on tasks. Its items keep their numbers
// when a report changes; what a new one adds comes after them.
type Work struct {
	Causes []Cause
	Whys   []AnsweredWhy
	Tasks  []Task
	Lists  []Checklist
	// Narrowed is the cause that is left by what people found, "" while more are.
	Narrowed string
}

// Cause is a hypothesis as people test it.
type Cause struct {
	messages.Hypothesis
	State string // one of CauseStates
	Text  string // what they found
	By    string
	At    time.Time
}

// AnsweredWhy is one of the five whys; By is "" where evidence answers it, or nobody does.
type AnsweredWhy struct {
	messages.Why
	By string
	At time.Time
}

// Task is something to be done, by whom and when.
type Task struct {
	Text  string
	Owner string    // a person's id, or as it was written
	Due   time.Time // zero: nobody said
	When  string    // what stands for a day while nobody said one
	Done  time.Time
	By    string // who ticked it
}

// Checklist is a list that people go through for a case. How its items stand is looked up anew each time: here is what people ticked.
type Checklist struct {
	Name  string
	Key   string // of the newest post that shows it
	Ticks []Ticked
}

// Ticked is an item that a person says is so.
type Ticked struct {
	ID string
	By string
	At time.Time
}

// Tick notes who says that an item of a list is so, or that it is not.
func (w *Work) Tick(list, id string, by string, at time.Time, so bool) {
	l := w.List(list)
	l.Ticks = slices.DeleteFunc(slices.Clone(l.Ticks), func(t Ticked) bool { return t.ID == id })
	if so {
		l.Ticks = append(l.Ticks, Ticked{id, by, at})
	}
}

// List is the list of a name; where nobody went through it before, it is a new one.
func (w *Work) List(name string) *Checklist {
	i := slices.IndexFunc(w.Lists, func(l Checklist) bool { return l.Name == name })
	if i < 0 {
		i, w.Lists = len(w.Lists), append(w.Lists, Checklist{Name: name})
	}
	return &w.Lists[i]
}

// States of a cause.
const (
	CauseOpen         = "open"
	CauseRunning      = "running"
	CauseSupports     = "supports"
	CauseContradicts  = "contradicts"
	CauseInconclusive = "inconclusive"
)

// CauseStates are all of them.
var CauseStates = []string{CauseOpen, CauseRunning, CauseSupports, CauseContradicts, CauseInconclusive}

// clone copies what is changed in place.
func (w Work) clone() Work {
	w.Causes, w.Whys, w.Tasks = slices.Clone(w.Causes), slices.Clone(w.Whys), slices.Clone(w.Tasks)
	w.Lists = slices.Clone(w.Lists)
	return w
}

// Working is the work on an investigation with whatever its newest report adds.
func (inv *Investigation) Working() Work {
	w := inv.Work.clone()
	r := redact.Report(inv.Report)
	for _, h := range messages.Hypotheses(r) {
		if !slices.ContainsFunc(w.Causes, func(c Cause) bool { return c.Mechanism == h.Mechanism }) {
			w.Causes = append(w.Causes, Cause{Hypothesis: h, State: CauseOpen})
		}
	}
	w.Whys = whys(messages.Whys(r), w.Whys)
	for _, t := range messages.Tasks(r) {
		if !slices.ContainsFunc(w.Tasks, func(o Task) bool { return o.Text == t.Text }) {
			w.Tasks = append(w.Tasks, Task{Text: t.Text, Owner: t.Owner, When: t.Due})
		}
	}
	return w
}

// whys are the levels of a report with what people answered; an answer whose question is not asked any more stays, behind them.
func whys(asked []messages.Why, answered []AnsweredWhy) []AnsweredWhy {
	answered = slices.DeleteFunc(slices.Clone(answered), func(a AnsweredWhy) bool { return a.By == "" })
	var out []AnsweredWhy
	for _, y := range asked {
		i := slices.IndexFunc(answered, func(a AnsweredWhy) bool { return a.Question == y.Question })
		if y.Answer != "" || i < 0 {
			out = append(out, AnsweredWhy{Why: y})
			continue
		}
		out = append(out, answered[i])
		answered = slices.Delete(answered, i, i+1)
	}
	return append(out, answered...)
}

// narrowed is the one cause of the report's set that people's results leave; "" where they leave several, or none.
func (w *Work) narrowed(r *incident.Report) string {
	var left, supported []string
	for _, c := range r.Verdict.Candidates {
		i := slices.IndexFunc(w.Causes, func(x Cause) bool { return x.Mechanism == c.Mechanism })
		if i >= 0 && w.Causes[i].State == CauseContradicts {
			continue
		}
		left = append(left, c.Mechanism)
		if i >= 0 && w.Causes[i].State == CauseSupports {
			supported = append(supported, c.Mechanism)
		}
	}
	switch {
	case len(r.Verdict.Candidates) < 2:
	case len(left) == 1:
		return left[0]
	case len(supported) == 1:
		return supported[0]
	}
	return ""
}

// Tested notes what people found about the n-th cause, from 1; the revision is what that means for the verdict, nil where nothing.
func (w *Work) Tested(r *incident.Report, n int, c Cause) *incident.Revision {
	c.Hypothesis = w.Causes[n-1].Hypothesis
	w.Causes[n-1] = c
	now := w.narrowed(r)
	if now == w.Narrowed {
		return nil
	}
	rev := &incident.Revision{Was: w.said(r, w.Narrowed), Now: w.said(r, now), Because: fmt.Sprintf("a test that people ran %s this: %s", verbs[c.State], c.Title)}
	if c.Text != "" {
		rev.Because += " (" + c.Text + ")"
	}
	w.Narrowed = now
	return rev
}

var verbs = map[string]string{CauseSupports: "supports", CauseContradicts: "contradicts", CauseOpen: "no longer decides", CauseRunning: "no longer decides", CauseInconclusive: "doesn't decide"}

// said is the verdict in words where people's results leave one cause, or none.
func (w *Work) said(r *incident.Report, mechanism string) string {
	if mechanism == "" {
		return fmt.Sprintf("can't tell between %d causes", len(r.Verdict.Candidates))
	}
	i := slices.IndexFunc(w.Causes, func(c Cause) bool { return c.Mechanism == mechanism })
	return "likely, by people's tests: " + w.Causes[i].Title
}

const (
	// dueAgain is how long after a reminder the next one is, and dueMost how many there are.
	dueAgain = 7 * 24 * time.Hour
	dueMost  = 3
)

// Remind is the job by which the owner of a task hears that it is due; n counts the reminders of one date, from 0.
func (inv *Investigation) Remind(task, n int, now time.Time) Job {
	due := inv.Work.Tasks[task-1].Due
	key := fmt.Sprintf("due/%s/%d/%s/%d", inv.ID, task, due.Format(time.DateOnly), n)
	after := max(due.Sub(now), 0)
	if n > 0 { // from the reminder before: of a day long past, or after a long pause, not all come at once
		after = max(due.Add(time.Duration(n)*dueAgain).Sub(now), dueAgain)
	}
	return Job{Key: key, Kind: JobDue, Investigation: inv.ID, Payload: []byte(key), After: after}
}

// TaskDue does a JobDue: it reminds of a task that is not done, and leaves the next reminder.
func (f *Flow) TaskDue(ctx context.Context, l *Lease) error {
	done := func() error { return f.Store.Save(ctx, Change{Done: l}) }
	inv, err := f.Store.Load(ctx, l.Investigation)
	if errors.Is(err, ErrUnknown) { // forgotten
		return done()
	}
	if err != nil {
		return fmt.Errorf("investigation %s: %w", l.Investigation, err)
	}
	task, n := 0, 0
	var day string
	if _, err := fmt.Sscanf(strings.ReplaceAll(string(l.Payload), "/", " "), "due "+inv.ID+" %d %s %d", &task, &day, &n); err != nil {
		return done()
	}
	if task < 1 || task > len(inv.Work.Tasks) {
		return done()
	}
	t := inv.Work.Tasks[task-1]
	if !t.Done.IsZero() || t.Due.Format(time.DateOnly) != day { // there is another job for another date
		return done()
	}
	c := Notice{Event: Tick, From: inv.State, Due: task}
	change := Change{Done: l, Entries: []Entry{f.entry("question", "due: "+t.Text)}}
	if f.Compose != nil && !inv.Held {
		if change.Posts, err = f.worded(ctx, &inv, c); err != nil {
			return fmt.Errorf("investigation %s: writing a reminder: %w", inv.ID, err)
		}
	}
	if n++; n < dueMost {
		change.Jobs = []Job{inv.Remind(task, n, f.Now())}
	}
	change.Investigation = &inv
	return f.Store.Save(ctx, change)
}
