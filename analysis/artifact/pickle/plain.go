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
	in, at, memo, st := m.in, m.at, m.memo, &p.stack
	var marks [plainDepth]int
	p.shapes.wild = p.shapes.wild[:0]
	n, depth, from := 0, 0, at
	if len(in)-at < operand+2 || in[at] != opEmptyDict {
		return 0, false
	}
	if at++; in[at] == opMemoize {
		at++
		memo, p.names = append(memo, Value{kind: gone}), append(p.names, noName)
	}
	for {
		if len(in)-at < operand+1 || n >= plainHeight {
			return 0, false
		}
		op := in[at]
		at++
		switch op {
		case opBinGet, opLongBinGet:
			i := int(in[at])
			if at++; op == opLongBinGet {
				i |= int(in[at])<<8 | int(in[at+1])<<16 | int(in[at+2])<<24
				at += 3
			}
			if i >= len(memo) || i >= len(p.names) || memo[i].kind > Dict {
				return 0, false
			}
			v := &memo[i]
			st[n] = slot{kind: v.kind, name: p.names[i], n: v.n}
			if v.kind >= List {
				st[n].n = noPair
			}
			n++
		case opBinInt1:
			st[n] = slot{kind: Int, at: p.number(from, at, 1), n: int64(in[at])}
			at++
			n++
		case opBinInt2:
			st[n] = slot{kind: Int, at: p.number(from, at, 2), n: int64(in[at]) | int64(in[at+1])<<8}
			at += 2
			n++
		case opBinInt:
			st[n] = slot{kind: Int, at: p.number(from, at, 4), n: int64(int32(uint32(in[at]) | uint32(in[at+1])<<8 | uint32(in[at+2])<<16 | uint32(in[at+3])<<24))}
			at += 4
			n++
		case opLong1:
			size := int(in[at])
			if at++; size > 8 {
				return 0, false
			}
			v, err := long(in[at : at+size])
			if err != nil {
				return 0, false
			}
			st[n] = slot{kind: Int, at: p.number(from, at, size) - 1, n: v.n}
			at += size
			n++
		case opBinFloat:
			st[n] = slot{kind: Float, at: p.number(from, at, 8)}
			at += 8
			n++
		case opNone:
			st[n] = slot{}
			n++
		case opTrue, opFalse:
			st[n] = slot{kind: Bool, n: int64(opFalse - op)}
			n++
		case opBinUnicode, opBinString, opShortBinUnicode, opShortBinString:
			size := int(in[at])
			if at++; op == opBinUnicode || op == opBinString {
				size |= int(in[at])<<8 | int(in[at+1])<<16 | int(in[at+2])<<24
				at += 3
			}
			if size > len(in)-at {
				return 0, false
			}
			st[n] = slot{kind: Text, name: unasked, n: span(at, size)}
			at += size
			n++
		case opBinPut, opLongBinPut, opMemoize:
			i := len(memo)
			if op != opMemoize {
				i = int(in[at])
				if at++; op == opLongBinPut {
					i |= int(in[at])<<8 | int(in[at+1])<<16 | int(in[at+2])<<24
					at += 3
				}
			}
			if n == 0 || i != len(memo) || m.held+i-len(m.memo) >= MaxValues {
				return 0, false
			}
			v := Value{kind: gone}
			switch top := &st[n-1]; top.kind {
			case Text:
				v = Value{kind: Text, n: top.n, s: p.text(top.n)}
				if top.name == unasked {
					top.name = p.name(v.s)
				}
				p.names = append(p.names, top.name)
			case List, Tuple:
				p.names = append(p.names, noName)
			default:
				return 0, false
			}
			memo = append(memo, v)
		case opMark:
			if depth == plainDepth {
				return 0, false
			}
			st[n] = slot{kind: mark}
			marks[depth] = n
			depth++
			n++
		case opEmptyList:
			st[n] = slot{kind: List, n: noPair}
			n++
		case opAppends:
			if depth < 2 {
				return 0, false
			}
			depth--
			if n = marks[depth]; st[n-1].kind != List {
				return 0, false
			}
		case opAppend:
			if n < 3 || st[n-1].kind == mark || st[n-2].kind != List {
				return 0, false
			}
			n--
		case opTuple2:
			if n < 3 || st[n-1].kind == mark || st[n-2].kind == mark {
				return 0, false
			}
			v := slot{kind: Tuple, n: noPair}
			if st[n-2].kind == Text && st[n-1].kind == Text {
				v.n = int64(len(p.pairs))
				p.pairs = append(p.pairs, [2]int64{st[n-2].n, st[n-1].n})
			}
			st[n-2] = v
			n--
		case opSetItems:
			if depth != 1 || marks[0] != 0 || in[at] != opEmptyDict && in[at] != opAppends || !p.note(st[1:n]) {
				return 0, false
			}
			m.memo = memo
			return at, true
		default:
			return 0, false
		}
	}
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
