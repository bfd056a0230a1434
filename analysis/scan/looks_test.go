package scan

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// filters are one of each stride, and one whose table is so full that most looks meet something.
func filters(t testing.TB) []*filter {
	t.Helper()
	var crowd []string
	rng := rand.New(rand.NewPCG(7, 7))
	for range 3000 {
		crowd = append(crowd, strings.Repeat(string('a'+rune(rng.IntN(26))), 3)+string('a'+rune(rng.IntN(26)))+string('a'+rune(rng.IntN(26)))+" of")
	}
	var all []*filter
	for _, lits := range [][]string{{"abc", "abcdef"}, {"abcd", "bcda  "}, {"abcde", "  a a", "a long one: abcd"}, {"abcdef", "  abc  ", "bbbbbbbb"}, crowd} {
		all = append(all, newFilter(lits, make([]bool, len(lits)), gauge(lits, make([]uint16, 1<<hashLog))))
	}
	return all
}

// sameLooks takes the looks at a text in every way there is.
func sameLooks(t *testing.T, f *filter, b []byte) {
	t.Helper()
	if len(b) < gram-1 {
		return
	}
	n := min((len(b)-(gram-1))/f.stride+1, stretch)
	var want [stretch / 64]uint64
	f.takeSlowly(b, 0, n, &want)
	for i, take := range []func([]byte, int, *[stretch / 64]uint64) int{f.take, f.takeEach} {
		var got [stretch / 64]uint64
		done := take(b, n, &got)
		if done > n {
			t.Fatalf("stride %d, way %d: %d looks of %d", f.stride, i, done, n)
		}
		for k := range n {
			if m := got[k/64] >> (k % 64) & 1; k < done && m != want[k/64]>>(k%64)&1 || k >= done && m != 0 {
				t.Fatalf("stride %d, way %d: look %d of %d (%d done) at %q: %d", f.stride, i, k, n, done, b[k*f.stride:min(len(b), k*f.stride+8)], m)
			}
		}
	}
}

// looksText is made of few letters, so that words of the tables and halves of them are frequent.
func looksText(rng *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		if b[i] = "abcde \n"[rng.IntN(7)]; rng.IntN(40) == 0 {
			b[i] = byte(rng.IntN(256))
		}
	}
	return b
}

func TestVectorsSeeTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, f := range filters(t) {
		text := looksText(rng, 3*stretch*f.stride)
		for n := range 600 {
			from := rng.IntN(len(text) - n)
			sameLooks(t, f, text[from:from+n:from+n])
		}
		for range 20 {
			sameLooks(t, f, text[rng.IntN(100):len(text)-rng.IntN(100)])
		}
	}
}

func FuzzVectorsSeeTheSame(f *testing.F) {
	f.Add([]byte("abcdef abcd  abc  bcda  a long one: abcd"), uint8(0), uint16(300))
	f.Add([]byte("bbbbbbbbb"), uint8(1), uint16(2000))
	all := filters(f)
	f.Fuzz(func(t *testing.T, data []byte, from uint8, n uint16) {
		if len(data) == 0 || len(data) > 1<<12 {
			return
		}
		text := []byte(strings.Repeat(string(data), int(n)/len(data)+2))
		text = text[int(from)%len(data):]
		text = text[:min(len(text), int(n)):min(len(text), int(n))]
		for _, f := range all {
			sameLooks(t, f, text)
		}
	})
}

// What a filter finds depends neither on where its looks lie nor on how far they were taken before.
func TestFindingDoesNotDependOnWhereLooksLie(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, f := range filters(t) {
		rounds, size := 100, 3*stretch
		if len(f.lits) > 100 {
			rounds, size = 2, stretch
		}
		for range rounds {
			b := looksText(rng, rng.IntN(size))
			var l looks
			from := 0
			for from < len(b) {
				if rng.IntN(4) == 0 { // a detour
					to := from + rng.IntN(len(b)-from+1)
					f.collectFrom(&l, nil, b, from, from, to)
				}
				found, start, end := f.line(&l, nil, b, from)
				want, wantStart, wantEnd := naiveLine(f, b, from)
				if start != wantStart || start >= 0 && end != wantEnd || len(found) != len(want) {
					t.Fatalf("stride %d: line at %d to %d, want %d to %d; %d literals, want %d", f.stride, start, end, wantStart, wantEnd, len(found), len(want))
				}
				for _, m := range found {
					if !want[m] {
						t.Fatalf("stride %d: %+v, want %+v", f.stride, found, want)
					}
				}
				if start < 0 {
					break
				}
				from = end + 1
			}
		}
	}
}

// naiveLine is filter.line, looking for each literal at each place.
func naiveLine(f *filter, b []byte, from int) (found map[match]bool, start, end int) {
	for start = from; start < len(b); start = end + 1 {
		end = len(b)
		if i := strings.IndexByte(string(b[start:]), '\n'); i >= 0 {
			end = start + i
		}
		found = map[match]bool{}
		for p := start; p < end; p++ {
			for id, l := range f.lits {
				if p+len(l) <= end && string(b[p:p+len(l)]) == l {
					found[match{uint16(id), p, p + len(l)}] = true
				}
			}
		}
		if len(found) > 0 {
			return found, start, end
		}
	}
	return nil, -1, 0
}
