package triage

import (
	"math"
	"time"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// Moment is when a running job is looked at.
type Moment struct {
	At time.Time
	// Logs: At is what the logs' own clock shows, in whatever zone that is.
	Logs bool
	// Written is when files were last written, by the names of the sources; a copy has no entry, for it tells nothing of the job.
	Written map[string]time.Time
}

// text is the moment as the report has it.
func (m Moment) text() string {
	if m.Logs {
		return m.At.Format("2006-01-02T15:04:05")
	}
	return m.At.Format(time.RFC3339)
}

// clock tells how long ago something was.
type clock struct {
	at    Moment
	now   float64 // on the timeline of the logs; known is false where no line has a time
	known bool
	basis string
	lines map[string]int64 // of each file
}

const (
	skew    = 120.0           // seconds that two clocks may differ
	yearOff = 180 * 24 * 3600 // seconds beyond which the year is not that of the moment
)

// newClock relates the moment to the logs. A file is never older than its last line: its time on disk says how long ago that line is at
// most, whatever zone it is in. Where the zone is known, too, the later of the two counts.
func newClock(f *resolve.Facts, at Moment) clock {
	c := clock{at: at, basis: incident.ClockNone, lines: map[string]int64{}}
	newest, byFiles := math.Inf(-1), math.Inf(-1)
	zone, stated := zoneOf(f)
	for i := range f.Tails {
		t := &f.Tails[i]
		c.lines[t.File] = t.Lines
		m := f.At(t.Last)
		if !m.Valid {
			continue
		}
		c.known = true
		newest = max(newest, m.T)
		if w, ok := at.Written[t.File]; ok {
			byFiles = max(byFiles, m.T+max(at.At.Sub(w).Seconds(), 0))
		}
	}
	switch {
	case !c.known && len(at.Written) > 0:
		c.basis = incident.ClockFiles
		return c
	case !c.known:
		return c
	case at.Logs:
		c.now, c.basis = wall(at.At, newest), incident.ClockLogs
	case stated && inZone(at.At, zone, newest) >= max(newest, byFiles)-skew:
		c.now, c.basis = inZone(at.At, zone, newest), incident.ClockZone
	case !math.IsInf(byFiles, -1):
		c.now, c.basis = byFiles, incident.ClockFiles
	default:
		c.now, c.basis = wall(at.At, newest), incident.ClockAssumed
	}
	c.now = max(c.now, newest)
	return c
}

// zoneOf is the zone of the job's clocks, where somebody or a line states it.
func zoneOf(f *resolve.Facts) (*time.Location, bool) {
	if f.JobZone != nil {
		return f.JobZone, true
	}
	for i := range f.Tails {
		switch s := f.Tails[i].Last.Stamp; s.Kind {
		case line.Zoned:
			return time.FixedZone("", int(s.ZoneOffset)*60), true
		case line.Epoch:
			return time.UTC, true
		}
	}
	return nil, false
}

func inZone(at time.Time, zone *time.Location, near float64) float64 { return wall(at.In(zone), near) }

// wall is what a clock on the wall shows, in the year of the logs where they print none.
func wall(at time.Time, near float64) float64 {
	_, east := at.Zone()
	t := float64(at.UnixNano())/1e9 + float64(east)
	if math.Abs(t-near) > yearOff {
		u := time.Unix(int64(t), 0).UTC()
		y := time.Unix(int64(near), 0).UTC().Year()
		t = float64(time.Date(y, u.Month(), u.Day(), u.Hour(), u.Minute(), u.Second(), 0, time.UTC).Unix())
	}
	return t
}

// since is how many seconds ago a moment was.
func (c *clock) since(m resolve.Moment) (float64, bool) {
	if !c.known || !m.Valid {
		return 0, false
	}
	return max(c.now-m.T, 0), true
}

// untouched is how many seconds ago a file was last written.
func (c *clock) untouched(file string) (float64, bool) {
	w, ok := c.at.Written[file]
	if !ok {
		return 0, false
	}
	return max(c.at.At.Sub(w).Seconds(), 0), true
}

// least is how long ago a line was at least: by its own time, else by when its file was last written.
func (c *clock) least(m resolve.Moment, file string) (seconds float64, ok bool) {
	if seconds, ok = c.since(m); ok {
		return seconds, true
	}
	return c.untouched(file)
}

// ago is how long ago a line was. Without a time of its own that is known of the last lines of a file only.
func (c *clock) ago(m resolve.Moment, at *worker.At) (seconds float64, ok bool) {
	const end = 3 // lines: a step may be told in several
	if m.Valid || c.lines[at.File]-at.Line < end {
		return c.least(m, at.File)
	}
	return 0, false
}
