package correlate

import (
	"fmt"
	"math"
	"time"

	"faultline/analysis/aislog"
	"faultline/analysis/line"
	"faultline/incident"
)

// sign is a distance that something else than names speaks for.
type sign struct {
	quarters int
	unc      float64
	sure     bool
	assumed  bool // the zone of one side is what it usually is; nobody states it
	basis    incident.Finding
}

// byZone compares the zones that both sides state: daemons by their hourly marker, of whose abbreviations only that of UTC
// means one zone, the job by stamps with an offset.
func (x *inquiry) byZone() (sign, bool) {
	if x.Facts.JobZone != nil {
		return x.byStatement()
	}
	utc := false
	var marks []incident.Evidence
	for i, d := range x.daemons {
		if d.Zone == "" {
			continue
		}
		if d.Zone != "UTC" && d.Zone != "GMT" || x.clock.rel[i].shift != 0 {
			return sign{}, false
		}
		utc = true
	}
	if !utc {
		return sign{}, false
	}
	minutes, known := 0, false
	for _, t := range x.Facts.Tails {
		s := t.Last.Stamp
		if s.Kind != line.Zoned {
			if s.Kind != line.NoStamp && s.Emitter == line.Container {
				return sign{}, false // lines without a zone, which may be in another
			}
			continue
		}
		if known && int(s.ZoneOffset) != minutes {
			return sign{}, false
		}
		if minutes, known = int(s.ZoneOffset), true; len(marks) < 1 {
			e := incident.Quote(t.Last.File, t.Last.Line, t.Last.Off, "", nil)
			e.Span = t.Last.Len
			marks = append(marks, e)
		}
	}
	if !known { // their clock is UTC's; the job's may be told by the time in an address that they sent it to
		if by, proof, ok := x.stated(); ok {
			return sign{quarters: by / 15, unc: 5, sure: true, basis: finding("the daemons state that their time zone is UTC, and a redirect address they gave the job shows the same moment in UTC", proof)}, true
		}
	}
	if !known || minutes%15 != 0 {
		return sign{}, false
	}
	return sign{quarters: minutes / 15, unc: 30, basis: finding("both sides state their time zone", marks...)}, true
}

// byStatement takes the zone that is stated for the job's clocks. The daemons' is that of their markers; without any it is that
// of containers, which nobody has to believe.
func (x *inquiry) byStatement() (sign, bool) {
	end := x.Facts.Job.End
	if !end.Valid {
		return sign{}, false
	}
	wall := time.Unix(int64(end.T), 0).UTC()
	_, east := time.Date(wall.Year(), wall.Month(), wall.Day(), wall.Hour(), wall.Minute(), 0, 0, x.Facts.JobZone).Zone()
	theirs, marked := 0, false
	for _, d := range x.daemons {
		minutes := zones[d.Zone]
		switch {
		case d.Zone == "":
		case len(minutes) != 1 || marked && minutes[0] != theirs:
			return sign{}, false
		default:
			theirs, marked = minutes[0], true
		}
	}
	said := fmt.Sprintf("the job's clocks are configured as %s", x.Facts.JobZone)
	if marked {
		said += ", and the daemons state their time zone"
	} else {
		said += ", and the daemons are assumed to use UTC"
	}
	return sign{quarters: (east/60 - theirs) / 15, unc: 10, sure: marked, assumed: !marked, basis: finding(said)}, (east/60-theirs)%15 == 0
}

// byStop compares when the daemons' requests stop with when the job stops asking: at the stall that everybody waits in, or
// at its end. Each daemon's counters say it to within one of their lines; together they say it better.
func (x *inquiry) byStop() (sign, bool) {
	when := x.Facts.Job.End
	if x.Hang {
		when = x.Stall
	}
	if !when.Valid {
		return sign{}, false
	}
	var found []stopping
	for i, d := range x.daemons {
		if d.Role == aislog.Target {
			found = append(found, x.stopsOf(i)...)
		}
	}
	// Jobs stop at different times: the stop that most daemons agree on is looked at.
	best := sign{}
	most, tie := 0, false
	for _, f := range found {
		lo, hi, n := f.from, f.to, 0
		seen := map[int]bool{}
		var ev []incident.Evidence
		for _, g := range found {
			if g.from <= f.to && g.to >= f.from && !seen[g.d] {
				seen[g.d] = true
				n++
				lo, hi = max(lo, g.from), min(hi, g.to)
				if len(ev) < 2 {
					ev = append(ev, g.quote)
				}
			}
		}
		if hi < lo {
			lo, hi = hi, lo
		}
		mid := (lo + hi) / 2
		q := int(math.Round((when.T - mid) / quarter))
		rest := math.Abs(when.T-mid-float64(q)*quarter) - (hi-lo)/2
		if abs(q) > maxQuarters || rest > when.Unc+lastOf || hi-lo > quarter/3 {
			continue
		}
		if n == most && q != best.quarters {
			tie = true
		}
		if n > most {
			most, tie = n, false
			hinted := x.hinted(q)
			best = sign{quarters: q, unc: (hi-lo)/2 + lastOf, sure: hinted && (n > 1 || hi-lo <= 60),
				basis: finding(fmt.Sprintf("requests stop at %s when the job stops asking", plural(n, "target", "targets")), ev...)}
		}
	}
	return best, most > 0 && !tie
}

// lastOf is how long after its last step a job may still ask, and how long before its last line it may ask no more.
const lastOf = 20.0

// zones are what abbreviations of zones mean, in minutes east of UTC.
var zones = map[string][]int{
	"UTC": {0}, "GMT": {0}, "WET": {0}, "CET": {60}, "CEST": {120}, "EET": {120}, "EEST": {180}, "MSK": {180}, "BST": {60}, "IST": {330, 60, 120}, "CST": {-360, 480},
	"CDT": {-300}, "EST": {-300}, "EDT": {-240}, "MST": {-420}, "MDT": {-360}, "PST": {-480}, "PDT": {-420}, "JST": {540}, "KST": {540}, "SGT": {480}, "HKT": {480},
	"AEST": {600}, "AEDT": {660},
}

// hinted says that a distance is what the daemons' own zone makes it for a job that writes UTC, as containers do, or the
// same zone.
func (x *inquiry) hinted(quarters int) bool {
	if quarters == 0 {
		return true
	}
	for _, d := range x.daemons {
		for _, m := range zones[d.Zone] {
			if -m == quarters*15 {
				return true
			}
		}
	}
	return false
}

// stopping is when one of a daemon's counters stops: after from, by to.
type stopping struct {
	d        int
	from, to float64
	quote    incident.Evidence
}

// steady is how many intervals with requests must go before, and for how many seconds, for an end of them to mean something;
// quiet is how long nothing must come after it.
const (
	steady    = 4
	steadyFor = 240.0
	quiet     = 120.0
)

var requests = []string{"getbatch.n", "stream.in.n", "stream.out.n", "get.n"}

// stopsOf are the moments at which a daemon's counters of requests cease to grow, having grown in every line for a while.
func (x *inquiry) stopsOf(d int) []stopping {
	end, ok := x.wall(d, x.daemons[d].Covered.To)
	if !ok {
		return nil
	}
	var out []stopping
	for _, c := range requests {
		var last *aislog.Interval
		var first float64
		n := 0
		stop := func(until float64) {
			if last == nil {
				return
			}
			from, ok := x.wall(d, last.From)
			to, ok2 := x.wall(d, last.To)
			if ok && ok2 && n >= steady && to-first >= steadyFor && until-to >= quiet && to-from <= quarter/3 {
				out = append(out, stopping{d, from, to, QuoteAt(last.At, nil)})
			}
		}
		for i := range x.daemons[d].Intervals {
			iv := &x.daemons[d].Intervals[i]
			from, ok := x.wall(d, iv.From)
			to, ok2 := x.wall(d, iv.To)
			if !ok || !ok2 || iv.Base.File == "" || to-from > quarter {
				stop(from)
				last, n = nil, 0
				continue
			}
			if iv.Of(c) > 0 {
				if n == 0 {
					first = from
				}
				n++
				last = iv
				continue
			}
			if last != nil && to-mustWall(x, d, last.To) >= quiet {
				stop(to)
				last, n = nil, 0
			}
		}
		stop(end)
	}
	return out
}

func mustWall(x *inquiry, d int, t aislog.Time) float64 {
	v, _ := x.wall(d, t)
	return v
}
