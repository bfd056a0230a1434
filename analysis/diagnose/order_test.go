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
		{at(29.9, 3), turnWait, incident.Event{Event: "wait"}},
		{at(30.1, 3), turnBefore, incident.Event{Event: "a step of the next second"}},
		{at(50, 3), turnExit, incident.Event{Event: "another exit"}},
		{at(52, 3), turnCause, incident.Event{Event: "its cause"}},
	}
	inOrder(rows)
	var got []string
	for _, r := range rows {
		got = append(got, r.e.Event)
	}
	if want := []string{"step", "error", "exit", "launcher", "proven to be later", "another moment", "wait", "a step of the next second", "its cause" + clockUnsure, "another exit"}; !slices.Equal(got, want) {
		t.Errorf("%q, not %q", got, want)
	}
}
