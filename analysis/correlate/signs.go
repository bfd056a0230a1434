package correlate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"faultline/analysis/aislog"
	"faultline/analysis/ascii"
	"faultline/knowledge"
)

// point is a moment at which records say something, by the cluster's common clock.
type point struct {
	t     float64
	n     int
	event *aislog.Event // nil: one of many of that minute, which are counted only
	d     int
	line  *aislog.Interval // instead of a record: a line of counters that shows it
}

// trouble is one stretch of one kind of trouble of one daemon.
type trouble struct {
	mech     knowledge.Slug
	about    string // id of the daemon in trouble; "" the cluster
	from, to float64
	points   []point
	// earlier are the records of the same trouble before this stretch.
	earlier []point
	down    *outage
	stall   *aislog.Stall
	still   *standstill
	hangs   *unfinished
	relayed *relayed
	// row are the restarts one after the other that this one belongs to, by time; nil where it is alone.
	row []*trouble
	// action is what an operator asked of the cluster; ordered is the request that a trouble of the cluster follows from.
	action  string
	ordered *trouble
	back    float64 // when it was undone
	// requests are what it is made of, with the objects that each lists; see lists.
	requests map[string]*listing
	own      bool // the daemon's own log shows it
	led      []*trouble
	cause    *trouble
}

// outage is a time in which a daemon was not there: by its own log or, where that is missing, by the records of others.
type outage struct {
	id       string
	from, to float64     // to: when it started anew; +Inf where it did not
	run      *aislog.Run // the life that ended; nil where only others tell
	next     *aislog.Run
	told     []point // the records of others
	orderly  bool
}

// back is when a daemon was there again; for want of that, when it went.
func (o *outage) back() float64 {
	if math.IsInf(o.to, 1) {
		return o.from
	}
	return o.to
}

// about says what a record shows, of which daemon; "" where it shows no trouble by itself: consequences, noise, life.
func (x *inquiry) classify(d int, g *aislog.Group, e *aislog.Event) (mech knowledge.Slug, about string) {
	self, peer := x.self(d), e.Peer
	if peer == "" {
		peer = x.names[e.Address]
	}
	if x.retells(d, e) {
		return "", ""
	}
	refused := strings.Contains(e.Text, "connection refused")
	slow := ascii.Has(e.Text, "deadline exceeded", "i/o timeout", "Client.Timeout")
	switch g.Kind {
	case aislog.OutOfSpace:
		return knowledge.StorageFull, self
	case aislog.DiskFault, aislog.MountpathOff:
		return knowledge.AISDiskFault, self
	case aislog.Corrupt:
		if !strings.Contains(e.Text, "recovered corrupted ") {
			return knowledge.AISDiskFault, self
		}
	case aislog.MemoryPressure, aislog.BatchRejected, aislog.BatchThrottled, aislog.LimitReached:
		return knowledge.AISResourcePressure, self
	case aislog.CPUPressure:
		if strings.Contains(e.Text, "extremely") {
			return knowledge.AISResourcePressure, self
		}
	case aislog.Goroutines:
		if strings.Contains(e.Text, "red alert") {
			return knowledge.AISResourcePressure, self
		}
	case aislog.RateLimited, aislog.RemoteThrottled:
		return knowledge.AISThrottled, self
	case aislog.Refused:
		if !e.Admin() { // of requests for data the record often names no request
			return knowledge.AISAuth, self
		}
	case aislog.Failing:
		return knowledge.AISDaemonRestart, self
	case aislog.PrimaryDown:
		return knowledge.AISDaemonRestart, peer
	case aislog.Removed, aislog.KeepAliveFailed:
		if peer == "" {
			return "", ""
		}
		if refused {
			return knowledge.AISDaemonRestart, peer
		}
		return knowledge.AISNetwork, peer
	case aislog.Unreachable:
		if peer != "" {
			return knowledge.AISDaemonRestart, peer
		}
	case aislog.StreamBroken, aislog.StreamGivenUp:
		switch {
		case peer == "":
		case refused:
			return knowledge.AISDaemonRestart, peer
		default:
			return knowledge.AISStreamBroken, peer
		}
	case aislog.RecoveryFailed:
		switch {
		case refused && peer != "":
			return knowledge.AISDaemonRestart, peer
		case slow && peer != "":
			return knowledge.AISNetwork, peer
		}
		return knowledge.AISBatchObjectLoss, self
	case aislog.BatchAborted:
		switch {
		case refused && peer != "":
			return knowledge.AISDaemonRestart, peer
		case strings.Contains(e.Text, "cluster membership change"):
			return knowledge.AISRebalance, ""
		}
		return knowledge.AISBatchObjectLoss, self
	case aislog.BatchTimedOut, aislog.BatchFailed, aislog.BatchSoftErrors, aislog.BatchAbandoned:
		if refused && peer != "" {
			return knowledge.AISDaemonRestart, peer
		}
		return knowledge.AISBatchObjectLoss, self
	case aislog.BatchIndex:
		return knowledge.AISBatchObjectLoss, self
	case aislog.RebalanceBegan, aislog.RebalanceTrouble:
		return knowledge.AISRebalance, ""
	case aislog.Resilver:
		return knowledge.AISRebalance, self
	case aislog.NotFound:
		return missing, self
	case aislog.RequestError:
		switch {
		case e.Admin():
		case strings.Contains(e.Text, "token expired"):
			return knowledge.AISAuth, self
		case slow && peer != "":
			return knowledge.AISNetwork, peer
		}
	case aislog.Administration:
		switch acts[e.Action].takes {
		case ofNothing:
			if acts[e.Action].says != "" {
				return knowledge.AISAdministration, e.Peer
			}
		case ofBucket, ofRights:
			return knowledge.AISAdministration, ""
		case ofPath:
			return knowledge.AISAdministration, self
		default:
			return knowledge.AISAdministration, e.Peer
		}
	}
	return "", ""
}

// limited says that the operating system refused the witness itself at that time: whom it does not reach then is not to blame.
func (x *inquiry) limited(d int, e *aislog.Event) bool {
	const around = 90 // seconds
	near := func(unix int64) bool { return max(unix-e.Time.Wall.Unix(), e.Time.Wall.Unix()-unix) <= around }
	return slices.ContainsFunc(x.daemons[d].Groups, func(g aislog.Group) bool {
		return g.Kind == aislog.LimitReached &&
			(slices.ContainsFunc(g.Events, func(o aislog.Event) bool { return near(o.Time.Wall.Unix()) }) ||
				slices.ContainsFunc(g.Minutes, func(m aislog.Minute) bool { return near(m.Unix + 30) }))
	})
}

// batchRecord is what a record says of a batch.
type batchRecord struct {
	kind aislog.Kind
	work string
}

// retells says that a proxy tells of a batch what the log of the target that served it tells, too: proxies serve none.
func (x *inquiry) retells(d int, e *aislog.Event) bool {
	if x.daemons[d].Role != aislog.Proxy {
		return false
	}
	if x.batches == nil {
		x.batches = map[batchRecord]bool{}
		for k := range x.daemons {
			if x.daemons[k].Role == aislog.Target {
				x.batchesOf(k)
			}
		}
	}
	return slices.ContainsFunc(x.marksOf(e), func(m Mark) bool { return m.Kind == Work && x.batches[batchRecord{e.Kind, m.Value}] })
}

func (x *inquiry) batchesOf(d int) {
	for i := range x.daemons[d].Groups {
		g := &x.daemons[d].Groups[i]
		for n := range g.Events {
			for _, m := range x.marksOf(&g.Events[n]) {
				if m.Kind == Work {
					x.batches[batchRecord{g.Kind, m.Value}] = true
				}
			}
		}
	}
}

// missing are objects that are not found: noise, unless the cluster was moving them.
const missing = knowledge.NotFound

type troubleKey struct {
	mech   knowledge.Slug
	about  string
	action string
	bucket string
}

// troubles are all stretches of trouble in the daemons' logs.
func (x *inquiry) troubles() []*trouble {
	by := map[troubleKey][]point{}
	for d := range x.daemons {
		for i := range x.daemons[d].Groups {
			x.points(d, &x.daemons[d].Groups[i], by)
		}
	}
	for d := range x.daemons {
		x.slowness(d, by)
		x.deletions(d, by)
	}
	outages := x.outages()
	outages = append(outages, x.absences(outages)...)
	for _, o := range outages {
		k := troubleKey{mech: knowledge.AISDaemonRestart, about: o.id}
		if by[k] == nil {
			by[k] = []point{}
		}
	}
	keys := make([]troubleKey, 0, len(by))
	for k := range by {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b troubleKey) int {
		return cmp.Or(strings.Compare(string(a.mech), string(b.mech)), strings.Compare(a.about, b.about), strings.Compare(a.action, b.action), strings.Compare(a.bucket, b.bucket))
	})
	var out []*trouble
	for _, k := range keys {
		pts := by[k]
		slices.SortStableFunc(pts, func(a, b point) int { return cmp.Or(cmp.Compare(a.t, b.t), cmp.Compare(a.d, b.d)) })
		var list []*trouble
		for i := 0; i < len(pts); {
			j := i + 1
			for j < len(pts) && pts[j].t-pts[j-1].t <= apart {
				j++
			}
			list = append(list, &trouble{mech: k.mech, about: k.about, action: k.action, from: pts[i].t, to: pts[j-1].t, points: pts[i:j:j], earlier: pts[:i]})
			i = j
		}
		if k.mech.Is(knowledge.Outage) {
			list = x.withOutages(list, outages, k.about)
		}
		for _, t := range list {
			t.own = t.own || slices.ContainsFunc(t.points, func(p point) bool { return x.self(p.d) == t.about && p.event != nil })
		}
		out = append(out, list...)
	}
	for _, t := range out {
		x.silent(t)
	}
	out = x.administered(x.stoodStill(out))
	for d := range x.daemons {
		for i := range x.daemons[d].Stalls {
			s := &x.daemons[d].Stalls[i]
			from, ok := x.wall(d, s.From)
			to, ok2 := x.wall(d, s.To)
			if ok && ok2 {
				out = append(out, &trouble{mech: knowledge.AISSilentStall, about: x.self(d), from: x.tickBefore(d, s, from), to: to, stall: s, own: true})
			}
		}
	}
	return out
}

// silent finds out whether batches that waited in vain did so because their daemon received nothing any more: batches ran,
// and its counter of what it receives stood still where it had grown before.
func (x *inquiry) silent(t *trouble) {
	d := x.find(t.about)
	if !t.mech.Is(knowledge.OfItem) || d < 0 || !slices.ContainsFunc(t.points, func(p point) bool { return p.event != nil && p.event.Kind == aislog.BatchTimedOut && p.d == d }) {
		return
	}
	var last, first, end *aislog.Interval // the last one in which it received, and those in which it did not
	ran := 0
	for i := range x.daemons[d].Intervals {
		iv := &x.daemons[d].Intervals[i]
		to, ok := x.wall(d, iv.To)
		if !ok {
			continue
		}
		if iv.Base.File == "" && iv.Of("stream.in.n") == 0 { // a life begins, in which it has received nothing yet
			if to <= t.from+late {
				last, first, end, ran = iv, nil, nil, 0
			}
			continue
		}
		if iv.Of("stream.in.n") > 0 {
			if to > t.from+late {
				break // it goes on
			}
			last, first, end, ran = iv, nil, nil, 0
			continue
		}
		if last == nil {
			continue
		}
		if first == nil {
			first = iv
		}
		if iv.Batches > 0 {
			ran++
		}
		end = iv
	}
	if first == nil || ran == 0 {
		return
	}
	from, ok := x.wall(d, last.From)
	stopped, ok2 := x.wall(d, first.From)
	until, ok3 := x.wall(d, end.To)
	if !ok || !ok2 || !ok3 || until-stopped < late || t.from-stopped > lookBack {
		return
	}
	t.mech, t.from, t.to = knowledge.AISSilentStall, max(from, t.from-apart), max(t.to, until)
	t.stall = &aislog.Stall{Span: aislog.Span{From: first.From, To: end.To}, Begin: first.Base, End: end.At}
}

// tickBefore is when a daemon's counters were last read before a stall was seen to begin: it began since.
func (x *inquiry) tickBefore(d int, s *aislog.Stall, from float64) float64 {
	for i := range x.daemons[d].Intervals {
		if iv := &x.daemons[d].Intervals[i]; iv.At == s.Begin && !iv.Hole {
			if t, ok := x.wall(d, iv.From); ok && from-t <= apart/2 {
				return t
			}
		}
	}
	return from
}

// keyOf is what tells troubles apart: the mechanism, the daemon, and what was done to what.
func keyOf(mech knowledge.Slug, about string, e *aislog.Event) troubleKey {
	k := troubleKey{mech: mech, about: about}
	if mech == "" || e.Action == "" {
		return k
	}
	k.action = e.Action
	if takes := acts[e.Action].takes; takes == ofBucket || takes == ofRights {
		k.bucket = bucketOf(e.Text).String()
	}
	return k
}

// points adds the records of a group to the kinds of trouble that they show.
func (x *inquiry) points(d int, g *aislog.Group, by map[troubleKey][]point) {
	exact := map[int64]int{} // by minute: records that are kept
	var first troubleKey
	for i := range g.Events {
		e := &g.Events[i]
		exact[e.Time.Wall.Unix()/60*60]++
		mech, about := x.classify(d, g, e)
		if about != "" && about != x.self(d) && x.limited(d, e) {
			mech, about = "", ""
		}
		k := keyOf(mech, about, e)
		if i == 0 {
			first = k
		}
		t, ok := x.wall(d, e.Time)
		if mech == "" || !ok {
			continue
		}
		by[k] = append(by[k], point{t: t, n: 1, event: e, d: d})
	}
	if first.mech == "" || g.First().Time.Proof == aislog.NoDay {
		return
	}
	shift := x.seconds(g.First().Time.Wall) - float64(g.First().Time.Wall.UnixMicro())/1e6 + x.clock.rel[d].shift
	for _, m := range g.Minutes {
		if rest := m.Count - exact[m.Unix]; rest > 0 && m.Unix > 0 {
			by[first] = append(by[first], point{t: float64(m.Unix) + 30 + shift, n: rest, d: d})
		}
	}
}

const (
	// late is how much later than its consequence the record of a cause may come: pressure is reported once a minute.
	late = 60.0
	// follows is how long after its last record a trouble still has consequences.
	follows = 600.0
)
