package correlate

import "math"

// inRow is how long after a restart the next one may begin to belong to the same upgrade, or to the same loop of crashes.
const inRow = apart / 2

// inRows puts restarts together that follow one another: an upgrade takes a cluster down daemon by daemon, and what a job survives
// once it need not survive again and again. What came after the job's end is no part of it: people restart what they suspect.
func (x *inquiry) inRows(all []*trouble) {
	var row []*trouble
	end := math.Inf(-1)
	closed := func() {
		if len(row) > 1 {
			for _, t := range row {
				t.row = row
			}
		}
		row = nil
	}
	last := math.Inf(1)
	if job := x.Facts.Job.End; job.Valid && x.clock.Known() {
		last = job.T + job.Unc + x.clock.Unc - x.clock.Shift
	}
	for _, t := range all { // by time
		if t.down == nil || t.down.from > last {
			continue
		}
		if t.down.from > end+inRow {
			closed()
		}
		row = append(row, t)
		end = max(end, t.down.back())
	}
	closed()
}
