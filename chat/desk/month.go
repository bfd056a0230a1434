package desk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"faultline/incident"
	"faultline/workflow"
)

// month is what the cases of a channel come to over some time.
type month struct {
	cases, caused       int // investigated, and with a single cause
	right, wrong        int
	fixed, failed, open int // fixes: proven, not, and waiting for a proof
	took                []time.Duration
	lost                map[string]float64 // GPU hours, by mechanism
	by                  map[string]int     // cases, by mechanism
	past                workflow.Past
}

// Bounds of what a month is made of, and of what is shown of it.
const (
	monthCases  = 1000
	monthCauses = 5
	monthTrends = 3
)

// months sums up the cases of a channel that were opened in [from, to).
func (d *Desk) months(ctx context.Context, team, channel string, from, to time.Time) (*month, error) {
	rows, err := d.Store.Find(ctx, workflow.Query{Team: team, Channel: channel, Limit: most})
	if err != nil {
		return nil, fmt.Errorf("listing the cases of a month: %w", err)
	}
	m := &month{lost: map[string]float64{}, by: map[string]int{}}
	for _, s := range rows {
		if s.Asked.Before(from) || !s.Asked.Before(to) || m.cases == monthCases {
			continue
		}
		inv, err := d.Store.Load(ctx, s.ID)
		if errors.Is(err, workflow.ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("case %s: %w", s.ID, err)
		}
		if inv.Report == nil || inv.Held {
			continue
		}
		ledger, err := d.Store.Ledger(ctx, s.ID)
		if err != nil {
			return nil, fmt.Errorf("the ledger of case %s: %w", s.ID, err)
		}
		m.add(&inv, ledger)
	}
	return m, nil
}

func (m *month) add(inv *workflow.Investigation, ledger []workflow.Entry) {
	m.cases++
	spent := workflow.Spent(ledger)
	m.took = append(m.took, spent[workflow.PartCollect]+spent[workflow.PartAnalyse])
	if o := inv.Outcome; o != nil {
		switch o.Verdict {
		case "right":
			m.right++
		case "wrong":
			m.wrong++
		}
	}
	if f := inv.Fix; f != nil {
		switch f.Outcome {
		case incident.Fixed:
			m.fixed++
		case incident.NotFixed, incident.Regression:
			m.failed++
		default:
			m.open++
		}
	}
	if cause := failureOf(inv.Summary()); cause != "" {
		m.caused++
		m.by[string(cause)]++
		if h := inv.Report.Action.Lost.GPUHours; h != nil {
			m.lost[string(cause)] += *h
		}
	}
	m.past.Add(*inv)
}

// say is the month in words; nil where nothing happened. What runs have in common names nodes, jobs and switches. A post in a channel stays when a
// case is forgotten, so that only an answer, which one person sees, has the names.
func (m *month) say(ctx context.Context, when string, named bool) ([]string, error) {
	if m.cases == 0 {
		return nil, nil
	}
	out := []string{say(monthHead, when, count(m.cases, "case"), m.caused)}
	slices.Sort(m.took)
	out = append(out, say(monthTook, plainTime(m.took[len(m.took)/2]), plainTime(m.took[len(m.took)-1])))
	causes := make([]string, 0, len(m.by))
	for c := range m.by {
		causes = append(causes, c)
	}
	slices.SortFunc(causes, func(a, b string) int {
		return cmp.Or(cmp.Compare(m.lost[b], m.lost[a]), cmp.Compare(m.by[b], m.by[a]), strings.Compare(a, b))
	})
	for _, c := range causes[:min(len(causes), monthCauses)] {
		lost := ""
		if m.lost[c] > 0 {
			lost = fmt.Sprintf(", %.0f GPU hours lost", m.lost[c])
		}
		out = append(out, fill("• %s: %s%s", sentenceStart(mechanismTitle(c)), count(m.by[c], "case"), lost))
	}
	out = append(out, say(monthRated, m.right, m.wrong, m.cases-m.right-m.wrong))
	if m.fixed+m.failed+m.open > 0 {
		out = append(out, say(monthFixes, m.fixed, m.failed, m.open))
	}
	trends, err := m.past.Trends(ctx)
	if err != nil {
		return nil, err
	}
	if !named && len(trends) > 0 {
		return append(out, say(monthPatterns, len(trends))), nil
	}
	for _, t := range trends[:min(len(trends), monthTrends)] {
		out = append(out, "• "+fill("%s.", t))
	}
	return out, nil
}

func sentenceStart(s string) string { return strings.TrimSuffix(sentence(s), ".") }

func plainTime(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < 2*time.Hour:
		return fmt.Sprintf("%.0f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f h", d.Hours())
}

// askMonth posts what the last 30 days of a channel come to.
func (a *act) askMonth(ctx context.Context) error {
	now := a.Now().UTC()
	m, err := a.months(ctx, a.in.Team, a.in.Channel, now.AddDate(0, 0, -30), now.Add(time.Minute))
	if err != nil {
		return err
	}
	lines, err := m.say(ctx, "Last 30 days", true)
	if err != nil {
		return err
	}
	if lines == nil {
		return a.say(ctx, digestNothing)
	}
	return a.answer(ctx, lines)
}

// Months posts, on the first of a month, what the month before came to in each channel that is watched.
func (w *Watcher) Months(ctx context.Context, l *workflow.Lease) error {
	d := w.Desk
	team, _ := w.Self()
	if team == "" {
		return errLater{selfWait}
	}
	first := d.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-d.Now().UTC().Day())
	from := first.AddDate(0, -1, 0)
	change := workflow.Change{Done: l}
	done := map[string]bool{}
	for _, watch := range d.Policy().Watches {
		if done[watch.Channel] {
			continue
		}
		done[watch.Channel] = true
		m, err := d.months(ctx, team, watch.Channel, from, first)
		if err != nil {
			return err
		}
		lines, err := m.say(ctx, from.Format("January 2006"), false)
		if err != nil {
			return err
		}
		if lines == nil {
			continue
		}
		b, err := payload(message(lines))
		if err != nil {
			return err
		}
		change.Posts = append(change.Posts, workflow.Post{Kind: workflow.PostMessage, Channel: watch.Channel, Payload: b})
	}
	return d.Store.Save(ctx, change)
}
