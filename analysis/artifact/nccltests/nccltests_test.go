package nccltests

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func read(t *testing.T, text string) []Run {
	t.Helper()
	if !Recognise([]byte(text[:min(len(text), HeadLen)])) {
		t.Error("not recognised")
	}
	runs, err := Read(t.Context(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func file(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// The tables of the versions differ in columns; each is read whole.
func TestVersions(t *testing.T) {
	for _, c := range []struct {
		file, collective string
		ranks, rows      int
		peak             float64
	}{
		{"all_reduce-2.17.txt", "all_reduce", 8, 5, 122.57},
		{"all_gather-2.13-mpirun.txt", "", 16, 3, 93.75},
		{"all_reduce-2.4.txt", "", 2, 3, 21.21},
		{"alltoall-in-place-not-checked.txt", "alltoall", 8, 3, 38.01},
	} {
		runs := read(t, file(t, c.file))
		if len(runs) != 1 {
			t.Errorf("%s: %d runs", c.file, len(runs))
			continue
		}
		r := runs[0]
		_, peak, ok := r.Peak()
		if r.Collective != c.collective || r.Ranks() != c.ranks || len(r.Rows) != c.rows || !ok || peak != c.peak || !r.HasAverage || r.OutOfBounds != 0 {
			t.Errorf("%s: %q over %d ranks, %d rows, peak %v, %+v", c.file, r.Collective, r.Ranks(), len(r.Rows), peak, r)
		}
		if odd, _ := r.Odd(); len(odd) > 0 {
			t.Errorf("%s: %+v do not belong together", c.file, odd)
		}
	}
}

func TestFactors(t *testing.T) {
	for _, c := range []struct {
		name string
		n    int
		want float64
	}{{"all_reduce", 8, 1.75}, {"all_gather", 8, 0.875}, {"reduce_scatter", 4, 0.75}, {"alltoall", 2, 0.5}, {"broadcast", 8, 1}, {"sendrecv", 2, 1}} {
		if f, ok := Factor(c.name, c.n); !ok || f != c.want {
			t.Errorf("%s over %d: %v", c.name, c.n, f)
		}
	}
	if _, ok := Factor("all_reduce", 1); ok {
		t.Error("one rank has no bus")
	}
	if _, ok := Factor("what", 8); ok {
		t.Error("an unknown collective has no factor")
	}
}

// A bus bandwidth that is not the algorithm's times the factor shows that the table is not one test's.
func TestBandwidthsThatDoNotBelongTogether(t *testing.T) {
	text := file(t, "all_reduce-2.17.txt")
	r := read(t, strings.Replace(text, "70.04  122.57", "70.04  222.57", 1))[0]
	if odd, checked := r.Odd(); len(odd) != 1 || checked < 5 || odd[0].Size != 134217728 {
		t.Errorf("%d of %d: %+v", len(odd), checked, odd)
	}
	r = read(t, strings.Replace(text, " 1916.4   70.04", " 3916.4   70.04", 1))[0]
	if odd, _ := r.Odd(); len(odd) != 1 {
		t.Errorf("a time that does not give the bandwidth: %+v", odd)
	}
}

func TestWrongValues(t *testing.T) {
	text := file(t, "all_reduce-2.17.txt")
	text = strings.Replace(text, "122.57      0", "122.57     37", 1)
	text = strings.Replace(text, "Out of bounds values : 0 OK", "Out of bounds values : 1 FAILED", 1)
	r := read(t, text)[0]
	last := r.Rows[len(r.Rows)-1]
	if last.Wrong() != 37 || !r.Failed || r.OutOfBounds != 1 {
		t.Errorf("%+v, %+v", last, r)
	}
	if got := text[last.Place.Offset : last.Place.Offset+int64(last.Place.Len)]; !strings.Contains(got, "134217728") || strings.Contains(got, "\n") {
		t.Errorf("stands elsewhere: %q", got)
	}
}

// What a node name, a collective and two tests in one file are read from.
func TestSeveralTestsInOneFile(t *testing.T) {
	one := file(t, "all_reduce-2.17.txt")
	two := strings.ReplaceAll(file(t, "alltoall-in-place-not-checked.txt"), "nodeA", "node7")
	runs := read(t, "some banner\n"+one+"\n[root@login ~]# srun ./build/all_reduce_perf -b 8\n"+two)
	if len(runs) != 2 || runs[0].Collective != "all_reduce" || runs[1].Collective != "alltoall" {
		t.Fatalf("%d runs: %+v", len(runs), runs)
	}
	if h := runs[0].Hosts(); len(h) != 2 || h[0] != "nid005471" {
		t.Errorf("%q", h)
	}
}

func TestATestThatDidNotEnd(t *testing.T) {
	text := file(t, "all_reduce-2.17.txt")
	runs := read(t, before(text, "# Out of bounds"))
	if len(runs) != 1 || runs[0].HasAverage || runs[0].OutOfBounds != -1 {
		t.Fatalf("%+v", runs)
	}
	runs = read(t, before(text, "        1048576"))
	if len(runs) != 1 || len(runs[0].Rows) != 0 || len(runs[0].Devices) != 8 {
		t.Fatalf("%+v", runs)
	}
}

// Without its name the factor between the bandwidths says what kind of collective it was.
func TestInferred(t *testing.T) {
	if got := read(t, file(t, "all_gather-2.13-mpirun.txt"))[0].Inferred(); got != "share" {
		t.Errorf("%q", got)
	}
	if got := read(t, file(t, "all_reduce-2.4.txt"))[0].Inferred(); got != "" {
		t.Errorf("over two ranks the factors are alike: %q", got)
	}
}

func TestLogsThatQuoteARowAreNone(t *testing.T) {
	for _, text := range []string{"", "INFO bandwidth: algbw 70.04 busbw 122.57\n", "# Avg bus bandwidth    : 19.7866\n", "   134217728      33554432     float     sum      -1   1916.4   70.04  122.57      0\n",
		"#       size         count      type   redop    root     time   algbw   busbw #wrong\n"} {
		if Recognise([]byte(text)) {
			t.Errorf("%q", text)
		}
	}
}

func FuzzRead(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.txt")
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		Recognise(b)
		runs, err := Read(t.Context(), bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		for i := range runs {
			r := &runs[i]
			r.Odd()
			r.Peak()
			r.Inferred()
			r.Hosts()
			for j := range r.Rows {
				if p := r.Rows[j].Place; p.Offset < 0 || p.Offset+int64(p.Len) > int64(len(b)) {
					t.Fatalf("%+v of %d bytes", p, len(b))
				}
			}
		}
	})
}

func before(text, mark string) string {
	head, _, _ := strings.Cut(text, mark)
	return head
}
