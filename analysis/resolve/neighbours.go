package resolve

import (
	"cmp"
	"slices"

	"faultline/analysis/worker"
)

// Neighbour is another job that began at about some moment on nodes of this one.
type Neighbour struct {
	Job    string
	Began  Moment
	Shared []string // nodes of both
	At     worker.At
}

// beginsAround is how far from a moment a job may begin to be a neighbour of it: it allocates and loads first.
const beginsAround = 300.0

// Neighbours are the other jobs in the accounting that share a node with this one and began shortly before a moment, the nearest first. Of a
// moment that is not known they are those that began while this job ran.
func (f *Facts) Neighbours(m Moment) []Neighbour {
	if f.book == nil || f.Accounting == nil {
		return nil
	}
	around := func(began Moment) bool {
		return began.T <= m.T+m.Unc+began.Unc && began.T >= m.T-m.Unc-beginsAround
	}
	if !m.Valid {
		own := f.clock.accounted(f.Accounting.Jobs[0].Start)
		if !own.Valid {
			return nil
		}
		around = func(began Moment) bool { return began.T > own.T }
	}
	ours := map[string]bool{}
	for _, n := range f.Accounting.Nodes {
		ours[ShortHost(n)] = true
	}
	mine := map[string]bool{}
	for _, r := range f.Accounting.Jobs {
		mine[r.Job] = true
	}
	var out []Neighbour
	for _, r := range f.book.Records {
		began := f.clock.accounted(r.Start)
		if r.Step != "" || mine[r.Job] || !began.Valid || !around(began) {
			continue
		}
		c, ok := r.Cell("Start")
		if !ok {
			continue
		}
		x := Neighbour{Job: r.Job, Began: began, At: CellAt(c, r.Start)}
		for _, n := range r.Nodes {
			if ours[ShortHost(n)] {
				x.Shared = append(x.Shared, ShortHost(n))
			}
		}
		if len(x.Shared) > 0 {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b Neighbour) int { return cmp.Or(cmp.Compare(b.Began.T, a.Began.T), cmp.Compare(a.Job, b.Job)) })
	return out
}

// Between are the saves and evaluations that a course's file tells of between the last line that was not slow and the first slow one.
func (f *Facts) Between(d *Slowdown) (saves []*worker.Checkpoint, evaluations []ProgressPoint) {
	within := func(at *worker.At) bool {
		return at.File == d.Course.File && at.Off > d.Last.At.Off && at.Off < d.Onset.At.Off
	}
	for i := range f.Saves {
		if within(&f.Saves[i].At) {
			saves = append(saves, &f.Saves[i])
		}
	}
	for i := range f.Progress {
		if p := f.Progress[i]; p.Phase == worker.Evaluation && within(&p.At) {
			evaluations = append(evaluations, p)
		}
	}
	return saves, evaluations
}
