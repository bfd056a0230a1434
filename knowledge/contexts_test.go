package knowledge

import "testing"

func TestContextsOfCode(t *testing.T) {
	tests := []struct{ file, fn, want string }{
		{"/usr/lib/python3.10/site-packages/torch/utils/data/_utils/fetch.py", "fetch", LoadingData},
		{"/usr/lib/python3.10/site-packages/lhotse/ais/batch_loader.py", "__call__", LoadingData},
		{"/opt/train/data/dataset.py", "__getitem__", LoadingData},
		{"/usr/lib/python3.10/site-packages/torch/serialization.py", "save", SavingCheckpoint},
		{"/usr/lib/python3.10/site-packages/torch/serialization.py", "_legacy_load", LoadingCheckpoint},
		{"/opt/Megatron-LM/megatron/training/checkpointing.py", "save_checkpoint", SavingCheckpoint},
		{"/usr/lib/python3.10/site-packages/deepspeed/runtime/checkpoint_engine/torch_checkpoint_engine.py", "load", LoadingCheckpoint},
		{"/usr/lib/python3.10/site-packages/aistore/sdk/request_client.py", "request", AskingStore},
		{"/usr/lib/python3.10/site-packages/urllib3/connectionpool.py", "urlopen", AskingStore},
		// Activation checkpointing saves nothing.
		{"/usr/lib/python3.10/site-packages/torch/utils/checkpoint.py", "checkpoint", ""},
		{"/opt/train/engine/loop.py", "fit", ""},
	}
	for _, tt := range tests {
		if got := Context(tt.file, tt.fn); got != tt.want {
			t.Errorf("%s in %s: got %q, want %q", tt.fn, tt.file, got, tt.want)
		}
	}
	if !Telemetry("/usr/lib/python3.10/site-packages/wandb/sdk/internal/sender.py") || Telemetry("/opt/train/data/dataset.py") {
		t.Error("telemetry is not told from the job")
	}
}
