package diagnose

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"faultline/analysis/artifact/nccl"
	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/incident"
)

// ncclArtifact says what NCCL's own lines tell: how far the ranks of each communicator came, what failed between which ends, and what
// runs over which network.
func ncclArtifact(f *resolve.Facts) (incident.Artifact, bool) {
	a := incident.Artifact{Kind: "nccl-log", Title: "NCCL logs",
		Limits: "A call is logged when the program makes it, not when the GPU completes it. A log that ends early doesn't mean its rank is behind: only a later NCCL line in the same file proves that. opCount differs between ranks even in a healthy job, so calls are counted instead."}
	n := f.NCCL
	if n == nil {
		return a, false
	}
	for _, l := range n.Logs {
		if l.Lines > 0 {
			a.Files = append(a.Files, l.File)
		}
	}
	if len(a.Files) == 0 {
		return a, false
	}
	for i := range n.Divergences {
		if i < 2 {
			a.Findings = append(a.Findings, mechanism.DivergenceFinding(f, &n.Divergences[i]))
		}
	}
	a.Findings = append(a.Findings, standings(f)...)
	a.Findings = append(a.Findings, faults(f)...)
	a.Findings = append(a.Findings, torn(f)...)
	a.Findings = append(a.Findings, inventoryOf(f)...)
	return a, len(a.Findings) > 0
}

// standings says how far the ranks came: who is behind first, then the widest communicator of all that are level.
func standings(f *resolve.Facts) []incident.Finding {
	var out []incident.Finding
	level := 0
	var widest *nccl.Standing
	for i := range f.NCCL.Standings {
		st := &f.NCCL.Standings[i]
		switch {
		case len(st.Behind) > 0:
			if len(out) < 3 {
				out = append(out, mechanism.BehindFinding(f, st))
			}
		case st.Level:
			level++
			if widest == nil {
				widest = st
			}
		}
	}
	if widest != nil {
		l := mechanism.LevelFinding(f, widest)
		if level > 1 {
			l.Statement += fmt.Sprintf("; so did the ranks of %d other communicators", level-1)
		}
		out = append(out, l)
	}
	return out
}

// faults tells warnings by kind and pair of ends.
func faults(f *resolve.Facts) []incident.Finding {
	type key struct {
		kind     nccl.FaultKind
		from, to string
	}
	type group struct {
		key
		n      int
		first  nccl.Fault
		member nccl.Member
		hcas   map[string]bool
	}
	all := map[key]*group{}
	for _, m := range f.NCCL.World.Procs {
		for _, x := range m.Proc.Faults {
			if x.Kind == nccl.OtherWarning || x.Echo() {
				continue
			}
			k := key{x.Kind, f.NCCL.Host(m.Proc.Host), ""}
			switch {
			case !f.NCCL.Known(x.Peer) && f.NCCL.Known(x.RemoteGID): // the GID is the adapter's, the peer's address that of another interface
				k.to = f.NCCL.Host(x.RemoteGID)
			case x.Peer != "":
				k.to = f.NCCL.Host(x.Peer)
			}
			g := all[k]
			if g == nil {
				g = &group{key: k, first: x, member: m, hcas: map[string]bool{}}
				all[k] = g
			}
			g.n++
			if x.HCA != "" {
				g.hcas[x.HCA] = true
			}
		}
	}
	order := slices.SortedFunc(maps.Values(all), func(a, b *group) int {
		return cmp.Or(cmp.Compare(faultOrder(a.kind), faultOrder(b.kind)), cmp.Compare(b.n, a.n), cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to))
	})
	var out []incident.Finding
	for i, g := range order {
		if i == 3 {
			break
		}
		text := fmt.Sprintf("%s reports %s", g.from, faultWords[g.kind])
		if g.to != "" {
			text += " (" + g.to + ")"
		}
		if len(g.hcas) > 0 {
			text += fmt.Sprintf(" (%s)", strings.Join(slices.Sorted(maps.Keys(g.hcas)), ", "))
		}
		if g.n > 1 {
			text += fmt.Sprintf(", %d times", g.n)
		}
		if g.to != "" && !g.first.InvolvesOnlyLocalSide {
			text += "; the line doesn't say which end is at fault"
		}
		out = append(out, incident.Finding{Statement: text, Evidence: []incident.Evidence{mechanism.QuoteAt(resolve.NCCLAt(g.member, g.first.At), &incident.Predicate{Literals: []string{"NCCL WARN"}})}})
	}
	return out
}

var faultWords = map[nccl.FaultKind]string{
	nccl.IBCompletion: "a failed InfiniBand or RoCE transfer", nccl.IBAsync: "an event on its network adapter", nccl.IBSetup: "an InfiniBand or RoCE connection that could not be set up",
	nccl.PeerClosed: "a connection closed by the other end", nccl.Refused: "a refused connection", nccl.Unreachable: "\"no route to host\"",
	nccl.Bootstrap: "ranks that don't match at startup", nccl.Truncated: "a transfer whose size the two ends disagree on", nccl.CUDAFailure: "a failed CUDA call",
	nccl.SharedMemory: "/dev/shm out of space",
}

// faultOrder puts what is a cause more often before what is an echo.
func faultOrder(kind nccl.FaultKind) int {
	return slices.Index([]nccl.FaultKind{nccl.IBAsync, nccl.IBCompletion, nccl.IBSetup, nccl.Truncated, nccl.SharedMemory, nccl.CUDAFailure, nccl.Bootstrap, nccl.Unreachable, nccl.Refused, nccl.PeerClosed}, kind)
}

func torn(f *resolve.Facts) []incident.Finding {
	for _, l := range f.NCCL.Logs {
		if l.Torn > 0 {
			e := incident.Quote(l.File, l.TornAt.Line, l.TornAt.Off, "", nil)
			e.Span = l.TornAt.Len
			return []incident.Finding{{Statement: fmt.Sprintf("NCCL lines are interleaved in %s, so its processes' calls can't be counted (set NCCL_DEBUG_FILE to give each process its own file)", l.File), Evidence: []incident.Evidence{e}}}
		}
	}
	return nil
}

// inventoryOf says what runs over which network: versions, plug-ins, GPUs.
func inventoryOf(f *resolve.Facts) []incident.Finding {
	var out []incident.Finding
	versions := map[string]incident.Evidence{}
	for _, l := range f.NCCL.Logs {
		if l.Version == "" {
			continue
		}
		if _, seen := versions[l.Version]; !seen {
			e := incident.Quote(l.File, l.VersionAt.Line, l.VersionAt.Off, "", &incident.Predicate{Literals: []string{l.Version}})
			e.Span = l.VersionAt.Len
			versions[l.Version] = e
		}
	}
	if len(versions) > 0 {
		names := slices.Sorted(maps.Keys(versions))
		text := "NCCL " + strings.Join(names, " and NCCL ")
		if len(names) > 1 {
			text = "the ranks run different versions: " + text
		}
		fd := incident.Finding{Statement: text}
		for _, n := range names[:min(3, len(names))] {
			fd.Evidence = append(fd.Evidence, versions[n])
		}
		out = append(out, fd)
	}
	nets := map[string][]nccl.Member{}
	first := map[string]incident.Evidence{}
	for _, m := range f.NCCL.World.Procs {
		seen := map[string]bool{}
		for _, s := range m.Proc.Networks {
			if seen[s.Text] {
				continue
			}
			seen[s.Text] = true
			nets[s.Text] = append(nets[s.Text], m)
			if _, ok := first[s.Text]; !ok {
				first[s.Text] = mechanism.QuoteAt(resolve.NCCLAt(m, s.At), &incident.Predicate{Literals: []string{"Using network " + s.Text}})
			}
		}
	}
	if len(nets) > 0 {
		var words []string
		fd := incident.Finding{}
		for _, name := range slices.SortedFunc(maps.Keys(nets), func(a, b string) int {
			return cmp.Or(cmp.Compare(len(nets[b]), len(nets[a])), cmp.Compare(a, b))
		}) {
			words = append(words, fmt.Sprintf("%s (%d processes)", name, len(nets[name])))
			if len(fd.Evidence) < 3 {
				fd.Evidence = append(fd.Evidence, first[name])
			}
		}
		fd.Statement = "network: " + strings.Join(words, ", ")
		if len(nets) > 1 {
			fd.Statement += "; the processes differ"
		}
		out = append(out, fd)
	}
	if c := communicators(f); c.Statement != "" {
		out = append(out, c)
	}
	return out
}

// ofThem is "all", or how many of so many.
func ofThem(n, size int) string {
	if n == size {
		return "all"
	}
	return fmt.Sprintf("%d of them", n)
}

// communicators says which there are, and who is which rank of the widest on which GPU.
func communicators(f *resolve.Facts) incident.Finding {
	w := f.NCCL.World
	if len(w.Comms) == 0 {
		return incident.Finding{}
	}
	j := w.Comms[0]
	fd := incident.Finding{Statement: fmt.Sprintf("%d communicators; the largest has %d ranks, %s in these logs", len(w.Comms), j.Size, ofThem(len(j.Members), j.Size))}
	if len(w.Comms) == 1 {
		fd.Statement = fmt.Sprintf("one communicator with %d ranks, %s in these logs", j.Size, ofThem(len(j.Members), j.Size))
	}
	if w.Apart > 0 {
		fd.Statement += fmt.Sprintf("; another %d partial views of communicators can't be matched up", w.Apart)
	}
	for i, m := range j.Members {
		at := cmp.Or(m.Comm.Ready, m.Comm.Began)
		if i == 3 || !at.Known() {
			break
		}
		fd.Evidence = append(fd.Evidence, mechanism.QuoteAt(resolve.NCCLAt(m, at), &incident.Predicate{Fields: []incident.Field{{Key: " rank ", Value: fmt.Sprint(m.Comm.Rank)}}}))
	}
	return fd
}
