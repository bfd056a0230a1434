package worker

import (
	"bytes"
	"time"

	"faultline/analysis/line"
)

// clocks relates the two clocks of a file in whose lines a collector put a stamp of its own in front of the program's: kubectl logs
// --timestamps, docker logs -t and journals, in UTC or in the zone of another machine. Lines without a stamp of the program's, as
// those of a traceback, have the collector's alone. They are told by the program's clock, too: else the failure that they report
// happened hours before or behind all the rest.
type clocks struct {
	known bool
	outer line.StampKind // how the collector writes
	ahead time.Duration  // the collector's clock shows more; whole half hours, as zones are apart
	alien bool           // the collector came later: it says nothing of when a line was written
}

// between compares the clocks of one line; ok is false where it does not state both.
func between(pre *line.Prefix) (ahead time.Duration, ok bool) {
	if pre.Outer.Kind == line.NoStamp || pre.Stamp.Kind == line.NoStamp {
		return 0, false
	}
	return pre.Outer.Ahead(pre.Stamp)
}

const (
	apart = 26 * time.Hour  // zones reach from UTC−12 to UTC+14
	early = 5 * time.Second // clocks differ by less
	// minAlien is how many lines must disagree by more: what looks like a stamp may be a date that is spoken of.
	minAlien = 3
)

// near says that two clocks may be those of two zones.
func near(ahead time.Duration) bool { return ahead >= -apart && ahead <= apart }

// learn takes the least that the collector's clock was seen ahead. A line is stamped when it arrives: a program that keeps its lines
// in a buffer lets the collector seem farther ahead than it is.
func (c *clocks) learn(ahead time.Duration, outer line.StampKind) {
	const (
		half  = 30 * time.Minute
		delay = 2 * time.Minute
	)
	c.known, c.outer = true, outer
	zone := (ahead + early).Truncate(half)
	if ahead+early < zone {
		zone -= half
	}
	if ahead-zone <= delay {
		c.ahead = zone
	}
}

// tell makes the stamp of a line the program's, where only the collector's stands there; it reports whether it did.
func (c *clocks) tell(pre *line.Prefix) bool {
	if ahead, ok := between(pre); ok {
		if !c.known && near(ahead) {
			c.learn(ahead, pre.Outer.Kind)
		}
		return false
	}
	if !c.known || pre.Stamp.Kind != c.outer || pre.Outer.Kind != line.NoStamp {
		return false
	}
	switch {
	case c.alien:
		pre.Stamp = line.Stamp{}
	case c.ahead != 0:
		pre.Stamp = pre.Stamp.Plus(-c.ahead)
		return true
	}
	return false
}

// compareClocks looks at the head of a file for lines that state both clocks.
func (r *reader) compareClocks(head []phys) {
	var least time.Duration
	outer, n, alien := line.NoStamp, 0, 0
	for i := range head {
		raw := head[i].raw
		if r.margin != nil {
			raw = raw[r.margin(raw):]
		}
		raw = bytes.TrimRight(raw, "\r")
		r.written(head[i].no, head[i].off, raw[bytes.LastIndexByte(raw, '\r')+1:])
		ahead, ok := between(&r.pre)
		switch {
		case !ok:
			continue
		case !near(ahead):
			alien++
		default:
			if n == 0 || ahead < least {
				least = ahead
			}
			n++
		}
		outer = r.pre.Outer.Kind
	}
	switch r.clocks = (clocks{}); {
	case n > 0:
		r.clocks.learn(least, outer)
	case alien >= minAlien:
		r.clocks = clocks{known: true, outer: outer, alien: true}
	}
}
