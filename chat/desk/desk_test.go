package desk

import (
	"slices"
	"strings"
	"testing"

	"faultline/workflow"
)

func TestAnUncomplicatedCaseIsFivePosts(t *testing.T) {
	s := newStage(t)
	answer := s.says("12345")
	if !strings.Contains(answer, "Investigating job 12345 as F-1") || !strings.Contains(answer, workflow.LinkPlaceholder) {
		t.Errorf("answer %q", answer)
	}
	inv := s.at("F-1", workflow.Reported)
	if inv.Cluster != "west" || inv.Home.Channel != "C1" || inv.Verdicts != 1 || inv.Final != 1 {
		t.Errorf("%+v", inv)
	}
	want := []string{"message case", "message verdict-1", "files map-1", "files final-1"}
	if got := s.keys("F-1"); !slices.Equal(got, want) {
		t.Errorf("posts %q", got)
	}
	for _, p := range s.all() {
		t.Log(p.ID, p.Kind, p.Key, p.Channel, p.Thread, textOf(t, p))
	}
}
