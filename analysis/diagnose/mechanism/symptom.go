package mechanism

import (
	"fmt"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// symptoms: lines that say somebody else failed first.
func symptoms() []Mechanism {
	return []Mechanism{{Slug: "peer-lost", Class: Symptom, Propose: peerLost, Needs: []incident.Need{
		{What: "the logs of the peer that went away", Why: "it failed first; these lines only notice it", Command: "scp '<cluster>:<log dir>/*{job}*' logs/", Obtainable: "now"}}}}
}

func peerLost(s *Scene) *Proposal {
	var fls []*resolve.Failure
	for _, fl := range s.Facts.Failures {
		if fl.Role == knowledge.SymptomRole && (fl.Mechanism == "peer-lost" || fl.Mechanism == "" && fl.Kind == "exception") {
			fls = append(fls, fl)
		}
	}
	if len(fls) == 0 {
		return nil
	}
	p := propose(s, "peer-lost", Symptom, fls)
	p.Ranks, p.Nodes, p.Scope = nil, nil, "unknown"
	p.Rivals = []string{"unknown"}
	p.Base = 0.88
	p.Direct = false
	p.Summary = "a peer went away; what ended it is not in these logs"
	p.Why = fmt.Sprintf("%s of lost connections, and none says why", plural(len(fls), "report", "reports"))
	return p
}

// nothing: the job ended well, or is well as far as the logs go.
func nothing() []Mechanism {
	return []Mechanism{{Slug: "completed", Class: Nothing, Propose: completed}}
}

func completed(s *Scene) *Proposal {
	f := s.Facts
	p := &Proposal{Mechanism: "completed", Class: Nothing, Scope: "all"}
	if lossLeft(f) || ended(f) || raised(f) {
		return nil
	}
	switch at, ok := f.Accounting.Ended(); {
	case ok:
		p.Direct, p.Base = true, 0.97
		p.Summary, p.Why = "the job ended by itself, nothing failed", "SLURM's records have the job and all its steps completed"
		p.For = append(p.For, finding("SLURM's records: COMPLETED", QuoteAt(at, &incident.Predicate{Literals: []string{"COMPLETED"}})))
	case f.Job.ExitOK != nil:
		p.Direct, p.Base = true, 0.95
		p.Summary, p.Why = "the job ended by itself, nothing failed", "the program says that it finished"
		p.For = append(p.For, finding("the program's own last word", QuoteAt(*f.Job.ExitOK, nil)))
	case f.Coverage.Partial:
		return nil // the end of what is here is not the end of the job
	case len(f.Progress) > 2:
		last := f.Progress[len(f.Progress)-1]
		p.Base = 0.85
		p.Summary, p.Why = "nothing failed as far as these logs go", "training made progress to the end of the logs and no line reports a failure"
		p.For = append(p.For, finding("the last progress line", QuoteAt(last.At, nil)))
	case hasSave(f):
		p.Base = 0.7
		p.Summary, p.Why = "nothing failed as far as these logs go", "a checkpoint was saved and no line reports a failure"
	default:
		return nil
	}
	return p
}

// ended says that something reports a process that ended with an error, or a job that was ended.
func ended(f *resolve.Facts) bool {
	if f.Accounting != nil && f.Accounting.Failed {
		return true
	}
	for _, e := range f.Ends {
		if e.Slurm.Kind != "launch-failed" {
			return true
		}
	}
	for _, r := range f.Ranks {
		if r.Exit != nil && r.Exit.Code != 0 {
			return true
		}
	}
	for _, x := range f.Obs.TaskExits {
		if x.Code != 0 {
			return true
		}
	}
	return len(f.Obs.ChildFailed) > 0 || len(f.Obs.ChildExits) > 0
}

// raised says that an exception ended a process, whatever mechanism it speaks for: a run that nothing explains is not a
// run in which nothing failed.
func raised(f *resolve.Facts) bool {
	for _, fl := range f.Failures {
		if fl.Kind == "exception" && fl.Role == knowledge.CauseRole {
			return true
		}
	}
	return false
}

func hasSave(f *resolve.Facts) bool {
	for _, c := range f.Saves {
		if c.Kind == "save-done" {
			return true
		}
	}
	return false
}
