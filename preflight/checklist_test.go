package preflight

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func plan(t *testing.T, text ...string) Plan {
	t.Helper()
	p, err := ParsePlan(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestItemsAreTickedByWhatShowsThem(t *testing.T) {
	dir := func(d Dir) []Facts { return []Facts{{Node: "cn1", Dirs: []Dir{d}}, {Node: "cn2", Dirs: []Dir{d}}} }
	for name, c := range map[string]struct {
		list, id string
		e        Evidence
		want     State
		say      string
	}{
		"nodes that pass":             {PreTraining, "nodes", Evidence{Nodes: make([]Facts, 4)}, Passed, "4 checked"},
		"nodes that fail":             {PreTraining, "nodes", Evidence{Findings: []Finding{{Level: Fail, Check: "gpus", Text: "7 of 8"}}}, Failed, "7 of 8"},
		"no plan":                     {PreTraining, "memory-budget", Evidence{}, Open, "--plan params="},
		"a state alone that is small": {PreTraining, "memory-budget", Evidence{Plan: plan(t, "params=1e9,gpu-memory=80")}, Open, "to include activations"},
		"a state that is too large":   {PreTraining, "memory-budget", Evidence{Plan: plan(t, "params=7e9,gpu-memory=80")}, Failed, "state 104.3 GiB of 80 GiB"},
		"the same, sharded": {PreTraining, "memory-budget", Evidence{Plan: plan(t, "params=7e9,gpu-memory=80,zero=1,dp=8", "hidden=4096,layers=32,heads=32,seq=2048,micro=1,flash=1")},
			Passed, "state 35.9 GiB + activations 8.5 GiB of 80 GiB"},
		"attention that keeps its scores": {PreTraining, "memory-budget", Evidence{Plan: plan(t, "params=7e9,gpu-memory=80,zero=1,dp=8,hidden=4096,layers=32,heads=32,seq=8192,micro=1")}, Failed, "activations"},
		"the same, computed again":        {PreTraining, "memory-budget", Evidence{Plan: plan(t, "params=7e9,gpu-memory=80,zero=1,dp=8,hidden=4096,layers=32,heads=32,seq=8192,micro=1,recompute=1,flash=1")}, Passed, "activations"},
		"the GPUs tell their memory":      {PreTraining, "memory-budget", Evidence{Plan: plan(t, "params=7e9"), Nodes: []Facts{{GPUs: []GPU{{Memory: 81920}, {Memory: 40960}}}}}, Failed, "of 40 GiB"},
		"a directory that nobody named":   {PreTraining, "checkpoint", Evidence{}, Open, "--write"},
		"a directory without room":        {PreTraining, "checkpoint", Evidence{Nodes: dir(Dir{Path: "/ckpt", Write: true, Free: 300e9, Rate: 1e9}), Wants: Wants{Checkpoint: 200e9}}, Failed, "/ckpt"},
		"a directory with room":           {PreTraining, "checkpoint", Evidence{Nodes: dir(Dir{Path: "/ckpt", Write: true, Free: 500e9, Rate: 1e9}), Wants: Wants{Checkpoint: 200e9}}, Passed, "free"},
		"a directory that fails":          {PreTraining, "checkpoint", Evidence{Nodes: dir(Dir{Path: "/ckpt", Write: true, Trouble: "read-only"})}, Failed, "read-only"},
		"a data path that can be read":    {PreTraining, "data-path", Evidence{Nodes: dir(Dir{Path: "/data"})}, Passed, "every node"},
		"a bandwidth":                     {PreTraining, "bandwidth", Evidence{Nodes: []Facts{{Rate: 3e9}, {Rate: 1e9}}}, Passed, "over TCP"},
		"a timeout that is too short":     {PreTraining, "timeout", Evidence{Nodes: dir(Dir{Write: true, Rate: 1e8}), Wants: Wants{Checkpoint: 200e9}, Plan: plan(t, "timeout=600")}, Failed, "1000 s"},
		"a timeout that fits":             {PreTraining, "timeout", Evidence{Nodes: dir(Dir{Write: true, Rate: 1e9}), Wants: Wants{Checkpoint: 200e9}, Plan: plan(t, "timeout=600")}, Passed, "100 s"},
		"warnings are on":                 {PreTraining, "debug", Evidence{Nodes: []Facts{{Env: map[string]string{"NCCL_DEBUG": "WARN"}}}}, Passed, "NCCL_DEBUG=WARN"},
		"a batch x4, the rate unchanged":  {ScalingUp, "learning-rate", Evidence{Plan: plan(t, "batch=1024,batch-before=256,lr=1e-4,lr-before=1e-4")}, Failed, "batch x4, learning rate x1"},
		"a batch x4, the rate x2":         {ScalingUp, "learning-rate", Evidence{Plan: plan(t, "batch=1024,batch-before=256,lr=2e-4,lr-before=1e-4")}, Passed, "square root"},
		"a batch x4, the rate x8":         {ScalingUp, "learning-rate", Evidence{Plan: plan(t, "batch=1024,batch-before=256,lr=8e-4,lr-before=1e-4")}, Failed, "linear"},
		"half the batch, half the rate":   {ScalingUp, "learning-rate", Evidence{Plan: plan(t, "batch=128,batch-before=256,lr=5e-5,lr-before=1e-4")}, Passed, "x0.5"},
		"a warmup that shrank":            {ScalingUp, "warmup", Evidence{Plan: plan(t, "warmup=1000,warmup-before=2000")}, Failed, "1e+03"},
		"a pipeline with a bubble":        {ScalingUp, "bubble", Evidence{Plan: plan(t, "pp=8,micro-batches=8")}, Failed, "47%"},
		"a pipeline that is full":         {ScalingUp, "bubble", Evidence{Plan: plan(t, "pp=8,micro-batches=32")}, Passed, "18%"},
		"no room for what is kept":        {LongRun, "capacity", Evidence{Nodes: dir(Dir{Path: "/c", Write: true, Free: 500e9}), Wants: Wants{Checkpoint: 200e9}, Plan: plan(t, "keep=3")}, Failed, "4 checkpoints"},
		"a person's word":                 {LongRun, "alerts", Evidence{Ticked: []string{"alerts"}}, Passed, "by a person"},
		"a person's word against proof":   {ScalingUp, "bubble", Evidence{Plan: plan(t, "pp=8,micro-batches=8"), Ticked: []string{"bubble"}}, Failed, "47%"},
		"a command that failed":           {LongRun, "restart", Evidence{Ran: map[string]error{"restart": errors.New("no such unit")}, Ticked: []string{"restart"}}, Failed, "no such unit"},
		"a command that succeeded":        {LongRun, "restart", Evidence{Ran: map[string]error{"restart": nil}}, Passed, "succeeded"},
	} {
		items, ok := Checklist(c.list)
		if !ok {
			t.Fatalf("%s: no list %s", name, c.list)
		}
		items = Tick(items, &c.e)
		i := slices.IndexFunc(items, func(it Item) bool { return it.ID == c.id })
		if i < 0 || items[i].State != c.want || !strings.Contains(items[i].Proof, c.say) {
			t.Errorf("%s: %+v, want %s with %q", name, items[i], c.want, c.say)
		}
	}
}

func TestACriticalItemThatIsNotPassedBlocks(t *testing.T) {
	items, _ := Checklist(LongRun)
	blocking := func(e Evidence) (fails, warns int) {
		for _, f := range Blocking(Tick(items, &e)) {
			if f.Level == Fail {
				fails++
			} else {
				warns++
			}
		}
		return fails, warns
	}
	if f, w := blocking(Evidence{}); f != 2 || w != 0 {
		t.Errorf("%d fail and %d warn; two are critical, and what is merely open is no warning", f, w)
	}
	if f, w := blocking(Evidence{Ticked: []string{"auto-checkpoint", "capacity"}, Ran: map[string]error{"alerts": errors.New("no")}}); f != 0 || w != 1 {
		t.Errorf("%d fail and %d warn", f, w)
	}
}

func TestAPlanIsReadOrRefused(t *testing.T) {
	for _, bad := range []string{"params", "params=x", "params=-1", "parms=1", "params=inf", "params=NaN", ""} {
		if _, err := ParsePlan([]string{bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	if p := plan(t, "params=7e9, tp=8"); p.Params != 7e9 || p.TP != 8 {
		t.Errorf("%+v", p)
	}
}
