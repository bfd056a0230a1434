package knowledge

// Storage: AIStore (ais-*, seen in its daemons' logs) and what the job itself reports of its stores and file systems.
var storageMechanisms = []Mechanism{
	{
		Slug: AISBatchObjectLoss, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: ReadsOrWrites | OfItem | AIStoreOnly,
		Trouble: &Trouble{
			Order:  9,
			Told:   "batches assembled by {daemon} were aborted or left incomplete ({records})",
			Led:    "batches assembled by {daemon} were aborted or left incomplete",
			Faults: []string{"broken"}, Words: []string{"StopIteration", "AISBatchLoaderError", "truncated", "prematurely", "returned empty content", "unexpected EOF", "missing entry"},
		},
		Title: "AIStore returned incomplete batches",
		Meaning: "An AIStore target dropped objects from a batch request, so the loader got fewer items than it asked for. " +
			"The target's log shows why: usually resource pressure or a broken stream to another target.",
		Now: []Advice{
			{"Read the target's warnings from the window before the first client error.", "ais show cluster; ais show log {target}"},
			adviceRetryBatches,
		},
		Structural: []Advice{{"Cap the batch size, and give targets enough memory and disk bandwidth for the job's rate.", ""}},
		NextTime:   []Advice{{"Keep logs from all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISStreamBroken, "a stream broke just before the objects were lost: that came first."},
			{Exception, "a short batch with no cause on any target in the window: a client bug."},
		},
	},
	{
		Slug: AISAdministration, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: Wide | AIStoreOnly,
		Trouble: &Trouble{
			Order: -1,
			Told:  "{daemon} was changed by an administrator",
			Led:   "{daemon} was changed by an administrator", LeadsTo: []Slug{AISBatchObjectLoss, AISStreamBroken, AISRebalance, AISDaemonRestart, NotFound},
		},
		Title: "AIStore was changed during the job",
		Meaning: "AIStore was changed while the job read from it: a target went into maintenance or left, objects were deleted, or a bucket's access was changed. " +
			"The daemons did as requested, but the job could no longer read what it wanted.",
		Now: []Advice{
			{"Find out who made the change and whether it was meant; undo it if it was not.", "ais show cluster; ais show job --all"},
			{"Check that the objects from the failed requests are back, then resubmit.", "ais object show BUCKET/OBJECT"},
		},
		Structural: []Advice{{"Announce maintenance and deletions to owners of running jobs; let a target rebalance before it leaves.", ""}},
		NextTime:   []Advice{{"Keep logs from all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISBatchObjectLoss, "a target lost what it should hold; here an administrator removed it, and the target only reports it missing."},
			{AISRebalance, "objects are being moved and come back; here nothing moves them."},
		},
	},
	{
		Slug: AISStreamBroken, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: AIStoreOnly | TwoEnds,
		Trouble: &Trouble{
			Order: 8,
			Told:  "streams between {daemon} and other daemons broke",
			Led:   "streams to {daemon} broke", LeadsTo: []Slug{AISBatchObjectLoss},
			Spreads: 60,
			Faults:  []string{"broken"}, Words: []string{"StopIteration", "AISBatchLoaderError", "truncated", "prematurely", "returned empty content", "unexpected EOF", "missing entry"},
		},
		Title: "streams between AIStore targets broke",
		Meaning: "The data stream between two AIStore targets failed with a broken pipe. " +
			"Requests that needed both of them failed or were cut short.",
		Now: []Advice{
			{"Check the network and memory of {target}, and of the daemons it streamed to, at that time.", "ais show performance counters; ais show performance"},
			adviceResubmit,
		},
		Structural: []Advice{{"Monitor retransmissions and memory on the storage nodes.", ""}},
		NextTime:   []Advice{{"Keep logs from all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISDaemonRestart, "one end of the stream restarted: its log begins with “Started up at”."},
			{AISNetwork, "timeouts between many nodes, without a crash."},
		},
	},
	{
		Slug: AISResourcePressure, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: Strain | AIStoreOnly | LoadAlone,
		Trouble: &Trouble{
			Order: 2,
			Told:  "{daemon} was under load ({records})",
			Led:   "{daemon} was under pressure", LeadsTo: []Slug{AISStreamBroken, AISNetwork, AISBatchObjectLoss, AISDaemonRestart, AISRebalance},
			Delay:  60,
			Faults: []string{"throttled", "timeout"}, Words: []string{"resource pressure", "STATUS:429", "ErrTooManyRequests"},
		},
		Title: "AIStore was overloaded",
		Meaning: "An AIStore target reported critical CPU load, disk or memory usage before the first client error. " +
			"In that state it slows down or rejects requests.",
		Now: []Advice{
			{"Check load, disks and memory on the targets.", "ais show cluster; ais show storage; ais show performance disk"},
			{"Free space or lower the request rate, then resubmit.", ""},
		},
		Structural: []Advice{{"Set rate limits below what the targets can sustain, and alert before the critical mark.", ""}},
		NextTime:   []Advice{{"Keep the daemons' statistics for the run.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISThrottled, "what is slowing down: the target itself (pressure) or the remote store (429, 503)."},
		},
	},
	{
		Slug: AISDaemonRestart, Origin: "storage", Owner: "storage", Resubmit: "yes",
		Nature: Wide | AIStoreOnly | Outage | OwnDoing,
		Trouble: &Trouble{
			Order: 3,
			Told:  "{daemon} stopped accepting connections; its own log from that time is missing or doesn't show why",
			Led:   "{daemon} went down", LeadsTo: []Slug{AISStreamBroken, AISNetwork, AISRebalance, AISBatchObjectLoss, NotFound},
			Faults: []string{"refused", "reset", "broken"}, Words: []string{"onnection refused", "unexpected EOF", "roken pipe", "reset by peer"},
		},
		Title: "an AIStore daemon restarted",
		Meaning: "An AIStore daemon restarted during the job without a clean shutdown. " +
			"Requests in flight at that moment were lost.",
		Now: []Advice{
			{"Find out why it restarted: check the kernel log of the daemon's node, or the pod's last state.", "kubectl describe pod POD; kubectl logs --previous POD"},
			adviceResubmit,
		},
		Structural: []Advice{adviceRetryElsewhere},
		NextTime:   []Advice{{"Keep the daemon's log from before the restart.", ""}},
		LookAlikes: []LookAlike{
			{AISRebalance, "“Rotated at” at the head of a log is only a rotation; a clean shutdown before “Started up at” is maintenance."},
		},
	},
	{
		Slug: AISRebalance, Origin: "storage", Owner: "storage", Resubmit: "yes",
		Nature: Wide | AIStoreOnly | OnRequest,
		Trouble: &Trouble{
			Order: 7,
			Told:  "cluster membership changed and data was rebalanced",
			Led:   "the cluster rebalanced its data", LeadsTo: []Slug{AISBatchObjectLoss, NotFound},
			Faults: []string{"missing"}, Words: []string{"ErrNotFound", "ErrObjNotFound", "does not exist", "STATUS:404"},
		},
		Title: "AIStore was rebalancing",
		Meaning: "The AIStore cluster's membership changed and objects were being moved during the job. " +
			"Until the rebalance ends, reads are slow and objects may be reported as not found.",
		Now: []Advice{
			{"Wait for the rebalance to finish, then resubmit.", "ais show rebalance"},
			{"Find out why a node left or joined.", "ais show cluster smap"},
		},
		Structural: []Advice{{"Schedule cluster changes outside long jobs.", ""}},
		NextTime:   []Advice{{"Keep logs from all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISDaemonRestart, "what made the node leave comes first; 404s during an eviction are not data loss."},
		},
	},
	{
		Slug: AISSilentStall, Origin: "storage", Owner: "storage", Resubmit: "yes",
		Nature: AIStoreOnly,
		Trouble: &Trouble{
			Order: 5,
			Told:  "batches were running on {daemon}, but for {time} it received nothing from the other daemons and logged no error",
			Led:   "{daemon} received nothing", LeadsTo: []Slug{AISBatchObjectLoss, AISResourcePressure},
			Delay:  60,
			Faults: []string{"timeout"}, Words: []string{"imed out", "imeout"},
		},
		Title: "an AIStore daemon stalled",
		Meaning: "An AIStore daemon, or a batch job on it, stalled and logged no error. " +
			"It may have recovered since, so the cluster may look healthy from outside.",
		Now: []Advice{
			{"Find what blocked the daemon: a frozen process, a disk, or memory or CPU limits on its node.", "ais show log {target}; dmesg -T | tail -50"},
			{"Check the targets' running jobs twice, a minute apart; stop any that isn't making progress.", "ais show job --all; ais stop JOB_ID"},
			adviceResubmit,
		},
		Structural: []Advice{adviceClientTimeout},
		NextTime:   []Advice{{"Take stacks from the stuck daemon and report them upstream.", ""}},
		LookAlikes: []LookAlike{
			{AISNetwork, "there, the daemon keeps logging; here it is silent, or its counters don't move."},
		},
	},
	{
		Slug: AISDiskFault, Origin: "storage", Owner: "storage", Resubmit: "yes",
		Nature: Strain | AIStoreOnly,
		Trouble: &Trouble{
			Order: 1,
			Told:  "{mountpath} on {daemon} had I/O errors or was disabled",
			Led:   "{daemon} had a disk problem", LeadsTo: []Slug{StorageFull, AISBatchObjectLoss, AISStreamBroken, AISRebalance, AISDaemonRestart, AISResourcePressure, NotFound},
			Faults: []string{"server"}, Words: []string{"STATUS:500", "input/output error"},
		},
		Title: "AIStore disk errors",
		Meaning: "A disk on an AIStore target reported errors or was taken out of service. " +
			"Objects on it are unavailable unless they have copies.",
		Now: []Advice{
			{"Check the disk of {mountpath} on {target}.", "ais storage mountpath show {target}; smartctl -a /dev/{disk}   # on its host"},
			{"Replace the disk if its state confirms it. Objects with no copy, erasure coding or remote store must be loaded again: list them first.", ""},
		},
		Structural: []Advice{{"Keep two copies or erasure coding for data that cannot be fetched again.", ""}},
		NextTime:   []Advice{{"Alert on the first I/O error of a disk, and on every disabled mountpath.", ""}},
		LookAlikes: []LookAlike{
			{StorageFull, "out of space triggers the same checks: check the errno."},
		},
	},
	{
		Slug: AISThrottled, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: Strain | AIStoreOnly,
		Trouble: &Trouble{
			Order: 6,
			Told:  "requests at {daemon} were throttled ({records})",
			Led:   "{daemon} was throttled", LeadsTo: []Slug{AISBatchObjectLoss},
			Faults: []string{"throttled"}, Words: []string{"STATUS:429", "STATUS:503", "SlowDown", "ErrTooManyRequests"},
		},
		Title: "the store throttled requests",
		Meaning: "AIStore, or the remote store behind it, rejected requests because there were too many. " +
			"The counters show which one.",
		Now: []Advice{
			{"Compare the throttle counters with 429 and 503 replies from the remote store.", "ais show performance counters"},
			adviceFewerWorkers,
		},
		Structural: []Advice{adviceWarmCache},
		NextTime:   []Advice{{"Log the store's reply codes.", ""}},
		LookAlikes: []LookAlike{
			{AISResourcePressure, "the target's own pressure, not the remote store's answer."},
		},
	},
	{
		Slug: AISBackend, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: ReadsOrWrites | AIStoreOnly | Wide,
		Trouble: &Trouble{
			Order: 3, Patience: 60, Delay: 60,
			Told: "the store behind AIStore failed", Led: "the store behind AIStore failed",
			LeadsTo: []Slug{AISBatchObjectLoss, AISStreamBroken},
			Words:   relays,
		},
		Title: "the store behind AIStore failed",
		Meaning: "AIStore keeps copies of a bucket of another store: a cloud bucket or a second AIStore cluster. " +
			"That store did not have the object, refused the request, or could not be reached.",
		Now: []Advice{
			{"Read the same object from the store behind it, from a storage node.", "ais bucket props show BUCKET; ais show remote-cluster"},
			{"Check the health, quota and credentials of the store behind it, and the way to it.", ""},
		},
		Structural: []Advice{adviceWarmCache},
		NextTime:   []Advice{{"Keep the logs of the store behind AIStore.", ""}},
		LookAlikes: []LookAlike{
			{AISThrottled, "that store answers, but with 429 or 503."},
			{AISNetwork, "the cluster's own nodes lose contact with each other."},
		},
	},
	{
		Slug: AISAuth, Origin: "storage", Owner: "job-config", Resubmit: "after-fix",
		Nature: ReadsOrWrites | AIStoreOnly,
		Trouble: &Trouble{
			Order: 10,
			Told:  "{daemon} refused the job's token ({records})",
			Led:   "{daemon} refused requests",
			Side:  ClientSide,
			Words: []string{"STATUS:401", "STATUS:403", "token"},
		},
		Title: "access to AIStore was refused",
		Meaning: "AIStore refused the job's token, on all ranks at the same time. " +
			"The usual reason is a token that expired during the job.",
		Now: []Advice{
			{"Renew the token with a lifetime longer than the job, then resubmit.", "ais auth login USER --expire 240h"},
		},
		Structural: []Advice{{"Renew tokens from within the job.", ""}},
		NextTime:   []Advice{{"Print the token's expiry time (never the token) at startup.", ""}},
		LookAlikes: []LookAlike{
			{AISNetwork, "401 or 403 on all ranks at the same moment, not timeouts."},
		},
	},
	{
		Slug: AISNetwork, Origin: "storage", Owner: "cluster", Resubmit: "yes",
		Nature: Wide | AIStoreOnly | OwnDoing | ToldByPeers,
		Trouble: &Trouble{
			Order: 4, Patience: 8,
			Told: "{daemon} did not respond to other daemons in time",
			Led:  "{daemon} did not respond to other nodes", LeadsTo: []Slug{AISStreamBroken, AISRebalance, AISBatchObjectLoss, AISDaemonRestart, NotFound},
			Delay: 60, Side: NetworkSide,
			Faults: []string{"timeout"}, Words: []string{"imed out", "imeout"},
		},
		Title: "AIStore's nodes lost contact",
		Meaning: "AIStore nodes missed each other's keepalives without being overloaded or restarted. " +
			"Suspect the network between them.",
		Now: []Advice{
			{"Test the network between the storage nodes.", "ais show cluster; ping -c 20 -i 0.2 STORAGE_NODE"},
			adviceResubmit,
		},
		Structural: []Advice{{"Monitor retransmissions and link errors between storage nodes.", ""}},
		NextTime:   []Advice{{"Keep logs from all daemons.", "ais cluster download-logs"}},
		LookAlikes: []LookAlike{
			{AISDaemonRestart, "“connection refused” means the process is gone; a timeout means it is slow or unreachable."},
		},
	},
	{
		Slug: StorageRetriesExhausted, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: ReadsOrWrites | OfItem | Endurable | TriedAgain,
		Title:  "reads from the store kept failing",
		Meaning: "Reads from the store were retried until the last attempt and still failed. " +
			"A retry that succeeds is harmless; this one did not.",
		Now: []Advice{
			{"Test the endpoint from {node} before resubmitting.", "ssh {node} 'curl -sS -o /dev/null -w \"%{http_code} %{time_total}\\n\" ENDPOINT_URL'"},
			{"Get the store's own logs from that time: they distinguish overload from network trouble.", ""},
		},
		Structural: []Advice{{"Fix the store first; then choose client timeouts and retries that outlast a short outage.", ""}},
		NextTime:   []Advice{adviceLogRetries},
		LookAlikes: []LookAlike{
			{AISResourcePressure, "the storage logs show why the server did not respond."},
			{Completed, "a retry that recovers at 1/n is noise: an idle connection was closed."},
		},
	},
	{
		Slug: StorageFull, Origin: "storage", Owner: "job-config", Resubmit: "after-fix",
		Nature: ReadsOrWrites | Endurable | EndsProcess | Strain,
		Trouble: &Trouble{
			Order: 0,
			Told:  "{daemon} was out of space ({records})",
			Led:   "{daemon} was out of space", LeadsTo: []Slug{AISDiskFault, AISResourcePressure, AISBatchObjectLoss, AISStreamBroken, AISDaemonRestart, AISRebalance, NotFound},
			Delay: 60,
			Words: []string{"ErrCapExceeded", "out of space", "no space left"},
		},
		Title: "no space left",
		Meaning: "A write failed because the disk was full or the quota was used up. " +
			"It may be the shared file system or a small local /tmp.",
		Now: []Advice{
			FindFull(),
			{"Delete or move old checkpoints and caches, then resubmit. The last checkpoint may be incomplete: use the one before it.", "du -xsh ./* | sort -h | tail"},
		},
		Structural: []Advice{{"Keep only the last few checkpoints, and move caches out of the home directory.", "export TMPDIR=/scratch/$USER HF_HOME=/scratch/$USER/hf TRITON_CACHE_DIR=/scratch/$USER/triton"}},
		NextTime:   []Advice{{"Check free space before each save.", ""}},
		OfAIStore: &Aside{Owner: "storage",
			Now: []Advice{
				{"Check which targets and mountpaths are full, and what is filling them.", "ais show cluster; ais storage mountpath; ais storage summary"},
				{"Delete or evict what isn't needed (cached remote buckets first), or add a disk, then resubmit. Anything written meanwhile may be incomplete.", "ais evict BUCKET; ais storage cleanup"},
			},
			Structural: []Advice{{"Set the watermarks so that targets evict before they fill up, and keep only the last few checkpoints.", "ais config cluster space"}},
			NextTime:   []Advice{{"Monitor used capacity per mountpath, not per cluster: a full mountpath rejects writes.", "ais storage mountpath"}},
		},
		LookAlikes: []LookAlike{
			{ResourceLimit, "/dev/shm is full: that is memory."},
		},
	},
	{
		Slug: StorageUnresponsive, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Alone:  "data",
		Nature: ReadsOrWrites | OfItem | Endurable | Stands,
		Title:  "a file system stopped responding",
		Meaning: "A mounted file system stopped responding, and processes reading from it were stuck in the kernel. " +
			"GPUs on those nodes look idle, which is a consequence.",
		Now: []Advice{
			{"Check which processes are stuck in the kernel on {node}, and on which mount.", "ssh {node} 'ps -eo pid,stat,wchan:32,cmd | grep \" D\"; dmesg -T | grep -A3 \"blocked for more than\"'"},
			{"Give the file-system team the time, node and mount; check whether other nodes are affected.", "clush -w {nodes} 'timeout 10 stat -f . || echo no answer'"},
			adviceKernelLog,
		},
		Structural: []Advice{adviceStage},
		LookAlikes: []LookAlike{
			{NodeFailure, "one mount, seen from many nodes: the store; seen from one node only: that node."},
		},
	},
	{
		Slug: CheckpointIO, Origin: "storage", Owner: "storage", Resubmit: "after-fix",
		Nature: ReadsOrWrites | OfItem | Endurable | Stands | EndsProcess,
		Title:  "trouble saving or loading a checkpoint",
		Meaning: "Saving or loading a checkpoint failed, or took longer than the other ranks' timeout. " +
			"A file truncated by an earlier crash is a common reason.",
		Now: []Advice{
			{"Compare this checkpoint's file sizes with the previous one's; if they differ, resume from the previous one.", "ls -l CHECKPOINT_DIR"},
			adviceSaveSlowly,
		},
		Structural: []Advice{adviceRenameSave},
		NextTime:   []Advice{adviceLogSaves},
		LookAlikes: []LookAlike{
			{StorageFull, "“No space left on device” during the save."},
			{RankBusy, "the save succeeds but takes longer than the timeout."},
		},
	},
}
