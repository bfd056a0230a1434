package diagnose

import (
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// finished says what it means for the decision that the training was over when the job failed: whatever broke then, in a last
// barrier, an upload or a library that is torn down, has not broken the training.
func (b *builder) finished() {
	a := &b.r.Action
	if b.r.Verdict.Status == incident.NoFailure || b.r.Verdict.Ending != "" && b.r.Verdict.Ending != incident.EndSeen {
		return
	}
	at := b.s.Facts.Finished()
	if at == nil || !b.follows(*at) {
		return
	}
	a.Finished = &incident.Finding{Statement: "the program reported that training finished before anything failed", Evidence: []incident.Evidence{mechanism.QuoteAt(*at, nil)}}
	last, stepped := b.lastStep()
	if a.ResumeFrom != nil && stepped && a.ResumeFrom.Step >= last {
		a.Resubmit, a.Lost = "no", incident.Lost{}
		a.Text = "training had finished and its last step is saved: no rerun needed"
		return
	}
	a.Text = "training had finished: check whether its result is saved before rerunning; if not, " + a.Text
}

// follows says that what the verdict rests on came after a line, all of it.
func (b *builder) follows(at worker.At) bool {
	f := b.s.Facts
	for _, p := range b.d.winners {
		if !came(f, p, at) {
			return false
		}
	}
	return len(b.d.winners) > 0
}

func came(f *resolve.Facts, p *mechanism.Proposal, at worker.At) bool {
	for _, fl := range p.Failures {
		if !f.Follows(fl, at) {
			return false
		}
	}
	if len(p.Failures) > 0 {
		return !p.At.Before(f.At(at)) // a wait that had begun before is told of afterwards
	}
	if p.Class == mechanism.Ending { // the file tells their order, too
		ends, above := 0, 0
		for _, e := range f.Ends {
			if e.Line.Kind == worker.EndCancelled {
				ends++
			}
			if e.Line.Kind == worker.EndCancelled && at.Above(e.Line.Pos) {
				above++
			}
		}
		if ends > 0 && ends == above {
			return true
		}
	}
	return f.At(at).Before(p.At)
}
