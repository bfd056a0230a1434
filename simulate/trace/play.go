// Package trace plays some steps of a training job under PyTorch's profiler, and writes what it would write on each rank. Every rank
// has a process that loads its data and launches work, and a GPU that does it in order; a collective ends on all its members at one
// moment, some time after the last of them has come. What the traces hold is what that leads to, whoever reads them. Clocks of the
// ranks do not agree. The formats are those of PyTorch: Kineto's (libkineto, output_json.cpp), and the plain array of builds
// without it.
package trace

import (
	"fmt"
	"math/rand/v2"
	"slices"
)

// Kind is what is wrong with the job.
type Kind string

// Kinds. Those from Healthy on are controls: no single rank is at fault.
const (
	GPU      Kind = "gpu"      // the kernels of one rank take longer
	Loader   Kind = "loader"   // one rank waits for its data
	Host     Kind = "host"     // the process of one rank is slow to launch
	Healthy  Kind = "healthy"  // all ranks are alike, but for noise
	Network  Kind = "network"  // all collectives are slow
	Turns    Kind = "turns"    // another rank is slow in each step
	Stage    Kind = "stage"    // one stage of the pipeline has more to do, as it was made
	Expert   Kind = "expert"   // one rank's experts get most of the tokens
	AllLoad  Kind = "all-load" // all ranks wait for their data
	MoreWork Kind = "more"     // one rank runs kernels that the others do not
)

// Kinds are all of them.
func Kinds() []Kind {
	return []Kind{GPU, Loader, Host, Healthy, Network, Turns, Stage, Expert, AllLoad, MoreWork}
}

// Format is who writes the trace.
type Format string

// Formats.
const (
	Named  Format = "named"  // Kineto, collectives with their groups (from PyTorch 2.2 on)
	Bare   Format = "bare"   // Kineto, kernels without arguments of collectives
	CPU    Format = "cpu"    // Kineto, on the CPU, with Gloo
	Array  Format = "array"  // without Kineto, on the CPU, with Gloo; the rank is in the file's name
	Packed Format = "packed" // as Named, compressed
)

// Formats are all of them.
func Formats() []Format { return []Format{Named, Bare, CPU, Array, Packed} }

// Spec is one job. The same one always gives the same bytes.
type Spec struct {
	Seed       uint64
	Kind       Kind
	Format     Format
	TP, PP, DP int // their product is the world
	Steps      int
	Layers     int
	Lost       []int // ranks whose trace is not there
	Minified   bool
}

// Incident is a played job.
type Incident struct {
	World   int
	Culprit int // −1: none
	Files   map[string][]byte
	Job     string // what the log of rank 0 says, so that the traces have a job
}

type group struct {
	name, desc string
	ranks      []int
}

// act is something that a rank's GPU or process did.
type act struct {
	what     string // kernel, collective, load, step
	name     string
	group    *group
	from, to float64 // microseconds
	elems    int
}

type player struct {
	spec   Spec
	rng    *rand.Rand
	world  int
	groups []*group
	now    []float64 // of each rank's GPU
	acts   [][]act
}

// Play plays a job.
func Play(spec Spec) (*Incident, error) {
	world := spec.TP * spec.PP * spec.DP
	if world < 2 || world > 4096 || spec.Steps < 1 || spec.Layers < 1 {
		return nil, fmt.Errorf("trace: a world of %d ranks, %d steps, %d layers", world, spec.Steps, spec.Layers)
	}
	p := &player{spec: spec, rng: rand.New(rand.NewPCG(spec.Seed, 0x7ace)), world: world, now: make([]float64, world), acts: make([][]act, world)}
	p.groups = layout(spec)
	culprit := -1
	faulty := p.rng.IntN(world)
	switch spec.Kind {
	case GPU, Loader, Host, MoreWork, Expert:
		culprit = faulty
	}
	for step := range spec.Steps {
		p.step(step, culprit, faulty)
	}
	inc := &Incident{World: world, Culprit: culprit, Files: map[string][]byte{}}
	for id := range world {
		if !slices.Contains(spec.Lost, id) {
			name, data := p.write(id)
			inc.Files[name] = data
		}
	}
	return inc, nil
}

// layout makes the groups as Megatron does: tensor fastest, then data, then pipeline.
func layout(spec Spec) []*group {
	all := &group{name: "0", desc: "default_pg"}
	for i := range spec.TP * spec.PP * spec.DP {
		all.ranks = append(all.ranks, i)
	}
	out := []*group{all}
	add := func(desc string, ranks []int) {
		if len(ranks) > 1 {
			out = append(out, &group{name: fmt.Sprint(len(out) + 1), desc: desc, ranks: ranks})
		}
	}
	for p := range spec.PP {
		for d := range spec.DP {
			var m []int
			for t := range spec.TP {
				m = append(m, t+spec.TP*(d+spec.DP*p))
			}
			add("TENSOR_MODEL_PARALLEL_GROUP", m)
		}
		for t := range spec.TP {
			var m []int
			for d := range spec.DP {
				m = append(m, t+spec.TP*(d+spec.DP*p))
			}
			add("DATA_PARALLEL_GROUP", m)
		}
	}
	for d := range spec.DP {
		for t := range spec.TP {
			var m []int
			for p := range spec.PP {
				m = append(m, t+spec.TP*(d+spec.DP*p))
			}
			add("PIPELINE_MODEL_PARALLEL_GROUP", m)
		}
	}
	return out
}

func (p *player) of(desc string) []*group {
	return slices.DeleteFunc(slices.Clone(p.groups), func(g *group) bool { return g.desc != desc })
}

// noise is a factor near one.
func (p *player) noise() float64 { return 1 + 0.02*(2*p.rng.Float64()-1) }

// slow is how many times longer the kernels of a rank take.
func (p *player) slow(id, step, faulty int) float64 {
	switch {
	case p.spec.Kind == GPU && id == faulty, p.spec.Kind == Turns && id == (faulty+step)%p.world, p.spec.Kind == Expert && id == faulty:
		return 1.8
	case p.spec.Kind == Stage && id/(p.spec.TP*p.spec.DP) == 0:
		return 1.8
	}
	return 1
}

// step plays one step: every rank loads, goes through its layers with its tensor group, hands on to the next stage and back, and
// shares its gradients with its replicas.
func (p *player) step(step, culprit, faulty int) {
	began := slices.Clone(p.now)
	for id := range p.world {
		load := 300 * p.noise()
		if p.spec.Kind == Loader && id == culprit || p.spec.Kind == AllLoad {
			load = 60000 * p.noise()
		}
		p.do(id, act{what: "load", name: "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__"}, load)
	}
	tensor, data, pipe := p.of("TENSOR_MODEL_PARALLEL_GROUP"), p.of("DATA_PARALLEL_GROUP"), p.of("PIPELINE_MODEL_PARALLEL_GROUP")
	per := p.spec.TP * p.spec.DP
	stage := func(s int) (ids []int) {
		for id := s * per; id < (s+1)*per; id++ {
			ids = append(ids, id)
		}
		return ids
	}
	forth := make([]int, p.spec.PP)
	for s := range forth {
		forth[s] = s
	}
	for turn, order := range [][]int{forth, reversed(forth)} {
		for k, s := range order {
			for range p.spec.Layers {
				for _, id := range stage(s) {
					p.layer(id, p.slow(id, step, faulty))
					if p.spec.Kind == Host && id == culprit {
						p.now[id] += 900 * p.noise()
					}
					if p.spec.Kind == MoreWork && id == culprit {
						p.do(id, act{what: "kernel", name: "void at::native::reduce_kernel<512, 1>"}, 900*p.noise())
					}
				}
				for _, g := range tensor {
					if g.ranks[0]/per == s {
						p.collective(g, "allreduce", 80, 1<<20)
					}
				}
				if p.spec.Kind == Expert {
					for _, g := range data {
						if g.ranks[0]/per == s {
							p.collective(g, "all_to_allv", 120, 1<<18)
						}
					}
				}
			}
			if k+1 < len(order) {
				for _, g := range pipe {
					op := map[int]string{0: "send", 1: "recv"}[turn]
					p.collective(&group{g.name, g.desc, []int{g.ranks[s], g.ranks[order[k+1]]}}, op, 60, 1<<18)
				}
			}
		}
	}
	for _, g := range data {
		p.collective(g, "reduce_scatter", 900, 1<<24)
		p.collective(g, "allgather", 700, 1<<22)
	}
	if len(p.groups) == 1 || len(data) == 0 || p.spec.PP > 1 {
		p.collective(p.groups[0], "allreduce", 60, 1)
	}
	for id := range p.world {
		p.acts[id] = append(p.acts[id], act{what: "step", name: fmt.Sprintf("ProfilerStep#%d", 10+step), from: began[id], to: p.now[id]})
	}
}

func reversed(s []int) []int {
	out := slices.Clone(s)
	slices.Reverse(out)
	return out
}

func (p *player) layer(id int, slow float64) {
	for _, k := range []struct {
		name string
		took float64
	}{{"ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_tn", 520}, {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", 90}, {"flash_fwd_kernel", 310}} {
		p.do(id, act{what: "kernel", name: k.name}, k.took*slow*p.noise())
	}
	p.now[id] += 15 // between two launches
}

func (p *player) do(id int, a act, took float64) {
	a.from, a.to = p.now[id], p.now[id]+took
	p.now[id] = a.to
	p.acts[id] = append(p.acts[id], a)
}

// collective lets the members wait for the last of them.
func (p *player) collective(g *group, op string, took float64, elems int) {
	if p.spec.Kind == Network {
		took *= 40
	}
	last := 0.0
	for _, id := range g.ranks {
		last = max(last, p.now[id])
	}
	end := last + took*p.noise()
	for _, id := range g.ranks {
		p.acts[id] = append(p.acts[id], act{what: "collective", name: op, group: g, from: p.now[id], to: end + 3*p.rng.Float64(), elems: elems})
		p.now[id] = end + 5
	}
}
