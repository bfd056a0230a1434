package scan

import (
	"os"
	"strings"

	"golang.org/x/sys/cpu"
)

// gathers says that this processor looks up eight words at once, and faster than one by one. Where it is protected from
// Downfall (CVE-2022-40982) by its microcode, it does not: then a gather waits for what was begun before it.
var gathers = cpu.X86.HasAVX2 && !slowGathers()

func slowGathers() bool {
	state, err := os.ReadFile("/sys/devices/system/cpu/vulnerabilities/gather_data_sampling")
	return err == nil && strings.HasPrefix(string(state), "Mitigation: Microcode")
}

// take takes the first looks at b, as many of n as it can in one go, and says how many these were.
func (f *filter) take(b []byte, n int, met *[stretch / 64]uint64) int {
	if !gathers || f.stride < 3 {
		return f.takeEach(b, n, met)
	}
	// The last look of a vector is at the four bytes before the first one behind it, and one more, or two.
	some := min(n/vector, (len(b)-gram)/(vector*f.stride))
	if some <= 0 {
		return 0
	}
	if f.stride == 3 {
		gather3(&f.flags[0], &b[0], some, &met[0])
	} else {
		gather4(&f.flags[0], &b[0], some, &met[0])
	}
	return some * vector
}

// vector is how many looks are taken at a time.
const vector = 16

// gather3 and gather4 take n×vector looks at b, three or four bytes apart. They read n×vector×stride+4 bytes of b.
//
//go:noescape
func gather3(flags *uint8, b *byte, n int, met *uint64)

//go:noescape
func gather4(flags *uint8, b *byte, n int, met *uint64)
