package resolve

import (
	"slices"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// erred are the processes, by the grouper's keys, whose communicator failed. The watchdog tells of an error in the words in which it tells
// of a time-out ("failure detected by watchdog", and "either an error or timeout" before PyTorch 2.6): such a line alone is then no collective
// that hung. Nobody is among them where any watchdog tells of a time-out: who met an error had waited with the others.
func (g *grouper) erred() map[string]bool {
	if len(g.obs.Timeouts) > 0 || slices.ContainsFunc(g.obs.States, func(s worker.State) bool { return s.Form == "timeout-at" }) {
		return nil
	}
	out := map[string]bool{}
	add := func(at worker.At, ref worker.GroupRef) {
		r, key := g.process(at, line.Unknown, ref)
		r.Erred, out[key] = true, true
	}
	for i := range g.obs.Signals {
		if s := &g.obs.Signals[i]; s.Kind == worker.SignalAsync {
			add(s.At, s.Group)
		}
	}
	for i := range g.obs.Exceptions {
		x := &g.obs.Exceptions[i]
		if _, _, named := g.ident.rankOf(x.At); named && strings.Contains(x.Message, "NCCL error") {
			add(x.At, worker.GroupRef{})
		}
	}
	return out
}
