package triage

import (
	"fmt"
	"math"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
	"faultline/incident"
)

// spare is how many lines a course must have besides both windows before its start is told from now.
const spare = 2

// step says how far the job is, and when it will be done.
func (l *look) step() {
	p := l.last()
	if p == nil {
		if l.t.State == incident.StateRunning {
			l.t.State = incident.StateStarting
		}
		l.absent("steps")
		return
	}
	l.pace = l.paceOf()
	ago, timed := l.clock.ago(p.T, p.At)
	var text string
	total := l.main.Total
	if total <= 0 && l.f.Job.StepsToCome >= p.Step {
		total = l.f.Job.StepsToCome
	}
	switch {
	case p.Step == line.Unknown:
		text = fmt.Sprintf("%s progress lines, no step number", grouped(p.N))
	case total > 0:
		text = fmt.Sprintf("%s of %s, %.0f%%", grouped(p.Step), grouped(total), math.Floor(100*float64(p.Step)/float64(total)))
	default:
		text = grouped(p.Step)
		l.absent("the number of remaining steps")
	}
	if timed {
		text += ", " + span(ago) + " ago"
	}
	if left := total - p.Step; total > 0 && left > 0 && p.Step >= 0 && l.pace > 0 {
		text += "; about " + span(float64(left)*l.pace) + " left at this pace"
	}
	s := l.sign(incident.SignStep, incident.TriageNone, text, p.At)
	if p.Step >= 0 {
		l.valued(s, float64(p.Step), 0, "step")
	}
}

// stretch are the points of the last stretch of a course: before it the run or the batch was another.
func stretch(c *resolve.Course) []resolve.Point {
	ps := c.Points
	from := len(ps)
	for from > 0 && ps[from-1].Stretch == ps[len(ps)-1].Stretch {
		from--
	}
	return ps[from:]
}

// paceOf is how long a step takes now, with its part of the pauses that the job has made until now.
func (l *look) paceOf() float64 {
	ps := stretch(l.main)
	if now := worked(tail(ps, 4*recent)); now.steps > 0 {
		all := worked(ps)
		return now.pace() + all.paused/float64(all.steps+all.pauses)
	}
	if !everyLine(l.main) {
		return 0
	}
	return robust.Median(tail(secondsOf(l.main.Timed()), recent))
}

// work is how much points of a course tell of steps and of pauses between them.
type work struct {
	steps, pauses   int64 // steps that are timed, and those that a pause is part of
	seconds, paused float64
	points          int // until both were enough
}

func (w *work) pace() float64 { return w.seconds / float64(w.steps) }

// worked adds up how long the steps of points took, and how much longer those with a pause. An unusual gap is a pause, whatever lies in it.
func worked(ps []resolve.Point) (w work) { return workedFor(ps, 0, math.Inf(1)) }

// workedFor ends where so many points span so many seconds of work.
func workedFor(ps []resolve.Point, points int, seconds float64) (w work) {
	const pause = 5 // usual gaps: what no line announces
	var gaps []float64
	for i := range ps {
		if ps[i].Gap > 0 {
			gaps = append(gaps, ps[i].Gap)
		}
	}
	usual := robust.Median(gaps)
	for i := 1; i < len(ps); i++ {
		a, b := &ps[i-1], &ps[i]
		steps := b.Step - a.Step
		if steps > 0 && a.Step >= 0 && a.T.Valid && b.T.Valid && b.T.T >= a.T.T {
			if gap := b.T.T - a.T.T; gap < pause*usual+1 && !b.Paused {
				w.steps, w.seconds = w.steps+steps, w.seconds+gap
			} else {
				w.pauses, w.paused = w.pauses+steps, w.paused+gap
			}
		}
		if w.points = i + 1; w.points >= points && w.seconds >= seconds {
			break
		}
	}
	if w.steps > 0 {
		w.paused = max(0, w.paused-float64(w.pauses)*w.pace())
	}
	return w
}

func secondsOf(ps []*resolve.Point) []float64 {
	out := make([]float64, len(ps))
	for i, p := range ps {
		out[i] = p.Seconds
	}
	return out
}

// loss says whether the job learns.
func (l *look) loss() {
	c := l.f.Longest(func(p *resolve.Point) bool { return p.Loss.Known })
	if c == nil {
		l.absent("loss")
		return
	}
	b, broken := c.Broken()
	if l.broken = broken; broken {
		text := "NaN or infinite since " + at(b.First)
		if b.Good != nil {
			text += "; last good at " + at(b.Good)
		}
		l.sign(incident.SignLoss, incident.TriageCritical, text, b.First.At)
		return
	}
	ps := c.Losses()
	last := ps[len(ps)-1]
	if from, _, left := c.Left(); left {
		l.valued(l.sign(incident.SignLoss, incident.TriageWarning, fmt.Sprintf("rising: %s, from %s at %s", last.Loss.Printed, from.Loss.Printed, at(from)), last.At, from.At),
			last.Loss.Value, from.Loss.Value, "loss")
		return
	}
	if d, rises := c.Divergence(); rises {
		l.valued(l.sign(incident.SignLoss, incident.TriageWarning, fmt.Sprintf("rising since %s: %s, from %s", at(d.Onset), last.Loss.Printed, short(d.Low)), last.At, d.LowAt.At),
			last.Loss.Value, d.Low, "loss")
		return
	}
	if p, flat := c.Plateau(); flat {
		l.valued(l.sign(incident.SignLoss, incident.TriageNote, fmt.Sprintf("flat: mean %s, and %s in the %d lines before", short(p.Is), short(p.Was), p.N), p.Last.At, p.Middle.At),
			p.Is, p.Was, "loss")
		return
	}
	l.trend(ps)
}

// leastLosses are needed to tell a trend from noise.
const leastLosses = 6

// trend compares the last third of the losses with the first.
func (l *look) trend(ps []*resolve.Point) {
	last := ps[len(ps)-1]
	values := make([]float64, 0, len(ps))
	for _, p := range ps {
		if p.Loss.Finite {
			values = append(values, p.Loss.Value)
		}
	}
	if len(values) < leastLosses {
		l.valued(l.sign(incident.SignLoss, incident.TriageNone, fmt.Sprintf("%s; too few values for a trend", last.Loss.Printed), last.At), last.Loss.Value, 0, "loss")
		return
	}
	w := len(values) / 3
	first, now := values[:w], tail(values, w)
	was, is := mean(first), mean(now)
	noise := 2 * math.Sqrt((variance(first, was)+variance(now, is))/float64(w))
	word, level := "falling", incident.TriageNone
	switch {
	case is >= was-noise && is <= was+noise:
		word = "no trend beyond noise"
	case is > was:
		word, level = "rising", incident.TriageWarning
	}
	l.valued(l.sign(incident.SignLoss, level, fmt.Sprintf("%s: %s now, %s at the start", word, short(is), short(was)), last.At, ps[0].At), is, was, "loss")
}

func variance(v []float64, m float64) float64 {
	sum := 0.0
	for _, x := range v {
		sum += (x - m) * (x - m)
	}
	return sum / float64(max(len(v)-1, 1))
}

// stepTime says whether the job is as fast as it was at its own start.
func (l *look) stepTime() {
	c := l.f.Longest(func(p *resolve.Point) bool { return p.Seconds > 0 })
	if c == nil || !everyLine(c) {
		if l.main != nil && !l.byClock() {
			l.absent("step times")
		}
		return
	}
	ps := settled(c.Timed())
	if len(ps) == 0 {
		return
	}
	all := secondsOf(ps)
	now := robust.Median(tail(all, recent))
	last, first := ps[len(ps)-1], ps[0]
	s, slowed := c.Slowdown()
	switch {
	case slowed:
		l.slower = s.Ratio()
		level := incident.TriageWarning
		if s.Weak {
			level = incident.TriageNote
		}
		text := fmt.Sprintf("up: %s, %s at the start; ×%.2f since %s", stepSeconds(s.Now), stepSeconds(s.Base), s.Ratio(), at(s.Onset))
		l.valued(l.sign(incident.SignStepTime, level, text, s.NowAt.At, s.Onset.At, s.BaseAt.At), s.Now, s.Base, "s")
		return
	case len(ps) < 2*recent+spare:
		l.valued(l.sign(incident.SignStepTime, incident.TriageNone, fmt.Sprintf("%s; too few lines to compare", stepSeconds(now)), last.At), now, 0, "s")
		return
	}
	base := robust.Median(all[:recent])
	text := fmt.Sprintf("stable: %s, %s at the start", stepSeconds(now), stepSeconds(base))
	if now < base/clearly {
		text = fmt.Sprintf("down: %s, %s at the start", stepSeconds(now), stepSeconds(base))
	}
	level := incident.TriageNone
	if now > base*clearly {
		text, level = fmt.Sprintf("up in the last %d lines: %s, %s at the start, but not for long yet", recent, stepSeconds(now), stepSeconds(base)), incident.TriageNote
	}
	l.valued(l.sign(incident.SignStepTime, level, text, last.At, first.At), now, base, "s")
}

// everyLine says that most lines of a course tell the time of a step. Of those with times of whole seconds only pauses may do.
func everyLine(c *resolve.Course) bool {
	n := 0
	ps := stretch(c)
	for i := range ps {
		if i == 0 || ps[i].Step < 0 || ps[i].Step != ps[i-1].Step { // a step may be told in several lines
			n++
		}
	}
	return 2*len(c.Timed()) >= n
}

// exact is how many seconds a window must span for stamps of whole seconds to tell a step's time from it.
const exact = 20.0

// byClock compares the step times of the first and the last lines by the lines' own times, pauses left out, where no single line tells
// its own. It says whether there was something to compare.
func (l *look) byClock() bool {
	ps := stretch(l.main)
	ps = ps[min(1, len(ps)):] // the first step compiles
	half := len(ps) / 2
	base, n := windowed(ps[:half])
	now, m := 0.0, 0
	for k := n; n > 0 && m == 0 && k <= 2*n && k <= len(ps)-half; k++ {
		now, m = windowed(ps[len(ps)-k:])
	}
	if m == 0 {
		return false
	}
	word, level := "stable", incident.TriageNone
	switch {
	case now > base*clearly:
		word, level, l.slower = "up", incident.TriageWarning, now/base
	case now < base/clearly:
		word = "down"
	}
	l.valued(l.sign(incident.SignStepTime, level, fmt.Sprintf("%s: %s, %s at the start, from line timestamps", word, stepSeconds(now), stepSeconds(base)),
		ps[len(ps)-1].At, ps[0].At), now, base, "s")
	return true
}

// windowed is the time of a step over the first points that span long enough, and how many these are; 0 where none do.
func windowed(ps []resolve.Point) (seconds float64, n int) {
	w := workedFor(ps, 2*recent, exact)
	if w.steps == 0 || w.points < 2*recent || w.seconds < exact {
		return 0, 0
	}
	return w.pace(), w.points
}

// settled leaves out the first lines of a course: the first steps compile, allocate and fill caches.
func settled(ps []*resolve.Point) []*resolve.Point {
	const warm = 2
	if len(ps) > 4*warm {
		return ps[warm:]
	}
	return ps
}

// at names the place of a step line.
func at(p *resolve.Point) string {
	if p.Step >= 0 {
		return "step " + grouped(p.Step)
	}
	return fmt.Sprintf("line %d", p.At.Line)
}

// save names the last save that was seen to end, and what would be lost if the job died now.
func (l *look) save() {
	done, begun := l.saves()
	switch {
	case done == nil && begun != nil:
		l.sign(incident.SignSave, incident.TriageNone, "started; its end is not in these logs", &begun.At)
		return
	case done == nil:
		l.absent("saves")
		return
	}
	ago, timed := l.clock.ago(l.written(done.At), &done.At)
	step := done.Step
	if step < 0 {
		step = l.above(done.At)
	}
	text, level := "done", incident.TriageNone
	if step >= 0 {
		text = "step " + grouped(step)
	}
	switch {
	case timed && l.f.At(done.At).Valid:
		text = join(text, span(ago)+" ago")
	case timed: // the line above has a time, its own has none
		text = join(text, "at most "+span(ago)+" ago")
	}
	if p := l.last(); p != nil && step >= 0 && p.Step > step {
		text = join(text, count(int(p.Step-step), "step")+" would be lost"+l.hours(ago))
	}
	const slack = 300.0 // seconds: saves take their time
	if usual, stride := l.between(); timed && usual > 0 && ago > 2*usual+slack && l.due(step, stride) {
		level, text = incident.TriageWarning, join(text, "one expected every "+span(usual))
	}
	l.valued(l.sign(incident.SignSave, level, text, &done.At), ago, 0, "s")
}

// saves are the last save that was seen to end, and the last that was begun; nil where there is none.
func (l *look) saves() (done, begun *worker.Checkpoint) {
	var when resolve.Moment
	for i := range l.f.Saves {
		c := &l.f.Saves[i]
		switch c.Kind {
		case worker.SaveStart, worker.Scheduled:
			begun = c
		case worker.SaveDone, worker.SaveOver:
			m := l.written(c.At)
			if done == nil || m.Valid && m.T >= when.T || c.Step > done.Step {
				done, when = c, m
			}
		}
	}
	return done, begun
}

// hours are the GPU hours of so many seconds, in brackets, where they are known and not nothing.
func (l *look) hours(seconds float64) string {
	if n := seconds / 3600 * float64(l.gpus()); n >= 0.1 {
		return fmt.Sprintf(" (about %.1f GPU hours)", n)
	}
	return ""
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + ", " + b
}

// above is the step that was reported last above a line in its file; −1 where none was.
func (l *look) above(at worker.At) int64 {
	step := int64(-1)
	if l.main == nil || l.main.File != at.File {
		return step
	}
	for i := range l.main.Points {
		if p := &l.main.Points[i]; p.At.Off < at.Off {
			step = p.Step
		}
	}
	return step
}

// written is when a line was written: by its own time, else not before that of the line above.
func (l *look) written(at worker.At) resolve.Moment {
	if m := l.f.At(at); m.Valid {
		return m
	}
	return l.f.NotBefore(at)
}

// between is the usual time between two saves that ended, and how many steps lie there; 0 where too few are known.
func (l *look) between() (seconds float64, steps int64) {
	const fewest = 3
	var gaps, strides []float64
	var before resolve.Moment
	last := int64(-1)
	for i := range l.f.Saves {
		c := &l.f.Saves[i]
		m := l.written(c.At)
		if c.Kind != worker.SaveDone || !m.Valid {
			continue
		}
		step := c.Step
		if step < 0 {
			step = l.above(c.At)
		}
		if before.Valid && m.T > before.T+1 {
			gaps = append(gaps, m.T-before.T)
			if last >= 0 && step > last {
				strides = append(strides, float64(step-last))
			}
		}
		before, last = m, step
	}
	if len(gaps) < fewest {
		return 0, 0
	}
	return robust.Median(gaps), int64(robust.Median(strides))
}

// due says that the next save should be there by the steps since the last one: a job that evaluates for long saves no later for that.
func (l *look) due(saved, stride int64) bool {
	p := l.last()
	return p == nil || p.Step < 0 || saved < 0 || stride == 0 || p.Step-saved > 2*stride
}
