package worker

import (
	"cmp"
	"fmt"
	"slices"
)

// Merge is the set union of observations: by position and content, sorted. It is associative, commutative and
// idempotent, so files may be read in any order, in any number of parts, and more than once. Its arguments stay as they
// are.
func Merge(all ...*Observations) *Observations {
	m := &Observations{
		Tails:        union(all, func(o *Observations) []Tail { return o.Tails }),
		Timeouts:     union(all, func(o *Observations) []Timeout { return o.Timeouts }),
		States:       union(all, func(o *Observations) []State { return o.States }),
		Dumps:        union(all, func(o *Observations) []Dump { return o.Dumps }),
		Signals:      union(all, func(o *Observations) []Signal { return o.Signals }),
		Samples:      union(all, func(o *Observations) []Sample { return o.Samples }),
		Stacks:       union(all, func(o *Observations) []CollectiveStack { return o.Stacks }),
		Desyncs:      union(all, func(o *Observations) []Desync { return o.Desyncs }),
		Mismatches:   union(all, func(o *Observations) []Mismatch { return o.Mismatches }),
		Barriers:     union(all, func(o *Observations) []Barrier { return o.Barriers }),
		Exceptions:   union(all, func(o *Observations) []Exception { return o.Exceptions }),
		Signs:        union(all, func(o *Observations) []Sign { return o.Signs }),
		ChildFailed:  union(all, func(o *Observations) []ChildFailed { return o.ChildFailed }),
		ChildExits:   union(all, func(o *Observations) []ChildExit { return o.ChildExits }),
		Rendezvous:   union(all, func(o *Observations) []Rendezvous { return o.Rendezvous }),
		TaskExits:    union(all, func(o *Observations) []TaskExit { return o.TaskExits }),
		SlurmEnds:    union(all, func(o *Observations) []SlurmEnd { return o.SlurmEnds }),
		NCCLWarns:    union(all, func(o *Observations) []NCCLWarn { return o.NCCLWarns }),
		CommInits:    union(all, func(o *Observations) []CommInit { return o.CommInits }),
		Progress:     union(all, func(o *Observations) []Progress { return o.Progress }),
		Checkpoints:  union(all, func(o *Observations) []Checkpoint { return o.Checkpoints }),
		Numerics:     union(all, func(o *Observations) []Numeric { return o.Numerics }),
		RankTimes:    union(all, func(o *Observations) []RankTime { return o.RankTimes }),
		IOs:          union(all, func(o *Observations) []IO { return o.IOs }),
		Resets:       union(all, func(o *Observations) []Reset { return o.Resets }),
		Doings:       union(all, func(o *Observations) []Doing { return o.Doings }),
		Facts:        union(all, func(o *Observations) []Fact { return o.Facts }),
		Arguments:    union(all, func(o *Observations) []Argument { return o.Arguments }),
		Topologies:   union(all, func(o *Observations) []Topology { return o.Topologies }),
		Identities:   union(all, func(o *Observations) []Identity { return o.Identities }),
		RunMarks:     union(all, func(o *Observations) []RunMark { return o.RunMarks }),
		Unclassified: union(all, func(o *Observations) []Unclassified { return o.Unclassified }),
	}
	for _, t := range m.Tails {
		m.UnclassifiedN += t.Unclassified
	}
	return m
}

// placed is what stands somewhere.
type placed interface{ place() Pos }

func (p Pos) place() Pos { return p }

// place of a Tail is its file.
func (t Tail) place() Pos { return Pos{File: t.File} }

func union[T placed](all []*Observations, list func(*Observations) []T) []T {
	n := 0
	for _, o := range all {
		if o != nil {
			n += len(list(o))
		}
	}
	if n == 0 {
		return nil
	}
	out := make([]T, 0, n)
	for _, o := range all {
		if o != nil {
			out = append(out, list(o)...)
		}
	}
	slices.SortFunc(out, func(a, b T) int {
		p, q := a.place(), b.place()
		if c := comparePos(p, q); c != 0 {
			return c
		}
		// The same place rarely holds two observations of a kind: only then is the content written out.
		return cmp.Compare(content(a), content(b))
	})
	return slices.CompactFunc(out, func(a, b T) bool {
		return comparePos(a.place(), b.place()) == 0 && content(a) == content(b)
	})
}

func comparePos(p, q Pos) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Off, q.Off), cmp.Compare(p.Len, q.Len), cmp.Compare(p.Line, q.Line))
}

// content is a text that is equal for equal values only, %#v of data without pointers being Go source.
func content(v any) string { return fmt.Sprintf("%#v", v) }
