package aislog

import (
	"bytes"
	"time"

	"faultline/pattern"
)

const (
	halfDay = int64(12 * time.Hour / time.Microsecond)
	// lateMidnight is how long after midnight a line of the day before may still come: W and E lines are written through other
	// buffers than the rest.
	lateMidnight = int64(time.Minute / time.Microsecond)
)

// clock turns times of day into times. The date comes from the first line of a file or from a marker; in between midnights
// are counted, which is when the time of day falls by more than half a day: small steps back are lines out of order.
type clock struct {
	date  time.Time // of day 0
	known Proof     // NoDay: date is not known
	day   int       // midnights since
	last  int64     // the time of day before; −1 none
	zone  string
	// off says that a marker contradicted the count; zero is the date of day 0 where a marker was the first to tell.
	off  bool
	zero time.Time
	// begun is the date of day begunDay, the one that was last asked for; zero where date has changed since.
	begun    time.Time
	begunDay int
}

// undated is day 0 while nothing tells which day that is. It is not the zero time.
var undated = time.Date(1, 1, 2, 0, 0, 0, 0, time.UTC)

func newClock() clock { return clock{date: undated, last: -1} }

// start sets the clock by the first line of a file.
func (c *clock) start(t time.Time) {
	*c = clock{date: t.Truncate(24 * time.Hour), known: FirstLine, last: int64(t.Sub(t.Truncate(24*time.Hour)) / time.Microsecond), zone: c.zone}
}

// at is the time of the next record.
func (c *clock) at(micros int64) Time {
	day := c.day
	switch {
	case c.last < 0:
	case c.last-micros > halfDay:
		c.day++
		if day = c.day; c.known != NoDay {
			c.known = Midnight
		}
	case micros-c.last > halfDay && c.last < lateMidnight && c.day > 0:
		return c.time(c.day-1, micros) // out of order, from before midnight
	}
	c.last = micros
	return c.time(day, micros)
}

func (c *clock) time(day int, micros int64) Time {
	if c.begun.IsZero() || day != c.begunDay { // the calendar is asked once a day, not for every line
		c.begun, c.begunDay = c.date.AddDate(0, 0, day), day
	}
	return Time{Wall: c.begun.Add(time.Duration(micros) * time.Microsecond), Proof: c.known}
}

// now is the time of the last record.
func (c *clock) now() Time {
	if c.last < 0 {
		return Time{}
	}
	return c.time(c.day, c.last)
}

// The daemon writes it every hour: "05 Sep 24 12:48 CST =============".
var marker = pattern.New(`common(?:_stats)?:\d+ (\d\d [A-Z][a-z]{2} \d\d \d\d:\d\d) ([A-Za-z0-9+-]{1,8}) =+`)

// mark sets the clock by a marker in a record of the given time of day.
func (c *clock) mark(b []byte, micros int64) bool {
	m := marker.FindSubmatch(b)
	if m == nil {
		return false
	}
	t, err := time.Parse("02 Jan 06 15:04", string(m[1]))
	if err != nil {
		return false
	}
	date := t.Truncate(24 * time.Hour)
	if int64(t.Sub(date)/time.Microsecond)-micros > halfDay {
		date = date.AddDate(0, 0, 1) // the stamp was taken after midnight, its text before
	}
	if c.known != NoDay && !date.Equal(c.date.AddDate(0, 0, c.day)) {
		c.off = true
	}
	if c.known == NoDay {
		c.zero = date.AddDate(0, 0, -c.day)
	}
	c.date, c.day, c.begun = date, 0, time.Time{}
	c.known, c.zone = Marker, string(m[2])
	return true
}

// mend dates a time that was read before a marker told the date.
func (c *clock) mend(t *Time) {
	if t.Proof == NoDay && !t.IsZero() && !c.zero.IsZero() {
		t.Wall, t.Proof = c.zero.Add(t.Wall.Sub(undated)), Marker
	}
}

// Head is how a file begins.
type Head uint8

const (
	Headless Head = iota // in the middle: the beginning was cut off
	StartedUp
	Rotated
)

// String is for reports.
func (h Head) String() string {
	return [...]string{"headless", "started", "rotated"}[min(h, Rotated)]
}

var (
	startedUp = []byte("Started up at ")
	rotated   = []byte("Rotated at ")
)

// heading reads the first line of a file: "Started up at 2026/11/20 23:13:39, host vm, go1.26.8 for linux/amd64".
func heading(b []byte) (h Head, t time.Time, host string) {
	rest, ok := bytes.CutPrefix(b, startedUp)
	if h = StartedUp; !ok {
		if rest, ok = bytes.CutPrefix(b, rotated); !ok {
			return Headless, t, ""
		}
		h = Rotated
	}
	when, rest, ok := bytes.Cut(rest, []byte(", host "))
	t, err := time.Parse("2006/01/02 15:04:05", string(when))
	if !ok || err != nil || t.Year() < 2015 {
		return Headless, time.Time{}, ""
	}
	name, _, _ := bytes.Cut(rest, []byte(","))
	return h, t, clip(name, 64)
}
