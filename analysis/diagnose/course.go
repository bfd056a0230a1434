package diagnose

import (
	"fmt"
	"math"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// What the picture of a course holds.
const (
	coursePoints = 60
	courseLeast  = 8    // fewer lines show nothing
	courseShare  = 0.10 // of the time between step lines: from here on saves and evaluations are worth a remark
)

// course draws the course that shows most of what the report speaks of.
func (b *builder) course() {
	c, marks := b.told()
	if c == nil {
		c = b.s.Facts.Longest(func(p *resolve.Point) bool { return p.Seconds > 0 || p.Loss.Known })
	}
	if c == nil || len(c.Points) < courseLeast {
		return
	}
	if m, ok := b.paused(c); ok {
		marks = append(marks, m)
	}
	out := &incident.Course{File: c.File, Points: []incident.CoursePoint{}, Marks: marks}
	if out.Marks == nil {
		out.Marks = []incident.CourseMark{}
	}
	wanted := map[int64]bool{}
	for _, m := range marks {
		wanted[m.Line] = true
	}
	n := len(c.Points)
	for i := range c.Points {
		if n > coursePoints && i != n-1 && i*coursePoints/n == (i-1)*coursePoints/n && i > 0 && !wanted[c.Points[i].At.Line] {
			continue
		}
		out.Points = append(out.Points, coursePoint(&c.Points[i]))
	}
	b.r.Course = out
}

func coursePoint(p *resolve.Point) incident.CoursePoint {
	out := incident.CoursePoint{Line: p.At.Line, Broken: p.BadNorm || p.Loss.Known && !p.Loss.Finite}
	if p.Step != line.Unknown {
		out.Step = new(p.Step)
	}
	if p.Loss.Known && p.Loss.Finite && !(p.BadNorm && p.Loss.Value == 0) { // Trainer prints 0.0 for a loss that is none
		out.Loss = new(p.Loss.Value)
	}
	if p.Seconds > 0 {
		out.StepSeconds = new(math.Round(p.Seconds*1e4) / 1e4)
	}
	return out
}

// told is the course in which something happened, with what happened.
func (b *builder) told() (c *resolve.Course, marks []incident.CourseMark) {
	f := b.s.Facts
	mark := func(p *resolve.Point, text string, with ...*resolve.Point) {
		m := incident.CourseMark{Line: p.At.Line, Text: text + b.at(p), Evidence: []incident.Evidence{mechanism.QuoteAt(*p.At, nil)}}
		for _, x := range with {
			m.Evidence = append(m.Evidence, mechanism.QuoteAt(*x.At, nil))
		}
		marks = append(marks, m)
	}
	for _, x := range f.Courses {
		if br, ok := x.Broken(); ok && br.N > 1 && (c == nil || c == x) {
			c = x
			mark(br.First, "loss or gradient is not a number")
		}
	}
	for _, x := range f.Courses {
		if d, ok := x.Slowdown(); ok && (!d.Weak || knowledge.Slug(b.r.Verdict.Mechanism).Is(knowledge.OfPace)) && (c == nil || c == x) {
			c = x
			mark(d.Onset, fmt.Sprintf("step time %s → %s (×%.2f)", mechanism.Seconds(d.Base), mechanism.Seconds(d.Now), d.Ratio()), d.BaseAt)
		}
		if from, last, ok := x.Left(); ok && (c == nil || c == x) {
			c = x
			mark(from, fmt.Sprintf("loss %s → %s", from.Loss.Printed, last.Loss.Printed), last)
		}
	}
	return c, marks
}

// at is " from step 12400 on, at 02:47:09", as far as it is known.
func (b *builder) at(p *resolve.Point) string {
	s := ""
	if p.Step != line.Unknown {
		s = fmt.Sprintf(" from step %d on", p.Step)
	}
	if t := b.s.Facts.Format(p.T); t != nil && len(*t) >= 8 {
		s += ", at " + (*t)[len(*t)-8:]
	}
	return s
}

// paused says what saves and evaluations took, where that is much of the time between step lines. It is no fault of the
// run, but hours of a large job.
func (b *builder) paused(c *resolve.Course) (incident.CourseMark, bool) {
	p, ok := c.Paused()
	if !ok || p.Share < courseShare {
		return incident.CourseMark{}, false
	}
	return incident.CourseMark{Line: p.Longest.At.Line, Evidence: []incident.Evidence{mechanism.QuoteAt(*p.Longest.At, nil)},
		Text: fmt.Sprintf("%s for saves or evaluations take up %.0f%% of the time between step lines; the longest, before this line, took %s",
			plural(p.N, "pause", "pauses"), 100*p.Share, mechanism.Seconds(p.Most))}, true
}
