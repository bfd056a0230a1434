package desk

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/incident"
	"faultline/workflow"
)

// looksAgain makes the desk look for late files for a quarter of an hour.
func (s *stage) looksAgain() {
	s.desk.Flow.Late = func(string) time.Duration { return 15 * time.Minute }
}

// comes adds a file to a job's logs.
func (s *stage) comes(job, name string) {
	place := "/logs/west/" + job
	s.fetch.where["west/"+job], s.fetch.users["west/"+job] = []string{place}, []string{"ana"}
	s.fetch.files[place] = append(slices.Clone(s.fetch.files[place]), incident.Source{Name: name, Path: place + "/" + name, Bytes: 100})
}

// while lets time pass in steps.
func (s *stage) while(d time.Duration, settle func()) {
	for end := s.now.Add(d); s.now.Before(end); {
		s.now = s.now.Add(10 * time.Second)
		settle()
	}
}

// late are conversations in which files come after the report.
var late = map[string]func(s *stage){
	"late-revision.txt": func(s *stage) {
		s.overturns()
		s.says("12345")
		s.while(time.Minute, s.settle)
		s.comes("12345", "node02.out")
		s.while(20*time.Minute, s.settle)
	},
	"late-quiet.txt": func(s *stage) {
		s.overturns()
		first := s.engine.diagnose
		s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
			in.Sources = in.Sources[:1]
			r, err := first(in)
			if len(s.fetch.files["/logs/west/12345"]) > 1 {
				r.Coverage.NodesMissing = nil
			}
			return r, err
		}
		s.says("12345")
		s.comes("12345", "node02.out")
		s.while(20*time.Minute, s.settle)
	},
	"late-first.txt": func(s *stage) {
		s.says("777")
		s.while(10*time.Minute, s.settle)
		s.comes("777", "777.out")
		s.while(20*time.Minute, s.settle)
	},
	"late-sent.txt": func(s *stage) {
		s.says("777")
		s.now = s.now.Add(25 * time.Hour)
		s.tick()
		s.at("F-1", workflow.Expired)
		s.comes("777", "777.out")
		if err := s.desk.Arrived(context.Background(), "west", "777"); err != nil {
			s.t.Fatal(err)
		}
		s.settle()
	},
}

func TestTranscriptsOfLateFiles(t *testing.T) {
	for name, play := range late {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			s.looksAgain()
			play(s)
			s.at("F-1", workflow.Reported)
			golden(t, name, strings.ReplaceAll(s.transcript(), s.logs, "LOGS"))
			if d := doubled(s.all()); len(d) > 0 {
				t.Errorf("doubled: %q", d)
			}
		})
	}
}

func TestAnyWriteOfALateFileMayFail(t *testing.T) {
	for name, play := range late {
		if name == "late-sent.txt" { // whoever sends tries again
			continue
		}
		t.Run(name, func(t *testing.T) {
			calm := newStage(t)
			calm.looksAgain()
			play(calm)
			want, writes := calm.shape(), calm.store.writes
			step := 1
			if testing.Short() {
				step = 5
			}
			for _, after := range []bool{false, true} {
				for n := 1; n <= writes; n += step {
					s := newStage(t)
					s.looksAgain()
					s.store.failAt, s.store.after = n, after
					play(s)
					if got := s.shape(); got != want {
						t.Fatalf("write %d failed (after it was done: %v):\n%s", n, after, difference(want, got))
					}
				}
			}
		})
	}
}

// What only its owner heard of becomes everybody's where a late file shows that it is.
func TestALateFileBringsAJobOfTheDigestIntoTheChannel(t *testing.T) {
	s := newWatchStage(t)
	s.looksAgain()
	s.engine.diagnose = func(in analysis.Input) (*incident.Report, error) {
		if len(in.Sources) > 1 {
			return report("gpu-ecc", incident.Confirmed), nil
		}
		return report("exception", incident.Probable), nil
	}
	s.ended("7")
	s.passes(4)
	if inv := s.at("F-1", workflow.Reported); !inv.Held {
		t.Fatal("it is in the channel")
	}
	s.comes("7", "late.out")
	s.passes(10)
	inv := s.at("F-1", workflow.Reported)
	if inv.Held || len(inv.Report.Revisions) != 1 {
		t.Errorf("%+v", inv.Report.Revisions)
	}
	if got := s.in("DU1"); len(got) != 3 {
		t.Errorf("%q", got)
	}
}

func TestAWatchedJobWithoutLogsGoesOnWhenTheyCome(t *testing.T) {
	s := newWatchStage(t)
	s.looksAgain()
	s.ended("7")
	delete(s.fetch.where, "west/7")
	s.passes(4)
	if inv := s.at("F-1", workflow.AwaitingLogs); !inv.Held {
		t.Fatal("it is in the channel")
	}
	s.comes("7", "late.out")
	s.passes(10)
	if inv := s.at("F-1", workflow.Reported); inv.Held {
		t.Error("nobody hears of it")
	}
}

func TestWhatWatchingNotedOfAForgottenCaseIsGoneAndItIsNotBegunAgain(t *testing.T) {
	s := newWatchStage(t)
	s.ended("7")
	s.passes(4)
	inv := s.at("F-1", workflow.Reported)
	for _, want := range []bool{true, false} {
		if got, err := Unwatch(context.Background(), s.store, inv); got != want || err != nil {
			t.Fatalf("%v, %v", got, err)
		}
	}
	n, err := s.store.Note(context.Background(), noteChannel("C1"))
	if err != nil || strings.Contains(string(n.Value), "train") || strings.Contains(string(n.Value), "n7a") {
		t.Errorf("%s, %v", n.Value, err)
	}
	s.passes(180)
	want(t, "cases", s.cases(), "7")
}
