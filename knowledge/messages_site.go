package knowledge

const (
	slurmErrors = "SLURM src/common/slurm_errno.c, 20.11 to 25.05"
	aisErrors   = "AIStore cmn/err.go and Python SDK errors, 3.20 to 5.0"
)

// siteMessages are those of the scheduler and of storage.
var siteMessages = []Message{
	{
		ID: "slurm-memory-limit", Literals: []string{"Exceeded job memory limit"}, Role: CauseRole, Mechanism: HostOOM,
		Meaning: "SLURM killed the job because it used more host memory than it had requested.",
		Cause:   "Too many data-loader workers, a checkpoint gathered on one rank, or too small a --mem.",
		Check:   "Compare the memory used with the memory requested.\nsacct -D -P -j JOB -o JobID,State,ExitCode,MaxRSS,MaxRSSNode,ReqMem",
		Source:  "SLURM src/slurmd (job and step memory limits), up to 20.02 and with OverMemoryKill", Example: "slurmstepd: error: Exceeded job memory limit",
	},
	{
		ID: "slurm-step-memory-limit", Literals: []string{"Exceeded step memory limit"}, Role: CauseRole, Mechanism: HostOOM,
		Meaning: "SLURM saw the step exceed its host memory request, at least for a moment.",
		Cause:   "Too many data-loader workers, counted page cache, a checkpoint gathered on one rank, or too small a --mem.",
		Check:   "“At some point” alone kills nothing. Check whether a task ended by SIGKILL.\nsacct -D -P -j JOB -o JobID,State,ExitCode,MaxRSS,MaxRSSNode,ReqMem",
		Source:  "SLURM src/slurmd and task/cgroup, up to 20.02", Example: "slurmstepd: error: Exceeded step memory limit at some point.",
	},
	{
		ID: "slurm-over-limit", Literals: []string{" exceeded memory limit (", "being killed"}, Role: CauseRole, Mechanism: HostOOM,
		Meaning: "The job or step exceeded its memory limit, so SLURM kills it.",
		Cause:   "Too many data-loader workers, a checkpoint gathered on one rank, or too small a --mem.",
		Check:   "See both numbers in the line (used > limit), then request more memory or use fewer workers.",
		Source:  "SLURM src/slurmd and jobacct_gather", Example: "slurmstepd: error: Job 41176 exceeded memory limit (3940736 > 2068480), being killed",
	},
	{
		ID: "slurm-account", Literals: []string{"Invalid account or account/partition combination specified"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "This user may not charge this account on this partition.",
		Cause:   "The --account is missing, misspelled or expired, or may not use the partition.",
		Check:   "List what this user may use.\nsacctmgr -nP show assoc user=$USER format=account,partition,qos",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
	},
	{
		ID: "slurm-node-config", Literals: []string{"equested node configuration is not available"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "No node in the partition can ever satisfy the request.",
		Cause:   "The job asks for more GPUs, CPUs or memory per node than exist, misspells a constraint, or excludes too many nodes.",
		Check:   "See what the nodes have.\nsinfo -o '%P %D %c %m %G %f'",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Requested node configuration is not available",
	},
	{
		ID: "slurm-gres", Literals: []string{"nvalid generic resource (gres) specification"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "SLURM doesn't recognize the GPU request.",
		Cause:   "--gres or --gpus misspells the type, or a step asks for GPUs that its job wasn't given.",
		Check:   "See which names exist and what the job has.\nsinfo -No '%N %G' | sort -u; scontrol show job JOB | grep -i tres",
		Source:  slurmErrors, Example: "sbatch: error: Invalid generic resource (gres) specification",
	},
	{
		ID: "slurm-policy", Literals: []string{"ob violates accounting/QOS policy"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "An account or QOS limit forbids this job.",
		Cause:   "The job would exceed the allowed number of jobs, GPUs or hours, or its time limit is too long.",
		Check:   "Find out which limit.\nsacctmgr -nP show qos format=name,maxwall,maxtrespu,maxjobspu,maxsubmitpu",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
	},
	{
		ID: "slurm-time-invalid", Literals: []string{"equested time limit is invalid"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "The requested time limit is missing or longer than the partition's maximum.",
		Cause:   "The job script was written for another partition.",
		Check:   "Check each partition's maximum time limit.\nsinfo -o '%P %l'",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)",
	},
	{
		ID: "slurm-partition", Literals: []string{"nvalid partition name specified"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "SLURM has no partition with this name.",
		Cause:   "The --partition is misspelled, or the job script comes from another cluster.",
		Check:   "See which partitions exist.\nsinfo -s",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Invalid partition name specified",
	},
	{
		ID: "slurm-controller", Literals: []string{"nable to contact slurm controller"}, Role: SymptomRole, Mechanism: SchedulerError,
		Meaning: "This command couldn't reach SLURM's controller; running jobs continue.",
		Cause:   "The controller is restarting or overloaded, or the network to it fails.",
		Check:   "See whether it is back. Before you submit again, make sure the job isn't already queued.\nscontrol ping; squeue -u $USER",
		Source:  slurmErrors, Example: "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
	},
	{
		ID: "slurm-socket", Literals: []string{"ocket timed out on send/recv operation"}, Role: SymptomRole, Mechanism: SchedulerError,
		Meaning: "SLURM did not answer this command in time.",
		Cause:   "An overloaded controller (many submissions or queries at once), or a slow network.",
		Check:   "The request may still have gone through, so check the queue before you submit again.\nsqueue -u $USER; sdiag | head -30",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
	},
	{
		ID: "slurm-invalid-job", Literals: []string{"nvalid job id specified"}, Role: ConsequenceRole,
		Meaning: "SLURM no longer knows this job, or never did.",
		Cause:   "The job had already ended, or the ID belongs to another cluster.",
		Check:   "See whether it ended earlier.\nsacct -D -X -j JOB -o JobID,State,End,ExitCode",
		Source:  slurmErrors, Example: "scontrol: error: slurm_load_jobs error: Invalid job id specified",
	},
	{
		ID: "ais-too-many", Literals: []string{"429", "Too Many Requests"}, Role: CauseRole, Mechanism: AISThrottled,
		Meaning: "A storage service rejects requests because too many arrive at once.",
		Cause:   "There are more loaders, ranks or retries than the cluster, or the cloud bucket behind it, allows.",
		Check:   "See whether it hits all ranks and whether it stops by itself. Use fewer workers or requests in flight, and retry with exponential backoff.\nais show performance",
		Source:  "HTTP status 429; " + aisErrors, Example: "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: http://node/v1/objects",
	},
	{
		ID: "ais-no-mountpath", Literals: []string{"no mountpaths"}, Role: CauseRole, Mechanism: AISDiskFault,
		Meaning: "A storage target has no usable disk left.",
		Cause:   "Its disks failed and were disabled, or their file systems weren't mounted when the target started.",
		Check:   "See which are left.\nais storage mountpath; ais show storage disk",
		Source:  aisErrors, Example: "t[x] has no mountpaths",
	},
}
