//go:build realtorch

package realtorch

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// scenario is one job that fails in one known way. What is expected is what the bytes of its logs determine: Gloo says
// less than NCCL, and the lists are as wide as that leaves them.
type scenario struct {
	name     string
	mode     string   // of programs/train.py
	restarts int      // of torchrun
	agent    bool     // it is about torchrun itself
	env      []string // of every process
	// mechanisms are those of which each is a right first answer.
	mechanisms []string
	// candidates: instead, one of these must be among the candidates.
	candidates []string
	// unlaunched: the same where no launcher reaps the processes and writes down how each ended.
	unlaunched []string
	// root: rank 2 must be named. Otherwise it may be named, and nobody else.
	root bool
	// told is what must stand in the logs for that: where the launcher ended the process first that would have said it, the
	// first of the mechanisms is one of the candidates, and nobody needs to be named.
	told      string
	noFailure bool
}

// guilty is the rank that misbehaves in every scenario; it is never rank 0, which names the others in its own messages.
const guilty = 2

var scenarios = []scenario{
	{name: "healthy", mode: "healthy", noFailure: true},
	{name: "a launcher whose peer left first", mode: "healthy", agent: true, env: []string{"AGENT_LATE=node1"}, noFailure: true, told: "Error waiting on exit barrier"},
	{name: "an exception on one rank", mode: "exception", mechanisms: []string{"exception"}, root: true},
	{name: "the exception again after an elastic restart", mode: "exception", restarts: 1, mechanisms: []string{"exception"}, root: true},
	{name: "one rank killed by SIGKILL", mode: "sigkill",
		candidates: []string{"external-signal", "host-oom"}, unlaunched: []string{"external-signal", "host-oom", "peer-lost"}},
	{name: "a dead loader worker", mode: "loader", candidates: []string{"dataloader-worker-killed"}, root: true},
	{name: "a monitored barrier that one rank never reached", mode: "barrier", mechanisms: []string{"rank-stalled"}, root: true, told: "failed to pass monitoredBarrier"},
	{name: "mismatched collectives", mode: "mismatch", env: []string{"TORCH_DISTRIBUTED_DEBUG=DETAIL"}, mechanisms: []string{"collective-mismatch"}},
	// The launcher may end a rank before its own time-out is printed: then two are silent, and nobody is proven.
	{name: "one rank that stalls", mode: "stall", candidates: []string{"rank-stalled"}},
	// Rank 2 goes on to another collective when its data ends; Gloo's time-outs do not say which.
	{name: "uneven batches", mode: "uneven", candidates: []string{"uneven-data", "collective-mismatch", "peer-lost", "rank-stalled"}},
}

// system is one prepared PyTorch and how its jobs are started.
type system struct {
	suite, torch, launcher string
}

var systems = []system{
	{"bookworm", "1.13", "tasks"}, // its torchrun does not start on Python 3.11: processes are launched as srun does
	{"trixie", "2.6", "torchrun"},
}

// report is the part of the JSON that is judged.
type report struct {
	Verdict struct {
		Status, Mechanism string
		Candidates        []struct{ Mechanism string }
		Root              struct{ Ranks []int }
	}
	Coverage struct {
		RanksSeen int `json:"ranks_seen"`
	}
	Verification struct {
		Quotes struct{ Held, Checked int }
	}
}

func TestRealJobs(t *testing.T) {
	bot := built(t)
	var all []string // what is wrong, once more at the end, where a long output is read first
	defer func() {
		for _, w := range all {
			t.Error(w)
		}
	}()
	for _, sys := range systems {
		root := filepath.Join(cache(t), sys.suite)
		if _, err := os.Stat(filepath.Join(root, ".ready")); err != nil {
			t.Fatalf("%s is not prepared; run integration/realtorch/prepare.sh first", root) // a skip would hide it in CI
		}
		install(t, root)
		for _, sc := range scenarios {
			if (sc.restarts > 0 || sc.agent) && sys.launcher != "torchrun" {
				continue
			}
			t.Run(sys.torch+"/"+sc.name, func(t *testing.T) {
				if sys.launcher == "tasks" && sc.unlaunched != nil {
					sc.candidates = sc.unlaunched
				}
				logs, codes := run(t, root, sys, sc)
				// A job of which nothing was asked may fail by itself: Gloo loses a connection that its peer closes early.
				for again := 0; sc.noFailure && !healthy(codes) && again < 3; again++ {
					t.Logf("it was to be healthy and ended with %s; once more:\n%s", codes, telling(logs))
					logs, codes = run(t, root, sys, sc)
				}
				if sc.told != "" && !stands(t, logs, sc.told) {
					t.Logf("the launcher was first: no log says %q", sc.told)
					sc.candidates, sc.mechanisms, sc.root = sc.mechanisms, nil, false
				}
				if wrong := judge(t, sc, diagnose(t, bot, logs)); len(wrong) > 0 {
					all = append(all, fmt.Sprintf("%s, exit codes %s: %s\n%s", t.Name(), codes, strings.Join(wrong, "; "), telling(logs)))
					t.Fail()
				}
			})
		}
	}
}

func cache(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("FAULTLINE_CACHE"); dir != "" {
		return filepath.Join(dir, "realtorch")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(home, ".cache", "faultline", "realtorch")
}

// built is the bot's binary.
func built(t *testing.T) string {
	t.Helper()
	bot := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	return bot
}

// prepared is the root of a system with the programs of the tests in it.
func prepared(t *testing.T, suite string) string {
	t.Helper()
	root := filepath.Join(cache(t), suite)
	if _, err := os.Stat(filepath.Join(root, ".ready")); err != nil {
		t.Fatalf("%s is not prepared; run integration/realtorch/prepare.sh first", root)
	}
	install(t, root)
	return root
}

// install copies the programs into the system's folder.
func install(t *testing.T, root string) {
	t.Helper()
	programs, err := filepath.Glob(filepath.Join("programs", "*.py"))
	if err != nil || len(programs) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	for _, p := range programs {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(root, "opt", "faultline", filepath.Base(p)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// isolate starts the job in namespaces of its own: nothing listens outside of its loopback, and nothing survives it.
// Where the machine does not allow them the job still binds to 127.0.0.1 only.
func isolate() []string {
	args := []string{"unshare", "--mount", "--pid", "--fork", "--net", "--kill-child"}
	if exec.Command(args[0], append(args[1:], "true")...).Run() == nil {
		return args
	}
	return nil
}

// healthy says that every process that a cluster would have started ended with 0.
func healthy(codes string) bool {
	return codes != "" && strings.Trim(codes, "0 ") == ""
}

// run runs a job and returns the directory of its logs, outside of the system's folder, and the exit codes as drive does.
func run(t *testing.T, root string, sys system, sc scenario) (logs, codes string) {
	t.Helper()
	args := []string{"--restarts", fmt.Sprint(sc.restarts)}
	for _, e := range sc.env {
		args = append(args, "--env", e)
	}
	args = append(args, "--", "train.py", "--mode", sc.mode, "--rank", fmt.Sprint(guilty))
	return drive(t, root, sys, fmt.Sprintf("%s-%d", sc.mode, sc.restarts), args...)
}

// drive has the driver run a program in a system, with its output in a folder of that name, and returns a copy of the folder and
// the exit code of each process that a cluster would have started. args are the driver's, and behind "--" the program with its own; {out} in them is the folder as the program sees it.
func drive(t *testing.T, root string, sys system, name string, args ...string) (logs, codes string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 6*time.Minute)
	defer cancel()
	out := "/out/" + name
	inside := filepath.Join(root, out)
	if err := os.RemoveAll(inside); err != nil {
		t.Fatal(err)
	}
	const script = `mountpoint -q /proc || mount -t proc proc /proc; exec python3 /opt/faultline/drive.py "$@"`
	command := append(isolate(), "chroot", root, "sh", "-c", script, "drive", "--out", out, "--launcher", sys.launcher)
	for _, a := range args {
		command = append(command, strings.ReplaceAll(a, "{out}", out))
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.WaitDelay = 5 * time.Second
	said, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("it could not be run: %v\n%s", err, said)
	}
	lines := strings.Split(strings.TrimSpace(string(said)), "\n")
	logs = filepath.Join(t.TempDir(), "logs")
	if err := os.CopyFS(logs, os.DirFS(inside)); err != nil {
		t.Fatal(err)
	}
	if keep := os.Getenv("REALTORCH_KEEP"); keep != "" {
		if err := os.CopyFS(filepath.Join(keep, sys.suite, name), os.DirFS(inside)); err != nil {
			t.Log(err)
		}
	}
	return logs, lines[len(lines)-1]
}

func diagnose(t *testing.T, bot, logs string) report {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(bot, "diagnose", "--format", "json", "--world-size", "4", logs)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); code != 0 && code != 3 {
		t.Fatalf("exit code %d, %v\n%s", code, err, stderr.String())
	}
	var r report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// judge returns what is wrong with a report.
func judge(t *testing.T, sc scenario, r report) []string {
	t.Helper()
	v := r.Verdict
	t.Logf("%s %s, root %v, %d of %d quotations", v.Status, v.Mechanism, v.Root.Ranks, r.Verification.Quotes.Held, r.Verification.Quotes.Checked)
	var wrong []string
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	if sc.noFailure != (v.Status == "no-failure") {
		say("status %s", v.Status)
	}
	if r.Coverage.RanksSeen != 4 {
		say("%d of 4 ranks seen", r.Coverage.RanksSeen)
	}
	if r.Verification.Quotes.Held != r.Verification.Quotes.Checked {
		say("a quotation does not hold")
	}
	if len(sc.mechanisms) > 0 && !slices.Contains(sc.mechanisms, v.Mechanism) {
		say("%s %s among %v, right would be %s", v.Status, v.Mechanism, v.Candidates, strings.Join(sc.mechanisms, " or "))
	}
	if len(sc.candidates) > 0 && v.Mechanism != "unknown" && // unknown says that nothing is decided, which is never wrong
		!slices.ContainsFunc(v.Candidates, func(c struct{ Mechanism string }) bool { return slices.Contains(sc.candidates, c.Mechanism) }) {
		say("none of %v is among the candidates %v", sc.candidates, v.Candidates)
	}
	switch {
	case sc.root && !slices.Equal(v.Root.Ranks, []int{guilty}):
		say("root %v, it is rank %d", v.Root.Ranks, guilty)
	case slices.ContainsFunc(v.Root.Ranks, func(rank int) bool { return rank != guilty }):
		say("root %v accuses a rank that did nothing", v.Root.Ranks)
	}
	return wrong
}

// stands says that a text stands in one of the logs.
func stands(t *testing.T, logs, text string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(logs, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(f string) bool {
		b, err := os.ReadFile(f)
		return err == nil && bytes.Contains(b, []byte(text))
	})
}

// telling is what each log says about its failure, for somebody who will read it in the output of CI.
func telling(logs string) string {
	worth := regexp.MustCompile(`Error|GLOBAL_RANK|[Bb]arrier|mismatch|killed|exitcode|rank +:|Signal|signal`)
	files, _ := filepath.Glob(filepath.Join(logs, "*"))
	var out strings.Builder
	for _, f := range files {
		text, _ := os.ReadFile(f)
		fmt.Fprintf(&out, "%s:\n", filepath.Base(f))
		said := 0
		for i, line := range strings.Split(string(text), "\n") {
			if worth.MatchString(line) && said < 30 {
				fmt.Fprintf(&out, "%4d %.200s\n", i+1, line)
				said++
			}
		}
	}
	return out.String()
}
