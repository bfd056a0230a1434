package acceptance

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/analysis/rerun"
	"faultline/incident"
)

// trainingRun is a run of one rank's log as a person would write it down: how fast, how large, how far, and how it ended.
type trainingRun struct {
	form      string
	from, to  int
	seconds   float64 // of a step
	noise     float64 // share of it
	memory    float64 // per cent
	times     float64 // what its loss is multiplied by
	end       string  // lines that end it; "" = it goes on
	slowsAt   int     // a step from which on it is slower; 0 = never
	slowsBy   float64
	ranks     int
	arguments string
}

// stepForms are ways in which step lines are printed.
var stepForms = map[string]func(at time.Time, step int, seconds, memory, loss float64) string{
	"titan": func(at time.Time, step int, seconds, memory, loss float64) string {
		return fmt.Sprintf("[titan] %s - root - INFO - step: %2d  loss: %7.4f  grad_norm:  1.2  memory: %.2fGiB(%.2f%%)  tps: %.0f  tflops: 312.0  mfu: 31.5%%",
			at.Format("2006-01-02 15:04:05,000"), step, loss, memory*0.8, memory, 8192/seconds)
	},
	"megatron": func(at time.Time, step int, seconds, memory, loss float64) string {
		return fmt.Sprintf(" [%s] iteration %8d/  500000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: 1.5E-04 | global batch size:   256 | lm loss: %.6E | grad norm: 1.204 | number of skipped iterations:   0 | number of nan iterations:   0 |",
			at.Format("2006-01-02 15:04:05.000000"), step, step*256, seconds*1000, 800/seconds, loss)
	},
	"script": func(at time.Time, step int, seconds, memory, loss float64) string {
		return fmt.Sprintf("%s INFO step=%d loss=%.4f step_time=%.3fs tokens/s=%.0f mem=%.1f%%", at.Format("2006-01-02 15:04:05"), step, loss, seconds, 16384/seconds, memory)
	},
}

// worldForms are ways in which jobs print how many ranks they have.
var worldForms = map[string]string{
	"titan":    "WORLD_SIZE=%d",
	"megatron": "using world size: %d, data-parallel size: 8, context-parallel size: 1",
	"script":   "All distributed processes registered. Starting with %d processes",
}

const ranOut = `Traceback (most recent call last):
  File "/opt/train/train.py", line 212, in <module>
    main()
  File "/opt/train/train.py", line 190, in main
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.10 GiB of which 341.31 MiB is free. Process 4242 has 78.70 GiB memory in use.`

const raised = `Traceback (most recent call last):
  File "/opt/train/train.py", line 212, in <module>
    main()
  File "/opt/train/data.py", line 77, in __getitem__
    return self.items[i]
KeyError: 'caption_7'`

func (r trainingRun) write(t *testing.T, dir, job string, chance *rand.Rand) *incident.Report {
	t.Helper()
	at := time.Date(2026, 3, 4, 10, 0, 0, 0, time.UTC)
	var b strings.Builder
	fmt.Fprintf(&b, "SLURM_JOB_ID=%s\n"+worldForms[r.form]+"\n%s", job, r.ranks, r.arguments)
	for step := r.from; step <= r.to; step++ {
		seconds := r.seconds
		if r.slowsAt > 0 && step >= r.slowsAt {
			seconds *= r.slowsBy
		}
		seconds *= 1 + r.noise*chance.NormFloat64()
		at = at.Add(time.Duration(seconds * float64(time.Second)))
		loss := r.times * (2 + 6/(1+float64(step)/20)) * (1 + 0.004*chance.NormFloat64())
		fmt.Fprintln(&b, stepForms[r.form](at, step, seconds, r.memory, loss))
	}
	if r.end != "" {
		fmt.Fprintln(&b, r.end)
	}
	logs := filepath.Join(dir, job)
	if err := os.MkdirAll(logs, 0o755); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(logs, "slurm-"+job+".out")
	if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	return diagnosed(t.Context(), t, job, analysis.Input{Workers: 1, Sources: []incident.Source{{Name: filepath.Base(file), Path: file, Bytes: int64(b.Len())}}})
}

// A fix is judged by the next run: gone, came again, or gone at a price. A price of more than 10 % is never missed.
func TestAFixIsJudgedByTheNextRun(t *testing.T) {
	t.Parallel()
	forms := []string{"titan", "megatron", "script"}
	const kinds = 12 // of pairs; a few cases hold each of them
	right, n := 0, 0
	for i := range cases(200) {
		chance := rand.New(rand.NewPCG(uint64(i), 5))
		form := forms[i/kinds%len(forms)]
		before := trainingRun{form: form, from: 1, to: 60 + chance.IntN(100), seconds: 1 + 4*chance.Float64(), noise: 0.02 * chance.Float64(), memory: 70, times: 1, end: ranOut, ranks: 8}
		after := before
		after.end, after.from, after.to = "", 1, before.to+12+chance.IntN(200)
		if chance.IntN(2) == 0 {
			after.from = before.to - chance.IntN(50) // resumed
		}
		kind, want := "", ""
		most := 1 + 0.1 + 0.3*chance.Float64()
		switch i % kinds {
		case 0:
			kind, want = "fixed", incident.Fixed
		case 1:
			kind, want = "again", incident.NotFixed
			after.end, after.to = ranOut, after.from+20+chance.IntN(100)
		case 2:
			kind, want = "slower", incident.Regression
			after.seconds *= most
		case 3:
			kind, want = "larger", incident.Regression
			after.memory *= most
			if form == "megatron" { // prints none
				want = incident.Fixed
			}
		case 4:
			kind, want = "too short", incident.OpenFix
			after.from = 1
			after.to = before.to - 10
		case 5:
			kind, want = "learns worse", incident.Regression
			after.from, after.times = 1, most
		case 6:
			kind, want = "fails otherwise", incident.Fixed
			after.end = raised
		case 7:
			kind, want = "slow run, mended", incident.Fixed
			before.end, before.slowsAt, before.slowsBy, before.to = "", 40, 1.3+chance.Float64(), 160
			after.from, after.to = 1, 120
		case 8:
			kind, want = "slow run, still slow", incident.NotFixed
			before.end, before.slowsAt, before.slowsBy, before.to = "", 40, 1.3+chance.Float64(), 160
			after.from, after.to, after.seconds = 1, 120, before.seconds*before.slowsBy
		case 9:
			kind, want = "faster, and fixed", incident.Fixed
			after.seconds /= most
		case 10: // speeds of other layouts say nothing about each other; what they have in common is compared
			kind, want = "on half the ranks", incident.Fixed
			after.ranks, after.seconds = 4, before.seconds*2
		case 11:
			kind, want = "on half the ranks, and larger", incident.Regression
			after.ranks, after.seconds, after.memory = 4, before.seconds*2, before.memory*most
			if form == "megatron" { // prints none
				want = incident.Fixed
			}
		}
		dir := t.TempDir()
		b, a := before.write(t, dir, "4242", chance), after.write(t, dir, "4243", chance)
		got := rerun.Compare(b, a)
		n++
		if got.Outcome == want {
			right++
			continue
		}
		t.Logf("%d, %s, %s: %s, want %s (%s)\n%+v", i, form, kind, got.Outcome, want, got.Summary, got.Checks)
		if want == incident.Regression {
			t.Errorf("%d, %s, %s: a regression of %.0f %% is missed", i, form, kind, 100*(most-1))
		}
	}
	t.Logf("%d of %d", right, n)
	if right*100 < n*98 {
		t.Errorf("%d of %d pairs of runs are judged as they are", right, n)
	}
}
