package knowledge

import (
	"slices"
	"strings"
)

// Framework is a library that runs a training or serves a model, and how its presence shows where no line states it.
type Framework struct {
	ID   string
	Name string // as people write it
	// Code is what the paths of its own files hold: they stand in the frames of tracebacks. Two parts of a path where one may be anybody's.
	Code []string
	// Forms are the progress lines that only it prints, as the reader of worker logs calls them.
	Forms []string
	// Actors are Ray's names of its processes.
	Actors []string
	// On are frameworks that it is built on: a job of it is a job of them.
	On []string
}

// frameworks stand from the particular to the general: of several in one job, people name the first.
var frameworks = []Framework{
	// Post-training: they drive several engines.
	{ID: "nemo-rl", Name: "NeMo RL", Code: []string{"/nemo_rl/"}, Forms: []string{"nemo-rl"}, Actors: []string{"MegatronPolicyWorker", "DTensorPolicyWorker"}, On: []string{"megatron"}},
	{ID: "nemo-aligner", Name: "NeMo-Aligner", Code: []string{"/nemo_aligner/"}, On: []string{"nemo", "lightning", "megatron"}},
	{ID: "verl", Name: "verl", Code: []string{"/verl/trainer/", "/verl/workers/", "/verl/single_controller/", "/verl/utils/"}, Forms: []string{"verl"},
		Actors: []string{"WorkerDict"}, On: []string{"megatron", "fsdp"}},
	{ID: "openrlhf", Name: "OpenRLHF", Code: []string{"/openrlhf/"}, Actors: []string{"ActorModelRayActor", "PolicyModelActor", "ReferenceModelActor", "ReferenceModelRayActor"},
		On: []string{"deepspeed"}},
	{ID: "areal", Name: "AReaL", Code: []string{"/areal/"}, Forms: []string{"areal"}, On: []string{"fsdp", "megatron"}},
	{ID: "slime", Name: "slime", Code: []string{"/slime/backends/", "/slime/ray/", "/slime/utils/"}, Actors: []string{"MegatronTrainRayActor"}, On: []string{"megatron"}},
	{ID: "llamafactory", Name: "LLaMA-Factory", Code: []string{"/llamafactory/"}, On: []string{"trl", "hf-trainer", "accelerate"}},
	{ID: "ms-swift", Name: "ms-swift", Code: []string{"/swift/llm/", "/swift/trainers/", "/swift/cli/", "/swift/megatron/"}, On: []string{"trl", "hf-trainer", "accelerate", "megatron"}},
	{ID: "axolotl", Name: "Axolotl", Code: []string{"/axolotl/"}, On: []string{"trl", "hf-trainer", "accelerate"}},
	{ID: "simpletuner", Name: "SimpleTuner", Code: []string{"/simpletuner/"}, On: []string{"accelerate"}},
	{ID: "trl", Name: "TRL", Code: []string{"/trl/trainer/", "/trl/commands/", "/trl/scripts/"}, On: []string{"hf-trainer", "accelerate"}},
	{ID: "torchtune", Name: "torchtune", Code: []string{"/torchtune/"}, On: []string{"fsdp"}},
	// Training of models of one kind.
	{ID: "bionemo", Name: "BioNeMo", Code: []string{"/bionemo/"}, On: []string{"nemo", "lightning", "megatron"}},
	{ID: "nemo", Name: "NeMo", Code: []string{"/nemo/collections/", "/nemo/lightning/", "/nemo/core/", "/nemo/utils/"}, Forms: []string{"nemo"}, On: []string{"lightning", "megatron"}},
	{ID: "megatron-bridge", Name: "Megatron Bridge", Code: []string{"/megatron/bridge/"}, On: []string{"megatron"}},
	{ID: "torchtitan", Name: "TorchTitan", Code: []string{"/torchtitan/"}, Forms: []string{"titan"}, On: []string{"fsdp"}},
	{ID: "llm-foundry", Name: "LLM Foundry", Code: []string{"/llmfoundry/"}, On: []string{"composer"}},
	{ID: "composer", Name: "Composer", Code: []string{"/composer/trainer/", "/composer/core/"}, On: []string{"deepspeed", "fsdp"}},
	{ID: "fairseq", Name: "fairseq", Code: []string{"/fairseq/", "/fairseq_cli/", "/fairseq2/", "/metaseq/"}, On: []string{"fsdp"}},
	{ID: "mmengine", Name: "OpenMMLab", Code: []string{"/mmengine/", "/mmcv/runner/"}},
	{ID: "detectron2", Name: "Detectron2", Code: []string{"/detectron2/"}},
	{ID: "ultralytics", Name: "Ultralytics", Code: []string{"/ultralytics/"}},
	{ID: "speechbrain", Name: "SpeechBrain", Code: []string{"/speechbrain/"}},
	{ID: "espnet", Name: "ESPnet", Code: []string{"/espnet/", "/espnet2/"}},
	{ID: "returnn", Name: "RETURNN", Code: []string{"/returnn/"}},
	{ID: "paddlenlp", Name: "PaddleNLP", Code: []string{"/paddlenlp/"}},
	{ID: "maxtext", Name: "MaxText", Code: []string{"/MaxText/", "/maxtext/"}, Forms: []string{"maxtext"}},
	{ID: "levanter", Name: "Levanter", Code: []string{"/levanter/"}},
	// Servers.
	{ID: "sglang", Name: "SGLang", Code: []string{"/sglang/"}},
	{ID: "vllm", Name: "vLLM", Code: []string{"/vllm/"}},
	// What runs the loop, and what splits the model.
	{ID: "megatron", Name: "Megatron-LM", Code: []string{"/megatron/core/", "/megatron/training", "/megatron/model/", "/megatron/legacy/", "/megatron/mpu/", "/megatron/initialize.py",
		"/megatron/checkpointing.py", "/megatron/arguments.py", "/megatron/global_vars.py", "/megatron/data/"}, Forms: []string{"megatron"}},
	{ID: "lightning", Name: "Lightning", Code: []string{"/lightning/pytorch/", "/lightning/fabric/", "/pytorch_lightning/", "/lightning_fabric/"}},
	{ID: "hf-trainer", Name: "Hugging Face Trainer", Code: []string{"/transformers/trainer"}, Forms: []string{"hf-dict"}, On: []string{"accelerate"}},
	{ID: "colossalai", Name: "Colossal-AI", Code: []string{"/colossalai/"}},
	{ID: "accelerate", Name: "Accelerate", Code: []string{"/accelerate/accelerator.py", "/accelerate/state.py", "/accelerate/data_loader.py", "/accelerate/utils/", "/accelerate/commands/"}},
	{ID: "ray-train", Name: "Ray Train", Code: []string{"/ray/train/"}},
	{ID: "horovod", Name: "Horovod", Code: []string{"/horovod/"}},
	{ID: "determined", Name: "Determined", Code: []string{"/determined/"}},
	{ID: "deepspeed", Name: "DeepSpeed", Code: []string{"/deepspeed/"}, Forms: []string{"deepspeed"}},
	{ID: "fsdp", Name: "FSDP", Code: []string{"/torch/distributed/fsdp/"}},
}

// FrameworkAt finds the framework whose code a file is, by its path; "" is somebody else's. Code that somebody keeps in a home
// directory of such a name ("/home/nemo/core/train.py") cannot be told from it where the parts of the path are the same.
func FrameworkAt(file string) string {
	file = "/" + strings.ReplaceAll(file, `\`, "/")
	for i := range frameworks {
		if slices.ContainsFunc(frameworks[i].Code, func(c string) bool { return strings.Contains(file, c) }) {
			return frameworks[i].ID
		}
	}
	return ""
}

// FrameworkPrinting finds the framework that alone prints a form of progress lines; "" is none.
func FrameworkPrinting(form string) string {
	return frameworkBy(func(f *Framework) bool { return slices.Contains(f.Forms, form) })
}

// FrameworkOfActor finds the framework that calls a process of Ray so; "" is none.
func FrameworkOfActor(name string) string {
	return frameworkBy(func(f *Framework) bool { return slices.Contains(f.Actors, name) })
}

func frameworkBy(is func(*Framework) bool) string {
	if i := slices.IndexFunc(frameworks, func(f Framework) bool { return is(&f) }); i >= 0 {
		return frameworks[i].ID
	}
	return ""
}

// between stands between the frameworks of one job.
const between = " + "

// Frameworks puts those of one job in order, the most particular first: "llamafactory + deepspeed". Unknown ones stand first.
func Frameworks(ids []string) string {
	ids = slices.Clone(ids)
	place := func(id string) int {
		return slices.IndexFunc(frameworks, func(f Framework) bool { return f.ID == id })
	}
	slices.SortFunc(ids, func(a, b string) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return strings.Join(slices.Compact(ids), between)
}

// FrameworkNames is what Frameworks gave, in the words of people.
func FrameworkNames(s string) string {
	var names []string
	for id := range strings.SplitSeq(s, between) {
		if i := slices.IndexFunc(frameworks, func(f Framework) bool { return f.ID == id }); i >= 0 {
			id = frameworks[i].Name
		}
		names = append(names, id)
	}
	return strings.Join(names, between)
}

// SameFrameworks says that two jobs may have run on the same: what is seen of a job depends on how it ended, and one that is built
// on another is both.
func SameFrameworks(a, b string) bool { return within(a, b) || within(b, a) }

// within says that the most particular framework of a is one of b's, or one that those are built on.
func within(a, b string) bool {
	first, _, _ := strings.Cut(a, between)
	for id := range strings.SplitSeq(b, between) {
		if id == first || slices.ContainsFunc(frameworks, func(f Framework) bool { return f.ID == id && slices.Contains(f.On, first) }) {
			return true
		}
	}
	return false
}
