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
	at    time.Time
	files map[string]time.Time // when they were last written, of those that were not written after the moment
	now   float64              // on the timeline of the logs; known is false where no line has a time
	known bool
	basis string
	lines map[string]int64 // of each file
	exact bool             // ages by the files' times are right, and not only the least that they can be
}

const (
	skew    = 120.0 // seconds that two clocks may differ
	quarter = 900.0
	yearOff = 180 * 24 * 3600 // seconds beyond which the year is not that of the moment
)

// newClock relates the moment to the logs. A file is never older than its last line: its time on disk says how long ago that line is at
// most, whatever zone it is in. Where the zone is known, too, the later of the two counts. Where neither is, ages are known but for whole
// quarters of an hour, by which zones differ: then they are the least that they can be.
func newClock(f *resolve.Facts, at Moment, sources []incident.Source) clock {
	c := clock{at: at.At, basis: incident.ClockNone, lines: map[string]int64{}, files: map[string]time.Time{}}
	for _, s := range sources {
		if w := time.Unix(0, s.Written); !at.Logs && s.Written != 0 && !w.After(at.At.Add(skew*time.Second)) {
			c.files[s.Name] = w
		}
	}
	newest, byFiles := math.Inf(-1), math.Inf(-1)
	zone, stated := zoneOf(f)
	for i := range f.Tails {
		t := &f.Tails[i]
		c.lines[t.File] = t.Lines
		m := f.At(t.Last)
		if !m.Placed() {
			continue
		}
		c.known = true
		newest = max(newest, m.T)
		if ago, ok := c.untouched(t.File); ok {
			byFiles = max(byFiles, m.T+ago)
			c.exact = c.exact || t.Lines-t.Last.Line < atEnd
		}
	}
	switch {
	case !c.known && len(c.files) > 0:
		c.basis = incident.ClockFiles
		return c
	case !c.known:
		return c
	case at.Logs:
		c.now, c.basis, c.exact = wall(at.At, newest), incident.ClockLogs, true
	case stated && inZone(at.At, zone, newest) >= max(newest, byFiles)-skew:
		c.now, c.basis, c.exact = inZone(at.At, zone, newest), incident.ClockZone, true
	case !math.IsInf(byFiles, -1):
		c.now, c.basis = byFiles, incident.ClockFiles
	default:
		c.now, c.basis = newest+math.Mod(max(wall(at.At, newest)-newest, 0), quarter), incident.ClockAssumed
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

// atEnd is how many lines the end of a file has: a step may be told in several.
const atEnd = 4

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
	if !c.known || !m.Placed() {
		return 0, false
	}
	return max(c.now-m.T, 0), true
}

// untouched is how many seconds ago a file was last written.
func (c *clock) untouched(file string) (float64, bool) {
	w, ok := c.files[file]
	return max(c.at.Sub(w).Seconds(), 0), ok
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
	if m.Placed() && c.exact || !m.Placed() && c.lines[at.File]-at.Line < atEnd {
		return c.least(m, at.File)
	}
	return 0, false
}
