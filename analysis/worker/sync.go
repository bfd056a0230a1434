package worker

import "bytes"

// syncHandlers read how far a group's counters are while it works. What tells at which synchronisation point a process
// waits are stacks, and they have readers of their own.
func syncHandlers() []handler {
	return []handler{{"sample", []string{sampleKey}, readSample}}
}

const sampleKey = "NCCL Work update periodically: "

// readSample reads "[PG ID 0 PG GUID 0(default_pg) Rank 3]NCCL Work update periodically: last enqueued NCCL work: 120, last
// completed NCCL work: 119." (ProcessGroupNCCL.cpp 2.3 and later; INFO, every 30 s, in builds with glog).
func readSample(r *reader, rec *record) bool {
	i := bytes.Index(rec.Text, []byte(sampleKey))
	if i < 0 {
		return false
	}
	s := Sample{At: rec.At}
	s.Group, _, _ = lastGroup(rec.Text[:i])
	b := rec.Text[i+len(sampleKey):]
	var okE bool
	s.Enqueued, okE = intUpTo(b, "last enqueued NCCL work: ", ",")
	_, okC := intUpTo(b, "last completed NCCL work: ", ".")
	if !s.Group.Known || !okE || !okC || len(r.obs.Samples) >= maxSamples {
		return true // a line of health, whatever it lacks
	}
	r.does |= other
	r.obs.Samples = append(r.obs.Samples, s)
	return true
}

// maxSamples bounds the samples kept of one file: the first ones of a run say how many operations a step takes.
const maxSamples = 1 << 12
