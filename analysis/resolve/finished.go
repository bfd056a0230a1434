package resolve

import (
	"slices"

	"faultline/analysis/worker"
	"faultline/knowledge"
)

// ofOneProcess are statements of an end that one process, or the launcher of one node, makes of itself.
var ofOneProcess = map[string]bool{"process exits successfully": true, "worker group successfully finished": true}

// Finished is where the program last says that its training was finished: steps came before it, and none behind it.
func (f *Facts) Finished() *worker.At {
	var at *worker.At
	for i := range f.Obs.Facts {
		if x := &f.Obs.Facts[i]; x.Key == "exit_ok" && !ofOneProcess[x.Value] && (at == nil || f.later(x.At, *at)) {
			at = &x.At
		}
	}
	if at == nil {
		return nil
	}
	stepped := false
	for i := range f.Progress {
		switch p := &f.Progress[i]; {
		case p.Phase != "" && p.Phase != worker.Training:
		case f.later(p.At, *at):
			return nil
		default:
			stepped = true
		}
	}
	if !stepped {
		return nil // of whatever it was that was finished
	}
	return at
}

// Follows says that a failure came after a line: below it in the same file, or by the clock.
func (f *Facts) Follows(fl *Failure, at worker.At) bool {
	if fl.At.File == at.File {
		return fl.At.Off > at.Off
	}
	return f.At(at).Before(fl.When())
}

// parted takes lost connections for what they are where the program had said before that its training was finished and nothing tells of a
// process that failed: processes end one after another, and those that are still there hear the others go. Whoever had still worked with
// them would have raised an exception.
func (f *Facts) parted() []amendment {
	at := f.Finished()
	if at == nil || len(f.Ends) > 0 || len(f.Obs.ChildFailed) > 0 || len(f.Obs.ChildExits) > 0 || len(f.Obs.Dumps) > 0 {
		return nil
	}
	if f.leftBehind() || f.saving() || f.wentWrong(*at) {
		return nil
	}
	var gone []amendment
	for _, fl := range f.Failures {
		switch {
		case fl.Role == knowledge.InfoRole || fl.Role == knowledge.NoiseRole:
		case !f.soonAfter(fl, *at), fl.Says(knowledge.ReportsEnd) && f.Follows(fl, *at):
			return nil
		case (fl.Kind == KindSign || fl.Kind == KindNCCL) && (fl.Role == knowledge.ConsequenceRole || fl.LostPeer()) && f.saidBefore(fl, *at):
			gone = append(gone, fl.become(knowledge.InfoRole, "it was killed after the program had finished", at.Pos))
		default:
			return nil
		}
	}
	return gone
}

// parting is for how many seconds after the end of the training processes leave: what comes later was still at work. Where no times are
// known, so many bytes of text.
const parting, partingText = 60, 4 << 10

// soonAfter says that a failure is told shortly after the program's end, as far as can be known.
func (f *Facts) soonAfter(fl *Failure, at worker.At) bool {
	if end, when := f.At(at), fl.When(); end.Valid && when.Valid {
		return when.T-end.T <= parting
	}
	if fl.At.File != at.File || fl.At.Off-at.Off > partingText {
		return false
	}
	for i := range f.Tails {
		if t := &f.Tails[i]; t.File == at.File && t.Last.File != "" && t.Last.Off > at.Off && t.Last.Off < fl.At.Off && !f.leaving(t.Last.Pos) {
			return false // the program went on to something else
		}
	}
	return true
}

// leaving says that a line is a process's reminder of the group that it did not close, which PyTorch prints where the program ends
// (~ProcessGroupNCCL, 2.4 on).
func (f *Facts) leaving(at worker.Pos) bool {
	return slices.ContainsFunc(worker.Within(f.Obs.Facts, at.File), func(x worker.Fact) bool { return x.Key == "leaving" && x.Pos == at })
}

// leftBehind says that a file reports fewer steps than others, or than it has to, and no end of its own: who wrote it did not get there.
func (f *Facts) leftBehind() bool {
	reached, total, every, most := map[string]int64{}, map[string]int64{}, map[string]int64{}, int64(-1)
	for i := range f.Progress {
		if p := &f.Progress[i]; p.Step >= 0 && (p.Phase == "" || p.Phase == worker.Training) {
			if n := p.Step - reached[p.File]; n > 0 {
				every[p.File] = n
			}
			reached[p.File], total[p.File] = max(reached[p.File], p.Step), p.Total
			most = max(most, p.Step)
		}
	}
	for i := range f.Obs.Facts {
		if x := &f.Obs.Facts[i]; x.Key == "exit_ok" {
			delete(reached, x.File)
		}
	}
	for file, n := range reached {
		if few := max(goesOn, every[file]); most-n > few || total[file]-n > few {
			return true
		}
	}
	return false
}

// wentWrong says that something that looks like an error stands below the program's end, or may: not all of them are kept.
func (f *Facts) wentWrong(at worker.At) bool {
	for i := range f.Obs.Unclassified {
		if u := &f.Obs.Unclassified[i]; u.File != at.File || u.Off > at.Off {
			return true
		}
	}
	return f.Obs.UnclassifiedN > len(f.Obs.Unclassified)
}

// saving says that a save of a checkpoint was begun last, and did not end: no step was taken since.
func (f *Facts) saving() bool {
	open := map[string]int64{}
	for i := range f.Saves {
		switch c := &f.Saves[i]; c.Kind {
		case worker.SaveStart:
			open[c.File] = c.Off
		case worker.SaveDone, worker.SaveOver:
			delete(open, c.File)
		}
	}
	for i := range f.Progress {
		if p := &f.Progress[i]; p.Off > open[p.File] {
			delete(open, p.File)
		}
	}
	return len(open) > 0
}

// LetPass says that a process took no notice of a signal, and says below that it came to its end all the same.
func (f *Facts) LetPass(fl *Failure) bool {
	if !fl.Says(knowledge.Shrugged) {
		return false
	}
	last := int64(-1)
	for _, o := range f.Failures {
		if o.Says(knowledge.Bypassed) && o.At.File == fl.At.File {
			last = max(last, o.At.Off)
		}
	}
	return last >= fl.At.Off && slices.ContainsFunc(worker.Within(f.Obs.Facts, fl.At.File), func(x worker.Fact) bool {
		return x.Key == "exit_ok" && !ofOneProcess[x.Value] && x.Off > last
	})
}

// saidBefore says that the program had stated its end before a failure: in the same file above it, or by the clock.
func (f *Facts) saidBefore(fl *Failure, last worker.At) bool {
	for i := range f.Obs.Facts {
		if x := &f.Obs.Facts[i]; x.Key == "exit_ok" && !ofOneProcess[x.Value] && x.Above(fl.At.Pos) {
			return true
		}
	}
	return f.Follows(fl, last)
}
