package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"faultline/incident"
)

// The environment of the process that plays a job: where it writes, and in which form.
const (
	liveDir  = "FAULTLINE_LIVE_DIR"
	liveForm = "FAULTLINE_LIVE_FORM"
)

// The job of the process: ranks that take a step every two seconds; one goes silent, and a while later the others, too.
const (
	liveRanks  = 4
	liveFirst  = 40  // second of the first step
	liveStep   = 2   // seconds
	liveSilent = 2   // the rank
	liveMute   = 430 // second from which on it prints nothing
	liveHang   = 660 // second from which on nobody does
	liveEnd    = 1100
)

var liveBegan = time.Date(2025, 6, 3, 14, 0, 0, 0, time.UTC)

// stepLines are how frameworks print a step.
var stepLines = map[string]func(at time.Time, step int) string{
	"titan": func(at time.Time, step int) string {
		return fmt.Sprintf("[titan] %s,417 - root - INFO - step: %d  loss:  %.4f  grad_norm: 0.45  memory: 60.21GiB(75.99%%)  tps: 5,812  tflops: 380.1  mfu: 38.41%%\n", at.Format("2006-01-02 15:04:05"), step, 2+8/float64(step+3))
	},
	"megatron": func(at time.Time, step int) string {
		return fmt.Sprintf(" [%s] iteration %8d/    5000 | consumed samples: %12d | elapsed time per iteration (ms): 2001.3 | throughput per GPU (TFLOP/s/GPU): 412.0 | lm loss: %.6E | loss scale: 1.0 | grad norm: 0.311 |\n",
			at.Format("2006-01-02 15:04:05"), step, step*256, 2+8/float64(step+3))
	},
	"script": func(at time.Time, step int) string {
		return fmt.Sprintf("%s,417 INFO train.py: step %d/5000 loss %.4f samples/s: 128.4\n", at.Format("2006-01-02 15:04:05"), step, 2+8/float64(step+3))
	},
}

// TestLiveJob is no test: it is the process that writes. Every hundredth of a second is a second of the job; what it has written it says.
func TestLiveJob(t *testing.T) {
	dir, line := os.Getenv(liveDir), stepLines[os.Getenv(liveForm)]
	if dir == "" {
		t.Skip("no live job")
	}
	var files []*os.File
	for rank := range liveRanks {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("rank_%d.log", rank)))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, "%s,000 INFO launcher: starting rank %d\n", liveBegan.Format("2006-01-02 15:04:05"), rank)
		files = append(files, f)
	}
	for second := range liveEnd {
		for rank, f := range files {
			if second < liveFirst || (second-liveFirst)%liveStep != 0 || second >= liveHang || rank == liveSilent && second >= liveMute {
				continue
			}
			text := line(liveBegan.Add(time.Duration(second)*time.Second), (second-liveFirst)/liveStep+1)
			half := len(text) / 2
			io.WriteString(f, text[:half]) // what is read ends in the middle of a line now and then
			time.Sleep(time.Millisecond)
			io.WriteString(f, text[half:])
		}
		fmt.Println("second", second)
		time.Sleep(5 * time.Millisecond)
	}
}

// A job is looked at while it writes: at its start, at work, when a rank is silent, and when all of it stands.
func TestALiveJobAtFourMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays for some seconds")
	}
	for form := range stepLines {
		t.Run(form, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			now := live(t, dir, form)
			look := func(at int) (*incident.Triage, int) {
				t.Helper()
				for now() < at {
					time.Sleep(5 * time.Millisecond)
				}
				second := now()
				return triageOf(t, dir, liveBegan.Add(time.Duration(second)*time.Second)), second
			}

			got, _ := look(20)
			expect(t, got, incident.StateStarting, incident.TriageNone, "")
			if !slices.Contains(got.Absent, "steps") {
				t.Errorf("steps before the first: %+v", got.Signs)
			}

			got, second := look(380)
			expect(t, got, incident.StateRunning, incident.TriageNone, "")
			steps := sign(t, got, incident.SignStep)
			if least, most := float64((second-liveFirst)/liveStep-5), float64((now()-liveFirst)/liveStep+5); *steps.Value < least || *steps.Value > most {
				t.Errorf("step %g, want %g to %g", *steps.Value, least, most)
			}
			if s := sign(t, got, incident.SignStepTime); *s.Value < 1.9 || *s.Value > 2.1 || s.Level != incident.TriageNone {
				t.Errorf("step time: %s", s.Text)
			}
			if s := sign(t, got, incident.SignLoss); !strings.HasPrefix(s.Text, "falling") {
				t.Errorf("loss: %s", s.Text)
			}
			if form != "titan" {
				if s := sign(t, got, incident.SignStep); !strings.Contains(s.Text, "of 5,000") || !strings.Contains(s.Text, "left at this pace") {
					t.Errorf("step: %s", s.Text)
				}
				if !slices.Contains(got.Absent, "memory") {
					t.Error("memory is not said to be absent")
				}
			}
			if s := sign(t, got, incident.SignThroughput); s.Value == nil {
				t.Errorf("throughput: %s", s.Text)
			}

			got, _ = look(600)
			expect(t, got, "", incident.TriageWarning, "bot collect")
			if s := sign(t, got, incident.SignLines); len(s.Ranks) != 1 || s.Ranks[0] != liveSilent {
				t.Errorf("silent: %s", s.Text)
			}

			got, second = look(liveHang + 390)
			expect(t, got, incident.StateStalled, incident.TriageWarning, "bot collect") // of four GPUs
			if s := sign(t, got, incident.SignWaiting); *s.Value < float64(second-liveHang) || !strings.Contains(s.Text, "The watchdog will end it in about") {
				t.Errorf("waiting: %s", s.Text)
			}
		})
	}
}

func expect(t *testing.T, got *incident.Triage, state, severity, command string) {
	t.Helper()
	if state != "" && got.State != state || got.Severity != severity || !strings.Contains(got.Next.Command, command) {
		b, _ := json.MarshalIndent(got, "", " ")
		t.Errorf("%s, %s, %q; want %s, %s, %q\n%s", got.State, got.Severity, got.Next.Command, state, severity, command, b)
	}
}

func sign(t *testing.T, of *incident.Triage, name string) incident.TriageSign {
	t.Helper()
	i := slices.IndexFunc(of.Signs, func(s incident.TriageSign) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no %s: %+v", name, of.Signs)
	}
	if len(of.Signs[i].Evidence) == 0 {
		t.Errorf("%s cites no line", name)
	}
	return of.Signs[i]
}

// live starts the process that writes; now is the second of the job up to which it has.
func live(t *testing.T, dir, form string) (now func() int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLiveJob$", "-test.v")
	cmd.Env = append(os.Environ(), liveDir+"="+dir, liveForm+"="+form)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var second atomic.Int64
	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if s, ok := strings.CutPrefix(lines.Text(), "second "); ok {
				n, _ := strconv.Atoi(s)
				second.Store(int64(n))
			}
		}
		second.Store(liveEnd)
	}()
	t.Cleanup(func() { _ = cmd.Wait() })
	return func() int { return int(second.Load()) }
}

func triageOf(t *testing.T, dir string, at time.Time) *incident.Triage {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), []string{"triage", "--json", "--world-size", fmt.Sprint(liveRanks), "--now", at.Format(wallTime), dir}, env{nil, &out, &errs})
	var got struct {
		Schema string
		Triage *incident.Triage
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || got.Triage == nil || code != exitOK && code != exitInconclusive {
		t.Fatalf("exit %d, %v: %s\n%s", code, err, errs.String(), out.String())
	}
	return got.Triage
}
