package knowledge

const (
	ddpReducer = "PyTorch torch/csrc/distributed/c10d/reducer.cpp"
	ddpModule  = "PyTorch torch/nn/parallel/distributed.py"
	fsdpFirst  = "PyTorch torch/distributed/fsdp/_flat_param.py"
	fsdpSecond = "PyTorch torch/distributed/fsdp/_fully_shard"
)

// wrapperMessages are those of DDP and FSDP.
var wrapperMessages = []Message{
	{
		ID: "ddp-unused", Literals: []string{"Expected to have finished reduction in the prior iteration before starting a new one"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "Some parameters got no gradient in the last step, so DDP is still waiting for them.",
		Cause:   "This batch skipped part of the model (a branch, a frozen or unused layer), or an output isn't part of the loss.",
		Check:   "The lines below it list the parameters by index, and by name with TORCH_DISTRIBUTED_DEBUG. Remove them, use them in the loss, or set find_unused_parameters=True (costs a graph traversal every step).",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=INFO", "TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.1 and later", Example: "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were not used in producing loss.",
	},
	{
		ID: "ddp-no-grad-names", Literals: []string{"Parameters which did not receive grad for rank "}, Role: SymptomRole, Mechanism: Exception,
		Meaning: "It lists the parameters that got no gradient on this rank.",
		Cause:   "This batch skipped part of the model. If the lists differ between ranks, a branch depends on the data.",
		Check:   "Compare the lists from all ranks: the same everywhere means a layer that is never used, different lists mean a branch that depends on the batch.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.9 and later", Example: "Parameters which did not receive grad for rank 0: head.weight",
	},
	{
		ID: "ddp-no-grad-indices", Literals: []string{"Parameter indices which did not receive grad for rank "}, Role: SymptomRole, Mechanism: Exception,
		Meaning: "It lists the parameters that got no gradient on this rank, by their index in model.parameters().",
		Cause:   "This batch skipped part of the model.",
		Check:   "Get the names: TORCH_DISTRIBUTED_DEBUG prints them.\npython -c 'print([n for n, p in model.named_parameters() if p.requires_grad][INDEX])'",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.9 and later", Example: "Parameter indices which did not receive grad for rank 0: 0 1",
	},
	{
		ID: "ddp-different-model", Literals: []string{"DDP expects same model across all ranks"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The ranks wrapped models with different numbers of parameters.",
		Cause:   "The model depends on the rank, on the data, or on a file that one rank read differently. If the line gives the other rank 0 parameters, the exchange itself failed or a rank was missing.",
		Check:   "Print the number of parameters on every rank. If the line contains a 0, look for an earlier NCCL error or timeout instead.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL", "NCCL_DEBUG=WARN"},
		Source:  ddpReducer + ", 1.9 and later", Example: "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 338 params, while rank 0 has inconsistent 337 params.",
	},
	{
		ID: "ddp-different-shape", Literals: []string{"in this process with ", " appears not to match ", " of the same param in process 0"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A parameter has a different shape or layout on this rank than on rank 0.",
		Cause:   "The ranks run with different settings, code or vocabulary, or each rank built its model from data it read itself.",
		Check:   "Print that parameter's name and shape on both ranks, and compare settings and code versions.",
		Source:  ddpReducer + ", 1.9 and later", Example: "RuntimeError: [1]: params[0] in this process with sizes [96, 32] appears not to match sizes of the same param in process 0.",
	},
	{
		ID: "ddp-ready-twice", Literals: []string{"Expected to mark a variable ready only once"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A parameter's gradient was marked ready twice in one backward pass.",
		Cause:   "Activation checkpointing reruns a layer, layers or forward passes share a parameter, or find_unused_parameters is set although nothing is unused.",
		Check:   "Use checkpoint(…, use_reentrant=False), or static_graph=True if the graph is the same in every step. TORCH_DISTRIBUTED_DEBUG prints the parameter's name.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.1 and later", Example: "RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons:",
	},
	{
		ID: "ddp-graph-changed", Literals: []string{"Your training graph has changed in this iteration"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "DDP was told that every step uses the same parameters, but this one doesn't.",
		Cause:   "static_graph=True is set, but a branch depends on the data or the step (a warm-up, a layer being unfrozen).",
		Check:   "Turn off static_graph, or make every parameter take part in every step.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.9 and later", Example: "RuntimeError: Your training graph has changed in this iteration, e.g., one parameter is unused in first iteration, but then got used in the second iteration.",
	},
	{
		ID: "ddp-nothing-to-train", Literals: []string{"DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A model with nothing to train was wrapped in DDP.",
		Cause:   "Every parameter was frozen (a reference or teacher model, or adapters added too late).",
		Check:   "Wrap only trained modules, and unfreeze them before wrapping.",
		Source:  ddpModule + ", 1.0 and later", Example: "RuntimeError: DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.",
	},
	{
		ID: "fsdp-dtype", Literals: []string{"niform dtype but got "}, Role: CauseRole, Mechanism: Exception,
		Meaning: "FSDP can't flatten parameters with different data types into one buffer.",
		Cause:   "Parts of the model have another data type than the rest: float32 adapters (LoRA) on a bfloat16 model, layers kept in float32, quantized weights.",
		Check:   "List the data types, then convert all to one before wrapping, or wrap those parts separately. FSDP2 (fully_shard) accepts mixed types.\npython -c 'print({p.dtype for p in model.parameters()})'",
		Source:  fsdpFirst + ", 1.12 and later", Example: "ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and torch.float32",
	},
	{
		ID: "fsdp-requires-grad", Literals: []string{"niform `requires_grad`"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "FSDP can't flatten frozen and trained parameters into one buffer.",
		Cause:   "The model is partly frozen (adapters, a frozen embedding) and use_orig_params=False.",
		Check:   "Set use_orig_params=True, or use a wrapping policy that keeps frozen and trained parameters apart.",
		Source:  fsdpFirst + ", 1.12 and later", Example: "ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`",
	},
	{
		ID: "fsdp-meta", Literals: []string{"parameters should be materialized from meta device before training"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "Some parameters are still on the meta device: they never got memory or values.",
		Cause:   "The model was built under torch.device(\"meta\"), and to_empty(), initialization or weight loading skipped these parameters.",
		Check:   "See whether the checkpoint has the names in the line. Call to_empty(device=…) and initialize what it lacks.",
		Source:  fsdpSecond + ", 2.4 and later", Example: "RuntimeError: FSDP parameters should be materialized from meta device before training, but the following were still on meta device: ['0.weight']",
	},
	{
		ID: "meta-copy", Literals: []string{"Cannot copy out of meta tensor; no data!"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A tensor on the meta device has a shape but no data to copy.",
		Cause:   "model.to(device) was called on a model built on the meta device: FSDP, Accelerate, or Transformers with low_cpu_mem_usage.",
		Check:   "Use to_empty(device=…), then load the weights, and make sure the checkpoint has every parameter.",
		Source:  "PyTorch aten/src/ATen, 1.13 and later", Example: "NotImplementedError: Cannot copy out of meta tensor; no data!",
	},
	{
		ID: "fsdp-offload", Literals: []string{"parameters should be materialized on CPU when enabling CPU offloading"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "FSDP's CPU offloading expects all parameters on the CPU, but some are elsewhere.",
		Cause:   "The weights were loaded onto the GPU, or model.cuda() was called, with CPU offloading on.",
		Check:   "Load on the CPU or use to_empty(device=\"cpu\"), and don't move the model to the GPU.",
		Source:  fsdpSecond + ", 2.4 and later", Example: "RuntimeError: FSDP parameters should be materialized on CPU when enabling CPU offloading. Found following parameters on non-CPU device: ['0.weight']",
	},
	{
		ID: "fsdp-device", Literals: []string{"Inconsistent compute device and `device_id`"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The model is on a different GPU than the one FSDP was told to use.",
		Cause:   "The model was loaded onto a fixed GPU or spread across all (device_map=\"auto\"), or the process didn't choose its GPU by LOCAL_RANK.",
		Check:   "Call torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) before loading anything, and don't use device_map.\nprintenv LOCAL_RANK CUDA_VISIBLE_DEVICES",
		Source:  "PyTorch torch/distributed/fsdp/_init_utils.py, 1.13 and later", Example: "ValueError: Inconsistent compute device and `device_id` on rank 1: cuda:0 vs cuda:1",
	},
	{
		ID: "fsdp-root", Literals: []string{"on-root FSDP instance's `_is_root` should not have been set yet"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "An inner FSDP module was called before the outermost one.",
		Cause:   "A wrapped submodule (generate, an encoder) ran forward or state_dict before the outermost module's first forward pass.",
		Check:   "Call the outermost wrapped module first, or put summon_full_params around code that needs an inner one.",
		Source:  "PyTorch torch/distributed/fsdp/_runtime_utils.py, 1.12 and later", Example: "AssertionError: Non-root FSDP instance's `_is_root` should not have been set yet or should have been set to `False`",
	},
	{
		ID: "fsdp-weight-flat", Literals: []string{"'weight' must be 2-D"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "An embedding's weight is empty or flat: usually FSDP or ZeRO holds only a shard of it at that point.",
		Cause:   "A wrapped submodule is called outside the forward pass of the module that gathers its weights.",
		Check:   "Call it through the outermost module, and keep shared embeddings in one wrapped unit.",
		Source:  "PyTorch aten/src/ATen/native/Embedding.cpp", Example: "RuntimeError: 'weight' must be 2-D",
	},
	{
		ID: "fsdp-state", Literals: []string{"expected to be in states ", " but current state is "}, Role: CauseRole, Mechanism: Exception,
		Meaning: "An FSDP module got a call that isn't allowed at this point of a step.",
		Cause:   "state_dict, clip_grad_norm_ or another forward pass ran inside a forward or backward pass, or after a caught exception.",
		Check:   "Look for an earlier exception that the program swallowed (an out-of-memory handler). If there is none, move the call after the step.",
		Source:  "PyTorch torch/distributed/fsdp, 1.11 and later", Example: "ValueError: expected to be in states [<TrainingState_.IDLE: 1>] but current state is TrainingState_.FORWARD",
	},
}
