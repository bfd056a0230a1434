package workflow

import (
	"bytes"
	"context"
	"fmt"

	"faultline/analysis/history"
	"faultline/incident"
)

// Remembered is what later runs may be told of this one: the facts of its newest report, as people left them. There is none
// without a report, or where nothing says which job it was. What people called wrong is not built upon: only how the job
// was set up is kept, and the mechanism that they named instead.
func (inv Investigation) Remembered() (history.Record, bool) {
	if inv.Report == nil || inv.Looked {
		return history.Record{}, false
	}
	r := *inv.Report
	if r.Job.ID == nil {
		job := inv.JobID
		if job == "" {
			job = inv.Job
		}
		r.Job.ID = &job
	}
	if r.Job.Name == nil && inv.Ended != nil && inv.Ended.Name != "" {
		r.Job.Name = &inv.Ended.Name
	}
	rec, err := history.Of(&r, history.Who{Cluster: inv.Cluster})
	if err != nil {
		return history.Record{}, false
	}
	if o := inv.Outcome; o != nil && o.Verdict == "wrong" {
		rec.Status, rec.Confidence, rec.Mechanism, rec.Origin = incident.Inconclusive, 0, o.Mechanism, ""
		rec.RootRanks, rec.RootNodes, rec.Component, rec.Item, rec.Completed = nil, nil, "", "", false
	}
	return rec, true
}

// Past gathers what investigations leave to later ones.
type Past struct{ lines bytes.Buffer }

// Add takes what an investigation leaves, where it leaves anything; id is that of its run.
func (p *Past) Add(inv Investigation) (id string, ok bool) {
	rec, ok := inv.Remembered()
	if !ok {
		return "", false
	}
	line, err := rec.Line()
	if err != nil { // one that does not fit a line is left out, as in an export
		return "", false
	}
	p.lines.Write(line)
	return rec.ID, true
}

// Book is all of it, to compare a run with.
func (p *Past) Book(ctx context.Context) (*history.Book, error) {
	book, err := history.Read(ctx, "cases", bytes.NewReader(p.lines.Bytes()))
	if err != nil {
		return nil, fmt.Errorf("reading what cases left: %w", err)
	}
	return book, nil
}

// Trends are sentences on what their failures have in common beyond chance.
func (p *Past) Trends(ctx context.Context) ([]string, error) {
	book, err := p.Book(ctx)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, t := range book.Trends() {
		out = append(out, t.Statement)
	}
	return out, nil
}
