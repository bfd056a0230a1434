package worker

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/artifact/nccl"
	"faultline/knowledge"
)

// Observations is everything read from one file, or from several after Merge.
type Observations struct {
	// Known is what was known of the wordings of lines when they were made.
	Known *knowledge.Catalogue

	Tails        []Tail
	Timeouts     []Timeout
	States       []State
	Dumps        []Dump
	Signals      []Signal
	Samples      []Sample
	Stacks       []CollectiveStack
	Desyncs      []Desync
	Mismatches   []Mismatch
	Barriers     []Barrier
	Reductions   []Reduction
	DDPSetups    []DDPSetup
	DDPPaces     []DDPPace
	Exceptions   []Exception
	Signs        []Sign
	ChildFailed  []ChildFailed
	ChildExits   []ChildExit
	Rendezvous   []Rendezvous
	TaskExits    []TaskExit
	Ends         []End
	NCCLWarns    []NCCLWarn
	CommInits    []CommInit
	Progress     []Progress
	Checkpoints  []Checkpoint
	Numerics     []Numeric
	RankTimes    []RankTime
	Phases       []PhaseReport
	IOs          IOs
	Resets       []Reset
	Doings       []Doing
	Facts        []Fact
	Arguments    []Argument
	Topologies   []Topology
	Identities   []Identity
	RunMarks     []RunMark
	Unclassified []Unclassified
	// NCCL is what NCCL says besides calls in files in which it tells of communicators or warns, and that hold no calls. In order of files.
	NCCL []*nccl.Log
	// UnclassifiedN counts all of them (the sum over Tails); Unclassified keeps the first ones of each file.
	UnclassifiedN int
}

// Merge is the set union of observations: by position and content, sorted. It is associative, commutative and
// idempotent, so files may be read in any order, in any number of parts, and more than once. Its arguments stay as they
// are.
func Merge(all ...*Observations) *Observations { return merge(all, false) }

// merge takes the lists out of the parts where spend is set: each is free as soon as it is copied.
func merge(all []*Observations, spend bool) *Observations {
	all = slices.DeleteFunc(slices.Clone(all), func(o *Observations) bool { return o == nil })
	// Parts that are one file each come in the order of the result: then its lists need no sorting.
	slices.SortStableFunc(all, func(a, b *Observations) int { return cmp.Compare(a.firstFile(), b.firstFile()) })
	m := &Observations{}
	if len(all) > 0 {
		m.Known = all[0].Known // all were read with the same
	}
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for _, list := range []func(){
		func() { m.Tails = union(all, spend, func(o *Observations) *[]Tail { return &o.Tails }) },
		func() { m.Timeouts = union(all, spend, func(o *Observations) *[]Timeout { return &o.Timeouts }) },
		func() { m.States = union(all, spend, func(o *Observations) *[]State { return &o.States }) },
		func() { m.Dumps = union(all, spend, func(o *Observations) *[]Dump { return &o.Dumps }) },
		func() { m.Signals = union(all, spend, func(o *Observations) *[]Signal { return &o.Signals }) },
		func() { m.Samples = union(all, spend, func(o *Observations) *[]Sample { return &o.Samples }) },
		func() { m.Stacks = union(all, spend, func(o *Observations) *[]CollectiveStack { return &o.Stacks }) },
		func() { m.Desyncs = union(all, spend, func(o *Observations) *[]Desync { return &o.Desyncs }) },
		func() { m.Mismatches = union(all, spend, func(o *Observations) *[]Mismatch { return &o.Mismatches }) },
		func() { m.Barriers = union(all, spend, func(o *Observations) *[]Barrier { return &o.Barriers }) },
		func() { m.Reductions = union(all, spend, func(o *Observations) *[]Reduction { return &o.Reductions }) },
		func() { m.DDPSetups = union(all, spend, func(o *Observations) *[]DDPSetup { return &o.DDPSetups }) },
		func() { m.DDPPaces = union(all, spend, func(o *Observations) *[]DDPPace { return &o.DDPPaces }) },
		func() { m.Exceptions = union(all, spend, func(o *Observations) *[]Exception { return &o.Exceptions }) },
		func() { m.Signs = union(all, spend, func(o *Observations) *[]Sign { return &o.Signs }) },
		func() {
			m.ChildFailed = union(all, spend, func(o *Observations) *[]ChildFailed { return &o.ChildFailed })
		},
		func() { m.ChildExits = union(all, spend, func(o *Observations) *[]ChildExit { return &o.ChildExits }) },
		func() { m.Rendezvous = union(all, spend, func(o *Observations) *[]Rendezvous { return &o.Rendezvous }) },
		func() { m.TaskExits = union(all, spend, func(o *Observations) *[]TaskExit { return &o.TaskExits }) },
		func() { m.Ends = union(all, spend, func(o *Observations) *[]End { return &o.Ends }) },
		func() { m.NCCLWarns = union(all, spend, func(o *Observations) *[]NCCLWarn { return &o.NCCLWarns }) },
		func() { m.CommInits = union(all, spend, func(o *Observations) *[]CommInit { return &o.CommInits }) },
		func() { m.Progress = union(all, spend, func(o *Observations) *[]Progress { return &o.Progress }) },
		func() {
			m.Checkpoints = union(all, spend, func(o *Observations) *[]Checkpoint { return &o.Checkpoints })
		},
		func() { m.Numerics = union(all, spend, func(o *Observations) *[]Numeric { return &o.Numerics }) },
		func() { m.RankTimes = union(all, spend, func(o *Observations) *[]RankTime { return &o.RankTimes }) },
		func() { m.Phases = union(all, spend, func(o *Observations) *[]PhaseReport { return &o.Phases }) },
		func() { m.IOs = unionOfIOs(all, spend) },
		func() { m.Resets = union(all, spend, func(o *Observations) *[]Reset { return &o.Resets }) },
		func() { m.Doings = union(all, spend, func(o *Observations) *[]Doing { return &o.Doings }) },
		func() { m.Facts = union(all, spend, func(o *Observations) *[]Fact { return &o.Facts }) },
		func() { m.Arguments = union(all, spend, func(o *Observations) *[]Argument { return &o.Arguments }) },
		func() { m.Topologies = union(all, spend, func(o *Observations) *[]Topology { return &o.Topologies }) },
		func() { m.Identities = union(all, spend, func(o *Observations) *[]Identity { return &o.Identities }) },
		func() { m.RunMarks = union(all, spend, func(o *Observations) *[]RunMark { return &o.RunMarks }) },
		func() {
			m.Unclassified = union(all, spend, func(o *Observations) *[]Unclassified { return &o.Unclassified })
		},
	} {
		g.Go(func() error { list(); return nil })
	}
	_ = g.Wait() // no list fails
	for _, o := range all {
		m.NCCL = append(m.NCCL, o.NCCL...)
	}
	slices.SortStableFunc(m.NCCL, func(a, b *nccl.Log) int { return cmp.Compare(a.File, b.File) })
	m.NCCL = slices.CompactFunc(m.NCCL, func(a, b *nccl.Log) bool { return a.File == b.File })
	for _, t := range m.Tails {
		m.UnclassifiedN += t.Unclassified
	}
	return m
}

func (o *Observations) firstFile() string {
	if len(o.Tails) == 0 {
		return ""
	}
	return o.Tails[0].File
}

func (p *Pos) place() *Pos { return p }

// place of a Tail is its file.
func (t *Tail) place() *Pos { return &Pos{File: t.File} }

// placed is what stands somewhere.
type placed[T any] interface {
	*T
	place() *Pos
}

func union[T any, P placed[T]](all []*Observations, spend bool, list func(*Observations) *[]T) []T {
	lists := make([][]T, 0, len(all))
	for _, o := range all {
		if l := list(o); len(*l) > 0 {
			lists = append(lists, *l)
			if spend {
				*l = nil
			}
		}
	}
	return unionOf[T, P](lists, spend)
}

// unionOf joins lists; where they are spent a single one need not be copied.
func unionOf[T any, P placed[T]](lists [][]T, spend bool) []T {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	if n == 0 {
		return nil
	}
	out := lists[0]
	if len(lists) > 1 || !spend || !ordered[T, P](out) {
		out = make([]T, 0, n)
		for i, l := range lists {
			from := len(out)
			out, lists[i] = append(out, l...), nil
			sorted[T, P](out[from:])
		}
	}
	if ordered[T, P](out) {
		return out
	}
	sorted[T, P](out)
	kept := 1
	for i := 1; i < n; i++ {
		if order[T, P](&out[kept-1], &out[i]) != 0 {
			if kept != i {
				out[kept] = out[i]
			}
			kept++
		}
	}
	clear(out[kept:])
	return out[:kept]
}

// unionOfIOs joins lists of a file only; most often there is one.
func unionOfIOs(all []*Observations, spend bool) IOs {
	var lists IOs
	for _, o := range all {
		lists = append(lists, o.IOs...)
		if spend {
			o.IOs = nil
		}
	}
	slices.SortStableFunc(lists, func(a, b []KeptIO) int { return cmp.Compare(a[0].File, b[0].File) })
	var out IOs
	for len(lists) > 0 {
		n := 1
		for n < len(lists) && lists[n][0].File == lists[0][0].File {
			n++
		}
		out = append(out, unionOf(lists[:n], spend))
		lists = lists[n:]
	}
	return out
}

// ordered reports whether a list is sorted and holds nothing twice.
func ordered[T any, P placed[T]](list []T) bool {
	for i := 1; i < len(list); i++ {
		if order[T, P](&list[i-1], &list[i]) >= 0 {
			return false
		}
	}
	return true
}

// sorted sorts a list, which most often is sorted already.
func sorted[T any, P placed[T]](list []T) {
	i := 1
	for i < len(list) && order[T, P](&list[i-1], &list[i]) <= 0 {
		i++
	}
	if i >= len(list) {
		return
	}
	ptrs := make([]*T, len(list))
	for i := range list {
		ptrs[i] = &list[i]
	}
	slices.SortFunc(ptrs, order[T, P])
	out := make([]T, len(list))
	for i, p := range ptrs {
		out[i] = *p
	}
	copy(list, out)
}

func order[T any, P placed[T]](a, b *T) int {
	if c := comparePos(P(a).place(), P(b).place()); c != 0 {
		return c
	}
	// What often stands at one place are several signs, or several numbers; the content is written out where nothing simpler
	// decides.
	switch x := any(a).(type) {
	case *Sign:
		if y := any(b).(*Sign); x.At.equal(&y.At) && x.ID != y.ID {
			return cmp.Compare(x.ID, y.ID)
		}
	case *KeptIO: // it points at its writer
		return cmp.Compare(content(x.IO()), content(any(b).(*KeptIO).IO()))
	case *Numeric:
		if y := any(b).(*Numeric); x.At.equal(&y.At) && x.Kind != y.Kind {
			return cmp.Compare(x.Kind, y.Kind)
		}
	}
	return cmp.Compare(content(*a), content(*b))
}

func comparePos(p, q *Pos) int {
	if c := cmp.Compare(p.File, q.File); c != 0 {
		return c
	}
	return cmp.Or(cmp.Compare(p.Off, q.Off), cmp.Compare(p.Len, q.Len), cmp.Compare(p.Line, q.Line))
}

// content is a text that is equal for equal values only, %#v of data without pointers being Go source; the only pointers
// are those to a line.Who, which prints what it says.
func content(v any) string { return fmt.Sprintf("%#v", v) }
