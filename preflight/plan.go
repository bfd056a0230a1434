package preflight

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Plan is what a job is going to be, as its owner states it; 0 = not stated.
type Plan struct {
	Params                            float64 // of the model
	Hidden, Layers, Heads, Seq, Micro float64 // its layers, the sequence length, sequences per micro-batch
	TP, PP, DP, Zero                  float64 // parallel degrees, and ZeRO's stage
	MicroBatches                      float64 // per step and pipeline
	Recompute                         float64 // 1: activations are computed again
	Flash                             float64 // 1: attention keeps no matrix of scores
	GPUMemory                         float64 // GiB of one GPU
	Batch, BatchBefore                float64
	LR, LRBefore                      float64
	Warmup, WarmupBefore              float64
	Timeout                           float64 // seconds
	Keep                              float64 // checkpoints
}

// fields are the members of a plan by the names that people write.
func (p *Plan) fields() map[string]*float64 {
	return map[string]*float64{
		"params": &p.Params, "hidden": &p.Hidden, "layers": &p.Layers, "heads": &p.Heads, "seq": &p.Seq, "micro": &p.Micro,
		"tp": &p.TP, "pp": &p.PP, "dp": &p.DP, "zero": &p.Zero, "micro-batches": &p.MicroBatches, "recompute": &p.Recompute, "flash": &p.Flash, "gpu-memory": &p.GPUMemory,
		"batch": &p.Batch, "batch-before": &p.BatchBefore, "lr": &p.LR, "lr-before": &p.LRBefore,
		"warmup": &p.Warmup, "warmup-before": &p.WarmupBefore, "timeout": &p.Timeout, "keep": &p.Keep,
	}
}

// PlanFields are the names that ParsePlan reads.
func PlanFields() []string {
	var out []string
	for name := range new(Plan).fields() {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// ParsePlan reads "params=70e9,tp=8".
func ParsePlan(list []string) (Plan, error) {
	var p Plan
	fields := p.fields()
	for _, text := range list {
		for pair := range strings.SplitSeq(text, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), "=")
			to, ok := fields[name]
			if !ok {
				return p, fmt.Errorf("%q is not one of %s", name, strings.Join(PlanFields(), ", "))
			}
			v, err := strconv.ParseFloat(value, 64)
			if err != nil || v < 0 || math.IsInf(v, 0) || math.IsNaN(v) {
				return p, fmt.Errorf("%s=%s is not a number of 0 or more", name, value)
			}
			*to = v
		}
	}
	return p, nil
}

// Bytes per parameter of mixed precision with Adam: weights and gradients in 16 bits, a copy and two moments in 32.
const (
	weightBytes    = 2
	gradientBytes  = 2
	optimizerBytes = 12
)

// full is the share of a GPU's memory beyond which a job is likely to run out: the context, buffers of NCCL and fragments take the rest.
const full = 0.92

// Budget is what a rank needs, in bytes: of state, and of activations (0 where the plan does not tell).
func (p Plan) Budget() (state, activations float64) {
	one := func(v float64) float64 { return max(v, 1) }
	n := p.Params / (one(p.TP) * one(p.PP))
	shard := func(bytes, from float64) float64 {
		if p.Zero >= from {
			return bytes / one(p.DP)
		}
		return bytes
	}
	state = n * (shard(weightBytes, 3) + shard(gradientBytes, 2) + shard(optimizerBytes, 1))
	if p.Hidden == 0 || p.Layers == 0 || p.Seq == 0 {
		return state, 0
	}
	// Korthikanti et al., Reducing Activation Recomputation in Large Transformer Models: s·b·h·(10 + 24/t + 5·a·s/(h·t)) bytes a layer. The first
	// stage of a pipeline holds those of as many micro-batches as there are stages, so that its layers come to all.
	sbh := p.Seq * one(p.Micro) * p.Hidden
	layer := sbh * (10 + 24/one(p.TP))
	if p.Flash == 0 && p.Heads > 0 {
		layer += 5 * p.Heads * p.Seq * p.Seq * one(p.Micro) / one(p.TP)
	}
	if p.Recompute > 0 {
		return state, 2*sbh*p.Layers + layer
	}
	return state, layer * p.Layers
}

func memoryFits(e *Evidence) (State, string) {
	p := e.Plan
	if p.GPUMemory == 0 {
		for i := range e.Nodes {
			for _, g := range e.Nodes[i].GPUs {
				if m := float64(g.Memory) / 1024; m > 0 && (p.GPUMemory == 0 || m < p.GPUMemory) {
					p.GPUMemory = m
				}
			}
		}
	}
	if p.Params == 0 || p.GPUMemory == 0 {
		return Open, "give --plan params=,gpu-memory= and the layout (tp, pp, dp, zero, hidden, layers, heads, seq, micro)"
	}
	const gib = 1 << 30
	state, activations := p.Budget()
	text := fmt.Sprintf("state %.1f GiB", state/gib)
	if activations > 0 {
		text += fmt.Sprintf(" + activations %.1f GiB", activations/gib)
	}
	text += fmt.Sprintf(" of %.0f GiB", p.GPUMemory)
	switch {
	case state+activations > full*p.GPUMemory*gib:
		return Failed, text
	case activations == 0:
		return Open, text + "; to include activations, give hidden, layers, heads, seq and micro"
	}
	return Passed, text
}
