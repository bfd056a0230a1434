// Package correlate relates what the daemons of a storage cluster wrote to what a job's own logs show: how their clocks
// relate, which of the daemons' troubles came before the job's trouble, touched its requests and stood out, and which only
// happened at about the same time. It judges; what the judgement means for the verdict is decided elsewhere.
package correlate

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"faultline/analysis/aislog"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// Question is what the job's own logs ask of the daemons'.
type Question struct {
	Facts *resolve.Facts
	// Ranks held the others or failed first; nil where nobody is proven to: then everybody's lines count.
	Ranks []int
	// Stall is when they no longer came, or failed.
	Stall resolve.Moment
	// Hang is true where others waited for them until a time-out: requests then stop at the stall, not at the job's end.
	Hang bool
	// GaveUp is when the first of those who waited for them gave up, where others did.
	GaveUp resolve.Moment
	// Possible is true where what the job's logs show may be the store's doing at all.
	Possible bool
	// Done is true where the job is seen to have done what it was to do: nothing that was met stopped it. Unsure is true where nothing
	// is known to have failed and it did not: it became slower, or its lines stop.
	Done, Unsure bool
}

// Judgements.
const (
	Implicated = "implicated"
	Cleared    = "cleared"
	Open       = "open"
)

// Answer is what the daemons' logs say to it.
type Answer struct {
	Clock     Clock
	Judgement string
	Why       string // in one sentence
	// From and To bound what was looked at, by the job's clock.
	From, To resolve.Moment
	// Covered is true where every known daemon's log covers the window; Missing says what does not.
	Covered bool
	Missing []string
	// Episodes are the daemons' troubles, causes first.
	Episodes []*Episode
	Daemons  []string // whose logs were read
	// Compared are the counters of those whose clock is related to the job's.
	Compared map[*aislog.Daemon]*Comparison
	// Goes are last lines of targets: their logs go on to there.
	Goes []incident.Evidence
}

// Causes are the episodes that pass every test.
func (a *Answer) Causes() []*Episode {
	var out []*Episode
	for _, e := range a.Episodes {
		if e.Standing == Cause {
			out = append(out, e)
		}
	}
	return out
}

// Blamed are the daemons that the causes point at, by id. Of several that only fit by their kind none is: which of them it was is
// not known. A token that ran out is no daemon's fault.
func (a *Answer) Blamed() []string {
	var out []string
	causes := a.Causes()
	for _, e := range causes {
		known := e.Strong || len(causes) == 1
		if known && e.ID != "" && e.Side != string(knowledge.ClientSide) && !slices.Contains(out, e.ID) {
			out = append(out, e.ID)
		}
	}
	return out
}

const (
	// lookBack is what is compared: the half hour before the stall, and what led up to it.
	lookBack = 1800.0
	// apart is the pause after which records of one kind are another episode.
	apart = 600.0
	// after is how long after the last line of a job what happened may still belong to its end.
	after = 300.0
)

// Inquire answers. It is nil where there are no daemons.
func Inquire(q Question) *Answer {
	if len(q.Facts.Daemons) == 0 {
		return nil
	}
	lines := clients(q.Facts)
	lines = q.alone(lines)
	q.since(lines)
	var out *Answer
	for _, members := range clusters(q.Facts.Daemons) {
		x := &inquiry{Question: q, daemons: members, lines: lines}
		out = better(out, x.answer())
	}
	return out
}

// foreign is from which uncertainty on a time is that of a clock in a zone which nothing ties to the others of the job.
const foreign = 20 * 3600.0

// alone keeps to the clock of the ranks in question where nothing ties it to the others' of the job: their own lines then say
// when their trouble began, too.
func (q *Question) alone(lines []Client) []Client {
	own := func(c *Client) bool { return c.T.Valid && c.T.Unc >= foreign && slices.Contains(q.Ranks, c.Rank) }
	if !slices.ContainsFunc(lines, func(c Client) bool { return own(&c) }) {
		return lines
	}
	var out []Client
	first := resolve.Moment{}
	for i := range lines {
		if c := lines[i]; own(&c) {
			c.T.Unc = 1
			if !first.Valid || c.T.T < first.T {
				first = c.T
			}
			out = append(out, c)
		}
	}
	if q.Stall.Unc >= foreign {
		q.Stall.Unc = 1
	} else {
		q.Stall = first
	}
	q.Hang = false
	return out
}

// since moves the stall back to when the ranks in question first met what they failed of in the end: the first line about the
// same request after which no step came.
func (q *Question) since(lines []Client) {
	if !q.Stall.Valid {
		return
	}
	const again = 60.0 // how long a client waits at most before it tries again
	wanted := map[Mark]bool{}
	for i := len(lines) - 1; i >= 0; i-- {
		c := &lines[i]
		if !q.asks(c) || c.T.T < q.Stall.T-again || c.T.T > q.Stall.T+again {
			continue
		}
		for _, m := range c.Marks {
			if m.Kind <= Object {
				wanted[m] = true
			}
		}
	}
	first := q.Stall
	for i := range lines {
		c := &lines[i]
		if q.asks(c) && c.T.T < first.T && q.Stall.T-c.T.T <= lookBack && slices.ContainsFunc(c.Marks, func(m Mark) bool { return wanted[m] }) && q.Facts.StepsSince(c.T) == 0 {
			first = c.T
		}
	}
	q.Stall = first
}

// asks says that a line is one of a rank in question about a request that failed, with a time of its own.
func (q *Question) asks(c *Client) bool {
	return c.T.Valid && c.T.Unc <= 5 && !c.Over && (c.ours || c.Fault != "") && (len(q.Ranks) == 0 || slices.Contains(q.Ranks, c.Rank))
}

// better is the answer that says more: of several clusters the one that the job's trouble came from; it is cleared only
// where all are.
func better(a, b *Answer) *Answer {
	if a == nil {
		return b
	}
	weight := map[string]int{Implicated: 2, Open: 1, Cleared: 0}
	if weight[b.Judgement] > weight[a.Judgement] || weight[b.Judgement] == weight[a.Judgement] && weighs(b.Clock.Proof) > weighs(a.Clock.Proof) {
		a, b = b, a
	}
	a.Daemons = append(a.Daemons, b.Daemons...)
	slices.Sort(a.Daemons)
	maps.Copy(a.Compared, b.Compared)
	return a
}

// clusters puts the daemons of each cluster together. Those whose cluster is not known belong to the only one there is.
func clusters(all []aislog.Daemon) [][]*aislog.Daemon {
	by := map[string][]*aislog.Daemon{}
	for i := range all {
		by[all[i].Cluster] = append(by[all[i].Cluster], &all[i])
	}
	if unknown := by[""]; len(by) == 2 && len(unknown) > 0 {
		for id := range by {
			if id != "" {
				by[id] = append(by[id], unknown...)
				delete(by, "")
			}
		}
	}
	ids := make([]string, 0, len(by))
	for id := range by {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	var out [][]*aislog.Daemon
	for _, id := range ids {
		out = append(out, by[id])
	}
	return out
}

// inquiry is one cluster under examination.
type inquiry struct {
	Question
	daemons []*aislog.Daemon
	lines   []Client
	clock   Clock
	names   map[string]string    // address → id of the daemon that listens there
	slow    [][]slowLine         // by daemon
	cuts    []point              // see cutAnswers
	batches map[batchRecord]bool // that targets' own logs tell of
	all     []*trouble           // of the daemons, by their common clock
	known   *members
	marked  map[*aislog.Event][]Mark
}

// wall is what a daemon's clock showed, in seconds, brought to the common clock of the cluster.
func (x *inquiry) wall(d int, t aislog.Time) (float64, bool) {
	if t.IsZero() || t.Proof == aislog.NoDay {
		return 0, false
	}
	return x.seconds(t.Wall) + x.clock.rel[d].shift, true
}

// seconds gives a wall-clock time the year that the job's own times have, where these do not state theirs.
func (x *inquiry) seconds(t time.Time) float64 {
	if end := x.Facts.Job.End; !x.Facts.YearProven && end.Valid {
		ref := time.Unix(int64(end.T), 0).UTC()
		u := t.AddDate(ref.Year()-t.Year(), 0, 0)
		switch d := u.Sub(ref); {
		case d > 180*24*time.Hour:
			u = t.AddDate(ref.Year()-1-t.Year(), 0, 0)
		case d < -180*24*time.Hour:
			u = t.AddDate(ref.Year()+1-t.Year(), 0, 0)
		}
		t = u
	}
	return float64(t.UnixMicro()) / 1e6
}

// job turns a time of the cluster's common clock, which is known to half a second, into one of the job's.
func (x *inquiry) job(wall float64) resolve.Moment {
	return resolve.Moment{T: wall + x.clock.Shift, Unc: 0.5 + x.clock.Unc, Valid: x.clock.Known()}
}

// self is how the daemon is called by others.
func (x *inquiry) self(d int) string {
	if id := x.daemons[d].ID; id != "" {
		return id
	}
	return x.daemons[d].Name()
}

// find is the daemon of an id, −1 where its logs are not at hand.
func (x *inquiry) find(id string) int {
	return slices.IndexFunc(x.daemons, func(d *aislog.Daemon) bool { return d.ID == id && id != "" })
}

func (x *inquiry) answer() *Answer {
	x.listen()
	x.relate()
	x.all = x.troubles()
	x.tie()
	x.all = append(x.all, x.unended()...)
	if t := x.behind(); t != nil {
		x.all = append(x.all, t)
	}
	a := &Answer{Clock: x.clock, Compared: x.compare()}
	for i := range x.daemons {
		a.Daemons = append(a.Daemons, x.self(i))
	}
	slices.Sort(a.Daemons)
	if x.Stall.Valid {
		a.From, a.To = x.Stall.Add(-lookBack), x.Stall
		if end := x.Facts.Job.End; end.Valid && end.T > a.To.T {
			a.To = end
		}
	}
	roots := x.roots()
	for _, r := range roots {
		a.Episodes = append(a.Episodes, x.test(r))
	}
	x.single(a)
	slices.SortStableFunc(a.Episodes, func(p, q *Episode) int {
		return cmp.Or(cmp.Compare(rankOf[p.Standing], rankOf[q.Standing]), cmp.Compare(p.from, q.from), strings.Compare(string(p.Mechanism), string(q.Mechanism)), strings.Compare(p.ID, q.ID))
	})
	x.coverage(a)
	x.judge(a)
	return a
}

// listen learns where each daemon listens, from itself and from others' requests to it.
func (x *inquiry) listen() {
	x.names = map[string]string{}
	add := func(addr, id string) {
		if old, seen := x.names[addr]; seen && old != id {
			id = "" // two share it: it names nobody
		}
		x.names[addr] = id
	}
	for _, d := range x.daemons {
		for _, a := range d.Addresses {
			if d.ID != "" {
				add(a, d.ID)
			}
		}
	}
	for _, d := range x.daemons {
		for i := range d.Groups {
			g := &d.Groups[i]
			for k := range g.Events {
				if e := &g.Events[k]; e.Address != "" && e.Peer != "" {
					if _, known := x.names[e.Address]; !known {
						x.names[e.Address] = e.Peer
					}
				}
			}
		}
	}
}

func finding(statement string, ev ...incident.Evidence) incident.Finding {
	if ev == nil {
		ev = []incident.Evidence{}
	}
	return incident.Finding{Statement: statement, Evidence: ev}
}
