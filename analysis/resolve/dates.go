package resolve

import (
	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// dates are the stamps of a run without the time of day, each with how often it occurs.
type dates map[date]int

type date struct {
	kind             line.StampKind
	year, month, day int
}

func (d dates) add(stamps ...line.Stamp) {
	for _, s := range stamps {
		d.addN(s, 1)
	}
}

func (d dates) addN(s line.Stamp, n int) { d[date{s.Kind, int(s.Year), int(s.Month), int(s.Day)}] += n }

// have says that some stamp is of a kind.
func (d dates) have(kind line.StampKind) bool {
	for x := range d {
		if x.kind == kind {
			return true
		}
	}
	return false
}

// datesOf collects the stamps that prove years: those of files' ends, writers, launchers' blocks and SLURM lines.
func datesOf(obs *worker.Observations) dates {
	out := dates{}
	for _, t := range obs.Tails {
		out.add(t.First.Stamp, t.Last.Stamp)
		for _, w := range t.Writers {
			out.add(w.First.Stamp, w.Last.Stamp)
		}
	}
	for _, t := range obs.Timeouts {
		out.add(t.Stamp)
	}
	for _, c := range obs.ChildFailed {
		out.add(c.Time)
	}
	for _, e := range obs.Ends {
		out.add(e.Stamp)
	}
	for _, p := range obs.Progress {
		out.add(p.Stamp)
	}
	for _, x := range obs.Facts {
		out.add(x.Stamp)
	}
	for _, x := range obs.Checkpoints {
		out.add(x.Stamp)
	}
	for x := range obs.IOs.All() {
		out.addN(x.Stamp, 1+x.More())
	}
	for _, x := range obs.Doings {
		out.add(x.Stamp)
	}
	return out
}
