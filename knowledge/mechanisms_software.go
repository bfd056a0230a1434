package knowledge

// What the job's own processes do wrong, and what its environment does to them.
var softwareMechanisms = []Mechanism{
	{
		Slug: Exception, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Nature: EndsProcess | MayBeStore | Checked, Again: Again{Step: true},
		Title: "a Python exception ended the job",
		Meaning: "One rank raised an uncaught exception, and its process exited. " +
			"What the other ranks and torchrun printed afterwards is a consequence.",
		Now: []Advice{
			adviceTraceback,
			{"Reproduce it on one node with the same configuration, at the step that failed.", "torchrun --nproc-per-node=2 train.py"},
		},
		Structural: []Advice{
			{"Decorate main with torch.distributed.elastic's @record: torchrun then shows the first traceback instead of only an exit code.", ""},
			adviceCheckpoint,
		},
		NextTime: []Advice{{"Give each rank its own log file, so that tracebacks from different ranks don't interleave.", "torchrun --log-dir logs --redirects 3 --tee 3 train.py"}},
		LookAlikes: []LookAlike{
			{ConfigError, "all ranks fail the same way at startup."},
			{PeerLost, "tracebacks from lost connections and from the launcher (ChildFailedError) are consequences: the earliest other traceback counts."},
		},
		Collect: []string{"TORCH_SHOW_CPP_STACKTRACES=1", "TORCHELASTIC_ERROR_FILE=PATH"},
	},
	{
		Slug: VersionMismatch, Origin: "software", Owner: "job-config", Resubmit: "after-fix",
		Nature: Endurable | BeforeSteps | Installed,
		Title:  "library versions don't match",
		Meaning: "A library or symbol the program needs is missing, or is a different version from the one it was built for. " +
			"It fails at startup, on all ranks that use the same image.",
		Now: []Advice{
			{"Print the versions inside the same container on {node} and on a node that works.", "python -c 'import torch; print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())'; ldd --version | head -1; nvidia-smi | head -4"},
			{"Check that no library from the host or home directory shadows the one in the image.", "echo $LD_LIBRARY_PATH; pip list --user; python -c 'import sys; print(sys.path)'"},
		},
		Structural: []Advice{{"Pin the image by digest and build extensions inside it; use the same image on all nodes.", ""}},
		NextTime:   []Advice{{"Have NCCL print its version at startup.", "export NCCL_DEBUG=VERSION"}},
		LookAlikes: []LookAlike{
			{Exception, "the code was already running; version problems show up at import."},
		},
		Collect: []string{"NCCL_DEBUG=VERSION"},
	},
	{
		Slug: ConfigError, Origin: "software", Owner: "job-config", Resubmit: "after-fix",
		Nature:   Endurable | BeforeSteps | AsItBegins,
		Survived: "the startup step that a process got stuck in",
		Title:    "the configuration is wrong",
		Meaning: "The program rejected its configuration at startup: an argument, a missing key or path, or sizes that don't divide the world size. " +
			"All ranks fail the same way, and no training is lost.",
		Now: []Advice{
			{"Fix what the message points to, and test startup on the smallest allocation that shows the error.", ""},
			{"Check that the product of tensor, pipeline, context and data parallel sizes equals the world size.", "scontrol show job {job} | grep -E 'NumNodes|NumTasks|TRES'"},
		},
		Structural: []Advice{{"Validate the configuration before requesting the allocation (a dry run on the login node).", ""}},
		NextTime:   []Advice{{"Print the full resolved configuration once, on rank 0.", ""}},
		LookAlikes: []LookAlike{
			{Exception, "only one rank, or late in the run: the program, not its settings."},
			{InitUnreachable, "the address is right but doesn't respond."},
		},
		Collect: []string{"NCCL_DEBUG=INFO", "TORCH_CPP_LOG_LEVEL=INFO"},
	},
	{
		Slug: NativeCrash, Origin: "software", Owner: "job-code", Resubmit: "yes",
		Nature: EndsProcess | BySignal, Again: Again{Machine: true, Step: true},
		Title: "a process crashed in native code",
		Meaning: "A process was killed by a signal such as SIGSEGV, SIGBUS or SIGABRT, with no earlier cause in the logs. " +
			"The usual reason is a bug in a library or extension; if it recurs on the same machine, suspect its hardware.",
		Now: []Advice{
			{"Look for a core dump and read its stack.", "coredumpctl list; coredumpctl info {pid}"},
			adviceKernelLog,
			{"SIGBUS often means that /dev/shm is full or a mapped file disappeared.", "ssh {node} 'df -h /dev/shm /tmp'"},
		},
		Structural: []Advice{{"Record which node each crash was on, and how many jobs that node has run.", ""}},
		NextTime:   []Advice{{"Have Python print its stack on a crash, and enable core dumps.", "export PYTHONFAULTHANDLER=1; ulimit -c unlimited"}},
		LookAlikes: []LookAlike{
			{HostOOM, "−9 is a kill, not a crash; −11, −6 and −7 are crashes, but −6 right after a watchdog line is the watchdog."},
			{DataloaderWorkerKilled, "the PID that died is a child of the rank."},
			{GPUECC, "the same host again, or an Xid in its kernel log: hardware."},
		},
		Collect: native,
	},
	{
		Slug: HostOOM, Origin: "software", Owner: "job-config", Resubmit: "after-fix",
		Nature: EndsProcess | Killed | ByKernel,
		Title:  "host memory ran out",
		Meaning: "The kernel killed a process because the job hit its memory limit (cgroup OOM) or the machine ran out of memory. " +
			"This is host memory, not GPU memory.",
		Now: []Advice{
			{"Save the kernel's OOM report before {node} reboots: it tells a job's limit from a full machine, and lists each process.", "ssh {node} 'dmesg -T | grep -i -A60 oom'"},
			{"Check each step's peak memory, and on which node it occurred.", "sacct -j {job} -P -o JobID,State,MaxRSS,MaxRSSNode,MaxRSSTask,ReqMem"},
			{"Reduce what scales with the number of processes (loader workers, prefetch factor, pinned memory, per-rank caches), or request more memory.", "sbatch --mem=0 …"},
		},
		Structural: []Advice{
			{"Share read-only data between the processes on a node (memory-mapped files) instead of loading it in each.", ""},
			{"Log each process's memory every few minutes: a steady rise is a leak, a jump is a save or an evaluation.", ""},
		},
		NextTime: []Advice{{"Keep the kernel log of each node after a job.", ""}},
		LookAlikes: []LookAlike{
			{ExternalSignal, "exit −9 alone proves nothing: look for “oom_kill” from SLURM or “Killed process” from the kernel."},
			{GPUOOM, "“CUDA out of memory” is GPU memory."},
			{DataloaderWorkerKilled, "only a loader worker was killed, not the rank."},
		},
	},
	{
		Slug: ResourceLimit, Origin: "software", Owner: "job-config", Resubmit: "after-fix",
		Nature: Endurable,
		Title:  "a system limit was reached",
		Meaning: "An operating system limit was reached: open files, locked memory, processes, or shared memory. " +
			"NCCL's messages make it look like a network fault, but it isn't one.",
		Now: []Advice{
			{"Compare the limits inside the job on {node} with what it needs.", "srun -w {node} bash -c 'ulimit -a; df -h /dev/shm; cat /proc/sys/fs/file-max'"},
			{"For containers: run with unlimited locked memory and a large /dev/shm.", "docker run --ulimit memlock=-1 --ulimit nofile=1048576 --shm-size=64g …"},
		},
		Structural: []Advice{{"Set the limits where slurmd is started (LimitMEMLOCK, LimitNOFILE), so every job inherits them.", ""}},
		NextTime:   []Advice{{"Print the limits at the start of each job.", "ulimit -a"}},
		LookAlikes: []LookAlike{
			{LinkError, "NCCL reports a full /dev/shm or a locked-memory limit like a network fault: go by the errno text in the line."},
			{StorageFull, "/dev/shm is memory, not disk."},
		},
	},
	{
		Slug: NonFiniteLoss, Origin: "software", Owner: "job-code", Resubmit: "after-fix",
		Alone:  "compute",
		Again:  Again{Step: true},
		Nature: Checked,
		Title:  "the loss became NaN or infinite",
		Meaning: "The loss or a gradient became NaN or infinite, or the loss scale fell to its minimum. " +
			"Possible causes: the learning rate, a bad sample, or a GPU that silently computes wrongly.",
		Now: []Advice{
			{"Roll back to a checkpoint before the first bad value, then skip the batches around it or lower the learning rate.", ""},
			{"Replay the same batches from the same checkpoint on other nodes: if it recurs, suspect data or code; if not, a GPU.", ""},
		},
		Structural: []Advice{{"Clip gradients, skip steps with non-finite gradients, and stop after several in a row.", ""}},
		NextTime:   []Advice{{"Have PyTorch check tensors before each collective, so the first rank with a NaN reports it.", "export TORCH_NCCL_NAN_CHECK=1"}},
		LookAlikes: []LookAlike{
			{BadSample, "the loss goes bad at the same item in two runs."},
			{SilentCorruption, "a replay on other GPUs does not reproduce it."},
		},
		Collect: []string{"TORCH_NCCL_NAN_CHECK=1"},
	},
}
