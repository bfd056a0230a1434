package resolve

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"faultline/analysis/line"
	"faultline/analysis/robust"
	"faultline/analysis/worker"
)

// Moment is a point on the incident's one timeline: seconds since 1970-01-01 of the reference clock (the zone most
// containers write in), with its uncertainty. Valid is false where no line states a time.
type Moment struct {
	T     float64 // seconds
	Unc   float64 // ± seconds
	Valid bool
}

// Before says that m is proven to be earlier than o.
func (m Moment) Before(o Moment) bool { return m.Valid && o.Valid && m.T+m.Unc < o.T-o.Unc }

// Earliest is the earlier of two moments, as far as they are known.
func (m Moment) Earliest(o Moment) Moment {
	if o.Valid && (!m.Valid || o.T < m.T) {
		return o
	}
	return m
}

// Latest is the later of two moments, as far as they are known.
func (m Moment) Latest(o Moment) Moment {
	if o.Valid && (!m.Valid || o.T > m.T) {
		return o
	}
	return m
}

// Placed says that a moment is known, and the zone of its clock.
func (m Moment) Placed() bool { return m.Valid && m.Unc < anyZone/2 }

// Add shifts a moment.
func (m Moment) Add(seconds float64) Moment { m.T += seconds; return m }

// clock turns stamps into moments.
type clock struct {
	year    int  // of MonthDay stamps; 0 = not proven
	newYear bool // stamps of December and January both occur: January belongs to the year after
	offsets map[clockKey]offset
	zones   bool // containers of several zones: a clock without an anchor may be in any of them
	// together are nodes without an anchor whose logs begin when those of others do: they are in the zone of the reference.
	together map[string]bool
	// astray are nodes without an anchor whose logs begin hours from that of the one that logged longest, by what zones are apart.
	astray  map[string]bool
	records *offset // of SLURM's accounting; nil where its zone is not known
	// collector is what log collectors' clocks show more than those of the programs, in seconds.
	collector float64
}

// anyZone is how far the clock of another zone may be from ours, in seconds: zones reach from UTC−12 to UTC+14.
const anyZone = 26 * hour

// clockKey is one clock: what one emitter on one node reads.
type clockKey struct {
	node    string
	emitter line.Emitter
}

type offset struct {
	shift float64 // seconds to add to reach the reference
	unc   float64
	// own and ref are lines of this clock and of the reference that tell of one moment; nil where none is to be shown.
	own, ref *worker.At
}

// civil is seconds since 1970 of the stamp's own wall clock, ignoring zones; ok is false for stamps without a date.
func (c *clock) civil(s line.Stamp) (float64, bool) {
	switch s.Kind {
	case line.MonthDay:
		year := c.year
		if year == 0 {
			year = 2000 // a leap year, never shown
		}
		if c.newYear && s.Month == 1 {
			year++
		}
		return unix(year, s), true
	case line.DateTime:
		return unix(int(s.Year), s), true
	case line.Zoned:
		// All zones are kept as written here; the offset between emitters is found from anchors like any other.
		return unix(int(s.Year), s), true
	case line.Epoch:
		return float64(s.Unix) + float64(s.Nanos)/1e9, true
	}
	return 0, false
}

func unix(year int, s line.Stamp) float64 {
	t := time.Date(year, time.Month(s.Month), int(s.Day), int(s.Hour), int(s.Minute), int(s.Second), 0, time.UTC)
	return float64(t.Unix()) + float64(s.Nanos)/1e9
}

// resolution is how exactly a stamp of this kind states its instant.
func resolution(s line.Stamp) float64 {
	if s.Nanos != 0 {
		return 0.001
	}
	return 1
}

// at gives the moment of a stamp written on a node.
func (c *clock) at(node string, s line.Stamp) Moment {
	t, ok := c.civil(s)
	if !ok {
		return Moment{}
	}
	o, known := c.offsets[clockKey{node, s.Emitter}]
	unc := resolution(s)
	if !known && s.Emitter == line.Collector {
		t -= c.collector
	}
	switch {
	case known:
		unc += o.unc
	case s.Emitter == line.Container && (c.astray[node] || c.zones && !c.together[node]):
		unc += anyZone
	case len(c.offsets) > 1:
		unc += 2 // another machine's clock, not compared with ours: NTP-like skew
	}
	return Moment{T: t + o.shift, Unc: unc, Valid: true}
}

// inferYear proves the year of MonthDay stamps from stamps that state it, if any lies within two days of one.
func inferYear(all dates) (year int, newYear bool) {
	var dec, jan bool
	type md struct{ m, d int }
	monthDays := map[md]bool{}
	for x := range all {
		if x.kind == line.MonthDay {
			dec = dec || x.month == 12
			jan = jan || x.month == 1
			monthDays[md{x.month, x.day}] = true
		}
	}
	years := map[int]int{}
	for x, n := range all {
		if x.kind != line.DateTime && x.kind != line.Zoned {
			continue
		}
		t := time.Date(x.year, time.Month(x.month), x.day, 0, 0, 0, 0, time.UTC)
		for d := -2; d <= 2; d++ {
			u := t.AddDate(0, 0, d)
			if monthDays[md{int(u.Month()), u.Day()}] {
				y := u.Year() // of the day that matches: around New Year not the stamp's own
				if dec && jan && int(u.Month()) == 1 {
					y--
				}
				years[y] += n
				break
			}
		}
	}
	best, n := 0, 0
	for y, k := range years {
		if k > n || (k == n && y < best) {
			best, n = y, k
		}
	}
	return best, dec && jan
}

// anchor is an instant that several nodes are known to share: the start of one collective, or a dump signal that all
// ranks read from the same store key within a second or two.
type anchor struct {
	event string
	node  string
	t     float64
	at    *worker.At
}

const (
	// sameAttempt is within how many seconds all that befalls a job when it hangs is told.
	sameAttempt = 3600.0
	// farthestZones is how far apart two clocks can be for their zones, in seconds: UTC−12 and UTC+14.
	farthestZones = 26 * 3600.0
)

// calibrate finds, for each node's container clock, its whole quarter-hour zone offset and what skew remains, from the
// anchors the nodes share. Nodes without an anchor in common with others keep no entry.
func calibrate(anchors []anchor) map[clockKey]offset {
	byEvent := map[string]map[string][]float64{}
	shown := map[string]map[string]anchor{} // the latest of each node
	for _, a := range anchors {
		if byEvent[a.event] == nil {
			byEvent[a.event], shown[a.event] = map[string][]float64{}, map[string]anchor{}
		}
		byEvent[a.event][a.node] = append(byEvent[a.event][a.node], a.t)
		if s := shown[a.event][a.node]; s.at == nil || a.t > s.t {
			shown[a.event][a.node] = a
		}
	}
	events := make([]string, 0, len(byEvent))
	for e := range byEvent {
		for n, ts := range byEvent[e] {
			// Of attempts in one file the last: the same befell each.
			last := slices.Max(ts)
			byEvent[e][n] = slices.DeleteFunc(ts, func(t float64) bool { return t < last-sameAttempt })
		}
		if len(byEvent[e]) > 1 {
			events = append(events, e)
		}
	}
	// The event seen by most nodes first: it ties most clocks at once.
	sort.Slice(events, func(i, j int) bool {
		a, b := len(byEvent[events[i]]), len(byEvent[events[j]])
		if a != b {
			return a > b
		}
		return events[i] < events[j]
	})
	out := map[clockKey]offset{}
	for _, e := range events {
		nodes := slices.Sorted(maps.Keys(byEvent[e]))
		med := map[string]float64{}
		var known []float64
		for _, n := range nodes {
			m := robust.Median(byEvent[e][n])
			med[n] = m
			if o, done := out[clockKey{n, line.Container}]; done {
				known = append(known, m+o.shift)
			}
		}
		if len(out) > 0 && len(known) == 0 {
			continue // not connected to what is calibrated already
		}
		var base float64
		if len(known) > 0 {
			base = robust.Median(known)
		} else {
			base = commonest(nodes, med)
		}
		ref := shown[e][leading(nodes, med, base)].at
		for _, n := range nodes {
			k := clockKey{n, line.Container}
			if _, done := out[k]; done {
				continue
			}
			delta := med[n] - base
			if math.Abs(delta) > farthestZones {
				continue // no zones are so far apart: it saw another attempt
			}
			quarter := math.Round(delta/900) * 900
			rest := math.Abs(delta - quarter)
			if rest > 300 {
				// Not a zone: this node really saw it at another time, or its clock is far off. Unknown either way.
				out[k] = offset{unc: math.Abs(delta) + 1}
				continue
			}
			out[k] = offset{-quarter, rest + 0.5, shown[e][n].at, ref}
		}
	}
	return out
}

// leading is the node whose clock shows what the reference does, "" where none is within 5 minutes.
func leading(nodes []string, med map[string]float64, base float64) string {
	best, apart := "", 300.0
	for _, n := range nodes {
		if d := math.Abs(med[n] - base); d < apart {
			best, apart = n, d
		}
	}
	return best
}

// startedTogether finds the nodes without an anchor whose logs begin within minutes of those that have one: processes of a job start together,
// and zones are further apart. A log that begins at another time may have been cut, and shows nothing.
func (s *sight) startedTogether(logged map[string]logSpan) map[string]bool {
	const minutes = 300.0
	var tied []float64
	for node, l := range logged {
		if s.Tied(node) {
			tied = append(tied, l.from.T)
		}
	}
	out := map[string]bool{}
	for node, l := range logged {
		if len(tied) > 0 && !s.Tied(node) && math.Abs(l.from.T-robust.Median(tied)) <= minutes {
			out[node] = true
		}
	}
	return out
}

// astray finds the nodes without an anchor whose logs begin hours from that of the node that logged longest, and as far as zones are apart.
func (s *sight) astray(logged map[string]logSpan) map[string]bool {
	var longest logSpan
	for _, l := range logged {
		if d := l.to.T - l.from.T - longest.to.T + longest.from.T; d > 0 || d == 0 && l.from.T < longest.from.T {
			longest = l
		}
	}
	out := map[string]bool{}
	for node, l := range logged {
		apart := math.Abs(l.from.T - longest.from.T)
		zones := apart > hour-endLag && apart < farthestZones && math.Abs(math.Remainder(apart, 900)) <= endLag
		out[node] = zones && !s.Tied(node)
	}
	return out
}

// logSpan is when a node's programs wrote first and last, by the clock of the reference where that is known.
type logSpan struct{ from, to Moment }

func (s *sight) logged(tails []worker.Tail) map[string]logSpan {
	out := map[string]logSpan{}
	for i := range tails {
		for _, at := range []worker.At{tails[i].First, tails[i].Last} {
			if m, node := s.At(at), s.ident.nodeOf(at); m.Valid && node != "" && at.Stamp.Emitter == line.Container {
				out[node] = logSpan{out[node].from.Earliest(m), out[node].to.Latest(m)}
			}
		}
	}
	return out
}

// collectorAhead is what collectors' clocks show more than those of the programs, in seconds, where the files that state both agree: in
// the others, as that of a process which printed nothing but a traceback, it will be the same.
func collectorAhead(tails []worker.Tail) float64 {
	ahead, known := time.Duration(0), false
	for i := range tails {
		switch t := &tails[i]; {
		case !t.Compared:
		case known && t.Ahead != ahead:
			return 0
		default:
			ahead, known = t.Ahead, true
		}
	}
	return ahead.Seconds()
}

// mixed says that containers are known to write in different zones.
func mixed(offsets map[clockKey]offset) bool {
	for k, o := range offsets {
		if k.emitter == line.Container && o.shift != 0 {
			return true
		}
	}
	return false
}

// commonest is the instant of the largest cluster of nodes (within 5 minutes): the zone of the majority is the reference.
func commonest(nodes []string, med map[string]float64) float64 {
	all := make([]float64, 0, len(nodes))
	for _, n := range nodes {
		all = append(all, med[n])
	}
	sort.Float64s(all)
	best, n := 0.0, 0
	from, to := 0, 0
	for _, t := range all {
		for t-all[from] >= 300 {
			from++
		}
		for to < len(all) && all[to]-t < 300 {
			to++
		}
		m := all[from+(to-from-1)/2] // the median
		if to-from > n || (to-from == n && m < best) {
			best, n = m, to-from
		}
	}
	return best
}

// Format writes a moment as the report does: RFC 3339 without zone, and without the year while it is not proven.
func (f *Facts) Format(m Moment) *string {
	if !m.Valid {
		return nil
	}
	t := time.Unix(int64(math.Floor(m.T)), 0).UTC()
	s := t.Format("2006-01-02T15:04:05")
	if !f.YearProven {
		s = s[5:]
	}
	return &s
}

// Uncertainty is the report's form of a moment's uncertainty: seconds, one decimal.
func Uncertainty(m Moment) *float64 {
	if !m.Valid {
		return nil
	}
	u := max(math.Round(m.Unc*10)/10, 0.1)
	return &u
}

func stampOf(at worker.At) line.Stamp {
	if at.Stamp.Kind != line.NoStamp {
		return at.Stamp
	}
	return line.Stamp{}
}

// endLag is how long after the last line of a job's processes SLURM's ending is printed, at most, for the distance
// between the two to be read as zones: a longer silence could be a hang of that length.
const endLag = 30.0

// endGrace is how long a job's processes may print after the scheduler has told them to end: KillWait is 30 s by default, and sites give
// some minutes for a last save.
const endGrace = 600.0

// slurmClocks finds the zone of SLURM's own stamps. slurmstepd writes the node's local time while containers often
// run in UTC, into the same file: an ending that stands right below a stamped line of the job and is a whole number of
// quarter-hours away from it, give or take seconds, is in another zone.
func (s *sight) slurmClocks(obs *worker.Observations) map[clockKey]offset {
	last := map[string]stamped{} // file → latest container stamp
	var latest stamped           // of all files
	for _, t := range obs.Tails {
		for _, at := range []worker.At{t.First, t.Last} {
			if at.Stamp.Emitter == line.Container {
				last[t.File] = last[t.File].or(s.At(at), at)
			}
		}
		for i := range t.Writers {
			if w := &t.Writers[i]; w.Last.Stamp.Emitter == line.Container {
				at := w.At(t.File, w.Last)
				last[t.File] = last[t.File].or(s.At(at), at)
			}
		}
		latest = latest.or(Moment{T: last[t.File].t, Valid: last[t.File].t > 0}, last[t.File].at)
	}
	out := map[clockKey]offset{}
	for i := range obs.Ends {
		e := &obs.Ends[i]
		k := clockKey{s.ident.nodeOf(e.At), line.Slurm}
		t, ok := s.clock.civil(e.Stamp)
		if _, done := out[k]; !ok || done || latest.t == 0 {
			continue
		}
		for _, ref := range []stamped{last[e.File], latest} {
			delta := t - ref.t
			quarter := math.Round(delta/900) * 900
			if quarter != 0 && math.Abs(quarter) < hour {
				continue // no zone is so near to another: it is a silence
			}
			if later := latest.t - (t - quarter); later > endGrace && math.Abs(later-math.Round(later/900)*900) > 2*endLag {
				// The job would have ended long before its last line, and not by as much as zones are apart: the file at hand had
				// said nothing more for that time.
				continue
			}
			if ref.t != 0 && math.Abs(quarter) <= 14*3600 && math.Abs(delta-quarter) <= endLag {
				out[k] = offset{-quarter, endLag, &e.At, &ref.at}
				break
			}
		}
	}
	return out
}

// stamped is a line with a time of its own.
type stamped struct {
	t  float64
	at worker.At
}

// or is the later of two lines.
func (x stamped) or(m Moment, at worker.At) stamped {
	if m.Valid && m.T > x.t {
		return stamped{m.T, at}
	}
	return x
}

// anchors are the instants that nodes share. Only states of the machine are used, never plain log lines.
func (s *sight) anchors(groups []*Group, obs *worker.Observations) []anchor {
	var out []anchor
	add := func(event string, at *worker.At, shift float64) {
		t, ok := s.clock.civil(stampOf(*at))
		if !ok || at.Stamp.Emitter != line.Container {
			return
		}
		out = append(out, anchor{event, s.clockNode(*at), t - shift, at})
	}
	for i := range obs.Dumps {
		if !obs.Dumps[i].Local {
			add("dump", &obs.Dumps[i].At, 0)
		}
	}
	for i := range obs.Signals {
		if obs.Signals[i].Kind == worker.SignalObserved {
			add("dump", &obs.Signals[i].At, 0)
		}
	}
	for _, gr := range groups {
		for _, p := range gr.Pending {
			if p.Work.RanForMS > 0 {
				add("start "+gr.Key+" "+strconv.FormatInt(p.Work.Seq, 10), &p.At, float64(p.Work.RanForMS)/1000)
				add("report", &p.At, 0)
			}
		}
	}
	return out
}

// ShiftedClock is a clock that shows another time than the report gives.
type ShiftedClock struct {
	By line.Emitter
	On []string // nodes, or files of which the node is not known
	// Shift is what is added to its times, in seconds, and Unc its uncertainty.
	Shift, Unc float64
	// Own and Ref are two lines of one moment, by this clock and by the one that the report follows.
	Own, Ref *worker.At
}

// ShiftedClocks are the clocks whose lines the report moves, those of programs first. What is shifted alike is one.
func (s *sight) ShiftedClocks() (out []ShiftedClock) {
	for _, k := range slices.SortedFunc(maps.Keys(s.clock.offsets), clockKey.compare) {
		o := s.clock.offsets[k]
		i := slices.IndexFunc(out, func(c ShiftedClock) bool { return c.By == k.emitter && c.Shift == o.shift })
		switch {
		case o.shift == 0:
			continue
		case i < 0:
			i = len(out)
			out = append(out, ShiftedClock{By: k.emitter, Shift: o.shift, Own: o.own, Ref: o.ref})
		}
		out[i].Unc = max(out[i].Unc, o.unc)
		if k.node != "" {
			out[i].On = append(out[i].On, strings.TrimPrefix(k.node, "file "))
		}
	}
	return out
}

func (k clockKey) compare(o clockKey) int {
	return cmp.Or(cmp.Compare(k.emitter, o.emitter), strings.Compare(k.node, o.node))
}
