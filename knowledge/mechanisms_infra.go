package knowledge

// The machine room and the scheduler; endings that nobody is to blame for; and the answer "unknown".
var infrastructureMechanisms = []Mechanism{
	{
		Slug: NodeFailure, Origin: "infrastructure", Owner: "cluster", Resubmit: "yes",
		Nature: Hardware, Again: Again{Machine: true},
		Title: "a node died",
		Meaning: "A node stopped answering, and SLURM ended the job. " +
			"The host named in the CANCELLED line only reports it; the dead node's own log simply stops.",
		Now: []Advice{
			{"Let SLURM show which node it lost and since when; the job needs a replacement for it.", "sacct -j {job} -P -o JobID,State,FailedNode,NodeList; sinfo -R; scontrol show node {node}"},
			adviceExclude,
			{"Find out from its console or management controller why it died.", "ipmitool -H {node}-bmc sel list | tail"},
		},
		Structural: []Advice{
			{"Let the job requeue itself and resume from its last checkpoint.", "sbatch --requeue --open-mode=append …"},
			adviceCheckpoint,
		},
		NextTime: []Advice{{"Send kernel logs to another machine: those of a dead node die with it.", ""}},
		LookAlikes: []LookAlike{
			{ExternalSignal, "a node that died leaves a file that simply stops, and SLURM says “Node failure on”; the host in the CANCELLED line is only the reporter."},
		},
	},
	{
		Slug: Preempted, Origin: "infrastructure", Owner: "nobody", Resubmit: "yes",
		Title: "the scheduler took the nodes back",
		Meaning: "A job with higher priority needed the nodes (preemption). " +
			"Nothing is wrong with this one.",
		Now: []Advice{
			{"See whether the scheduler has put it back into the queue; if not, submit it again.", "squeue -j {job}; sacct -D -j {job} -o JobID,State,Start,End"},
		},
		Structural: []Advice{{"Save a checkpoint when the warning signal arrives, and let the job requeue itself.", "sbatch --requeue --open-mode=append --signal=B:USR1@300 …"}},
		NextTime:   []Advice{{"Keep the logs of the earlier run when the job is requeued.", "sbatch --open-mode=append …"}},
		LookAlikes: []LookAlike{
			{ExternalSignal, "no reason from SLURM in the batch script's output."},
			{Exception, "an error before the SIGTERM."},
		},
	},
	{
		Slug: TimeLimit, Origin: "infrastructure", Owner: "job-config", Resubmit: "yes",
		Title: "the time limit was reached",
		Meaning: "The scheduler ended the job because its time was used up. " +
			"If it still made progress at that time nothing is wrong; if not, it had hung before.",
		Now: []Advice{
			adviceResubmit,
			{"Ask for more time, or chain jobs.", "sbatch --dependency=afterany:{job} …"},
		},
		Structural: []Advice{{"Let SLURM warn the job some minutes before the end, and save a checkpoint then.", "sbatch --signal=B:USR1@600 …"}},
		NextTime:   []Advice{{"Print the step and the time now and then: progress until the end proves that it did not hang.", ""}},
		LookAlikes: []LookAlike{
			{RankStalled, "was it training until the end? If the steps stalled long before, the limit only ended a hang."},
		},
	},
	{
		Slug: Cancelled, Origin: "infrastructure", Owner: "nobody", Resubmit: "no",
		Title: "the job was cancelled",
		Meaning: "The job was cancelled before any error appeared. " +
			"Who did it stands in SLURM's records, not in these logs.",
		Now:        []Advice{{"See who cancelled it, if that matters.", "sacct -j {job} -P -o JobID,State%40,End"}},
		Structural: nil,
		NextTime:   nil,
		LookAlikes: []LookAlike{
			{Exception, "an error before the cancellation; up to SLURM 24.11 a scancel and the end after a failed task print the same words."},
		},
		Collect: []string{"PYTHONUNBUFFERED=1"},
	},
	{
		Slug: ExternalSignal, Origin: "infrastructure", Owner: "unknown", Resubmit: "yes", Nature: BySomebody | Killed | BySignal,
		Title: "an outside signal ended it",
		Meaning: "The processes were ended by SIGTERM or SIGKILL from outside, with no earlier error and no reason of the scheduler. " +
			"A monitor, a launcher or a person may have sent it.",
		Now: []Advice{
			adviceSacct,
			{"Look for what may have sent it at that time: monitors of idle jobs, pod evictions, a closed login session, systemd.", "ssh {node} 'journalctl --since \"-6h\" | grep -Ei \"sigterm|sigkill|killed|evict|oom\"'"},
		},
		Structural: []Advice{{"Let every tool that ends jobs write who it is and why, into the job's own log.", ""}},
		NextTime:   []Advice{{"Record the senders of signals.", "auditctl -a always,exit -F arch=b64 -S kill -k who_killed"}},
		LookAlikes: []LookAlike{
			{HostOOM, "exit −9 with “oom_kill” or “Killed process” in SLURM's or the kernel's log."},
			{Preempted, "SLURM says DUE TO PREEMPTION in the output of the batch script."},
			{Exception, "an error before the signal: then the signal is only the launcher's cleaning up."},
		},
		Collect: []string{"PYTHONUNBUFFERED=1"},
	},
	{
		Slug: ThermalPower, Origin: "infrastructure", Owner: "cluster", Resubmit: "yes",
		Nature: Hardware, Again: Again{Machine: true},
		Title: "heat or power trouble",
		Meaning: "A node slowed down or failed because of heat, its power supply, or a machine check of its CPU. " +
			"The sensors of that node have the details.",
		Now: []Advice{
			adviceExclude,
			{"Read sensors and the event log of {node}.", "ssh {node} 'nvidia-smi -q -d TEMPERATURE,POWER,PERFORMANCE; ipmitool sdr; ipmitool sel list | tail'"},
		},
		Structural: []Advice{{"Alert on slowdown reasons of the GPUs, by rack.", ""}},
		NextTime:   []Advice{adviceKernelLog},
		LookAlikes: []LookAlike{
			{SlowRank, "slow, with nothing about heat or power in sensors or kernel log."},
		},
	},
	{
		Slug: SchedulerError, Origin: "infrastructure", Owner: "scheduler", Resubmit: "yes",
		Nature: BeforeSteps,
		Title:  "the job could not be launched",
		Meaning: "SLURM could not start the step: a credential, a container, or an output file was the obstacle. " +
			"No training took place, and the job's code is not involved.",
		Now: []Advice{
			{"Check that the folder of the output files exists and can be written from every node, then resubmit.", "scontrol show job {job} | grep -E 'StdOut|StdErr|WorkDir'"},
			{"If it comes back, show the administrators the message with its time.", "sacct -D -P -j {job} -o JobID,State,ExitCode,Reason,NodeList"},
		},
		Structural: []Advice{{"Import large container images once, in front of the job, not at each start.", "enroot import docker://IMAGE"}},
		NextTime:   []Advice{{"Keep the batch script's own output: only it holds srun's messages.", ""}},
		LookAlikes: []LookAlike{
			{ConfigError, "a process of the job ran and complained."},
		},
		Collect: []string{"SLURM_DEBUG=1"},
	},
	{
		Slug: Completed, Origin: "none", Owner: "nobody", Resubmit: "no",
		Nature: Stands,
		Title:  "nothing failed",
		Meaning: "The job ended in order, or was healthy as far as its logs reach. " +
			"Retries that succeeded and warnings at the end are harmless.",
		Now: []Advice{{"Nothing to do. If you expected more of this job, check that its last step is the one you asked for.", ""}},
	},
	{
		Slug: Unknown, Origin: "unknown", Owner: "unknown", Resubmit: "unknown",
		Nature: MayBeStore,
		Title:  "not explained by these logs",
		Meaning: "Nothing in the files explains the failure, or the cause lies in evidence that was not handed in. " +
			"The report lists exactly what would decide it.",
		Now: []Advice{
			adviceAllLogs,
			adviceSacct,
			{"If nodes are known, read their kernel logs for the time of the failure.", "clush -w {nodes} \"dmesg -T | grep -Ei 'xid|nvrm|oom|hung task|link down|mce' | tail -5\""},
		},
		Structural: []Advice{{"Keep one log for each rank or node, with times, on storage that survives the node.", ""}},
		NextTime:   []Advice{adviceRecorder, adviceNCCLWarn},
	},
}

// Jobs that run, but not as they should.
var performanceMechanisms = []Mechanism{
	{
		Slug: SlowRank, Origin: "performance", Owner: "cluster", Resubmit: "unknown",
		Again: Again{Machine: true},
		Title: "one rank slows all others",
		Meaning: "One rank, node or GPU is slower than its group, and every step takes as long as the slowest. " +
			"It is a straggler that still arrives, not a hang.",
		Now: []Advice{
			{"Compare clocks, temperature and slowdown reasons of all GPUs of the job.", "clush -w {nodes} 'nvidia-smi --query-gpu=index,clocks.sm,temperature.gpu,clocks_event_reasons.active --format=csv,noheader'"},
			{"Leave {node} out of the resubmission and test it: times by rank accuse the rank, not yet the machine.", "sbatch --exclude={root} …"},
			adviceFabricTest,
		},
		Structural: []Advice{{"Log the time of compute and of waiting for each rank: the rank that waits least is the slow one.", ""}},
		NextTime:   []Advice{{"Profile some steps on a slow and on a normal rank.", "nsys profile -t cuda,nvtx -y 300 -d 60 python train.py"}},
		LookAlikes: []LookAlike{
			{RankStalled, "there the rank never arrives; here it arrives late at every step."},
			{ThroughputRegression, "all ranks are equally slow."},
		},
	},
	{
		Slug: ThroughputRegression, Origin: "performance", Owner: "unknown", Resubmit: "unknown",
		Title: "the job became slower",
		Meaning: "Steps take longer than they did earlier in the same run, while the loss still moves. " +
			"Network, heat, data, checkpoints and neighbours on shared machines are the usual reasons.",
		Now: []Advice{
			{"Find out when it began and what changed then: a checkpoint, an evaluation, a new node, a neighbour job.", "sacct -a -X -S now-1day -E now -N {nodes} -o JobID,Start,End,NodeList"},
			adviceFabricTest,
		},
		Structural: []Advice{{"Alert when the mean step time of the last hundred steps leaves its own baseline by more than 10%.", ""}},
		NextTime:   []Advice{{"Log step time and time spent waiting for data, for each rank.", ""}},
		LookAlikes: []LookAlike{
			{SlowRank, "one rank, node or GPU stands out."},
		},
		Collect: transport,
	},
	{
		Slug: LossPlateau, Origin: "performance", Owner: "job-code", Resubmit: "unknown",
		Title: "the loss stopped moving",
		Meaning: "The loss did not improve over a long window, while the run was healthy in every other way. " +
			"Learning rate, schedule and data order are the first things to check.",
		Now: []Advice{
			{"Compare learning rate, gradient norm and the loss on a fixed validation set before and after it stopped.", ""},
			{"Check that the data did not begin to repeat, and that the schedule has not ended.", ""},
		},
		Structural: []Advice{{"Evaluate on a fixed set often enough to see a plateau within hours.", ""}},
		NextTime:   []Advice{{"Log learning rate and gradient norm at each step.", ""}},
		LookAlikes: []LookAlike{
			{NonFiniteLoss, "the loss is NaN or infinite, not merely flat."},
		},
	},
}
