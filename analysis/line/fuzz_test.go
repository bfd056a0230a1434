package line

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

func seed(f *testing.F) {
	for _, c := range parseCases {
		f.Add([]byte(c.in))
	}
	f.Add([]byte("12it/s][rank3]: Traceback (most recent call last):[E ProcessGroupNCCL.cpp:1] x NCCL WARN"))
}

func FuzzParse(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		p := Parse(b)
		if !bytes.Equal(b, before) {
			t.Fatal("input changed")
		}
		if p.Len < 0 || p.Len > len(b) {
			t.Fatalf("Len %d of %d", p.Len, len(b))
		}
		if q := Parse(before); q != p {
			t.Fatalf("not a function: %+v, %+v", p, q)
		}
		for _, s := range []Stamp{p.Stamp, p.Outer} {
			sane(t, s)
		}
		for _, n := range []int{p.Who.Global, p.Who.Local, p.Who.Task, p.Who.Pid, p.Who.RayRank, p.Who.CudaDev, p.Who.MPIRank, p.SourceLn} {
			if n < Unknown {
				t.Fatalf("%+v", p)
			}
		}
		if p.Form == C10 && p.Stamp.Nanos != 0 {
			t.Fatalf("the monotonic fraction was kept: %+v", p)
		}
		// What stands in the prefix does not depend on the message, and a label in front of it changes nothing else.
		if len(b) > 0 && b[0] != ' ' && b[0] != '[' && p.Who.Task == Unknown && p.Len > 0 && p.Form != NoForm {
			q := Parse(append([]byte("7: "), b...))
			if q.Who.Task != 7 || q.Len != p.Len+3 || q.Stamp != p.Stamp || q.Who.Global != p.Who.Global {
				t.Fatalf("%q\n%+v\n%+v", b, p, q)
			}
		}
	})
}

func sane(t *testing.T, s Stamp) {
	t.Helper()
	if s.Nanos < 0 || s.Nanos > 999_999_999 || s.Hour > 23 || s.Minute > 59 || s.Second > 60 || s.Month > 12 || s.Day > 31 || s.Unix < 0 {
		t.Fatalf("%+v", s)
	}
	if (s.Kind == DateTime || s.Kind == Zoned || s.Kind == MonthDay) && (s.Month < 1 || s.Day < 1) {
		t.Fatalf("%+v", s)
	}
}

func FuzzSplit(f *testing.F) {
	seed(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		at := 0
		for i, r := range Split(b) {
			if r[0] != at || (r[1] <= r[0] && len(b) > 0) {
				t.Fatalf("range %d = %v after %d", i, r, at)
			}
			at = r[1]
		}
		if at != len(b) {
			t.Fatalf("covers %d of %d", at, len(b))
		}
		if records := len(Split(b)); records > 1 && bytes.IndexByte(b[Parse(b).Len:], ']') < 0 &&
			!slices.ContainsFunc(MarkWords(), func(w string) bool { return bytes.Contains(b, []byte(w)) }) {
			t.Fatalf("%q: %d records without a mark", b, records)
		}
	})
}

func FuzzSegments(f *testing.F) {
	f.Add([]byte("a\rb\r"))
	f.Fuzz(func(t *testing.T, b []byte) {
		last := -1
		Segments(b, func(off int, seg []byte) {
			if off <= last || bytes.IndexByte(seg, '\r') >= 0 || !bytes.Equal(seg, b[off:off+len(seg)]) {
				t.Fatalf("%q at %d", seg, off)
			}
			last = off
			clean := StripANSI(nil, seg)
			if bytes.IndexByte(clean, esc) >= 0 || len(clean) > len(seg) {
				t.Fatalf("%q -> %q", seg, clean)
			}
		})
		if last < 0 && len(bytes.Trim(b, "\r")) > 0 {
			t.Fatal("nothing visited")
		}
	})
}

// Every real line with a "[rankN]:" prefix of a C++ record yields that rank, wherever in the physical line it stands.
func TestRealLogsGiveTheirRanks(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/corpus/*/logs/*")
	if len(files) == 0 {
		t.Skip("no corpus at ../shared")
	}
	marks, read := 0, 0
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for ln, l := range bytes.Split(data, []byte("\n")) {
			Segments(l, func(_ int, seg []byte) {
				seg = StripANSI(nil, seg)
				marks += bytes.Count(seg, []byte("]:[E"))
				for _, r := range Split(seg) {
					p := Parse(seg[r[0]:r[1]])
					if p.Form == C10 && p.Severity == 'E' && p.Who.Global != Unknown {
						read++
					}
					if p.Form == C10 && bytes.Contains(seg[r[0]:r[0]+p.Len], []byte("[Rank")) {
						t.Errorf("%s:%d: group rank swallowed", name, ln+1)
					}
				}
			})
		}
	}
	if marks == 0 || read != marks {
		t.Errorf("%d records read, %d in the files", read, marks)
	}
}

func BenchmarkParse(b *testing.B) {
	seg := []byte("12: [default3]:[rank99]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580)")
	b.SetBytes(int64(len(seg)))
	b.ReportAllocs()
	for b.Loop() {
		Parse(seg)
	}
}

func BenchmarkSplit(b *testing.B) {
	seg := []byte("DeepGEMM warmup:  45%|████▍     | 7361/16384 [05:43<06:50, 21.99it/s][rank9]:[E318 08:49:08.965796097 ProcessGroupNCCL.cpp:744] [Rank 1] Some NCCL operations have failed")
	b.SetBytes(int64(len(seg)))
	b.ReportAllocs()
	for b.Loop() {
		Split(seg)
	}
}
