package messages

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// A browser ignores a style or a script that the policy doesn't name: the page would be bare.
func TestThePolicyNamesWhatThePageHolds(t *testing.T) {
	var b strings.Builder
	if err := HTML(&b, stall(), Extras{}); err != nil {
		t.Fatal(err)
	}
	for _, tag := range []string{"style", "script"} {
		m := regexp.MustCompile(`(?s)<` + tag + `[^>]*>(.*?)</` + tag + `>`).FindStringSubmatch(b.String())
		if m == nil {
			t.Fatalf("the page has no %s", tag)
		}
		sum := sha256.Sum256([]byte(m[1]))
		if want := tag + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(HTMLPolicy(), want) {
			t.Errorf("the policy doesn't name the page's %s: %s", tag, HTMLPolicy())
		}
	}
	for i := range looks {
		if !strings.Contains(style(), fmt.Sprintf(".r%d{", i)) {
			t.Errorf("the page has no style for %q", looks[i].Words)
		}
	}
}
