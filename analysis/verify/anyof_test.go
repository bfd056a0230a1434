package verify

import (
	"bytes"
	"strings"
	"testing"
)

func FuzzAnyOfFindsWhatContainsFinds(f *testing.F) {
	f.Add("NCCL|c10d|UCX|out of memory|gloo", "x NCCL WARN")
	f.Add("NCCL|c10d|UCX|out of memory|gloo", "Connection reset by peer (out of memor")
	f.Add("NCCL|c10d|UCX|out of memory|gloo", "UC UCX")
	f.Add("ab|abcd|abcde|bcde", "xabcd")
	f.Add("wandb", "wandb")
	f.Fuzz(func(t *testing.T, list, text string) {
		var all [][]byte
		for _, s := range strings.Split(list, "|") {
			if s != "" {
				all = append(all, []byte(s))
			}
		}
		want := false
		for _, s := range all {
			want = want || bytes.Contains([]byte(text), s)
		}
		if got := newAnyOf(all).in([]byte(text)); got != want {
			t.Errorf("%q in %q: %v", list, text, got)
		}
	})
}
