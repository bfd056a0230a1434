package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"reflect"
	"sort"
	"strings"
	"testing"
	"testing/iotest"
)

// got is what a scan delivered, per line.
type got struct {
	hits  []uint16
	text  string
	final bool
}

func scanAll(t testing.TB, s *Scanner, r io.Reader, more func(l *Line) int) (map[int64]*got, Stats, error) {
	t.Helper()
	out := map[int64]*got{}
	lastNo, lastOff := int64(0), int64(-1)
	st, err := s.Scan(context.Background(), r, func(l *Line) (int, error) {
		if l.No < lastNo || l.TextOff <= lastOff || (l.No == lastNo && !l.Long) || len(l.Text) > s.opts.MaxLine {
			t.Fatalf("line %d at %d after %d at %d", l.No, l.TextOff, lastNo, lastOff)
		}
		if !sort.SliceIsSorted(l.Hits, func(a, b int) bool { return l.Hits[a] < l.Hits[b] }) {
			t.Fatalf("hits %v", l.Hits)
		}
		lastNo, lastOff = l.No, l.TextOff
		g := out[l.No]
		if g == nil {
			g = &got{}
			out[l.No] = g
		}
		if l.Long {
			g.text += string(l.Text[max(0, int(l.Off)+len(g.text)-int(l.TextOff)):])
		} else {
			g.text = string(l.Text)
		}
		g.hits = union(g.hits, l.Hits)
		g.final = l.Final
		if more != nil {
			return more(l), nil
		}
		return 0, nil
	})
	return out, st, err
}

func union(a, b []uint16) []uint16 {
	m := map[uint16]bool{}
	for _, x := range append(a, b...) {
		m[x] = true
	}
	var out []uint16
	for x := range m {
		out = append(out, x)
	}
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return out
}

// naive is the definition of what Scan has to find.
func naive(data []byte, lits []string) map[int64][]uint16 {
	out := map[int64][]uint16{}
	lines := bytes.Split(data, []byte("\n"))
	for i, l := range lines {
		for id, lit := range lits {
			if bytes.Contains(l, []byte(lit)) {
				out[int64(i+1)] = append(out[int64(i+1)], uint16(id))
			}
		}
	}
	return out
}

func check(t testing.TB, data []byte, lits []string, opts Options) {
	t.Helper()
	s, err := New(lits, opts)
	if err != nil {
		t.Fatal(err)
	}
	lines, st, err := scanAll(t, s, bytes.NewReader(data), nil)
	if err != nil {
		t.Fatal(err)
	}
	hits := map[int64][]uint16{}
	for no, g := range lines {
		if len(g.hits) > 0 {
			hits[no] = g.hits
		}
	}
	if want := naive(data, lits); !reflect.DeepEqual(hits, want) {
		t.Fatalf("%q in %q with %+v\n got %v\nwant %v", lits, clip(data), opts, hits, want)
	}
	wantLines := int64(bytes.Count(data, []byte("\n")))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		wantLines++
	}
	if st.Bytes != int64(len(data)) || st.Lines != wantLines || st.NULs != int64(bytes.Count(data, []byte{0})) {
		t.Fatalf("stats %+v of %d bytes, %d lines", st, len(data), wantLines)
	}
	if clean := len(data) > 0 && data[len(data)-1] == '\n' && len(st.Holes) == 0; st.EndsClean != clean {
		t.Fatalf("EndsClean = %v", st.EndsClean)
	}
}

func clip(b []byte) []byte { return b[:min(len(b), 300)] }

func TestEveryOffsetAndChunkBorder(t *testing.T) {
	lits := []string{"Watchdog caught", "OOM", "NVRM: Xid", "1234567", "Xid", "caught"}
	for _, chunk := range []int{1, 7, 64, 100} {
		for off := range 70 {
			for _, l := range lits {
				data := []byte(strings.Repeat("x", off) + l + strings.Repeat("y", 130-off) + "\nfoo\n" + strings.Repeat("z", off) + "\n" + l)
				check(t, data, lits, Options{ChunkSize: chunk, MaxLine: 4 << 10})
				check(t, data, lits, Options{ChunkSize: chunk, MaxLine: 32})
			}
		}
	}
}

func TestShortInputs(t *testing.T) {
	for _, in := range []string{"", "\n", "a", "OOM", "OOM\n", "\nOOM", "\n\n\n", "OOM\nOOM", "\r\nWatchdog caught\r\n", "\x00\x00OOM"} {
		check(t, []byte(in), []string{"OOM", "Watchdog caught"}, Options{})
		check(t, []byte(in), []string{"OOM", "Watchdog caught"}, Options{ChunkSize: 1, MaxLine: 8})
		check(t, []byte(in), nil, Options{})
	}
}

func TestHeadAndFollowingLines(t *testing.T) {
	var b strings.Builder
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, "line %d", i)
		if i == 10 || i == 12 || i == 30 {
			b.WriteString(" Traceback (most")
		}
		b.WriteByte('\n')
	}
	for _, chunk := range []int{5, 1 << 20} {
		s, err := New([]string{"Traceback (most"}, Options{HeadLines: 2, ChunkSize: chunk})
		if err != nil {
			t.Fatal(err)
		}
		lines, _, err := scanAll(t, s, strings.NewReader(b.String()), func(l *Line) int {
			if len(l.Hits) > 0 {
				return 3
			}
			return 0
		})
		if err != nil {
			t.Fatal(err)
		}
		var nos []int
		for no, g := range lines {
			nos = append(nos, int(no))
			if !strings.HasPrefix(g.text+" ", fmt.Sprintf("line %d ", no)) {
				t.Errorf("line %d is %q", no, g.text)
			}
		}
		sort.Ints(nos)
		if want := []int{1, 2, 10, 11, 12, 13, 14, 15, 30, 31, 32, 33}; !reflect.DeepEqual(nos, want) {
			t.Errorf("delivered %v, want %v", nos, want)
		}
	}
}

// Who asked for lines may have had enough of them before they are all there; the head of the content is delivered all the same.
func TestEnough(t *testing.T) {
	for _, chunk := range []int{5, 1 << 20} {
		s, err := New([]string{"Traceback (most"}, Options{HeadLines: 4, ChunkSize: chunk})
		if err != nil {
			t.Fatal(err)
		}
		var nos []int64
		text := strings.Repeat("a\nTraceback (most\nb\nc\nd\ne\n", 3)
		if _, err := s.Scan(context.Background(), strings.NewReader(text), func(l *Line) (int, error) {
			nos = append(nos, l.No)
			if len(l.Hits) > 0 {
				return 10, nil
			}
			l.Enough = string(l.Text) == "b"
			return 0, nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := []int64{1, 2, 3, 4, 8, 9, 14, 15}; !reflect.DeepEqual(nos, want) {
			t.Errorf("pieces of %d: delivered %v, want %v", chunk, nos, want)
		}
	}
}

func TestLongLineComesInWindows(t *testing.T) {
	long := strings.Repeat("a", 5000) + "Watchdog caught" + strings.Repeat("b", 3000)
	data := "first\n" + long + "\nWatchdog caught\n"
	s, err := New([]string{"Watchdog caught"}, Options{MaxLine: 1000, ChunkSize: 333})
	if err != nil {
		t.Fatal(err)
	}
	var seen []Line
	if _, err := s.Scan(context.Background(), strings.NewReader(data), func(l *Line) (int, error) {
		c := *l
		c.Text = bytes.Clone(l.Text)
		seen = append(seen, c)
		return 0, nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(seen) != 2 {
		t.Fatalf("%d deliveries, want one window and one line", len(seen))
	}
	w := seen[0]
	if !w.Long || w.No != 2 || w.Off != 6 || w.TextOff <= w.Off || data[w.TextOff:w.TextOff+int64(len(w.Text))] != string(w.Text) {
		t.Errorf("window %d at %d (line at %d), long %v", w.No, w.TextOff, w.Off, w.Long)
	}
	if l := seen[1]; l.Long || l.No != 3 || string(l.Text) != "Watchdog caught" || data[l.Off:l.Off+8] != "Watchdog" {
		t.Errorf("%+v", l)
	}
}

func TestWantedLongLineIsDeliveredWhole(t *testing.T) {
	data := strings.Repeat("0123456789", 1000) + "\nnext"
	for _, chunk := range []int{10, 999, 100000} {
		s, _ := New([]string{"Watchdog"}, Options{MaxLine: 1000, ChunkSize: chunk, HeadLines: 2})
		lines, _, err := scanAll(t, s, strings.NewReader(data), nil)
		if err != nil || lines[1].text+"\n"+lines[2].text != data || lines[1].final || !lines[2].final {
			t.Errorf("chunk %d: %v", chunk, err)
		}
	}
}

func TestHoles(t *testing.T) {
	for _, chunk := range []int{1000, 1 << 20} {
		data := "a\n" + strings.Repeat("\x00", 5000) + "b\x00\n" + strings.Repeat("\x00", 4095) + "c\n" + strings.Repeat("\x00", 4096)
		s, _ := New([]string{"Watchdog"}, Options{ChunkSize: chunk})
		st, err := s.Scan(context.Background(), strings.NewReader(data), nil)
		want := []Hole{{Off: 2, Len: 5000}, {Off: int64(len(data) - 4096), Len: 4096}}
		if err != nil || !reflect.DeepEqual(st.Holes, want) || st.EndsClean || st.NULs != 5000+1+4095+4096 {
			t.Errorf("%+v, %v", st, err)
		}
	}
}

func TestReadErrorKeepsWhatWasRead(t *testing.T) {
	boom := errors.New("boom")
	for _, cause := range []error{boom, io.ErrUnexpectedEOF} {
		s, _ := New([]string{"Watchdog"}, Options{})
		lines, st, err := scanAll(t, s, io.MultiReader(strings.NewReader("x\nWatchdog one\nWatchdog tw"), iotest.ErrReader(cause)), nil)
		if !errors.Is(err, cause) {
			t.Errorf("err = %v", err)
		}
		if len(lines) != 2 || lines[3].text != "Watchdog tw" || !lines[3].final || st.EndsClean || st.Lines != 3 {
			t.Errorf("%v %+v", lines, st)
		}
	}
}

func TestVisitorsErrorAndCancellationEndThePass(t *testing.T) {
	stop := errors.New("enough")
	s, _ := New([]string{"Watchdog"}, Options{})
	n := 0
	_, err := s.Scan(context.Background(), strings.NewReader("Watchdog\nWatchdog\n"), func(*Line) (int, error) { n++; return 0, stop })
	if !errors.Is(err, stop) || n != 1 {
		t.Errorf("%v after %d lines", err, n)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Scan(ctx, strings.NewReader("x"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

func TestSlowReaders(t *testing.T) {
	data := strings.Repeat("filler line\n", 300) + "Watchdog caught\n"
	s, _ := New([]string{"Watchdog caught"}, Options{ChunkSize: 100})
	for _, r := range []io.Reader{iotest.OneByteReader(strings.NewReader(data)), iotest.DataErrReader(strings.NewReader(data)), iotest.HalfReader(strings.NewReader(data))} {
		lines, st, err := scanAll(t, s, r, nil)
		if err != nil || len(lines) != 1 || lines[301] == nil || !st.EndsClean {
			t.Errorf("%v %+v %v", lines, st, err)
		}
	}
}

func TestNewRefusesWhatItCannotFind(t *testing.T) {
	for _, l := range []string{"", "ab", "a\nbcdef", strings.Repeat("x", 600)} {
		if _, err := New([]string{l}, Options{}); err == nil {
			t.Errorf("literal %q accepted", l)
		}
	}
}

// The memory of a pass does not grow with the input.
func TestMemoryIsBounded(t *testing.T) {
	s, _ := New([]string{"Watchdog caught", "OOM"}, Options{MaxLine: 1 << 16, ChunkSize: 1 << 16})
	cost := func(n int64) float64 {
		return testing.AllocsPerRun(3, func() {
			if _, err := s.Scan(context.Background(), io.LimitReader(endless{}, n), func(*Line) (int, error) { return 0, nil }); err != nil {
				t.Fatal(err)
			}
		})
	}
	small, large := cost(1<<20), cost(16<<20)
	if large > small+8 {
		t.Errorf("%v allocations for 1 MiB, %v for 16 MiB", small, large)
	}
}

// endless repeats a line with a literal, of 64 bytes.
type endless struct{}

func (endless) Read(b []byte) (int, error) {
	const l = "some text without a meaning, then an OOM somewhere in the line.\n"
	n := 0
	for n+len(l) <= len(b) {
		n += copy(b[n:], l)
	}
	if n == 0 {
		n = copy(b, l)
	}
	return n, nil
}

func FuzzScan(f *testing.F) {
	f.Add([]byte("x Watchdog caught y\nOOM\n"), "Watchdog caught", "OOM", "dog", uint8(3), uint8(40))
	f.Add([]byte("aaaaaaaaaaaaaaaa\n\x00\x00aaa"), "aaaaaaa", "aaa", "aaaaaaaa", uint8(1), uint8(9))
	f.Fuzz(func(t *testing.T, data []byte, a, b, c string, chunk, line uint8) {
		if len(data) > 1<<14 {
			return
		}
		var lits []string
		for _, l := range []string{a, b, c} {
			if len(l) >= minLiteral && len(l) <= 64 && !strings.Contains(l, "\n") {
				lits = append(lits, l)
			}
		}
		check(t, data, lits, Options{ChunkSize: int(chunk) + 1, MaxLine: int(line) + 1})
		check(t, data, lits, Options{ChunkSize: 4 << 10, MaxLine: 8 << 10})
	})
}

func BenchmarkScan(b *testing.B) {
	var lits []string
	for _, l := range []string{"Watchdog caught collective", "last enqueued work: ", "NCCL WARN", "Traceback (most recent call last)", "CUDA out of memory", "slurmstepd: error: ", "NVRM: Xid", "oom_kill", "exitcode", "Connection reset by peer", "dump signal", "Received ", "saving checkpoint at", "Segmentation fault"} {
		lits = append(lits, l)
		for i := range 12 {
			lits = append(lits, fmt.Sprintf("%s variant %d", l, i))
		}
	}
	data := bytes.Repeat([]byte(" [2025-06-03 17:48:01] iteration     1580/  500000 | consumed samples: 404480 | elapsed time per iteration (ms): 730.1 | lm loss: 2.154321E+00 |\nnode7:4242:4300 [6] NCCL INFO Channel 00/0 : 3[3] -> 4[4] [send] via NET/IB/0/GDRDMA\n"), 1<<16)
	for _, n := range []int{14, len(lits)} {
		b.Run(fmt.Sprint(n, " literals"), func(b *testing.B) {
			s, err := New(lits[:n], Options{})
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Scan(context.Background(), bytes.NewReader(data), func(*Line) (int, error) { return 0, nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func TestEndsSearchesTheEndsAndCountsEverything(t *testing.T) {
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d needle\n", i+1)
	}
	text := b.String()
	whole, err := New([]string{"needle"}, Options{ChunkSize: 4 << 10})
	if err != nil {
		t.Fatal(err)
	}
	const head, tail = 20 << 10, 50 << 10
	short := whole.Ends(head, tail, int64(len(text)))
	var nos []int64
	got, err := short.Scan(context.Background(), strings.NewReader(text), func(l *Line) (int, error) {
		if want := fmt.Sprintf("line %d needle", l.No); string(l.Text) != want || text[l.Off:l.Off+int64(len(want))] != want {
			t.Fatalf("line %d at %d is %q", l.No, l.Off, l.Text)
		}
		nos = append(nos, l.No)
		return 0, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := whole.Scan(context.Background(), strings.NewReader(text), func(*Line) (int, error) { return 0, nil })
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("stats %+v, want %+v; %v", got, want, err)
	}
	if nos[0] != 1 || nos[len(nos)-1] != 20_000 || len(nos) > 6_000 || len(nos) < (head+tail)/20 {
		t.Errorf("%d lines from %d to %d", len(nos), nos[0], nos[len(nos)-1])
	}
	if s := whole.Ends(1<<20, 1<<20, int64(len(text))); s != whole {
		t.Error("a short text is not searched whole")
	}
}
