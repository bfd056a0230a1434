package analysis

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Of a long log only a part is read. Where a slowdown began is looked at once more, line by line.
func TestALongLogTellsTheFirstSlowStep(t *testing.T) {
	for _, onset := range []int{2345, 3011, 4444} {
		var b strings.Builder
		at := time.Date(2026, 2, 3, 14, 0, 0, 0, time.UTC)
		for i := 1; i <= 6000; i++ {
			took := 2 + 0.01*float64(i%5)
			if i >= onset {
				took = 3 + 0.01*float64(i%5)
			}
			if i == onset-300 || i == onset-20 {
				took = 40 // a pause
			}
			at = at.Add(time.Duration(took * float64(time.Second)))
			fmt.Fprintf(&b, " [%s] iteration %8d/  100000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f | learning rate: 1.0E-04 | global batch size:  1024 | lm loss: 2.0%dE+00 | loss scale: 1.0 | grad norm: 0.5 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
				at.Format(time.DateTime), i, 1024*i, 1000*took, i%9)
		}
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": b.String()}, "")})
		if want := fmt.Sprintf("from step %d on", onset); !strings.Contains(r.Verdict.Summary, want) {
			t.Errorf("%s: want %q", r.Verdict.Summary, want)
		}
	}
}
