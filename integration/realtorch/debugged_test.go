//go:build realtorch

package realtorch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// debugged is a job whose model or whose order of collectives is wrong, under TORCH_DISTRIBUTED_DEBUG.
type debugged struct {
	name, mode string
	env        []string
	mechanism  string
	root       []int
	says       []string // in the summary and the chain
	shows      string   // what DDP's own logging says, in Report.Artifacts
	only       string   // a launcher: torchrun takes its time
}

const (
	detail  = "TORCH_DISTRIBUTED_DEBUG=DETAIL"
	verbose = "TORCH_CPP_LOG_LEVEL=INFO"
)

var debugs = []debugged{
	{name: "parameters that no rank uses", mode: "unused", env: []string{detail}, mechanism: "exception", says: []string{"parameters aux.bias, aux.weight got no gradient"}},
	{name: "parameters that no rank uses, by number", mode: "unused", only: "tasks", mechanism: "exception", says: []string{"parameters 6, 7 got no gradient"}},
	{name: "a branch that one rank takes", mode: "branch", env: []string{detail, verbose}, mechanism: "exception", root: []int{guilty},
		says: []string{"parameters aux.bias, aux.weight got no gradient", "in its backward pass", "taken different paths through the model"}, shows: "was wrapped with world_size 4"},
	{name: "a layer that is run twice", mode: "twice", env: []string{detail}, mechanism: "exception", says: []string{"got a second gradient"}},
	{name: "a graph that is not static", mode: "static", only: "tasks", env: []string{detail}, mechanism: "exception", says: []string{"parameters aux.bias, aux.weight got no gradient"}},
	{name: "a conditional collective", mode: "conditional", env: []string{detail}, mechanism: "collective-mismatch", root: []int{guilty},
		says: []string{"rank 2 ran allgather, called in log (debugged.py:", "while ranks 0-1,3 ran allreduce, called in log (debugged.py:"}},
	{name: "a slow forward pass", mode: "slow", only: "tasks", env: []string{detail, verbose}, mechanism: "completed", shows: "the forward pass of Net takes"},
	{name: "unused parameters are looked for and none is", mode: "found", only: "tasks", env: []string{detail}, mechanism: "completed"},
}

func TestRealDebugOutput(t *testing.T) {
	bot := built(t)
	for _, sys := range systems {
		root := prepared(t, sys.suite)
		for _, d := range debugs {
			if d.only != "" && d.only != sys.launcher {
				continue
			}
			t.Run(sys.torch+"/"+d.name, func(t *testing.T) {
				logs := debug(t, root, sys, d)
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
						Findings []struct{ Statement string }
					}
					Chain []struct{ Statement string }
				}
				if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
					t.Fatal(err)
				}
				var said, shown strings.Builder
				for _, l := range r.Chain {
					said.WriteString(strings.ToLower(l.Statement) + "\n")
				}
				for _, a := range r.Artifacts {
					for _, x := range a.Findings {
						shown.WriteString(x.Statement + "\n")
					}
				}
				t.Logf("%s %s, root %v, %d of %d quotations\n%s%s", r.Verdict.Status, r.Verdict.Mechanism, r.Verdict.Root.Ranks, r.Verification.Quotes.Held,
					r.Verification.Quotes.Checked, said.String(), shown.String())
				wrong := r.Verdict.Mechanism != d.mechanism || !slices.Equal(r.Verdict.Root.Ranks, d.root) && len(r.Verdict.Root.Ranks)+len(d.root) > 0 ||
					r.Verification.Quotes.Held != r.Verification.Quotes.Checked || !strings.Contains(shown.String(), d.shows)
				for _, s := range d.says {
					wrong = wrong || !strings.Contains(said.String(), strings.ToLower(s))
				}
				if wrong {
					t.Errorf("%s of %v; want %s of %v, saying %q and %q\n%s", r.Verdict.Mechanism, r.Verdict.Root.Ranks, d.mechanism, d.root, d.says, d.shows, telling(logs))
				}
			})
		}
	}
}

// debug runs a job and returns the directory of its logs.
func debug(t *testing.T, root string, sys system, d debugged) string {
	t.Helper()
	var args []string
	for _, e := range d.env {
		args = append(args, "--env", e)
	}
	args = append(args, "--", "debugged.py", "--mode", d.mode, "--rank", fmt.Sprint(guilty))
	logs, _ := drive(t, root, sys, fmt.Sprintf("debugged-%s-%d", d.mode, len(d.env)), args...)
	return logs
}
