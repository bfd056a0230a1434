package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/analysis/diagnose/mechanism"
	"faultline/incident"
	"faultline/simulate"
)

// lossLog is a Megatron log of n lines, ten steps each.
func lossLog(n int, loss func(i int) float64, rate func(i int) string, batch func(i int) int) string {
	var b strings.Builder
	for i := 1; i <= n; i++ {
		s := i * 4
		fmt.Fprintf(&b, " [2025-06-03 %02d:%02d:%02d] iteration %8d/  500000 | elapsed time per iteration (ms): 400.0 | learning rate: %s | global batch size: %5d | lm loss: %.6E | loss scale: 1.0 | grad norm: 0.4 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
			10+s/3600, s/60%60, s%60, 10*i, rate(i), batch(i), loss(i))
	}
	return b.String()
}

func reportOfLog(t *testing.T, log string) *incident.Report {
	t.Helper()
	return run(read(t, []simulate.File{{Name: "train.log", Data: []byte(log)}}, nil, 8), mechanism.All())
}

// said is all that a report says of why, with what it rests on.
func said(r *incident.Report) string {
	text := r.Verdict.Summary + "\n" + r.Verdict.Why
	for _, link := range r.Chain {
		text += "\n" + link.Statement
	}
	return text
}

func TestWhatChangedBeforeTheLossIsNamed(t *testing.T) {
	calm := func(i int) float64 { return 2 - float64(i)/1000 + 0.01*float64(i%3) }
	jump := func(at int) func(i int) float64 {
		return func(i int) float64 {
			if i <= at {
				return calm(i)
			}
			return 7 + 0.1*float64(i%4)
		}
	}
	steady := func(int) string { return "3.000E-04" }
	fixed := func(int) int { return 256 }
	for _, tt := range []struct {
		name, log string
		want, not []string
	}{
		{"the learning rate jumps", lossLog(120, jump(80), func(i int) string { return map[bool]string{false: "3.000E-04", true: "3.000E-03"}[i > 78] }, fixed),
			[]string{"learning rate changed from 0.0003 to 0.003"}, []string{"batch"}},
		{"the batch grows without it", lossLog(120, jump(80), steady, func(i int) int { return map[bool]int{false: 256, true: 1024}[i > 79] }),
			[]string{"batch changed from 256 to 1024", "stayed near 0.0003", "linear rule is 4 times", "square-root rule 2 times", "0.0012 or 0.0006"}, nil},
		{"nothing changes", lossLog(120, jump(80), steady, fixed), []string{"no line shows why"}, []string{"changed from"}},
		{"a schedule decays", lossLog(120, jump(80), func(i int) string { return fmt.Sprintf("%.3E", 3e-4/(1+float64(i)/10)) }, fixed), []string{"no line shows why"}, []string{"changed from"}},
		{"long before", lossLog(120, jump(80), func(i int) string { return map[bool]string{false: "3.000E-04", true: "3.000E-03"}[i > 30] }, fixed), []string{"no line shows why"}, []string{"changed from"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			text := said(reportOfLog(t, tt.log))
			for _, w := range tt.want {
				if !strings.Contains(text, w) {
					t.Errorf("%q is missing in\n%s", w, text)
				}
			}
			for _, w := range tt.not {
				if strings.Contains(text, w) {
					t.Errorf("%q is in\n%s", w, text)
				}
			}
		})
	}
}

func TestAFlatLossNamesAScheduleThatRanOut(t *testing.T) {
	flat := func(i int) float64 {
		if i < 100 {
			return 3 - float64(i)/100
		}
		return 2 + 0.001*float64(i%2)
	}
	fixed := func(int) int { return 256 }
	gone := func(i int) string { return map[bool]string{false: "3.000E-04", true: "1.000E-07"}[i > 95] }
	text := said(reportOfLog(t, lossLog(330, flat, gone, fixed)))
	if !strings.Contains(text, "learning rate had fallen to 1e-07, from 0.0003") {
		t.Error(text)
	}
	if text := said(reportOfLog(t, lossLog(330, flat, func(int) string { return "3.000E-04" }, fixed))); strings.Contains(text, "had fallen") || !strings.Contains(text, "has not improved") {
		t.Error(text)
	}
}
