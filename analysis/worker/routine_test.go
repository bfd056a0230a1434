package worker

import (
	"bytes"
	"context"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"faultline/analysis/scan"
	"faultline/simulate/volume"
)

// bothWays reads a log with lines held back, and every line of it.
func bothWays(t *testing.T, text []byte) (obs, all *Observations, held int) {
	t.Helper()
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	full := *sc
	full.thorough = true
	read := func(sc *Scanner) *Observations {
		o, err := Read(context.Background(), "x", bytes.NewReader(text), sc)
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	r := newReader("x", sc)
	if _, err := sc.ScanNews(context.Background(), bytes.NewReader(text), r.peek, r.visit); err != nil {
		t.Fatal(err)
	}
	return read(sc), read(&full), r.routines.all + r.twins.all
}

// whatRemains are the observations that must not depend on what was held back: of steps and of what processes are about
// the last of each writer, of the rest all.
func whatRemains(o *Observations) map[string]any {
	m := map[string]any{}
	v := reflect.ValueOf(*o)
	for i := range v.NumField() {
		if f := v.Type().Field(i); f.IsExported() {
			m[f.Name] = v.Field(i).Interface()
		}
	}
	doings := map[string]Doing{}
	for _, d := range o.Doings {
		key := fmt.Sprint(*d.Who(), d.Kind)
		d.By = nil
		doings[key] = d
	}
	courses := map[string]Progress{}
	for _, p := range o.Progress {
		key := fmt.Sprint(*p.Who(), p.Form, p.Phase)
		p.By = nil
		courses[key] = p
	}
	for i, t := range o.Tails {
		t.First.By, t.Last.By = nil, nil
		for _, w := range t.Writers {
			m[fmt.Sprint("Writer ", i, w.Who)] = w
		}
		t.Writers = nil
		if t.Rhythm != nil {
			m["Rhythm"] = *t.Rhythm
			t.Rhythm = nil
		}
		m[fmt.Sprint("Tail ", i)] = t
	}
	delete(m, "Tails")
	m["Doings"], m["Progress"] = doings, courses
	m["Phases"] = o.Phases[:min(len(o.Phases), fewReports/2)] // of a long course some will do
	rates := 0
	m["Numerics"] = slices.DeleteFunc(slices.Clone(o.Numerics), func(n Numeric) bool { // likewise
		if n.Kind == NumericRate {
			rates++
		}
		return n.Kind == NumericRate && rates > fewReports/2
	})
	return m
}

func sameRemains(t *testing.T, obs, all *Observations) {
	t.Helper()
	got, want := whatRemains(obs), whatRemains(all)
	for name, w := range want {
		if g := got[name]; !reflect.DeepEqual(g, w) {
			t.Errorf("%s:\n%s\nnot, as with every line read,\n%s", name, clipped(g), clipped(w))
		}
	}
}

func clipped(v any) string {
	s := fmt.Sprintf("%+v", v)
	return s[:min(len(s), 1500)]
}

// Whatever fills a log, a reader that holds lines back finds what one finds that reads all of them.
func TestLinesThatAreHeldBackAreNotMissed(t *testing.T) {
	for _, kind := range append(volume.Families(), volume.Kinds()...) {
		t.Run(kind, func(t *testing.T) {
			var text bytes.Buffer
			if err := volume.Write(&text, volume.Options{Kind: kind, Files: 4, PerFile: 8, FileSize: 1 << 20}, 1); err != nil {
				t.Fatal(err)
			}
			obs, all, held := bothWays(t, text.Bytes())
			if held == 0 {
				t.Skip("nothing was held back")
			}
			if kind == "plain" { // its lines tell no time, so that those which thin.go passes over above one are looked at for it
				for _, o := range []*Observations{obs, all} {
					o.Tails[0].Hostless = 0
					for i := range o.Tails[0].Writers {
						o.Tails[0].Writers[i].Lines = 0
					}
				}
			}
			sameRemains(t, obs, all)
		})
	}
}

// routineLog is a log of 8 ranks whose lines repeat, which calls odd for one line in between.
func routineLog(n int, odd func(i int) string) []byte {
	var b bytes.Buffer
	for i := range n {
		at := fmt.Sprintf("2025-09-12 03:%02d:%02d,%03d", i/60000%60, i/1000%60, i%1000)
		fmt.Fprintf(&b, "[rank%d]: %s INFO data: reading shard /data/part-%d/shard-%06d.tar, %d samples\n", i%8, at, i%7, i, i*37%5000)
		fmt.Fprintf(&b, "[rank%d]: %s INFO health: gpu %d: remapped rows: 0, batch done, exit code 0\n", i%8, at, i%8)
		b.WriteString(odd(i))
	}
	return b.Bytes()
}

func TestTheLastLineOfEachWriterIsReadBeforeSomethingElse(t *testing.T) {
	const n, at = 12000, 7003
	text := routineLog(n, func(i int) string {
		if i != at {
			return ""
		}
		return "[rank5]: RuntimeError: CUDA error: an illegal memory access was encountered\n"
	})
	obs, all, held := bothWays(t, text)
	if held < n {
		t.Fatalf("%d lines of %d were held back", held, 2*n)
	}
	sameRemains(t, obs, all)
	var last [8]int64
	for _, d := range obs.Doings {
		if d.Line <= 2*at+2 {
			last[d.Who().Global] = max(last[d.Who().Global], d.Line)
		}
	}
	for rank, no := range last {
		if want := int64(2*(at-(at-rank+8)%8) + 1); no != want {
			t.Errorf("rank %d was reading in line %d before the error, and %d is known", rank, want, no)
		}
	}
	if len(obs.Exceptions) != len(all.Exceptions) || len(obs.Exceptions) == 0 {
		t.Errorf("%d exceptions, not %d", len(obs.Exceptions), len(all.Exceptions))
	}
}

// Of a course some lines are kept, with the times and rates that they tell: that is no reason to read all of it.
func TestThatALineOfACourseIsKeptIsNoNews(t *testing.T) {
	var b bytes.Buffer
	const n = 40000
	for i := range n {
		fmt.Fprintf(&b, "{\"ts\": \"2025-09-12T03:%02d:%02dZ\", \"rank\": %d, \"event\": \"step done\", \"step\": %d, \"loss\": %d.%d, \"lr\": %d.0e-05, \"data_s\": 0.%d}\n", i/600%60, i/10%60, i%8, i/8+1, 2+i%3, i%7, 1+i%9, 1+i%8)
	}
	obs, all, held := bothWays(t, b.Bytes())
	if held < n*3/4 {
		t.Errorf("%d lines of %d were held back", held, n)
	}
	obs.Phases, all.Phases = nil, nil // of fewer lines others are kept
	sameRemains(t, obs, all)
}

// Steps stand between the lines of a program that fails again and again: they are no business of its tracebacks.
func TestStepsBesideTracebacksArePassedOver(t *testing.T) {
	var b bytes.Buffer
	const n = 20000
	for i := range n {
		at := fmt.Sprintf("2025-09-12 03:%02d:%02d", i/600%60, i/10%60)
		fmt.Fprintf(&b, "%s INFO trainer: step %d loss 2.%d\n%s INFO trainer: step %d loss 2.%d\n", at, 3*i, i%9, at, 3*i+1, i%9)
		if i%4 == 0 {
			fmt.Fprintf(&b, "[rank%[1]d]: Traceback (most recent call last):\n%[2]s INFO trainer: step %[3]d loss 2.5\n[rank%[1]d]:   File \"/w/a.py\", line 8, in read\n[rank%[1]d]: OSError: [Errno 5] Input/output error: '/d/%[4]d.tar'\n", i%8, at, 3*i+2, i)
		}
	}
	obs, all, _ := bothWays(t, b.Bytes())
	if got := stepsRead(obs); got > n/2 || len(obs.Exceptions) == 0 || len(obs.Exceptions) != len(all.Exceptions) {
		t.Errorf("%d steps of %d were read, and %d exceptions of %d", got, 2*n, len(obs.Exceptions), len(all.Exceptions))
	}
}

// A save is news, and so is a line in new words; neither is a reason to read what everybody else did last.
func TestCalmLinesWait(t *testing.T) {
	const n = 12000
	text := routineLog(n, func(i int) string {
		if i%8 != 0 {
			return ""
		}
		return fmt.Sprintf("[rank%d]: 2025-09-12 03:%02d:%02d,%03d INFO ckpt: Saved checkpoint to /ckpt/run/step_%d\n", i/8%8, i/60000%60, i/1000%60, i%1000, i)
	})
	obs, all, held := bothWays(t, text)
	sameRemains(t, obs, all)
	if len(obs.Checkpoints) < n/8 {
		t.Errorf("%d saves of %d are known", len(obs.Checkpoints), n/8)
	}
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	r, resumed := newReader("x", sc), 0
	if _, err := sc.Scan(context.Background(), bytes.NewReader(text), func(l *scan.Line) (int, error) {
		before := len(r.routines.held)
		more, err := r.visit(l)
		if len(r.routines.held) < before {
			resumed++
		}
		return more, err
	}); err != nil {
		t.Fatal(err)
	}
	if held < n || resumed > n/8/4 {
		t.Errorf("%d lines were held back, and read %d times", held, resumed)
	}
}

// stepsRead is how many lines the courses of a file counted.
func stepsRead(o *Observations) (n int64) {
	for _, p := range o.Progress {
		n = max(n, p.N)
	}
	return n
}

// What a program reports as a count, as a code or by another word is another line.
func TestANumberThatSaysSomethingElseIsNotRoutine(t *testing.T) {
	for _, c := range []struct{ a, b string }{
		{"uncorrectable errors: 0", "uncorrectable errors: 3"},
		{"loss 0.000", "loss 0.001"},
		{"exited with exit code 0", "exited with exit code 137"},
		{"exited with code: 1", "exited with code: 137"},
		{"status=5 opcode=0", "status=12 opcode=0"},
		{"[Errno 11] again", "[Errno 28] again"},
		{"loss 1.5", "loss nan"},
		{"s3://train/a/b/1.tar", "s3://other/a/b/1.tar"},
	} {
		var a, b outline
		a.read([]byte(c.a))
		b.read([]byte(c.b))
		if a.hash == b.hash {
			t.Errorf("%q and %q have the same outline", c.a, c.b)
		}
	}
	for _, c := range []struct{ a, b string }{
		{"[rank3]: step 12 loss 1.5 in 0.25s", "[rank61]: step 4711 loss 12.75 in 10.5s"},
		{"reading /data/part-7/a.tar, 12 samples", "reading /data/b/c/d.tar, 3 samples"},
		{"buffer 0x7f00aa at 10.0.0.3", "buffer 0x12 at 10.1.22.3"},
	} {
		var a, b outline
		a.read([]byte(c.a))
		b.read([]byte(c.b))
		if a.hash != b.hash {
			t.Errorf("%q and %q have different outlines", c.a, c.b)
		}
	}
}
