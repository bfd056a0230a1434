//go:build unix

package main

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"faultline/analysis/artifact/gpustate"
)

// wrapped is bot check --wrap around a script, in a folder of its own.
type wrapped struct {
	t        *testing.T
	dir      string
	cmd      *exec.Cmd
	out, err bytes.Buffer
}

func wrap(t *testing.T, flags []string, command ...string) *wrapped {
	t.Helper()
	w := &wrapped{t: t, dir: t.TempDir()}
	args := append([]string{"check", "--node", "localhost", "--log", "train.log", "--wrap"}, flags...)
	w.cmd = exec.Command(bot, append(append(args, "--"), command...)...)
	w.cmd.Dir, w.cmd.Stdout, w.cmd.Stderr = w.dir, &w.out, &w.err
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a job step has its own
	return w
}

func (w *wrapped) start() {
	w.t.Helper()
	if err := w.cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) })
}

func (w *wrapped) end() int {
	w.t.Helper()
	if err := w.cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		w.t.Fatal(err)
	}
	return w.cmd.ProcessState.ExitCode()
}

func (w *wrapped) log() string {
	b, _ := os.ReadFile(filepath.Join(w.dir, "train.log"))
	return string(b)
}

// says waits until the log has a text.
func (w *wrapped) says(text string) {
	w.t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(w.log(), text); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatalf("it never says %q:\n%s\n%s", text, w.log(), w.err.String())
		}
	}
}

func TestTheTrainingEndsAsItWouldAlone(t *testing.T) {
	outsideSLURM(t)
	for _, c := range []struct {
		name, script string
		code         int
	}{
		{"well", "echo step 1; echo warning >&2", 0},
		{"with a code", "exit 42", 42},
		{"by a signal", "kill -SEGV $$", 139},
		{"killed", "kill -KILL $$", 137},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := wrap(t, nil, "sh", "-c", c.script)
			w.start()
			if code := w.end(); code != c.code {
				t.Errorf("%d, want %d\n%s", code, c.code, w.err.String())
			}
		})
	}
}

func TestTheLogIsThereBeforeTheTraining(t *testing.T) {
	outsideSLURM(t)
	t.Setenv("SLURM_JOB_ID", "4242")
	t.Setenv("SLURM_PROCID", "3")
	w := wrap(t, nil, "sh", "-c", "wc -l < train.log; echo step 1; echo oops >&2", "sh", "--api-key=sk-abcdefghijklmnopqrstuvwxyz012345")
	w.start()
	if code := w.end(); code != 0 {
		t.Fatalf("%d\n%s", code, w.err.String())
	}
	log := w.log()
	for _, want := range []string{"# bot check: job 4242\n", "task 3\n", "command sh -c ", "ready: 1 node", "step 1\n", "oops\n"} {
		if !strings.Contains(log, want) {
			t.Errorf("the log has no %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "sk-abcdef") {
		t.Errorf("a secret is in the log:\n%s", log)
	}
	if out := w.out.String(); !strings.Contains(out, "step 1\n") || strings.Contains(out, "oops") || !strings.Contains(w.err.String(), "oops\n") {
		t.Errorf("the output does not go on:\n%s\n%s", out, w.err.String())
	}
	if lines := strings.Fields(strings.TrimPrefix(w.out.String(), "bot check: ready: 1 node, 0 GPUs; 0 failures, 0 warnings\n")); len(lines) == 0 || lines[0] < "5" && len(lines[0]) == 1 {
		t.Errorf("the header was not there when the training began: %q", lines)
	}
}

// A run for debugging leaves more, but for what its owner set; what the GPUs did is a file that the engine reads.
func TestADebugRunLeavesMore(t *testing.T) {
	outsideSLURM(t)
	t.Setenv("SLURMD_NODENAME", "cn07")
	t.Setenv("NCCL_DEBUG", "TRACE")
	dir := t.TempDir()
	smi := filepath.Join(dir, "nvidia-smi")
	script := `#!/bin/sh
case "$*" in
*" -l 1") echo "timestamp, index, uuid, utilization.gpu [%], memory.used [MiB], memory.total [MiB], temperature.gpu, power.draw [W], clocks.current.sm [MHz], clocks_throttle_reasons.active, ecc.errors.uncorrected.volatile.total"
	echo "2026/11/27 08:00:00.000, 0, GPU-1, 0 %, 70000 MiB, 81559 MiB, 41, 90.00 W, 1980 MHz, 0x0000000000000001, 3"; exec sleep 60 ;;
*) echo "0, NVIDIA H100 80GB HBM3, 550.90, 81559, 4, 1980, 1980, Not Active, Not Active" ;;
esac
`
	if err := os.WriteFile(smi, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	debug := filepath.Join(dir, "debug-%j")
	w := wrap(t, []string{"--debug", debug, "--watch", "1s"}, "sh", "-c", "echo $NCCL_DEBUG $NCCL_DEBUG_FILE $TORCH_NCCL_TRACE_BUFFER_SIZE; while ! [ -s "+dir+"/debug-local/gpu-cn07.csv ]; do sleep 0.02; done")
	w.start()
	began := time.Now()
	if code := w.end(); code != 0 || time.Since(began) > 20*time.Second {
		t.Fatalf("%d after %s\n%s", code, time.Since(began), w.err.String())
	}
	for _, want := range []string{"# bot check: NCCL_DEBUG was set to TRACE\n", "# bot check: set TORCH_NCCL_TRACE_BUFFER_SIZE=2000\n", "TRACE " + dir + "/debug-local/nccl.%h.%p.log 2000\n"} {
		if !strings.Contains(w.log(), want) {
			t.Errorf("the log has no %q:\n%s", want, w.log())
		}
	}
	csv, err := os.ReadFile(filepath.Join(dir, "debug-local", "gpu-cn07.csv"))
	if err != nil || !gpustate.Recognise(csv) {
		t.Errorf("%v: the engine does not know %s", err, csv)
	}
}

func TestATrainingThatDoesNotStartLeavesALog(t *testing.T) {
	outsideSLURM(t)
	w := wrap(t, nil, "no-such-program")
	w.start()
	if code := w.end(); code != 127 || !strings.Contains(w.log(), "no-such-program") || !strings.Contains(w.log(), "starting the training") {
		t.Errorf("%d\n%s", code, w.log())
	}
	w = wrap(t, nil, "/dev/null")
	w.start()
	if code := w.end(); code != 126 {
		t.Errorf("%d, want 126", code)
	}
	w = wrap(t, []string{"--read", "/no/such/data"}, "touch", "started")
	w.start()
	if code := w.end(); code != exitUnreadable || !strings.Contains(w.log(), "cannot read /no/such/data") || !strings.Contains(w.log(), "was not started") {
		t.Errorf("%d\n%s", code, w.log())
	}
	if _, err := os.Stat(filepath.Join(w.dir, "started")); err == nil {
		t.Error("it was started all the same")
	}
	w = wrap(t, []string{"--log", "no/such/folder/x.log"}, "true")
	w.start()
	if code := w.end(); code != exitUnreadable || !strings.Contains(w.err.String(), "opening the log") {
		t.Errorf("%d\n%s", code, w.err.String())
	}
	call(t, "", "check", "--wrap").want(t, exitUsage, "--wrap needs the command")
	call(t, "", "check", "--wrap", "--push", "perhaps", "--", "true").want(t, exitUsage, "--push perhaps")
}

// counts is a training that counts what it is told, and ends when a file is there.
const counts = `trap 'echo got TERM' TERM; trap 'echo got USR1' USR1; trap 'echo got INT' INT; echo running; while [ ! -e stop ]; do sleep 0.05; done; exit 7`

func TestTheTrainingHearsASignalOnce(t *testing.T) {
	outsideSLURM(t)
	for _, c := range []struct {
		name string
		to   func(pid int) int
	}{
		{"sent to the wrapper alone", func(pid int) int { return pid }},
		{"sent to all processes, as SLURM does", func(pid int) int { return -pid }},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := wrap(t, nil, "sh", "-c", counts)
			w.start()
			w.says("running\n")
			for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM, syscall.SIGUSR1} {
				if err := syscall.Kill(c.to(w.cmd.Process.Pid), s); err != nil {
					t.Fatal(err)
				}
				time.Sleep(600 * time.Millisecond)
			}
			w.says("got TERM\n")
			if err := os.WriteFile(filepath.Join(w.dir, "stop"), nil, 0o644); err != nil {
				t.Fatal(err)
			}
			code := w.end()
			log := w.log()
			if n, m := strings.Count(log, "got TERM\n"), strings.Count(log, "got USR1\n"); n != 1 || m != 2 || code != 7 {
				t.Errorf("TERM %d times, USR1 %d times, exit %d:\n%s", n, m, code, log)
			}
		})
	}
}

// A terminal, and SLURM, keep the input of a job open: the end must not wait for it. What is in it is the training's.
func TestTheInputIsTheTrainings(t *testing.T) {
	outsideSLURM(t)
	r, input, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer input.Close()
	if _, err := input.WriteString("yes\n"); err != nil {
		t.Fatal(err)
	}
	w := wrap(t, nil, "sh", "-c", "read answer; echo read $answer")
	w.cmd.Stdin = r
	w.start()
	began := time.Now()
	if code := w.end(); code != 0 || !strings.Contains(w.out.String(), "read yes\n") || strings.Contains(w.err.String(), "stopped") {
		t.Errorf("%d\n%s%s", code, w.out.String(), w.err.String())
	}
	if took := time.Since(began); took > 8*time.Second {
		t.Errorf("it waited %s for more input", took)
	}
}

// A program of the training must find signals as it would without the wrapper: Python and pipes rely on SIGPIPE.
func TestTheTrainingIgnoresTheSignalsThatItWouldAlone(t *testing.T) {
	outsideSLURM(t)
	for name, first := range map[string]string{"none": "", "nohup": "trap '' HUP; "} {
		t.Run(name, func(t *testing.T) {
			alone, err := exec.Command("sh", "-c", first+"exec grep SigIgn /proc/self/status").Output()
			if err != nil {
				t.Skip("no /proc")
			}
			w := wrap(t, nil, "grep", "SigIgn", "/proc/self/status")
			w.cmd.Path, w.cmd.Args = "/bin/sh", append([]string{"sh", "-c", first + `exec "$@"`, "sh"}, append([]string{w.cmd.Path}, w.cmd.Args[1:]...)...)
			w.start()
			if w.end(); !strings.Contains(w.out.String(), strings.TrimSpace(string(alone))) {
				t.Errorf("%s, alone %s", w.out.String(), alone)
			}
		})
	}
}

// The tasks of a node have one check between them.
func TestTheTasksOfANodeWaitForItsCheck(t *testing.T) {
	outsideSLURM(t)
	for name, code := range map[string]int{"passes": 0, "fails": 1} {
		t.Run(name, func(t *testing.T) {
			flags := []string{"--log", "train-%t.log"}
			if code != 0 {
				flags = append(flags, "--read", "/no/such/data")
			}
			var tasks []*wrapped
			for _, id := range []string{"1", "2", "0"} { // the first comes last
				w := wrap(t, flags, "sh", "-c", "echo training")
				w.cmd.Env = append(os.Environ(), "SLURM_JOB_ID=77"+name, "SLURM_STEP_ID=0", "SLURM_NODEID=1", "SLURM_STEP_TASKS_PER_NODE=8,3(x2)", "SLURM_LOCALID="+id, "SLURM_PROCID="+id)
				w.start()
				if id != "0" {
					time.Sleep(300 * time.Millisecond)
					if b, _ := os.ReadFile(filepath.Join(w.dir, "train-"+id+".log")); strings.HasSuffix(string(b), "\ntraining\n") {
						t.Error("it did not wait")
					}
				}
				tasks = append(tasks, w)
			}
			for _, w := range tasks {
				go func() { // a task that hears nothing must not hold the test up
					time.Sleep(30 * time.Second)
					_ = w.cmd.Process.Kill()
				}()
				if got := w.end(); got != code || (code == 0) != strings.Contains(w.out.String(), "training\n") {
					t.Errorf("exit %d, want %d\n%s%s", got, code, w.out.String(), w.err.String())
				}
			}
		})
	}
}

func TestLogsArePushedAfterTheTraining(t *testing.T) {
	outsideSLURM(t)
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Error(w, "not today", http.StatusForbidden)
	}))
	defer s.Close()
	for name, c := range map[string]struct {
		flags  []string
		script string
		code   int
		pushed bool
	}{
		"it failed":       {nil, "exit 3", 3, true},
		"it went well":    {nil, "exit 0", 0, false},
		"always":          {[]string{"--push", "always"}, "exit 0", 0, true},
		"it shall not be": {[]string{"--push", "never"}, "exit 3", 3, false},
	} {
		t.Run(name, func(t *testing.T) {
			asked.Store(0)
			w := wrap(t, c.flags, "sh", "-c", c.script)
			w.cmd.Env = append(os.Environ(), "FAULTLINE_PUSH_TO="+s.URL, "FAULTLINE_CLUSTER=west", "FAULTLINE_PUSH_TOKEN=0123456789abcdef0123456789abcdef", "SLURM_JOB_ID=4242")
			w.start()
			if code := w.end(); code != c.code {
				t.Errorf("exit %d, want %d\n%s", code, c.code, w.err.String())
			}
			if c.pushed != (asked.Load() > 0) || c.pushed != strings.Contains(w.err.String(), "does not fail the job") {
				t.Errorf("%d requests:\n%s", asked.Load(), w.err.String())
			}
		})
	}
}
