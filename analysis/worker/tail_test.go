package worker

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

func TestTheTailKnowsItsLines(t *testing.T) {
	for _, end := range []string{"", "cut"} {
		for _, n := range []int{0, 1, 500, 1_000, 20_000} {
			var b strings.Builder
			for i := range n {
				fmt.Fprintf(&b, "%d of the lines\n", i+1)
			}
			text := b.String() + end
			lines := int64(n)
			if end != "" {
				lines++
			}
			for _, src := range []io.Reader{strings.NewReader(text), iotest.HalfReader(strings.NewReader(text))} {
				tail := tailReader{r: src}
				buf := make([]byte, 50_000)
				for {
					if _, err := tail.Read(buf); err != nil {
						break
					}
				}
				got, off, no := tail.lines(lines)
				want := fmt.Sprintf("%d of the", no)
				if no > int64(n) {
					want = end
				}
				if string(got) != text[off:] || !bytes.HasPrefix(got, []byte(want)) || n > 2_000 && len(got) < tailBytes-20 {
					t.Errorf("of %d lines: %.20q at %d is line %d", lines, got, off, no)
				}
			}
		}
	}
}
