package resolve

import (
	"math"
	"slices"
	"strings"

	"faultline/analysis/robust"
	"faultline/analysis/slow"
	"faultline/analysis/worker"
	"faultline/incident"
)

// Preceding is an earlier run of the job, by its own logs, with what its step lines sum up to and what this run's do.
type Preceding struct {
	*Facts
	Was, Is []incident.Figure
	// Otherwise are lines before the first step that say something else than the earlier run's.
	Otherwise []Otherwise
	// Oftener is a kind of line that this run prints again and again, and the earlier run did not; nil where there is none.
	Oftener *Oftener
}

// Otherwise is what this run prints before its first step where the earlier run printed something else.
type Otherwise struct {
	Is, Was     string
	IsAt, WasAt worker.At
	Files       []string // of this run that hold it
	// Numbers: the two lines differ in numbers alone. Without Was, only this run prints it.
	Numbers bool
}

// OnlyNode is the node that alone prints it, where other nodes print as much; "" where that is not so.
func (f *Facts) OnlyNode(o *Otherwise) string {
	if len(o.Files) != 1 || f.NCCL == nil {
		return ""
	}
	node, others := "", 0
	for _, l := range f.NCCL.Logs {
		for _, p := range l.Procs {
			switch {
			case l.File == o.Files[0]:
				node = ShortHost(p.Host)
			case ShortHost(p.Host) != node:
				others++
			}
		}
	}
	if others == 0 {
		return ""
	}
	return node
}

// Falloff is by how much this run is slower than the earlier one from its first step on.
type Falloff struct {
	Name, Unit string
	Was, Is    float64
	Faster     bool // the larger value is the faster one
	WasAt      worker.At
	IsAt       worker.At
}

// Waste is the share of the time that is lost.
func (x *Falloff) Waste() float64 {
	if x.Faster {
		return 1 - x.Is/x.Was
	}
	return 1 - x.Was/x.Is
}

// paces are the figures by which runs are compared, the surest first: what is done in a second does not change with the batch.
var paces = []struct {
	name   string
	faster bool
}{{incident.SignThroughput, true}, {incident.SignStepTime, false}}

// falloffSigmas is how far beyond the noise of both runs this one must be slower.
const falloffSigmas = 4

// Falloff compares this run with the earlier one. ok is false where it is not slower, or nothing is printed by both.
func (f *Facts) Falloff() (x Falloff, ok bool) {
	if f.Preceding == nil {
		return x, false
	}
	for _, p := range paces {
		was, is := figure(f.Preceding.Was, p.name), figure(f.Preceding.Is, p.name)
		if was == nil || is == nil || was.Unit != is.Unit || was.Median <= 0 || is.Median <= 0 {
			continue
		}
		x = Falloff{Name: p.name, Unit: was.Unit, Was: was.Median, Is: is.Median, Faster: p.faster}
		wasAt, ok1 := f.Preceding.pointAt(was)
		isAt, ok2 := f.pointAt(is)
		x.WasAt, x.IsAt = wasAt, isAt
		if !p.faster && f.moreWork() {
			return x, false
		}
		noise := max(was.Spread, is.Spread)
		if ok1 && ok2 && 1/(1-x.Waste()) >= slowRatio && math.Abs(x.Is-x.Was) >= falloffSigmas*noise {
			return x, true
		}
		break
	}
	return f.onAverage()
}

// onAverage is Falloff where most steps take what they took, and many take far longer: their mean tells, and no median.
func (f *Facts) onAverage() (x Falloff, ok bool) {
	timed := func(p *Point) bool { return p.Seconds > 0 }
	is, was := f.Longest(timed), f.Preceding.Longest(timed)
	if is == nil || was == nil || f.moreWork() || min(len(is.Timed()), len(was.Timed())) < gradualPoints {
		return x, false
	}
	usual := medianStep(was)
	a, before, _ := longSteps(was, usual)
	b, since, at := longSteps(is, usual)
	x = Falloff{Name: incident.SignStepTime, Unit: "s on average", Was: a, Is: b}
	if at == nil || since < longShare || since < longTimes*before || b < slowRatio*a {
		return x, false
	}
	x.IsAt, x.WasAt = *at.At, *closest(was.Timed(), usual).At
	return x, true
}

// Limits of steps that are long again and again.
const (
	longRatio = 1.3  // of the earlier run's usual time
	longShare = 0.05 // of the lines, at least
	longTimes = 2    // as many as in the earlier run
)

// longSteps is the mean time of a step, the share of lines that are far above the usual time, and the last of them.
func longSteps(c *Course, usual float64) (mean, share float64, last *Point) {
	ps, _ := c.paced()
	for _, p := range ps {
		mean += p.Seconds / float64(len(ps))
		if p.Seconds > longRatio*usual {
			share, last = share+1/float64(len(ps)), p
		}
	}
	return mean, share, last
}

// moreWork says that a step of this run holds other work than one of the earlier run: its time alone shows nothing then.
func (f *Facts) moreWork() bool {
	return slices.ContainsFunc(f.Changed(), func(a string) bool { return strings.Contains(a, "batch") || strings.Contains(a, "seq") })
}

func figure(list []incident.Figure, name string) *incident.Figure {
	i := slices.IndexFunc(list, func(x incident.Figure) bool { return x.Name == name })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// pointAt is the line that a figure ends with.
func (f *Facts) pointAt(x *incident.Figure) (worker.At, bool) {
	for _, c := range f.Courses {
		for i := range c.Points {
			if at := c.Points[i].At; at.File == x.File && at.Line == x.Line {
				return *at, true
			}
		}
	}
	return worker.At{}, false
}

// LateSince is Late against the earlier run: the same processes are compared, by their ranks.
func (f *Facts) LateSince() (l Late, ok bool) {
	all := f.voicesSince()
	if len(all) < leastRanks {
		return l, false
	}
	return f.lateAmong(all)
}

// GrownSince says which part of a step takes longer than in the earlier run, by the phases that both print.
func (f *Facts) GrownSince() (slow.Growth, *Voice) {
	all := f.voicesSince()
	if len(all) == 0 {
		return slow.Growth{}, nil
	}
	v := &all[0]
	return slow.Decide(v.Phases, v.Slowed.Base, v.Slowed.Now, false), v
}

// voicesSince are the processes that print the phases of their steps in both runs.
func (f *Facts) voicesSince() (all []Voice) {
	if f.Preceding == nil {
		return nil
	}
	for _, c := range f.Courses {
		v, first := f.voice(c, all)
		old := f.Preceding.like(c)
		if old == nil || !first || len(c.Timed()) < leastReports || len(old.Timed()) < leastReports {
			continue
		}
		v.Slowed = Slowdown{Course: c, Base: medianStep(old), Now: medianStep(c)}
		if v.Phases, v.Quotes = comparedPhases(f.Preceding.phasesOf(old), f.phasesOf(c)); len(v.Phases) > 0 {
			all = append(all, v)
		}
	}
	return all
}

// like is the course of the same process in another run; nil where it is not known which that is.
func (f *Facts) like(c *Course) *Course {
	var found *Course
	for _, o := range f.Courses {
		if o.Form != c.Form || o.Rank != c.Rank {
			continue
		}
		if found != nil && c.Rank == NoRank {
			return nil
		}
		if found == nil {
			found = o
		}
	}
	return found
}

func medianStep(c *Course) float64 {
	var v []float64
	for _, p := range c.Timed() {
		v = append(v, p.Seconds)
	}
	return robust.Median(v)
}
