package diagnose

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/analysis/novel"
	"faultline/analysis/verify"
)

// A line that stands out with the place of one line and the text of another is refuted.
func TestAMisquotedLineIsRefuted(t *testing.T) {
	first, second := "09:00:01 lane 3 waits for lease 7\n", "09:00:11 lane 3 waits for lease 7\n"
	path := filepath.Join(t.TempDir(), "a.log")
	if err := os.WriteFile(path, []byte(first+second), 0o600); err != nil {
		t.Fatal(err)
	}
	at := novel.Place{Line: 2, Off: int64(len(first)), Len: len(second) - 1}
	stop := &novel.Stop{Type: "LeaseError", Message: "lease 8", From: at, At: at}
	for _, c := range []struct {
		name string
		line novel.Line
		ok   bool
	}{
		{"its own text", novel.Line{Text: strings.TrimSpace(second)}, true},
		{"the text of the line before", novel.Line{Text: strings.TrimSpace(first)}, false},
		{"the message of another traceback", novel.Line{Text: strings.TrimSpace(second), Stop: stop}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.line.File, c.line.At = "a.log", at
			e := standout(&c.line).Evidence[0]
			e.Text, e.Span = strings.TrimSpace(second), 0
			if err := verify.Evidence(verify.Files{"a.log": path}, e); (err == nil) != c.ok {
				t.Errorf("verified: %v", err)
			}
		})
	}
}
