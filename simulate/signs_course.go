package simulate

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"time"
)

// playSpike is a loss that jumps and comes back, or (ablation) does not: then nothing says why.
func playSpike(s *scene) error {
	s.withLoss()
	s.startup()
	s.step = s.rng.IntN(4000)
	t := s.steps(sec(12), 15+s.rng.IntN(20), nil)
	before, peak, n := s.loss, 2.5+4*s.rng.Float64(), 5+s.rng.IntN(8)
	rises := s.step
	t = s.steps(t, n, func(i int) {
		s.loss = before * (1 + peak*math.Exp(-float64(i)/2))
		if s.spec.Ablate == "stays" {
			s.loss = before * (1 + peak)
		}
	})
	if s.spec.Ablate == "stays" {
		s.loss = before * (1 + peak)
		s.steps(t, 10, nil)
		s.fixed(Truth{World: fmt.Sprintf("the loss jumped after step %d and stayed up", rises), Candidates: []string{"unknown"}, ForbidMechanisms: append([]string{"non-finite-loss", "silent-corruption"}, crashes...)})
		return nil
	}
	s.loss = before
	t = s.steps(t, 10+s.rng.IntN(20), nil)
	how := pick(s.rng, byLimit, byCancel, goesOnYet, finishes)
	s.ends(t, how)
	truth := ended(how, "a spike of the loss that recovers")
	truth.ForbidMechanisms = append([]string{"non-finite-loss", "silent-corruption", "loss-plateau"}, crashes...)
	s.fixed(truth)
	return nil
}

// playPlateau is a loss that stops moving, or never does.
func playPlateau(s *scene) error {
	s.withLoss()
	s.startup()
	s.step = 0
	window := 45 + s.rng.IntN(30)
	if s.spec.Ablate == "short" {
		window = 12
	}
	top, flat := 8+2*s.rng.Float64(), 3+4*s.rng.Float64()
	never := s.rng.IntN(3) == 0
	t := s.steps(sec(12), 3*window, func(i int) {
		s.loss = flat
		if !never && i < window {
			s.loss = flat + (top-flat)*math.Exp(-6*float64(i)/float64(window))
		}
		s.loss *= 1 + 0.0015*(2*s.rng.Float64()-1)
	})
	how := pick(s.rng, byLimit, byCancel, goesOnYet)
	s.ends(t, how)
	if s.spec.Ablate == "short" {
		s.fixed(ended(how, "a loss that has not moved for a dozen steps, which says nothing"))
		return nil
	}
	s.fixed(Truth{World: "the loss does not move", Candidates: []string{"loss-plateau"}, ForbidMechanisms: append([]string{"non-finite-loss", "throughput-regression", "time-limit", "cancelled"}, crashes...)})
	return nil
}

// slow writes the steps from an onset on: so many times slower.
func (s *scene) slow(t time.Duration, n int, times float64) time.Duration {
	return s.steps(t, n, func(int) { s.stepTime = time.Duration(float64(s.stepTime) * times) })
}

// playSlower is a step time that leaves its baseline and does not come back.
func playSlower(s *scene) error {
	s.startup()
	s.step = s.rng.IntN(4000)
	t := s.steps(sec(12), 20+s.rng.IntN(30), nil)
	onset, times := s.step+1, 1.2+2*s.rng.Float64()
	n := 10 + s.rng.IntN(30)
	if s.spec.Ablate == "late" {
		n = 2
	}
	t = s.slow(t, n, times)
	how := pick(s.rng, byLimit, byCancel, goesOnYet)
	switch s.spec.Ablate {
	case "late":
		if how == goesOnYet {
			how = byLimit
		}
		s.ends(t, how)
		s.fixed(ended(how, "two slow steps at the end, which say nothing"))
		return nil
	case "recovers":
		t = s.steps(t, 30, nil)
		how = pick(s.rng, byLimit, byCancel, finishes)
		s.ends(t, how)
		s.fixed(ended(how, "a slow stretch that is over"))
		return nil
	}
	s.ends(t, how)
	s.fixed(Truth{World: fmt.Sprintf("steps take %.1f times as long from step %d on", times, onset), Candidates: []string{"throughput-regression"},
		ForbidMechanisms: append([]string{"non-finite-loss", "loss-plateau", "slow-rank", "time-limit", "cancelled"}, crashes...)})
	return nil
}

// playSilence is a job that stops making progress and that nothing watches, until SLURM ends it.
func playSilence(s *scene) error {
	s.stamped()
	s.startup()
	s.step = s.rng.IntN(4000)
	t := s.steps(sec(12), 15+s.rng.IntN(30), nil)
	how := pick(s.rng, byLimit, byLimit, byCancel)
	if s.spec.Ablate == "brief" {
		s.ends(t+s.jitter(3*s.stepTime), how)
		s.fixed(ended(how, "a run that was well when SLURM ended it"))
		return nil
	}
	silent := sec(60*(20+s.rng.IntN(38)) + s.rng.IntN(60)) // less than an hour: no zone is so near to another
	s.ends(t+silent, how)
	s.fixed(Truth{World: fmt.Sprintf("no progress for %s before SLURM ended the job", silent), Candidates: openHang,
		ForbidMechanisms: []string{"time-limit", "cancelled", "exception", "external-signal", "throughput-regression"}})
	return nil
}

// playUnsoundOOM is a run whose course is not well and which dies of something else: what ended it is the cause.
func playUnsoundOOM(s *scene) error {
	s.withLoss()
	s.startup()
	s.step = s.rng.IntN(4000)
	t := s.steps(sec(12), 20+s.rng.IntN(10), nil)
	what := "slower"
	if s.rng.IntN(2) == 0 {
		t = s.slow(t, 12+s.rng.IntN(10), 1.3+s.rng.Float64())
	} else {
		what = "without a finite loss"
		from := s.here()
		t = s.steps(t, 12+s.rng.IntN(10), nil)
		s.rewrite(from, noNumber)
	}
	d := death{ranks: []int{s.anyRank()}, at: t + ms(300), code: 1, peers: s.peersMode()}
	s.blame(d)
	s.faultLines("message", func() {
		r := s.ranks[d.ranks[0]]
		s.python(r.id, t+ms(100), pyTraceback(cudaFrames(1), oomText(s.v.name, r.local, 512, r.pid))...)
	})
	s.falls(d)
	s.killed(fmt.Sprintf("a run that was %s for a while, and in which rank %d ran out of GPU memory", what, d.ranks[0]), "gpu-oom", "after-fix", d)
	return nil
}

// playUneven is a healthy run with what healthy runs have: slow first steps, a slow step, evaluations, long saves, first
// overflows, a gradient that is infinite once, a batch that grows.
func playUneven(s *scene) error {
	kind := pick(s.rng, "warm-up", "one slow step", "evaluations", "long saves", "overflows", "one infinite norm", "batch")
	switch {
	case kind == "overflows" && s.frame != &megatron && s.frame != &deepspeed:
		s.reframe(&deepspeed)
	case kind == "batch" && s.frame != &megatron:
		kind = "evaluations"
	case kind == "one infinite norm" && s.frame != &megatron:
		s.reframe(&hfTrainer)
	}
	s.startup()
	s.step = s.rng.IntN(4000)
	if kind == "warm-up" || kind == "overflows" {
		s.step = 0
	}
	t := sec(12)
	base := s.usual()
	switch kind {
	case "warm-up":
		t = s.steps(t, 40, func(i int) {
			if i < 3 {
				s.stepTime = time.Duration(float64(s.stepTime) * (12 - 4*float64(i)))
			}
		})
	case "one slow step":
		slow := 10 + s.rng.IntN(20)
		t = s.steps(t, 45, func(i int) {
			if i == slow {
				s.stepTime *= 10
			}
		})
	case "evaluations":
		for range 3 {
			t = s.steps(t, 14, nil)
			t += sec(20 + s.rng.IntN(60))
			s.evaluation(t)
		}
		t = s.steps(t, 8, nil)
	case "long saves":
		for range 3 {
			t = s.steps(t, 12, nil)
			from := s.here()
			s.frame.save(s, t+ms(20))
			t += sec(60 + s.rng.IntN(200))
			if last := &s.entries[len(s.entries)-1]; len(s.entries) > from+1 { // begun and completed
				last.at = t
			}
		}
		t = s.steps(t, 12, nil)
	case "overflows":
		scale := float64(int64(1) << 32)
		for scale > 1<<16 {
			t += s.stepTime
			s.step++
			s.overflowed(t, scale, scale/2)
			scale /= 2
		}
		t = s.scaled(t, 30, scale)
	case "one infinite norm":
		t = s.steps(t, 20, nil)
		from := s.here()
		t = s.steps(t, 1, nil)
		s.rewrite(from, func(l string) string { return printedNorm.ReplaceAllString(l, "${1}inf") })
		t = s.steps(t, 15, nil)
	case "batch":
		t = s.steps(t, 20, nil)
		from := s.here()
		t = s.slow(t, 20, 1.9)
		s.rewrite(from, func(l string) string {
			return strings.Replace(regexp.MustCompile(`consumed samples: +\d+`).ReplaceAllString(l, "consumed samples:      1048576"), "global batch size:   256", "global batch size:   512", 1)
		})
	}
	s.stepTime = base
	how := pick(s.rng, byLimit, byCancel, goesOnYet, finishes)
	s.ends(t, how)
	truth := ended(how, "a healthy run: "+kind)
	truth.ForbidMechanisms = append([]string{"non-finite-loss", "throughput-regression", "loss-plateau", "slow-rank", "checkpoint-io"}, crashes...)
	s.fixed(truth)
	return nil
}

// evaluation is what the framework prints when one is done; some print nothing.
func (s *scene) evaluation(t time.Duration) {
	switch s.frame {
	case &megatron:
		r := s.world - 1
		line := fmt.Sprintf(" validation loss at iteration %d | lm loss value: %.6E | lm loss PPL: %.6E | ", s.step, s.loss, math.Exp(s.loss))
		s.plain(r, t, strings.Repeat("-", len(line)))
		s.plain(r, t+ms(1), line)
		s.plain(r, t+ms(2), strings.Repeat("-", len(line)))
	case &hfTrainer:
		s.plain(0, t, fmt.Sprintf("{'eval_loss': %.4f, 'eval_runtime': 31.4159, 'eval_samples_per_second': 81.2, 'eval_steps_per_second': 1.3, 'epoch': %.2f}", s.loss, float64(s.step)/50000))
	case &titan:
		s.titanLine(t, 0, fmt.Sprintf("validate step: %d  loss: %7.4f  memory: 60.21GiB(75.99%%)  tps: 9,812", s.step, s.loss))
	}
}
