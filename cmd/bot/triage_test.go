package main

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"faultline/incident"
)

// liveWorld is the world size that is stated: no log prints it.
const liveWorld = 128

// liveSample are the jobs that ordinary runs play; FAULTLINE_FULL=1 plays all.
var liveSample = []string{"titan/full", "megatron/healthy", "deepspeed/hang", "jsonl/mute"}

// liveJobs are the jobs that are played: forms with what befalls them.
var liveJobs = []string{
	"titan/full", "titan/healthy", "titan/slower", "titan/nan", "titan/mute",
	"megatron/healthy", "megatron/slower", "megatron/nan", "megatron/hang", "megatron/dies",
	"script/dies", "script/healthy", "script/slower", "script/rising", "script/mute",
	"own/rising", "own/healthy", "own/full", "own/mute",
	"deepspeed/hang", "deepspeed/healthy", "deepspeed/slower",
	"maxtext/nan", "maxtext/slower", "maxtext/hang",
	"olmo-core/slower", "olmo-core/nan",
	"jsonl/mute", "jsonl/slower", "jsonl/nan",
	"nemo/slower", "nemo/nan", "nanogpt/rising", "trainer/slower",
}

// Jobs are looked at while they write, at three moments of their lives. The process that writes says what every line of the screen has to.
func TestLiveJobsAtThreeMoments(t *testing.T) {
	if testing.Short() {
		t.Skip("it plays for some seconds")
	}
	jobs := liveSample
	if os.Getenv("FAULTLINE_FULL") != "" {
		jobs = liveJobs
	}
	for _, job := range jobs {
		form, of, _ := strings.Cut(job, "/")
		t.Run(job, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			play := live(t, dir, form, of)
			for _, second := range lives[of].looks {
				from := play(second)
				got, verdict := triageOf(t, dir, liveForms[form].stamped, liveAt(float64(from.Second)))
				to := play(0)
				if got == nil && from.Died { // what has ended gets the first screen of a diagnosis
					if verdict.Mechanism != "gpu-oom" || !slices.Equal(verdict.Root.Ranks, []int{min(1, liveForms[form].ranks-1)}) {
						t.Errorf("%+v", verdict)
					}
					continue
				}
				s := screen{t: t, got: got, form: liveForms[form], life: lives[of], from: from, to: to}
				if s.check(); t.Failed() {
					t.Fatalf("%+v\n%+v\n%s", from, to, got.Summary)
				}
			}
		})
	}
}

// screen is a triage with what is true when it is made: something between what was when it began and what was when it was done.
type screen struct {
	t        *testing.T
	got      *incident.Triage
	form     *liveJobForm
	life     life
	from, to liveTruth
	levels   map[string]string // of the signs that ask for attention
	absent   []string
}

func (s *screen) check() {
	s.levels = map[string]string{}
	if s.from.Step == 0 {
		s.state(incident.StateStarting)
		s.absent = s.got.Absent // what will be printed nobody can know
		s.closing()
		return
	}
	s.age()
	s.step()
	s.loss()
	s.stepTime()
	s.throughput()
	s.memory()
	s.save()
	s.lines()
	s.waiting()
	if s.from.Died {
		s.levels[incident.SignFailure] = incident.TriageCritical
		s.state(incident.StateEnded)
	}
	s.closing()
}

func (s *screen) state(want string) {
	if s.got.State != want {
		s.t.Errorf("state %s, want %s", s.got.State, want)
	}
}

// closing holds levels, severity and what is not in the logs to what the process knows.
func (s *screen) closing() {
	severity := incident.TriageNone
	order := []string{incident.TriageNone, incident.TriageNote, incident.TriageWarning, incident.TriageCritical}
	for _, level := range s.levels {
		if slices.Index(order, level) > slices.Index(order, severity) {
			severity = level
		}
	}
	for _, x := range s.got.Signs {
		if want := cmp.Or(s.levels[x.Name], incident.TriageNone); x.Level != want {
			s.t.Errorf("%s is of level %s, want %s: %s", x.Name, x.Level, want, x.Text)
		}
	}
	if s.got.Severity != severity {
		s.t.Errorf("severity %s, want %s", s.got.Severity, severity)
	}
	if calm := s.got.Next.Text == "Nothing to do."; calm != (severity == incident.TriageNone) {
		s.t.Errorf("next: %s", s.got.Next.Text)
	}
	slices.Sort(s.absent)
	if got := slices.Sorted(slices.Values(s.got.Absent)); !slices.Equal(got, s.absent) {
		s.t.Errorf("not in the logs: %q, want %q", got, s.absent)
	}
}

func (s *screen) missing(what string) { s.absent = append(s.absent, what) }

// between holds the value of a sign to a range.
func (s *screen) between(x incident.TriageSign, least, most float64) {
	if x.Value == nil || *x.Value < least || *x.Value > most {
		s.t.Errorf("%s: %s; want %g to %g", x.Name, x.Text, least, most)
	}
}

func (s *screen) says(x incident.TriageSign, words ...string) {
	for _, w := range words {
		if !strings.Contains(x.Text, w) {
			s.t.Errorf("%s: %q does not say %q", x.Name, x.Text, w)
		}
	}
}

func (s *screen) age() {
	if !s.form.stamped {
		s.missing("start time")
		return
	}
	s.between(sign(s.t, s.got, incident.SignAge), float64(s.from.Second)-1, float64(s.to.Second)+1)
}

func (s *screen) step() {
	x := sign(s.t, s.got, incident.SignStep)
	s.between(x, float64(s.from.Step), float64(s.to.Step))
	if s.from.Step == s.to.Step && s.from.Second-int(s.from.StepAt) > 120 {
		s.says(x, fmt.Sprintf(", %.0f min ago", (float64(s.from.Second)-s.from.StepAt)/60))
	}
	if !s.form.total {
		s.missing("the number of remaining steps")
		return
	}
	s.says(x, "of 5,000", "left at this pace")
	_, text, _ := strings.Cut(x.Text, "; about ")
	left, ok := seconds(strings.Fields(text))
	if most := s.from.Least * (1 + pauses(s.life)); !ok || left < s.to.Least*0.97-60 || left > most*1.05+60 {
		s.t.Errorf("%s; want %.0f to %.0f s", x.Text, s.to.Least, most)
	}
}

// pauses is how much longer a job takes by its pauses, at most.
func pauses(l life) float64 {
	if !l.saves {
		return 0
	}
	return liveSaves/(liveSave*liveStep) + 2*liveEvals/(liveEval*liveStep)
}

// seconds reads a length of time for people.
func seconds(words []string) (float64, bool) {
	units := map[string]float64{"s": 1, "min": 60, "h": 3600, "d": 86400}
	sum, any := 0.0, false
	for i := 0; i+1 < len(words); i += 2 {
		v, err := strconv.ParseFloat(words[i], 64)
		unit, ok := units[words[i+1]]
		if err != nil || !ok {
			break
		}
		sum, any = sum+v*unit, true
	}
	return sum, any
}

func (s *screen) loss() {
	if !s.form.loss {
		s.missing("loss")
		return
	}
	x := sign(s.t, s.got, incident.SignLoss)
	switch {
	case s.from.NaN:
		s.levels[incident.SignLoss] = incident.TriageCritical
		s.says(x, "NaN or infinite since step", fmt.Sprint(s.life.nanFrom/10)) // some forms print every tenth step
	case s.from.Rises:
		s.levels[incident.SignLoss] = incident.TriageWarning
		s.says(x, "rising")
	default:
		s.says(x, "falling")
		s.between(x, 2, s.from.FirstLoss)
	}
}

func (s *screen) stepTime() {
	if !s.form.seconds {
		s.missing("step times")
		return
	}
	x := sign(s.t, s.got, incident.SignStepTime)
	s.between(x, s.from.Pace*0.97, s.from.Pace*1.03)
	word := "stable"
	if s.from.Slows {
		word = "up"
		s.levels[incident.SignStepTime] = incident.TriageWarning
	}
	s.says(x, word)
	if x.Base == nil || math.Abs(*x.Base-s.from.FirstPace) > 0.03*s.from.FirstPace {
		s.t.Errorf("%s: the start is wrong", x.Text)
	}
}

func (s *screen) throughput() {
	if s.form.unit == "" {
		s.missing("throughput")
		return
	}
	x := sign(s.t, s.got, incident.SignThroughput)
	now, base := s.form.throughput(s.from.Pace), s.form.throughput(s.from.FirstPace)
	s.between(x, now*0.97, now*1.03)
	if x.Unit != s.form.unit || x.Base == nil || math.Abs(*x.Base-base) > 0.03*base {
		s.t.Errorf("%s: want %g %s at the start", x.Text, base, s.form.unit)
	}
	if s.from.Slows {
		s.says(x, "down by 33%")
		s.levels[incident.SignThroughput] = incident.TriageWarning
	}
}

func (s *screen) memory() {
	if !s.form.memory {
		s.missing("memory")
		return
	}
	x := sign(s.t, s.got, incident.SignMemory)
	s.between(x, s.from.Memory-0.5, s.to.Memory+0.5)
	switch {
	case *x.Value >= 95:
		s.levels[incident.SignMemory] = incident.TriageCritical
	case *x.Value >= 85:
		s.levels[incident.SignMemory] = incident.TriageWarning
	}
}

func (s *screen) save() {
	if s.form.saving == nil || !s.life.saves || s.from.Saved == 0 {
		s.missing("saves")
		return
	}
	x := sign(s.t, s.got, incident.SignSave)
	if s.from.Saved == s.to.Saved {
		s.says(x, fmt.Sprintf("step %d", s.from.Saved))
		ago, later := float64(s.from.Second)-s.from.SavedAt, float64(s.to.Second)-s.from.SavedAt
		if s.form.untimed { // only that it came after the step is known
			s.says(x, "at most")
			later += liveSaves + liveStep
		}
		s.between(x, ago-1, later+1)
	}
	if s.from.Saved == s.to.Saved && s.from.Step == s.to.Step && s.from.Step > s.from.Saved {
		s.says(x, fmt.Sprintf("%d step", s.from.Step-s.from.Saved), "would be lost")
	}
}

// lines holds to the truth who printed last, and who went silent.
func (s *screen) lines() {
	x := sign(s.t, s.got, incident.SignLines)
	now := float64(s.from.Second)
	if silent := now - s.from.SilentAt; s.from.SilentAt > 0 && silent > 60 && now-s.from.StepAt < 60 {
		s.levels[incident.SignLines] = incident.TriageWarning
		s.between(x, silent-1, silent+float64(s.to.Second-s.from.Second))
		if !slices.Equal(x.Ranks, []int{2}) {
			s.t.Errorf("%s: ranks %v", x.Text, x.Ranks)
		}
		return
	}
	if x.Value == nil || s.from.Died {
		return
	}
	oldest := s.from.StepAt
	if s.from.SilentAt > 0 {
		oldest = s.from.SilentAt
	}
	s.between(x, 0, float64(s.to.Second)-oldest+1)
}

// waiting holds to the truth whether the next step is overdue, and what a pause is for.
func (s *screen) waiting() {
	const overdue, stalled = 240, 360 // a job without pauses, whose watchdog ends it after 600 s
	late := float64(s.from.Second) - s.from.StepAt
	switch {
	case s.from.Died:
	case s.from.Evaluating && late > 60:
		s.state(incident.StatePausing)
	case s.life.hangs == 0 || late < overdue:
		s.state(incident.StateRunning)
	case late > stalled:
		s.state(incident.StateStalled)
		s.levels[incident.SignWaiting] = incident.TriageCritical
		x := sign(s.t, s.got, incident.SignWaiting)
		s.between(x, late-1, late+float64(s.to.Second-s.from.Second))
		s.says(x, "The watchdog will end it in about", "timeout of 10 min")
		if !strings.Contains(s.got.Next.Command, "bot collect") {
			s.t.Errorf("next: %+v", s.got.Next)
		}
	}
}

func sign(t *testing.T, of *incident.Triage, name string) incident.TriageSign {
	t.Helper()
	i := slices.IndexFunc(of.Signs, func(s incident.TriageSign) bool { return s.Name == name })
	if i < 0 {
		t.Fatalf("no %s: %+v", name, of.Signs)
	}
	if len(of.Signs[i].Evidence) == 0 && name != incident.SignLines {
		t.Errorf("%s cites no line", name)
	}
	return of.Signs[i]
}

// live starts the process that writes. It plays to a second, and says what is true then; at least what it has played already.
func live(t *testing.T, dir, form, of string) (play func(second int) liveTruth) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLiveJob$", "-test.v")
	cmd.Env = append(os.Environ(), liveDir+"="+dir, liveForm+"="+form, liveLife+"="+of)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); _ = cmd.Wait() })
	lines := bufio.NewScanner(out)
	return func(second int) (truth liveTruth) {
		t.Helper()
		fmt.Fprintln(in, second)
		for lines.Scan() {
			if s, ok := strings.CutPrefix(lines.Text(), "truth "); ok {
				if err := json.Unmarshal([]byte(s), &truth); err != nil {
					t.Fatal(err)
				}
				return truth
			}
		}
		t.Fatal("the job's process is gone")
		return truth
	}
}

func triageOf(t *testing.T, dir string, stamped bool, at time.Time) (*incident.Triage, incident.Verdict) {
	t.Helper()
	args := []string{"triage", "--json", "--world-size", fmt.Sprint(liveWorld)}
	if stamped {
		args = append(args, "--now", at.Format(wallTime))
	}
	var out, errs bytes.Buffer
	code := run(t.Context(), append(args, dir), env{nil, &out, &errs})
	var got struct {
		Triage  *incident.Triage
		Verdict incident.Verdict
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil || code != exitOK && code != exitInconclusive {
		t.Fatalf("exit %d, %v: %s\n%s", code, err, errs.String(), out.String())
	}
	return got.Triage, got.Verdict
}

// A job that is as slow as it was from its first step on is slow all the same, where the last good run of its name was faster.
func TestTheLastGoodRunIsABaseline(t *testing.T) {
	for _, tt := range []struct {
		good  float64 // seconds of its steps
		level string
		words string
	}{{2.0, incident.TriageNone, "2.00 s in the last good run, west/4241/0"}, {1.5, incident.TriageNote, "1.50 s in the last good run, west/4241/0, so slow from its start"}} {
		dir := t.TempDir()
		w := &liveWriter{form: liveForms["own"]}
		if err := w.open(dir); err != nil {
			t.Fatal(err)
		}
		w.until(600)
		write(t, filepath.Join(dir, "environment.txt"), "SLURM_JOB_NAME=nightly\n")
		past := write(t, filepath.Join(t.TempDir(), "past.jsonl"), fmt.Sprintf(`{"schema": "faultline.history/v1", "id": "west/4241/0", "cluster": "west", "job": "4241", "name": "nightly", "completed": true, "start": "2025-06-02T10:00:00", `+
			`"figures": [{"name": "step-time", "unit": "s", "n": 400, "median": %g, "spread": 0.01, "first": %[1]g, "last": %[1]g}, {"name": "throughput", "unit": "tokens/s", "n": 400, "median": %g, "spread": 100, "first": 1, "last": 1}]}`+"\n", tt.good, 142000/tt.good))
		got := call(t, "", "triage", "--json", "--world-size", "8", "--history", past, "--now", liveAt(600).Format(wallTime), dir)
		var r struct{ Triage *incident.Triage }
		if err := json.Unmarshal([]byte(got.out), &r); err != nil || r.Triage == nil {
			t.Fatalf("%v: %s", err, got.out)
		}
		s := sign(t, r.Triage, incident.SignStepTime)
		if s.Level != tt.level || !strings.HasSuffix(s.Text, tt.words) || !strings.HasPrefix(s.Evidence[len(s.Evidence)-1].File, "past") {
			t.Errorf("%+v", s)
		}
		if s := sign(t, r.Triage, incident.SignThroughput); s.Level != tt.level {
			t.Errorf("%+v", s)
		}
	}
}
