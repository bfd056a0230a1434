// Package slow decides what the steps of a job became slower by: it compares how long the phases of a step took before with how long they
// take since. It knows the names of phases and arithmetic, and nothing of files.
package slow

import (
	"cmp"
	"slices"
	"strings"
)

// Class is what a phase spends its time on.
type Class string

// Classes.
const (
	Compute       Class = "compute"
	Communication Class = "communication"
	Data          Class = "data loading"
	Optimizer     Class = "the optimizer"
	Save          Class = "saving checkpoints"
	Host          Class = "work outside all timed phases"
	Experts       Class = "the share of work of experts" // of a mixture
)

// leaves are phases that hold no other. Sources: Megatron-LM megatron/training/training.py, core/pipeline_parallel/schedules.py and
// core/optimizer; DeepSpeed runtime/engine.py. What ends in "_microstep" is the same of one micro-batch.
var leaves = map[Class][]string{
	Compute: {"forward-compute", "backward-compute", "fwd", "bwd_inner", "forward", "backward_inner", "compute"},
	Communication: {"all-grads-sync", "grads-all-reduce", "grads-reduce-scatter", "params-all-gather", "layernorm-grads-all-reduce", "embedding-grads-all-reduce",
		"backward-params-all-reduce", "backward-layernorm-all-reduce", "backward-embedding-all-reduce", "backward-gather-model-params", "conditional-embedder-grads-all-reduce", "non-tensor-parallel-grads-all-reduce", "forward-recv", "forward-send", "backward-recv", "backward-send", "forward-send-forward-recv",
		"forward-send-backward-recv", "backward-send-forward-recv", "backward-send-backward-recv", "forward-backward-send-forward-backward-recv", "bwd_allreduce", "backward_allreduce", "allreduce", "optimizer_allgather"},
	Data:      {"batch-generator", "batch_generator", "batch_input", "data", "data-loader", "dataloader"},
	Optimizer: {"optimizer", "step"},
	Save:      {"save-checkpoint", "save_checkpoint", "save-checkpoint-non-persistent"},
}

// meters are the words by which hand-written loops call the time of a phase, and the name by which it is known here.
var meters = map[string]string{
	"data": "data", "dataloader": "data", "data_load": "data", "data_loading": "data", "data_wait": "data", "data_fetch": "data", "batch_load": "data", "loader": "data",
	"fwd": "fwd", "forward": "fwd", "forward_pass": "fwd", "bwd": "bwd", "backward": "bwd", "backward_pass": "bwd", "compute": "compute",
	"fwd_bwd": "forward-backward", "fwdbwd": "forward-backward", "forward_backward": "forward-backward",
	"comm": "allreduce", "communication": "allreduce", "allreduce": "allreduce", "all_reduce": "allreduce", "grad_sync": "allreduce",
	"opt": "optimizer", "optim": "optimizer", "optimizer": "optimizer", "optimizer_step": "optimizer", "opt_step": "optimizer",
}

// Meter says that a word names the phase of a step, whether or not a unit is printed behind it.
func Meter(name string) bool {
	_, ok := meters[plain(name)]
	return ok || slices.ContainsFunc(strings.Split(plain(name), "_"), func(w string) bool { return slices.Contains(waits, w) })
}

// Usual is the name by which a phase is known here; the one that is printed, where it is no word of a hand-written loop.
func Usual(name string) string {
	_, leaf := classes[name]
	if _, parent := parents[name]; leaf || parent {
		return name
	}
	if n, ok := meters[plain(name)]; ok {
		return n
	}
	return name
}

var underscored = strings.NewReplacer("-", "_", " ", "_")

// plain is a name in lower case without its group ("timing_s/") and without what says that it is a time.
func plain(name string) string {
	name = underscored.Replace(strings.ToLower(name[strings.LastIndexByte(name, '/')+1:]))
	for _, end := range []string{"_ms", "_s", "_sec", "_seconds", "_time", "_cost"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// parents hold others: they count where none of their parts is printed. What grew in them may be compute, or a wait.
var parents = map[string][]string{
	"backward": {"backward_inner", "backward-compute"}, "bwd": {"bwd_inner"}, "forward-backward": {"forward-compute", "backward-compute"},
}

var classes = func() map[string]Class {
	out := map[string]Class{}
	for c, names := range leaves {
		for _, n := range names {
			out[n] = c
		}
	}
	return out
}()

// Phase is one phase of a step, in seconds: the medians before the onset and since. Min is that of the fastest rank, 0 where
// only one value is printed.
type Phase struct {
	Name          string
	MinWas, MinIs float64
	MaxWas, MaxIs float64
}

// Grew is by how much the slowest rank takes longer.
func (p *Phase) Grew() float64 { return p.MaxIs - p.MaxWas }

// Spread says on how many ranks a phase grew.
type Spread int

// Spreads.
const (
	Unstated Spread = iota
	Everywhere
	Somewhere // the fastest rank takes what it took
)

// Growth is what became longer.
type Growth struct {
	Class  Class   // "" where the phases do not decide
	Phases []Phase // of the class, what grew most first; without one, a phase of no known kind by which the step grew
	Flat   []Phase // of other classes that stayed as they were, the longest first
	Spread Spread
	// Waits is true where communication grew because ranks wait for what Class names.
	Waits bool
}

// Limits of a decision.
const (
	grown     = 1.10 // a phase that takes so many times as long has grown,
	atLeast   = 0.05 // if that is so much of the step
	explained = 0.5  // of the step's growth
	alone     = 0.25 // what other classes grew by, of what the first did
	waiting   = 0.6  // communication that grew by what other work grew is the others' waiting
	alike     = 0.6  // of the slowest rank's growth, on the fastest: all grew
	unlike    = 0.2
)

// Decide says which class of phases explains that a step takes now seconds instead of was. Across: the values are of all ranks.
func Decide(all []Phase, was, now float64, across bool) Growth {
	list := parts(all)
	t := total(list, was)
	rise := now - was
	if t.base == 0 || rise <= 0 {
		return Growth{Phases: unclassed(all, was, rise)}
	}
	share := t.grew / rise
	if t.whole() {
		share = max(share, t.grew/t.base/(now/was-1))
	}
	if t.grew == 0 && t.whole() && across && t.have[Optimizer] > 0 {
		return Growth{Class: Host, Flat: flat(list, Host)}
	}
	if share < explained {
		return Growth{Phases: unclassed(all, was, rise)}
	}
	g := t.first()
	if g.Class == "" {
		return g
	}
	g.Phases, g.Flat = of(list, g.Class), flat(list, g.Class)
	g.Spread = spread(g.Phases)
	if g.Class == Compute && t.unsure(g) {
		return Growth{Phases: g.Phases} // it is known what grew, and not whether it is work
	}
	return g
}

// totals are what phases add up to, by class.
type totals struct {
	base, grew float64
	have       map[Class]float64 // what they took before
	sums       map[Class]float64 // by how much those grew that grew
}

func total(list []Phase, was float64) totals {
	t := totals{have: map[Class]float64{}, sums: map[Class]float64{}}
	least := atLeast * was * scale(list, was)
	for i := range list {
		p := &list[i]
		c := ClassOf(p.Name)
		t.have[c] += p.MaxWas
		t.base += p.MaxWas
		if p.MaxIs >= grown*p.MaxWas && p.Grew() >= least {
			t.sums[c] += p.Grew()
			t.grew += p.Grew()
		}
	}
	return t
}

// whole says that the phases are a breakdown of the step, and not single ones of it.
func (t *totals) whole() bool {
	return t.have[Compute] > 0 && t.have[Communication]+t.have[Optimizer] > 0
}

// first is the class that grew by itself. Communication that grew by what other work grew is a wait for that.
func (t *totals) first() Growth {
	first, second := top(t.sums)
	comm := t.sums[Communication]
	if first == Communication && t.grew-comm <= alone*comm {
		return Growth{Class: first}
	}
	g := Growth{Class: first, Waits: comm > 0}
	if first == Communication {
		g.Class = second
	}
	work := t.sums[g.Class]
	if work < waiting*comm || t.grew-work-comm > alone*work {
		return Growth{}
	}
	return g
}

// little is the share of the step below which communication is not timed apart: it overlaps, or is gathered inside the passes.
const little = 0.01

// unsure says that the passes that grew may have waited: they hold communication, and nothing shows a rank that did not grow.
func (t *totals) unsure(g Growth) bool {
	if g.Spread == Somewhere {
		return false
	}
	hidden := t.have[Communication] < little*t.base
	return slices.ContainsFunc(g.Phases, func(p Phase) bool {
		name := Usual(p.Name)
		return name == "forward-backward" || hidden && gathers[strings.TrimSuffix(name, "_microstep")]
	})
}

// gathers are passes in which parameters are gathered and gradients reduced where they are sharded.
var gathers = map[string]bool{"fwd": true, "forward": true, "bwd": true, "backward": true, "bwd_inner": true, "backward_inner": true}

// scale is what a step of these phases is of a step: phases of micro-batches are shorter.
func scale(list []Phase, was float64) float64 {
	sum := 0.0
	for i := range list {
		sum += list[i].MaxWas
	}
	return min(1, sum/was)
}

// ClassOf is the class of a phase; "" where its name is not known, or it holds others.
func ClassOf(name string) Class {
	name = Usual(name)
	if _, ok := parents[name]; ok {
		return Compute
	}
	return classes[strings.TrimSuffix(name, "_microstep")]
}

// parts are the phases that hold no other, each once: those of micro-batches where nothing states the step's.
func parts(all []Phase) []Phase {
	names := map[string]bool{}
	for i := range all {
		names[Usual(all[i].Name)] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(p Phase) bool {
		c, leaf, _ := PartOf(p.Name, names)
		return c == "" || c == Save || !leaf
	})
}

// PartOf is the class of a phase beside others, by their usual names. It is no leaf where its parts are among them or, of a phase of
// micro-batches, the step's; holds tells that it may hold parts all the same.
func PartOf(name string, among map[string]bool) (c Class, leaf, holds bool) {
	name = Usual(name)
	short, micro := strings.CutSuffix(name, "_microstep")
	inner, holds := parents[name]
	twice := micro && among[short] || slices.ContainsFunc(inner, func(n string) bool { return among[n] })
	return ClassOf(name), !twice, holds
}

// unclassed is the phase of a name that says nothing of its kind by which the step grew: the longest, which may hold others.
func unclassed(all []Phase, was, rise float64) []Phase {
	var out []Phase
	for _, p := range all {
		fits := p.Grew() >= explained*rise && p.Grew() <= rise/explained && p.MaxWas <= was
		if ClassOf(p.Name) == "" && p.MaxIs >= grown*p.MaxWas && fits && (len(out) == 0 || p.Grew() > out[0].Grew()) {
			out = []Phase{p}
		}
	}
	return out
}

// top are the two classes that grew most.
func top(sums map[Class]float64) (first, second Class) {
	var cs []Class
	for c := range sums {
		cs = append(cs, c)
	}
	slices.SortFunc(cs, func(a, b Class) int { return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b)) })
	if len(cs) > 0 {
		first = cs[0]
	}
	if len(cs) > 1 {
		second = cs[1]
	}
	return first, second
}

func of(list []Phase, c Class) []Phase {
	out := slices.DeleteFunc(slices.Clone(list), func(p Phase) bool { return ClassOf(p.Name) != c || p.MaxIs < grown*p.MaxWas })
	slices.SortStableFunc(out, func(a, b Phase) int { return cmp.Or(cmp.Compare(b.Grew(), a.Grew()), cmp.Compare(a.Name, b.Name)) })
	return out
}

func flat(list []Phase, c Class) []Phase {
	out := slices.DeleteFunc(slices.Clone(list), func(p Phase) bool { return ClassOf(p.Name) == c || p.MaxIs >= grown*p.MaxWas })
	slices.SortStableFunc(out, func(a, b Phase) int { return cmp.Or(cmp.Compare(b.MaxIs, a.MaxIs), cmp.Compare(a.Name, b.Name)) })
	return out
}

func spread(list []Phase) Spread {
	fastest, slowest := 0.0, 0.0
	for i := range list {
		p := &list[i]
		if p.MinWas == 0 && p.MinIs == 0 {
			return Unstated
		}
		fastest, slowest = fastest+p.MinIs-p.MinWas, slowest+p.Grew()
	}
	switch {
	case slowest <= 0:
		return Unstated
	case fastest >= alike*slowest:
		return Everywhere
	case fastest <= unlike*slowest:
		return Somewhere
	}
	return Unstated
}
