package line

import "testing"

// What is read of a beginning for less is what Parse reads of it.
func FuzzRankedNative(f *testing.F) {
	seed(f)
	for _, s := range []string{
		"[rank3]:[W603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [PG ID 0 PG GUID 0 Rank 3]  using GPU 3", "[rank3]:[W ProcessGroupNCCL.cpp:632] x",
		"[rank12345678]:[W603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] x", "[rank3]: [W603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] x",
		"[rank3]:[W1203 17:48:01 a.cpp:632]x", "[rank3]:[W1303 17:48:01 a.cpp:632] x", "[rank3]:", "[rank3]:   File \"a.py\", line 3, in f", "[rank3]:[NeMo ",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		p := Parse(b)
		if rank, n := RankLabel(b); n > 0 && (p.Who.Global != rank || p.Len < n) {
			t.Fatalf("%q: rank %d, %d bytes, but %+v", b, rank, n, p)
		}
		rank, s, severity, n := RankedNative(b)
		if n == 0 {
			return
		}
		who := NoOne
		who.Global = rank
		if p.Who != who || p.Stamp != s || p.Outer.Kind != NoStamp || p.Severity != severity || p.Len != n || p.Form != C10 {
			t.Fatalf("%q: rank %d, %+v, %c, %d bytes, but %+v", b, rank, s, severity, n, p)
		}
	})
}

func TestTheCommonHeaderOfARankIsRead(t *testing.T) {
	rank, s, severity, n := RankedNative([]byte("[rank12]:[W912 03:14:53.218403327 ProcessGroupNCCL.cpp:4003] Guessing"))
	if rank != 12 || s.Month != 9 || s.Day != 12 || s.Second != 53 || severity != 'W' || n != len("[rank12]:[W912 03:14:53.218403327 ProcessGroupNCCL.cpp:4003] ") {
		t.Fatal(rank, s, severity, n)
	}
}
