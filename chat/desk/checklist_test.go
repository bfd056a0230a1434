package desk

import (
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/config"
	"faultline/incident"
	"faultline/workflow"
)

// plannedRun is a run of 128 ranks that resumed, saved, and was started with other arguments than before.
func plannedRun(batch, lr string) *incident.Report {
	r := nightly("12345", "node07", 4)
	last, runs := int64(240), 1
	r.Job.LastStep, r.Job.StepsLogged, r.Job.Run = &last, 140, &runs
	r.Job.ResumedFrom = &incident.Step{Step: 100, Evidence: []incident.Evidence{incident.Quote("a.out", 7, 70, "resumed", nil)}}
	r.Action.ResumeFrom = &incident.Step{Step: 200, Evidence: []incident.Evidence{incident.Quote("a.out", 41, 700, "saved", nil)}}
	r.Job.Arguments = []incident.NameOf{{Name: "global_batch_size", Value: batch}, {Name: "lr", Value: lr}, {Name: "micro_batch_size", Value: "1"},
		{Name: "pipeline_model_parallel_size", Value: "4"}, {Name: "model.tensor-model-parallel-size", Value: "8"}}
	r.Artifacts = []incident.Artifact{{Kind: "preflight", Findings: []incident.Finding{{Statement: "all nodes: not ready: 16 nodes, 128 GPUs; 1 failure, 0 warnings"}}},
		{Kind: "nccl-tests", Findings: []incident.Finding{{Statement: "all_reduce reached 42.3 GB/s"}}}}
	return r
}

// tried is an earlier run of the same job.
func tried(world int, batch, lr string) func(inv *workflow.Investigation) {
	return func(inv *workflow.Investigation) {
		inv.Report = nightly(inv.Job, "", 4)
		inv.Report.Job.WorldSize = &world
		inv.Report.Job.Arguments = []incident.NameOf{{Name: "global_batch_size", Value: batch}, {Name: "lr", Value: lr}}
	}
}

func (s *stage) list(name string) string {
	s.t.Helper()
	text := ""
	for _, p := range s.all() {
		if strings.HasPrefix(p.Key, "checklist-"+name) {
			text = textOf(s.t, p) // the newest form of it
		}
	}
	return strings.NewReplacer("*", "", "`", "").Replace(text)
}

func TestAChecklistIsTickedByEvidence(t *testing.T) {
	s := pastStage(t, plannedRun("512", "4e-4"), tried(2, "8", "1e-5"), tried(64, "256", "3e-4"))
	if got := s.says("checklist F-3"); !strings.Contains(got, "pre-training") || !strings.Contains(got, "10 items") {
		t.Error(got)
	}
	for list, wants := range map[string][]string{
		"pre-training": {"☒ nodes Every node passes bot check (critical): All nodes: not ready: 16 nodes, 128 GPUs; 1 failure, 0 warnings.",
			"☑ small-run A run on 1 or 2 GPUs works: Job 100 completed on 2 ranks (F-1).", "☑ data-path The data path can be read: 140 steps of this run were logged.",
			"☑ bandwidth", "all_reduce reached 42.3 GB/s.", "☐ memory-budget", "bot check can tell: give --plan params=", "☑ restore", "This run resumed from step 100 and reached step 240 (a.out:7).", "☐ checkpoint", "4 of 10 ticked, 3 critical items open"},
		"scaling-up": {"☑ learning-rate The learning rate follows the new batch size (critical): Batch x2, learning rate x1.33; the rules say x1.41 (square root) to x2 (linear).",
			"☑ bubble The pipeline has at least 4 micro-batches per stage: 128 micro-batches over 4 stages", "☑ reproduced", "Job 101 completed on 64 ranks (F-2)."},
		"long-run": {"☑ auto-checkpoint Checkpoints are saved automatically (critical): This run completed a save at step 200 (a.out:41).", "☑ restart", "Requeued once"},
	} {
		s.says("checklist F-3 " + list)
		for _, want := range wants {
			if got := s.list(list); !strings.Contains(got, want) {
				t.Errorf("%s has no %q:\n%s", list, want, got)
			}
		}
	}
}

// What is so only of another run, or cannot be told, stays open.
func TestAChecklistClaimsNothing(t *testing.T) {
	s := newStage(t)
	r := report("gpu-oom", incident.Confirmed)
	r.Job.ResumedFrom, r.Action.ResumeFrom = &incident.Step{Step: 100}, &incident.Step{Step: 100} // the save of the run before
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) { return r, nil }
	s.says("12345")
	s.says("checklist F-1 long-run")
	if got := s.list("long-run"); strings.Contains(got, "☑") || !strings.Contains(got, "0 of 5 ticked, 2 critical items open") {
		t.Error(got)
	}
	s.says("checklist F-1 pre-training")
	if got := s.list("pre-training"); strings.Contains(got, "☑") || !strings.Contains(got, "☒ memory-budget") {
		t.Error(got)
	}
}

func TestPeopleTickAChecklist(t *testing.T) {
	s := newStage(t)
	own := *s.policy
	own.Checklists = []config.Checklist{{Name: "ours", Includes: []string{"long-run"}, Items: []config.ChecklistItem{{ID: "budget", Text: "Finance agreed", Critical: true}, {ID: "links", Text: "No link flaps", Run: "check-links"}}}}
	s.policy = &own
	s.says("12345")
	s.says("checklist F-1 ours")
	if got := s.list("ours"); !strings.Contains(got, "☐ budget Finance agreed (critical).") || !strings.Contains(got, "0 of 7 ticked, 3 critical items open") {
		t.Error(got)
	}
	if got := s.does(press("U3", actTick+"/ours-budget", "F-1 0 ours/budget")); !strings.Contains(got, "budget is ticked. 1 of 7 ticked, 2 critical items open.") {
		t.Error(got)
	}
	if got := s.list("ours"); !strings.Contains(got, "☑ budget Finance agreed (critical). <@U3>") || strings.Contains(got, "Tick budget") {
		t.Error(got)
	}
	posts := 0
	for _, p := range s.all() {
		if p.Kind == workflow.PostMessage && strings.HasPrefix(p.Key, "checklist-ours") {
			posts++
		}
	}
	if posts != 1 {
		t.Errorf("a tick made a new message: %d", posts)
	}
	if got := s.says("checklist F-1 ours budget undo"); !strings.Contains(got, "budget is no longer ticked. 0 of 7") || !strings.Contains(s.list("ours"), "☐ budget") {
		t.Error(got)
	}
	for text, want := range map[string]string{"checklist F-1 mine": "There is no checklist mine", "checklist F-1 ours debts": "has no item debts", "checklist F-1": "3 items"} {
		if got := s.says(text); text != "checklist F-1" && !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
	if trail := s.trail("F-1"); !strings.Contains(trail, "U3 checklist ours: budget ticked") || !strings.Contains(trail, "checklist ours: budget no longer ticked") {
		t.Error(trail)
	}
}
