package figures

import (
	"cmp"
	"sort"
	"strings"

	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/slow"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/picture"
)

// Times draws how long ranks took, beside each other and part by part, where lines, tables or traces tell.
func Times(r *incident.Report, f *resolve.Facts) {
	t := timed{f: f, set: picture.Set{}, loops: map[loop]own{}, nodes: map[string]string{}}
	for _, c := range f.Courses {
		o := own{Course: c, who: t.who(c.Rank, c.File)}
		if k := (loop{c.File, c.Loop}); t.loops[k].Course == nil || len(c.Points) > len(t.loops[k].Points) {
			t.loops[k] = o
		}
		for _, p := range c.Timed() {
			t.set.Add("step time", "s", 0, o.who, moment(p), p.Seconds)
		}
	}
	t.phases()
	t.tables()
	t.traces()
	s := picture.Scene{Root: r.Verdict.Root, Waiting: waiting, Time: func(at float64) *string { return f.Format(resolve.Moment{T: at, Valid: true}) }}
	if d, ok := mechanism.SlowedAt(f); ok && (!d.Weak || knowledge.Slug(r.Verdict.Mechanism).Is(knowledge.OfPace)) {
		at := moment(d.Onset)
		s.Onset = &at
	}
	r.Heat, r.Bars = picture.Heat(t.set, &s), picture.Bars(t.reports, &s)
}

func waiting(name string) bool {
	class, role := slow.Measure(name)
	return class == slow.Communication || role == slow.Waiting
}

// timed collects times.
type timed struct {
	f       *resolve.Facts
	set     picture.Set
	loops   map[loop]own // the longest course of each
	reports []picture.Report
	nodes   map[string]string // of files
}

type loop struct {
	file string
	n    int // as of worker.Progress
}

// own is a course with its writer.
type own struct {
	*resolve.Course
	who  picture.Who
	side int // of its step lines that reports stand on: above (-1) or below (1)
}

// who is the writer of a file, or the rank that it speaks of.
func (t *timed) who(rank int, file string) picture.Who {
	if rank == resolve.NoRank {
		node, known := t.nodes[file]
		if !known { // finding out costs more the more nodes there are
			node = t.f.NodeOfFile(file)
			t.nodes[file] = node
		}
		return picture.Who{Rank: picture.Unknown, Node: node, File: file}
	}
	return picture.Who{Rank: rank, Node: t.f.RankNode(rank), File: file}
}

func moment(p *resolve.Point) picture.Moment { return picture.At(p.Step, p.T.T, p.T.Valid) }

// beside is the step line of a loop that a report belongs to: it stands in it, or next above or below. Where the first report of a file stands
// above the first step line, all do. Nil where the step is of an earlier stretch.
func (t *timed) beside(at worker.At, n int) (own, *resolve.Point) {
	k := loop{at.File, n}
	o := t.loops[k]
	if o.Course == nil {
		return o, nil
	}
	if o.side == 0 {
		o.side = cmp.Compare(at.Off, o.Points[0].At.Off) | 1
		t.loops[k] = o
	}
	i := sort.Search(len(o.Points)-1, func(i int) bool { return o.Points[i].At.Off >= at.Off })
	if below := i > 0 && o.Points[i].At.Off > at.Off; below && o.side > 0 {
		i--
	}
	if o.Points[i].Stretch != o.Points[len(o.Points)-1].Stretch {
		return o, nil
	}
	return o, &o.Points[i]
}

// partOf are the parts of a step by the class of a phase.
var partOf = map[slow.Class]picture.Part{slow.Compute: picture.Compute, slow.Communication: picture.Communication, slow.Data: picture.Data,
	slow.Save: picture.Save, slow.Optimizer: picture.Optimizer}

// phases reads the reports of phases. Of all ranks the slowest at work counts, and of their communication the shortest: more of it is waiting.
func (t *timed) phases() {
	names := map[string]map[string]bool{}
	for _, r := range t.f.Obs.Phases {
		if names[r.File] == nil {
			names[r.File] = map[string]bool{}
		}
		for _, x := range r.Times {
			names[r.File][slow.Usual(x.Name)] = true
		}
	}
	for _, r := range t.f.Obs.Phases {
		o, p := t.beside(r.At, r.Loop)
		if p == nil {
			continue
		}
		out := picture.Report{Who: o.who, Moment: moment(p), All: r.Across, Step: p.Seconds}
		for _, x := range r.Times {
			if !r.Across {
				t.set.Add(x.Name, "s", 1, o.who, out.Moment, x.Max)
			}
			class, leaf, holds := slow.PartOf(x.Name, names[r.File])
			if class == slow.Communication && x.Min > 0 {
				x.Max = x.Min
			}
			micro := strings.HasSuffix(x.Name, "_microstep")
			if part, known := partOf[class]; known && leaf && !micro {
				out.Phases = append(out.Phases, picture.Phase{Name: x.Name, Part: part, Seconds: x.Max, Holds: holds})
			}
		}
		t.reports = append(t.reports, out)
	}
}

// tables reads what sets ranks side by side, and tables over time whose columns are times of ranks.
func (t *timed) tables() {
	for i := range t.f.Obs.RankTimes {
		x := &t.f.Obs.RankTimes[i]
		at := t.f.At(x.At)
		m := picture.At(picture.Unknown, at.T, at.Valid)
		if _, p := t.beside(x.At, 0); p != nil {
			m = moment(p)
		}
		name, unit := x.What, "s"
		if x.Unit != "seconds" {
			name, unit, _ = strings.Cut(strings.TrimSuffix(x.What, ")"), " (")
		}
		if x.Value > 0 {
			t.set.Add(name, unit, 2, t.who(x.Rank, x.File), m, x.Value)
		}
	}
	for _, x := range t.f.Tracks() {
		scale, timed := slow.Scale(x.What)
		rank, ranked := x.Rank()
		for _, p := range x.Points {
			if timed && ranked && p.Step != timeseries.None {
				t.set.Add(x.What, "s", 3, t.who(rank, x.File), picture.At(p.Step, 0, false), p.Value*scale)
			}
		}
	}
}

// traces reads the steps of the profiler.
func (t *timed) traces() {
	if t.f.Traced == nil {
		return
	}
	for _, rank := range t.f.Traced.IDs() {
		for _, s := range t.f.Traced.Ranks[rank].Steps {
			r := picture.Report{Who: t.who(rank, s.File), Moment: picture.At(s.Number, 0, false), Step: float64(s.Dur) / 1e9}
			t.set.Add("step time without waiting for others", "s", 4, r.Who, r.Moment, float64(s.Own())/1e9)
			for part, ns := range map[picture.Part]int64{picture.Compute: s.Compute, picture.Communication: s.Exposed, picture.Data: min(s.Loader, s.Dur-s.Compute-s.Exposed)} {
				if ns > 0 {
					r.Phases = append(r.Phases, picture.Phase{Part: part, Seconds: float64(ns) / 1e9})
				}
			}
			t.reports = append(t.reports, r)
		}
	}
}
