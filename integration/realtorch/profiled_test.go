//go:build realtorch

package realtorch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// profiled is a job under PyTorch's profiler. PyTorch 2.6 writes Kineto's JSON with the rank in it; Debian's 1.13, which is built
// without Kineto, a plain array, where the file's name has to tell.
type profiled struct {
	mode      string // of programs/profiled.py
	mechanism string
}

var profiles = []profiled{{"healthy", ""}, {"compute", "slow-rank"}, {"loader", "dataloader-stall"}}

// One rank is slow and the others wait for it in Gloo: the traces of the real profiler name it, and nobody where all are alike.
func TestRealTraces(t *testing.T) {
	bot := built(t)
	for _, sys := range systems {
		root := prepared(t, sys.suite)
		for _, p := range profiles {
			t.Run(sys.torch+"/"+p.mode, func(t *testing.T) {
				wrong := judgeTraces(t, bot, root, sys, p)
				if len(wrong) > 0 {
					t.Log(wrong, "once more: a machine that does other things slows a rank down, too")
					wrong = judgeTraces(t, bot, root, sys, p)
				}
				for _, w := range wrong {
					t.Error(w)
				}
			})
		}
	}
}

// judgeTraces runs a job under the profiler, diagnoses it with its traces and returns what is wrong with the report.
func judgeTraces(t *testing.T, bot, root string, sys system, p profiled) (wrong []string) {
	t.Helper()
	logs, traces := profile(t, root, sys, p.mode)
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(bot, "diagnose", "--format", "json", "--evidence", traces, "--world-size", "4", logs)
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
		Revisions []struct{ Was, Now string }
	}
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s %s, root %v", r.Verdict.Status, r.Verdict.Mechanism, r.Verdict.Root.Ranks)
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if len(r.Artifacts) != 1 || r.Artifacts[0].Kind != "profiler-trace" || len(r.Artifacts[0].Files) != 4 || len(r.Artifacts[0].Findings) == 0 {
		say("of the traces it says %+v", r.Artifacts)
	}
	if q := r.Verification.Quotes; q.Held != q.Checked {
		say("a quotation does not hold")
	}
	switch {
	case p.mechanism == "":
		if len(r.Verdict.Root.Ranks) > 0 || strings.Contains("slow-rank dataloader-stall", r.Verdict.Mechanism) {
			say("%s of %v, and all are alike: %+v", r.Verdict.Mechanism, r.Verdict.Root.Ranks, r.Artifacts)
		}
	case r.Verdict.Mechanism != p.mechanism || !slices.Equal(r.Verdict.Root.Ranks, []int{guilty}) || len(r.Revisions) == 0:
		say("%s of %v with %d revisions; rank %d is slow by %s", r.Verdict.Mechanism, r.Verdict.Root.Ranks, len(r.Revisions), guilty, p.mode)
	}
	return wrong
}

// profile runs a job under the profiler and returns the directories of its logs and of its traces.
func profile(t *testing.T, root string, sys system, mode string) (logs, traces string) {
	t.Helper()
	for again := 0; again < 4; again++ {
		var codes string
		logs, codes = drive(t, root, sys, "profiled-"+mode, "--", "profiled.py", "--mode", mode, "--rank", "2", "--traces", "{out}/traces")
		if healthy(codes) { // slow at most
			break
		}
		t.Logf("it was to end well and ended with %s:\n%s", codes, telling(logs))
	}
	traces = filepath.Join(t.TempDir(), "traces")
	if err := os.Rename(filepath.Join(logs, "traces"), traces); err != nil {
		t.Fatal(err)
	}
	return logs, traces
}
