package pickle

import "slices"

// slab hands out room for boxes and their items, in pieces of a larger piece.
type slab struct {
	boxes  []box
	values []Value
}

const slabLen = 512

func (s *slab) box() *box {
	if len(s.boxes) == 0 {
		s.boxes = make([]box, slabLen)
	}
	b := &s.boxes[0]
	s.boxes = s.boxes[1:]
	b.items = nil
	return b
}

// items is room for n values.
func (s *slab) items(n int) []Value {
	if n > slabLen/4 {
		return make([]Value, 0, n)
	}
	if len(s.values) < n {
		s.values = make([]Value, slabLen)
	}
	v := s.values[:0:n]
	s.values = s.values[n:]
	return v
}

// Room is memory for the values of a pickle. The zero value is ready; it serves one Read at a time.
type Room struct {
	stack []Value
	marks []int
	memo  []Value
	slab  slab
	plain *Plain
}

// maxRoom is how many values a room keeps place for.
const maxRoom = 1 << 16

// machine returns one that works in the room, which it empties.
func (r *Room) machine() machine {
	if r == nil {
		return machine{}
	}
	if cap(r.stack)+cap(r.memo) > maxRoom {
		*r = Room{}
	}
	if r.slab.boxes == nil {
		r.slab = slab{make([]box, slabLen), make([]Value, slabLen)}
	}
	clear(r.stack[:cap(r.stack)])
	clear(r.memo)
	clear(r.slab.boxes)
	clear(r.slab.values)
	return machine{stack: r.stack[:0], marks: r.marks[:0], memo: r.memo[:0], slab: r.slab}
}

// noted is what plain elements are noted in.
func (r *Room) noted(wanted []string) *Plain {
	if r == nil {
		return &Plain{wanted: wanted}
	}
	if r.plain == nil {
		r.plain = &Plain{}
	}
	r.plain.wanted, r.plain.names, r.plain.pairs = wanted, r.plain.names[:0], r.plain.pairs[:0]
	r.plain.shapes.forget()
	return r.plain
}

// keep takes the memory back.
func (r *Room) keep(m *machine) {
	if r != nil {
		r.stack, r.marks, r.memo = m.stack, m.marks, m.memo
	}
}

// elements sees whether the mark that was just read begins a list whose elements are to be handed out.
func (m *machine) elements() {
	if m.element == nil || m.handing {
		return
	}
	n := len(m.stack)
	switch {
	case n == 1 && len(m.marks) == 1 && m.stack[0].kind == List:
		m.listKey = ""
	case n >= 4 && n%2 == 0 && len(m.marks) == 2 && m.stack[0].kind == Dict && m.stack[n-1].kind == List && m.stack[n-2].kind == Text:
		m.listKey = m.stack[n-2].s
	default:
		return
	}
	m.handing, m.list, m.kept = true, n-1, nil
	m.began()
}

func (m *machine) began() { m.elemMemo, m.elemHeld, m.elemSlab = len(m.memo), m.held, m.slab }

// handOut hands out the element that is whole: the next one begins, or the list ends. What it has in the memo is forgotten but
// for texts, numbers and small dicts: the recorder's frames of a stack are written once and meant again by later elements.
func (m *machine) handOut(next byte) error {
	if len(m.stack) != m.list+3 || len(m.marks) == 0 || m.marks[len(m.marks)-1] != m.list+1 {
		return nil
	}
	switch next {
	case opAppends, opMark, opEmptyDict, opEmptyList, opEmptyTuple, opNone, opTrue, opFalse, opBinGet, opLongBinGet, opBinInt, opBinInt1, opBinInt2,
		opBinFloat, opLong1, opBinUnicode, opShortBinUnicode, opBinUnicode8, opBinString, opShortBinString:
	default: // it still works on the element
		return nil
	}
	if next == opMark && (m.stack[len(m.stack)-1].kind == Dict || m.stack[len(m.stack)-1].kind == List) && len(m.stack[len(m.stack)-1].box.items) == 0 {
		return nil // it is filled now
	}
	v := m.stack[len(m.stack)-1]
	m.stack = m.stack[:len(m.stack)-1]
	if !m.element(m.listKey, v) {
		m.kept = append(m.kept, v)
		m.began()
		return nil
	}
	kept := 0
	for i := m.elemMemo; i < len(m.memo); i++ {
		switch v := &m.memo[i]; v.kind {
		case List, Tuple, Dict:
			if v.kind == Dict && flat(v.box.items) {
				kept += len(v.box.items)
				v.box = &box{slices.Clone(v.box.items)}
				continue
			}
			*v = Value{kind: gone}
		}
	}
	m.slab = m.elemSlab // its room is used again
	m.held = m.elemHeld + len(m.memo) - m.elemMemo + kept
	m.began()
	return nil
}

// flat says that a dict is small and holds nothing that holds something.
func flat(items []Value) bool {
	for i := range items {
		if items[i].box != nil {
			return false
		}
	}
	return len(items) <= 8
}
