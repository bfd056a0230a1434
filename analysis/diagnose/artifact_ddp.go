package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/analysis/worker"
	"faultline/incident"
)

// ddpArtifact says what DDP logs of itself: settings in which ranks differ, settings that cost, and averages side by side.
func ddpArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "ddp", Title: "DistributedDataParallel's own log"}
	if len(f.Obs.DDPSetups)+len(f.Obs.DDPPaces) == 0 {
		return a, false
	}
	for i := range f.Obs.DDPSetups {
		a.Files = append(a.Files, f.Obs.DDPSetups[i].File)
	}
	for i := range f.Obs.DDPPaces {
		a.Files = append(a.Files, f.Obs.DDPPaces[i].File)
	}
	slices.Sort(a.Files)
	a.Files = slices.Compact(a.Files)
	setups := setupsOf(f)
	a.Findings = append(a.Findings, unlikeSettings(setups)...)
	if len(f.Obs.DDPPaces) > 0 {
		a.Limits = "The averages include every step since the start, even the slow first ones, and a forward pass that waits for other ranks (SyncBatchNorm, buffer broadcasts) looks slow through no fault of its own: they show where time goes, not why."
		if x, ok := paceFinding(f); ok {
			a.Findings = append(a.Findings, x)
		}
	}
	if x, ok := settingsFinding(setups); ok {
		a.Findings = append(a.Findings, x)
	}
	return a, true
}

// ddpRank is a rank as it can be told apart: global where that is proven, else the one inside the module's group.
type ddpRank struct {
	rank   int
	proven bool
}

func ddpRankOf(f *resolve.Facts, at worker.At, inside int) ddpRank {
	if id, ok := f.RankOf(at); ok {
		return ddpRank{id, true}
	}
	return ddpRank{inside, false}
}

// ddpSetup is what one rank logs of its n-th module.
type ddpSetup struct {
	who    ddpRank
	nth    int
	module string
	*worker.DDPSetup
}

func setupsOf(f *resolve.Facts) (out []ddpSetup) {
	seen := map[ddpRank]int{}
	for i := range f.Obs.DDPSetups {
		s := &f.Obs.DDPSetups[i]
		who := ddpRankOf(f, s.At, s.Rank)
		x := ddpSetup{who: who, nth: seen[who], DDPSetup: s}
		seen[who]++
		if m, ok := x.setting("module_name"); ok {
			x.module = m.Value
		}
		out = append(out, x)
	}
	slices.SortStableFunc(out, func(a, b ddpSetup) int {
		return cmp.Or(cmp.Compare(a.nth, b.nth), cmp.Compare(a.who.rank, b.who.rank))
	})
	return out
}

func (s *ddpSetup) setting(name string) (worker.Setting, bool) {
	i := slices.IndexFunc(s.Settings, func(x worker.Setting) bool { return x.Name == name })
	if i < 0 {
		return worker.Setting{}, false
	}
	return s.Settings[i], true
}

// alikeSettings are those that are the same on every rank of a module's group unless something is wrong, and what else that may mean.
// gloo_num_threads is not among them: where Gloo is no option PyTorch prints memory that nothing has written.
var alikeSettings = []struct{ name, means string }{
	{"num_parameter_tensors", "the ranks hold different models"},
	{"total_parameter_size_bytes", "the ranks hold different models"},
	{"dtypes", "the ranks hold parameters of different types"},
	{"world_size", "they are not in the same group"},
	{"backend_name", "they are not in the same group"},
	{"find_unused_parameters", "the ranks run with different settings"},
	{"static_graph", "the ranks run with different settings"},
	{"broadcast_buffers", "the ranks run with different settings"},
	{"bucket_cap_bytes", "the ranks split their gradients into different collectives"},
	{"bucket_sizes", "the ranks split their gradients into different collectives"},
	{"gradient_as_bucket_view", "the ranks run with different settings"},
	{"has_sync_bn", "the ranks hold different models"},
}

// unlikeSettings finds settings that ranks of the same module do not agree on.
func unlikeSettings(all []ddpSetup) (out []incident.Finding) {
	for _, s := range alikeSettings {
		for i := range all {
			x, ok := all[i].setting(s.name)
			j := slices.IndexFunc(all, func(o ddpSetup) bool {
				y, has := o.setting(s.name)
				return has && o.nth == all[i].nth && o.module == all[i].module && o.who.proven && y.Value != x.Value
			})
			if !ok || j <= i || !all[i].who.proven || !sameGroup(&all[i], &all[j], s.name) {
				continue
			}
			y, _ := all[j].setting(s.name)
			out = append(out, incident.Finding{Statement: fmt.Sprintf("%s of %s is %s on rank %d and %s on rank %d: %s", s.name, orModule(all[i].module), orNothing(x.Value), all[i].who.rank,
				orNothing(y.Value), all[j].who.rank, s.means), Evidence: []incident.Evidence{settingEvidence(x), settingEvidence(y)}})
			break
		}
		if len(out) == 3 {
			break
		}
	}
	return out
}

// sameGroup says that two modules may be one: their groups are of the same size. Pipeline stages hold different ones by right, under one
// name, and a job of several groups has as many modules: then a rank inside the group occurs twice.
func sameGroup(a, b *ddpSetup, name string) bool {
	x, ok := a.setting("world_size")
	y, has := b.setting("world_size")
	return a.Rank != b.Rank && a.Rank == a.who.rank && b.Rank == b.who.rank && (name == "world_size" || ok && has && x.Value == y.Value)
}

func settingEvidence(s worker.Setting) incident.Evidence {
	return mechanism.QuoteAt(s.At, &incident.Predicate{Literals: []string{strings.TrimSpace(s.Name + ": " + s.Value)}})
}

func orNothing(v string) string {
	if v == "" {
		return "empty"
	}
	return v
}

func orModule(name string) string {
	if name == "" {
		return "the module"
	}
	return name
}

// settingsFinding lists what a reader of the first module's settings wants to see.
func settingsFinding(all []ddpSetup) (incident.Finding, bool) {
	if len(all) == 0 {
		return incident.Finding{}, false
	}
	s := &all[0]
	var words []string
	var ev []incident.Evidence
	for _, name := range []string{"world_size", "backend_name", "num_parameter_tensors", "find_unused_parameters", "static_graph", "gradient_as_bucket_view", "broadcast_buffers", "bucket_cap_bytes"} {
		if x, ok := s.setting(name); ok && x.Value != "" {
			words = append(words, name+" "+x.Value)
			if len(ev) < 4 {
				ev = append(ev, settingEvidence(x))
			}
		}
	}
	if len(words) == 0 {
		return incident.Finding{}, false
	}
	return incident.Finding{Statement: fmt.Sprintf("%s was wrapped with %s", orModule(s.module), strings.Join(words, ", ")), Evidence: ev}, true
}

// pace is one rank's average of the forward pass.
type pace struct {
	who     ddpRank
	forward float64 // milliseconds
	at      worker.At
	value   string
}

// Limits of what is called slow: far beyond all others, which are near each other, and long enough to matter.
const (
	paceIteration = 10  // before it averages are those of the first steps
	paceFar       = 1.5 // of the next one
	paceNear      = 1.3 // the others among themselves
	paceLeast     = 1.0 // milliseconds
	paceRanks     = 3
)

// paceFinding compares the averages of the forward pass at the last iteration that all ranks of a module's group report.
func paceFinding(f *resolve.Facts) (incident.Finding, bool) {
	type key struct {
		module    string
		world     int
		iteration int64
	}
	groups := map[key][]pace{}
	twice := map[key]bool{}
	for i := range f.Obs.DDPPaces {
		p := &f.Obs.DDPPaces[i]
		ns, err := strconv.ParseInt(p.Times[0].Value, 10, 64)
		if err != nil || p.Iteration < paceIteration || p.Rank < 0 {
			continue
		}
		k := key{p.Module, p.World, p.Iteration}
		who := ddpRankOf(f, p.At, p.Rank)
		if who.rank != p.Rank || slices.ContainsFunc(groups[k], func(o pace) bool { return o.who.rank == who.rank }) {
			twice[k] = true // several groups, or several modules of one name
			continue
		}
		groups[k] = append(groups[k], pace{who, float64(ns) / 1e6, p.Times[0].At, p.Times[0].Value})
	}
	var best key
	for k, list := range groups {
		if !twice[k] && len(list) == k.world && k.world >= paceRanks && (k.iteration > best.iteration || k.iteration == best.iteration && k.module < best.module) {
			best = k
		}
	}
	list := groups[best]
	if len(list) == 0 {
		return incident.Finding{}, false
	}
	slices.SortFunc(list, func(a, b pace) int {
		return cmp.Or(cmp.Compare(b.forward, a.forward), cmp.Compare(a.who.rank, b.who.rank))
	})
	most, next, least := list[0], list[1], list[len(list)-1]
	head := fmt.Sprintf("by DDP's own averages before iteration %d, the forward pass of %s takes ", best.iteration, orModule(best.module))
	ev := []incident.Evidence{paceEvidence(most), paceEvidence(next), paceEvidence(least)}
	if most.forward >= paceLeast && most.forward >= paceFar*next.forward && next.forward <= paceNear*least.forward {
		return incident.Finding{Statement: fmt.Sprintf("%s%.1f ms on rank %d and %.1f to %.1f ms on the other %d (×%.1f the next slowest)", head, most.forward, most.who.rank,
			least.forward, next.forward, len(list)-1, most.forward/max(next.forward, 1e-6)), Evidence: ev}, true
	}
	return incident.Finding{Statement: fmt.Sprintf("%s%.1f to %.1f ms on %d ranks; no rank stands out", head, least.forward, most.forward, len(list)), Evidence: []incident.Evidence{ev[0], ev[2]}}, true
}

func paceEvidence(p pace) incident.Evidence {
	return mechanism.QuoteAt(p.at, &incident.Predicate{Literals: []string{"Avg forward compute time: " + p.value}})
}
