package triage_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/analysis/triage"
	"faultline/incident"
)

var began = time.Date(2025, 6, 3, 14, 0, 0, 0, time.UTC)

// training is a job in which every rank writes a log of its own, second by second.
type training struct {
	ranks   int
	world   int     // 0: as many as there are logs
	step    float64 // seconds
	until   float64 // seconds after the first step
	mute    map[int]float64
	loss    func(step int) string
	seconds func(step int) float64
	memory  string
	extra   map[int][]string // lines of rank 0 behind a step
	pause   map[int]float64  // seconds behind a step without one
	head    []string
}

// write plays the job and returns the moment at which it ends.
func (j training) write(t *testing.T) (dir string, now time.Time) {
	t.Helper()
	dir = t.TempDir()
	for rank := range j.ranks {
		var b strings.Builder
		at := began
		line := func(format string, args ...any) {
			fmt.Fprintf(&b, "[titan] %s - root - INFO - %s\n", at.Format("2006-01-02 15:04:05,000"), fmt.Sprintf(format, args...))
		}
		line("Starting job: Llama 3 8B training")
		for _, h := range j.head {
			fmt.Fprintln(&b, h)
		}
		at = at.Add(30 * time.Second)
		first := at
		for step := 1; ; step++ {
			d := j.step
			if j.seconds != nil {
				d = j.seconds(step)
			}
			at = at.Add(time.Duration(d * float64(time.Second)))
			if since := at.Sub(first).Seconds(); since > j.until || j.mute[rank] > 0 && since > j.mute[rank] {
				break
			}
			loss, memory := fmt.Sprintf("%.4f", 2+8/float64(step+3)), j.memory
			if j.loss != nil {
				loss = j.loss(step)
			}
			if memory == "" {
				memory = "60.21GiB(75.99%)"
			}
			line("step: %d  loss:  %s  grad_norm: 0.45  memory: %s  tps: %.0f  tflops: 380.1  mfu: 38.41%%", step, loss, memory, 10000/d)
			for _, x := range j.extra[step] {
				if rank == 0 {
					line("%s", x)
				}
			}
			at = at.Add(time.Duration(j.pause[step] * float64(time.Second)))
		}
		name := filepath.Join(dir, fmt.Sprintf("rank_%d.log", rank))
		if err := os.WriteFile(name, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, began.Add(time.Duration((30 + j.until) * float64(time.Second)))
}

// look makes the triage of a directory by the logs' own clock.
func look(t *testing.T, dir string, at triage.Moment, world int) *incident.Triage {
	t.Helper()
	return lookAt(t, dir, at, nil, world)
}

// lookAt is a look where it is known when files were last written.
func lookAt(t *testing.T, dir string, at triage.Moment, written map[string]time.Time, world int) *incident.Triage {
	t.Helper()
	var sources []incident.Source
	err := filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, p)
		s := incident.Source{Name: name, Path: p, Bytes: st.Size(), Origin: "path"}
		if w, ok := written[name]; ok {
			s.Written = w.UnixNano()
		}
		sources = append(sources, s)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	r, err := analysis.Diagnose(t.Context(), analysis.Input{Sources: sources, WorldSize: world, Version: "test", Moment: &at})
	if err != nil {
		t.Fatal(err)
	}
	return r.Triage
}

func signOf(t *incident.Triage, name string) incident.TriageSign {
	i := slices.IndexFunc(t.Signs, func(s incident.TriageSign) bool { return s.Name == name })
	if i < 0 {
		return incident.TriageSign{Level: "absent"}
	}
	return t.Signs[i]
}

func TestARunningJobAtOneMoment(t *testing.T) {
	long := map[int]float64{}
	evals := map[int][]string{}
	for _, s := range []int{100, 200, 300} {
		long[s], evals[s] = 400, []string{"Evaluating:  10%|█ | 5/50"}
	}
	spiked := func(step int) string {
		if step > 250 {
			return fmt.Sprintf("%.4f", 2.1+float64(step-250)*0.05)
		}
		return fmt.Sprintf("%.4f", 2+8/float64(step+3))
	}
	for _, c := range []struct {
		name            string
		job             training
		after           float64 // seconds between the last line and the moment
		state, severity string
		sign, level     string
		says            []string
		command         string
	}{
		{"healthy", training{ranks: 4, step: 2, until: 700}, 3, incident.StateRunning, incident.TriageNone, incident.SignStep, incident.TriageNone, []string{"350, 3 s ago"}, ""},
		{"falling loss", training{ranks: 2, step: 2, until: 700}, 3, incident.StateRunning, incident.TriageNone, incident.SignLoss, incident.TriageNone, []string{"falling"}, ""},
		{"no number", training{ranks: 2, world: 256, step: 2, until: 700, loss: func(s int) string {
			if s > 300 {
				return "nan"
			}
			return "2.0"
		}}, 3, incident.StateRunning, incident.TriageCritical, incident.SignLoss, incident.TriageCritical, []string{"NaN or infinite since step 301", "last good at step 300"}, ""},
		{"loss that fell and rises", training{ranks: 2, step: 2, until: 700, loss: func(s int) string {
			return fmt.Sprintf("%.4f", 3+8/float64(1+s/10)+0.02*float64(max(0, s-150)))
		}}, 3, "", incident.TriageWarning, incident.SignLoss, incident.TriageWarning, []string{"rising since step"}, ""},
		{"rising loss", training{ranks: 2, step: 2, until: 700, loss: spiked}, 3, "", incident.TriageWarning, incident.SignLoss, incident.TriageWarning, []string{"rising"}, ""},
		{"slower", training{ranks: 2, world: 256, until: 900, seconds: func(s int) float64 {
			if s > 200 {
				return 3.021
			}
			return 2.013
		}}, 3, incident.StateRunning, incident.TriageWarning, incident.SignStepTime, incident.TriageWarning, []string{"×1.5", "since step 20"}, "nvidia-smi"},
		{"slower by its throughput", training{ranks: 2, world: 256, until: 900, seconds: func(s int) float64 {
			if s > 200 {
				return 3.021
			}
			return 2.013
		}}, 3, incident.StateRunning, incident.TriageWarning, incident.SignThroughput, incident.TriageWarning, []string{"3,310 tokens/s, 4,968 at the start", "down by 33%"}, "nvidia-smi"},
		{"slower, in whole seconds", training{ranks: 2, world: 256, until: 900, seconds: func(s int) float64 {
			if s > 200 {
				return 3
			}
			return 2
		}}, 3, incident.StateRunning, incident.TriageWarning, incident.SignStepTime, incident.TriageWarning, []string{"3.00 s, 2.00 s at the start, from line timestamps"}, "nvidia-smi"},
		{"memory nearly full", training{ranks: 2, step: 2, until: 700, memory: "70.1GiB(88.60%)"}, 3, incident.StateRunning, incident.TriageWarning, incident.SignMemory, incident.TriageWarning, []string{"88.6%"}, "nvidia-smi"},
		{"memory full", training{ranks: 2, step: 2, until: 700, memory: "78.1GiB(98.70%)"}, 3, incident.StateRunning, incident.TriageCritical, incident.SignMemory, incident.TriageCritical, []string{"98.7%"}, "nvidia-smi"},
		{"a rank went silent and the others print", training{ranks: 4, step: 2, until: 700, mute: map[int]float64{2: 400}}, 3, "", incident.TriageWarning, incident.SignLines, incident.TriageWarning, []string{"rank 2 silent for 5 min"}, "bot collect"},
		{"all stopped before the watchdog", training{ranks: 4, world: 256, step: 2, until: 700}, 370, incident.StateStalled, incident.TriageCritical, incident.SignWaiting, incident.TriageCritical, []string{"no step for 6 min", "will end it in about 4 min"}, "bot collect"},
		{"all of a small job stopped", training{ranks: 4, step: 2, until: 700}, 370, incident.StateStalled, incident.TriageWarning, incident.SignWaiting, incident.TriageWarning, []string{"no step for 6 min"}, "bot collect"},
		{"a small job is slower", training{ranks: 2, until: 900, seconds: func(s int) float64 {
			if s > 200 {
				return 3.021
			}
			return 2.013
		}}, 3, incident.StateRunning, incident.TriageNote, incident.SignStepTime, incident.TriageNote, []string{"×1.5"}, "nvidia-smi"},
		{"late", training{ranks: 4, step: 2, until: 700}, 300, incident.StateLate, incident.TriageWarning, incident.SignWaiting, incident.TriageWarning, []string{"no step for 5 min", "will end it in about 5 min"}, "bot collect"},
		{"an evaluation as long as those before", training{ranks: 4, step: 2, until: 300*2 + 2*400 + 1, extra: evals, pause: long}, 390, incident.StatePausing, incident.TriageNone, incident.SignWaiting, incident.TriageNone, []string{"evaluating"}, ""},
		{"pauses that nothing announces", training{ranks: 4, step: 2, until: 300*2 + 2*400 + 1, pause: long}, 390, incident.StateRunning, incident.TriageNone, incident.SignStep, incident.TriageNone, []string{"300, 7 min ago"}, ""},
		{"the step time beside such pauses", training{ranks: 4, step: 2, until: 300*2 + 2*400 + 1, pause: long}, 390, incident.StateRunning, incident.TriageNone, incident.SignStepTime, incident.TriageNone, []string{"stable: 2.00 s, 2.00 s at the start"}, ""},
		{"the first save", training{ranks: 4, step: 2, until: 700, extra: map[int][]string{350: {"Saving the checkpoint (or staging if async is enabled)."}}}, 390, incident.StatePausing, incident.TriageNone, incident.SignWaiting, incident.TriageNone, []string{"saving"}, ""},
		{"a timeout of its own", training{ranks: 4, step: 2, until: 700, head: []string{"------------------------ arguments ------------------------", "  distributed_timeout_minutes ..................... 30", "-------------------- end of arguments ---------------------"}}, 300, incident.StateLate, incident.TriageWarning, incident.SignWaiting, incident.TriageWarning, []string{"will end it in about 25 min, by its timeout of 30 min"}, "bot collect"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir, now := c.job.write(t)
			got := look(t, dir, triage.Moment{At: now.Add(time.Duration(c.after * float64(time.Second))), Logs: true}, max(c.job.world, c.job.ranks))
			s := signOf(got, c.sign)
			if c.state != "" && got.State != c.state || got.Severity != c.severity || s.Level != c.level {
				t.Errorf("%s %s %s %s, want %s %s %s", got.State, got.Severity, c.sign, s.Level, c.state, c.severity, c.level)
			}
			for _, w := range c.says {
				if !strings.Contains(s.Text, w) {
					t.Errorf("%s says %q, want %q in it", c.sign, s.Text, w)
				}
			}
			if !strings.Contains(got.Next.Command, c.command) || c.command == "" && got.Severity == incident.TriageNone && got.Next.Command != "" {
				t.Errorf("the next command is %q, want %q", got.Next.Command, c.command)
			}
			if strings.Contains(strings.ToLower(got.Next.Text+got.Summary), "resubmit") {
				t.Errorf("a running job is to be resubmitted: %q", got.Next.Text)
			}
			for _, s := range got.Signs {
				if len(s.Evidence) == 0 || s.Evidence[0].Line == 0 || s.Evidence[0].Text == "" {
					t.Errorf("%s cites no line", s.Name)
				}
			}
			if t.Failed() {
				for _, s := range got.Signs {
					t.Logf("%-10s %-8s %s", s.Name, s.Level, s.Text)
				}
				t.Logf("%s: %s; %s; absent %v", got.Severity, got.Summary, got.Next.Text, got.Absent)
			}
		})
	}
}

// A log without times and without a step that nobody has written to for hours is no job that is starting: that it is silent is all it shows.
func TestSilenceBeforeTheFirstStepCountsWithoutTimes(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		silent   time.Duration
		severity string
		command  string
	}{
		{time.Minute, incident.TriageNone, ""},
		{5 * time.Hour, incident.TriageWarning, "bot collect"},
	} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "train.log"), []byte("building the index\nloading weights\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		got := lookAt(t, dir, triage.Moment{At: now}, map[string]time.Time{"train.log": now.Add(-c.silent)}, 8)
		if got.Severity != c.severity || !strings.Contains(got.Next.Command, c.command) || c.command == "" && got.Next.Command != "" {
			t.Errorf("silent for %s: %s, next %q, want %s and %q", c.silent, got.Severity, got.Next.Command, c.severity, c.command)
		}
	}
}

// Of a log that holds nothing, nobody can say that its job is starting.
func TestAnEmptyLog(t *testing.T) {
	now := time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "train.log"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	got := lookAt(t, dir, triage.Moment{At: now}, map[string]time.Time{"train.log": now.Add(-time.Minute)}, 8)
	if !strings.Contains(got.Summary, "empty") || !strings.Contains(got.Next.Command, "scontrol show job") {
		t.Errorf("%q, next %+v", got.Summary, got.Next)
	}
}
