// Package pickle reads values that a program wrote with Python's pickle, without ever running what they ask for: numbers,
// texts, lists, tuples and dicts of protocols 2 to 4, which is what PyTorch's flight recorder writes (c10d, FlightRecorder and
// torch/csrc/jit/serialization/pickler.cpp, 2.2 to 2.10). Anything that would call, import or build is refused.
package pickle

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Kind is what a value is.
type Kind uint8

// Kinds of values. The zero value is None.
const (
	None Kind = iota
	Bool
	Int
	Float
	Text
	List
	Tuple
	Dict
	global // the name of something of Python's; never a value of the result
	gone   // it was handed out and dropped
	mark
)

// Value is one value. Lists and dicts may be shared: whoever walks them bounds how far.
type Value struct {
	kind Kind
	n    int64
	s    string
	box  *box
}

// box holds what a list or dict has; a dict its keys and values by turns.
type box struct{ items []Value }

// Kind says what it is.
func (v Value) Kind() Kind { return v.kind }

// Int is an integer or a bool.
func (v Value) Int() (int64, bool) { return v.n, v.kind == Int || v.kind == Bool }

// Float is a number.
func (v Value) Float() (float64, bool) {
	switch v.kind {
	case Float:
		return math.Float64frombits(uint64(v.n)), true
	case Int:
		return float64(v.n), true
	}
	return 0, false
}

// Text is a text.
func (v Value) Text() (string, bool) { return v.s, v.kind == Text }

// Items are the elements of a list or a tuple; of a dict its keys and values by turns. They are only read.
func (v Value) Items() []Value {
	if v.box == nil {
		return nil
	}
	return v.box.items
}

// Get is the value of a key of a dict; None if it has none. The last one counts.
func (v Value) Get(key string) Value {
	if v.kind != Dict {
		return Value{}
	}
	for i := len(v.box.items) - 2; i >= 0; i -= 2 {
		if k := &v.box.items[i]; k.kind == Text && k.s == key {
			return v.box.items[i+1]
		}
	}
	return Value{}
}

// Recognise says whether a file that begins so can be a pickle that this package reads.
func Recognise(head []byte) bool {
	if len(head) < 3 || head[0] != opProto || head[1] < 2 || head[1] > 4 {
		return false
	}
	switch head[2] {
	case opEmptyDict, opEmptyList, opEmptyTuple, opMark, opFrame:
		return true
	}
	return false
}

// MaxValues is how many values may be held at a time, with those that wait to be handed out.
const MaxValues = 2 << 20

// Reader reads one pickle.
type Reader struct {
	// Element, where it is set, is given each element of the list under a key of the outermost dict, or of an outermost list
	// (key ""), as soon as it is whole. What it returns true for is dropped then: it is not in the result, and may not be
	// kept. It is what keeps the memory bounded for long lists.
	Element func(key string, v Value) (drop bool)
	// Plain, where it is set, is asked before Element about elements that are dicts of the usual form, of which it is shown only
	// the members that are Wanted, at most 64. An element that it does not take is read and handed out in the ordinary way.
	Plain  func(key string, e *Plain) (taken bool)
	Wanted []string
	// Room, where it is set, is memory that is used for one pickle after the other: of the result nothing but texts and numbers is
	// valid when the next one is read.
	Room *Room
}

// Read reads a pickle. The texts of the result are part of data.
func (r Reader) Read(data string) (Value, error) {
	m := r.Room.machine()
	m.in, m.element = data, r.Element
	if r.Plain != nil && r.Element != nil {
		m.plain, m.taken = r.Room.noted(r.Wanted), r.Plain
	}
	if !Recognise([]byte(data[:min(len(data), 3)])) {
		return Value{}, errors.New("it is no pickle of protocols 2 to 4")
	}
	defer r.Room.keep(&m)
	if err := m.run(); err != nil {
		return Value{}, fmt.Errorf("at byte %d: %w", m.at, err)
	}
	return m.result, nil
}

// Opcodes of pickle, as Python's pickletools names them.
const (
	opProto           = 0x80
	opFrame           = 0x95
	opMark            = '('
	opStop            = '.'
	opEmptyDict       = '}'
	opEmptyList       = ']'
	opEmptyTuple      = ')'
	opAppend          = 'a'
	opAppends         = 'e'
	opSetItem         = 's'
	opSetItems        = 'u'
	opTuple           = 't'
	opTuple1          = 0x85
	opTuple2          = 0x86
	opTuple3          = 0x87
	opNone            = 'N'
	opTrue            = 0x88
	opFalse           = 0x89
	opBinInt          = 'J'
	opBinInt1         = 'K'
	opBinInt2         = 'M'
	opLong1           = 0x8a
	opBinFloat        = 'G'
	opBinUnicode      = 'X'
	opShortBinUnicode = 0x8c
	opBinUnicode8     = 0x8d
	opBinString       = 'T'
	opShortBinString  = 'U'
	opBinPut          = 'q'
	opLongBinPut      = 'r'
	opMemoize         = 0x94
	opBinGet          = 'h'
	opLongBinGet      = 'j'
	opGlobal          = 'c'
	opReduce          = 'R'
)

// harmless are the functions that PyTorch's writer puts around a list to state the type of its elements.
var harmless = map[string]bool{
	"torch.jit._pickle build_intlist": true, "torch.jit._pickle build_doublelist": true, "torch.jit._pickle build_boollist": true,
	"torch.jit._pickle restore_type_tag": true,
}

// machine is the stack machine that a pickle is written for.
type machine struct {
	in      string
	at      int
	stack   []Value
	marks   []int // places of the marks in the stack
	memo    []Value
	element func(string, Value) bool
	result  Value

	held int // values in boxes and on the stack, and in the memo
	// list is the place in the stack of the list whose elements are handed out, while handing; elemMemo and elemHeld are
	// what was remembered and held when its present element began.
	handing  bool
	list     int
	listKey  string
	elemMemo int
	elemHeld int
	kept     []Value // elements that were not dropped
	slab     slab
	elemSlab slab // as it was when the present element began

	plain    *Plain // nil: none are asked for
	taken    func(string, *Plain) bool
	sameMemo int // so much of the memo is as plain knows it
}

var errShort = errors.New("it ends in the middle")

func (m *machine) need(n int) (string, error) {
	if n < 0 || len(m.in)-m.at < n {
		return "", errShort
	}
	s := m.in[m.at : m.at+n]
	m.at += n
	return s, nil
}

func (m *machine) uint(n int) (int, error) {
	b, err := m.need(n)
	if err != nil {
		return 0, err
	}
	v := uint64(0)
	for i := n - 1; i >= 0; i-- {
		v = v<<8 | uint64(b[i])
	}
	if v > math.MaxInt32 {
		return 0, errors.New("a length or an index is too large")
	}
	return int(v), nil
}

func (m *machine) push(v Value) error {
	if m.held++; m.held > MaxValues {
		return fmt.Errorf("it holds more than %d values at a time", MaxValues)
	}
	m.stack = append(m.stack, v)
	return nil
}

func (m *machine) run() error {
	for m.at < len(m.in) {
		if m.plain != nil && m.handing && len(m.stack) == m.list+2 {
			m.plainElements()
		}
		op := m.in[m.at]
		m.at++
		if op == opStop {
			return m.stop()
		}
		if m.handing && len(m.stack) == m.list+3 {
			if err := m.handOut(op); err != nil {
				return err
			}
		}
		if done, err := m.common(op); done && err == nil {
			continue
		} else if err != nil {
			return err
		}
		if err := m.step(op); err != nil {
			return err
		}
	}
	return errShort
}

// common does the operations that dumps consist of, where nothing is odd about them.
func (m *machine) common(op byte) (done bool, err error) {
	rest := m.in[m.at:]
	switch op {
	case opBinGet, opBinInt1:
		if len(rest) < 1 {
			return false, nil
		}
		i := int(rest[0])
		if op == opBinInt1 {
			m.at++
			return true, m.push(Value{kind: Int, n: int64(i)})
		}
		return m.remembered(i, 1)
	case opLongBinGet:
		if len(rest) < 4 || rest[3] != 0 {
			return false, nil
		}
		return m.remembered(int(rest[0])|int(rest[1])<<8|int(rest[2])<<16, 4)
	case opBinInt2:
		if len(rest) < 2 {
			return false, nil
		}
		m.at += 2
		return true, m.push(Value{kind: Int, n: int64(rest[0]) | int64(rest[1])<<8})
	case opBinInt:
		if len(rest) < 4 {
			return false, nil
		}
		m.at += 4
		return true, m.push(Value{kind: Int, n: int64(int32(uint32(rest[0]) | uint32(rest[1])<<8 | uint32(rest[2])<<16 | uint32(rest[3])<<24))})
	}
	return false, nil
}

// remembered pushes what is remembered under a number that was written with so many bytes.
func (m *machine) remembered(i, width int) (done bool, err error) {
	if i >= len(m.memo) || m.memo[i].kind >= gone {
		return false, nil
	}
	m.at += width
	return true, m.push(m.memo[i])
}

func (m *machine) stop() error {
	if len(m.stack) != 1 || len(m.marks) > 0 {
		return errors.New("it ends with something open")
	}
	m.result = m.stack[0]
	if k := m.result.kind; k == global || k == gone || k == mark {
		return errors.New("it holds no value")
	}
	return nil
}

func (m *machine) step(op byte) error {
	switch op {
	case opProto:
		_, err := m.need(1)
		return err
	case opFrame:
		_, err := m.need(8)
		return err
	case opMark:
		m.marks = append(m.marks, len(m.stack))
		if len(m.marks) > maxDepth {
			return fmt.Errorf("it is nested more than %d deep", maxDepth)
		}
		m.elements()
		return m.push(Value{kind: mark})
	case opEmptyDict:
		return m.push(Value{kind: Dict, box: m.slab.box()})
	case opEmptyList:
		return m.push(Value{kind: List, box: m.slab.box()})
	case opEmptyTuple:
		return m.push(Value{kind: Tuple, box: m.slab.box()})
	case opNone:
		return m.push(Value{})
	case opTrue:
		return m.push(Value{kind: Bool, n: 1})
	case opFalse:
		return m.push(Value{kind: Bool})
	case opAppend, opSetItem, opAppends, opSetItems, opTuple, opTuple1, opTuple2, opTuple3:
		return m.gather(op)
	case opBinPut, opLongBinPut, opMemoize, opBinGet, opLongBinGet:
		return m.remember(op)
	case opGlobal:
		return m.named()
	case opReduce:
		return m.reduce()
	}
	v, err := m.scalar(op)
	if err != nil {
		return err
	}
	return m.push(v)
}

// scalar reads a number or a text.
func (m *machine) scalar(op byte) (Value, error) {
	size, width := 0, 0
	switch op {
	case opBinInt1:
		size = 1
	case opBinInt2:
		size = 2
	case opBinInt:
		size = 4
	case opBinFloat:
		size = 8
	case opLong1, opShortBinUnicode, opShortBinString:
		width = 1
	case opBinUnicode, opBinString:
		width = 4
	case opBinUnicode8:
		width = 8
	default:
		return Value{}, fmt.Errorf("it uses the operation 0x%02x, which values do not need: refused", op)
	}
	if width > 0 {
		n, err := m.uint(width)
		if err != nil {
			return Value{}, err
		}
		size = n
	}
	s, err := m.need(size)
	if err != nil {
		return Value{}, err
	}
	switch op {
	case opBinInt1, opBinInt2:
		v := int64(s[0])
		if size == 2 {
			v |= int64(s[1]) << 8
		}
		return Value{kind: Int, n: v}, nil
	case opBinInt:
		return Value{kind: Int, n: int64(int32(binary.LittleEndian.Uint32([]byte(s))))}, nil
	case opBinFloat:
		return Value{kind: Float, n: int64(binary.BigEndian.Uint64([]byte(s)))}, nil
	case opLong1:
		return long(s)
	}
	return Value{kind: Text, s: s, n: span(m.at-size, size)}, nil
}

// long is an integer of any length, little end first, in two's complement.
func long(s string) (Value, error) {
	if len(s) > 8 {
		return Value{}, errors.New("a number has more than 64 bits")
	}
	v := uint64(0)
	for i := len(s) - 1; i >= 0; i-- {
		v = v<<8 | uint64(s[i])
	}
	if n := len(s); n > 0 && n < 8 && s[n-1]&0x80 != 0 {
		v |= ^uint64(0) << (8 * n)
	}
	return Value{kind: Int, n: int64(v)}, nil
}

const maxDepth = 64

// cut takes everything behind the last mark from the stack.
func (m *machine) cut() ([]Value, error) {
	if len(m.marks) == 0 {
		return nil, errors.New("an operation lacks its mark")
	}
	i := m.marks[len(m.marks)-1]
	m.marks = m.marks[:len(m.marks)-1]
	if i >= len(m.stack) || m.stack[i].kind != mark {
		return nil, errors.New("an operation lacks its mark")
	}
	out := m.stack[i+1:]
	m.stack = m.stack[:i]
	m.held--
	return out, nil
}

// under is how many values stand above the last mark: what may be taken without it.
func (m *machine) under() int {
	if len(m.marks) == 0 {
		return len(m.stack)
	}
	return len(m.stack) - m.marks[len(m.marks)-1] - 1
}

func (m *machine) gather(op byte) error {
	var items []Value
	into := Value{kind: Tuple}
	switch op {
	case opTuple1, opTuple2, opTuple3, opAppend, opSetItem:
		n := 1
		switch op {
		case opTuple2, opSetItem:
			n = 2
		case opTuple3:
			n = 3
		}
		if m.under() < n {
			return errors.New("an operation lacks its values")
		}
		items = m.stack[len(m.stack)-n:]
		m.stack = m.stack[:len(m.stack)-n]
	default:
		var err error
		if items, err = m.cut(); err != nil {
			return err
		}
	}
	for i := range items {
		if k := items[i].kind; k == global || k == mark {
			return errors.New("it holds the name of something to call: refused")
		}
	}
	if op == opTuple || op == opTuple1 || op == opTuple2 || op == opTuple3 {
		into.box = m.slab.box()
		into.box.items = append(m.slab.items(len(items)), items...)
		return m.push(into)
	}
	if m.under() < 1 {
		return errors.New("an operation lacks what it adds to")
	}
	to := m.stack[len(m.stack)-1]
	if want := (op == opSetItem || op == opSetItems); want != (to.kind == Dict) || !want && to.kind != List {
		return errors.New("it adds to something that is no list or dict")
	} else if want && len(items)%2 != 0 {
		return errors.New("a dict has a key without a value")
	}
	if m.handing && len(m.stack)-1 == m.list {
		items = append(m.kept, items...)
		m.kept, m.handing = nil, false
	}
	if to.box.items == nil {
		to.box.items = m.slab.items(len(items))
	}
	to.box.items = append(to.box.items, items...)
	return nil
}

// remember puts the top of the stack into the memo, or takes from there.
func (m *machine) remember(op byte) error {
	i := len(m.memo)
	if op != opMemoize {
		width := 4
		if op == opBinPut || op == opBinGet {
			width = 1
		}
		var err error
		if i, err = m.uint(width); err != nil {
			return err
		}
	}
	if op == opBinGet || op == opLongBinGet {
		if i >= len(m.memo) || m.memo[i].kind == mark {
			return errors.New("it refers to something that is not there")
		}
		if m.memo[i].kind == gone {
			return errors.New("it refers to part of an element that was dropped")
		}
		return m.push(m.memo[i])
	}
	if m.under() < 1 {
		return errors.New("there is nothing to remember")
	}
	if i > len(m.memo) { // writers count from 0 upwards
		return errors.New("it remembers out of order")
	}
	v := m.stack[len(m.stack)-1]
	if i < len(m.memo) {
		m.memo[i], m.sameMemo = v, min(m.sameMemo, i)
		return nil
	}
	if m.held++; m.held > MaxValues {
		return fmt.Errorf("it holds more than %d values at a time", MaxValues)
	}
	m.memo = append(m.memo, v)
	return nil
}

// named reads the name of something of Python's: a module and a name, each ended by a newline.
func (m *machine) named() error {
	start, lines := m.at, 0
	for m.at < len(m.in) && m.at-start < 512 {
		m.at++
		if m.in[m.at-1] == '\n' {
			if lines++; lines == 2 {
				name := []byte(m.in[start : m.at-1])
				for i, c := range name {
					if c == '\n' {
						name[i] = ' '
					}
				}
				return m.push(Value{kind: global, s: string(name)})
			}
		}
	}
	return errShort
}

// reduce calls something. Only what wraps a list in PyTorch's own way is let through, and it is not called either.
func (m *machine) reduce() error {
	if m.under() < 2 {
		return errors.New("an operation lacks its values")
	}
	f, args := m.stack[len(m.stack)-2], m.stack[len(m.stack)-1]
	if f.kind != global || args.kind != Tuple || len(args.box.items) == 0 || !harmless[f.s] {
		return fmt.Errorf("it asks to call %q: refused", printable(f.s))
	}
	m.stack = append(m.stack[:len(m.stack)-2], args.box.items[0])
	m.held -= 2
	return nil
}

func printable(s string) string {
	out := make([]byte, 0, 80)
	for i := 0; i < len(s) && len(out) < 80; i++ {
		if c := s[i]; c >= ' ' && c < utf8.RuneSelf && c != 0x7f {
			out = append(out, c)
		}
	}
	return string(out)
}
