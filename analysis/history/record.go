// Package history reads and writes what is kept of earlier runs (JSON Lines, "faultline.history/v1", docs/history.md) and
// compares a run with them: what recurs, and what is not as it was when the job last went well.
package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
)

// Schema names the version of the lines.
const Schema = "faultline.history/v1"

// Record is one run as a line states it. Members that are not known are left out.
type Record struct {
	Schema  string `json:"schema"`
	ID      string `json:"id"` // CLUSTER/JOB/RUN, or JOB/RUN where the cluster is not known
	Job     string `json:"job"`
	Run     int    `json:"run"`
	Cluster string `json:"cluster,omitempty"`
	Name    string `json:"name,omitempty"`
	Start   string `json:"start,omitempty"`
	End     string `json:"end,omitempty"`
	// Completed: the job came to its own end. The rest of this block is the verdict.
	Completed  bool                `json:"completed"`
	Status     string              `json:"status,omitempty"`
	Mechanism  string              `json:"mechanism,omitempty"`
	Origin     string              `json:"origin,omitempty"`
	Confidence incident.Confidence `json:"confidence"`
	RootRanks  []int               `json:"root_ranks,omitempty"`
	RootNodes  []string            `json:"root_nodes,omitempty"`
	Component  string              `json:"component,omitempty"`
	Item       string              `json:"item,omitempty"`
	// Step is the last one of which a progress line was seen, StepsLogged how many different ones were.
	Step        *int64            `json:"step,omitempty"`
	StepsLogged int               `json:"steps_logged,omitempty"`
	Framework   string            `json:"framework,omitempty"`
	WorldSize   int               `json:"world_size,omitempty"`
	NodesCount  int               `json:"nodes_count,omitempty"`
	Versions    map[string]string `json:"versions,omitempty"`
	Nodes       []string          `json:"nodes,omitempty"`
	Arguments   map[string]string `json:"arguments,omitempty"`
	// Figures sum up what its step lines printed: what the next run is compared by.
	Figures []Figure `json:"figures,omitempty"`
	// Before is what it did again and again before its failure began.
	Before []incident.Precursor `json:"before,omitempty"`
	// Shapes are of lines that sound bad and that a run printed which completed.
	Shapes []string `json:"shapes,omitempty"`
	// User is a key that tells one submitter from another, in whatever form the operator chooses. It is never shown.
	User string `json:"user,omitempty"`
}

// Figure is a number of a run's step lines, as in the report.
type Figure struct {
	Name   string  `json:"name"`
	Unit   string  `json:"unit,omitempty"`
	N      int     `json:"n"`
	Median float64 `json:"median"`
	Spread float64 `json:"spread"`
	First  float64 `json:"first"`
	Last   float64 `json:"last"`
}

// Who says of a run what its logs cannot.
type Who struct {
	Cluster, User string
}

// ErrNoJob says that a run has no name that could tell it from others.
var ErrNoJob = errors.New("the logs state no job id: give it with --job ID")

// maxRootRanks bounds the roots that are listed: a failure of everybody is nobody's.
const maxRootRanks = 64

// Of makes a record of a report.
func Of(r *incident.Report, who Who) (Record, error) {
	j, v := &r.Job, &r.Verdict
	out := Record{Schema: Schema, Job: text(j.ID), Cluster: who.Cluster, User: who.User, Name: text(j.Name), Start: text(j.StartTime), End: text(j.EndTime)}
	if j.Run != nil {
		out.Run = *j.Run
	}
	if !word(out.Job) || out.Cluster != "" && !word(out.Cluster) {
		return Record{}, ErrNoJob
	}
	out.ID = ID(out.Cluster, out.Job, out.Run)
	out.concluded(v)
	if out.Completed {
		out.Shapes = slices.Clone(r.Shapes)
	}
	out.Step, out.StepsLogged, out.Framework = j.LastStep, j.StepsLogged, text(j.Framework)
	for _, f := range r.Figures {
		out.Figures = append(out.Figures, Figure{f.Name, f.Unit, f.N, f.Median, f.Spread, f.First, f.Last})
	}
	out.Before = slices.Clone(r.Before)
	if j.WorldSize != nil {
		out.WorldSize = *j.WorldSize
	}
	out.Nodes = Nodes(r)
	if j.NodesCount != nil {
		out.NodesCount = *j.NodesCount
	}
	out.NodesCount = max(out.NodesCount, len(out.Nodes))
	out.Versions, out.Arguments = named(j.Versions), named(j.Arguments)
	return out, nil
}

// concluded takes over the verdict; a run that completed has no culprit.
func (r *Record) concluded(v *incident.Verdict) {
	r.Status, r.Mechanism, r.Origin, r.Confidence = v.Status, v.Mechanism, v.Origin, v.Confidence
	r.Completed = v.Status == incident.NoFailure && v.Mechanism == "completed"
	if !r.Completed {
		if len(v.Root.Ranks) <= maxRootRanks {
			r.RootRanks = slices.Clone(v.Root.Ranks)
		}
		for _, n := range v.Root.Nodes {
			if n != "" && sound(n) {
				r.RootNodes = append(r.RootNodes, n)
			}
		}
		r.Component, r.Item = text(v.Root.Component), text(v.Root.Item)
	}
}

// Report is what a record says of its run, as far as another run is compared with it.
func (r Record) Report() *incident.Report {
	out := &incident.Report{Verdict: incident.Verdict{Status: r.Status, Mechanism: r.Mechanism, Origin: r.Origin, Confidence: r.Confidence}}
	j := &out.Job
	j.ID, j.Run, j.LastStep, j.StepsLogged = &r.Job, &r.Run, r.Step, r.StepsLogged
	if r.Name != "" {
		j.Name = &r.Name
	}
	if r.Completed {
		out.Verdict.Ending = incident.EndSeen
	}
	if r.WorldSize > 0 {
		j.WorldSize = &r.WorldSize
	}
	if r.NodesCount > 0 {
		j.NodesCount = &r.NodesCount
	}
	if r.Framework != "" {
		j.Framework = &r.Framework
	}
	out.Coverage.NodesSeen = r.Nodes
	j.Versions, j.Arguments = namesOf(r.Versions), namesOf(r.Arguments)
	for _, f := range r.Figures {
		out.Figures = append(out.Figures, incident.Figure{Name: f.Name, Unit: f.Unit, N: f.N, Median: f.Median, Spread: f.Spread, First: f.First, Last: f.Last})
	}
	return out
}

func namesOf(m map[string]string) []incident.NameOf {
	var out []incident.NameOf
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, incident.NameOf{Name: k, Value: m[k]})
	}
	return out
}

// Nodes are all nodes that a report knows the run to have used, sorted.
func Nodes(r *incident.Report) []string {
	all := slices.Concat(r.Coverage.NodesExpected, r.Coverage.NodesSeen, r.Verdict.Root.Nodes)
	all = slices.DeleteFunc(all, func(n string) bool { return n == "" || !sound(n) })
	slices.Sort(all)
	return slices.Compact(all)
}

// Line writes a record as one line, with its newline.
func (r Record) Line() ([]byte, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("writing run %s as a line of history: %w", r.ID, err)
	}
	if len(b) > incident.MaxRecord {
		r.Arguments = nil // the largest part that the comparison of failures can do without
		if b, err = json.Marshal(r); err != nil || len(b) > incident.MaxRecord {
			return nil, fmt.Errorf("run %s does not fit in a history line", r.ID)
		}
	}
	return append(b, '\n'), nil
}

// ID names a run.
func ID(cluster, job string, run int) string {
	id := job + "/" + strconv.Itoa(run)
	if cluster != "" {
		return cluster + "/" + id
	}
	return id
}

// text is what may stand in a line: what a reader would not take is left out.
func text(s *string) string {
	if s == nil || !sound(*s) {
		return ""
	}
	return *s
}

func named(list []incident.NameOf) map[string]string {
	if len(list) == 0 {
		return nil
	}
	out := make(map[string]string, len(list))
	for _, n := range list {
		if sound(n.Name) && sound(n.Value) {
			out[n.Name] = n.Value
		}
	}
	return out
}

// word says that a text can be part of an id: letters, digits, and what job and cluster names hold besides.
func word(s string) bool {
	return s != "" && len(s) <= 128 && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-:+") == ""
}
