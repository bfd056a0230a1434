package diagnose

import (
	"slices"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// duringSave says that the job failed while the save that began at this place went on: soon after it by the clock, or in
// the same file below it, and no step came between.
func (b *builder) duringSave(at worker.At, start resolve.Moment) bool {
	f := b.s.Facts
	for i := range f.Progress {
		if p := &f.Progress[i]; at.Above(p.Pos) && p.Phase == worker.Training {
			return false
		}
	}
	if m := f.At(at); m.Valid && start.Valid {
		return start.T >= m.T-5 && start.T-m.T < 1800
	}
	if len(b.d.winners) == 0 {
		return false
	}
	return slices.ContainsFunc(b.d.winners[0].Failures, func(fl *resolve.Failure) bool { return at.Above(fl.At.Pos) })
}

// phase says in which part of its life the job failed.
func (b *builder) phase() string {
	f := b.s.Facts
	start := b.s.Graph.Start
	if len(b.d.winners) > 0 && b.d.winners[0].At.Valid {
		start = b.d.winners[0].At
	}
	if f.Job.ExitOK != nil {
		return "shutdown"
	}
	if n := len(f.Saves); n > 0 {
		// A save that began and was not seen to end is where the job was.
		var open *worker.At
		for i := range f.Saves {
			c := &f.Saves[i]
			switch c.Kind {
			case worker.SaveStart:
				open = &c.At
			case worker.SaveDone, worker.SaveOver:
				open = nil
			}
		}
		if open != nil && b.duringSave(*open, start) {
			return "checkpoint"
		}
	}
	switch {
	case len(f.Progress) == 0:
		if f.Job.Talked && !f.NamesFramework() {
			return "training" // in a job whose steps nobody knows how to read
		}
		if !b.starting() {
			return unknown
		}
		return "init"
	case len(f.Progress) == 1 && f.Progress[0].Step <= 1:
		return "first-step"
	}
	for i := len(f.Progress) - 1; i >= 0; i-- {
		if f.Progress[i].Phase == worker.Evaluation {
			return "evaluation"
		}
		if f.Progress[i].Phase != "" {
			break
		}
	}
	return "training"
}

// starting says that a job of which no step is seen was starting: what is known of its end belongs there, or its start stands in the files
// and it did not last. A pasted end tells nothing of that, and steps are printed in more ways than are known.
func (b *builder) starting() bool {
	const long = 3600.0 // seconds
	f := b.s.Facts
	if len(b.d.winners) > 0 && b.d.winners[0].Mechanism.Is(knowledge.BeforeSteps) {
		return true
	}
	says := slices.ContainsFunc(f.Obs.Facts, func(x worker.Fact) bool { return !x.OfPlace() })
	if !says && len(f.Obs.Rendezvous)+len(f.Obs.CommInits) == 0 {
		return false
	}
	return !f.Job.Start.Valid || !f.Job.End.Valid || f.Job.End.T-f.Job.Start.T < long
}
