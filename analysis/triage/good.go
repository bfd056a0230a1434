package triage

import (
	"fmt"
	"math"
	"slices"

	"faultline/incident"
)

// lastGood compares the signs with the newest run of the same name that completed. How fast a job is against its own start says nothing of one
// that is slow from its first step on.
func (l *look) lastGood() {
	if l.r.History == nil || l.r.History.LastGood == nil {
		return
	}
	g := l.r.History.LastGood
	grew := slices.ContainsFunc(g.Differences, func(d incident.Difference) bool { return d.What == "world-size" })
	for i := range g.Figures {
		f := &g.Figures[i]
		k := slices.IndexFunc(l.t.Signs, func(s incident.TriageSign) bool { return s.Name == f.Name && s.Value != nil && s.Unit == f.Unit })
		if k < 0 || f.Median <= 0 || f.Name == incident.SignLoss { // a loss is of its step
			continue
		}
		s := &l.t.Signs[k]
		s.Evidence = append(s.Evidence, f.Evidence...)
		was := short(f.Median) + " " + f.Unit
		if f.Name == incident.SignStepTime {
			was = stepSeconds(f.Median)
		}
		s.Text += fmt.Sprintf("; %s in the last good run, %s", was, g.Run)
		if worse := l.worseThan(s, f); worse && !grew && s.Level == incident.TriageNone {
			s.Level = incident.TriageNote
			s.Text += ", so slow from its start"
		}
	}
}

// worseThan says that a sign of speed is clearly behind that of another run, and by more than that run's own spread.
func (l *look) worseThan(s *incident.TriageSign, f *incident.GoodFigure) bool {
	const sure = 3 // times the spread
	now, was := *s.Value, f.Median
	if math.Abs(now-was) <= sure*f.Spread {
		return false
	}
	switch s.Name {
	case incident.SignStepTime:
		return now > was*clearly
	case incident.SignThroughput:
		return now < was/clearly
	}
	return false
}
