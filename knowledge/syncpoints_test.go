package knowledge

import (
	"slices"
	"strings"
	"testing"
)

func TestSynchronisationPointsAreWholeEntries(t *testing.T) {
	seen := map[string]bool{}
	when := []string{"start", "load", "forward", "backward", "step", "save", "evaluation", "any"}
	for _, p := range SyncPoints() {
		if seen[p.ID] {
			t.Errorf("%s stands twice", p.ID)
		}
		seen[p.ID] = true
		for name, s := range map[string]string{"name": p.Name, "waits": p.Waits, "check": p.Check, "source": p.Source} {
			if strings.TrimSpace(s) == "" {
				t.Errorf("%s has no %s", p.ID, name)
			}
		}
		if !slices.Contains(when, p.When) {
			t.Errorf("%s is at %q", p.ID, p.When)
		}
		if len(p.Uses) == 0 {
			t.Errorf("%s is known by no operation", p.ID)
		}
		for _, u := range p.Uses {
			if u.Op != strings.ToUpper(u.Op) || u.Max != 0 && u.Max < u.Min {
				t.Errorf("%s: %+v", p.ID, u)
			}
			if (u.Op == "BROADCAST" || u.Op == "SCATTER") && p.Sender == "" {
				t.Errorf("%s: nobody sends the %s", p.ID, u.Op)
			}
		}
		for _, f := range p.Frames {
			if got, ok := SyncPointAt(f.Func, "/usr/lib/python3/dist-packages/"+f.File); !ok || got.ID != p.ID {
				t.Errorf("%s: the frame %v leads to %q", p.ID, f, got.ID)
			}
		}
		if strings.HasSuffix(p.Name, ".") || strings.Contains(p.Waits, "blame") {
			t.Errorf("%s: %q, %q", p.ID, p.Name, p.Waits)
		}
	}
}

func TestWhatAnOperationIsConsistentWith(t *testing.T) {
	for _, c := range []struct {
		name       string
		op         string
		numel      int64
		words      []string
		frameworks []string
		first      string
		among, not []string
	}{
		{"one element from rank 0 in a NeMo job", "BROADCAST", 1, []string{"default"}, []string{"lightning", "nemo"}, "nemo-preemption",
			[]string{"lightning-broadcast", "object-broadcast"}, []string{"barrier", "megatron-data"}},
		{"the same without a framework", "BROADCAST", 1, []string{"default"}, nil, "object-broadcast", nil, []string{"nemo-preemption", "lightning-broadcast"}},
		{"many elements are no flag", "BROADCAST", 2048, []string{"default"}, []string{"nemo"}, "nemo-checkpoint", []string{"ddp-buffers"}, []string{"nemo-preemption"}},
		{"sizes that no line states exclude nothing", "BROADCAST", -1, nil, []string{"nemo"}, "nemo-preemption", nil, nil},
		{"a bucket of gradients", "ALLREDUCE", 6553600, []string{"default"}, []string{"hf-trainer"}, "ddp-gradients", nil, []string{"barrier", "deepspeed-gradients"}},
		{"DeepSpeed's own buckets", "ALLREDUCE", 466119168, []string{"default"}, []string{"deepspeed", "hf-trainer"}, "deepspeed-gradients", nil, []string{"barrier"}},
		{"one element of everybody", "ALLREDUCE", 1, []string{"default"}, nil, "barrier", []string{"ddp-join"}, []string{"ddp-gradients", "deepspeed-overflow"}},
		{"the batch in a tensor-parallel group", "BROADCAST", 35, []string{"tensor"}, []string{"megatron"}, "megatron-data", []string{"object-broadcast"}, []string{"ddp-buffers"}},
		{"a layer in a tensor-parallel group", "_ALLGATHER_BASE", 442368, []string{"tensor"}, []string{"megatron"}, "megatron-layer", nil, []string{"fsdp-gather"}},
		{"Megatron wraps no model in PyTorch's class", "BROADCAST", 64, []string{"data"}, []string{"megatron"}, "object-broadcast", nil, []string{"ddp-buffers", "ddp-start"}},
		{"shards", "_REDUCE_SCATTER_BASE", 4096, []string{"data", "shard"}, []string{"torchtitan"}, "fsdp-reduce", nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for _, p := range SyncPointsFor(c.op, c.numel, c.words, c.frameworks) {
				got = append(got, p.ID)
			}
			if len(got) == 0 || got[0] != c.first {
				t.Errorf("%v, expected %s first", got, c.first)
			}
			for _, id := range c.among {
				if !slices.Contains(got, id) {
					t.Errorf("%v lacks %s", got, id)
				}
			}
			for _, id := range c.not {
				if slices.Contains(got, id) {
					t.Errorf("%v holds %s", got, id)
				}
			}
		})
	}
	if _, ok := SyncPointAt("broadcast", "/app/train.py"); ok {
		t.Error("a function of the user's is taken for PyTorch's")
	}
}
