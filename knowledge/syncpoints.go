package knowledge

import (
	"slices"
	"strings"
)

// SyncPoint is a place at which a framework makes all ranks of a group wait for each other. What a watchdog prints
// (operation, size, group) rarely tells one from another: look-ups give sets, and only a stack names one.
type SyncPoint struct {
	ID   string
	Name string // in people's words, to follow "consistent with"
	// Frameworks of which a line must have been seen; empty: any PyTorch job.
	Frameworks []string
	Uses       []SyncUse
	// Except are frameworks that do without it: a job of which only such were seen has none.
	Except []string
	// Frames of which one must stand in the stack of the call.
	Frames []SyncFrame
	When   string // start, load, forward, backward, step, save, evaluation, any
	// Sender is the group rank that a broadcast of it comes from, in words; it finishes before those who receive.
	Sender string
	Waits  string // who waits for whom, one sentence
	Check  string // what to check or to change, one sentence
	Source string // project, file, function and version the facts come from
}

// SyncUse is one operation of a synchronisation point as the watchdog prints it.
type SyncUse struct {
	Op       string // OpType of WorkNCCL
	Min, Max int64  // NumelIn; 0: no bound
	Multiple int64  // NumelIn is a multiple of it; 0: of anything
	// Groups are words of the group's description, of which it must hold one; "default" is the default group; empty: any.
	Groups []string
}

// SyncFrame is a frame of a Python stack: a function, and what its file ends with.
type SyncFrame struct {
	Func, File string
}

const (
	oneElement = 1
	distC10d   = "torch/distributed/distributed_c10d.py"
)

// noTorchDDP are frameworks that do not wrap models in PyTorch's DistributedDataParallel.
var noTorchDDP = []string{"megatron", "torchtitan", "deepspeed", "maxtext", "sglang"}

var syncPoints = []SyncPoint{
	{ID: "nemo-preemption", Name: "NeMo's PreemptionCallback at the end of a step", Frameworks: []string{"nemo"},
		Uses:   []SyncUse{{Op: "BROADCAST", Min: oneElement, Max: oneElement, Groups: []string{"default"}}},
		Frames: []SyncFrame{{"interrupted", "nemo/utils/callbacks/preemption.py"}, {"on_train_batch_end", "nemo/utils/callbacks/preemption.py"}},
		When:   "step", Sender: "rank 0",
		Waits:  "every rank waits for rank 0's flag after each step; rank 0 continues as soon as it has sent it",
		Check:  "find out why a rank did not finish the step; the callback itself can be disabled with exp_manager.create_preemption_callback=False",
		Source: "NeMo 1.20 to 2.x nemo/utils/callbacks/preemption.py PreemptionCallback.interrupted: an int32 scalar, torch.distributed.broadcast(interrupted, 0)"},
	{ID: "nemo-checkpoint", Name: "NeMo's checkpoint callback during setup or restore", Frameworks: []string{"nemo"},
		Uses: []SyncUse{{Op: "BROADCAST", Groups: []string{"default"}}, {Op: "ALLREDUCE", Min: oneElement, Max: oneElement, Groups: []string{"default"}},
			{Op: "BARRIER", Groups: []string{"default"}}},
		Frames: []SyncFrame{{"setup", "nemo/utils/callbacks/nemo_model_checkpoint.py"}, {"on_train_end", "nemo/utils/callbacks/nemo_model_checkpoint.py"},
			{"on_save_checkpoint", "nemo/utils/callbacks/nemo_model_checkpoint.py"}, {"file_exists", "nemo/utils/callbacks/nemo_model_checkpoint.py"},
			{"_save_checkpoint", "nemo/utils/callbacks/nemo_model_checkpoint.py"}},
		When: "save", Sender: "rank 0",
		Waits:  "all ranks wait for the paths rank 0 read or chose, and at barriers for its file operations",
		Check:  "check what rank 0 is doing on the checkpoint file system; raise the timeout if a save legitimately takes that long",
		Source: "NeMo 2.x nemo/utils/callbacks/nemo_model_checkpoint.py: setup() barrier and two trainer.strategy.broadcast(), on_train_end() broadcast, on_save_checkpoint() barrier"},
	{ID: "lightning-broadcast", Name: "a broadcast in Lightning's strategy (as during saves)", Frameworks: []string{"lightning", "nemo"},
		Uses:   []SyncUse{{Op: "BROADCAST", Groups: []string{"default"}}},
		Frames: []SyncFrame{{"broadcast", "pytorch/strategies/ddp.py"}, {"broadcast", "pytorch_lightning/strategies/ddp.py"}, {"broadcast", "pytorch/strategies/fsdp.py"}},
		When:   "save", Sender: "rank 0",
		Waits:  "all ranks wait for an object from rank 0: first one element with its length, then its bytes",
		Check:  "check that every rank reaches the callback: a broadcast inside `if rank == 0` hangs the other ranks",
		Source: "Lightning 2.x pytorch/strategies/ddp.py DDPStrategy.broadcast: torch.distributed.broadcast_object_list([obj], src, group=WORLD)"},
	{ID: "lightning-barrier", Name: "a barrier in Lightning's strategy (as around saves and validation)", Frameworks: []string{"lightning", "nemo"},
		Uses: []SyncUse{{Op: "ALLREDUCE", Min: oneElement, Max: oneElement, Groups: []string{"default"}}, {Op: "BARRIER", Groups: []string{"default"}}},
		Frames: []SyncFrame{{"barrier", "pytorch/strategies/ddp.py"}, {"barrier", "pytorch_lightning/strategies/ddp.py"},
			{"barrier", "pytorch/strategies/fsdp.py"}},
		When:   "save",
		Waits:  "no rank leaves until all have arrived",
		Check:  "look for work that only one rank does before the barrier: a save, a download, an evaluation",
		Source: "Lightning 2.x pytorch/strategies/ddp.py DDPStrategy.barrier: torch.distributed.barrier(device_ids=…)"},
	{ID: "object-broadcast", Name: "the broadcast of a Python object (first its length, then its bytes)",
		Uses:   []SyncUse{{Op: "BROADCAST"}},
		Frames: []SyncFrame{{"broadcast_object_list", distC10d}},
		When:   "any", Sender: "its source rank",
		Waits:  "the receivers wait for the source rank, which continues once it has sent",
		Check:  "check that every rank calls it exactly as often as the source rank does",
		Source: "PyTorch 1.13 to recent torch/distributed/distributed_c10d.py broadcast_object_list: broadcast(object_sizes_tensor, one element for each object), then the bytes"},
	{ID: "ddp-buffers", Name: "DistributedDataParallel's buffer broadcast before a forward pass", Except: noTorchDDP,
		Uses:   []SyncUse{{Op: "BROADCAST", Groups: []string{"default", "data", "replicate"}}},
		Frames: []SyncFrame{{"_sync_buffers", "torch/nn/parallel/distributed.py"}, {"_sync_module_buffers", "torch/nn/parallel/distributed.py"}, {"_sync_params", "torch/nn/parallel/distributed.py"}},
		When:   "forward", Sender: "group rank 0",
		Waits:  "all ranks receive group rank 0's buffers (such as batch-norm statistics) at each forward pass; group rank 0 continues once it has sent them",
		Check:  "broadcast_buffers=False removes it if buffers need not agree; you still have to explain the missing rank",
		Source: "PyTorch 1.13 to recent torch/nn/parallel/distributed.py: broadcast_buffers is on by default, _sync_buffers broadcasts coalesced from rank 0, up to 250 MiB a bucket"},
	{ID: "ddp-start", Name: "DistributedDataParallel's constructor (it compares and broadcasts the parameters)", Except: noTorchDDP,
		Uses: []SyncUse{{Op: "ALLGATHER", Groups: []string{"default", "data", "replicate"}}, {Op: "BROADCAST", Groups: []string{"default", "data", "replicate"}}},
		Frames: []SyncFrame{{"_verify_param_shape_across_processes", "torch/distributed/utils.py"}, {"_sync_module_states", "torch/distributed/utils.py"},
			{"_sync_params_and_buffers", "torch/distributed/utils.py"}},
		When: "start", Sender: "group rank 0",
		Waits:  "all ranks compare parameters and receive group rank 0's",
		Check:  "check that every rank builds the same model, and that none is still loading it",
		Source: "PyTorch 1.13 to recent torch/distributed/utils.py _verify_param_shape_across_processes, _sync_module_states (buckets of 250 MiB)"},
	{ID: "deepspeed-gradients", Name: "DeepSpeed's gradient reduction", Frameworks: []string{"deepspeed"},
		Uses:   []SyncUse{{Op: "ALLREDUCE", Min: 2}, {Op: "REDUCE", Min: 2}, {Op: "_REDUCE_SCATTER_BASE", Min: 2}},
		When:   "backward",
		Waits:  "every rank waits for all other ranks' gradients, bucket by bucket",
		Check:  "check whether every rank ran a backward pass: uneven batches break it",
		Source: "DeepSpeed 0.6 to 0.15 deepspeed/runtime/zero/constants.py: reduce_bucket_size, 500,000,000 elements by default"},
	{ID: "deepspeed-gather", Name: "ZeRO-3's all-gather of parameters", Frameworks: []string{"deepspeed", ""},
		Uses:   []SyncUse{{Op: "_ALLGATHER_BASE", Min: 2}},
		Frames: []SyncFrame{{"all_gather_coalesced", "deepspeed/runtime/zero/partition_parameters.py"}},
		When:   "forward",
		Waits:  "every rank needs the other ranks' shards of a layer before it can compute it, forward and backward",
		Check:  "check whether every rank runs the same layers: under ZeRO-3, a layer that only some ranks use hangs the rest",
		Source: "DeepSpeed 0.6 to 0.15 deepspeed/runtime/zero/partition_parameters.py all_gather_coalesced"},
	{ID: "ddp-gradients", Name: "the gradient all-reduce in the backward pass (as in DistributedDataParallel)",
		Uses:   []SyncUse{{Op: "ALLREDUCE", Min: 2, Groups: []string{"default", "data", "replicate"}}},
		When:   "backward", // launched by the reducer, in C++: no Python frame of its own
		Waits:  "every rank waits for all other ranks' gradients, bucket by bucket",
		Check:  "check whether every rank ran a backward pass with the same parameters: uneven batches and unused parameters break it",
		Source: "PyTorch 1.13 to recent torch/csrc/distributed/c10d/reducer.hpp: buckets of 25 MiB (the first 1 MiB; a last one holds what is left); overridden by bucket_cap_mb"},
	{ID: "barrier", Name: "a barrier",
		Uses:   []SyncUse{{Op: "ALLREDUCE", Min: oneElement, Max: oneElement}, {Op: "BARRIER"}},
		Frames: []SyncFrame{{"barrier", distC10d}},
		When:   "any",
		Waits:  "no rank leaves until all have arrived",
		Check:  "look for work that only one rank does before the barrier: a save, a download, an evaluation",
		Source: "PyTorch 1.13 to recent ProcessGroupNCCL::barrier: an all-reduce of one element"},
	{ID: "ddp-join", Name: "join()'s count of the ranks that still have data", Except: noTorchDDP,
		Uses:   []SyncUse{{Op: "ALLREDUCE", Min: oneElement, Max: oneElement, Groups: []string{"default", "data", "replicate"}}},
		Frames: []SyncFrame{{"_get_num_nonjoined_procs", "torch/distributed/algorithms/join.py"}, {"notify_join_context", "torch/distributed/algorithms/join.py"}},
		When:   "step",
		Waits:  "every rank reports at each step whether it has data left",
		Check:  "compare the ranks' batch counts",
		Source: "PyTorch 1.13 to recent torch/distributed/algorithms/join.py: all_reduce of a tensor of one element"},
	{ID: "object-gather", Name: "a gather of Python objects (first their lengths)",
		Uses:   []SyncUse{{Op: "ALLGATHER"}, {Op: "GATHER"}},
		Frames: []SyncFrame{{"all_gather_object", distC10d}, {"gather_object", distC10d}},
		When:   "any",
		Waits:  "every rank waits for all other ranks' objects",
		Check:  "check that every rank calls it the same number of times",
		Source: "PyTorch 1.13 to recent torch/distributed/distributed_c10d.py all_gather_object: all_gather of one length each, then of the bytes"},
	{ID: "dcp-plan", Name: "a distributed checkpoint's exchange of plans",
		Uses: []SyncUse{{Op: "ALLGATHER"}, {Op: "GATHER"}, {Op: "SCATTER"}, {Op: "BROADCAST"}},
		Frames: []SyncFrame{{"reduce_scatter", "torch/distributed/checkpoint/utils.py"}, {"all_reduce", "torch/distributed/checkpoint/utils.py"},
			{"broadcast", "torch/distributed/checkpoint/utils.py"}, {"scatter_object", "torch/distributed/checkpoint/utils.py"},
			{"gather_object", "torch/distributed/checkpoint/utils.py"}, {"all_gather_object", "torch/distributed/checkpoint/utils.py"},
			{"broadcast_object", "torch/distributed/checkpoint/utils.py"}},
		When: "save", Sender: "the coordinator, rank 0 by default",
		Waits:  "the coordinator gathers every rank's plan or result and sends the answer back: one rank still writing blocks all",
		Check:  "look for the rank still writing or reading its shard; raise the checkpoint group's timeout, or save asynchronously",
		Source: "PyTorch 2.x torch/distributed/checkpoint/utils.py _DistWrapper: gather_object, then scatter_object or broadcast_object from the coordinator"},
	{ID: "fsdp-gather", Name: "FSDP's all-gather of parameters", Frameworks: []string{"fsdp", "torchtitan", "hf-trainer", "lightning", ""},
		Uses: []SyncUse{{Op: "_ALLGATHER_BASE", Min: 2, Groups: []string{"default", "shard", "data", "fsdp"}}, {Op: "ALLGATHER_INTO_TENSOR_COALESCED"}},
		Frames: []SyncFrame{{"_all_gather_flat_param", "torch/distributed/fsdp/flat_param.py"}, {"_all_gather_flat_param", "torch/distributed/fsdp/_flat_param.py"},
			{"foreach_all_gather", "fsdp/_fsdp_collectives.py"}, {"foreach_all_gather", "_fsdp_collectives.py"}},
		When:   "forward",
		Waits:  "every rank needs the other ranks' shards before it can compute a layer, forward and backward",
		Check:  "check whether the missing rank was in the step at all: loading data, saving, or past it",
		Source: "PyTorch 2.x torch/distributed/fsdp/_flat_param.py _all_gather_flat_param; fully_shard/_fsdp_collectives.py foreach_all_gather"},
	{ID: "fsdp-reduce", Name: "FSDP's reduce-scatter of gradients", Frameworks: []string{"fsdp", "torchtitan", "hf-trainer", "lightning", ""},
		Uses:   []SyncUse{{Op: "_REDUCE_SCATTER_BASE", Min: 2, Groups: []string{"default", "shard", "data", "fsdp"}}},
		Frames: []SyncFrame{{"_post_backward_hook", "torch/distributed/fsdp/_runtime_utils.py"}, {"foreach_reduce", "_fsdp_collectives.py"}},
		When:   "backward",
		Waits:  "every rank waits for all other ranks' gradients, layer by layer",
		Check:  "check whether every rank ran the same layers backward",
		Source: "PyTorch 2.x torch/distributed/fsdp/_runtime_utils.py _post_backward_hook; fully_shard/_fsdp_collectives.py foreach_reduce"},
	{ID: "megatron-data", Name: "Megatron's broadcast of the batch inside a tensor-parallel group", Frameworks: []string{"megatron", "nemo"},
		Uses:   []SyncUse{{Op: "BROADCAST", Groups: []string{"tensor"}}},
		Frames: []SyncFrame{{"broadcast_data", "tensor_parallel/data.py"}, {"_build_key_size_numel_dictionaries", "tensor_parallel/data.py"}},
		When:   "forward", Sender: "tensor-parallel rank 0",
		Waits:  "the ranks of a tensor-parallel group wait for its first rank, the only one that loads data",
		Check:  "check data loading on the group's first rank",
		Source: "Megatron-LM megatron/core/tensor_parallel/data.py broadcast_data: sizes first (five numbers for each key), then the batch"},
	{ID: "megatron-layer", Name: "the exchange of activations inside a layer (tensor parallelism)", Frameworks: []string{"megatron", "nemo"},
		Uses:   []SyncUse{{Op: "ALLREDUCE", Min: 2, Groups: []string{"tensor"}}, {Op: "_ALLGATHER_BASE", Groups: []string{"tensor"}}, {Op: "_REDUCE_SCATTER_BASE", Groups: []string{"tensor"}}},
		Frames: []SyncFrame{{"_reduce", "tensor_parallel/mappings.py"}, {"_gather_along_first_dim", "tensor_parallel/mappings.py"}, {"_reduce_scatter_along_first_dim", "tensor_parallel/mappings.py"}},
		When:   "forward",
		Waits:  "ranks that share a layer wait for each other several times in it, forward and backward",
		Check:  "check what the missing rank is doing: it left the layer, or is waiting in another group",
		Source: "Megatron-LM megatron/core/tensor_parallel/mappings.py _reduce, _gather_along_first_dim, _reduce_scatter_along_first_dim"},
	{ID: "megatron-loss", Name: "Megatron's loss averaging over the data-parallel group", Frameworks: []string{"megatron", "nemo"},
		Uses:   []SyncUse{{Op: "ALLREDUCE", Min: 1, Max: 16, Groups: []string{"data"}}},
		Frames: []SyncFrame{{"average_losses_across_data_parallel_group", "utils.py"}},
		When:   "step",
		Waits:  "every replica waits for all replicas' losses",
		Check:  "check which replica did not finish its forward pass",
		Source: "Megatron-LM megatron/training/utils.py average_losses_across_data_parallel_group: one element for each loss"},
	{ID: "megatron-overflow", Name: "Megatron's overflow check or gradient norm over the model-parallel group", Frameworks: []string{"megatron", "nemo"},
		Uses: []SyncUse{{Op: "ALLREDUCE", Min: oneElement, Max: oneElement, Groups: []string{"model", "default"}}},
		Frames: []SyncFrame{{"_unscale_main_grads_and_check_for_nan", "optimizer/optimizer.py"}, {"get_grad_norm_fp32", "optimizer/clip_grads.py"},
			{"reduce_max_stat_across_model_parallel_group", "utils.py"}, {"logical_and_across_model_parallel_group", "utils.py"}},
		When:   "step",
		Waits:  "all parts of a model wait for each other before the optimizer step",
		Check:  "check which part did not finish its backward pass",
		Source: "Megatron-LM megatron/core/optimizer/optimizer.py _unscale_main_grads_and_check_for_nan; megatron/training/utils.py reduce_max_stat_across_model_parallel_group"},
	{ID: "megatron-timer", Name: "a barrier in Megatron's timers", Frameworks: []string{"megatron", "nemo"},
		Uses:   []SyncUse{{Op: "ALLREDUCE", Min: oneElement, Max: oneElement, Groups: []string{"default"}}, {Op: "BARRIER", Groups: []string{"default"}}},
		Frames: []SyncFrame{{"start", "megatron/core/timers.py"}, {"stop", "megatron/core/timers.py"}},
		When:   "any",
		Waits:  "no rank starts or stops the clock until all have arrived",
		Check:  "--no-barrier-with-level-1-timing removes the barriers; you still have to explain the missing rank",
		Source: "Megatron-LM megatron/core/timers.py Timer.start: torch.distributed.barrier(group=self._barrier_group) if barrier"},
	{ID: "deepspeed-overflow", Name: "DeepSpeed's overflow check", Frameworks: []string{"deepspeed"},
		Uses:   []SyncUse{{Op: "ALLREDUCE", Min: oneElement, Max: oneElement}},
		Frames: []SyncFrame{{"has_overflow", "deepspeed/runtime/zero/stage_1_and_2.py"}, {"has_overflow", "deepspeed/runtime/zero/stage3.py"}, {"has_overflow", "deepspeed/runtime/utils.py"}},
		When:   "step",
		Waits:  "every rank reports before the optimizer step whether its gradients overflowed",
		Check:  "check which rank did not finish its backward pass",
		Source: "DeepSpeed 0.6 to 0.15 deepspeed/runtime/zero/stage_1_and_2.py has_overflow: all_reduce MAX of one byte"},
	{ID: "hf-loss", Name: "the Trainer's or Accelerate's gather of one number per rank (such as the loss)", Frameworks: []string{"hf-trainer"},
		Uses:   []SyncUse{{Op: "_ALLGATHER_BASE", Min: oneElement, Max: oneElement}, {Op: "ALLGATHER", Min: oneElement, Max: oneElement}},
		Frames: []SyncFrame{{"_nested_gather", "transformers/trainer.py"}, {"_gpu_gather_one", "accelerate/utils/operations.py"}, {"_gpu_gather", "accelerate/utils/operations.py"}},
		When:   "step",
		Waits:  "every rank waits for all other ranks' losses whenever the loss is logged",
		Check:  "compare the ranks' step counts",
		Source: "Transformers 4.x trainer.py _maybe_log_save_evaluate: self._nested_gather(tr_loss); Accelerate utils/operations.py _gpu_gather_one: all_gather_into_tensor"},
}

// SyncPoints returns all synchronisation points, in the order in which sets name them: the more particular first.
func SyncPoints() []SyncPoint { return slices.Clone(syncPoints) }

// SyncPointsFor lists the points that an operation with its size, in a group whose description has these words, is
// consistent with, in a job of which these frameworks were seen. A size below zero is not known.
func SyncPointsFor(op string, numel int64, words, frameworks []string) []SyncPoint {
	var out []SyncPoint
	for _, p := range syncPoints {
		if len(p.Frameworks) > 0 && !intersects(p.Frameworks, frameworks) && (len(frameworks) > 0 || !slices.Contains(p.Frameworks, "")) {
			continue
		}
		if len(frameworks) > 0 && !slices.ContainsFunc(frameworks, func(f string) bool { return !slices.Contains(p.Except, f) }) {
			continue
		}
		if slices.ContainsFunc(p.Uses, func(u SyncUse) bool { return u.fits(op, numel, words) }) {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b SyncPoint) int { return general(a) - general(b) })
	return out
}

// general is 0 of what a framework does that was seen, 1 of what any PyTorch job may do.
func general(p SyncPoint) int {
	if len(p.Frameworks) > 0 {
		return 0
	}
	return 1
}

// SyncPointAt finds the point that a frame of a Python stack names.
func SyncPointAt(function, file string) (SyncPoint, bool) {
	file = strings.ReplaceAll(file, `\`, "/")
	for _, p := range syncPoints {
		for _, f := range p.Frames {
			if f.Func == function && (file == f.File || strings.HasSuffix(file, "/"+f.File)) {
				return p, true
			}
		}
	}
	return SyncPoint{}, false
}

func (u SyncUse) fits(op string, numel int64, words []string) bool {
	if op != u.Op || len(u.Groups) > 0 && len(words) > 0 && !intersects(u.Groups, words) {
		return false
	}
	return numel < 0 || (u.Min == 0 || numel >= u.Min) && (u.Max == 0 || numel <= u.Max) && (u.Multiple == 0 || numel%u.Multiple == 0)
}

func intersects(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
