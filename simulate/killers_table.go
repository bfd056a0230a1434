package simulate

// killers lists the mechanisms of stop-line 2.
func killers() []mechanism {
	return []mechanism{
		{name: "exception", line: 2, ablations: []string{"traceback", "exit"}, run: playException},
		{name: "gpu-oom", line: 2, ablations: []string{"message", "exit"}, run: playGPUOOM},
		{name: "cuda-error", line: 2, ablations: []string{"message"}, run: playCUDAError},
		{name: "gpu-ecc", line: 2, ablations: []string{"message"}, run: playECC},
		{name: "host-oom", line: 2, ablations: []string{"event"}, run: playHostOOM},
		{name: "killed", line: 2, run: playKilled},
		{name: "native-crash", line: 2, ablations: []string{"trace"}, run: playNativeCrash},
		{name: "dataloader-worker-killed", line: 2, ablations: []string{"message"}, run: playLoaderKilled},
		{name: "time-limit", line: 2, ablations: []string{"reason"}, run: playEnding("time-limit", " DUE TO TIME LIMIT", "yes")},
		{name: "hang-to-time-limit", line: 2, fit: fitOneGroup, run: playHangToTimeLimit},
		{name: "preempted", line: 2, ablations: []string{"reason"}, run: playEnding("preempted", " DUE TO PREEMPTION", "yes")},
		{name: "cancelled", line: 2, run: playEnding("cancelled", "", "")},
		{name: "node-failure", line: 2, ablations: []string{"reason", "place"}, fit: needNodes, run: playNodeFailure},
		{name: "requeued", line: 2, run: playRequeue},
		{name: "cancel-after-crash", line: 2, run: playConsequence},
		{name: "scheduler-error", line: 2, run: playSchedulerError},
		{name: "external-signal", line: 2, fit: needAgents, run: playSignal},
		{name: "peer-lost", line: 2, fit: needNodes, run: playPeerLost},
		{name: "init-unreachable", line: 2, run: playInit},
		{name: "config-error", line: 2, run: playConfig},
		{name: "version-mismatch", line: 2, run: playVersion},
		{name: "resource-limit", line: 2, ablations: []string{"message"}, run: playLimit},
		{name: "healthy", line: 2, run: playHealthy},
	}
}

// needNodes gives the spec a second node, at the same world size.
func needNodes(p *Spec, _ *picker) {
	if p.NodeCount < 2 && p.PerNode > 1 && p.PerNode%2 == 0 {
		p.NodeCount, p.PerNode = 2, p.PerNode/2
	}
}

// needAgents is for what only torchrun's agents print.
func needAgents(p *Spec, _ *picker) { p.FileMode = "node" }
