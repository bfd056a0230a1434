package workflow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"faultline/analysis"
	"faultline/incident"
)

func TestNoStepBlamesAPersonWhileTheBotsOwnHostIsInTrouble(t *testing.T) {
	full := &Fault{"store files", "disk full on the bot's host", syscall.ENOSPC}
	for name, breaks := range map[string]func(s *stage){
		"nothing can be unpacked":  func(s *stage) { s.files = nil },
		"nothing is found":         func(s *stage) { s.located = nil },
		"the copies are gone":      func(s *stage) { s.verdict = unread },
		"the second reading fails": func(s *stage) { s.refute = 5 },
		"the engine cannot go on": func(s *stage) {
			s.verdict = func(analysis.Input) (*incident.Report, error) { return nil, errors.New("broken") }
		},
		"a file could not be kept":  func(s *stage) { s.Fetch = &partly{s, full, false} },
		"no file could be kept":     func(s *stage) { s.Fetch = &partly{s, full, true} },
		"the disk refuses a folder": func(s *stage) { s.Fetch = refusing{s, NotKept(fmt.Errorf("making room: %w", syscall.EROFS))} },
	} {
		t.Run(name, func(t *testing.T) {
			s := found()
			s.Deferred, s.Trouble = true, func(context.Context) error { return full }
			files, located, verdict, refute, fetch := s.files, s.located, s.verdict, s.refute, s.Fetch
			breaks(s)
			if err := s.Open(t.Context(), Investigation{ID: "F-1", Job: "12345"}, Input{}); err != nil {
				t.Fatal(err)
			}
			err := s.Run(t.Context(), "F-1")
			var own *Fault
			if !errors.As(err, &own) || !strings.Contains(own.Error(), "right now") {
				t.Fatalf("it went on: %v", err)
			}
			inv, err := s.store.Load(t.Context(), "F-1")
			if row, _ := About(inv.State); err != nil || row.Kind != Working || len(inv.Open) > 0 {
				t.Errorf("%s with questions %v (%v)", inv.State, inv.Open, err)
			}
			s.files, s.located, s.verdict, s.refute, s.Fetch = files, located, verdict, refute, fetch
			s.Trouble = func(context.Context) error { return nil }
			if err := s.Run(t.Context(), "F-1"); err != nil {
				t.Fatal(err)
			}
			if inv, err = s.store.Load(t.Context(), "F-1"); err != nil || inv.State != Reported {
				t.Errorf("%s afterwards (%v)", inv.State, err)
			}
		})
	}
}

func unread(analysis.Input) (*incident.Report, error) { return nil, analysis.ErrNothingToRead }

// found is a stage on which the logs are.
func found() *stage {
	s := newStage()
	s.located = []string{"a", "b"}
	return s
}

// partly keeps some files, or none.
type partly struct {
	*stage
	fault error
	none  bool
}

func (p *partly) Collect(ctx context.Context, places []string) (Collection, error) {
	c, err := p.stage.Collect(ctx, places)
	if p.none {
		c.Sources = nil
	}
	c.Fault = p.fault
	return c, err
}

type refusing struct {
	*stage
	err error
}

func (r refusing) Collect(context.Context, []string) (Collection, error) { return Collection{}, r.err }

// A job that is larger than the disk would otherwise be tried for ever.
func TestFilesThatDoNotFitAreLeftOutWhenTheDiskIsWell(t *testing.T) {
	s := found()
	s.Deferred, s.Trouble = true, func(context.Context) error { return nil }
	s.Fetch = &partly{s, NotKept(syscall.ENOSPC), false}
	if err := s.Open(t.Context(), Investigation{ID: "F-1", Job: "12345"}, Input{}); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context(), "F-1"); err != nil {
		t.Fatal(err)
	}
	if inv, err := s.store.Load(t.Context(), "F-1"); err != nil || inv.State != Reported {
		t.Errorf("%s (%v)", inv.State, err)
	}
}

func TestTheBotsCopiesOfFilesAreFetchedAgainWhenTheyAreLost(t *testing.T) {
	s := found()
	s.Engine.Open = func(string) (*os.File, error) { return nil, fs.ErrNotExist }
	verdict, n := s.verdict, 0
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		if n++; n == 1 {
			return unread(in)
		}
		return verdict(in)
	}
	if err := s.Open(t.Context(), Investigation{ID: "F-1", Job: "12345"}, Input{}); err != nil {
		t.Fatal(err)
	}
	if inv, err := s.store.Load(t.Context(), "F-1"); err != nil || inv.State != Reported {
		t.Errorf("%s (%v)", inv.State, err)
	}
}

func TestAFaultSaysWhatAndWhyWithoutAPath(t *testing.T) {
	for err, want := range map[error]string{
		syscall.ENOSPC: "disk full on the bot's host", syscall.EDQUOT: "disk quota used up on the bot's host",
		syscall.EROFS: "disk is read-only on the bot's host", syscall.EACCES: "no permission to write on the bot's host",
		syscall.ENOENT: "folder is gone on the bot's host", syscall.EPIPE: "disk error on the bot's host",
	} {
		got := NotKept(fmt.Errorf("/secret/place: %w", err))
		if got.Error() != "I can't store files right now: "+want || !errors.Is(got, err) {
			t.Errorf("%q", got)
		}
	}
	if NotKept(nil) != nil {
		t.Error("nothing is wrong and a fault is made of it")
	}
}
