package worker

import (
	"slices"
	"testing"

	"faultline/knowledge"
)

// What is remembered of a text is what would be found in it again, whatever stood in its place before.
func TestTheSameTextMatchesTheSameSignaturesAgain(t *testing.T) {
	r := newReader("log", &Scanner{table: whole()})
	texts := []string{
		"ConnectionResetError: [Errno 104] Connection reset by peer\n", "nothing", "", "BrokenPipeError: [Errno 32] Broken pipe\n",
		"ConnectionResetError: [Errno 104] Connection reset my peer\n", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
	}
	for range 3 {
		for _, text := range texts {
			want := knowledge.Whole().Match(nil, []byte(text))
			if got := r.recognise(nil, []byte(text)); !slices.Equal(got, want) || (got == nil) != (want == nil) {
				t.Fatalf("%q: %q, not %q", text, got, want)
			}
		}
	}
}
