package knowledge

import (
	"slices"
	"strings"
	"testing"
)

func TestFrameworkAt(t *testing.T) {
	for _, c := range []struct{ file, want string }{
		{"/opt/venv/lib/python3.11/site-packages/deepspeed/runtime/engine.py", "deepspeed"},
		{"/workspace/Megatron-LM/megatron/training/training.py", "megatron"},
		{"/workspace/Megatron-LM/megatron/training.py", "megatron"},
		{"/opt/NeMo/nemo/collections/llm/api.py", "nemo"},
		{"/usr/lib/python3/dist-packages/lightning/pytorch/trainer/trainer.py", "lightning"},
		{"/opt/conda/lib/python3.10/site-packages/pytorch_lightning/loops/fit_loop.py", "lightning"},
		{`C:\venv\Lib\site-packages\transformers\trainer.py`, "hf-trainer"},
		{"megatron/training.py", "megatron"}, // py-spy shortens
		{"/opt/venv/lib/python3.11/site-packages/torch/distributed/fsdp/_runtime_utils.py", "fsdp"},
		{"/opt/venv/lib/python3.11/site-packages/torch/nn/modules/module.py", ""},
		{"/opt/venv/lib/python3.11/site-packages/transformers/modeling_utils.py", ""}, // a model, not the loop
		{"/home/nemo/train.py", ""},
		{"/scratch/lightning/train.py", ""},
		{"/data/mydeepspeed/train.py", ""},
		{"", ""},
	} {
		if got := FrameworkAt(c.file); got != c.want {
			t.Errorf("%q: %q, want %q", c.file, got, c.want)
		}
	}
}

func TestFrameworksOfOneJob(t *testing.T) {
	for _, c := range []struct {
		ids         []string
		want, names string
	}{
		{nil, "", ""},
		{[]string{"deepspeed", "llamafactory", "deepspeed", "hf-trainer"}, "llamafactory + hf-trainer + deepspeed", "LLaMA-Factory + Hugging Face Trainer + DeepSpeed"},
		{[]string{"megatron", "lightning", "nemo"}, "nemo + megatron + lightning", "NeMo + Megatron-LM + Lightning"},
		{[]string{"of somebody"}, "of somebody", "of somebody"},
	} {
		got := Frameworks(c.ids)
		if got != c.want || FrameworkNames(got) != c.names {
			t.Errorf("%v: %q, %q", c.ids, got, FrameworkNames(got))
		}
	}
}

func TestFrameworksOfTwoJobs(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"nemo", "nemo", true},
		{"nemo", "nemo + megatron + lightning", true},
		{"deepspeed", "llamafactory + hf-trainer + deepspeed", true}, // one failed with a traceback
		{"hf-trainer", "llamafactory", true},
		{"accelerate + deepspeed", "hf-trainer", true},
		{"hf-trainer + deepspeed", "megatron + deepspeed", false},
		{"llamafactory", "axolotl", false},
		{"nemo", "torchtitan", false},
		{"of somebody", "of another", false},
	} {
		if SameFrameworks(c.a, c.b) != c.same || SameFrameworks(c.b, c.a) != c.same {
			t.Errorf("%q and %q: same is not %v", c.a, c.b, c.same)
		}
	}
}

// No two frameworks have a name, a form of progress or an actor in common, and what they are built on is in the table.
func TestFrameworksAreToldApart(t *testing.T) {
	owner := map[string]string{}
	for _, f := range frameworks {
		for _, s := range slices.Concat([]string{f.ID, f.Name}, f.Forms, f.Actors, f.Code) {
			if o := owner[s]; o != "" && o != f.ID {
				t.Errorf("%q is %s and %s", s, o, f.ID)
			}
			owner[s] = f.ID
		}
		for _, c := range f.Code {
			if !strings.HasPrefix(c, "/") || len(c) < 6 {
				t.Errorf("%s: %q is no part of a path", f.ID, c)
			}
		}
		for _, on := range f.On {
			if !slices.ContainsFunc(frameworks, func(g Framework) bool { return g.ID == on }) || on == f.ID {
				t.Errorf("%s is built on %q", f.ID, on)
			}
		}
		if strings.Contains(f.ID, between) {
			t.Errorf("%q holds %q", f.ID, between)
		}
	}
}
