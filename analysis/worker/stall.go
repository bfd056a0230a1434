package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
)

// Frameworks beside PyTorch that name the ranks which did not come. Horovod's ranks and JAX's task numbers are those of
// the whole job.

func stallHandlers() []handler {
	return []handler{
		{"Horovod stall", []string{"are waiting for remainder of ranks for more than", "[missing ranks:", "[ready ranks:"}, readHorovodStall},
		{"JAX barrier", []string{"Barrier timed out."}, readJAXBarrier},
	}
}

// readHorovodStall reads the stall inspector's report (horovod/common/stall_inspector.cc, 0.16 on):
//
//	One or more tensors were submitted to be reduced, gathered or broadcasted by subset of ranks and are waiting for
//	remainder of ranks for more than 60 seconds. …
//	Missing ranks:                  (also "Stalled ranks:")
//	0: [tensor, tensor ...]
//	3!: [tensor]                    (! where it gave up on the rank)
//
// Before that, operations.cc put one line a tensor: "tensor [missing ranks: 1, 3]"; before 0.15 all of them on one line, by who is there:
// "Stalled ops: tensor [ready ranks: 5, 1, 4], tensor [ready ranks: 5, 1, 4]".
func readHorovodStall(r *reader, rec *record) bool {
	b := Barrier{At: rec.At, Kind: BarrierHorovod, Rank: line.Unknown, Joined: line.Unknown, World: line.Unknown}
	if i := bytes.Index(rec.Text, []byte("[missing ranks:")); i >= 0 {
		if b.Absent = intList(rec.Text[i+len("[missing ranks:"):]); len(b.Absent) == 0 || rec.Cut {
			return true
		}
		// One report a tensor: a model has hundreds of them.
		if n := len(r.obs.Barriers); n == 0 || r.obs.Barriers[n-1].Kind != b.Kind || !slices.Equal(r.obs.Barriers[n-1].Absent, b.Absent) {
			emit(r, &r.obs.Barriers, b)
		}
		return true
	}
	if bytes.Contains(rec.Text, []byte("[ready ranks:")) {
		if b.Absent, b.Joined = notReady(rec.Text); len(b.Absent) > 0 && !rec.Cut {
			emit(r, &r.obs.Barriers, b)
		}
		return true
	}
	done := func() verdict {
		if len(b.Absent) > 0 {
			emit(r, &r.obs.Barriers, b)
		}
		return ended
	}
	r.follow(rec, 1024, func(_ *reader, rec *record) verdict {
		if rec == nil {
			return done()
		}
		m := bytes.TrimSpace(rec.Msg)
		switch {
		case bytes.HasPrefix(m, []byte("Missing ranks:")), bytes.HasPrefix(m, []byte("Stalled ranks:")):
			return taken
		}
		if t := rec.Prefix.Who.Task; t != line.Unknown && bytes.HasPrefix(m, []byte("[")) {
			b.Absent = append(b.Absent, t) // "0: " looks like srun's label
			return taken
		}
		v, n := intAt(m)
		rest := bytes.TrimPrefix(m[n:], []byte("!"))
		if n == 0 || v < 0 || v > 1<<30 || !bytes.HasPrefix(rest, []byte(": [")) {
			return done()
		}
		b.Absent = append(b.Absent, int(v))
		return taken
	})
	return true
}

// notReady are the ranks below the highest that no tensor's list of the ready ones holds, and how many are ready. Where the lists differ,
// ranks wait for different tensors, and nobody is merely late: none.
func notReady(text []byte) (absent []int, joined int64) {
	const opens = "[ready ranks:"
	var ready []int
	for rest := text; ; {
		_, after, found := bytes.Cut(rest, []byte(opens))
		if !found {
			break
		}
		list := intList(after)
		slices.Sort(list)
		if ready != nil && !slices.Equal(ready, list) {
			return nil, 0
		}
		ready, rest = list, after
	}
	const most = 1 << 16
	for id := 0; len(ready) > 0 && id < min(ready[len(ready)-1], most); id++ {
		if !slices.Contains(ready, id) {
			absent = append(absent, id)
		}
	}
	return absent, int64(len(ready))
}

// readJAXBarrier reads what the coordination service says of a barrier (OpenXLA
// xla/tsl/distributed_runtime/coordination/coordination_service.cc; older: TensorFlow's copy):
//
//	DEADLINE_EXCEEDED: Barrier timed out. Id: [Init]PjRT_Client_Connect::0. …
//	# of tasks that reached the barrier: 7/8.
//	The first task at the barrier: /job:jax_worker/replica:0/task:0. Some timed out task names:
//	/job:jax_worker/replica:0/task:5
//
// Older: "Barrier_id: name. Timed out task names:" on the first line. A barrier of the start-up counts who came at all.
func readJAXBarrier(r *reader, rec *record) bool {
	i := bytes.Index(rec.Text, []byte("Barrier timed out."))
	if i < 0 {
		return false
	}
	head := rec.Text[i:]
	b := Barrier{At: rec.At, Kind: BarrierJAX, Rank: line.Unknown, Joined: line.Unknown, World: line.Unknown}
	if bytes.Contains(head, []byte("[Init]")) || bytes.Contains(head, []byte("PjRT_Client_Connect")) {
		b.Kind = BarrierStore
	}
	names := bytes.Contains(head, []byte("imed out task names:"))
	done := func() verdict {
		if len(b.Absent) > 0 || b.World > 0 {
			emit(r, &r.obs.Barriers, b)
		}
		return ended
	}
	r.follow(rec, 64, func(_ *reader, rec *record) verdict {
		if rec == nil {
			return done()
		}
		m := bytes.TrimSpace(rec.Msg)
		if joined, rest := intAfterRest(m, "tasks that reached the barrier:"); rest != nil && bytes.HasPrefix(rest, []byte("/")) {
			b.Joined, b.World = joined, orUnknown(rec.wholeAfter(rest, "/"))
			return taken
		}
		if bytes.Contains(m, []byte("imed out task names:")) {
			names = true
			return taken
		}
		if !names || !bytes.HasPrefix(m, []byte("/job:")) {
			if names || len(m) == 0 {
				return done()
			}
			return pass
		}
		if v, ok := rec.wholeAfter(m, "/task:"); ok && v >= 0 && v < 1<<30 {
			b.Absent = append(b.Absent, int(v))
		}
		return taken
	})
	return true
}
