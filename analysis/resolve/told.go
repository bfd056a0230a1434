package resolve

import (
	"fmt"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// told are the lines of watchdogs that tell or are told, and enters at ranks who was told by whom and whose watchdog got stuck. What stands
// before the last attempt began to wait, if there were several, is of earlier ones.
func (s *sight) told(obs *worker.Observations, bygone Moment) (all []Told) {
	earlier := func(at worker.At) bool {
		m := s.At(at)
		return bygone.Valid && m.Valid && m.T < bygone.T
	}
	for i := range obs.Dumps {
		d := &obs.Dumps[i]
		if earlier(d.At) {
			continue
		}
		if r := s.watched(d.At, d.Group); r != nil && r.dumps(d) && bygone.Valid {
			r.placed(s.ident, d.At)
		}
	}
	for i := range obs.Signals {
		sig := &obs.Signals[i]
		if earlier(sig.At) {
			continue
		}
		told := Told{NoRank, sig, s.At(sig.At)}
		if r := s.watched(sig.At, sig.Group); r != nil {
			told.Rank = r.ID
			r.hears(sig)
		}
		all = append(all, told)
	}
	return all
}

// watched is the rank whose watchdog writes a line, nil where nothing tells it. In the default group it has its global number.
func (s *sight) watched(at worker.At, g worker.GroupRef) *Rank {
	id, basis, ok := s.ident.rankOf(at)
	if !ok && g.IsDefault() && g.Rank >= 0 {
		id, basis, ok = g.Rank, "rank in the default group", true
	}
	if !ok {
		return nil
	}
	r := s.rank(id, basis)
	r.seen(at, at)
	return r
}

// dumps notes that a rank's watchdog writes a dump, and whether its counters are the first that are known.
func (r *Rank) dumps(d *worker.Dump) (counted bool) {
	counts := d.Enqueued != line.Unknown || d.Completed != line.Unknown
	ofAll := strings.Contains(d.Group.Desc, "default") || d.Group.GUID == "0"
	if counted = (counts || ofAll) && r.Dump == nil; counted {
		r.Dump = &Counters{Enqueued: d.Enqueued, Completed: d.Completed, At: d.At, Group: d.Group}
	}
	if d.Local {
		r.FromLocal = true
	} else if r.Notified == nil {
		r.Notified, r.Notifier = &d.At, "another rank"
		if d.From >= 0 && d.From != r.ID {
			r.Notifier = fmt.Sprintf("rank %d", d.From)
		}
	}
	return counted
}

// hears notes what a rank's watchdog says.
func (r *Rank) hears(s *worker.Signal) {
	switch s.Kind {
	case worker.SignalObserved:
		if r.Notified == nil {
			r.Notified, r.Notifier = &s.At, "another rank"
		}
	case worker.SignalStuck, worker.SignalHeartbeat:
		if r.Stuck == nil {
			r.Stuck = s
		}
	case worker.SignalGIL:
		r.GIL = s
	case worker.SignalFirst:
		r.FromLocal = true
	case worker.SignalFired, worker.SignalTakingDown, worker.SignalAsync:
		r.Fired = true
	}
}
