package waitfor

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
)

// world is a run put together observation by observation, all in one file.
type world struct {
	size int // stated; 0: nobody states it
	obs  worker.Observations
	off  int64
	seen map[int]bool
}

const file = "train.log"

func (w *world) at(rank int) worker.At {
	w.off += 100
	who := line.NoOne
	who.Global = rank
	stamp := line.Stamp{Kind: line.DateTime, Emitter: line.Container, Year: 2026, Month: 3, Day: 1, Hour: 10, Second: 30}
	at := worker.At{Pos: worker.Pos{File: file, Line: w.off / 100, Off: w.off, Len: 90}, By: &who, Stamp: stamp}
	if w.seen == nil {
		w.seen = map[int]bool{}
	}
	w.seen[rank] = true
	return at
}

var world0 = worker.GroupRef{Known: true, GUID: "0", Desc: "default_pg"}

// group names a group in which a rank has a place.
func group(guid, desc string, place int) worker.GroupRef {
	return worker.GroupRef{Known: true, GUID: guid, Desc: desc, Rank: place}
}

// call is a collective.
type call struct {
	seq   int64
	op    string
	numel int64
}

var reduce10 = call{10, "ALLREDUCE", 1024}

// waits lets a rank's watchdog report a collective, with its counters.
func (w *world) waits(rank int, g worker.GroupRef, c call, enqueued, completed int64) {
	if g == world0 {
		g.Rank = rank
	}
	w.obs.Timeouts = append(w.obs.Timeouts, worker.Timeout{At: w.at(rank), Sticky: line.Unknown, Form: "error",
		Work: worker.Work{Seq: c.seq, Op: c.op, NumelIn: c.numel, NumelOut: c.numel, TimeoutMS: 600000, RanForMS: 600001}})
	w.obs.States = append(w.obs.States, worker.State{At: w.at(rank), Group: g, Work: c.seq, Enqueued: enqueued, Completed: completed, Form: "failure-detected"})
}

// told lets a rank print its counters of the default group after another's time-out.
func (w *world) told(rank, from int, enqueued, completed int64) {
	g := world0
	g.Rank = rank
	w.obs.Dumps = append(w.obs.Dumps, worker.Dump{At: w.at(rank), Group: g, From: from, Enqueued: enqueued, Completed: completed})
}

// speaks lets ranks print something.
func (w *world) speaks(ranks ...int) {
	for _, r := range ranks {
		w.at(r)
	}
}

func (w *world) lists(name string, groups ...[]int) {
	w.obs.Topologies = append(w.obs.Topologies, worker.Topology{At: w.at(0), Name: name, Groups: groups})
}

func (w *world) facts(t testing.TB) *resolve.Facts {
	t.Helper()
	tail := worker.Tail{File: file, Bytes: w.off + 100, Lines: w.off/100 + 1, EndsClean: true}
	for r := range w.seen {
		at := w.at(r)
		tail.Writers = append(tail.Writers, worker.WriterSpan{Who: *at.Who(), Lines: 5, First: at.Mark(), Last: at.Mark()})
	}
	w.obs.Tails = []worker.Tail{tail}
	f, err := resolve.Resolve(t.Context(), resolve.Input{Obs: worker.Merge(&w.obs), WorldSize: w.size})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// others are the ranks of a world of n but for those named.
func others(n int, but ...int) []int {
	var out []int
	for r := range n {
		if !slices.Contains(but, r) {
			out = append(out, r)
		}
	}
	return out
}

// grid4 lists the groups of four ranks, two by two.
func (w *world) grid4() {
	w.lists("tensor model parallel", []int{0, 1}, []int{2, 3})
	w.lists("data parallel", []int{0, 2}, []int{1, 3})
}

const (
	tp = "TENSOR_MODEL_PARALLEL_GROUP"
	dp = "DATA_PARALLEL_GROUP"
)

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		name                          string
		play                          func(w *world)
		size                          int
		shape                         Shape
		root, frontier, intermediates []int
		idle                          bool
	}{
		{name: "nobody waits", size: 8, play: func(w *world) { w.speaks(others(8)...) }, shape: NoHang},
		{name: "one shown idle holds the others", size: 8, play: func(w *world) {
			for _, r := range others(8, 7) {
				w.waits(r, world0, reduce10, 10, 9)
			}
			w.told(7, 0, 9, 9)
		}, shape: Straggle, root: []int{7}, idle: true},
		{name: "two of eight shown idle hold the others", size: 8, play: func(w *world) {
			for _, r := range others(8, 2, 5) {
				w.waits(r, world0, reduce10, 10, 9)
			}
			w.told(2, 0, 9, 9)
			w.told(5, 0, 8, 8)
		}, shape: Straggle, root: []int{2, 5}, idle: true},
		{name: "one that is only silent, in a run that prints no counters", size: 8, play: func(w *world) {
			for _, r := range others(8, 7) {
				w.waits(r, world0, reduce10, 10, 9)
			}
			w.speaks(7)
		}, shape: Straggle, root: []int{7}},
		{name: "one of whom there is no line at all", size: 8, play: func(w *world) {
			for _, r := range others(8, 7) {
				w.waits(r, world0, reduce10, 10, 9)
			}
		}, shape: Unseen, frontier: []int{7}},
		{name: "nobody states how many there are", play: func(w *world) {
			for _, r := range others(8, 7) {
				w.waits(r, world0, reduce10, 10, 9)
			}
		}, shape: Unseen},
		{name: "half of them idle", size: 8, play: func(w *world) {
			for r := range 4 {
				w.waits(r, world0, reduce10, 10, 9)
				w.told(r+4, 0, 9, 9)
			}
		}, shape: Split, frontier: []int{4, 5, 6, 7}, idle: true},
		{name: "only one waits", size: 8, play: func(w *world) {
			w.waits(3, world0, reduce10, 10, 9)
			for _, r := range others(8, 3) {
				w.told(r, 3, 9, 9)
			}
		}, shape: Lone, root: []int{3}, idle: true},
		{name: "one waits for one", size: 2, play: func(w *world) {
			w.waits(0, world0, reduce10, 10, 9)
			w.told(1, 0, 9, 9)
		}, shape: Pair, frontier: []int{0, 1}, idle: true},
		{name: "all in flight in the same work", size: 8, play: func(w *world) {
			for r := range 8 {
				w.waits(r, world0, reduce10, 10, 9)
			}
		}, shape: Full},
		{name: "all in flight, one of them by its counters only", size: 8, play: func(w *world) {
			for _, r := range others(8, 6) {
				w.waits(r, world0, reduce10, 10, 9)
			}
			w.told(6, 0, 10, 9)
		}, shape: Full},
		{name: "one behind is a sample, not a lag", size: 8, play: func(w *world) {
			for _, r := range others(8, 6) {
				w.waits(r, world0, reduce10, 11, 9)
			}
			w.waits(6, world0, call{9, "ALLREDUCE", 1024}, 11, 8)
		}, shape: Full},
		{name: "one well behind that keeps enqueuing", size: 8, play: func(w *world) {
			for _, r := range others(8, 2) {
				w.waits(r, world0, reduce10, 12, 9)
			}
			w.waits(2, world0, call{5, "ALLREDUCE", 1024}, 12, 4)
		}, shape: Lag, root: []int{2}},
		{name: "one in another operation", size: 8, play: func(w *world) {
			for _, r := range others(8, 2) {
				w.waits(r, world0, reduce10, 10, 9)
			}
			w.waits(2, world0, call{10, "BROADCAST", 1024}, 10, 9)
		}, shape: Diverged, root: []int{2}},
		{name: "one with another size", size: 8, play: func(w *world) {
			for _, r := range others(8, 2) {
				w.waits(r, world0, reduce10, 10, 9)
			}
			w.waits(2, world0, call{10, "ALLREDUCE", 1023}, 10, 9)
		}, shape: Diverged, root: []int{2}},
		{name: "the root of a broadcast runs ahead of those who wait in it", size: 8, play: func(w *world) {
			for _, r := range others(8, 0, 5) {
				w.waits(r, world0, call{10, "BROADCAST", 1}, 10, 9)
			}
			w.waits(0, world0, call{13, "ALLREDUCE", 1024}, 13, 12)
			w.told(5, 1, 9, 9)
		}, shape: Straggle, root: []int{5}, idle: true},
		{name: "most have left a broadcast in which a few still wait", size: 8, play: func(w *world) {
			for _, r := range others(8, 5, 6, 7) {
				w.waits(r, world0, call{13, "ALLREDUCE", 1024}, 13, 12)
			}
			w.waits(6, world0, call{10, "BROADCAST", 1}, 10, 9)
			w.waits(7, world0, call{10, "BROADCAST", 1}, 10, 9)
			w.told(5, 1, 9, 9)
		}, shape: Straggle, root: []int{5}, idle: true},
		{name: "one that has left the broadcast and is idle holds nobody in it", size: 8, play: func(w *world) {
			for _, r := range others(8, 0, 5) {
				w.waits(r, world0, call{10, "BROADCAST", 1}, 10, 9)
			}
			w.told(0, 1, 12, 12)
			w.told(5, 1, 9, 9)
		}, shape: Straggle, root: []int{5}, idle: true},
		{name: "a root ahead of all the others proves no mismatch", size: 8, play: func(w *world) {
			for _, r := range others(8, 0) {
				w.waits(r, world0, call{10, "BROADCAST", 1}, 10, 9)
			}
			w.waits(0, world0, call{13, "ALLREDUCE", 1024}, 13, 12)
		}, shape: Full},
		{name: "ahead of those who wait in an all-reduce is another program", size: 8, play: func(w *world) {
			for _, r := range others(8, 0) {
				w.waits(r, world0, call{10, "ALLREDUCE", 1024}, 10, 9)
			}
			w.waits(0, world0, call{13, "ALLREDUCE", 1024}, 13, 12)
		}, shape: Diverged, root: []int{0}},
		{name: "a few behind in a broadcast that have enqueued as much as the others lag", size: 8, play: func(w *world) {
			for _, r := range others(8, 2) {
				w.waits(r, world0, reduce10, 12, 9)
			}
			w.waits(2, world0, call{6, "BROADCAST", 1}, 12, 5)
		}, shape: Lag, root: []int{2}},
		{name: "sizes of a scatter may differ", size: 8, play: func(w *world) {
			for r := range 8 {
				w.waits(r, world0, call{10, "ALLTOALL", int64(100 + r)}, 10, 9)
			}
		}, shape: Full},
		{name: "half in one operation, half in another", size: 8, play: func(w *world) {
			for r := range 8 {
				w.waits(r, world0, call{10, []string{"ALLREDUCE", "BROADCAST"}[r%2], 1024}, 10, 9)
			}
		}, shape: Diverged},
		{name: "a torn line is no other operation", size: 8, play: func(w *world) {
			for _, r := range others(8, 2) {
				w.waits(r, world0, reduce10, 10, 9)
			}
			w.obs.Timeouts = append(w.obs.Timeouts, worker.Timeout{At: w.at(2), Sticky: line.Unknown, Form: "error", Group: world0,
				Work: worker.Work{Seq: line.Unknown, NumelIn: line.Unknown, NumelOut: line.Unknown, RanForMS: line.Unknown, TimeoutMS: line.Unknown}})
		}, shape: Unseen},
		{name: "only those who were told are seen", size: 8, play: func(w *world) {
			for _, r := range others(8, 4) {
				w.told(r, 4, 9, 9)
			}
		}, shape: Told, frontier: []int{4}},
		{name: "a rank that holds while it waits is in between", size: 4, play: func(w *world) {
			w.grid4()
			w.waits(0, group("11", tp, 0), reduce10, 10, 9) // for 1, which waits
			w.waits(1, group("22", dp, 0), reduce10, 10, 9) // for 3
			w.waits(2, group("12", tp, 0), reduce10, 10, 9) // for 3
			w.told(3, 0, 5, 5)
		}, shape: Straggle, root: []int{3}, intermediates: []int{1}, idle: true},
		{name: "a group that no line lists: ranks in it that only a group of all has", size: 8, play: func(w *world) {
			for _, r := range others(8, 5) {
				w.waits(r, group("1", "", r), reduce10, 10, 9)
			}
			for r := range 8 {
				w.told(r, 4, 3, 3)
			}
		}, shape: Straggle, root: []int{5}, idle: true},
		{name: "a group that no line lists and that may be half of the world", size: 16, play: func(w *world) {
			for _, r := range others(8, 7) {
				w.waits(r, group("1", "", r), reduce10, 10, 9)
			}
			for r := range 16 {
				w.told(r, 4, 3, 3)
			}
		}, shape: Split},
		{name: "two of two in different operations, the one with what the other has behind it", size: 2, play: func(w *world) {
			w.waits(0, world0, call{122, "_REDUCE_SCATTER_BASE", 64}, 127, 121)
			w.waits(1, world0, call{126, "_ALLGATHER_BASE", 32}, 128, 125)
		}, shape: Diverged},
		{name: "the one member between those seen, of a group as large as its gather says", play: func(w *world) {
			for i, r := range []int{4, 6, 7} {
				w.waits(r, group("15", "mesh_cp", []int{0, 2, 3}[i]), call{1, "ALLGATHER", 8}, 1, -1)
			}
			w.obs.Timeouts[0].Work.NumelOut = 32
			w.speaks(0, 1, 2, 3, 5)
		}, shape: Straggle, root: []int{5}},
		{name: "of a group that may be larger nobody is proven", play: func(w *world) {
			for i, r := range []int{4, 6, 7} {
				w.waits(r, group("15", "mesh_cp", []int{0, 2, 3}[i]), call{1, "ALLGATHER", 8}, 1, -1)
			}
			w.obs.Timeouts[0].Work.NumelOut = 64
			w.speaks(0, 1, 2, 3, 5)
		}, shape: Unseen},
		{name: "one is silent, and nobody says how many there are", play: func(w *world) {
			for _, r := range others(12, 7) {
				w.waits(r, world0, reduce10, 10, 9)
			}
			w.speaks(7)
		}, shape: Unseen, frontier: []int{7}},
		{name: "several are silent on nodes that nobody knows", play: func(w *world) {
			for _, r := range others(12, 2, 7) {
				w.waits(r, world0, reduce10, 10, 9)
			}
			w.speaks(2, 7)
		}, shape: Unseen, frontier: []int{}},
		{name: "groups that wait for each other in a circle", size: 4, play: func(w *world) {
			w.grid4()
			w.waits(0, group("11", tp, 0), reduce10, 10, 9)
			w.waits(1, group("22", dp, 0), reduce10, 10, 9)
			w.waits(3, group("12", tp, 1), reduce10, 10, 9)
			w.waits(2, group("21", dp, 1), reduce10, 10, 9)
		}, shape: Cycle, intermediates: []int{0, 1, 2, 3}},
		{name: "counters of another group do not fill this one's row", size: 4, play: func(w *world) {
			w.grid4()
			w.waits(0, group("11", tp, 0), call{500, "ALLREDUCE", 8}, 500, 499)
			for r := 1; r < 4; r++ {
				w.told(r, 0, 3, 3) // far behind 500, in another group
			}
		}, shape: Pair, frontier: []int{0, 1}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{size: c.size}
			c.play(w)
			g := Build(w.facts(t))
			if g.Shape != c.shape {
				t.Errorf("shape %d, expected %d", g.Shape, c.shape)
			}
			if !slices.Equal(g.Root, c.root) {
				t.Errorf("root %v, expected %v", g.Root, c.root)
			}
			if c.frontier != nil && !slices.Equal(g.Frontier, c.frontier) {
				t.Errorf("frontier %v, expected %v", g.Frontier, c.frontier)
			}
			if !slices.Equal(g.Intermediates, c.intermediates) {
				t.Errorf("intermediates %v, expected %v", g.Intermediates, c.intermediates)
			}
			if c.idle && !g.Idle {
				t.Error("the root is shown idle by its own line, and that is lost")
			}
		})
	}
}

// In a pipeline the counters of send and receive run apart: nobody diverges and nobody lags for that.
func TestSendAndReceiveAreNotCompared(t *testing.T) {
	w := &world{size: 4}
	w.lists("pipeline model parallel", []int{0, 1, 2, 3})
	for r := range 3 {
		w.waits(r, group("7", "PIPELINE_MODEL_PARALLEL_GROUP", r), call{int64(10 + 7*r), []string{"SEND", "RECV", "SEND"}[r], 64}, int64(10+9*r), int64(9+7*r))
	}
	w.speaks(3)
	g := Build(w.facts(t))
	if g.Shape == Diverged || g.Shape == Lag || g.Shape == Full {
		t.Errorf("shape %d from counters that cannot be compared", g.Shape)
	}
}

// Old generations name no group. Where every process states another rank, none is left out and the works are close together, the lines
// are those of one group; it is not known which, so nobody is named.
func TestLinesWithoutAGroup(t *testing.T) {
	for _, c := range []struct {
		name  string
		ranks []int
		calls []call
		shape Shape
	}{
		{"one of four in another operation", []int{0, 1, 2, 3}, []call{{70, "REDUCE", 0}, {70, "ALLREDUCE", 0}, {70, "ALLREDUCE", 0}, {70, "ALLREDUCE", 0}}, Diverged},
		{"all in the same", []int{0, 1, 2, 3}, []call{{70, "ALLREDUCE", 0}, {70, "ALLREDUCE", 0}, {70, "ALLREDUCE", 0}, {70, "ALLREDUCE", 0}}, Unseen},
		{"a rank comes twice: two groups", []int{0, 1, 0, 1}, []call{{70, "REDUCE", 0}, {70, "ALLREDUCE", 0}, {70, "ALLREDUCE", 0}, {70, "ALLREDUCE", 0}}, Unseen},
		{"a rank is left out", []int{0, 1, 2, 4}, []call{{70, "REDUCE", 0}, {70, "ALLREDUCE", 0}, {70, "ALLREDUCE", 0}, {70, "ALLREDUCE", 0}}, Unseen},
		{"works far from each other", []int{0, 1, 2, 3}, []call{{70, "REDUCE", 0}, {900, "ALLREDUCE", 0}, {900, "ALLREDUCE", 0}, {900, "ALLREDUCE", 0}}, Unseen},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := &world{}
			for i, r := range c.ranks {
				at := w.at(line.Unknown)
				at.By.Pid = 100 + i
				w.obs.Timeouts = append(w.obs.Timeouts, worker.Timeout{At: at, Sticky: r, Form: "error",
					Work: worker.Work{Seq: c.calls[i].seq, Op: c.calls[i].op, NumelIn: line.Unknown, NumelOut: line.Unknown, TimeoutMS: 1800000, RanForMS: 1800001}})
			}
			delete(w.seen, line.Unknown)
			if g := Build(w.facts(t)); g.Shape != c.shape || len(g.Root) > 0 {
				t.Errorf("shape %d naming %v, expected %d naming nobody", g.Shape, g.Root, c.shape)
			}
		})
	}
}

// Whatever is thrown at it: nobody who waits for others is a straggler, and what proves nobody names nobody.
func TestNoGraphAccusesAWaiter(t *testing.T) {
	shapes := map[Shape]int{}
	for seed := range 3000 {
		p := rand.New(rand.NewPCG(1, uint64(seed)))
		w := &world{size: []int{0, 4, 4, 4}[p.IntN(4)]}
		listed := p.IntN(3) > 0
		if listed {
			w.grid4()
		}
		ops := []string{"ALLREDUCE", "ALLREDUCE", "ALLREDUCE", "BROADCAST", "SEND"}
		for r := range 4 {
			for range p.IntN(3) {
				g := []worker.GroupRef{world0, group(fmt.Sprint(11+r/2), tp, r%2), group(fmt.Sprint(21+r%2), dp, r/2)}[p.IntN(3)]
				seq := int64(8 + p.IntN(4))
				w.waits(r, g, call{seq, ops[p.IntN(len(ops))], 64}, seq+int64(p.IntN(3)), seq-1)
			}
			if p.IntN(2) == 0 {
				e := int64(7 + p.IntN(5))
				w.told(r, p.IntN(4), e, e-int64(p.IntN(2)))
			}
			if p.IntN(2) == 0 {
				w.speaks(r)
			}
		}
		g := Build(w.facts(t))
		shapes[g.Shape]++
		for _, id := range g.Root {
			switch {
			case g.Shape == Straggle && g.Waits(id):
				t.Fatalf("seed %d: rank %d waits and is called a straggler: %+v", seed, id, g)
			case g.Shape != Lag && g.Shape != Diverged && slices.Contains(g.Intermediates, id):
				t.Fatalf("seed %d: rank %d is held itself: %+v", seed, id, g)
			case g.Shape == Split || g.Shape == Pair || g.Shape == Full || g.Shape == Cycle || g.Shape == Unseen || g.Shape == Told || g.Shape == NoHang:
				t.Fatalf("seed %d: shape %d names rank %d", seed, g.Shape, id)
			}
		}
		if w.size == 0 && !listed && g.Shape == Straggle && !g.Idle {
			t.Fatalf("seed %d: silence proves a straggler although nobody states who belongs to the groups", seed)
		}
	}
	if len(shapes) < 7 {
		t.Errorf("only the shapes %v came up", shapes)
	}
}

// TestQuietFilesShareARank: a rank that is in two quiet files leaves neither out, in whatever order they are asked.
func TestQuietFilesShareARank(t *testing.T) {
	f := &resolve.Facts{Ranks: []*resolve.Rank{
		{ID: 1, Lines: 1, Files: []string{"a"}},
		{ID: 2, Lines: 1, Files: []string{"a", "b"}},
		{ID: 3, Lines: 1, Files: []string{"b"}},
	}}
	for _, c := range []struct {
		holders map[int]sight
		want    []int
	}{
		{map[int]sight{1: silent, 2: silent, 3: silent}, []int{1, 2, 3}},
		{map[int]sight{1: silent, 2: silent, 3: shown}, []int{1, 2}},
		{map[int]sight{1: silent, 3: silent}, nil},
	} {
		if got := unique(quietFiles(f, c.holders)); !slices.Equal(got, c.want) {
			t.Errorf("%v: ranks %v are of quiet files, want %v", c.holders, got, c.want)
		}
	}
}
