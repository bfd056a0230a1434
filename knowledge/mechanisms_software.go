package knowledge

// What the job's own processes do wrong, and what its environment does to them.
var softwareMechanisms = []Mechanism{
	{
		Slug: Exception, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Nature: EndsProcess | MayBeStore, Again: Again{Step: true},
		Title: "a Python exception ended it",
		Meaning: "One rank raised an exception that nothing caught, and its process ended. " +
			"What the other ranks and torchrun printed afterwards is the consequence.",
		Now: []Advice{
			adviceTraceback,
			{"Reproduce on one node with the same configuration and the step at which it failed.", "torchrun --nproc-per-node=2 train.py"},
		},
		Structural: []Advice{
			{"Decorate main with torch.distributed.elastic's @record: torchrun then shows the first traceback instead of only an exit code.", ""},
			adviceCheckpoint,
		},
		NextTime: []Advice{{"Give each rank its own log file, so that tracebacks of several ranks do not interleave.", "torchrun --log-dir logs --redirects 3 --tee 3 train.py"}},
		LookAlikes: []LookAlike{
			{ConfigError, "all ranks, at the start, alike."},
			{PeerLost, "tracebacks of lost connections and of the launcher (ChildFailedError) are consequences: the first traceback in time that is none of these counts."},
		},
		Collect: []string{"TORCH_SHOW_CPP_STACKTRACES=1", "TORCHELASTIC_ERROR_FILE=PATH"},
	},
	{
		Slug: VersionMismatch, Origin: "software", Owner: "job-config", Resubmit: "after-fix",
		Nature: Endurable | BeforeSteps,
		Title:  "library versions do not fit",
		Meaning: "A library or a symbol that the program needs is missing or has another version than it was built for. " +
			"It fails at start-up, on all ranks that use the same image.",
		Now: []Advice{
			{"Print the versions inside the same container on {node} and on a node that works.", "python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())'; ldd --version | head -1; nvidia-smi | head -4"},
			{"Check that no library of the host or the home directory shadows the one of the image.", "echo $LD_LIBRARY_PATH; pip list --user; python -c 'import sys; print(sys.path)'"},
		},
		Structural: []Advice{{"Pin the image by digest and build extensions inside it; use the same image on all nodes.", ""}},
		NextTime:   []Advice{{"Let NCCL print its version at start.", "export NCCL_DEBUG=VERSION"}},
		LookAlikes: []LookAlike{
			{Exception, "there the code ran already; a version shows at import."},
		},
		Collect: []string{"NCCL_DEBUG=VERSION"},
	},
	{
		Slug: ConfigError, Origin: "software", Owner: "job-config", Resubmit: "after-fix",
		Nature: Endurable | BeforeSteps,
		Title:  "the configuration is wrong",
		Meaning: "The program refused its configuration at start-up: an argument, a missing key or path, or sizes that do not divide the world size. " +
			"All ranks fail alike and no training was lost.",
		Now: []Advice{
			{"Correct what the message names, and try the start on the smallest allocation that can show the error.", ""},
			{"Check that the product of tensor, pipeline, context and data parallel sizes equals the world size.", "scontrol show job {job} | grep -E 'NumNodes|NumTasks|TRES'"},
		},
		Structural: []Advice{{"Validate the configuration before the allocation is asked for (a dry run on the login node).", ""}},
		NextTime:   []Advice{{"Print the complete resolved configuration once, on rank 0.", ""}},
		LookAlikes: []LookAlike{
			{Exception, "one rank only, or late: the program, not its settings."},
			{InitUnreachable, "the address is right and does not answer."},
		},
		Collect: []string{"NCCL_DEBUG=INFO", "TORCH_CPP_LOG_LEVEL=INFO"},
	},
	{
		Slug: NativeCrash, Origin: "software", Owner: "job-code", Resubmit: "yes",
		Nature: EndsProcess | BySignal, Again: Again{Machine: true, Step: true},
		Title: "a process crashed in native code",
		Meaning: "A process died of a signal such as SIGSEGV, SIGBUS or SIGABRT, with no earlier cause in the logs. " +
			"A bug in a library or extension is the usual reason; the same machine twice speaks for its hardware.",
		Now: []Advice{
			{"Look for a core dump and read its stack.", "coredumpctl list; coredumpctl info {pid}"},
			adviceKernelLog,
			{"SIGBUS often means a full /dev/shm or a mapped file that vanished.", "ssh {node} 'df -h /dev/shm /tmp'"},
		},
		Structural: []Advice{{"Record the node of each crash, and in how many jobs the node took part.", ""}},
		NextTime:   []Advice{{"Let Python print its stack at a crash, and allow core dumps.", "export PYTHONFAULTHANDLER=1; ulimit -c unlimited"}},
		LookAlikes: []LookAlike{
			{HostOOM, "−9 is a kill, not a crash; −11, −6 and −7 are crashes, and −6 after a watchdog's line is the watchdog."},
			{DataloaderWorkerKilled, "the pid that died is a child of the rank."},
			{GPUECC, "the same host again, or an Xid in its kernel log: hardware."},
		},
		Collect: native,
	},
	{
		Slug: HostOOM, Origin: "software", Owner: "job-config", Resubmit: "after-fix",
		Nature: EndsProcess | Killed,
		Title:  "the node ran out of memory",
		Meaning: "The kernel killed a process because the job's memory limit or the machine's memory was used up (cgroup OOM). " +
			"This is the host's memory, not that of the GPU.",
		Now: []Advice{
			{"See how much memory the steps used at their peak, and on which node.", "sacct -j {job} -P -o JobID,State,MaxRSS,MaxRSSNode,MaxRSSTask,ReqMem"},
			{"Lower what grows with processes: loader workers, prefetch factor, pinned memory, caches held by each rank; or ask for more memory.", "sbatch --mem=0 …"},
		},
		Structural: []Advice{
			{"Share read-only data among the processes of a node (memory-mapped files) instead of loading it in each.", ""},
			{"Log the memory of each process every few minutes: a steady rise is a leak, a jump is a save or an evaluation.", ""},
		},
		NextTime: []Advice{{"Keep the kernel's account of the kill.", "ssh {node} 'dmesg -T | grep -i -A20 oom'"}},
		LookAlikes: []LookAlike{
			{ExternalSignal, "exit −9 alone proves nothing: it takes “oom_kill” from SLURM or “Killed process” from the kernel."},
			{GPUOOM, "“CUDA out of memory” is the GPU's memory."},
			{DataloaderWorkerKilled, "only a loader worker was killed, not the rank."},
		},
	},
	{
		Slug: ResourceLimit, Origin: "software", Owner: "job-config", Resubmit: "after-fix",
		Nature: Endurable,
		Title:  "a system limit was reached",
		Meaning: "A limit of the operating system was reached: open files, locked memory, processes, or shared memory. " +
			"NCCL's messages about it look like a network fault, which it is not.",
		Now: []Advice{
			{"Compare the limits inside the job on {node} with what is needed.", "srun -w {node} bash -c 'ulimit -a; df -h /dev/shm; cat /proc/sys/fs/file-max'"},
			{"For containers: run with unlimited locked memory and a large /dev/shm.", "docker run --ulimit memlock=-1 --ulimit nofile=1048576 --shm-size=64g …"},
		},
		Structural: []Advice{{"Set the limits where slurmd is started (LimitMEMLOCK, LimitNOFILE), so that every job inherits them.", ""}},
		NextTime:   []Advice{{"Print the limits at the start of each job.", "ulimit -a"}},
		LookAlikes: []LookAlike{
			{LinkError, "NCCL words a full /dev/shm or a limit of locked memory like a network fault: the errno text in the line decides."},
			{StorageFull, "/dev/shm is memory, not disk."},
		},
	},
	{
		Slug: NonFiniteLoss, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Again: Again{Step: true},
		Title: "the loss became not finite",
		Meaning: "The loss or a gradient became NaN or infinite, or the loss scale fell to its minimum. " +
			"The learning rate, a bad sample or silently wrong arithmetic of a GPU can cause it.",
		Now: []Advice{
			{"Roll back to a checkpoint from before the first bad value, skip the batches around it, or lower the learning rate.", ""},
			{"Replay the same batches from the same checkpoint on other nodes: if it repeats, it is data or code; if not, suspect a GPU.", ""},
		},
		Structural: []Advice{{"Clip gradients, skip steps with non-finite gradients, and stop after several in a row.", ""}},
		NextTime:   []Advice{{"Let PyTorch check tensors before each collective: the first rank with a NaN then names itself.", "export TORCH_NCCL_NAN_CHECK=1"}},
		LookAlikes: []LookAlike{
			{BadSample, "the loss leaves its path at the same item in two runs."},
			{SilentCorruption, "a replay on other GPUs does not reproduce it."},
		},
		Collect: []string{"TORCH_NCCL_NAN_CHECK=1"},
	},
}
