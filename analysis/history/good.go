package history

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

// Kinds of differences.
const (
	NodesAdded   = "nodes-added"
	NodesRemoved = "nodes-removed"
	WorldSize    = "world-size"
	Framework    = "framework"
	Version      = "version"
	Argument     = "argument"
)

// Value is what this run states, with its evidence.
type Value struct {
	Name, Value string
	Evidence    []incident.Evidence
}

// Now is what this run is compared by with the last good one.
type Now struct {
	World     []incident.Evidence // of the world size
	Versions  []Value
	Arguments []Value
}

// maxDifferences bounds the list; the rest is counted.
const maxDifferences = 24

// LastGood compares with the newest run of the same name that completed, begun before this one as far as that is known. It
// is nil where there is none.
func (p *Past) LastGood(now Now) *incident.LastGood {
	r := p.before(func(r *Run) bool { return r.Completed })
	if r == nil {
		return nil
	}
	out := &incident.LastGood{Run: r.ID, End: r.End, Evidence: []incident.Evidence{r.quote("completed", "name")}}
	for _, f := range r.Figures {
		out.Figures = append(out.Figures, incident.GoodFigure{Name: f.Name, Unit: f.Unit, Median: f.Median, Spread: f.Spread, Evidence: []incident.Evidence{r.quote("figures")}})
	}
	was, is := r.Record, Record{Job: p.Job, Nodes: p.Nodes, WorldSize: p.This.WorldSize, Framework: p.This.Framework, Versions: values(now.Versions), Arguments: values(now.Arguments)}
	if !slices.Contains(p.near, r) {
		was.Nodes = nil
	}
	out.Differences = p.Rarest(Differences(was, is))
	if n := len(out.Differences); n > maxDifferences {
		out.Differences, out.More = out.Differences[:maxDifferences], n-maxDifferences
	}
	for i := range out.Differences {
		d := &out.Differences[i]
		d.Evidence = p.prove(r, now, *d)
	}
	return out
}

// before is the newest run of the same name that is such a one, begun before this one as far as that is known; nil where there is none.
func (p *Past) before(such func(r *Run) bool) *Run {
	var list []*Run
	began, known := moment(p.Start)
	for _, r := range p.runs {
		if !p.sameName(r) || !such(r) {
			continue
		}
		if start, ok := moment(r.Start); ok && known && start.After(began) {
			continue
		}
		list = append(list, r)
	}
	if len(list) == 0 {
		return nil
	}
	return newest(list)[0]
}

// Completed is the newest run of the same name that completed on so many ranks at most.
func (p *Past) Completed(most int) (Record, bool) {
	r := p.before(func(r *Run) bool { return r.Completed && r.WorldSize > 0 && r.WorldSize <= most })
	if r == nil {
		return Record{}, false
	}
	return r.Record, true
}

// Before is the run that this one is to be compared with: the newest of the same name that completed, else the newest.
func (p *Past) Before() (Record, bool) {
	r := p.before(func(r *Run) bool { return r.Completed })
	if r == nil {
		r = p.before(func(*Run) bool { return true })
	}
	if r == nil {
		return Record{}, false
	}
	return r.Record, true
}

// enoughRuns is from how many earlier runs of a job on it is told what rarely changes there.
const enoughRuns = 4

// Rarest puts first what changed least often from one earlier run of the job to the next: a node list changes each time, and an image that did
// so once is worth a look. The order stays where too few runs are known.
func (p *Past) Rarest(list []incident.Difference) []incident.Difference {
	var runs []*Run
	for _, r := range p.runs {
		if p.sameName(r) {
			runs = append(runs, r)
		}
	}
	if len(runs) < enoughRuns {
		return list
	}
	runs = newest(runs)
	changes := map[[2]string]int{}
	for i := range len(runs) - 1 {
		for _, d := range Differences(runs[i+1].Record, runs[i].Record) {
			changes[[2]string{d.What, d.Name}]++
		}
	}
	slices.SortStableFunc(list, func(a, b incident.Difference) int {
		return changes[[2]string{a.What, a.Name}] - changes[[2]string{b.What, b.Name}]
	})
	return list
}

func values(list []Value) map[string]string {
	out := make(map[string]string, len(list))
	for _, v := range list {
		out[v.Name] = v.Value
	}
	return out
}

// prove is the evidence of a difference: the line of the earlier run, and what this run states.
func (p *Past) prove(r *Run, now Now, d incident.Difference) []incident.Evidence {
	stated := func(list []Value) []incident.Evidence {
		if i := slices.IndexFunc(list, func(v Value) bool { return v.Name == d.Name }); i >= 0 {
			return list[i].Evidence
		}
		return nil
	}
	switch d.What {
	case NodesAdded:
		return p.holds(r, nil, strings.Split(d.Now, ","))
	case NodesRemoved:
		return p.holds(r, strings.Split(d.Was, ","), nil)
	case WorldSize:
		return append([]incident.Evidence{r.quote("world_size")}, now.World...)
	case Framework:
		return []incident.Evidence{r.quote("framework")}
	case Version:
		return append([]incident.Evidence{r.inner("versions", d.Name)}, stated(now.Versions)...)
	}
	if d.Was == "" {
		return stated(now.Arguments)
	}
	return append([]incident.Evidence{r.inner("arguments", d.Name)}, stated(now.Arguments)...)
}

// Differences are what two runs of a job were set up with that is not the same, without evidence. What only one of them states counts only
// among arguments, and there only where both state some: else it is not known.
func Differences(was, now Record) []incident.Difference {
	out := []incident.Difference{}
	add := func(what, name, before, after string) {
		out = append(out, incident.Difference{What: what, Name: name, Was: before, Now: after})
	}
	if len(was.Nodes) > 0 && len(now.Nodes) > 0 {
		if added := missing(now.Nodes, was.Nodes); len(added) > 0 {
			add(NodesAdded, "", "", strings.Join(added, ","))
		}
		if removed := missing(was.Nodes, now.Nodes); len(removed) > 0 {
			add(NodesRemoved, "", strings.Join(removed, ","), "")
		}
	}
	if was.WorldSize > 0 && now.WorldSize > 0 && was.WorldSize != now.WorldSize {
		add(WorldSize, "", strconv.Itoa(was.WorldSize), strconv.Itoa(now.WorldSize))
	}
	if was.Framework != "" && now.Framework != "" && !knowledge.SameFrameworks(was.Framework, now.Framework) {
		add(Framework, "", was.Framework, now.Framework)
	}
	for _, kind := range []struct {
		what     string
		was, now map[string]string
	}{{Version, was.Versions, now.Versions}, {Argument, was.Arguments, now.Arguments}} {
		if len(kind.was) == 0 || len(kind.now) == 0 {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(kind.now)) {
			old, ok := kind.was[name]
			switch value := kind.now[name]; {
			case ephemeral[name] || strings.Contains(old, masked):
			case ok && without(old, was.Job) != without(value, now.Job):
				add(kind.what, name, old, value)
			case !ok && kind.what == Argument:
				add(kind.what, name, "", value)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(kind.was)) {
			if _, stays := kind.now[name]; kind.what == Argument && !stays && !ephemeral[name] {
				add(kind.what, name, kind.was[name], "")
			}
		}
	}
	return out
}

// missing are the names that are in one list and not in the other, sorted.
func missing(in, from []string) []string {
	there := make(map[string]bool, len(from))
	for _, n := range from {
		there[n] = true
	}
	var out []string
	for _, n := range in {
		if !there[n] {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Usual are the shapes of lines that sound bad and that runs of a name printed which completed; ok is false where none of them states any.
func (b *Book) Usual(name string) (shapes map[string]bool, ok bool) {
	shapes = map[string]bool{}
	if b == nil || name == "" {
		return shapes, false
	}
	for _, r := range b.Runs {
		if r.Completed && r.Name == name && r.Shapes != nil {
			ok = true
			for _, s := range r.Shapes {
				shapes[s] = true
			}
		}
	}
	return shapes, ok
}

// proven bounds how many nodes a claim about the nodes of one run is held to.
const proven = 8

// holds is evidence that the run's line lists these nodes, and not those.
func (p *Past) holds(run *Run, these, not []string) []incident.Evidence {
	is := []incident.Member{{Name: "id", Value: run.ID}}
	for i, n := range these {
		if i < proven {
			is = append(is, incident.Member{Name: "nodes", Value: n})
		}
	}
	e, ok := p.book.count([]*Run{run}, is...)
	if !ok {
		return []incident.Evidence{run.quote("nodes")}
	}
	for i, n := range not {
		if i < proven {
			e.Predicate.NotMembers = append(e.Predicate.NotMembers, incident.Member{Name: "nodes", Value: n})
		}
	}
	return []incident.Evidence{e}
}

// masked stands in a line where a secret was (messages/redact): whether that is another now, nobody can tell.
const masked = "[masked]"

// without takes the job's id out of a value: paths of logs and checkpoints hold it.
func without(value, job string) string {
	if job == "" {
		return value
	}
	return strings.ReplaceAll(value, job, "{job}")
}

// ephemeral are arguments that differ between any two runs, or say what is compared in its own words.
var ephemeral = map[string]bool{"rank": true, "local_rank": true, "node_rank": true, "master_addr": true, "master_port": true, "rdzv_id": true,
	"rdzv_endpoint": true, "world_size": true, "iteration": true, "start_time": true, "run_id": true, "wandb_run_id": true, "process_index": true,
	"local_process_index": true, "logging_dir": true}
