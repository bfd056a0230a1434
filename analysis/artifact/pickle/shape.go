package pickle

// shape is how an element is written: the same operations in the same places, only the numbers differ. A program that writes
// elements of one kind does so in few shapes, which follow upon each other in much the same order.
type shape struct {
	text, mask []uint64 // its bytes, and which of them are no part of a number
	len        int
	next       int // which shape came after it the last time
	has        uint64
	members    []known
}

// known is a wanted member of a shape: its value or, where at is not 0, where that stands.
type known struct {
	slot
	member uint8
}

// shapes are those of a list.
type shapes struct {
	all  []shape
	n    int // of all, how many are known
	last int
	wild [][2]uint16 // of the element at hand: numbers, from and to
}

const (
	maxShapes = 48
	maxShape  = 4 << 10 // bytes of an element of which a shape is made
)

func (s *shapes) forget() { s.n, s.last = 0, 0 }

// number notes that a number of so many bytes stands at a place, and returns where its operation stands in the element.
func (p *Plain) number(from, at, size int) uint16 {
	if at-from > maxShape {
		return 0
	}
	p.shapes.wild = append(p.shapes.wild, [2]uint16{uint16(at - from), uint16(at - from + size)})
	return uint16(at - from - 1)
}

// seen reads an element that has a known shape.
func (p *Plain) seen(at int) (end int, ok bool) {
	s := &p.shapes
	if s.n == 0 {
		return 0, false
	}
	rest := p.in[at:]
	i := s.all[s.last].next
	if !s.all[i].fits(rest) {
		for i = 0; i < s.n && !s.all[i].fits(rest); i++ {
		}
		if i == s.n {
			return 0, false
		}
		s.all[s.last].next = i
	}
	s.last = i
	x := &s.all[i]
	p.has = x.has
	for k := range x.members {
		v := &x.members[k]
		m := &p.members[v.member&63]
		*m = v.slot
		if v.at > 0 {
			m.n = integer(rest[v.at:])
		}
	}
	return at + x.len, true
}

func (x *shape) fits(rest string) bool {
	if len(rest) < 8*len(x.text)+1 || len(x.mask) < len(x.text) {
		return false
	}
	for i, w := range x.text {
		if (eight(rest[8*i:])^w)&x.mask[i] != 0 {
			return false
		}
	}
	return rest[x.len] == opEmptyDict || rest[x.len] == opAppends
}

// eight are the first eight bytes as a number.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 | uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// integer reads an integer from its operation on.
func integer(s string) int64 {
	switch s[0] {
	case opBinInt1:
		return int64(s[1])
	case opBinInt2:
		return int64(s[1]) | int64(s[2])<<8
	case opBinInt:
		return int64(int32(uint32(s[1]) | uint32(s[2])<<8 | uint32(s[3])<<16 | uint32(s[4])<<24))
	}
	n := int(s[1])
	if n == 8 && len(s) >= 10 {
		return int64(eight(s[2:]))
	}
	v, _ := long(s[2 : 2+n])
	return v.n
}

// learn keeps the shape of the element that was just walked over, if there is room for it.
func (p *Plain) learn(at, end int) bool {
	s := &p.shapes
	n := end - at
	words := (n + 7) / 8
	if n > maxShape || s.n == maxShapes || len(p.in)-at < 8*words {
		return false
	}
	if s.n == len(s.all) {
		s.all = append(s.all, shape{})
	}
	x := &s.all[s.n]
	x.text, x.mask, x.members = x.text[:0], x.mask[:0], x.members[:0]
	for i := range words {
		x.text = append(x.text, eight(p.in[at+8*i:]))
		x.mask = append(x.mask, ^uint64(0))
	}
	if odd := n % 8; odd > 0 {
		x.mask[words-1] = 1<<(8*odd) - 1
	}
	for _, w := range s.wild {
		for i := w[0]; i < w[1]; i++ {
			x.mask[i/8] &^= 0xff << (i % 8 * 8)
		}
	}
	x.len, x.has = n, p.has
	for i := range p.wanted {
		if p.has>>i&1 != 0 {
			v := known{p.members[i], uint8(i)}
			if v.kind != Int {
				v.at = 0
			}
			x.members = append(x.members, v)
		}
	}
	if s.n > 0 {
		s.all[s.last].next = s.n
	}
	x.next, s.last = 0, s.n
	s.n++
	return true
}
