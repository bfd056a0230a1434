package desk

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/chat"
	"faultline/incident"
	"faultline/isolate"
	"faultline/workflow"
)

// wide is a channel whose job 12345 hung on 16 nodes, and whose cluster says how it was started.
func wide(s *stage) {
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) {
		r := report("gpu-oom", incident.Confirmed)
		r.Coverage.NodesExpected = nil
		for i := range 16 {
			r.Coverage.NodesExpected = append(r.Coverage.NodesExpected, fmt.Sprintf("cn%02d", i))
		}
		gpus := 8
		r.Job.RanksPerNode, r.Verdict.Root.Nodes = &gpus, nil
		return r, nil
	}
	s.desk.Flow.Facts = func(_ context.Context, _, job string) (workflow.Found, error) {
		return workflow.Found{Partition: "gpu;reboot", Limit: "00:05:00", State: map[string]string{"77": "TIMEOUT", "78": "COMPLETED"}[job]}, nil
	}
}

// isolating is a case whose search has begun.
func isolating(s *stage) {
	wide(s)
	s.says("12345")
	s.says("isolate F-1")
}

func search(t *testing.T, s *stage) *isolate.Ledger {
	t.Helper()
	inv, err := s.store.Load(t.Context(), "F-1")
	if err != nil || inv.Search == nil {
		t.Fatalf("%v, %+v", err, inv.Search)
	}
	return inv.Search
}

// bisect answers every test as a cluster with one bad node would, by turns with buttons and in words.
func bisect(t *testing.T, s *stage, bad string) {
	t.Helper()
	for round := range 30 {
		tests := search(t, s).Pending()
		if len(tests) == 0 {
			return
		}
		for _, test := range tests {
			outcome := "pass"
			if slices.Contains(test.Nodes, bad) {
				outcome = "fail"
			}
			if round%2 == 0 {
				s.does(press("U3", actTested+"/"+test.ID+"-"+outcome, "F-1 0 "+test.ID+"="+outcome))
			} else {
				s.says("isolate F-1 " + test.ID + "=" + outcome)
			}
		}
	}
	t.Fatal("it does not end")
}

func TestASearchEndsWithTheNode(t *testing.T) {
	s := newStage(t)
	wide(s)
	s.says("12345")
	s.at("F-1", workflow.Reported)
	s.says("isolate F-1")
	s.at("F-1", workflow.Isolating)
	if l := search(t, s); l.Partition != "" || l.Limit != "5" || l.GPUs != 8 {
		t.Errorf("%+v: the partition could run in a shell", l)
	}
	bisect(t, s, "cn11")
	s.at("F-1", workflow.Reported)
	thread := s.transcript()
	for _, want := range []string{": all nodes. Does the test reproduce", "If all pass, it is a link", "--nodelist='cn[00-15]'", "side by side", "Found: cn11", "sbatch --exclude=cn11"} {
		if !strings.Contains(thread, want) {
			t.Errorf("the thread has no %q:\n%s", want, thread)
		}
	}
}

func TestASearchTakesWhatPeopleHave(t *testing.T) {
	s := newStage(t)
	wide(s)
	s.says("12345")
	for text, want := range map[string]string{
		"isolate F-1 1a=fail": "No search is running",
	} {
		if got := s.says(text); !strings.Contains(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
	s.says("isolate F-1 `./train.sh --steps 20 --name \"a b\"`")
	if l := search(t, s); l.Command != `./train.sh --steps 20 --name "a b"` {
		t.Errorf("%q", l.Command)
	}
	for _, c := range []struct{ text, want string }{
		{"isolate F-1 9a=fail", "There is no test 9a"},
		{"isolate F-1 1a=perhaps", "I can't read 1a=perhaps"},
		{"isolate F-1 1a=99", "can't tell yet how job 99 ended"},
		{"isolate F-1", "again"},
		{"isolate F-1 1a=77", "1a failed"},
	} {
		if got := s.says(c.text); !strings.Contains(got, c.want) {
			t.Errorf("%s: %s", c.text, got)
		}
	}
	l := search(t, s)
	if l.Tests[0].Outcome != isolate.Fail || len(l.Pending()) != 2 {
		t.Errorf("%+v", l.Tests)
	}
	// A round is over when each of its tests has an outcome, and an outcome can be corrected.
	s.says("isolate F-1 2a=78")
	if n := len(search(t, s).Tests); n != 3 {
		t.Errorf("%d tests after one of two", n)
	}
	s.says("isolate F-1 2b=fail")
	if n := len(search(t, s).Tests); n != 5 {
		t.Errorf("%d tests after both", n)
	}
	s.says("isolate F-1 1a=pass")
	if l := search(t, s); l.Tests[0].Outcome != isolate.Pass || len(l.Tests) != 5 {
		t.Errorf("%+v", l.Tests)
	}
}

// A search for a component begins with one test of each, and ends with the one that fails three times, where the others have passed.
func TestASearchForAComponent(t *testing.T) {
	s := newStage(t)
	wide(s)
	s.says("12345")
	s.says("isolate F-1 components")
	if l := search(t, s); len(l.Pending()) != 4 || l.Tests[2].Part != "data" {
		t.Fatalf("%+v", l)
	}
	s.says("isolate F-1 1a=pass 1b=pass 1c=fail 1d=pass")
	s.says("isolate F-1 2a=fail")
	s.says("isolate F-1 3a=fail")
	s.at("F-1", workflow.Reported)
	thread := s.transcript()
	for _, want := range []string{"4 tests, one after the other", "bot probe --out probe.py", "python3 probe.py communication", "Fails alone: data (6 tests in 3 rounds).", "--test 'python3 probe.py data'"} {
		if !strings.Contains(thread, want) {
			t.Errorf("the thread has no %q:\n%s", want, thread)
		}
	}
}

// New evidence is read while a search goes on, and the search goes on behind it.
func TestASearchHoldsNothingUp(t *testing.T) {
	s := newStage(t)
	wide(s)
	s.says("12345")
	s.says("isolate F-1")
	s.posted()
	s.does(mention("U3", "isolate 1a=fail"))
	s.surface.files["A"] = "log"
	s.does(withFiles(mention("U3", "this is the dmesg"), chat.File{ID: "A", Name: "a.out", Bytes: 3}))
	s.at("F-1", workflow.Reported)
	if n := len(search(t, s).Pending()); n != 2 {
		t.Fatalf("%d tests are open", n)
	}
	s.says("isolate F-1 2a=pass")
	s.at("F-1", workflow.Isolating)
}

func TestAFaultThatDoesNotComeBackIsSaid(t *testing.T) {
	s := newStage(t)
	wide(s)
	s.says("12345")
	s.says("isolate F-1")
	bisect(t, s, "nobody")
	s.at("F-1", workflow.Reported)
	if thread := s.transcript(); !strings.Contains(thread, "The fault did not recur in") {
		t.Error(thread)
	}
}

// A line that does not fit into a message is handed over whole.
func TestALongLineIsAFile(t *testing.T) {
	s := newStage(t)
	wide(s)
	was := s.engine.diagnose
	s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		r, err := was(in)
		r.Coverage.NodesExpected = nil
		for i := range 400 {
			r.Coverage.NodesExpected = append(r.Coverage.NodesExpected, fmt.Sprintf("node-%c%dx%d", 'a'+i%26, i*7919%10007, i))
		}
		return r, err
	}
	s.says("12345")
	s.says("isolate F-1")
	if thread := s.transcript(); !strings.Contains(thread, "round-1.sh") || strings.Contains(thread, "--nodelist") {
		t.Error(thread[max(0, len(thread)-3000):])
	}
}
