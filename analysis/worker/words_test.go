package worker

import (
	"bytes"
	"testing"
)

func TestWordsAreFoundAtEveryPlace(t *testing.T) {
	list := []string{"gloo", "UCX", "wandb", "TCPStore", "endezvous", "out of memory"}
	w := newWords(list...)
	for i, word := range list {
		for before := range 9 {
			for after := range 9 {
				text := append(append(bytes.Repeat([]byte("-"), before), word...), bytes.Repeat([]byte("-"), after)...)
				if got := w.first(text); got != i || !w.in(text) {
					t.Errorf("%q: first word is %d, not %d", text, got, i)
				}
			}
		}
	}
	if got := w.first([]byte("UCX behind gloo")); got != 0 {
		t.Errorf("of two words the first in the list is 0, not %d", got)
	}
	if got := w.first([]byte("wand TCPStor rendezvou")); got != -1 {
		t.Errorf("parts of words are word %d", got)
	}
}

func FuzzWords(f *testing.F) {
	sets := [][]string{Foreign, faultWords(), ResetWords}
	for _, seed := range []string{"NCCL", "a wandb line", "too many 503", "ConnectionResetError(104, 'Connection reset by peer')", "STATUS:404 ", "timed out"} {
		f.Add([]byte(seed))
	}
	compiled := make([]*words, len(sets))
	for i, set := range sets {
		compiled[i] = newWords(set...)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for i, set := range sets {
			want := -1
			for k, word := range set {
				if bytes.Contains(text, []byte(word)) {
					want = k
					break
				}
			}
			if got := compiled[i].first(text); got != want {
				t.Errorf("set %d: the first word is %d, not %d", i, got, want)
			}
			if got := compiled[i].in(text); got != (want >= 0) {
				t.Errorf("set %d: holds one of the words: %v", i, got)
			}
		}
	})
}
