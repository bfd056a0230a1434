package redact

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"faultline/simulate/secrets"
)

func logText(lines int) string {
	var b strings.Builder
	for _, line := range secrets.Identifiers(1, lines) {
		fmt.Fprintln(&b, line)
	}
	return b.String()
}

func BenchmarkString(b *testing.B) {
	text := logText(1000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		String(text)
	}
}

func BenchmarkLine(b *testing.B) {
	line := "[rank37]:[E709 17:05:38.123456789 ProcessGroupNCCL.cpp:616] [Rank 37] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4711, OpType=ALLREDUCE, NumelIn=1048576)"
	b.SetBytes(int64(len(line)))
	for b.Loop() {
		String(line)
	}
}

// Ten times the text takes about ten times as long, whatever the text is made of.
func TestTimeGrowsWithTheText(t *testing.T) {
	for name, piece := range map[string]string{
		"lines of a log": logText(30), "one long word": "aB3x", "names": "token ", "quotes": `token="`, "percent": "%41%42", "joins": "aB3dE5fG7h\n", "base64": "dG9rZW49YWJj", "backslashes": `\`, "spaces": "password ", "dots": "a.", "slashes": "a1/", "colons": "a:",
	} {
		took := func(n int) time.Duration {
			text := strings.Repeat(piece, 1+n/len(piece))[:n]
			best := time.Hour
			for range 3 {
				start := time.Now()
				String(text)
				best = min(best, time.Since(start))
			}
			return best
		}
		small, large := took(2_000), took(20_000)
		t.Log(name, small, large)
		if large > 40*small+50*time.Millisecond {
			t.Errorf("%s: 20 kB take %v, 200 kB %v", name, small, large)
		}
	}
}
