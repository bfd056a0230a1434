package resolve

import (
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// reconsider applies the cases of the entries that depend on other lines. All are decided by what the lines mean by themselves, so that no
// order matters, and then applied.
func (f *Facts) reconsider() {
	type decided struct {
		fl *Failure
		c  *knowledge.Case
		at worker.Pos
	}
	var all []decided
	var p *places
	for _, fl := range f.Failures {
		cases := fl.Entry().Cases
		for i := range cases {
			if cases[i].Below == "" && cases[i].Once == 0 {
				continue
			}
			if p == nil {
				p = f.places()
			}
			if at, ok := p.holds(fl, &cases[i]); ok {
				all = append(all, decided{fl, &cases[i], at})
				break
			}
		}
	}
	for _, d := range all {
		d.fl.amend(d.fl.Meaning().in(d.c), d.c.Why, d.at)
	}
}

// inFile is a line of an entry in a file.
type inFile struct {
	id   knowledge.ID
	file string
}

// places are where the lines stand that cases depend on.
type places struct {
	f      *Facts
	lines  map[inFile]worker.Pos // the first of each
	failed map[string]worker.Pos // by file, where training had failed
}

func (f *Facts) places() *places {
	p := &places{f, map[inFile]worker.Pos{}, f.trainingFailed()}
	for i := range f.Obs.Signs {
		p.note(f.Obs.Signs[i].ID, f.Obs.Signs[i].Pos)
	}
	for _, fl := range f.Failures {
		p.note(fl.Sign, fl.At.Pos)
	}
	return p
}

func (p *places) note(id knowledge.ID, at worker.Pos) {
	if id == "" {
		return
	}
	k := inFile{id, at.File}
	if old, ok := p.lines[k]; !ok || at.Off < old.Off {
		p.lines[k] = at
	}
}

// holds says whether a case holds for a failure, and the place of what makes it so.
func (p *places) holds(fl *Failure, c *knowledge.Case) (at worker.Pos, ok bool) {
	file := fl.At.File
	if c.OneNode && p.f.ident.multiHost[file] {
		return at, false
	}
	if c.Unless != "" {
		if _, there := p.lines[inFile{c.Unless, file}]; there {
			return at, false
		}
	}
	switch {
	case c.Below != "":
		at, ok = p.lines[inFile{c.Below, file}]
	case c.Once == knowledge.TrainingFailed:
		at, ok = p.failed[file]
	case c.Once == knowledge.PeerGoneAbove:
		at, ok = p.lostPeer(fl)
	case c.Once == knowledge.EndIsTold:
		return fl.At.Pos, p.f.endIsTold()
	}
	return at, ok && at.Off < fl.At.Off
}

// lostPeer is where the writer of a line lost a peer above it. Of a line whose writer is not known, anyone's loss in the file counts.
func (p *places) lostPeer(fl *Failure) (at worker.Pos, ok bool) {
	for _, o := range p.f.Failures {
		switch o.Rank {
		case fl.Rank, NoRank:
		default:
			if fl.Rank != NoRank {
				continue
			}
		}
		switch {
		case o.At.File != fl.At.File, o.At.Off >= fl.At.Off, !o.LostPeer():
		case !ok, o.At.Off < at.Off:
			at, ok = o.At.Pos, true
		}
	}
	return at, ok
}

// trainingFailed is, by file, the first failure below the beginning of training. A step that a script starts next is none.
func (f *Facts) trainingFailed() map[string]worker.Pos {
	began := map[string]int64{}
	for i := range f.Progress {
		p := &f.Progress[i]
		if off, ok := began[p.File]; !ok || p.Off < off {
			began[p.File] = p.Off
		}
	}
	first := map[string]worker.Pos{}
	for _, fl := range f.Failures {
		off, trained := began[fl.At.File]
		if !trained || fl.At.Off < off || nextStep(fl) || fl.Role != knowledge.CauseRole && fl.Kind != KindTask {
			continue
		}
		if p, ok := first[fl.At.File]; !ok || fl.At.Off < p.Off {
			first[fl.At.File] = fl.At.Pos
		}
	}
	return first
}

// nextStep says that what failed may be what a script did after training.
func nextStep(fl *Failure) bool {
	for _, c := range fl.Entry().Cases {
		if c.Once == knowledge.TrainingFailed {
			return true
		}
	}
	return false
}

// endIsTold says that a launcher or the scheduler tells how the job ended.
func (f *Facts) endIsTold() bool {
	return len(f.Ends)+len(f.Obs.TaskExits)+len(f.Obs.ChildFailed)+len(f.Obs.ChildExits) > 0
}
