package resolve

import (
	"cmp"
	"slices"

	"faultline/analysis/artifact/accounting"
	"faultline/analysis/worker"
)

// Neighbour is another job that began at about some moment on nodes of this one.
type Neighbour struct {
	Job    string
	Began  Moment
	Shared []string // nodes of both
	At     worker.At
}

// beginsAfter is how far behind a moment it may begin: a moment is taken from lines that sum up many steps.
const beginsAfter = 30.0

// beginsAround is how far from a moment a job may begin to be a neighbour of it: it allocates and loads first.
const beginsAround = 300.0

// Neighbours are the other jobs in the accounting that share a node with this one and began shortly before a moment, the nearest first. Of a
// moment that is not known they are those that began while this job ran.
func (f *Facts) Neighbours(m Moment) []Neighbour {
	own, nodes := f.ownRecords()
	if len(own) == 0 {
		return nil
	}
	around := func(began Moment) bool {
		return began.T <= m.T+m.Unc+began.Unc+beginsAfter && began.T >= m.T-m.Unc-beginsAround
	}
	if !m.Valid {
		start := f.began(own[0])
		if !start.Valid {
			return nil
		}
		around = func(began Moment) bool { return began.T > start.T }
	}
	ours, mine := map[string]bool{}, map[string]bool{}
	for _, n := range nodes {
		ours[ShortHost(n)] = true
	}
	for _, r := range own {
		mine[r.Job] = true
	}
	var out []Neighbour
	for _, r := range f.book.Records {
		began := f.began(r)
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

// ownRecords are the job's own in the accounting, and its nodes. Where nothing states its number it is the only one that began right before the
// first line of its logs.
func (f *Facts) ownRecords() (own []*accounting.Record, nodes []string) {
	if f.book == nil {
		return nil, nil
	}
	if f.Accounting != nil {
		return f.Accounting.Jobs, f.Accounting.Nodes
	}
	if !f.Job.Start.Valid {
		return nil, nil
	}
	for _, r := range f.book.Records {
		began := f.began(r)
		if ahead := f.Job.Start.T - began.T; r.Step == "" && began.Valid && ahead >= -1 && ahead <= beginsAround {
			own, nodes = append(own, r), r.Nodes
		}
	}
	if len(own) != 1 {
		return nil, nil
	}
	return own, nodes
}

// began is when a job of the accounting began. Where nothing compares SLURM's clock with that of the logs they are taken for one.
func (f *Facts) began(r *accounting.Record) Moment {
	if f.clock.records != nil {
		return f.clock.accounted(r.Start)
	}
	t, dated := f.clock.civil(r.Start)
	return Moment{T: t, Unc: 1, Valid: dated && f.Accounting == nil}
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
