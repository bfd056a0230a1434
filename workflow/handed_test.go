package workflow

import (
	"context"
	"slices"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/incident"
)

// looking is a stage whose engine says what files are: by their names, for once.
func looking() *stage {
	s := newStage()
	for _, name := range []string{"dmesg", "notes"} {
		s.files[name] = []incident.Source{{Name: name + ".txt", Path: name}}
	}
	s.Engine.Known = "kernel logs (dmesg); stacks"
	s.Engine.Look = func(_ context.Context, f incident.Source) (string, bool, error) {
		switch {
		case f.Name == "dmesg.txt":
			return "kernel logs", true, nil
		case strings.HasSuffix(f.Name, ".out"):
			return "log", true, nil
		}
		return "", false, nil
	}
	return s
}

func TestWhatIsHandedInAfterAReportIsNamed(t *testing.T) {
	for _, tt := range []struct {
		give string
		say  string // "" nothing about the file
	}{
		{"dmesg", "say: reading dmesg.txt as evidence: kernel logs"},
		{"notes", "say: notes.txt is neither a job log nor evidence I can read"},
		{"b", ""},
	} {
		s := looking()
		s.open(t, "a")
		s.at(t, Reported)
		s.seen = nil
		s.handle(t, Input{Event: LogsGiven, Places: []string{tt.give}})
		s.at(t, Reported)
		if tt.say != "" && !slices.Contains(s.seen, tt.say) {
			t.Errorf("%s: seen %q", tt.give, s.seen)
		}
		if tt.give == "notes" && !slices.Contains(s.seen, "say: I can read: kernel logs, stacks") {
			t.Errorf("the kinds are not named: %q", s.seen)
		}
		if tt.say == "" && slices.ContainsFunc(s.seen, func(l string) bool { return strings.Contains(l, "b.out") }) {
			t.Errorf("%s: a log needs no word: %q", tt.give, s.seen)
		}
	}
}

func TestOfTheFirstFilesNothingIsSaid(t *testing.T) {
	s := looking()
	s.open(t, "a", "dmesg")
	s.at(t, Reported)
	if slices.ContainsFunc(s.seen, func(l string) bool { return strings.Contains(l, "as evidence") }) {
		t.Errorf("seen %q", s.seen)
	}
}

func TestOneArtefactIsAskedForAtATime(t *testing.T) {
	s := newStage()
	inv := Investigation{Report: report("gpu-hang", incident.Inconclusive, nil, "unknown", "a.out")}
	inv.Report.Verdict.Needs = []incident.Need{{What: "next run only", Obtainable: "next-time"}, {What: "the dumps", Obtainable: "perishing"}, {What: "the records", Obtainable: "now"}}
	qs := questions(inv, nil, s.hint(&inv), false)
	if len(qs) != 1 || qs[0].Text != "Can you upload the dumps?" || !qs[0].Perishing {
		t.Errorf("asked %+v", qs)
	}
	inv.Report.Coverage.NodesExpected, inv.Report.Coverage.NodesMissing = []string{"n0", "n1"}, []string{"n1"}
	if qs = questions(inv, nil, s.hint(&inv), false); len(qs) != 1 || qs[0].Kind != AskMissing {
		t.Errorf("while logs are missing %+v is asked", qs)
	}
}

func TestEvidenceThatDecidesNothingSaysWhatItShows(t *testing.T) {
	s := looking()
	s.verdict = func(in analysis.Input) (*incident.Report, error) {
		r := report("gpu-hang", incident.Probable, nil, "unknown", "a.out")
		if slices.ContainsFunc(in.Sources, func(s incident.Source) bool { return s.Name == "dmesg.txt" }) {
			r.Artifacts = []incident.Artifact{{Kind: "kernel", Files: []string{"dmesg.txt"}, Findings: []incident.Finding{{Statement: "one."}, {Statement: "two."}, {Statement: "three."}}}}
		}
		return r, nil
	}
	s.open(t, "a")
	for _, want := range []bool{true, false} { // once
		s.seen = nil
		s.handle(t, Input{Event: LogsGiven, Places: []string{map[bool]string{true: "dmesg", false: "b"}[want]}})
		if got := slices.Contains(s.seen, "say: from dmesg.txt: one; two"); got != want {
			t.Errorf("said %t, want %t: %q", got, want, s.seen)
		}
	}
}
