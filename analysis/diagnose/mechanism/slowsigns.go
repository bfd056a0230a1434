package mechanism

import (
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/slow"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// Lines that healthy jobs print as well say why steps are slow where they set in, or came far more often, when the steps slowed down.

// setIn is one kind of such lines on both sides of a slowdown.
type setIn struct {
	meaning       string
	before, since int
	first         worker.At // since
}

// signed proposes a mechanism of which such lines speak.
func signed(slug knowledge.Slug) func(*Scene) *Proposal {
	return func(sc *Scene) *Proposal {
		f := sc.Facts
		s, ok := slowed(f)
		if !ok || !s.open() && s.Class != slow.Compute {
			return nil
		}
		x := s.setIn(f, slug)
		if x == nil {
			return nil
		}
		p := s.proposal(f, slug, 0.88)
		what, _, _ := strings.Cut(x.meaning, ". ")
		p.Summary = strings.TrimSuffix(what, ".") + ": " + slower(f, &s.Slowdown)
		p.Why += "; " + plural(x.since, "line says", "lines say") + " so since then, and " + plural(x.before, "line", "lines") + " before"
		p.Moot = append(p.Moot, allAdvice(slug)[:1]...) // the GPUs are not it
		p.For = append(p.For, finding("this set in when the steps slowed down", QuoteAt(x.first, nil)))
		return p
	}
}

// oftener is how many times as often lines come that set in.
const oftener = 3

// setIn finds the lines that set in with a slowdown; nil where there are none.
func (s *slowing) setIn(f *resolve.Facts, slug knowledge.Slug) *setIn {
	kinds := map[knowledge.ID]*setIn{}
	var order []*setIn
	for i := range f.Obs.Signs {
		x := &f.Obs.Signs[i]
		e := f.Known.Entry(x.ID)
		if e.Says&knowledge.SlowsSteps == 0 || e.Mechanism != slug {
			continue
		}
		k := kinds[x.ID]
		if k == nil {
			k = &setIn{meaning: e.Meaning}
			kinds[x.ID] = k
			order = append(order, k)
		}
		switch s.side(f, x.At) {
		case -1:
			k.before++
		case 1:
			if k.since++; k.since == 1 {
				k.first = x.At
			}
		}
	}
	span := max(1, float64(s.After)/float64(s.Before))
	var best *setIn
	for _, k := range order {
		if float64(k.since) > oftener*span*float64(k.before) && (best == nil || k.before < best.before || k.before == best.before && k.since > best.since) {
			best = k
		}
	}
	return best
}

// side says whether a line is of before a slowdown (-1) or since (1); 0 where it may be either. What came with the first slow step is of since.
func (s *slowing) side(f *resolve.Facts, at worker.At) int {
	began, t := s.Began(), f.At(at)
	const soon = 60 // seconds: a step that compiles ends late
	switch {
	case began.Valid && t.Valid && t.T+t.Unc < began.T-began.Unc-soon:
		return -1
	case began.Valid && t.Valid:
		return 1
	case at.File != s.Course.File:
		return 0
	case at.Off < s.Last.At.Off:
		return -1
	}
	return 1
}
