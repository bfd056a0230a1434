package knowledge

// The hang family: somebody waits in a collective, and the question is for whom.
var hangMechanisms = []Mechanism{
	{
		Slug: RankStalled, Origin: "unknown", Owner: "unknown", Resubmit: "yes",
		Nature: Stands | MayBeStore | AwaitsData, Again: Again{Machine: true, Step: true},
		Play:  Play{LateRank, "One rank sleeps while the other ranks wait for it in a collective, until their timeout."},
		Title: "one rank stalled",
		Meaning: "One rank never entered a collective in which the rest of its process group was waiting, until the watchdog ended the job. " +
			"The logs prove which rank it was but not what blocked it: most often it is data loading, then a checkpoint, the GIL, or another communication library.",
		Now: []Advice{
			adviceLastWords,
			adviceKernelLog,
			{"If the data comes from an object store, get the storage logs from that time: a slow read leaves no trace in the job's own logs.", ""},
			{"Resubmit from {save}. Nothing here shows that {node} is broken; if the next hang starts on the same node, exclude and test it.", ""},
			adviceStacks,
		},
		Structural: []Advice{
			{"Give every read a timeout and a fallback, so that one slow item costs seconds, not the job.", ""},
			{"Have the loader log a line when a batch takes longer than a minute, so the next hang explains itself.", ""},
			adviceGroupTimeout,
		},
		NextTime: []Advice{
			adviceRecorder,
			{"Have a monitor take stacks from all ranks as soon as the step counter stops, before the watchdog ends the job.",
				"srun --jobid=$SLURM_JOB_ID --overlap --ntasks-per-node=1 bash -c 'for p in $(pgrep -f python.*train); do py-spy dump --pid $p; done'"},
		},
		LookAlikes: []LookAlike{
			{DataloaderStall, "something points to data loading: its last lines, retries, stack, or the storage logs. “Outside NCCL” is not yet “loading data”."},
			{CollectiveHang, "all ranks in the group had entered the collective; here a minority has not."},
			{RankBusy, "the rank's last lines show work still in progress."},
		},
		Collect: recorder,
	},
	{
		Slug: LoneWaiter, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Nature: Stands | Astray, Again: Again{Step: true},
		Play:  Play{ExtraCall, "One rank makes one extra call and waits alone."},
		Title: "one rank waits alone",
		Meaning: "Exactly one rank is waiting in a collective; all others in its process group have nothing in flight or have exited. " +
			"That rank diverged: it called one more collective than the other ranks, or called it later.",
		Now: []Advice{
			{"Find the collective that only rank {rank} reaches: look for calls inside `if rank == 0`, inside exception handlers, at the end of an epoch, and in logging or evaluation.",
				"grep -rnE 'if .*rank.* == 0|is_main_process|is_rank_zero' --include=*.py ."},
			{"Compare rank {rank}'s batch count with the other ranks': one extra batch means one extra collective.", ""},
		},
		Structural: []Advice{
			{"Make conditional collectives unconditional, or have all ranks agree on the condition first (broadcast the decision).", ""},
			{"If ranks may have different numbers of batches, use equal shards with drop_last, or DistributedDataParallel's join().", ""},
		},
		NextTime: []Advice{adviceRecorder, {"Run a few hundred steps with consistency checks: PyTorch then reports which ranks and operations differ.", "export TORCH_DISTRIBUTED_DEBUG=DETAIL TORCH_CPP_LOG_LEVEL=INFO"}},
		LookAlikes: []LookAlike{
			{RankStalled, "the reverse: one rank is missing and all others are waiting."},
			{UnevenData, "the other ranks finished their epoch normally, with fewer batches."},
		},
		Collect: append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	},
	{
		Slug: CollectiveMismatch, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Nature: Stands | Astray, Again: Again{Step: true},
		Play:  Play{UnlikeCall, "One rank makes a different call from the rest of its group."},
		Title: "ranks called different collectives",
		Meaning: "At the same sequence number, ranks in one process group entered different collectives, or the same one with different sizes. " +
			"These can never complete: the code took different paths on different ranks.",
		Now: []Advice{
			{"Find where the code chooses between these calls: an empty batch, an unused parameter, a different sequence length, or a rank that skips evaluation or saving.",
				"grep -rnE 'all_reduce|all_gather|broadcast|barrier|reduce_scatter' --include=*.py ."},
		},
		Structural: []Advice{
			{"Make every collective unconditional, with the same shape on all ranks; pad instead of skipping.", ""},
			{"Keep an integration test that runs a few steps on several processes with consistency checks on.", "TORCH_DISTRIBUTED_DEBUG=DETAIL torchrun --nproc-per-node=4 train.py"},
		},
		NextTime: []Advice{adviceRecorder},
		LookAlikes: []LookAlike{
			{LoneWaiter, "exactly one rank is waiting and all others have nothing in flight."},
			{CollectiveHang, "all ranks are in the same operation with the same size."},
		},
		Collect: append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	},
	{
		Slug: CollectiveHang, Origin: "unknown", Owner: "unknown", Resubmit: "yes",
		Nature: Stands | MayBeStore | Entered,
		Play:   onlyRepeats,
		Title:  "all ranks entered, none finished",
		Meaning: "Every rank in the process group entered the same collective with the same size, and none completed it. " +
			"The counters can't tell whether the network, a GPU or the code was at fault.",
		Now: []Advice{
			{"Look for hardware errors on every node in the job; one line can tell a network fault from a GPU fault.",
				"clush -w {nodes} \"dmesg -T | grep -Ei 'xid|nvrm|nvlink|mlx5|link down' | tail -5\""},
			adviceFabricTest,
			{"Compare the flight-recorder dumps, if any: a kernel that never started shows as scheduled instead of started.", ""},
		},
		Structural: []Advice{
			{"Run a short node sweep (pairwise bandwidth, GPU diagnostics) before long jobs and after each hang like this.", ""},
		},
		NextTime: []Advice{adviceRecorder, {"Record when kernels start, not just when they are queued.", "export TORCH_NCCL_ENABLE_TIMING=1"}, adviceNCCLWarn},
		LookAlikes: []LookAlike{
			{GPUHang, "one rank's completed counter lags behind its group's, or the flight recorder shows its kernel never started. Counters alone can't tell the two apart."},
			{CollectiveMismatch, "compare operation and size at the same sequence number across all ranks: here they are equal."},
			{RankStalled, "one rank has not entered the collective."},
		},
		Collect: append([]string{"NCCL_DEBUG=WARN"}, recorder...),
	},
	{
		Slug: WatchdogStuck, Origin: "software", Owner: "job-code", Resubmit: "yes",
		Nature: Stands,
		Title:  "the watchdog itself got stuck",
		Meaning: "PyTorch's watchdog thread stopped reporting for minutes, so its monitor killed the process; no collective timed out. " +
			"Usually another thread is holding the GIL, or a CUDA call isn't returning.",
		Now: []Advice{
			{"If the stuck process is still alive, take its native and Python stacks: they show what holds the GIL.", "srun --jobid={job} --overlap --nodes=1 --ntasks=1 -w {node} py-spy dump --native --pid {pid}"},
			{"Check what was running at that moment: C++ extensions that hold the GIL, garbage collection of large object graphs, or training ending with workers still alive.", ""},
			adviceKernelLog,
		},
		Structural: []Advice{
			{"Release the GIL around long calls in extensions, and shut down loader workers and background threads before the process exits.", ""},
			{"Only if the long call is known to be harmless: give the heartbeat monitor more time.", "export TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC=1800"},
		},
		NextTime: []Advice{{"Have Python dump the stacks of all threads before it is killed.", "export PYTHONFAULTHANDLER=1"}, adviceRecorder},
		LookAlikes: []LookAlike{
			{RankStalled, "a collective timed out; here the watchdog thread itself was stuck."},
		},
		Collect: append([]string{"TORCH_CPP_LOG_LEVEL=INFO"}, recorder...),
	},
	{
		Slug: RankBusy, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Nature: Stands,
		Play:   Play{LateRank, "One rank is busy for longer than the timeout while the other ranks wait for it in a collective."},
		Title:  "one rank was still working",
		Meaning: "One rank was busy with legitimate work that took longer than the process group's timeout: building an index, downloading, compiling, or consolidating a checkpoint. " +
			"It would have arrived, but the other ranks gave up.",
		Now: []Advice{
			{"Do that work once before the job (build the index, fill the cache, compile), then resubmit.", ""},
			adviceGroupTimeout,
		},
		Structural: []Advice{
			{"Have the other ranks wait in a barrier in a separate group with a long timeout (Gloo, on the CPU) instead of in the training group.", ""},
			{"Print progress during long work, so a slow rank can be told from a hung one.", ""},
		},
		NextTime: []Advice{adviceStacks},
		LookAlikes: []LookAlike{
			{RankStalled, "the rank's last lines show no work in progress."},
			{CheckpointIO, "the long work is saving or loading a checkpoint."},
		},
		Collect: recorder,
	},
	{
		Slug: GPUHang, Origin: "gpu", Owner: "cluster", Resubmit: "yes",
		Nature: Stands | Hardware | RaisesCUDA | Entered, Again: Again{Machine: true},
		Play:  onlyRepeats,
		Title: "a GPU stopped making progress",
		Meaning: "One rank kept issuing work to its GPU, but its completed counter is well behind the rest of its process group. " +
			"A kernel never started or never finished, while the program itself kept going.",
		Now: []Advice{adviceKernelLog, adviceExclude, adviceGPUTest},
		Structural: []Advice{
			{"Check GPU health before each long job and after each hang; track how often each node made a job fail.", ""},
		},
		NextTime: []Advice{adviceRecorder, {"Record when kernels start, not just when they are queued.", "export TORCH_NCCL_ENABLE_TIMING=1"}},
		LookAlikes: []LookAlike{
			{CollectiveHang, "no rank lags: network, GPU or code, can't tell which."},
			{GPUOffBus, "the kernel log has Xid 79."},
		},
		Collect: append([]string{"TORCH_NCCL_ENABLE_TIMING=1"}, recorder...),
	},
}
