package desk

import (
	"strings"
	"testing"

	"faultline/messages/blockkit"
)

// TestHelpHasNoLiteralBackticks: what can be typed is set as code; Slack shows a back-tick in rich text as it is.
func TestHelpHasNoLiteralBackticks(t *testing.T) {
	for _, u := range usages {
		inlines, _ := inline(usageLine("/diagnose", u))
		for _, i := range inlines {
			if r, ok := i.(blockkit.Run); ok && strings.Contains(r.Text, "`") {
				t.Errorf("%s: %q", u.write, r.Text)
			}
		}
	}
}
