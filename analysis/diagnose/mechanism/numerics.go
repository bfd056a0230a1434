package mechanism

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/pattern"
)

// Needs that tell data, learning rate and hardware apart once numbers went wrong.
var (
	needReplay  = artefact(knowledge.Replay)
	needAnomaly = incident.Need{What: "the operation that produces the first NaN", Why: "PyTorch's anomaly detection reports it",
		Command: "python -c 'import torch; help(torch.autograd.set_detect_anomaly)'   # turn it on for a few steps from the last good checkpoint", Obtainable: "next-time"}
)

// computedAgain: the framework computed a step once more, and the result was another one. On the same GPU that may as well be
// a program that is not deterministic; on another one the first GPU is at fault, which these lines do not name.
func computedAgain(s *Scene) *Proposal {
	p := fromFailures(s, knowledge.SilentCorruption)
	if p == nil {
		return nil
	}
	p.Why = "the step was recomputed with a different result"
	if slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool { return fl.Entry().Blames == knowledge.EarlierRun }) {
		p.Ranks, p.Nodes, p.Scope = nil, nil, "unknown"
		p.Why = "the same step gave a different result on another GPU; the previous run's log shows which one was wrong"
		return p
	}
	p.Rivals, p.Base = []knowledge.Slug{knowledge.NonFiniteLoss}, 0.9
	return p
}

// lasting is how many lines in a row, to the end, must show no number before that counts as the state of the run: single
// overflows are skipped and survived, also as the last thing that a log shows.
const lasting = 2

// nonFinite: the program stopped itself because of it, or the course shows it, which alone ends no process: what failed
// besides is its consequence only where that speaks of numbers.
func nonFinite(s *Scene) *Proposal {
	f := s.Facts
	said := fromFailures(s, knowledge.NonFiniteLoss)
	b, ok := broken(f)
	var linked, others []*resolve.Failure
	if said == nil && ok {
		linked, others = aboutNumbers(f)
	}
	switch {
	case said != nil && ok:
		said.Summary = became(b) + "; " + said.Summary
		said.Failures = append(said.Failures, inCourse(f, b))
		said.For = append([]incident.Finding{brokenFinding(b)}, said.For...)
		said.Onset = sound(b)
		said.Ranks, said.Nodes, said.Scope = nil, nil, "all" // whoever says so first need not have had it first
		return said
	case said != nil:
		if gone := scaleGone(s); gone != nil { // gradients are summed over the ranks: an overflow is everybody's
			said.Ranks, said.Nodes, said.Scope = nil, nil, "all"
			said.For, said.Onset = append(gone.For, said.For...), gone.Onset
		}
		if !ownNumbers(said) && !passedByOthers(f, said) {
			said.Ranks, said.Nodes, said.Scope = nil, nil, "all"
		}
		return said
	case !ok || b.N < lasting && len(linked) == 0 || b.Losses == 0 && b.N < lasting+1:
		if p := scaleGone(s); p != nil {
			return p
		}
		return nil
	}
	p := &Proposal{Mechanism: knowledge.NonFiniteLoss, Class: Degraded, Scope: "all", Direct: true, Base: 0.94, At: b.First.T, Onset: sound(b),
		Why:       fmt.Sprintf("the last %s show it, and no later line contradicts them", plural(int(b.N), "step line", "step lines")),
		Plausible: fmt.Sprintf("the numbers had already gone bad (%s:%d); nothing links that to how the job ended", b.First.At.File, b.First.At.Line)}
	p.Summary = became(b)
	p.For = append(p.For, brokenFinding(b))
	if id, found := firstBroken(f); found {
		p.Ranks, p.Nodes, p.Scope = []int{id}, nodesOf(f, []int{id}), "rank"
		p.Summary = fmt.Sprintf("%s on %s, before any other rank's", became(b), where(f, p.Ranks))
	}
	if len(linked) > 0 && len(others) == 0 || len(linked) > 0 && s.Graph.Shape == waitfor.NoHang {
		p.Class = Local
		p.Failures = []*resolve.Failure{inCourse(f, b)}
		p.Why = "the numbers went bad first, and the error refers to them"
		for i, fl := range linked {
			p.Explains = append(p.Explains, fl.Mechanism)
			if i < 2 {
				p.Led = append(p.Led, finding("the program stopped because of it: "+short(fl.Text), FailureEvidence(fl)))
			}
		}
	}
	return p
}

// became says of which number the course shows from which step on that it is none.
func became(b resolve.Broken) string {
	what := "the loss"
	if b.Losses == 0 {
		what = "the gradient"
	}
	return what + " became NaN or infinite" + atStep(b.First)
}

// inCourse is the failure that the step lines show, of no rank.
func inCourse(f *resolve.Facts, b resolve.Broken) *resolve.Failure {
	return &resolve.Failure{Rank: resolve.NoRank, Node: f.NodeOf(*b.First.At), Mechanism: knowledge.NonFiniteLoss, Role: knowledge.CauseRole, Direct: true,
		Kind: resolve.KindCourse, At: b.First.At, T: b.First.T, Count: 1}
}

// ownNumbers says that the words are about the rank's own numbers, before they were added up with the others': "found NaN in
// local grad norm", a check of a collective's input, PyTorch's anomaly detection. Whoever finds the loss not finite may have
// it from anybody.
func ownNumbers(p *Proposal) bool {
	return !slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool {
		return fl.Entry().Blames != knowledge.WritersRank && fl.Role == knowledge.CauseRole
	})
}

// passedByOthers says that one rank alone stopped because of its numbers, and another had gone on to where it lost that one: it had passed
// the same check. Rank 0 may check for all.
func passedByOthers(f *resolve.Facts, p *Proposal) bool {
	id := resolve.NoRank
	for _, fl := range p.Failures {
		if fl.Rank <= 0 || id != resolve.NoRank && fl.Rank != id {
			return false
		}
		id = fl.Rank
	}
	return slices.ContainsFunc(f.Failures, func(fl *resolve.Failure) bool {
		return fl.Rank != resolve.NoRank && fl.Rank != id && fl.LostPeer()
	})
}

// sound is the last line that shows sound numbers, or the first that does not.
func sound(b resolve.Broken) *resolve.Point {
	if b.Good != nil {
		return b.Good
	}
	return b.First
}

// atStep is " at step 12", or nothing where no line states the step.
func atStep(p *resolve.Point) string {
	if p.Step == line.Unknown {
		return ""
	}
	return fmt.Sprintf(" at step %d", p.Step)
}

// broken is the course in which numbers that are none came first, by time where lines state it, else by step.
func broken(f *resolve.Facts) (best resolve.Broken, ok bool) {
	for _, c := range f.Courses {
		b, bad := c.Broken()
		if !bad {
			continue
		}
		if !ok || earlier(b.First, best.First) || !earlier(best.First, b.First) && b.N > best.N {
			best, ok = b, true
		}
	}
	return best, ok
}

func earlier(a, b *resolve.Point) bool {
	if a.T.Before(b.T) || b.T.Before(a.T) {
		return a.T.Before(b.T)
	}
	return a.Step != line.Unknown && b.Step != line.Unknown && a.Step < b.Step
}

// firstBroken is the one rank whose own loss was no number before that of any other, where at least three ranks print
// their own.
func firstBroken(f *resolve.Facts) (id int, ok bool) {
	type first struct {
		rank int
		step int64
	}
	ranks := map[int]bool{}
	var at []first
	for _, c := range f.Courses {
		if c.Rank == resolve.NoRank || len(c.Losses()) == 0 {
			continue
		}
		ranks[c.Rank] = true
		if b, bad := c.Broken(); bad && b.N >= lasting {
			if b.First.Step == line.Unknown {
				return 0, false
			}
			at = append(at, first{c.Rank, b.First.Step})
		}
	}
	if len(ranks) < 3 || len(at) == 0 {
		return 0, false
	}
	sort.Slice(at, func(i, j int) bool { return at[i].step < at[j].step })
	if len(at) > 1 && at[1].step == at[0].step {
		return 0, false
	}
	return at[0].rank, true
}

func brokenFinding(b resolve.Broken) incident.Finding {
	var p *incident.Predicate
	if t := b.First.Loss.Printed; b.First.Loss.Known && !b.First.Loss.Finite {
		p = &incident.Predicate{Literals: []string{t}}
	}
	ev := []incident.Evidence{QuoteAt(*b.First.At, p)}
	text := fmt.Sprintf("no step has a finite value from here on%s", atStep(b.First))
	if b.Good != nil {
		ev = append(ev, QuoteAt(*b.Good.At, nil))
		text = turned(b.Good, b.First)
	}
	return finding(text, ev...)
}

// turned says between which steps the numbers stopped being finite.
func turned(good, first *resolve.Point) string {
	if good.Step == line.Unknown || first.Step == line.Unknown {
		return "one step line has finite values, the next one doesn't"
	}
	return fmt.Sprintf("step %d is the last with finite values; step %d is the first without", good.Step, first.Step)
}

// numberWords are how errors speak of numbers that are none.
var numberWords = pattern.New(`(?i)\b(?:nan|nans|inf|infs|isnan|isfinite|isinf|infinite|infinity|non-?finite|not finite|overflow|exploding|exploded|diverged|divergence)\b|FloatingPointError|loss scale|gradient norm|\bloss\b|probability tensor|invalid probabilit`)

// aboutNumbers divides the causes that processes report into those that speak of numbers, or of nothing but an exit, and
// all others.
func aboutNumbers(f *resolve.Facts) (linked, others []*resolve.Failure) {
	for _, fl := range f.Failures {
		if fl.Role != knowledge.CauseRole {
			continue
		}
		text := fl.Text
		assert := false
		if fl.Exc != nil {
			text = fl.Exc.Type + " " + fl.Exc.Message
			assert = fl.Exc.Type == "AssertionError"
		}
		switch {
		case fl.Mechanism.Is(knowledge.Checked) && (assert || numberWords.MatchString(text)):
			linked = append(linked, fl)
		default:
			others = append(others, fl)
		}
	}
	return linked, others
}

// fallen is from where a loss scale must have come down before its minimum means anything: runs in bfloat16 print 1 from
// the first step on.
const fallen = 128

// scaleGone: the loss scale came down to its minimum and steps overflowed to the end.
func scaleGone(s *Scene) *Proposal {
	f := s.Facts
	byFile := map[string][]*worker.Numeric{}
	var files []string
	for i := range f.Obs.Numerics {
		n := &f.Obs.Numerics[i]
		if n.Kind != worker.NumericScale && n.Kind != worker.NumericOverflow || n.Value <= 0 {
			continue
		}
		if byFile[n.File] == nil {
			files = append(files, n.File)
		}
		byFile[n.File] = append(byFile[n.File], n)
	}
	sort.Strings(files)
	steps := stepsSince(f, byFile)
	for _, name := range files {
		list := byFile[name]
		end := list[len(list)-1]
		top := end
		for i := len(list) - 2; i >= 0 && list[i].Value > list[i+1].Value; i-- {
			top = list[i]
		}
		if steps[name] >= goesOn {
			continue
		}
		if end.Value > 1 || top.Value < fallen {
			if p := scaleFalls(f, list); p != nil {
				return p
			}
			continue
		}
		p := &Proposal{Mechanism: knowledge.NonFiniteLoss, Class: Degraded, Scope: "all", Direct: true, Base: 0.9, At: f.At(top.At),
			Summary: fmt.Sprintf("the loss scale fell from %g to its minimum of %g: gradients overflow at any scale", top.Value, end.Value),
			Why:     "each drop is a step with non-finite gradients, and the scale never rose again",
			For: []incident.Finding{finding(fmt.Sprintf("the loss scale fell from %g to %g", top.Value, end.Value),
				QuoteAt(top.At, nil), QuoteAt(end.At, nil))}}
		p.Plausible = "gradients overflowed until the loss scale hit its minimum; nothing links that to how the job ended"
		p.Onset = &resolve.Point{At: &top.At, Step: top.Step, T: p.At}
		linked, others := aboutNumbers(f)
		if linked = append(linked, dividedBy(end, others)...); len(linked) > 0 {
			p.Class = Local
			p.Failures = linked
			for _, fl := range linked {
				p.Explains = append(p.Explains, fl.Mechanism)
			}
		}
		return p
	}
	return nil
}

// A scale is found from above at the start, and a scaler halves it now and then. These falls in a row, to where no run settles, are neither.
const (
	fallsInARow = 4
	settled     = 16
)

// scaleFalls: up to the end of the log every step overflowed, and the loss scale is far below where runs settle. It may yet stop there.
func scaleFalls(f *resolve.Facts, list []*worker.Numeric) *Proposal {
	first := len(list) - 1
	for first > 0 && list[first-1].Value > list[first].Value && list[first-1].Kind == worker.NumericOverflow {
		first--
	}
	top, end := list[first], list[len(list)-1]
	if len(list)-1-first < fallsInARow || end.Value >= settled || end.Kind != worker.NumericOverflow {
		return nil
	}
	return &Proposal{Mechanism: knowledge.NonFiniteLoss, Class: Degraded, Scope: "all", Base: 0.85, Rivals: []knowledge.Slug{knowledge.Unknown}, At: f.At(top.At),
		Summary: fmt.Sprintf("gradients overflowed in %d skipped steps in a row; the loss scale fell to %g", len(list)-first, end.Value),
		Why:     "every step in between was skipped; these logs don't show how the run continued",
		For: []incident.Finding{finding(fmt.Sprintf("the loss scale fell to %g, then to %g", top.Value, end.Value),
			QuoteAt(top.At, nil), QuoteAt(end.At, nil))},
		Onset: &resolve.Point{At: &top.At, Step: top.Step, T: f.At(top.At)}, Plausible: "gradients overflowed in every step before that; nothing links that to how the job ended"}
}

// vanished is a loss scale whose inverse means nothing any more: apex halves without a floor, until it divides by 0.
const vanished = 1e-5

// dividedBy are divisions by zero below the line on which the loss scale vanished.
func dividedBy(end *worker.Numeric, fls []*resolve.Failure) []*resolve.Failure {
	var out []*resolve.Failure
	for _, fl := range fls {
		if end.Value < vanished && fl.Mechanism == knowledge.Exception && end.Above(fl.At.Pos) && strings.Contains(fl.Text, "ZeroDivisionError: float division by zero") {
			out = append(out, fl)
		}
	}
	return out
}

// goesOn is how many steps without a further overflow say that the scale was left at its minimum and the run went on.
const goesOn = 20

// stepsSince counts the steps of each file behind its last number.
func stepsSince(f *resolve.Facts, byFile map[string][]*worker.Numeric) map[string]int {
	steps := map[string]int{}
	for i := range f.Progress {
		p := &f.Progress[i]
		if list := byFile[p.File]; len(list) > 0 && p.Off > list[len(list)-1].Off && p.Phase == worker.Training {
			steps[p.File]++
		}
	}
	return steps
}

// lossLeft says that the loss left its baseline and did not come back, or is no number: then a run is not healthy even
// if nothing else is wrong.
func lossLeft(f *resolve.Facts) bool {
	for _, c := range f.Courses {
		if b, ok := c.Broken(); ok && b.Losses > 0 {
			return true
		}
		if _, _, ok := c.Left(); ok {
			return true
		}
	}
	return false
}

// Oddity is what is strange about a run that no mechanism explains.
type Oddity struct {
	Summary, Why string
	Findings     []incident.Finding
	Suspects     []incident.Suspect
	Needs        []incident.Need
}

// Odd looks at a run that nothing explains. A loss that jumped and stayed up fails nobody by itself, and only a replay
// tells why it did; nil if nothing is strange.
func Odd(s *Scene) *Oddity {
	for _, c := range s.Facts.Courses {
		from, last, ok := c.Left()
		if !ok {
			continue
		}
		o := &Oddity{Summary: fmt.Sprintf("the loss left its baseline after%s and had not recovered by the end of the log (%s, then %s)", orHere(from), from.Loss.Printed, last.Loss.Printed),
			Why: "no line shows why; bad data, the learning rate and faulty hardware look alike here"}
		o.Findings = append(o.Findings, finding(fmt.Sprintf("the loss before: %s%s", from.Loss.Printed, atStep(from)), QuoteAt(*from.At, nil)),
			finding(fmt.Sprintf("the loss at the end: %s%s", last.Loss.Printed, atStep(last)), QuoteAt(*last.At, nil)))
		o.Suspects = []incident.Suspect{{Mechanism: string(knowledge.SilentCorruption), Why: "a loss jump with no change to code or data; only a replay can tell"},
			{Mechanism: string(knowledge.NonFiniteLoss), Why: "the data in these steps or the learning rate may have made gradients explode"}}
		o.Needs = []incident.Need{needReplay}
		if why, found := alteredBefore(s.Facts, c, from); why != "" {
			o.Why, o.Findings = why, append(o.Findings, found...)
			o.Suspects[1].Why = "what changed in the run just before may have made gradients explode"
			o.Suspects[0], o.Suspects[1] = o.Suspects[1], o.Suspects[0]
		}
		return o
	}
	return nil
}

func orHere(p *resolve.Point) string {
	if p.Step == line.Unknown {
		return fmt.Sprintf(" %s:%d", p.At.File, p.At.Line)
	}
	return fmt.Sprintf(" step %d", p.Step)
}
