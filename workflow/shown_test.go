package workflow

import (
	"context"
	"slices"
	"strings"
	"testing"
)

// A place may hold other files when it is read than when it was located: whose they are is asked again.
func TestWhatWasOpenedHasToBePermittedToo(t *testing.T) {
	for name, given := range map[string]bool{"located": false, "given": true} {
		t.Run(name, func(t *testing.T) {
			s := newStage()
			s.Permit = func(_ Investigation, found Found) bool { return !slices.Contains(found.Users, "victim") }
			s.owners, s.opened = []string{"alice"}, []string{"alice", "victim"}
			if given {
				s.open(t)
				s.handle(t, Input{Event: LogsGiven, Places: []string{"a"}})
			} else {
				s.located = []string{"a"}
				s.open(t)
			}
			inv := s.at(t, AwaitingLogs)
			if len(inv.Sources) > 0 || strings.Contains(strings.Join(s.seen, " "), "victim") || strings.Contains(strings.Join(s.seen, " "), "report") {
				t.Errorf("seen %q", s.seen)
			}
			ledger, err := s.store.Ledger(context.Background(), "1")
			if err != nil || !slices.ContainsFunc(ledger, func(e Entry) bool { return e.Kind == "refused" && strings.Contains(e.Text, "victim") }) {
				t.Errorf("the ledger says %+v, %v", ledger, err)
			}
			s.opened = []string{"alice"}
			s.handle(t, Input{Event: LogsGiven, Places: []string{"a", "b"}})
			s.at(t, Reported)
		})
	}
}
