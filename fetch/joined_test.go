package fetch

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestLogsUnderHeadersAreTakenApart(t *testing.T) {
	for _, c := range []struct {
		name, text string
		want       map[string]string // nil: it stays as it is
	}{
		{"tail -n +1 of two", "==> rank_0.log <==\nzero\n\n==> rank_1.log <==\none\n", map[string]string{"rank_0.log": "zero\n", "rank_1.log": "one\n"}},
		{"a file without a line end at its end", "==> a.log <==\ncut\n==> b.log <==\nb", map[string]string{"a.log": "cut\n", "b.log": "b"}},
		{"its own empty lines stay", "==> a.log <==\n\na\n\n\n\n==> b.log <==\nb\n\n", map[string]string{"a.log": "\na\n\n\n", "b.log": "b\n\n"}},
		{"tail -f returns to a file", "==> a.log <==\n1\n\n==> b.log <==\nb\n\n==> a.log <==\n2\n", map[string]string{"a.log": "1\n2\n", "b.log": "b\n"}},
		{"folders that all have in common", "==> /scratch/u/run/node1/err.log <==\n1\n\n==> /scratch/u/run/node2/err.log <==\n2\n", map[string]string{"node1/err.log": "1\n", "node2/err.log": "2\n"}},
		{"a folder above", "==> ../run/n1.log <==\n1\n\n==> ../run/n2.log <==\n2\n", map[string]string{"n1.log": "1\n", "n2.log": "2\n"}},
		{"Windows' line ends behind a byte-order mark", "\xef\xbb\xbf==> a.log <==\r\n1\r\n\r\n==> b.log <==\r\n2\r\n", map[string]string{"a.log": "1\r\n", "b.log": "2\r\n"}},
		{"a kernel's stack", "==> /proc/41/stack <==\n[<0>] ksys_read+0x4f/0xb0\n", nil},
		{"a script that shows what it runs", "==> config.yaml <==\nlr: 1\n\n==> train.sh <==\npython train.py\nstep 1\n", nil},
		{"a script that asks each node, and then trains", "==> node03 <==\nok\n==> node04 <==\nok\nstep 1\n", nil},
		{"one log", "==> a.log <==\n1\n", nil},
		{"empty lines in front", strings.Repeat("\n", 5000) + "==> a.log <==\n1\n\n==> b.log <==\n2\n", map[string]string{"a.log": "1\n", "b.log": "2\n"}},
		{"a place on another system", "==> C:\\logs\\a.log <==\n1\n\n==> C:\\logs\\b.log <==\n2\n", nil},
		{"an arrow in a log", "step 1\n==> loading <==\nstep 2\n", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, map[string]string{"all.log": c.text})
			s, err := local(t, LocalOptions{}, filepath.Join(root, "all.log"))
			if err != nil {
				t.Fatal(err)
			}
			if c.want == nil {
				c.want = map[string]string{"all.log": c.text}
			}
			got := map[string]string{}
			for _, src := range s.Sources {
				b, err := os.ReadFile(src.Path)
				if err != nil {
					t.Fatal(err)
				}
				got[src.Name] = string(b)
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

func TestLogsUnderHeadersKeepTheirPlace(t *testing.T) {
	text := "==> rank_0.log <==\nzero\n\n==> rank_1.log <==\none\n"
	root := tree(t, map[string]string{"slurm-42.out": "x\n", "pasted/all.txt": text})
	s, err := local(t, LocalOptions{}, root)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"pasted/all.txt/rank_0.log", "pasted/all.txt/rank_1.log", "slurm-42.out"}; !reflect.DeepEqual(names(s), want) {
		t.Errorf("names %q, want %q", names(s), want)
	}
	if s, err = Local(t.Context(), []string{root}, LocalOptions{}); err != nil { // nowhere to unpack it: read as a whole
		t.Fatal(err)
	}
	if want := []string{"pasted/all.txt", "slurm-42.out"}; !reflect.DeepEqual(names(s), want) {
		t.Errorf("names %q, want %q", names(s), want)
	}
}
