package mechanism

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// What DistributedDataParallel says when its reducer gives up, by the beginning of its message (c10d/reducer.cpp, 1.1 … recent).
const (
	litUnfinished = "Expected to have finished reduction in the prior iteration before starting a new one"
	litReadyTwice = "Expected to mark a variable ready only once"
	litChanged    = "Your training graph has changed in this iteration"
	litStatic     = "static_graph set to True"
)

// reducerSaid is which of DDP's messages a failure is; "" where it is none.
func reducerSaid(fl *resolve.Failure) string {
	if fl.Exc == nil {
		return ""
	}
	for _, lit := range []string{litUnfinished, litReadyTwice, litChanged} {
		if strings.Contains(fl.Exc.Message, lit) {
			return lit
		}
	}
	return ""
}

// reducerNames adds to an exception of DDP's reducer which parameters it is about, on which ranks, and what to do.
func reducerNames(s *Scene, p *Proposal) {
	if len(p.Failures) == 0 {
		return
	}
	said := ""
	for _, fl := range p.Failures {
		x := reducerSaid(fl)
		if x == "" || said != "" && x != said {
			return // something else failed as well
		}
		said = x
	}
	kind, what, one := worker.NoGrad, "got no gradient in the previous step, and DDP is waiting for them", "got no gradient in the previous step, and DDP is waiting for it"
	static := strings.Contains(p.Failures[0].Exc.Message, litStatic)
	switch said {
	case litReadyTwice:
		kind, what, one = worker.ReadyTwice, "got a second gradient in one step", "got a second gradient in one step"
	case litChanged:
		what, one = "take part in only some steps, but static_graph=True promises that every step is the same", "takes part in only some steps, but static_graph=True promises that every step is the same"
	}
	sets := parameterSets(s.Facts, kind)
	p.Now = reducerAdvice(said, static)
	if len(sets) == 0 || said == litChanged {
		if said != litChanged && len(sets) == 0 {
			p.Needs = append(p.Needs, needNames)
		}
		return
	}
	who := ""
	if len(p.Ranks) > 0 {
		who = where(s.Facts, p.Ranks) + ": "
	} else if p.Scope == "all" {
		who = "across the whole job: "
	}
	verb := what
	if len(sets[0].names) == 1 && !sets[0].more {
		verb = one
	}
	p.Summary = fmt.Sprintf("%s%s %s", who, sets[0].parameters(3), verb)
	if len(sets) > 1 {
		p.Summary = fmt.Sprintf("%sparameters %s, different ones on different ranks (%s: %s)", who, what, sets[0].who(), sets[0].parameters(3))
	}
	p.For = append(parameterFindings(s, kind, sets), p.For[:min(len(p.For), 1)]...)
	if !sets[0].named {
		p.Needs = append(p.Needs, needNames)
	}
	if n, ok := allParameters(s.Facts, sets[0]); ok && kind == worker.NoGrad {
		p.For = append(p.For, finding(fmt.Sprintf("these are all %s in the module: that step's backward pass never finished, as after an exception the loop caught, or a skipped step",
			plural(int(n.value), "parameter", "parameters")), QuoteAt(n.at, &incident.Predicate{Fields: []incident.Field{{Key: "num_parameter_tensors: ", Value: strconv.FormatInt(n.value, 10)}}})))
	}
}

var needNames = incident.Need{What: "the names of these parameters", Why: "PyTorch only prints them in debug mode; the numbers follow the order of parameters that require a gradient",
	Command: "TORCH_DISTRIBUTED_DEBUG=INFO", Obtainable: "next-time"}

// reducerAdvice is what to do about each message.
func reducerAdvice(said string, static bool) []knowledge.Advice {
	switch {
	case said == litReadyTwice:
		return []knowledge.Advice{{Text: "Look for what runs these layers twice in one backward pass: activation checkpointing (use_reentrant=False), a layer used twice, or backward called twice; static_graph=True helps if every step is the same."}}
	case said == litChanged, static:
		return []knowledge.Advice{{Text: "Remove static_graph=True, or make the same parameters take part in every step: a warm-up, a layer unfrozen later or a data-dependent branch breaks that promise."}}
	}
	return []knowledge.Advice{{Text: "Find the branch in forward that skips these parameters. Use them in the loss, freeze them (requires_grad=False), or pass find_unused_parameters=True, which costs a graph traversal every step."}}
}

// parameterSet are ranks that name the same parameters.
type parameterSet struct {
	names       []string
	named, more bool
	ranks       []int // global
	inside      []int // inside the group, of lines of which nothing proves the rank
	kind        string
	at          []worker.At
}

func (p *parameterSet) who() string {
	switch {
	case len(p.ranks) > 0:
		return rankWords(p.ranks)
	case len(p.inside) > 0 && p.inside[0] >= 0:
		return rankWords(p.inside) + " of the module's group"
	}
	return "an unidentified rank"
}

// parameters lists up to n of them.
func (p *parameterSet) parameters(n int) string {
	if len(p.names) == 1 && !p.more {
		return "parameter " + p.names[0]
	}
	if len(p.names) <= n && !p.more {
		return "parameters " + strings.Join(p.names, ", ")
	}
	total := strconv.Itoa(len(p.names))
	if p.more {
		total = "more than " + total
	}
	return fmt.Sprintf("parameters %s, … (%s in all)", strings.Join(p.names[:min(n, len(p.names))], ", "), total)
}

// parameterSets groups the ranks by what they name, the set of the fewest ranks first: where ranks differ, that is the odd one.
func parameterSets(f *resolve.Facts, kind string) []parameterSet {
	var sets []parameterSet
	for _, u := range f.Reduced() {
		if u.Kind != kind {
			continue
		}
		i := slices.IndexFunc(sets, func(x parameterSet) bool {
			return x.named == u.Named && x.more == u.More && slices.Equal(x.names, u.Names)
		})
		if i < 0 {
			i = len(sets)
			sets = append(sets, parameterSet{names: u.Names, named: u.Named, more: u.More, kind: kind})
		}
		sets[i].at = append(sets[i].at, u.At)
		if u.Rank != resolve.NoRank {
			sets[i].ranks = appendNew(sets[i].ranks, u.Rank)
		} else {
			sets[i].inside = appendNew(sets[i].inside, u.Inside)
		}
	}
	slices.SortStableFunc(sets, func(a, b parameterSet) int {
		return cmp.Compare(len(a.ranks)+len(a.inside), len(b.ranks)+len(b.inside))
	})
	return sets
}

// parameterFindings say who names what, and whether the ranks took different paths.
func parameterFindings(s *Scene, kind string, sets []parameterSet) []incident.Finding {
	const most, listed = 4, 12
	verb := "got no gradient"
	if kind == worker.ReadyTwice {
		verb = "got a second gradient"
	}
	var out []incident.Finding
	for i := range sets[:min(len(sets), most)] {
		x := &sets[i]
		out = append(out, finding(fmt.Sprintf("%s: %s %s", x.who(), x.parameters(listed), verb), reductionEvidence(x)...))
	}
	if kind != worker.NoGrad {
		return out
	}
	more := func(text string, ev ...incident.Evidence) {
		out[0].Statement += text
		out[0].Evidence = append(out[0].Evidence, ev...)
	}
	switch said := ranksOf(sets); {
	case len(sets) > 1 && stated(sets):
		more("; the lists differ between ranks, so what a step uses depends on the rank or its batch", reductionEvidence(&sets[len(sets)-1])...)
	case len(sets) > 1:
	case s.Facts.Job.WorldSize > 1 && len(said) == s.Facts.Job.WorldSize:
		more(fmt.Sprintf(", the same on all %d ranks: part of the model was unused everywhere, so it isn't a branch that only some ranks took", len(said)))
	default:
		if id, at, ok := inBackward(s, said); ok {
			more(fmt.Sprintf("; meanwhile rank %d was waiting in its backward pass for other ranks' gradients: the ranks seem to have taken different paths through the model, depending on the rank or its batch", id), at)
		} else if len(said) > 0 && s.Facts.Job.WorldSize > len(said) {
			more("; the other ranks print no such list (the launcher may have ended them first), so can't tell whether they took the same path through the model")
		}
	}
	return out
}

// stated says that all sets are stated in the same way, and wholly.
func stated(sets []parameterSet) bool {
	return !slices.ContainsFunc(sets, func(x parameterSet) bool { return x.named != sets[0].named || x.more })
}

func ranksOf(sets []parameterSet) (ids []int) {
	for i := range sets {
		ids = append(ids, sets[i].ranks...)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// inBackward finds a rank beside those that failed in a backward pass because of others: there it waited for their gradients.
func inBackward(s *Scene, beside []int) (id int, at incident.Evidence, ok bool) {
	for _, r := range s.Facts.Ranks {
		if slices.Contains(beside, r.ID) {
			continue
		}
		for _, fl := range r.Failures {
			if fl.Exc == nil || fl.Exc.Torn || fl.Role == knowledge.CauseRole {
				continue
			}
			for _, fr := range fl.Exc.Frames {
				if fr.Func == "backward" && strings.HasSuffix(fr.File, "torch/autograd/__init__.py") {
					return r.ID, FailureEvidence(fl), true
				}
			}
		}
	}
	return 0, incident.Evidence{}, false
}

// reductionEvidence quotes up to three of the ranks.
func reductionEvidence(x *parameterSet) (ev []incident.Evidence) {
	lit := "did not receive grad for rank"
	if x.kind == worker.ReadyTwice {
		lit = "has been marked as ready twice"
	}
	for _, at := range x.at[:min(len(x.at), 3)] {
		ev = append(ev, QuoteAt(at, &incident.Predicate{Literals: []string{lit}}))
	}
	return ev
}

type parameterCount struct {
	value int64
	at    worker.At
}

// allParameters says that a set has as many parameters as the only module that DDP wrapped.
func allParameters(f *resolve.Facts, x parameterSet) (n parameterCount, ok bool) {
	for i := range f.Obs.DDPSetups {
		for _, o := range f.Obs.DDPSetups[i].Settings {
			if o.Name != "num_parameter_tensors" {
				continue
			}
			v, err := strconv.ParseInt(o.Value, 10, 32)
			if err != nil || ok && v != n.value {
				return n, false
			}
			n, ok = parameterCount{v, o.At}, true
		}
	}
	return n, ok && !x.more && n.value == int64(len(x.names))
}
