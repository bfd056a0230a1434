package worker

import (
	"bytes"
	"strings"

	"faultline/analysis/line"
)

// Lines in which PyTorch itself names ranks that did not come, or that came to another collective. All ranks in them
// are ranks inside the group.

func desyncHandlers() []handler {
	return []handler{
		{"desync", []string{
			"Timeout at collective: ", "are the lagging ranks", "lagging/dead/mismatched ranks",
			"didn't finish collective #", "didn't join collective #",
		}, readDesync},
		{"mismatch", []string{"Detected mismatch between collectives", shapesDiffer}, readMismatch},
		{"barrier", []string{"monitoredBarrier", "store based barrier"}, readBarrier},
		{"clients", []string{"waiting for clients. "}, readClients},
	}
}

// readDesync opens PyTorch's desync report (TORCH_NCCL_DESYNC_DEBUG; c10d/Utils / TraceUtils.h, 1.13 … recent):
//
//   - [3] Timeout at collective: ALLREDUCE, #1234
//   - To our best knowledge, ranks [5, 7] are the lagging ranks that caused this timeout. They never joined any collectives
//   - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
//   - [0, 1] joined but didn't finish collective #1234 (count from 1)
//     [5] finished collective #1233, but didn't join collective #1234 (count from 1)
//   - Snapshot of ranks' latest states:
func readDesync(r *reader, rec *record) bool {
	if rec.Taken {
		return true
	}
	d := Desync{At: rec.At, Group: noGroup, Seq: line.Unknown, Reporter: line.Unknown}
	if g, _, _ := lastGroup(rec.Text); g.Known {
		d.Group = g
	} else if h := r.header; h.line > 0 && h.line == rec.Line-1 && h.alone && rec.Who == line.NoOne {
		// The report begins with \n: rank and group stand alone on the line above.
		d.By, d.Group = h.by, h.group
		if d.Stamp.Kind == line.NoStamp {
			d.Stamp = h.stamp.Above()
		}
	}
	if !desyncLine(&d, rec) {
		return false
	}
	r.follow(rec, 64, func(r *reader, rec *record) verdict {
		if rec == nil {
			emit(r, &r.obs.Desyncs, d)
			return ended
		}
		if desyncLine(&d, rec) {
			return taken
		}
		m := bytes.TrimLeft(rec.Msg, " \t-")
		switch {
		case len(m) == 0, bytes.HasPrefix(m, []byte("Snapshot of ranks")), bytes.HasPrefix(m, []byte("To our best knowledge")):
			return taken
		case m[0] == '#' || m[0] == '[' && (bytes.Contains(m, []byte("started")) || bytes.Contains(m, []byte("finished"))):
			return taken
		}
		emit(r, &r.obs.Desyncs, d)
		return ended
	})
	return true
}

// desyncLine reads one line of the report into d.
func desyncLine(d *Desync, rec *record) bool {
	b := rec.Text
	if i := bytes.Index(b, []byte("Timeout at collective: ")); i >= 0 {
		if j := bytes.LastIndexByte(b[:i], '['); j >= 0 {
			if v, n := intAt(b[j+1:]); n > 0 {
				d.Reporter = int(v)
			}
		}
		d.Seq = orUnknown(rec.wholeAfter(b[i:], "#"))
		return true
	}
	if i := bytes.Index(b, []byte("are the lagging ranks")); i >= 0 {
		if j := bytes.LastIndexByte(b[:i], '['); j >= 0 {
			d.Lagging = append(d.Lagging, intList(b[j:])...)
		}
		return true
	}
	if i := bytes.Index(b, []byte("didn't join collective #")); i >= 0 {
		if j := bytes.LastIndexByte(b[:i], '['); j >= 0 {
			d.Lagging = append(d.Lagging, intList(b[j:])...)
		}
		if d.Seq == line.Unknown {
			d.Seq = orUnknown(rec.wholeAfter(b[i:], "#"))
		}
		return true
	}
	return bytes.Contains(b, []byte("didn't finish collective #")) ||
		bytes.Contains(b, []byte("lagging/dead/mismatched ranks"))
}

// readMismatch reads "Detected mismatch between collectives on ranks. Rank A is running collective:
// CollectiveFingerPrint(SequenceNumber=5, OpType=…), but Rank B is running collective: CollectiveFingerPrint(
// SequenceNumber=0OpType=REDUCE).Collectives differ in the following aspects: …" (ProcessGroupWrapper.cpp; the missing
// separators are PyTorch's). Up to 1.11 a rank prints only its own side, in one of two forms:
//
//	Detected mismatch between collectives on ranks. Rank 0 is running inconsistent collective: CollectiveFingerPrint(OpType=ALLREDUCE, …
//	Error when verifying shape tensors for collective ALLREDUCE on rank 0. This likely indicates that input shapes …
func readMismatch(r *reader, rec *record) bool {
	if i := bytes.Index(rec.Text, []byte(shapesDiffer)); i >= 0 {
		return readShapes(r, rec, rec.Text[i:])
	}
	i := bytes.Index(rec.Text, []byte("Detected mismatch between collectives"))
	if i < 0 {
		return false
	}
	b := rec.Text[i:]
	j := bytes.Index(b, []byte("but Rank"))
	if j < 0 {
		rank, ok := rec.wholeAfter(b, "Rank ")
		op := wordAfter(b, "OpType=")
		if !ok || op == "" || !bytes.Contains(b, []byte(" is running inconsistent collective: ")) {
			return false
		}
		emit(r, &r.obs.Mismatches, Mismatch{At: rec.At, RankA: rankIn(rank), RankB: line.Unknown, OpA: op, SeqA: line.Unknown, SeqB: line.Unknown, TensorA: tensorOf(b)})
		return true
	}
	a, rest := b[:j], b[j:]
	other, _, _ := bytes.Cut(rest, []byte("differ in the following aspects"))
	m := Mismatch{At: rec.At, OpA: wordAfter(a, "OpType="), OpB: wordAfter(other, "OpType=")}
	m.RankA = int(orUnknown(rec.wholeAfter(a, "Rank ")))
	m.RankB = int(orUnknown(rec.wholeAfter(other, "Rank ")))
	m.SeqA = orUnknown(rec.wholeAfter(a, "SequenceNumber="))
	m.SeqB = orUnknown(rec.wholeAfter(other, "SequenceNumber="))
	m.TensorA, m.TensorB = tensorOf(a), tensorOf(other)
	emit(r, &r.obs.Mismatches, m)
	return true
}

const shapesDiffer = "Error when verifying shape tensors for collective "

// readShapes reads the rest of a line that begins with shapesDiffer.
func readShapes(r *reader, rec *record, b []byte) bool {
	m := Mismatch{At: rec.At, RankB: line.Unknown, OpA: wordAfter(b, shapesDiffer), SeqA: line.Unknown, SeqB: line.Unknown}
	rank, ok := rec.wholeAfter(b, " on rank ")
	if !ok || m.OpA == "" || !bytes.Contains(b, []byte("mismatched across ranks")) {
		return false
	}
	m.RankA = rankIn(rank)
	emit(r, &r.obs.Mismatches, m)
	return true
}

// tensorOf is shape, type and device of a fingerprint: "TensorShape=[10, 20], TensorDtypes=Float, TensorDeviceTypes=TensorOptions(dtype=float
// (default), device=cpu, …". Up to 1.13 the shapes of several tensors stand one behind the other, without a comma.
func tensorOf(b []byte) string {
	_, rest, ok := bytes.Cut(b, []byte("TensorShape=["))
	if !ok {
		return ""
	}
	shape, _, ok := bytes.Cut(rest, []byte("]"))
	if !ok || len(shape) > 64 {
		return ""
	}
	out := "[" + string(shape) + "]"
	if t := wordAfter(rest, "TensorDtypes="); t != "" {
		out += " " + t
	}
	if d := wordAfter(rest, "device="); d != "" {
		out += " " + d
	}
	return strings.ToValidUTF8(out, "?")
}

// readBarrier reads monitored_barrier (ProcessGroupGloo.cpp) and the store-based barrier (distributed_c10d.py).
func readBarrier(r *reader, rec *record) bool {
	b := rec.Text
	bar := Barrier{At: rec.At, Rank: line.Unknown, Joined: line.Unknown, World: line.Unknown}
	before := func(i int) []byte { return b[max(0, bytes.LastIndex(b[:i], []byte("Rank"))):i] }
	if i := bytes.Index(b, []byte("failed to pass monitoredBarrier")); i >= 0 {
		bar.Kind = BarrierMonitored
		who := before(i)
		bar.Absent = intList(bytes.TrimLeft(bytes.TrimPrefix(who, []byte("Rank")), "s "))
		if v, ok := intAfter(b[:i-len(who)], "[Rank "); ok {
			bar.Rank = int(v)
		}
	} else if i := bytes.Index(b, []byte("successfully reached monitoredBarrier, but")); i >= 0 {
		bar.Kind = BarrierVictim
		bar.Rank = int(orUnknown(intAfter(before(i), "Rank ")))
	} else if i := bytes.Index(b, []byte("timed out in monitoredBarrier")); i >= 0 {
		bar.Kind = BarrierMonitored
		bar.Rank = int(orUnknown(intAfter(before(i), "Rank ")))
	} else if i := bytes.Index(b, []byte("store based barrier")); i >= 0 {
		switch {
		case bytes.Contains(b[:i], []byte("Timed out initializing process group")):
			bar.Kind = BarrierStore
		case bytes.Contains(b[:i], []byte("Waiting in ")):
			bar.Kind = BarrierWaiting
		default:
			return false
		}
		t := b[i:]
		for _, key := range []string{"on rank:", "on rank ", "rank: "} {
			if v, ok := intAfter(t, key); ok {
				bar.Rank = int(v)
				break
			}
		}
		bar.World = orUnknown(rec.wholeAfter(t, "world_size="))
		bar.Joined = orUnknown(rec.wholeAfter(t, "num_workers_joined="))
		if bar.Joined == line.Unknown {
			bar.Joined = orUnknown(rec.wholeAfter(t, "worker_count="))
		}
	} else {
		return false
	}
	emit(r, &r.obs.Barriers, bar)
	return true
}

// readClients reads "Timed out after 601 seconds waiting for clients. 8/16 clients joined." (TCPStore.cpp).
func readClients(r *reader, rec *record) bool {
	i := bytes.Index(rec.Text, []byte("waiting for clients. "))
	if i < 0 {
		return false
	}
	bar := Barrier{At: rec.At, Kind: BarrierStore, Rank: line.Unknown, Joined: line.Unknown, World: line.Unknown}
	joined, rest := intAfterRest(rec.Text[i:], "waiting for clients. ")
	if rest != nil && bytes.HasPrefix(rest, []byte("/")) {
		bar.Joined = joined
		bar.World = orUnknown(rec.wholeAfter(rest, "/"))
	}
	emit(r, &r.obs.Barriers, bar)
	return true
}
