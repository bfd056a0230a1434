package correlate

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/aislog"
	"faultline/incident"
)

// How well the clocks are related.
const (
	Proven   = "proven"   // things that both sides name, or two independent signs
	Likely   = "likely"   // one sign that chance could make
	Unproven = "unproven" // none, or signs that contradict each other
)

func weighs(proof string) int { return map[string]int{Proven: 2, Likely: 1}[proof] }

// Clock is how the time of a cluster's daemons relates to the job's: job = daemon + Shift, give or take Unc seconds.
type Clock struct {
	Proof      string
	Shift, Unc float64
	Basis      []incident.Finding
	// Against is what speaks against the relation that is used, or why there is none.
	Against []incident.Finding
	rel     []relation
}

// Known says that an order of events of both sides may be claimed.
func (c *Clock) Known() bool { return c.Proof != Unproven && c.Proof != "" }

// relation is how one daemon's clock relates to the others': common = own + shift.
type relation struct {
	shift float64
}

const (
	quarter = 900.0
	// maxQuarters is how many quarter hours clocks of two zones are apart at most: from UTC−12 to UTC+14.
	maxQuarters = 104
	// maxSkew is how far two clocks of one zone may be apart, in seconds, to be taken for it. A client that tries again
	// before it tells is as late.
	maxSkew = 120.0
	// tight is how near a pair has to be to be more than chance by itself.
	tight = 15.0
	// perKey bounds the occurrences of one thing that are compared.
	perKey = 24
)

// relate finds out how the daemons' clocks relate to each other: by work items and versions of the cluster map that
// several of them name.
func (x *inquiry) relate() {
	x.clock.rel = make([]relation, len(x.daemons))
	if len(x.daemons) == 0 {
		return
	}
	firsts := make([]map[string]float64, len(x.daemons))
	ref := 0
	for i := range x.daemons {
		firsts[i] = x.firstNamed(i)
		if len(firsts[i]) > len(firsts[ref]) {
			ref = i
		}
	}
	for i := range x.daemons {
		if i == ref {
			continue
		}
		var apart []float64
		for key, t := range firsts[i] {
			if r, ok := firsts[ref][key]; ok {
				apart = append(apart, r-t)
			}
		}
		x.clock.rel[i] = relationOf(apart)
	}
}

// firstNamed is when a daemon first names each thing that others name, too.
func (x *inquiry) firstNamed(daemon int) map[string]float64 {
	first := map[string]float64{}
	groups := x.daemons[daemon].Groups
	for k := range groups {
		for n := range groups[k].Events {
			e := &groups[k].Events[n]
			t, ok := x.wall(daemon, e.Time)
			if !ok {
				continue
			}
			for _, key := range x.shared(e) {
				if old, seen := first[key]; !seen || t < old {
					first[key] = t
				}
			}
		}
	}
	return first
}

// relationOf is the distance that most of these agree on; none where they do not.
func relationOf(apart []float64) relation {
	if len(apart) == 0 {
		return relation{}
	}
	slices.Sort(apart)
	m := apart[(len(apart)-1)/2]
	near := 0
	for _, a := range apart {
		if math.Abs(a-m) <= tight {
			near++
		}
	}
	if 2*near < len(apart) {
		return relation{}
	}
	if math.Abs(m) <= 5 {
		return relation{}
	}
	if q := math.Round(m/quarter) * quarter; math.Abs(m-q) <= 5 {
		m = q
	}
	return relation{shift: m}
}

// shared are things in a record that other daemons' records of the same moment hold.
func (x *inquiry) shared(e *aislog.Event) []string {
	var out []string
	switch e.Kind {
	case aislog.MapChanged, aislog.Removed:
		if _, rest, ok := strings.Cut(e.Text, "Smap v"); ok && e.Kind == aislog.MapChanged {
			out = append(out, "smap "+digitsOf(rest))
		}
	}
	for _, m := range x.marksOf(e) {
		if m.Kind == Work {
			out = append(out, "work "+m.Value)
		}
	}
	return out
}

// pair is one thing at both sides.
type pair struct {
	client *Client
	daemon int
	event  *aislog.Event
	outage *outage // instead of a record: the time in which the daemon was not there
	rest   float64 // what remains of the distance less whole quarter hours
}

// quote is the daemon's side of it.
func (p pair) quote() incident.Evidence {
	if p.event != nil {
		return recordQuote(p.event)
	}
	if p.outage.next != nil {
		return QuoteAt(p.outage.next.StartAt, &incident.Predicate{Literals: []string{"Started up at "}})
	}
	return QuoteAt(p.outage.run.LastAt, nil)
}

// vote is what speaks for one distance in whole quarter hours.
type vote struct {
	quarters int
	strong   []pair // work items and objects, one pair each
	deaths   []pair // refused by a daemon while it was not there
	onset    []pair // the first refusal of a kind at both sides
	acts     []pair // something was taken away, and first missed soon after
	breaks   []pair // answers that were cut off, as both sides tell at once
}

// hints counts the signs that chance could make. That several acts are followed by misses counts once: they were done together.
func (v *vote) hints() int { return len(v.onset) + min(len(v.acts), 1) + len(v.breaks) }

func (v *vote) hinting() []pair {
	switch {
	case len(v.breaks) > 0:
		return v.breaks
	case len(v.onset) > 0:
		return v.onset
	}
	return v.acts
}

// tie finds out how the cluster's clock relates to the job's.
func (x *inquiry) tie() {
	votes := x.named()
	slices.SortFunc(votes, func(a, b *vote) int {
		return cmp.Or(cmp.Compare(len(b.strong), len(a.strong)), cmp.Compare(len(b.deaths), len(a.deaths)), cmp.Compare(b.hints(), a.hints()), cmp.Compare(abs(a.quarters), abs(b.quarters)), cmp.Compare(a.quarters, b.quarters))
	})
	var s signs
	if zone, ok := x.byZone(); ok && !(zone.assumed && len(votes) > 0 && votes[0].quarters != zone.quarters) {
		s.zone = &zone
	}
	if stop, ok := x.byStop(); ok {
		s.stop = &stop
	}
	if served, ok := x.byService(); ok {
		s.served = &served
	}
	x.clock.Proof = Unproven
	if !x.byVotes(votes, &s) {
		return
	}
	for _, sign := range []*sign{s.zone, s.stop, s.served} {
		if sign != nil && sign.quarters == int(math.Round(x.clock.Shift/quarter)) {
			x.clock.Basis = append(x.clock.Basis, sign.basis)
		}
	}
}

// signs are what speaks for a distance beside what both sides name; nil where there is none.
type signs struct{ zone, stop, served *sign }

// agree reports whether one of them speaks for this distance.
func (s *signs) agree(quarters int) bool {
	return s.zone.says(quarters) || s.stop.says(quarters) || s.served.says(quarters)
}

// contradicted reports whether both sides state zones that are another distance apart.
func (s *signs) contradicted(quarters int) bool { return s.zone != nil && s.zone.quarters != quarters }

func (s *sign) says(quarters int) bool { return s != nil && s.quarters == quarters }

// byVotes takes the best of what both sides name, else of the other signs. It is false where nothing is, or what there is contradicts.
func (x *inquiry) byVotes(votes []*vote, s *signs) bool {
	var v, next *vote
	if len(votes) > 0 {
		v = votes[0]
	}
	if len(votes) > 1 {
		next = votes[1]
	}
	switch {
	case v != nil && len(v.strong) > 0:
		return x.byRequests(v, next, s)
	case v != nil && len(v.deaths) > 0 && (next == nil || len(next.deaths) == 0):
		return x.byDeaths(v, s)
	case v != nil && v.hints() > 0:
		return x.byHints(v, next, s)
	}
	return x.clock.bySigns(s)
}

// byRequests takes the distance at which most requests of both sides meet.
func (x *inquiry) byRequests(v, next *vote, s *signs) bool {
	c := &x.clock
	rival := next != nil && 2*len(next.strong) >= len(v.strong)
	switch {
	case rival && s.contradicted(v.quarters) && s.zone.says(next.quarters):
		v = next
	case rival && !s.agree(v.quarters):
		c.Against = append(c.Against, finding("the events both sides mention fit two clock offsets equally well", x.proofs(next.strong[:1])...))
		return false
	}
	if s.contradicted(v.quarters) && len(v.strong) < 3 {
		c.Against = append(c.Against, finding("the events both sides mention contradict their stated time zones", x.proofs(v.strong[:1])...))
		return false
	}
	x.settle(v.quarters, v.strong)
	c.Proof = Likely
	single := v.strong[0].isWork() || math.Abs(v.strong[0].rest) <= tight
	if len(v.strong) > 1 || single || s.zone != nil || s.agree(v.quarters) {
		c.Proof = Proven
	}
	c.Basis = append(c.Basis, finding(fmt.Sprintf("%s by both sides", plural(len(v.strong), "request is mentioned", "requests are mentioned")), x.proofs(v.strong)...))
	return true
}

// byDeaths takes the one distance at which a daemon was down when it refused connections.
func (x *inquiry) byDeaths(v *vote, s *signs) bool {
	c := &x.clock
	if s.contradicted(v.quarters) {
		c.Against = append(c.Against, finding("the times of refused connections contradict both sides' stated time zones", x.proofs(v.deaths[:1])...))
		return false
	}
	c.Proof, c.Shift, c.Unc = Proven, float64(v.quarters)*quarter, 5+v.deaths[0].rest
	c.Basis = append(c.Basis, finding(fmt.Sprintf("%s refused the job's connections while it was down, which happened only once", x.self(v.deaths[0].daemon)), x.proofs(v.deaths)...))
	return true
}

// byHints takes the distance at which failures of one kind begin on both sides.
func (x *inquiry) byHints(v, next *vote, s *signs) bool {
	c, pairs := &x.clock, v.hinting()
	if next != nil && next.hints() == v.hints() && !s.agree(v.quarters) {
		c.Against = append(c.Against, finding("refused connections on both sides fit two clock offsets equally well", x.proofs(next.hinting()[:1])...))
		return false
	}
	x.settle(v.quarters, pairs)
	if s.contradicted(v.quarters) {
		c.Against = append(c.Against, finding("refused connections on both sides contradict their stated time zones", x.proofs(pairs[:1])...))
		return false
	}
	c.Proof = Likely
	if v.hints() > 1 || len(v.breaks) > 1 || s.agree(v.quarters) {
		c.Proof = Proven
	}
	how := "the same kind of failure starts on both sides"
	switch {
	case len(v.breaks) > 0:
		how = "both sides report the same cut-off responses within half a second"
	case len(v.onset) == 0:
		how = "the job reported missing objects within seconds of their removal"
	}
	c.Basis = append(c.Basis, finding(how, x.proofs(pairs)...))
	return true
}

// bySigns takes the first sign. It is proven where it is sure or another agrees.
func (c *Clock) bySigns(s *signs) bool {
	var first *sign
	var sure bool
	switch {
	case s.zone != nil:
		first = s.zone
		sure = first.sure || s.stop.says(first.quarters) || s.served.says(first.quarters)
	case s.served != nil:
		first = s.served
		sure = s.stop.says(first.quarters)
	case s.stop != nil:
		first = s.stop
		sure = first.sure
	default:
		return false
	}
	c.Proof, c.Shift, c.Unc = Likely, float64(first.quarters)*quarter, first.unc
	if sure {
		c.Proof = Proven
	}
	return true
}

func (p pair) isWork() bool {
	return slices.ContainsFunc(p.client.Marks, func(m Mark) bool { return m.Kind == Work })
}

// settle takes the distance of pairs: whole quarter hours, and what is left of it where that is more than what a client may
// be late.
func (x *inquiry) settle(quarters int, pairs []pair) {
	rests := make([]float64, 0, len(pairs))
	coarse := 0.0
	for _, p := range pairs {
		rests = append(rests, p.rest)
		coarse = max(coarse, min(p.client.T.Unc, 5))
	}
	slices.Sort(rests)
	early, mid := rests[(len(rests)-1)/10], rests[(len(rests)-1)/2]
	c := &x.clock
	c.Shift = float64(quarters) * quarter
	// A client that tells only after it tried again is late, and so is a daemon that notices late that the client has gone: that is no
	// skew unless several say so.
	skewed := len(rests) > 1 && rests[1] < -3 || len(rests) > 2 && rests[len(rests)-1]-rests[0] <= 2
	if math.Abs(early) > 3 && math.Abs(mid) > 3 && skewed {
		c.Shift += math.Round(early)
		mid -= math.Round(early)
	}
	c.Unc = max(coarse, 0.5, min(math.Abs(mid), maxSkew)) + 0.5
}

// proofs quotes a few pairs, each from both sides.
func (x *inquiry) proofs(pairs []pair) []incident.Evidence {
	var out []incident.Evidence
	for i, p := range pairs {
		if i == 2 {
			break
		}
		out = append(out, clientQuote(p.client), p.quote())
	}
	return out
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// Words say the relation for people.
func (c *Clock) Words() string {
	if !c.Known() {
		return "nothing relates the daemons' clocks to the job's (--job-zone would)"
	}
	how := "the daemons' clocks match the job's"
	if c.Shift != 0 {
		how = fmt.Sprintf("the daemons' clocks are %s the job's", OffsetWords(-c.Shift))
	}
	return fmt.Sprintf("%s, within %.0f s (%s)", how, math.Ceil(c.Unc), c.Proof)
}

// OffsetWords says by how much one clock is ahead of another: "8 h behind".
func OffsetWords(ahead float64) string {
	way := "ahead of"
	if ahead < 0 {
		ahead, way = -ahead, "behind"
	}
	h, rest := math.Floor(ahead/3600), math.Mod(ahead, 3600)
	var parts []string
	if h > 0 {
		parts = append(parts, fmt.Sprintf("%.0f h", h))
	}
	if m := math.Floor(rest / 60); m > 0 {
		parts = append(parts, fmt.Sprintf("%.0f min", m))
	}
	if s := math.Mod(rest, 60); s >= 1 {
		parts = append(parts, fmt.Sprintf("%.0f s", s))
	}
	return strings.Join(parts, " ") + " " + way
}
