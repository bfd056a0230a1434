package triage

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
	"faultline/incident"
)

// Limits of the time without a step, against the job's own rhythm.
const (
	lateGaps    = 10.0 // usual times between step lines
	latePause   = 3.0  // longest pauses seen
	lateLeast   = 240.0
	lateWatch   = 0.6 // of the time after which the watchdog ends the job: what proves a hang is gone then
	latePauses  = 1.5 // longest pauses seen, whatever the watchdog's time
	openPause   = 1800.0
	startLeast  = 3600.0 // to the first step
	startSilent = 1800.0 // without a line of any kind before the first step
	watchdog    = 600.0  // seconds: PyTorch's own for NCCL
)

// timeouts are the arguments that set the timeout of collectives, and how many seconds one of their unit is.
var timeouts = map[string]float64{
	"distributed_timeout_minutes": 60, "ddp_timeout": 1, "train_timeout_seconds": 1, "nccl_timeout": 1, "dist_timeout": 1, "ddp_timeout_seconds": 1,
}

// watched is the timeout of the job's collectives: by its arguments, else PyTorch's own.
func watched(f *resolve.Facts) (seconds float64, at *worker.At) {
	for i := range f.Job.Arguments {
		a := &f.Job.Arguments[i]
		name := strings.ReplaceAll(strings.TrimLeft(a.Name[strings.LastIndexByte(a.Name, '.')+1:], "-"), "-", "_")
		unit, ok := timeouts[name]
		if v, err := strconv.ParseFloat(a.Value, 64); ok && err == nil && v > 0 {
			return v * unit, &a.At
		}
	}
	return watchdog, nil
}

// waiting says whether the next step is overdue, and how long until the watchdog ends the job.
func (l *look) waiting() {
	l.stall.watch, l.stall.watchAt = watched(l.f)
	switch l.t.State {
	case incident.StateStarting:
		l.starting()
		return
	case incident.StateRunning:
	default:
		return
	}
	p, usual, longest := l.stepping()
	ago, ok := l.clock.least(p.T, p.At.File)
	if !ok || usual == 0 {
		return
	}
	l.stall.since = ago
	late := max(latePauses*longest, min(max(lateGaps*usual, latePause*longest, lateLeast), lateWatch*l.stall.watch))
	long := max(late, lateWatch*l.stall.watch)
	if pause := l.pause(p); pause.at != nil {
		if since, timed := l.clock.least(l.f.At(*pause.at), pause.at.File); timed { // else it began behind the last step: no earlier
			ago = since
		}
		if ago <= max(latePauses*longest, openPause) {
			l.pausing(pause, p, usual, longest)
			return
		}
		late, long = 0, max(latePause*longest, 2*openPause)
	}
	held := len(l.silent) > 0 && ago > max(voiceGaps*usual, latePauses*longest, voiceLeast)
	if ago > late || held {
		l.overdue(p, usual, longest, ago > long || held)
	}
}

// pausing notes what the job does instead of steps.
func (l *look) pausing(x pause, p *resolve.Point, usual, longest float64) {
	if l.stall.since > max(latePauses*usual, voiceLeast) {
		l.t.State = incident.StatePausing
		l.sign(incident.SignWaiting, incident.TriageNone, fmt.Sprintf("%s: no step for %s, longest pause before %s", x.what, span(l.stall.since), span(longest)), x.at, p.At)
	}
}

// overdue notes that the next step should be there.
func (l *look) overdue(p *resolve.Point, usual, longest float64, long bool) {
	level := incident.TriageWarning
	l.stall.late, l.t.State = true, incident.StateLate
	if long {
		l.t.State, level = incident.StateStalled, incident.TriageCritical
	}
	text := fmt.Sprintf("no step for %s; until then there was one every %s, at most %s apart", span(l.stall.since), span(math.Ceil(usual)), span(math.Ceil(longest)))
	l.valued(l.sign(incident.SignWaiting, level, text, p.At), l.stall.since, usual, "s")
	l.watchdog()
}

// watchdog says when the job will be ended, and the evidence with it.
func (l *look) watchdog() {
	s := &l.t.Signs[len(l.t.Signs)-1]
	whose := "if its collectives use PyTorch's default timeout of 10 min"
	if l.stall.watchAt != nil {
		whose = "by its timeout of " + span(l.stall.watch)
		e := incident.Quote(l.stall.watchAt.File, l.stall.watchAt.Line, l.stall.watchAt.Off, "", nil)
		e.Span = l.stall.watchAt.Len
		s.Evidence = append(s.Evidence, e)
	}
	if left := l.stall.watch - l.stall.since; left > 0 {
		s.Text += fmt.Sprintf(". The watchdog will end it in about %s, %s", span(left), whose)
	}
}

// stepping is the newest step line and the rhythm of its course; where lines have no times, that of the times they print.
func (l *look) stepping() (p *resolve.Point, usual, longest float64) {
	s := l.f.Stepping()
	if s.Last != nil && s.Usual > 0 {
		return s.Last, s.Usual, s.Longest
	}
	p = l.last()
	stride := 1.0
	if n := len(l.main.Points); n > 1 && p.Step >= 0 {
		if d := p.Step - l.main.Points[n-2].Step; d > 0 {
			stride = float64(d)
		}
	}
	if everyLine(l.main) {
		usual = robust.Median(tail(secondsOf(l.main.Timed()), recent)) * stride
	}
	return p, usual, usual
}

// pause explains the time without a step: the newest line of a save, of an evaluation or of work that takes long.
type pause struct {
	at   *worker.At // nil where nothing does
	what string
}

// doings are what processes do that takes long, as the screen calls it.
var doings = map[string]string{worker.DoingEval: "evaluating", worker.DoingWork: "busy with something other than steps"}

// pause finds what began behind the last step.
func (l *look) pause(last *resolve.Point) (newest pause) {
	note := func(a *worker.At, m resolve.Moment, word string) {
		if word != "" && behind(a, m, last) && (newest.at == nil || l.f.At(*newest.at).T <= m.T) {
			newest = pause{a, word}
		}
	}
	for i := range l.f.Progress {
		if p := &l.f.Progress[i]; p.Phase == worker.Evaluation {
			note(&p.At, p.T, doings[worker.DoingEval])
		}
	}
	for i := range l.f.Did {
		note(&l.f.Did[i].At, l.f.Did[i].T, doings[l.f.Did[i].Kind])
	}
	for i := range l.f.Saves {
		if s := &l.f.Saves[i]; s.Kind == worker.SaveStart || s.Kind == worker.Scheduled {
			note(&s.At, l.f.At(s.At), "saving")
		}
	}
	return newest
}

// behind says that a line was written after a step: below it in its file, or later by the clock.
func behind(a *worker.At, m resolve.Moment, last *resolve.Point) bool {
	if a.File == last.At.File {
		return a.Off > last.At.Off
	}
	return m.Valid && last.T.Valid && m.T >= last.T.T
}

// starting judges a job without a step: loading, compiling and building an index may take long, and print nothing.
func (l *look) starting() {
	age := 0.0 // where no line tells since when it runs, its silence still counts
	if i := slices.IndexFunc(l.t.Signs, func(s incident.TriageSign) bool { return s.Name == incident.SignAge }); i >= 0 && l.t.Signs[i].Value != nil {
		age = *l.t.Signs[i].Value
	}
	quiet := math.Inf(1)
	var last []*worker.At // of a file whose lines have no times there is none to quote
	for k := range l.f.Tails {
		t := &l.f.Tails[k]
		if ago, ok := l.clock.least(l.f.At(t.Last), t.File); ok && ago < quiet {
			quiet, last = ago, nil
			if t.Last.Len > 0 && t.Last.Line != line.Unknown {
				last = []*worker.At{&t.Last}
			}
		}
	}
	if math.IsInf(quiet, 1) {
		return
	}
	switch {
	case quiet > startSilent:
		l.stall.late = true
		l.sign(incident.SignWaiting, incident.TriageWarning, fmt.Sprintf("no step yet, and no line for %s", span(quiet)), last...)
	case age > startLeast:
		l.sign(incident.SignWaiting, incident.TriageNote, fmt.Sprintf("no step yet after %s; the last line is %s old", span(age), span(quiet)), last...)
	}
}
