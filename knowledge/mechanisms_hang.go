package knowledge

// The hang family: somebody waits in a collective, and the question is for whom.
var hangMechanisms = []Mechanism{
	{
		Slug: RankStalled, Origin: "unknown", Owner: "unknown", Resubmit: "yes",
		Nature: Stands | MayBeStore, Again: Again{Machine: true, Step: true},
		Title: "one rank stalled",
		Meaning: "One rank did not enter a collective in which the others of its process group were already waiting, until the watchdog ended the job. " +
			"The logs prove which rank it was but not what kept it: loading data is the most frequent reason, then a checkpoint, the GIL, or another communication library.",
		Now: []Advice{
			adviceLastWords,
			{"If the data come from an object store, get the storage logs of that time: a slow read leaves no line in the job's own logs.", ""},
			{"Resubmit from the last completed checkpoint. Nothing here says that {node} is broken; if the next hang has the same node at its root, leave it out and test it.", ""},
			adviceStacks,
		},
		Structural: []Advice{
			{"Give every read a timeout and a fallback, so that one slow item costs seconds and not the job.", ""},
			{"Make the loader print one line when a batch takes longer than a minute: then the next hang explains itself.", ""},
			adviceGroupTimeout,
		},
		NextTime: []Advice{
			adviceRecorder,
			{"Let a monitor take stacks of all ranks as soon as the step counter stops moving, before the watchdog ends the job.",
				"srun --jobid=$SLURM_JOB_ID --overlap bash -c 'for p in $(pgrep -f train); do py-spy dump --pid $p; done'"},
		},
		LookAlikes: []LookAlike{
			{DataloaderStall, "something points at loading: its last lines, its retries, its stack, or the storage logs. “Outside NCCL” is not yet “loading data”."},
			{CollectiveHang, "there all ranks of the group had entered the collective; here a minority has not."},
			{RankBusy, "there the rank's last lines show work that was still going on."},
		},
		Collect: recorder,
	},
	{
		Slug: LoneWaiter, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Nature: Stands, Again: Again{Step: true},
		Title: "one rank waits alone",
		Meaning: "Exactly one rank waits in a collective; all others of its process group have nothing in flight or have ended. " +
			"That rank went its own way: it called one collective more than the other ranks, or called it later.",
		Now: []Advice{
			{"Find the collective that only rank {rank} reaches: look for calls inside `if rank == 0`, inside exception handlers, at the end of an epoch, and in logging or evaluation.",
				"grep -rnE 'if .*rank.* == 0|is_main_process|is_rank_zero' --include=*.py ."},
			{"Compare the number of batches of rank {rank} with that of the other ranks: one batch more is one collective more.", ""},
		},
		Structural: []Advice{
			{"Make conditional collectives unconditional, or let the condition be agreed by all ranks first (broadcast the decision).", ""},
			{"Use equal shards with drop_last, or DistributedDataParallel's join(), where ranks may have different numbers of batches.", ""},
		},
		NextTime: []Advice{adviceRecorder, {"Run a few hundred steps with consistency checks: PyTorch then names the ranks and operations that differ.", "export TORCH_DISTRIBUTED_DEBUG=DETAIL TORCH_CPP_LOG_LEVEL=INFO"}},
		LookAlikes: []LookAlike{
			{RankStalled, "the inversion: there one rank is missing and all others wait."},
			{UnevenData, "the others ended their epoch in order, with fewer batches."},
		},
		Collect: append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	},
	{
		Slug: CollectiveMismatch, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Nature: Stands, Again: Again{Step: true},
		Title: "ranks called different collectives",
		Meaning: "At the same sequence number the ranks of one process group entered different collectives, or the same with different sizes. " +
			"They can never complete: the code took different paths on different ranks.",
		Now: []Advice{
			{"Find where the code decides between these calls: an empty batch, an unused parameter, another sequence length, a rank that skips evaluation or saving.",
				"grep -rnE 'all_reduce|all_gather|broadcast|barrier|reduce_scatter' --include=*.py ."},
		},
		Structural: []Advice{
			{"Make every collective unconditional and its shape the same on all ranks; pad instead of skipping.", ""},
			{"Keep an integration test of a few steps on several processes with consistency checks on.", "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc-per-node=4 train.py"},
		},
		NextTime: []Advice{adviceRecorder},
		LookAlikes: []LookAlike{
			{LoneWaiter, "there exactly one rank waits and all others have nothing in flight."},
			{CollectiveHang, "there all ranks are in the same operation with the same size."},
		},
		Collect: append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	},
	{
		Slug: CollectiveHang, Origin: "unknown", Owner: "unknown", Resubmit: "yes",
		Nature: Stands | MayBeStore,
		Title:  "all ranks entered, none finished",
		Meaning: "Every rank of the process group was inside the same collective with the same size, and none came out. " +
			"The counters cannot say whether the network, one GPU or the code was at fault.",
		Now: []Advice{
			{"Look for a hardware sign on every node of the job; one line decides between network and GPU.",
				"clush -w {nodes} \"dmesg -T | grep -Ei 'xid|nvrm|nvlink|mlx5|link down' | tail -5\""},
			adviceFabricTest,
			{"If flight-recorder dumps exist, compare them: a kernel that never started shows as scheduled instead of started.", ""},
		},
		Structural: []Advice{
			{"Run a short node sweep (pairwise bandwidth, GPU diagnosis) before long jobs, and after each hang of this kind.", ""},
		},
		NextTime: []Advice{adviceRecorder, {"Record when kernels start, not only when they are queued.", "export TORCH_NCCL_ENABLE_TIMING=1"}, adviceNCCLWarn},
		LookAlikes: []LookAlike{
			{GPUHang, "one rank's completed counter lags behind its group's, or the flight recorder shows its kernel as never started. Counters alone cannot separate the two."},
			{CollectiveMismatch, "compare operation and size at the same sequence number over all ranks: here they are equal."},
			{RankStalled, "there one rank has not entered the collective."},
		},
		Collect: append([]string{"NCCL_DEBUG=WARN"}, recorder...),
	},
	{
		Slug: WatchdogStuck, Origin: "software", Owner: "job-code", Resubmit: "yes",
		Nature: Stands,
		Title:  "the watchdog itself got stuck",
		Meaning: "PyTorch's watchdog did not report for minutes, and its monitor ended the process: this is no timeout of a collective. " +
			"Usually another thread keeps the GIL or a CUDA call does not return.",
		Now: []Advice{
			{"Take the native and Python stacks of the stuck process if it still lives: the holder of the GIL is in them.", "srun --jobid={job} --overlap --nodes=1 --ntasks=1 -w {node} py-spy dump --native --pid {pid}"},
			{"Check what ran at that moment: C++ extensions that keep the GIL, garbage collection of large object graphs, or the end of training with workers still alive.", ""},
			adviceKernelLog,
		},
		Structural: []Advice{
			{"Release the GIL in extensions around long calls, and shut loader workers and background threads down before the process ends.", ""},
			{"Only if the long call is known and harmless: give the heartbeat monitor more time.", "export TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=1800"},
		},
		NextTime: []Advice{{"Let Python write the stacks of all threads before it is ended.", "export PYTHONFAULTHANDLER=1"}, adviceRecorder},
		LookAlikes: []LookAlike{
			{RankStalled, "there a collective timed out; here the watchdog thread itself did not move."},
		},
		Collect: append([]string{"TORCH_CPP_LOG_LEVEL=INFO"}, recorder...),
	},
	{
		Slug: RankBusy, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Nature: Stands,
		Title:  "one rank was still working",
		Meaning: "One rank was busy with legitimate work that took longer than the timeout of the process group: building an index, downloading, compiling, consolidating a checkpoint. " +
			"It would have come; the others gave up.",
		Now: []Advice{
			{"Do that work once before the job (build the index, fill the cache, compile), then resubmit.", ""},
			adviceGroupTimeout,
		},
		Structural: []Advice{
			{"Let the other ranks wait in a barrier of their own group with a long timeout (Gloo, on the CPU) instead of in the training group.", ""},
			{"Print progress during long work, so that waiting and hanging can be told apart.", ""},
		},
		NextTime: []Advice{adviceStacks},
		LookAlikes: []LookAlike{
			{RankStalled, "there the rank's last lines show no work that was going on."},
			{CheckpointIO, "the work is the saving or loading of a checkpoint."},
		},
		Collect: recorder,
	},
	{
		Slug: GPUHang, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Nature: Stands | Hardware | RaisesCUDA, Again: Again{Machine: true},
		Title: "a GPU stopped finishing work",
		Meaning: "One rank kept handing work to its GPU, but the GPU's completed counter stands well behind that of its process group. " +
			"Its kernel never started or never ended, while the program itself went on.",
		Now: []Advice{adviceKernelLog, adviceExclude, adviceGPUTest},
		Structural: []Advice{
			{"Check GPU health before each long job and after each hang; count how often a node is at the root, with the number of jobs it took part in.", ""},
		},
		NextTime: []Advice{adviceRecorder, {"Record when kernels start, not only when they are queued.", "export TORCH_NCCL_ENABLE_TIMING=1"}},
		LookAlikes: []LookAlike{
			{CollectiveHang, "no rank lags: network, GPU or code, not decided."},
			{GPUOffBus, "the kernel log has Xid 79."},
		},
		Collect: append([]string{"TORCH_NCCL_ENABLE_TIMING=1"}, recorder...),
	},
}
