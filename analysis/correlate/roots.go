package correlate

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"faultline/analysis/aislog"
	"faultline/knowledge"
)

// causes says that b is what one would see because of a.
func (x *inquiry) causes(a, b *trouble) bool {
	if a == b || !slices.Contains(a.mech.Trouble().LeadsTo, b.mech) {
		return false
	}
	if a.action != "" && !x.explains(a, b) {
		return false
	}
	if x.idle(a) && !slices.ContainsFunc(a.points, func(p point) bool { return p.event != nil && p.event.Kind == aislog.MemoryPressure }) {
		return false // a busy processor breaks nothing by itself
	}
	if a.down != nil && a.down.orderly && b.mech.Is(knowledge.Outage) {
		return false
	}
	if b.down != nil && a.about != b.about {
		return false // why a daemon ended lies on its own machine, however loaded others were
	}
	leads := a.mech.Trouble()
	const slack = 3.0
	if a.from > b.from+max(slack, leads.Delay) || b.from > a.to+follows {
		return false
	}
	if a.mech.Is(knowledge.Strain) && b.from-a.from > lookBack {
		return false // it had been so for long without that
	}
	if a.about == b.about || a.mech.Is(knowledge.Wide) {
		return true
	}
	if leads.Spreads > 0 && b.from-a.from <= leads.Spreads {
		return true // a batch is put together from all targets
	}
	if b.mech.Is(knowledge.ToldByPeers) && x.toldBy(b) == a.about {
		return true // who is in trouble itself complains of others, and nobody else does
	}
	if b.mech.Is(knowledge.OwnDoing) {
		return false // what happens to another daemon is no consequence of this one's trouble
	}
	// What the other says names this daemon.
	return slices.ContainsFunc(b.points, func(p point) bool {
		return p.event != nil && (p.event.Peer == a.about || slices.Contains(x.marksOf(p.event), Mark{Node, a.about}))
	})
}

// explains says that an act leads to a trouble: batches of the same bucket come short, a daemon that was told to leave
// leaves.
func (x *inquiry) explains(a, b *trouble) bool {
	switch a.act().takes {
	case ofBucket, ofCopies:
		if a.action == countedDeletion && (x.usual(a) || !x.missing(a)) {
			return false // objects come and go all the time
		}
		taken, short := a.bucket(), b.bucket()
		return taken.name == "" || short.name == "" || taken == short
	case ofTarget, ofPath:
		return b.down == nil || b.about == a.about
	}
	return false
}

// roots are the troubles that follow from no other, each with what it led to.
func (x *inquiry) roots() []*trouble {
	all := x.all
	slices.SortStableFunc(all, func(a, b *trouble) int {
		return cmp.Or(cmp.Compare(a.from, b.from), strings.Compare(string(a.mech), string(b.mech)), strings.Compare(a.about, b.about))
	})
	const most = 400 // of all that is in the logs; more are of no use to anybody
	all = all[:min(len(all), most)]
	x.inRows(all)
	for _, b := range all {
		for _, a := range all {
			if !x.causes(a, b) || x.causes(b, a) && b.from <= a.from {
				continue
			}
			if b.cause == nil || a.mech.Trouble().Order < b.cause.mech.Trouble().Order || a.mech.Trouble().Order == b.cause.mech.Trouble().Order && math.Abs(a.from-b.from) < math.Abs(b.cause.from-b.from) {
				b.cause = a
			}
		}
	}
	// Who is cut off complains of everybody.
	oneOf(all, knowledge.ToldByPeers, func(a, b *trouble) bool { return x.toldBy(b) == a.about && x.toldBy(a) != b.about })
	// Streams have two ends. Who closed it is named by the sender; the receiver's complaint is its echo.
	oneOf(all, knowledge.TwoEnds, func(a, b *trouble) bool { return sends(a) && !sends(b) })
	var out []*trouble
	for _, t := range all {
		r := t
		for n := 0; r.cause != nil && n < 8; n++ {
			r = r.cause
		}
		if r.cause != nil {
			continue // a circle
		}
		if r == t {
			if t.mech == missing {
				continue
			}
			out = append(out, t)
		} else {
			r.led = append(r.led, t)
		}
	}
	return out
}

// oneOf makes one trouble of two that several daemons tell of at one time: a is the cause of b where it echoes it.
func oneOf(all []*trouble, nature knowledge.Nature, echoes func(a, b *trouble) bool) {
	for _, b := range all {
		if !b.mech.Is(nature) {
			continue
		}
		for _, a := range all {
			open := a.mech == b.mech && a.about != b.about && a.cause == nil && b.cause == nil
			if open && a.from <= b.to+apart && b.from <= a.to+apart && echoes(a, b) {
				b.cause = a
			}
		}
	}
}

// toldBy is the only daemon whose log shows a trouble, "" if several do.
func (x *inquiry) toldBy(t *trouble) string {
	out := ""
	for _, p := range t.points {
		switch id := x.self(p.d); {
		case out == "":
			out = id
		case out != id:
			return ""
		}
	}
	return out
}

// sends says that a stream's trouble is told by who sends: "shared-dm[A=>B] terminated".
func sends(t *trouble) bool {
	return slices.ContainsFunc(t.points, func(p point) bool {
		return p.event != nil && strings.Contains(p.event.Text, "=>"+t.about+"]") && !strings.Contains(p.event.Text, "<=")
	})
}
