package preflight

import (
	"fmt"
	"math"
	"slices"
	"strconv"
)

// Item is one line of a checklist: what is to be so before a job starts.
type Item struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Critical bool   `json:"critical,omitempty"`
	// State is passed, failed or open; Proof says by what, or what would tell.
	State State  `json:"state"`
	Proof string `json:"proof,omitempty"`

	check func(*Evidence) (State, string)
}

// State is how an item stands.
type State string

// An item is open where nobody said and nothing shows that it is so.
const (
	Passed State = "passed"
	Failed State = "failed"
	Open   State = "open"
)

// Evidence is what items are ticked by.
type Evidence struct {
	Nodes    []Facts
	Findings []Finding
	Plan     Plan
	Wants    Wants
	// Ticked are ids of items of which a person says that they are so; Ran is how the command of an item of a team's own ended, by id, nil
	// where it succeeded.
	Ticked []string
	Ran    map[string]error
	// Shown is what something else than a check shows of items, by id: the report of a run, an earlier run.
	Shown map[string]Shown
}

// Shown is how an item stands by something else than a check, and by what.
type Shown struct {
	State State
	Proof string
}

// Names of the lists that are known. A team's own come from its configuration.
const (
	PreTraining = "pre-training"
	ScalingUp   = "scaling-up"
	LongRun     = "long-run"
)

// Checklists names them.
func Checklists() []string { return []string{PreTraining, ScalingUp, LongRun} }

// Checklist is a list by its name; ok is false where there is none.
func Checklist(name string) (items []Item, ok bool) {
	items, ok = checklists[name]
	return slices.Clone(items), ok
}

var checklists = map[string][]Item{
	PreTraining: {
		{ID: "nodes", Text: "Every node passes bot check", Critical: true, check: nodesPass},
		{ID: "memory-budget", Text: "Parameters, gradients, optimizer state and activations fit on the GPU", Critical: true, check: memoryFits},
		{ID: "small-run", Text: "A run on 1 or 2 GPUs works"},
		{ID: "data-path", Text: "The data path can be read", check: canRead},
		{ID: "loader", Text: "Data loading keeps up with training"},
		{ID: "bandwidth", Text: "The bandwidth between the nodes has been measured", check: bandwidthKnown},
		{ID: "checkpoint", Text: "A checkpoint can be written, and there is room for two", Critical: true, check: canSave},
		{ID: "restore", Text: "A checkpoint was restored and training continued from it"},
		{ID: "timeout", Text: "The collective timeout is longer than the longest pause, such as a checkpoint", check: timeoutFits},
		{ID: "debug", Text: "NCCL prints at least warnings (NCCL_DEBUG)", check: debugOn},
	},
	ScalingUp: {
		{ID: "nodes", Text: "Every node passes bot check", Critical: true, check: nodesPass},
		{ID: "memory-budget", Text: "The budget fits with the new layout", Critical: true, check: memoryFits},
		{ID: "learning-rate", Text: "The learning rate follows the new batch size", Critical: true, check: rateFollows},
		{ID: "warmup", Text: "Warmup is at least as long as before", check: warmupFollows},
		{ID: "bubble", Text: "The pipeline has at least 4 micro-batches per stage", check: bubbleSmall},
		{ID: "stragglers", Text: "Step times are logged per rank, so a straggler shows"},
		{ID: "communication", Text: "A profile shows how much communication is exposed"},
		{ID: "reproduced", Text: "The smaller run was reproduced before scaling up"},
	},
	LongRun: {
		{ID: "auto-checkpoint", Text: "Checkpoints are saved automatically", Critical: true},
		{ID: "alerts", Text: "Someone is alerted when steps stop or slow down"},
		{ID: "restart", Text: "The job resumes by itself after a failure"},
		{ID: "capacity", Text: "The checkpoint directory has room for all the checkpoints that are kept", Critical: true, check: capacityPlanned},
		{ID: "loss-watch", Text: "Loss and gradient norm are monitored"},
	},
}

// ByPerson is the proof of an item that a person ticked.
const ByPerson = "ticked by a person"

// Tick says how each item stands: what evidence shows counts before what people say, and both before nothing.
func Tick(items []Item, e *Evidence) []Item {
	out := slices.Clone(items)
	for i := range out {
		it := &out[i]
		it.State, it.Proof = Open, ""
		if it.check != nil {
			it.State, it.Proof = it.check(e)
		}
		if err, ok := e.Ran[it.ID]; ok {
			it.State, it.Proof = Passed, "its command succeeded"
			if err != nil {
				it.State, it.Proof = Failed, "its command failed: "+clip(err.Error())
			}
		}
		if s, ok := e.Shown[it.ID]; ok && it.State == Open {
			it.State, it.Proof = s.State, s.Proof
		}
		if it.State == Open && slices.Contains(e.Ticked, it.ID) {
			it.State, it.Proof = Passed, ByPerson
		}
	}
	return out
}

// How is the proof of an item, or how a person ticks it in a command where nothing tells.
func (it Item) How() string {
	if it.Proof == "" {
		return "tick it with --tick " + it.ID
	}
	return it.Proof
}

// Blocking are the findings that items make: a critical one must be passed.
func Blocking(items []Item) []Finding {
	var out []Finding
	for _, it := range items {
		switch {
		case it.Critical && it.State != Passed:
			out = append(out, Finding{Level: Fail, Check: "checklist", Text: it.Text + ": " + string(it.State) + " (" + it.How() + ")"})
		case it.State == Failed:
			out = append(out, Finding{Level: Warn, Check: "checklist", Text: it.Text + ": " + it.Proof})
		}
	}
	return out
}

func nodesPass(e *Evidence) (State, string) {
	for _, f := range e.Findings {
		if f.Level == Fail {
			return Failed, fmt.Sprintf("%s: %s", f.Check, f.Text)
		}
	}
	if len(e.Nodes) == 0 {
		return Open, "run bot check on the job's nodes"
	}
	return Passed, fmt.Sprintf("%d checked", len(e.Nodes))
}

func canRead(e *Evidence) (State, string) {
	return dirs(e, false, "name it with --read", func(Dir) (State, string) { return Passed, "read on every node" })
}

func canSave(e *Evidence) (State, string) {
	return dirs(e, true, "name its directory with --write, and its size with --checkpoint", func(d Dir) (State, string) {
		switch {
		case e.Wants.Checkpoint == 0:
			return Open, "written; give a checkpoint's size with --checkpoint"
		case d.Free < 2*e.Wants.Checkpoint:
			return Failed, fmt.Sprintf("%s free, two checkpoints take %s", size(d.Free), size(2*e.Wants.Checkpoint))
		}
		return Passed, fmt.Sprintf("%s free, at %s/s", size(d.Free), size(int64(d.Rate)))
	})
}

func capacityPlanned(e *Evidence) (State, string) {
	return dirs(e, true, "name its directory with --write, its size with --checkpoint, and how many are kept with --plan keep=N", func(d Dir) (State, string) {
		if e.Wants.Checkpoint == 0 || e.Plan.Keep == 0 {
			return Open, "give a checkpoint's size with --checkpoint, and how many are kept with --plan keep=N"
		}
		need := int64(e.Plan.Keep+1) * e.Wants.Checkpoint // one more while the newest is written
		if d.Free < need {
			return Failed, fmt.Sprintf("%s free, %d checkpoints take %s", size(d.Free), int(e.Plan.Keep)+1, size(need))
		}
		return Passed, fmt.Sprintf("%s free, %d checkpoints take %s", size(d.Free), int(e.Plan.Keep)+1, size(need))
	})
}

// dirs judges the directories of all nodes: the worst counts.
func dirs(e *Evidence, write bool, none string, judge func(Dir) (State, string)) (State, string) {
	state, proof := Open, none
	for i := range e.Nodes {
		for _, d := range e.Nodes[i].Dirs {
			if d.Write != write {
				continue
			}
			if d.Trouble != "" {
				return Failed, fmt.Sprintf("%s on %s: %s", d.Path, e.Nodes[i].Node, d.Trouble)
			}
			s, p := judge(d)
			if s == Failed {
				return s, d.Path + ": " + p
			}
			state, proof = s, d.Path+": "+p
		}
	}
	return state, proof
}

func bandwidthKnown(e *Evidence) (State, string) {
	var rates []float64
	for i := range e.Nodes {
		if e.Nodes[i].Rate > 0 {
			rates = append(rates, e.Nodes[i].Rate)
		}
	}
	if len(rates) == 0 {
		return Open, "run bot check on all the job's nodes (srun --ntasks-per-node=1)"
	}
	slices.Sort(rates)
	return Passed, fmt.Sprintf("%s/s to %s/s over TCP", size(int64(rates[0])), size(int64(rates[len(rates)-1])))
}

func timeoutFits(e *Evidence) (State, string) {
	if e.Plan.Timeout == 0 {
		return Open, "give it in seconds with --plan timeout=600"
	}
	slowest := 0.0
	for i := range e.Nodes {
		for _, d := range e.Nodes[i].Dirs {
			if d.Write && d.Rate > 0 {
				slowest = max(slowest, float64(e.Wants.Checkpoint)/d.Rate/float64(max(1, len(e.Nodes))))
			}
		}
	}
	if slowest == 0 {
		return Open, "compare it with the time a checkpoint takes"
	}
	state := Passed
	if slowest > e.Plan.Timeout {
		state = Failed
	}
	return state, fmt.Sprintf("a checkpoint takes about %.0f s at the measured rate; the timeout is %.0f s", slowest, e.Plan.Timeout)
}

func debugOn(e *Evidence) (State, string) {
	for i := range e.Nodes {
		if v := e.Nodes[i].Env["NCCL_DEBUG"]; v != "" {
			return Passed, "NCCL_DEBUG=" + v
		}
	}
	return Open, "export NCCL_DEBUG=WARN, or INFO for the first runs"
}

// rateFollows holds the learning rate to the rules of thumb: with the batch linearly, or with its square root.
func rateFollows(e *Evidence) (State, string) {
	p := e.Plan
	if p.Batch == 0 || p.BatchBefore == 0 || p.LR == 0 || p.LRBefore == 0 {
		return Open, "give both with --plan batch=,batch-before=,lr=,lr-before="
	}
	k, got := p.Batch/p.BatchBefore, p.LR/p.LRBefore
	low, high := min(math.Sqrt(k), k), max(math.Sqrt(k), k)
	text := fmt.Sprintf("batch x%s, learning rate x%s; the rules say x%s (square root) to x%s (linear)", short(k), short(got), short(math.Sqrt(k)), short(k))
	const leeway = 1.1
	if got < low/leeway || got > high*leeway {
		return Failed, text
	}
	return Passed, text
}

func warmupFollows(e *Evidence) (State, string) {
	p := e.Plan
	if p.Warmup == 0 || p.WarmupBefore == 0 {
		return Open, "give both in samples with --plan warmup=,warmup-before="
	}
	text := fmt.Sprintf("%s, previously %s", short(p.Warmup), short(p.WarmupBefore))
	if p.Warmup < p.WarmupBefore {
		return Failed, text
	}
	return Passed, text
}

func bubbleSmall(e *Evidence) (State, string) {
	p := e.Plan
	switch {
	case p.PP == 1:
		return Passed, "no pipeline"
	case p.PP == 0 || p.MicroBatches == 0:
		return Open, "give both with --plan pp=,micro-batches="
	}
	text := fmt.Sprintf("%s micro-batches over %s stages: %.0f%% of each step is bubble", short(p.MicroBatches), short(p.PP), 100*(p.PP-1)/(p.MicroBatches+p.PP-1))
	if p.MicroBatches < 4*p.PP {
		return Failed, text
	}
	return Passed, text
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 3, 64) }
