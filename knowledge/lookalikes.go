package knowledge

// LookAlike is a mechanism that leaves similar traces, and what tells the two apart.
type LookAlike struct {
	Mechanism Slug // slug of the other one
	Tell      string
}

// lookAlikes is the discriminator column of the taxonomy, by mechanism.
var lookAlikes = map[Slug][]LookAlike{
	"rank-stalled": {
		{"dataloader-stall", "something points at loading: its last lines, its retries, its stack, or the storage logs. “Outside NCCL” is not yet “loading data”."},
		{"collective-hang", "there all ranks of the group had entered the collective; here a minority has not."},
		{"rank-busy", "there the rank's last lines show work that was still going on."},
	},
	"dataloader-stall": {
		{"rank-stalled", "nothing in any log says what held the rank."},
		{"checkpoint-io", "there the stall begins at a checkpoint."},
	},
	"dataloader-worker-killed": {
		{"host-oom", "the kernel log names the killed process: dmesg -T | grep -i 'killed process'."},
		{"resource-limit", "“Bus error” in the worker's line: /dev/shm is full (df -h /dev/shm)."},
	},
	"bad-sample": {
		{"storage-retries-exhausted", "the same item fails in two runs: the data; once only: perhaps the read."},
	},
	"uneven-data": {
		{"lone-waiter", "compare the step counters: in uneven data a rank ended its epoch early and in order."},
	},
	"link-error": {
		{"peer-lost", "a network card names a status (12, 13) or its link went down; a closed connection alone is only the echo of a dead peer."},
		{"resource-limit", "“Cannot allocate memory” in an ibv_… call is the limit of locked memory, not the network."},
	},
	"peer-lost": {
		{"link-error", "there a network card reports the error itself."},
		{"exception", "read the last lines of the peer that is named: it usually died first, of something else."},
	},
	"init-unreachable": {
		{"peer-lost", "the failure comes before the first step, and the peer never was there."},
		{"config-error", "all ranks fail alike and at once: arguments, not the network."},
	},
	"collective-hang": {
		{"gpu-hang", "one rank's completed counter lags behind its group's, or the flight recorder shows its kernel as never started. Counters alone cannot separate the two."},
		{"collective-mismatch", "compare operation and size at the same sequence number over all ranks: here they are equal."},
		{"rank-stalled", "there one rank has not entered the collective."},
	},
	"gpu-hang": {
		{"collective-hang", "no rank lags: network, GPU or code, not decided."},
		{"gpu-off-bus", "the kernel log has Xid 79."},
	},
	"gpu-off-bus": {
		{"gpu-firmware", "Xid 119 or 120 instead of 79: the GPU is there and does not answer."},
		{"node-failure", "all GPUs of the node are gone, and the node with them."},
	},
	"gpu-ecc": {
		{"cuda-error", "an illegal access without an Xid 48, 64, 94 or 95 is mostly the program."},
	},
	"gpu-nvlink": {
		{"gpu-ecc", "errors of the neighbours can be the echo of one GPU whose memory failed: the earliest Xid counts."},
	},
	"gpu-firmware": {
		{"gpu-off-bus", "Xid 79: the GPU does not answer on the bus at all."},
	},
	"cuda-error": {
		{"gpu-ecc", "the kernel log of the node has an Xid 48, 63, 64, 94 or 95 at that time."},
		{"bad-sample", "a device-side assert is often an index of the data: a token or label out of range."},
		{"gpu-oom", "cuBLAS or cuDNN “ALLOC_FAILED” is memory, not a broken kernel."},
	},
	"gpu-oom": {
		{"host-oom", "exit −9 and “oom_kill” mean the host's memory; “CUDA out of memory” means the GPU's."},
		{"cuda-error", "only where no allocation is named."},
	},
	"silent-corruption": {
		{"non-finite-loss", "a replay of the same step on other GPUs gives other numbers: hardware; the same: data or rate."},
	},
	"non-finite-loss": {
		{"bad-sample", "the loss leaves its path at the same item in two runs."},
		{"silent-corruption", "a replay on other GPUs does not reproduce it."},
	},
	"rank-busy": {
		{"rank-stalled", "there the rank's last lines show no work that was going on."},
		{"checkpoint-io", "the work is the saving or loading of a checkpoint."},
	},
	"resource-limit": {
		{"link-error", "NCCL words a full /dev/shm or a limit of locked memory like a network fault: the errno text in the line decides."},
		{"storage-full", "/dev/shm is memory, not disk."},
	},
	"external-signal": {
		{"host-oom", "exit −9 with “oom_kill” or “Killed process” in SLURM's or the kernel's log."},
		{"preempted", "SLURM says DUE TO PREEMPTION in the output of the batch script."},
		{"exception", "an error before the signal: then the signal is only the launcher's cleaning up."},
	},
	"collective-mismatch": {
		{"lone-waiter", "there exactly one rank waits and all others have nothing in flight."},
		{"collective-hang", "there all ranks are in the same operation with the same size."},
	},
	"lone-waiter": {
		{"rank-stalled", "the inversion: there one rank is missing and all others wait."},
		{"uneven-data", "the others ended their epoch in order, with fewer batches."},
	},
	"exception": {
		{"config-error", "all ranks, at the start, alike."},
		{"peer-lost", "tracebacks of lost connections and of the launcher (ChildFailedError) are consequences: the first traceback in time that is none of these counts."},
	},
	"version-mismatch": {
		{"exception", "there the code ran already; a version shows at import."},
	},
	"config-error": {
		{"exception", "one rank only, or late: the program, not its settings."},
		{"init-unreachable", "the address is right and does not answer."},
	},
	"native-crash": {
		{"host-oom", "−9 is a kill, not a crash; −11, −6 and −7 are crashes, and −6 after a watchdog's line is the watchdog."},
		{"dataloader-worker-killed", "the pid that died is a child of the rank."},
		{"gpu-ecc", "the same host again, or an Xid in its kernel log: hardware."},
	},
	"watchdog-stuck": {
		{"rank-stalled", "there a collective timed out; here the watchdog thread itself did not move."},
	},
	"host-oom": {
		{"external-signal", "exit −9 alone proves nothing: it takes “oom_kill” from SLURM or “Killed process” from the kernel."},
		{"gpu-oom", "“CUDA out of memory” is the GPU's memory."},
		{"dataloader-worker-killed", "only a loader worker was killed, not the rank."},
	},
	"node-failure": {
		{"external-signal", "a node that died leaves a file that simply stops, and SLURM says “Node failure on”; the host in the CANCELLED line is only the reporter."},
	},
	"preempted": {
		{"external-signal", "no reason from SLURM in the batch script's output."},
		{"exception", "an error before the SIGTERM."},
	},
	"time-limit": {
		{"rank-stalled", "was it training until the end? If the steps stood still long before, the limit only ended a hang."},
	},
	"cancelled": {
		{"exception", "an error before the cancellation; up to SLURM 24.11 a scancel and the end after a failed task print the same words."},
	},
	"thermal-power": {
		{"slow-rank", "slow, without a word of heat or power in sensors or kernel log."},
	},
	"scheduler-error": {
		{"config-error", "a process of the job ran and complained."},
	},
	"slow-rank": {
		{"rank-stalled", "there the rank never arrives; here it arrives late at every step."},
		{"throughput-regression", "all ranks are equally slow."},
	},
	"throughput-regression": {
		{"slow-rank", "one rank, node or GPU stands out."},
	},
	"loss-plateau": {
		{"non-finite-loss", "the loss is NaN or infinite, not merely flat."},
	},
	"ais-batch-object-loss": {
		{"ais-stream-broken", "a broken stream just before the lost objects: that is the earlier link."},
		{"exception", "a short batch without a cause on a target inside the window: a client's bug."},
	},
	"ais-stream-broken": {
		{"ais-daemon-restart", "one end of the stream restarted: its log begins with “Started up at”."},
		{"ais-network", "timeouts between many nodes, without a crash."},
	},
	"ais-resource-pressure": {
		{"ais-throttled", "who slows down: the target itself (pressure) or the remote store (429, 503)."},
	},
	"ais-daemon-restart": {
		{"ais-rebalance", "“Rotated at” at the head of a log is only a rotation; an orderly stop before “Started up at” is maintenance."},
	},
	"ais-rebalance": {
		{"ais-daemon-restart", "what made a node leave comes first; 404s during an eviction are no loss of data."},
	},
	"ais-silent-stall": {
		{"ais-network", "there keep-alive or timeout lines; here a running job, counters that stand still, and no error line."},
	},
	"ais-disk-fault": {
		{"storage-full", "out of space raises the same checks: read the errno."},
	},
	"ais-throttled": {
		{"ais-resource-pressure", "the target's own pressure, not the remote store's answer."},
	},
	"ais-auth": {
		{"ais-network", "401 and 403 at one instant on all ranks, not timeouts."},
	},
	"ais-network": {
		{"ais-daemon-restart", "“connection refused” means a process that is gone, a timeout one that is slow or unreachable."},
	},
	"storage-retries-exhausted": {
		{"ais-resource-pressure", "the storage logs show why the server did not answer."},
		{"completed", "a ladder that stays at 1/n and recovers is noise: an idle connection was closed."},
	},
	"storage-full": {
		{"resource-limit", "/dev/shm is full: that is memory."},
	},
	"storage-unresponsive": {
		{"node-failure", "one mount, seen from many nodes: the store; one node only: the node."},
	},
	"checkpoint-io": {
		{"storage-full", "“No space left on device” beside the save."},
		{"rank-busy", "the save succeeds and only takes longer than the timeout."},
	},
	"completed": nil,
	"unknown":   nil,
}

// LookAlikes are the mechanisms that a person may mistake this one for, and how to tell.
func LookAlikes(slug Slug) []LookAlike { return lookAlikes[slug] }
