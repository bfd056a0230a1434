package knowledge

// Parts of a step that take longer than they did, as timers, tests and counters tell them apart. None of them ends a job.
var slowMechanisms = []Mechanism{
	{
		Slug: SlowCommunication, Origin: "performance", Owner: "cluster", Resubmit: "unknown",
		Again: Again{Machine: true},
		Title: "communication slowed down",
		Meaning: "Steps take longer because collectives do, while compute takes what it took. " +
			"One bad link, a congested switch or a changed NCCL setting slows every rank of a synchronous job.",
		Now: []Advice{
			{"Test the nodes in pairs with nccl-tests: the node that is slow with every partner is the one to exclude.", "bot isolate --ledger isolate-{job}.json --nodes '{nodes}' --floor GBPS"},
			{"Read the error counters of all ports twice, ten minutes apart.", "clush -w {nodes} 'perfquery -x | grep -E \"Symbol|LinkDowned|RcvErr|XmitDisc|XmitWait\"'"},
		},
		Structural: []Advice{{"Measure the bus bandwidth of all nodes every few hours, and alert when it drops by 20 %.", ""}},
		NextTime:   []Advice{{"Let Megatron print the timers of all ranks.", "--timing-log-level 2 --timing-log-option all"}},
		LookAlikes: []LookAlike{
			{SlowRank, "one rank's own compute grew, and the other ranks wait for it in collectives."},
			{LinkError, "there transfers fail; here they only take longer."},
		},
		Collect: transport,
	},
	{
		Slug: SlowCompute, Origin: "performance", Owner: "unknown", Resubmit: "unknown",
		Again: Again{Machine: true},
		Title: "compute slowed down on every rank",
		Meaning: "The forward and backward passes take longer on the fastest rank as on the slowest. " +
			"Longer sequences, recompilation, or a power or clock limit on all GPUs do that.",
		Now: []Advice{
			{"Compare clocks, power and slowdown reasons of all GPUs of the job with their limits.", "clush -w {nodes} 'nvidia-smi --query-gpu=index,clocks.sm,clocks.max.sm,power.draw,power.limit,temperature.gpu,clocks_event_reasons.active --format=csv'"},
			{"Compare batch size, sequence lengths and compilations before and after it began.", ""},
		},
		Structural: []Advice{{"Log the tokens of each step beside its time: more work is no slowdown.", ""}},
		NextTime:   []Advice{{"Profile some steps before and after.", "nsys profile -t cuda,nvtx -y 300 -d 60 python train.py"}},
		LookAlikes: []LookAlike{{SlowRank, "only one rank, node or GPU computes longer."}},
	},
	{
		Slug: SlowHost, Origin: "performance", Owner: "job-code", Resubmit: "unknown",
		Title: "the host slows every step",
		Meaning: "Forward, backward and communication take what they took; the optimizer, or time that no timer covers, grew. " +
			"Offloading to the CPU, swap, garbage collection, logging and other processes on the node do that.",
		Now: []Advice{
			{"Look at memory, swap and other processes of the nodes while it is slow.", "clush -w {nodes} 'free -m; vmstat 1 3; ps -eo pid,pcpu,pmem,comm --sort=-pcpu | head'"},
			{"See what the processes do between the phases.", "py-spy record -d 60 -o rank.svg --pid PID"},
		},
		Structural: []Advice{{"Collect garbage on all ranks at the same step, and keep logging off the step's path.", ""}},
		NextTime:   []Advice{{"Time everything between two steps, for each rank.", ""}},
		LookAlikes: []LookAlike{{SlowCompute, "there the forward or backward pass grew."}},
	},
	{
		Slug: SlowCheckpoint, Origin: "performance", Owner: "storage", Resubmit: "unknown",
		Nature: MayBeStore,
		Title:  "saves block training longer",
		Meaning: "Each checkpoint blocks the steps for longer than earlier ones of the same run. " +
			"A busy or filling file system is the usual reason; the steps between saves are as fast as ever.",
		Now: []Advice{
			{"Measure what the checkpoint storage writes now, and how full it is.", "df -h CKPT; dd if=/dev/zero of=CKPT/probe bs=64M count=64 oflag=direct; rm CKPT/probe"},
			{"Save less often until it is fixed, or save asynchronously.", "--async-save   # Megatron; async_save of torch.distributed.checkpoint"},
		},
		Structural: []Advice{{"Save asynchronously, and alert when a save takes twice its usual time.", ""}},
		NextTime:   []Advice{{"Log when each save begins and ends, with its bytes.", ""}},
		LookAlikes: []LookAlike{{CheckpointIO, "there a save fails or never ends."}},
	},
}
