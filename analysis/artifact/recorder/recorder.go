// Package recorder reads the dumps of PyTorch's flight recorder: what one rank knows of the collectives of each of its process
// groups. It says what stands in a dump, not what it means for the job: a dump is one rank's view, and the world has many.
//
// Formats: c10d's FlightRecorder (torch/csrc/distributed/c10d, PyTorch 2.2 to 2.10): a pickle, or the JSON of the worker's
// control plane, which has no frames and writes numbers of groups as texts.
package recorder

import (
	"cmp"
	"slices"
)

// None stands for a number that a dump does not state; −1 in a dump itself is "never".
const None = int64(-1) << 62

// Dump is one rank's dump.
type Dump struct {
	Version string // of the recorder's format; "" before 2.1
	Library string // of the communication library, as it states it
	// Disabled: the dump is whole and has no entries, groups or counters: the recorder was off. It proves nothing about
	// collectives.
	Disabled bool
	Groups   []Group  // by name
	Status   []Status // by local id
	// Open are the works that were not seen complete, in the order of their records; all where OpenMore is 0.
	Open     []Work
	OpenMore int
	// Entries is how many works the dump holds; First and Last are the smallest and the largest record id among them. First
	// above 0 says that older ones were overwritten, or completed ones left out.
	Entries     int
	First, Last int64
	// Done are the last completed works that the dump holds, one for each group and kind (collective, send and receive), without
	// sizes and frames.
	Done []Work
}

// Group is a process group that the rank belongs to, or knows of.
type Group struct {
	Name  string // unique in the job: what matches over ranks
	Desc  string
	Ranks []int // global, ascending; nil where the dump does not say
}

// Status are the counters of a group by its local id, which means nothing on other ranks.
type Status struct {
	Local               string
	Enqueued, Completed int64
}

// Work is one collective or one send or receive.
type Work struct {
	Index     int // in the dump's list of entries
	Record    int64
	Local     int64  // id of the group on this rank
	Group     string // name; "" where only the local id is known
	Desc      string
	Seq       int64  // in the sequence of its kind: collectives and sends have one each
	SeqName   string // the member that holds it
	Op        string
	P2P       bool
	State     string // scheduled, started, completed
	CreatedNS int64
	TimeoutMS int64
	In, Out   [][]int64
	InTypes   []string
	OutTypes  []string
	Frames    []Frame // the innermost ones
}

// Frame is one place in the Python stack of the call.
type Frame struct {
	Name, File string
}

// Bounds of what is kept of one dump.
const (
	maxOpen   = 4096
	maxGroups = 4096
	maxRanks  = 1 << 20
	maxSizes  = 16
	maxFrames = 12
	maxText   = 256
)

// collector makes a dump of entries, one at a time.
type collector struct {
	d      Dump
	done   map[doneKey]int
	near   [8]int // of d.Done, by the local id of the group: which one was used last
	shared *Shared
}

type doneKey struct {
	group string
	local int64
	p2p   bool
}

func (s *Shared) newCollector() *collector {
	return &collector{d: Dump{First: None, Last: None}, done: map[doneKey]int{}, shared: s}
}

// saw counts an entry.
func (d *Dump) saw(record int64) {
	d.Entries++
	if d.First == None || record < d.First {
		d.First = record
	}
	d.Last = max(d.Last, record)
}

// place is where the last completed work of a group and kind is kept.
func (c *collector) place(group string, local int64, p2p bool) (i int, seen bool) {
	if i = c.near[local&7]; i < len(c.d.Done) {
		if w := &c.d.Done[i]; w.Local == local && w.P2P == p2p && w.Group == group {
			return i, true
		}
	}
	key := doneKey{clip(group), local, p2p}
	if i, seen = c.done[key]; !seen {
		i = len(c.d.Done)
		c.done[key] = i
		c.d.Done = append(c.d.Done, Work{})
	}
	c.near[local&7] = i
	return i, seen
}

// add counts a work. It returns where it is kept if it is open.
func (c *collector) add(w *Work, ok bool) *Work {
	d := &c.d
	w.Index = d.Entries
	if !ok {
		d.Entries++
		return nil
	}
	d.saw(w.Record)
	if w.State == "completed" {
		if i, seen := c.place(w.Group, w.Local, w.P2P); !seen || w.Seq > d.Done[i].Seq {
			d.Done[i] = *w
		}
		return nil
	}
	if len(d.Open) >= maxOpen {
		d.OpenMore++
		return nil
	}
	d.Open = append(d.Open, *w)
	return &d.Open[len(d.Open)-1]
}

func (c *collector) finish() *Dump {
	d := &c.d
	for i := range d.Done { // what was taken of plain entries is as long as it is there
		w := &d.Done[i]
		w.Group, w.Desc, w.Op = clip(w.Group), clip(w.Desc), clip(w.Op)
	}
	slices.SortStableFunc(d.Open, func(a, b Work) int { return cmp.Compare(a.Record, b.Record) })
	slices.SortFunc(d.Done, func(a, b Work) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Local, b.Local), cmp.Compare(a.Op, b.Op), cmp.Compare(a.Record, b.Record))
	})
	slices.SortFunc(d.Groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Status, func(a, b Status) int { return cmp.Compare(a.Local, b.Local) })
	d.Disabled = d.Entries == 0 && len(d.Groups) == 0 && len(d.Status) == 0
	whole := *d // what was needed to collect it is not kept
	c.shared.own(&whole)
	return &whole
}
