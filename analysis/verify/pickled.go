package verify

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
)

// kind is what a node is.
type kind uint8

const (
	isAbsent kind = iota // of the memo: nothing was noted there
	isNull
	isBool
	isInt
	isFloat // with a fraction
	isText
	isList
	isObject
	isLeft // a list or an object that was gone over
	isFence
	isForeign // a name of Python's
)

// node is a value of a pickle. There are millions in large ones, so it holds no pointer: a text is where it stands in the data
// (offset and length), a list or an object the index of its box.
type node struct {
	kind kind
	n    int64
}

// stacker runs a pickle's operations over plain values. It knows no classes and calls nothing.
type stacker struct {
	data   []byte
	at     int
	stack  []node
	fences []int // where they stand in the stack
	memo   []node
	boxes  [][]node // of lists, and of objects names and values by turns
	room   []node   // for the items of boxes
	first  []node   // the first piece of it, used again
	n      int      // values

	wanted map[int]bool // the elements that are asked for; nil: everything is
	lacks  bool         // something was asked for that was gone over
	forms  forms        // of what was
}

var errPickle = errors.New("its pickle cannot be read")

// reset makes room for another pickle.
func (s *stacker) reset(data []byte) {
	const most = 1 << 18 // values; what took more is not kept
	if cap(s.stack)+cap(s.memo)+cap(s.boxes) > most {
		*s = stacker{}
	}
	if s.first == nil {
		s.first = make([]node, 0, 1<<15)
	}
	*s = stacker{data: data, stack: s.stack[:0], fences: s.fences[:0], memo: s.memo[:0], boxes: s.boxes[:0], room: s.first[:0], first: s.first, forms: forms{all: s.forms.all, numbers: s.forms.numbers}}
}

// unpickle reads a pickle of values. Which operations there are is Python's (Lib/pickletools.py). What it returns is valid until the
// next one is read. Elements of lists that are not wanted are gone over; nil: all are.
func (s *stacker) unpickle(data []byte, wanted map[int]bool) (tree, error) {
	if len(data) > maxDocument {
		return nil, errPickle
	}
	s.reset(data)
	s.wanted = wanted
	for {
		op, err := s.bytes(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' {
			if len(s.stack) != 1 || s.stack[0].kind >= isFence {
				return nil, errPickle
			}
			return pickled{s, s.stack[0]}, nil
		}
		if err := s.do(op[0]); err != nil {
			return nil, err
		}
		if s.n > maxTree {
			return nil, errors.New("it is too large to be checked")
		}
	}
}

// pickled is a value of a pickle that was read.
type pickled struct {
	s *stacker
	v node
}

func (p pickled) element(i int) tree {
	p.s.lacks = p.s.lacks || p.v.kind == isLeft
	if p.v.kind != isList || i >= len(p.s.boxes[p.v.n]) {
		return nil
	}
	return pickled{p.s, p.s.boxes[p.v.n][i]}
}

// member is the last of a name, as it would be in Python.
func (p pickled) member(name string) tree {
	p.s.lacks = p.s.lacks || p.v.kind == isLeft
	if p.v.kind != isObject {
		return nil
	}
	items := p.s.boxes[p.v.n]
	for i := len(items) - 2; i >= 0; i -= 2 {
		if string(p.s.text(items[i])) == name {
			return pickled{p.s, items[i+1]}
		}
	}
	return nil
}

func (p pickled) object() map[string]any {
	p.s.lacks = p.s.lacks || p.v.kind == isLeft
	if p.v.kind != isObject {
		return nil
	}
	out := map[string]any{}
	items := p.s.boxes[p.v.n]
	for i := 0; i < len(items); i += 2 {
		v := p.s.scalar(items[i+1])
		p.s.lacks = p.s.lacks || items[i+1].kind == isLeft
		if items[i+1].kind == isList {
			elements := []any{}
			for _, x := range p.s.boxes[items[i+1].n] {
				elements = append(elements, p.s.scalar(x))
			}
			v = elements
		}
		out[string(p.s.text(items[i]))] = v
	}
	return out
}

// composed stands for a value that is no scalar.
type composed struct{}

func (s *stacker) scalar(v node) any {
	switch v.kind {
	case isNull:
		return nil
	case isBool:
		return v.n != 0
	case isInt:
		return v.n
	case isFloat:
		return math.Float64frombits(uint64(v.n))
	case isText:
		return string(s.text(v))
	}
	return composed{}
}

func (s *stacker) text(v node) []byte {
	from, n := v.n>>32, v.n&(1<<32-1)
	return s.data[from : from+n]
}

func (s *stacker) bytes(n int) ([]byte, error) {
	if n < 0 || n > len(s.data)-s.at {
		return nil, errPickle
	}
	b := s.data[s.at : s.at+n]
	s.at += n
	return b, nil
}

func (s *stacker) push(k kind, n int64) { s.stack, s.n = append(s.stack, node{k, n}), s.n+1 }

// box pushes a list or an object.
func (s *stacker) box(k kind, items []node) {
	s.boxes = append(s.boxes, s.own(items))
	s.push(k, int64(len(s.boxes)-1))
}

// own copies items to where they stay.
func (s *stacker) own(items []node) []node {
	const piece = 1 << 15
	n := len(items)
	if n == 0 {
		return nil
	}
	if cap(s.room)-len(s.room) < n {
		s.room = make([]node, 0, max(n, piece))
	}
	from := len(s.room)
	s.room = append(s.room, items...)
	return s.room[from : from+n : from+n]
}

// above takes what stands above the last fence, and the fence. It is valid until the next push.
func (s *stacker) above() ([]node, error) {
	if len(s.fences) == 0 {
		return nil, errPickle
	}
	i := s.fences[len(s.fences)-1]
	s.fences = s.fences[:len(s.fences)-1]
	out := s.stack[i+1:]
	s.stack = s.stack[:i]
	return out, nil
}

// take takes the uppermost n, none of them a fence. They are valid until the next push.
func (s *stacker) take(n int) ([]node, error) {
	i := len(s.stack) - n
	if i < 0 || len(s.fences) > 0 && s.fences[len(s.fences)-1] >= i {
		return nil, errPickle
	}
	out := s.stack[i:]
	s.stack = s.stack[:i]
	return out, nil
}

// length reads a number of so many bytes that counts something.
func (s *stacker) length(width int) (int, error) {
	b, err := s.bytes(width)
	if err != nil {
		return 0, err
	}
	n := uint64(0)
	for i := width - 1; i >= 0; i-- {
		n = n<<8 | uint64(b[i])
	}
	if n > maxDocument {
		return 0, errPickle
	}
	return int(n), nil
}

func (s *stacker) do(op byte) error {
	switch op {
	case 'h', 'j', 'q', 'r', 0x94:
		return s.note(op)
	case 'X', 'T':
		return s.textOf(4)
	case 0x8c, 'U':
		return s.textOf(1)
	case 0x8d:
		return s.textOf(8)
	case 'K':
		return s.integer(1, false)
	case 'M':
		return s.integer(2, false)
	case 'J':
		return s.integer(4, true)
	case 0x8a:
		n, err := s.length(1)
		if err != nil || n > 8 {
			return errPickle
		}
		return s.integer(n, true)
	case '(':
		s.fences = append(s.fences, len(s.stack))
		s.push(isFence, 0)
	case '}':
		if s.unnamed() && s.leap() {
			s.push(isLeft, 0)
			return nil
		}
		s.box(isObject, nil)
	case ']', ')':
		s.box(isList, nil)
	case 'a', 'e', 's', 'u':
		return s.fill(op)
	case 't', 0x85, 0x86, 0x87:
		items, err := s.tuple(op)
		if err != nil || holdsForeign(items) {
			return errPickle
		}
		s.box(isList, items)
	case 'N':
		s.push(isNull, 0)
	case 0x88, 0x89:
		s.push(isBool, int64(0x89-op))
	case 'G':
		b, err := s.bytes(8)
		if err != nil {
			return err
		}
		s.push(isFloat, int64(binary.BigEndian.Uint64(b)))
	case 0x80:
		_, err := s.bytes(1)
		return err
	case 0x95:
		_, err := s.bytes(8)
		return err
	case 'c':
		rest := s.data[s.at:]
		i := bytes.IndexByte(rest, '\n')
		j := i + 1 + bytes.IndexByte(rest[i+1:], '\n')
		if i < 0 || j <= i || j > 512 {
			return errPickle
		}
		s.push(isForeign, int64(s.at)<<32|int64(i))
		s.at += j + 1
	case 'R': // a list with its type around it; nothing is called
		both, err := s.take(2)
		if err != nil || both[0].kind != isForeign || string(s.text(both[0])) != "torch.jit._pickle" || both[1].kind != isList || len(s.boxes[both[1].n]) == 0 {
			return errPickle
		}
		v := s.boxes[both[1].n][0]
		s.push(v.kind, v.n)
	default:
		return errPickle
	}
	return nil
}

func (s *stacker) tuple(op byte) ([]node, error) {
	if op == 't' {
		return s.above()
	}
	return s.take(int(op) - 0x84)
}

func holdsForeign(items []node) bool {
	for i := range items {
		if items[i].kind >= isFence {
			return true
		}
	}
	return false
}

func (s *stacker) textOf(width int) error {
	n, err := s.length(width)
	if err != nil {
		return err
	}
	from := s.at
	if _, err := s.bytes(n); err != nil {
		return err
	}
	s.push(isText, int64(from)<<32|int64(n))
	return nil
}

// integer reads a number, little end first, in two's complement where it has a sign.
func (s *stacker) integer(width int, signed bool) error {
	b, err := s.bytes(width)
	if err != nil {
		return err
	}
	v := uint64(0)
	for i := width - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	if signed && width > 0 && width < 8 && b[width-1] >= 0x80 {
		v |= ^uint64(0) << (8 * width)
	}
	s.push(isInt, int64(v))
	return nil
}

func (s *stacker) fill(op byte) error {
	var items []node
	var err error
	switch op {
	case 'a':
		items, err = s.take(1)
	case 's':
		items, err = s.take(2)
	default:
		items, err = s.above()
	}
	if err != nil || len(s.stack) == 0 || holdsForeign(items) {
		return errPickle
	}
	to := s.stack[len(s.stack)-1]
	switch to.kind {
	case isList:
		if op != 'a' && op != 'e' {
			return errPickle
		}
	case isObject:
		if op != 's' && op != 'u' || len(items)%2 != 0 {
			return errPickle
		}
		for i := 0; i < len(items); i += 2 {
			if items[i].kind != isText {
				return errPickle
			}
		}
	case isLeft: // more of what was gone over
		return nil
	default:
		return errPickle
	}
	if box := &s.boxes[to.n]; *box == nil {
		*box = s.own(items)
	} else {
		*box = append(*box, items...)
	}
	return nil
}

// maxGap is how far ahead of the last one something may be noted.
const maxGap = 1 << 16

func (s *stacker) note(op byte) error {
	i := len(s.memo)
	if op != 0x94 {
		width := 4
		if op == 'q' || op == 'h' {
			width = 1
		}
		var err error
		if i, err = s.length(width); err != nil {
			return err
		}
	}
	if op == 'h' || op == 'j' {
		if i >= len(s.memo) || s.memo[i].kind == isAbsent {
			return errPickle
		}
		s.push(s.memo[i].kind, s.memo[i].n)
		return nil
	}
	if len(s.stack) == 0 || i > len(s.memo)+maxGap || s.stack[len(s.stack)-1].kind >= isFence {
		return errPickle
	}
	for i >= len(s.memo) {
		s.memo, s.n = append(s.memo, node{}), s.n+1
	}
	s.memo[i] = s.stack[len(s.stack)-1]
	return nil
}
