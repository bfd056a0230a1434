package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

// All that is asked of a file is answered in one reading, and what one question finds does not depend on the others,
// even where the string that one looks for is part of another's.
func TestManyQuestionsAtOnceAreAnsweredLikeEachAlone(t *testing.T) {
	long := strings.Repeat("a long text that is the same up to its very end, ", 3)
	words := []string{"Watchdog caught", "Watchdog caught collective", "Watchdog caught collective operation timeout: Work", "x",
		"collective operation", long + "one", long + "two", "no such thing"}
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var b strings.Builder
		for range 30 {
			for range rng.IntN(4) {
				b.WriteString(words[rng.IntN(len(words)-1)] + " ")
			}
			b.WriteString([]string{"\n", "\r", "\x1b[0m\n", "\x1b[31mx\n"}[rng.IntN(4)])
		}
		files := write(t, map[string]string{"a.log": b.String()})
		var report incident.Report
		for _, i := range rng.Perm(len(words)) {
			n := int64(0)
			for _, segment := range strings.FieldsFunc(b.String(), func(r rune) bool { return r == '\n' || r == '\r' }) {
				if strings.Contains(segment, words[i]) {
					n++
				}
			}
			ev := incident.Evidence{Kind: incident.KindCount, Files: []string{"a.log"}, N: n, Predicate: lits(words[i])}
			if n == 0 {
				ev = incident.Evidence{Kind: incident.KindAbsence, Files: []string{"a.log"}, Bytes: int64(b.Len()), Predicate: lits(words[i])}
				if !strings.HasSuffix(b.String(), "\n") {
					continue // nothing is absent from a file that may be cut
				}
			}
			report.Chain = append(report.Chain, incident.Link{Evidence: []incident.Evidence{ev}})
		}
		_, failures, err := Report(t.Context(), files, &report)
		if err != nil || len(failures) > 0 {
			t.Fatalf("seed %d: %v, %+v", seed, err, failures)
		}
	}
}

func TestStringsThatArePartsOfOthersAreLookedForOnce(t *testing.T) {
	var ts []*tally
	for _, s := range []string{"Watchdog caught collective operation timeout: Work", "error", "Watchdog caught collective operation timeout", "an error", "error"} {
		p, err := compile(lits(s), nil)
		if err != nil {
			t.Fatal(err)
		}
		ts = append(ts, newTally(p))
	}
	var got []string
	for _, s := range searches(ts) {
		got = append(got, fmt.Sprintf("%s:%d", s.needle, len(s.tallies)))
	}
	// A short word is in too many lines to stand for others.
	if want := []string{"error:2", "an error:1", "Watchdog caught collective operation timeout:2"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// BenchmarkQuestions is one reading of a file for a set, a count and two absences.
func BenchmarkQuestions(b *testing.B) {
	noise := strings.Repeat("[default3]: 2026-09-26 21:47:12,345 | INFO | trainer.metrics | tokens=0.123 second=0.5512 memory=0.98123\n", 1<<19)
	files := write(b, map[string]string{"a.log": noise})
	var report incident.Report
	for _, s := range []string{"Watchdog caught collective operation timeout: Work", "Watchdog caught collective operation timeout", "Traceback (most recent call last)", "socketStartConnect: Connect to"} {
		report.Chain = append(report.Chain, incident.Link{Evidence: []incident.Evidence{{Kind: incident.KindAbsence, Files: []string{"a.log"}, Bytes: int64(len(noise)), Predicate: lits(s)}}})
	}
	b.SetBytes(int64(len(noise)))
	for b.Loop() {
		if _, failures, err := Report(b.Context(), files, &report); err != nil || len(failures) > 0 {
			b.Fatal(err, failures)
		}
	}
}

// Escape sequences are taken out of segments only where a segment is looked at: what is found is what would be found if
// all of them had been taken out before.
func TestStringsAreFoundAcrossEscapeSequences(t *testing.T) {
	pieces := []string{"a", "b", "a", "b", "0", "\x1b[m", "\x1b[0m", "\x1bM", "\x1b]0;a\x07", "\x1b]b\x1b\\", "\x1b", "[", "]", "m", "\n", "\r"}
	across := 0
	for seed := range uint64(3000) {
		rng := rand.New(rand.NewPCG(seed, 2))
		text := func(n int, of []string) string {
			var b strings.Builder
			for range n {
				b.WriteString(of[rng.IntN(len(of))])
			}
			return b.String()
		}
		var ts []*tally
		var needles []string
		for range 1 + rng.IntN(3) {
			needle := text(1+rng.IntN(4), []string{"a", "b", "a", "b", "[", "m", "0"})
			p, err := compile(lits(needle), nil)
			if err != nil {
				t.Fatal(err)
			}
			ts, needles = append(ts, newTally(p)), append(needles, needle)
		}
		block := text(rng.IntN(120), pieces) + "\n"
		s := newSegments(ts)
		s.block([]byte(block))
		for i, needle := range needles {
			want := int64(0)
			for _, seg := range strings.FieldsFunc(block, func(r rune) bool { return r == '\n' || r == '\r' }) {
				plain, _ := strip(nil, []byte(seg), true)
				if strings.Contains(string(plain), needle) {
					want++
					if !strings.Contains(seg, needle) {
						across++
					}
				}
			}
			if ts[i].n != want {
				t.Fatalf("seed %d: %q is in %d segments of %q, not %d", seed, needle, want, block, ts[i].n)
			}
		}
	}
	if across < 100 {
		t.Errorf("%d strings went across an escape sequence: the test shows nothing", across)
	}
}

// Several long strings are found at once wherever they stand: at the ends of a block, overlapping, one within another.
func TestLongStringsAreFoundWhereverTheyStand(t *testing.T) {
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 3))
		text := func(n int) string {
			b := make([]byte, n)
			for i := range b {
				b[i] = "aab"[rng.IntN(3)]
			}
			return string(b)
		}
		list := []search{{needle: []byte("short")}}
		for range 1 + rng.IntN(4) {
			list = append(list, search{needle: []byte(text(minLong + rng.IntN(8)))})
		}
		block := text(rng.IntN(40))
		for range rng.IntN(4) {
			block += string(list[rng.IntN(len(list))].needle) + text(rng.IntN(30))
		}
		var got, want []string
		gramsOf(list).find(list, []byte(block), func(i, at int) { got = append(got, fmt.Sprint(i, " at ", at)) })
		for i, q := range list[1:] {
			for at := range block {
				if strings.HasPrefix(block[at:], string(q.needle)) {
					want = append(want, fmt.Sprint(i+1, " at ", at))
				}
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("seed %d: %v, expected %v", seed, got, want)
		}
	}
	if gramsOf([]search{{needle: []byte("short")}}) != nil {
		t.Error("a short string has no gram that is looked for")
	}
}
