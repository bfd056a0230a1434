package resolve

import (
	"math"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// startLag is how long after the start of a job its processes print their first line, at most, for the distance between the
// two to be read as zones: containers are fetched and file systems mounted first.
const startLag = 1200.0

// recordsClock finds what zone the accounting's times are in: how far they are from those of the job's processes. The processes of a job print their first line soon after
// its start and nothing after its end; and its end is what slurmstepd prints where it ended the job, or close behind the last
// line. Where neither fits it is nil, and its times are not compared with theirs.
func (s *sight) recordsClock(a *Accounting, obs *worker.Observations) *offset {
	const unc = 2
	if a == nil {
		return nil
	}
	first, last := s.printed(obs)
	if last == 0 {
		return &offset{unc: unc} // the only clock there is
	}
	refs := []float64{last}
	for _, e := range obs.Ends {
		if m := s.At(e.At); e.Kind == worker.EndCancelled && m.Valid {
			refs = append(refs, m.T)
		}
	}
	for _, j := range a.Jobs {
		start, ok := s.clock.civil(j.Start)
		end, ended := s.clock.civil(j.End)
		if !ended {
			end = math.Inf(1) // it runs
		}
		if !ok {
			continue
		}
		for _, shift := range hours {
			if lag := first - start - shift; lag >= -5 && lag <= startLag && last <= end+shift+2*endLag {
				return &offset{shift: shift, unc: unc}
			}
		}
	}
	for _, j := range a.Jobs {
		end, ok := s.clock.civil(j.End)
		if !ok {
			continue
		}
		for _, ref := range refs {
			delta := end - ref
			quarter := math.Round(delta/900) * 900
			if math.Abs(quarter) <= 14*3600 && math.Abs(delta-quarter) <= endLag && (quarter == 0 || math.Abs(quarter) >= hour) {
				return &offset{shift: -quarter, unc: unc}
			}
		}
	}
	return nil
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
func (s *sight) printed(obs *worker.Observations) (first, last float64) {
	for _, t := range obs.Tails {
		ats := []worker.At{t.First, t.Last}
		for _, w := range t.Writers {
			ats = append(ats, w.At(t.File, w.First), w.At(t.File, w.Last))
		}
		for _, at := range ats {
			if m := s.At(at); at.Stamp.Emitter == line.Container && m.Valid {
				if first == 0 || m.T < first {
					first = m.T
				}
				last = max(last, m.T)
			}
		}
	}
	return first, last
}

// accounted is the moment of a time in the accounting, not valid where its zone is not known.
func (c *clock) accounted(s line.Stamp) Moment {
	o := c.records
	t, dated := c.civil(s)
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
