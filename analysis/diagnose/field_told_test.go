package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// Every rank of a checkpoint's group raises what some of them met.
func TestACheckpointErrorOfOthers(t *testing.T) {
	told := func(rank int, list string) string {
		return prefixed(rank, "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys(["+list+"])\nTraceback (most recent call last): (RANK 0)\n"+
			"  File \"/a/torch/distributed/checkpoint/default_planner.py\", line 354, in create_default_local_load_plan\n    raise RuntimeError(f\"Missing key in checkpoint state_dict: {fqn}.\")\n"+
			"RuntimeError: Missing key in checkpoint state_dict: decoder.layers.self_attention.q_layernorm._extra_state/shard_0_16.\n")
	}
	for _, c := range []fieldCase{
		{"all met it, one is here", one(told(3, "0, 1, 2, 3")), []string{"config-error"}, "-"},
		{"another met it", one(told(3, "2")), []string{"config-error"}, "-"},
		{"it met it alone", one(told(2, "2")), []string{"config-error"}, "rank 2"},
		{"who met it is here among others", one(told(0, "11") + told(11, "11")), []string{"config-error"}, "rank 11"},
		{"more than a line holds", one(told(1, "0"+strings.Repeat(", 1", 900))), []string{"config-error"}, "-"},
	} {
		c.check(t)
	}
}

// What a rank got from the others, and could not read, tells that they are out of step; no checkpoint has to do with it.
func TestWhatAnotherRankSentCannotBeRead(t *testing.T) {
	const (
		fairseq = "Traceback (most recent call last):\n  File \"/a/fairseq/distributed/utils.py\", line 159, in all_gather_list\n    result.append(pickle.loads(x))\n_pickle.UnpicklingError: invalid load key, '\\xf5'.\n\n" +
			"During handling of the above exception, another exception occurred:\n\nTraceback (most recent call last):\n  File \"/a/train.py\", line 265, in main\n    f()\n" +
			"Exception: Unable to unpickle data from other workers. all_gather_list requires all workers to enter the function together, so this error usually indicates that the workers have fallen out of sync somehow.\n"
		objects = "Traceback (most recent call last):\n  File \"/a/train.py\", line 265, in main\n    f()\n  File \"/a/torch/distributed/distributed_c10d.py\", line 2308, in _tensor_to_object\n    return _unpickler(io.BytesIO(buf)).load()\n_pickle.UnpicklingError: invalid load key, '\\x00'.\n"
		file    = "Traceback (most recent call last):\n  File \"/a/train.py\", line 265, in main\n    f()\n  File \"/a/torch/serialization.py\", line 1033, in load\n    return _legacy_load()\n_pickle.UnpicklingError: invalid load key, 'v'.\n"
	)
	for _, c := range []fieldCase{
		{"fairseq", one(fieldSteps + prefixed(2, fairseq)), []string{"collective-mismatch"}, "-"},
		{"PyTorch's objects", one(fieldSteps + prefixed(2, objects)), []string{"collective-mismatch"}, "-"},
		{"a file", one(prefixed(2, file)), []string{"checkpoint-io"}, "rank 2"},
	} {
		c.check(t)
	}
}

// A program quotes, a few blanks in, what another printed.
func TestATracebackThatIsQuoted(t *testing.T) {
	const raised = "    Traceback (most recent call last):\n      File \"/w/train.py\", line 10, in <module>\n        main()\n      File \"/w/train.py\", line 7, in main\n        loss.backward()\n    KeyError: 'loss_mask'\n"
	const actor = "monarch._src.actor.actor_mesh.ActorError: Actor call TitanTrainer.train_step failed with BaseException.\n Traceback of where the remote call failed (most recent call last):\n  File \"/a/monarch/_src/actor/actor_mesh.py\", line 1194, in handle\n    result = await the_method(*args, **kwargs)\n" +
		"  File \"/w/titan.py\", line 219, in train_step\n    loss.backward()\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 5 has a total capacity of 94.99 GiB of which 5.52 GiB is free.\n"
	for _, c := range []fieldCase{
		{"by nobody that is known", one(fieldSteps + raised), []string{"exception"}, "-"},
		{"and goes on", one(fieldSteps + raised + "step 4 loss 2.11\nstep 5 loss 2.1\nTraining completed\n"), []string{"completed"}, "-"},
		{"by who called an actor", one(fieldSteps + actor), []string{"gpu-oom"}, "-"},
	} {
		c.check(t)
	}
}

// What libraries above CUDA say of a call that failed.
func TestWhichCallOfCUDAFailed(t *testing.T) {
	nccl := func(rank int, text string) string {
		return prefixed(rank, "Traceback (most recent call last):\n  File \"/a/train.py\", line 41, in main\n    dist.all_reduce(t)\ntorch.distributed.DistBackendError: NCCL error in: /a/NCCLUtils.hpp:268, unhandled cuda error (run with NCCL_DEBUG=INFO for details), NCCL version 2.20.5\nncclUnhandledCudaError: Call to CUDA function failed.\nLast error:\nCuda failure "+text+"\n")
	}
	te := func(text string) string {
		return prefixed(13, "Traceback (most recent call last):\n  File \"/a/fused_attn.py\", line 284, in fused_attn_fwd\n    output = tex.fused_attn_fwd(\nRuntimeError: /TransformerEngine/transformer_engine/common/fused_attn/fused_attn_f16_arbitrary_seqlen.cu:534 in function fused_attn_arbitrary_seqlen_fwd_impl: "+text+"\n")
	}
	for _, c := range []fieldCase{
		{"no code for this GPU", one(nccl(0, "'device kernel image is invalid'") + nccl(1, "'device kernel image is invalid'")), []string{"version-mismatch"}, "-"},
		{"a call of NCCL's own", one(nccl(1, "3 'initialization error'")), []string{"cuda-error", "unknown"}, ""},
		{"cuDNN under Transformer Engine", one(fieldSteps + te("cuDNN Error: execute(handle, plan->get_raw_desc(), variant_pack_descriptor.get_ptr()) failed with message: err 700 != CUDA_SUCCESS")), []string{"cuda-error"}, "rank 13"},
		{"cuDNN does not know how", one(te("cuDNN Error: [cudnn_frontend] Error: No execution plans built successfully.")), []string{"exception", "unknown"}, "rank 13"},
	} {
		c.check(t)
	}
}

// A kernel stops its process with a trap or an assertion, which CUDA reports in its own words; what stopped it stands above without a label.
func TestWhatStoppedAKernel(t *testing.T) {
	const (
		numbers  = "NanCheck.cu:189: checkForNaN: block: [0,0,0], thread: [3,0,0] Assertion `!isnan(val)` failed.\n"
		index    = "../aten/src/ATen/native/cuda/Indexing.cu:1308: indexSelectLargeIndex: block: [12,0,0], thread: [32,0,0] Assertion `srcIndex < srcSelectDimSize` failed.\n"
		waited   = "DeepEP timeout check failed: rank = 4, thread = 128, value = 1024)\n"
		asserted = "RuntimeError: CUDA error: device-side assert triggered"
	)
	for _, c := range []fieldCase{
		{"the check for numbers", one(fieldSteps + numbers + raisedBy(9, asserted)), []string{"non-finite-loss"}, "rank 9"},
		{"another check", one(fieldSteps + index + raisedBy(9, asserted)), []string{"cuda-error"}, "rank 9"},
		{"both", one(fieldSteps + numbers + index + raisedBy(9, asserted)), []string{"cuda-error", "non-finite-loss"}, ""},
		{"DeepEP had waited", one(fieldSteps + waited + raisedBy(4, "RuntimeError: CUDA error: unspecified launch failure")), []string{"rank-stalled", "collective-hang", "gpu-hang"}, "-"},
		{"nobody had", one(fieldSteps + raisedBy(4, "RuntimeError: CUDA error: unspecified launch failure")), []string{"cuda-error"}, "rank 4"},
	} {
		c.check(t)
	}
}

// prefixed is what PyTorch's excepthook prints of a rank.
func prefixed(rank int, text string) string {
	var b strings.Builder
	for l := range strings.Lines(text) {
		fmt.Fprintf(&b, "[rank%d]: %s", rank, l)
	}
	return b.String()
}
