package desk

import (
	"slices"
	"testing"

	"faultline/messages"
	"faultline/workflow"
)

// TestACaseWithAnOwnerNamesThemAndAsksNobody: who has got it is in the case file, the button goes, and reminders stop.
func TestACaseWithAnOwnerNamesThemAndAsksNobody(t *testing.T) {
	inv := workflow.Investigation{ID: "F-1", Job: "777", State: workflow.AwaitingLogs, Open: []workflow.Question{{ID: 1, Text: "where are the logs?"}}}
	offered := func() bool {
		return slices.ContainsFunc(caseButtons(&inv), func(b messages.Button) bool { return b.Action == actOwn })
	}
	if !offered() || caseOf(&inv).Owner != "" {
		t.Error("a case that waits offers nobody to look after it")
	}
	inv.Owner, inv.Muted = "U3", true
	if c := caseOf(&inv); offered() || c.Owner != "U3" || len(c.Notes) > 0 {
		t.Errorf("owner %q, notes %q, still offered: %v", c.Owner, c.Notes, offered())
	}
	inv.Owner, inv.State = "", workflow.Closed
	if offered() {
		t.Error("a closed case needs no owner")
	}
}
