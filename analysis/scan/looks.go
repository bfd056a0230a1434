package scan

import (
	"encoding/binary"
	"math/bits"
)

// stretch is so many looks, a multiple of 64: with the text under them they fit into the first-level cache.
const stretch = 2048

// looks says of a stretch of text which looks at it met a word of the table, with a byte behind it that may follow. All
// looks of a stretch are taken before the first of them is asked for: then nothing waits for what one of them found,
// and a vector of them costs as much as one.
type looks struct {
	by   *filter // nil: of none
	p    int     // what lies before was asked for
	left uint64  // of the 64 looks from at on: those that met something and do not lie before p
	at   int     // the first look of left
	next int     // of met
	n    int     // how many of met count
	end  int     // where the look behind the stretch would be
	met  [stretch / 64]uint64
}

// first is the first look at p or behind it that met something in b[:to]; −1 if there is none. All texts of one looks begin
// at the same place of one text and differ only in how far they go. Looks lie stride bytes apart; only a p behind all that
// were taken, or before one that was asked for, can lie elsewhere.
func (l *looks) first(f *filter, b []byte, p, to int) int {
	if l.by != f || p < l.p {
		l.by, l.left, l.next, l.n, l.end = f, 0, 0, 0, p
	}
	l.p = p
	for {
		for l.left != 0 {
			at := l.at + bits.TrailingZeros64(l.left)*f.stride
			if at < p {
				l.left &= l.left - 1
				continue
			}
			if at+gram-1 > to {
				return -1
			}
			return at
		}
		if l.next < l.n {
			l.left = l.met[l.next]
			l.at += 64 * f.stride
			l.next++
			continue
		}
		from := max(p, l.end)
		if from+gram-1 > to {
			return -1
		}
		l.take(b, from)
	}
}

// take takes a stretch of looks from p on, or as many as there are up to the last one with gram−1 bytes.
func (l *looks) take(b []byte, p int) {
	n := l.by.takeStretch(b[p:], &l.met)
	l.at, l.end, l.next, l.n = p-64*l.by.stride, p+n*l.by.stride, 0, (n+63)/64
}

// takeStretch takes a stretch of looks at b, which holds one at least, or as many as there are up to the last one with gram−1
// bytes, and says how many these were.
func (f *filter) takeStretch(b []byte, met *[stretch / 64]uint64) (n int) {
	n = min((len(b)-(gram-1))/f.stride+1, stretch)
	clear(met[:(n+63)/64])
	f.takeSlowly(b, f.take(b, n, met), n, met)
	return n
}

// meets is one look: gram−1 bytes at least follow there.
func (f *filter) meets(b []byte, p int) bool {
	if p+gram < len(b) {
		return f.flags[hash(binary.LittleEndian.Uint32(b[p:]))]&follow(b[p+gram]) != 0
	}
	return f.flags[hash(load(b, p))] != 0
}

// takeEach takes the first looks at b, as many of n as it can in one go, and says how many these were.
func (f *filter) takeEach(b []byte, n int, met *[stretch / 64]uint64) int {
	const some = 8
	flags := &f.flags
	i := 0
	switch f.stride {
	case 4:
		for ; i+some <= n && 4*(i+some) < len(b); i += some {
			q := (*[4 * some]byte)(b[4*i:])
			if flags[hash(binary.LittleEndian.Uint32(q[:]))]|flags[hash(binary.LittleEndian.Uint32(q[4:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[8:]))]|flags[hash(binary.LittleEndian.Uint32(q[12:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[16:]))]|flags[hash(binary.LittleEndian.Uint32(q[20:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[24:]))]|flags[hash(binary.LittleEndian.Uint32(q[28:]))] != 0 {
				f.takeSlowly(b, i, i+some, met)
			}
		}
	case 3:
		for ; i+some <= n && 3*(i+some)+1 < len(b); i += some {
			q := (*[3*some + 1]byte)(b[3*i:])
			if flags[hash(binary.LittleEndian.Uint32(q[:]))]|flags[hash(binary.LittleEndian.Uint32(q[3:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[6:]))]|flags[hash(binary.LittleEndian.Uint32(q[9:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[12:]))]|flags[hash(binary.LittleEndian.Uint32(q[15:]))]|
				flags[hash(binary.LittleEndian.Uint32(q[18:]))]|flags[hash(binary.LittleEndian.Uint32(q[21:]))] != 0 {
				f.takeSlowly(b, i, i+some, met)
			}
		}
	}
	return i
}

// takeSlowly takes the looks i to n−1 at b, one by one.
func (f *filter) takeSlowly(b []byte, i, n int, met *[stretch / 64]uint64) {
	for ; i < n; i++ {
		if f.meets(b, i*f.stride) {
			met[i/64] |= 1 << (i % 64)
		}
	}
}
