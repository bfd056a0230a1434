package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/history"
	"faultline/analysis/hostlist"
	"faultline/analysis/rerun"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/messages/redact"
	"faultline/workflow"
)

// earlier are the runs that a case can be compared with: those of other cases of its channel, and nothing that its people may not see.
type earlier struct {
	*history.Past
	cases map[string]string // by the id of a run
}

// Bounds of what is looked up, and of what is said.
const (
	earlierCases   = 200
	earlierNodes   = 4 // a failure that began on more is nobody's
	earlierChanges = 3
	earlierValue   = 40 // characters
)

// earlierRuns are those of the channel of a case; nil where its own run has no name to tell it from others.
func (d *Desk) earlierRuns(ctx context.Context, inv workflow.Investigation) (*earlier, error) {
	now, ok := inv.Remembered()
	if !ok {
		return nil, nil
	}
	rows, err := d.Store.Find(ctx, workflow.Query{Team: inv.Home.Team, Channel: inv.Home.Channel, Limit: most})
	if err != nil {
		return nil, fmt.Errorf("looking for earlier runs: %w", err)
	}
	var past workflow.Past
	out := &earlier{cases: map[string]string{}}
	for _, s := range rows {
		if s.ID == inv.ID || len(out.cases) == earlierCases {
			continue
		}
		other, err := d.Store.Load(ctx, s.ID)
		if errors.Is(err, workflow.ErrUnknown) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("looking at case %s: %w", s.ID, err)
		}
		if other.Held { // nobody was told of it yet
			continue
		}
		if id, ok := past.Add(other); ok && out.cases[id] == "" {
			out.cases[id] = other.ID
		}
	}
	book, err := past.Book(ctx)
	if err != nil {
		return nil, err
	}
	out.Past = book.Past(history.This{Who: history.Who{Cluster: now.Cluster, User: now.User}, Job: now.Job, Run: now.Run, Name: now.Name, Start: now.Start,
		Nodes: now.Nodes, WorldSize: now.WorldSize, Framework: now.Framework})
	return out, nil
}

// recalled are sentences on what of this run the channel's earlier ones met as well, and on how it compares with the last one of its name.
func (e *earlier) recalled(r *incident.Report) []string {
	var out []string
	for _, rec := range e.again(r) {
		if rec.Times < 2 && !rec.Weighs { // once says nothing
			continue
		}
		text := say(pastAgain, rec.Statement, e.named(rec.Runs))
		if rec.Kind == incident.SameHost && rec.Weighs {
			text += " " + say(pastExclude, code("sbatch --exclude="+rec.What))
		}
		out = append(out, text)
	}
	before, ok := e.Before()
	if !ok {
		return out
	}
	if text := compared(before, r); text != "" {
		out = append(out, say(pastCompared, e.named([]string{before.ID}), text))
	}
	if changes := e.changes(before, r); before.Completed && len(changes) > 0 {
		out = append(out, say(pastChanged, e.named([]string{before.ID}), strings.Join(changes, ", ")))
	}
	return out
}

// again looks up what the engine would look up in a history that it is given: a verdict with one cause, by what its mechanism allows.
func (e *earlier) again(r *incident.Report) []incident.Recurrence {
	v := &r.Verdict
	if v.Status != incident.Confirmed && v.Status != incident.Probable {
		return nil
	}
	var out []incident.Recurrence
	add := func(rec *incident.Recurrence) {
		if rec != nil {
			out = append(out, *rec)
		}
	}
	rule := knowledge.Slug(v.Mechanism).Again()
	if v.Root.Item != nil && *v.Root.Item != "" {
		add(e.Item(*v.Root.Item, v.Mechanism))
	}
	if rule.Machine && v.Scope != "all" && len(v.Root.Nodes) <= earlierNodes {
		for _, n := range v.Root.Nodes {
			add(e.Host(n, v.Root.Ranks, func(slug knowledge.Slug) bool { return slug.Again().Machine }))
		}
	}
	if rule.Step && r.Job.LastStep != nil {
		add(e.Step(*r.Job.LastStep, v.Mechanism))
	}
	return out
}

// named are the cases of runs.
func (e *earlier) named(runs []string) string {
	var ids []string
	for _, r := range runs {
		if id := e.cases[r]; id != "" {
			ids = append(ids, id)
		}
	}
	return strings.Join(ids[:min(len(ids), lessonNamed)], ", ")
}

// compared is what of a run's figures is worse than it was; where nothing is, its step time, if both logs have it.
func compared(before history.Record, r *incident.Report) string {
	var worse []string
	usual := ""
	for _, c := range rerun.Compare(before.Report(), r).Checks {
		switch {
		case c.Name == incident.CheckProblem:
		case c.Level == incident.CheckWorse:
			worse = append(worse, c.Text)
		case c.Level == incident.CheckGood && c.Name == incident.SignStepTime:
			usual = c.Text
		}
	}
	if len(worse) > 0 {
		return strings.Join(worse, "; ")
	}
	return usual
}

// changes are what a run was set up with otherwise than an earlier one, what rarely changes first. Only its own values are told: those of the
// other case stay there, from where they can be forgotten.
func (e *earlier) changes(before history.Record, r *incident.Report) []string {
	var out []string
	for _, d := range e.Rarest(rerun.Compare(before.Report(), r).Differences) {
		value := []rune(redact.String(d.Now))
		text := string(value[:min(len(value), earlierValue)])
		switch {
		case d.What == history.NodesRemoved:
			continue
		case d.What == history.NodesAdded:
			nodes := strings.Split(d.Now, ",")
			text = "new " + plural(len(nodes), "node ", "nodes ") + hostlist.Compress(nodes)
		case d.What == history.WorldSize:
			text = "world size " + text
		case text == "":
			text = d.Name + " no longer set"
		case d.Name != "":
			text = d.Name + " " + text
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	return out[:min(len(out), earlierChanges)]
}
