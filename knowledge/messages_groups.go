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
		Cause:   "The job or task has no GPUs, CUDA_VISIBLE_DEVICES is empty, the GPUs were not passed into the container, or the node's driver or GPU failed.",
		Check:   "See which GPUs this node offers the process. If the job's other nodes work, suspect this one.\nsrun -w NODE bash -c 'nvidia-smi -L; printenv CUDA_VISIBLE_DEVICES SLURM_JOB_GPUS'",
		Source:  groupNCCL + ", 1.8 and later", Example: "RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
	},
	{
		ID: "c10d-no-nccl", Literals: []string{"Distributed package doesn't have NCCL"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "This PyTorch was built without NCCL.",
		Cause:   "The package manager chose a CPU-only build, or this node uses a different environment than intended.",
		Check:   "Find out which PyTorch this is.\npython -c 'import torch; print(torch.__version__, torch.version.cuda, torch.__file__)'",
		Source:  groupAPI, Example: "RuntimeError: Distributed package doesn't have NCCL built in",
	},
	{
		ID: "c10d-device", Literals: []string{"No backend type associated with device type"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A collective got a tensor on a device that the process group has no backend for.",
		Cause:   "A CPU tensor in an NCCL-only group (optimizer state, an offloaded parameter, your own flag or metric), or a GPU tensor in a Gloo-only group.",
		Check:   "Move the tensor, or create the group with both backends: init_process_group(\"cpu:gloo,cuda:nccl\"). The traceback shows the call.",
		Source:  "PyTorch torch/csrc/distributed/c10d/ProcessGroup, 2.0 and later", Example: "RuntimeError: No backend type associated with device type cpu",
	},
	{
		ID: "c10d-dense", Literals: []string{"Tensors must be CUDA and dense"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "NCCL got a sparse tensor, or one that isn't on a GPU.",
		Cause:   "A flag, metric or state was created on the CPU and never moved, or a gradient is sparse (Embedding with sparse=True).",
		Check:   "Find the call in the traceback, then move its tensor to the rank's GPU or reduce it in a Gloo group.",
		Source:  groupNCCL + ", 1.0 and later", Example: "RuntimeError: Tensors must be CUDA and dense",
	},
	{
		ID: "c10d-contiguous", Literals: []string{"ensors must be contiguous"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A collective got a tensor that isn't contiguous in memory.",
		Cause:   "The tensor is a slice, or was transposed or expanded.",
		Check:   "Find the call in the traceback, send tensor.contiguous(), and receive into a freshly allocated tensor.",
		Source:  groupNCCL + " and ProcessGroupGloo.cpp", Example: "ValueError: Tensors must be contiguous",
	},
	{
		ID: "c10d-one-device", Literals: []string{"Tensors must be on distinct GPU devices"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A multi-GPU collective within one process got two tensors on the same GPU.",
		Cause:   "An old-style call passes a list of tensors that are not spread across the GPUs.",
		Check:   "Use one process per GPU and one tensor per call.",
		Source:  groupNCCL + ", up to 2.2", Example: "RuntimeError: Tensors must be on distinct GPU devices",
	},
	{
		ID: "c10d-type", Literals: []string{"nput tensor data type is not supported for NCCL process group"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "NCCL can't send or reduce this data type.",
		Cause:   "The tensor holds 16-bit integers, complex numbers, or an 8- or 4-bit type that this version doesn't support.",
		Check:   "Convert it before the call, or send the raw bytes: tensor.view(torch.uint8).",
		Source:  groupNCCL + "; NCCLUtils.hpp, 1.0 and later", Example: "RuntimeError: Input tensor data type is not supported for NCCL process group: Short",
	},
	{
		ID: "c10d-type-new", Literals: []string{"Unconvertible NCCL type"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "NCCL can't send or reduce this data type.",
		Cause:   "This version of PyTorch or NCCL doesn't support the type, for example an 8-bit float.",
		Check:   "Convert it before the call, or check which PyTorch and NCCL versions the type requires.",
		Source:  "PyTorch torch/csrc/cuda/nccl.cpp", Example: "RuntimeError: Unconvertible NCCL type Float8_e4m3fn",
	},
	{
		ID: "c10d-twice", Literals: []string{"trying to initialize the default process group twice"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "init_process_group was called a second time in this process.",
		Cause:   "The script and the framework both call it, or a notebook or test runs the setup twice.",
		Check:   "Guard it with: if not torch.distributed.is_initialized(). Or leave it to the framework.",
		Source:  groupAPI + ", 1.0 and later", Example: "ValueError: trying to initialize the default process group twice!",
	},
	{
		ID: "c10d-group-ranks", Literals: []string{"he new group's rank should be within the world_size set by init_process_group"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A process group was requested with a rank that doesn't exist in the job.",
		Cause:   "The parallel degrees don't match the number of processes, or ranks are counted from 1.",
		Check:   "Multiply the parallel degrees and compare the product with the world size.\nprintenv WORLD_SIZE SLURM_NTASKS",
		Source:  groupAPI + ", 1.0 and later", Example: "ValueError: The new group's rank should be within the world_size set by init_process_group",
	},
	{
		ID: "c10d-not-member", Literals: []string{"lobal rank ", " is not part of group"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "A collective in a subgroup got a rank that isn't a member of it.",
		Cause:   "The src and dst of broadcast, reduce and send are global ranks, even in a subgroup. Or a rank outside the group made the call.",
		Check:   "Use group_src and group_dst, or get_global_rank(group, i).",
		Source:  groupAPI + ", 1.13 and later", Example: "ValueError: Global rank 0 is not part of group <torch.distributed.distributed_c10d.ProcessGroup object>",
	},
	{
		ID: "c10d-split-sizes", Literals: []string{"plit sizes do", "t match total dim 0 size"}, Role: CauseRole, Mechanism: Exception,
		Meaning: "The split sizes of an all-to-all don't add up to the tensor's first dimension.",
		Cause:   "The ranks exchanged wrong token counts per expert, or computed them from a different tensor.",
		Check:   "Print the split sizes and the shape on every rank: each rank must expect what its peer sends.",
		Collect: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"},
		Source:  "PyTorch torch/csrc/distributed/c10d/Utils.hpp", Example: "RuntimeError: Split sizes doesn't match total dim 0 size",
	},
	{
		ID: "elastic-restart", Literals: []string{" attempts left; will restart worker group"}, Role: ConsequenceRole,
		Meaning: "The launcher saw a process exit and restarts all processes on this node.",
		Cause:   "An earlier failure in some rank's log; every node prints this line.",
		Check:   "Find the first error before this line, on all ranks. The earlier attempt's output may be in another file.",
		Collect: []string{"TORCHELASTIC_ERROR_FILE=PATH", "LOGLEVEL=INFO"},
		Source:  "PyTorch torch/distributed/elastic/agent/server/api.py, 1.9 and later", Example: "[default] Worker group FAILED. 3/3 attempts left; will restart worker group",
	},
	{
		ID: "nccl-dump-prepared", Literals: []string{"ProcessGroupNCCL preparing to dump debug info"}, Role: InfoRole,
		Meaning: "A rank dumps its flight recorder because it or another rank hit a timeout.",
		Cause:   "A collective timed out; see the lines above.",
		Check:   "Collect the dumps from all ranks.",
		Source:  "PyTorch torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp, 2.4 and later", Example: "[PG ID 0 PG GUID 0(default_pg) Rank 6] ProcessGroupNCCL preparing to dump debug info. Include stack trace: 1, only active collectives: 0",
	},
	{
		ID: "elastic-traceback-hint", Literals: []string{"To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html"}, Role: InfoRole,
		Meaning: "The launcher has no traceback for the failed process because the program doesn't record one.",
		Cause:   "The main function lacks the @record decorator from torch.distributed.elastic.multiprocessing.errors.",
		Check:   "Read that process's own output instead, and add @record to the main function for the next run.",
		Collect: []string{"TORCHELASTIC_ERROR_FILE=PATH"},
		Source:  "PyTorch torch/distributed/elastic/multiprocessing/errors, 1.9 and later", Example: "  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html",
	},
}
