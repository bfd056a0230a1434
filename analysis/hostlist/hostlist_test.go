package hostlist

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Expected values are those of "scontrol show hostnames" (SLURM 22.05), but for the suffix.
func TestExpand(t *testing.T) {
	for in, want := range map[string]string{
		"node1": "node1", "a,b": "a b", "node[01-03,07]": "node01 node02 node03 node07", "n[09-11,100]": "n09 n10 n11 n100",
		"a[1-2]b[3-4]": "a1b3 a1b4 a2b3 a2b4", "ip-10-0-[3-4]-[12,15]": "ip-10-0-3-12 ip-10-0-3-15 ip-10-0-4-12 ip-10-0-4-15",
		"n[1-3,2]": "n1 n2 n3 n2", "node[1-2]-ib0": "node1-ib0 node2-ib0", "node[01-03,07],login1": "node01 node02 node03 node07 login1",
		"": "", "(null)": "", "None assigned": "", " N/A ": "", "a[5]": "a5", "x[1-2],y[1-2]": "x1 x2 y1 y2", "node1, node2": "node1 node2", "[1-2]": "1 2",
	} {
		got, err := Expand(in)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("Expand(%q) = %v, %v; want %s", in, got, err, want)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	for _, in := range []string{"n[1-", "n]1", "n[[1]]", "n[a-b]", "n[3-1]", "n[]", "a,,b", ",", "a b", "a;rm", "n[1-99999999999]", "é", "a/b", "n[1-2-3]", strings.Repeat("x", 300), "n[1"} {
		if got, err := Expand(in); err == nil {
			t.Errorf("Expand(%q) = %v", in, got)
		}
	}
	for _, in := range []string{"n[0-65536]", "n[1-300]x[1-300]", "n[0-9999999999]", "a[0-65535],b", strings.Repeat("[0-99]", 4)} {
		if _, err := Expand(in); !errors.Is(err, ErrTooMany) {
			t.Errorf("Expand(%q): %v", in, err)
		}
	}
	if got, err := Expand("n[0-65535]"); err != nil || len(got) != MaxHosts {
		t.Errorf("%d names, %v", len(got), err)
	}
}

func TestCompress(t *testing.T) {
	for want, in := range map[string][]string{
		"": nil, "node[01-03,07],login": {"node01", "node02", "node03", "node07", "login"}, "n[9-11,01]": {"n9", "n10", "n11", "n01"},
		"a,b": {"a", "b"}, "n7": {"n7"}, "n[09-10,100]": {"n09", "n10", "n100"}, "n[1,1]": {"n1", "n1"}, "n[99-101],m1": {"n99", "m1", "n100", "n101"},
	} {
		if got := Compress(in); got != want {
			t.Errorf("Compress(%v) = %q, want %q", in, got, want)
		}
	}
}

func FuzzExpandCompress(f *testing.F) {
	for _, s := range []string{"node[01-03,07],login1", "a[1-2]b[3-4]-x", "n[9-11,01]", "1,2,3", "n0000000001,n0000000002", "a12345678901"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		names, err := Expand(s)
		if err != nil {
			return
		}
		if len(names) > MaxHosts {
			t.Fatalf("%d names", len(names))
		}
		short := Compress(names)
		again, err := Expand(short)
		if err != nil {
			t.Fatalf("Expand(Compress(%v)) = Expand(%q): %v", names, short, err)
		}
		slices.Sort(names)
		slices.Sort(again)
		if !reflect.DeepEqual(names, again) && len(names)+len(again) > 0 {
			t.Fatalf("%v became %v", names, again)
		}
	})
}
