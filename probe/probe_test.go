package probe

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// output is what four ranks print of a component, with changes by rank.
func output(component string, change map[int]string) string {
	var b strings.Builder
	for rank := range 4 {
		text, ok := change[rank]
		if !ok {
			text = fmt.Sprintf("ok %d.5 TFLOP/s; slowest step 1.02 times the median of 9", 400+rank)
		}
		if text != "" {
			fmt.Fprintf(&b, "%d: probe %s: rank %d of 4 on cn0%d: %s\n", rank, component, rank, rank/2, text)
		}
	}
	return b.String()
}

func TestWhatIsWrongIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"sound":           {output("compute", nil), ""},
		"slow":            {output("compute", map[int]string{2: "ok 200.1 TFLOP/s; slowest step 1.00 times the median of 5"}), "compute [2] [cn01] 200.1 TFLOP/s; slowest step 1.00 times the median of 5; the median is 401.5"},
		"a little slower": {output("compute", map[int]string{2: "ok 300.1 TFLOP/s; slowest"}), ""},
		"failed":          {output("memory", map[int]string{0: "FAIL 3 bytes of block 1 read back wrong"}), "memory [0] [cn00] 3 bytes of block 1 read back wrong"},
		"all failed": {output("data", map[int]string{0: "FAIL no file in /d", 1: "FAIL no file in /d", 2: "FAIL no file in /d", 3: "FAIL no file in /d"}),
			"data [0 1 2 3] [cn00 cn01] no file in /d"},
		"absent":                           {output("compute", map[int]string{3: ""}), "compute [3] [] no result: it crashed, or never started"},
		"a ring is as slow as its slowest": {output("communication", map[int]string{1: "ok 1.0 GB/s; x"}), ""},
		"too little is no measure":         {output("data", map[int]string{1: "ok 3.1 MB/s; 1 files, slowest read 0.002 s; not compared"}), ""},
		"ran again":                        {output("compute", map[int]string{1: "FAIL x"}) + output("compute", nil), ""},
		"another program":                  {"step 1\n", ""},
	} {
		results, err := Read(strings.NewReader(c.text))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range Judge(results) {
			got = append(got, fmt.Sprint(x.Component, " ", x.Ranks, " ", x.Nodes, " ", x.Text))
		}
		if s := strings.Join(got, "\n"); s != c.want {
			t.Errorf("%s: %q, want %q", name, s, c.want)
		}
	}
}

// What needs no PyTorch runs here; integration/realtorch runs the rest.
func TestTheProgramReportsInItsOwnForm(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3")
	}
	dir := t.TempDir()
	name := filepath.Join(dir, "probe.py")
	if err := os.WriteFile(name, Script, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shards.py"), []byte("import time\ndef loader():\n    yield 1\n    time.sleep(1000)\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		"1 files, slowest read":       {"data", "--data", name},
		"No such file or directory":   {"data", "--data", filepath.Join(dir, "none")},
		"it took longer than 0.5 s":   {"data", "--loader", "shards:loader", "--timeout", "0.5"},
		"No module named 'shardless'": {"data", "--loader", "shardless:loader"},
	} {
		cmd := exec.Command(python, append([]string{"-B", name}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "RANK=3", "WORLD_SIZE=4")
		out, err := cmd.Output()
		results, _ := Read(strings.NewReader(string(out)))
		if len(results) != 1 || results[0].Rank != 3 || results[0].World != 4 || results[0].OK != (err == nil) || !strings.Contains(results[0].Text, want) {
			t.Errorf("%v: %v, %s%+v", args, err, out, results)
		}
	}
}
