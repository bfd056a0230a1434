package resolve

import (
	"fmt"
	"slices"

	"faultline/analysis/worker"
	"faultline/knowledge"
)

// amendment is a change of what a failure is taken for. A stage decides on all of its changes by what the failures are when it begins, and they
// are made when it has: the order of the failures does not matter to it.
type amendment struct {
	fl   *Failure
	to   Meaning
	why  string
	at   worker.Pos // what makes the change
	warn string     // what a reader should know of it, if anything
}

// enact makes the changes that a stage decided on.
func enact(all []amendment, warn *notes) {
	for _, a := range all {
		a.fl.amend(a.to, a.why, a.at)
		if a.warn != "" {
			*warn = append(*warn, a.warn)
		}
	}
}

// become is the change by which a failure keeps its mechanism in another role.
func (fl *Failure) become(role knowledge.Role, why string, at worker.Pos) amendment {
	return amendment{fl: fl, to: fl.Meaning().as(role), why: why, at: at}
}

// noFailure is the change by which a line counts no longer as a failure, which readers are told with the reason.
func (fl *Failure) noFailure(why, told string, at worker.Pos) amendment {
	a := fl.become(knowledge.InfoRole, why, at)
	a.warn = fmt.Sprintf("%s:%d doesn't count as a failure: %s", fl.At.File, fl.At.Line, told)
	return a
}

// reconsider decides by the cases of the entries that depend on other lines.
func (f *Facts) reconsider() (all []amendment) {
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
				all = append(all, amendment{fl: fl, to: fl.Meaning().in(&cases[i]), why: cases[i].Why, at: at})
				break
			}
		}
	}
	return all
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
	return slices.ContainsFunc(fl.Entry().Cases, func(c knowledge.Case) bool { return c.Once == knowledge.TrainingFailed })
}

// endIsTold says that a launcher or the scheduler tells how the job ended.
func (f *Facts) endIsTold() bool {
	return len(f.Ends)+len(f.Obs.TaskExits)+len(f.Obs.ChildFailed)+len(f.Obs.ChildExits) > 0
}
