package pickle

// Plain is an element that is a dict, of which no values were made: only the members that are wanted are known, and of these
// numbers, texts and pairs of texts. It is valid until the next one.
type Plain struct {
	wanted  []string
	in      string
	has     uint64 // bits of wanted
	members [64]slot
	pairs   [][2]int64
	stack   [plainHeight]slot
	names   []uint8 // by number in the memo: which member a text names
	shapes  shapes
}

// slot is a value without pointers: a number, where a text stands, or which of the pairs.
type slot struct {
	kind Kind
	name uint8  // of a text: which member it names
	at   uint16 // of a number: where its operation stands in the element, if that is near
	n    int64
}

const (
	plainHeight = 128 // values that may stand above each other in a plain element
	plainDepth  = 8   // marks
	plainPairs  = 5   // members that it has at least: a smaller dict may be meant again
	noName      = 0xfe
	unasked     = 0xff // whether it names a member was not looked up
	noPair      = -1
)

// Int is a member that is an integer or a bool; i is its place in Reader.Wanted.
func (p *Plain) Int(i int) (int64, bool) {
	m := &p.members[i]
	return m.n, p.has>>i&1 != 0 && (m.kind == Int || m.kind == Bool)
}

// Text is a member that is a text.
func (p *Plain) Text(i int) (string, bool) {
	if m := &p.members[i]; p.has>>i&1 != 0 && m.kind == Text {
		return p.text(m.n), true
	}
	return "", false
}

// Pair is a member that is a tuple of two texts. It is not ok where it is a list or another tuple, which cannot be seen here.
func (p *Plain) Pair(i int) (a, b string, ok bool) {
	m := &p.members[i]
	switch {
	case p.has>>i&1 == 0 || m.kind < Text:
		return "", "", true
	case m.kind != Tuple || m.n == noPair:
		return "", "", m.kind == Text
	}
	pair := &p.pairs[m.n]
	return p.text(pair[0]), p.text(pair[1]), true
}

func (p *Plain) text(at int64) string { return p.in[at>>32 : at>>32+at&(1<<32-1)] }

// span is where a text stands: it is what a Value that is a text has as its number.
func span(from, n int) int64 { return int64(from)<<32 | int64(n) }

func (p *Plain) name(text string) uint8 {
	for i, w := range p.wanted {
		if len(w) == len(text) && w == text {
			return uint8(i)
		}
	}
	return noName
}

// plainElements reads as many elements as are plain and taken. It stands where one begins.
func (m *machine) plainElements() {
	p := m.plain
	p.in = m.in
	if m.sameMemo < len(p.names) {
		p.names = p.names[:m.sameMemo]
		p.shapes.forget()
	}
	for {
		before, pairs := len(m.memo), len(p.pairs)
		for i := len(p.names); i < before; i++ {
			name := uint8(noName)
			if v := &m.memo[i]; v.kind == Text {
				name = p.name(v.s)
			}
			p.names = append(p.names, name)
		}
		m.sameMemo = before
		end, ok := p.seen(m.at)
		known := ok
		if !ok {
			if end, ok = p.walk(m); ok && len(m.memo) == before {
				known = p.learn(m.at, end)
			}
		}
		ok = ok && m.taken(m.listKey, p)
		if !known {
			p.pairs = p.pairs[:pairs]
		}
		if !ok {
			m.memo, p.names = m.memo[:before], p.names[:before]
			return
		}
		m.at, m.held = end, m.held+len(m.memo)-before
		m.sameMemo = len(m.memo)
		m.began()
	}
}

// walk goes over an element without making values of it. It is not ok where that cannot be done, or where anything about it is
// odd: then it is read in the ordinary way, from its beginning.
func (p *Plain) walk(m *machine) (end int, ok bool) {
	const operand = 9 // bytes behind an operation, at most, but for texts
	w := walker{p: p, in: m.in, at: m.at, from: m.at, memo: m.memo, free: MaxValues - m.held + len(m.memo)}
	p.shapes.wild = p.shapes.wild[:0]
	if len(w.in)-w.at < operand+2 || w.in[w.at] != opEmptyDict {
		return 0, false
	}
	if w.at++; w.in[w.at] == opMemoize {
		w.at++
		w.memo, p.names = append(w.memo, Value{kind: gone}), append(p.names, noName)
	}
	for len(w.in)-w.at >= operand+1 && w.n < plainHeight {
		op := w.in[w.at]
		w.at++
		switch op {
		case opBinInt1, opBinInt2, opBinInt, opLong1, opBinFloat, opNone, opTrue, opFalse:
			ok = w.scalar(op)
		case opBinUnicode, opBinString, opShortBinUnicode, opShortBinString:
			ok = w.text(op)
		case opBinGet, opLongBinGet:
			ok = w.fetch(op)
		case opBinPut, opLongBinPut, opMemoize:
			ok = w.keep(op)
		case opSetItems:
			if !w.whole() || !p.note(p.stack[1:w.n]) {
				return 0, false
			}
			m.memo = w.memo
			return w.at, true
		default:
			ok = w.fold(op)
		}
		if !ok {
			return 0, false
		}
	}
	return 0, false
}

// walker goes over one element.
type walker struct {
	p        *Plain
	in       string
	from, at int
	n, depth int             // values and marks that stand above each other
	marks    [plainDepth]int // the place of each
	memo     []Value
	free     int // how many values the memo may hold
}

func (w *walker) push(s slot) {
	w.p.stack[w.n] = s
	w.n++
}

// little is the number in so many bytes, the lowest first, which it steps over.
func (w *walker) little(size int) int {
	v := 0
	for i := range size {
		v |= int(w.in[w.at+i]) << (8 * i)
	}
	w.at += size
	return v
}

func (w *walker) scalar(op byte) bool {
	at := w.at
	switch op {
	case opBinInt1:
		w.push(slot{kind: Int, at: w.p.number(w.from, at, 1), n: int64(w.little(1))})
	case opBinInt2:
		w.push(slot{kind: Int, at: w.p.number(w.from, at, 2), n: int64(w.little(2))})
	case opBinInt:
		w.push(slot{kind: Int, at: w.p.number(w.from, at, 4), n: int64(int32(w.little(4)))})
	case opLong1:
		size := w.little(1)
		if size > 8 {
			return false
		}
		v, err := long(w.in[w.at : w.at+size])
		if err != nil {
			return false
		}
		w.push(slot{kind: Int, at: w.p.number(w.from, w.at, size) - 1, n: v.n})
		w.at += size
	case opBinFloat:
		w.push(slot{kind: Float, at: w.p.number(w.from, at, 8)})
		w.at += 8
	case opNone:
		w.push(slot{})
	case opTrue, opFalse:
		w.push(slot{kind: Bool, n: int64(opFalse - op)})
	}
	return true
}

func (w *walker) text(op byte) bool {
	size := w.numbered(op == opBinUnicode || op == opBinString)
	if size > len(w.in)-w.at {
		return false
	}
	w.push(slot{kind: Text, name: unasked, n: span(w.at, size)})
	w.at += size
	return true
}

// numbered is the number behind an operation: in one byte, or in four in its long form.
func (w *walker) numbered(long bool) int {
	if long {
		return w.little(4)
	}
	return w.little(1)
}

// fetch takes a value from the memo.
func (w *walker) fetch(op byte) bool {
	i := w.numbered(op == opLongBinGet)
	if i >= len(w.memo) || i >= len(w.p.names) || w.memo[i].kind > Dict {
		return false
	}
	v := &w.memo[i]
	s := slot{kind: v.kind, name: w.p.names[i], n: v.n}
	if v.kind >= List {
		s.n = noPair
	}
	w.push(s)
	return true
}

// keep notes the value on top in the memo.
func (w *walker) keep(op byte) bool {
	i := len(w.memo)
	if op != opMemoize {
		i = w.numbered(op == opLongBinPut)
	}
	if w.n == 0 || i != len(w.memo) || i >= w.free {
		return false
	}
	v, p := Value{kind: gone}, w.p
	switch top := &p.stack[w.n-1]; top.kind {
	case Text:
		v = Value{kind: Text, n: top.n, s: p.text(top.n)}
		if top.name == unasked {
			top.name = p.name(v.s)
		}
		p.names = append(p.names, top.name)
	case List, Tuple:
		p.names = append(p.names, noName)
	default:
		return false
	}
	w.memo = append(w.memo, v)
	return true
}

// fold makes lists and tuples of values, and begins them.
func (w *walker) fold(op byte) bool {
	st := &w.p.stack
	switch op {
	case opMark:
		if w.depth == plainDepth {
			return false
		}
		w.marks[w.depth] = w.n
		w.depth++
		w.push(slot{kind: mark})
	case opEmptyList:
		w.push(slot{kind: List, n: noPair})
	case opAppends:
		if w.depth < 2 {
			return false
		}
		w.depth--
		w.n = w.marks[w.depth]
		return st[w.n-1].kind == List
	case opAppend:
		if w.n < 3 || st[w.n-1].kind == mark || st[w.n-2].kind != List {
			return false
		}
		w.n--
	case opTuple2:
		if w.n < 3 || st[w.n-1].kind == mark || st[w.n-2].kind == mark {
			return false
		}
		a, b := st[w.n-2], st[w.n-1]
		w.n -= 2
		pair := int64(noPair)
		if a.kind == Text && b.kind == Text {
			pair = int64(len(w.p.pairs))
			w.p.pairs = append(w.p.pairs, [2]int64{a.n, b.n})
		}
		w.push(slot{kind: Tuple, n: pair})
	default:
		return false
	}
	return true
}

// whole says that the items of the element itself are complete, and that the next element or the end of their list follows.
func (w *walker) whole() bool {
	next := w.in[w.at]
	return w.depth == 1 && w.marks[0] == 0 && (next == opEmptyDict || next == opAppends)
}

// note keeps the members that are wanted; the last of a name counts.
func (p *Plain) note(items []slot) bool {
	if len(items)%2 != 0 || len(items) < 2*plainPairs {
		return false
	}
	p.has = 0
	for i := 0; i+1 < len(items); i += 2 {
		k := &items[i]
		if k.kind != Text {
			return false
		}
		name := k.name
		if name == unasked {
			name = p.name(p.text(k.n))
		}
		if name != noName {
			p.members[name&63] = items[i+1]
			p.has |= 1 << (name & 63)
		}
	}
	return true
}
