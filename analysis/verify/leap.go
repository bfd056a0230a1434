package verify

import (
	"strconv"
	"strings"

	"faultline/incident"
)

// Of a long list few elements are asked for. An element that is an object and that no place names is gone over without its values:
// only how high the operations pile is followed, and what is noted for later; where it is written like one before it (form.go), not even that. If something is asked after all that was left out, the
// pickle is read once more, as a whole.

// numbersIn are the elements that places name, of whatever list.
func numbersIn(asks []*incident.Evidence) map[int]bool {
	out := map[int]bool{}
	for _, ev := range asks {
		for rest := ev.Place; ; {
			_, after, ok := strings.Cut(rest, "[")
			if !ok {
				break
			}
			step, behind, _ := strings.Cut(after, "]")
			if n, err := strconv.Atoi(step); err == nil {
				out[n] = true
			}
			rest = behind
		}
	}
	return out
}

// effect is what an operation of fixed size does to the pile.
type effect struct {
	size         uint8 // with its operand; 0: it is none of these
	takes, gives uint8
}

var effects = [256]effect{
	'K': {2, 0, 1}, 'M': {3, 0, 1}, 'J': {5, 0, 1}, 'G': {9, 0, 1}, 'N': {1, 0, 1}, 0x88: {1, 0, 1}, 0x89: {1, 0, 1},
	']': {1, 0, 1}, ')': {1, 0, 1}, '}': {1, 0, 1}, 'a': {1, 2, 1}, 's': {1, 3, 1}, 0x85: {1, 1, 1}, 0x86: {1, 2, 1}, 0x87: {1, 3, 1},
}

// unnamed says that the object that begins here is an element that nobody asks for.
func (s *stacker) unnamed() bool {
	if s.wanted == nil || len(s.fences) == 0 {
		return false
	}
	f := s.fences[len(s.fences)-1]
	if f == 0 || s.stack[f-1].kind != isList {
		return false
	}
	return !s.wanted[len(s.boxes[s.stack[f-1].n])+len(s.stack)-f-1]
}

// leap goes over an object, behind the operation that begins it. It is not ok, and has done nothing, where it meets anything that
// such an object has no need of.
func (s *stacker) leap() bool {
	const margin = 10
	if n := s.forms.match(s.data[s.at:]); n > 0 {
		s.at += n
		return true
	}
	l := leaper{s: s, at: s.at, height: 1, size: noText, whole: true, numbers: s.forms.numbers[:0]}
	before := len(s.memo)
	for len(s.data)-l.at > margin && l.operation() {
		if l.done {
			if s.forms.numbers = l.numbers; len(s.memo) == before {
				s.forms.add(s.data[s.at:], l.at-s.at)
			}
			s.at = l.at
			return true
		}
	}
	return s.forgetFrom(before)
}

// leaper goes over one object.
type leaper struct {
	s      *stacker
	at     int
	below  [fencesHigh]int // how high it was piled below each fence, above the one before
	fences int
	height int
	// from and size are those of the text on top; a size of noText: it is none. whole: what is on top holds other values.
	from, size int
	whole      bool
	numbers    [][2]int
	done       bool // the object ends here
}

const (
	fencesHigh = 8
	noText     = -1
)

// operation goes over one. It is false where such an object has none like it.
func (l *leaper) operation() bool {
	data, op := l.s.data, l.s.data[l.at]
	if e := effects[op]; e.size > 0 {
		return l.fixed(op, e)
	}
	l.at++
	switch op {
	case '(':
		if l.fences == fencesHigh {
			return false
		}
		l.below[l.fences] = l.height
		l.fences++
		l.height = 0
		return true
	case 'e', 'u', 't':
		return l.gather(op)
	case 'q', 'r', 0x94:
		return l.note(op)
	case 'h', 'j':
		return l.little(op == 'j') < len(l.s.memo) && l.pushed(noText)
	case 0x8a:
		size := l.little(false)
		if size > 8 {
			return false
		}
		l.numbers = append(l.numbers, [2]int{l.at - l.s.at, l.at + size - l.s.at})
		l.at += size
		return l.pushed(noText)
	case 'X', 0x8c:
		size := l.little(op == 'X')
		if size > len(data)-l.at {
			return false
		}
		l.from = l.at
		l.at += size
		return l.pushed(size)
	}
	return false
}

// pushed says that a value that holds no others is on top now: a text of a size, or noText.
func (l *leaper) pushed(size int) bool {
	l.height++
	l.size, l.whole = size, false
	return true
}

// little is the number in a byte, or in four, the lowest first, which it steps over.
func (l *leaper) little(four bool) int {
	data, at := l.s.data, l.at
	if !four {
		l.at++
		return int(data[at])
	}
	l.at += 4
	return int(data[at]) | int(data[at+1])<<8 | int(data[at+2])<<16 | int(data[at+3])<<24
}

// fixed goes over an operation whose size is always the same.
func (l *leaper) fixed(op byte, e effect) bool {
	if l.height < int(e.takes) {
		return false
	}
	l.height += int(e.gives) - int(e.takes)
	end := l.at + int(e.size)
	if op == 'K' || op == 'M' || op == 'J' || op == 'G' {
		l.numbers = append(l.numbers, [2]int{l.at + 1 - l.s.at, end - l.s.at})
	}
	empty := op == ']' || op == ')' || op == '}'
	l.at, l.size, l.whole = end, noText, e.takes > 0 || empty
	return true
}

// gather makes one value of those above the last fence, or adds them to the one below it.
func (l *leaper) gather(op byte) bool {
	if l.fences == 0 || op == 'u' && l.height%2 != 0 {
		return false
	}
	l.fences--
	if l.height = l.below[l.fences]; op == 't' {
		l.height++
	}
	l.size, l.whole = noText, true
	l.done = op == 'u' && l.fences == 0 && l.height == 1
	return l.height > 0
}

// note numbers what is on top, for later.
func (l *leaper) note(op byte) bool {
	s := l.s
	i := len(s.memo)
	if op != 0x94 {
		i = l.little(op == 'r')
	}
	if i != len(s.memo) || l.height == 0 || s.n > maxTree {
		return false
	}
	switch {
	case l.size >= 0:
		s.memo = append(s.memo, node{isText, int64(l.from)<<32 | int64(l.size)})
	case l.whole:
		s.memo = append(s.memo, node{kind: isLeft})
	default:
		return false
	}
	s.n++
	return true
}

// forgetFrom undoes what was noted.
func (s *stacker) forgetFrom(n int) bool {
	s.n -= len(s.memo) - n
	s.memo = s.memo[:n]
	return false
}
