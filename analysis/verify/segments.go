package verify

import (
	"bytes"
	"encoding/binary"
	"slices"
)

// segments cuts the content at \r and \n and shows each segment to the tallies.
type segments struct {
	tallies  []*tally
	searches []search
	grams    *grams // of the long strings looked for; nil if there are none
	pairs    *pairs // of the strings looked for; made when the first escape sequence is met
	joins    []span
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
	// In the block being searched: where the next segment begins, and the segments across escape sequences yet to show.
	at    int
	joins []span
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
	s.grams = gramsOf(s.searches)
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

// span is a segment of a block.
type span struct{ from, to int }

// block shows whole segments to the tallies. The strings are looked for in the raw bytes: one that stands there in the
// stripped text only goes across an escape sequence, and those segments are shown whatever the raw bytes hold.
func (s *segments) block(b []byte) {
	joins := s.across(b)
	for i := range s.searches {
		q := &s.searches[i]
		q.at, q.joins = 0, joins
		if s.grams != nil && len(q.needle) >= minLong {
			continue
		}
		for q.at < len(b) {
			n := bytes.Index(b[q.at:], q.needle)
			if n < 0 {
				break
			}
			s.hit(q, b, q.at+n)
		}
	}
	if s.grams != nil {
		s.grams.find(s.searches, b, func(i, at int) { s.hit(&s.searches[i], b, at) })
	}
	for i := range s.searches {
		q := &s.searches[i]
		for _, j := range q.joins {
			s.show(q.tallies, b, j)
		}
	}
}

// hit shows the segment in which a string stands at a place, once, and those across escape sequences that come before.
func (s *segments) hit(q *search, b []byte, at int) {
	if at < q.at {
		return
	}
	seg := span{segmentStart(b, q.at, at), segmentEnd(b, at)}
	q.at = seg.to + 1
	for len(q.joins) > 0 && q.joins[0].from < seg.from {
		s.show(q.tallies, b, q.joins[0])
		q.joins = q.joins[1:]
	}
	if len(q.joins) > 0 && q.joins[0] == seg {
		q.joins = q.joins[1:]
	}
	s.show(q.tallies, b, seg)
}

// show lets tallies see one segment of a block.
func (s *segments) show(ts []*tally, b []byte, at span) {
	seg := b[at.from:at.to]
	if bytes.IndexByte(seg, esc) >= 0 {
		s.scratch, _ = strip(s.scratch[:0], seg, true)
		seg = s.scratch
	}
	for _, t := range ts {
		t.match.feed(seg, 0, true)
		t.commit()
	}
}

// pairs are the neighbouring bytes of the strings looked for.
type pairs struct {
	first [1 << 8]bool
	both  [1 << 16 / 64]uint64
}

func (p *pairs) add(a, b byte) {
	i := uint(a)<<8 | uint(b)
	p.first[a] = true
	p.both[i/64] |= 1 << (i % 64)
}

func (p *pairs) have(a, b byte) bool {
	i := uint(a)<<8 | uint(b)
	return p.both[i/64]>>(i%64)&1 == 1
}

// across finds the segments in which one of the strings may go across an escape sequence: the bytes before and behind
// the sequence are neighbours in it. No sequence reaches over a \r or \n.
func (s *segments) across(b []byte) []span {
	s.joins = s.joins[:0]
	end := 0 // of the last segment found
	for at := 0; ; {
		i := bytes.IndexByte(b[at:], esc)
		if i < 0 {
			return s.joins
		}
		if s.pairs == nil {
			s.pairs = pairsOf(s.searches)
		}
		from := at + i
		at = from + 1
		if from < end || from == 0 || !s.pairs.first[b[from-1]] {
			continue // so a sequence right behind another may be looked at as if it stood there alone, which shows too much at worst
		}
		to := from
		for to < len(b) && b[to] == esc {
			n, incomplete := escape(b[to:])
			if n == 0 || incomplete {
				break
			}
			to += n
		}
		at = max(to, from+1)
		if to == from || to == len(b) {
			continue
		}
		if s.pairs.have(b[from-1], b[to]) {
			end = segmentEnd(b, from)
			s.joins = append(s.joins, span{segmentStart(b, 0, from), end})
			at = max(at, end)
		}
	}
}

func pairsOf(list []search) *pairs {
	out := &pairs{}
	for _, q := range list {
		for i := 1; i < len(q.needle); i++ {
			out.add(q.needle[i-1], q.needle[i])
		}
	}
	return out
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
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for at-low >= 8 { // eight bytes at a time
		w := binary.LittleEndian.Uint64(b[at-8:])
		n, r := w^'\n'*ones, w^'\r'*ones
		if ((n-ones)&^n|(r-ones)&^r)&highs != 0 {
			break
		}
		at -= 8
	}
	for at > low && b[at-1] != '\n' && b[at-1] != '\r' {
		at--
	}
	return at
}

func segmentEnd(b []byte, at int) int {
	to := len(b)
	if i := bytes.IndexByte(b[at:], '\n'); i >= 0 {
		to = at + i
	}
	if i := bytes.IndexByte(b[at:to], '\r'); i >= 0 {
		to = at + i
	}
	return to
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
