package line

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// said are lines of four processes, two on each of two hosts; each is asked to write them by a collector.
func said(write func(host string, index int, text string) string) (lines [][]byte) {
	texts := []string{"loading the tokenizer", "building the model with 12 layers", "[rank%d]: Traceback (most recent call last):", `[rank%d]:   File "train.py", line 4, in <module>`,
		"reading shard 17", "step 1 loss 2.5", "[rank%d]: ValueError: bad", "step 2 loss 2.4"}
	for n, t := range texts {
		for i := range 4 {
			i = (i + n) % 4
			if strings.Contains(t, "%d") {
				t = fmt.Sprintf(t, i)
			}
			lines = append(lines, []byte(write([]string{"gx7", "gx8"}[i/2], i, t)))
		}
	}
	return lines
}

func none() [][]byte { return nil }

func TestColumnsOfACollectorThatNobodyKnowsAreLearned(t *testing.T) {
	n := 0
	count := func() int { n++; return 5000 + n }
	for name, write := range map[string]func(host string, index int, text string) string{
		"host and number":     func(h string, i int, s string) string { return fmt.Sprintf("<%s>.%d :: %s", h, i, s) },
		"a counter, a stream": func(h string, i int, s string) string { return fmt.Sprintf("(%d) out %s/%d >> %s", count(), h, i, s) },
		"keys":                func(h string, i int, s string) string { return fmt.Sprintf("machine=%s shard=%d | %s", h, i, s) },
		"a time": func(h string, i int, s string) string {
			return fmt.Sprintf("{%d}\t2026-03-02 10:00:0%d\t{%s}\t%s", i, i, h, s)
		},
		"a record": func(h string, i int, s string) string { return fmt.Sprintf(`{"where":%q,"no":%d,"log":%q}`, h, i, s) },
		"a record of unusual keys": func(h string, i int, s string) string {
			return fmt.Sprintf(`{"what":%q,"no":%d,"where":{"box":%q}}`, s, i, h)
		},
	} {
		t.Run(name, func(t *testing.T) {
			lines := said(write)
			want := said(func(_ string, _ int, s string) string { return s })
			u := Unwrapper{Columns: LearnColumns(lines, none)}
			if u.Columns == nil {
				t.Fatalf("no columns are seen in\n%s", bytes.Join(lines, []byte("\n")))
			}
			for i, l := range lines {
				e, ok := u.Unwrap(l)
				index := i%4 + i/4
				if index %= 4; !ok || e.By == nil || e.By.Task != index || e.By.Host != []string{"gx7", "gx8"}[index/2] {
					t.Fatalf("%s\nis by %#v, want task %d", l, e.By, index)
				}
				if string(e.Text) != string(want[i]) {
					t.Fatalf("%s\nsays %q, want %q", l, e.Text, want[i])
				}
			}
		})
	}
}

func TestWhatTheProgramsPrintIsNoColumn(t *testing.T) {
	times := func(n int, line func(i int) string) (out [][]byte) {
		for i := range n {
			out = append(out, []byte(line(i)))
		}
		return out
	}
	for name, lines := range map[string][][]byte{
		"steps":             times(60, func(i int) string { return fmt.Sprintf("iter %d: loss %.2f, time 40ms", i, 9/float64(i+1)) }),
		"steps of an epoch": times(60, func(i int) string { return fmt.Sprintf("INFO | epoch 1 | step3 loss %.2f", 9/float64(i+1)) }),
		"layers":            times(60, func(i int) string { return fmt.Sprintf("layer%d: grad %.3f", i%12, float64(i)) }),
		"loggers": times(60, func(i int) string {
			return []string{"data1: reading shard 4", "model2: built in 3 s", "loop3: step 4 done"}[i%3]
		}),
		"levels":  times(60, func(i int) string { return []string{"INFO: ready", "WARN: slow", "ERROR: late"}[i%3] }),
		"ranks":   said(func(_ string, i int, s string) string { return fmt.Sprintf("[rank%d]: %s", i, s) }),
		"srun":    said(func(_ string, i int, s string) string { return fmt.Sprintf("%d: %s", i, s) }),
		"records": times(60, func(i int) string { return fmt.Sprintf(`{"step":%d,"loss":2.5}`, i) }),
		"records of a run": times(60, func(i int) string {
			return fmt.Sprintf(`{"when":"2026-03-02 10:00:%02d","train/step":%d,"train/loss":2.512345678%d,"host":"gx7"}`, i, i, i)
		}),
		"a single one": times(60, func(i int) string { return fmt.Sprintf("gx7 | line %d of it", i) }),
	} {
		t.Run(name, func(t *testing.T) {
			if c := LearnColumns(lines, none); c != nil {
				t.Errorf("columns %+v in\n%s", c, bytes.Join(lines[:8], []byte("\n")))
			}
		})
	}
}

func TestWritersThatSpeakLaterAreLearnedFromTheMiddle(t *testing.T) {
	lines := said(func(h string, i int, s string) string { return fmt.Sprintf("<%s>.%d :: %s", h, i, s) })
	head := slices.Repeat(lines[:1], 40)
	if c := LearnColumns(head, none); c != nil {
		t.Errorf("one writer alone is taken for several: %+v", c)
	}
	if c := LearnColumns(head, func() [][]byte { return lines }); c == nil {
		t.Error("the writers further down are not seen")
	}
}

func FuzzColumns(f *testing.F) {
	f.Add("<gx7>.1 :: a\n<gx8>.2 :: b", `{"a":1,"b":"text of it","c":"gx7"}`)
	f.Add("a=1 b=2 | ", "\x1b[0m ")
	f.Fuzz(func(t *testing.T, some, more string) {
		lines := bytes.Split([]byte(strings.Repeat(some+"\n"+more+"\n", 12)), []byte("\n"))
		u := Unwrapper{Columns: LearnColumns(lines, none)}
		for _, l := range append(lines, []byte(more+some)) {
			e, ok := u.Unwrap(l)
			if from, to := e.Place(0), e.Place(len(e.Text)); ok && (from < 0 || from > to || to > len(l)) {
				t.Fatalf("%q is said to hold %d to %d", l, from, to)
			}
		}
	})
}
