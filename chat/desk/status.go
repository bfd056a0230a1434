package desk

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"faultline/workflow"
)

// statusOf says where an investigation stands.
func (a *act) statusOf(inv workflow.Investigation) []string {
	row, _ := workflow.About(inv.State)
	out := []string{fill("%s, job %s: I'm %s (for %s).", inv.ID, orUnknown(inv.Job), row.Doing, ago(a.Now().Sub(inv.Since)))}
	if n := len(inv.Sources); n > 0 {
		out = append(out, fill("%s read.", count(n, "file")))
	}
	if inv.Told != "" {
		out = append(out, fill("Verdict %d: %s", inv.Verdicts, inv.Told))
	}
	for _, q := range inv.Open {
		out = append(out, fill("Waiting for an answer: %s", q.Text))
	}
	if inv.Muted {
		out = append(out, "Reminders are off.")
	}
	return out
}

// whyOf explains the present step and every open question.
func whyOf(inv workflow.Investigation) []string {
	row, _ := workflow.About(inv.State)
	out := []string{fill("I'm %s. %s", row.Doing, row.Why)}
	for _, q := range inv.Open {
		out = append(out, fill("I asked: %s Because: %s", q.Text, q.Why))
		if where := whereToFind(q); where != "" {
			out = append(out, fill("Where to find it: %s", where))
		}
	}
	if inv.Report != nil && inv.Report.Verdict.Why != "" {
		out = append(out, fill("Why this verdict: %s", inv.Report.Verdict.Why))
	}
	return out
}

// overview is the status of a channel.
func (a *act) overview(ctx context.Context) error {
	rows, err := a.Store.Find(ctx, workflow.Query{Team: a.in.Team, Channel: a.in.Channel, Open: true, Limit: 10})
	if err != nil {
		return err
	}
	out := []string{say(statusNone)}
	if len(rows) > 0 {
		out = []string{say(statusOpen, count(len(rows), "investigation"))}
	}
	for _, s := range rows {
		if !a.info.Direct || s.Requester == a.in.User {
			out = append(out, a.line(s))
		}
	}
	ahead, err := a.ahead(ctx)
	if err != nil {
		return err
	}
	if ahead > 0 {
		out = append(out, say(statusQueue, count(ahead, "investigation")))
	}
	scores, err := Feedback(ctx, a.Store, a.in.Team)
	if err != nil {
		return err
	}
	if len(scores) == 0 {
		return a.answer(ctx, append(out, say(statusNoScore)))
	}
	var parts []string
	for _, s := range scores {
		parts = append(parts, fill("%s %d right, %d wrong", mechanismTitle(s.Mechanism), s.Right, s.Wrong))
	}
	return a.answer(ctx, append(out, say(statusScore)+strings.Join(parts, "; ")+"."))
}

// Score is how often people said that verdicts of one mechanism were right.
type Score struct {
	Mechanism             string
	Right, Wrong, Unknown int
}

// Feedback counts what people said about verdicts, by the mechanism of the verdict; team "" counts all teams.
func Feedback(ctx context.Context, store workflow.Durable, team string) ([]Score, error) {
	rows, err := store.Find(ctx, workflow.Query{Team: team, Limit: 10_000})
	if err != nil {
		return nil, err
	}
	by := map[string]*Score{}
	for _, s := range rows {
		if s.Outcome == "" || s.Mechanism == "" {
			continue
		}
		if by[s.Mechanism] == nil {
			by[s.Mechanism] = &Score{Mechanism: s.Mechanism}
		}
		switch s.Outcome {
		case "right":
			by[s.Mechanism].Right++
		case "wrong":
			by[s.Mechanism].Wrong++
		default:
			by[s.Mechanism].Unknown++
		}
	}
	var out []Score
	for _, s := range by {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b Score) int {
		return cmp.Or(cmp.Compare(b.Right+b.Wrong, a.Right+a.Wrong), cmp.Compare(a.Mechanism, b.Mechanism))
	})
	return out, nil
}
