package desk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/isolate"
	"faultline/workflow"
)

// farm is a cluster that takes tests: cn11 is bad.
type farm struct {
	names, lines []string
	calls        int
	down         bool
}

func (f *farm) Submit(_ context.Context, cluster, name string, flags []string, command string) (string, error) {
	if f.down {
		return "", errors.New("sbatch said: down for maintenance")
	}
	f.calls++
	job := fmt.Sprint(900 + slices.Index(append(slices.Clone(f.names), name), name))
	if !slices.Contains(f.names, name) {
		f.names = append(f.names, name)
		f.lines = append(f.lines, cluster+" "+strings.Join(flags, " ")+" "+command)
	}
	return job, nil
}

// farmed is a case on a cluster that takes tests.
func farmed(t *testing.T) (*stage, *farm) {
	t.Helper()
	s, f := newStage(t), &farm{}
	wide(s)
	s.desk.Flow.Submitter = f
	s.desk.Flow.Submitting = func(string) workflow.Submitting {
		return workflow.Submitting{Commands: []string{isolate.UsualTest}, Partitions: []string{"gpu"}, Hours: 30}
	}
	s.desk.Flow.Facts = func(_ context.Context, _, job string) (workflow.Found, error) {
		return workflow.Found{Partition: "gpu", Limit: "00:05:00", State: map[string]string{"900": "FAILED"}[job], Running: job == "901"}, nil
	}
	s.says("12345")
	return s, f
}

func (s *stage) submit(who, test string) string {
	return s.does(press(who, actSubmit+"/"+test, "F-1 0 "+test))
}

// runs lets time pass while tests are submitted and watched.
func (s *stage) runs(d time.Duration) {
	s.while(d, func() {
		for {
			did, err := s.workers.Do(context.Background(), workflow.JobSubmit)
			if err != nil {
				s.t.Fatal(err)
			}
			if s.settle(); !did {
				return
			}
		}
	})
}

func (s *stage) trail(id string) string {
	s.t.Helper()
	entries, err := s.store.Ledger(context.Background(), id)
	if err != nil {
		s.t.Fatal(err)
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintln(&b, e.Actor, e.Text)
	}
	return b.String()
}

func TestATestIsSubmittedAfterAClick(t *testing.T) {
	s, f := farmed(t)
	s.says("isolate F-1")
	if thread := s.transcript(); !strings.Contains(thread, "Submit 1a (≤ 10.7 GPU h)") {
		t.Fatal(thread)
	}
	if got := s.submit("U3", "1a"); !strings.Contains(got, "only") && len(f.names) > 0 {
		t.Errorf("anybody may: %s", got)
	}
	if len(f.names) > 0 || search(t, s).Tests[0].Name != "" {
		t.Fatalf("submitted for anybody: %v", f.names)
	}
	everybody := *s.policy
	everybody.Channels = map[string]Rule{"C1": s.policy.Channels["C1"]}
	open := everybody.Channels["C1"]
	open.Trusted.Anyone = true
	everybody.Channels["C1"] = open
	named := s.policy
	s.policy = &everybody
	if s.submit("U3", "1a"); len(f.names) > 0 || search(t, s).Tests[0].Name != "" {
		t.Fatal("a channel that trusts everybody lets everybody submit")
	}
	s.policy = named
	if got := s.submit("U2", "1a"); !strings.Contains(got, "Submitting test 1a as job") {
		t.Fatal(got)
	}
	s.submit("U2", "1a") // a second click
	s.runs(10 * time.Second)
	if len(f.names) != 1 || !strings.HasPrefix(f.lines[0], "west --partition=gpu --time=5 --nodes=16 --nodelist=cn[00-15]") || !strings.HasSuffix(f.lines[0], isolate.UsualTest) {
		t.Fatalf("%v %v", f.names, f.lines)
	}
	s.runs(time.Minute)
	if l := search(t, s); l.Tests[0].Outcome != isolate.Fail || l.Tests[0].Job != "900" || len(l.Pending()) != 2 {
		t.Errorf("%+v", l.Tests)
	}
	trail := s.trail("F-1")
	for _, want := range []string{"U2 submit test 1a as faultline-F-1-", "U2 test 1a is job 900: sbatch", "job 900 of test 1a ended: fail"} {
		if !strings.Contains(trail, want) {
			t.Errorf("the audit trail has no %q:\n%s", want, trail)
		}
	}
}

// A search that the bot runs comes to its end, round after round: each answers a click, and none counts as unasked. The failures of its
// tests are outcomes, and open no case.
func TestASearchOfManyRoundsIsRunToItsEnd(t *testing.T) {
	s, f := farmed(t)
	allowed := s.desk.Flow.Submitting("west")
	allowed.Hours = 1000
	s.desk.Flow.Submitting = func(string) workflow.Submitting { return allowed }
	s.desk.Flow.Facts = func(ctx context.Context, _, job string) (workflow.Found, error) {
		found := workflow.Found{Partition: "gpu", Limit: "00:05:00", State: "COMPLETED"}
		inv, err := s.store.Load(ctx, "F-1")
		if err == nil && inv.Search != nil && slices.ContainsFunc(inv.Search.Tests, func(x isolate.Test) bool { return x.Job == job && slices.Contains(x.Nodes, "cn11") }) {
			found.State = "FAILED"
		}
		return found, nil
	}
	s.says("isolate F-1")
	for range 20 {
		for _, x := range search(t, s).Pending() {
			s.submit("U2", x.ID)
		}
		s.runs(time.Minute)
	}
	thread := s.transcript()
	if len(f.names) < 8 || !strings.Contains(thread, "Found: cn11") || strings.Contains(thread, "I've reached my limit") {
		t.Errorf("%d tests\n%s", len(f.names), thread[max(0, len(thread)-2000):])
	}
	for name, other := range map[string]bool{f.names[0]: false, "faultline-train": true} {
		e := workflow.Ended{Cluster: "west", Job: "901", Name: name, State: "FAILED"}
		if _, taken := (&Policy{Watches: []Watch{{Cluster: "west", Channel: "C1"}}}).watch(e); taken != other {
			t.Errorf("%s is watched: %v", name, taken)
		}
	}
}

func TestTheCostOfACaseIsBounded(t *testing.T) {
	s, f := farmed(t)
	s.says("isolate F-1")
	for _, id := range []string{"1a", "2a", "2b", "3a", "3b"} {
		s.submit("U2", id)
		s.runs(10 * time.Second)
		s.says("isolate F-1 " + id + "=fail")
	}
	hours := 0.0
	l := search(t, s)
	for _, x := range l.Tests {
		if x.Name != "" {
			hours += l.Hours(x)
		}
	}
	if hours > 30 || hours < 20 || len(f.names) < 3 {
		t.Errorf("%d tests, %.1f GPU hours", len(f.names), hours)
	}
	if thread := s.transcript(); !strings.Contains(thread, "and 30.0 are allowed for a case") {
		t.Error(thread[max(0, len(thread)-1500):])
	}
}

func TestWhatIsNotOnTheListIsNotSubmitted(t *testing.T) {
	s, f := farmed(t)
	s.says("isolate F-1 rm -r data")
	if thread := s.transcript(); strings.Contains(thread, "Submit 1a") {
		t.Error("a button offers it")
	}
	if got := s.submit("U2", "1a"); !strings.Contains(got, "not on the list of cluster west") {
		t.Error(got)
	}
	s.runs(10 * time.Second)
	if len(f.names) > 0 {
		t.Errorf("%v", f.lines)
	}
}

// Where the case changes while a test is submitted, the job is noted all the same: the cluster is not asked again, which may not know yet of a
// job that ended at once.
func TestASubmissionIsNotedBesideAnotherChange(t *testing.T) {
	s, f := farmed(t)
	s.says("isolate F-1")
	s.submit("U2", "1a")
	s.store.save = func(c workflow.Change) {
		if c.Investigation == nil || c.Investigation.Search == nil || c.Investigation.Search.Tests[0].Job == "" {
			return
		}
		s.store.save = nil
		other, err := s.store.Load(t.Context(), "F-1")
		if err == nil {
			other.Muted = true
			err = s.store.Memory.Save(t.Context(), workflow.Change{Investigation: &other})
		}
		if err != nil {
			t.Error(err)
		}
	}
	s.runs(15 * time.Second)
	if inv := s.at("F-1", workflow.Isolating); f.calls != 1 || inv.Search.Tests[0].Job != "900" || !inv.Muted {
		t.Errorf("%d calls, %+v", f.calls, inv.Search.Tests[0])
	}
}

// A submission that was made and not noted, because the bot was killed between the two, is not repeated; one that the cluster refuses for
// long leaves the test to people.
func TestASubmissionOutlivesTheBot(t *testing.T) {
	s, f := farmed(t)
	s.says("isolate F-1")
	s.submit("U2", "1a")
	s.store.save = func(c workflow.Change) {
		if c.Investigation != nil && c.Investigation.Search != nil && c.Investigation.Search.Tests[0].Job != "" {
			s.store.failAt, s.store.save = s.store.writes+1, nil
		}
	}
	s.runs(3 * time.Minute)
	if l := search(t, s); len(f.names) != 1 || l.Tests[0].Outcome != isolate.Fail {
		t.Errorf("%v %+v", f.names, l.Tests[0])
	}
	f.down = true
	s.submit("U2", "2a")
	s.runs(30 * time.Minute)
	if l := search(t, s); l.Tests[1].Outcome != isolate.Void || !strings.Contains(s.trail("F-1"), "test 2a could not be submitted: sbatch said: down for maintenance") {
		t.Errorf("%+v\n%s", l.Tests[1], s.trail("F-1"))
	}
}
