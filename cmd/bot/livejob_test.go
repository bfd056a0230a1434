package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// The environment of the process that plays a job: where it writes, in which form, and what befalls it.
const (
	liveDir  = "FAULTLINE_LIVE_DIR"
	liveForm = "FAULTLINE_LIVE_FORM"
	liveLife = "FAULTLINE_LIVE_LIFE"
)

// The course of every job, in seconds of its own clock.
const (
	liveFirst = 40 // the first step
	liveStep  = 2.0
	liveSteps = 5000 // that there are to be
	liveSave  = 50   // steps between saves, of a job that saves
	liveSaves = 10   // seconds a save takes
	liveEval  = 150  // steps between evaluations
	liveEvals = 100  // seconds an evaluation takes
)

var liveBegan = time.Date(2025, 6, 3, 14, 0, 0, 0, time.UTC)

// A life is what becomes of a job. It says when to look: at its start, before it turns, and after.
type life struct {
	looks     []int
	saves     bool
	slowFrom  int // step from which on a step takes half as long again
	risesFrom int // step from which on the loss rises
	nanFrom   int // step from which on it is no number
	fills     bool
	mute      int // second from which on rank 2 prints nothing
	hangs     int // second of the last step of the others
	dies      int // second at which rank 1 raises an error
	// How many seconds its pauses take, where that is not what is usual; first is before the first step.
	first, save, evals int
	stops              []int // steps behind which it stands still for so long, and no line says why
	stop               int
}

var lives = map[string]life{
	"healthy": {looks: []int{20, 440, 1000}, saves: true},
	"slower":  {looks: []int{20, 430, 1000}, slowFrom: 200},
	"rising":  {looks: []int{20, 330, 1100}, risesFrom: 150},
	"nan":     {looks: []int{20, 330, 420}, nanFrom: 150},
	"hang":    {looks: []int{380, 500, 660 + 400}, hangs: 660},
	"mute":    {looks: []int{380, 600, 660 + 400}, mute: 430, hangs: 660},
	"full":    {looks: []int{200, 600, 900}, fills: true},
	"dies":    {looks: []int{20, 500, 720}, dies: 600},
}

// liveTruth is what the process knows of itself.
type liveTruth struct {
	Second            int
	Step, Saved       int
	StepAt, SavedAt   float64
	Evaluating        bool
	Loss, FirstLoss   float64
	Pace, FirstPace   float64 // seconds of a step, without pauses
	Memory            float64
	Died              bool
	Least             float64 // of the seconds that are left, if nothing pauses any more
	NaN, Rises, Slows bool
	SilentAt          float64 // when the silent rank printed last; 0 none is
}

// liveWriter plays one job up to a second.
type liveWriter struct {
	form   *liveJobForm
	life   life
	files  []*os.File
	second int
	next   float64
	pauses []func(at float64) // what is printed at the ends of pauses
	ends   []float64
	truth  liveTruth
}

func (w *liveWriter) open(dir string) error {
	for rank := range w.form.ranks {
		f, err := os.Create(filepath.Join(dir, fmt.Sprintf("rank_%d.log", rank)))
		if err != nil {
			return err
		}
		w.files = append(w.files, f)
		w.say(rank, w.form.start(liveAt(0), rank))
	}
	w.next = float64(max(liveFirst, w.life.first))
	return nil
}

func liveAt(second float64) time.Time {
	return liveBegan.Add(time.Duration(second * float64(time.Second)))
}

// say writes in two parts: what is read ends in the middle of a line now and then.
func (w *liveWriter) say(rank int, text string) {
	half := len(text) / 2
	io.WriteString(w.files[rank], text[:half])
	io.WriteString(w.files[rank], text[half:])
}

// until plays on.
func (w *liveWriter) until(second int) {
	for ; w.second <= second; w.second++ {
		now := float64(w.second)
		for len(w.ends) > 0 && w.ends[0] <= now {
			w.pauses[0](w.ends[0])
			w.pauses, w.ends = w.pauses[1:], w.ends[1:]
		}
		if l := w.life; l.dies > 0 && w.second == l.dies {
			w.die(now)
		}
		for w.next <= now && !w.truth.Died && (w.life.hangs == 0 || w.next <= float64(w.life.hangs)) {
			w.step(w.next)
		}
	}
	w.truth.Second = second
}

func (w *liveWriter) step(at float64) {
	t, l := &w.truth, w.life
	t.Step++
	t.StepAt = at
	seconds := liveStep
	if t.Slows = l.slowFrom > 0 && t.Step >= l.slowFrom; t.Slows {
		seconds *= 1.5
	}
	t.Pace, t.FirstPace = seconds, liveStep
	t.Loss = 2 + 8/float64(t.Step+3) + 0.01*math.Sin(float64(t.Step)*1.7)
	if t.Rises = l.risesFrom > 0 && t.Step >= l.risesFrom; t.Rises {
		t.Loss += 0.01 * float64(t.Step-l.risesFrom)
	}
	if t.Step == 1 {
		t.FirstLoss = t.Loss
	}
	loss := t.Loss
	if t.NaN = l.nanFrom > 0 && t.Step >= l.nanFrom; t.NaN {
		loss, t.Loss = math.NaN(), 0
	}
	t.Memory = 76
	if l.fills {
		t.Memory = min(76+float64(t.Step)/20, 97)
	}
	printed := seconds * (1 + 0.004*math.Sin(float64(t.Step)*2.3))
	for rank := range w.form.ranks {
		if rank == 2 && l.mute > 0 && at >= float64(l.mute) {
			continue
		}
		if rank == 2 && l.mute > 0 {
			t.SilentAt = at
		}
		w.say(rank, w.form.step(liveAt(at), t.Step, loss, printed, t.Memory))
	}
	t.Least = float64(liveSteps-t.Step) * seconds
	w.next = at + seconds
	if slices.Contains(l.stops, t.Step) {
		w.next += float64(l.stop)
	}
	if l.saves && t.Step%liveSave == 0 && w.form.saving != nil {
		w.say(0, w.form.saving(liveAt(at), t.Step))
		w.pause(max(liveSaves, l.save), func(end float64) {
			w.say(0, w.form.saved(liveAt(end), t.Step))
			t.Saved, t.SavedAt = t.Step, end
		})
	}
	if l.saves && t.Step%liveEval == 0 && w.form.eval != nil {
		w.pause(0, func(begin float64) {
			w.say(0, w.form.eval(liveAt(begin), t.Step))
			t.Evaluating = true
		})
		w.pause(max(liveEvals, l.evals), func(float64) { t.Evaluating = false })
	}
}

func (w *liveWriter) pause(seconds int, over func(end float64)) {
	w.next += float64(seconds)
	w.ends, w.pauses = append(w.ends, w.next), append(w.pauses, over)
}

func (w *liveWriter) die(at float64) {
	w.truth.Died = true
	rank := min(1, w.form.ranks-1)
	w.say(rank, fmt.Sprintf("[rank%d]: Traceback (most recent call last):\n[rank%[1]d]:   File \"train.py\", line 88, in <module>\n[rank%[1]d]:     main()\n"+
		"[rank%[1]d]:   File \"train.py\", line 61, in main\n[rank%[1]d]:     out = model(batch)\n"+
		"[rank%[1]d]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 1 has a total capacity of 79.11 GiB of which 1.02 GiB is free. "+
		"Including non-PyTorch memory, this process has 78.08 GiB memory in use. Of the allocated memory 74.10 GiB is allocated by PyTorch, and 2.90 GiB is reserved by PyTorch but unallocated.\n", rank))
	w.say(0, fmt.Sprintf("srun: error: node01: task %d: Exited with exit code 1\nslurmstepd: error: *** STEP 4242.0 ON node01 CANCELLED AT %s ***\n", rank, liveAt(at+1).Format(wallTime)))
}

// TestLiveJob is no test: it is the process that writes. It is told up to which second of the job's clock, says what is true then, and
// goes on writing by itself until it is told again.
func TestLiveJob(t *testing.T) {
	dir := os.Getenv(liveDir)
	if dir == "" {
		t.Skip("no live job")
	}
	w := &liveWriter{form: liveForms[os.Getenv(liveForm)], life: lives[os.Getenv(liveLife)]}
	if err := w.open(dir); err != nil {
		t.Fatal(err)
	}
	told := make(chan int)
	go func() {
		defer close(told)
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			if n, err := strconv.Atoi(in.Text()); err == nil {
				told <- n
			}
		}
	}()
	goesOn := time.NewTicker(20 * time.Millisecond)
	defer goesOn.Stop()
	for begun := false; ; {
		select {
		case n, open := <-told:
			if !open {
				return
			}
			if w.until(max(n, w.second-1)); !w.form.stamped && w.truth.Step > 0 {
				at := time.Now().Add(-time.Duration((float64(w.truth.Second) - w.truth.StepAt) * float64(time.Second)))
				for _, f := range w.files {
					_ = os.Chtimes(f.Name(), at, at)
				}
			}
			begun = true
			b, err := json.Marshal(&w.truth)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Printf("truth %s\n", b)
		case <-goesOn.C:
			if begun {
				w.until(w.second)
			}
		}
	}
}
