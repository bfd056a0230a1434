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
	const margin, depth = 10, 8
	data, at, before := s.data, s.at, len(s.memo)
	if n := s.forms.match(data[at:]); n > 0 {
		s.at += n
		return true
	}
	numbers := s.forms.numbers[:0]
	var below [depth]int // how high it was piled below each fence, above the one before
	fences, height := 0, 1
	from, size := 0, -1 // of the text on top; -1: it is none
	whole := true       // what is on top holds other values
	for len(data)-at > margin {
		op := data[at]
		if op == 'h' {
			if int(data[at+1]) >= len(s.memo) {
				break
			}
			at, size, whole = at+2, -1, false
			height++
			continue
		}
		if e := effects[op]; e.size > 0 {
			if height < int(e.takes) {
				break
			}
			height += int(e.gives) - int(e.takes)
			if op == 'K' || op == 'M' || op == 'J' || op == 'G' {
				numbers = append(numbers, [2]int{at + 1 - s.at, at + int(e.size) - s.at})
			}
			at, size, whole = at+int(e.size), -1, e.takes > 0 || op == ']' || op == ')' || op == '}'
			continue
		}
		at++
		switch op {
		case '(':
			if fences == depth {
				return s.forgetFrom(before)
			}
			below[fences] = height
			fences++
			height = 0
			continue
		case 'e', 'u', 't':
			if fences == 0 || op == 'u' && height%2 != 0 {
				return s.forgetFrom(before)
			}
			fences--
			if height = below[fences]; op == 't' {
				height++
			} else if height == 0 {
				return s.forgetFrom(before)
			}
			if size, whole = -1, true; op == 'u' && fences == 0 && height == 1 {
				if s.forms.numbers = numbers; len(s.memo) == before {
					s.forms.add(data[s.at:], at-s.at)
				}
				s.at = at
				return true
			}
			continue
		case 0x8a:
			if data[at] > 8 {
				return s.forgetFrom(before)
			}
			numbers = append(numbers, [2]int{at + 1 - s.at, at + 1 + int(data[at]) - s.at})
			at += 1 + int(data[at])
			size, whole = -1, false
		case 'j':
			if i := int(data[at]) | int(data[at+1])<<8 | int(data[at+2])<<16 | int(data[at+3])<<24; i >= len(s.memo) {
				return s.forgetFrom(before)
			}
			at, size, whole = at+4, -1, false
		case 'X', 0x8c:
			if size = int(data[at]); op == 'X' {
				size |= int(data[at+1])<<8 | int(data[at+2])<<16 | int(data[at+3])<<24
				at += 3
			}
			if from = at + 1; size > len(data)-from {
				return s.forgetFrom(before)
			}
			at, whole = from+size, false
		case 'q', 'r', 0x94:
			i := len(s.memo)
			switch op {
			case 'q':
				i = int(data[at])
				at++
			case 'r':
				i = int(data[at]) | int(data[at+1])<<8 | int(data[at+2])<<16 | int(data[at+3])<<24
				at += 4
			}
			if i != len(s.memo) || height == 0 || s.n > maxTree {
				return s.forgetFrom(before)
			}
			switch {
			case size >= 0:
				s.memo = append(s.memo, node{isText, int64(from)<<32 | int64(size)})
			case whole:
				s.memo = append(s.memo, node{kind: isLeft})
			default:
				return s.forgetFrom(before)
			}
			s.n++
			continue
		default:
			return s.forgetFrom(before)
		}
		height++
	}
	return s.forgetFrom(before)
}

// forgetFrom undoes what was noted.
func (s *stacker) forgetFrom(n int) bool {
	s.n -= len(s.memo) - n
	s.memo = s.memo[:n]
	return false
}
