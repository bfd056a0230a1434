package worker

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/scan"
)

// pictures reads text as it stands in the middle of a long file, all of it or what is enough.
func pictures(t testing.TB, sc *Scanner, text string, whole int64) *Observations {
	t.Helper()
	r := newReader("f", sc)
	r.whole = whole
	if _, err := sc.Scan(context.Background(), strings.NewReader(text), func(l *scan.Line) (int, error) {
		more, err := r.visit(l)
		r.ending = false
		return more, err
	}); err != nil {
		t.Fatal(err)
	}
	r.finish()
	r.courses()
	return r.obs
}

func TestOfABarThatIsDrawnOverItselfTheEndsAreRead(t *testing.T) {
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	bar := func(rank, step int, rest string) string {
		return fmt.Sprintf("[rank%d]: %3d%%|%-10s| %d/900 [5:15:39<6:53:09, %5.2fs/it%s]", rank, step/9, strings.Repeat("█", step/90), step, 1.2+float64(step)/100, rest)
	}
	steps := func(obs *Observations) (list []int64) {
		for _, p := range obs.Progress {
			list = append(list, p.Step)
		}
		return list
	}
	for _, tc := range []struct {
		name string
		bars []string
		want []int64
		n    int64 // number of the last one
	}{
		{"one", []string{bar(3, 1, "")}, []int64{1}, 1},
		{"two", []string{bar(3, 1, ""), bar(3, 2, "")}, []int64{1, 2}, 2},
		{"six", []string{bar(3, 1, ""), bar(3, 2, ""), bar(3, 3, ""), bar(3, 400, ""), bar(3, 5, ""), bar(3, 6, "")}, []int64{1, 6}, 6},
		{"another rank between", []string{bar(3, 1, ""), bar(3, 2, ""), bar(4, 7, ""), bar(3, 3, ""), bar(3, 4, "")}, []int64{1, 2, 7, 3, 4}, 4},
		{"a loss that is none", []string{bar(3, 1, ", loss=2.1"), bar(3, 2, ", loss=2.1"), bar(3, 3, ", loss=nan"), bar(3, 4, ", loss=2.1"), bar(3, 5, ", loss=2.1"), bar(3, 6, ", loss=2.2")}, []int64{1, 2, 3, 4, 6}, 6},
		{"a bar of another shape", []string{bar(3, 1, ""), bar(3, 2, ""), bar(3, 3, ", x=1"), bar(3, 4, ""), bar(3, 5, "")}, []int64{1, 2, 3, 4, 5}, 5},
	} {
		obs := pictures(t, sc, strings.Join(tc.bars, "\r")+"\n", 0)
		if got := steps(obs); !slices.Equal(got, tc.want) || obs.Progress[len(got)-1].N != tc.n {
			t.Errorf("%s: read %v, want %v; the last is number %d of %d", tc.name, got, tc.want, obs.Progress[len(got)-1].N, tc.n)
		}
	}
	var long []string
	for i := range 500 {
		long = append(long, bar(3, i, ""))
	}
	obs := pictures(t, sc, strings.Join(long, "\r")+"\n", 0)
	if n := len(obs.Progress); n != 1+499/drawEvery+1 || obs.Progress[n-1].Step != 499 || obs.Progress[n-1].N != 500 {
		t.Errorf("of 500 pictures %d are read, the last is %+v", n, obs.Progress[n-1])
	}
	if obs := pictures(t, sc, strings.Join(long, "\r")+"\n", wholeBars); len(obs.Progress) != 500 {
		t.Errorf("at the beginning of a file %d of 500 are read", len(obs.Progress))
	}
}

// drawings is a log of bars that are drawn over themselves, glued with other things.
func drawings(plan []byte) string {
	var b bytes.Buffer
	for i, c := range plan {
		rank, n := int(c>>4)%3, i*7%1000
		switch c & 15 {
		default:
			fmt.Fprintf(&b, "[rank%d]: %3d%%|%-5s| %d/1000 [0:00:%02d<6:53:09, %5.2fit/s, loss=%d.5]", rank, n/10, strings.Repeat("█", n/200), n, i%60, float64(c), i%4)
		case 6, 7:
			fmt.Fprintf(&b, "\x1b[32mEpoch %d: %3d%%|\x1b[0m%-5s| %d/1000 [0:00:01<6:53:09, %5.2fit/s, v_num=9, loss=%d]", rank, n/10, strings.Repeat("#", n/200), n, float64(c), i%9)
		case 8:
			fmt.Fprintf(&b, "[rank%d]: %3d%%|     | %d/1000 [0:00:01<6:53:09,  1.0it/s, loss=nan]", rank, n/10, n)
		case 9:
			fmt.Fprintf(&b, "[rank%d]: ConnectionResetError: [Errno 104] Connection reset by peer", rank)
		case 10:
			fmt.Fprintf(&b, "[rank%d]: step %d loss: 2.%d", rank, n, i)
		case 11:
			fmt.Fprintf(&b, "[rank%d]: %3d%%|     | %d/1000 [0:00:01<6:53:09,  1.0it/s, RuntimeError: CUDA error]", rank, n/10, n)
		case 12:
			b.WriteString("\n")
			continue
		case 13:
			fmt.Fprintf(&b, "%3d%%|  | nothing %d", n/10, n)
		}
		b.WriteString("\r")
	}
	b.WriteString("\n")
	return b.String()
}

// Passing over pictures must change nothing but which steps of a course are known.
func enough(t *testing.T, sc *Scanner, text string) {
	t.Helper()
	all, some := pictures(t, sc, text, 1<<62), pictures(t, sc, text, 0)
	if len(all.Progress) >= maxSteps/2 {
		return // what is left of a long course is another matter
	}
	at := map[int64]*Progress{}
	last := map[courseKey]*Progress{}
	key := func(p *Progress) courseKey { return courseKey{p.File, *p.Who(), p.Form, p.Phase, p.Loop} }
	for i := range all.Progress {
		p := &all.Progress[i]
		at[p.Off], last[key(p)] = p, p
	}
	end := map[courseKey]*Progress{}
	read := map[int64]bool{}
	for i := range some.Progress {
		p := &some.Progress[i]
		if q := at[p.Off]; q == nil || !reflect.DeepEqual(*q, *p) {
			t.Fatalf("%q:\nread %+v\nis   %+v", text, *p, q)
		}
		end[key(p)], read[p.Off] = p, true
	}
	for _, p := range all.Progress {
		if !read[p.Off] && nonFinite([]byte(p.Loss)) {
			t.Fatalf("%q: passed over %+v", text, p)
		}
	}
	for k, p := range last {
		if end[k] == nil || end[k].Off != p.Off {
			t.Fatalf("%q: the course of %v ends with %+v, not at %d", text, k, end[k], p.Off)
		}
	}
	all.Progress, some.Progress = nil, nil
	if !reflect.DeepEqual(all, some) {
		t.Fatalf("%q:\nread %+v\nis   %+v", text, some, all)
	}
}

func TestWhatIsPassedOverIsNothingButABar(t *testing.T) {
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(7, 8))
	for range 400 {
		plan := make([]byte, 1+rng.IntN(60))
		for i := range plan {
			if plan[i] = byte(rng.IntN(256)); i > 0 && rng.IntN(3) > 0 {
				plan[i] = plan[i-1]
			}
		}
		enough(t, sc, drawings(plan))
	}
}

func FuzzRedrawn(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x06\x06\x08\x06\x06"), "")
	f.Add([]byte("\x09\x0c\x00\x00\x10\x10\x00\x00\x0b\x00\x00"), "[rank1]:  12%| | 1/9 [00:01<00:02, 1.0it/s]\r[rank1]:  13%| | 2/9 [00:01<00:02, 1.0it/s]\r")
	sc, err := NewScanner()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, plan []byte, raw string) {
		if len(plan) > 200 || len(raw) > 2000 {
			return
		}
		enough(t, sc, drawings(plan)+raw)
	})
}

// Bars that only a block asked for are passed over, what belongs to the block is not.
func TestABlockAmidBarsLosesNothing(t *testing.T) {
	thin, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	all, err := scannerWith(scan.Options{HeadLines: headLines})
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(5, 6))
	var text bytes.Buffer
	bar := func(n int) {
		for range n {
			rank := rng.IntN(6)
			for k := range 1 + rng.IntN(4) {
				fmt.Fprintf(&text, "[rank%d]: %3d%%|     | %d/1000 [0:00:01<6:53:09,  1.2it/s]\r", rank, k, k)
			}
			text.Truncate(text.Len() - 1)
			if rng.IntN(9) == 0 {
				text.WriteString("\r[rank3]:   and this between bars\r[rank1]:  12%|  | 12/1000 [0:00:01<6:53:09,  1.2it/s]")
			}
			if rng.IntN(9) == 0 {
				text.WriteString("[rank3]:   and this behind a bar")
			}
			text.WriteString("\n")
		}
	}
	for i := range 60 {
		bar(200)
		fmt.Fprintf(&text, "[rank3]: %s: number %d\n", []string{"ValueError", "KeyError"}[i%2], i) // of too many of one kind not every one is read
		bar(rng.IntN(3))
		text.WriteString("[rank3]:   goes on\n")
		bar(rng.IntN(20))
	}
	want, got := pictures(t, all, text.String(), wholeBars), pictures(t, thin, text.String(), wholeBars)
	if len(want.Exceptions) != 60 || !reflect.DeepEqual(got.Exceptions, want.Exceptions) {
		t.Errorf("%d exceptions, want %d:\n%+v\n%+v", len(got.Exceptions), len(want.Exceptions), got.Exceptions, want.Exceptions)
	}
	if len(got.Progress) >= len(want.Progress) {
		t.Errorf("%d of %d steps: nothing is passed over", len(got.Progress), len(want.Progress))
	}
}
