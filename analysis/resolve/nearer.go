package resolve

import (
	"math"
	"slices"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// Nearer adds to the course of a slowdown the lines on either side of where it began, out of those between Prior and Onset. It reports false
// where they tell nothing new.
func (f *Facts) Nearer(d *Slowdown, between []worker.Progress) bool {
	own := slices.DeleteFunc(slices.Clone(between), func(p worker.Progress) bool {
		return p.Form != d.Onset.Form || p.Phase != worker.Training || p.Off <= d.Prior.At.Off || p.Off >= d.Onset.At.Off || *p.Who() != *d.Onset.At.Who()
	})
	obs := &worker.Observations{Progress: own}
	courses := coursesOf(f.sight.progress(obs), f.Job.WorldSize, obs)
	i := slices.IndexFunc(courses, func(c *Course) bool { return c.Loop == d.Course.Loop })
	if i < 0 {
		return false
	}
	ps := slices.DeleteFunc(courses[i].Timed(), func(p *Point) bool { return p.Step == line.Unknown || p.Step <= d.Prior.Step || p.Step >= d.Onset.Step })
	if len(ps) == 0 {
		return false
	}
	k := crossed(ps, d)
	for _, p := range ps[max(0, k-aside):min(len(ps), k+aside)] {
		p.Stretch, p.N = d.Onset.Stretch, d.Prior.N
		d.Course.Points = append(d.Course.Points, *p)
	}
	d.Course.again()
	return true
}

// aside is how many lines are added on either side.
const aside = 3

// crossed is the first of the points that is nearer to the new time, as the smoothed values tell: a single slow step is none.
func crossed(ps []*Point, d *Slowdown) int {
	x := make([]float64, len(ps))
	for i, p := range ps {
		x[i] = math.Log(p.Seconds)
	}
	mid := (math.Log(d.Base) + math.Log(d.Now)) / 2
	k := slices.IndexFunc(smooth(x), func(v float64) bool { return v > mid })
	if k < 0 {
		return len(ps)
	}
	return edgeAt(x, k, mid)
}
