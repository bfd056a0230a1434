package redact

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"faultline/simulate/secrets"
)

// rates are what docs/secrets.md publishes.
type rates struct{ planted, leaked int }

func (r rates) String() string {
	return fmt.Sprintf("%d of %d leaked (%.2f %%)", r.leaked, r.planted, r.share())
}

func (r rates) share() float64 { return 100 * float64(r.leaked) / float64(max(1, r.planted)) }

// TestRates prints how much of what is planted is still shown, and how much that is no secret is not.
//
//	go test ./messages/redact -run Rates -v
func TestRates(t *testing.T) {
	out := map[string]bool{}
	for _, i := range secrets.Issuers() {
		out[i.Name] = i.LeftOut
	}
	listed := masker{known()}
	without := masker{readIssuers(func(name string) bool { return !out[name] })}
	var known, left rates
	kinds := map[string]int{}
	for _, f := range secrets.All(1) {
		if !f.LeftOut {
			known.planted++
			if p := f.Leaks(listed.text(f.Text)); p != "" {
				known.leaked++
				kinds[f.Carrier]++
				kinds[f.Encoding]++
				kinds[f.Wrapping]++
				if os.Getenv("FAULTLINE_LEAKS") != "" {
					t.Logf("%s: %q shows %q of %q", f.Name(), f.Text, p, listed.text(f.Text))
				}
			}
			continue
		}
		left.planted++
		if f.Leaks(without.text(f.Text)) != "" {
			left.leaked++
		}
	}
	lines := secrets.Identifiers(1, 600)
	masked := 0
	for _, line := range lines {
		if got := String(line); got != line {
			masked++
			t.Errorf("no secret: %q becomes %q", line, got)
		}
	}
	t.Logf("listed issuers: %v; issuers left out: %v; identifiers masked: %d of %d", known, left, masked, len(lines))
	if known.share() > 1 || left.share() > 10 || known.planted+left.planted < 2000 {
		keys := make([]string, 0, len(kinds))
		for k := range kinds {
			keys = append(keys, fmt.Sprintf("%4d %s", kinds[k], k))
		}
		slices.Sort(keys)
		t.Errorf("too much is shown:\n%s", strings.Join(keys, "\n"))
	}
}
