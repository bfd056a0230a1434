package simulate

import (
	"math/rand/v2"
	"slices"
)

// picker draws the axes of a grid.
type picker struct{ *rand.Rand }

var fileModes = []string{"node", "node", "node", "rank", "task", "single"}

// byteDamages leave every fact in place: a reader has to cope. fileDamages take facts away.
var (
	byteDamages = []string{"glued", "wrapped", "crlf", "nul", "utf8", "long-line", "no-first", "no-last", "gz", "zst"}
	fileDamages = []string{"missing-root-file", "missing-other-file", "truncated-root", "truncated-other"}
)

// Grid returns n varied specs over all axes of a line's mechanisms (0: of all that are played by the job's logs alone), the
// same for the same seed.
func Grid(n int, seed uint64, line int) []Spec {
	var ms []mechanism
	for _, m := range registry() {
		if line == 0 && m.line != storageLine || m.line == line {
			ms = append(ms, m)
		}
	}
	if len(ms) == 0 {
		return nil
	}
	out := make([]Spec, 0, n)
	for i := range n {
		p := &picker{rand.New(rand.NewPCG(seed, uint64(i)))}
		m := ms[i%len(ms)]
		spec := p.draw(m, i/len(ms))
		if m.fit != nil {
			m.fit(&spec, p)
		}
		p.settle(&spec)
		out = append(out, spec)
	}
	return out
}

// draw picks every axis; round walks the releases, so that a grid of rounds covers them.
func (p *picker) draw(m mechanism, round int) Spec {
	s := Spec{Seed: p.Uint64() >> 1, Mechanism: m.name, Torch: generations[round%len(generations)].name}
	p.size(&s)
	p.oneGroup(&s)
	if p.IntN(4) == 0 {
		p.manyGroups(&s)
	}
	s.FileMode = pick(p.Rand, fileModes...)
	s.ZoneMix = p.IntN(4) == 0
	s.Noise = p.IntN(4)
	switch p.IntN(6) {
	case 0:
		s.Damage = pick(p.Rand, fileDamages...)
	case 1:
		s.Damage = pick(p.Rand, byteDamages...)
	}
	if len(m.ablations) > 0 && s.Damage == "" && p.IntN(3) == 0 {
		s.Ablate = pick(p.Rand, m.ablations...)
	}
	for _, x := range []string{"torchrun-default", "ray", "ansi", "collector"} {
		if p.IntN(7) == 0 {
			s.Prefixes = append(s.Prefixes, x)
		}
	}
	return s
}

// size draws nodes and ranks: mostly 8 to 128 ranks, a few hundred now and then.
func (p *picker) size(s *Spec) {
	s.PerNode = pick(p.Rand, 8, 8, 8, 4)
	s.NodeCount = pick(p.Rand, 1, 2, 2, 4, 4, 8, 8, 16)
	if s.NodeCount == 1 {
		s.PerNode = 8
	}
	switch {
	case p.IntN(400) == 0:
		s.NodeCount, s.PerNode = 256, 8
	case p.IntN(50) == 0:
		s.NodeCount, s.PerNode = 64, 8
	}
}

func (p *picker) oneGroup(s *Spec) {
	s.Layout = Layout{Kind: pick(p.Rand, "ddp", "fsdp"), TP: 1, CP: 1, EP: 1, DP: s.NodeCount * s.PerNode, PP: 1}
}

// manyGroups draws HSDP, or Megatron's parallel sizes with at least two of them above one.
func (p *picker) manyGroups(s *Spec) {
	world := s.NodeCount * s.PerNode
	if p.IntN(4) == 0 && s.NodeCount > 1 {
		s.Layout = Layout{Kind: "hsdp", TP: s.PerNode, CP: 1, EP: 1, DP: s.NodeCount, PP: 1}
		return
	}
	l := Layout{Kind: "megatron", TP: pick(p.Rand, 2, 4), CP: 1, EP: 1, DP: 2, PP: 1}
	rest := world / l.TP / l.DP
	take := func(want int) int {
		if want <= rest && rest%want == 0 {
			rest /= want
			return want
		}
		return 1
	}
	l.PP = take(pick(p.Rand, 1, 2, 2, 4))
	l.EP = take(pick(p.Rand, 1, 1, 2))
	l.CP = take(pick(p.Rand, 1, 1, 2))
	l.DP *= rest
	s.Layout = l
}

// settle makes the axes fit each other, whatever the mechanism.
func (p *picker) settle(s *Spec) {
	world := s.NodeCount * s.PerNode
	if world > 128 && s.FileMode != "single" {
		s.FileMode = "node"
	}
	// Up to 2.2 nothing in a line tells one group from another, nor (up to 2.1) a global rank.
	if v, err := findGeneration(s.Torch); err == nil && !v.rank && s.Layout.Kind != "ddp" && s.Layout.Kind != "fsdp" {
		p.oneGroup(s)
	}
	if slices.Contains(fileDamages, s.Damage) && (s.FileMode == "single" || s.NodeCount < 2) {
		s.Damage = pick(p.Rand, byteDamages...)
	}
	s.Prefixes = slices.DeleteFunc(s.Prefixes, func(x string) bool {
		return x == "ray" && s.FileMode == "node" || x == "torchrun-default" && s.FileMode != "node"
	})
	if s.FileMode == "single" {
		s.Prefixes = append([]string{"srun-label"}, s.Prefixes...)
	}
}

// atLeast moves the release up to the first that satisfies ok.
func (p *picker) atLeast(s *Spec, ok func(*generation) bool) {
	if v, err := findGeneration(s.Torch); err == nil && ok(v) {
		return
	}
	var fit []string
	for i := range generations {
		if ok(&generations[i]) {
			fit = append(fit, generations[i].name)
		}
	}
	s.Torch = pick(p.Rand, fit...)
}

// fitOneGroup is for incidents of the default group. Where no dump line shows a staller idle, an absence in a partly lost
// set of files is too close to call: such specs stay out of the grid (Generate plays them, with the wide set).
func fitOneGroup(s *Spec, p *picker) {
	p.oneGroup(s)
	v, err := findGeneration(s.Torch)
	if err == nil && v.dump == dumpNone && (s.Damage == "missing-other-file" || s.Damage == "truncated-other") {
		s.Damage = ""
	}
}

// fitCounters needs the counters of 2.3 and later.
func fitCounters(s *Spec, p *picker) {
	p.oneGroup(s)
	p.atLeast(s, func(v *generation) bool { return v.state != stateNone })
}

// fitVisibleRoot keeps the file that shows the odd side: without it nothing hints at a mismatch.
func fitVisibleRoot(s *Spec, p *picker) {
	p.oneGroup(s)
	if slices.Contains(fileDamages, s.Damage) {
		s.Damage = "missing-other-file"
	}
}

// fitDump needs dump lines and every file.
func fitDump(s *Spec, p *picker) {
	p.oneGroup(s)
	p.atLeast(s, func(v *generation) bool { return v.dump != dumpNone })
	if slices.Contains(fileDamages, s.Damage) {
		s.Damage = ""
	}
}

// fitMultiGroup needs several groups and a release that names them.
func fitMultiGroup(s *Spec, p *picker) {
	p.atLeast(s, func(v *generation) bool { return v.group != groupRankOnly })
	p.manyGroups(s)
	v, err := findGeneration(s.Torch)
	if err == nil && v.dump == dumpNone && (s.Damage == "missing-other-file" || s.Damage == "truncated-other") {
		s.Damage = ""
	}
}

// fitHeartbeat needs the heartbeat monitor, and the files in which it speaks.
func fitHeartbeat(s *Spec, p *picker) {
	p.oneGroup(s)
	p.atLeast(s, func(v *generation) bool { return v.heartbeat != 0 })
	if s.Damage == "missing-root-file" || s.Damage == "truncated-root" {
		s.Damage = "missing-other-file"
	}
}

// Demo is a good-looking incident: 128 ranks on 16 nodes, tensor, expert and data parallel, and one rank that holds them.
func Demo() Spec {
	return Spec{Seed: 9, Mechanism: "multi-group-stall", Torch: "2.7", Layout: Layout{Kind: "megatron", TP: 4, CP: 1, EP: 2, DP: 8, PP: 2},
		NodeCount: 16, PerNode: 8, FileMode: "node", Noise: 1}
}
