package worker

import (
	"fmt"
	"strings"
	"testing"
)

// TestTracebackBehindLabels reads what collectors print: a label that no table holds stands in front of every line, a stamp in
// front of it, behind it, or within.
func TestTracebackBehindLabels(t *testing.T) {
	lines := []string{
		"step 10 loss 2.5", tracebackHeader + ":", `  File "/job/train.py", line 30, in main`, "    batch = next(it)",
		`  File "/job/data.py", line 12, in __next__`, `    return self.rows[i]["label"]`, "KeyError: 'label'", "",
		"During handling of the above exception, another exception occurred:", "", tracebackHeader + ":",
		`  File "/job/train.py", line 41, in <module>`, "    main()", "ValueError: row 7 is no sample",
	}
	labels := map[string]func(i int) string{
		"kubectl logs --prefix": func(int) string { return "[pod/train-master-0/pytorch] " },
		"kubectl logs --prefix --timestamps": func(i int) string {
			return fmt.Sprintf("[pod/train-master-0/pytorch] 2024-05-01T10:00:%02d.%dZ ", i, 120+i)
		},
		"stern":               func(int) string { return "train-master-0 pytorch " },
		"stern --timestamps":  func(i int) string { return fmt.Sprintf("train-master-0 pytorch 2024-05-01T10:00:%02d.123456789Z ", i) },
		"stamp and container": func(i int) string { return fmt.Sprintf("2024-05-01T10:00:%02d.123Z  pytorch  ", i) },
		"columns":             func(i int) string { return fmt.Sprintf("2024-05-01T10:00:%02d.123Z\tpytorch\t", i) },
		"a log stream": func(i int) string {
			return fmt.Sprintf("2024-05-01T10:00:%02d.123000+00:00 training/algo-1/1714550000 ", i)
		},
		"month and day": func(i int) string { return fmt.Sprintf("May 01 10:00:%02d.123 train-master-0 pytorch ", i) },
		"bars":          func(i int) string { return fmt.Sprintf("2024-05-01 10:00:%02d UTC | INFO | train-0 | ", i) },
		"compose":       func(int) string { return "trainer-1  | " },
	}
	for name, label := range labels {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			for i, l := range lines {
				fmt.Fprintln(&b, strings.TrimRight(label(i)+l, " "))
			}
			obs := observe(t, b.String())
			if len(obs.Exceptions) != 1 {
				t.Fatalf("exceptions: %+v", obs.Exceptions)
			}
			e := obs.Exceptions[0]
			if e.Type != "ValueError" || e.Message != "row 7 is no sample" || len(e.Frames) != 1 || e.Torn || e.Line != 14 {
				t.Errorf("got %+v", e)
			}
			if len(e.Cause) != 1 || e.Cause[0].Type != "KeyError" || len(e.Cause[0].Frames) != 2 {
				t.Errorf("caused by %+v", e.Cause)
			}
		})
	}
}

// TestTracebacksOfTwoContainers have lines that take turns, and keep their own.
func TestTracebacksOfTwoContainers(t *testing.T) {
	of := func(pod, file, last string) []string {
		var out []string
		for _, l := range []string{tracebackHeader + ":", `  File "/job/` + file + `", line 3, in main`, "    run()", last} {
			out = append(out, pod+" pytorch "+l)
		}
		return out
	}
	a, b := of("train-worker-3", "a.py", "KeyError: 'label'"), of("train-worker-4", "b.py", "ValueError: no rows")
	var text strings.Builder
	for i := range a {
		text.WriteString(a[i] + "\n" + b[i] + "\n")
	}
	obs := observe(t, text.String())
	if len(obs.Exceptions) != 2 {
		t.Fatalf("exceptions: %+v", obs.Exceptions)
	}
	for i, want := range []struct{ typ, file string }{{"KeyError", "/job/a.py"}, {"ValueError", "/job/b.py"}} {
		e := obs.Exceptions[i]
		if e.Type != want.typ || e.Torn || len(e.Frames) != 1 || e.Frames[0].File != want.file {
			t.Errorf("exception %d: %+v", i, e)
		}
	}
}

// TestTextBeforeATraceback is no label where its frames do not bear it.
func TestTextBeforeATraceback(t *testing.T) {
	obs := observe(t, "could not go on: "+plainTrace)
	if len(obs.Exceptions) != 1 || len(obs.Exceptions[0].Frames) != 2 || obs.Exceptions[0].Type != "RuntimeError" {
		t.Errorf("got %+v", obs.Exceptions)
	}
}
