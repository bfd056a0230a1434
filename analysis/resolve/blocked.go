package resolve

import (
	"slices"
	"sort"

	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/slow"
	"faultline/analysis/worker"
)

// Blocked is where saves began to block the steps for longer than those before.
type Blocked struct {
	Was, Now      float64 // medians of what one save blocks, in seconds
	Before, After int     // saves on either side
	// Share is what the saves since take beyond the earlier ones, of the time since; Extra the same in seconds.
	Share, Extra float64
	WasAt, Onset worker.At // lines that state the usual, and the first longer one
	NowAt        worker.At
	Began        *Point // the step line next to the onset
}

// Limits: saves differ by what else the storage does, and are compared with their own past only.
const (
	blockedTimes = 1.5  // every save since takes so many times as long as the longest before
	blockedShare = 0.10 // of the time, beyond what saves took before
)

// blocking is what one save blocked.
type blocking struct {
	seconds float64
	at      worker.At
	near    *Point // the next step line
}

// Blocked finds the change in what saves block, in any course. Only a change that lasts counts.
func (f *Facts) Blocked() (b Blocked, ok bool) {
	files := f.tellingOfSaves()
	for _, c := range f.Courses {
		told := files[c.File]
		if told == nil {
			told = &savesTold{}
		}
		for _, list := range [][]blocking{f.timedSaves(c, told), f.countedSaves(c), pausedSaves(c, told)} {
			if b, ok = changed(list); ok {
				return b, true
			}
		}
	}
	return b, false
}

// savesTold is what one file tells of saves: many courses stand in it, and many saves.
type savesTold struct {
	timed              []int   // reports of phases with the time of a save alone
	saves, evaluations []int64 // the offsets of lines, ascending
}

func (f *Facts) tellingOfSaves() map[string]*savesTold {
	files := map[string]*savesTold{}
	in := func(file string) *savesTold {
		if files[file] == nil {
			files[file] = &savesTold{}
		}
		return files[file]
	}
	for i := range f.Obs.Phases {
		if r := &f.Obs.Phases[i]; len(r.Times) == 1 && slow.ClassOf(r.Times[0].Name) == slow.Save {
			told := in(r.File)
			told.timed = append(told.timed, i)
		}
	}
	for i := range f.Saves {
		told := in(f.Saves[i].File)
		told.saves = append(told.saves, f.Saves[i].Off)
	}
	for i := range f.Progress {
		if p := &f.Progress[i]; p.Phase == worker.Evaluation && files[p.File] != nil {
			files[p.File].evaluations = append(files[p.File].evaluations, p.Off)
		}
	}
	for _, told := range files {
		slices.Sort(told.saves)
		slices.Sort(told.evaluations)
	}
	return files
}

// next is the first line of a course from a place on, or its last.
func (c *Course) next(off int64) *Point {
	i := sort.Search(len(c.Points)-1, func(i int) bool { return c.Points[i].At.Off >= off })
	return &c.Points[i]
}

// timedSaves are saves that a timer measures.
func (f *Facts) timedSaves(c *Course, told *savesTold) (out []blocking) {
	for _, i := range told.timed {
		r := &f.Obs.Phases[i]
		at := r.At
		if r.Times[0].Place.Len > 0 {
			at.Pos = r.Times[0].Place
		}
		out = append(out, blocking{r.Times[0].Max, at, c.next(r.Off)})
	}
	return out
}

// countedSaves are numbers of the log's own rows that say how long a save took, in whatever words.
func (f *Facts) countedSaves(c *Course) (out []blocking) {
	i := slices.IndexFunc(f.Handed.Series, func(x SeriesFile) bool { return x.File == c.File })
	if i < 0 {
		return nil
	}
	all := f.Handed.Series[i].Table.Series
	k := slices.IndexFunc(all, func(s *timeseries.Series) bool {
		class, _ := slow.Measure(s.What)
		return class == slow.Save && slow.Timed(s.What)
	})
	if k < 0 {
		return nil
	}
	for _, p := range all[k].Points {
		out = append(out, blocking{p.Value, worker.At{Pos: worker.Pos{File: c.File, Line: p.Line, Off: p.Offset, Len: p.Len}}, c.next(p.Offset)})
	}
	return out
}

// pausedSaves are pauses between two step lines in which a save is told of, and no evaluation.
func pausedSaves(c *Course, told *savesTold) (out []blocking) {
	if len(told.saves) == 0 {
		return nil
	}
	usual, _ := c.Rhythm()
	if usual == 0 {
		return nil
	}
	for i := 1; i < len(c.Points); i++ {
		a, b := &c.Points[i-1], &c.Points[i]
		if b.Gap == 0 || !anyOf(told.saves, a.At.Off, b.At.Off) || anyOf(told.evaluations, a.At.Off, b.At.Off) {
			continue
		}
		// A save that the noise of the steps hides blocked nothing, and counts as one that did not.
		out = append(out, blocking{max(b.Gap-usual*float64(max(b.Lines, 1)), 0), *b.At, b})
	}
	return out
}

// anyOf reports whether one of the offsets, which ascend, lies behind one place and not behind another.
func anyOf(offsets []int64, after, upto int64) bool {
	i, _ := slices.BinarySearch(offsets, after+1)
	return i < len(offsets) && offsets[i] <= upto
}

// changed finds from which save on all block longer than any before.
func changed(list []blocking) (b Blocked, ok bool) {
	const before, since = 3, 2
	n := len(list)
	for k := before; k <= n-since; k++ {
		was, now := list[:k], list[k:]
		longest := slices.MaxFunc(was, bySeconds)
		shortest := slices.MinFunc(now, bySeconds)
		if shortest.seconds < blockedTimes*longest.seconds {
			continue
		}
		slices.SortStableFunc(was, bySeconds)
		first, last := now[0], now[len(now)-1]
		ended, began := last.near.T, first.near.T
		now = slices.Clone(now)
		slices.SortStableFunc(now, bySeconds)
		a, z := was[(len(was)-1)/2], now[(len(now)-1)/2]
		b = Blocked{Was: a.seconds, Now: z.seconds, Before: k, After: n - k, WasAt: a.at, Onset: first.at, NowAt: z.at, Began: first.near}
		b.Extra = (b.Now - b.Was) * float64(b.After)
		if began.Valid && ended.Valid && ended.T > began.T { // the first one lies before
			b.Share = (b.Now - b.Was) * float64(b.After-1) / (ended.T - began.T)
		}
		return b, b.Share >= blockedShare
	}
	return b, false
}

func bySeconds(a, b blocking) int {
	switch {
	case a.seconds < b.seconds:
		return -1
	case a.seconds > b.seconds:
		return 1
	}
	return 0
}
