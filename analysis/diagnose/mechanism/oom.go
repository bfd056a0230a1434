package mechanism

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// unfragment is the advice of the mechanism's table against fragmentation: it is moot where the numbers show that it is something else.
var unfragment = knowledge.Advice{Text: "If much memory is reserved but not allocated, it is fragmented: enable expandable segments.",
	Command: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}

// outOfMemory adds to an out-of-memory error what its own numbers, and what the allocators' summaries and snapshots, say of why.
func outOfMemory(s *Scene, p *Proposal) {
	var ooms []resolve.OOM
	for _, o := range s.Facts.OOMs() {
		if len(p.Ranks) == 0 || slices.Contains(p.Ranks, o.Failure.Rank) {
			ooms = append(ooms, o)
		}
	}
	if len(ooms) == 0 {
		fragmented(s, p, resolve.Unstated)
		return
	}
	o := &ooms[0]
	alike := 0
	for i := range ooms {
		if ooms[i].Cause() == o.Cause() {
			alike++
		}
	}
	ev := []incident.Evidence{FailureEvidence(o.Failure)}
	say := func(format string, args ...any) {
		text := whoOOM(o) + fmt.Sprintf(format, args...)
		if alike > 1 {
			text += fmt.Sprintf(" (%d of %d ranks report the same)", alike, len(ooms))
		}
		p.Because = append(p.Because, finding(text, ev...))
	}
	table := unfragment
	switch o.Cause() {
	case resolve.OOMOccupied:
		var names []string
		own := map[int]bool{}
		for _, q := range o.Others[:min(len(o.Others), 4)] {
			if r := rankOf(s, o, q.PID); r >= 0 {
				own[r] = true
			}
			names = append(names, fmt.Sprintf("process %d holds %s", q.PID, Bytes(q.Bytes)))
		}
		say("other processes are on GPU %d: %s of its %s; without them %s would have fitted", o.GPU, strings.Join(names, ", "), Bytes(o.Total), Bytes(o.Tried))
		if len(own) > 0 {
			say("of these, %s from this job: ranks share a GPU", rankWords(keysOf(own))+map[bool]string{true: " is", false: " are"}[len(own) == 1])
			p.Now = append(p.Now, knowledge.Advice{Text: "Give each process its own GPU before it touches any: torch.cuda.set_device(int(os.environ['LOCAL_RANK'])), map_location in torch.load."})
			p.Moot = append(p.Moot, table.Text)
			break
		}
		p.Now = append(p.Now, knowledge.Advice{Text: "Find the other process on rank {rank}'s GPU, and kill it if it is left over from an earlier job, before changing anything in this one.",
			Command: "ssh {node} 'nvidia-smi --query-compute-apps=pid,name,used_memory,gpu_bus_id --format=csv'"})
		p.Moot = append(p.Moot, table.Text)
	case resolve.OOMFragmented:
		say("PyTorch held %s unused when %s was requested: the memory is fragmented", Bytes(o.Slack), Bytes(o.Tried))
		p.Now = append(p.Now, knowledge.Advice{Text: "Enable expandable segments, which avoids fragmentation.", Command: table.Command})
		p.Moot = append(p.Moot, table.Text)
	case resolve.OOMCapped:
		say("%s on GPU %d was free, more than the %s requested: the process is capped at %s (set_per_process_memory_fraction)", Bytes(o.Free), o.GPU, Bytes(o.Tried), Bytes(o.Allowed))
		p.Moot = append(p.Moot, table.Text)
	case resolve.OOMTooLarge:
		say("a single request of %s is larger than the whole GPU (%s): no allocator setting will help", Bytes(o.Tried), Bytes(o.Total))
		p.Moot = append(p.Moot, table.Text)
	case resolve.OOMFull:
		say("the program itself used %s of %s, and PyTorch held only %s unused: neither fragmentation nor another process explains it", Bytes(o.Allocated), Bytes(o.Total), Bytes(o.Slack))
		p.Moot = append(p.Moot, table.Text)
	}
	spread(p, ooms)
	if o.Cause() != resolve.OOMOccupied && o.Cause() != resolve.OOMTooLarge {
		fragmented(s, p, o.Tried)
	}
	grown(s, p)
}

// rankOf is the rank of this job that a process of the driver's list is, on the node that ran out of memory; −1 for none, or none that is proven.
func rankOf(s *Scene, o *resolve.OOM, pid int64) int {
	found := -1
	for _, r := range s.Facts.Ranks {
		if !r.Pids[int(pid)] || o.Failure.Node == "" || r.Node != o.Failure.Node || r.ID == o.Failure.Rank {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = r.ID
	}
	return found
}

func whoOOM(o *resolve.OOM) string {
	if o.Failure.Rank == resolve.NoRank {
		return ""
	}
	return fmt.Sprintf("rank %d: ", o.Failure.Rank)
}

// spread says how alike the ranks were that ran out of memory.
func spread(p *Proposal, ooms []resolve.OOM) {
	var list []resolve.OOM
	for _, o := range ooms {
		if o.Allocated >= 0 && o.Failure.Rank != resolve.NoRank {
			list = append(list, o)
		}
	}
	if len(list) < 2 {
		return
	}
	slices.SortStableFunc(list, func(a, b resolve.OOM) int {
		return cmp.Or(cmp.Compare(a.Allocated, b.Allocated), cmp.Compare(a.Failure.Rank, b.Failure.Rank))
	})
	least, most := list[0], list[len(list)-1]
	text := fmt.Sprintf("%d ranks ran out of memory with %s (rank %d) to %s (rank %d) in use: ", len(list), Bytes(least.Allocated), least.Failure.Rank, Bytes(most.Allocated), most.Failure.Rank)
	if float64(most.Allocated) <= 1.1*float64(least.Allocated) {
		text += "their usage is similar, so the configuration is at fault, not an imbalance"
	} else {
		text += "work or parameters are not evenly divided"
	}
	p.Because = append(p.Because, finding(text, FailureEvidence(least.Failure), FailureEvidence(most.Failure)))
}

// fragmented finds a summary or snapshot of one of the ranks, or of the only process that there is one of, in which what is not in use lies in
// pieces, and as much as was asked for.
func fragmented(s *Scene, p *Proposal, tried int64) {
	for _, m := range s.Facts.Memories {
		rank, ok := m.Rank()
		if !ok && len(s.Facts.Memories) > 1 || ok && len(p.Ranks) > 0 && !slices.Contains(p.Ranks, rank) {
			continue
		}
		if m.Memory.Inactive < max(tried, m.Memory.Reserved/10) {
			continue
		}
		ev := MemoryEvidence(m)
		if len(ev) == 0 {
			continue
		}
		p.Because = append(p.Because, finding(fmt.Sprintf("%s: the allocator held %s in fragments next to used blocks when this was recorded", MemoryOf(m), Bytes(m.Memory.Inactive)), ev...))
		p.Now = append(p.Now, unfragment)
		return
	}
}

// grown finds a log in which summaries that follow one another show that a process used more from one to the next.
func grown(s *Scene, p *Proposal) {
	for _, m := range s.Facts.Memories {
		rank, ok := m.Rank()
		if ok && len(p.Ranks) > 0 && !slices.Contains(p.Ranks, rank) {
			continue
		}
		if g, ok := Grown(m); ok {
			p.Because = append(p.Because, g)
			p.Moot = append(p.Moot, unfragment.Text)
			p.Now = append(p.Now, knowledge.Advice{Text: "Look for tensors kept from step to step: losses summed without .item(), lists of outputs, retained graphs; memory snapshots from two steps show which."})
			return
		}
	}
}

// Grown says that the use of memory rose with each of the summaries in a file, three at least, and by a quarter altogether.
func Grown(m resolve.MemoryFile) (incident.Finding, bool) {
	list := m.Memory.Series
	if len(list) < 3 {
		return incident.Finding{}, false
	}
	for i := 1; i < len(list); i++ {
		if list[i].Allocated <= list[i-1].Allocated {
			return incident.Finding{}, false
		}
	}
	first, last := list[0], list[len(list)-1]
	if last.Allocated < first.Allocated+first.Allocated/4 {
		return incident.Finding{}, false
	}
	var ev []incident.Evidence
	for _, l := range []resolve.MemoryPoint{first, last} {
		e := incident.Quote(m.File, l.At.N, l.At.At, "", nil)
		e.Span = l.At.Len
		ev = append(ev, e)
	}
	return finding(fmt.Sprintf("%s: memory in use rose in each of %d summaries, from %s to %s: a leak, or something that grows by design", MemoryOf(m), len(list), Bytes(first.Allocated), Bytes(last.Allocated)), ev...), true
}
