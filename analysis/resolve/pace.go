package resolve

import (
	"slices"
	"sort"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// pace answers how many steps were reported after a line: by position in its own file, by time in any.
type pace struct {
	*sight
	times []float64          // of the first report of each step, ascending
	files map[string][]int64 // offsets of the same, by file, ascending
}

// newPace reads the course of training. Frameworks report one step in several lines: those count once.
func newPace(s *sight, progress []ProgressPoint) pace {
	p := pace{sight: s, files: map[string][]int64{}}
	timed := map[int64]bool{}
	placed := map[int64]bool{} // in the file at hand: they stand in the order of files
	// Lines without a number of the step are those of one writer: ranks that print the same step side by side are not a course.
	type loop struct {
		who  line.Who
		form string
	}
	lead := loop{}
	file := ""
	var offs []int64 // in it
	for i := range progress {
		x := &progress[i]
		if x.Phase != worker.Training {
			continue
		}
		if x.File != file {
			if offs != nil {
				p.files[file] = offs
			}
			file, offs = x.File, p.files[x.File]
			clear(placed)
			lead = loop{}
		}
		if x.Step < 0 {
			l := loop{*x.Who(), x.Form}
			if lead.form == "" {
				lead = l
			}
			if l != lead {
				continue
			}
		}
		if x.Step < 0 || !placed[x.Step] {
			placed[x.Step] = true
			offs = append(offs, x.Off)
		}
		if t := s.when(x.At); t.Valid && (x.Step < 0 || !timed[x.Step]) {
			timed[x.Step] = true
			p.times = append(p.times, t.T)
		}
	}
	if offs != nil {
		p.files[file] = offs
	}
	sort.Float64s(p.times)
	for _, offs := range p.files {
		slices.Sort(offs)
	}
	return p
}

// GoesOn says that steps are reported after a line.
func (f *Facts) GoesOn(at worker.At) bool { return f.stepsAfter(at) > 0 }

// stepsAfter counts the steps that are reported after a line: below it in its own file, or later by the clock anywhere.
func (f *Facts) stepsAfter(at worker.At) int { return f.pace.stepsAfter(at) }

func (p *pace) stepsAfter(at worker.At) int {
	_, below := p.around(at)
	return max(below, p.since(p.At(at)))
}

// StepsAround counts the steps that the file of a line reports above and below it.
func (f *Facts) StepsAround(at worker.At) (above, below int) { return f.pace.around(at) }

func (p *pace) around(at worker.At) (above, below int) {
	offs := p.files[at.File]
	i := sort.Search(len(offs), func(i int) bool { return offs[i] > at.Off })
	return i, len(offs) - i
}

// clockSlack is how far clocks of two nodes may stand apart that are compared by the seconds of their lines.
const clockSlack = 2.0

// StepsSince counts the steps that are first reported after a moment, wherever their lines are stamped.
func (f *Facts) StepsSince(m Moment) int { return f.pace.since(m) }

func (p *pace) since(m Moment) int {
	if !m.Valid {
		return 0
	}
	return len(p.times) - sort.SearchFloat64s(p.times, m.T+m.Unc+clockSlack)
}

// StampedSteps is how many steps are reported with a time.
func (f *Facts) StampedSteps() int { return len(f.pace.times) }

// talked is the number of a group's collective before which its connections have proven to work: setting up takes fewer.
const talked = 32

// talkedIn says that the processes have done as many.
func talkedIn(obs *worker.Observations) bool {
	return slices.ContainsFunc(obs.Signals, func(v worker.Signal) bool { return v.Kind == worker.SignalAsync && v.N >= talked }) ||
		slices.ContainsFunc(obs.Timeouts, func(t worker.Timeout) bool { return t.Work.Seq >= talked }) ||
		slices.ContainsFunc(obs.States, func(s worker.State) bool { return s.Work >= talked })
}

// progress are the lines about steps, with their moments and ranks.
func (s *sight) progress(obs *worker.Observations) []ProgressPoint {
	out := make([]ProgressPoint, len(obs.Progress))
	for i := range obs.Progress {
		p := &obs.Progress[i]
		out[i] = ProgressPoint{p, s.At(p.At), s.rankOr(p.At)}
	}
	return out
}
