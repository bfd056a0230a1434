package knowledge

// Storage: AIStore (ais-*, seen in its daemons' logs) and what the job itself reports of its stores and file systems.
var storageMechanisms = []Mechanism{
	{
		Slug: AISBatchObjectLoss, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature:  ReadsOrWrites | OfItem,
		Trouble: &Trouble{Order: 9, Led: "batches that %s put together were aborted or stayed incomplete"},
		Title:   "AIStore returned incomplete batches",
		Meaning: "An AIStore target dropped objects from a batch request, so the loader got fewer items than it asked for. " +
			"The target's log names why: usually pressure on its resources or a broken stream to another target.",
		Now: []Advice{
			{"Read the target's warnings in the window before the first client error.", "ais show cluster; ais show log TARGET_ID"},
			{"Retry incomplete batches in the client instead of ending the job, and ask for fewer objects at a time.", ""},
		},
		Structural: []Advice{{"Cap the batch size, and give targets the memory and disk bandwidth that the job's rate needs.", ""}},
		NextTime:   []Advice{{"Keep the logs of all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISStreamBroken, "a broken stream just before the lost objects: that is the earlier link."},
			{Exception, "a short batch without a cause on a target inside the window: a client's bug."},
		},
	},
	{
		Slug: AISAdministration, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature:  Wide,
		Trouble: &Trouble{Order: -1, Led: "%s was changed on request", LeadsTo: []Slug{AISBatchObjectLoss, AISStreamBroken, AISRebalance, AISDaemonRestart, NotFound}},
		Title:   "AIStore was changed during the job",
		Meaning: "AIStore was changed while the job read from it: a target went into maintenance or left, or objects were deleted. " +
			"The daemons did as they were told; the objects that the job wanted were no longer there.",
		Now: []Advice{
			{"Find out who made the change and whether it was meant; undo it if it was not.", "ais show cluster; ais show job --all"},
			{"Check that the objects of the failed requests are back, then resubmit.", "ais object show BUCKET/OBJECT"},
		},
		Structural: []Advice{{"Announce maintenance and deletions to running jobs; let a target rebalance before it leaves.", ""}},
		NextTime:   []Advice{{"Keep the logs of all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISBatchObjectLoss, "there a target lost what it should hold; here it was taken away on request, and the target only reports it missing."},
			{AISRebalance, "there objects are on their way and come back; here nothing moves them."},
		},
	},
	{
		Slug: AISStreamBroken, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Trouble: &Trouble{Order: 8, Led: "streams to %s broke", LeadsTo: []Slug{AISBatchObjectLoss}},
		Title:   "streams between AIStore targets broke",
		Meaning: "The data stream between two AIStore targets ended with a broken pipe. " +
			"Requests that needed both of them failed or were cut short.",
		Now: []Advice{
			{"Check the network and the memory of both targets at that time.", "ais show performance counters; ais show performance"},
			adviceResubmit,
		},
		Structural: []Advice{{"Watch retransmissions and memory on the storage nodes.", ""}},
		NextTime:   []Advice{{"Keep the logs of all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISDaemonRestart, "one end of the stream restarted: its log begins with “Started up at”."},
			{AISNetwork, "timeouts between many nodes, without a crash."},
		},
	},
	{
		Slug: AISResourcePressure, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature:  Strain,
		Trouble: &Trouble{Order: 2, Led: "%s was under pressure", LeadsTo: []Slug{AISStreamBroken, AISNetwork, AISBatchObjectLoss, AISDaemonRestart, AISRebalance}},
		Title:   "AIStore was overloaded",
		Meaning: "An AIStore target reported critical load, disks or memory before the first error of a client. " +
			"It slows down or refuses work in that state.",
		Now: []Advice{
			{"Look at load, disks and memory of the targets.", "ais show cluster; ais show storage; ais show performance disk"},
			{"Free space or lower the request rate, then resubmit.", ""},
		},
		Structural: []Advice{{"Set rate limits below what the targets can sustain, and alert before the critical mark.", ""}},
		NextTime:   []Advice{{"Keep the statistics of the daemons over the run.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISThrottled, "who slows down: the target itself (pressure) or the remote store (429, 503)."},
		},
	},
	{
		Slug: AISDaemonRestart, Origin: "storage", Owner: "storage", Resubmit: "yes",
		Nature:  Wide,
		Trouble: &Trouble{Order: 3, Led: "%s went down", LeadsTo: []Slug{AISStreamBroken, AISNetwork, AISRebalance, AISBatchObjectLoss, NotFound}},
		Title:   "an AIStore daemon restarted",
		Meaning: "An AIStore daemon restarted during the job without an orderly stop. " +
			"Requests in flight at that moment were lost.",
		Now: []Advice{
			{"Find why it restarted: the kernel log of its node, or the pod's last state.", "kubectl describe pod POD; kubectl logs --previous POD"},
			adviceResubmit,
		},
		Structural: []Advice{{"Let clients retry over more than one endpoint for longer than a restart takes.", ""}},
		NextTime:   []Advice{{"Keep the log of the daemon from before the restart.", ""}},
		LookAlikes: []LookAlike{
			{AISRebalance, "“Rotated at” at the head of a log is only a rotation; an orderly stop before “Started up at” is maintenance."},
		},
	},
	{
		Slug: AISRebalance, Origin: "storage", Owner: "storage", Resubmit: "yes",
		Nature:  Wide,
		Trouble: &Trouble{Order: 7, Led: "the cluster moved its data", LeadsTo: []Slug{AISBatchObjectLoss, NotFound}},
		Title:   "AIStore was moving its data",
		Meaning: "The cluster of AIStore changed its members and moved objects during the job. " +
			"Until that ends, reads are slow and objects may be reported as not found.",
		Now: []Advice{
			{"Wait until the rebalance has ended, then resubmit.", "ais show rebalance"},
			{"Find out why a member left or joined.", "ais show cluster smap"},
		},
		Structural: []Advice{{"Plan changes of the cluster outside of long jobs.", ""}},
		NextTime:   []Advice{{"Keep the logs of all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISDaemonRestart, "what made a node leave comes first; 404s during an eviction are no loss of data."},
		},
	},
	{
		Slug: AISSilentStall, Origin: "storage", Owner: "storage", Resubmit: "yes",
		Trouble: &Trouble{Order: 5, Led: "%s received nothing", LeadsTo: []Slug{AISBatchObjectLoss, AISResourcePressure}},
		Title:   "an AIStore daemon stalled",
		Meaning: "An AIStore daemon, or a batch job on it, stalled and logged no error. " +
			"It may have recovered since, so the cluster looks healthy from outside.",
		Now: []Advice{
			{"Find what held the daemon: a frozen process, a disk, memory or CPU limits on its node.", "ais show log TARGET_ID; dmesg -T | tail -50"},
			{"Look at the running jobs of the targets twice, a minute apart; stop the one that does not move.", "ais show job --all; ais stop JOB_ID"},
			adviceResubmit,
		},
		Structural: []Advice{{"Use a client timeout shorter than the timeout of the collective.", ""}},
		NextTime:   []Advice{{"Take the stacks of the stuck daemon and report them upstream.", ""}},
		LookAlikes: []LookAlike{
			{AISNetwork, "there the daemon's own log goes on; here it is silent for as long, or its counters do not move."},
		},
	},
	{
		Slug: AISDiskFault, Origin: "storage", Owner: "storage", Resubmit: "yes",
		Nature:  Strain,
		Trouble: &Trouble{Order: 1, Led: "%s had trouble with a disk", LeadsTo: []Slug{StorageFull, AISBatchObjectLoss, AISStreamBroken, AISRebalance, AISDaemonRestart, AISResourcePressure, NotFound}},
		Title:   "a disk of AIStore failed",
		Meaning: "A disk of an AIStore target reported errors or was taken out of service. " +
			"Objects on it are unavailable unless they have copies.",
		Now: []Advice{
			{"See which mount path is disabled, and the state of its disk.", "ais storage mountpath; smartctl -a /dev/DISK"},
			{"Replace the disk; its content comes back from copies or the remote store.", ""},
		},
		Structural: []Advice{{"Keep two copies or erasure coding for data that cannot be fetched again.", ""}},
		NextTime:   []Advice{{"Alert on I/O errors before the disk is disabled.", ""}},
		LookAlikes: []LookAlike{
			{StorageFull, "out of space raises the same checks: read the errno."},
		},
	},
	{
		Slug: AISThrottled, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature:  Strain,
		Trouble: &Trouble{Order: 6, Led: "%s was throttled", LeadsTo: []Slug{AISBatchObjectLoss}},
		Title:   "the store limited the rate",
		Meaning: "AIStore, or the remote store behind it, refused requests because they came too fast. " +
			"The counters tell which of the two did.",
		Now: []Advice{
			{"Compare the throttle counters with the replies 429 and 503 of the remote store.", "ais show performance counters"},
			{"Lower the number of workers or the batch size, or ask for more quota.", ""},
		},
		Structural: []Advice{{"Warm the cache before the job, so that the remote store is not asked at training time.", ""}},
		NextTime:   []Advice{{"Log replies of the store with their codes.", ""}},
		LookAlikes: []LookAlike{
			{AISResourcePressure, "the target's own pressure, not the remote store's answer."},
		},
	},
	{
		Slug: AISAuth, Origin: "storage", Owner: "job-config", Resubmit: "after-fix",
		Nature:  ReadsOrWrites,
		Trouble: &Trouble{Order: 10, Led: "%s refused requests"},
		Title:   "access to AIStore was refused",
		Meaning: "AIStore refused the job's token, on all ranks at the same time. " +
			"A token that ran out during the job is the usual reason.",
		Now: []Advice{
			{"Renew the token with a life longer than the job, then resubmit.", "ais auth login USER --expire 240h"},
		},
		Structural: []Advice{{"Renew tokens from within the job.", ""}},
		NextTime:   []Advice{{"Print the token's time of expiry (never the token) at start.", ""}},
		LookAlikes: []LookAlike{
			{AISNetwork, "401 and 403 at one instant on all ranks, not timeouts."},
		},
	},
	{
		Slug: AISNetwork, Origin: "storage", Owner: "cluster", Resubmit: "yes",
		Nature:  Wide,
		Trouble: &Trouble{Order: 4, Patience: 8, Led: "%s did not answer others", LeadsTo: []Slug{AISStreamBroken, AISRebalance, AISBatchObjectLoss, AISDaemonRestart, NotFound}},
		Title:   "AIStore's nodes lost contact",
		Meaning: "Nodes of AIStore missed each other's keep-alive messages without being overloaded or restarted. " +
			"The network between them is the suspect.",
		Now: []Advice{
			{"Test the network between the storage nodes.", "ais show cluster; ping -c 20 -i 0.2 STORAGE_NODE"},
			adviceResubmit,
		},
		Structural: []Advice{{"Watch retransmissions and link errors between storage nodes.", ""}},
		NextTime:   []Advice{{"Keep the logs of all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISDaemonRestart, "“connection refused” means a process that is gone, a timeout one that is slow or unreachable."},
		},
	},
	{
		Slug: StorageRetriesExhausted, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: ReadsOrWrites | OfItem | Endurable,
		Title:  "reads from the store kept failing",
		Meaning: "Reads from the store were retried until the last attempt and still failed. " +
			"A retry that succeeds is harmless; this one did not.",
		Now: []Advice{
			{"Test the endpoint from {node} before resubmitting.", "ssh {node} 'curl -sS -o /dev/null -w \"%{http_code} %{time_total}\\n\" ENDPOINT_URL'"},
			{"Get the store's own logs of that time: they tell overload from network.", ""},
		},
		Structural: []Advice{{"Repair the store first; only then choose client timeouts and retries that outlast a short outage.", ""}},
		NextTime:   []Advice{{"Log the endpoint and the duration of every retry.", ""}},
		LookAlikes: []LookAlike{
			{AISResourcePressure, "the storage logs show why the server did not answer."},
			{Completed, "a ladder that stays at 1/n and recovers is noise: an idle connection was closed."},
		},
	},
	{
		Slug: StorageFull, Origin: "storage", Owner: "job-config", Resubmit: "after-fix",
		Nature:  ReadsOrWrites | Endurable | EndsProcess | Strain,
		Trouble: &Trouble{Order: 0, Led: "%s was out of space", LeadsTo: []Slug{AISDiskFault, AISResourcePressure, AISBatchObjectLoss, AISStreamBroken, AISDaemonRestart, AISRebalance, NotFound}},
		Title:   "no space left",
		Meaning: "A write failed because the disk was full or the quota used up. " +
			"It may be the shared file system or a small local /tmp.",
		Now: []Advice{
			{"Find out which file system is full.", "ssh {node} 'df -h; df -i'; quota -s; lfs quota -h -u $USER ."},
			{"Remove old checkpoints and caches, or move them to another place, then resubmit. The last checkpoint may be incomplete: take the one before.", "du -xsh ./* | sort -h | tail"},
		},
		Structural: []Advice{{"Keep the last few checkpoints only, and point caches away from the home directory.", "export TMPDIR=/scratch/$USER HF_HOME=/scratch/$USER/hf TRITON_CACHE_DIR=/scratch/$USER/triton"}},
		NextTime:   []Advice{{"Check the free space before each save.", ""}},
		OfAIStore: &Aside{Owner: "storage",
			Now: []Advice{
				{"See which targets and mount paths are full, and what fills them.", "ais show cluster; ais storage mountpath; ais storage summary"},
				{"Remove or evict what is not needed (cached remote buckets first), or add a disk, then resubmit. What was written meanwhile is incomplete.", "ais evict BUCKET; ais storage cleanup"},
			},
			Structural: []Advice{{"Set the watermarks so that targets evict before they are full, and keep the last few checkpoints only.", "ais config cluster space"}},
			NextTime:   []Advice{{"Watch the used capacity of every mount path, not of the whole cluster: one that is full rejects writes.", "ais storage mountpath"}},
		},
		LookAlikes: []LookAlike{
			{ResourceLimit, "/dev/shm is full: that is memory."},
		},
	},
	{
		Slug: StorageUnresponsive, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: ReadsOrWrites | OfItem | Endurable | Stands,
		Title:  "a file system stopped answering",
		Meaning: "A mounted file system did not answer, and processes that read from it slept in the kernel. " +
			"GPUs of those nodes look idle, which is a consequence.",
		Now: []Advice{
			{"See which processes sleep in the kernel on {node}, and on which mount.", "ssh {node} 'ps -eo pid,stat,wchan:32,cmd | grep \" D\"; dmesg -T | grep -A3 \"blocked for more than\"'"},
			{"Ask the file-system team with the time, the node and the mount; see whether other nodes have it too.", "clush -w {nodes} 'timeout 10 stat -f . || echo no answer'"},
		},
		Structural: []Advice{{"Stage the data to local disks, so that training does not depend on a shared mount at every step.", ""}},
		NextTime:   []Advice{adviceKernelLog},
		LookAlikes: []LookAlike{
			{NodeFailure, "one mount, seen from many nodes: the store; one node only: the node."},
		},
	},
	{
		Slug: CheckpointIO, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: ReadsOrWrites | OfItem | Endurable | Stands | EndsProcess,
		Title:  "trouble saving or loading a checkpoint",
		Meaning: "Saving or loading a checkpoint failed, or took longer than the other ranks were willing to wait. " +
			"A file cut short by an earlier crash is a frequent reason.",
		Now: []Advice{
			{"Compare the sizes of the files of this checkpoint with those of the one before; resume from the one before if they differ.", "ls -l CHECKPOINT_DIR"},
			{"If a save only takes long: raise the timeout of that one process group, or save asynchronously.", ""},
		},
		Structural: []Advice{{"Write to a temporary name and rename at the end, so that a half-written checkpoint is never taken for a whole one.", ""}},
		NextTime:   []Advice{{"Log begin, end and size of every save.", ""}},
		LookAlikes: []LookAlike{
			{StorageFull, "“No space left on device” beside the save."},
			{RankBusy, "the save succeeds and only takes longer than the timeout."},
		},
	},
}
