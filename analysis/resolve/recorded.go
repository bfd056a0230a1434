package resolve

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/recorder"
	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/incident"
)

// RankDump is the dump of one rank's flight recorder.
type RankDump struct {
	Rank int
	File string
	Dump *recorder.Dump
}

// Record is an object in a file that holds one value, with the members that matter.
type Record struct {
	File, Place string
	Members     []incident.Member
}

// Recorded is what a rank's flight recorder says of all its groups together.
type Recorded struct {
	Idle bool // every work of every group is complete
}

// Nothing says that a dump is at hand, and that nothing was in flight by it.
func (r *Recorded) Nothing() bool { return r != nil && r.Idle }

const recorderBasis = "name of its flight-recorder dump"

// dumpsOf chooses the dumps that are of this run: one for each rank, and only where they agree with the job on its size. Where nothing states
// that, their default group does.
func dumpsOf(all []RankDump, w world, run which, warn *notes) (map[int]RankDump, world) {
	out := map[int]RankDump{}
	if len(all) == 0 {
		return out, w
	}
	if !run.last() {
		warn.add("the flight-recorder dumps are not used: each run overwrites the previous run's dumps, and this is not the last run")
		return out, w
	}
	twice := 0
	for _, d := range all {
		old, seen := out[d.Rank]
		if seen {
			twice++
		}
		if !seen || newest(d.Dump) > newest(old.Dump) || newest(d.Dump) == newest(old.Dump) && d.File < old.File {
			out[d.Rank] = d
		}
	}
	if twice > 0 {
		warn.add("%s of the flight recorder left out: there is a newer one from the same rank", countOf(twice, "dump"))
	}
	size, by := 0, ""
	for _, id := range sortedKeys(out) {
		for _, g := range out[id].Dump.Groups {
			if (g.Name == "0" || g.Desc == "default_pg") && len(g.Ranks) > size {
				size, by = len(g.Ranks), out[id].File
			}
		}
	}
	switch {
	case size == 0:
	case w.size == 0:
		w.size, w.from = size, "the default group in the flight-recorder dumps"
	case w.size != size:
		warn.add("the flight-recorder dumps are not used: %s is from a job with %d ranks, and this job has %d (%s)", by, size, w.size, w.from)
		return map[int]RankDump{}, w
	}
	return out, w
}

func newest(d *recorder.Dump) int64 {
	t := int64(0)
	for _, works := range [][]recorder.Work{d.Open, d.Done} {
		for i := range works {
			t = max(t, works[i].CreatedNS)
		}
	}
	return t
}

func sortedKeys[V any](m map[int]V) []int {
	out := make([]int, 0, len(m))
	for id := range m {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func countOf(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// recorded adds what the flight recorders say: who belongs to which group, what of it each rank had in flight, and its counters. A
// line of the watchdog and a dump that say the same are one.
func (g *grouper) recorded(dumps map[int]RankDump) {
	if len(dumps) == 0 {
		return
	}
	world := map[int]*recorder.Dump{}
	for id, d := range dumps {
		world[id] = d.Dump
	}
	joined := recorder.Join(world)
	if other := g.otherMoment(joined, world); len(other) > 0 {
		for _, id := range other {
			delete(world, id)
		}
		g.warn.add("%s of the flight recorder (%s) not used: its counters are too far from those of another member of the group, so %s from another moment or run",
			countOf(len(other), "dump"), someFiles(dumps, other), map[bool]string{true: "it is", false: "they are"}[len(other) == 1])
		if len(world) == 0 {
			return
		}
		joined = recorder.Join(world)
	}
	*g.warn = append(*g.warn, joined.Warnings...)
	g.RecorderOff = joined.Off
	off := map[int]bool{}
	for _, id := range joined.Off {
		off[id] = true
	}
	for _, id := range joined.Ranks {
		if off[id] {
			continue
		}
		r := g.rank(id, recorderBasis)
		d := dumps[id]
		r.Recorded = &Recorded{Idle: len(d.Dump.Open)+d.Dump.OpenMore == 0}
		for _, s := range d.Dump.Status {
			r.Recorded.Idle = r.Recorded.Idle && (s.Enqueued == s.Completed || s.Enqueued == recorder.None)
		}
	}
	for i := range joined.Groups {
		j := &joined.Groups[i]
		open := slices.ContainsFunc(j.States, func(s recorder.State) bool { return s.First() != nil })
		gr := g.byKey[GroupKey(worker.GroupRef{Known: true, GUID: j.Name, Desc: j.Desc})]
		if gr == nil && !open {
			continue // nobody waits there
		}
		gr = g.group(worker.GroupRef{Known: true, GUID: j.Name, Desc: j.Desc, Rank: line.Unknown})
		gr.listed = j.Members
		gr.Counters = map[int]*Counters{}
		for k := range j.States {
			g.state(gr, j, &j.States[k], dumps[j.States[k].Rank].File)
		}
	}
}

// apart is how far counters of the members of a group can lie apart at one moment: no work completes that a member has not issued. The
// root of a broadcast runs ahead of those who receive, by as much as NCCL's buffers hold.
const apart = 64

// otherMoment are the ranks whose dumps cannot be of the moment at which the others stand: in one group one had issued less than another
// has completed. What lines of the logs state decides; else the older dumps are out, as each run writes over those of the run before.
func (g *grouper) otherMoment(joined *recorder.World, dumps map[int]*recorder.Dump) []int {
	out := map[int]bool{}
	for i := range joined.Groups {
		j := &joined.Groups[i]
		if j.P2P {
			continue // its counters are not those of collectives
		}
		said, most := g.stated(worker.GroupRef{Known: true, GUID: j.Name, Desc: j.Desc})
		done := recorder.None // by the dumps that are left
		for k := range j.States {
			s := &j.States[k]
			issued, completed := reached(s)
			switch {
			case issued == recorder.None:
			case said != recorder.None && issued+apart < said, most != recorder.None && completed > most+apart:
				out[s.Rank] = true
			default:
				done = max(done, completed)
			}
		}
		var behind, level []int
		for k := range j.States {
			s := &j.States[k]
			switch issued, _ := reached(s); {
			case issued == recorder.None || out[s.Rank]:
			case issued+apart < done:
				behind = append(behind, s.Rank)
			default:
				level = append(level, s.Rank)
			}
		}
		if len(behind) == 0 {
			continue
		}
		latest, earliest := int64(0), int64(math.MaxInt64)
		for _, id := range behind {
			latest = max(latest, newest(dumps[id]))
		}
		for _, id := range level {
			earliest = min(earliest, newest(dumps[id]))
		}
		if latest >= earliest { // no telling which of them are of this run
			behind = append(behind, level...)
		}
		for _, id := range behind {
			out[id] = true
		}
	}
	return sortedKeys(out)
}

// stated is the last work of a group that some member has completed, and the last that any has issued, by lines of watchdogs; None where
// no line says so, or the counters are of two sequences.
func (g *grouper) stated(ref worker.GroupRef) (completed, issued int64) {
	completed, issued = recorder.None, recorder.None
	gr := g.byKey[GroupKey(ref)]
	if gr == nil || gr.P2P {
		return completed, issued
	}
	for _, p := range gr.Pending {
		if p.State != nil {
			completed, issued = max(completed, p.State.Completed), max(issued, p.State.Enqueued)
		}
	}
	return completed, issued
}

// reached is the last work that a rank has issued in a group, and the last that it has completed, as far as entries of its dump, and
// counters that they tie to the group, say so.
func reached(s *recorder.State) (issued, completed int64) {
	issued, completed = recorder.None, recorder.None
	if s.Tie == "entry" {
		issued, completed = s.Enqueued, s.Completed
	}
	if n := len(s.Open); n > 0 {
		issued = max(issued, s.Open[n-1].Seq)
	}
	if s.Done != nil {
		issued, completed = max(issued, s.Done.Seq), max(completed, s.Done.Seq)
	}
	return issued, completed
}

// someFiles are the files of some dumps for people.
func someFiles(dumps map[int]RankDump, ranks []int) string {
	var names []string
	for i, id := range ranks {
		if i == 3 {
			names = append(names, strconv.Itoa(len(ranks)-i)+" more")
			break
		}
		names = append(names, dumps[id].File)
	}
	return strings.Join(names, ", ")
}

// state adds what one rank's dump says of one group.
func (g *grouper) state(gr *Group, j *recorder.Joined, s *recorder.State, file string) {
	r := g.rank(s.Rank, recorderBasis)
	var counters *Counters
	if s.Tie != "" && s.Enqueued != recorder.None && s.Completed != recorder.None {
		counters = &Counters{Enqueued: s.Enqueued, Completed: s.Completed, Record: &Record{file, "pg_status." + s.Local, []incident.Member{
			{Name: "last_enqueued_collective", Value: strconv.FormatInt(s.Enqueued, 10)}, {Name: "last_completed_collective", Value: strconv.FormatInt(s.Completed, 10)}}}}
		gr.Counters[s.Rank] = counters
	}
	w := s.First()
	if w == nil {
		return
	}
	groupRank := line.Unknown
	if i, ok := slices.BinarySearch(j.Members, s.Rank); ok {
		groupRank = i
	}
	record := &Record{file, fmt.Sprintf("entries[%d]", w.Index), []incident.Member{{Name: "process_group", Value: j.Name}, {Name: "profiling_name", Value: w.Op}, {Name: w.SeqName, Value: strconv.FormatInt(w.Seq, 10)}, {Name: "state", Value: w.State}}}
	gr.P2P = gr.P2P || w.P2P
	for _, p := range gr.Pending {
		if p.Rank == r {
			if p.Work.Seq == w.Seq {
				p.Phase, p.Record, p.Order = w.State, record, w.Record
				if p.State == nil {
					p.Counters = counters
				}
			}
			return // its own watchdog reported it
		}
	}
	p := &Pending{Rank: r, Group: gr, GroupRank: groupRank, Record: record, Counters: counters, Phase: w.State, Order: w.Record,
		Work: worker.Work{Seq: w.Seq, Op: watchdogName(w), NumelIn: numel(w.In), NumelOut: numel(w.Out), TimeoutMS: w.TimeoutMS, RanForMS: line.Unknown}}
	gr.Pending = append(gr.Pending, p)
	r.Pending = append(r.Pending, p)
}

// watchdogName is the operation as the watchdog would print it: "_allgather_base" of the recorder is _ALLGATHER_BASE there.
// Source: c10d's opTypeToString and the profiling titles of ProcessGroupNCCL.cpp, 2.4 to 2.10.
func watchdogName(w *recorder.Work) string {
	kind := w.Kind()
	if name, ok := watchdogNames[kind]; ok {
		return name
	}
	return strings.ToUpper(strings.NewReplacer("all_gather", "allgather", "all_reduce", "allreduce", "all_to_all", "alltoall").Replace(kind))
}

var watchdogNames = map[string]string{
	"all_reduce": "ALLREDUCE", "all_reduce_barrier": "BARRIER", "broadcast": "BROADCAST", "_broadcast_oop": "BROADCAST", "reduce": "REDUCE",
	"all_gather": "ALLGATHER", "_all_gather_base": "_ALLGATHER_BASE", "all_gather_into_tensor_coalesced": "COALESCED", "all_gather_coalesced": "COALESCED",
	"reduce_scatter": "REDUCE_SCATTER", "_reduce_scatter_base": "_REDUCE_SCATTER_BASE", "reduce_scatter_tensor_coalesced": "COALESCED",
	"all_to_all": "ALLTOALL_BASE", "gather": "GATHER", "scatter": "SCATTER", "send": "SEND", "recv": "RECV", "coalesced": "COALESCED", "barrier": "BARRIER",
}

// numel is how many elements the tensors have together; Unknown where no size is stated.
func numel(sizes [][]int64) int64 {
	if len(sizes) == 0 {
		return line.Unknown
	}
	const limit = int64(1) << 53
	sum := int64(0)
	for _, dims := range sizes {
		n := int64(1)
		for _, d := range dims {
			if d < 0 || d > 0 && n > limit/d {
				return line.Unknown
			}
			n *= d
		}
		if sum += n; sum > limit {
			return line.Unknown
		}
	}
	return sum
}
