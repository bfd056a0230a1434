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
		"Why did the processes of this node need more memory than it has: workers, caches, or something that leaks?",
		"Why did nobody see the host's memory grow?",
	},
	NonFiniteLoss: {
		"Why did the numbers leave their range: learning rate, loss scale, a layer, or the data of that step?",
		"Why did the run go on, or end, without clipping or skipping that step?",
	},
	RankStalled: {
		"Why did that rank stop: its data, its code, its GPU, or its node?",
		"Why was nothing watching for a rank that falls silent?",
	},
	CollectiveMismatch: {
		"Why did the ranks take different paths through the program?",
		"Why did no small run take that path before?",
	},
	UnevenData: {
		"Why did the ranks get different numbers of batches?",
		"Why does the loop not end on all ranks together?",
	},
	TimeLimit: {
		"Why did the job need longer than it was given?",
		"Why did it not save and resubmit itself before the limit?",
	},
	InitUnreachable: {
		"Why could the ranks not meet: a node, a name, a port, or a launcher that started too few?",
		"Why was the meeting not tried before the job took its nodes (bot check)?",
	},
}

// whysOfOrigin are by what broke.
var whysOfOrigin = map[string][]string{
	"storage": {
		"Why did the storage fail or slow down at that time?",
		"Why could the job not live through it: retries, timeouts, a cache?",
	},
	"data-loading-stall": {
		"Why was the data not there in time: storage, decoding, or too few workers?",
		"Why does one slow item hold every rank: prefetching, timeouts, skipping?",
	},
	"data": {
		"Why is that item in the data set?",
		"Why was it not found when the data set was made?",
	},
	"network": {
		"Why did the link or the peer go away?",
		"Why was the link not taken out of service when its errors began?",
	},
	"gpu": {
		"Why did the GPU fail now: its age, its errors before, its load?",
		"Why was the node still in the partition: were its errors watched?",
	},
	"software": {
		"Why does the program do this: what changed since it last worked?",
		"Why did no test, and no short run, show it before?",
	},
	"infrastructure": {
		"Why did the cluster end the job?",
		"Why did the job lose more than the time since its last save?",
	},
	"performance": {
		"Why did that part become slower at that time: hardware, neighbours, data, or the job's own phase?",
		"Why did nobody notice when it began: is step time or throughput watched?",
	},
	"unknown": {
		"Why do the logs not tell: what must be switched on so that the next failure does?",
		"Why was no evidence collected while the job was still there?",
	},
}
