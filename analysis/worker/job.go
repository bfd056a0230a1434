package worker

import (
	"bytes"
	"slices"

	"faultline/pattern"
)

// What a log states about the job itself. Frameworks contradict each other on purpose (a Trainer runs on DeepSpeed):
// each statement is one fact, resolve weighs them.

// factRule turns a line that holds the literal into facts. Without a pattern the value is fixed; with one, each named
// group is a fact's key.
type factRule struct {
	literal    string
	not        string
	key, value string
	pattern    *pattern.Regexp
}

// stepsToCome reads how many steps a job is to take.
var stepsToCome = pattern.New(`(?i)\btotal (?:optimization |train(?:ing)? )?steps?\s*[:=]?\s*(?P<steps>\d[\d,]*)(?:[\s.;)]|$)`)

var factRules = []factRule{
	// Megatron-LM, Megatron Core and Bridge: megatron/training/initialize.py and arguments.py.
	{literal: "using world size: ", key: "framework", value: "megatron"},
	{literal: "using world size: ", pattern: pattern.New(`using world size: (?P<world_size>\d+)`)},
	{literal: "data-parallel", pattern: pattern.New(`data-parallel[- ]size: (?P<dp>\d+)`)},
	{literal: "tensor-model-parallel", pattern: pattern.New(`tensor-model-parallel[- ]size: (?P<tp>\d+)`)},
	{literal: "pipeline-model-parallel", pattern: pattern.New(`pipeline-model-parallel[- ]size: (?P<pp>\d+)`)},
	{literal: "context-parallel", pattern: pattern.New(`context-parallel[- ]size: (?P<cp>\d+)`)},
	{literal: "expert-model-parallel", pattern: pattern.New(`expert-model-parallel[- ]size: (?P<ep>\d+)`)},
	{literal: "initializing tensor model parallel with size", pattern: pattern.New(`initializing tensor model parallel with size (?P<tp>\d+)`)},
	{literal: "initializing pipeline model parallel with size", pattern: pattern.New(`initializing pipeline model parallel with size (?P<pp>\d+)`)},
	{literal: "initializing data parallel with size", pattern: pattern.New(`initializing data parallel with size (?P<dp>\d+)`)},
	{literal: "initializing torch distributed", key: "framework", value: "megatron"},
	// The dumped arguments of Megatron and of DeepSpeed's configuration: "world_size ...... 64".
	{literal: "world_size ..", pattern: pattern.New(`(?:^|\s)world_size \.{2,} (?P<world_size>\d+)\s*$`)},
	{literal: "tensor_model_parallel_size ..", pattern: pattern.New(`\btensor_model_parallel_size \.{2,} (?P<tp>\d+)\s*$`)},
	{literal: "pipeline_model_parallel_size ..", pattern: pattern.New(`(?:^|\s)pipeline_model_parallel_size \.{2,} (?P<pp>\d+)\s*$`)},
	{literal: "context_parallel_size ..", pattern: pattern.New(`(?:^|\s)context_parallel_size \.{2,} (?P<cp>\d+)\s*$`)},
	{literal: "data_parallel_size ..", pattern: pattern.New(`(?:^|\s)data_parallel_size \.{2,} (?P<dp>\d+)\s*$`)},
	{literal: "[before the start of training step]", pattern: pattern.New(`datetime: (?P<python_start>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)`)},
	// torchtitan ("total steps 5000"), transformers ("Total optimization steps = 5,000"), scripts of all kinds.
	{literal: "otal steps", pattern: stepsToCome},
	{literal: "otal optimization steps", pattern: stepsToCome},
	{literal: "otal training steps", pattern: stepsToCome},
	{literal: "otal train steps", pattern: stepsToCome},
	// Lightning and NeMo.
	{literal: "Initializing distributed: GLOBAL_RANK", key: "framework", value: "lightning"},
	{literal: "Initializing distributed: GLOBAL_RANK", pattern: pattern.New(`MEMBER: \d+/(?P<world_size>\d+)`)},
	{literal: "Rank of current process: ", pattern: pattern.New(`Rank of current process: \d+\. World size: (?P<world_size>\d+)`)}, // Detectron2
	{literal: "All distributed processes registered", pattern: pattern.New(`Starting with (?P<world_size>\d+) processes`)},
	{literal: "distributed_backend=", pattern: pattern.New(`distributed_backend=(?P<backend>\w+)`)},
	{literal: "[NeMo ", key: "framework", value: "nemo"},
	// DeepSpeed.
	{literal: "DeepSpeed info: version=", key: "framework", value: "deepspeed"},
	{literal: "Initializing torch distributed with backend: ", pattern: pattern.New(`with backend: (?P<backend>\w+)`)},
	{literal: "Initializing TorchBackend in DeepSpeed with backend ", pattern: pattern.New(`with backend (?P<backend>\w+)`)},
	{literal: "Setting ds_accelerator to ", key: "framework", value: "deepspeed"},
	// Hugging Face Trainer, Accelerate, TRL.
	{literal: "***** Running training *****", key: "framework", value: "hf-trainer"},
	{literal: "***** Running training *****", key: "task", value: "training"},
	{literal: "Distributed environment: ", pattern: pattern.New(`Distributed environment: .*Backend: (?P<backend>\w+)`)},
	{literal: "Num processes: ", pattern: pattern.New(`^\s*Num processes: (?P<world_size>\d+)\s*$`)},
	// TorchTitan, MaxText, AReaL, servers.
	{literal: "[titan] ", key: "framework", value: "torchtitan"},
	{literal: "completed step: ", key: "framework", value: "maxtext"},
	{literal: "areal.launcher", key: "framework", value: "areal"},
	{literal: "server_args=ServerArgs(", key: "task", value: "inference"},
	{literal: "server_args=ServerArgs(", key: "framework", value: "sglang"},
	{literal: "Initializing a V", key: "task", value: "inference", pattern: pattern.New(`Initializing an? V\d LLM engine`)},
	{literal: "Initializing an LLM engine", key: "task", value: "inference"},
	{literal: "ine-tuning", key: "task", value: "fine-tuning", pattern: pattern.New(`(?i)\b(?:start(?:ing|ed)?|running|begin(?:ning)?) (?:\w+ )?fine-tuning\b`)},
	{literal: "FullyShardedDataParallel(", key: "framework", value: "fsdp"},
	// Launchers and the environment, as scripts print them.
	{literal: "nproc_per_node   : ", pattern: pattern.New(`nproc_per_node   : (?P<ranks_per_node>\d+)`)},
	{literal: "max_nodes        : ", pattern: pattern.New(`max_nodes        : (?P<nodes>\d+)`)},
	// How many processes a launcher is to start, by its own table of what it was told and by command lines; "1:4" leaves it open.
	{literal: "nproc_per_node   : ", pattern: pattern.New(`nproc_per_node   : (?P<launch_procs>\d+)`)},
	{literal: "min_nodes        : ", pattern: pattern.New(`min_nodes        : (?P<launch_least>\d+)`)},
	{literal: "max_nodes        : ", pattern: pattern.New(`max_nodes        : (?P<launch_most>\d+)`)},
	{literal: "torchrun ", pattern: pattern.New(`\btorchrun\s.*--nproc[-_]per[-_]node[= ]\s*(?P<launch_procs>\d+)(?:\s|$)`)},
	// How many nodes there are the environment may say as well, where a command line does not.
	{literal: "torchrun ", key: "launch_one", value: "1", pattern: pattern.New(`\btorchrun\s.*--standalone(?:\s|$)`)},
	{literal: "torchrun ", pattern: pattern.New(`\btorchrun\s.*--nnodes[= ]\s*(?P<launch_nodes>\d+)(?:\s|$)`)},
	{literal: "accelerate launch ", pattern: pattern.New(`\baccelerate launch\s.*--num_processes[= ]\s*(?P<launch_world>\d+)(?:\s|$)`)},
	{literal: "training worker group of size ", pattern: pattern.New(`training worker group of size (?P<world_size>\d+)`)}, // Ray Train
	{literal: "WORLD_SIZE", pattern: pattern.New(`(?:^|[\s'"{,;])WORLD_SIZE['"]?\s*[=:]\s*['"]?(?P<world_size>\d+)\b`)},
	{literal: "LOCAL_WORLD_SIZE", pattern: pattern.New(`\bLOCAL_WORLD_SIZE['"]?\s*[=:]\s*['"]?(?P<ranks_per_node>\d+)\b`)},
	{literal: "SLURM_JOB", pattern: pattern.New(`\bSLURM_JOB_?ID['"]?\s*[=:]\s*['"]?(?P<job_id>\d+)\b`)},
	{literal: "SLURM_", pattern: pattern.New(`\bSLURM_(?:JOB_NUM_NODES|NNODES)['"]?\s*[=:]\s*['"]?(?P<nodes>\d+)\b`)},
	{literal: "SLURM_JOB", pattern: pattern.New(`\bSLURM_JOB_NODELIST['"]?\s*[=:]\s*['"]?(?P<node_list>[\w\[\],.-]+)`)},
	{literal: "SLURMD_NODENAME", pattern: pattern.New(`\bSLURMD_NODENAME['"]?\s*[=:]\s*['"]?(?P<node_name>[\w.-]+)`)},
	{literal: "SLURM_JOB_NAME", pattern: pattern.New(`\bSLURM_JOB_NAME['"]?\s*[=:]\s*['"]?(?P<job_name>[\w.+@:/-]+)`)},
	{literal: "--job-name", pattern: pattern.New(`--job-name(?:=|\s+)['"]?(?P<job_name>[\w.+@:/-]+)`)},
	{literal: "SLURM_CLUSTER_NAME", pattern: pattern.New(`\bSLURM_CLUSTER_NAME['"]?\s*[=:]\s*['"]?(?P<cluster>[\w.-]+)`)},
	{literal: "MASTER_ADDR", pattern: pattern.New(`\bMASTER_ADDR['"]?\s*[=:]\s*['"]?(?P<master>[A-Za-z0-9][\w.:-]*)`)},
	{literal: "Submitted batch job ", pattern: pattern.New(`Submitted batch job (?P<job_id>\d+)`)},
	// Batch systems, by what they put into the environment of each job, and what LSF writes around its output.
	{literal: "KUBERNETES_SERVICE_HOST", key: "system", value: "Kubernetes", pattern: pattern.New(`\bKUBERNETES_SERVICE_HOST['"]?\s*[=:]\s*['"]?[\da-fA-F]`)},
	{literal: "LSB_JOBID", key: "system", value: "LSF", pattern: pattern.New(`\bLSB_JOBID['"]?\s*[=:]\s*['"]?\d`)},
	{literal: "Sender: LSF System <", key: "system", value: "LSF"},
	{literal: "PBS_JOBID", key: "system", value: "PBS", pattern: pattern.New(`\bPBS_JOBID['"]?\s*[=:]\s*['"]?\d`)},
	{literal: "FLUX_JOB_ID", key: "system", value: "Flux", pattern: pattern.New(`\bFLUX_JOB_ID['"]?\s*[=:]\s*['"]?\w`)},
	{literal: "_CONDOR_SCRATCH_DIR", key: "system", value: "HTCondor", pattern: pattern.New(`\b_CONDOR_SCRATCH_DIR['"]?\s*[=:]\s*['"]?/`)},
	{literal: "SGE_CELL", key: "system", value: "Grid Engine", pattern: pattern.New(`\bSGE_CELL['"]?\s*[=:]\s*['"]?\w`)},
	{literal: "AWS_BATCH_JOB_ID", key: "system", value: "AWS Batch", pattern: pattern.New(`\bAWS_BATCH_JOB_ID['"]?\s*[=:]\s*['"]?\w`)},
	{literal: "SKYPILOT_TASK_ID", key: "system", value: "SkyPilot", pattern: pattern.New(`\bSKYPILOT_TASK_ID['"]?\s*[=:]\s*['"]?\w`)},
	// Versions.
	{literal: "NCCL version ", not: "Mismatched", pattern: pattern.New(`NCCL version (?P<nccl_version>\d+\.\d+(?:\.\d+)?)(?:\+cuda(?P<cuda_version>[\d.]+\d))?`)},
	{literal: "orch version", pattern: pattern.New(`(?:[Pp]y)?[Tt]orch version\s*(?:[:=]|is)?\s*v?(?P<torch_version>\d+\.\d+[\w.+]*)`)},
	{literal: "torch.__version__", pattern: pattern.New(`torch\.__version__\W{1,4}(?P<torch_version>\d+\.\d+[\w.+]*)`)},
	{literal: "CUDA version", pattern: pattern.New(`CUDA version\s*[:=]?\s*(?P<cuda_version>\d+\.\d+)`)},
	// Where the data comes from: the scheme and bucket in a line that speaks of data.
	{literal: "ais://", not: "heckpoint", pattern: pattern.New(`(?P<data_source>ais://[\w.-]+)`)},
	{literal: "s3://", not: "heckpoint", pattern: dataURL}, {literal: "gs://", not: "heckpoint", pattern: dataURL},
	{literal: "webdataset", key: "data_source", value: "webdataset"},
	{literal: "lhotse", key: "data_source", value: "lhotse", pattern: usesLhotse},
	{literal: "aistore.sdk", key: "storage_client", value: "the AIStore SDK"},
	{literal: "AIS_ENDPOINT", key: "storage_client", value: "AIS_ENDPOINT", pattern: pattern.New(`\bAIS_ENDPOINT['"]?\s*[=:]\s*['"]?\w`)},
	{literal: "ais://", pattern: pattern.New(`(?P<bucket>ais://(?:[@\w.-]+#[\w.-]+/)?[\w.-]+)`)},
	{literal: "building GPT2BPETokenizer", key: "data_source", value: "megatron-indexed"},
	{literal: "building train, validation, and test datasets", key: "data_source", value: "megatron-indexed"},
	// A clean end. What follows it may still fail, but the training was over.
	{literal: "[exiting program ", key: "exit_ok", value: "exiting program"},
	{literal: "exiting program at iteration ", key: "exit_ok", value: "exiting program at iteration"},
	{literal: "exiting program after ", key: "exit_ok", value: "exiting program after", not: "SIGTERM",
		pattern: pattern.New(`exiting program after [\d.]+ (?:minutes|hours)`)},
	{literal: "destroy_process_group() was not called", key: "leaving", value: "process group not destroyed"}, // ~ProcessGroupNCCL, 2.4 on
	{literal: "process group has NOT been destroyed before we destruct ProcessGroupNCCL", key: "leaving", value: "process group not destroyed"},
	{literal: "[after training is done]", key: "exit_ok", value: "after training is done"},
	{literal: "Training completed", key: "exit_ok", value: "Training completed", pattern: pattern.New("Training completed" + notInError)},
	{literal: "Training finished", key: "exit_ok", value: "Training finished", pattern: pattern.New("Training finished" + notInError)},
	{literal: "raining complete", not: "Training completed", key: "exit_ok", value: "training complete", pattern: trainingOver},
	{literal: "raining finished", not: "Training finished", key: "exit_ok", value: "training finished", pattern: trainingOver},
	{literal: "raining complete", not: "poch", key: "exit_ok", value: "training complete", pattern: overIn},
	{literal: "raining finished", not: "poch", key: "exit_ok", value: "training finished", pattern: overIn},
	{literal: "inished training", key: "exit_ok", value: "finished training", pattern: pattern.New(`(?:^|[\]:|>-] )\s*[Ff]inished training(?:[.!]|\s*$)`)},
	// NeMo RL.
	{literal: "number of steps has been reached", key: "exit_ok", value: "all steps done", pattern: pattern.New(`Max number of steps has been reached, stopping training early`)},
	{literal: "Timeout has been reached", key: "exit_ok", value: "its time was used", pattern: pattern.New(`Timeout has been reached, stopping training early`)},
	// fairseq and metaseq.
	{literal: "done training in ", key: "exit_ok", value: "done training", pattern: pattern.New(`done training in [\d.]+ seconds`)},
	{literal: "***** train metrics *****", key: "exit_ok", value: "train metrics"},
	{literal: "{'train_runtime': ", key: "exit_ok", value: "train_runtime"},
	{literal: "`Trainer.fit` stopped: ", key: "exit_ok", value: "Trainer.fit stopped", pattern: pattern.New("`Trainer.fit` stopped: `?max_(?:epochs|steps|time)")},
	{literal: "exits successfully", key: "exit_ok", value: "process exits successfully", pattern: pattern.New(`Process \d+ exits successfully`)},
	{literal: "Job completed successfully", key: "exit_ok", value: "job completed successfully", pattern: pattern.New(`submitit \w+ \([^)]{1,40}\) - Job completed successfully`)},
	{literal: "ob finished (status: ", key: "exit_ok", value: "job finished", pattern: pattern.New(`[Jj]ob finished \(status: (?:\w+\.)?SUCCEEDED\)`)}, // SkyPilot
	// What batch systems write into a job's output, or of it: LSF's report (mbatchd's mail), HTCondor's user log (condor_event.cpp).
	{literal: "Successfully completed.", key: "exit_ok", value: "LSF says it completed", pattern: pattern.New(`^Successfully completed\.\s*$`)},
	{literal: "Normal termination (return value 0)", key: "exit_ok", value: "HTCondor saw it end with 0", pattern: pattern.New(`^\s*\(1\) Normal termination \(return value 0\)`)},
	{literal: "worker group successfully finished", key: "exit_ok", value: "worker group successfully finished"},
}

// notInError is what follows such words where they do not go on "with errors", an exit code or an exception.
const notInError = `(?:$|[^ ]| (?:$|[^w]|w[^i]|with[^ ]|with (?:$|[^e]|e[^rx])))`

// trainingOver is a statement of its own, not part of a sentence. That it finished in some time is also said of an epoch's: see overIn.
var trainingOver = pattern.New(`(?:^|[\]:|>-] )\s*[Tt]raining (?:is )?(?:completed?|finished)(?:[.!,;]|\s*$| (?:after|at) (?:step |epoch |iteration )?\d)`)

// overIn is what is said of a whole training, and of that of an epoch.
var overIn = pattern.New(`(?:^|[\]:|>-] )\s*[Tt]raining (?:is )?(?:completed?|finished) in \d`)

// usesLhotse: a configuration that says no names it, too.
var usesLhotse = pattern.New(`(?:^|[^_])lhotse|[^e]_lhotse|use_lhotse['"]?\s*[=:]\s*['"]?(?:[Tt]rue|TRUE|1|yes)\b`)

var dataURL = pattern.New(`(?i)(?:data|shard|manifest|dataset|tar|train).*?(?P<data_source>(?:s3|gs)://[a-z0-9][\w.-]+)`)

// jobRules are the rules by literal.
var jobRules = func() map[string][]*factRule {
	m := map[string][]*factRule{}
	for i := range factRules {
		f := &factRules[i]
		m[f.literal] = append(m[f.literal], f)
	}
	return m
}()

func jobHandlers() []handler {
	var list []handler
	for i := range factRules {
		lit := factRules[i].literal
		rules := jobRules[lit]
		if rules[0] != &factRules[i] {
			continue
		}
		list = append(list, handler{"fact " + lit, []string{lit}, func(r *reader, rec *record) bool {
			return readFacts(r, rec, rules)
		}})
	}
	return list
}

// readFacts never claims a record as understood unless it ends a run well: a statement in an error line is still an
// error line.
func readFacts(r *reader, rec *record, rules []*factRule) bool {
	understood := false
	for _, rule := range rules {
		if rule.not != "" && bytes.Contains(rec.Text, []byte(rule.not)) {
			continue
		}
		if rule.pattern == nil {
			fact(r, rec, rule.key, rule.value)
			understood = understood || rule.key == "exit_ok"
			continue
		}
		m := rule.pattern.FindSubmatch(rec.Text)
		if m == nil {
			continue
		}
		if rule.key != "" {
			fact(r, rec, rule.key, rule.value)
			understood = understood || rule.key == "exit_ok"
		}
		for k, name := range rule.pattern.SubexpNames() {
			if name != "" && len(m[k]) > 0 {
				fact(r, rec, name, clip(m[k]))
			}
		}
	}
	return understood
}

// maxFacts bounds the facts of one file: a job says few things about itself, though every rank may say them.
const maxFacts = 1024

// repeatable facts mark a place in the log: each occurrence counts.
var repeatable = map[string]bool{"exit_ok": true, "python_start": true, "restart_count": true}

// fact emits a statement once per writer.
func fact(r *reader, rec *record, key, value string) {
	if len(r.obs.Facts) >= maxFacts && !repeatable[key] {
		return
	}
	if said := [2]string{key, value}; !repeatable[key] {
		if slices.Contains(rec.writer.facts, said) {
			return
		}
		rec.writer.facts = append(rec.writer.facts, said)
	}
	emit(r, &r.obs.Facts, Fact{At: rec.At, Key: key, Value: value})
}
