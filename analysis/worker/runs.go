package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
	"faultline/pattern"
)

// One file may hold several runs of a job (requeue, with --open-mode=append) and several attempts of one run (elastic
// restart). Marks say where the next one begins.

// starts are lines that only a starting program prints.
var starts = []string{
	"SLURM_RESTART_COUNT", "NCCL version ", "Setting OMP_NUM_THREADS environment variable", "GLOBAL_RANK: ",
	"using world size: ", "Rendezvous complete for workers", "initializing torch distributed",
	"Initializing torch distributed with backend", "pyxis: starting container", "pyxis: importing docker image",
	"WORLD INFO DICT: ", "***** Running training *****", "Starting elastic_operator with launch configs",
	"- Starting with JobEnvironment(job_id=", // submitit
	" restart=",
}

func runHandlers() []handler {
	return []handler{{"run", starts, readStart}}
}

var (
	restartCount = pattern.New(`\bSLURM_RESTART_COUNT['"]?\s*[=:]\s*['"]?(\d{1,6})\b`)
	// The batch scripts of many sites echo the count in words of their own.
	restartEcho = pattern.New(`(?:^|\s)restart=(\d{1,6})\b`)
)

func readStart(r *reader, rec *record) bool {
	if bytes.Contains(rec.Text, []byte("NCCL version ")) && !banner.Match(rec.Text) {
		return false // an error that names the version, flushed late
	}
	count := line.Unknown
	if m := restartCount.FindSubmatch(rec.Text); m != nil {
		count = bounded(string(m[1]))
	} else if m := restartEcho.FindSubmatch(rec.Text); m != nil && requeued(r) {
		count = bounded(string(m[1]))
	} else if bytes.Contains(rec.Text, []byte(" restart=")) && !containsAny(rec.Text, starts[:len(starts)-1]) {
		return false
	} else if bytes.Contains(rec.Text, []byte("SLURM_RESTART_COUNT")) && !containsAny(rec.Text, starts[1:]) {
		return false // named, not stated: a script's own text
	}
	switch {
	case count > 0:
		// Every rank states it; the first statement is where the run begins, or what the mark before it left open.
		for i := range r.obs.RunMarks {
			if m := &r.obs.RunMarks[i]; m.Kind == MarkRequeue && m.Count == count {
				return false
			}
		}
		if n := len(r.obs.RunMarks); n > 0 && !requeued(r) {
			if m := &r.obs.RunMarks[n-1]; m.Kind == MarkRequeue && m.Count == line.Unknown {
				m.Count = count
				return false
			}
		}
		mark(r, rec.At, MarkRequeue, count)
	case requeued(r):
		mark(r, rec.At, MarkRequeue, line.Unknown)
	case bytes.Contains(rec.Text, []byte("NCCL version ")) && banner.Match(rec.Text) && diedSinceMark(r):
		mark(r, rec.At, MarkBanner, line.Unknown)
	default:
		relaunched(r, rec)
	}
	return false
}

// launcher is what prints one line when it starts, and where: torchrun on a node, Lightning for a rank.
type launcher struct {
	task int
	host string
	rank string
}

// maxLaunchers bounds how many of a file are told apart.
const maxLaunchers = 1 << 14

// relaunched marks where a launcher starts that had started before in this file. Whether that is another run, or another node's launcher
// whose lines nothing tells apart, is seen when all files are read.
func relaunched(r *reader, rec *record) {
	k := launcher{task: rec.Who.Task, host: rec.Who.Host}
	if m := lightningGlobal.FindSubmatch(rec.Text); m != nil {
		k.rank = string(m[1])
	} else if !bytes.Contains(rec.Text, []byte("Setting OMP_NUM_THREADS environment variable")) {
		return
	}
	prev, seen := r.launched[k]
	if !seen && len(r.launched) >= maxLaunchers {
		return
	}
	if r.launched == nil {
		r.launched = map[launcher]int64{}
	}
	r.does |= other
	r.launched[k] = rec.Off
	if n := len(r.obs.RunMarks); seen && (n == 0 || r.obs.RunMarks[n-1].Off <= prev) {
		mark(r, rec.At, MarkLaunch, line.Unknown)
	}
}

// banner is NCCL's line at the first communicator, not an error that names the version.
var banner = pattern.New(`NCCL version \d+\.\d+(?:\.\d+)?\+(?:cuda|hip)`)

// requeued reports whether SLURM took the job away since the last mark, in a way that lets it come back.
func requeued(r *reader) bool {
	reasons := []EndReason{ReasonRequeue, ReasonPreemption, ReasonNodeFailure}
	for i := len(r.obs.Ends) - 1; i >= 0; i-- {
		e := &r.obs.Ends[i]
		if n := len(r.obs.RunMarks); n > 0 && e.Off < r.obs.RunMarks[n-1].Off {
			return false
		}
		if e.Kind == EndCancelled && slices.Contains(reasons, e.Reason) {
			return true
		}
	}
	return false
}

// diedSinceMark reports whether something ended a process of this file since the last mark: then another banner may be
// another run.
func diedSinceMark(r *reader) bool {
	var last int64 = -1
	if n := len(r.obs.RunMarks); n > 0 {
		last = r.obs.RunMarks[n-1].Off
	}
	o := r.obs
	return len(o.Ends) > 0 && o.Ends[len(o.Ends)-1].Off > last ||
		len(o.ChildFailed) > 0 && o.ChildFailed[len(o.ChildFailed)-1].Off > last ||
		len(o.ChildExits) > 0 && o.ChildExits[len(o.ChildExits)-1].Off > last
}

// mark emits a run mark and, where the count is known, states it.
func mark(r *reader, at At, kind MarkKind, count int) {
	emit(r, &r.obs.RunMarks, RunMark{At: at, Kind: kind, Count: count})
}
