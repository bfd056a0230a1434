package resolve

import (
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// ofOneProcess are statements of an end that one process, or the launcher of one node, makes of itself.
var ofOneProcess = map[string]bool{"process exits successfully": true, "worker group successfully finished": true, "Reporting training SUCCESS": true}

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
		case p.Phase != "" && p.Phase != "training":
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

// later says that a line was written after another one: below it in the same file, or by the clock.
func (f *Facts) later(a, b worker.At) bool {
	if a.File == b.File {
		return a.Off > b.Off
	}
	return f.At(b).Before(f.At(a))
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
func (f *Facts) parted() {
	at := f.Finished()
	if at == nil || len(f.Ends) > 0 || len(f.Obs.ChildFailed) > 0 || len(f.Obs.ChildExits) > 0 || len(f.Obs.Dumps) > 0 {
		return
	}
	var gone []*Failure
	for _, fl := range f.Failures {
		switch {
		case fl.Role == knowledge.InfoRole || fl.Role == knowledge.NoiseRole:
		case (fl.Kind == "sign" || fl.Kind == "nccl") && (fl.Role == knowledge.ConsequenceRole || fl.Mechanism == "peer-lost" && fl.Role == knowledge.SymptomRole) && f.saidBefore(fl, *at):
			gone = append(gone, fl)
		default:
			return
		}
	}
	for _, fl := range gone {
		fl.Role = knowledge.InfoRole
	}
}

// saidBefore says that the program had stated its end before a failure: in the same file above it, or by the clock.
func (f *Facts) saidBefore(fl *Failure, last worker.At) bool {
	for i := range f.Obs.Facts {
		if x := &f.Obs.Facts[i]; x.Key == "exit_ok" && !ofOneProcess[x.Value] && x.File == fl.At.File && x.Off < fl.At.Off {
			return true
		}
	}
	return f.Follows(fl, last)
}
