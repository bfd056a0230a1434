package correlate

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"faultline/analysis/aislog"
)

// mention is a thing that a line of one side names, at its time.
type mention struct {
	t      float64
	client *Client
	daemon int
	event  *aislog.Event
}

func earlier(a, b mention) int { return cmp.Compare(a.t, b.t) }

// named compares what both sides name.
func (x *inquiry) named() []*vote {
	theirs := x.namedByDaemons()
	ours := x.namedByClients(theirs)
	marks := slices.SortedFunc(maps.Keys(ours), func(a, b Mark) int { return cmp.Or(cmp.Compare(a.Kind, b.Kind), strings.Compare(a.Value, b.Value)) })
	votes := map[int]*vote{}
	for _, m := range marks {
		a, b := ours[m], theirs[m]
		slices.SortStableFunc(a, func(p, q mention) int { // those with a time of their own first
			return cmp.Or(cmp.Compare(b2i(p.client.T.Unc > 5), b2i(q.client.T.Unc > 5)), earlier(p, q))
		})
		slices.SortStableFunc(b, earlier)
		strong := m.Kind <= Breach
		if !strong { // many say the same: only where it begins can be compared
			a, b = a[:1], begins(b, func(s mention) float64 { return s.t })
		}
		best := map[int]pair{}
		for _, p := range a[:min(len(a), perKey)] { // who tries again names it again: the first time counts
			limit := maxSkew
			if !strong {
				limit = tight + p.client.T.Unc
			}
			for n, found := range p.meets(b[:min(len(b), perKey)], limit) {
				if _, seen := best[n]; !seen {
					best[n] = found
				}
			}
		}
		for n, p := range best {
			if v := voteFor(votes, n); strong {
				v.strong = append(v.strong, p)
			} else {
				v.onset = append(v.onset, p)
			}
		}
	}
	x.deaths(votes)
	x.acted(votes)
	x.cutOff(votes)
	return slices.Collect(maps.Values(votes))
}

// namedByDaemons are the things that daemons name; an address counts where it refuses.
func (x *inquiry) namedByDaemons() map[Mark][]mention {
	out := map[Mark][]mention{}
	for i, d := range x.daemons {
		for k := range d.Groups {
			g := &d.Groups[k]
			for n := range g.Events {
				e := &g.Events[n]
				t, ok := x.wall(i, e.Time)
				if !ok || e.Admin() {
					continue
				}
				for _, m := range x.marksOf(e) {
					if m.Kind != Node && m.comparable(e.Text) {
						out[m] = append(out[m], mention{t: t, daemon: i, event: e})
					}
				}
			}
		}
	}
	return out
}

// namedByClients are the things that the job's lines name of those.
func (x *inquiry) namedByClients(theirs map[Mark][]mention) map[Mark][]mention {
	out := map[Mark][]mention{}
	for i := range x.lines {
		c := &x.lines[i]
		if !c.T.Valid || c.T.Unc > loose+5 {
			continue
		}
		for _, m := range c.Marks {
			if theirs[m] != nil && m.comparable(c.Text) {
				out[m] = append(out[m], mention{t: c.T.T, client: c})
			}
		}
	}
	return out
}

// comparable reports whether a mark of this line may be the other side's of the same moment: an address is named all the time.
func (m Mark) comparable(text string) bool {
	return m.Kind != Address || strings.Contains(text, "refused")
}

// meets pairs a client's mention with those of daemons, the nearest for each distance in quarter hours.
func (p mention) meets(theirs []mention, limit float64) map[int]pair {
	near := map[int]pair{}
	for _, q := range theirs {
		delta := p.t - q.t
		n := int(math.Round(delta / quarter))
		rest := delta - float64(n)*quarter
		if abs(n) > maxQuarters || math.Abs(rest) > limit {
			continue
		}
		if old, seen := near[n]; !seen || math.Abs(rest) < math.Abs(old.rest) {
			near[n] = pair{client: p.client, daemon: q.daemon, event: q.event, rest: rest}
		}
	}
	return near
}

// acted compares when a client first missed what was taken away with when that was done: a reader that asks all the time
// misses it at once.
func (x *inquiry) acted(votes map[int]*vote) {
	for _, t := range x.all {
		i := slices.IndexFunc(t.points, func(p point) bool { return p.event != nil })
		if !t.takesObjects() || i < 0 {
			continue
		}
		var first *Client
		for k := range x.lines {
			c := &x.lines[k]
			if !c.T.Valid || c.T.Unc > 5 || c.Over || first != nil && c.T.T >= first.T.T {
				continue
			}
			if m := x.reaches(t, c); m == taken || m == unlisted {
				first = c
			}
		}
		if first == nil {
			continue
		}
		delta := first.T.T - t.from
		n := int(math.Round(delta / quarter))
		if rest := delta - float64(n)*quarter; abs(n) <= maxQuarters && rest >= -6 && rest <= 2*tight {
			v := voteFor(votes, n)
			v.acts = append(v.acts, pair{client: first, daemon: t.points[i].d, event: t.points[i].event, rest: rest})
		}
	}
}

// deaths compares when a client was refused by a daemon with when that daemon was not there, if that was once: nobody else
// refuses a connection in its place.
func (x *inquiry) deaths(votes map[int]*vote) {
	outages := x.outages()
	for i, o := range outages {
		once := !math.IsInf(o.to, 1)
		for k, other := range outages {
			once = once && (k == i || other.id != o.id)
		}
		if !once || o.to-o.from > quarter/2 {
			continue
		}
		var first *Client
		for k := range x.lines {
			c := &x.lines[k]
			if c.T.Valid && c.T.Unc <= 5 && refusedBy(c, o.id, x.names) && (first == nil || c.T.T < first.T.T) {
				first = c
			}
		}
		if first == nil {
			continue
		}
		mid, half := (o.from+o.to)/2, (o.to-o.from)/2
		delta := first.T.T - mid
		n := int(math.Round(delta / quarter))
		if rest := math.Abs(delta-float64(n)*quarter) - half; abs(n) <= maxQuarters && rest <= tight {
			v := voteFor(votes, n)
			v.deaths = append(v.deaths, pair{client: first, daemon: x.find(o.id), outage: o, rest: max(rest, 0)})
		}
	}
}

// refusedBy says that a line tells of a connection that a daemon did not take.
func refusedBy(c *Client, id string, names map[string]string) bool {
	if c.Fault != "refused" && !strings.Contains(c.Text, "onnection refused") {
		return false
	}
	return slices.ContainsFunc(c.Marks, func(m Mark) bool {
		return m.Kind == Node && m.Value == id || m.Kind == Address && names[m.Value] == id
	})
}

// begins are those of a sorted list that come after a pause.
func begins[T any](list []T, at func(T) float64) []T {
	var out []T
	for i := range list {
		if i == 0 || at(list[i])-at(list[i-1]) > apart {
			out = append(out, list[i])
		}
	}
	return out
}

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
		if len(pairs) > 1 {
			voteFor(votes, n).breaks = pairs
		}
	}
}

// voteFor is the vote for a distance.
func voteFor(votes map[int]*vote, n int) *vote {
	if votes[n] == nil {
		votes[n] = &vote{quarters: n}
	}
	return votes[n]
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
	return slices.ContainsFunc(pairs, func(old pair) bool { return old.client == c || old.event == p.event })
}
