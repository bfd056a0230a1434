// Package slow writes jobs that became slower, and jobs that only look like it, with what bytes determine of the reason: the part of the
// step that grew, and the rank or node. The formats are those of Megatron-LM, DeepSpeed, torchtitan, nccl-tests, infiniband-diags and nvidia-smi.
package slow

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"faultline/simulate"
)

// Kind is what is the matter.
type Kind string

// Kinds of slow jobs.
const (
	BadLink     Kind = "bad link"         // the link of one node loses data: every collective takes longer
	DecayLink   Kind = "decaying link"    // as BadLink, worse and worse
	Congested   Kind = "congestion"       // all collectives take longer, on all nodes alike
	HotGPU      Kind = "hot GPU"          // one GPU slows down for heat
	LowClock    Kind = "low clock"        // one GPU runs at a low clock, and its driver gives no reason
	BusyHost    Kind = "busy host"        // one rank computes longer, and its GPU is well
	PowerCap    Kind = "power cap"        // all GPUs compute longer
	LongerSeqs  Kind = "longer sequences" // all ranks compute longer and longer
	SlowLoader  Kind = "slow loader"      // all ranks wait for data
	OneLoader   Kind = "one slow loader"  // one rank waits for data, and the others for it
	SlowSaves   Kind = "slow saves"       // each save blocks for longer than the early ones
	Offload     Kind = "slow optimizer"   // the optimizer takes longer
	Collection  Kind = "garbage"          // something that no timer covers takes longer
	CreepingOpt Kind = "creeping host"    // as Offload, worse and worse
)

// Kinds that only look slow: accusing anything is wrong.
const (
	Steady      Kind = "steady"
	LongEvals   Kind = "long evaluations"
	LongSaves   Kind = "long saves"
	Recompiles  Kind = "recompiles"
	Passing     Kind = "a slow stretch that is over"
	WarmUp      Kind = "slow first steps"
	NoisyTests  Kind = "tests that differ little"
	FewErrors   Kind = "a symbol error or two"
	GrowingSize Kind = "a batch that grows"
	LastSlow    Kind = "one slow step at the end"
)

// Slow and Healthy are all kinds.
func Slow() []Kind {
	return []Kind{BadLink, DecayLink, Congested, HotGPU, LowClock, BusyHost, PowerCap, LongerSeqs, SlowLoader, OneLoader, SlowSaves, Offload, Collection, CreepingOpt}
}

// Healthy are the controls.
func Healthy() []Kind {
	return []Kind{Steady, LongEvals, LongSaves, Recompiles, Passing, WarmUp, NoisyTests, FewErrors, GrowingSize, LastSlow}
}

// Timers is what the job prints of its phases.
type Timers string

// Timers.
const (
	MinMax    Timers = "minmax"    // Megatron, the extremes of all ranks
	Max       Timers = "max"       // Megatron, the slowest rank
	PerRank   Timers = "all"       // Megatron, all ranks
	DeepSpeed Timers = "deepspeed" // the breakdown of rank 0
	Meter     Timers = "meter"     // a hand-written loop: step and data time of rank 0
	Loop      Timers = "loop"      // a hand-written loop: each rank's own, in a file of its own
	None      Timers = "none"      // torchtitan's lines: nothing but the clock tells a step's time
)

// AllTimers lists them.
func AllTimers() []Timers { return []Timers{MinMax, Max, PerRank, DeepSpeed, Meter, Loop, None} }

// Evidence is what is at hand beside the log.
type Evidence string

// Evidence.
const (
	Nothing  Evidence = "nothing"
	Tests    Evidence = "tests"    // nccl-tests over pairs of nodes
	Counters Evidence = "counters" // of ports, read twice
	GPUs     Evidence = "gpus"     // nvidia-smi of every node
	Paths    Evidence = "paths"    // iperf3 from every node to the next
	Records  Evidence = "records"  // SLURM's, of all jobs; they name no culprit
	All      Evidence = "all"
)

// AllEvidence lists them.
func AllEvidence() []Evidence { return []Evidence{Nothing, Tests, Counters, GPUs, Paths, Records, All} }

// Spec is one case; the same one always gives the same bytes.
type Spec struct {
	Seed     uint64
	Kind     Kind
	Timers   Timers
	Evidence Evidence
	Nodes    int
	PerNode  int
	Noise    int // 0 to 3: how far steps differ, and what else is printed
}

// Truth is what the bytes determine.
type Truth struct {
	Set   []string // mechanisms that are left standing; of a healthy job, what it may be called
	Node  string   // "" nobody is proven
	Rank  int      // −1 nobody is proven
	Well  bool
	Onset time.Time // of the first slow step; zero where there is none
	// Line is how long the steps of one line take while they are slow.
	Line time.Duration
}

// Case is a played case.
type Case struct {
	Spec      Spec
	WorldSize int
	Logs      []simulate.File
	Evidence  []simulate.File
	Truth     Truth
}

// Grid is n varied specs over all kinds, timers and kinds of evidence.
func Grid(n int, seed uint64) []Spec {
	kinds := slices.Concat(Slow(), Healthy())
	out := make([]Spec, 0, n)
	for i := range n {
		p := rand.New(rand.NewPCG(seed, uint64(i)))
		s := Spec{Seed: p.Uint64() >> 1, Kind: kinds[i%len(kinds)]}
		k := (i/len(kinds)*5 + i%len(kinds)*13) % (len(AllTimers()) * len(AllEvidence())) // each kind walks all pairs
		s.Timers, s.Evidence = AllTimers()[k%len(AllTimers())], AllEvidence()[k/len(AllTimers())]
		s.Nodes = []int{2, 4, 4, 8, 16, 32}[p.IntN(6)]
		s.PerNode = []int{8, 8, 4}[p.IntN(3)]
		s.Noise = p.IntN(4)
		if s.Timers == Loop {
			s.Nodes = min(s.Nodes, 8)
		}
		out = append(out, s)
	}
	return out
}

// PostMortem is the worked example of a throughput that collapsed at night: 256 GPUs, 7.0 s a step, 11.2 s from 02:47 on.
func PostMortem(e Evidence) Spec {
	return Spec{Seed: 247, Kind: BadLink, Timers: MinMax, Evidence: e, Nodes: 32, PerNode: 8}
}

// player plays one case.
type player struct {
	Spec
	rng   *rand.Rand
	now   time.Time
	began time.Time // the job
	nodes []string
	bad   int // node
	rank  int // the culprit, of the world
	world int
	step  int
	batch int
	loss  float64
	// base are the phases of a step; longer is what the fault adds at its worst, in seconds.
	base   phases
	longer float64
	every  int      // steps a line
	files  [][]byte // by node
	names  []string
	loops  [][]byte // by rank
	truth  Truth
}

// phases of one step, in seconds. Other is what no timer covers.
type phases struct{ forward, backward, sync, data, optimizer, other float64 }

func (p phases) sum() float64 {
	return p.forward + p.backward + p.sync + p.data + p.optimizer + p.other
}

func (p phases) scaled(by float64) phases {
	return phases{p.forward * by, p.backward * by, p.sync * by, p.data * by, p.optimizer * by, p.other * by}
}

// Play plays a case.
func Play(spec Spec) (*Case, error) {
	if spec.Nodes < 2 || spec.PerNode < 1 {
		return nil, fmt.Errorf("simulate/slow: %d nodes of %d", spec.Nodes, spec.PerNode)
	}
	p := &player{Spec: spec, rng: rand.New(rand.NewPCG(spec.Seed, 0x510)), world: spec.Nodes * spec.PerNode, loss: 2.4, batch: 256, truth: Truth{Rank: -1}}
	p.now = time.Date(2026, 3, 1+p.rng.IntN(27), p.rng.IntN(24), p.rng.IntN(60), p.rng.IntN(60), 0, time.UTC)
	scale := 1 + 5*p.rng.Float64()
	p.base = phases{forward: 0.32, backward: 0.63, sync: 0.42, data: 0.02, optimizer: 0.09, other: 0.02}.scaled(scale)
	p.longer = (0.25 + 0.75*p.rng.Float64()) * p.base.sum()
	p.every = []int{1, 1, 5, 10}[p.rng.IntN(4)]
	p.step = p.every * (20 + p.rng.IntN(400))
	p.bad = p.rng.IntN(spec.Nodes)
	if p.night() {
		p.now, p.bad, p.every, p.step = time.Date(2026, 3, 9, 2, 12, 5, 0, time.UTC), 9, 10, 47900
		p.base, p.longer = phases{forward: 1.36, backward: 2.7, sync: 2.9, optimizer: 0.03, data: 0.01}, 4.2
	}
	p.rank = p.bad*spec.PerNode + p.rng.IntN(spec.PerNode)
	p.files, p.loops = make([][]byte, spec.Nodes), make([][]byte, p.world)
	for i := range spec.Nodes {
		p.nodes = append(p.nodes, fmt.Sprintf("node-%02d", i))
		p.names = append(p.names, fmt.Sprintf("error-4242-%d.out", i))
	}
	p.began = p.now.Add(-40 * time.Second)
	p.startup()
	p.run()
	p.determine()
	if p.Timers == Loop {
		for i, b := range p.loops {
			p.files = append(p.files, b)
			p.names = append(p.names, fmt.Sprintf("rank_%d.log", i))
		}
	}
	c := &Case{Spec: spec, WorldSize: p.world, Truth: p.truth, Evidence: p.evidence()}
	if p.Evidence == Records {
		c.Logs = append(c.Logs, simulate.File{Name: "sacct.txt", Data: []byte(p.records())})
	}
	for i, b := range p.files {
		c.Logs = append(c.Logs, simulate.File{Name: p.names[i], Data: b})
	}
	return c, nil
}

// night says that the case is the worked example.
func (p *player) night() bool { return p.Spec == PostMortem(p.Spec.Evidence) }

// run writes the course of the job.
func (p *player) run() {
	before, after := 26+p.rng.IntN(30), 26+p.rng.IntN(30)
	if p.night() {
		before, after = 30, 30
	}
	switch p.Kind {
	case Passing:
		p.steps(before, 0)
		p.odd(8, 1.8)
		p.steps(after, 0)
	case Steady, NoisyTests, FewErrors:
		p.steps(before+after, 0)
	case WarmUp:
		p.step = 0
		p.odd(1, 12)
		p.odd(1, 6)
		p.odd(1, 2)
		p.steps(before+after, 0)
	case Recompiles:
		for range 3 {
			p.steps(before/3+4, 0)
			p.say(0, "W0309 02:47:11.000000 140 torch/_dynamo/convert_frame.py:906] [8/8] torch._dynamo hit config.cache_size_limit (8)")
			p.odd(1, 5)
		}
		p.steps(after, 0)
	case LongEvals:
		for range 3 {
			p.steps(before/2, 0)
			p.evaluation(60 + 240*p.rng.Float64())
		}
		p.steps(after/2, 0)
	case LongSaves, SlowSaves:
		took := p.base.sum() * float64(p.every) * 2
		for i := range 8 {
			p.steps(10, 0)
			if i == 4 && p.Kind == SlowSaves {
				took *= 5
				p.truth.Onset = p.now
			}
			p.save(took * (0.95 + 0.1*p.rng.Float64()))
		}
		p.steps(10, 0)
	case GrowingSize:
		p.steps(before, 0)
		if p.megatron() { // no other of these states it
			p.base, p.batch = p.base.scaled(1.9), 2*p.batch
		}
		p.steps(after, 0)
	case LastSlow:
		p.steps(before+after, 0)
		p.odd(1, 6)
	case DecayLink, LongerSeqs, CreepingOpt:
		n := 45 + p.rng.IntN(20)
		p.steps(n, 0)
		p.truth.Onset = p.now
		p.creep(n + after)
	default:
		p.steps(before, 0)
		p.truth.Onset = p.now
		p.truth.Line = time.Duration(float64(p.every) * (p.base.sum() + p.longer) * float64(time.Second))
		p.steps(after, 1)
	}
}

// megatron says that the job is Megatron's.
func (p *player) megatron() bool { return p.Timers == MinMax || p.Timers == Max || p.Timers == PerRank }

// steps writes n lines with a share of the fault.
func (p *player) steps(n int, share float64) {
	for i := range n {
		p.one(share, 1, i > 2 && i < n-3)
	}
}

// creep writes n lines in which the fault grows to twice its size.
func (p *player) creep(n int) {
	for i := range n {
		p.one(2*float64(i+1)/float64(n), 1, false)
	}
}

// odd writes n lines of steps that take longer as a whole.
func (p *player) odd(n int, times float64) {
	for range n {
		p.one(0, times, false)
	}
}

// one writes a line: what a rank and the culprit took for each phase of a step.
func (p *player) one(share, times float64, mayJump bool) {
	times *= 1 + []float64{0.002, 0.006, 0.012, 0.02}[p.Noise]*p.rng.NormFloat64()
	if mayJump && p.Noise > 1 && p.rng.IntN(30) == 0 {
		times *= 1.3 // a single slow step, as all jobs have
	}
	usual := p.base.scaled(times)
	culprit, extra := usual, share*p.longer
	switch p.Kind {
	case BadLink, DecayLink, Congested:
		usual.sync += extra
		culprit.sync += extra
	case HotGPU, LowClock, BusyHost:
		culprit.forward, culprit.backward, usual.sync = culprit.forward+extra/3, culprit.backward+2*extra/3, usual.sync+extra
	case PowerCap, LongerSeqs:
		usual.forward, usual.backward = usual.forward+extra/3, usual.backward+2*extra/3
		culprit = usual
	case SlowLoader:
		usual.data += extra
		culprit = usual
	case OneLoader:
		culprit.data, usual.sync = culprit.data+extra, usual.sync+extra
	case Offload, CreepingOpt:
		usual.optimizer += extra
		culprit = usual
	case Collection:
		usual.other += extra
		culprit = usual
	}
	p.step += p.every
	p.loss -= 0.002 * p.rng.Float64()
	p.now = p.now.Add(time.Duration(float64(p.every) * usual.sum() * float64(time.Second)))
	p.progress(usual, culprit)
	if p.Noise > 0 && p.rng.IntN(9) == 0 {
		p.say(p.rng.IntN(p.Nodes), []string{
			"FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.",
			"ERROR:root:wandb: Network error (ReadTimeout), entering retry loop.",
			"huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...",
		}[p.rng.IntN(3)])
	}
}

// determine says what the bytes leave standing.
func (p *player) determine() {
	t := &p.truth
	own := p.rank == 0 // the culprit is who prints
	link := p.Kind == BadLink || p.Kind == DecayLink
	t.Set = []string{"throughput-regression"}
	switch p.Kind {
	case BadLink, DecayLink, Congested:
		t.Set = p.timed("slow-communication")
	case HotGPU, LowClock, BusyHost:
		t.Set = p.timed("slow-rank")
		if p.Timers == DeepSpeed && own {
			t.Set = []string{"slow-compute", "slow-rank"}
		}
	case PowerCap, LongerSeqs:
		t.Set = p.timed("slow-compute")
	case SlowLoader, OneLoader:
		all := p.Kind == SlowLoader
		switch {
		case p.megatron(), p.Timers == Loop, p.Timers == Meter && (all || own):
			t.Set = []string{"dataloader-stall"}
		case p.Timers == DeepSpeed && !all && !own:
			t.Set = []string{"slow-communication", "slow-rank"}
		}
	case Offload, CreepingOpt:
		if p.megatron() || p.Timers == DeepSpeed || p.Timers == Loop {
			t.Set = []string{"slow-host"}
		}
	case Collection:
		if p.megatron() || p.Timers == Loop {
			t.Set = []string{"slow-host"}
		}
	case SlowSaves:
		t.Set = []string{"slow-checkpoint"}
		if p.Timers == Meter {
			t.Set, t.Well = []string{"completed", "unknown"}, true
		}
	default:
		t.Set, t.Well = []string{"completed", "unknown"}, true
	}
	if (p.Timers == PerRank || p.Timers == Loop) && (p.Kind == HotGPU || p.Kind == LowClock || p.Kind == BusyHost || p.Kind == OneLoader) {
		t.Rank, t.Node = p.rank, p.nodes[p.bad]
	}
	tested := (p.Evidence == Tests || p.Evidence == All) && p.Nodes > 2
	paths := p.Evidence == Paths && p.Nodes > 2
	if link && (tested || paths || p.Evidence == Counters || p.Evidence == All) {
		t.Set, t.Node = []string{"slow-communication"}, p.nodes[p.bad]
	}
	if (p.Kind == HotGPU || p.Kind == LowClock) && (p.Evidence == GPUs || p.Evidence == All) {
		t.Set, t.Node, t.Rank = []string{"slow-rank"}, p.nodes[p.bad], p.rank
	}
}

// timed is what timers make of a slow part of the step: those of one rank cannot tell a slow link from a late rank, nor its own compute
// from that of all; those of the slowest rank cannot tell one from all.
func (p *player) timed(slug string) []string {
	switch {
	case p.Timers == MinMax || p.Timers == PerRank || p.Timers == Loop:
		return []string{slug}
	case p.Timers == Max && slug == "slow-communication":
		return []string{slug}
	case p.Timers == Max:
		return []string{"slow-compute", "slow-rank"}
	case p.Timers == DeepSpeed && slug == "slow-compute":
		return []string{"slow-compute", "slow-rank"}
	case p.Timers == DeepSpeed:
		return []string{"slow-communication", "slow-rank"}
	}
	return []string{"throughput-regression"}
}
