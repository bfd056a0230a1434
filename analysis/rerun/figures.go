package rerun

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/history"
	"faultline/incident"
)

// Limits of the method: what changed by less is no change, and so few steps tell nothing.
const (
	tolerance = 0.05
	memory    = 0.10
	enough    = 10
)

// kind says how a figure is compared.
type kind struct {
	name  string
	more  bool // more is better
	limit float64
	paced bool // it depends on the layout and the batch
}

// kinds are the figures that are compared, in the order in which they are shown. Losses are compared at equal steps, by loss.
var kinds = []kind{
	{name: incident.SignStepTime, limit: tolerance, paced: true},
	{name: incident.SignThroughput, more: true, limit: tolerance, paced: true},
	{name: incident.SignMemory, limit: memory},
}

// figureWords are the names of figures in a sentence.
var figureWords = map[string]string{incident.SignStepTime: "step time", incident.SignThroughput: "throughput", incident.SignMemory: "memory", incident.SignLoss: "loss"}

func figure(r *incident.Report, name string) (incident.Figure, bool) {
	i := slices.IndexFunc(r.Figures, func(f incident.Figure) bool { return f.Name == name })
	if i < 0 {
		return incident.Figure{}, false
	}
	return r.Figures[i], true
}

// figures compares what both runs state.
func (p *pair) figures() {
	for _, k := range kinds {
		was, okWas := figure(p.before, k.name)
		is, okIs := figure(p.after, k.name)
		switch why := p.incomparable(); {
		case !okWas || !okIs:
		case was.Unit != is.Unit:
			p.open(k.name, fmt.Sprintf("%s is logged in %s, previously in %s", figureWords[k.name], is.Unit, was.Unit))
		case k.paced && why != "":
			p.open(k.name, figureWords[k.name]+" not compared: "+why)
		case was.N < enough || is.N < enough:
			p.open(k.name, fmt.Sprintf("%s on %d and %d lines: too few to compare", figureWords[k.name], was.N, is.N))
		default:
			p.compare(k, was, is)
		}
	}
	p.loss()
}

func (p *pair) open(name, text string) {
	p.out.Checks = append(p.out.Checks, incident.Check{Name: name, Level: incident.CheckOpen, Text: text})
}

// incomparable says why the speeds of the two runs say nothing about each other; "" where they do.
func (p *pair) incomparable() string {
	for _, d := range p.changed {
		switch {
		case d.What == history.WorldSize:
			return fmt.Sprintf("%s ranks, previously %s", d.Now, d.Was)
		case d.What == history.Argument && d.Was != "" && d.Now != "" && speeds(d.Name):
			return fmt.Sprintf("%s is %s, previously %s", d.Name, d.Now, d.Was)
		}
	}
	ranks := p.was.WorldSize > 0 && p.is.WorldSize > 0
	if was, is := p.was.NodesCount, p.is.NodesCount; !ranks && was > 0 && is > 0 && was != is {
		return fmt.Sprintf("%d nodes, previously %d", is, was)
	}
	return ""
}

// speeds says that an argument decides how much a step has to do.
func speeds(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc([]string{"batch", "accumulation", "seq_len", "seq_length", "seqlen", "max_length", "num_layers", "hidden_size", "parallel"},
		func(part string) bool { return strings.Contains(strings.ReplaceAll(name, "-", "_"), part) })
}

// compare is one check of a figure. The run before is taken as it was while it was well, the new one as it is now.
func (p *pair) compare(k kind, was, is incident.Figure) {
	base, now := was.Median, is.Median
	if k.paced && becameSlow(p.before) {
		base = was.First
	}
	if k.paced && becameSlow(p.after) {
		now = is.Last
	}
	if base <= 0 {
		return
	}
	change := now/base - 1
	worse := change
	if k.more {
		worse = -change
	}
	noise := 2 * math.Hypot(uncertain(was), uncertain(is)) / base
	c := incident.Check{Name: k.name, Was: &base, Now: &now, Change: percent(change), Unit: was.Unit}
	c.Text = fmt.Sprintf("%s %s%s, previously %s (%s)", figureWords[k.name], short(now), unit(was.Unit), short(base), signed(change))
	switch {
	case worse <= k.limit:
		c.Level = incident.CheckGood
	case worse > noise:
		c.Level = incident.CheckWorse
	default:
		c.Level, c.Text = incident.CheckOpen, c.Text+fmt.Sprintf(": within the noise for so few steps (±%.0f%%)", 100*noise)
	}
	p.out.Checks = append(p.out.Checks, c)
}

// uncertain is the standard error of a median.
func uncertain(f incident.Figure) float64 { return 1.2533 * f.Spread / math.Sqrt(float64(f.N)) }

// at is a loss at a step.
type at struct {
	step int64
	loss float64
}

func losses(r *incident.Report) []at {
	if r.Course == nil {
		return nil
	}
	var out []at
	for _, c := range r.Course.Points {
		if c.Step != nil && c.Loss != nil && !c.Broken {
			out = append(out, at{*c.Step, *c.Loss})
		}
	}
	slices.SortStableFunc(out, func(a, b at) int { return int(a.step - b.step) })
	return out
}

// loss compares the losses at the steps that both runs print: the last third of them, where the runs had time to part.
func (p *pair) loss() {
	was, is := losses(p.before), losses(p.after)
	if len(was) == 0 || len(is) == 0 {
		return
	}
	from, to := max(was[0].step, is[0].step), min(was[len(was)-1].step, is[len(is)-1].step)
	from = to - (to-from)/3
	w, i := between(was, from, to), between(is, from, to)
	const few = 3
	if len(w) < few || len(i) < few {
		p.open(incident.SignLoss, "losses not compared: the runs have too few steps in common")
		return
	}
	base, spread := mean(w)
	now, noisy := mean(i)
	if base <= 0 {
		p.open(incident.SignLoss, "losses not compared: they are not positive")
		return
	}
	change := now/base - 1
	noise := 2 * math.Hypot(spread/math.Sqrt(float64(len(w))), noisy/math.Sqrt(float64(len(i)))) / base
	c := incident.Check{Name: incident.SignLoss, Level: incident.CheckGood, Was: &base, Now: &now, Change: percent(change)}
	c.Text = fmt.Sprintf("loss %s at steps %d to %d, previously %s (%s)", short(now), from, to, short(base), signed(change))
	switch {
	case change > tolerance && change > noise:
		c.Level = incident.CheckWorse
	case change > tolerance:
		c.Level, c.Text = incident.CheckOpen, c.Text+": within noise"
	}
	p.out.Checks = append(p.out.Checks, c)
}

func between(list []at, from, to int64) []float64 {
	var out []float64
	for _, l := range list {
		if l.step >= from && l.step <= to {
			out = append(out, l.loss)
		}
	}
	return out
}

func mean(v []float64) (m, spread float64) {
	for _, x := range v {
		m += x
	}
	m /= float64(len(v))
	for _, x := range v {
		spread += (x - m) * (x - m)
	}
	return m, math.Sqrt(spread / float64(max(len(v)-1, 1)))
}

func percent(share float64) *float64 {
	v := math.Round(1000*share) / 10
	return &v
}

// signed is a change in per cent; less than half a per cent is none.
func signed(share float64) string {
	if math.Abs(share) < 0.005 {
		return "unchanged"
	}
	return fmt.Sprintf("%+.0f%%", 100*share)
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 4, 64) }

func unit(u string) string {
	if u == "" || u == "as printed" {
		return ""
	}
	return " " + u
}

func joined(list []string) string { return strings.Join(list, ", ") }
