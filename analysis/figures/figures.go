// Package figures sums up what the step lines of a run tell: step time, throughput, memory and loss, so that another run of the job can be
// compared with it. It reads the numbers that lines print besides step and loss; the table of the forms is here.
package figures

import (
	"cmp"
	"math"

	"faultline/analysis/resolve"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
	"faultline/incident"
)

// Window is how many of the first and of the last step lines make "at its start" and "now": medians of both are compared.
const Window = 10

// sample is how many step lines are read for what they print besides step and loss.
const sample = 120

// least is how many values a figure needs.
const least = 3

// Main is the course of training that tells most: of those that count steps the longest, the first of several; nil where no step is printed.
func Main(f *resolve.Facts) *resolve.Course {
	return cmp.Or(f.Longest(func(p *resolve.Point) bool { return p.Step >= 0 }), f.Longest(func(*resolve.Point) bool { return true }))
}

// Wanted are the lines whose text Of needs: step lines at even distances.
func Wanted(f *resolve.Facts) []worker.At {
	points := sampled(Main(f))
	out := make([]worker.At, len(points))
	for i, p := range points {
		out[i] = *p.At
	}
	return out
}

// sampled are the points of a course at even distances, of its last stretch: before it the batch was another, or the run was.
func sampled(c *resolve.Course) []*resolve.Point {
	if c == nil {
		return nil
	}
	from := len(c.Points)
	for from > 0 && c.Points[from-1].Stretch == c.Points[len(c.Points)-1].Stretch {
		from--
	}
	points := c.Points[from:]
	step := max(1, (len(points)+sample-1)/sample)
	var out []*resolve.Point
	for i := 0; i < len(points); i += step {
		out = append(out, &points[i])
	}
	return out
}

// Of sums a run up. said is the text of the lines that are Wanted.
func Of(f *resolve.Facts, said map[worker.Pos]string) []incident.Figure {
	var out []incident.Figure
	add := func(name, unit string, r []Reading) {
		if len(r) >= least {
			out = append(out, sum(name, unit, r))
		}
	}
	if c := f.Longest(func(p *resolve.Point) bool { return p.Seconds > 0 }); c != nil {
		if r := stepTimes(c); len(r) >= least {
			x := sum(incident.SignStepTime, "s", r)
			if s, slowed := c.Slowdown(); slowed {
				x.First, x.Last = round(s.Base), round(s.Now)
			}
			out = append(out, x)
		}
	}
	texts := make([]Text, 0, sample)
	for _, p := range sampled(Main(f)) {
		texts = append(texts, Text{p.At, said[p.At.Pos]})
	}
	r, unit := Throughput(texts)
	add(incident.SignThroughput, unit, warmed(r))
	r, unit = Memory(texts)
	add(incident.SignMemory, unit, r)
	if c := f.Longest(func(p *resolve.Point) bool { return p.Loss.Known }); c != nil {
		var r []Reading
		for _, p := range c.Losses() {
			if p.Loss.Finite {
				r = append(r, Reading{p.Loss.Value, p.At})
			}
		}
		add(incident.SignLoss, "", r)
	}
	return out
}

// stepTimes are the times of steps of a course, without its first lines: the first steps compile, allocate and fill caches.
func stepTimes(c *resolve.Course) []Reading {
	var out []Reading
	for _, p := range c.Timed() {
		out = append(out, Reading{p.Seconds, p.At})
	}
	return warmed(out)
}

func warmed(r []Reading) []Reading {
	const warm = 2
	if len(r) > 4*warm {
		return r[warm:]
	}
	return r
}

func sum(name, unit string, r []Reading) incident.Figure {
	values := make([]float64, len(r))
	for i := range r {
		values[i] = r[i].Value
	}
	w := min(Window, len(values))
	m := robust.Median(values)
	last := r[len(r)-1].At
	return incident.Figure{Name: name, Unit: unit, N: len(values), Median: round(m), Spread: round(robust.Spread(values, m)),
		First: round(robust.Median(values[:w])), Last: round(robust.Median(values[len(values)-w:])), File: last.File, Line: last.Line}
}

// round keeps six digits: more than any line prints.
func round(v float64) float64 {
	if v == 0 || math.IsInf(v, 0) || math.IsNaN(v) {
		return 0
	}
	scale := math.Pow(10, 6-math.Ceil(math.Log10(math.Abs(v))))
	if math.IsInf(scale, 0) || scale == 0 {
		return v
	}
	return math.Round(v*scale) / scale
}
