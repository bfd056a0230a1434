package verify

import (
	"bytes"
	"slices"
)

// segments cuts the content at \r and \n and shows each segment to the tallies.
type segments struct {
	tallies  []*tally
	searches []search
	keep     int
	scratch  []byte
	// A segment too long for the buffer: what has been seen of it.
	long    bool
	window  []byte // stripped; its first byte is at base of the segment
	base    int64
	pending []byte // raw bytes that may be the start of an escape sequence
}

// search is one string that is looked for once, and the tallies that need only see the segments that hold it.
type search struct {
	needle  []byte
	tallies []*tally
}

const (
	// minShared is the length from which on a string is rare enough to stand for longer ones that hold it.
	minShared = 12
	// maxSearch is how much of a string is looked for: bytes.Index finds up to 63 bytes with vector instructions.
	maxSearch = 60
	// maxShared bounds the strings that are tried as parts of others.
	maxShared = 16
)

// searches finds the few strings to look for: a string that is part of others stands for them.
func searches(ts []*tally) []search {
	ts = slices.Clone(ts)
	slices.SortStableFunc(ts, func(a, b *tally) int { return len(a.match.p.needle) - len(b.match.p.needle) })
	var out []search
	at := map[string]int{}
	for _, t := range ts {
		needle := t.match.p.needle
		needle = needle[:min(len(needle), maxSearch)]
		i, found := at[string(needle)]
		for n := 0; !found && n < min(len(out), maxShared); n++ {
			if len(out[n].needle) >= minShared && bytes.Contains(needle, out[n].needle) {
				i, found = n, true
			}
		}
		if !found {
			i = len(out)
			out = append(out, search{needle: needle})
			at[string(needle)] = i
		}
		out[i].tallies = append(out[i].tallies, t)
	}
	return out
}

func newSegments(ts []*tally) *segments {
	s := &segments{tallies: ts, searches: searches(ts)}
	for _, t := range ts {
		s.keep = max(s.keep, keepBytes(t.match.p))
	}
	return s
}

// data takes what is in the buffer and returns how many bytes it moved to its front, to be completed by more.
func (s *segments) data(b []byte) int {
	last := bytes.LastIndexByte(b, '\n')
	if i := bytes.LastIndexByte(b[last+1:], '\r'); i >= 0 { // looked for behind it only: most files hold none
		last += 1 + i
	}
	if last < 0 {
		if !s.long && len(b) < longSegment {
			return len(b)
		}
		s.piece(b, false)
		return 0
	}
	block := b[:last+1]
	if s.long {
		first := segmentEnd(b, 0)
		s.piece(b[:first], true)
		block = b[first+1 : last+1]
	}
	s.block(block)
	return copy(b, b[last+1:])
}

// end takes the last segment, which nothing ends.
func (s *segments) end(b []byte) {
	if s.long {
		s.piece(b, true)
		return
	}
	s.block(b)
}

// block shows whole segments to the tallies.
func (s *segments) block(b []byte) {
	if bytes.IndexByte(b, esc) >= 0 {
		// No escape sequence reaches over a \r or \n, so the block may be stripped at once.
		s.scratch, _ = strip(s.scratch[:0], b, true)
		b = s.scratch
	}
	for _, q := range s.searches {
		for at := 0; at < len(b); {
			i := bytes.Index(b[at:], q.needle)
			if i < 0 {
				break
			}
			from, to := segmentStart(b, at, at+i), segmentEnd(b, at+i)
			for _, t := range q.tallies {
				t.match.feed(b[from:to], 0, true)
				t.commit()
			}
			at = to + 1
		}
	}
}

// piece shows a part of a long segment to the tallies.
func (s *segments) piece(b []byte, final bool) {
	s.long = !final
	raw := b
	if len(s.pending) > 0 {
		s.pending = append(s.pending, b...)
		raw = s.pending
	}
	w, rest := strip(s.window, raw, final)
	s.pending = append([]byte(nil), rest...)
	for _, t := range s.tallies {
		t.match.feed(w, s.base, final)
		if final {
			t.commit()
		}
	}
	if final {
		s.window, s.base, s.pending = w[:0], 0, nil
		return
	}
	drop := max(len(w)-s.keep, 0)
	s.base += int64(drop)
	s.window = w[:copy(w, w[drop:])]
}

func segmentStart(b []byte, low, at int) int {
	for at > low && b[at-1] != '\n' && b[at-1] != '\r' {
		at--
	}
	return at
}

func segmentEnd(b []byte, at int) int {
	for at < len(b) && b[at] != '\n' && b[at] != '\r' {
		at++
	}
	return at
}

// commit counts the segment just seen.
func (t *tally) commit() {
	if t.match.holds() {
		t.n++
		if v := t.match.captured; len(v) > 0 && len(t.values) < t.limit {
			if t.values == nil { // most tallies of a large job stay empty
				t.values = map[string]struct{}{}
			}
			t.values[string(v)] = struct{}{}
		}
	}
	t.match.reset()
}
