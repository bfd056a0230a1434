package worker

import (
	"bytes"
	"testing"
)

func TestWordsAreFoundAtEveryPlace(t *testing.T) {
	list := []string{"gloo", "UCX", "wandb", "TCPStore", "endezvous", "out of memory"}
	w := newWords(list...)
	all, none := w.part(0, len(list)), wordSet{}
	if none != (wordSet{}) {
		t.Errorf("behind the last word there are %v", none)
	}
	for i, word := range list {
		for before := range 9 {
			for after := range 9 {
				text := append(append(bytes.Repeat([]byte("-"), before), word...), bytes.Repeat([]byte("-"), after)...)
				if got := w.in(text).first(all); got != i || !w.in(text).within(all) {
					t.Errorf("%q: first word is %d, not %d", text, got, i)
				}
			}
		}
	}
	if got := w.in([]byte("UCX behind gloo")).first(all); got != 0 {
		t.Errorf("of two words the first in the list is 0, not %d", got)
	}
	if got := w.in([]byte("wand TCPStor rendezvou")); got.first(all) != -1 || got.within(all) {
		t.Errorf("parts of words are words %v", got)
	}
	if got := (wordSet{0, 1 << 5}).first(wordSet{1, 1 << 5}); got != 64+5 {
		t.Errorf("the first of words beyond 64 is %d", got)
	}
}

func FuzzWords(f *testing.F) {
	for _, seed := range []string{"NCCL", "a wandb line", "too many 503", "ConnectionResetError(104, 'Connection reset by peer')", "STATUS:404 ", "timed out"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var want wordSet
		for i, word := range ioWords.list {
			if bytes.Contains(text, []byte(word)) {
				want.add(i)
			}
		}
		if got := ioWords.in(text); got != want {
			t.Errorf("the words are %v, not %v", got, want)
		}
	})
}

func TestIOWordsFitIntoTheirSet(t *testing.T) {
	if n := len(ioWords.list); n > 64*len(wordSet{}) {
		t.Errorf("%d words", n)
	}
	if len(ioWords.at) > 255 {
		t.Errorf("%d triples: they are numbered in a byte", len(ioWords.at))
	}
}
