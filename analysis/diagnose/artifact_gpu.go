package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/gpustate"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// weight is how much a finding about a GPU says; the gravest are shown first.
type weight int

const (
	grave weight = iota
	notable
	minor
	weights // how many there are
)

// gpuSign is what a value of a GPU means that is not 0; its number fills the text where that asks for it.
type gpuSign struct {
	weight weight
	key    gpustate.Key
	text   string
	// only: it says something of this GPU only where this holds too.
	only func(s *resolve.GPUState, gpu int) bool
	// words stand in place of key and text, where it takes several values.
	words func(g *gpustate.GPU) (string, []gpustate.Place)
}

// gpuSigns: of the signs in one row only the first that holds is told.
var gpuSigns = [][]gpuSign{
	{{weight: grave, key: gpustate.Unread, text: "the driver can't read it"}},
	{{weight: grave, key: gpustate.Failure, text: "a row of its memory could not be remapped: it is due for replacement"}},
	{{weight: grave, key: gpustate.Pending, text: "a row remap, page retirement or other repair is pending a reset"}},
	{{weight: grave, key: gpustate.Threshold, text: "its SRAM error threshold is exceeded"}},
	{{weight: grave, key: gpustate.Recovery, text: "its driver requires more than a process restart before reuse (GPU Recovery Action)"}},
	{{weight: notable, key: gpustate.Relinked, text: "its NVLinks were retrained %d times since the driver was loaded"},
		{weight: minor, key: gpustate.NVLink, text: "%d NVLink errors corrected by replay"}},
	{{weight: notable, words: pcieWords}},
	{{weight: notable, key: gpustate.NVLinkOff, text: "%d NVLinks are inactive, but none on most neighboring GPUs", only: fewerOff}},
	{{weight: grave, key: gpustate.Volatile, text: "%d uncorrected memory errors since the driver was loaded"},
		{weight: minor, key: gpustate.Aggregate, text: "%d uncorrected memory errors in its lifetime, none since the driver was loaded"}},
	{{weight: notable, key: gpustate.SlowHeat, text: "thermal slowdown"},
		{weight: notable, key: gpustate.SlowPower, text: "power-brake slowdown"},
		{weight: notable, key: gpustate.SlowHW, text: "hardware slowdown"}},
}

// of says what the sign says of a GPU, "" where it does not hold.
func (x *gpuSign) of(s *resolve.GPUState, gpu int) (string, []gpustate.Place) {
	g := &s.State.GPUs[gpu]
	if x.words != nil {
		return x.words(g)
	}
	v := g.Of(x.key)
	if v == nil || v.N <= 0 || x.only != nil && !x.only(s, gpu) {
		return "", nil
	}
	if strings.Contains(x.text, "%d") {
		return fmt.Sprintf(x.text, v.N), []gpustate.Place{v.Place}
	}
	return x.text, []gpustate.Place{v.Place}
}

// gpuArtifact says what tools report of GPUs.
func gpuArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "gpu-state", Title: "GPU state",
		Limits: "This is the state when the tool ran, not when the job failed. Error counts are since the driver was loaded, or over the card's lifetime. A GPU at 100% may only be waiting in NCCL."}
	for _, s := range f.GPUStates {
		if !slices.Contains(a.Files, s.File) { // one may hold several nodes
			a.Files = append(a.Files, s.File)
		}
	}
	if len(a.Files) == 0 {
		return a, false
	}
	var found [weights][]incident.Finding
	usual := usualGPUs(f.GPUStates)
	for _, s := range f.GPUStates {
		say := func(w weight, text string, places ...gpustate.Place) {
			found[w] = append(found[w], gpuFinding(s, orFile(s)+text, places))
		}
		for i := range s.State.Troubles {
			t := &s.State.Troubles[i]
			say(grave, ": "+troubleWords(t), t.Place)
		}
		for i := range s.State.GPUs {
			for _, row := range gpuSigns {
				for k := range row {
					if text, places := row[k].of(s, i); text != "" {
						say(row[k].weight, fmt.Sprintf(", %s: %s", gpuName(s, i), text), places...)
						break
					}
				}
			}
		}
		if n := len(s.State.GPUs); n > 0 && n < usual {
			say(grave, fmt.Sprintf(": %d GPUs, while the other nodes have %d", n, usual), s.State.GPUs[0].Place)
		}
		if odd, places := oddUse(s); odd != "" {
			say(notable, ": "+odd, places...)
		}
	}
	a.Findings = slices.Concat(found[:]...)
	if s := f.GPUStates[0]; len(a.Findings) == 0 && len(s.State.GPUs) > 0 {
		text := fmt.Sprintf("%s: no errors, slowdowns or pending repairs on %d GPUs, as far as this output shows", orFile(s), len(s.State.GPUs))
		if n := linksOn(s); n > 0 {
			text = fmt.Sprintf("%s: all %d NVLinks listed for %d GPUs are active", orFile(s), n, len(s.State.GPUs))
		}
		a.Findings = append(a.Findings, gpuFinding(s, text, []gpustate.Place{s.State.GPUs[0].Place}))
	}
	return a, true
}

// gpuFinding quotes the first places that show it.
func gpuFinding(s *resolve.GPUState, text string, places []gpustate.Place) incident.Finding {
	var ev []incident.Evidence
	for _, p := range places[:min(len(places), 3)] {
		ev = append(ev, mechanism.QuoteAt(s.At(p), nil))
	}
	return incident.Finding{Statement: text, Evidence: ev}
}

// usualGPUs is how many GPUs most nodes have, of several that are as common the most; 0 where no two have the same number. A test lists only those
// that it ran on.
func usualGPUs(states []*resolve.GPUState) int {
	nodes := map[int]int{} // number of GPUs → nodes
	for _, s := range states {
		switch s.State.Form {
		case gpustate.Diag, gpustate.DiagJSON, gpustate.Health:
		default:
			nodes[len(s.State.GPUs)]++
		}
	}
	delete(nodes, 0)
	usual, most := 0, 0
	for n, k := range nodes {
		switch {
		case k < 2, k < most:
		case k > most || n > usual:
			usual, most = n, k
		}
	}
	return usual
}

// pcieWords says that the bus of a GPU is narrower or slower than it can be. The generation falls by itself while a GPU is idle.
func pcieWords(g *gpustate.GPU) (string, []gpustate.Place) {
	now, most := g.Of(gpustate.Width), g.Of(gpustate.WidthMax)
	if now != nil && most != nil && now.N > 0 && now.N < most.N {
		return fmt.Sprintf("its PCIe link runs on %d of %d lanes: traffic to the host and network is slower", now.N, most.N), []gpustate.Place{now.Place, most.Place}
	}
	now, most = g.Of(gpustate.Gen), g.Of(gpustate.GenMax)
	busy := g.Of(gpustate.Busy)
	if now != nil && most != nil && busy != nil && busy.N >= 50 && now.N > 0 && now.N < most.N {
		return fmt.Sprintf("its PCIe link runs at Gen %d of %d under load", now.N, most.N), []gpustate.Place{now.Place, most.Place}
	}
	return "", nil
}

// linksOn counts the NVLinks that a list of them has, all active; 0 where it lists none, or one that is not.
func linksOn(s *resolve.GPUState) (n int64) {
	for i := range s.State.GPUs {
		g := &s.State.GPUs[i]
		if off := g.Of(gpustate.NVLinkOff); off != nil && off.N > 0 {
			return 0
		}
		if on := g.Of(gpustate.NVLinkOn); on != nil {
			n += on.N
		}
	}
	return n
}

// fewerOff says that a GPU has inactive NVLinks where most beside it have none.
func fewerOff(s *resolve.GPUState, i int) bool {
	whole := 0
	for j := range s.State.GPUs {
		if v := s.State.GPUs[j].Of(gpustate.NVLinkOff); j != i && (v == nil || v.N == 0) {
			whole++
		}
	}
	return 2*whole > len(s.State.GPUs)
}

func orFile(s *resolve.GPUState) string {
	if s.Node != "" {
		return s.Node
	}
	return s.File
}

// gpuName names a GPU: "GPU 3 (0000:65:00), rank 11".
func gpuName(s *resolve.GPUState, i int) string {
	g := &s.State.GPUs[i]
	var parts []string
	if g.Index >= 0 {
		parts = append(parts, fmt.Sprintf("GPU %d", g.Index))
	} else {
		parts = append(parts, "GPU")
	}
	if g.PCI != "" {
		parts = append(parts, "("+g.PCI+")")
	}
	out := strings.Join(parts, " ")
	if r := s.Ranks[i]; r != resolve.NoRank {
		out += fmt.Sprintf(" of rank %d", r)
	}
	return out
}

func troubleWords(t *gpustate.Trouble) string {
	of := ""
	if t.GPU >= 0 {
		of = fmt.Sprintf(" of GPU %d", t.GPU)
	}
	switch t.Kind {
	case "handle", "lost":
		return "nvidia-smi can't reach GPU " + t.PCI
	case "none":
		return "nvidia-smi finds no GPU (as it would on a node without GPUs)"
	case "driver":
		return "the NVIDIA driver isn't responding (as on a node without GPUs, or in a container without the driver)"
	case "test":
		verb := "failed"
		if t.Warning {
			verb = "warns"
		}
		return fmt.Sprintf("DCGM test %s %s%s", t.What, verb, of)
	}
	verb := "a failure"
	if t.Warning {
		verb = "a warning"
	}
	return strings.TrimSpace(fmt.Sprintf("DCGM's watch reports %s%s: %s", verb, of, t.What))
}

// oddUse notes where one GPU is idle and all its neighbours are busy: it may be the one that the others wait for, which is no fault of it.
func oddUse(s *resolve.GPUState) (string, []gpustate.Place) {
	var idle, busy []int
	for i := range s.State.GPUs {
		v := s.State.GPUs[i].Of(gpustate.Busy)
		switch {
		case v == nil:
			return "", nil
		case v.N <= 5:
			idle = append(idle, i)
		case v.N >= 95:
			busy = append(busy, i)
		}
	}
	if len(idle) != 1 || len(busy) < 2 || len(busy)+1 != len(s.State.GPUs) {
		return "", nil
	}
	g := &s.State.GPUs[idle[0]]
	return fmt.Sprintf("%s is idle while the other %d are at 100%%, as happens when GPUs wait in NCCL: they are waiting for its process, which doesn't implicate the GPU", gpuName(s, idle[0]), len(busy)),
		[]gpustate.Place{g.Of(gpustate.Busy).Place, s.State.GPUs[busy[0]].Of(gpustate.Busy).Place}
}
