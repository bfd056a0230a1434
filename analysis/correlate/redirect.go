package correlate

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/aislog"
	"faultline/analysis/ascii"
	"faultline/incident"
)

// redirect is a line with an address that a proxy sent the client to: it states when, in nanoseconds since 1970, to the base of
// 36 ("utm=dn1p1hdkg600"), whatever zone either side is in. Source: AIStore, api/apc (QparamUnixTime) and cmn/cos (UnixNano2S),
// 3.20 to 5.0.
type redirect struct {
	client *Client
	utc    float64
	nodes  []string // ids of the daemons that the address and the answer name
}

const (
	paramTime  = "utm="
	paramProxy = "pid="
	// lateTold is how long after it was sent there a client may print the address: answers time out.
	lateTold = 60.0
)

func (x *inquiry) redirects() []redirect {
	var out []redirect
	for i := range x.lines {
		c := &x.lines[i]
		if !c.T.Valid || c.T.Unc > 5 {
			continue
		}
		utc, ok := sentAt(c.Text)
		if !ok {
			continue
		}
		r := redirect{client: c, utc: utc}
		if _, rest, ok := strings.Cut(c.Text, paramProxy); ok {
			r.nodes = append(r.nodes, idOf(rest[:min(len(rest), maxValue)]))
		}
		for _, m := range c.Marks {
			if m.Kind == Node {
				r.nodes = append(r.nodes, m.Value)
			}
		}
		out = append(out, r)
	}
	return out
}

// sentAt reads the moment in an address, in seconds since 1970.
func sentAt(s string) (float64, bool) {
	i := strings.Index(s, paramTime)
	if i < 1 || s[i-1] != '?' && s[i-1] != '&' {
		return 0, false
	}
	s = s[i+len(paramTime):]
	n := 0
	for n < len(s) && n < 14 && (ascii.Digit(s[n]) || ascii.Lower(s[n])) {
		n++
	}
	ns, err := strconv.ParseInt(s[:n], 36, 64)
	const from, to = 1_420_070_400, 4_102_444_800 // 2015 to 2100
	if t := float64(ns) / 1e9; err == nil && t >= from && t < to {
		return t, true
	}
	return 0, false
}

// jobZone is how many quarter hours the job's clock is ahead of UTC, by those addresses; all must agree.
func (x *inquiry) jobZone(rs []redirect) (int, bool) {
	zone, known := 0, false
	for _, r := range rs {
		apart := r.client.T.T - r.utc
		if !x.Facts.YearProven { // what the job's year is was guessed
			apart -= 86400 * math.Round((apart-3600)/86400)
		}
		q := int(math.Round(apart / quarter))
		if rest := apart - float64(q)*quarter; abs(q) > maxQuarters || rest < -2 || rest > lateTold {
			return 0, false
		}
		if known && q != zone {
			return 0, false
		}
		zone, known = q, true
	}
	return zone, known
}

// stated is the zone of the job by the addresses, with its proof.
func (x *inquiry) stated() (minutes int, proof incident.Evidence, ok bool) {
	rs := x.redirects()
	zone, ok := x.jobZone(rs)
	if !ok {
		return 0, proof, false
	}
	return zone * 15, clientQuote(rs[0].client), true
}

// service is a time, by the job's clock, at some moment of which daemons were there to serve a request.
type service struct {
	client   *Client
	by       []int // the daemons
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
		all = append(all, service{client: r.client, by: x.those(r.nodes, true), from: sent, to: sent, dated: true})
	}
	for i := range x.lines {
		c := &x.lines[i]
		if nodes := x.reached(c); len(nodes) > 0 && c.T.Valid && c.T.Unc <= 5 {
			all = append(all, service{client: c, by: x.those(nodes, false), from: c.T.T - lateTold, to: c.T.T})
		}
	}
	return all, true
}

// those are the daemons of some ids. The log of one that was there before it begins counts only where a request is dated.
func (x *inquiry) those(ids []string, dated bool) []int {
	var out []int
	for i, d := range x.daemons {
		if d.ID != "" && slices.Contains(ids, d.ID) && (dated || whole(d)) {
			out = append(out, i)
		}
	}
	return out
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
	return x.addressed(c)
}

// addressed are the daemons whose addresses a line names.
func (x *inquiry) addressed(c *Client) []string {
	var out []string
	for _, m := range c.Marks {
		if id := x.names[m.Value]; m.Kind == Address && id != "" {
			out = append(out, id)
		}
	}
	return out
}

// byService finds the only distance of the clocks at which the logs of those that served requests cover their moments. Logs that reach
// back far, or more than one life, leave several: then it says nothing.
func (x *inquiry) byService() (sign, bool) {
	all, ok := x.services()
	if !ok {
		return sign{}, false
	}
	all = slices.DeleteFunc(all, func(s service) bool { return len(s.by) == 0 })
	if len(all) == 0 {
		return sign{}, false
	}
	var fits []int
	for n := -maxQuarters; n <= maxQuarters; n++ {
		if !slices.ContainsFunc(all, func(s service) bool { return !x.covers(&s, float64(n)*quarter) }) {
			fits = append(fits, n)
		}
	}
	if len(fits) != 1 {
		return sign{}, false
	}
	how := "the job reached daemons whose logs cover that moment at only one clock offset"
	if all[0].dated {
		how = "a redirect address that AIStore gave the job contains its time; those daemons' logs cover that moment at only one clock offset"
	}
	return sign{quarters: fits[0], unc: 5, basis: finding(how, clientQuote(all[0].client))}, true
}

// covers says that the logs of those that served a request cover its moment, at a distance of the clocks.
func (x *inquiry) covers(s *service, shift float64) bool {
	const unwritten = 90.0 // up to a minute of lines waits in memory
	for _, d := range s.by {
		from, ok := x.wall(d, x.daemons[d].Covered.From)
		to, ok2 := x.wall(d, x.daemons[d].Covered.To)
		if ok && ok2 && (s.to-shift < from-5 || s.from-shift > to+unwritten) {
			return false
		}
	}
	return true
}

// whole says that a daemon's log goes back to its start, so that it was not there before.
func whole(d *aislog.Daemon) bool { return len(d.Runs) > 0 && d.Runs[0].Started }
