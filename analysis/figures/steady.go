package figures

import (
	"slices"

	"faultline/analysis/resolve"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
)

// sides is how many lines on each side of a slowdown are asked what the job gets done in a second.
const sides = 12

// keeps is what share of the earlier throughput is no loss.
const keeps = 0.93

// Around are step lines on both sides of the slowdown of each course.
func Around(f *resolve.Facts) (out []worker.At) {
	for _, c := range f.Courses {
		before, since := around(c)
		for _, p := range slices.Concat(before, since) {
			out = append(out, *p.At)
		}
	}
	return out
}

func around(c *resolve.Course) (before, since []*resolve.Point) {
	d, ok := c.Slowdown()
	if !ok || d.Gradual {
		return nil, nil
	}
	for _, p := range c.Timed() {
		switch {
		case p.At.Off < d.Onset.At.Off:
			before = append(before, p)
		case p.At.Off > d.Onset.At.Off:
			since = append(since, p)
		}
	}
	return before[max(0, len(before)-sides):], since[:min(len(since), sides)]
}

// Dismiss takes back the slowdowns since which the job gets as much done in a second as before: its steps hold more. said is the text of the
// lines that are Around.
func Dismiss(f *resolve.Facts, said map[worker.Pos]string) {
	for _, c := range f.Courses {
		before, since := around(c)
		was, unit := throughput(before, said)
		is, same := throughput(since, said)
		if min(len(was), len(is)) >= least && unit == same && measured(was) && measured(is) && robust.Median(values(is)) >= keeps*robust.Median(values(was)) {
			c.Dismiss()
		}
	}
}

// measured says that readings vary, as what is measured does: a constant is set by somebody.
func measured(r []Reading) bool {
	return slices.ContainsFunc(r, func(x Reading) bool { return x.Value != r[0].Value })
}

func throughput(points []*resolve.Point, said map[worker.Pos]string) ([]Reading, string) {
	var lines []Text
	for _, p := range points {
		lines = append(lines, Text{p.At, said[p.At.Pos]})
	}
	return Throughput(lines)
}

func values(r []Reading) []float64 {
	out := make([]float64, len(r))
	for i := range r {
		out[i] = r[i].Value
	}
	return out
}
