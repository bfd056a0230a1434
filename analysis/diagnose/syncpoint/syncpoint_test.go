package syncpoint

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
)

// run is a run of a few ranks, each with a file of its own, put together observation by observation.
type run struct {
	size int
	obs  worker.Observations
	off  map[int]int64
}

func (r *run) at(rank int) worker.At {
	if r.off == nil {
		r.off = map[int]int64{}
	}
	r.off[rank] += 100
	who := line.NoOne
	who.Global = rank
	stamp := line.Stamp{Kind: line.DateTime, Emitter: line.Container, Year: 2026, Month: 3, Day: 1, Hour: 10, Second: 30}
	return worker.At{Pos: worker.Pos{File: fmt.Sprintf("rank_%d.log", rank), Line: r.off[rank] / 100, Off: r.off[rank], Len: 90}, By: &who, Stamp: stamp}
}

func (r *run) group(rank int) worker.GroupRef {
	return worker.GroupRef{Known: true, GUID: "0", Desc: "default_pg", Rank: rank}
}

func (r *run) waits(rank int, seq int64, op string, numel int64) {
	r.obs.Timeouts = append(r.obs.Timeouts, worker.Timeout{At: r.at(rank), Sticky: line.Unknown, Form: "error",
		Work: worker.Work{Seq: seq, Op: op, NumelIn: numel, NumelOut: numel, TimeoutMS: 600000, RanForMS: 600001}})
	r.obs.States = append(r.obs.States, worker.State{At: r.at(rank), Group: r.group(rank), Work: seq, Enqueued: seq, Completed: seq - 1, Form: "failure-detected"})
}

func (r *run) idle(rank int, done int64) {
	r.obs.Dumps = append(r.obs.Dumps, worker.Dump{At: r.at(rank), Group: r.group(rank), From: 1, Enqueued: done, Completed: done})
}

func (r *run) step(rank int, step int64) {
	r.obs.Progress = append(r.obs.Progress, worker.Progress{At: r.at(rank), Form: "nemo", Step: step, Total: line.Unknown, Epoch: line.Unknown, Phase: "training"})
}

func (r *run) sample(rank int, enqueued int64) {
	r.obs.Samples = append(r.obs.Samples, worker.Sample{At: r.at(rank), Group: r.group(rank), Enqueued: enqueued})
}

func (r *run) says(key, value string) {
	r.obs.Facts = append(r.obs.Facts, worker.Fact{At: r.at(0), Key: key, Value: value})
}

func (r *run) stack(rank int, frames ...worker.Frame) {
	r.obs.Stacks = append(r.obs.Stacks, worker.CollectiveStack{At: r.at(rank), Frames: frames})
}

func (r *run) scene(t testing.TB) *mechanism.Scene {
	t.Helper()
	for rank, off := range r.off {
		who := line.NoOne
		who.Global = rank
		at := worker.At{Pos: worker.Pos{File: fmt.Sprintf("rank_%d.log", rank), Line: 1, Off: 0, Len: 90}, By: &who}
		r.obs.Tails = append(r.obs.Tails, worker.Tail{File: at.File, Bytes: off + 100, Lines: off/100 + 1, EndsClean: true,
			Writers: []worker.WriterSpan{{Who: *at.Who(), Lines: 5, First: at.Mark(), Last: at.Mark()}}})
	}
	f, err := resolve.Resolve(t.Context(), resolve.Input{Obs: worker.Merge(&r.obs), WorldSize: r.size})
	if err != nil {
		t.Fatal(err)
	}
	return &mechanism.Scene{Facts: f, Graph: waitfor.Build(f)}
}

func only(t testing.TB, s *mechanism.Scene) *resolve.Group {
	t.Helper()
	if len(s.Facts.Groups) != 1 {
		t.Fatalf("%d groups", len(s.Facts.Groups))
	}
	return s.Facts.Groups[0]
}

func TestWhereTheyWait(t *testing.T) {
	preempt := worker.Frame{File: "/opt/NeMo/nemo/utils/callbacks/preemption.py", Line: 69, Func: "interrupted"}
	c10d := worker.Frame{File: "/usr/lib/torch/distributed/distributed_c10d.py", Line: 2772, Func: "broadcast"}
	objects := worker.Frame{File: "/usr/lib/torch/distributed/distributed_c10d.py", Line: 3400, Func: "broadcast_object_list"}
	lightning := worker.Frame{File: "/usr/lib/lightning/pytorch/strategies/ddp.py", Line: 310, Func: "broadcast"}
	user := worker.Frame{File: "/workspace/train.py", Line: 41, Func: "main"}
	for _, c := range []struct {
		name  string
		play  func(r *run)
		basis string
		first string   // the first point holds this
		says  []string // the statement holds these
		never string
	}{
		{name: "what fits is never called proven", play: func(r *run) {
			r.says("framework", "nemo")
			for i := range 3 {
				r.waits(i, 40, "BROADCAST", 1)
			}
			r.idle(3, 39)
		}, basis: "consistent", first: "PreemptionCallback", says: []string{"the ranks are waiting in a one-element BROADCAST in the default group", "consistent with", "look the same"}, never: "from its stack"},
		{name: "a stack names the call", play: func(r *run) {
			r.says("framework", "nemo")
			for i := range 3 {
				r.waits(i, 40, "BROADCAST", 1)
				r.stack(i, c10d, preempt, user)
			}
			r.idle(3, 39)
		}, basis: "stack", first: "PreemptionCallback", says: []string{"from its stack"}, never: "consistent"},
		{name: "the more particular frame counts", play: func(r *run) {
			r.waits(0, 40, "BROADCAST", 1)
			r.waits(1, 40, "BROADCAST", 1)
			r.stack(1, c10d, objects, lightning, user)
			r.idle(2, 39)
			r.idle(3, 39)
		}, basis: "stack", first: "Lightning's strategy"},
		{name: "an object broadcast of the user's own", play: func(r *run) {
			r.waits(0, 40, "BROADCAST", 1)
			r.waits(1, 40, "BROADCAST", 1)
			r.stack(1, c10d, objects, user)
			r.idle(2, 39)
		}, basis: "stack", first: "broadcast of a Python object"},
		{name: "a stack that leads to the user's code names its line", play: func(r *run) {
			r.waits(0, 40, "ALLREDUCE", 8)
			r.waits(1, 40, "ALLREDUCE", 8)
			r.stack(0, worker.Frame{File: "/usr/lib/torch/distributed/distributed_c10d.py", Line: 2501, Func: "all_reduce"}, user)
			r.idle(2, 39)
		}, basis: "stack", says: []string{"called from main (/workspace/train.py:41)"}},
		{name: "one waits", play: func(r *run) {
			r.waits(2, 40, "ALLREDUCE", 1)
			for _, i := range []int{0, 1, 3} {
				r.idle(i, 39)
			}
		}, basis: "consistent", first: "a barrier", says: []string{"the rank is waiting in a one-element ALLREDUCE"}},
		{name: "what happens at the start is over once it trains", play: func(r *run) {
			r.step(0, 5)
			for i := range 3 {
				r.waits(i, 40, "BROADCAST", 4096)
			}
		}, basis: "consistent", never: "construction"},
		{name: "an open save comes first", play: func(r *run) {
			r.says("framework", "lightning")
			r.step(0, 5)
			r.obs.Checkpoints = append(r.obs.Checkpoints, worker.Checkpoint{At: r.at(0), Kind: "save-start", Step: 5})
			for i := range 3 {
				r.waits(i, 40, "BROADCAST", 1)
			}
		}, basis: "consistent", first: "Lightning's strategy"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := &run{size: 4}
			c.play(r)
			s := r.scene(t)
			got := At(s, only(t, s))
			if got == nil {
				t.Fatal("nothing is said")
			}
			all := got.Statement + strings.Join(got.Points, "; ")
			if got.Basis != c.basis || c.first != "" && (len(got.Points) == 0 || !strings.Contains(got.Points[0], c.first)) || c.never != "" && strings.Contains(all, c.never) {
				t.Errorf("%+v", got)
			}
			for _, w := range c.says {
				if !strings.Contains(got.Statement, w) {
					t.Errorf("%q lacks %q", got.Statement, w)
				}
			}
			if len(got.Evidence) == 0 {
				t.Error("without evidence")
			}
		})
	}
}

func TestNothingIsSaidOfSendAndReceive(t *testing.T) {
	r := &run{size: 4}
	r.waits(0, 10, "SEND", 8)
	r.waits(1, 17, "RECV", 8)
	s := r.scene(t)
	if g := only(t, s); At(s, g) != nil || Gap(s, g) != nil {
		t.Error("counters of send and receive are compared")
	}
}

// ahead is rank 0 some collectives ahead of three that wait, with samples of so many collectives a step on rank 0.
func ahead(gap, perStep int64) *run {
	r := &run{size: 5}
	e := int64(100)
	for step := int64(1); step <= 40; step++ {
		r.step(0, step)
		if step%3 == 0 {
			r.sample(0, e+1)
		}
		e += perStep
	}
	r.idle(0, 900+gap)
	for i := 1; i < 4; i++ {
		r.waits(i, 901, "BROADCAST", 1)
	}
	r.idle(4, 900)
	return r
}

func TestTheGapBetweenRanks(t *testing.T) {
	for _, c := range []struct {
		gap, perStep int64
		steps        int64 // 0: no whole number
	}{{3, 3, 1}, {6, 3, 2}, {4, 3, 0}, {2, 3, 0}, {7, 7, 1}, {5, 1, 5}} {
		s := ahead(c.gap, c.perStep).scene(t)
		g := Gap(s, only(t, s))
		if g == nil {
			t.Fatalf("%+v: nothing is said", c)
		}
		if g.Collectives != c.gap || !slices.Equal(g.Ahead, []int{0}) || !slices.Equal(g.Behind, []int{1, 2, 3, 4}) {
			t.Errorf("%+v: %+v", c, g)
		}
		if g.PerStep == nil || *g.PerStep != c.perStep {
			t.Fatalf("%+v: the rate is not proven: %s", c, g.Statement)
		}
		if (g.Steps == nil) != (c.steps == 0) || g.Steps != nil && *g.Steps != c.steps {
			t.Errorf("%+v: %+v", c, g)
		}
		if strings.Contains(g.Statement, "only some of them called") {
			t.Errorf("%+v: the sender of a broadcast is taken for one that called something else: %s", c, g.Statement)
		}
		for _, e := range g.Evidence {
			if e.Kind != incident.KindDerived || len(e.Inputs) != 2 {
				t.Errorf("%+v: %+v is not derived", c, e)
			}
		}
	}
}

func TestWithoutSamplesTheGapIsNotMeasuredInSteps(t *testing.T) {
	r := ahead(3, 3)
	r.obs.Samples = nil
	s := r.scene(t)
	g := Gap(s, only(t, s))
	if g == nil || g.PerStep != nil || g.Steps != nil || !strings.Contains(g.Statement, "may not be whole steps") {
		t.Errorf("%+v", g)
	}
	if _, known := Whole(g); known {
		t.Error("known without samples")
	}
}

func TestWhoStandsAtTheSameNumberHasNoGap(t *testing.T) {
	r := &run{size: 4}
	for i := range 3 {
		r.waits(i, 10, "ALLREDUCE", 8)
	}
	r.idle(3, 9)
	s := r.scene(t)
	if g := Gap(s, only(t, s)); g != nil {
		t.Errorf("%+v", g)
	}
}

// Whatever the samples: a rate that is called proven is the one they were made with, and where every so often a step makes
// more (a validation, a save) no wrong one is.
func TestARateThatIsProvenIsTheTrueOne(t *testing.T) {
	proven := 0
	for seed := range uint64(600) {
		p := rand.New(rand.NewPCG(7, seed))
		n := int64(1 + p.IntN(12))
		extra := int64(0)
		if seed%4 == 3 {
			extra = int64(1 + p.IntN(40))
		}
		r := &run{size: 4}
		e := int64(p.IntN(500))
		stride := int64(1 + p.IntN(3)/2) // of the lines that state the step
		for step := int64(0); step < 60; step++ {
			if step%stride == 0 {
				r.step(0, step)
			}
			if p.IntN(4) == 0 {
				r.sample(0, e+int64(p.IntN(int(n)+1)))
			}
			e += n
			if extra > 0 && step%10 == 9 {
				e += extra
			}
		}
		for i := range 3 {
			r.waits(i, 9001, "BROADCAST", 1)
		}
		s := r.scene(t)
		got, _, ok := perStep(s.Facts, only(t, s))
		if !ok {
			continue
		}
		if extra == 0 {
			proven++
		}
		if got.value != n {
			t.Fatalf("seed %d: %d a step are called proven, there were %d", seed, got.value, n)
		}
	}
	if proven < 150 {
		t.Errorf("only %d of 300 rates were found", proven)
	}
}
