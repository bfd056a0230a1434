package knowledge

// Loading data, and the data themselves.
var dataMechanisms = []Mechanism{
	{
		Slug: DataloaderStall, Origin: "data-loading-stall", Owner: "data", Resubmit: "yes",
		Nature: ReadsOrWrites | OfItem | Stands | MayBeStore, Again: Again{Machine: true, Step: true},
		Title: "data loading stalled every rank",
		Meaning: "One rank waited for its next batch while the other ranks were already waiting in a collective for it. " +
			"Something in its logs points at loading: a retry, a slow read, or its stack.",
		Now: []Advice{
			{"Find the item or shard that rank {rank} was reading; read it once by hand from {node} and take the time.", ""},
			{"Get the storage logs of that time: they tell a slow store from a slow decoder.", ""},
			adviceStacks,
		},
		Structural: []Advice{
			{"Give each read a timeout (the DataLoader's timeout=, the client's read timeout) and skip the item after it, on all ranks alike.", ""},
			{"Spread large and slow shards over the ranks, and keep some batches in reserve (prefetch).", ""},
		},
		NextTime: []Advice{{"Log every batch that took longer than ten times the usual, with its items.", ""}, adviceRecorder},
		LookAlikes: []LookAlike{
			{RankStalled, "nothing in any log says what held the rank."},
			{CheckpointIO, "there the stall begins at a checkpoint."},
		},
	},
	{
		Slug: DataloaderWorkerKilled, Origin: "data-loading-stall", Owner: "job-config", Resubmit: "after-fix",
		Nature: EndsProcess | MayBeStore | KilledChild,
		Title:  "a loader worker was killed",
		Meaning: "A DataLoader worker, a child process that prepares batches, was killed by a signal. " +
			"Too little memory or a full /dev/shm is the usual reason.",
		Now: []Advice{
			{"Look at shared memory and at the kernel's kills on {node}.", "ssh {node} 'df -h /dev/shm; dmesg -T | grep -iE \"oom|killed process\"'"},
			{"Use fewer workers or a smaller prefetch factor, or give the container more shared memory.", "docker run --shm-size=64g …"},
		},
		Structural: []Advice{{"Keep samples small in the worker, close files, and restart workers each epoch if memory grows.", ""}},
		NextTime:   []Advice{{"Run the loader alone for an epoch and watch its memory.", ""}},
		LookAlikes: []LookAlike{
			{HostOOM, "the kernel log names the killed process: dmesg -T | grep -i 'killed process'."},
			{ResourceLimit, "“Bus error” in the worker's line: /dev/shm is full (df -h /dev/shm)."},
		},
	},
	{
		Slug: BadSample, Origin: "data", Owner: "data", Resubmit: "after-fix",
		Nature: ReadsOrWrites | OfItem | Endurable | EndsProcess | MayBeStore, Again: Again{Step: true, Item: passing},
		Title: "one item could not be read",
		Meaning: "An item of the data set could not be decoded or has a wrong shape. " +
			"The same item in two runs means the data are bad; once may be a faulty read.",
		Now: []Advice{
			{"Read the named item once by hand, from another node.", ""},
			{"Take it out of the manifest (quarantine), then resubmit from the last completed checkpoint.", ""},
		},
		Structural: []Advice{{"Check every item once when the data set is made; at training time skip and count bad items, on all ranks alike.", ""}},
		NextTime:   []Advice{{"Print the name of the item in every loader error.", ""}},
		LookAlikes: []LookAlike{
			{StorageRetriesExhausted, "the same item fails in two runs: the data; once only: perhaps the read."},
		},
	},
	{
		Slug: UnevenData, Origin: "data", Owner: "job-code", Resubmit: "after-fix",
		Nature: Stands | MayBeStore,
		Title:  "ranks had different batch counts",
		Meaning: "One rank had fewer batches than the other ranks and finished early. " +
			"The others then waited in a collective for a rank that was already done.",
		Now: []Advice{
			{"Compare the last step of the ranks, and the length of their shards.", "grep -hoE '(step|iteration) [0-9]+' *{job}* | sort | uniq -c | sort -k3n | tail"},
			{"Use drop_last, or pad the shards to equal length.", ""},
		},
		Structural: []Advice{
			{"Let all ranks agree on the number of steps (the minimum, by an all-reduce) before the epoch.", ""},
			{"With DistributedDataParallel, join() lets early finishers take part in what is left.", ""},
		},
		NextTime: []Advice{{"Print the number of batches of every rank at the start of an epoch.", ""}},
		LookAlikes: []LookAlike{
			{LoneWaiter, "compare the step counters: in uneven data a rank ended its epoch early and in order."},
		},
		Collect: append([]string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, recorder...),
	},
}
