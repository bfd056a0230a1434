package workflow

import (
	"testing"

	"faultline/incident"
)

func TestWhatPeopleCalledWrongIsNotBuiltUpon(t *testing.T) {
	id := "77"
	r := &incident.Report{}
	r.Coverage.NodesSeen = []string{"n1", "n2"}
	r.Verdict = incident.Verdict{Status: incident.Confirmed, Mechanism: "gpu-ecc", Origin: "gpu", Confidence: 0.9, Root: incident.Root{Ranks: []int{3}, Nodes: []string{"n1"}}}
	inv := Investigation{ID: "F-1", Cluster: "west", Job: id, Report: r}
	rec, ok := inv.Remembered()
	if !ok || rec.ID != "west/77/0" || len(rec.RootNodes) != 1 || rec.Mechanism != "gpu-ecc" {
		t.Errorf("%+v", rec)
	}
	if r.Job.ID != nil {
		t.Error("the report was changed")
	}
	inv.Outcome = &Outcome{Verdict: "wrong", Mechanism: "exception"}
	if rec, ok = inv.Remembered(); !ok || len(rec.RootNodes)+len(rec.RootRanks) > 0 || rec.Mechanism != "exception" || rec.Status != incident.Inconclusive || len(rec.Nodes) != 2 {
		t.Errorf("%+v", rec)
	}
	inv.Outcome.Verdict = "right"
	if rec, _ = inv.Remembered(); len(rec.RootNodes) != 1 {
		t.Errorf("%+v", rec)
	}
	for name, inv := range map[string]Investigation{"no report": {Job: id}, "no job": {Report: r}, "a first look": {Job: id, Report: r, Looked: true}} {
		if _, ok := inv.Remembered(); ok {
			t.Errorf("%s is remembered", name)
		}
	}
}
