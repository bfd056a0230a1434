package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// PhaseReport is one report of how long the phases of a step took.
type PhaseReport struct {
	At
	// Across says that the values are the extremes over all ranks; else they are the writer's own.
	Across bool
	Loop   int   // as of Progress
	N      int64 // its number among the reports of its file that begin with the same phase, of which only some are kept
	Times  []PhaseTime
}

// PhaseTime is one phase. Min is 0 where only the longest is printed.
type PhaseTime struct {
	Name     string
	Min, Max float64 // seconds
	// Place is the line that states it, where that is not the report's own.
	Place Pos
}

// mostPhases bounds a report.
const mostPhases = 48

// The literals of lines that report phases.
const (
	phasesAcross = " time across ranks (ms):"
	phasesOfOne  = "time (ms) | "
)

func phaseHandlers() []handler {
	return []handler{
		{"phases across ranks", []string{phasesAcross}, readPhasesAcross},
		{"phases of one rank", []string{phasesOfOne}, readPhases},
	}
}

// readPhasesAcross reads Megatron's timers with the extremes of all ranks (megatron/core/timers.py, --timing-log-option minmax or max):
//
//	(min, max) time across ranks (ms):
//	    forward-backward ...............................: (6512.33, 6530.11)
//	max time across ranks (ms):
//	    forward-backward ...............................: 6530.11
func readPhasesAcross(r *reader, rec *record) bool {
	if !bytes.HasSuffix(bytes.TrimSpace(rec.Text), []byte(phasesAcross)) {
		return false
	}
	rep := PhaseReport{At: rec.At, Across: true}
	r.follow(rec, mostPhases, func(r *reader, rec *record) verdict {
		if rec != nil {
			if t, ok := phaseLine(bytes.TrimSpace(rec.Msg)); ok && len(rep.Times) < mostPhases {
				t.Name, t.Place = r.phaseName(t.Name), rec.Pos
				rep.Times = append(rep.Times, t)
				return taken
			}
		}
		r.keepPhases(rep)
		return ended
	})
	return true
}

// phaseLine reads "forward-compute .....: (10.00, 20.00)" and "forward-compute .....: 20.00".
func phaseLine(b []byte) (t PhaseTime, ok bool) {
	name, rest, found := bytes.Cut(b, []byte(": "))
	name = bytes.TrimRight(name, " .")
	if !found || len(name) == 0 || len(name) > 64 || bytes.ContainsAny(name, " |()") {
		return t, false
	}
	t.Name = string(name)
	if pair, two := bytes.CutPrefix(rest, []byte("(")); two {
		low, high, comma := bytes.Cut(bytes.TrimSuffix(pair, []byte(")")), []byte(", "))
		lo, okLow := millis(low)
		hi, okHigh := millis(high)
		t.Min, t.Max = lo, hi
		return t, comma && okLow && okHigh && lo <= hi
	}
	t.Max, ok = millis(rest)
	return t, ok
}

// millis reads a printed time in milliseconds, and nothing behind it.
func millis(b []byte) (seconds float64, ok bool) {
	v := printed(b)
	if v == nil || len(v) != len(bytes.TrimSpace(b)) || nonFinite(v) || v[0] == '-' {
		return 0, false
	}
	return finite(v) / 1000, true
}

// readPhases reads DeepSpeed's wall_clock_breakdown (deepspeed/utils/timer.py), and timers of Megatron's fork of it:
//
//	[2024-05-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 12.41 | bwd: 37.92 | bwd_inner: 30.11 | bwd_allreduce: 7.80 | step: 4.10
func readPhases(r *reader, rec *record) bool {
	list := after(rec.Text, phasesOfOne)
	rep := PhaseReport{At: rec.At}
	for item := range bytes.SplitSeq(list[:min(len(list), 4<<10)], []byte(" | ")) {
		name, value, ok := bytes.Cut(item, []byte(": "))
		v, isTime := millis(value)
		if !ok || !isTime || len(name) == 0 || len(name) > 64 || len(rep.Times) == mostPhases {
			continue
		}
		rep.Times = append(rep.Times, PhaseTime{Name: r.phaseName(string(bytes.TrimSpace(name))), Max: v})
	}
	r.keepPhases(rep)
	return len(rep.Times) > 0
}

// meters reads the times of phases that a step line states, the size of its batch and its learning rate: "time: 0.51  data_time: 0.02",
// "Data  0.301 ( 0.280)", "fwd 310ms | bwd 620ms | allreduce 420.5 ms". Which lines of a course it is asked for is no news of theirs.
func (r *reader) meters(rec *record, text []byte, p *step) {
	does := r.does
	defer func() { r.does = does }()
	rep := PhaseReport{At: rec.At, Loop: p.Loop}
	r.learningRate(rec, p.Step, rateIn(text))
	times := p.times
	if times == nil {
		r.times = readTimings(text, true)
		times = &r.times
	}
	if last := &rec.writer.numeric; times.batch != nil && !bytes.Equal(times.batch, last.batch) {
		last.batch = append(last.batch[:0], times.batch...)
		emit(r, &r.obs.Numerics, Numeric{At: rec.At, Kind: NumericBatch, Step: line.Unknown, Value: finite(times.batch), Text: clip(times.batch)})
	}
	for _, t := range times.phases {
		rep.Times = append(rep.Times, PhaseTime{Name: r.phaseName(string(t.name)), Max: t.value})
	}
	r.keepPhases(rep)
}

// phases are the reports of one file so far.
type phases struct {
	names  map[string]string // one copy of each
	counts map[string]int64  // of reports, by their first phase
	stride int64             // one of so many is kept
	begun  uint64            // reports that a line of their own began
}

// mostReports bounds the reports that are kept of one file: a course is seen by some of its lines as well.
const mostReports = 1 << 11

// fewReports are read, all of them; later about as many of each doubling. A report that is read makes the reader take up the lines it holds back.
const fewReports = 1 << 7

// passesOver tells that a line, which mayRepeat, begins one more report of phases than a course needs. Which are read does not follow their order: reports
// of several kinds take turns.
func (r *reader) passesOver(l *scan.Line) bool {
	if slices.ContainsFunc(l.Hits, func(id uint16) bool { return !r.table.phases[id] }) {
		return false
	}
	n := r.phases.begun
	r.phases.begun++
	if n < fewReports || stir(outlineSeed, n)>>32%(n/fewReports) == 0 {
		return false
	}
	if r.names.ParseInto(&r.pre, l.Text); r.pre.Who.Host == "" {
		r.hostless++
	}
	return true
}

// rank adds one rank's value of a phase to the extremes. The slowest rank's line is the one to quote.
func (p *PhaseReport) rank(r *reader, rec *record, name string, seconds float64) {
	k := len(p.Times) - 1
	if k < 0 || p.Times[k].Name != name {
		if len(p.Times) == mostPhases {
			return
		}
		p.Times = append(p.Times, PhaseTime{Name: r.phaseName(name), Min: seconds, Max: seconds, Place: rec.Pos})
		return
	}
	t := &p.Times[k]
	t.Min = min(t.Min, seconds)
	if seconds > t.Max {
		t.Max, t.Place = seconds, rec.Pos
	}
}

func (r *reader) keepPhases(rep PhaseReport) {
	if len(rep.Times) == 0 {
		return
	}
	p := &r.phases
	if p.counts == nil {
		p.counts, p.stride = map[string]int64{}, 1
	}
	kind := rep.Times[0].Name
	rep.N = p.counts[kind]
	if len(p.counts) < mostReports {
		p.counts[kind]++
	}
	if rep.N%p.stride != 0 {
		return
	}
	emit(r, &r.obs.Phases, rep)
	for len(r.obs.Phases) >= mostReports {
		p.stride *= 2
		left := slices.DeleteFunc(r.obs.Phases, func(x PhaseReport) bool { return x.N%p.stride != 0 })
		if len(left) == len(r.obs.Phases) {
			left = left[:mostReports/2]
		}
		r.obs.Phases = left
	}
}

func (r *reader) phaseName(name string) string {
	p := &r.phases
	if p.names == nil {
		p.names = map[string]string{}
	}
	if kept, ok := p.names[name]; ok {
		return kept
	}
	if len(p.names) < mostReports {
		p.names[name] = name
	}
	return name
}
