package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/correlate"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// clocks tells which clocks show another time than the report: a person who looks into a log of theirs finds its lines at that time.
func (b *builder) clocks() {
	add := func(of, whose, than string, on []string, shift, unc float64, ev []incident.Evidence) {
		b.r.Clocks = append(b.r.Clocks, incident.ClockShift{Of: of, On: orEmpty(on), Shift: shift, Uncertainty: unc, Evidence: ev,
			Statement: fmt.Sprintf("%s is %s %s, within %.0f s%s", whose, correlate.OffsetWords(-shift), than, math.Ceil(unc), zoneWords(shift, unc))})
	}
	for _, c := range b.s.Facts.ShiftedClocks() {
		ev, where := []incident.Evidence{mechanism.QuoteAt(*c.Own, nil)}, several(c.On, "node")
		if c.Ref != nil {
			ev = append(ev, mechanism.QuoteAt(*c.Ref, nil))
		}
		if c.By == line.Slurm {
			add(incident.ClockScheduler, strings.TrimSuffix("SLURM's clock on "+where, " on "), "the programs'", c.On, c.Shift, c.Unc, ev)
		} else {
			add(incident.ClockPrograms, "the programs' clock on "+where, "that of the other nodes", c.On, c.Shift, c.Unc, ev)
		}
	}
	if a := b.s.Storage; a != nil && a.Clock.Known() && a.Clock.Shift != 0 {
		ev := []incident.Evidence{}
		for _, f := range a.Clock.Basis[:min(len(a.Clock.Basis), 1)] {
			ev = append(ev, f.Evidence...)
		}
		add(incident.ClockStorage, "the storage daemons' clock", "the job's", nil, a.Clock.Shift, a.Clock.Unc, ev)
	}
}

// zoneWords says that a shift is one of time zones, which lie quarters of an hour apart; "" where it is not, and the clock is wrong.
func zoneWords(shift, unc float64) string {
	const quarter = 900
	n := math.Round(shift / quarter)
	if n == 0 || math.Abs(shift-n*quarter) > max(unc, 1) {
		return ""
	}
	return ": most likely another time zone"
}

// shiftOf is by how much a clock on a node is behind the report's, 0 where it is not.
func (b *builder) shiftOf(of, node string) float64 {
	for _, c := range b.r.Clocks {
		if c.Of == of && slices.Contains(c.On, node) {
			return c.Shift
		}
	}
	return 0
}

// ownTime is what the programs' clock on an event's node shows, nil where that is no other time than the report gives.
func (b *builder) ownTime(t resolve.Moment, node string) *string {
	if shift := b.shiftOf(incident.ClockPrograms, node); shift != 0 {
		return b.s.Facts.Format(t.Add(-shift))
	}
	return nil
}

// since is from when on to look into what a node keeps: by the report's time, and by the node's own clock where that shows another. SLURM's
// daemon stamps the node's local time, as its kernel's tools do; a container may keep another.
func (b *builder) since(node string) string {
	when := b.whenCaused()
	at := hourOf(b.s.Facts.Format(when))
	shift, whose := b.shiftOf(incident.ClockScheduler, node), "the clock of its log"
	if shift == 0 {
		shift = b.shiftOf(incident.ClockPrograms, node)
	}
	if i := slices.IndexFunc(b.r.Clocks, func(c incident.ClockShift) bool { return c.Of == incident.ClockScheduler }); shift == 0 && i >= 0 {
		shift, whose = b.r.Clocks[i].Shift, "SLURM's clock"
	}
	if at == "" || shift == 0 {
		return at
	}
	return fmt.Sprintf("%s (%s by %s)", at, hourOf(b.s.Facts.Format(when.Add(-shift))), whose)
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
