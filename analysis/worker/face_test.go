package worker

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"faultline/analysis/scan"
)

// delivered is how many lines of a log its reader is given.
func delivered(t *testing.T, text []byte) (n int) {
	t.Helper()
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	r := newReader("x", sc)
	if _, err := sc.ScanNews(context.Background(), bytes.NewReader(text), r.peek, func(l *scan.Line) (int, error) { n++; return r.visit(l) }); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestLinesAreKnownByTheirFaces(t *testing.T) {
	const n = 12000
	none := func(int) string { return "" }
	if got := delivered(t, routineLog(n, none)); got > n {
		t.Errorf("%d of %d lines are searched and given to the reader", got, 2*n)
	}
	// Lines without any literal between them are passed over, too.
	silent := func(i int) string { return fmt.Sprintf("queue of %d holds %d\n", i%8, i) }
	if got := delivered(t, routineLog(n, silent)); got > n {
		t.Errorf("%d of %d lines are searched and given to the reader", got, 3*n)
	}
}

func TestAFaceWhoseLinesHoldOtherLiteralsIsNotTrusted(t *testing.T) {
	const n, seldom = 12000, 9
	for _, c := range []struct{ name, plain, odd string }{
		{"in lines that hold none", "opened part/%d/a.log\n", "opened part/%d/ConnectionResetError.log\n"},
		{"in lines of a routine", "gpu %d: batch done, see part/b.log\n", "gpu %d: batch done, see part/ConnectionResetError.log\n"},
	} {
		text := routineLog(n, func(i int) string {
			if i%seldom == 0 {
				return fmt.Sprintf(c.odd, i)
			}
			return fmt.Sprintf(c.plain, i)
		})
		obs, all, _ := bothWays(t, text)
		if len(all.Resets) == 0 {
			t.Fatalf("%s: no connection was reset", c.name)
		}
		sameRemains(t, obs, all)
	}
}
