package resolve

import (
	"math"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// startLag is how long after the start of a job its processes print their first line, at most, for the distance between the
// two to be read as zones: containers are fetched and file systems mounted first.
const startLag = 1200.0

// calibrateAccounting finds what zone the accounting's times are in. The processes of a job print their first line soon after
// its start and nothing after its end; and its end is what slurmstepd prints where it ended the job, or close behind the last
// line. Where neither fits, its times are not compared with theirs.
func (f *Facts) calibrateAccounting() {
	if f.Accounting == nil {
		return
	}
	first, last := f.printed()
	if last == 0 {
		f.zone(0) // the only clock there is
		return
	}
	refs := []float64{last}
	for _, e := range f.Obs.Ends {
		if m := f.At(e.At); e.Kind == worker.EndCancelled && m.Valid {
			refs = append(refs, m.T)
		}
	}
	for _, j := range f.Accounting.Jobs {
		start, ok := f.clock.civil(j.Start)
		end, ended := f.clock.civil(j.End)
		if !ended {
			end = math.Inf(1) // it runs
		}
		if !ok {
			continue
		}
		for _, shift := range hours {
			if lag := first - start - shift; lag >= -5 && lag <= startLag && last <= end+shift+2*endLag {
				f.zone(shift)
				return
			}
		}
	}
	for _, j := range f.Accounting.Jobs {
		end, ok := f.clock.civil(j.End)
		if !ok {
			continue
		}
		for _, ref := range refs {
			delta := end - ref
			quarter := math.Round(delta/900) * 900
			if math.Abs(quarter) <= 14*3600 && math.Abs(delta-quarter) <= endLag && (quarter == 0 || math.Abs(quarter) >= hour) {
				f.zone(-quarter)
				return
			}
		}
	}
}

// hours are the zones in the order in which they are tried: most containers, and sacct where it is asked for seconds, keep
// UTC. Zones between the hours are left to the end of the job.
var hours = func() []float64 {
	out := []float64{0}
	for h := 1.0; h <= 14; h++ {
		out = append(out, h*hour, -h*hour)
	}
	return out
}()

// printed is when the job's processes printed their first and their last stamped line, 0 where none is stamped.
func (f *Facts) printed() (first, last float64) {
	for _, t := range f.Obs.Tails {
		ats := []worker.At{t.First, t.Last}
		for _, w := range t.Writers {
			ats = append(ats, w.At(t.File, w.First), w.At(t.File, w.Last))
		}
		for _, at := range ats {
			if m := f.At(at); at.Stamp.Emitter == line.Container && m.Valid {
				if first == 0 || m.T < first {
					first = m.T
				}
				last = max(last, m.T)
			}
		}
	}
	return first, last
}

// zone sets how far the accounting's times are from those of the job's processes.
func (f *Facts) zone(shift float64) { f.clock.records = &offset{shift, 2} }

// accounted is the moment of a time in the accounting, not valid where its zone is not known.
func (f *Facts) accounted(s line.Stamp) Moment {
	o := f.clock.records
	t, dated := f.clock.civil(s)
	if o == nil || !dated {
		return Moment{}
	}
	return Moment{T: t + o.shift, Unc: 1 + o.unc, Valid: true}
}

// soonerBy is how much closer behind the start of a run its first line must stand for another run to be ruled out.
const soonerBy = 60.0

// ofLaterRun says that the logs, which tell no runs apart, are those of a run that began after the one that failed: a requeue
// emptied the files. Their first line stands soon behind the start of the later run, by the clock that both are most often written
// by, and in no zone as soon behind the start of the one that failed; else nothing is said.
func ofLaterRun(obs *worker.Observations, runs []acctRun, chosen int) bool {
	c := &clock{}
	c.year, c.newYear = inferYear(datesOf(obs))
	first, last := math.Inf(1), math.Inf(-1)
	for _, t := range obs.Tails {
		ats := []worker.At{t.First, t.Last}
		for _, w := range t.Writers {
			ats = append(ats, w.At(t.File, w.First), w.At(t.File, w.Last))
		}
		for _, at := range ats {
			if s, ok := c.civil(at.Stamp); ok && at.Stamp.Emitter == line.Container {
				first, last = min(first, s), max(last, s)
			}
		}
	}
	failed, later := math.Inf(1), math.Inf(1)
	for _, shift := range hours {
		failed = min(failed, runs[chosen].lag(c, first-shift, last-shift))
	}
	for _, r := range runs[chosen+1:] {
		later = min(later, r.lag(c, first, last))
	}
	return later+soonerBy < failed
}

// lag is how long after the start of a run the first line stands, infinite where what is printed from first to last cannot be the
// run's. One that still goes on has no end.
func (r acctRun) lag(c *clock, first, last float64) float64 {
	least := math.Inf(1)
	for _, j := range r.jobs {
		start, ok := c.civil(j.Start)
		end, ended := c.civil(j.End)
		if lag := first - start; ok && lag >= -5 && lag <= startLag && (!ended || last <= end+2*endLag) {
			least = min(least, lag)
		}
	}
	return least
}
