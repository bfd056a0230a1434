package diagnose

import (
	"testing"

	"faultline/analysis/resolve"
)

// A line without a time of its own must not be shown at the time that happens to stand above it.
func TestALineWithoutATimeSaysSo(t *testing.T) {
	at := func(s float64) resolve.Moment { return resolve.Moment{T: s, Unc: 1, Valid: true} }
	ended := &resolve.Rank{Exit: &resolve.Exit{T: at(90)}}
	for name, c := range map[string]struct {
		failure resolve.Failure
		want    float64
		note    string
	}{
		"its own time":        {resolve.Failure{T: at(50), NotBefore: at(10), Proc: ended}, 50, ""},
		"its process ended":   {resolve.Failure{NotBefore: at(10), Proc: ended}, 90, " (at the latest)"},
		"ended before it":     {resolve.Failure{NotBefore: at(95), Proc: ended}, 95, " (at the earliest)"},
		"nothing but a bound": {resolve.Failure{NotBefore: at(10)}, 10, " (at the earliest)"},
	} {
		if when, note := untimed(&c.failure); when.T != c.want || note != c.note {
			t.Errorf("%s: %v %q", name, when.T, note)
		}
	}
	if when, _ := untimed(&resolve.Failure{}); when.Valid {
		t.Error("no bound at all, and yet a time")
	}
}
