package analysis

import (
	"strings"
	"testing"
)

// A schedule that ended long before the run wastes every step since.
func TestALearningRateOfZeroIsToldFromItsStep(t *testing.T) {
	lines := strings.SplitAfter(paceLog(1, 1), "\n")
	for i := range lines {
		rate := "1.000000E-04"
		if i >= 70 {
			rate = "0.000000E+00"
		}
		lines[i] = strings.Replace(lines[i], "1.0E-04", rate, 1)
	}
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": strings.Join(lines, "")}, "")})
	if v := r.Verdict; v.Mechanism != "loss-plateau" || !strings.Contains(v.Summary, "learning rate is 0 since step 710") {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
	for i := range lines { // at the very end it is what a schedule does
		lines[i] = strings.Replace(lines[i], "/  100000", "/    1200", 1)
	}
	r = diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": strings.Join(lines, "")}, "")})
	if v := r.Verdict; v.Mechanism == "loss-plateau" {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}
