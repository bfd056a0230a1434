package knowledge

// LookAlike is a mechanism that leaves similar traces, and what tells the two apart.
type LookAlike struct {
	Mechanism Slug // slug of the other one
	Tell      string
}

// lookAlikes is the discriminator column of the taxonomy, by mechanism.
var lookAlikes = map[Slug][]LookAlike{
	RankStalled: {
		{DataloaderStall, "something points at loading: its last lines, its retries, its stack, or the storage logs. “Outside NCCL” is not yet “loading data”."},
		{CollectiveHang, "there all ranks of the group had entered the collective; here a minority has not."},
		{RankBusy, "there the rank's last lines show work that was still going on."},
	},
	DataloaderStall: {
		{RankStalled, "nothing in any log says what held the rank."},
		{CheckpointIO, "there the stall begins at a checkpoint."},
	},
	DataloaderWorkerKilled: {
		{HostOOM, "the kernel log names the killed process: dmesg -T | grep -i 'killed process'."},
		{ResourceLimit, "“Bus error” in the worker's line: /dev/shm is full (df -h /dev/shm)."},
	},
	BadSample: {
		{StorageRetriesExhausted, "the same item fails in two runs: the data; once only: perhaps the read."},
	},
	UnevenData: {
		{LoneWaiter, "compare the step counters: in uneven data a rank ended its epoch early and in order."},
	},
	LinkError: {
		{PeerLost, "a network card names a status (12, 13) or its link went down; a closed connection alone is only the echo of a dead peer."},
		{ResourceLimit, "“Cannot allocate memory” in an ibv_… call is the limit of locked memory, not the network."},
	},
	PeerLost: {
		{LinkError, "there a network card reports the error itself."},
		{Exception, "read the last lines of the peer that is named: it usually died first, of something else."},
	},
	InitUnreachable: {
		{PeerLost, "the failure comes before the first step, and the peer never was there."},
		{ConfigError, "all ranks fail alike and at once: arguments, not the network."},
	},
	CollectiveHang: {
		{GPUHang, "one rank's completed counter lags behind its group's, or the flight recorder shows its kernel as never started. Counters alone cannot separate the two."},
		{CollectiveMismatch, "compare operation and size at the same sequence number over all ranks: here they are equal."},
		{RankStalled, "there one rank has not entered the collective."},
	},
	GPUHang: {
		{CollectiveHang, "no rank lags: network, GPU or code, not decided."},
		{GPUOffBus, "the kernel log has Xid 79."},
	},
	GPUOffBus: {
		{GPUFirmware, "Xid 119 or 120 instead of 79: the GPU is there and does not answer."},
		{NodeFailure, "all GPUs of the node are gone, and the node with them."},
	},
	GPUECC: {
		{CUDAError, "an illegal access without an Xid 48, 64, 94 or 95 is mostly the program."},
	},
	GPUNVLink: {
		{GPUECC, "errors of the neighbours can be the echo of one GPU whose memory failed: the earliest Xid counts."},
	},
	GPUFirmware: {
		{GPUOffBus, "Xid 79: the GPU does not answer on the bus at all."},
	},
	CUDAError: {
		{GPUECC, "the kernel log of the node has an Xid 48, 63, 64, 94 or 95 at that time."},
		{BadSample, "a device-side assert is often an index of the data: a token or label out of range."},
		{GPUOOM, "cuBLAS or cuDNN “ALLOC_FAILED” is memory, not a broken kernel."},
	},
	GPUOOM: {
		{HostOOM, "exit −9 and “oom_kill” mean the host's memory; “CUDA out of memory” means the GPU's."},
		{CUDAError, "only where no allocation is named."},
	},
	SilentCorruption: {
		{NonFiniteLoss, "a replay of the same step on other GPUs gives other numbers: hardware; the same: data or rate."},
	},
	NonFiniteLoss: {
		{BadSample, "the loss leaves its path at the same item in two runs."},
		{SilentCorruption, "a replay on other GPUs does not reproduce it."},
	},
	RankBusy: {
		{RankStalled, "there the rank's last lines show no work that was going on."},
		{CheckpointIO, "the work is the saving or loading of a checkpoint."},
	},
	ResourceLimit: {
		{LinkError, "NCCL words a full /dev/shm or a limit of locked memory like a network fault: the errno text in the line decides."},
		{StorageFull, "/dev/shm is memory, not disk."},
	},
	ExternalSignal: {
		{HostOOM, "exit −9 with “oom_kill” or “Killed process” in SLURM's or the kernel's log."},
		{Preempted, "SLURM says DUE TO PREEMPTION in the output of the batch script."},
		{Exception, "an error before the signal: then the signal is only the launcher's cleaning up."},
	},
	CollectiveMismatch: {
		{LoneWaiter, "there exactly one rank waits and all others have nothing in flight."},
		{CollectiveHang, "there all ranks are in the same operation with the same size."},
	},
	LoneWaiter: {
		{RankStalled, "the inversion: there one rank is missing and all others wait."},
		{UnevenData, "the others ended their epoch in order, with fewer batches."},
	},
	Exception: {
		{ConfigError, "all ranks, at the start, alike."},
		{PeerLost, "tracebacks of lost connections and of the launcher (ChildFailedError) are consequences: the first traceback in time that is none of these counts."},
	},
	VersionMismatch: {
		{Exception, "there the code ran already; a version shows at import."},
	},
	ConfigError: {
		{Exception, "one rank only, or late: the program, not its settings."},
		{InitUnreachable, "the address is right and does not answer."},
	},
	NativeCrash: {
		{HostOOM, "−9 is a kill, not a crash; −11, −6 and −7 are crashes, and −6 after a watchdog's line is the watchdog."},
		{DataloaderWorkerKilled, "the pid that died is a child of the rank."},
		{GPUECC, "the same host again, or an Xid in its kernel log: hardware."},
	},
	WatchdogStuck: {
		{RankStalled, "there a collective timed out; here the watchdog thread itself did not move."},
	},
	HostOOM: {
		{ExternalSignal, "exit −9 alone proves nothing: it takes “oom_kill” from SLURM or “Killed process” from the kernel."},
		{GPUOOM, "“CUDA out of memory” is the GPU's memory."},
		{DataloaderWorkerKilled, "only a loader worker was killed, not the rank."},
	},
	NodeFailure: {
		{ExternalSignal, "a node that died leaves a file that simply stops, and SLURM says “Node failure on”; the host in the CANCELLED line is only the reporter."},
	},
	Preempted: {
		{ExternalSignal, "no reason from SLURM in the batch script's output."},
		{Exception, "an error before the SIGTERM."},
	},
	TimeLimit: {
		{RankStalled, "was it training until the end? If the steps stood still long before, the limit only ended a hang."},
	},
	Cancelled: {
		{Exception, "an error before the cancellation; up to SLURM 24.11 a scancel and the end after a failed task print the same words."},
	},
	ThermalPower: {
		{SlowRank, "slow, without a word of heat or power in sensors or kernel log."},
	},
	SchedulerError: {
		{ConfigError, "a process of the job ran and complained."},
	},
	SlowRank: {
		{RankStalled, "there the rank never arrives; here it arrives late at every step."},
		{ThroughputRegression, "all ranks are equally slow."},
	},
	ThroughputRegression: {
		{SlowRank, "one rank, node or GPU stands out."},
	},
	LossPlateau: {
		{NonFiniteLoss, "the loss is NaN or infinite, not merely flat."},
	},
	AISBatchObjectLoss: {
		{AISStreamBroken, "a broken stream just before the lost objects: that is the earlier link."},
		{Exception, "a short batch without a cause on a target inside the window: a client's bug."},
	},
	AISStreamBroken: {
		{AISDaemonRestart, "one end of the stream restarted: its log begins with “Started up at”."},
		{AISNetwork, "timeouts between many nodes, without a crash."},
	},
	AISResourcePressure: {
		{AISThrottled, "who slows down: the target itself (pressure) or the remote store (429, 503)."},
	},
	AISDaemonRestart: {
		{AISRebalance, "“Rotated at” at the head of a log is only a rotation; an orderly stop before “Started up at” is maintenance."},
	},
	AISRebalance: {
		{AISDaemonRestart, "what made a node leave comes first; 404s during an eviction are no loss of data."},
	},
	AISSilentStall: {
		{AISNetwork, "there keep-alive or timeout lines; here a running job, counters that stand still, and no error line."},
	},
	AISDiskFault: {
		{StorageFull, "out of space raises the same checks: read the errno."},
	},
	AISThrottled: {
		{AISResourcePressure, "the target's own pressure, not the remote store's answer."},
	},
	AISAuth: {
		{AISNetwork, "401 and 403 at one instant on all ranks, not timeouts."},
	},
	AISNetwork: {
		{AISDaemonRestart, "“connection refused” means a process that is gone, a timeout one that is slow or unreachable."},
	},
	StorageRetriesExhausted: {
		{AISResourcePressure, "the storage logs show why the server did not answer."},
		{Completed, "a ladder that stays at 1/n and recovers is noise: an idle connection was closed."},
	},
	StorageFull: {
		{ResourceLimit, "/dev/shm is full: that is memory."},
	},
	StorageUnresponsive: {
		{NodeFailure, "one mount, seen from many nodes: the store; one node only: the node."},
	},
	CheckpointIO: {
		{StorageFull, "“No space left on device” beside the save."},
		{RankBusy, "the save succeeds and only takes longer than the timeout."},
	},
	Completed: nil,
	Unknown:   nil,
}

// LookAlikes are the mechanisms that a person may mistake this one for, and how to tell.
func LookAlikes(slug Slug) []LookAlike { return lookAlikes[slug] }
