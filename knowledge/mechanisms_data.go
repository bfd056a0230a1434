package knowledge

// Loading data, and the data themselves.
var dataMechanisms = []Mechanism{
	{
		Slug: DataloaderStall, Origin: "data-loading-stall", Owner: "data", Resubmit: "yes",
		Alone:  "data",
		Nature: ReadsOrWrites | OfItem | Stands | MayBeStore, Again: Again{Machine: true, Step: true},
		Title: "data loading stalled",
		Meaning: "One rank was waiting for its next batch while the other ranks were waiting for it in a collective. " +
			"Its logs point to data loading: a retry, a slow read, or its stack.",
		Now: []Advice{
			{"Find the item or shard rank {rank} was reading; read it by hand from {node} and time it.", ""},
			{"Get the storage logs from that time: they distinguish a slow store from a slow decoder.", ""},
			adviceStacks,
		},
		Structural: []Advice{
			{"Give each read a timeout (the DataLoader's timeout=, the client's read timeout) and skip the item when it expires, consistently on all ranks.", ""},
			{"Spread large and slow shards across the ranks, and prefetch a few batches.", ""},
		},
		NextTime: []Advice{{"Log every batch that takes more than ten times as long as usual, with its items.", ""}, adviceRecorder},
		LookAlikes: []LookAlike{
			{RankStalled, "no log shows what blocked the rank."},
			{CheckpointIO, "the stall begins at a checkpoint."},
		},
	},
	{
		Slug: DataloaderWorkerKilled, Origin: "data-loading-stall", Owner: "job-config", Resubmit: "after-fix",
		Nature: EndsProcess | MayBeStore | KilledChild,
		Title:  "a loader worker was killed",
		Meaning: "A DataLoader worker, a child process that prepares batches, was killed by a signal. " +
			"Too little memory or a full /dev/shm is the usual reason.",
		Now: []Advice{
			{"Check shared memory and OOM kills on {node}.", "ssh {node} 'df -h /dev/shm; dmesg -T | grep -iE \"oom|killed process\"'"},
			{"Use fewer workers or a smaller prefetch factor, or give the container more shared memory.", "docker run --shm-size=64g …"},
		},
		Structural: []Advice{{"Keep samples small in the worker, close files, and restart workers each epoch if memory grows.", ""}},
		NextTime:   []Advice{{"Run the loader alone for one epoch and watch its memory.", ""}},
		LookAlikes: []LookAlike{
			{HostOOM, "the kernel log shows the killed process: dmesg -T | grep -i 'killed process'."},
			{ResourceLimit, "“Bus error” in the worker's line: /dev/shm is full (df -h /dev/shm)."},
		},
	},
	{
		Slug: BadSample, Origin: "data", Owner: "data", Resubmit: "after-fix",
		Nature: ReadsOrWrites | OfItem | Endurable | EndsProcess | MayBeStore | LeftOut, Again: Again{Step: true, Item: passing},
		Title: "one item could not be read",
		Meaning: "A dataset item could not be decoded or has the wrong shape. " +
			"The same item failing in two runs means bad data; a single failure may be a faulty read.",
		Now: []Advice{
			{"Read that item by hand from another node.", ""},
			{"Quarantine it in the manifest, then resubmit from {save}.", ""},
		},
		Structural: []Advice{{"Validate every item when the dataset is built; at training time, skip and count bad items consistently on all ranks.", ""}},
		NextTime:   []Advice{{"Print the item's name in every loader error.", ""}},
		LookAlikes: []LookAlike{
			{StorageRetriesExhausted, "if the same item fails in two runs, the data is bad; if it fails once, possibly only the read."},
		},
	},
	{
		Slug: UnevenData, Origin: "data", Owner: "job-code", Resubmit: "after-fix",
		Nature: Stands | MayBeStore,
		Play:   Play{MissingCall, "One rank has one batch fewer: the other ranks wait for it in a collective it never joins."},
		Title:  "ranks had different batch counts",
		Meaning: "One rank had fewer batches than the other ranks and finished early. " +
			"The other ranks then waited in a collective for a rank that was already done.",
		Now: []Advice{
			{"Compare the ranks' last steps and shard lengths.", "grep -hoE '(step|iteration) [0-9]+' *{job}* | sort | uniq -c | sort -k3n | tail"},
			{"Use drop_last, or pad the shards to equal length.", ""},
		},
		Structural: []Advice{
			{"Have all ranks agree on the number of steps (an all-reduce of the minimum) before each epoch.", ""},
			{"With DistributedDataParallel, join() lets ranks that finish early take part in the remaining steps.", ""},
		},
		NextTime: []Advice{{"Print every rank's batch count at the start of an epoch.", ""}},
		LookAlikes: []LookAlike{
			{LoneWaiter, "compare the step counters: with uneven data, a rank finished its epoch normally but early."},
		},
		Collect: append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	},
}
