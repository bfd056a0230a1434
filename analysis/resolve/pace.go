package resolve

import (
	"slices"
	"sort"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// pace answers how many steps were reported after a line: by position in its own file, by time in any.
type pace struct {
	times []float64          // of the first report of each step, ascending
	files map[string][]int64 // offsets of the same, by file, ascending
}

// newPace reads the course of training. Frameworks report one step in several lines: those count once.
func newPace(f *Facts) *pace {
	p := &pace{files: map[string][]int64{}}
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
	for i := range f.Progress {
		x := &f.Progress[i]
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
		if t := f.when(x.At); t.Valid && (x.Step < 0 || !timed[x.Step]) {
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
func (f *Facts) stepsAfter(at worker.At) int {
	f.paced()
	offs := f.pace.files[at.File]
	n := len(offs) - sort.Search(len(offs), func(i int) bool { return offs[i] > at.Off })
	return max(n, f.StepsSince(f.At(at)))
}

// StepsAround counts the steps that the file of a line reports above and below it.
func (f *Facts) StepsAround(at worker.At) (above, below int) {
	f.paced()
	offs := f.pace.files[at.File]
	i := sort.Search(len(offs), func(i int) bool { return offs[i] > at.Off })
	return i, len(offs) - i
}

// clockSlack is how far clocks of two nodes may stand apart that are compared by the seconds of their lines.
const clockSlack = 2.0

// StepsSince counts the steps that are first reported after a moment, wherever their lines are stamped.
func (f *Facts) StepsSince(m Moment) int {
	if !m.Valid {
		return 0
	}
	f.paced()
	return len(f.pace.times) - sort.SearchFloat64s(f.pace.times, m.T+m.Unc+clockSlack)
}

func (f *Facts) paced() {
	if f.pace == nil {
		f.pace = newPace(f)
	}
}

// StampedSteps is how many steps are reported with a time.
func (f *Facts) StampedSteps() int {
	f.paced()
	return len(f.pace.times)
}
