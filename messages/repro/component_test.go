package repro

import (
	"testing"

	"faultline/incident"
)

func TestAComponentIsTestedWithTheJobsOwnNumbers(t *testing.T) {
	quoted := func(text string) *incident.Report {
		return &incident.Report{Chain: []incident.Link{{Evidence: []incident.Evidence{incident.Quote("a.out", 7, 70, text, nil)}}}}
	}
	on := func(nodes []string, item string, args ...incident.NameOf) *incident.Report {
		r := &incident.Report{}
		r.Verdict.Root.Nodes, r.Job.Arguments = nodes, args
		if item != "" {
			r.Verdict.Root.Item = &item
		}
		return r
	}
	for name, c := range map[string]struct {
		r               *incident.Report
		component, want string
	}{
		"today's allocator": {quoted("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 19.14 GiB. GPU 6 has a total capacity of 79.33 GiB of which 8.35 GiB is free. Including non-PyTorch memory, this process has 70.97 GiB memory in use. Of the allocated memory 68.65 GiB is allocated by PyTorch, and 853.04 MiB is reserved by PyTorch but unallocated."),
			"memory", "srun --ntasks-per-node=N --gpus-per-node=N python3 probe.py memory --held 68.65 --then 19.14 > result.txt; bot probe result.txt"},
		"an older one": {quoted("RuntimeError: CUDA out of memory. Tried to allocate 512.00 MiB (GPU 0; 15.90 GiB total capacity; 14.25 GiB already allocated; 12.81 MiB free; 14.50 GiB reserved in total by PyTorch)"),
			"memory", "srun --ntasks-per-node=N --gpus-per-node=N python3 probe.py memory --held 14.25 --then 0.5 > result.txt; bot probe result.txt"},
		"no numbers": {quoted("CUDA error: out of memory"), "memory", "srun --ntasks-per-node=N --gpus-per-node=N python3 probe.py memory > result.txt; bot probe result.txt"},
		"a slow rank in bf16": {on([]string{"cn07"}, "", incident.NameOf{Name: "model.bf16", Value: "True"}), "compute",
			"srun --ntasks-per-node=N --gpus-per-node=N --nodelist=cn07,GOOD python3 probe.py compute --dtype bfloat16 > result.txt; bot probe result.txt"},
		"a loss in fp16": {on(nil, "", incident.NameOf{Name: "precision", Value: "16-mixed"}), "compute",
			"srun --ntasks-per-node=N --gpus-per-node=N python3 probe.py compute --dtype float16 > result.txt; bot probe result.txt"},
		"a shard": {on([]string{"cn07"}, "/data/train/shard-00012.tar"), "data",
			"srun --ntasks-per-node=N --gpus-per-node=N --nodelist=cn07,GOOD python3 probe.py data --data /data/train > result.txt; bot probe result.txt"},
		"a name that a shell would read": {on([]string{"cn07; rm -r x"}, "/data/$(rm -r x)/a"), "data",
			"srun --ntasks-per-node=N --gpus-per-node=N python3 probe.py data > result.txt; bot probe result.txt"},
		"an object": {on(nil, "ais://bucket/a.tar"), "data", "srun --ntasks-per-node=N --gpus-per-node=N python3 probe.py data > result.txt; bot probe result.txt"},
	} {
		if got := TestOf(c.r, c.component).Command(c.component, "probe.py"); got != c.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
