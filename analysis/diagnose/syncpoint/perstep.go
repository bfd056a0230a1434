package syncpoint

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// rate is how many collectives of a group one step takes, with what proves it: the evidence derives the number.
type rate struct {
	value    int64
	evidence []incident.Evidence
}

// sample is one printed state of a group's counters on a rank, between two lines of the same process that state the step:
// when it was printed, more than before steps were done and no more than after.
type sample struct {
	enqueued      int64
	before, after int64
	evidence      [3]incident.Evidence // the counters, the step line above, the step line below
}

// bound is what two samples say of the rate.
type bound struct {
	low, high int64 // low ≤ rate ≤ high
	from, to  *sample
}

// perStep finds out how many collectives of a group a step takes. Each pair of samples of one rank bounds it, as the step
// at which a sample was taken is known to one or two; where all bounds together leave one whole number, that is it. Where
// they leave none the number changes from step to step (validation, saves, accumulation), and nothing is said.
func perStep(f *resolve.Facts, g *resolve.Group) (out rate, why string, ok bool) {
	var lows, highs *bound
	pairs := 0
	for _, s := range samples(f, g) {
		for i := range s {
			for j := range i {
				b, good := between(&s[j], &s[i])
				if !good {
					continue
				}
				pairs++
				if lows == nil || b.low > lows.low {
					lows = &b
				}
				if highs == nil || b.high < highs.high {
					highs = &b
				}
			}
		}
	}
	switch {
	case pairs == 0:
		return rate{}, "", false
	case lows.low > highs.high:
		return rate{}, "the number changes from step to step", false
	case lows.low < highs.high:
		return rate{}, fmt.Sprintf("the samples allow %d to %d", lows.low, highs.high), false
	case lows.low < 1:
		return rate{}, "not every step has one", false
	}
	n := lows.low
	atMost := derived("quotient", n, change(highs.from, highs.to), steps(highs.from.evidence[2], highs.to.evidence[1], highs.to.before-highs.from.after))
	atLeast := derived("quotient-up", n, change(lows.from, lows.to), steps(lows.from.evidence[1], lows.to.evidence[2], lows.to.after-lows.from.before))
	return rate{n, []incident.Evidence{atMost, atLeast}}, "", true
}

// between bounds the rate by two samples of one rank.
func between(a, b *sample) (bound, bool) {
	least, greatest := b.before-a.after, b.after-a.before
	d := b.enqueued - a.enqueued
	if least < 1 || greatest < 1 || d < 0 {
		return bound{}, false
	}
	return bound{low: (d + greatest - 1) / greatest, high: d / least, from: a, to: b}, true
}

func change(a, b *sample) incident.Evidence {
	return derived("difference", b.enqueued-a.enqueued, b.evidence[0], a.evidence[0])
}

func steps(from, to incident.Evidence, n int64) incident.Evidence {
	return derived("difference", n, to, from)
}

// closest is how many steps may lie between the step lines around a sample: where it is more than one, a validation or a
// save every few steps cannot be told from steps that all make more. fewest is how many samples of a rank it takes.
const (
	closest = 1
	fewest  = 5
)

// most bounds the samples of one rank that are compared.
const most = 128

// samples lists a group's samples by rank, each rank's in the order of its file.
func samples(f *resolve.Facts, g *resolve.Group) [][]sample {
	if len(f.Obs.Samples) == 0 {
		return nil
	}
	type writer struct {
		rank int
		file string
	}
	marks := map[writer][]*resolve.ProgressPoint{}
	for i := range f.Progress {
		p := &f.Progress[i]
		if id, ok := f.RankOf(p.At); ok && p.Step >= 0 && p.Step < math.MaxInt64/4 && p.Phase == worker.Training {
			w := writer{id, p.File}
			marks[w] = append(marks[w], p)
		}
	}
	for _, list := range marks {
		slices.SortStableFunc(list, func(a, b *resolve.ProgressPoint) int { return int(a.Off - b.Off) })
	}
	found := map[writer][]sample{}
	var order []writer
	for i := range f.Obs.Samples {
		o := &f.Obs.Samples[i]
		id, ok := f.RankOf(o.At)
		if !ok && g.Default {
			id, ok = o.Group.Rank, o.Group.Rank >= 0
		}
		if !ok || resolve.GroupKey(o.Group) != g.Key || o.Enqueued < 0 {
			continue
		}
		w := writer{id, o.File}
		list := marks[w]
		k, _ := slices.BinarySearchFunc(list, o.Off, func(p *resolve.ProgressPoint, off int64) int { return int(p.Off - off) })
		if k == 0 || k == len(list) || len(found[w]) >= most {
			continue
		}
		above, below := list[k-1], list[k]
		if d := below.Step - above.Step; d < 1 || d > closest {
			continue // it counts within an epoch or went back, or the steps between hide what some of them make more
		}
		if found[w] == nil {
			order = append(order, w)
		}
		found[w] = append(found[w], sample{enqueued: o.Enqueued, before: above.Step, after: below.Step, evidence: [3]incident.Evidence{
			mechanism.QuoteAt(o.At, &incident.Predicate{Literals: []string{"NCCL Work update periodically"},
				Fields: []incident.Field{{Key: "last enqueued NCCL work: ", Value: strconv.FormatInt(o.Enqueued, 10)}}}),
			stepEvidence(above), stepEvidence(below),
		}})
	}
	out := make([][]sample, 0, len(order))
	for _, w := range order {
		if len(found[w]) >= fewest {
			out = append(out, found[w])
		}
	}
	return out
}

// stepEvidence holds a progress line to its step. Where in the line it stands is looked up when the line is quoted.
func stepEvidence(p *resolve.ProgressPoint) incident.Evidence {
	return mechanism.QuoteAt(p.At, &incident.Predicate{Fields: []incident.Field{{Value: strconv.FormatInt(p.Step, 10)}}})
}
