package correlate

import (
	"math"
	"slices"
	"strings"

	"faultline/analysis/aislog"
)

// service is a time, by the job's clock, at some moment of which daemons were there to serve a request.
type service struct {
	client   *Client
	nodes    []string
	from, to float64
	// dated: the request itself tells when it was sent.
	dated bool
}

// services are those of a job, dated ones first; ok is false where their dates contradict each other.
func (x *inquiry) services() (all []service, ok bool) {
	rs := x.redirects()
	zone, agree := x.jobZone(rs)
	if len(rs) > 0 && !agree {
		return nil, false
	}
	for _, r := range rs {
		sent := r.client.T.T - toldAfter(r.client.T.T-r.utc, zone)
		all = append(all, service{client: r.client, nodes: r.nodes, from: sent, to: sent, dated: true})
	}
	for i := range x.lines {
		c := &x.lines[i]
		if nodes := x.reached(c); len(nodes) > 0 && c.T.Valid && c.T.Unc <= 5 {
			all = append(all, service{client: c, nodes: nodes, from: c.T.T - lateTold, to: c.T.T})
		}
	}
	return all, true
}

// toldAfter is how long after a request was sent its line was written, by the zone of the job. What year a line is of may be guessed.
func toldAfter(apart float64, zone int) float64 {
	const day = 86400.0
	rest := apart - float64(zone)*quarter
	return rest - day*math.Round((rest-lateTold/2)/day)
}

// unmade are words of a connection that was not made.
var unmade = []string{"onnection refused", "onnectTimeout", "NewConnectionError", "o route to host"}

// reached are the daemons whose addresses a line names, if a connection to them was made: who does not take one need not be there.
func (x *inquiry) reached(c *Client) []string {
	if c.Fault == "refused" || slices.ContainsFunc(unmade, func(w string) bool { return strings.Contains(c.Text, w) }) {
		return nil
	}
	var out []string
	for _, m := range c.Marks {
		if id := x.names[m.Value]; m.Kind == Address && id != "" {
			out = append(out, id)
		}
	}
	return out
}

// byService finds the only distance of the clocks at which the logs of those that served requests cover their moments. Logs that reach
// back far, or more than one life, leave several: then it says nothing. The log of a daemon that was there before it begins counts
// only where the request tells when it was sent.
func (x *inquiry) byService() (sign, bool) {
	all, ok := x.services()
	if !ok {
		return sign{}, false
	}
	var fits []int
	var by *service
	for n := -maxQuarters; n <= maxQuarters; n++ {
		asked, served := 0, true
		for k := range all {
			s := &all[k]
			for i, d := range x.daemons {
				if d.ID == "" || !slices.Contains(s.nodes, d.ID) || !s.dated && !whole(d) {
					continue
				}
				if asked++; by == nil {
					by = s
				}
				served = served && x.covers(i, s, float64(n)*quarter)
			}
		}
		if asked == 0 {
			return sign{}, false
		}
		if served {
			fits = append(fits, n)
		}
	}
	if len(fits) != 1 {
		return sign{}, false
	}
	how := "the job reached daemons whose logs cover that moment at only one clock offset"
	if by.dated {
		how = "a redirect address that AIStore gave the job contains its time; those daemons' logs cover that moment at only one clock offset"
	}
	return sign{quarters: fits[0], unc: 5, basis: finding(how, clientQuote(by.client))}, true
}

// covers says that a daemon's log covers a service at a distance of the clocks.
func (x *inquiry) covers(d int, s *service, shift float64) bool {
	const unwritten = 90.0 // up to a minute of lines waits in memory
	from, ok := x.wall(d, x.daemons[d].Covered.From)
	to, ok2 := x.wall(d, x.daemons[d].Covered.To)
	return !ok || !ok2 || s.to-shift >= from-5 && s.from-shift <= to+unwritten
}

// whole says that a daemon's log goes back to its start, so that it was not there before.
func whole(d *aislog.Daemon) bool { return len(d.Runs) > 0 && d.Runs[0].Started }
