package simulate

import (
	"fmt"
	"math/rand/v2"
)

// noiseForms are what ten frameworks and libraries print of a job that is well, before its first step. None of it names a rank, a node or a
// step. Much of it sounds bad: words such as error and failed, and warnings, are in every healthy log.
var noiseForms = []string{
	// Hugging Face: transformers, datasets, hub, accelerate
	"Some weights of LlamaForCausalLM were not initialized from the model checkpoint and are newly initialized: ['model.layers.%d.self_attn.rotary_emb.inv_freq']",
	"Loading cached processed dataset at /data/cache/train-%x.arrow",
	"/opt/venv/lib/python3.11/site-packages/transformers/utils/generic.py:%d: FutureWarning: `torch.utils._pytree._register_pytree_node` is deprecated.",
	"Token indices sequence length is longer than the specified maximum sequence length for this model (%d > 4096).",
	"The following values were not passed to `accelerate launch` and had defaults used instead: dynamo_backend='no' (%d)",
	// Megatron-LM
	"  error_injection_type ............................ transient_error_%d",
	"  exit_on_missing_checkpoint ...................... False, shard %d",
	"building GPT train index %d: shuffling documents",
	" > reading sizes... document block %d",
	// DeepSpeed
	"[WARNING] [stage3.py:%d:_configure_offloading] zero offload is not set; parameters stay on the device",
	"Installed CUDA version 12.%d does not match the version torch was compiled with but since the APIs are compatible, accepting this combination",
	"ninja: no work to do for op %d.",
	// PyTorch
	"/opt/venv/lib/python3.11/site-packages/torch/utils/checkpoint.py:%d: UserWarning: torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly.",
	"W torch/_dynamo/convert_frame.py:%d] torch._dynamo recompiled a frame; the guard on its shape did not hold",
	// Lightning
	"Missing logger folder: lightning_logs/version_%d",
	"  | layer_%d | TransformerBlock | 50.3 M | train",
	// JAX, XLA
	"external/xla/xla/service/platform_util.cc:%d] cuDNN factory: Attempting to register factory for plugin cuDNN when one has already been registered",
	"WARNING: All log messages before absl::InitializeLog() is called are written to STDERR (%d)",
	// TensorFlow, used for its summaries
	"tensorflow/core/util/port.cc:%d] oneDNN custom operations are on. You may see slightly different numerical results",
	// Ray
	"(raylet) The autoscaler has no pending demands; %d bundles are placed",
	// data: webdataset, tokenizers, NLTK
	"webdataset: shard %d listed, ignoring errors is off",
	"huggingface/tokenizers: the current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks... (%d)",
	// experiment trackers, package managers, modules, containers
	"wandb: WARNING Calling wandb.login() after wandb.init() has no effect (%d).",
	"Requirement already satisfied: nvidia-cublas-cu12==12.%d.3.1 in /opt/venv/lib/python3.11/site-packages",
	"INFO: gpu monitor plugin %d: retries=0 errors=0 dropped=0 timeouts=0",
	"The module file cuda/12.%d is loaded; no conflicts",
}

// Noise returns lines that healthy jobs print, the same for the same seed. A log that is buried in them still means what it means.
func Noise(n int, seed uint64) []string {
	rng := rand.New(rand.NewPCG(seed, 0x6e6f697365))
	lines := make([]string, n)
	for i := range lines {
		lines[i] = fmt.Sprintf(noiseForms[rng.IntN(len(noiseForms))], rng.IntN(1_000_000))
	}
	return lines
}
