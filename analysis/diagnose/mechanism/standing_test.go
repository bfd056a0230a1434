package mechanism

import (
	"testing"

	"faultline/analysis/novel"
	"faultline/knowledge"
)

// The words of a known line, elsewhere, are no sign of it: this one has those of SLURM's "failed to launch container".
func TestWordsOfAKnownLineAreNoSign(t *testing.T) {
	for text, want := range map[string]bool{
		"LAUNCH ERROR 2023-06-29 02:36:22,520 Container failed !!!": false,
		"Container failed to launch":                                false,
		"OSError: [Errno 28] No space left on device: '/ckpt/x'":    true,
	} {
		if e, ok := told(knowledge.Whole(), &novel.Line{Text: text}); ok != want {
			t.Errorf("%q is told to be %q: %v", text, e.ID, ok)
		}
	}
}
