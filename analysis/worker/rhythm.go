package worker

import (
	"slices"

	"faultline/analysis/line"
)

const (
	beats      = 64 // lines that are kept
	leastBeats = 40 // that make a rhythm
	backwards  = 5  // seconds that a line may be older than the one above it: several write into one file
)

// beat is when and where a line was written.
type beat struct {
	stamp line.Stamp
	off   int64
}

// pulse keeps the last lines of a file with a stamp of the job's own clock.
type pulse struct {
	ring [beats]beat
	n    int
	last At
}

func (p *pulse) note(at *At) {
	p.ring[p.n%beats] = beat{at.Stamp, at.Off}
	p.n++
	p.last = *at
}

// rhythm is that of the lines from an offset on; nil where they are too few, or where clocks that differ wrote them.
func (p *pulse) rhythm(from int64) *Rhythm {
	var gaps []float64
	var first, before beat
	for i := max(p.n-beats, 0); i < p.n; i++ {
		b := p.ring[i%beats]
		switch {
		case b.off < from:
			continue
		case before.stamp.Kind == line.NoStamp:
			first = b
		default:
			d, ok := b.stamp.Ahead(before.stamp)
			if !ok || d.Seconds() < -backwards {
				return nil
			}
			gaps = append(gaps, max(d.Seconds(), 0))
		}
		before = b
	}
	if len(gaps) < leastBeats-1 {
		return nil
	}
	span, _ := before.stamp.Ahead(first.stamp)
	r := &Rhythm{At: p.last, Longest: slices.Max(gaps), Span: span.Seconds(), Bytes: before.off - first.off}
	slices.Sort(gaps)
	r.Usual = gaps[len(gaps)/2]
	return r
}
