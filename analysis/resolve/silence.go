package resolve

import (
	"math"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
	"faultline/incident"
)

// Silence is the time without a reported step before the scheduler ended the job.
type Silence struct {
	Last    *Point  // the last step line
	Usual   float64 // median time between two step lines
	Longest float64 // longest time between two step lines
	For     float64 // at least so long, seconds
	Printed float64 // so long by the clocks as they are printed, of which nothing says that they are in one zone
	End     *End
	// Alive is a later line of the job's processes that is no step: the log was alive, the training was not.
	Alive *worker.At
	// Saving is a save that began behind the last step and was not seen to end.
	Saving *worker.Checkpoint
	Worked float64 // seconds from the first step line to the last
	// Of a Hush, whose lines are of any kind, the least that counts, and how long lines may have stood in a buffer that was lost when
	// the program was killed.
	hush, buffered float64
}

// Limits of a silence: it must be out of all proportion to the pauses that this very run is seen to make.
const (
	silentGaps  = 10.0 // usual times between step lines
	silentPause = 3.0  // longest pauses seen
	silentLeast = 240.0
	silentSave  = 1800.0 // while a save is under way: nobody knows what it takes
	knownGaps   = 5      // gaps that make a usual one
	briefLeast  = 30.0   // of a run that was short itself
	briefShare  = 2.0    // so many times as long it must have worked for that
)

// Silence finds whether the job had stopped making progress long before the scheduler ended it. That needs times on the
// step lines, a usual time between them, and an end whose time can be compared with theirs.
func (f *Facts) Silence() (s Silence, ok bool) {
	s = f.lastStep()
	if s.Last == nil || s.Usual == 0 || f.Coverage.torn(s.Last.At.File) {
		return s, false
	}
	if s.End = f.ended(); s.End == nil || f.laterProgress(s.Last) {
		return s, false
	}
	s.For, s.Printed = f.since(s.Last, s.End), max(s.End.T.T-s.Last.T.T, 0)
	s.Alive = f.aliveAfter(s.Last, s.End)
	if f.evaluates(s.Alive) {
		s.For -= max(f.At(*s.Alive).T-s.Last.T.T, 0)
	}
	s.Saving = f.openSave(s.Last)
	return s, s.For >= s.least()
}

// ended is the first time that the scheduler ended the job, or a step of it; nil where none is known.
func (f *Facts) ended() (first *End) {
	for _, e := range f.Ends {
		if e.Line.Kind == worker.EndCancelled && e.T.Valid && (first == nil || e.T.T < first.T.T) {
			first = e
		}
	}
	return first
}

// Hush finds whether a job of whose steps nothing is known said nothing of any kind for long before the scheduler ended it, where it had
// said something all the time. The silence is open where the two clocks may be in different zones: then only Doubtful holds.
func (f *Facts) Hush() (s Silence, ok bool) {
	if x := f.lastStep(); x.Last != nil && x.Usual > 0 || f.Run != f.Runs-1 || f.Job.ExitOK != nil {
		return s, false
	}
	for i := range f.Progress {
		if !f.Progress[i].T.Valid {
			return s, false // when it made progress is not known
		}
	}
	var tail *worker.Tail
	for i := range f.Tails {
		t := &f.Tails[i]
		if f.Coverage.torn(t.File) {
			return s, false
		}
		r := t.Rhythm
		if r == nil || t.Lines-r.Line > hushEnd {
			if t.Lines > hushEnd {
				return s, false // nobody knows when this file was written last
			}
			continue
		}
		if m := f.At(r.At); m.Valid && (s.Last == nil || m.T > s.Last.T.T) {
			tail, s.Last = t, &Point{At: &r.At, T: m, Step: line.Unknown}
		}
	}
	if s.Last == nil {
		return s, false
	}
	if s.End = f.ended(); s.End == nil {
		return s, false
	}
	rhythm, first := tail.Rhythm, f.At(tail.First)
	s.Usual, s.Longest = rhythm.Usual, rhythm.Longest
	s.buffered = hushBuffer * rhythm.Span / float64(max(rhythm.Bytes, 1))
	s.hush = max(hushLeast, hushPause*s.Longest, 2*s.buffered)
	s.For, s.Printed = f.since(s.Last, s.End), max(s.End.T.T-s.Last.T.T, 0)
	if !first.Valid || hushShare*(s.Last.T.T-first.T) < s.Printed {
		return Silence{}, false // it had hardly begun: perhaps it says little once it works
	}
	return s, s.For >= s.least()
}

// Worked says that the logs show the job at work: steps, saves, or lines of one kind that came again and again.
func (f *Facts) Worked() bool {
	return len(f.Progress) > 0 || len(f.Saves) > 0 || f.Job.ExitOK != nil ||
		slices.ContainsFunc(f.Tails, func(t worker.Tail) bool { return t.Rhythm != nil })
}

// Unheard says that it is known when the scheduler ended the job, and that no line of the job's own processes tells that they worked shortly
// before: one that stands above such an end, or whose time is before it. Shortly is an hour, and no longer than they had been heard until then:
// a job that said something for a minute and then nothing for most of an hour shows nothing of that hour. What they print when they are ended
// tells nothing of it either. Where clocks seem to be of two zones, nobody can say.
func (f *Facts) Unheard() bool {
	const (
		ending = 5.0  // seconds that the lines of an ending may take
		span   = 60.0 // and that many lines of it do not
	)
	end := f.ended()
	if end == nil || f.Job.ExitOK != nil {
		return false
	}
	first := end.T.T
	for i := range f.Tails {
		if m := f.At(f.Tails[i].First); m.Valid && f.Tails[i].First.Stamp.Emitter != line.Slurm {
			first = min(first, m.T)
		}
	}
	timed := !slices.ContainsFunc(f.Progress, f.goesOn) // else nobody knows when it was heard last
	shortly := func(m Moment) bool {
		limit := hour
		if heard := m.T - first; timed && heard > 0 { // one time alone tells nothing of how long it was heard
			limit = min(limit, max(heard, silentLeast))
		}
		return m.Valid && end.T.T-m.T < limit
	}
	ahead := func(at worker.At) (float64, bool) { // how long before the end
		m := f.At(at)
		return end.T.T - m.T, at.Stamp.Emitter != line.Slurm && shortly(m)
	}
	near := func(at worker.At) bool {
		d, ok := ahead(at)
		return ok && (d > ending || d < -clockZone)
	}
	for _, e := range f.Ends {
		if a := e.Line.Above; a != nil && e.Line.Kind == end.Line.Kind {
			if _, ok := ahead(*a); ok {
				return false
			}
		}
	}
	for i := range f.Tails {
		t := &f.Tails[i]
		if near(t.Last) || slices.ContainsFunc(t.Writers, func(w worker.WriterSpan) bool { return near(w.At(t.File, w.Last)) }) {
			return false
		}
		if r := t.Rhythm; r != nil && r.Span > span && r.Longest < hour/2 {
			if _, ok := ahead(r.At); ok {
				return false
			}
		}
	}
	for i := range f.Obs.Facts {
		if x := &f.Obs.Facts[i]; x.Key == "python_start" {
			at := x.At
			at.Stamp, _ = line.ParseStamp([]byte(x.Value))
			if at.Stamp.Emitter = line.Container; near(at) {
				return false
			}
		}
	}
	return !slices.ContainsFunc(f.Courses, func(c *Course) bool {
		n := len(c.Points)
		return n > 0 && shortly(c.Points[n-1].T)
	})
}

// goesOn says that a step was reported without a time, well below the last line of its file that states one.
func (f *Facts) goesOn(p ProgressPoint) bool {
	const near = 3 // lines, of one message
	return !p.T.Valid && slices.ContainsFunc(f.Tails, func(t worker.Tail) bool { return t.File == p.At.File && t.Last.Line+near < p.At.Line })
}

// clockZone is how much a job's lines must be ahead of SLURM's for their clocks to be those of two zones.
const clockZone = 600.0 // seconds

// Limits of a hush. Lines of which nobody knows what they mean prove less than steps do.
const (
	hushEnd    = 8       // lines without a time at the end of a file: what SLURM and launchers say of an end
	hushPause  = 10.0    // longest pauses seen
	hushLeast  = 1800.0  // seconds
	hushBuffer = 8 << 10 // bytes, as C and Python take for a file
	hushShare  = 4.0     // of what went before
)

// lastStep is the newest step line of all courses, and the rhythm of its course.
func (f *Facts) lastStep() (s Silence) {
	for _, c := range f.Courses {
		n := len(c.Points)
		if n == 0 || !c.Points[n-1].T.Valid {
			continue
		}
		if s.Last == nil || c.Points[n-1].T.T > s.Last.T.T {
			s.Last = &c.Points[n-1]
			s.Usual, s.Longest = c.Rhythm()
			s.Worked = 0
			if first := c.Points[0].T; first.Valid {
				s.Worked = s.Last.T.T - first.T
			}
		}
	}
	return s
}

// Stepping is the newest step line of the run with a time, the rhythm of its course, and the save that began behind it. How long ago that
// is, only somebody with a clock can say.
func (f *Facts) Stepping() (s Silence) {
	if s = f.lastStep(); s.Last != nil {
		s.Saving = f.openSave(s.Last)
	}
	return s
}

// Standstill finds whether a job whose end is not known had stopped making progress while its processes still wrote. Only their own
// stamps count: that the files end proves nothing.
func (f *Facts) Standstill() (s Silence, ok bool) {
	s = f.lastStep()
	if s.Last == nil || s.Usual == 0 || len(f.Ends) > 0 || f.Coverage.torn(s.Last.At.File) || f.laterProgress(s.Last) {
		return s, false
	}
	if s.Alive = f.aliveAfter(s.Last, nil); s.Alive == nil || f.evaluates(s.Alive) {
		return s, false
	}
	s.For = f.At(*s.Alive).T - s.Last.T.T
	s.Saving = f.openSave(s.Last)
	return s, s.For >= s.least()
}

// Doubtful says that the silence counts only if the two clocks are in one zone.
func (s *Silence) Doubtful() bool {
	return s.Last != nil && s.End != nil && s.For < s.least() && s.Printed >= s.least()
}

// Short says that the job was silent for a while before the end in whatever zones the clocks are, too short to count; sure, that no
// buffer explains it.
func (s *Silence) Short() (short, sure bool) {
	const slack = 60 // clocks, and what an ending takes
	return s.For > 2*s.Longest+slack, s.For > 2*max(s.Longest, s.buffered)+slack
}

// Brief says that a silence too short to count is out of proportion all the same: a run that was cut after a minute had stood still
// for a large part of it.
func (s *Silence) Brief() bool {
	return s.Last != nil && s.End != nil && s.Usual > 0 && s.For >= s.leastOf(briefLeast) && s.For*briefShare >= s.Worked && s.For < s.least()
}

// InSave says that the silence would count if no save were under way, of which nobody knows what it takes.
func (s *Silence) InSave() bool {
	return s.Last != nil && s.End != nil && s.Saving != nil && s.For < s.least() && s.For >= s.leastOf(silentLeast)
}

// least is how long a silence must be to count.
func (s *Silence) least() float64 {
	if s.Saving != nil {
		return s.leastOf(silentSave)
	}
	return s.leastOf(silentLeast)
}

func (s *Silence) leastOf(least float64) float64 {
	least = max(least, s.hush)
	return max(silentGaps*s.Usual, silentPause*s.Longest, least)
}

// evaluates says that a line of the job's processes is about an evaluation, whose steps are none of the training.
func (f *Facts) evaluates(at *worker.At) bool {
	return at != nil && slices.ContainsFunc(f.Did, func(d Did) bool { return d.Kind == worker.DoingEval && d.Pos == at.Pos })
}

// openSave is the last save that began behind a step and was not seen to end. Of saves in other files only those count
// that begin later by the clock.
func (f *Facts) openSave(last *Point) (open *worker.Checkpoint) {
	for i := range f.Saves {
		c := &f.Saves[i]
		if c.Above(last.At.Pos) || c.File != last.At.File && !last.T.Before(f.At(c.At)) {
			continue
		}
		switch c.Kind {
		case worker.SaveStart, worker.Scheduled:
			open = c
		case worker.SaveDone, worker.SaveOver:
			open = nil
		}
	}
	return open
}

// Rhythm is the median and the longest time between two step lines, 0 where too few are known. Of many lines only some
// are kept: what lies between them is shared out, and a pause shows in what is left over.
func (c *Course) Rhythm() (usual, longest float64) {
	var gaps []float64
	for i := 1; i < len(c.Points); i++ {
		if p := &c.Points[i]; p.Gap > 0 {
			gaps = append(gaps, p.Gap/float64(max(p.Lines, 1)))
		}
	}
	if len(gaps) < knownGaps {
		return 0, 0
	}
	usual = robust.Median(gaps)
	// Stamps of whole seconds make the median one, too: over a thousand lines that adds up to what looks like a pause.
	sum, n := 0.0, 0
	for _, g := range gaps {
		if g <= 2*usual {
			sum, n = sum+g, n+1
		}
	}
	mean := sum / float64(n)
	const drift = 0.05 // of a stretch of which no line was looked at: its steps may have been a little slower
	for i := 1; i < len(c.Points); i++ {
		if p := &c.Points[i]; p.Gap > 0 {
			left := p.Gap
			if p.Lines > 1 {
				left -= mean*float64(p.Lines-1) + drift*p.Gap
			}
			longest = max(longest, left)
		}
	}
	return usual, longest
}

// laterProgress says that somewhere a progress line without a time stands behind the last one that has a time: then when
// progress ended is not known.
func (f *Facts) laterProgress(last *Point) bool {
	for i := range f.Progress {
		p := &f.Progress[i]
		if p.T.Valid || p.Form == "generic" && p.Step == line.Unknown {
			continue
		}
		if p.File != last.At.File || p.Off > last.At.Off+int64(last.At.Len) {
			return true
		}
	}
	return false
}

// hour and quarter: between containers and SLURM lie whole quarters of an hour, and no zone but UTC's own is less than an
// hour away from UTC.
const hour, quarter = 3600.0, 900.0

// since is how long before the end the last step was, at least. SLURM prints the node's local time and containers often
// UTC: what may be the distance of two zones is not counted, unless lines of the job itself, near the end, tell.
func (f *Facts) since(last *Point, end *End) float64 {
	sure := 0.0
	if a := f.aliveAfter(last, nil); a != nil {
		sure = f.At(*a).T - last.T.T
	}
	delta := max(end.T.T-last.T.T, 0)
	const slack = 60 // clocks
	if delta >= hour-slack && !f.comparable(*last.At, end.Line.At) {
		delta = max(math.Mod(delta+slack, quarter)-slack, 0)
	}
	return max(delta, sure)
}

// comparable says that SLURM's clock at one line is compared with the container's clock at another: SLURM's with its own
// node's containers, and those of the two nodes with each other.
func (f *Facts) comparable(job, slurm worker.At) bool {
	if _, ok := f.clock.offsets[clockKey{f.ident.nodeOf(slurm), line.Slurm}]; !ok {
		return false
	}
	a, b := f.clockNode(job), f.clockNode(slurm)
	_, knowA := f.clock.offsets[clockKey{a, line.Container}]
	_, knowB := f.clock.offsets[clockKey{b, line.Container}]
	return a == b || knowA && knowB
}

// aliveAfter is the last stamped line of the job's own processes behind a step, clearly before the end where one is given.
func (f *Facts) aliveAfter(last *Point, end *End) *worker.At {
	var best *worker.At
	var when Moment
	note := func(at worker.At) {
		m := f.At(at)
		if f.clockNode(at) != f.clockNode(*last.At) {
			return // containers of different nodes may run in different zones
		}
		if at.Stamp.Emitter != line.Container || !m.Valid || m.T <= last.T.T+1 || end != nil && m.T > end.T.T-30 {
			return
		}
		if best == nil || m.T > when.T {
			best, when = &at, m
		}
	}
	for i := range f.Tails {
		note(f.Tails[i].Last)
		for k := range f.Tails[i].Writers {
			w := &f.Tails[i].Writers[k]
			note(w.At(f.Tails[i].File, w.Last))
		}
	}
	return best
}

// torn says that a file lost lines, or does not end with the end of a line: then its last step need not be the last.
func (c *Coverage) torn(name string) bool {
	return slices.ContainsFunc(c.Cut, func(x incident.CutFile) bool { return x.File == name })
}
