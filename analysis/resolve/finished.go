package resolve

import "faultline/analysis/worker"

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
