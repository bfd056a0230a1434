package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/diagnose/mechanism"
	"faultline/incident"
	"faultline/simulate"
)

// trained is what rank 0 prints while it trains: step, loss and seconds of each step, with a save where it is due.
type trained struct {
	b    strings.Builder
	step int
	at   int // seconds since 10:00
}

func (r *trained) line(text string) {
	fmt.Fprintf(&r.b, "[rank0]: 2026-03-01 %02d:%02d:%02d,000 INFO trainer: %s\n", 10+r.at/3600, r.at/60%60, r.at%60, text)
}

func (r *trained) steps(n, seconds int, loss string) {
	for range n {
		r.step++
		r.at += seconds
		r.line(fmt.Sprintf("completed step: %d, seconds: %d.000, TFLOP/s/device: 412, loss: %s", r.step, seconds, loss))
	}
}

func (r *trained) save() {
	r.line(fmt.Sprintf("Saved checkpoint to /ckpt/step_%d", r.step))
}

func (r *trained) judge(t *testing.T) *incident.Report {
	t.Helper()
	return run(read(t, []simulate.File{{Name: "train.log", Data: []byte(r.b.String())}}, nil, 8), mechanism.All())
}

func TestARunIsResumedFromBeforeItsNumbersWentWrong(t *testing.T) {
	var r trained
	r.steps(10, 2, "2.5")
	r.save() // 10
	r.steps(10, 2, "2.4")
	r.save() // 20: the last sound line is that of step 20
	r.steps(10, 2, "nan")
	r.save() // 30
	rep := r.judge(t)
	if rep.Verdict.Mechanism != "non-finite-loss" || rep.Verdict.Status != incident.Confirmed {
		t.Fatalf("%s %s", rep.Verdict.Status, rep.Verdict.Mechanism)
	}
	if s := rep.Action.ResumeFrom; s == nil || s.Step != 10 {
		t.Errorf("resumes from %+v; what the save of step 20 holds nobody knows", s)
	}
	if rep.Action.Resubmit != "after-fix" {
		t.Errorf("resubmit: %s", rep.Action.Resubmit)
	}
	if c := rep.Course; c == nil || len(c.Marks) != 1 || !strings.Contains(c.Marks[0].Text, "step 21") || !c.Points[len(c.Points)-1].Broken || c.Points[0].Broken {
		t.Errorf("course: %+v", c)
	}
}

func TestWhatACourseMakesOfARun(t *testing.T) {
	const oom = "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 3 has a total capacity of 79.15 GiB of which 1.00 MiB is free.\n"
	const limit = "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2026-03-01T%02d:%02d:%02d DUE TO TIME LIMIT ***\n"
	ended := func(r *trained) { fmt.Fprintf(&r.b, limit, 10+r.at/3600, r.at/60%60, r.at%60) }
	for _, c := range []struct {
		name    string
		play    func(r *trained)
		want    []string
		suspect string
	}{
		{"slower, then the limit", func(r *trained) { r.steps(40, 4, "2.5"); r.steps(30, 7, "2.4"); ended(r) }, []string{"throughput-regression"}, ""},
		{"slower, then out of memory", func(r *trained) { r.steps(40, 4, "2.5"); r.steps(30, 7, "2.4"); r.b.WriteString(traced(3) + oom) }, []string{"gpu-oom"}, ""},
		{"no number, then the limit", func(r *trained) { r.steps(40, 4, "2.5"); r.steps(9, 4, "nan"); ended(r) }, []string{"non-finite-loss"}, ""},
		{"no number, then out of memory", func(r *trained) { r.steps(40, 4, "2.5"); r.steps(9, 4, "nan"); r.b.WriteString(traced(3) + oom) }, []string{"gpu-oom"}, "non-finite-loss"},
		{"no number, then an error that says so", func(r *trained) {
			r.steps(40, 4, "2.5")
			r.steps(9, 4, "nan")
			r.b.WriteString(traced(3) + "[rank3]: AssertionError: non-finite gradient norm\n")
		}, []string{"non-finite-loss"}, ""},
		{"one without a number, and the limit", func(r *trained) { r.steps(40, 4, "2.5"); r.steps(1, 4, "nan"); r.steps(20, 4, "2.5"); ended(r) }, []string{"time-limit"}, ""},
		{"well until the limit", func(r *trained) { r.steps(40, 4, "2.5"); ended(r) }, []string{"time-limit"}, ""},
		{"silent before the limit", func(r *trained) { r.steps(40, 4, "2.5"); r.at += 1800; ended(r) }, []string{"rank-stalled", "collective-hang", "gpu-hang"}, ""},
		{"a jump that stays", func(r *trained) { r.steps(40, 4, "2.5"); r.steps(20, 4, "8.5") }, []string{"unknown"}, "silent-corruption"},
		{"a jump that is over", func(r *trained) { r.steps(40, 4, "2.5"); r.steps(3, 4, "8.5"); r.steps(20, 4, "2.5") }, []string{"completed"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r trained
			c.play(&r)
			v := r.judge(t).Verdict
			var got, suspects []string
			for _, x := range v.Candidates {
				got = append(got, x.Mechanism)
			}
			for _, x := range v.Suspects {
				suspects = append(suspects, x.Mechanism)
			}
			if !slices.Equal(got, c.want) || c.suspect != "" && !slices.Contains(suspects, c.suspect) {
				t.Errorf("%s: %v, suspects %v: %s", v.Status, got, suspects, v.Summary)
			}
			if len(v.Root.Ranks) > 0 && !slices.Equal(got, []string{"gpu-oom"}) {
				t.Errorf("accuses %v", v.Root.Ranks)
			}
		})
	}
}

func traced(rank int) string {
	return fmt.Sprintf("[rank%d]: Traceback (most recent call last):\n[rank%d]:   File \"/app/train.py\", line 31, in <module>\n[rank%d]:     main()\n", rank, rank, rank)
}

// Times that ranks print of themselves: one and a half times the median is slow, and nobody is named where many are.
func TestARankThatIsSlowerThanItsPeers(t *testing.T) {
	table := func(times ...float64) string {
		s := "times across ranks (ms):\n  forward-compute:\n"
		for r, v := range times {
			s += fmt.Sprintf("     rank %2d: %.2f\n", r, v)
		}
		return s
	}
	for _, c := range []struct {
		name  string
		times []float64
		want  []int
	}{
		{"one", []float64{100, 101, 99, 100, 102, 260, 100, 99}, []int{5}},
		{"not enough", []float64{100, 101, 99, 100, 102, 140, 100, 99}, nil},
		{"half of them: a pipeline", []float64{100, 101, 99, 100, 202, 210, 200, 199}, nil},
		{"two are no table", []float64{100, 300}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r trained
			for range 3 {
				r.steps(5, 4, "2.5")
				r.b.WriteString(table(c.times...))
			}
			r.steps(3, 4, "2.5")
			v := r.judge(t).Verdict
			if !slices.Equal(v.Root.Ranks, orNone(c.want)) || (v.Mechanism == "slow-rank") != (c.want != nil) {
				t.Errorf("%s of ranks %v: %s", v.Mechanism, v.Root.Ranks, v.Summary)
			}
		})
	}
}

// Of the lowest and the highest throughput alone a rank is named only where they had been alike before, or nothing divides the job.
func TestTheLowestThroughputOfAll(t *testing.T) {
	const noStages = "using world size: 16, data-parallel size: 16, context-parallel size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: 1\n"
	pair := func(low float64, rank int) string {
		return fmt.Sprintf("[2025-06-03 17:48:01] | MnRtt/Rnk: 453.08ms/8 | MxRtt/Rnk: 868.20ms/%d | MnEtpt/Rnk: %.2fTF/%d | MxEtpt/Rnk: 297.32TF/8\n", rank, low, rank)
	}
	for _, c := range []struct {
		name, head string
		reports    []string
		want       []int
	}{
		{"it became so", "", []string{pair(290, 2), pair(291, 7), pair(150, 5), pair(149, 5), pair(151, 5)}, []int{5}},
		{"it is so from the start", noStages, []string{pair(150, 5), pair(149, 5), pair(151, 5)}, []int{5}},
		{"it is the last one", "", []string{pair(290, 2), pair(150, 9), pair(149, 9), pair(151, 9)}, []int{9}},
		{"it may be a stage's", "", []string{pair(150, 5), pair(149, 5), pair(151, 5)}, nil},
		{"another one each time", noStages, []string{pair(150, 5), pair(149, 3), pair(151, 1), pair(150, 2)}, nil},
		{"once", "", []string{pair(290, 2), pair(291, 7), pair(150, 5)}, nil},
		{"it was so for a while", "", []string{pair(290, 2), pair(150, 5), pair(149, 5), pair(151, 5), pair(290, 5)}, nil},
		{"a little", noStages, []string{pair(240, 5), pair(240, 5), pair(240, 5)}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var r trained
			r.b.WriteString(c.head)
			for _, s := range c.reports {
				r.steps(5, 4, "2.5")
				r.b.WriteString(s)
			}
			r.steps(3, 4, "2.5")
			v := r.judge(t).Verdict
			if !slices.Equal(v.Root.Ranks, orNone(c.want)) || (v.Mechanism == "slow-rank") != (c.want != nil) {
				t.Errorf("%s of ranks %v: %s", v.Mechanism, v.Root.Ranks, v.Summary)
			}
		})
	}
}

func orNone(v []int) []int {
	if v == nil {
		return []int{}
	}
	return v
}
