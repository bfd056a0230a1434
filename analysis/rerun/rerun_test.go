package rerun

import (
	"strings"
	"testing"

	"faultline/incident"
)

// run is a run that came to a step; with(...) changes it.
func run(step int64, with ...func(*incident.Report)) *incident.Report {
	r := &incident.Report{Job: incident.Job{LastStep: &step, StepsLogged: int(step)},
		Verdict: incident.Verdict{Status: incident.NoFailure, Mechanism: "completed", Ending: incident.EndSeen},
		Figures: []incident.Figure{times(2, 2, 2), {Name: incident.SignMemory, Unit: "%", N: 40, Median: 60, Spread: 0.1, First: 60, Last: 60}}}
	for _, w := range with {
		w(r)
	}
	return r
}

func times(median, first, last float64) incident.Figure {
	return incident.Figure{Name: incident.SignStepTime, Unit: "s", N: 40, Median: median, Spread: 0.02, First: first, Last: last}
}

func failedOf(mechanism string) func(*incident.Report) {
	return func(r *incident.Report) {
		r.Verdict = incident.Verdict{Status: incident.Confirmed, Mechanism: mechanism}
	}
}

func slowed(first, last float64) func(*incident.Report) {
	return func(r *incident.Report) {
		r.Verdict = incident.Verdict{Status: incident.Probable, Mechanism: "throughput-regression"}
		r.Figures[0] = times(first, first, last)
	}
}

func figured(f incident.Figure) func(*incident.Report) {
	return func(r *incident.Report) {
		for i := range r.Figures {
			if r.Figures[i].Name == f.Name {
				r.Figures[i] = f
			}
		}
	}
}

func arguments(list ...incident.NameOf) func(*incident.Report) {
	return func(r *incident.Report) { r.Job.Arguments = list }
}

func noFigures(r *incident.Report) { r.Figures = nil }

func open(candidates ...string) func(*incident.Report) {
	return func(r *incident.Report) {
		r.Verdict = incident.Verdict{Status: incident.Inconclusive}
		for _, c := range candidates {
			r.Verdict.Candidates = append(r.Verdict.Candidates, incident.Candidate{Mechanism: c})
		}
	}
}

func on(nodes int) func(*incident.Report) {
	return func(r *incident.Report) { r.Job.NodesCount = &nodes }
}

func noStep(r *incident.Report) { r.Job.LastStep, r.Job.StepsLogged = nil, 0 }

func atStart(r *incident.Report) { r.Verdict.Phase = "init" }

func running(r *incident.Report) {
	r.Verdict = incident.Verdict{Status: incident.NoFailure, Ending: incident.EndRunning}
}

func TestWhatBecameOfATrouble(t *testing.T) {
	slower := times(2.3, 2.3, 2.3)
	for name, c := range map[string]struct {
		before, after *incident.Report
		want, say     string
	}{
		"it runs past the failing step":              {run(40, failedOf("gpu-oom")), run(90, running), incident.Fixed, "got 50 steps past step 40"},
		"it completes":                               {run(40, failedOf("gpu-oom")), run(40), incident.Fixed, "completed"},
		"it fails again":                             {run(40, failedOf("gpu-oom")), run(90, failedOf("gpu-oom")), incident.NotFixed, "failed again"},
		"what remains possible is the same":          {run(40, open("rank-stalled", "killed")), run(20, open("killed", "host-oom")), incident.NotFixed, "failed again"},
		"it passes, and ends of something undecided": {run(40, failedOf("gpu-oom")), run(400, open("killed", "host-oom")), incident.Fixed, "cause unknown"},
		"it passes, and may have failed alike":       {run(40, open("killed", "gpu-oom")), run(400, open("killed", "host-oom")), incident.OpenFix, "may be the same"},
		"a good run, and one that ended undecided":   {run(40), run(20, open("killed", "host-oom")), incident.OpenFix, "did not fail"},
		"nothing is known of the run before":         {run(0, open(), noStep), run(300, running), incident.OpenFix, "where it failed is unknown"},
		"it is slower on fewer nodes":                {run(40, failedOf("gpu-oom"), on(8)), run(90, on(4), figured(slower)), incident.Fixed, "memory is no worse"},
		"it is slower on as many nodes":              {run(40, failedOf("gpu-oom"), on(4)), run(90, on(4), figured(slower)), incident.Regression, "+15%"},
		"it has not come so far":                     {run(40, failedOf("gpu-oom")), run(45, running), incident.OpenFix, "reached step 45"},
		"it fails otherwise before":                  {run(40, failedOf("gpu-oom")), run(12, failedOf("exception")), incident.OpenFix, "another reason"},
		"it fails otherwise after":                   {run(40, failedOf("gpu-oom")), run(400, failedOf("exception")), incident.Fixed, "then failed for another reason"},
		"a start-up that works":                      {run(0, failedOf("init-unreachable"), noStep, atStart), run(3, running), incident.Fixed, "is training"},
		"fixed and slower":                           {run(40, failedOf("gpu-oom")), run(90, figured(slower)), incident.Regression, "+15%"},
		"fixed and larger":                           {run(40, failedOf("exception")), run(90, figured(incident.Figure{Name: incident.SignMemory, Unit: "%", N: 40, Median: 69, Spread: 0.1})), incident.Regression, "memory 69"},
		"another batch is no regression":             {run(40, failedOf("gpu-oom"), arguments(incident.NameOf{Name: "micro_batch_size", Value: "8"})), run(90, figured(slower), arguments(incident.NameOf{Name: "micro_batch_size", Value: "4"})), incident.Fixed, "completed"},
		"a slow job is as fast as before":            {run(40, slowed(2, 4)), run(90, running), incident.Fixed, "is 2 s"},
		"a slow job is still slow":                   {run(40, slowed(2, 4)), run(90, running, figured(times(3.9, 3.9, 3.9))), incident.NotFixed, "is 3.9 s"},
		"a slow job is a little better":              {run(40, slowed(2, 4)), run(90, running, figured(times(3, 3, 3))), incident.NotFixed, "is 3 s"},
		"a slow job with other ranks is not judged":  {run(40, slowed(2, 4), ranks(64)), run(90, running, ranks(32)), incident.OpenFix, "32 ranks"},
		"two good runs":                              {run(40), run(40), incident.Same, "neither"},
		"two good runs of which one is slower":       {run(40), run(40, figured(slower)), incident.Regression, "+15%"},
		"a good run and a bad one":                   {run(40), run(20, failedOf("gpu-oom")), incident.NotFixed, "did not"},
		"no figures":                                 {run(40, failedOf("gpu-oom"), noFigures), run(90, running), incident.Fixed, "no figures"},
		"few noisy steps tell nothing":               {run(40, failedOf("gpu-oom")), run(90, figured(incident.Figure{Name: incident.SignStepTime, Unit: "s", N: 10, Median: 2.3, Spread: 1})), incident.Fixed, "completed"},
		"it stands still":                            {run(40, failedOf("gpu-oom")), run(90, running, stalled), incident.OpenFix, "stopped making progress"},
	} {
		got := Compare(c.before, c.after)
		if got.Outcome != c.want || !strings.Contains(got.Summary, c.say) {
			t.Errorf("%s: %s (%s), want %s (… %s …)", name, got.Outcome, got.Summary, c.want, c.say)
		}
		if got.Outcome == incident.OpenFix && len(got.Needs) == 0 {
			t.Errorf("%s: open, and it does not say what is needed", name)
		}
	}
}

func ranks(n int) func(*incident.Report) {
	return func(r *incident.Report) { r.Job.WorldSize = &n }
}

func stalled(r *incident.Report) { r.Verdict.Ending = incident.EndStalled }

// A loss is compared at the steps that both runs print.
func TestLossesAreComparedAtEqualSteps(t *testing.T) {
	curve := func(from, to int64, times float64) func(*incident.Report) {
		return func(r *incident.Report) {
			r.Course = &incident.Course{}
			for s := from; s <= to; s++ {
				loss := times * (2 + 3/float64(1+s))
				r.Course.Points = append(r.Course.Points, incident.CoursePoint{Step: &s, Loss: &loss})
			}
		}
	}
	for name, c := range map[string]struct {
		after *incident.Report
		want  string
	}{
		"a longer run is no better or worse": {run(300, curve(0, 300, 1)), incident.Fixed},
		"a worse loss":                       {run(300, curve(0, 300, 1.2)), incident.Regression},
		"resumed in the middle":              {run(300, curve(20, 300, 1.2)), incident.Regression},
		"no step in common":                  {run(300, curve(200, 300, 1.2)), incident.Fixed},
	} {
		if got := Compare(run(40, failedOf("gpu-oom"), curve(0, 40, 1)), c.after); got.Outcome != c.want {
			t.Errorf("%s: %s (%s), want %s", name, got.Outcome, got.Summary, c.want)
		}
	}
}
