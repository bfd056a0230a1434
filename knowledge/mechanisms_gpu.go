package knowledge

// GPUs: broken ones, and programs that ask too much of them. gpu-oom and cuda-error belong to the job's owner until
// evidence from the node says otherwise (taxonomy).
var gpuMechanisms = []Mechanism{
	{
		Slug: GPUOOM, Origin: "gpu", Owner: "job-config", Resubmit: "after-fix",
		Nature: Endurable | EndsProcess, Again: Again{Step: true},
		Title: "a GPU ran out of memory",
		Meaning: "A process asked for more GPU memory than was free. " +
			"On all ranks it is the configuration; on one rank an imbalance, a leak, or a stranger's process on the same GPU.",
		Now: []Advice{
			{"Lower the micro-batch or sequence length, or switch activation checkpointing on, then resubmit.", ""},
			{"Where much memory is reserved but not allocated, it is fragmented: let PyTorch grow its segments.", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
			{"If only rank {rank} is short of memory, look for another process on its GPU.", "ssh {node} 'nvidia-smi --query-compute-apps=pid,used_memory,gpu_bus_id --format=csv'"},
		},
		Structural: []Advice{
			{"Keep 5 to 10% of the GPU's memory free, and test the largest batch first, not last.", ""},
			{"Balance what varies over ranks: sequence length, experts, the embedding and output layers of a pipeline.", ""},
		},
		NextTime: []Advice{{"Record a memory snapshot at the failure (torch.cuda.memory._record_memory_history) and log the peak of every rank.", ""}},
		LookAlikes: []LookAlike{
			{HostOOM, "exit −9 and “oom_kill” mean the host's memory; “CUDA out of memory” means the GPU's."},
			{CUDAError, "only where no allocation is named."},
		},
	},
	{
		Slug: CUDAError, Origin: "gpu", Owner: "job-code", Resubmit: "after-fix",
		Nature: EndsProcess | RaisesCUDA | OneGPU, Again: Again{Machine: true, Step: true},
		Title: "a CUDA error ended it",
		Meaning: "The GPU reported an error of the program, such as an illegal memory access or a failed assertion. " +
			"CUDA reports late: the line that raises it is often not the one that caused it.",
		Now: []Advice{
			{"Run the failing step again with blocking launches: the traceback then points at the kernel that failed.", "CUDA_LAUNCH_BLOCKING=1 torchrun --nproc-per-node=8 train.py"},
			{"A device-side assert is most often an index out of range: check labels and token ids against the size of the vocabulary.", ""},
			{"The same step on other nodes again: it is the code. Only on {node}: leave it out, read its kernel log and test it.", "ssh {node} 'dmesg -T | grep -i xid'"},
		},
		Structural: []Advice{{"Validate indices on the CPU before they reach an embedding or a gather.", ""}},
		NextTime:   []Advice{{"Run a short job under the memory checker.", "compute-sanitizer --tool memcheck python train.py"}},
		LookAlikes: []LookAlike{
			{GPUECC, "the kernel log of the node has an Xid 48, 63, 64, 94 or 95 at that time."},
			{BadSample, "a device-side assert is often an index of the data: a token or label out of range."},
			{GPUOOM, "cuBLAS or cuDNN “ALLOC_FAILED” is memory, not a broken kernel."},
		},
		Collect: kernels,
	},
	{
		Slug: GPUECC, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Nature: EndsProcess | Hardware | RaisesCUDA | OneGPU, Again: Again{Machine: true},
		Title: "GPU memory is damaged",
		Meaning: "A GPU reported a memory error that ECC could not correct. " +
			"The data of that process are lost; the GPU needs a reset, and replacement if rows can no longer be remapped.",
		Now: []Advice{
			adviceExclude,
			{"Read the error counters of the GPU on {node}; where the logs do not name the node, on all of them.", "clush -w {nodes} 'nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT | grep -Ei \"uncorrect|pending|failure\"'"},
			adviceDrain,
		},
		Structural: []Advice{{"Let node health checks refuse a node with pending remaps or uncorrectable errors.", ""}},
		NextTime:   []Advice{adviceKernelLog},
		LookAlikes: []LookAlike{
			{CUDAError, "an illegal access without an Xid 48, 64, 94 or 95 is mostly the program."},
		},
	},
	{
		Slug: GPUOffBus, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Nature: EndsProcess | Hardware | RaisesCUDA | OneGPU, Again: Again{Machine: true},
		Title: "a GPU vanished from the bus",
		Meaning: "The GPU no longer answers on PCIe (Xid 79). " +
			"Only a reset or a reboot brings it back, and it is likely to happen again.",
		Now: []Advice{
			adviceExclude,
			adviceDrain,
			{"List the GPUs that still answer, and the bus errors before it.", "ssh {node} 'nvidia-smi -L; lspci | grep -i nvidia; dmesg -T | grep -Ei \"xid|aer|pcie\"'"},
		},
		Structural: []Advice{{"Watch power, temperature and bus errors; a GPU that falls off twice is replaced.", ""}},
		NextTime:   []Advice{{"Save the driver's report before the reboot.", "ssh {node} nvidia-bug-report.sh"}},
		LookAlikes: []LookAlike{
			{GPUFirmware, "Xid 119 or 120 instead of 79: the GPU is there and does not answer."},
			{NodeFailure, "all GPUs of the node are gone, and the node with them."},
		},
	},
	{
		Slug: GPUNVLink, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Nature: EndsProcess | Hardware | RaisesCUDA, Again: Again{Machine: true},
		Title: "an NVLink failed",
		Meaning: "The NVLink connection between GPUs of one node, or its switch, reported a fatal error. " +
			"All jobs that use several GPUs of that node are affected.",
		Now: []Advice{
			adviceExclude,
			{"Read the state and the error counters of the links.", "ssh {node} 'nvidia-smi nvlink -s; nvidia-smi nvlink -e; systemctl status nvidia-fabricmanager; dmesg -T | grep -Ei \"sxid|xid\"'"},
			adviceDrain,
		},
		Structural: []Advice{{"Keep the fabric manager at the driver's version, and test bandwidth inside the node before long jobs.", ""}},
		NextTime:   []Advice{{"Measure inside the node.", "srun -w {node} --gpus-per-node=8 all_reduce_perf -b 8M -e 4G -f 2 -g 8"}},
		LookAlikes: []LookAlike{
			{GPUECC, "errors of the neighbours can be the echo of one GPU whose memory failed: the earliest Xid counts."},
		},
	},
	{
		Slug: GPUFirmware, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Nature: EndsProcess | Hardware | RaisesCUDA, Again: Again{Machine: true},
		Title: "the GPU's firmware stopped answering",
		Meaning: "The driver waited in vain for the GPU's own processor (Xid 119 or 120). " +
			"A reset helps; newer drivers have fixed several causes.",
		Now: []Advice{
			adviceExclude,
			{"Reset the GPU, or reboot {node} if it refuses.", "ssh {node} 'nvidia-smi --gpu-reset'"},
			adviceKernelLog,
		},
		Structural: []Advice{{"Compare the driver's version with the release notes for Xid 119 and 120.", "ssh {node} 'nvidia-smi --query-gpu=driver_version,vbios_version --format=csv'"}},
		NextTime:   []Advice{{"Save the driver's report before the reset.", "ssh {node} nvidia-bug-report.sh"}},
		LookAlikes: []LookAlike{
			{GPUOffBus, "Xid 79: the GPU does not answer on the bus at all."},
		},
	},
	{
		Slug: SilentCorruption, Origin: "gpu", Owner: "cluster", Resubmit: "unknown",
		Again: Again{Machine: true},
		Title: "a GPU may compute wrongly",
		Meaning: "The loss jumped or copies of the model differ without a change of code or data. " +
			"Only a replay of the same steps on other machines can prove that a GPU computes wrongly.",
		Now: []Advice{
			{"Replay the steps around the jump from the same checkpoint with the same data, once on the same and once on other nodes, and compare bit by bit.", ""},
			{"Leave {root} out until the replay has decided, and test the GPUs there.", "srun -w {root} dcgmi diag -r 4"},
		},
		Structural: []Advice{{"Compare checksums of the parameters over data-parallel copies every few hundred steps.", ""}},
		NextTime:   []Advice{{"Log the gradient norm of every rank before it is reduced.", ""}},
		LookAlikes: []LookAlike{
			{NonFiniteLoss, "a replay of the same step on other GPUs gives other numbers: hardware; the same: data or rate."},
		},
		Collect: []string{"TORCH_NCCL_NAN_CHECK=1"},
	},
}
