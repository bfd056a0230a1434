package knowledge

// GPUs: broken ones, and programs that ask too much of them. gpu-oom and cuda-error belong to the job's owner until
// evidence from the node says otherwise (taxonomy).
var gpuMechanisms = []Mechanism{
	{
		Slug: GPUOOM, Origin: "gpu", Owner: "job-config", Resubmit: "after-fix",
		Alone:  "memory",
		Nature: Endurable | EndsProcess | RefusedMemory, Again: Again{Step: true},
		Title: "a GPU ran out of memory",
		Meaning: "A process asked for more GPU memory than was free. " +
			"On all ranks, suspect the configuration; on one rank, an imbalance, a leak, or another process on the same GPU.",
		Now: []Advice{
			{"Reduce the micro-batch size or sequence length, or enable activation checkpointing, then resubmit.", ""},
			{"If much memory is reserved but not allocated, it is fragmented: enable expandable segments.", "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"},
			{"If only rank {rank} is short of memory, look for another process on its GPU.", "ssh {node} 'nvidia-smi --query-compute-apps=pid,used_memory,gpu_bus_id --format=csv'"},
		},
		Structural: []Advice{
			{"Keep 5 to 10% of GPU memory free, and test the largest batch first, not last.", ""},
			{"Balance what varies between ranks: sequence length, experts, and a pipeline's embedding and output layers.", ""},
		},
		NextTime: []Advice{{"Record a memory snapshot at the failure (torch.cuda.memory._record_memory_history) and log each rank's peak.", ""}},
		LookAlikes: []LookAlike{
			{HostOOM, "exit −9 and “oom_kill” mean host memory; “CUDA out of memory” means GPU memory."},
			{CUDAError, "only if no allocation is mentioned."},
		},
	},
	{
		Slug: CUDAError, Origin: "gpu", Owner: "job-code", Resubmit: "after-fix",
		Nature: EndsProcess | RaisesCUDA | OneGPU | FromCUDA | Checked, Again: Again{Machine: true, Step: true},
		Title: "a CUDA error ended the job",
		Meaning: "The GPU reported a program error, such as an illegal memory access or a failed assertion. " +
			"CUDA reports errors late: the line that raises it is often not the one that caused it.",
		Now: []Advice{
			{"Rerun the failing step with blocking launches, so the traceback points at the kernel that failed.", "CUDA_LAUNCH_BLOCKING=1 torchrun --nproc-per-node=8 train.py"},
			{"A device-side assert is most often an index out of range: check labels and token IDs against the vocabulary size.", ""},
			{"Rerun the step on other nodes. If it fails there too, suspect the code; if only on {node}, exclude it, read its kernel log and test it.", "ssh {node} 'dmesg -T | grep -i xid'"},
		},
		Structural: []Advice{{"Validate indices on the CPU before they reach an embedding or a gather.", ""}},
		NextTime:   []Advice{{"Run a short job under the memory checker.", "compute-sanitizer --tool memcheck python train.py"}},
		LookAlikes: []LookAlike{
			{GPUECC, "the node's kernel log has Xid 48, 63, 64, 94 or 95 at that time."},
			{BadSample, "a device-side assert is often an out-of-range token or label in the data."},
			{GPUOOM, "cuBLAS or cuDNN “ALLOC_FAILED” means out of memory, not a broken kernel."},
		},
		Collect: kernels,
	},
	{
		Slug: GPUECC, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Alone:  "memory",
		Nature: EndsProcess | Hardware | RaisesCUDA | OneGPU, Again: Again{Machine: true},
		Title: "an uncorrectable GPU memory error",
		Meaning: "A GPU reported a memory error that ECC could not correct. " +
			"That process's data is lost; the GPU needs a reset, or replacing if rows can no longer be remapped.",
		Now: []Advice{
			adviceExclude,
			{"Read the error counters of the GPUs on {node}.", "clush -w {nodes} 'nvidia-smi -q -d ECC,ROW_REMAPPER,PAGE_RETIREMENT | grep -Ei \"^GPU|uncorrect|pending|failure\"'"},
			adviceKernelLog,
			adviceDrain,
		},
		Structural: []Advice{{"Make node health checks reject nodes with pending remaps or uncorrectable errors.", ""}},
		LookAlikes: []LookAlike{
			{CUDAError, "an illegal access without Xid 48, 64, 94 or 95 is usually a program bug."},
		},
	},
	{
		Slug: GPUOffBus, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Nature: EndsProcess | Hardware | RaisesCUDA | OneGPU | DeviceGone, Again: Again{Machine: true},
		Title: "a GPU fell off the bus",
		Meaning: "The GPU no longer responds on PCIe (Xid 79). " +
			"Only a reset or reboot brings it back, and it is likely to happen again.",
		Now: []Advice{
			adviceExclude,
			adviceDrain,
			{"List the GPUs that still respond, and any bus errors before the failure.", "ssh {node} 'nvidia-smi -L; lspci | grep -i nvidia; dmesg -T | grep -Ei \"xid|aer|pcie\"'"},
		},
		Structural: []Advice{{"Monitor power, temperature and bus errors; replace a GPU that falls off the bus twice.", ""}},
		NextTime:   []Advice{{"Save the driver's bug report before rebooting.", "ssh {node} nvidia-bug-report.sh"}},
		LookAlikes: []LookAlike{
			{GPUFirmware, "Xid 119 or 120 instead of 79: the GPU is still on the bus but not responding."},
			{NodeFailure, "all the node's GPUs are gone, and so is the node."},
		},
	},
	{
		Slug: GPUNVLink, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Alone:  "communication",
		Nature: EndsProcess | Hardware | RaisesCUDA, Again: Again{Machine: true},
		Survived: "the startup step that a process got stuck in",
		Title:    "an NVLink failed",
		Meaning: "An NVLink between GPUs on one node, or its switch, reported a fatal error. " +
			"Every job using several GPUs on that node is affected.",
		Now: []Advice{
			adviceExclude,
			{"Check the state and error counters of the links.", "ssh {node} 'nvidia-smi nvlink -s; nvidia-smi nvlink -e; systemctl status nvidia-fabricmanager; dmesg -T | grep -Ei \"sxid|xid\"'"},
			adviceDrain,
		},
		Structural: []Advice{{"Keep the fabric manager at the driver's version, and test intra-node bandwidth before long jobs.", ""}},
		NextTime:   []Advice{{"Measure intra-node bandwidth.", "srun -w {node} --gpus-per-node=8 all_reduce_perf -b 8M -e 4G -f 2 -g 8"}},
		LookAlikes: []LookAlike{
			{GPUECC, "errors on neighboring GPUs can be a side effect of one GPU's memory failing: go by the earliest Xid."},
		},
	},
	{
		Slug: GPUFirmware, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Nature: EndsProcess | Hardware | RaisesCUDA, Again: Again{Machine: true},
		Title: "the GPU's firmware stopped responding",
		Meaning: "The driver timed out waiting for the GPU's own processor (Xid 119 or 120). " +
			"A reset usually helps; newer drivers fix several causes.",
		Now: []Advice{
			adviceExclude,
			{"Reset the GPU, or reboot {node} if the reset fails.", "ssh {node} 'nvidia-smi --gpu-reset'"},
			adviceKernelLog,
		},
		Structural: []Advice{{"Check the release notes for Xid 119 and 120 fixes newer than this driver.", "ssh {node} 'nvidia-smi --query-gpu=driver_version,vbios_version --format=csv'"}},
		NextTime:   []Advice{{"Save the driver's bug report before the reset.", "ssh {node} nvidia-bug-report.sh"}},
		LookAlikes: []LookAlike{
			{GPUOffBus, "Xid 79: the GPU does not respond on the bus at all."},
		},
	},
	{
		Slug: SilentCorruption, Origin: "gpu", Owner: "cluster", Resubmit: "unknown",
		Alone: "compute",
		Again: Again{Machine: true},
		Title: "a GPU may produce wrong results",
		Meaning: "The loss jumped, or model replicas differ, with no change to code or data. " +
			"Only a replay of the same steps on other machines can prove that a GPU computes wrongly.",
		Now: []Advice{
			adviceReplay,
			{"Exclude {root} until the replay settles it, and test its GPUs.", "srun -w {root} dcgmi diag -r 4"},
		},
		Structural: []Advice{adviceChecksums},
		NextTime:   []Advice{adviceNorms},
		LookAlikes: []LookAlike{
			{NonFiniteLoss, "replay the step on other GPUs: different numbers point to hardware, the same numbers to data or the learning rate."},
		},
		Collect: []string{"TORCH_NCCL_NAN_CHECK=1"},
	},
}
