package knowledge

// EndedWithError begins the names of endedSignatures.
const EndedWithError = "ended-"

// endedSignatures: what launchers and services say of a process, a pod or a job that ended with an error. They say nothing of
// why; but a job of which one of them is the last word has not ended well, whatever else is known.
var endedSignatures = []Signature{
	{
		ID: EndedWithError + "megascale", Role: ConsequenceRole,
		Literals: []string{"Megascale detects a hang but cannot determine"},
		Meaning:  "Slices waited for one another too long; by whom they were held Megascale cannot tell.",
		Source:   "libtpu Megascale; MaxText docs/guides/megascale_hang_playbook.md",
		Example:  "Megascale detects a hang but cannot determine the root cause. Please inspect the full digest below.",
	},
	{
		ID: EndedWithError + "vertex", Role: ConsequenceRole,
		Literals: []string{"exited with a non-zero status of "}, Not: []string{"ran out-of-memory"}, Pattern: `[Tt]he replica (?P<replica>\S+(?: \d+)?) exited with a non-zero status of (?P<code>\d+)`,
		Meaning: "The service says that a process of this replica ended with an error.",
		Source:  "Google Vertex AI, state of a custom job",
		Example: "The replica workerpool1-1 exited with a non-zero status of 1. Termination reason: Error.",
	},
	{
		ID: EndedWithError + "sagemaker", Role: ConsequenceRole,
		Literals: []string{"ExecuteUserScriptError"},
		Meaning:  "The service says that the training script ended with an error.",
		Source:   "SageMaker training toolkit, errors.py",
		Example:  "AlgorithmError: ExecuteUserScriptError: ExitCode 1",
	},
	{
		ID: EndedWithError + "skypilot", Role: ConsequenceRole,
		Literals: []string{" failed with return code list: "}, Pattern: `Job (?P<job>\d+) failed with return code list: \[(?P<codes>[\d, -]+)\]`,
		Meaning: "SkyPilot says which code the job ended with on each node; 137 stands for those that it ended itself.",
		Source:  "SkyPilot sky/backends/cloud_vm_ray_backend.py",
		Example: "ERROR: Job 1 failed with return code list: [1, 137, 137]",
	},
	{
		ID: EndedWithError + "determined", Role: ConsequenceRole,
		Literals: []string{"failed with non-zero exit code"}, Pattern: `failed with non-zero exit code: (?:container failed with non-zero exit code: )?(?P<code>\d+)`,
		Meaning: "Determined says that a container of the job ended with an error.",
		Source:  "Determined master, pkg/ptrs and rm agent",
		Example: "INFO: Resources failed with non-zero exit code: container failed with non-zero exit code: 80",
	},
	{
		ID: EndedWithError + "dstack", Role: ConsequenceRole,
		Literals: []string{"un failed with error code "}, Pattern: `[Rr]un failed with error code (?:JobErrorCode\.)?(?P<code>[A-Z_]+)`,
		Meaning: "dstack says that the run failed.",
		Source:  "dstack CLI",
		Example: "Run failed with error code CONTAINER_EXITED_WITH_ERROR. Check CLI and server logs for more details.",
	},
	{
		ID: EndedWithError + "subprocess", Role: ConsequenceRole,
		Literals: []string{"returned non-zero exit status "}, Not: []string{"CalledProcessError"}, Pattern: `^.{0,80}Command '.{1,400}' returned non-zero exit status (?P<code>\d+)`,
		Meaning: "A launcher says that the program it started ended with an error.",
		Source:  "CPython subprocess, as launchers print it",
		Example: "master-replica-0 Command '['python3', '-m', 'train']' returned non-zero exit status 1",
	},
	{
		ID: EndedWithError + "azureml", Role: ConsequenceRole,
		Literals: []string{"' exited with status code "}, Pattern: `User process '[^']{1,80}' exited with status code (?P<code>\d+)`,
		Meaning: "The service says that the program ended with an error.",
		Source:  "Azure Machine Learning, common runtime",
		Example: "Execution failed. User process 'python' exited with status code 1. Please check log file 'user_logs/std_log.txt' for error details.",
	},
	{
		ID: EndedWithError + "ray-job", Role: ConsequenceRole,
		Literals: []string{"Job entrypoint command failed with exit code "}, Pattern: `failed with exit code (?P<code>-?\d+)`,
		Meaning: "Ray says that the program ended with an error.",
		Source:  "Ray python/ray/dashboard/modules/job/job_supervisor.py",
		Example: "Status message: Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 chars):",
	},
	{
		ID: EndedWithError + "kubeflow", Role: ConsequenceRole,
		Literals: []string{" failed because ", " replica(s) failed"}, Pattern: `(?P<kind>\w+Job) \S+ (?:is|has) failed because (?P<n>\d+) (?P<role>\w+) replica\(s\) failed`,
		Meaning: "The operator says that pods of the job ended with an error.",
		Source:  "Kubeflow training operator, pkg/controller.v1",
		Example: "PyTorchJob llm is failed because 1 Worker replica(s) failed.",
	},
	{
		ID: EndedWithError + "jobset", Role: ConsequenceRole,
		Literals: []string{"jobset failed due to "}, Pattern: `jobset failed due to (?P<text>one or more job failures|reaching max number of restarts)`,
		Meaning: "JobSet says that pods of the job ended with an error.",
		Source:  "Kubernetes JobSet pkg/constants",
		Example: "Warning  FailedJobs  jobset/llama  jobset failed due to one or more job failures",
	},
	{
		ID: EndedWithError + "k8s-job", Role: ConsequenceRole,
		Literals: []string{"Job has reached the specified backoff limit"},
		Meaning:  "Kubernetes says that pods of the job ended with an error more often than they may.",
		Source:   "Kubernetes pkg/controller/job",
		Example:  "Warning  BackoffLimitExceeded  2m  job-controller  Job has reached the specified backoff limit",
	},
	{
		ID: EndedWithError + "k8s-restart", Role: ConsequenceRole,
		Literals: []string{"Back-off restarting failed container"},
		Meaning:  "Kubernetes starts a container again that ended with an error.",
		Source:   "Kubernetes kubelet",
		Example:  "Warning  BackOff  12s (x3 over 40s)  kubelet  Back-off restarting failed container pytorch in pod llm-worker-2",
	},
	{
		ID: EndedWithError + "sglang", Role: ConsequenceRole,
		Literals: []string{"Received sigquit from a child"},
		Meaning:  "The inference engine ends itself because one of its processes failed; that one's lines say of what.",
		Source:   "SGLang python/sglang/srt/entrypoints/engine.py, 0.4 on",
		Example:  "[2025-02-26 16:41:24] Received sigquit from a child process. It usually means the child failed.",
	},
	{
		ID: EndedWithError + "k8s-taint", Role: ConsequenceRole,
		Literals: []string{"Marking for deletion Pod "},
		Meaning:  "Kubernetes takes the pod from its node, which it hears no more of or which is being emptied.",
		Source:   "Kubernetes pkg/controller/tainteviction",
		Example:  "Normal  TaintManagerEviction  1m  taint-eviction-controller  Marking for deletion Pod default/llm-worker-2",
	},
	{
		ID: EndedWithError + "compose", Role: ConsequenceRole,
		Literals: []string{" exited with code "}, Pattern: `^(?P<container>[\w.-]{1,80}) exited with code (?P<code>[1-9]\d{0,2})\s*$`,
		Meaning: "Docker Compose says that a container ended with an error.",
		Source:  "Docker Compose",
		Example: "trainer-1 exited with code 137",
	},
	{
		// Whoever calls it may have met the failure of another rank.
		ID: EndedWithError + "mpi-abort", Role: ConsequenceRole,
		Literals: []string{"MPI_ABORT was invoked on rank "}, Pattern: `invoked on rank (?P<by>\d{1,7})\b`,
		Meaning: "This rank ended all others; its own lines say why.",
		Source:  "Open MPI ompi/mca/rte/base/help-mpi-api.txt",
		Example: "MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD",
	},
	{
		ID: EndedWithError + "mpich-abort", Role: ConsequenceRole,
		Literals: []string{"application called MPI_Abort("}, Pattern: `MPI_Abort\(\w+, (?P<code>-?\d+)\) - process (?P<by>\d{1,7})\b`,
		Meaning: "This rank ended all others; its own lines say why.",
		Source:  "MPICH and Intel MPI, src/mpi/init/abort.c",
		Example: "application called MPI_Abort(MPI_COMM_WORLD, 1) - process 3",
	},
	{
		ID: EndedWithError + "mpiexec", Role: ConsequenceRole,
		Literals: []string{"BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES"},
		Meaning:  "mpiexec says that a process ended badly; the lines below say which and how.",
		Source:   "MPICH src/pm/hydra/mpiexec, Intel MPI",
		Example:  "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES",
	},
	{
		ID: EndedWithError + "paddle", Role: ConsequenceRole,
		Literals: []string{"Container rank ", " status failed "}, Pattern: `Container rank (?P<container>\d{1,7}) status failed .* code (?P<code>-?\d+) `,
		Meaning: "Paddle's launcher says that this process ended with an error.",
		Source:  "PaddlePaddle python/paddle/distributed/launch/job/container.py",
		Example: "Container rank 3 status failed cmd ['/usr/bin/python', '-u', 'train.py'] code 1 log log/workerlog.3 ",
	},
	{
		ID: EndedWithError + "mindspore", Role: ConsequenceRole,
		Literals: []string{"orker process ", " exit with exception"}, Pattern: `Worker process (?P<pid>\d+) exit with exception`,
		Meaning: "MindSpore's launcher says that this process ended with an error.",
		Source:  "MindSpore python/mindspore/parallel/cluster/process_entity/_api.py",
		Example: "[ERROR] ME(162078:281473590168608,MainProcess):2025-03-10-09:40:12.440.000 [mindspore/parallel/cluster/process_entity/_api.py:268] Worker process 162163 exit with exception.",
	},
	{
		ID: EndedWithError + "condor", Role: ConsequenceRole,
		Literals: []string{"ormal termination ("}, Pattern: `\(\d\) (?:Abnormal termination \(signal (?P<signal>\d+)\)|Normal termination \(return value (?P<code>-?[1-9]\d*)\))`,
		Meaning: "HTCondor says that the program ended with an error.",
		Source:  "HTCondor src/condor_utils/condor_event.cpp",
		Example: "\t(1) Normal termination (return value 1)",
	},
}
