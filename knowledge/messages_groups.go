package knowledge

const (
	groupNCCL = "PyTorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp"
	groupAPI  = "PyTorch torch/distributed/distributed_c10d.py"
)

// groupMessages are those of process groups (c10d) and of the launcher.
var groupMessages = []Message{
	{
		ID: "c10d-no-gpu", Literals: []string{"ProcessGroupNCCL is only supported with GPUs, no GPUs found!"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The process sees no GPU, and NCCL needs one.",
		Cause:   "A job or task without GPUs, an empty CUDA_VISIBLE_DEVICES, a container without the GPUs passed in, or a node whose driver or GPU failed.",
		Check:   "What does this node show to this process? If others of the job work, suspect the node.\nsrun -w NODE bash -c 'nvidia-smi -L; printenv CUDA_VISIBLE_DEVICES SLURM_JOB_GPUS'",
		Source:  groupNCCL + ", 1.8 on", Example: "RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
	},
	{
		ID: "c10d-no-nccl", Literals: []string{"Distributed package doesn't have NCCL"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "This PyTorch was built without NCCL.",
		Cause:   "A build for CPUs only (a package manager that chose it), or another environment on this node than meant.",
		Check:   "Which PyTorch is it?\npython -c 'import torch; print(torch.__version__, torch.version.cuda, torch.__file__)'",
		Source:  groupAPI, Example: "RuntimeError: Distributed package doesn't have NCCL built in",
	},
	{
		ID: "c10d-device", Literals: []string{"No backend type associated with device type"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A collective was given a tensor on a device for which the process group has no backend.",
		Cause:   "A tensor on the CPU in a group that only has NCCL (optimiser state, an offloaded parameter, a flag or metric of one's own), or one on the GPU in a group that only has Gloo.",
		Check:   "Move the tensor, or make the group with both: init_process_group(\"cpu:gloo,cuda:nccl\"). The traceback names the call.",
		Source:  "PyTorch torch/csrc/distributed/c10d/ProcessGroup, 2.0 on", Example: "RuntimeError: No backend type associated with device type cpu",
	},
	{
		ID: "c10d-dense", Literals: []string{"Tensors must be CUDA and dense"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "NCCL was given a tensor that is not on a GPU, or a sparse one.",
		Cause:   "A flag, a metric or a state that was made on the CPU and not moved, or a sparse gradient (Embedding with sparse=True).",
		Check:   "The traceback names the call: move its tensor to the rank's GPU, or reduce it in a Gloo group.",
		Source:  groupNCCL + ", 1.0 on", Example: "RuntimeError: Tensors must be CUDA and dense",
	},
	{
		ID: "c10d-contiguous", Literals: []string{"ensors must be contiguous"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A collective was given a tensor that does not lie in memory without gaps.",
		Cause:   "A slice, a transposed or expanded tensor.",
		Check:   "The traceback names the call: use .contiguous() on what is sent, and receive into a tensor made for it.",
		Source:  groupNCCL + " and ProcessGroupGloo.cpp", Example: "ValueError: Tensors must be contiguous",
	},
	{
		ID: "c10d-one-device", Literals: []string{"Tensors must be on distinct GPU devices"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A collective over several GPUs of one process was given two tensors on the same one.",
		Cause:   "An old call with a list of tensors, whose members are not spread over the GPUs.",
		Check:   "One process for each GPU, and one tensor for each call.",
		Source:  groupNCCL + ", up to 2.2", Example: "RuntimeError: Tensors must be on distinct GPU devices",
	},
	{
		ID: "c10d-type", Literals: []string{"nput tensor data type is not supported for NCCL process group"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "NCCL cannot send or add this number format.",
		Cause:   "16-bit integers, complex numbers, or an 8- or 4-bit format that this version does not know.",
		Check:   "Convert before the call, or send the bytes: tensor.view(torch.uint8).",
		Source:  groupNCCL + "; NCCLUtils.hpp, 1.0 on", Example: "RuntimeError: Input tensor data type is not supported for NCCL process group: Short",
	},
	{
		ID: "c10d-type-new", Literals: []string{"Unconvertible NCCL type"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "NCCL cannot send or add this number format.",
		Cause:   "An 8-bit float or another format that this version of PyTorch or NCCL does not know.",
		Check:   "Convert before the call, or compare the versions of PyTorch and NCCL with what the format needs.",
		Source:  "PyTorch torch/csrc/cuda/nccl.cpp", Example: "RuntimeError: Unconvertible NCCL type Float8_e4m3fn",
	},
	{
		ID: "c10d-twice", Literals: []string{"trying to initialize the default process group twice"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "init_process_group was called a second time in this process.",
		Cause:   "The script and the framework both call it, or a notebook or a test runs the start twice.",
		Check:   "Guard it: if not torch.distributed.is_initialized(); or leave it to the framework.",
		Source:  groupAPI + ", 1.0 on", Example: "ValueError: trying to initialize the default process group twice!",
	},
	{
		ID: "c10d-group-ranks", Literals: []string{"he new group's rank should be within the world_size set by init_process_group"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A process group was asked for with a rank that the job does not have.",
		Cause:   "Parallel degrees that do not fit the number of processes, or ranks counted from 1.",
		Check:   "Multiply the parallel degrees and compare with the world size.\nprintenv WORLD_SIZE SLURM_NTASKS",
		Source:  groupAPI + ", 1.0 on", Example: "ValueError: The new group's rank should be within the world_size set by init_process_group",
	},
	{
		ID: "c10d-not-member", Literals: []string{"lobal rank ", " is not part of group"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A collective in a smaller group was given the number of a rank that is not a member.",
		Cause:   "src and dst of broadcast, reduce and send are global ranks, also in a smaller group; or a rank that is no member calls it.",
		Check:   "Use group_src and group_dst, or get_global_rank(group, i).",
		Source:  groupAPI + ", 1.13 on", Example: "ValueError: Global rank 0 is not part of group <torch.distributed.distributed_c10d.ProcessGroup object>",
	},
	{
		ID: "c10d-split-sizes", Literals: []string{"plit sizes do", "t match total dim 0 size"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The pieces of an all-to-all do not add up to the tensor's first dimension.",
		Cause:   "Numbers of tokens for each expert that the ranks exchanged wrongly, or that were computed on another tensor.",
		Check:   "Print the split sizes and the shape on every rank: what one sends, the other must expect.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  "PyTorch torch/csrc/distributed/c10d/Utils.hpp", Example: "RuntimeError: Split sizes doesn't match total dim 0 size",
	},
	{
		ID: "elastic-restart", Literals: []string{" attempts left; will restart worker group"}, Role: ConsequenceRole,
		Meaning: "The launcher saw a process end and starts all of this node's processes again.",
		Cause:   "A failure that stands earlier in the log of some rank; every node prints this.",
		Check:   "The first error before it, on all ranks; the output of the earlier attempt may stand in another file.",
		Collect: []string{"TORCHELASTIC_ERROR_FILE=PATH", "LOGLEVEL=INFO"},
		Source:  "PyTorch torch/distributed/elastic/agent/server/api.py, 1.9 on", Example: "[default] Worker group FAILED. 3/3 attempts left; will restart worker group",
	},
	{
		ID: "nccl-dump-prepared", Literals: []string{"ProcessGroupNCCL preparing to dump debug info"}, Role: InfoRole,
		Meaning: "A rank writes its flight recorder to a file, because a timeout was seen here or on another rank.",
		Cause:   "A collective timed out; the lines above say where.",
		Check:   "Collect the dumps of all ranks.",
		Source:  "PyTorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, 2.4 on", Example: "[PG ID 0 PG GUID 0(default_pg) Rank 6] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1, only active collectives: 0",
	},
	{
		ID: "elastic-traceback-hint", Literals: []string{"To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"}, Role: InfoRole,
		Meaning: "The launcher has no traceback of the process that failed, because the program does not record one for it.",
		Cause:   "The main function has no @record of torch.distributed.elastic.multiprocessing.errors.",
		Check:   "Read that process's own output instead; put @record on the main function for the next run.",
		Collect: []string{"TORCHELASTIC_ERROR_FILE=PATH"},
		Source:  "PyTorch torch/distributed/elastic/multiprocessing/errors, 1.9 on", Example: "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
	},
}
