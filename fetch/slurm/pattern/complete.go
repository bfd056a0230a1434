package pattern

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Class is what is the matter with a file.
type Class string

// The classes, the worst first.
const (
	Missing    Class = "missing"     // there is none
	Unreadable Class = "unreadable"  // it is there, and its owner does not let us read it
	Empty      Class = "empty"       // no byte
	HeaderOnly Class = "header only" // SLURM's and the container's lines, and nothing of the job
	Truncated  Class = "truncated"   // it stops well before the others
	Growing    Class = "growing"     // somebody still writes to it
	Whole      Class = ""            // nothing
)

// Seen is a file that the pattern fits.
type Seen struct {
	Name    string
	Vars    Vars
	Size    int64
	Written time.Time // zero where the place does not tell
	Denied  bool      // its bytes cannot be read
	Growing bool      // it grew while it was looked at
	Start   []byte    // its first bytes, all of them where there are few; nil = not looked at
}

// Expect is what a pattern should have given for one step.
type Expect struct {
	Template Template
	Nodes    []string // of the step, in SLURM's order
	Tasks    int      // of the step, or None
}

// Gap is an expected file that is not there, or not whole.
type Gap struct {
	Class Class
	Name  string // of the file, "" where it is missing
	Node  string // "" where that is not known
	Index int    // of the node in the step, or None
	Rank  int    // the task, or None
}

func (g Gap) String() string {
	what := g.Node
	switch {
	case g.Node != "" && g.Index != None:
		what += " (index " + strconv.Itoa(g.Index) + ")"
	case g.Node == "" && g.Rank != None:
		what = "task " + strconv.Itoa(g.Rank)
	case g.Node == "" && g.Index != None:
		what = "node index " + strconv.Itoa(g.Index)
	case g.Node == "":
		what = g.Name
	}
	return what
}

// Result says how complete the files are.
type Result struct {
	Unit     string // what is counted: "nodes", "tasks", "files"
	Expected int    // 0 = not known
	Have     int    // readable, with content or not
	Gaps     []Gap  // the missing first
	// Odd is a sentence where the files contradict what SLURM says; then nothing is called missing.
	Odd string
}

// namesSaid is how many names a sentence holds.
const namesSaid = 8

// String is "15 of 16 nodes, missing node07 (index 6)".
func (r Result) String() string {
	if r.Odd != "" {
		return r.Odd
	}
	s := fmt.Sprintf("%d of %d %s", r.Have, r.Expected, r.Unit)
	if r.Expected == 0 {
		s = fmt.Sprintf("%d %s", r.Have, r.Unit)
	}
	for _, c := range []Class{Missing, Unreadable, Empty, HeaderOnly, Truncated, Growing} {
		var names []string
		for _, g := range r.Gaps {
			if g.Class == c {
				names = append(names, g.String())
			}
		}
		if len(names) == 0 {
			continue
		}
		more := ""
		if len(names) > namesSaid {
			more = fmt.Sprintf(" and %d more", len(names)-namesSaid)
			names = names[:namesSaid]
		}
		s += ", " + string(c) + " " + strings.Join(names, ", ") + more
	}
	return s
}

// Complete says that everything expected is there and whole.
func (r Result) Complete() bool { return r.Odd == "" && r.Expected > 0 && len(r.Gaps) == 0 }

// Of are the gaps of a class.
func (r Result) Of(c Class) []Gap {
	return slices.DeleteFunc(slices.Clone(r.Gaps), func(g Gap) bool { return g.Class != c })
}

// Check compares files with what was expected.
func Check(e Expect, files []Seen) Result {
	var r Result
	switch {
	case e.Template.Has("n"):
		r = e.byIndex(files)
	case e.Template.Has("N"):
		r = e.byHost(files)
	case e.Template.Has("t"):
		r = e.byRank(files)
	default:
		r = Result{Unit: "files", Expected: 1, Have: min(len(files), 1)}
		if len(files) == 0 {
			r.Gaps = append(r.Gaps, Gap{Class: Missing, Name: e.Template.String(), Index: None, Rank: None})
		}
	}
	if r.Odd != "" {
		return r
	}
	late := latest(files)
	for _, f := range files {
		class := f.class(late)
		if class == Whole {
			continue
		}
		if class == Unreadable {
			r.Have = max(r.Have-1, 0)
		}
		r.Gaps = append(r.Gaps, Gap{Class: class, Name: f.Name, Node: e.node(f.Vars), Index: f.Vars.Node, Rank: f.Vars.Rank})
	}
	order := []Class{Missing, Unreadable, Empty, HeaderOnly, Truncated, Growing}
	slices.SortStableFunc(r.Gaps, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(slices.Index(order, a.Class), slices.Index(order, b.Class)), cmp.Compare(a.Index, b.Index), cmp.Compare(a.Rank, b.Rank), cmp.Compare(a.Node, b.Node), cmp.Compare(a.Name, b.Name))
	})
	return r
}

// node is the name of the node that a file is of.
func (e Expect) node(v Vars) string {
	if v.Node >= 0 && v.Node < len(e.Nodes) {
		return e.Nodes[v.Node]
	}
	for _, n := range e.Nodes {
		if v.Host != "" && strings.EqualFold(short(n), short(v.Host)) {
			return n
		}
	}
	return v.Host
}

func (e Expect) byIndex(files []Seen) Result {
	r := Result{Unit: "nodes", Expected: len(e.Nodes)}
	have := map[int]bool{}
	for _, f := range files {
		have[f.Vars.Node] = true
		if len(e.Nodes) > 0 && f.Vars.Node >= len(e.Nodes) {
			r.Odd = fmt.Sprintf("%s is of node index %d, and SLURM says that the step had %d nodes: I call none missing", f.Name, f.Vars.Node, len(e.Nodes))
			return r
		}
	}
	r.Have = len(have)
	for i, n := range e.Nodes {
		if !have[i] {
			r.Gaps = append(r.Gaps, Gap{Class: Missing, Node: n, Index: i, Rank: None})
		}
	}
	return r
}

func (e Expect) byHost(files []Seen) Result {
	r := Result{Unit: "nodes", Expected: len(e.Nodes)}
	have := map[string]bool{}
	for _, f := range files {
		have[strings.ToLower(short(f.Vars.Host))] = true
	}
	r.Have = len(have)
	known := 0
	var gaps []Gap
	for i, n := range e.Nodes {
		if have[strings.ToLower(short(n))] {
			known++
			continue
		}
		gaps = append(gaps, Gap{Class: Missing, Node: n, Index: i, Rank: None})
	}
	if len(e.Nodes) > 0 && known < len(have) {
		// Before 25.11 %N is what the machine calls itself, which may not be SLURM's name for it.
		r.Odd = fmt.Sprintf("%d of the %d host names in the names of the files are not SLURM's names of the nodes: I call none missing", len(have)-known, len(have))
		return r
	}
	r.Gaps = gaps
	return r
}

func (e Expect) byRank(files []Seen) Result {
	r := Result{Unit: "tasks", Expected: max(e.Tasks, 0)}
	have := map[int]bool{}
	for _, f := range files {
		have[f.Vars.Rank] = true
		if e.Tasks > 0 && f.Vars.Rank >= e.Tasks {
			// Components of heterogeneous jobs shift the number in the name.
			r.Odd = fmt.Sprintf("%s is of task %d, and SLURM says that the step had %d tasks: I call none missing", f.Name, f.Vars.Rank, e.Tasks)
			return r
		}
	}
	r.Have = len(have)
	for i := range max(e.Tasks, 0) {
		if !have[i] {
			r.Gaps = append(r.Gaps, Gap{Class: Missing, Index: None, Rank: i})
		}
	}
	return r
}

// early is how much before the median a file has to stop, and enough how many there must be to say so.
const (
	early  = 10 * time.Minute
	enough = 3
)

// latest is the time before which a file stopped early; zero where that cannot be told.
func latest(files []Seen) time.Time {
	var times []time.Time
	for _, f := range files {
		if f.Written.IsZero() {
			return time.Time{}
		}
		times = append(times, f.Written)
	}
	if len(times) < enough {
		return time.Time{}
	}
	slices.SortFunc(times, time.Time.Compare)
	limit := times[len(times)/2].Add(-early)
	stopped := 0
	for _, t := range times {
		if t.Before(limit) {
			stopped++
		}
	}
	if stopped*4 > len(times) {
		return time.Time{} // not one that stopped, but files of different kinds
	}
	return limit
}

func (f Seen) class(limit time.Time) Class {
	switch {
	case f.Denied:
		return Unreadable
	case f.Growing:
		return Growing
	case f.Size == 0:
		return Empty
	case f.Start != nil && int64(len(f.Start)) >= f.Size && headerOnly(f.Start):
		return HeaderOnly
	case f.Written.Before(limit):
		return Truncated
	}
	return Whole
}

// ofSLURM are lines that SLURM and the container's start write.
var ofSLURM = regexp.MustCompile(`^\s*(?:\d+: ?)?(?:srun|slurmstepd(?:-[\w.-]+)?|slurmd|sbatch|pyxis|enroot)(?::|$)|^\s*$`)

func headerOnly(b []byte) bool {
	for line := range strings.Lines(string(b)) {
		if !ofSLURM.MatchString(strings.TrimRight(line, "\r\n")) {
			return false
		}
	}
	return true
}
