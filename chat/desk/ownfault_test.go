package desk

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"faultline/workflow"
)

var diskFull = &workflow.Fault{Cannot: "store files", Why: "disk full on the bot's host", Err: syscall.ENOSPC}

func TestACaseWaitsForTheBotsOwnHostAsLongAsItTakes(t *testing.T) {
	s := newStage(t)
	trouble := error(diskFull)
	s.workers.Trouble = func(context.Context) error { return trouble }
	s.desk.Hooks.Buried = func(kind string) { t.Errorf("a job %s is given up", kind) }
	blobs := s.desk.Composer.Blobs
	s.desk.Composer.Blobs = gone{}
	s.put(command("C1", "west:12345"))
	for range 20 {
		s.settle()
		s.now = s.now.Add(ownMost)
	}
	if n := s.told("I can't store files right now: disk full on the bot's host."); n != 1 {
		t.Errorf("people are told %d times", n)
	}
	s.now = s.now.Add(ownSaid)
	s.settle()
	if n := s.told("I can't store files right now"); n != 2 {
		t.Errorf("people are told %d times, an hour later", n)
	}
	trouble, s.desk.Composer.Blobs = nil, blobs
	s.now = s.now.Add(ownMost)
	s.settle()
	s.at("F-1", workflow.Reported)
}

// told is how many messages have the words.
func (s *stage) told(words string) (n int) {
	for _, p := range s.all() {
		if strings.Contains(string(p.Payload), words) {
			n++
		}
	}
	return n
}

func TestWhatCannotBeStoredIsSaidDirectly(t *testing.T) {
	s := newStage(t)
	var said []string
	s.workers.Trouble = func(context.Context) error { return diskFull }
	s.workers.Say = func(_ context.Context, id, text string) error {
		said = append(said, id+": "+text)
		return nil
	}
	s.desk.Composer.Blobs = gone{}
	s.put(command("C1", "west:12345"))
	if _, err := s.workers.Do(t.Context(), workflow.JobInbound); err != nil {
		t.Fatal(err)
	}
	s.desk.Store = full{s.store}
	for range 3 {
		if _, err := s.workers.Do(t.Context(), workflow.JobRun); err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(ownMost)
	}
	if len(said) != 1 || !strings.HasPrefix(said[0], "F-1: I can't store files right now") {
		t.Errorf("said %q", said)
	}
}

// full is a store that takes no change, but leases.
type full struct{ workflow.Durable }

func (full) Save(context.Context, workflow.Change) error { return syscall.ENOSPC }

// A lease whose job cannot be given back would be noticed only when it runs out.
func TestAJobIsGivenBackAsSoonAsTheStoreTakesIt(t *testing.T) {
	w := &Workers{Log: newStage(t).workers.Log}
	tries := 0
	begun := time.Now()
	err := w.note(t.Context(), func(context.Context) error {
		if tries++; tries < 2 {
			return errors.New("the disk is full")
		}
		return nil
	})
	if err != nil || tries != 2 || time.Since(begun) > 10*time.Second {
		t.Errorf("%d tries, %v", tries, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.note(ended, func(context.Context) error { return errDisk }); !errors.Is(err, errDisk) {
		t.Errorf("a process that stops goes on trying: %v", err)
	}
}
