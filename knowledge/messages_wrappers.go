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
		Meaning: "Some parameters got no gradient in the last step, so DDP still waits for them.",
		Cause:   "A part of the model that this batch did not use (a branch, a frozen or unused layer), or an output that is not part of the loss.",
		Check:   "The lines below it list the parameters by index, and by name with TORCH_DISTRIBUTED_DEBUG. Take them out, use them in the loss, or find_unused_parameters=True, which costs a walk over the graph in every step.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=INFO", "TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.1 on", Example: "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were not used in producing loss.",
	},
	{
		ID: "ddp-no-grad-names", Literals: []string{"Parameters which did not receive grad for rank "}, Role: SymptomRole, Mechanism: Exception,
		Meaning: "The names of the parameters that got no gradient on this rank.",
		Cause:   "A part of the model that this batch did not use; where the lists of the ranks differ, the branch depends on the data.",
		Check:   "Compare the lists of all ranks: the same everywhere is a layer that is never used, different ones are a branch that depends on the batch.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.9 on", Example: "Parameters which did not receive grad for rank 0: head.weight",
	},
	{
		ID: "ddp-no-grad-indices", Literals: []string{"Parameter indices which did not receive grad for rank "}, Role: SymptomRole, Mechanism: Exception,
		Meaning: "The numbers, in the order of model.parameters(), of the parameters that got no gradient on this rank.",
		Cause:   "A part of the model that this batch did not use.",
		Check:   "Get the names: they are printed with TORCH_DISTRIBUTED_DEBUG.\npython -c 'print([n for n, p in model.named_parameters() if p.requires_grad][INDEX])'",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.9 on", Example: "Parameter indices which did not receive grad for rank 0: 0 1",
	},
	{
		ID: "ddp-different-model", Literals: []string{"DDP expects same model across all ranks"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The ranks wrapped models with different numbers of parameters.",
		Cause:   "A model that depends on the rank, the data or a file that one rank read differently; where the other rank is said to have 0 parameters, that exchange itself failed or a rank was not there.",
		Check:   "Print the number of parameters on every rank; where a 0 stands in the line, look for an earlier NCCL error or timeout instead.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL", "NCCL_DEBUG=WARN"},
		Source:  ddpReducer + ", 1.9 on", Example: "RuntimeError: DDP expects same model across all ranks, but Rank 1 has 338 params, while rank 0 has inconsistent 337 params.",
	},
	{
		ID: "ddp-different-shape", Literals: []string{"in this process with ", " appears not to match ", " of the same param in process 0"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A parameter has another shape or layout on this rank than on rank 0.",
		Cause:   "Different settings, code or vocabulary on the ranks, or a model built from data that each rank read for itself.",
		Check:   "Print shape and name of that parameter on both ranks, and compare the settings and the versions of the code.",
		Source:  ddpReducer + ", 1.9 on", Example: "RuntimeError: [1]: params[0] in this process with sizes [96, 32] appears not to match sizes of the same param in process 0.",
	},
	{
		ID: "ddp-ready-twice", Literals: []string{"Expected to mark a variable ready only once"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A parameter's gradient was finished twice in one backward pass.",
		Cause:   "Activation checkpointing that runs a layer again, a parameter shared by several layers or forward passes, or find_unused_parameters where nothing is unused.",
		Check:   "Use checkpoint(…, use_reentrant=False), or static_graph=True where the graph is the same in every step; the name of the parameter is printed with TORCH_DISTRIBUTED_DEBUG.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.1 on", Example: "RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons:",
	},
	{
		ID: "ddp-graph-changed", Literals: []string{"Your training graph has changed in this iteration"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "DDP was told that every step uses the same parameters, and this one does not.",
		Cause:   "static_graph=True with a branch that depends on the data or on the step (a warm-up, a layer that is unfrozen).",
		Check:   "Leave static_graph out, or let every parameter take part in every step.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  ddpReducer + ", 1.9 on", Example: "RuntimeError: Your training graph has changed in this iteration, e.g., one parameter is unused in first iteration, but then got used in the second iteration.",
	},
	{
		ID: "ddp-nothing-to-train", Literals: []string{"DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A model without anything to train was wrapped in DDP.",
		Cause:   "Everything was frozen (a reference or teacher model, adapters that were added too late).",
		Check:   "Wrap only what is trained, and unfreeze before wrapping.",
		Source:  ddpModule + ", 1.0 on", Example: "RuntimeError: DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.",
	},
	{
		ID: "fsdp-dtype", Literals: []string{"niform dtype but got "}, Role: CauseRole, Mechanism: Exception,
		Meaning: "FSDP must put parameters of different number formats into one piece of memory, which it cannot.",
		Cause:   "Parts of the model in another format than the rest: adapters (LoRA) in float32 on a bfloat16 model, layers kept in float32, quantised weights.",
		Check:   "List the formats, then bring all to one before wrapping, or wrap those parts by themselves; FSDP2 (fully_shard) takes them as they are.\npython -c 'print({p.dtype for p in model.parameters()})'",
		Source:  fsdpFirst + ", 1.12 on", Example: "ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and torch.float32",
	},
	{
		ID: "fsdp-requires-grad", Literals: []string{"niform `requires_grad`"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "FSDP must put frozen and trained parameters into one piece of memory, which it cannot.",
		Cause:   "A partly frozen model (adapters, a frozen embedding) with use_orig_params=False.",
		Check:   "use_orig_params=True, or a wrapping policy that keeps frozen and trained parameters apart.",
		Source:  fsdpFirst + ", 1.12 on", Example: "ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`",
	},
	{
		ID: "fsdp-meta", Literals: []string{"parameters should be materialized from meta device before training"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "Some parameters were never given memory and values: they still stand on the meta device.",
		Cause:   "The model was built under torch.device(\"meta\"), and to_empty(), the initialisation or the loading of the weights left these out.",
		Check:   "The names in the line: are they in the checkpoint? Call to_empty(device=…) and initialise what the checkpoint lacks.",
		Source:  fsdpSecond + ", 2.4 on", Example: "RuntimeError: FSDP parameters should be materialized from meta device before training, but the following were still on meta device: ['0.weight']",
	},
	{
		ID: "meta-copy", Literals: []string{"Cannot copy out of meta tensor; no data!"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A tensor on the meta device has a shape, but no values that could be moved.",
		Cause:   "model.to(device) on a model that was built without memory: FSDP, Accelerate or Transformers with low_cpu_mem_usage.",
		Check:   "Use to_empty(device=…) and load the weights after it; does every parameter stand in the checkpoint?",
		Source:  "PyTorch aten/src/ATen, 1.13 on", Example: "NotImplementedError: Cannot copy out of meta tensor; no data!",
	},
	{
		ID: "fsdp-offload", Literals: []string{"parameters should be materialized on CPU when enabling CPU offloading"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "FSDP should keep the parameters in host memory, and finds some elsewhere.",
		Cause:   "Weights that were loaded onto the GPU, or a call of model.cuda(), with CPU offloading switched on.",
		Check:   "Load on the CPU, or to_empty(device=\"cpu\"), and leave out moves to the GPU.",
		Source:  fsdpSecond + ", 2.4 on", Example: "RuntimeError: FSDP parameters should be materialized on CPU when enabling CPU offloading. Found following parameters on non-CPU device: ['0.weight']",
	},
	{
		ID: "fsdp-device", Literals: []string{"Inconsistent compute device and `device_id`"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The model is on another GPU than the one that FSDP was told to use.",
		Cause:   "A model that was loaded onto a fixed GPU or spread over all (device_map=\"auto\"), or a process that did not choose its GPU by LOCAL_RANK.",
		Check:   "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"])) before anything is loaded; no device_map.\nprintenv LOCAL_RANK CUDA_VISIBLE_DEVICES",
		Source:  "PyTorch torch/distributed/fsdp/_init_utils.py, 1.13 on", Example: "ValueError: Inconsistent compute device and `device_id` on rank 1: cuda:0 vs cuda:1",
	},
	{
		ID: "fsdp-root", Literals: []string{"on-root FSDP instance's `_is_root` should not have been set yet"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "An inner part of an FSDP model was called before the model as a whole.",
		Cause:   "A forward pass or a state_dict of a wrapped submodule (generate, an encoder) before the first forward pass of the outer one.",
		Check:   "Call the outermost wrapped module first, or summon_full_params around what needs an inner one.",
		Source:  "PyTorch torch/distributed/fsdp/_runtime_utils.py, 1.12 on", Example: "AssertionError: Non-root FSDP instance's `_is_root` should not have been set yet or should have been set to `False`",
	},
	{
		ID: "fsdp-weight-flat", Literals: []string{"'weight' must be 2-D"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "An embedding's weight is empty or flat: mostly FSDP or ZeRO holds only a piece of it at this moment.",
		Cause:   "A wrapped submodule that is used past the forward pass of the module that gathers its weights.",
		Check:   "Call through the outermost module; keep shared embeddings in one wrapped unit.",
		Source:  "PyTorch aten/src/ATen/native/Embedding.cpp", Example: "RuntimeError: 'weight' must be 2-D",
	},
	{
		ID: "fsdp-state", Literals: []string{"expected to be in states ", " but current state is "}, Role: CauseRole, Mechanism: Exception,
		Meaning: "Something was asked of an FSDP module that is not allowed at this point of a step.",
		Cause:   "state_dict, clip_grad_norm_ or another forward pass inside a forward or backward pass, or after an exception that was caught.",
		Check:   "Is there an earlier exception that the program swallowed (an out-of-memory handler)? Else move the call behind the step.",
		Source:  "PyTorch torch/distributed/fsdp, 1.11 on", Example: "ValueError: expected to be in states [<TrainingState_.IDLE: 1>] but current state is TrainingState_.FORWARD",
	},
}
