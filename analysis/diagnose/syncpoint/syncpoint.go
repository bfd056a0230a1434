// Package syncpoint says at which synchronisation point of its program a hung group waits, and how far its members are
// apart. It explains what is proposed already: it names no culprit and decides nothing.
package syncpoint

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// Bases of a synchronisation point.
const (
	byStack = "stack"
	byFit   = "consistent"
)

// named is how many points a sentence names; the rest is counted.
const named = 2

// At says where a stuck group waits: by the stack of its collective, of a process that waits in it, or by what fits.
// It is nil where nothing is known of it.
func At(s *mechanism.Scene, g *resolve.Group) *incident.SyncPoint {
	stuck := s.Graph.Stuck(g)
	if stuck == nil || stuck.Work.Op == "" || g.P2P {
		return nil
	}
	p := called(s.Facts, g, stuck)
	if p == nil {
		p = standing(s.Facts, g, stuck)
	}
	if p == nil {
		p = consistent(s.Facts, g, stuck)
	}
	if p != nil && s.Graph.Waiting() == 1 {
		p.Statement = "the rank is waiting" + strings.TrimPrefix(p.Statement, "the ranks are waiting")
	}
	return p
}

// consistent lists what operation, size, group, frameworks and phase leave.
func consistent(f *resolve.Facts, g *resolve.Group, stuck *resolve.Pending) *incident.SyncPoint {
	points := fitting(f, g, stuck.Work)
	if len(points) == 0 {
		return nil
	}
	out := &incident.SyncPoint{Basis: byFit, Waits: points[0].Waits, Check: points[0].Check, Evidence: []incident.Evidence{workEvidence(stuck)}}
	for _, p := range points {
		out.Points = append(out.Points, p.Name)
	}
	text := out.Points[0]
	if len(points) > 1 {
		text += " or " + out.Points[1]
	}
	if more := len(points) - named; more == 1 {
		text += "; 1 other use would look the same"
	} else if more > 0 {
		text += fmt.Sprintf("; %d other uses would look the same", more)
	}
	out.Statement = fmt.Sprintf("the ranks are waiting in %s, which is consistent with %s", describe(g, stuck.Work), text)
	return out
}

// describe says what is waited in: "a one-element BROADCAST in the default group".
func describe(g *resolve.Group, w worker.Work) string {
	of := ""
	if g.Default {
		of = " in the default group"
	} else if g.Desc != "" {
		of = fmt.Sprintf(" in group %s (%s)", g.Key, g.Desc)
	}
	article := "a"
	if strings.IndexAny(strings.TrimLeft(w.Op, "_"), "AEIO") == 0 {
		article = "an"
	}
	switch {
	case w.NumelIn == 1:
		return "a one-element " + w.Op + of
	case w.NumelIn > 1:
		return fmt.Sprintf("%s %s (%d elements)%s", article, w.Op, w.NumelIn, of)
	}
	return article + " " + w.Op + of
}

// workEvidence holds the watchdog's line to the operation and its size.
func workEvidence(p *resolve.Pending) incident.Evidence {
	ev := mechanism.PendingEvidence(p)[0]
	if ev.Predicate == nil || p.Recorded() || p.State != nil && p.At.Pos == p.State.Pos {
		return ev
	}
	pred := *ev.Predicate
	pred.Fields = slices.Clone(pred.Fields)
	if p.Work.NumelIn >= 0 {
		pred.Fields = append(pred.Fields, incident.Field{Key: "NumelIn=", Value: strconv.FormatInt(p.Work.NumelIn, 10)})
	}
	ev.Predicate = &pred
	return ev
}

// fitting lists the points that operation, size, group, frameworks and phase leave, the likelier first.
func fitting(f *resolve.Facts, g *resolve.Group, w worker.Work) []knowledge.SyncPoint {
	trained := slices.ContainsFunc(f.Progress, func(p resolve.ProgressPoint) bool { return p.Phase == worker.Training })
	points := slices.DeleteFunc(knowledge.SyncPointsFor(w.Op, w.NumelIn, resolve.GroupWords(g), frameworks(f)),
		func(p knowledge.SyncPoint) bool { return p.When == "start" && trained })
	if saving(f) {
		slices.SortStableFunc(points, func(a, b knowledge.SyncPoint) int { return rank(b.When == "save") - rank(a.When == "save") })
	}
	return points
}

func rank(b bool) int {
	if b {
		return 1
	}
	return 0
}

// frameworks are all that some line speaks of: a NeMo job prints Lightning's lines as well.
func frameworks(f *resolve.Facts) []string {
	var out []string
	for i := range f.Obs.Facts {
		if x := &f.Obs.Facts[i]; x.Key == "framework" && !slices.Contains(out, x.Value) {
			out = append(out, x.Value)
		}
	}
	slices.Sort(out)
	return out
}

// saving says that a save began of which neither the end nor a later step was seen in its file.
func saving(f *resolve.Facts) bool {
	var open *worker.Checkpoint
	for i := range f.Saves {
		switch c := &f.Saves[i]; c.Kind {
		case worker.SaveStart:
			open = c
		case worker.SaveDone, worker.SaveOver:
			open = nil
		}
	}
	if open == nil {
		return false
	}
	return !slices.ContainsFunc(f.Progress, func(p resolve.ProgressPoint) bool {
		return open.Above(p.Pos) && p.Phase == worker.Training
	})
}

// called reads the flight recorder's stack of the failed collective, which PyTorch prints below the state line of its
// group: it names the call itself.
func called(f *resolve.Facts, g *resolve.Group, stuck *resolve.Pending) *incident.SyncPoint {
	for i := range f.Obs.Stacks {
		st := &f.Obs.Stacks[i]
		id, ok := f.RankOf(st.At)
		if !ok || above(f, st, id) != g {
			continue
		}
		of := pendingOf(g, id)
		if of == nil || of.Work.Seq != stuck.Work.Seq {
			continue
		}
		ev := []incident.Evidence{workEvidence(of), mechanism.QuoteAt(st.At, &incident.Predicate{Literals: []string{"Stack trace of the failed collective"}})}
		what := fmt.Sprintf("the ranks are waiting in %s", describe(g, of.Work))
		for _, fr := range st.Frames {
			if p, ok := knowledge.SyncPointAt(fr.Func, fr.File); ok && !general(p, st.Frames) {
				return &incident.SyncPoint{Basis: byStack, Points: []string{p.Name}, Waits: p.Waits, Check: p.Check, Evidence: ev,
					Statement: fmt.Sprintf("%s: %s, from its stack", what, p.Name)}
			}
		}
		if fr, ok := userFrame(st.Frames); ok {
			return &incident.SyncPoint{Basis: byStack, Points: []string{}, Evidence: ev,
				Statement: fmt.Sprintf("%s, called from %s (%s:%d)", what, fr.Func, fr.File, fr.Line)}
		}
	}
	return nil
}

// general says that a stack names a more particular point than p further out: Lightning's broadcast is one of objects, too.
func general(p knowledge.SyncPoint, frames []worker.Frame) bool {
	if len(p.Frameworks) > 0 || p.When != "any" {
		return false
	}
	return slices.ContainsFunc(frames, func(fr worker.Frame) bool {
		o, ok := knowledge.SyncPointAt(fr.Func, fr.File)
		return ok && o.When != "any"
	})
}

// above finds the group whose state line of the same process stands nearest above a stack.
func above(f *resolve.Facts, st *worker.CollectiveStack, id int) *resolve.Group {
	r := f.Rank(id)
	if r == nil {
		return nil
	}
	var best *resolve.Pending
	for _, p := range r.Pending {
		if p.State == nil || p.State.File != st.File || p.State.Off > st.Off {
			continue
		}
		if best == nil || p.State.Off > best.State.Off {
			best = p
		}
	}
	if best == nil {
		return nil
	}
	return best.Group
}

func pendingOf(g *resolve.Group, id int) *resolve.Pending {
	for _, p := range g.Pending {
		if p.Rank.ID == id {
			return p
		}
	}
	return nil
}

// standing reads where the Python of a waiting process stood when it was ended. That names the point only if the point's
// operation is the one that hangs: the CPU may be elsewhere than the GPU.
func standing(f *resolve.Facts, g *resolve.Group, stuck *resolve.Pending) *incident.SyncPoint {
	fit := fitting(f, g, stuck.Work)
	for _, p := range g.Pending {
		if p.Work.Seq != stuck.Work.Seq || p.Rank.ID == resolve.NoRank {
			continue
		}
		for _, fl := range p.Rank.Failures {
			if fl.Exc == nil || fl.Exc.Torn {
				continue
			}
			frames := append(slices.Clone(fl.Exc.Main), fl.Exc.Frames...)
			for _, fr := range slices.Backward(frames) {
				at, ok := knowledge.SyncPointAt(fr.Func, fr.File)
				if !ok || general(at, frames) || !slices.ContainsFunc(fit, func(o knowledge.SyncPoint) bool { return o.ID == at.ID }) {
					continue
				}
				return &incident.SyncPoint{Basis: byStack, Points: []string{at.Name}, Waits: at.Waits, Check: at.Check,
					Evidence: []incident.Evidence{workEvidence(p), mechanism.FailureEvidence(fl)},
					Statement: fmt.Sprintf("the ranks are waiting in %s: %s, where the stack of %s is (%s, line %d)", describe(g, p.Work), at.Name,
						p.Rank.Describe(), fr.Func, fr.Line)}
			}
		}
	}
	return nil
}

// userFrame is the innermost frame that is not PyTorch's.
func userFrame(frames []worker.Frame) (worker.Frame, bool) {
	for _, fr := range frames {
		if !strings.Contains(fr.File, "/torch/") && !strings.HasPrefix(fr.File, "torch/") && !strings.HasPrefix(fr.File, "<") {
			return fr, true
		}
	}
	return worker.Frame{}, false
}

// Gloo says where the tracebacks of ranks stand that timed out in Gloo, whose messages name neither operation nor group.
func Gloo(s *mechanism.Scene) (incident.Finding, bool) {
	if !s.Graph.Gloo {
		return incident.Finding{}, false
	}
	for _, fl := range s.Facts.Failures {
		if fl.Exc == nil || fl.Exc.Torn || !strings.HasPrefix(string(fl.Sign), "peer-gloo-timeout") {
			continue
		}
		for _, fr := range slices.Backward(fl.Exc.Frames) {
			at, ok := knowledge.SyncPointAt(fr.Func, fr.File)
			if !ok || general(at, fl.Exc.Frames) {
				continue
			}
			who := "a rank"
			if fl.Proc != nil {
				who = fl.Proc.Describe()
			}
			return incident.Finding{Statement: fmt.Sprintf("%s waited in %s, where its traceback ends (%s, line %d)", who, at.Name, fr.Func, fr.Line), Kind: incident.LinkWait,
				Evidence: []incident.Evidence{mechanism.FailureEvidence(fl)}}, true
		}
	}
	return incident.Finding{}, false
}
