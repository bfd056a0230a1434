package scan

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// thinned checks what package scan promises of frequent literals, against a scanner that knows none.
func thinned(t *testing.T, all, thin *Scanner, text []byte) {
	t.Helper()
	quiet := func(s *Scanner) (list []delivery) {
		if _, err := s.Scan(context.Background(), bytes.NewReader(text), func(l *Line) (int, error) {
			l.Fill()
			d := delivery{Line: *l, text: string(l.Text), above: string(l.Above()), before: string(l.Before)}
			d.Hits, d.Marks = slices.Clone(l.Hits), slices.Clone(l.Marks)
			list = append(list, d)
			return 0, nil
		}); err != nil {
			t.Fatal(err)
		}
		return list
	}
	want, got := quiet(all), quiet(thin)
	tail := int64(len(text)) - tailSize
	i := 0
	missing := int64(-1) // offset of the first line that was passed over since a frequent one was delivered
	end := int64(0)      // of the line delivered last
	for _, w := range want {
		frequent := !slices.ContainsFunc(w.Marks, func(m Mark) bool {
			return !thin.common[m.Lit]
		})
		if i == len(got) || got[i].Off != w.Off {
			switch {
			case !frequent:
				t.Fatalf("line %d, %q, is not delivered", w.No, w.text)
			case w.Off < headSize:
				t.Fatalf("line %d at %d is passed over in the head", w.No, w.Off)
			case w.Off >= tail:
				t.Fatalf("line %d at %d of %d is passed over in the tail", w.No, w.Off, len(text))
			}
			if missing < 0 {
				missing = w.Off
			}
			if w.Off-missing >= (maxGap+1)*cellSize {
				t.Fatalf("nothing frequent is delivered from %d to %d", missing, w.Off)
			}
			continue
		}
		g := got[i]
		i++
		if frequent {
			missing = -1
		}
		if g.Last != (w.Off >= tail) {
			t.Fatalf("line at %d of %d: Last is %v", w.Off, len(text), g.Last)
		}
		if n := int64(len(g.before)); n > 0 {
			from := g.Off - n
			if n > aboveMost || string(text[max(from, 0):g.Off]) != g.before || from < end || from > 0 && text[from-1] != '\n' {
				t.Fatalf("above line %d at %d stands %q", g.No, g.Off, g.before)
			}
		}
		if above := lineBefore(text, g.Off); g.above != above {
			t.Fatalf("above line %d at %d stands %q, want %q", g.No, g.Off, g.above, above)
		}
		end = g.Off + int64(len(g.text)) + 1
		if g.Off != w.Off || g.No != w.No || g.Final != w.Final || g.text != w.text || !slices.Equal(g.Hits, w.Hits) || !slices.Equal(g.Marks, w.Marks) {
			t.Fatalf("delivered %+v, want %+v", g, w)
		}
	}
	if i < len(got) {
		t.Fatalf("line %d at %d is delivered without reason", got[i].No, got[i].Off)
	}
}

// lineBefore is the line above the one at off, unless it is too long.
func lineBefore(text []byte, off int64) string {
	if off == 0 {
		return ""
	}
	lines := text[:off-1]
	above := lines[bytes.LastIndexByte(lines, '\n')+1:]
	if len(above) >= aboveMost {
		return ""
	}
	return string(above)
}

func thinScanners(t testing.TB, chunk int) (all, thin *Scanner) {
	t.Helper()
	all, err := New(courseLiterals, Options{ChunkSize: chunk})
	if err != nil {
		t.Fatal(err)
	}
	if thin, err = New(courseLiterals, Options{ChunkSize: chunk, Frequent: courseFrequent}); err != nil {
		t.Fatal(err)
	}
	return all, thin
}

func TestLinesWithAnythingButFrequentLiteralsAreDelivered(t *testing.T) {
	all, thin := thinScanners(t, 0)
	for seed := range uint64(4) {
		thinned(t, all, thin, course(seed, 2<<20, false))
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 24 {
		plan := make([]byte, 1+rng.IntN(20))
		for i := range plan {
			plan[i] = byte(rng.IntN(256))
		}
		thinned(t, all, thin, stretches(plan))
	}
	n := 0
	text := bytes.Repeat([]byte("step 12 loss: 2.5 it/s, and nothing else\n"), 1<<17)
	if _, err := thin.Scan(context.Background(), bytes.NewReader(text), func(*Line) (int, error) { n++; return 0, nil }); err != nil {
		t.Fatal(err)
	}
	if n > 1<<14 {
		t.Errorf("%d of %d lines of the same kind are delivered", n, 1<<17)
	}
}

// stretches makes a log of a few stretches of lines: the upper half of each byte says how many, the lower which.
func stretches(plan []byte) []byte {
	var b bytes.Buffer
	for i, c := range plan {
		for n := range 1 << (c >> 4) {
			if b.Len() > 3<<19 {
				return b.Bytes()
			}
			switch c & 15 {
			case 0, 1, 2, 3:
				fmt.Fprintf(&b, "step %d loss: %d it/s, and something more of a line\n", n, i)
			case 4:
				fmt.Fprintf(&b, "%d\n", n)
			case 5:
				fmt.Fprintf(&b, "nothing that any line of %d has\n", n)
			case 6:
				fmt.Fprintf(&b, "loss: nan it/s, %d\r\n", n)
			case 7:
				b.WriteString("it/s, \n")
			case 8:
				fmt.Fprintf(&b, "%0*d loss: \n", 1+n%5000, n)
			case 9:
				fmt.Fprintf(&b, "%0*d a Watchdog of step %d loss: \n", 1+n%3000, n, n)
			case 10:
				fmt.Fprintf(&b, "W socket.cpp: step %d\n", n)
			case 11:
				fmt.Fprintf(&b, "W socket.cpp: step %d, %c socket.cpp\n", n, "WWWWWWWE"[n%8])
			case 12:
				b.WriteString("\n")
			default:
				for k := range 1 + n%70 {
					fmt.Fprintf(&b, "step %d loss: %d\r", n, k)
				}
				b.WriteString("\n")
			}
		}
	}
	if len(plan)%2 == 0 {
		b.WriteString("loss: at the en")
	}
	return b.Bytes()
}

func FuzzThin(f *testing.F) {
	f.Add([]byte("\xf0\x06\xf0\x09\xf1\xf0"), true)
	f.Add([]byte("\xf8\x56\xf4\xd5\xf0\xb9\xf0\xf0"), false)
	f.Add([]byte("\xe0\xa4\xe0\xa4\x59\xe0\xa4\xe0\xa7\xff\xf1\xf1\xf2"), false)
	all, thin := thinScanners(f, 0)
	allSmall, thinSmall := thinScanners(f, 10_000)
	f.Fuzz(func(t *testing.T, plan []byte, small bool) {
		if len(plan) > 64 {
			return
		}
		text := stretches(plan)
		if small {
			thinned(t, allSmall, thinSmall, text)
			return
		}
		thinned(t, all, thin, text)
	})
}

// What is printed at the start by the thousand does not hide the few lines that say how far the job came.
func TestSlowLiteralsAreWorthAWhile(t *testing.T) {
	s, err := New(courseLiterals, Options{Frequent: courseFrequent, Slow: map[string]bool{"it/s, ": true}})
	if err != nil {
		t.Fatal(err)
	}
	slow := []byte("rank 7 has done with it/s, and says so in a line of its own, which is somewhat longer than that of a step\n")
	delivered := func(n int) (slows, steps int) {
		text := bytes.Repeat(slow, n/2)
		for i := range 3 {
			text = fmt.Appendf(text, "step %d loss: 2.%d\n", i, i)
		}
		text = append(text, bytes.Repeat(slow, n-n/2)...)
		if _, err := s.Scan(context.Background(), bytes.NewReader(text), func(l *Line) (int, error) {
			l.Fill()
			if bytes.HasPrefix(l.Text, []byte("step")) {
				steps++
			} else {
				slows++
			}
			return 0, nil
		}); err != nil {
			t.Fatal(err)
		}
		return slows, steps
	}
	if slows, steps := delivered(patience); slows != patience || steps != 3 {
		t.Errorf("%d of %d lines and %d of 3 steps are delivered", slows, patience, steps)
	}
	if slows, _ := delivered(32 * patience); slows > 8*patience {
		t.Errorf("%d of %d lines of the same kind are delivered", slows, 32*patience)
	}
}

// A visitor that has no use for frequent literals is spared the search: the others are there all the same.
func TestUntilItIsFilledALineLacksFrequentLiteralsOnly(t *testing.T) {
	_, thin := thinScanners(t, 0)
	text := course(3, 4<<20, false)
	lacking := 0
	if _, err := thin.Scan(context.Background(), bytes.NewReader(text), func(l *Line) (int, error) {
		before := slices.Clone(l.Hits)
		l.Fill()
		for _, id := range l.Hits {
			if slices.Contains(before, id) {
				continue
			}
			if lacking++; !courseFrequent[courseLiterals[id]] {
				t.Errorf("line %d lacks %q", l.No, courseLiterals[id])
			}
		}
		return 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	if lacking == 0 {
		t.Error("no line lacks any")
	}
}

// Lines may be too long for many of them to stand in a cell: what counts then is how much of it they are.
func TestLongFrequentLinesArePassedOverToo(t *testing.T) {
	literals := []string{"often", "seldom"}
	all, err := New(literals, Options{})
	if err != nil {
		t.Fatal(err)
	}
	thin, err := New(literals, Options{Frequent: map[string]bool{"often": true}})
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	for i := range 600 {
		fmt.Fprintf(&text, "line %d says often %s\n", i, bytes.Repeat([]byte{'x'}, 3000))
		if i == 400 {
			text.WriteString("and this seldom\n")
		}
	}
	thinned(t, all, thin, text.Bytes())
	n := 0
	if _, err := thin.Scan(t.Context(), bytes.NewReader(text.Bytes()), func(*Line) (int, error) { n++; return 0, nil }); err != nil {
		t.Fatal(err)
	}
	if n > 300 {
		t.Errorf("%d of 601 lines are delivered", n)
	}
}

// What the visitor knows already is not delivered, however the content is cut.
func TestLinesThatTheVisitorKnowsAreSkipped(t *testing.T) {
	var text strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&text, "line %d needle%s\n", i, strings.Repeat("x", i%37))
	}
	for _, chunk := range []int{64, 1 << 10, 1 << 20} {
		s, err := New([]string{"needle"}, Options{ChunkSize: chunk})
		if err != nil {
			t.Fatal(err)
		}
		for _, sc := range []*Scanner{s, s.Ahead(1)} {
			next, seen := int64(1), 0
			st, err := sc.Scan(t.Context(), strings.NewReader(text.String()), func(l *Line) (int, error) {
				if l.No != next || !strings.HasPrefix(string(l.Text), fmt.Sprintf("line %d needle", next-1)) {
					t.Fatalf("line %d is %q; %d was to come next", l.No, l.Text, next)
				}
				seen++
				l.Skip = int(l.No % 5)
				next = l.No + 1 + int64(l.Skip)
				return 0, nil
			})
			if err != nil || st.Lines != 3000 || seen != 1200 {
				t.Errorf("chunks of %d: %d lines, %d delivered, %v", chunk, st.Lines, seen, err)
			}
		}
	}
}
