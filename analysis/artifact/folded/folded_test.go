package folded

import (
	"context"
	"errors"
	"strings"
	"testing"
)

const spied = `process 4012:"python train.py";MainThread (0x7F12);<module> (train.py:88);main (train.py:70);step (train.py:44);__next__ (torch/utils/data/dataloader.py:701);read (shards.py:31) 60
process 4012:"python train.py";MainThread (0x7F12);<module> (train.py:88);main (train.py:70);step (train.py:47);backward (torch/_tensor.py:581) 30
process 4012:"python train.py";MainThread (0x7F12);<module> (train.py:88);main (train.py:70);step (train.py:44);walk (shards.py:12);walk (shards.py:15) 10
`

func TestFoldedStacksAreTold(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want bool
	}{
		"py-spy":              {spied, true},
		"perf":                {"python;_PyEval_EvalFrameDefault;cudaStreamSynchronize;[libcuda.so] 12\npython;_PyEval_EvalFrameDefault;read_tar;__read 3\n", true},
		"one line":            {"a;b;c 1\n", false},
		"a log":               {"step 1 loss 2.15; lr 0.1\nstep 2 loss 2.14; lr 0.1\nstep 3 done; next 4\n", false},
		"a table of numbers":  {"1;2;3 4\n5;6;7 8\n9;1;2 3\n", false},
		"a log with a stack":  {"step 1\nstep 2\nstep 3\n" + spied, false},
		"CSV with semicolons": {"rank;step;seconds\n0;1;2.5\n0;2;2.5\n", false},
	} {
		if got := Recognise([]byte(c.text)); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestTheTimeOfEachFunctionIsCounted(t *testing.T) {
	p, err := Read(context.Background(), strings.NewReader(spied+"not a stack\nx;y 0\nx;y 99999999999999999999\n"))
	if err != nil {
		t.Fatal(err)
	}
	if p.Samples != 100 {
		t.Errorf("%d samples", p.Samples)
	}
	for name, want := range map[string]float64{"main (train.py)": 1, "step (train.py)": 1, "read (shards.py)": 0.6, "walk (shards.py)": 0.1, "backward (torch/_tensor.py)": 0.3, "MainThread (0x…)": 1, "nowhere": 0} {
		if got := p.Share(name); got != want {
			t.Errorf("%s: %g, not %g", name, got, want)
		}
	}
	for _, c := range p.Calls {
		if strings.HasPrefix(c.Name, "process") {
			t.Errorf("%s is no call", c.Name)
		}
		if c.Name == "read (shards.py)" && (c.Self != 60 || c.Most.Line != 1) {
			t.Errorf("%+v", c)
		}
	}
	if _, err := Read(context.Background(), strings.NewReader("step 1\n")); !errors.Is(err, ErrOther) {
		t.Errorf("a log: %v", err)
	}
}
