package worker

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

const marginless = `NCCL version 2.21.5+cuda12.4
[rank3]: Traceback (most recent call last):
[rank3]:   File "/app/train.py", line 3, in <module>
[rank3]:     main()
[rank3]: ValueError: bad shape

2026-03-01 10:00:00,000 the last word
[rank0]:[E301 10:10:00.000000000 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.
`

// With a margin everything is read as without it, and stands where the bytes say.
func TestAMarginSaysNothing(t *testing.T) {
	plain := marginRead(t, marginless)
	for name, in := range map[string]func(i int, l string) string{
		"indented":          func(_ int, l string) string { return "    " + l },
		"indented by a tab": func(_ int, l string) string { return "\t" + l },
		"blank lines bare": func(_ int, l string) string {
			if l == "" {
				return l
			}
			return "      " + l
		},
		"quoted":   func(_ int, l string) string { return strings.TrimRight("> "+l, " ") },
		"grep -r":  func(_ int, l string) string { return "logs/error-7-n01.out:" + l },
		"grep -rn": func(i int, l string) string { return fmt.Sprintf("error-7-n01.out:%d:%s", i+7, l) },
		"grep -n":  func(i int, l string) string { return fmt.Sprintf("%d:%s", i+98, l) },
		"cat -n":   func(i int, l string) string { return fmt.Sprintf("%6d\t%s", i+1, l) },
		"web page": func(i int, l string) string { return fmt.Sprintf("%4d | %s", i+1, l) },
	} {
		t.Run(name, func(t *testing.T) {
			var text strings.Builder
			for i, l := range strings.Split(strings.TrimSuffix(marginless, "\n"), "\n") {
				text.WriteString(in(i, l) + "\n")
			}
			got := marginRead(t, text.String())
			if !reflect.DeepEqual(got, plain) {
				t.Errorf("%q, expected %q", got, plain)
			}
		})
	}
}

// What stands in front of a file's first line and is no text hides nothing of it.
func TestAFileBeginsBehindWhatIsNoText(t *testing.T) {
	text := "[default7]: iteration 42771/ 115311 | elapsed time per iteration (s): 105.17 | learning rate: 4.7E-05 | lm loss: 2.1E+00\n" + marginless
	steps := func(text string) (list []int64) {
		for _, p := range observe(t, text).Progress {
			list = append(list, p.Step)
		}
		return list
	}
	plain, seen := marginRead(t, text), steps(text)
	if len(seen) == 0 {
		t.Fatal("no step is read")
	}
	for name, front := range map[string]string{"byte-order mark": "\xef\xbb\xbf", "hole": strings.Repeat("\x00", 700)} {
		if got := marginRead(t, front+text); !reflect.DeepEqual(got, plain) {
			t.Errorf("%s: %q, expected %q", name, got, plain)
		}
		if got := steps(front + text); !reflect.DeepEqual(got, seen) {
			t.Errorf("%s: steps %v, expected %v", name, got, seen)
		}
	}
}

// marginRead reads a text and lists what was read, with the bytes at the place where it stands.
func marginRead(t *testing.T, text string) []string {
	t.Helper()
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	obs, err := Read(context.Background(), "a.log", strings.NewReader(text), sc)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, x := range obs.Exceptions {
		out = append(out, fmt.Sprint("exception ", x.Who().Global, x.Type, x.Message, len(x.Frames), " ", text[x.Off:x.Off+int64(x.Len)], x.Line))
	}
	for _, x := range obs.Timeouts {
		out = append(out, fmt.Sprint("timeout ", x.Who().Global, x.Work.Seq, " ", text[x.Off:x.Off+int64(x.Len)], x.Line, x.Stamp))
	}
	return out
}

func TestWhatIsNoMargin(t *testing.T) {
	repeat := func(n int, f func(i int) string) (head []phys) {
		for i := range n {
			head = append(head, phys{raw: []byte(f(i))})
		}
		return head
	}
	for name, head := range map[string][]phys{
		"labels of tasks":         repeat(64, func(i int) string { return fmt.Sprintf("%d: RuntimeError: no space", i) }),
		"padded labels of tasks":  repeat(64, func(i int) string { return fmt.Sprintf("%2d: it is over", i) }),
		"one blank, as Megatron":  repeat(20, func(i int) string { return fmt.Sprintf(" iteration %d/ 100 | loss 2", i) }),
		"frames alone":            repeat(20, func(i int) string { return [...]string{`  File "/a.py", line 3, in f`, "    g()"}[i%2] }),
		"steps in front":          repeat(20, func(i int) string { return fmt.Sprintf("%d:%d", i*1000, i) }),
		"few lines":               repeat(3, func(int) string { return "    x" }),
		"one line without":        append(repeat(20, func(int) string { return "    x" }), phys{raw: []byte("x")}),
		"places in code":          repeat(20, func(i int) string { return fmt.Sprintf("train.py:%d: warning", i) }),
		"a clock of hours":        repeat(20, func(i int) string { return fmt.Sprintf("10:%02d:%02d it goes on", i/60, i%60) }),
		"some lines count others": repeat(20, func(i int) string { return fmt.Sprintf("%d:x", 5-i%5) }),
	} {
		if m := marginOf(head); m != nil {
			t.Errorf("%s: %d bytes of %q are taken for a margin", name, m(head[0].raw), head[0].raw)
		}
	}
	m := marginOf(repeat(20, func(i int) string { return [...]string{`      File "/a.py", line 3, in f`, "        g()"}[i%2] }))
	if m == nil || m([]byte(`      File "/a.py"`)) != 4 {
		t.Error("the indentation of a frame itself is no margin, that of all lines is")
	}
}
