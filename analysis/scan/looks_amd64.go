package scan

import "golang.org/x/sys/cpu"

// vectors says that this processor can do what looks_amd64.s asks of it.
var vectors = cpu.X86.HasAVX2

// take takes the first looks at b, as many of n as it can in one go, and says how many these were.
func (f *filter) take(b []byte, n int, met *[stretch / 64]uint64) int {
	if !vectors || f.stride < 3 {
		return f.takeEach(b, n, met)
	}
	// The last look of a vector is at the four bytes before the first one behind it, and one more, or two.
	some := min(n/vector, (len(b)-gram)/(vector*f.stride))
	if some <= 0 {
		return 0
	}
	if f.stride == 3 {
		looks3(&f.flags[0], &b[0], some, &met[0])
	} else {
		looks4(&f.flags[0], &b[0], some, &met[0])
	}
	return some * vector
}

// vector is how many looks are taken at a time.
const vector = 16

// looks3 and looks4 take n×vector looks at b, three or four bytes apart. They read n×vector×stride+4 bytes of b.
//
//go:noescape
func looks3(flags *uint8, b *byte, n int, met *uint64)

//go:noescape
func looks4(flags *uint8, b *byte, n int, met *uint64)
