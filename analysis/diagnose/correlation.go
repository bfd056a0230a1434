package diagnose

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"faultline/analysis/correlate"
	"faultline/analysis/diagnose/mechanism"
	"faultline/incident"
	"faultline/knowledge"
)

// correlated says what the daemons' logs, set beside the job's, add up to. worker is the state of the question without them.
func (b *builder) correlated() {
	a, s := b.s.Storage, &b.r.Storage
	if a == nil {
		return
	}
	s.Clocks = a.Clock.Proof
	s.Clock = &incident.StorageClock{Text: a.Clock.Words(), Basis: findings(a.Clock.Basis), Against: findings(a.Clock.Against)}
	if a.Clock.Known() {
		s.Clock.Shift, s.Clock.Uncertainty = new(round1(a.Clock.Shift)), new(max(round1(a.Clock.Unc), 0.1))
	}
	if s.Status = "partial"; a.Covered && a.Clock.Known() {
		s.Status = "examined"
	}
	s.Missing = append([]string{}, a.Missing...)
	s.Why = a.Why
	s.Judgement = a.Judgement
	for _, e := range a.Episodes {
		s.Episodes = append(s.Episodes, b.episode(e))
	}
	causes := a.Causes()
	for _, e := range causes {
		if s.Side == nil {
			s.Side = new(e.Side)
		}
	}
	s.Targets = append(s.Targets, a.Blamed()...)
	slices.Sort(s.Targets)
}

func round1(v float64) float64 { return math.Round(v*10) / 10 }

func findings(list []incident.Finding) []incident.Finding {
	return append([]incident.Finding{}, list...)
}

func (b *builder) episode(e *correlate.Episode) incident.StorageEpisode {
	out := incident.StorageEpisode{Mechanism: string(e.Mechanism), Daemon: optional(e.ID), Role: optional(e.Role), Side: e.Side, From: b.s.Facts.Format(e.From), To: b.s.Facts.Format(e.To),
		Standing: e.Standing, Statement: e.Statement, Why: e.Why, Evidence: e.Proof, Met: findings(e.Touch), Led: findings(e.Led)}
	if out.Evidence == nil {
		out.Evidence = []incident.Evidence{}
	}
	return out
}

// asked takes from what would decide what is at hand by now.
func (b *builder) asked() {
	a := b.s.Storage
	if a == nil || !a.Covered {
		return
	}
	b.r.Verdict.Needs = slices.DeleteFunc(b.r.Verdict.Needs, mechanism.AsksForStorage)
}

// overturned tells what the daemons' logs change in what the job's own logs led to.
func (b *builder) overturned(first decision) []incident.Revision {
	a := b.s.Storage
	if a == nil {
		return []incident.Revision{}
	}
	was, now := opinions(first.winners), opinions(b.d.winners)
	var ev []incident.Evidence
	switch causes := a.Causes(); {
	case len(causes) > 0 && was != now:
		e := causes[0]
		ev = append(ev, e.Proof[:min(len(e.Proof), 2)]...)
		for _, t := range e.Touch[:min(len(e.Touch), 1)] {
			ev = append(ev, t.Evidence...)
		}
		return []incident.Revision{{Was: was + ", from the job's own logs", Now: now, Because: e.Statement + ": " + e.Why, Evidence: ev}}
	case a.Judgement == correlate.Cleared && (was != now || b.suspected(first)):
		for _, x := range a.Clock.Basis[:min(len(a.Clock.Basis), 1)] {
			ev = append(ev, x.Evidence[:min(len(x.Evidence), 2)]...)
		}
		if was == now {
			was, now = "storage may be part of the cause: "+was, "storage is ruled out; still possible: "+now
		} else {
			was, now = was+", from the job's own logs", now+", and storage is ruled out"
		}
		ev = append(ev, a.Goes[:min(len(a.Goes), 1)]...)
		return []incident.Revision{{Was: was, Now: now, Because: a.Why, Evidence: ev}}
	}
	return []incident.Revision{}
}

// suspected says that what the job's own logs led to left room for the store.
func (b *builder) suspected(first decision) bool {
	for _, p := range first.winners {
		if o := origin(p.Mechanism); o == "storage" || o == "data-loading-stall" || p.Mechanism.Is(knowledge.AwaitsData) {
			return true
		}
	}
	return false
}

// opinions are verdicts in the words of people, with the component where one is named.
func opinions(ps []*mechanism.Proposal) string {
	if len(ps) == 0 {
		return "nothing explained how the job ended"
	}
	var names []string
	for _, p := range ps {
		for _, slug := range append([]knowledge.Slug{p.Mechanism}, p.Rivals...) {
			name := string(slug)
			if m, ok := knowledge.MechanismBySlug(slug); ok {
				name = "“" + m.Title + "”"
			}
			if slug == p.Mechanism && strings.HasPrefix(p.Component, "ais:") {
				name += fmt.Sprintf(" (%s)", strings.TrimPrefix(p.Component, "ais:"))
			}
			names = appendNew(names, name)
		}
	}
	return strings.Join(names, " or ")
}
