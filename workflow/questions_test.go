package workflow

import (
	"slices"
	"testing"
)

// Nothing can be copied from where the logs were looked for in vain.
func TestNothingIsCopiedFromWhereNothingWasFound(t *testing.T) {
	hint := CopyHint{Paths: []string{"/logs/{job}", "/archive/{job}"}}
	q := askLogs(Investigation{Job: "777"}, Found{Searched: []string{"/logs"}}, hint)
	if !slices.Equal(q.Commands, []string{"cp -r /archive/777 logs-777/"}) {
		t.Errorf("%q", q.Commands)
	}
	if q = askLogs(Investigation{Job: "777"}, Found{Searched: []string{"/logs", "/archive"}}, hint); slices.ContainsFunc(q.Commands, func(c string) bool { return c == "cp -r /logs/777 logs-777/" }) {
		t.Errorf("%q", q.Commands)
	}
}
