package simulate

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// signs lists the mechanisms of stop-line 4: numerics and performance.
func signs() []mechanism {
	return []mechanism{
		{name: "non-finite-loss", line: 4, ablations: []string{"recovers"}, fit: fitCourse, run: playNaN},
		{name: "loss-scale-collapse", line: 4, ablations: []string{"recovers"}, fit: fitCourse, run: playScaleCollapse},
		{name: "nan-then-raise", line: 4, fit: fitCourse, run: playNaNRaise},
		{name: "loss-spike", line: 4, ablations: []string{"stays"}, fit: fitCourse, run: playSpike},
		{name: "loss-plateau", line: 4, ablations: []string{"short"}, fit: fitCourse, run: playPlateau},
		{name: "throughput-regression", line: 4, ablations: []string{"late", "recovers"}, fit: fitCourse, run: playSlower},
		{name: "slow-rank", line: 4, ablations: []string{"table"}, fit: fitTable, run: playSlowRank},
		{name: "silent-to-time-limit", line: 4, ablations: []string{"brief"}, fit: fitStamped, run: playSilence},
		{name: "unsound-then-oom", line: 4, fit: fitCourse, run: playUnsoundOOM},
		{name: "uneven-course", line: 4, fit: fitCourse, run: playUneven},
	}
}

// fitCourse keeps every file: the one that reports the steps holds the whole incident.
func fitCourse(s *Spec, _ *picker) {
	if slices.Contains(fileDamages, s.Damage) {
		s.Damage = ""
	}
}

// fitTable is for reports that set ranks side by side: their lines belong together.
func fitTable(s *Spec, p *picker) {
	fitCourse(s, p)
	if s.NodeCount*s.PerNode > 512 {
		s.NodeCount = 64
		p.oneGroup(s)
	}
}

// fitStamped is for what only the times of lines tell: a zone that differs from SLURM's could stand for the time.
func fitStamped(s *Spec, p *picker) {
	fitCourse(s, p)
	s.ZoneMix = false
	if s.Damage == "no-last" {
		s.Damage = ""
	}
}

// withLoss makes the framework one whose step lines print a loss.
func (s *scene) withLoss() {
	if s.frame == &deepspeed {
		s.reframe(&hfTrainer)
	}
}

func (s *scene) reframe(f *framework) {
	s.frame = f
	s.askedWorld = s.askedWorld || !f.statesWorld
}

// stamped makes the framework one whose step lines carry a time.
func (s *scene) stamped() {
	switch {
	case s.frame == &megatron || s.frame == &titan || s.frame == &deepspeed:
	case s.spec.Layout.Kind == "megatron":
		s.reframe(&megatron)
	default:
		s.reframe(&deepspeed)
	}
}

// usual is the step time of a run, from which single steps differ by a per cent or so.
func (s *scene) usual() time.Duration { return s.stepTime }

// steps writes n step lines, one a step. each sets what is special about a step: its time and loss.
func (s *scene) steps(t time.Duration, n int, each func(i int)) time.Duration {
	base := s.usual()
	for i := range n {
		s.stepTime = time.Duration(float64(base) * (0.99 + 0.02*s.rng.Float64()))
		s.loss -= 0.004 * s.rng.Float64()
		if each != nil {
			each(i)
		}
		t += s.stepTime
		s.step++
		s.frame.progress(s, t)
		if s.step%25 == 0 {
			s.frame.save(s, t+ms(30))
		}
		s.benign(t)
	}
	s.stepTime = base
	return t
}

// rewrite changes the lines since an entry as Python would have printed them.
func (s *scene) rewrite(from int, change func(string) string) {
	for i := from; i < len(s.entries); i++ {
		s.entries[i].text = change(s.entries[i].text)
	}
}

var (
	printedLoss = regexp.MustCompile(`(reduced_train_loss[=:] ?|'loss': |lm loss: |  loss: )( *)([0-9.]+(?:E[+-]\d+)?)`)
	printedNorm = regexp.MustCompile(`(grad_norm'?: |grad norm: )([0-9.]+)`)
)

// noNumber is a step line whose loss is printed as what it is.
func noNumber(line string) string {
	line = printedLoss.ReplaceAllStringFunc(line, func(m string) string {
		g := printedLoss.FindStringSubmatch(m)
		switch {
		case g[1] == "lm loss: ": // {:.6E}
			return g[1] + "NAN"
		case g[1] == "  loss: ": // {:7.4f}
			return g[1] + "    nan"
		}
		return g[1] + "nan"
	})
	line = printedNorm.ReplaceAllString(line, "${1}nan")
	return strings.Replace(line, "number of nan iterations:   0", "number of nan iterations:   1", 1)
}

// endings of a run that does not fail: what ends it is not why it is looked at.
const (
	byLimit   = "limit"
	byCancel  = "cancel"
	goesOnYet = "open"
	finishes  = "finish"
)

// ends writes how the run ends.
func (s *scene) ends(t time.Duration, how string) {
	switch how {
	case byLimit:
		s.controllerEnds(t+ms(400), " DUE TO TIME LIMIT")
	case byCancel:
		s.controllerEnds(t+ms(400), "")
	case finishes:
		s.plain(0, t+sec(2), "Training finished.")
		s.batch(t+sec(5), "srun rc=0")
	}
}

// cancelledBare is the truth of a CANCELLED without a reason: it proves that somebody or something ended the job, not that nothing was wrong.
var cancelledBare = []string{"cancelled", "unknown"}

// ended is the truth of a run that only its ending speaks of.
func ended(how, world string) Truth {
	t := Truth{World: world, NoFailure: true}
	switch how {
	case byLimit:
		t.Candidates, t.NoFailure = []string{"time-limit"}, false
	case byCancel:
		t.Candidates = cancelledBare
	case goesOnYet: // the bytes stop short of the last step: whether it goes on, hangs or was killed, they do not tell
		t.Candidates = []string{"completed", "unknown"}
	default:
		t.Candidates = []string{"completed"}
	}
	return t
}

// crashes are first mechanisms that a run which nothing broke must not get.
var crashes = []string{"exception", "native-crash", "host-oom", "external-signal", "peer-lost", "rank-stalled"}

// playNaN is a loss that becomes NaN and stays so: nothing fails by it.
func playNaN(s *scene) error {
	s.withLoss()
	s.startup()
	s.step = s.rng.IntN(4000)
	t := s.steps(sec(12), 15+s.rng.IntN(20), nil)
	at := s.step + 1
	n := 6 + s.rng.IntN(20)
	if s.spec.Ablate == "recovers" {
		n = 1
	}
	from := s.here()
	hidden := s.frame == &hfTrainer && s.rng.IntN(2) == 0
	t = s.steps(t, n, nil)
	s.rewrite(from, func(l string) string {
		if strings.Contains(l, "saving model to") || strings.Contains(l, "val_loss") {
			return l
		}
		l = noNumber(l)
		if hidden { // Trainer's logging_nan_inf_filter
			l = strings.Replace(l, "'loss': nan", "'loss': 0.0", 1)
		}
		return l
	})
	how := pick(s.rng, byLimit, byCancel, goesOnYet)
	if s.spec.Ablate == "recovers" {
		t = s.steps(t, 12, nil)
		s.ends(t, how)
		s.fixed(ended(how, "one step without a number, which the run survived"))
		return nil
	}
	s.ends(t, how)
	s.fixed(Truth{World: fmt.Sprintf("the loss is NaN from step %d on", at), Candidates: []string{"non-finite-loss"}, Action: "after-fix", ForbidMechanisms: append([]string{"time-limit", "cancelled"}, crashes...)})
	return nil
}

// scaleLines writes one step whose gradients overflowed, in DeepSpeed's or Megatron's words.
func (s *scene) overflowed(t time.Duration, scale, next float64) {
	if s.frame == &megatron {
		from := s.here()
		s.frame.progress(s, t)
		s.rewrite(from, func(l string) string {
			l = strings.Replace(l, "loss scale: 1.0 ", fmt.Sprintf("loss scale: %.1f ", next), 1)
			l = regexp.MustCompile(`lm loss: \S+ \| `).ReplaceAllString(l, "")
			l = printedNorm.ReplaceAllString(l, "${1}0.000")
			return strings.Replace(l, "skipped iterations:   0", "skipped iterations:   1", 1)
		})
		return
	}
	s.plain(0, t, fmt.Sprintf("[%s] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: %d, reducing to %d", s.stamp(0, t, commaMillis), int(scale), int(next)))
	s.frame.progress(s, t+ms(1))
}

// scaled writes healthy steps at a loss scale.
func (s *scene) scaled(t time.Duration, n int, scale float64) time.Duration {
	from := s.here()
	t = s.steps(t, n, nil)
	s.rewrite(from, func(l string) string {
		return strings.Replace(l, "loss scale: 1.0 ", fmt.Sprintf("loss scale: %.1f ", scale), 1)
	})
	return t
}

// playScaleCollapse is a loss scale that falls to its minimum, step by step.
func playScaleCollapse(s *scene) error {
	if s.spec.Layout.Kind == "megatron" {
		s.reframe(&megatron)
	} else {
		s.reframe(&deepspeed)
	}
	s.startup()
	s.step = 100 + s.rng.IntN(4000)
	scale := float64(int(1) << (12 + s.rng.IntN(8)))
	t := s.scaled(sec(12), 15+s.rng.IntN(20), scale)
	least := 1.0
	if s.spec.Ablate == "recovers" {
		least = scale / 4
	}
	for scale > least {
		t += s.stepTime
		s.step++
		s.overflowed(t, scale, scale/2)
		scale /= 2
	}
	if s.spec.Ablate == "recovers" {
		how := pick(s.rng, byLimit, byCancel, finishes)
		t = s.scaled(t, 30, scale)
		s.ends(t, how)
		s.fixed(ended(how, "two overflows, as runs with 16-bit floats have them"))
		return nil
	}
	truth := Truth{World: "gradients overflow at any loss scale", Candidates: []string{"non-finite-loss"}, Action: "after-fix", ForbidMechanisms: append([]string{"time-limit", "cancelled"}, crashes...)}
	if s.frame == &deepspeed && s.rng.IntN(2) == 0 {
		exc := "Exception: Current loss scale already at minimum - cannot decrease scale anymore. Exiting run."
		d := death{at: t + ms(900), code: 1, peers: "killed"}
		for _, r := range s.ranks {
			s.python(r.id, t+ms(600)+s.jitter(ms(80)), pyTraceback(loopFrames(pyFrame{File: pyLoop, Line: 191, Func: "training_step", Code: "self.engine.step()"}), exc)...)
			d.ranks = append(d.ranks, r.id)
		}
		s.falls(d)
	} else {
		s.ends(t, pick(s.rng, byLimit, byCancel, goesOnYet))
	}
	s.fixed(truth)
	return nil
}

// nanErrors are how programs stop because of what the loss became.
var nanErrors = []string{
	"ValueError: loss is nan at step %d",
	"AssertionError: loss is not finite",
	"RuntimeError: Non-finite loss encountered at step %d: nan",
	"FloatingPointError: gradients are Nan/Inf",
	"RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
}

// playNaNRaise is a loss that becomes NaN, and a program that soon after raises because of it on one rank or on all.
func playNaNRaise(s *scene) error {
	s.withLoss()
	s.startup()
	s.step = s.rng.IntN(4000)
	t := s.steps(sec(12), 15+s.rng.IntN(20), nil)
	from := s.here()
	t = s.steps(t, 4+s.rng.IntN(3), nil)
	s.rewrite(from, noNumber)
	exc := nanErrors[s.rng.IntN(len(nanErrors))]
	if strings.Contains(exc, "%d") {
		exc = fmt.Sprintf(exc, s.step)
	}
	d := death{ranks: []int{s.anyRank()}, at: t + ms(400), code: 1, peers: s.peersMode()}
	if s.rng.IntN(2) == 0 {
		d.ranks, d.peers = make([]int, s.world), "killed"
		for i := range d.ranks {
			d.ranks[i] = i
		}
	}
	for i, r := range d.ranks {
		s.python(r, t+ms(60+7*(i%40)), pyTraceback(loopFrames(pyFrame{File: pyLoop, Line: 188, Func: "training_step", Code: "check(loss)"}), exc)...)
	}
	s.falls(d)
	s.fixed(Truth{World: "the loss became NaN, and the program stopped because of it", Candidates: []string{"non-finite-loss"}, Action: "after-fix",
		ForbidMechanisms: []string{"exception", "native-crash", "peer-lost", "cuda-error"}})
	return nil
}
