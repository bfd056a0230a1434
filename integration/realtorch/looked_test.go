//go:build realtorch

package realtorch

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"slices"
	"testing"
)

// looked are jobs that stand still, with the mechanism that the stacks of the real faulthandler show; "" where they only name the
// place, as rank 2 is in code of its own.
var looked = []struct{ mode, mechanism, place string }{
	{"queue", "dataloader-stall", "its data loader"}, {"inline", "dataloader-stall", "its data loader"}, {"save", "checkpoint-io", "a checkpoint"}, {"own", "", "settle"},
}

func TestRealStacks(t *testing.T) {
	bot := built(t)
	for _, sys := range systems {
		root := prepared(t, sys.suite)
		for _, l := range looked {
			t.Run(sys.torch+"/"+l.mode, func(t *testing.T) {
				logs := look(t, root, sys, l.mode)
				var stdout, stderr bytes.Buffer
				cmd := exec.Command(bot, "diagnose", "--format", "json", "--world-size", "4", logs)
				cmd.Stdout, cmd.Stderr = &stdout, &stderr
				err := cmd.Run()
				if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
					t.Fatalf("exit code %d, %v\n%s", code, err, stderr.String())
				}
				var r struct {
					report
					Artifacts []struct {
						Kind     string
						Files    []string
						Findings []struct{ Statement string }
					}
				}
				if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
					t.Fatal(err)
				}
				t.Logf("%s %s, root %v: %+v", r.Verdict.Status, r.Verdict.Mechanism, r.Verdict.Root.Ranks, r.Artifacts)
				if len(r.Artifacts) != 1 || r.Artifacts[0].Kind != "stacks" || len(r.Artifacts[0].Files) != 4 || len(r.Artifacts[0].Findings) < 2 {
					t.Fatal("the stacks of four ranks are not read")
				}
				if q := r.Verification.Quotes; q.Held != q.Checked || q.Checked == 0 {
					t.Errorf("%d of %d quotations confirmed", q.Held, q.Checked)
				}
				if first := r.Artifacts[0].Findings[0].Statement; !bytes.Contains([]byte(first), []byte(l.place)) {
					t.Errorf("it says first: %s", first)
				}
				switch {
				case l.mechanism == "" && len(r.Verdict.Root.Ranks) > 0:
					t.Errorf("rank %v is accused, and its own code may be waiting for others", r.Verdict.Root.Ranks)
				case l.mechanism != "" && (r.Verdict.Mechanism != l.mechanism || !slices.Equal(r.Verdict.Root.Ranks, []int{guilty})):
					t.Errorf("%s of %v; rank %d stands still by %s", r.Verdict.Mechanism, r.Verdict.Root.Ranks, guilty, l.mode)
				}
			})
		}
	}
}

// look runs a job and returns the directory of its logs, with the stacks below it.
func look(t *testing.T, root string, sys system, mode string) string {
	t.Helper()
	logs, _ := drive(t, root, sys, "looked-"+mode, "--", "looked.py", "--mode", mode, "--rank", "2", "--stacks", "{out}/stacks")
	return logs
}
