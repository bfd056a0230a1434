package correlate

import (
	"math"
	"strconv"
	"strings"

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
	for n < len(s) && n < 14 && (s[n] >= '0' && s[n] <= '9' || s[n] >= 'a' && s[n] <= 'z') {
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
