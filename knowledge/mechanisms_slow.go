package knowledge

// Parts of a step that take longer than they did, as timers, tests and counters tell them apart. None of them ends a job.
var slowMechanisms = []Mechanism{
	{
		Slug: SlowCommunication, Origin: "performance", Owner: "cluster", Resubmit: "unknown",
		Alone: "communication",
		Again: Again{Machine: true},
		Title: "communication slowed down",
		Meaning: "Steps take longer because collectives do; compute time is unchanged. " +
			"One bad link, a congested switch or a changed NCCL setting slows every rank of a synchronous job.",
		Now: []Advice{
			{"Test the nodes in pairs with nccl-tests: the node that is slow with every partner is the one to exclude.", "bot isolate --ledger isolate-{job}.json --nodes '{nodes}' --floor GBPS"},
			{"Read the error counters of all ports twice, ten minutes apart.", "clush -w {nodes} 'perfquery -x | grep -E \"Symbol|LinkDowned|RcvErr|XmitDisc|XmitWait\"'"},
		},
		Structural: []Advice{{"Measure the bus bandwidth of all nodes every few hours, and alert when it drops by 20%.", ""}},
		NextTime:   []Advice{{"Have Megatron print all ranks' timers.", "--timing-log-level 2 --timing-log-option all"}},
		LookAlikes: []LookAlike{
			{SlowRank, "one rank's own compute grew, and the other ranks wait for it in collectives."},
			{LinkError, "there, transfers fail; here they only take longer."},
		},
		Collect: transport,
	},
	{
		Slug: SlowCompute, Origin: "performance", Owner: "unknown", Resubmit: "unknown",
		Alone: "compute",
		Again: Again{Machine: true},
		Title: "compute slowed down on every rank",
		Meaning: "The forward and backward passes take longer, even on the fastest rank. " +
			"Typical causes: longer sequences, recompilation, or a power or clock limit on all GPUs.",
		Now: []Advice{
			{"Compare the clocks, power and slowdown reasons of all the job's GPUs with their limits.", "clush -w {nodes} 'nvidia-smi --query-gpu=index,clocks.sm,clocks.max.sm,power.draw,power.limit,temperature.gpu,clocks_event_reasons.active --format=csv'"},
			{"Compare batch size, sequence lengths and compilations before and after the slowdown began.", ""},
		},
		Structural: []Advice{{"Log each step's token count next to its time: more work isn't a slowdown.", ""}},
		NextTime:   []Advice{{"Profile a few steps before and after the slowdown.", "nsys profile -t cuda,nvtx -y 300 -d 60 python train.py"}},
		LookAlikes: []LookAlike{{SlowRank, "only one rank, node or GPU takes longer to compute."}},
	},
	{
		Slug: SlowHost, Origin: "performance", Owner: "job-code", Resubmit: "unknown",
		Alone: "compute",
		Title: "the host slows every step",
		Meaning: "Forward, backward and communication times are unchanged; the optimizer, or time no timer covers, takes longer. " +
			"Typical causes: CPU offloading, swap, garbage collection, logging, and other processes on the node.",
		Now: []Advice{
			{"Check memory, swap and other processes on the nodes while the job is slow.", "clush -w {nodes} 'free -m; vmstat 1 3; ps -eo pid,pcpu,pmem,comm --sort=-pcpu | head'"},
			{"Profile what the processes do between the phases.", "py-spy record -d 60 --format raw -o rank$RANK.folded --pid PID"},
		},
		Structural: []Advice{{"Collect garbage on all ranks at the same step, and keep logging off the critical path.", ""}},
		NextTime:   []Advice{{"Time everything between two steps, on each rank.", ""}},
		LookAlikes: []LookAlike{{SlowCompute, "there, the forward or backward pass takes longer."}},
	},
	{
		Slug: SlowCheckpoint, Origin: "performance", Owner: "storage", Resubmit: "unknown",
		Nature: MayBeStore,
		Title:  "saves block training longer",
		Meaning: "Each checkpoint blocks training for longer than earlier ones in the same run. " +
			"A busy or filling file system is the usual reason; the steps between saves are as fast as ever.",
		Now: []Advice{
			{"Measure the checkpoint storage's current write speed, and check how full it is.", "df -h CKPT; dd if=/dev/zero of=CKPT/probe bs=64M count=64 oflag=direct; rm CKPT/probe"},
			{"Save less often until it is fixed, or save asynchronously.", "--async-save   # Megatron; async_save of torch.distributed.checkpoint"},
		},
		Structural: []Advice{adviceSaveBeside},
		NextTime:   []Advice{adviceLogSaveSize},
		LookAlikes: []LookAlike{{CheckpointIO, "there, a save fails or never ends."}},
	},
}
