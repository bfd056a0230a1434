package resolve

import (
	"slices"

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
	for _, c := range f.Courses {
		for _, list := range [][]blocking{f.timedSaves(c), f.pausedSaves(c)} {
			if b, ok = changed(list); ok {
				return b, true
			}
		}
	}
	return b, false
}

// timedSaves are saves that a timer measures.
func (f *Facts) timedSaves(c *Course) (out []blocking) {
	next := 0
	for i := range f.Obs.Phases {
		r := &f.Obs.Phases[i]
		if r.File != c.File || len(r.Times) != 1 || slow.ClassOf(r.Times[0].Name) != slow.Save {
			continue
		}
		for next < len(c.Points)-1 && c.Points[next].At.Off < r.Off {
			next++
		}
		at := r.At
		if r.Times[0].Place.Len > 0 {
			at.Pos = r.Times[0].Place
		}
		out = append(out, blocking{r.Times[0].Max, at, &c.Points[next]})
	}
	return out
}

// pausedSaves are pauses between two step lines in which a save is told of, and no evaluation.
func (f *Facts) pausedSaves(c *Course) (out []blocking) {
	var saves, evaluations []int64
	for i := range f.Saves {
		if f.Saves[i].File == c.File {
			saves = append(saves, f.Saves[i].Off)
		}
	}
	for i := range f.Progress {
		if p := &f.Progress[i]; p.Phase == worker.Evaluation && p.File == c.File {
			evaluations = append(evaluations, p.Off)
		}
	}
	usual, _ := c.Rhythm()
	if usual == 0 {
		return nil
	}
	for i := 1; i < len(c.Points); i++ {
		a, b := &c.Points[i-1], &c.Points[i]
		if b.Gap == 0 || !between(saves, a.At.Off, b.At.Off) || between(evaluations, a.At.Off, b.At.Off) {
			continue
		}
		if extra := b.Gap - usual*float64(max(b.Lines, 1)); extra > 0 {
			out = append(out, blocking{extra, *b.At, b})
		}
	}
	return out
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
