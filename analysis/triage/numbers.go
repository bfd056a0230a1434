package triage

import (
	"fmt"

	"faultline/analysis/figures"
	"faultline/analysis/resolve"
	"faultline/analysis/robust"
	"faultline/incident"
)

// throughput says how much the job gets done, in the logs' own unit. Where a step takes several lines, another one may say it.
func (l *look) throughput() {
	courses := []*resolve.Course{l.main}
	for _, c := range l.f.Courses {
		if l.main != nil && c != l.main && c.File == l.main.File && c.Rank == l.main.Rank {
			courses = append(courses, c)
		}
	}
	for _, c := range courses {
		if r, unit := figures.Throughput(l.texts(c)); len(r) > 0 {
			l.compare(r, unit)
			return
		}
	}
	if l.main != nil {
		l.absent("throughput")
	}
}

func (l *look) compare(r []figures.Reading, unit string) {
	if len(r) > 4 {
		r = r[1:] // the first step compiles
	}
	values := make([]float64, len(r))
	for i := range r {
		values[i] = r[i].Value
	}
	now, last := robust.Median(tail(values, recent)), r[len(r)-1].At
	if len(values) < 2*recent+spare {
		l.valued(l.sign(incident.SignThroughput, incident.TriageNone, fmt.Sprintf("%s %s; too few lines to compare", short(now), unit), last), now, 0, unit)
		return
	}
	base := robust.Median(values[:recent])
	text, level := fmt.Sprintf("%s %s, %s at the start", short(now), unit, short(base)), incident.TriageNone
	if base > 0 && now < base/clearly {
		level, text = incident.TriageWarning, text+fmt.Sprintf(": down by %.0f%%", 100*(1-now/base))
		if l.slower == 0 {
			level, l.slower = incident.TriageNote, base/now
		}
	}
	l.valued(l.sign(incident.SignThroughput, level, text, last, r[0].At), now, base, unit)
}

// memoryFull is the share of a GPU's memory from which on it counts as full: the method's limit for an alarm.
const memoryFull = 95.0

// memory says how full the fullest GPU is.
func (l *look) memory() {
	var worst figures.Reading
	rank := resolve.NoRank
	for _, c := range l.f.Courses {
		for _, x := range tail(figures.Share(l.texts(c)), recent) {
			if x.Value <= 100 && (worst.At == nil || x.Value > worst.Value) {
				worst, rank = x, c.Rank
			}
		}
	}
	if worst.At == nil {
		l.absent("memory")
		return
	}
	level, text := incident.TriageNone, fmt.Sprintf("%s%% of the GPU", short(worst.Value))
	switch {
	case worst.Value >= memoryFull:
		level, text = incident.TriageCritical, text+": a slightly larger batch may not fit"
	case worst.Value >= figures.LittleLeft:
		level, text = incident.TriageWarning, text+": little headroom"
	}
	s := l.sign(incident.SignMemory, level, text, worst.At)
	if rank != resolve.NoRank {
		s.Ranks = []int{rank}
	}
	l.valued(s, worst.Value, 0, "%")
}

// texts are what the step lines of a course say.
func (l *look) texts(c *resolve.Course) []figures.Text {
	if c == nil {
		return nil
	}
	out := make([]figures.Text, len(c.Points))
	for i := range c.Points {
		at := c.Points[i].At
		out[i] = figures.Text{At: at, Line: l.said[at.Pos]}
	}
	return out
}
