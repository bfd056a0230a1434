package history

import (
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
	var good []*Run
	began, known := moment(p.Start)
	for _, r := range p.runs {
		if !p.sameName(r) || !r.Completed {
			continue
		}
		if start, ok := moment(r.Start); ok && known && start.After(began) {
			continue
		}
		good = append(good, r)
	}
	if len(good) == 0 {
		return nil
	}
	r := newest(good)[0]
	out := &incident.LastGood{Run: r.ID, End: r.End, Evidence: []incident.Evidence{r.quote("completed", "name")}}
	d := &differ{book: p.book, run: r, out: out}
	if slices.Contains(p.near, r) {
		d.nodes(p.Nodes)
	}
	if r.WorldSize > 0 && p.This.WorldSize > 0 && r.WorldSize != p.This.WorldSize {
		d.add(WorldSize, "", strconv.Itoa(r.WorldSize), strconv.Itoa(p.This.WorldSize), append([]incident.Evidence{r.quote("world_size")}, now.World...))
	}
	if r.Framework != "" && p.This.Framework != "" && !knowledge.SameFrameworks(r.Framework, p.This.Framework) {
		d.add(Framework, "", r.Framework, p.This.Framework, []incident.Evidence{r.quote("framework")})
	}
	d.values(Version, "versions", r.Versions, now.Versions, p.Job)
	d.values(Argument, "arguments", r.Arguments, now.Arguments, p.Job)
	if n := len(out.Differences); n > maxDifferences {
		out.Differences, out.More = out.Differences[:maxDifferences], n-maxDifferences
	}
	if out.Differences == nil {
		out.Differences = []incident.Difference{}
	}
	return out
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

type differ struct {
	book *Book
	run  *Run
	out  *incident.LastGood
}

func (d *differ) add(what, name, was, now string, ev []incident.Evidence) {
	d.out.Differences = append(d.out.Differences, incident.Difference{What: what, Name: name, Was: was, Now: now, Evidence: ev})
}

func (d *differ) nodes(now []string) {
	if len(d.run.Nodes) == 0 || len(now) == 0 {
		return
	}
	here := make(map[string]bool, len(now))
	for _, n := range now {
		here[n] = true
	}
	var added, removed []string
	for n := range here {
		if !d.run.nodes[n] {
			added = append(added, n)
		}
	}
	for n := range d.run.nodes {
		if !here[n] {
			removed = append(removed, n)
		}
	}
	slices.Sort(added)
	slices.Sort(removed)
	if len(added) > 0 {
		d.add(NodesAdded, "", "", strings.Join(added, ","), d.holds(nil, added))
	}
	if len(removed) > 0 {
		d.add(NodesRemoved, "", strings.Join(removed, ","), "", d.holds(removed, nil))
	}
}

// proven bounds how many nodes a claim about the nodes of one run is held to.
const proven = 8

// holds is evidence that the run's line lists these nodes, and not those.
func (d *differ) holds(these, not []string) []incident.Evidence {
	is := []incident.Member{{Name: "id", Value: d.run.ID}}
	for i, n := range these {
		if i < proven {
			is = append(is, incident.Member{Name: "nodes", Value: n})
		}
	}
	e, ok := d.book.count([]*Run{d.run}, is...)
	if !ok {
		return []incident.Evidence{d.run.quote("nodes")}
	}
	for i, n := range not {
		if i < proven {
			e.Predicate.NotMembers = append(e.Predicate.NotMembers, incident.Member{Name: "nodes", Value: n})
		}
	}
	return []incident.Evidence{e}
}

// values compares names with values. What only one side states counts as a difference only among arguments, and there only
// where both sides state some: else it is not known.
func (d *differ) values(what, member string, was map[string]string, now []Value, job string) {
	if len(was) == 0 || len(now) == 0 {
		return
	}
	seen := map[string]bool{}
	for _, v := range now {
		seen[v.Name] = true
		old, ok := was[v.Name]
		switch {
		case ephemeral[v.Name] || strings.Contains(old, masked):
		case ok && without(old, d.run.Job) != without(v.Value, job):
			d.add(what, v.Name, old, v.Value, append([]incident.Evidence{d.run.inner(member, v.Name)}, v.Evidence...))
		case !ok && what == Argument:
			d.add(what, v.Name, "", v.Value, v.Evidence)
		}
	}
	var gone []string
	for name := range was {
		if what == Argument && !seen[name] && !ephemeral[name] {
			gone = append(gone, name)
		}
	}
	slices.Sort(gone)
	for _, name := range gone {
		d.add(what, name, was[name], "", []incident.Evidence{d.run.inner(member, name)})
	}
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
