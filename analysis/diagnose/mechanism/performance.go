package mechanism

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/gpustate"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// Needs that localise a slow run.
var (
	needClocks = incident.Need{What: "clocks, temperatures and slowdown reasons of the GPUs", Why: "one GPU that throttles slows every step of a synchronous job",
		Command: "clush -w {nodes} 'nvidia-smi --query-gpu=index,clocks.sm,temperature.gpu,clocks_event_reasons.active --format=csv,noheader'", Obtainable: "perishing"}
	needPerRank = incident.Need{What: "per-rank compute times", Why: "they distinguish one slow rank from a slow network or slow data",
		Command: "--timing-log-level 2 --timing-log-option all   # Megatron; --log-straggler; or NVIDIA's straggler detection", Obtainable: "next-time"}
	needNeighbours = incident.Need{What: "a list of what else was running on these nodes and the storage when it began", Why: "other jobs, checkpoints and network faults slow a job without leaving a line in its logs",
		Command: "sacct -a -X -N {nodes} -S START -E END -o JobID,Start,End,NodeList", Obtainable: "now"}
	needPairs = incident.Need{What: "nccl-tests over pairs of the nodes", Why: "the node that is slow with every partner is the bad one",
		Command: "bot isolate --ledger isolate-{job}.json --nodes '{nodes}' --floor GBPS", Obtainable: now}
	needPorts = incident.Need{What: "the counters of all ports, read twice", Why: "errors that grow on one port show which link is bad",
		Command: "clush -w {nodes} perfquery -x", Obtainable: perishing, Artefact: knowledge.FabricCounters}
	needSchedule = incident.Need{What: "learning rate and gradient norm while the loss was flat", Why: "an exhausted schedule, vanished gradients and repeated data look alike in the loss",
		Command: "grep -E 'learning rate|lr|grad' LOG | tail", Obtainable: "now"}
)

// regression: the time of a step left its own baseline.
func regression(s *Scene) *Proposal {
	f := s.Facts
	d, ok := slowed(f)
	if !ok {
		return nil
	}
	p := d.proposal(f, knowledge.ThroughputRegression, 0.9)
	p.Explains = slices.DeleteFunc(slices.Clone(p.Explains), func(s knowledge.Slug) bool { return s == p.Mechanism })
	if d.Weak {
		p.Base = 0.75
	}
	p.Why += fmt.Sprintf(" (%s before, %s since)", plural(d.Before, "line", "lines"), plural(d.After, "line", "lines"))
	p.For, p.Led = append(p.Led, p.For...), nil
	switch {
	case d.phases && len(d.Phases) > 0:
		x := &d.Phases[0]
		p.Summary += fmt.Sprintf("; %s %s → %s", x.Name, Seconds(x.MaxWas), Seconds(x.MaxIs))
		p.Why += "; most of it is " + x.Name
	case d.phases:
		p.Why += "; the timed phases don't explain it"
	}
	if list := f.Contrasts.Outgrown; len(list) > 0 {
		q := &list[0]
		text := fmt.Sprintf("%s grew from %s to %s between two readings, and most counts beside it by far less", q.What, q.WasAt.Text, q.IsAt.Text)
		p.Summary += "; " + text
		p.For = append(p.For, finding(text, QuotePlace(q.WasAt.File, q.WasAt.Place, nil), QuotePlace(q.IsAt.File, q.IsAt.Place, nil)))
	}
	if text, at := d.announced(f); text != "" {
		p.Summary += "; " + text
		p.Moot = append(p.Moot, knowledge.FindOnset().Text)
		p.Now = append(p.Now, knowledge.Advice{Text: fmt.Sprintf("Read %s:%d and what follows: decide whether what it says was meant to make steps longer.", at.File, at.Line)})
	} else {
		d.changed(f, p)
	}
	if !d.phases || !d.Across {
		p.Suspects = []incident.Suspect{{Mechanism: string(knowledge.SlowRank), Why: "one slow GPU slows every rank in a synchronous job; no line gives per-rank times"}}
	}
	if why := hotGPU(f); why != "" {
		p.Suspects = append([]incident.Suspect{{Mechanism: string(knowledge.ThermalPower), Why: why}}, p.Suspects...)
	}
	return p
}

// changed advises to look at what else changed when it began: the moment is known, and nothing in the logs explains it.
func (s *slowing) changed(f *resolve.Facts, p *Proposal) {
	if s.Gradual {
		return // it began nowhere
	}
	find := knowledge.FindOnset()
	p.Moot = append(p.Moot, find.Text)
	onset := s.Began()
	when := strings.TrimSpace(orHere(s.Onset))
	if at := onsetClock(f, &s.Slowdown); at != "" {
		when = at + ", " + when
	}
	a := knowledge.Advice{Text: "See what changed at " + when + ": a checkpoint, an evaluation, a new node, a neighboring job.", Command: find.Command}
	const around = 600 // seconds
	from, to := onset, onset
	from.T, to.T = onset.T-around, onset.T+around
	if begin, end := f.Format(from), f.Format(to); begin != nil && f.YearProven {
		a.Command = fmt.Sprintf("sacct -a -X -S %s -E %s -N {nodes} -o JobID,Start,End,NodeList", *begin, *end)
	}
	p.Now = append(p.Now, a)
}

// hotGPU says which GPU a tool found slowed down for heat, for want of power or by its hardware; "" where none was.
func hotGPU(f *resolve.Facts) string {
	for _, s := range f.GPUStates {
		for i := range s.State.GPUs {
			g := &s.State.GPUs[i]
			for _, k := range []gpustate.Key{gpustate.SlowHeat, gpustate.SlowPower, gpustate.SlowHW} {
				if v := g.Of(k); v != nil && v.N > 0 {
					return fmt.Sprintf("a tool found the GPU at %s in this state: %s (%s:%d); it doesn't show since when", cmp.Or(g.PCI, fmt.Sprintf("index %d", g.Index)), k, s.File, v.Line)
				}
			}
		}
	}
	return ""
}

// timeKeys are the words in front of a step's time, by form. The value behind is filled in when the line is quoted.
var timeKeys = map[string][]string{
	"megatron": {"elapsed time per iteration (ms): ", "elapsed time per iteration (s): "}, "nemo": {"train_step_timing in s: "},
	"maxtext": {"seconds: "}, "deepspeed": {"iter time (s): "},
}

func timeQuote(p *resolve.Point) incident.Evidence {
	pred := &incident.Predicate{}
	for _, k := range timeKeys[p.Form] {
		pred.Fields = append(pred.Fields, incident.Field{Key: k})
	}
	if len(pred.Fields) == 0 {
		pred = nil
	}
	return QuoteAt(*p.At, pred)
}

// Seconds prints the time of a step.
func Seconds(v float64) string {
	switch {
	case v >= 1000:
		return fmt.Sprintf("%.0f s", v)
	case v >= 1:
		return fmt.Sprintf("%.2f s", v)
	}
	return strconv.FormatFloat(math.Round(v*1e4)/10, 'f', -1, 64) + " ms"
}

// plateau: the loss does not move.
func plateau(s *Scene) *Proposal {
	f := s.Facts
	if f.Job.ExitOK != nil {
		return nil
	}
	var best resolve.Plateau
	found := false
	for _, c := range f.Courses {
		if x, ok := c.Plateau(); ok && (!found || x.N > best.N) {
			best, found = x, true
		}
	}
	if !found {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.LossPlateau, Class: Degraded, Scope: "all", At: best.From.T, Base: 0.85,
		Plausible: fmt.Sprintf("the loss hardly improved over the last %d reports (%s:%d)", best.N, best.From.At.File, best.From.At.Line)}
	if Slow(f) {
		p.Plausible = "" // fewer steps explain it
	}
	p.Summary = fmt.Sprintf("the loss has not improved since%s: mean %.4g, and %.4g in the window before", orHere(best.From), best.Is, best.Was)
	p.Why = fmt.Sprintf("over the last %d reported losses the mean improved by %.2f%% against the %d before; under 0.1%% counts as flat", best.N, 100*best.Improvement(), best.N)
	if !best.Improved {
		p.Summary = fmt.Sprintf("the loss never improved: mean %.4g, and %.4g in the window before", best.Is, best.Was)
	}
	p.For = append(p.For, finding(fmt.Sprintf("the loss was %s when it went flat%s", best.From.Loss.Printed, atStep(best.From)), QuoteAt(*best.From.At, nil)),
		finding(fmt.Sprintf("the loss was still %s%s", best.Last.Loss.Printed, atStep(best.Last)), QuoteAt(*best.Last.At, nil)))
	altered, turns := alteredBefore(f, best.Course, best.Begin)
	spent, rates := exhausted(f, best.Course, best.Last)
	for _, why := range []string{altered, spent} {
		if why != "" {
			p.Why += "; " + why
		}
	}
	p.For = slices.Concat(p.For, turns, rates)
	return p
}

// silentEnd: the job reported no step for long before the scheduler ended it. Then the ending is not why, and what held
// the job no line shows: some rank, or something that all of them were in.
func silentEnd(s *Scene) *Proposal {
	f := s.Facts
	if f.Job.ExitOK != nil {
		return nil
	}
	x, ok := f.Silence()
	if !ok {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.RankStalled, Class: Collective, Rivals: knowledge.HavingNature(knowledge.Entered), Scope: "all", At: x.Last.T, Base: 0.85,
		Summary: fmt.Sprintf("no step was logged for at least %s before SLURM ended the job: it had stopped making progress%s", duration(x.For), afterStep(x.Last)),
		Why:     fmt.Sprintf("until then there was a step line every %s, at most %s apart; the logs show no rank's collective state, so can't tell which rank blocked the job", Seconds(x.Usual), Seconds(x.Longest))}
	p.For = append(p.For, finding(fmt.Sprintf("no step was logged after this line%s; the next was due %s later", ofStep(x.Last), Seconds(x.Usual)), QuoteAt(*x.Last.At, nil)))
	p.Led = append(p.Led, finding(fmt.Sprintf("SLURM ended the job, %s or more after the last step", duration(x.For)), QuoteAt(x.End.Line.At, nil)))
	if x.Saving != nil {
		p.Rivals = append([]knowledge.Slug{knowledge.CheckpointIO}, p.Rivals...)
		p.Summary += ", in a save that did not finish in these logs"
		p.For = append(p.For, finding("a save started after it and did not finish in these logs", QuoteAt(x.Saving.At, nil)))
	}
	if x.Alive != nil {
		p.For = append(p.For, finding("processes kept logging later: the log was alive, the training was not", QuoteAt(*x.Alive, nil)))
	}
	p.Needs = []incident.Need{needWatchdog}
	return p
}

// ofStep names the step of a line.
func ofStep(p *resolve.Point) string {
	if s := atStep(p); s != "" {
		return " (" + s[len(" at "):] + ")"
	}
	return ""
}

func afterStep(p *resolve.Point) string {
	if s := atStep(p); s != "" {
		return " after" + s[len(" at"):]
	}
	return ""
}

var needWatchdog = incident.Need{What: "a watchdog that ends a hung job and reports which rank blocked it", Why: "without one, a hang lasts until the time limit and no line shows which rank",
	Command: "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1   # and init_process_group(timeout=…) well below the time limit", Obtainable: "next-time"}
