//go:build realtorch

package realtorch

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// reproduced is a job that fails, and the mechanism for which the bot writes a script.
type reproduced struct {
	mode      string // of programs/train.py
	env       []string
	mechanism string
	root      bool // guilty must be named, of the job and of the script's own run
}

var reproductions = []reproduced{
	{mode: "mismatch", env: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, mechanism: "collective-mismatch"},
	{mode: "barrier", mechanism: "rank-stalled", root: true},
}

// A real job fails; the script that the bot writes of its logs really fails in the same way, as the bot itself finds.
func TestReproductionsFailAsTheJobDid(t *testing.T) {
	bot := built(t)
	for _, sys := range systems {
		root := prepared(t, sys.suite)
		for _, c := range reproductions {
			t.Run(sys.torch+"/"+c.mode, func(t *testing.T) {
				job, _ := run(t, root, sys, scenario{mode: c.mode, env: c.env})
				script := filepath.Join(root, "opt", "faultline", "repro.py")
				out, err := exec.Command(bot, "repro", "--cpu", "--world-size", "4", "--mechanism", c.mechanism, "--out", script, job).CombinedOutput()
				if err != nil {
					t.Fatalf("no script: %v\n%s\n%s", err, out, telling(job))
				}
				t.Logf("%s", out)
				logs := runScript(t, root, c.mode)
				v := diagnose(t, bot, logs)
				t.Logf("%s %s, root %v", v.Verdict.Status, v.Verdict.Mechanism, v.Verdict.Root.Ranks)
				if v.Verdict.Mechanism != c.mechanism || v.Coverage.RanksSeen != 4 {
					t.Errorf("%s among %v of %d ranks; the job had %s", v.Verdict.Mechanism, v.Verdict.Candidates, v.Coverage.RanksSeen, c.mechanism)
				}
				at := culprit(t, script)
				if c.root && (at != guilty || !slices.Equal(v.Verdict.Root.Ranks, []int{guilty})) {
					t.Errorf("root %v, rank %d in the script; of the job it was rank %d", v.Verdict.Root.Ranks, at, guilty)
				}
				if slices.ContainsFunc(v.Verdict.Root.Ranks, func(rank int) bool { return rank != at }) {
					t.Errorf("root %v, it is rank %d", v.Verdict.Root.Ranks, at)
				}
				if q := v.Verification.Quotes; q.Held != q.Checked {
					t.Error("a quotation does not hold")
				}
				if t.Failed() {
					t.Log(telling(logs))
				}
			})
		}
	}
}

// culprit is the rank that misbehaves in a script.
func culprit(t *testing.T, script string) int {
	t.Helper()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^CULPRIT = (\d+)$`).FindSubmatch(text)
	if m == nil {
		t.Fatalf("no culprit in %s", script)
	}
	at, err := strconv.Atoi(string(m[1]))
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// runScript runs repro.py in the system and returns the directory of its logs.
func runScript(t *testing.T, root, name string) string {
	t.Helper()
	// Debian's PyTorch 2.6 is built without libuv, for which its stores ask; under torchrun nothing can tell them otherwise.
	logs, _ := drive(t, root, system{launcher: "tasks"}, "repro-"+name, "--env", "USE_LIBUV=0", "--", "repro.py", "--timeout", "6")
	return logs
}
