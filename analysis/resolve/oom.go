package resolve

import (
	"slices"
	"strconv"
	"strings"

	"faultline/knowledge"
	"faultline/pattern"
)

// Unstated is a number of bytes that a message does not have.
const Unstated = -1

// OOM is what PyTorch's allocator says when it cannot get what it is asked for, in bytes.
type OOM struct {
	Failure *Failure
	GPU     int64 // as the process counts them
	Tried   int64
	Total   int64 // of the GPU
	Free    int64 // of the GPU
	// Allocated is what the program uses of what PyTorch holds, Slack what PyTorch holds besides.
	Allocated, Slack int64
	Process          int64 // what this process holds, with what is not PyTorch's
	// Allowed is the cap that somebody set (set_per_process_memory_fraction).
	Allowed int64
	Others  []Occupant // other processes, as far as the message proves that they are others
}

// Occupant is a process with memory of the GPU.
type Occupant struct{ PID, Bytes int64 }

// Source: c10/cuda/CUDACachingAllocator.cpp, 1.0 to 2.10: the sentence in brackets until 2.0, the sentences after it since.
var (
	oomTried   = pattern.New(`Tried to allocate ([\d.]{1,12} (?:bytes|[KMGT]iB))`)
	oomBefore  = pattern.New(`\(GPU (\d{1,4}); ([\d.]{1,12} \w{2,5}) total capacity; ([\d.]{1,12} \w{2,5}) already allocated; ([\d.]{1,12} \w{2,5}) free; (?:([\d.]{1,12} \w{2,5}) allowed; )?([\d.]{1,12} \w{2,5}) (cached|reserved)`)
	oomTotal   = pattern.New(`GPU (\d{1,4}) has a total capaci?ty of ([\d.]{1,12} \w{2,5}) of which ([\d.]{1,12} \w{2,5}) is free\.`)
	oomProcess = pattern.New(`(?:Process (\d{1,10})|this process) has ([\d.]{1,12} \w{2,5}) memory in use\.`)
	oomAllowed = pattern.New(`([\d.]{1,12} \w{2,5}) allowed;`)
	oomUsed    = pattern.New(`Of the allocated memory ([\d.]{1,12} \w{2,5}) is allocated by PyTorch`)
	oomSlack   = pattern.New(`and ([\d.]{1,12} \w{2,5}) is reserved by PyTorch but unallocated`)
)

// ReadOOM reads the allocator's message; false where it is another's or states no more than what was tried.
func ReadOOM(text string) (OOM, bool) {
	o := OOM{GPU: Unstated, Tried: Unstated, Total: Unstated, Free: Unstated, Allocated: Unstated, Slack: Unstated, Process: Unstated, Allowed: Unstated}
	m := oomTried.FindStringSubmatch(text)
	if m == nil {
		return o, false
	}
	o.Tried = size(m[1])
	if m := oomBefore.FindStringSubmatch(text); m != nil {
		o.GPU, _ = strconv.ParseInt(m[1], 10, 64)
		o.Total, o.Allocated, o.Free, o.Allowed = size(m[2]), size(m[3]), size(m[4]), size(m[5])
		if held := size(m[6]); held >= 0 && o.Allocated >= 0 {
			if m[7] == "cached" && held < o.Allocated {
				held += o.Allocated // up to 1.5 the cache is counted apart
			}
			o.Slack = max(0, held-o.Allocated)
		}
		return o, o.Total > 0
	}
	if m := oomTotal.FindStringSubmatch(text); m != nil {
		o.GPU, _ = strconv.ParseInt(m[1], 10, 64)
		o.Total, o.Free = size(m[2]), size(m[3])
	}
	if m := oomUsed.FindStringSubmatch(text); m != nil {
		o.Allocated = size(m[1])
	}
	if m := oomSlack.FindStringSubmatch(text); m != nil {
		o.Slack = size(m[1])
	}
	if m := oomAllowed.FindStringSubmatch(text); m != nil {
		o.Allowed = size(m[1])
	}
	o.processes(text)
	return o, o.Total > 0
}

// processes sorts this process from others. In a container a process does not find itself among those of the driver, and is listed
// by a number like another: an entry is another's only where the message names this process as well, or where what PyTorch holds
// does not fit into it beside what is in use at all.
func (o *OOM) processes(text string) {
	var list []Occupant
	for _, m := range oomProcess.FindAllStringSubmatch(text, 64) {
		n := size(m[2])
		if m[1] == "" {
			o.Process = n
			continue
		}
		pid, _ := strconv.ParseInt(m[1], 10, 64)
		list = append(list, Occupant{pid, n})
	}
	if o.Process >= 0 {
		o.Others = list
		return
	}
	if o.Allocated < 0 || o.Free < 0 {
		return
	}
	own := o.Allocated + max(0, o.Slack)
	for i, p := range list {
		rest := slices.Delete(slices.Clone(list), i, i+1)
		sum := int64(0)
		for _, q := range rest {
			sum += q.Bytes
		}
		used := o.Total - o.Free
		switch {
		case len(list) > 1 && p.Bytes >= own && p.Bytes-own < o.Total/8 && !slices.ContainsFunc(rest, func(q Occupant) bool { return q.Bytes >= own }):
			o.Process, o.Others = p.Bytes, rest
			return
		case len(list) == 1 && p.Bytes+own <= used+used/50:
			o.Others = list
			return
		}
	}
}

// Elsewhere is what other processes hold of the GPU.
func (o *OOM) Elsewhere() int64 {
	n := int64(0)
	for _, p := range o.Others {
		n += p.Bytes
	}
	return n
}

// OOMCause is what the numbers of a message prove.
type OOMCause uint8

// What an out-of-memory error is due to.
const (
	OOMOpen       OOMCause = iota // the numbers do not tell
	OOMOccupied                   // others hold what is missing
	OOMFragmented                 // PyTorch holds enough that is not in use, and cannot give it in one piece
	OOMCapped                     // a cap was set
	OOMTooLarge                   // one request is larger than the GPU
	OOMFull                       // the program itself uses what there is
)

// Cause sorts an error by its own numbers. Before it gives up, the allocator has given back every segment that is wholly unused: what it
// still holds unused lies in pieces.
func (o *OOM) Cause() OOMCause {
	free := max(0, o.Free)
	switch {
	case o.Tried >= o.Total:
		return OOMTooLarge
	case o.Allowed >= 0 && o.Allowed < o.Total-o.Total/50 && free > o.Tried:
		return OOMCapped
	case o.Elsewhere() >= 1<<30 && free+o.Elsewhere() >= o.Tried:
		return OOMOccupied
	case o.Slack >= o.Tried && o.Slack >= 256<<20, o.Slack >= o.Total/10 && o.Slack+free >= o.Tried:
		return OOMFragmented
	case o.Allocated >= 0 && o.Slack >= 0 && o.Slack < o.Total/20 && o.Allocated >= o.Total/2:
		return OOMFull
	}
	return OOMOpen
}

// OOMs are the allocator's errors in the order in which they are found, one for each rank: its first.
func (f *Facts) OOMs() []OOM {
	var out []OOM
	seen := map[int]bool{}
	for _, fl := range f.Failures {
		if !fl.Mechanism.Is(knowledge.RefusedMemory) || fl.Role != knowledge.CauseRole || fl.Rank != NoRank && seen[fl.Rank] {
			continue
		}
		text := fl.Text
		if fl.Told != nil {
			text = fl.Told.Text
		}
		if o, ok := ReadOOM(text); ok {
			o.Failure = fl
			out = append(out, o)
			seen[fl.Rank] = true
		}
	}
	return out
}

// size is "19.14 GiB" in bytes; Unstated for anything else.
func size(s string) int64 {
	number, in, _ := strings.Cut(s, " ")
	v, err := strconv.ParseFloat(number, 64)
	unit, ok := map[string]float64{"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}[in]
	if err != nil || !ok || v < 0 || v*unit >= 1<<60 {
		return Unstated
	}
	return int64(v * unit)
}
