package mechanism

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/pattern"
)

// diverged: the loss fell, and rises since while it is still a number.
func diverged(sc *Scene) *Proposal {
	f := sc.Facts
	if f.Job.ExitOK != nil {
		return nil
	}
	c := f.Longest(func(p *resolve.Point) bool { return p.Loss.Known })
	if c == nil {
		return nil
	}
	d, ok := c.Divergence()
	if _, _, jumped := c.Left(); jumped || !ok { // a jump may be wrong results as well
		d, ok = f.DivergenceSince(c)
	}
	if !ok {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.LossPlateau, Class: Degraded, Scope: "all", At: d.Onset.T, Base: 0.88, Since: clockOf(f, d.Onset.T), Onset: d.Onset, Settled: true,
		Plausible: fmt.Sprintf("the loss had risen again (%s:%d)", d.Onset.At.File, d.Onset.At.Line)}
	from := orHere(d.Onset)
	if p.Since != "" {
		from += ", " + p.Since
	}
	p.Summary = fmt.Sprintf("the loss diverges: it rises since%s, from %.4g to %s", from, d.Low, d.Last.Loss.Printed)
	had := fmt.Sprintf("it had fallen from %.4g", d.Start)
	if d.Resumed {
		had = fmt.Sprintf("the earlier run ended at %.4g", d.Low)
	}
	p.Why = had + fmt.Sprintf("; all %d lines since then are above its lowest, and it does not come back", d.N)
	p.For = append(p.For, finding("the loss was lowest here, and rises since", QuoteAt(*d.LowAt.At, nil), QuoteAt(*d.Onset.At, nil), QuoteAt(*d.Last.At, nil)))
	p.Now = []knowledge.Advice{
		{Text: fmt.Sprintf("Stop the job: resume from a save before%s with a lower learning rate, a longer warm-up or gradient clipping.", orHere(d.Onset))},
		{Text: "If the batch or the number of GPUs changed, check the learning rate against it: k times the batch takes at most k times the rate, often only √k times."}}
	p.Moot = allAdvice(knowledge.LossPlateau)
	if f.Preceding != nil {
		p.rescaled(f, &d)
	}
	return p
}

// rescaled adds what the earlier run had: its loss at that step, its batch and its learning rate.
func (p *Proposal) rescaled(f *resolve.Facts, d *resolve.Divergence) {
	if d.Last.Step != line.Unknown {
		if was := f.Preceding.LossAt(d.Last.Step); was != nil && was.Loss.Value < d.Is {
			text := fmt.Sprintf("the earlier run had %s%s", was.Loss.Printed, atStep(was))
			p.Summary += "; " + text
			p.For = append(p.For, finding(text, QuoteAt(*was.At, nil)))
		}
	}
	if list := f.Changed(); len(list) > 0 {
		p.Why += "; set otherwise than in the earlier run: " + few(list, 4)
		p.Summary += "; set otherwise: " + few(list, 4)
		return
	}
	for i := range f.Preceding.Otherwise {
		o := &f.Preceding.Otherwise[i]
		text := scaleRule(values(o.Is), values(o.Was))
		if text == "" {
			continue
		}
		p.Summary += "; " + text
		p.Past = append([]incident.Finding{finding(text, QuoteAt(o.IsAt, nil), QuoteAt(o.WasAt, nil))}, p.Past...)
		return
	}
}

var valued = pattern.New(`([A-Za-z_][\w.-]*)[=:] ?(\d[\d.]*(?:[eE][-+]?\d+)?)`)

// values are the numbers of a line by their names.
func values(text string) map[string]float64 {
	out := map[string]float64{}
	for _, m := range valued.FindAllStringSubmatch(text, -1) {
		if v, err := strconv.ParseFloat(m[2], 64); err == nil {
			out[strings.ToLower(m[1])] = v
		}
	}
	return out
}

var (
	rateName  = pattern.New(`(?:^|_)lr$|(?:^|_)learning_?rate$`)
	batchName = pattern.New(`global_?batch|batch_?size`)
	sizeName  = pattern.New(`world_?size|num_?gpus|n_?gpus|n_?nodes|num_?nodes`)
)

// scaleRule says how the learning rate went with the batch, or with the number of processes; "" where neither changed.
func scaleRule(is, was map[string]float64) string {
	names := slices.Sorted(maps.Keys(is))
	of := func(wanted ...*pattern.Regexp) (k float64, text string) {
		for _, name := range wanted {
			for _, n := range names {
				if w := was[n]; w > 0 && w != is[n] && name.MatchString(n) {
					return is[n] / w, fmt.Sprintf("%s %.4g → %.4g", n, w, is[n])
				}
			}
		}
		return 0, ""
	}
	size, sized := of(batchName, sizeName)
	rate, rated := of(rateName)
	kept := slices.ContainsFunc(names, func(n string) bool { return is[n] == was[n] && rateName.MatchString(n) })
	const near = 0.1
	switch {
	case sized == "" && rated == "":
		return ""
	case sized == "":
		return "this run has another learning rate than the earlier one (" + rated + ")"
	case rated == "":
		text := "this run has another size than the earlier one (" + sized + ")"
		if kept {
			text += " and the same learning rate"
		}
		return text
	case math.Abs(rate/size-1) < near:
		return fmt.Sprintf("the learning rate follows the size by the linear rule (%s, %s)", sized, rated)
	case math.Abs(rate/math.Sqrt(size)-1) < near:
		return fmt.Sprintf("the learning rate follows the size by the square-root rule (%s, %s)", sized, rated)
	}
	return fmt.Sprintf("size and learning rate changed by neither rule (%s, %s)", sized, rated)
}
