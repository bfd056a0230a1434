package trace

import (
	"cmp"
	"slices"
	"sort"
)

// span is from when to when something was so.
type span struct{ from, to int64 }

// spans are many of them, kept in pieces: a list that grows in one piece needs twice its size.
type spans struct {
	pieces [][]span
	n      int
}

const piece = 1 << 14

// add keeps a span; false where there is no room.
func (s *spans) add(from, dur int64) bool {
	if s.n >= maxSpans {
		return false
	}
	if k := len(s.pieces); k == 0 || len(s.pieces[k-1]) == piece {
		s.pieces = append(s.pieces, make([]span, 0, piece))
	}
	last := &s.pieces[len(s.pieces)-1]
	*last = append(*last, span{from, from + dur})
	s.n++
	return true
}

// joined are all of them in order, without those that touch or overlap; starts are where each began. The pieces are given away.
func (s *spans) joined() (out []span, starts []int64) {
	all := make([]span, 0, s.n)
	for i, p := range s.pieces {
		all = append(all, p...)
		s.pieces[i] = nil
	}
	s.pieces = nil
	byTime := func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) }
	if !slices.IsSortedFunc(all, byTime) {
		slices.SortFunc(all, byTime)
	}
	starts = make([]int64, len(all))
	for i := range all {
		starts[i] = all[i].from
	}
	return joinSorted(all), starts
}

// joinSorted joins spans in order, in place.
func joinSorted(all []span) []span {
	n := 0
	for _, s := range all {
		if n > 0 && s.from <= all[n-1].to {
			all[n-1].to = max(all[n-1].to, s.to)
			continue
		}
		all[n] = s
		n++
	}
	return all[:n]
}

// both is when at least one of two was so.
func both(a, b []span) []span {
	if len(b) == 0 {
		return a
	}
	all := make([]span, 0, len(a)+len(b))
	for len(a) > 0 || len(b) > 0 {
		if len(b) == 0 || len(a) > 0 && a[0].from <= b[0].from {
			all, a = append(all, a[0]), a[1:]
		} else {
			all, b = append(all, b[0]), b[1:]
		}
	}
	return joinSorted(all)
}

// within is how much of a time the spans, in order and apart, take.
func within(list []span, w span) int64 {
	sum := int64(0)
	for i := sort.Search(len(list), func(i int) bool { return list[i].to > w.from }); i < len(list) && list[i].from < w.to; i++ {
		sum += min(list[i].to, w.to) - max(list[i].from, w.from)
	}
	return sum
}

// between counts the moments in a time, of moments in order.
func between(list []int64, w span) int {
	return sort.Search(len(list), func(i int) bool { return list[i] >= w.to }) - sort.Search(len(list), func(i int) bool { return list[i] >= w.from })
}
