package recorder

import "faultline/analysis/artifact/pickle"

// The members of an entry that a completed work is known by, with their places in wanted.
const (
	inRecord = iota
	inLocal
	inGroup
	inSeq
	inOldSeq
	inP2PSeq
	inOp
	inState
	inP2P
	inCreated
	inTimeout
)

var wanted = []string{inRecord: "record_id", inLocal: "pg_id", inGroup: "process_group", inSeq: "collective_seq_id", inOldSeq: "seq_id", inP2PSeq: "p2p_seq_id",
	inOp: "profiling_name", inState: "state", inP2P: "is_p2p", inCreated: "time_created_ns", inTimeout: "timeout_ms"}

// plain takes the completed works, of which most dumps consist: nothing but their members that are numbers and texts matters, and only
// those of the last one of a group. It leaves what is open or odd to be read as a whole. What it takes counts as what work
// makes of it would.
func (c *collector) plain(key string, e *pickle.Plain) bool {
	if state, _ := e.Text(inState); state != "completed" || key != "entries" && key != "" {
		return false
	}
	op, _ := e.Text(inOp)
	p2p := truthIn(e, inP2P) || pointToPoint(op)
	record, local, seq, name := numberIn(e, inRecord), numberIn(e, inLocal), numberIn(e, inSeq), "collective_seq_id"
	if seq == None {
		seq, name = numberIn(e, inOldSeq), "seq_id"
	}
	if n := numberIn(e, inP2PSeq); p2p && n != None {
		seq, name = n, "p2p_seq_id"
	}
	group, desc, ok := e.Pair(inGroup)
	if !ok || record == None || seq == None {
		return false
	}
	d := &c.d
	index := d.Entries
	d.saw(record)
	i, seen := c.place(group, local, p2p)
	w := &d.Done[i]
	if seen && seq <= w.Seq {
		return true
	}
	if !seen {
		*w = Work{Local: local, Group: group, P2P: p2p, State: "completed"}
	}
	w.Index, w.Record, w.Desc, w.Seq, w.SeqName, w.Op = index, record, desc, seq, name, op
	w.CreatedNS, w.TimeoutMS = numberIn(e, inCreated), numberIn(e, inTimeout)
	return true
}

func numberIn(e *pickle.Plain, i int) int64 {
	if n, ok := e.Int(i); ok {
		return n
	}
	return None
}

func truthIn(e *pickle.Plain, i int) bool {
	n, ok := e.Int(i)
	return ok && n != 0
}
