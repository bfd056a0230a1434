package workflow

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
)

// onlyACore makes a stage whose only file is a core dump: it is there, and nothing that the engine reads.
func onlyACore(t *testing.T) *lateStage {
	s := newLateStage(t)
	s.shelf.files = map[string]string{"a/core.1": "\x7fELF"}
	s.flow.Engine.Open = func(string) (*os.File, error) { return os.Open(os.DevNull) } // the copies are there
	diagnose := s.flow.Engine.Diagnose
	s.flow.Engine.Diagnose = func(ctx context.Context, in analysis.Input) (*incident.Report, error) {
		for _, src := range in.Sources {
			if strings.HasPrefix(src.Name, "a/") && !strings.Contains(src.Name, "core") {
				return diagnose(ctx, in)
			}
		}
		s.read = append(s.read, "nothing readable")
		return nil, analysis.ErrNothingToRead
	}
	return s
}

func TestWhatWasFoundUnusableIsReadAgainOnlyWhenItChanges(t *testing.T) {
	s := onlyACore(t)
	s.open()
	s.at(AwaitingLogs)
	before := len(s.said)
	s.passes(3 * time.Hour)
	inv := s.at(AwaitingLogs)
	if len(s.read) != 1 || inv.Asks != 1 || len(s.loud(before)) != 0 {
		t.Fatalf("read %q, asked %d times, said %d things", s.read, inv.Asks, len(s.loud(before)))
	}
	s.shelf.files["a/core.1"] += "more of it"
	s.passes(2 * time.Hour)
	if inv := s.at(AwaitingLogs); len(s.read) != 2 || inv.Asks != 1 {
		t.Fatalf("it grew: read %q, asked %d times", s.read, inv.Asks)
	}
	s.shelf.files["a/0"] = "rank 0 waits\n"
	s.passes(2 * time.Hour)
	if inv := s.at(Reported); len(inv.Open) != 0 {
		t.Errorf("%+v", inv.Open)
	}
}

// A search that finds folders which cannot be opened says so once.
func TestWhatCannotBeOpenedIsSaidOnce(t *testing.T) {
	s := newLateStage(t)
	s.shelf.files = map[string]string{}
	s.open()
	s.at(AwaitingLogs)
	before := len(s.said)
	s.passes(3 * time.Hour)
	if inv := s.at(AwaitingLogs); inv.Asks != 1 || len(s.loud(before)) != 0 {
		t.Fatalf("asked %d times, said %d things", inv.Asks, len(s.loud(before)))
	}
	s.shelf.files["a/0"] = "rank 0 waits\n"
	s.passes(2 * time.Hour)
	s.at(Reported)
}

// Without a report there is nothing that could stay as it is.
func TestTheSameUnusableFilesLeadBackToTheQuestion(t *testing.T) {
	s := onlyACore(t)
	s.shelf.still = true
	s.open()
	s.at(AwaitingLogs)
	if err := s.flow.Handle(context.Background(), "F-1", Input{Event: LogsGiven, Actor: "U1", Places: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	s.settle()
	if inv := s.at(AwaitingLogs); len(inv.Open) != 1 {
		t.Errorf("%+v", inv.Open)
	}
}
