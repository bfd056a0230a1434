package diagnose

import (
	"fmt"
	"math"
	"strings"

	"faultline/analysis/correlate"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// clocks tells which clocks show another time than the report: a person who looks into a log of theirs finds its lines at that time.
func (b *builder) clocks() {
	for _, c := range b.s.Facts.ShiftedClocks() {
		s := incident.ClockShift{Of: incident.ClockPrograms, Nodes: orEmpty(c.Nodes), Files: orEmpty(c.Files), Shift: c.Shift, Uncertainty: c.Unc, Evidence: []incident.Evidence{mechanism.QuoteAt(*c.Own, nil)}}
		if c.Ref != nil {
			s.Evidence = append(s.Evidence, mechanism.QuoteAt(*c.Ref, nil))
		}
		where := several(append(orEmpty(c.Nodes), c.Files...), "node")
		s.Statement = shifted("the programs' clock on "+where, c.Shift, "that of the other nodes", c.Unc)
		if c.By == line.Slurm {
			s.Of = incident.ClockScheduler
			s.Statement = shifted(strings.TrimSuffix("SLURM's clock on "+where, " on "), c.Shift, "the programs'", c.Unc)
		}
		b.r.Clocks = append(b.r.Clocks, s)
	}
	a := b.s.Storage
	if a == nil || !a.Clock.Known() || a.Clock.Shift == 0 {
		return
	}
	s := incident.ClockShift{Of: incident.ClockStorage, Nodes: []string{}, Files: []string{}, Shift: a.Clock.Shift, Uncertainty: a.Clock.Unc, Evidence: []incident.Evidence{},
		Statement: shifted("the storage daemons' clock", a.Clock.Shift, "the job's", a.Clock.Unc)}
	for _, f := range a.Clock.Basis[:min(len(a.Clock.Basis), 1)] {
		s.Evidence = append(s.Evidence, f.Evidence...)
	}
	b.r.Clocks = append(b.r.Clocks, s)
}

func shifted(whose string, shift float64, than string, unc float64) string {
	return fmt.Sprintf("%s is %s %s, within %.0f s", whose, correlate.OffsetWords(-shift), than, math.Ceil(unc))
}

// ownTime is what the programs' clock on an event's node shows, nil where that is no other time than the report gives.
func (b *builder) ownTime(t resolve.Moment, node string) *string {
	return b.s.Facts.Format(b.s.Facts.OwnTime(t, node, line.Container))
}

// since is from when on to look into what a node keeps: by the report's time, and by the node's own clock where that shows another. SLURM's
// daemon stamps the node's local time, as its kernel's tools do; a container may keep another.
func (b *builder) since(node string) string {
	when := b.whenCaused()
	at := hourOf(b.s.Facts.Format(when))
	if at == "" {
		return ""
	}
	for _, by := range []line.Emitter{line.Slurm, line.Container} {
		if own := hourOf(b.s.Facts.Format(b.s.Facts.OwnTime(when, node, by))); own != "" {
			return fmt.Sprintf("%s (%s by the clock of %s)", at, own, node)
		}
	}
	if shift, one := b.s.Facts.SchedulersShift(); one {
		return fmt.Sprintf("%s (%s by SLURM's clock)", at, hourOf(b.s.Facts.Format(when.Add(-shift))))
	}
	return at
}

// hourOf is the time of day of a moment, "" where there is none.
func hourOf(when *string) string {
	if when == nil {
		return ""
	}
	return clockOf(when)[:len("15:04")]
}

// clockOf is the time of day of a moment as the report writes it.
func clockOf(when *string) string {
	_, clock, _ := strings.Cut(*when, "T")
	return clock
}
