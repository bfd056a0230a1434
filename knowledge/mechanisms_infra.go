package knowledge

// The machine room and the scheduler; endings that nobody is to blame for; and the answer "unknown".
var infrastructureMechanisms = []Mechanism{
	{
		Slug: NodeFailure, Origin: "infrastructure", Owner: "cluster", Resubmit: "yes",
		Nature: Hardware, Again: Again{Machine: true},
		Title: "a node died",
		Meaning: "A node stopped responding, and SLURM ended the job. " +
			"The host in the CANCELLED line only reports it; the dead node's own log simply stops.",
		Now: []Advice{
			adviceExclude,
			{"Check its console or BMC for why it died.", "ipmitool -H {node}-bmc sel list | tail"},
		},
		Structural: []Advice{
			{"Have the job requeue itself and resume from its last checkpoint.", "sbatch --requeue --open-mode=append …"},
			adviceCheckpoint,
		},
		NextTime: []Advice{{"Send kernel logs to another machine: a dead node's logs die with it.", ""}},
		LookAlikes: []LookAlike{
			{ExternalSignal, "a dead node's log simply stops, and SLURM says “Node failure on”; the host in the CANCELLED line only reports it."},
		},
	},
	{
		Slug: Preempted, Origin: "infrastructure", Owner: "nobody", Resubmit: "yes",
		Title: "the scheduler preempted the job",
		Meaning: "A job with higher priority needed the nodes (preemption). " +
			"This job did nothing wrong.",
		Now: []Advice{
			{"Check whether the scheduler has requeued it; if not, resubmit it.", "squeue -j {job}; sacct -D -j {job} -o JobID,State,Start,End"},
		},
		Structural: []Advice{{"Save a checkpoint on the warning signal, and have the job requeue itself.", "sbatch --requeue --open-mode=append --signal=B:USR1@300 …"}},
		NextTime:   []Advice{{"Keep the earlier run's logs when the job is requeued.", "sbatch --open-mode=append …"}},
		LookAlikes: []LookAlike{
			{ExternalSignal, "SLURM gives no reason in the batch script's output."},
			{Exception, "an error before the SIGTERM."},
		},
	},
	{
		Slug: TimeLimit, Origin: "infrastructure", Owner: "job-config", Resubmit: "yes",
		Title: "the time limit was reached",
		Meaning: "The scheduler ended the job because it ran out of time. " +
			"If it was still making progress, nothing is wrong; if not, it had already hung.",
		Now: []Advice{
			adviceResubmit,
			{"Ask for more time, or chain jobs.", "sbatch --dependency=afterany:{job} …"},
		},
		Structural: []Advice{{"Have SLURM signal the job a few minutes before the limit, and save a checkpoint then.", "sbatch --signal=B:USR1@600 …"}},
		NextTime:   []Advice{{"Print the step and time regularly: progress up to the end proves that it didn't hang.", ""}},
		LookAlikes: []LookAlike{
			{RankStalled, "was it training until the end? If steps stopped long before, the limit only ended a hang."},
		},
	},
	{
		Slug: Cancelled, Origin: "infrastructure", Owner: "nobody", Resubmit: "no",
		Title: "the job was cancelled",
		Meaning: "The job was cancelled before any error appeared. " +
			"SLURM's records show who did it; these logs don't.",
		Now:        []Advice{{"Check who cancelled it, if that matters.", "sacct -j {job} -P -o JobID,State%40,End"}},
		Structural: nil,
		NextTime:   nil,
		LookAlikes: []LookAlike{
			{Exception, "an error before the cancellation; up to SLURM 24.11, a scancel and a step ended after a task failure print the same message."},
		},
		Collect: []string{"PYTHONUNBUFFERED=1"},
	},
	{
		Slug: ExternalSignal, Origin: "infrastructure", Owner: "unknown", Resubmit: "yes", Nature: BySomebody | Killed | BySignal,
		Title: "an outside signal ended the job",
		Meaning: "The processes were killed by SIGTERM or SIGKILL from outside, with no earlier error and no reason from the scheduler. " +
			"A monitor, a launcher or a person may have sent it.",
		Now: []Advice{
			adviceSacct,
			{"Look for what may have sent it at that time: idle-job monitors, pod evictions, a closed login session, systemd.", "ssh {node} 'journalctl --since \"-6h\" | grep -Ei \"sigterm|sigkill|killed|evict|oom\"'"},
		},
		Structural: []Advice{{"Have every tool that kills jobs write its name and reason into the job's own log.", ""}},
		NextTime:   []Advice{{"Record who sends signals.", "auditctl -a always,exit -F arch=b64 -S kill -k who_killed"}},
		LookAlikes: []LookAlike{
			{HostOOM, "exit −9 with “oom_kill” or “Killed process” in SLURM's or the kernel's log."},
			{Preempted, "SLURM says DUE TO PREEMPTION in the output of the batch script."},
			{Exception, "an error before the signal: the signal is just the launcher cleaning up."},
		},
		Collect: []string{"PYTHONUNBUFFERED=1"},
	},
	{
		Slug: ThermalPower, Origin: "infrastructure", Owner: "cluster", Resubmit: "yes",
		Alone:  "compute",
		Nature: Hardware, Again: Again{Machine: true},
		Title: "heat or power trouble",
		Meaning: "A node slowed down or failed because of heat, its power supply, or a CPU machine check. " +
			"That node's sensors have the details.",
		Now: []Advice{
			adviceExclude,
			{"Read the sensors and event log on {node}.", "ssh {node} 'nvidia-smi -q -d TEMPERATURE,POWER,PERFORMANCE; ipmitool sdr; ipmitool sel list | tail'"},
			adviceKernelLog,
		},
		Structural: []Advice{{"Alert on GPU slowdown reasons, by rack.", ""}},
		LookAlikes: []LookAlike{
			{SlowRank, "slow, with no sign of heat or power trouble in the sensors or kernel log."},
		},
	},
	{
		Slug: SchedulerError, Origin: "infrastructure", Owner: "scheduler", Resubmit: "yes",
		Nature: BeforeSteps | NotLaunched,
		Title:  "the job could not be launched",
		Meaning: "SLURM couldn't start the step because of a problem with a credential, a container or an output file. " +
			"No training took place, and the job's code is not involved.",
		Now: []Advice{
			{"Check that the output folder exists and is writable from every node, then resubmit.", "scontrol show job {job} | grep -E 'StdOut|StdErr|WorkDir'"},
			{"If it happens again, send the admins the error message and its timestamp.", "sacct -D -P -j {job} -o JobID,State,ExitCode,Reason,NodeList"},
		},
		Structural: []Advice{{"Import large container images once before the job, not at each start.", "enroot import docker://IMAGE"}},
		NextTime:   []Advice{adviceBatchOutput},
		LookAlikes: []LookAlike{
			{ConfigError, "one of the job's processes ran and reported an error."},
		},
		Collect: []string{"SLURM_DEBUG=1"},
	},
	{
		Slug: Completed, Origin: "none", Owner: "nobody", Resubmit: "no",
		Nature: Stands,
		Title:  "nothing failed",
		Meaning: "The job finished normally, or was healthy as far as its logs go. " +
			"Retries that succeeded and warnings at shutdown are harmless.",
		Now: []Advice{{"Nothing to do. If you expected more steps, check the number you requested.", ""}},
	},
	{
		Slug: Unknown, Origin: "unknown", Owner: "unknown", Resubmit: "unknown",
		Nature: MayBeStore,
		Title:  "not explained by these logs",
		Meaning: "Nothing in these files explains the failure; the evidence may be in files I wasn't given. " +
			"The report lists what would settle it.",
		Now: []Advice{
			adviceAllLogs,
			adviceSacct,
			{"If you know the nodes, read their kernel logs for the time of the failure.", "clush -w {nodes} \"dmesg -T | grep -Ei 'xid|nvrm|oom|hung_task|blocked for more than|link down|mce' | tail -5\""},
		},
		Structural: []Advice{{"Keep one log per rank or node, with timestamps, on storage that survives the node.", ""}},
		NextTime:   []Advice{adviceRecorder, adviceNCCLWarn},
	},
}

// Jobs that run, but not as they should.
var performanceMechanisms = []Mechanism{
	{
		Slug: SlowRank, Origin: "performance", Owner: "cluster", Resubmit: "unknown",
		Alone: "compute",
		Again: Again{Machine: true},
		Title: "one rank slows all others",
		Meaning: "One rank, node or GPU is slower than the rest, and every step takes as long as the slowest. " +
			"It is a straggler that still arrives, not a hang.",
		Now: []Advice{
			{"Compare the slow GPU's clocks, temperature and slowdown reasons with other GPUs'.", "clush -w {nodes} 'nvidia-smi --query-gpu=index,clocks.sm,temperature.gpu,clocks_event_reasons.active --format=csv,noheader'"},
			{"Exclude {node} when you resubmit, and test it: per-rank times point to the rank, not necessarily the machine.", "sbatch --exclude={root} …"},
			adviceFabricTest,
		},
		Structural: []Advice{adviceLogWaits},
		NextTime:   []Advice{{"Profile a few steps on a slow rank and on a normal one.", "nsys profile -t cuda,nvtx -y 300 -d 60 python train.py"}},
		LookAlikes: []LookAlike{
			{RankStalled, "the rank never arrives; here it arrives late at every step."},
			{ThroughputRegression, "all ranks are equally slow."},
		},
	},
	{
		Slug: ThroughputRegression, Origin: "performance", Owner: "unknown", Resubmit: "unknown",
		Nature: OfPace,
		Title:  "the job slowed down",
		Meaning: "Steps take longer than earlier in the same run, while the loss still improves. " +
			"The usual reasons are the network, heat, data, checkpoints, and other jobs on shared machines.",
		Now: []Advice{
			FindOnset(),
			adviceFabricTest,
		},
		Structural: []Advice{{"Alert when the mean step time over the last hundred steps is more than 10% above its baseline.", ""}},
		NextTime:   []Advice{{"Log step time and data wait time for each rank.", ""}},
		LookAlikes: []LookAlike{
			{SlowRank, "one rank, node or GPU stands out."},
		},
		Collect: transport,
	},
	{
		Slug: LossPlateau, Origin: "performance", Owner: "job-code", Resubmit: "unknown",
		Title: "the loss no longer falls",
		Meaning: "The loss did not fall over a long window, or rises, while the run was otherwise healthy. " +
			"Check the learning rate, schedule and data order first.",
		Now: []Advice{
			{"Rule out, in this order: a learning rate too low or decayed too far, gradient clipping that is too tight, a batch changed without the learning rate.", ""},
			{"Then rule out: the same data again, optimizer state lost on load, a model too small for the task.", ""},
		},
		Structural: []Advice{{"Evaluate on a fixed set often enough to see a plateau within hours.", ""}},
		NextTime:   []Advice{{"Log learning rate and gradient norm at each step.", ""}},
		LookAlikes: []LookAlike{
			{NonFiniteLoss, "the loss is NaN or infinite, not merely flat."},
		},
	},
}
