package knowledge

// Whys are the questions that come after the technical cause, in their order: a post-mortem asks them of the people, because no log answers
// them. They end in something that a team can change.
func Whys(m Slug) []string {
	if w, ok := whysOf[m]; ok {
		return w
	}
	if mech, ok := MechanismBySlug(m); ok {
		if w, ok := whysOfOrigin[mech.Origin]; ok {
			return w
		}
	}
	return whysOfOrigin["unknown"]
}

// whysOf are for mechanisms that the questions of their origin do not fit.
var whysOf = map[Slug][]string{
	GPUOOM: {
		"Why did the job need more memory than the GPU has: batch, sequence length, or state that grew over time?",
		"Why was the memory budget (parameters, gradients, optimizer, activations) not calculated before the run?",
	},
	HostOOM: {
		"Why did the processes on this node need more memory than they may use: workers, caches, or a leak?",
		"Why did nobody notice the growth in host memory?",
	},
	NonFiniteLoss: {
		"Why did values become invalid: the learning rate, the loss scale, a layer, or that step's data?",
		"Why didn't the run clip gradients or skip that step?",
	},
	RankStalled: {
		"Why did that rank stop: its data, its code, its GPU, or its node?",
		"Why was nothing monitoring for a rank that goes silent?",
	},
	CollectiveMismatch: {
		"Why did the ranks take different code paths?",
		"Why did no smaller run exercise that path before?",
	},
	UnevenData: {
		"Why did the ranks get different numbers of batches?",
		"Why doesn't the loop end on all ranks at the same step?",
	},
	TimeLimit: {
		"Why did the job need more time than it had requested?",
		"Why didn't it save a checkpoint and resubmit itself before the limit?",
	},
	NodeFailure: {
		"Why did the node die: hardware, power, its kernel, or its memory?",
	},
	StorageFull: {
		"Why did it fill up: checkpoints, caches, or somebody else's files?",
	},
	AISDiskFault: {
		"Why did the disk fail now: wear, its controller, or earlier errors?",
	},
	InitUnreachable: {
		"Why couldn't the ranks connect: a node, a host name, a port, or a launcher that started too few processes?",
		"Why wasn't the rendezvous tested before the job took its nodes (bot check)?",
	},
}

// whysOfOrigin are by what broke.
var whysOfOrigin = map[string][]string{
	"storage": {
		"Why did storage fail or slow down at that time?",
		"Why couldn't the job ride it out: retries, timeouts, a cache?",
	},
	"data-loading-stall": {
		"Why was the data late: storage, decoding, or too few workers?",
		"Why does one slow item stall every rank: prefetching, timeouts, skipping?",
	},
	"data": {
		"How did that item get into the dataset?",
		"Why wasn't it caught when the dataset was built?",
	},
	"network": {
		"Why did the link or the peer go away?",
		"Why wasn't the link taken out of service when its errors started?",
	},
	"gpu": {
		"Why did the GPU fail now: age, earlier errors, load?",
		"Why was the node still in the partition: were its errors monitored?",
	},
	"software": {
		"Why does the program do this, and what changed since it last worked?",
		"Why did no test or short run catch it?",
	},
	"infrastructure": {
		"Why did the cluster kill the job?",
		"Why did the job lose more than the time since its last checkpoint?",
	},
	"performance": {
		"Why did that part slow down at that time: hardware, other jobs, data, or a phase of the job itself?",
		"Why did nobody notice when it started: is step time or throughput monitored?",
	},
	"unknown": {
		"Why don't the logs show the cause, and what must be turned on so that they do next time?",
		"Why was no evidence collected while the job was still running?",
	},
}
