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

// gpuArtifact says what tools report of GPUs.
func gpuArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "gpu-state", Title: "GPU state",
		Limits: "This is the state when the tool ran, not when the job failed. Error counts are since the driver was loaded, or over the card's lifetime. A GPU at 100% may only be waiting in NCCL."}
	var first, second, third []incident.Finding
	say := func(list *[]incident.Finding, s string, st *resolve.GPUState, p ...gpustate.Place) {
		var ev []incident.Evidence
		for _, x := range p[:min(len(p), 3)] {
			ev = append(ev, mechanism.QuoteAt(st.At(x), nil))
		}
		*list = append(*list, incident.Finding{Statement: s, Evidence: ev})
	}
	most := map[int]int{} // number of GPUs → files
	for _, s := range f.GPUStates {
		if !slices.Contains(a.Files, s.File) { // one may hold several nodes
			a.Files = append(a.Files, s.File)
		}
		if n := len(s.State.GPUs); n > 0 && s.State.Form != gpustate.Diag && s.State.Form != gpustate.DiagJSON && s.State.Form != gpustate.Health {
			most[n]++
		}
	}
	if len(a.Files) == 0 {
		return a, false
	}
	usual, files := 0, 0
	for n, k := range most {
		if k > files || k == files && n > usual {
			usual, files = n, k
		}
	}
	for _, s := range f.GPUStates {
		node := s.Node
		if node == "" {
			node = s.File
		}
		for i := range s.State.Troubles {
			t := &s.State.Troubles[i]
			say(&first, node+": "+troubleWords(t), s, t.Place)
		}
		for i := range s.State.GPUs {
			g := &s.State.GPUs[i]
			name := fmt.Sprintf("%s, %s: ", node, gpuName(s, i))
			if v := g.Of(gpustate.Unread); v != nil {
				say(&first, name+"the driver can't read it", s, v.Place)
			}
			for _, k := range []struct {
				key  gpustate.Key
				text string
			}{{gpustate.Failure, "a row of its memory could not be remapped: it is due for replacement"}, {gpustate.Pending, "a row remap, page retirement or other repair is pending a reset"},
				{gpustate.Threshold, "its SRAM error threshold is exceeded"}} {
				if v := g.Of(k.key); v != nil && v.N > 0 {
					say(&first, name+k.text, s, v.Place)
				}
			}
			if v := g.Of(gpustate.Recovery); v != nil && v.N > 0 {
				say(&first, name+"its driver requires more than a process restart before reuse (GPU Recovery Action)", s, v.Place)
			}
			if v := g.Of(gpustate.Relinked); v != nil && v.N > 0 {
				say(&second, name+fmt.Sprintf("its NVLinks were retrained %d times since the driver was loaded", v.N), s, v.Place)
			} else if v := g.Of(gpustate.NVLink); v != nil && v.N > 0 {
				say(&third, name+fmt.Sprintf("%d NVLink errors corrected by replay", v.N), s, v.Place)
			}
			if text, p := pcieWords(g); text != "" {
				say(&second, name+text, s, p...)
			}
			if v := g.Of(gpustate.NVLinkOff); v != nil && fewerOff(s, i) {
				say(&second, name+fmt.Sprintf("%d NVLinks are inactive, but none on most neighboring GPUs", v.N), s, v.Place)
			}
			if v := g.Of(gpustate.Volatile); v != nil && v.N > 0 {
				say(&first, name+fmt.Sprintf("%d uncorrected memory errors since the driver was loaded", v.N), s, v.Place)
			} else if v := g.Of(gpustate.Aggregate); v != nil && v.N > 0 {
				say(&third, name+fmt.Sprintf("%d uncorrected memory errors in its lifetime, none since the driver was loaded", v.N), s, v.Place)
			}
			for _, k := range []struct {
				key  gpustate.Key
				text string
			}{{gpustate.SlowHeat, "thermal slowdown"}, {gpustate.SlowPower, "power-brake slowdown"}, {gpustate.SlowHW, "hardware slowdown"}} {
				if v := g.Of(k.key); v != nil && v.N > 0 {
					say(&second, name+k.text, s, v.Place)
					break
				}
			}
		}
		if n := len(s.State.GPUs); usual > 0 && n > 0 && n < usual && files > 1 {
			say(&first, fmt.Sprintf("%s: %d GPUs, while the other nodes have %d", node, n, usual), s, s.State.GPUs[0].Place)
		}
		if odd, places := oddUse(s); odd != "" {
			say(&second, node+": "+odd, s, places...)
		}
	}
	a.Findings = slices.Concat(first, second, third)
	if len(a.Findings) == 0 {
		s := f.GPUStates[0]
		if len(s.State.GPUs) > 0 {
			say(&a.Findings, fmt.Sprintf("%s: no errors, slowdowns or pending repairs on %d GPUs, as far as this output shows", orFile(s), len(s.State.GPUs)), s, s.State.GPUs[0].Place)
		}
	}
	return a, true
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
