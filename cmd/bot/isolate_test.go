package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/analysis/hostlist"
)

func TestIsolateGoesFromAllNodesToOne(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "f.json")
	step := func(args ...string) result {
		t.Helper()
		return call(t, "", append([]string{"isolate", "--ledger", ledger}, args...)...)
	}
	step("--nodes", "cn[001-064]", "--gpus", "8", "--partition", "gpu").want(t, exitInconclusive, "Round 1", "srun --partition=gpu --time=10 --nodes=64 --nodelist='cn[001-064]' --ntasks-per-node=8 --gpus-per-node=8 all_reduce_perf")
	step().want(t, exitInconclusive, "Round 1") // asked again it says the same
	r := step("1a=fail")
	r.want(t, exitInconclusive, "2 tests that can run side by side", "--nodelist='cn[001-032]'")
	for round := 2; ; round++ {
		if round > 12 {
			t.Fatal("no end")
		}
		var outcomes []string
		for _, line := range strings.Split(r.out, "\n") {
			f := strings.Fields(line)
			if len(f) > 1 && f[1] == "srun" {
				o := "pass"
				if strings.Contains(expanded(t, line), " cn018 ") {
					o = "fail"
				}
				outcomes = append(outcomes, f[0]+"="+o)
			}
		}
		if r = step(outcomes...); strings.HasPrefix(r.out, "Found") {
			r.want(t, exitOK, "Found: cn018 (", "--exclude=cn018", "--nodelist='cn[001-017,019-064]'")
			return
		}
	}
}

// expanded is the node list of a line, each name between blanks.
func expanded(t *testing.T, line string) string {
	t.Helper()
	_, list, _ := strings.Cut(line, "--nodelist='")
	list, _, _ = strings.Cut(list, "'")
	nodes, err := hostlist.Expand(list)
	if err != nil {
		t.Fatal(err)
	}
	return " " + strings.Join(nodes, " ") + " "
}

func TestIsolateTakesARunOfNcclTests(t *testing.T) {
	dir := t.TempDir()
	ledger := filepath.Join(dir, "f.json")
	slow := filepath.Join(dir, "slow.txt")
	text := `# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1001 on      cn001 device  0 [0x1b] NVIDIA H100 80GB HBM3
#  Rank  1 Group  0 Pid   1002 on      cn002 device  0 [0x1b] NVIDIA H100 80GB HBM3
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
  1073741824     268435456     float     sum      -1    23000   46.68   46.68      0    23010   46.66   46.66      0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 46.67
#
`
	if err := os.WriteFile(slow, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	call(t, "", "isolate", "--ledger", ledger, "--nodes", "cn[001-008]").want(t, exitInconclusive, "Round 1")
	call(t, "", "isolate", "--ledger", ledger, "1a="+slow).want(t, exitUsage, "46.7 GB/s", "--floor")
	call(t, "", "isolate", "--ledger", ledger, "--floor", "180", "1a="+slow).want(t, exitInconclusive, "Round 2")
}

func TestIsolateFindsASize(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "s.json")
	step := func(args ...string) result {
		t.Helper()
		return call(t, "", append([]string{"isolate", "--ledger", ledger}, args...)...)
	}
	step("--sizes", "gpus", "--good", "8", "--bad", "32", "--gpus", "8", "--test", "./train.sh").want(t, exitInconclusive, "--nodes=4 ")
	step("1a=fail").want(t, exitInconclusive, "--nodes=1 ")
	step("2a=pass")
	var r result
	for n := 3; n < 12; n++ { // it breaks from 24 on
		text, err := os.ReadFile(ledger)
		if err != nil {
			t.Fatal(err)
		}
		_, last, _ := strings.Cut(string(text), `"id": "`+string(rune('0'+n))+`a"`)
		o := "=pass"
		if strings.Contains(last, `"size": 24`) || strings.Contains(last, `"size": 32`) {
			o = "=fail"
		}
		if r = step(string(rune('0'+n)) + "a" + o); r.code == exitOK {
			break
		}
	}
	r.want(t, exitOK, "Breaks between 16 GPUs and 24 GPUs", "What changes at that size")
}

func TestIsolateRefusesWhatItCannotDo(t *testing.T) {
	dir := t.TempDir()
	ledger := filepath.Join(dir, "f.json")
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{nil, exitUsage, "give the ledger file"},
		{[]string{"--ledger", ledger}, exitUsage, "name the nodes"},
		{[]string{"--ledger", ledger, "1a=fail"}, exitUsage, "does not exist yet"},
		{[]string{"--ledger", ledger, "--nodes", "cn1"}, exitUsage, "at least two nodes"},
		{[]string{"--ledger", ledger, "--nodes", "cn[1-2],cn1"}, exitUsage, "listed twice"},
		{[]string{"--ledger", ledger, "--nodes", "cn[1-"}, exitUsage, "--nodes"},
		{[]string{"--ledger", ledger, "--nodes", "cn[1-8]", "--for", "gpu"}, exitUsage, "any, node, link or switch"},
		{[]string{"--ledger", ledger, "--nodes", "cn[1-8]", "--for", "switch"}, exitUsage, "topology"},
		{[]string{"--ledger", ledger, "--nodes", "cn[1-8]", "--side-by-side", "1"}, exitUsage, "tests at once"},
		{[]string{"--ledger", ledger, "--sizes", "gpus", "--good", "8", "--bad", "8", "--test", "x"}, exitUsage, "must be larger"},
		{[]string{"--ledger", ledger, "--sizes", "batch", "--good", "8", "--bad", "16", "--test", "x"}, exitUsage, "{size}"},
	} {
		call(t, "", append([]string{"isolate"}, c.args...)...).want(t, c.code, c.want)
	}
	if _, err := os.Stat(ledger); err == nil {
		t.Error("a search that was refused left a ledger")
	}
	if err := os.WriteFile(ledger, []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	call(t, "", "isolate", "--ledger", ledger).want(t, exitUnreadable, "not a bot isolate ledger")
	good := filepath.Join(dir, "g.json")
	call(t, "", "isolate", "--ledger", good, "--nodes", "cn[1-8]").want(t, exitInconclusive, "Round 1")
	call(t, "", "isolate", "--ledger", good, "--nodes", "cn[1-8]").want(t, exitUsage, "already holds a search")
	call(t, "", "isolate", "--ledger", good, "9z=fail").want(t, exitUsage, `there is no test "9z"`)
	call(t, "", "isolate", "--ledger", good, "1a=maybe").want(t, exitUsage, "not pass, fail or void")
	call(t, "", "isolate", "--ledger", good, "fail").want(t, exitUsage, "is not an outcome")
}
