package verify

import "encoding/binary"

// form is how an element is written that was gone over: one with the same operations in the same places, whatever its numbers,
// piles up the same and notes nothing.
type form struct {
	bytes, mask []byte // the mask is 0 where a number stands; both in whole words
	size        int
	next        int // which form followed the last time
}

// forms are those of one pickle.
type forms struct {
	all     []form
	n       int // of all, how many are known
	last    int
	numbers [][2]int // of the element at hand: from and to
}

const (
	maxForms = 48
	maxForm  = 4 << 10
)

// match is how long the element is that data begins with; 0: it has no known form.
func (f *forms) match(data []byte) int {
	if f.n == 0 {
		return 0
	}
	i := f.all[f.last].next
	if !f.all[i].same(data) {
		for i = 0; i < f.n && !f.all[i].same(data); i++ {
		}
		if i == f.n {
			return 0
		}
		f.all[f.last].next = i
	}
	f.last = i
	return f.all[i].size
}

func (x *form) same(data []byte) bool {
	if len(data) < len(x.bytes) {
		return false
	}
	text, mask := x.bytes, x.mask
	for len(text) >= 8 && len(mask) >= 8 && len(data) >= 8 {
		if (binary.LittleEndian.Uint64(data)^binary.LittleEndian.Uint64(text))&binary.LittleEndian.Uint64(mask) != 0 {
			return false
		}
		text, mask, data = text[8:], mask[8:], data[8:]
	}
	return true
}

// add makes a form of the first size bytes of data, in which the numbers stand.
func (f *forms) add(data []byte, size int) {
	words := (size + 7) &^ 7
	if f.n == maxForms || size > maxForm || words > len(data) {
		return
	}
	if f.n == len(f.all) {
		f.all = append(f.all, form{})
	}
	x := &f.all[f.n]
	x.bytes, x.mask, x.size, x.next = append(x.bytes[:0], data[:words]...), x.mask[:0], size, 0
	for i := range words {
		m := byte(0xff)
		if i >= size {
			m = 0
		}
		x.mask = append(x.mask, m)
	}
	for _, r := range f.numbers {
		clear(x.mask[r[0]:r[1]])
	}
	if f.n > 0 {
		f.all[f.last].next = f.n
	}
	f.last = f.n
	f.n++
}
