package correlate

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// How an episode stands to the job's trouble.
const (
	Cause      = "cause"      // before it, touching its requests, standing out
	Coincident = "coincident" // fails one of these
	Undecided  = "undecided"  // what would decide is missing
)

var rankOf = map[string]int{Cause: 0, Undecided: 1, Coincident: 2}

// Episode is one trouble of the daemons, tested.
type Episode struct {
	Mechanism knowledge.Slug
	ID        string // of the daemon in trouble; "" the cluster
	Disk      Disk   // of the daemon, where its records name one
	Role      string
	Side      string // target, proxy, client, network, backend
	From, To  resolve.Moment
	Standing  string
	Why       string // in one sentence
	Statement string // what happened
	// Direct is true where the daemon's own log shows it.
	Direct bool
	// Strong is true where both sides name the same request, object or address.
	Strong bool
	// Proof are the daemons' records, Touch the client's lines with what they share, Led what it led to among the daemons.
	Proof   []incident.Evidence
	Records []Record
	Touch   []incident.Finding
	Led     []incident.Finding

	from    float64
	t       *trouble
	touched touched
	lines   []meeting // the client's, that meet it
}

// touched is how a rank's own lines meet an episode.
type touched int

const (
	untouched touched = iota
	elsewhere         // its lines name other daemons
	partly            // some of its requests may have wanted what was taken away, others did not
	possibly          // it may have wanted what was taken away long before, which no line names
	byKind            // a failure of this kind at this time, nothing that both name
	byName            // both sides name the same thing
)

// test puts a trouble to the tests of a cause.
func (x *inquiry) test(t *trouble) *Episode {
	e := &Episode{Mechanism: t.mech, ID: t.about, Disk: t.disk(), Direct: t.own, from: t.from, t: t}
	e.Role = x.role(t.about)
	e.Side = sideOf(t, e.Role)
	e.From, e.To = x.job(t.from), x.job(t.to)
	e.Statement = x.statement(t)
	e.Proof, e.Records = x.proof(t), x.firstRecords(t)
	x.consequences(e)
	how, lines := x.touch(t)
	e.touched, e.Strong, e.lines = how, how == byName, lines
	if t.about == "" && e.Strong && !t.takesObjects() { // a daemon that could not answer
		e.ID = x.answered(t, lines)
		e.Role = x.role(e.ID)
	}
	x.touches(e, lines)
	switch {
	case !x.Possible:
		e.Standing, e.Why = Coincident, "other evidence shows what ended the job, and storage doesn't explain it"
	case t.act().takes == ofCopies:
		e.Standing, e.Why = Coincident, "only copies were removed; they are read again from the store behind AIStore"
	case t.relayed != nil:
		e.Standing, e.Why = Cause, "AIStore passed its answer on to "+x.who()
	case !x.clock.Known():
		e.Standing, e.Why = Undecided, "can't tell whether it came first: "+x.clock.Words()
	case !x.Stall.Valid:
		e.Standing, e.Why = Undecided, "the start of the job's trouble is unknown"
	case x.later(e):
		e.Standing, e.Why = Coincident, fmt.Sprintf("it began %s after the job's trouble", span(e.From.T-x.Stall.T))
	case x.idle(t):
		e.Standing, e.Why = Coincident, "it shows load, but not that work was delayed or rejected"
	case x.past(t):
		e.Standing, e.Why = Coincident, fmt.Sprintf("it was over %s before the job's trouble began", span(x.Stall.T-e.To.T))
	case x.survived(t):
		e.Standing, e.Why = Coincident, fmt.Sprintf("the job ran %d more steps after it was over", x.stepsAfter(t))
	case x.usual(t):
		e.Standing, e.Why = Coincident, "it isn't unusual: the same happened in the 30 min before"
	case how == elsewhere:
		e.Standing, e.Why = Coincident, "the requests from "+x.who()+" went to other daemons"
	case how == partly:
		e.Standing, e.Why = Coincident, "only some of the failed requests from "+x.who()+" were for what was removed"
	case how == possibly:
		e.Standing, e.Why = Undecided, fmt.Sprintf("it happened %s earlier, and the records don't show which objects were affected", span(x.Stall.T-e.To.T))
	case how == untouched:
		e.Standing, e.Why = Coincident, "nothing links it to requests from "+x.who()
	default:
		e.Standing = Cause
		e.Why = "it began before the job's trouble, affected requests from " + x.who() + ", and was unusual compared with the 30 min before"
	}
	return e
}

// who names the ranks that the question is about.
func (x *inquiry) who() string {
	switch len(x.Ranks) {
	case 0:
		return "the job"
	case 1:
		return fmt.Sprintf("rank %d", x.Ranks[0])
	}
	return fmt.Sprintf("the %d ranks in question", len(x.Ranks))
}

// later says that an episode began after the job's trouble. Those who ask in vain say nothing for a while; where both sides tell of
// one request, it had failed before either told.
func (x *inquiry) later(e *Episode) bool {
	patience := e.Mechanism.Trouble().Patience
	one := func(l meeting) bool {
		return slices.ContainsFunc(l.common, func(m Mark) bool { return m.Kind == Work })
	}
	if slices.ContainsFunc(e.lines, one) {
		const waits = 60.0 // a client, until it tells
		patience = max(patience, waits)
	}
	return e.From.T-patience > x.Stall.T+e.From.Unc+x.Stall.Unc
}

// past says that a trouble had ended too long before the stall to be its cause.
func (x *inquiry) past(t *trouble) bool {
	if t.takesObjects() {
		return false // until they are given back
	}
	margin := apart
	if t.down != nil && t.down.orderly {
		margin = apart / 2
	}
	return x.Stall.T-(t.over()+x.clock.Shift) > margin
}

// over is when a trouble and what it led to had ended.
func (t *trouble) over() float64 {
	to := t.to
	for _, l := range t.led {
		if l.from <= to+follows {
			to = max(to, l.to)
		}
	}
	return to
}

// readAhead is more steps than loaders have read ahead of: a job that reports so many has read since.
const readAhead = 64

// survived says that the job went on for long after a trouble. What is still away may be missed at any step.
func (x *inquiry) survived(t *trouble) bool {
	away := t.down != nil && math.IsInf(t.down.to, 1)
	return !away && !t.takesObjects() && x.stepsAfter(t) >= readAhead
}

// stepsAfter counts the steps that came after a trouble. Load goes on for long; what it held up does not.
func (x *inquiry) stepsAfter(t *trouble) int {
	return x.Facts.StepsSince(x.job(t.heldUntil(t.over())))
}

// heldUntil is when a trouble last held requests up: its end, or of load the last moment at which requests felt it.
func (t *trouble) heldUntil(end float64) float64 {
	if !t.mech.Is(knowledge.LoadAlone) {
		return end
	}
	last := t.from
	for _, p := range t.points {
		if p.felt() {
			last = max(last, p.t)
		}
	}
	return last
}

// idle says that a trouble is load and nothing else: no batch was rejected or delayed, no request took long.
func (x *inquiry) idle(t *trouble) bool {
	return t.mech.Is(knowledge.LoadAlone) && !slices.ContainsFunc(t.points, point.felt)
}

// felt says that requests took long, or were rejected or delayed.
func (p point) felt() bool {
	return p.line != nil || p.event != nil && slices.Contains(rejects, p.event.Kind)
}

// rejects are the kinds of records by which a daemon rejected or delayed what was asked of it.
var rejects = []aislog.Kind{aislog.BatchRejected, aislog.BatchThrottled, aislog.LimitReached}

// usual says that the stretch before the stall holds no more of it than what lies before that: it has been so for long.
func (x *inquiry) usual(t *trouble) bool {
	asked := t.action != "" && t.action != countedDeletion
	if once := t.stall != nil || t.down != nil || t.still != nil || t.hangs != nil; once || asked {
		return false
	}
	stall := x.Stall.T - x.clock.Shift
	const recent = 300.0
	now, before := 0, 0
	count := func(list []point) {
		for _, p := range list {
			switch {
			case p.t > stall+late:
			case p.t > max(stall-recent, t.from-1):
				now += p.n
			case p.t > stall-recent-lookBack:
				before += p.n
			}
		}
	}
	count(t.points)
	count(t.earlier)
	if before == 0 {
		return false
	}
	length := max(60, min(recent, stall-t.from))
	return float64(now)/length <= 3*float64(before)/lookBack
}

// touch finds how the lines of the ranks in question meet a trouble.
func (x *inquiry) touch(t *trouble) (touched, []meeting) {
	marks := x.marks(t)
	how := untouched
	var out []meeting
	other, hits, misses := false, 0, 0
	for i := range x.lines {
		c := &x.lines[i]
		if !x.asked(c) || !x.timely(c, t) {
			continue
		}
		as, m, apart := x.meet(t, c, marks)
		how, other = max(how, as), other || apart
		wanted := t.wanted(c)
		switch {
		case m != nil:
			out = append(out, *m)
			hits += count(wanted)
		default:
			misses += count(wanted)
		}
	}
	switch {
	case hits > 0 && (misses > hits || how < byName && other):
		return partly, out
	case misses > 0 && hits == 0, how < byName && other && (t.about != "" && !t.mech.Is(knowledge.Wide) || t.takesObjects()):
		return elsewhere, nil
	}
	return how, out
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// asked says that a line is of a rank in question, or of none, and was not got over.
func (x *inquiry) asked(c *Client) bool {
	return !c.Over && (len(x.Ranks) == 0 || slices.Contains(x.Ranks, c.Rank) || c.Rank == resolve.NoRank)
}

// lastWord says that the last thing the ranks in question tell is a failed request of the store, before a step or while the others waited for
// it; "" where nothing failed: daemons that write nothing of it may have been too slow, or out of reach. That an object is not there is an answer.
func (x *inquiry) lastWord(a *Answer) string {
	var last *Client
	for i := range x.lines {
		c := &x.lines[i]
		if !c.ours || !c.failed() || !c.T.Valid {
			continue
		}
		if ended := x.asked(c) && x.Facts.StepsSince(c.T) == 0; !ended && !x.waited(c) {
			continue
		}
		if last = c; missed(c) {
			return ""
		}
	}
	if last == nil {
		return ""
	}
	a.Goes = append([]incident.Evidence{clientQuote(last)}, a.Goes...)
	return fmt.Sprintf("a request from %s failed and no step followed, but the daemons' logs don't mention it", x.who())
}

// waited says that a line of a rank that is proven to have held the others was told while they waited for it: whatever it did afterwards, this
// request was part of the wait.
func (x *inquiry) waited(c *Client) bool {
	return x.Stall.Valid && x.GaveUp.Valid && c.T.T >= x.Stall.T && c.T.T <= x.GaveUp.T && slices.Contains(x.Ranks, c.Rank)
}

// meet is how one line meets a trouble; nil where it does not. other says that it was about something else.
func (x *inquiry) meet(t *trouble, c *Client, marks map[Mark]*aislog.Event) (how touched, m *meeting, other bool) {
	var common []Mark
	for _, k := range c.Marks {
		if marks[k] != nil {
			common = append(common, k)
		}
	}
	names, others := x.about(t, c)
	switch {
	case t.wanted(c):
		return x.taken(t, c, common)
	case knowledge.Relayed(c.Text):
		if t.fromBehind() {
			return byName, &meeting{c, common, true}, false
		}
		return untouched, nil, false // the answer is not this cluster's own
	case x.away(t, c):
		return byName, &meeting{c, common, true}, false
	case x.misplaced(t, c):
		return untouched, nil, true
	case missed(c) && !t.loses() && !slices.ContainsFunc(common, func(m Mark) bool { return m.Kind < Address }):
		return untouched, nil, false // who is slow or refuses still has what it is asked for
	case x.denied(t, c) && !slices.ContainsFunc(common, func(m Mark) bool { return m.Kind < Address }):
		return untouched, nil, false // who was told that it may not was answered, whoever was asked
	case names, slices.ContainsFunc(common, func(m Mark) bool { return m.Kind <= Address }), len(common) > 0 && t.mech.Trouble().Side == knowledge.ClientSide:
		return byName, &meeting{c, common, true}, false
	case others:
		return untouched, nil, true
	case (c.ours || len(common) > 0) && x.fitsAny(t, c):
		return byKind, &meeting{c, common, false}, false
	}
	return untouched, nil, false
}

// denied says that a client was told that its request is wrong or not allowed, of which a trouble is no reason. Who is overloaded
// (429), or waited too long (408), says so; what is missing (404) is another matter.
func (x *inquiry) denied(t *trouble, c *Client) bool {
	_, rest, ok := strings.Cut(c.Text, "STATUS:4")
	if !ok || len(rest) < 2 || slices.Contains([]string{"04", "08", "29"}, rest[:2]) {
		return false
	}
	return !x.fitsAny(t, c)
}

// about says whether a line names the daemon of a trouble, and whether it names another target. What is missing concerns the target
// where it belongs, whoever was asked in its place.
func (x *inquiry) about(t *trouble, c *Client) (it, others bool) {
	if home := x.home(c.object()); t.down == nil && missed(c) && home != "" {
		return home == t.about, home != t.about
	}
	if id := x.servedBy(c); id != "" {
		return id == t.about && x.lasted(t, c), id != t.about && x.role(t.about) == string(aislog.Target)
	}
	for _, m := range c.Marks {
		switch id := x.names[m.Value]; {
		case m.Kind == Node && m.Value == t.about, m.Kind == Address && id == t.about && id != "":
			it = true
		case m.Kind == Node, m.Kind == Address && id != "" && x.role(id) == string(aislog.Target):
			others = true
		}
	}
	return it, others
}

// taken is how a line that missed something meets what took objects away.
func (x *inquiry) taken(t *trouble, c *Client, common []Mark) (touched, *meeting, bool) {
	switch m := x.reaches(t, c); {
	case m == otherwise:
		return untouched, nil, true
	case m != taken && x.old(t, c):
		return possibly, &meeting{c, common, false}, false
	case m == unsaid:
		return byKind, &meeting{c, common, false}, false
	}
	return byName, &meeting{c, common, true}, false
}

// loses says that objects may be missing because of a trouble.
func (t *trouble) loses() bool {
	return t.mech.Is(knowledge.OfItem) || slices.Contains(t.mech.Trouble().LeadsTo, missing)
}

// away says that a client's line misses an object of a target that was not there: others were asked for it meanwhile.
func (x *inquiry) away(t *trouble, c *Client) bool {
	const joins = 60.0 // until it is a member again, and has its objects
	return t.down != nil && missed(c) && x.home(c.object()) == t.about && (!x.clock.Known() || !c.T.Valid || c.T.T <= t.down.to+x.clock.Shift+x.clock.Unc+c.T.Unc+joins)
}

// misplaced says that a client's line misses an object that does not belong at the target in trouble: who is asked in place of
// another does not have it, and reports that.
func (x *inquiry) misplaced(t *trouble, c *Client) bool {
	if !missed(c) || x.role(t.about) != string(aislog.Target) {
		return false
	}
	home := x.home(c.object())
	return home != "" && home != t.about
}

// answered is a daemon whose record of a trouble of the cluster names the same thing as a client's line, the first by name.
func (x *inquiry) answered(t *trouble, lines []meeting) string {
	out := ""
	for _, u := range append([]*trouble{t}, t.led...) {
		for _, p := range u.points {
			if p.event == nil || x.role(x.self(p.d)) != string(aislog.Target) {
				continue
			}
			marks := x.marksOf(p.event)
			same := func(m Mark) bool { return m.Kind <= Breach && slices.Contains(marks, m) }
			for _, l := range lines {
				if id := x.self(p.d); l.firm && (out == "" || id < out) && slices.ContainsFunc(l.common, same) {
					out = id
				}
			}
		}
	}
	return out
}

// meeting is a client's line that meets a trouble, with what both name.
type meeting struct {
	c      *Client
	common []Mark
	firm   bool
}

// timely says that a client's line stands where the trouble could have made it: not before it, and not long after.
func (x *inquiry) timely(c *Client, t *trouble) bool {
	if !x.clock.Known() {
		return true
	}
	if !c.T.Valid {
		return c.At.Stamp.Kind == 0 // where it stands in time no line tells
	}
	to := t.to
	for _, l := range t.led {
		to = max(to, l.to)
	}
	end := math.Inf(1)
	if e := x.Facts.Job.End; e.Valid {
		end = max(e.T, x.Stall.T) + after
	}
	if t.takesObjects() {
		to = t.back + 10 - follows
	}
	return c.T.T >= t.from+x.clock.Shift-x.clock.Unc-c.T.Unc-2 && c.T.T <= min(end, to+x.clock.Shift+follows+x.clock.Unc+c.T.Unc)
}

// marks are what the records of a trouble, and of what it led to, name.
func (x *inquiry) marks(t *trouble) map[Mark]*aislog.Event {
	out := map[Mark]*aislog.Event{}
	add := func(u *trouble) {
		for _, p := range u.points {
			if p.event == nil {
				continue
			}
			for _, m := range x.marksOf(p.event) {
				if m.Kind != Node && out[m] == nil && (m.Kind != Address || x.names[m.Value] == t.about) {
					out[m] = p.event
				}
			}
		}
	}
	add(t)
	for _, l := range t.led {
		add(l)
	}
	return out
}

// fitsAny also asks what a trouble led to: who takes a target away, or damages what it holds, breaks the batches that it serves. What
// load leads to shows by itself.
func (x *inquiry) fitsAny(t *trouble, c *Client) bool {
	leads := t.action != "" || !t.mech.Is(knowledge.LoadAlone)
	return fits(t.mech, c) || leads && slices.ContainsFunc(t.led, func(l *trouble) bool { return fits(l.mech, c) })
}

// fits says that a client's failure is of the kind that a mechanism makes.
func fits(mech knowledge.Slug, c *Client) bool {
	t := mech.Trouble()
	return slices.Contains(t.Faults, c.Fault) || slices.ContainsFunc(t.Words, func(w string) bool { return strings.Contains(c.Text, w) })
}

// single decides between causes: what only fits by its kind is no cause beside what both sides name, nor beside another one.
func (x *inquiry) single(a *Answer) {
	var firm, loose []*Episode
	for _, e := range a.Episodes {
		switch {
		case e.Standing != Cause:
		case e.Strong:
			firm = append(firm, e)
		default:
			loose = append(loose, e)
		}
	}
	demote := func(list []*Episode, standing, why string) {
		for _, e := range list {
			e.Standing, e.Why = standing, why
		}
	}
	switch {
	case len(firm) > 0:
		demote(loose, Coincident, "the failed requests point to another cause")
		first := firm[0]
		for _, e := range firm[1:] {
			if x.earlier(e, first) {
				first = e
			}
		}
		for _, e := range firm {
			if !oneRow(first.t, e.t) && x.clearlyEarlier(first, e) {
				e.Standing, e.Why = Coincident, "another storage problem that the same requests point to came first"
			}
		}
	case x.clock.Proof != Proven || slices.ContainsFunc(loose, func(e *Episode) bool { return !oneRow(loose[0].t, e.t) }):
		demote(loose, Undecided, "a failure of this kind happened at this time, but nothing on both sides links them")
	}
}

// oneRow says that two troubles are restarts of one row.
func oneRow(a, b *trouble) bool { return a == b || slices.Contains(a.row, b) }

// earlier says which of two causes is told first.
func (x *inquiry) earlier(a, b *Episode) bool {
	if items := b.Mechanism.Is(knowledge.OfItem); a.Mechanism.Is(knowledge.OfItem) != items {
		return items
	}
	return a.from < b.from
}

// clearlyEarlier says that a began well before b, or that b is what others make of a.
func (x *inquiry) clearlyEarlier(a, b *Episode) bool {
	return b.from-a.from > 5 || b.Mechanism.Is(knowledge.OfItem) && !a.Mechanism.Is(knowledge.OfItem)
}

// sideOf is on which side of a request a trouble lies.
func sideOf(t *trouble, role string) string {
	side := t.mech.Trouble().Side
	switch {
	case side != "":
		return string(side)
	case t.fromBehind():
		return remoteSide
	case role == string(aislog.Proxy):
		return "proxy"
	}
	return "target"
}

func span(sec float64) string {
	switch {
	case sec >= 5400:
		return fmt.Sprintf("%.1f h", sec/3600)
	case sec >= 120:
		return fmt.Sprintf("%.0f min", sec/60)
	}
	return fmt.Sprintf("%.0f s", max(sec, 0))
}
