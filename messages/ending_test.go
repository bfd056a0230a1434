package messages

import (
	"strings"
	"testing"

	"faultline/incident"
)

// Only what was seen to end is said to have completed, and nothing is called healthy whose end was not seen.
func TestTheHeadlineSaysWhetherTheEndWasSeen(t *testing.T) {
	for ending, want := range map[string]string{
		incident.EndSeen: "Nothing broke: the job completed", incident.EndUnseen: "No failure found, but these files don't show how the job ended",
		incident.EndRunning: "No failure found so far: the job is still running", incident.EndStalled: "No failure found, but the job appears to have stalled",
	} {
		r := &incident.Report{Verdict: incident.Verdict{Status: incident.NoFailure, Mechanism: "completed", Ending: ending}}
		got, tone := headline(r)
		if got != want || (tone == "open") != (ending == incident.EndStalled) || strings.Contains(got, "healthy") {
			t.Errorf("%s: %q, %s", ending, got, tone)
		}
	}
}
