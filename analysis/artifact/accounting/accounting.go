// Package accounting reads what SLURM itself keeps of a job: the records of "sacct -P", "scontrol show job" and "scontrol
// show node". It says what stands there and where; what it means for a run is decided elsewhere. Such a file is told by
// its first line, never by its name.
package accounting

import (
	"cmp"
	"slices"
	"strings"

	"faultline/analysis/line"
)

// Cell is one value as it stands in a file, and what of the line may be shown with it: columns that name people, their
// programs or their directories are never part of it.
type Cell struct {
	File  string
	Line  int64
	Off   int64 // first byte that may be quoted
	Len   int
	Value string // stands within Len bytes from Off
}

// Record is one record of a job or of one of its steps. A job that was requeued has several.
type Record struct {
	File string
	Line int64
	// Job is the id as people write it, "4242", "4242_3" or "4242+1"; Raw the number that SLURM counts by, "" if not stated.
	Job, Raw string
	// Step is "" for the job itself, else "batch", "extern", "0"…
	Step string
	Name string
	User string // never shown: it tells a reused id from a requeue
	// State is the base state in capitals; By is true where a user ended it ("CANCELLED by 1001").
	State         string
	By            bool
	Exit, Derived Code
	Nodes         []string // expanded, in SLURM's order; nil unknown
	FailedNodes   []string
	Submit, Start line.Stamp
	End           line.Stamp
	controller    bool
	cells         map[string]Cell
}

// Cell gives the place of a column, by SLURM's name of it in sacct.
func (r *Record) Cell(column string) (Cell, bool) {
	c, ok := r.cells[column]
	return c, ok
}

// OfController says that the record is "scontrol show job": the controller knows the newest run only.
func (r *Record) OfController() bool { return r.controller }

// Node is what the controller says of one node.
type Node struct {
	File  string
	Line  int64
	Name  string
	State string // as printed: "IDLE+DRAIN", "DOWN*"
	// Reason is the administrator's or SLURM's own text; Since when it was set, which is not stated by whom here.
	Reason      string
	Since, Boot line.Stamp
	cells       map[string]Cell
}

// Cell gives the place of a value, by scontrol's name of it.
func (n *Node) Cell(key string) (Cell, bool) {
	c, ok := n.cells[key]
	return c, ok
}

// Book is what was read, of any number of files.
type Book struct {
	Records  []*Record
	Nodes    []*Node
	Warnings []string
	// Foreign are lines that do not look like anything that SLURM prints of its records.
	Foreign int
}

// Genuine says that the file is what its first line says. Many batch scripts print "scontrol show job" before they start: what
// then follows is a log.
func (b *Book) Genuine() bool {
	return b.Foreign == 0 || b.Foreign < len(b.Records)/4
}

// Merge is the union of books. Their order does not matter.
func Merge(all ...*Book) *Book {
	out := &Book{}
	for _, b := range all {
		if b == nil {
			continue
		}
		out.Records = append(out.Records, b.Records...)
		out.Nodes = append(out.Nodes, b.Nodes...)
		out.Warnings = append(out.Warnings, b.Warnings...)
	}
	slices.SortStableFunc(out.Records, func(a, b *Record) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	slices.SortStableFunc(out.Nodes, func(a, b *Node) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line))
	})
	slices.Sort(out.Warnings)
	return out
}

// Without is the book without the records and nodes that hold one of these places.
func (b *Book) Without(bad func(file string, off int64) bool) *Book {
	if b == nil {
		return nil
	}
	holds := func(cells map[string]Cell) bool {
		for _, c := range cells {
			if bad(c.File, c.Off) {
				return true
			}
		}
		return false
	}
	out := &Book{Warnings: b.Warnings, Foreign: b.Foreign}
	for _, r := range b.Records {
		if !holds(r.cells) {
			out.Records = append(out.Records, r)
		}
	}
	for _, n := range b.Nodes {
		if !holds(n.cells) {
			out.Nodes = append(out.Nodes, n)
		}
	}
	return out
}

// Jobs are the ids of the jobs in the book, components of a heterogeneous job as one, each once, in their order.
func (b *Book) Jobs() []string {
	var out []string
	for _, r := range b.Records {
		id, _, _ := strings.Cut(r.Job, "+")
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}

// Canonical is the id by which people know a job that files may be named after by SLURM's own number: "4242_3" of an element
// of an array, the first component's of a heterogeneous job. Ids that the book does not know stay as they are.
func (b *Book) Canonical(id string) string {
	if b == nil || id == "" { // records without JobIDRaw state no number, which is not that of no job
		return id
	}
	raw := ""
	for _, r := range b.Records {
		leader, _, _ := strings.Cut(r.Job, "+")
		if r.Job == id || leader == id {
			return leader
		}
		if r.Raw == id {
			raw = leader
		}
	}
	return cmp.Or(raw, id)
}

// Of are the records of one job: by the id that people write, else by SLURM's own number, all components of a
// heterogeneous job.
func (b *Book) Of(id string) []*Record {
	same := func(r *Record) bool {
		het, _, _ := strings.Cut(r.Job, "+")
		return r.Job == id || het == id
	}
	if !slices.ContainsFunc(b.Records, same) {
		id = b.Canonical(id)
	}
	var out []*Record
	for _, r := range b.Records {
		if same(r) {
			out = append(out, r)
		}
	}
	return out
}
