package resolve

import (
	"math"
	"slices"
	"strings"

	"faultline/analysis/artifact/accounting"
	"faultline/analysis/line"
	"faultline/analysis/robust"
	"faultline/analysis/slow"
	"faultline/analysis/worker"
)

// Episodes are times in which the steps of a course took longer, and after which they did not.
type Episodes struct {
	Course    *Course
	Base, Now float64 // medians of a step's time outside and inside, in seconds
	Share     float64 // of the course's time that they cost
	List      []Episode
	Normal    *Point
}

// Episode is one of them, by its first and last slow line.
type Episode struct{ From, To *Point }

// Limits of episodes. One alone is a pause, unless it is long: several of the same height are something that comes and goes.
const (
	leastEpisodes = 2
	longEpisode   = 20 // lines of one alone
	episodeLines  = 5
	episodeRatio  = 1.3
	episodeCost   = 0.03
	episodeMost   = 0.6 // share of the lines: what is slow for most of the time is the rule
)

// Episodes finds them.
func (c *Course) Episodes() (e Episodes, ok bool) {
	ps, x := c.paced()
	if len(ps) < gradualPoints {
		return e, false
	}
	y := smooth(x)
	base := robust.Median(y)
	least := math.Log(episodeRatio)
	var in, out []float64
	from := -1
	for i := 0; i <= len(y); i++ {
		high := i < len(y) && y[i]-base > least
		switch {
		case high && from < 0:
			from = i
		case !high && from >= 0:
			if i-from >= episodeLines && i < len(y) { // else it goes on at the end
				e.List = append(e.List, Episode{ps[from], ps[i-1]})
				in = append(in, x[from:i]...)
			}
			from = -1
		}
		if i < len(y) && !high {
			out = append(out, x[i])
		}
	}
	if len(e.List) < leastEpisodes && len(in) < longEpisode || float64(len(in)) > episodeMost*float64(len(x)) {
		return e, false
	}
	base, now := robust.Median(out), robust.Median(in)
	total, lost := 0.0, 0.0
	for _, v := range x {
		total += math.Exp(v)
	}
	for _, v := range in {
		lost += math.Exp(v) - math.Exp(base)
	}
	e.Course, e.Base, e.Now, e.Share, e.Normal = c, math.Exp(base), math.Exp(now), lost/total, closest(ps, math.Exp(base))
	apart := now-base > slowSigmas*max(robust.Spread(in, now), robust.Spread(out, base), noiseFloor)
	return e, apart && e.Share >= episodeCost
}

// within says that a place lies in one of them.
func (e *Episodes) within(off int64) bool {
	return slices.ContainsFunc(e.List, func(x Episode) bool { return off >= x.From.At.Off && off <= x.To.At.Off })
}

// GrownIn is what part of a step takes longer in episodes.
func (f *Facts) GrownIn(e *Episodes) slow.Growth {
	sides := f.sided(e.Course, func(r *worker.PhaseReport) int { return sideOf(e.within(r.Off)) })
	list, _ := comparedPhases(sides[0], sides[1])
	return slow.Decide(list, e.Base, e.Now, false)
}

// episodeSlack is how far the ends of a job may lie from those of an episode, in seconds.
const episodeSlack = 300

// Meanwhile is the one job, or array of jobs, in the accounting that ran in each episode and in no other time; nil where there is none, or several.
func (f *Facts) Meanwhile(e *Episodes) (ran []*accounting.Record) {
	if f.book == nil {
		return nil
	}
	by := map[string][]*accounting.Record{}
	for _, r := range f.book.Records {
		if name, _, _ := strings.Cut(r.Job, "_"); r.Step == "" {
			by[name] = append(by[name], r)
		}
	}
	for _, list := range by {
		if !fillsEach(list, e) {
			continue
		}
		if ran != nil {
			return nil
		}
		ran = list
	}
	return ran
}

// fillsEach says that each of the jobs ran in one of the episodes, and in each episode one of them.
func fillsEach(list []*accounting.Record, e *Episodes) bool {
	filled := map[int]bool{}
	for _, r := range list {
		i := slices.IndexFunc(e.List, func(x Episode) bool {
			return near(r.Start, x.From.At.Stamp) && near(r.End, x.To.At.Stamp)
		})
		if i < 0 {
			return false
		}
		filled[i] = true
	}
	return len(filled) == len(e.List)
}

// near compares two times of day: logs may state no date.
func near(a, b line.Stamp) bool {
	if a.Kind == line.NoStamp || b.Kind == line.NoStamp || a.Kind == line.Epoch || b.Kind == line.Epoch {
		return false
	}
	of := func(s line.Stamp) int { return int(s.Hour)*3600 + int(s.Minute)*60 + int(s.Second) }
	d := of(a) - of(b)
	return d <= episodeSlack && d >= -episodeSlack
}
