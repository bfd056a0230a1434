package correlate

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"faultline/analysis/aislog"
	"faultline/incident"
)

// coverage says whether the logs of every daemon that is known cover the window.
func (x *inquiry) coverage(a *Answer) {
	targets, proxies, known := 0, 0, map[string]bool{}
	for _, d := range x.daemons {
		targets, proxies = max(targets, d.Targets), max(proxies, d.Proxies)
		if d.ID != "" {
			known[d.ID] = true
		}
	}
	haveTargets, haveProxies := 0, 0
	for _, d := range x.daemons {
		switch d.Role {
		case aislog.Target:
			haveTargets++
		case aislog.Proxy:
			haveProxies++
		}
	}
	named := map[string]bool{}
	for _, d := range x.daemons {
		for i := range d.Groups {
			if p := d.Groups[i].Peer; p != "" && !known[p] && x.role(p) != "" {
				named[p] = true
			}
		}
	}
	absent := slices.Sorted(maps.Keys(named))
	if len(absent) > 0 {
		a.Missing = append(a.Missing, "no log from "+strings.Join(absent[:min(len(absent), 6)], ", "))
	}
	if n := targets - haveTargets; n > 0 && len(absent) == 0 {
		a.Missing = append(a.Missing, fmt.Sprintf("the cluster map lists %d targets, but only %d have logs here", targets, haveTargets))
	}
	if n := proxies - haveProxies; n > 0 && len(absent) == 0 {
		a.Missing = append(a.Missing, fmt.Sprintf("the cluster map lists %d proxies, but only %d have logs here", proxies, haveProxies))
	}
	if targets == 0 && len(absent) == 0 && haveTargets == 0 {
		a.Missing = append(a.Missing, "no log from any target")
	}
	if !x.Stall.Valid {
		a.Missing = append(a.Missing, "the window: the start of the job's trouble is unknown")
		a.Covered = false
		return
	}
	from, to := x.Stall.T-lookBack-x.clock.Shift, x.Stall.T-x.clock.Shift
	if !x.clock.Known() {
		n, ok := x.somewhere(from, to)
		if !ok {
			a.Missing = append(a.Missing, "whatever the clock offset, no stretch of the daemons' logs is as long as the window")
			return
		}
		from, to = from-n, to-n
	}
	for i, d := range x.daemons {
		if why := x.uncovered(i, from, to); why != "" {
			a.Missing = append(a.Missing, d.Name()+": "+why)
		}
	}
	a.Covered = len(a.Missing) == 0
}

// somewhere is a distance of the clocks by which a window lies within what all logs cover: none, if possible.
func (x *inquiry) somewhere(from, to float64) (float64, bool) {
	for k := range 2*maxQuarters + 1 {
		n := float64((k+1)/2) * quarter
		if k%2 == 0 {
			n = -n
		}
		fits := true
		for i, d := range x.daemons {
			first, ok := x.wall(i, d.Covered.From)
			last, ok2 := x.wall(i, d.Covered.To)
			begun := first <= from-n+60 || len(d.Runs) > 0 && d.Runs[0].Started && first <= to-n
			fits = fits && ok && ok2 && begun && last >= to-n-60
		}
		if fits {
			return n, true
		}
	}
	return 0, false
}

// uncovered says what of a window a daemon's log does not cover, "" where it covers it. A daemon that starts within the
// window is covered from its start on: before, it was not there.
func (x *inquiry) uncovered(i int, from, to float64) string {
	d := x.daemons[i]
	first, ok := x.wall(i, d.Covered.From)
	last, ok2 := x.wall(i, d.Covered.To)
	switch {
	case !ok || !ok2:
		return "the date of its lines is unknown"
	case last < to-60:
		return "its log ends before the job's trouble began"
	case first > to:
		return "its log starts after the job's trouble began"
	case first > from+60 && (len(d.Runs) == 0 || !d.Runs[0].Started):
		return "its log starts within the 30 min before the job's trouble"
	}
	for _, h := range d.Holes {
		if h.Why == aislog.BeforeFirst || h.Why == aislog.NotFlushed || h.Why == aislog.LostTail {
			continue
		}
		a, ok := x.wall(i, h.From)
		b, ok2 := x.wall(i, h.To)
		if h.Why == aislog.BetweenFiles && b-a <= apart {
			continue // counters are written every few minutes: nothing need be missing
		}
		if ok && ok2 && a < to && b > from {
			if h.Why == aislog.WarningsOnly {
				return "only its warnings are here"
			}
			return "part of its log is missing"
		}
	}
	return ""
}

// judge adds up.
func (x *inquiry) judge(a *Answer) {
	a.Judgement = Open
	for i, d := range x.daemons {
		if n := len(d.Runs); n > 0 && d.Runs[n-1].LastAt.File != "" && x.role(x.self(i)) == string(aislog.Target) && len(a.Goes) < 2 {
			a.Goes = append(a.Goes, QuoteAt(d.Runs[n-1].LastAt, nil))
		}
	}
	if causes := a.Causes(); len(causes) > 0 {
		a.Judgement = Implicated
		a.Why = causes[0].Statement
		return
	}
	// What nobody can rule out keeps the question open; what is shown to have been at another time, or to have gone on as
	// ever, does not.
	open := ""
	for _, e := range a.Episodes {
		if e.Standing == Undecided && !x.harmless(e) || e.Standing == Coincident && x.near(e) {
			open = e.Statement
			break
		}
	}
	if open == "" && x.Possible {
		open = cmp.Or(x.bothName(a), x.lastWord(a))
	}
	cut := ""
	if x.Possible {
		cut = x.cut(a)
	}
	switch {
	case x.Unsure && slices.ContainsFunc(a.Episodes, func(e *Episode) bool { return !x.idle(e.t) }):
		a.Why = "something happened in AIStore, and the job's lines don't show whether it slowed or stopped the job"
	case cut != "":
		a.Why = cut + "; can't tell whether the target, the network or the client was slow"
	case x.Done && a.Covered:
		a.Judgement = Cleared
		a.Why = "the job wasn't stopped by anything in AIStore"
	case x.clock.Proof == Likely && a.Covered && open == "" && !x.allHarmless(a):
		a.Why = "nothing in AIStore seems to have affected the job, but the clock offset is only likely"
	case x.clock.Known() && a.Covered && open == "":
		a.Judgement = Cleared
		a.Why = "AIStore was healthy in the window: look elsewhere"
		if len(a.Episodes) > 0 {
			a.Why = "what happened in AIStore is not what affected the job: look elsewhere"
		}
	case !x.clock.Known() && a.Covered && open == "" && x.allHarmless(a):
		a.Judgement = Cleared
		a.Why = "whatever the clock offset, nothing happened in AIStore in the period its logs cover: look elsewhere"
		if len(a.Episodes) > 0 {
			a.Why = "whatever the clock offset, what happened in AIStore would show in the job's own lines, but doesn't: look elsewhere"
		}
	case open != "" && !x.clock.Known():
		a.Why = x.clock.Words()
	case open != "":
		a.Why = open + "; nothing shows whether it affected the job"
	case !a.Covered:
		a.Why = "the logs don't cover the window: " + strings.Join(a.Missing[:1], "")
	default:
		a.Why = x.clock.Words()
	}
}

// bothName says that a failed request of the ranks in question is named by a warning or an error of a daemon, too, "" where none is:
// what both sides name is never cleared, whatever it was.
func (x *inquiry) bothName(a *Answer) string {
	ours := map[Mark]*Client{}
	for i := range x.lines {
		c := &x.lines[i]
		if c.Over || len(x.Ranks) > 0 && !slices.Contains(x.Ranks, c.Rank) {
			continue
		}
		for _, m := range c.Marks {
			if m.Kind <= Breach && ours[m] == nil {
				ours[m] = c
			}
		}
	}
	for d := range x.daemons {
		for i := range x.daemons[d].Groups {
			g := &x.daemons[d].Groups[i]
			for k := range g.Events {
				e := &g.Events[k]
				if e.Severity == 'I' || e.Admin() {
					continue
				}
				for _, m := range x.marksOf(e) {
					if c := ours[m]; c != nil && x.together(c, d, e) {
						a.Goes = append([]incident.Evidence{recordQuote(e), clientQuote(c)}, a.Goes...)
						return fmt.Sprintf("a failed request from %s and a record from %s have the same %s", x.who(), x.self(d), markWords[m.Kind])
					}
				}
			}
		}
	}
	return ""
}

// together says that a client's line and a daemon's record may be about one moment.
func (x *inquiry) together(c *Client, d int, e *aislog.Event) bool {
	t, ok := x.wall(d, e.Time)
	if !x.clock.Known() || !c.T.Valid || !ok {
		return true
	}
	return math.Abs(t+x.clock.Shift-c.T.T) <= after+x.clock.Unc+c.T.Unc
}

// near says that a coincident episode lies so near to the stall, without anything that rules it out but the lack of a tie,
// that the store is not cleared.
func (x *inquiry) near(e *Episode) bool {
	if x.Possible && (e.Strong || e.touched == partly) {
		return true // both sides name it: whatever the order seems to be, the store met the job
	}
	if !x.Possible || x.later(e) || x.past(e.t) || x.usual(e.t) {
		return false
	}
	return e.touched != elsewhere && !x.harmless(e)
}

func (x *inquiry) allHarmless(a *Answer) bool {
	return !slices.ContainsFunc(a.Episodes, func(e *Episode) bool { return !x.harmless(e) })
}

// harmless says that an episode, whenever it was, would show in the job's own lines if it had reached the job, and does not: load
// that delayed nothing, objects that were taken away and that no request missed.
func (x *inquiry) harmless(e *Episode) bool {
	return e.touched == untouched && (x.idle(e.t) || e.t.action != "")
}
