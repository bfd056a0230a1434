package simulate

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// killerSpec draws a spec for a mechanism over all axes.
func killerSpec(r *rand.Rand, m mechanism) Spec {
	p := Spec{Seed: r.Uint64(), Mechanism: m.name, Torch: generations[r.IntN(len(generations))].name, Noise: r.IntN(4), ZoneMix: r.IntN(2) == 0}
	p.NodeCount, p.PerNode = pick(r, 1, 2, 2, 4), pick(r, 2, 2, 4)
	world := p.NodeCount * p.PerNode
	switch r.IntN(4) {
	case 0:
		p.Layout = Layout{Kind: "ddp", DP: world}
	case 1:
		p.Layout = Layout{Kind: "fsdp", DP: world}
	case 2:
		p.Layout = Layout{Kind: "hsdp", TP: 2, DP: world / 2}
	default:
		p.Layout = Layout{Kind: "megatron", TP: 2, DP: world / 2}
	}
	p.FileMode = pick(r, "node", "node", "rank", "single", "task")
	p.Prefixes = pick(r, nil, nil, []string{"ansi"}, []string{"torchrun-default"}, []string{"collector"}, []string{"ray"})
	p.Damage = pick(r, "", "", "", "glued", "wrapped", "crlf", "nul", "gz", "missing-root-file", "missing-other-file", "truncated-root", "truncated-other")
	if len(m.ablations) > 0 && r.IntN(3) == 0 {
		p.Ablate = m.ablations[r.IntN(len(m.ablations))]
	}
	if p.Layout.Kind == "hsdp" && p.Layout.DP < 1 {
		p.Layout = Layout{Kind: "ddp", DP: world}
	}
	if m.fit != nil {
		m.fit(&p, &picker{r})
	}
	if p.NodeCount < 2 || p.FileMode == "single" {
		switch p.Damage {
		case "missing-root-file", "missing-other-file", "truncated-root", "truncated-other":
			p.Damage = ""
		}
	}
	return p
}

func text(inc *Incident) string {
	var b strings.Builder
	for _, f := range inc.Files {
		b.Write(f.Data)
	}
	return b.String()
}

func TestEveryKillerPlaysOverRandomSpecs(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 11))
	for _, m := range killers() {
		n := 120
		if testing.Short() {
			n = 40
		}
		for range n {
			spec := killerSpec(r, m)
			inc, err := Generate(spec)
			if err != nil {
				t.Fatalf("%s %+v: %v", m.name, spec, err)
			}
			if len(inc.Truth.Candidates) == 0 || inc.Title == "" || inc.Truth.World == "" {
				t.Fatalf("%s %+v: truth is empty: %+v", m.name, spec, inc.Truth)
			}
			for _, x := range inc.Truth.RootRanks {
				if x < 0 || x >= spec.NodeCount*spec.PerNode {
					t.Fatalf("%s: root rank %d outside the world", m.name, x)
				}
				if spec.Damage != "gz" && !namesRank(inc, x) {
					t.Fatalf("%s %+v: no line and no file name holds the root rank %d", m.name, spec, x)
				}
			}
			if len(inc.Files) == 0 || text(inc) == "" {
				t.Fatalf("%s %+v: no bytes", m.name, spec)
			}
		}
	}
}

func TestKillerSameSpecSameBytes(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 5))
	for _, m := range killers() {
		for range 5 {
			spec := killerSpec(r, m)
			a, errA := Generate(spec)
			b, errB := Generate(spec)
			if errA != nil || errB != nil {
				t.Fatal(m.name, errA, errB)
			}
			same := slices.EqualFunc(a.Files, b.Files, func(x, y File) bool { return x.Name == y.Name && bytes.Equal(x.Data, y.Data) })
			if !same || fmt.Sprint(a.Truth) != fmt.Sprint(b.Truth) {
				t.Fatalf("%s: one spec, two incidents", m.name)
			}
		}
	}
}

func TestKillerGridGenerates(t *testing.T) {
	for _, spec := range Grid(220, 9, 2) {
		if _, err := Generate(spec); err != nil {
			t.Errorf("%+v: %v", spec, err)
		}
	}
}

// namesRank tells whether a file's name, a prefix, a task line or a failure block holds a global rank.
func namesRank(inc *Incident, r int) bool {
	for _, f := range inc.Files {
		if f.Name == fmt.Sprintf("rank_%d.log", r) || strings.HasSuffix(f.Name, fmt.Sprintf("_%d_log.err", r)) {
			return true
		}
	}
	if inc.Spec.FileMode == "single" && strings.Contains(text(inc), fmt.Sprintf("%*d: ", len(fmt.Sprint(inc.Spec.NodeCount*inc.Spec.PerNode-1)), r)) {
		return true // srun's label
	}
	s := strings.NewReplacer("\r", "", "\n", "").Replace(text(inc))
	for _, p := range []string{"[rank%d]:", "rank      : %d (local_rank", ": task %d: ", "[rank=%d] ", "GLOBAL_RANK: %d,", " rank %d nranks "} {
		if strings.Contains(s, fmt.Sprintf(p, r)) {
			return true
		}
	}
	return false
}
