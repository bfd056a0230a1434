package resolve

import (
	"testing"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

func TestWhatAJobRunsOn(t *testing.T) {
	frames := func(files ...string) (fs []worker.Frame) {
		for _, f := range files {
			fs = append(fs, worker.Frame{File: f})
		}
		return fs
	}
	for _, tt := range []struct {
		name, want string
		obs        worker.Observations
	}{
		{"nothing tells", "", worker.Observations{}},
		{"a line states it", "nemo + lightning", worker.Observations{Facts: []worker.Fact{{Key: "framework", Value: "lightning"}, {Key: "framework", Value: "nemo"}, {Key: "task", Value: "training"}}}},
		{"a traceback goes through its code", "hf-trainer + deepspeed", worker.Observations{Exceptions: []worker.Exception{
			{Frames: frames("/code/train.py", "/v/site-packages/transformers/trainer.py", "/v/site-packages/deepspeed/runtime/engine.py", "/v/site-packages/torch/nn/modules/module.py")}}}},
		{"an earlier block of the chain does", "megatron", worker.Observations{Exceptions: []worker.Exception{
			{Frames: frames("/code/train.py"), Cause: []worker.Exception{{Frames: frames("/code/megatron/core/tensor_parallel/layers.py")}}}}}},
		{"the stack of a collective does", "accelerate", worker.Observations{Stacks: []worker.CollectiveStack{{Frames: frames("/v/torch/distributed/distributed_c10d.py", "/v/accelerate/utils/operations.py")}}}},
		{"its progress lines", "megatron", worker.Observations{Progress: []worker.Progress{{Form: "megatron"}, {Form: "generic"}}}},
		{"a bar is anybody's", "", worker.Observations{Progress: []worker.Progress{{Form: "hf-dict", Bar: true}}}},
		{"Ray's names of its processes", "verl", worker.Observations{Tails: []worker.Tail{{Writers: []worker.WriterSpan{{Who: line.Who{RayName: "WorkerDict"}}, {Who: line.Who{RayName: "raylet"}}}}}}},
	} {
		if got := frameworksOf(&tt.obs); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}
