package desk

import (
	"fmt"
	"strconv"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/preflight"
)

// smallRun is how many ranks a run has at most that tries a job out.
const smallRun = 2

// showBy takes from a report, and from the earlier runs of its job, what they show of items of a checklist. What they do not tell stays open: a
// person, or bot check, may know.
func showBy(e *preflight.Evidence, r *incident.Report, past *earlier) {
	showRun(e, r)
	for _, a := range r.Artifacts {
		showArtefact(e, a)
	}
	if past != nil {
		showEarlier(e, &r.Job, past)
	}
}

func show(e *preflight.Evidence, id string, state preflight.State, proof string) {
	e.Shown[id] = preflight.Shown{State: state, Proof: proof}
}

// showRun is what the run itself did, and what it failed of.
func showRun(e *preflight.Evidence, r *incident.Report) {
	j := &r.Job
	if j.StepsLogged > 0 {
		show(e, "data-path", preflight.Passed, count(j.StepsLogged, "step")+" of this run were logged")
	}
	resumed := j.ResumedFrom != nil
	if resumed && j.LastStep != nil && *j.LastStep > j.ResumedFrom.Step {
		text := fmt.Sprintf("this run resumed from step %d and reached step %d%s", j.ResumedFrom.Step, *j.LastStep, at(j.ResumedFrom.Evidence))
		show(e, "restore", preflight.Passed, text)
		if j.Run != nil && *j.Run > 0 {
			show(e, "restart", preflight.Passed, fmt.Sprintf("requeued %s; %s", plainTimes(*j.Run), text))
		}
	}
	if from := r.Action.ResumeFrom; from != nil && !(resumed && from.Step <= j.ResumedFrom.Step) { // else another run saved it
		show(e, "auto-checkpoint", preflight.Passed, fmt.Sprintf("this run completed a save at step %d%s", from.Step, at(from.Evidence)))
	}
	for id, m := range map[string]knowledge.Slug{"memory-budget": knowledge.GPUOOM, "loader": knowledge.DataloaderStall} {
		if decided(&r.Verdict) && knowledge.Slug(r.Verdict.Mechanism) == m {
			show(e, id, preflight.Failed, "not in this run: "+mechanismTitle(string(m)))
		}
	}
}

// showArtefact is what evidence beside the logs measured.
func showArtefact(e *preflight.Evidence, a incident.Artifact) {
	if id := artefactItems[a.Kind]; id != "" && len(a.Findings) > 0 {
		show(e, id, preflight.Passed, strings.TrimSuffix(a.Findings[0].Statement, ".")+at(a.Findings[0].Evidence))
	}
	if a.Kind != checked {
		return
	}
	for _, f := range a.Findings { // one of them is the verdict
		for words, state := range map[string]preflight.State{"all nodes: ready: ": preflight.Passed, "all nodes: not ready: ": preflight.Failed} {
			if strings.Contains(f.Statement, words) {
				show(e, "nodes", state, strings.TrimSuffix(f.Statement, ".")+at(f.Evidence))
			}
		}
	}
}

// showEarlier is what smaller runs showed, and what this one was started with otherwise than the one before.
func showEarlier(e *preflight.Evidence, j *incident.Job, past *earlier) {
	for id, most := range map[string]int{"small-run": smallRun, "reproduced": past.WorldSize - 1} {
		if rec, ok := past.Completed(most); ok && past.WorldSize > rec.WorldSize {
			show(e, id, preflight.Passed, fmt.Sprintf("job %s completed on %s (%s)", rec.Job, count(rec.WorldSize, "rank"), past.named([]string{rec.ID})))
		}
	}
	e.Plan = planned(j)
	if before, ok := past.Before(); ok {
		was := planned(&before.Report().Job)
		e.Plan.BatchBefore, e.Plan.LRBefore, e.Plan.WarmupBefore = was.Batch, was.LR, was.Warmup
	}
}

// checked is the kind of evidence that bot check leaves.
const checked = "preflight"

// artefactItems are the items of which a kind of evidence tells.
var artefactItems = map[string]string{"nccl-tests": "bandwidth", "path-tests": "bandwidth", "profiler-trace": "communication"}

func decided(v *incident.Verdict) bool {
	return v.Status == incident.Confirmed || v.Status == incident.Probable
}

// at is where the first of some evidence stands.
func at(list []incident.Evidence) string {
	for _, e := range list {
		if e.File != "" && e.Line > 0 {
			return fmt.Sprintf(" (%s:%d)", e.File, e.Line)
		}
	}
	return ""
}

func plainTimes(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

// planned is what the arguments of a run say of its batch, rate and layout, as Megatron, NeMo and the Hugging Face Trainer call them.
func planned(j *incident.Job) preflight.Plan {
	values := map[string]float64{}
	for _, a := range j.Arguments {
		name := a.Name[strings.LastIndex(a.Name, ".")+1:]
		if v, err := strconv.ParseFloat(a.Value, 64); err == nil {
			values[strings.ReplaceAll(strings.TrimLeft(name, "-"), "-", "_")] = v
		}
	}
	first := func(names ...string) float64 {
		for _, n := range names {
			if v := values[n]; v > 0 {
				return v
			}
		}
		return 0
	}
	world := 0.0
	if j.WorldSize != nil {
		world = float64(*j.WorldSize)
	}
	micro, accumulated := first("micro_batch_size", "per_device_train_batch_size"), max(1, first("gradient_accumulation_steps"))
	p := preflight.Plan{
		Batch: first("global_batch_size", "train_batch_size"), LR: first("lr", "learning_rate"), Warmup: first("lr_warmup_samples", "warmup_samples"),
		TP: first("tensor_model_parallel_size", "tensor_parallel_size"), PP: first("pipeline_model_parallel_size", "pipeline_parallel_size"),
		Timeout: 60 * first("distributed_timeout_minutes"),
	}
	if p.Batch == 0 && values["per_device_train_batch_size"] > 0 {
		p.Batch = micro * accumulated * world
	}
	if p.Warmup == 0 {
		p.Warmup = p.Batch * first("lr_warmup_iters", "warmup_steps")
	}
	if model := max(1, p.TP) * max(1, p.PP) * max(1, first("context_parallel_size")); p.PP > 0 && micro > 0 && world >= model {
		p.MicroBatches = p.Batch / (micro * float64(int(world/model)))
	}
	return p
}
