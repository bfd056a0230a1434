package correlate

import (
	"math"
	"slices"
)

const (
	// atOnce is how far apart, in seconds, both sides write of an answer that is cut off.
	atOnce = 0.5
	// fewBreaks is how many of them a daemon may tell for two matches to be no chance.
	fewBreaks = 24
)

// cutOff compares when both sides write of answers that were cut off: they do so at once. One match may be chance; two of different
// records are a proof, as few as there are.
func (x *inquiry) cutOff(votes map[int]*vote) {
	mark := Mark{Reason, answerCut}
	theirs := x.records(mark)
	if len(theirs) == 0 || len(theirs) > fewBreaks {
		return
	}
	found := map[int][]pair{}
	for i := range x.lines {
		c := &x.lines[i]
		if !c.T.Valid || c.T.Unc > 1 || !slices.Contains(c.Marks, mark) {
			continue
		}
		for _, p := range theirs {
			n := int(math.Round((c.T.T - p.t) / quarter))
			rest := c.T.T - p.t - float64(n)*quarter
			if abs(n) <= maxQuarters && math.Abs(rest) <= atOnce && !paired(found[n], c, p) {
				found[n] = append(found[n], pair{client: c, daemon: p.d, event: p.event, rest: rest})
			}
		}
	}
	for n, pairs := range found {
		if len(pairs) < 2 {
			continue
		}
		v := votes[n]
		if v == nil {
			v = &vote{quarters: n}
			votes[n] = v
		}
		v.breaks = pairs
	}
}

// records are the daemons' records that hold a mark, by the cluster's clock.
func (x *inquiry) records(m Mark) []point {
	var out []point
	for d := range x.daemons {
		for i := range x.daemons[d].Groups {
			g := &x.daemons[d].Groups[i]
			for k := range g.Events {
				e := &g.Events[k]
				if t, ok := x.wall(d, e.Time); ok && slices.Contains(x.marksOf(e), m) {
					out = append(out, point{t: t, n: 1, event: e, d: d})
				}
			}
		}
	}
	return out
}

// paired says that a line or a record has its match already.
func paired(pairs []pair, c *Client, p point) bool {
	for _, old := range pairs {
		if old.client == c || old.event == p.event {
			return true
		}
	}
	return false
}
