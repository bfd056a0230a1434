package resolve

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/worker"
)

// megatronSteps are step lines of Megatron: the time of each step in seconds, a loss where losses has one.
func megatronSteps(first int, secs []float64, losses []string) string {
	var b strings.Builder
	clock := 36000.0
	for i, s := range secs {
		loss := "2.100000E+00"
		if i < len(losses) {
			loss = losses[i]
		}
		clock += s
		t := int(clock)
		fmt.Fprintf(&b, " [2025-06-03 %02d:%02d:%02d] iteration %8d/  500000 | elapsed time per iteration (ms): %.1f | global batch size:   256 | lm loss: %s | loss scale: 1.0 | grad norm: 0.4 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
			t/3600%24, t/60%60, t%60, first+i, s*1000, loss)
	}
	return b.String()
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// noisy multiplies each value by up to ±share.
func noisy(rng *rand.Rand, share float64, parts ...[]float64) []float64 {
	var out []float64
	for _, v := range slices.Concat(parts...) {
		out = append(out, v*(1+share*(2*rng.Float64()-1)))
	}
	return out
}

func only(t *testing.T, f *Facts) *Course {
	t.Helper()
	if len(f.Courses) != 1 {
		t.Fatalf("%d courses", len(f.Courses))
	}
	return f.Courses[0]
}

func TestWhereAStepTimeLeavesItsBaseline(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	spiky := noisy(rng, 0.02, repeat(4, 60))
	for i := 5; i < 60; i += 12 {
		spiky[i] *= 9
	}
	slowSpiky := append(slices.Clone(spiky), noisy(rng, 0.02, repeat(6, 30))...)
	for _, c := range []struct {
		name   string
		secs   []float64
		onset  int // 1-based line, 0: none
		ratio  float64
		weak   bool
		before int
	}{
		{"a step", noisy(rng, 0.02, repeat(4, 40), repeat(6.6, 30)), 41, 1.65, false, 0},
		{"a small step in a long quiet run", noisy(rng, 0.003, repeat(4, 60), repeat(4.24, 40)), 61, 1.06, true, 0},
		{"a small step in a noisy run", noisy(rng, 0.05, repeat(4, 60), repeat(4.24, 40)), 0, 0, false, 0},
		{"nothing", noisy(rng, 0.03, repeat(4, 80)), 0, 0, false, 0},
		{"single slow steps", spiky, 0, 0, false, 0},
		{"a step among single slow steps", slowSpiky, 61, 1.5, false, 0},
		{"a slow start", append([]float64{60, 20, 9}, noisy(rng, 0.02, repeat(4, 60))...), 0, 0, false, 0},
		{"a slow stretch that is over", noisy(rng, 0.02, repeat(4, 40), repeat(8, 15), repeat(4, 30)), 0, 0, false, 0},
		{"faster", noisy(rng, 0.02, repeat(4, 40), repeat(2, 40)), 0, 0, false, 0},
		{"two slow steps at the end of many", noisy(rng, 0.02, repeat(4, 40), repeat(8, 2)), 0, 0, false, 0},
		{"an excerpt, as people paste it", []float64{105.16, 105.17, 106.25, 110.17, 111.14}, 4, 1.05, true, 0},
		{"an excerpt without a break", []float64{105.16, 106.9, 105.3, 107.0, 106.8}, 0, 0, false, 0},
		{"too few", []float64{4, 4, 8, 8}, 0, 0, false, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, ok := only(t, logs{"a.log": megatronSteps(100, c.secs, nil)}.resolve(t, 0)).Slowdown()
			if ok != (c.onset > 0) {
				t.Fatalf("found %v: %+v", ok, d)
			}
			if ok && (d.Onset.At.Line != int64(c.onset) || math.Abs(d.Ratio()-c.ratio) > 0.03 || d.Weak != c.weak) {
				t.Errorf("line %d, ratio %.3f, weak %v", d.Onset.At.Line, d.Ratio(), d.Weak)
			}
		})
	}
}

// Only ratios count: in other units of time the same run is judged the same.
func TestTheUnitOfTimeDoesNotMatter(t *testing.T) {
	for seed := range uint64(150) {
		rng := rand.New(rand.NewPCG(seed, 3))
		n, k := 5+rng.IntN(80), rng.IntN(60)
		secs := noisy(rng, 0.05*rng.Float64(), repeat(4, n), repeat(4*(1+rng.Float64()), k))
		points := func(scale float64) *Course {
			c := &Course{}
			for i, s := range secs {
				c.Points = append(c.Points, Point{Step: int64(i), Seconds: s * scale, Printed: true, N: int64(i + 1)})
			}
			return c
		}
		a, okA := points(1).Slowdown()
		for _, scale := range []float64{1e-3, 0.25, 60, 1e6} {
			b, okB := points(scale).Slowdown()
			if okA != okB || okA && (a.Weak != b.Weak || a.Onset.Step != b.Onset.Step || math.Abs(a.Ratio()-b.Ratio()) > 1e-9) {
				t.Fatalf("seed %d, times %g: %v %+v, else %v %+v", seed, scale, okB, b, okA, a)
			}
		}
	}
}

// The steps of one file are one course, whatever the order in which files are read.
func TestCoursesDoNotDependOnTheOrderOfFiles(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	files := []string{"rank_0.log", "rank_1.log", "rank_2.log"}
	sc, err := worker.NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	var parts []*worker.Observations
	for i, name := range files {
		obs, err := worker.Read(t.Context(), name, strings.NewReader(megatronSteps(10*i, noisy(rng, 0.02, repeat(3, 30), repeat(5, 20)), nil)), sc)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, obs)
	}
	want := ""
	for range 6 {
		rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		f, err := Resolve(t.Context(), Input{Obs: worker.Merge(parts...)})
		if err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, c := range f.Courses {
			d, ok := c.Slowdown()
			got += fmt.Sprint(c.File, c.Rank, len(c.Points), ok, d.Onset.At.Line, d.Ratio())
		}
		if want == "" {
			want = got
		}
		if got != want {
			t.Fatalf("%s\nelse %s", got, want)
		}
	}
}

func TestOnlyLastingNonsenseIsBroken(t *testing.T) {
	good := func(n int) []string { return slices.Repeat([]string{"2.100000E+00"}, n) }
	for _, c := range []struct {
		name   string
		losses []string
		first  int64 // line, 0: not broken
		n      int64
	}{
		{"sound", good(10), 0, 0},
		{"NaN to the end", append(good(10), "NAN", "NAN", "NAN"), 11, 3},
		{"infinite to the end", append(good(10), "INF", "INF"), 11, 2},
		{"one that is survived", append(append(good(10), "NAN"), good(5)...), 0, 0},
		{"from the start", []string{"NAN", "NAN", "NAN", "NAN", "NAN"}, 1, 5},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, ok := only(t, logs{"a.log": megatronSteps(1, repeat(1, len(c.losses)), c.losses)}.resolve(t, 0)).Broken()
			if ok != (c.first > 0) || ok && (b.First.At.Line != c.first || b.N != c.n) {
				t.Errorf("%v %+v", ok, b)
			}
		})
	}
}

// A bar goes on while the lines with the values are not understood: it says nothing of the values.
func TestLinesWithoutAValueShowNoNonsense(t *testing.T) {
	c := Course{Points: make([]Point, 20)}
	for i := range c.Points {
		c.Points[i].N = int64(i + 1)
	}
	c.Points[3].BadNorm = true
	if b, ok := c.Broken(); !ok || b.N != 1 {
		t.Errorf("one infinite norm: %v %+v", ok, b)
	}
	c.Points[9].BadNorm = true
	if b, ok := c.Broken(); !ok || b.N != 7 || b.First != &c.Points[3] {
		t.Errorf("two: %v %+v", ok, b)
	}
}

func TestARestartBeginsAnotherStretch(t *testing.T) {
	text := megatronSteps(100, repeat(2, 30), nil) + megatronSteps(90, repeat(4, 30), nil)
	c := only(t, logs{"a.log": text}.resolve(t, 0))
	if d, ok := c.Slowdown(); ok {
		t.Errorf("steps before and after a restart were compared: %+v", d)
	}
	grown := strings.ReplaceAll(megatronSteps(130, repeat(4, 30), nil), "global batch size:   256", "global batch size:   512")
	c = only(t, logs{"a.log": megatronSteps(100, repeat(2, 30), nil) + grown}.resolve(t, 0))
	if d, ok := c.Slowdown(); ok {
		t.Errorf("steps of different batches were compared: %+v", d)
	}
}

func TestPlateau(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	curve := func(n int, f func(i int) float64) []string {
		var out []string
		for i := range n {
			out = append(out, fmt.Sprintf("%.6E", f(i)*(1+0.002*(2*rng.Float64()-1))))
		}
		return out
	}
	for _, c := range []struct {
		name     string
		first    int
		losses   []string
		flat     bool
		improved bool
	}{
		{"stopped", 1, curve(240, func(i int) float64 { return 3 + 6*math.Exp(-float64(i)/8) }), true, true},
		{"never began", 1, curve(240, func(int) float64 { return 10.8 }), true, false},
		{"falls", 1, curve(240, func(i int) float64 { return 8 * math.Pow(float64(i+1), -0.1) }), false, false},
		{"rises", 1, curve(240, func(i int) float64 { return 3 + float64(i)/200 }), false, false},
		{"a short piece late in a long run", 40000, curve(240, func(int) float64 { return 2.1 }), false, false},
		{"too short", 1, curve(60, func(int) float64 { return 10.8 }), false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, ok := only(t, logs{"a.log": megatronSteps(c.first, repeat(1, len(c.losses)), c.losses)}.resolve(t, 0)).Plateau()
			if ok != c.flat || ok && p.Improved != c.improved {
				t.Errorf("%v %+v", ok, p)
			}
		})
	}
}

func TestSilenceBeforeTheEnd(t *testing.T) {
	steps := megatronSteps(100, repeat(10, 30), nil) // from 10:00:10 to 10:05:00
	end := func(at string) string {
		return "slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT 2025-06-03T" + at + " DUE TO TIME LIMIT ***\n"
	}
	for _, c := range []struct {
		name, text string
		min        float64 // 0: no silence
	}{
		{"ended while it trained", steps + end("10:05:08"), 0},
		{"ended after a pause that may be a step", steps + end("10:06:30"), 0},
		{"silent for half an hour", steps + end("10:37:30"), 32 * 60},
		{"another zone and no silence", steps + end("08:05:03"), 0},
		{"a zone an hour ahead, and no silence", steps + end("11:05:07"), 0},
		{"what may be a zone is not counted", steps + end("12:16:00"), 11 * 60},
		{"cut in the middle of a line", steps + end("10:37:30") + " [2025-06-03 10:37", 0},
		{"a save under way for some minutes", steps + "saving checkpoint at iteration     129 to /ckpt/gpt\n" + end("10:20:30"), 0},
		{"a save under way for most of an hour", steps + "saving checkpoint at iteration     129 to /ckpt/gpt\n" + end("10:55:30"), 50 * 60},
		{"no end", steps, 0},
		{"too few steps to know a rhythm", megatronSteps(100, repeat(10, 3), nil) + end("10:37:30"), 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, ok := logs{"a.log": c.text}.resolve(t, 0).Silence()
			if ok != (c.min > 0) || ok && math.Abs(s.For-c.min) > 60 {
				t.Errorf("%v, %.0f s, usual %.1f, longest %.1f", ok, s.For, s.Usual, s.Longest)
			}
		})
	}
}

func FuzzCourse(f *testing.F) {
	f.Add([]byte{4, 4, 4, 8, 8, 8, 0, 255, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &Course{}
		for i, v := range b {
			p := Point{Step: int64(v) * int64(i%3), Seconds: float64(v) / 7, Gap: float64(v), N: int64(i), Stretch: i / 40, Paused: v%5 == 0}
			p.Loss = lossOf([]string{"nan", "", "1e400", "2.5", fmt.Sprint(v)}[int(v)%5])
			c.Points = append(c.Points, p)
		}
		if d, ok := c.Slowdown(); ok && (d.Onset == nil || !(d.Ratio() > 1) || d.Before+d.After > len(b)) {
			t.Fatalf("%+v", d)
		}
		if p, ok := c.Plateau(); ok && (p.From == nil || math.IsNaN(p.Improvement())) {
			t.Fatalf("%+v", p)
		}
		if b, ok := c.Broken(); ok && b.First == nil {
			t.Fatalf("%+v", b)
		}
		c.Left()
		if p, ok := c.Paused(); ok && (p.Share < 0 || p.Share > 1 || p.Longest == nil) {
			t.Fatalf("%+v", p)
		}
	})
}

// A point that sums up many lines, of which the last ones are slow, is the first slow one: it began somewhere in it.
func TestASlowdownMayBeginInWhatOnePointSumsUp(t *testing.T) {
	c := &Course{}
	for step := int64(1); step <= 200; step++ {
		if step > 80 && step < 120 { // nobody looked at these lines
			continue
		}
		p := Point{Step: step, Seconds: 2 + 0.001*float64(step%3), Lines: 1, T: Moment{Valid: true, T: float64(2 * step)}, At: &worker.At{}}
		switch {
		case step == 120:
			p.Seconds, p.Lines = 2.4, 40
		case step > 120:
			p.Seconds++
		}
		c.Points = append(c.Points, p)
	}
	d, ok := c.Slowdown()
	if !ok || d.Onset.Step != 120 || d.Prior == nil || d.Prior.Step != 80 {
		t.Errorf("%v: onset %+v, prior %+v", ok, d.Onset, d.Prior)
	}
}
