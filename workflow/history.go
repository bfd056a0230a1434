package workflow

import (
	"faultline/analysis/history"
	"faultline/incident"
)

// Remembered is what later runs may be told of this one: the facts of its newest report, as people left them. There is none
// without a report, or where nothing says which job it was. What people called wrong is not built upon: only how the job
// was set up is kept, and the mechanism that they named instead.
func (inv Investigation) Remembered() (history.Record, bool) {
	if inv.Report == nil || inv.Looked {
		return history.Record{}, false
	}
	r := *inv.Report
	if r.Job.ID == nil {
		job := inv.JobID
		if job == "" {
			job = inv.Job
		}
		r.Job.ID = &job
	}
	rec, err := history.Of(&r, history.Who{Cluster: inv.Cluster})
	if err != nil {
		return history.Record{}, false
	}
	if o := inv.Outcome; o != nil && o.Verdict == "wrong" {
		rec.Status, rec.Confidence, rec.Mechanism, rec.Origin = incident.Inconclusive, 0, o.Mechanism, ""
		rec.RootRanks, rec.RootNodes, rec.Component, rec.Item, rec.Completed = nil, nil, "", "", false
	}
	return rec, true
}
