package volume

import (
	"bytes"
	"testing"
)

// A job that is started again introduces its ranks once more, in files of the same size.
func TestRestarts(t *testing.T) {
	for restarts, inits := range []int{2, 4, 6} {
		var text bytes.Buffer
		if err := Write(&text, Options{Kind: Mixed, Files: 2, PerFile: 2, FileSize: 64 << 10, Restarts: restarts}, 0); err != nil {
			t.Fatal(err)
		}
		if got := bytes.Count(text.Bytes(), []byte("Init COMPLETE")); got != inits {
			t.Errorf("%d restarts: %d ranks introduce themselves, not %d", restarts, got, inits)
		}
		if got := bytes.Count(text.Bytes(), []byte("successfully loaded checkpoint")); got != 2*restarts {
			t.Errorf("%d restarts: %d checkpoints are loaded", restarts, got)
		}
	}
}
