package simulate

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestEveryByteDamageLeavesItsMark compares each damage with the same incident undamaged.
func TestEveryByteDamageLeavesItsMark(t *testing.T) {
	whole := generate(t, plainSpec("rank-stalled", "2.7"))
	count := func(inc *Incident, sep string) (n int) {
		for _, f := range inc.Files {
			n += bytes.Count(f.Data, []byte(sep))
		}
		return n
	}
	size := func(inc *Incident) (n int) {
		for _, f := range inc.Files {
			n += len(f.Data)
		}
		return n
	}
	marks := map[string]func(*Incident) bool{
		"glued": func(i *Incident) bool { return count(i, "\n") < count(whole, "\n") && size(i) > size(whole)*9/10 },
		"wrapped": func(i *Incident) bool {
			for _, f := range i.Files {
				for l := range strings.Lines(string(f.Data)) {
					if len(l) > 138 {
						return false
					}
				}
			}
			return count(i, "\n") > count(whole, "\n")
		},
		"crlf":      func(i *Incident) bool { return count(i, "\r\n") == count(whole, "\n") },
		"nul":       func(i *Incident) bool { return count(i, "\x00") > 0 },
		"utf8":      func(i *Incident) bool { return !utf8.Valid(i.Files[0].Data) },
		"long-line": func(i *Incident) bool { return size(i) > size(whole)+2<<20-1 },
		"no-first":  func(i *Incident) bool { return size(i) < size(whole) },
		"no-last":   func(i *Incident) bool { return size(i) < size(whole) },
		"gz":        func(i *Incident) bool { return bytes.HasPrefix(i.Files[0].Data, []byte{0x1f, 0x8b}) },
		"zst":       func(i *Incident) bool { return bytes.HasPrefix(i.Files[0].Data, []byte{0x28, 0xb5, 0x2f, 0xfd}) },
	}
	for _, d := range byteDamages {
		spec := plainSpec("rank-stalled", "2.7")
		spec.Damage = d
		inc := generate(t, spec)
		if mark, ok := marks[d]; !ok || !mark(inc) {
			t.Errorf("%s leaves no mark", d)
		}
	}
}

func TestUnknownDamageIsRefused(t *testing.T) {
	spec := plainSpec("rank-stalled", "2.7")
	spec.Damage = "coffee"
	if _, err := Generate(spec); err == nil {
		t.Error("generated")
	}
}

func TestAblatedNodeListIsNowhere(t *testing.T) {
	spec := plainSpec("rank-stalled", "2.7")
	spec.Ablate = "no-world"
	inc := generate(t, spec)
	if inc.WorldSize != 0 || inc.Nodes != "" || strings.Contains(allText(inc), "nodelist=") || strings.Contains(allText(inc), "nranks") {
		t.Errorf("flags %d %q, or a line, still tell the size", inc.WorldSize, inc.Nodes)
	}
}

func TestBarsAreFollowedByGluedMessages(t *testing.T) {
	found := false
	for seed := range uint64(30) {
		spec := plainSpec("symmetric-hang", "2.7")
		spec.Seed, spec.Noise = seed, 2
		for l := range strings.Lines(allText(generate(t, spec))) {
			i := strings.LastIndex(l, "it]")
			if i < 0 {
				i = strings.LastIndex(l, "reduced_train_loss")
			}
			found = found || i >= 0 && strings.Contains(l[i:], "[rank")
		}
	}
	if !found {
		t.Error("no message is glued behind a progress bar")
	}
}

func TestNodesThatNothingNamesAreNotInTheTruth(t *testing.T) {
	for _, mode := range []string{"node", "rank", "task", "single"} {
		spec := plainSpec("rank-stalled", "2.7")
		spec.Ablate, spec.FileMode, spec.Prefixes = "no-node", mode, []string{"ray"}
		s, err := newScene(spec)
		if err != nil {
			t.Fatal(err)
		}
		inc := generate(t, spec)
		for _, n := range s.nodes {
			if strings.Contains(allText(inc), n.name) || strings.Contains(allText(inc), n.ip) || strings.Contains(inc.Nodes, n.name) {
				t.Errorf("%s: %s is still named", mode, n.name)
			}
		}
		if len(inc.Truth.RootRanks) == 0 || len(inc.Truth.RootNodes) != 0 {
			t.Errorf("%s: %+v", mode, inc.Truth)
		}
	}
}
