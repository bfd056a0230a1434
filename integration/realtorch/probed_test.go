//go:build realtorch

package realtorch

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"faultline/probe"
)

// probed is a run of the program of bot probe on four ranks of two nodes, and what bot probe says of its output. CUDA's memory, kernels
// in bfloat16 and NCCL need a GPU and are not run here.
type probed struct {
	name, fault string
	args        []string
	want        []string
	found       bool // something is wrong
}

var probes = []probed{
	{name: "compute", args: []string{"compute", "--seconds", "2"}, want: []string{"Nothing wrong: 4 results."}},
	{name: "memory", args: []string{"memory", "--gb", "0.3"}, want: []string{"Nothing wrong: 4 results."}},
	{name: "data", args: []string{"data", "--data", "{data}"}, want: []string{"Nothing wrong: 4 results."}},
	{name: "loader", args: []string{"data", "--loader", "shards:loader", "--seconds", "2"}, want: []string{"Nothing wrong: 4 results."}},
	{name: "communication", args: []string{"communication"}, want: []string{"Nothing wrong: 4 results."}},
	{name: "a rank that is slow", fault: "slow", args: []string{"compute", "--seconds", "6", "--width", "128"}, want: []string{"compute: rank 2 on node1: ", "; the median is "}, found: true},
	{name: "a rank whose results change", fault: "bits", args: []string{"compute", "--seconds", "2"}, want: []string{"compute: rank 2 on node1: step ", "gave other results than the first"}, found: true},
	{name: "a rank with little memory", fault: "small", args: []string{"memory", "--gb", "0.5"}, want: []string{"memory: rank 2 on node1: ", "of 0.5 GB could be allocated"}, found: true},
	{name: "what the job held, and more", args: []string{"memory", "--held", "0.2", "--then", "0.1"}, want: []string{"Nothing wrong: 4 results."}},
	{name: "what a job could not have", fault: "small", args: []string{"memory", "--held", "0.2", "--then", "0.9"}, want: []string{"memory: rank 2 on node1: 0.2 GiB fit, and 0.9 GiB more do not: "}, found: true},
	{name: "the job's type", args: []string{"compute", "--seconds", "1", "--width", "128", "--dtype", "bfloat16"}, want: []string{"Nothing wrong: 4 results."}},
	{name: "a shard that is gone", args: []string{"data", "--data", "{torn}"}, want: []string{"data: rank 2 on node1: ", "No such file or directory"}, found: true},
	{name: "a rank that never comes", fault: "absent", args: []string{"communication", "--timeout", "8"},
		want: []string{"communication: rank", "2: no result", "it took longer than 8 s"}, found: true},
}

// newest is the system on which every fault is played; the other one has to run what is sound.
const newest = "trixie"

func TestProbesOnRealPyTorch(t *testing.T) {
	bot := built(t)
	for _, sys := range systems {
		root := prepared(t, sys.suite)
		home := filepath.Join(root, "opt", "faultline")
		keep := func(name, text string) {
			if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		keep("probe.py", string(probe.Script))
		keep("shards.py", "import time\ndef loader():\n    for i in range(50):\n        time.sleep(0.02)\n        yield i\n")
		for _, dir := range []string{"data", "torn"} {
			if err := os.RemoveAll(filepath.Join(home, dir)); err != nil { // of an earlier run
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Join(home, dir), 0o755); err != nil {
				t.Fatal(err)
			}
			for _, shard := range []string{"0", "1", "2", "3"} {
				keep(filepath.Join(dir, "shard-"+shard), strings.Repeat("x", 1<<20))
			}
		}
		gone := filepath.Join(home, "torn", "shard-2")
		_ = os.Remove(gone)
		if err := os.Symlink("/nowhere/shard-2", gone); err != nil {
			t.Fatal(err)
		}
		for _, p := range probes {
			if p.found && sys.suite != newest && os.Getenv("FAULTLINE_FULL") == "" {
				continue
			}
			t.Run(sys.torch+"/"+p.name, func(t *testing.T) {
				args := []string{"--env", "USE_LIBUV=0", "--env", "PYTHONPATH=/opt/faultline", "--", "probed.py", "--fault", p.fault, "--"}
				for _, a := range append(p.args, "--cpu") {
					args = append(args, strings.NewReplacer("{data}", "/opt/faultline/data", "{torn}", "/opt/faultline/torn").Replace(a))
				}
				code, said, all := probeRun(t, root, bot, "probed-"+strings.ReplaceAll(p.name, " ", "-"), args)
				// A machine that does other things slows some ranks down, too: what is sound has to look sound once.
				for range 2 {
					if p.found || code == 0 || !strings.Contains(said, "; the median is ") {
						break
					}
					t.Logf("once more: %s", said)
					code, said, all = probeRun(t, root, bot, "probed-"+strings.ReplaceAll(p.name, " ", "-"), args)
				}
				if wrong := code == 3; wrong != p.found || !wrong && code != 0 {
					t.Errorf("exit code %d\n%s", code, all)
				}
				for _, want := range p.want {
					if !strings.Contains(said, want) {
						t.Errorf("it does not say %q\n%s", want, all)
					}
				}
				for line := range strings.Lines(said) { // the launcher ends the others when one has failed
					if p.found && p.fault != "absent" && !strings.Contains(line, "rank 2 on node1") && !strings.Contains(line, "no result") {
						t.Errorf("another rank is named, too: %s", line)
					}
				}
			})
		}
		t.Run(sys.torch+"/a tensor of another shape", func(t *testing.T) {
			logs, _ := drive(t, root, system{launcher: "tasks"}, "probed-shape", "--", "probed.py", "--fault", "shape", "--folder", "{out}")
			for _, want := range []string{"weights are the same", "hidden differs between ranks: rank 0: [4, 8] torch.float32 on cpu", "rank 2: [4, 16] torch.float32"} {
				if !stands(t, logs, want) {
					t.Errorf("no log says %q:\n%s", want, telling(logs))
				}
			}
			args := []string{"diagnose", "--full", "--world-size", "4", logs}
			csv, _ := filepath.Glob(filepath.Join(logs, "metrics_rank*.csv"))
			for _, f := range csv {
				args = append(args, "--evidence", f)
			}
			said, _ := exec.Command(bot, args...).Output() // its exit code is that of the verdict
			if text := strings.Join(strings.Fields(string(said)), " "); len(csv) != 4 || !strings.Contains(text, "at step 4 it is") || !strings.Contains(text, "on rank 2") {
				t.Errorf("%d records, and the report does not say whose checksum leaves the others':\n%s", len(csv), said)
			}
		})
	}
}

// probeRun runs the probe's program on four ranks, and returns what bot probe says of their output, which is all.
func probeRun(t *testing.T, root, bot, name string, args []string) (code int, said string, all []byte) {
	t.Helper()
	logs, codes := drive(t, root, system{launcher: "tasks"}, name, args...)
	files, err := filepath.Glob(filepath.Join(logs, "*.out"))
	if err != nil || len(files) != 4 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, f := range files { // as srun writes it: one output of all ranks
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	result := filepath.Join(t.TempDir(), "result.txt")
	if err := os.WriteFile(result, all, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bot, "probe", result)
	out, _ := cmd.Output() // its exit code says what is wrong
	code, said = cmd.ProcessState.ExitCode(), string(out)
	t.Logf("exit codes %s, bot probe %d: %s", codes, code, said)
	return code, said, all
}
