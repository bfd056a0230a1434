package desk

import (
	"context"
	"strings"
	"testing"
	"time"

	"faultline/incident"
	"faultline/workflow"
)

// watchedDay is a play in which everything happens that watching can do.
func watchedDay(s *watchStage) {
	s.ended("7")
	s.passes(4)
	s.ended("7", func(e *workflow.Ended) { e.Start = e.Start.Add(time.Minute) })
	s.finds("exception", incident.Probable)
	s.ended("8", named("other"))
	s.passes(4)
	s.does(by("U2", command("C1", "mute job-name train")))
	s.ended("9")
	s.passes(4)
	s.does(command("C1", "digest"))
	s.does(by("U2", command("C1", "watch pause west")))
	s.ended("10", named("third"))
	s.passes(4)
}

// A write that fails, and one that is done although its answer is lost, start nothing twice and miss nothing.
func TestAnyWriteOfWatchingMayFail(t *testing.T) {
	calm := newWatchStage(t)
	watchedDay(calm)
	want, writes := calm.shape(), calm.store.writes
	if writes < 20 || !strings.Contains(want, "Digest") {
		t.Fatalf("%d writes\n%s", writes, want)
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for _, after := range []bool{false, true} {
		for n := 1; n <= writes; n += step {
			s := newWatchStage(t)
			s.store.failAt, s.store.after = n+s.store.writes-1, after // the first minute is not part of the play
			watchedDay(s)
			if got := s.shape(); got != want {
				t.Fatalf("write %d failed (after it was done: %v):\n%s", n, after, difference(want, got))
			}
			if d := doubled(s.all()); len(d) > 0 {
				t.Errorf("write %d: doubled: %q", n, d)
			}
		}
	}
}

// The process ends between the question to the cluster and the beginning of an investigation; the next one has other clocks and
// asks again.
func TestAProcessThatEndsBetweenThePollAndTheStartMissesNothingAndStartsNothingTwice(t *testing.T) {
	s := newWatchStage(t)
	s.ended("7")
	ctx := context.Background()
	s.now = s.now.Add(2 * time.Minute)
	if _, err := s.store.Enqueue(ctx, s.workers.Watcher.Polls(s.now)...); err != nil {
		t.Fatal(err)
	}
	if did, err := s.workers.Do(ctx, workflow.JobPoll); !did || err != nil {
		t.Fatal(did, err)
	}
	jobs, err := s.store.Waiting(ctx, workflow.JobOver)
	if err != nil || len(jobs) != 1 || jobs[0].Key != s.accounting.rows[0].Key() {
		t.Fatalf("%+v, %v", jobs, err)
	}
	// It is claimed, and then nobody hears of it again.
	s.now = s.now.Add(2 * time.Minute)
	if l, err := s.store.Claim(ctx, []string{workflow.JobOver}, "dead", 2*time.Minute); err != nil || l == nil {
		t.Fatal(l, err)
	}
	old := s.workers
	s.workers = &Workers{Desk: old.Desk, Timers: old.Timers, Watcher: old.Watcher, Owner: "next", Log: old.Log, Lease: old.Lease, Backoff: old.Backoff}
	s.passes(10)
	if got := s.cases(); len(got) != 1 || got[0] != "7" {
		t.Errorf("%q", got)
	}
	s.at("F-1", workflow.Reported)
	if d := doubled(s.all()); len(d) > 0 {
		t.Errorf("doubled: %q", d)
	}
}

func TestTheTranscriptOfAWatchedDay(t *testing.T) {
	s := newWatchStage(t)
	watchedDay(s)
	golden(t, "watched.txt", strings.ReplaceAll(s.transcript(), s.logs, "LOGS"))
}
