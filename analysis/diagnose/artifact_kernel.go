package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// kernelArtifact says what kernel logs report, and of each report whether it was taken for the cause, and why not.
func kernelArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "kernel", Title: "Kernel logs",
		Limits: "Kernel logs use the node's local time; containers often use another. An Xid shows which GPU and what the driver saw, but not always whether the program or the hardware was at fault. Anything older than the ring buffer is gone."}
	for _, k := range f.Handed.Kernel {
		a.Files = append(a.Files, k.File)
	}
	if len(a.Files) == 0 {
		return a, false
	}
	slices.Sort(a.Files)
	for _, g := range alike(f) {
		e := g[0]
		s := ofWhom(f, e) + whatKernel(e)
		if n := total(g); n > 1 {
			s += fmt.Sprintf(" (%d times", n)
			if len(g) > 1 {
				s += ", in " + plural(len(g), "place", "places")
			}
			s += ")"
		}
		s += timing(e)
		switch {
		case e.Cause != "":
			s += "; taken as the cause"
		case e.Unused != "":
			s += "; not taken as the cause: " + e.Unused
		}
		if extra := advice(e); extra != "" {
			s += ". " + extra
		}
		a.Findings = append(a.Findings, incident.Finding{Statement: s, Evidence: []incident.Evidence{mechanism.QuoteAt(e.At, nil)}})
	}
	return a, true
}

// alike groups events that would be told in the same words, the telling ones first.
func alike(f *resolve.Facts) [][]*resolve.KernelEvent {
	type key struct {
		kind                kernel.Kind
		number              int
		node, pci, name, un string
		fatal               bool
	}
	groups := map[key]int{}
	var out [][]*resolve.KernelEvent
	for _, e := range f.Kernel {
		if e.Kind == kernel.Link && !e.Down || e.Kind == kernel.AMDGPU && e.Name == "reset succeeded" {
			continue
		}
		k := key{e.Kind, e.Number, e.Node, e.PCI, e.Name, e.Unused + string(e.Cause), e.Fatal}
		i, seen := groups[k]
		if !seen {
			i = len(out)
			groups[k] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], e)
	}
	slices.SortStableFunc(out, func(a, b []*resolve.KernelEvent) int { return cmp.Compare(telling(a[0]), telling(b[0])) })
	return out
}

// telling orders events: causes, then what could have been one, then what is near, then the rest.
func telling(e *resolve.KernelEvent) int {
	switch {
	case e.Cause != "":
		return 0
	case e.Unused != "" && e.When != resolve.Before:
		return 1
	case e.When == resolve.Near:
		return 2
	case e.When == resolve.Undated && !e.NonFatal:
		return 3
	case e.Unused != "":
		return 4
	}
	return 5
}

func total(g []*resolve.KernelEvent) int {
	n := 0
	for _, e := range g {
		n += e.Count
	}
	return n
}

// ofWhom names the node and the rank: "node3, rank 5: ".
func ofWhom(f *resolve.Facts, e *resolve.KernelEvent) string {
	who := e.Describe(f)
	if who == "" {
		return ""
	}
	return who + ": "
}

// whatKernel is an event in words.
func whatKernel(e *resolve.KernelEvent) string {
	onGPU := ""
	if e.PCI != "" {
		onGPU = " on GPU " + e.PCI
	}
	switch e.Kind {
	case kernel.Xid:
		s := fmt.Sprintf("Xid %d%s", e.Number, onGPU)
		if x, ok := knowledge.XidByNumber(e.Number); ok {
			s += ", " + x.Name
		}
		switch {
		case e.Fatal:
			s += " (fatal)"
		case e.NonFatal:
			s += " (not fatal)"
		}
		if e.Number == 63 || e.Number == 64 {
			if what := knowledge.Recorded(e.Message); what != "" {
				s += " (" + what + ")"
			}
		}
		if e.Previous > 0 {
			s += fmt.Sprintf(" because of Xid %d", e.Previous)
		}
		return s
	case kernel.SXid:
		s := fmt.Sprintf("SXid %d of NVSwitch %s", e.Number, e.PCI)
		if x, ok := knowledge.SXidByNumber(e.Number); ok {
			s += ", " + x.Name
		} else {
			s += ", which neither the guide nor the driver's list explains (see the Fabric Manager guide for the installed driver)"
		}
		if e.NonFatal {
			s += " (not fatal)"
		}
		return s
	case kernel.OffBus:
		if e.Name == kernel.NotStarted {
			return "the driver could not start a GPU" + strings.Replace(onGPU, " on GPU", ":", 1)
		}
		return "a GPU has fallen off the bus" + onGPU
	case kernel.AER:
		s := "PCIe errors, " + strings.ToLower(e.Name) + ", at " + e.PCI
		if e.NonFatal {
			s += " (corrected; many at one port suggest a bad link)"
		}
		return s
	case kernel.AMDGPU:
		return "amdgpu: " + e.Name + onGPU
	case kernel.OOM:
		s := fmt.Sprintf("the kernel OOM-killed process %d (%s)", e.Pid, e.Name)
		switch {
		case e.Job != "":
			s += ", of job " + e.Job
		case e.Global:
			s += " on the whole node"
		}
		return s
	case kernel.HungTask:
		s := fmt.Sprintf("process %d (%s) was blocked for minutes", e.Pid, e.Name)
		if len(e.Stack) > 0 {
			s += " in " + strings.Join(e.Stack, ", ")
		}
		return s
	case kernel.Lockup:
		return "a processor was stuck (" + cmp.Or(e.Name, "unknown process") + ")"
	case kernel.Machine:
		if e.NonFatal {
			return "the machine corrected a hardware error"
		}
		return "the machine reported an uncorrectable hardware error"
	case kernel.Link:
		return e.Lost()
	case kernel.Storage:
		return e.Name + " did not respond"
	case kernel.Disk:
		return "the disk " + e.Name + " met errors"
	}
	return e.Message
}

// timing says when an event was, seen from the failure.
func timing(e *resolve.KernelEvent) string {
	switch {
	case !e.T.Valid || e.When == resolve.Undated:
		return ", at a time that can't be matched to the failure"
	case e.Lead >= 2:
		return ", " + mechanism.Duration(e.Lead) + " before the trouble"
	case e.Lead <= -2:
		return ", " + mechanism.Duration(-e.Lead) + " after it began"
	}
	return ", when it began"
}

// advice is what the maker of the driver tells to do.
func advice(e *resolve.KernelEvent) string {
	if e.Kind != kernel.Xid {
		return ""
	}
	x, ok := knowledge.XidByNumber(e.Number)
	switch {
	case !ok:
		return ""
	case x.Fault == knowledge.FaultProgram:
		return "It doesn't implicate hardware: usually a program bug"
	case x.Fault == knowledge.FaultEcho:
		return "It is a consequence of something else"
	case x.Harm == knowledge.HarmNothing && x.Fault == knowledge.FaultNobody:
		return "It doesn't end a process"
	case x.Action != "" && e.Cause != "":
		return "NVIDIA's catalogue says: " + x.Action
	}
	return ""
}
