package desk

import (
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/incident"
)

func TestAScriptIsHandedOut(t *testing.T) {
	for mechanism, want := range map[string][]string{
		"rank-stalled": {"repro.py", "torchrun --nproc-per-node="},
		"gpu-oom":      {"probe.py", "It tests memory alone", "python3 probe.py memory"},
		"slow-rank":    {"probe.py", "python3 probe.py compute"},
	} {
		s := newStage(t)
		s.engine.diagnose = func(analysis.Input) (*incident.Report, error) { return report(mechanism, incident.Confirmed), nil }
		s.says("12345")
		if thread := s.transcript(); !strings.Contains(thread, "Test script") {
			t.Errorf("%s: no button offers it:\n%s", mechanism, thread)
		}
		if got := s.does(press("U3", actRepro, "F-1 1")); !strings.Contains(got, "The script is in the thread of F-1.") {
			t.Errorf("%s: %s", mechanism, got)
		}
		wants(t, s.transcript(), want...)
	}
	s := newStage(t)
	s.engine.diagnose = func(analysis.Input) (*incident.Report, error) { return report("host-oom", incident.Confirmed), nil }
	s.says("12345")
	if strings.Contains(s.transcript(), "Test script") {
		t.Error("a button offers what there is not")
	}
	if got := s.says("repro F-1"); !strings.Contains(got, "can't reproduce this failure (host-oom). ") || strings.Contains(s.transcript(), ".py") {
		t.Error(got)
	}
}
