package knowledge

const (
	slurmErrors = "SLURM src/common/slurm_errno.c, 20.11 to 25.05"
	aisErrors   = "AIStore cmn/err.go and Python SDK errors, 3.20 to 5.0"
)

// siteMessages are those of the scheduler and of storage.
var siteMessages = []Message{
	{
		ID: "slurm-memory-limit", Literals: []string{"Exceeded job memory limit"}, Role: CauseRole, Mechanism: HostOOM,
		Meaning: "SLURM ended the job because it used more host memory than it was promised.",
		Cause:   "Data-loader workers, a checkpoint gathered on one rank, or --mem too small.",
		Check:   "Compare what was used with what was promised.\nsacct -D -P -j JOB -o JobID,State,ExitCode,MaxRSS,MaxRSSNode,ReqMem",
		Source:  "SLURM src/slurmd (job and step memory limits), up to 20.02 and with OverMemoryKill", Example: "slurmstepd: error: Exceeded job memory limit",
	},
	{
		ID: "slurm-step-memory-limit", Literals: []string{"Exceeded step memory limit"}, Role: CauseRole, Mechanism: HostOOM,
		Meaning: "SLURM saw the step use more host memory than it was promised, at least for a moment.",
		Cause:   "Data-loader workers, page cache that was counted, a checkpoint gathered on one rank, or --mem too small.",
		Check:   "“At some point” alone kills nobody: did a task end by SIGKILL?\nsacct -D -P -j JOB -o JobID,State,ExitCode,MaxRSS,MaxRSSNode,ReqMem",
		Source:  "SLURM src/slurmd and task/cgroup, up to 20.02", Example: "slurmstepd: error: Exceeded step memory limit at some point.",
	},
	{
		ID: "slurm-over-limit", Literals: []string{" exceeded memory limit (", "being killed"}, Role: CauseRole, Mechanism: HostOOM,
		Meaning: "SLURM measured more memory than the job or step may use, and kills it.",
		Cause:   "Data-loader workers, a checkpoint gathered on one rank, or --mem too small.",
		Check:   "The line has both numbers: used > limit. Ask for more, or use fewer workers.",
		Source:  "SLURM src/slurmd and jobacct_gather", Example: "slurmstepd: error: Job 41176 exceeded memory limit (3940736 > 2068480), being killed",
	},
	{
		ID: "slurm-account", Literals: []string{"Invalid account or account/partition combination specified"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "SLURM does not let this user charge this account on this partition.",
		Cause:   "A missing or misspelt --account, one that ended, or a partition that it may not use.",
		Check:   "What may this user use?\nsacctmgr -nP show assoc user=$USER format=account,partition,qos",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Invalid account or account/partition combination specified",
	},
	{
		ID: "slurm-node-config", Literals: []string{"equested node configuration is not available"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "No node of the partition has what was asked for, now or ever.",
		Cause:   "More GPUs, processors or memory for each node than exist, a misspelt constraint, or excluded nodes.",
		Check:   "What do the nodes have?\nsinfo -o '%P %D %c %m %G %f'",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Requested node configuration is not available",
	},
	{
		ID: "slurm-gres", Literals: []string{"nvalid generic resource (gres) specification"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "SLURM does not know the GPUs that were asked for in this form.",
		Cause:   "A misspelt type in --gres or --gpus, or a step that asks for GPUs that its job was not given.",
		Check:   "Which names are there, and what does the job have?\nsinfo -No '%N %G' | sort -u; scontrol show job JOB | grep -i tres",
		Source:  slurmErrors, Example: "sbatch: error: Invalid generic resource (gres) specification",
	},
	{
		ID: "slurm-policy", Literals: []string{"ob violates accounting/QOS policy"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "A limit of the account or the quality of service forbids this job.",
		Cause:   "Too many jobs, GPUs or hours at once, or a longer time limit than allowed.",
		Check:   "Which limit?\nsacctmgr -nP show qos format=name,maxwall,maxtrespu,maxjobspu,maxsubmitpu",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)",
	},
	{
		ID: "slurm-time-invalid", Literals: []string{"equested time limit is invalid"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "The time limit that was asked for is longer than the partition's, or missing.",
		Cause:   "A job script that was written for another partition.",
		Check:   "What is the longest?\nsinfo -o '%P %l'",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Requested time limit is invalid (missing or exceeds some limit)",
	},
	{
		ID: "slurm-partition", Literals: []string{"nvalid partition name specified"}, Role: CauseRole, Mechanism: ConfigError,
		Meaning: "SLURM has no partition of this name.",
		Cause:   "A misspelt --partition, or a job script of another cluster.",
		Check:   "Which are there?\nsinfo -s",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Invalid partition name specified",
	},
	{
		ID: "slurm-controller", Literals: []string{"nable to contact slurm controller"}, Role: SymptomRole, Mechanism: SchedulerError,
		Meaning: "This command did not reach SLURM's controller; jobs that run already go on.",
		Cause:   "The controller restarts or is overloaded, or the network to it fails.",
		Check:   "Is it back? Do not submit again before you looked whether the job is there.\nscontrol ping; squeue -u $USER",
		Source:  slurmErrors, Example: "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
	},
	{
		ID: "slurm-socket", Literals: []string{"ocket timed out on send/recv operation"}, Role: SymptomRole, Mechanism: SchedulerError,
		Meaning: "SLURM did not answer this command in time.",
		Cause:   "An overloaded controller (many submissions or queries at once), or a slow network.",
		Check:   "The request may have been carried out all the same: look before you submit again.\nsqueue -u $USER; sdiag | head -30",
		Source:  slurmErrors, Example: "sbatch: error: Batch job submission failed: Socket timed out on send/recv operation",
	},
	{
		ID: "slurm-invalid-job", Literals: []string{"nvalid job id specified"}, Role: ConsequenceRole,
		Meaning: "SLURM no longer knows this job, or never did.",
		Cause:   "The job has ended, and the command came after it; or a number of another cluster.",
		Check:   "Did it end before?\nsacct -D -X -j JOB -o JobID,State,End,ExitCode",
		Source:  slurmErrors, Example: "scontrol: error: slurm_load_jobs error: Invalid job id specified",
	},
	{
		ID: "ais-too-many", Literals: []string{"429", "Too Many Requests"}, Role: CauseRole, Mechanism: AISThrottled,
		Meaning: "A storage service refuses requests because there are too many at once.",
		Cause:   "More loaders, ranks or retries than the cluster or the cloud bucket behind it allows.",
		Check:   "Do all ranks see it, and does it end by itself? Lower the number of workers or requests in flight; retry with growing pauses.\nais show performance",
		Source:  "HTTP status 429; " + aisErrors, Example: "requests.exceptions.HTTPError: 429 Client Error: Too Many Requests for url: http://node/v1/objects",
	},
	{
		ID: "ais-no-mountpath", Literals: []string{"no mountpaths"}, Role: CauseRole, Mechanism: AISDiskFault,
		Meaning: "A storage target has no usable disk left.",
		Cause:   "Disks that failed and were switched off, or file systems that were not mounted when the target started.",
		Check:   "Which are left?\nais storage mountpath; ais show storage disk",
		Source:  aisErrors, Example: "t[x] has no mountpaths",
	},
}
