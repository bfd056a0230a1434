package scan

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// delivery is everything that a visitor learns.
type delivery struct {
	Line
	text, above, before, below string
}

// deliveries are all calls of a visitor that wants the lines behind some of those it gets.
func deliveries(t testing.TB, s *Scanner, text []byte) ([]delivery, Stats) {
	t.Helper()
	var all []delivery
	st, err := s.Scan(context.Background(), bytes.NewReader(text), func(l *Line) (int, error) {
		l.Fill()
		d := delivery{Line: *l, text: string(l.Text), above: string(l.Above()), before: string(l.Before), below: string(l.Below)}
		d.by = nil
		d.Hits, d.Marks = slices.Clone(l.Hits), slices.Clone(l.Marks)
		d.Text, d.Before, d.Below = nil, nil, nil
		all = append(all, d)
		return int(l.No % 7 / 5 * 3), nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, st
}

func difference(a, b []delivery) string {
	for i := range min(len(a), len(b)) {
		if !reflect.DeepEqual(a[i], b[i]) {
			return fmt.Sprintf("delivery %d is\n%.600q and\n%.600q", i, fmt.Sprintf("%+v", a[i]), fmt.Sprintf("%+v", b[i]))
		}
	}
	if len(a) != len(b) {
		return fmt.Sprintf("%d and %d deliveries", len(a), len(b))
	}
	return ""
}

// course is a log of n bytes: dense stretches of frequent lines, sparse ones, lines that hold something else, and,
// if long, lines longer than what is held and runs of NUL bytes.
func course(seed uint64, n int, long bool) []byte {
	rng := rand.New(rand.NewPCG(seed, 1))
	var b bytes.Buffer
	for b.Len() < n {
		switch kind := rng.IntN(20); {
		case kind < 12:
			for range rng.IntN(1500) {
				fmt.Fprintf(&b, "step %d loss: %.3f it/s, some more of a step line %d\n", rng.IntN(1e6), rng.Float64(), rng.IntN(1e9))
			}
		case kind < 15:
			for range rng.IntN(600) {
				fmt.Fprintf(&b, "nothing that anybody looks for %d\n", rng.IntN(1e9))
			}
		case kind == 15:
			for range rng.IntN(300) {
				fmt.Fprintf(&b, "%c socket.cpp: %d\n", "WWWWWE"[rng.IntN(6)], rng.IntN(1e9))
			}
		case kind < 18:
			for range 1 + rng.IntN(3) {
				fmt.Fprintf(&b, "step 1 loss: nan and a Watchdog %d loss: loss: nan\n", rng.IntN(100))
			}
		case kind == 18 && long && rng.IntN(4) == 0:
			b.WriteString(strings.Repeat("a long line, it/s, ", rng.IntN(3000)) + "Watchdog" + strings.Repeat("loss: ", rng.IntN(9000)) + "\n")
		case kind == 19 && long && rng.IntN(8) == 0:
			b.Write(make([]byte, rng.IntN(70_000)))
		}
	}
	if rng.IntN(2) == 0 {
		b.WriteString("cut Watchd")
	}
	return b.Bytes()
}

var (
	courseLiterals = []string{"it/s, ", "loss: ", "loss: nan", "Watchdog", "dog", "thing that any", "socket.cpp"}
	courseFrequent = map[string]bool{"it/s, ": true, "loss: ": true}
)

func TestReadingAheadDeliversTheSame(t *testing.T) {
	for seed := range uint64(3) {
		text := course(seed, 3<<19, true)
		for _, o := range []Options{
			{MaxLine: 32 << 10, Frequent: courseFrequent}, {ChunkSize: 7 << 10, MaxLine: 8 << 10, Frequent: courseFrequent}, {ChunkSize: 1 << 20},
		} {
			o.HeadLines = 5
			s, err := New(courseLiterals, o)
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range []*Scanner{s, s.Ends(200_000, 300_000, int64(len(text)))} {
				want, wantStats := deliveries(t, s, text)
				for _, helpers := range []int{1, 3} {
					got, st := deliveries(t, s.Ahead(helpers), text)
					if d := difference(got, want); d != "" {
						t.Fatalf("seed %d, %+v, %d helpers: %s", seed, o, helpers, d)
					}
					if !reflect.DeepEqual(st, wantStats) {
						t.Fatalf("seed %d, %+v, %d helpers: %+v, want %+v", seed, o, helpers, st, wantStats)
					}
				}
			}
		}
	}
}

// Only what becomes of a line that is too long to be held depends on how much is held.
func TestOtherChunksDeliverTheSame(t *testing.T) {
	for seed := range uint64(2) {
		text := course(seed, 3<<19, false)
		var want []delivery
		for _, chunk := range []int{0, 7 << 10, 100_000, 3 << 20} {
			s, err := New(courseLiterals, Options{ChunkSize: chunk, Frequent: courseFrequent})
			if err != nil {
				t.Fatal(err)
			}
			got, _ := deliveries(t, s, text)
			if chunk == 0 {
				want = got
			} else if d := difference(got, want); d != "" {
				t.Fatalf("seed %d, chunks of %d: %s", seed, chunk, d)
			}
		}
	}
}

func FuzzAhead(f *testing.F) {
	f.Add([]byte("a\nloss: Watchdog\nit/s, loss: \n"), uint8(3), uint8(40), uint8(200))
	f.Add(bytes.Repeat([]byte("loss: \n"), 300), uint8(60), uint8(9), uint8(250))
	var scanners []*Scanner
	for _, o := range []Options{{ChunkSize: 1, MaxLine: 1}, {ChunkSize: 997, MaxLine: 100}, {ChunkSize: 50_000, MaxLine: 3000}, {ChunkSize: 200_000, MaxLine: 1 << 16}} {
		o.HeadLines, o.Frequent = 2, courseFrequent
		s, err := New(courseLiterals, o)
		if err != nil {
			f.Fatal(err)
		}
		scanners = append(scanners, s)
	}
	f.Fuzz(func(t *testing.T, data []byte, which, helpers, times uint8) {
		if len(data) > 1<<12 {
			return
		}
		text := bytes.Repeat(data, 1+int(times))
		s := scanners[int(which)%len(scanners)]
		want, wantStats := deliveries(t, s, text)
		got, st := deliveries(t, s.Ahead(1+int(helpers)%2), text)
		if d := difference(got, want); d != "" || !reflect.DeepEqual(st, wantStats) {
			t.Fatalf("%s; %+v, %+v", d, st, wantStats)
		}
	})
}
