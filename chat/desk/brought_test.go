package desk

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/workflow"
)

// opening are the lines of the case file about the logs that are being opened, each once, in order.
func (s *stage) opening() (lines []string) {
	for _, p := range s.all() {
		if p.Key != workflow.KeyCase {
			continue
		}
		for l := range strings.Lines(string(p.Payload)) {
			if i := strings.Index(l, "Open the logs"); i >= 0 {
				l, _, _ = strings.Cut(l[i:], `"`)
				if n := len(lines); n == 0 || lines[n-1] != l {
					lines = append(lines, l)
				}
			}
		}
	}
	return lines
}

func TestTheCaseFileSaysHowFarTheLogsHaveCome(t *testing.T) {
	s := newStage(t)
	s.fetch.while = func(ctx context.Context) {
		for i := range 8 { // a call every 5 s
			s.now = s.now.Add(5 * time.Second)
			n := int64(i+1) * 100 << 20
			workflow.Tell(ctx, workflow.Brought{Files: 5 * i, OfFiles: 2048, Bytes: n, OfBytes: 4 << 30, Fetched: n})
		}
	}
	s.says("12345")
	s.settle()
	s.at("F-1", workflow.Reported)
	want := []string{"Open the logs", "Open the logs: 5 of 2048 files, 200 MB of 4096 MB, about 3 min left", "Open the logs: 15 of 2048 files, 400 MB of 4096 MB, about 3 min left",
		"Open the logs: 25 of 2048 files, 600 MB of 4096 MB, about 3 min left", "Open the logs: 35 of 2048 files, 800 MB of 4096 MB, about 3 min left", "Open the logs: 1 file"}
	if got := s.opening(); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Whoever cancels while logs are brought has the last word.
func TestHowFarTheLogsCameDoesNotBringACancelledCaseBack(t *testing.T) {
	s := newStage(t)
	s.fetch.while = func(ctx context.Context) {
		s.now = s.now.Add(time.Minute)
		if err := s.desk.Flow.Handle(context.Background(), "F-1", workflow.Input{Event: workflow.Cancel, Actor: "U1"}); err != nil {
			t.Error(err)
		}
		workflow.Tell(ctx, workflow.Brought{OfFiles: 9, Bytes: 1, OfBytes: 2, Fetched: 1})
	}
	s.says("12345")
	s.settle()
	s.at("F-1", workflow.Cancelled)
	if got := s.opening(); slices.ContainsFunc(got, func(l string) bool { return strings.Contains(l, "of 9 files") }) {
		t.Errorf("%q", got)
	}
}
