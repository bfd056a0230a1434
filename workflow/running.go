package workflow

import (
	"faultline/analysis/triage"
	"faultline/incident"
)

// A job that still runs is looked at as it is at a moment: its answer is a triage, and no verdict. When the job has ended, the case goes on
// as if nothing had been said.

// moment is when the files of a running job were brought; nil where the job does not run.
func (inv *Investigation) moment() *triage.Moment {
	if !inv.Running || inv.Moment.IsZero() {
		return nil
	}
	return &triage.Moment{At: inv.Moment}
}

// momentary says that the report is of a moment: the same files tell another story later, and nothing has to be revised.
func (inv *Investigation) momentary() bool { return inv.Report != nil && inv.Report.Triage != nil }

// onlyTriage is what people see of the report of a running job. Only that is read again: the rest counts lines in files that grow.
func onlyTriage(r *incident.Report) *incident.Report {
	if r == nil || r.Triage == nil {
		return r
	}
	return &incident.Report{Schema: r.Schema, Engine: r.Engine, Job: r.Job, Triage: r.Triage}
}
