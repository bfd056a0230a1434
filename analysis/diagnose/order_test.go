package diagnose

import (
	"slices"
	"testing"

	"faultline/analysis/resolve"
	"faultline/incident"
)

func TestNoEffectStandsAboveItsCause(t *testing.T) {
	at := func(sec, unc float64) resolve.Moment { return resolve.Moment{T: sec, Unc: unc, Valid: true} }
	rows := []row{
		{at(10, 0.5), turnExit, incident.Event{Event: "exit"}},
		{at(10.4, 0.5), turnCause, incident.Event{Event: "error"}},
		{at(10, 0.5), turnBefore, incident.Event{Event: "step"}},
		{at(10, 0), turnReport, incident.Event{Event: "launcher"}},
		{at(10.3, 0), turnWait, incident.Event{Event: "proven to be later"}},
		{at(16, 9), turnCause, incident.Event{Event: "another moment"}},
	}
	inOrder(rows)
	var got []string
	for _, r := range rows {
		got = append(got, r.e.Event)
	}
	if want := []string{"step", "error", "exit", "launcher", "proven to be later", "another moment"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
