package worker

import "faultline/analysis/line"

// Resets and errors of loaders are counted line by line, and a storm has them by the million. Of one writer's lines of a
// kind the first stormFull are kept; from then on one stands for those before it of the same minute, at most stormRare of
// them, and not across another line about the same business or about the end of a run. The counts stay exact, and of every
// minute the last line is there.

// standIn is the account of one writer's lines of a kind.
type standIn struct {
	kind int // a rule of ioRules, or a word of ResetWords
	n    int
	at   int // in its list: the last that was kept
	ends int // see runEnds
}

// again counts a line and finds the account of its kind.
func again(list *[]standIn, kind int) *standIn {
	for i := range *list {
		if a := &(*list)[i]; a.kind == kind {
			a.n++
			return a
		}
	}
	*list = append(*list, standIn{kind: kind, n: 1, at: -1})
	return &(*list)[len(*list)-1]
}

// standsFor reports whether the record may take the place of the last line of its kind that was kept, which itself stands
// for so many more.
func (r *reader) standsFor(a *standIn, rec *record, last *At, more int) bool {
	return a.n > stormFull && !r.ending && more+1 < stormRare && a.ends == r.runEnds() && last.Who == rec.Who &&
		last.Repeated == rec.Repeated && minute(last.Stamp) == minute(rec.Stamp)
}

// keepStandIn keeps a line as the last of its kind, if there is room for it.
func keepStandIn[T any](r *reader, a *standIn, list *[]T, v T) {
	n := len(*list)
	if emit(r, list, v); len(*list) > n {
		a.at, a.ends = n, r.runEnds()
	}
}

// runEnds is how many lines of this file may separate the runs of a job.
func (r *reader) runEnds() int {
	return len(r.obs.RunMarks) + len(r.obs.SlurmEnds) + len(r.obs.TaskExits)
}

// minute is a stamp without its seconds.
func minute(s line.Stamp) line.Stamp {
	s.Second, s.Nanos = 0, 0
	s.Unix /= 60
	return s
}
