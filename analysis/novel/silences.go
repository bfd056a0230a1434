package novel

import (
	"cmp"
	"slices"
)

// leastSpoken is how many ranks must print a line before it tells something that others do not.
const leastSpoken = 3

// printed says whether a rank printed it, for how many ranks that holds, and whether all who printed it are known: by the places of its lines,
// else by the ranks that they state.
func (c *candidate) printed() (by func(rank int) bool, n int, known bool) {
	if !c.crowd {
		return func(rank int) bool { return c.rank[rank] }, len(c.rank), true
	}
	return func(rank int) bool { _, ok := c.stated[rank]; return ok }, len(c.stated), !c.nameless
}

// silent are the few ranks that do not print what all others print; nil where nobody knows all who do.
func (c *candidate) silent() (silent []int) {
	all, most := len(c.world.Ranks), c.world.fewRanks()
	by, n, known := c.printed()
	if !known || !c.trouble() || n < leastSpoken || n == all || all-n > most {
		return nil
	}
	for _, r := range c.world.Ranks {
		if !by(r) {
			silent = append(silent, r)
		}
	}
	if len(silent) > most {
		return nil
	}
	c.Spoken = n
	return silent
}

// fewRanks is how many ranks are few among those of the job.
func (w *World) fewRanks() int { return max(1, len(w.Ranks)/8) }

// silences finds lines that all ranks print but a few. A rank that sounded bad before, in words of its own, is none that was silent: the others
// answer it.
func silences(all []*candidate) {
	voices := ownWords(all)
	for _, c := range all {
		if c.Silent = c.silent(); len(c.Silent) == 0 {
			continue
		}
		first, spoke := moment{}, false
		for _, r := range c.Silent {
			if t, ok := voices[r].first(len(c.Silent)); ok && (!spoke || t.before(first)) {
				first, spoke = t, true
			}
		}
		if spoke && (!c.time.known || first.before(c.time)) {
			c.Silent = nil
			continue
		}
		c.Instead = instead(all, c)
	}
}

// instead is the line of the first silent rank that sounds bad and says most: the longest.
func instead(all []*candidate, silent *candidate) (most *Spot) {
	for _, c := range all {
		s, ok := c.spoke[silent.Silent[0]]
		if ok && c.trouble() && (most == nil || s.At.Len > most.At.Len) {
			most = &s
		}
	}
	return most
}

// before orders moments: what has no time may have come before everything that has one.
func (m moment) before(o moment) bool { return o.known && (!m.known || m.seconds < o.seconds) }

// voice is when a rank first sounded bad, by how many ranks sounded so: the fewest first, each no later than the one before it.
type voice []struct {
	ranks int
	at    moment
}

// ownWords are the voices of ranks in words that only few of them use.
func ownWords(all []*candidate) map[int]voice {
	var own []*candidate
	for _, c := range all {
		if len(c.rank) > 0 && len(c.rank) <= c.world.fewRanks() && c.trouble() {
			own = append(own, c)
		}
	}
	slices.SortStableFunc(own, func(a, b *candidate) int { return cmp.Compare(len(a.rank), len(b.rank)) })
	voices := map[int]voice{}
	for _, c := range own {
		for r := range c.rank {
			if v := voices[r]; len(v) == 0 || c.time.before(v[len(v)-1].at) {
				voices[r] = append(v, struct {
					ranks int
					at    moment
				}{len(c.rank), c.time})
			}
		}
	}
	return voices
}

// first is when it was first heard in words of at most so many ranks.
func (v voice) first(ranks int) (at moment, ok bool) {
	for _, w := range slices.Backward(v) {
		if w.ranks <= ranks {
			return w.at, true
		}
	}
	return at, false
}
