// Package ras reads what NCCL's RAS client prints (ncclras, NCCL 2.24 on): a snapshot of the processes and communicators of a job
// that runs, as text or, from 2.28.7 on, as JSON.
//
// What a snapshot tells, and what not:
//   - The counts are of operations that ranks have launched. That they ended nobody says: "OK" with a job that hangs means that all have
//     launched the same.
//   - Ranks are asked one after the other while they work. A MISMATCH in one snapshot is found in every busy job and proves nothing; the
//     same counts in two snapshots with time between them say that the communicator stands still.
//   - In the text those ranks are listed that are few, which may be those who are ahead. Who is behind, the numbers say.
//   - INCOMPLETE says that a process did not answer in time, DEAD that it did not for a minute: it may be gone, stopped, or cut off.
//   - Ranks are ranks inside the communicator. Nodes are addresses.
//
// Formats: NCCL 2.24 to 2.31 (src/ras/client_support.cc). JSON of 2.28.9 lacks a comma in missing_ranks.
package ras

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 4096

// Unknown stands for a number that is not stated.
const Unknown = -1

// At is where something stands in its file.
type At struct {
	Line, Off int64
	Len       int
	// Place is where it stands in JSON ("communicators[0].ranks[3]"), "" in text, and in JSON that is broken.
	Place string
}

// Snapshot is one answer of the client.
type Snapshot struct {
	File string
	JSON bool
	At   At
	// Time is when it was taken, by the wall clock of the process that was asked, in seconds; 0 where no line states it.
	Time            int64
	Processes, GPUs int // of the job, 0 unknown
	Rows            []Row
	Comms           []Comm
	Dead, Missing   []Process // of the job
}

// Row is a line of the table: communicators that are alike.
type Row struct {
	Size   int
	Errors []string
	At     At
}

// Comm is a communicator of which something is said.
type Comm struct {
	Name    string // "#0-0"; "" in JSON
	Hash    string // without 0x and leading zeros
	Size    int    // 0 unknown
	Missing []Rank
	Counts  []Count
	Failed  []Rank
	At      At
}

// Count is how many ranks have launched so many operations of a kind.
type Count struct {
	Op    string // "AllReduce"; "" where all are counted together
	Value int64
	N     int
	Ranks []Rank // those that are listed; in JSON all
	At    At
}

// Rank is a rank of a communicator.
type Rank struct {
	Rank, Pid int
	Host, GPU string
	Dead      bool
	Error     int64 // result code of NCCL
	At        At
}

// Process is a process of the job.
type Process struct {
	Pid        int
	Host, GPUs string
	At         At
}

// Bounds.
const (
	maxSnapshots = 256
	maxListed    = 1 << 17
	maxWord      = 128
)

// Behind are the ranks that have launched fewer operations of one kind than the others; the counts say so whichever ranks are listed.
// ok is false where those who are behind are not fewer than the others, or are not listed by name.
func (c *Comm) Behind() (ranks []Rank, least, most int64, op string, ok bool) {
	byOp := map[string][]*Count{}
	var ops []string
	for i := range c.Counts {
		k := &c.Counts[i]
		if byOp[k.Op] == nil {
			ops = append(ops, k.Op)
		}
		byOp[k.Op] = append(byOp[k.Op], k)
	}
	for _, o := range ops {
		list := byOp[o]
		if len(list) < 2 {
			continue
		}
		top, total, low := list[0], 0, 0
		for _, k := range list {
			total += k.N
			if k.Value > top.Value {
				top = k
			}
		}
		var who []Rank
		min := top.Value
		for _, k := range list {
			if k == top {
				continue
			}
			low += k.N
			if len(k.Ranks) != k.N {
				who = nil
				break
			}
			who = append(who, k.Ranks...)
			if k.Value < min {
				min = k.Value
			}
		}
		if len(who) == low && low > 0 && 2*low < total {
			return who, min, top.Value, o, true
		}
	}
	return nil, 0, 0, "", false
}

// Mismatched says that ranks have launched different numbers of operations.
func (c *Comm) Mismatched() bool {
	seen := map[string]int64{}
	for _, k := range c.Counts {
		if v, ok := seen[k.Op]; ok && v != k.Value {
			return true
		}
		seen[k.Op] = k.Value
	}
	return false
}

// OK says that the snapshot lists communicators and found nothing odd about any.
func (s *Snapshot) OK() bool {
	for _, r := range s.Rows {
		if len(r.Errors) > 0 {
			return false
		}
	}
	for i := range s.Comms {
		if c := &s.Comms[i]; len(c.Missing)+len(c.Failed) > 0 || c.Mismatched() {
			return false
		}
	}
	return len(s.Rows)+len(s.Comms) > 0 && len(s.Dead)+len(s.Missing) == 0
}
