package resolve

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"faultline/analysis/artifact/gpustate"
	"faultline/analysis/artifact/kernel"
	"faultline/analysis/ascii"
	"faultline/analysis/worker"
	"faultline/knowledge"
	"faultline/pattern"
)

// GPUState is what a tool says of the GPUs of one node.
type GPUState struct {
	File  string
	State *gpustate.State
	// Node is where it ran, "" unknown.
	Node string
	// Ranks are those of its GPUs, by their place in State.GPUs; NoRank where nothing proves one.
	Ranks []int
}

// At is where a statement of the tool stands.
func (s *GPUState) At(p gpustate.Place) worker.At {
	return worker.At{Pos: worker.Pos{File: s.File, Line: p.Line, Off: p.Off, Len: p.Len}, Stamp: s.State.Stamp}
}

// tools are words in names of files that say what made them; what is left of such a name may be a host.
var (
	tools    = pattern.New(`^(?:(.+?)[._-])?(?:dmesg|nvidia[-_]?smi|nvsmi|smi|kern(?:el)?|journal(?:ctl)?|syslog|messages|dcgmi?|iostat|vmstat|mpstat|pidstat|sar|dmon|ethtool|gpu[-_](?:state|util)|rocm[-_]?smi|perfquery|ib(?:linkinfo|stat|status|queryerrors)|mlxlink|rdma|nvlink|top|ps|free|turbostat|taskset|numactl|lscpu|lspci|lsmod|sysctl|sensors|ipmitool|nfsiostat|uptime)(?:[._-](?:q|L|t|T|diag|health|kernel|log|before|after))*(?:[._-](.+))?$`)
	hostLike = pattern.New(`^[a-z][a-z0-9-]*\d[a-z0-9-]*$`)
	endings  = []string{".gz", ".zst", ".xz", ".bz2", ".log", ".txt", ".out", ".csv", ".tsv", ".json", ".jsonl"}
)

// nodeOf is the node that a file with evidence is of: by its origin, by the name of a node of the job in its name, or by a name that is
// a tool's and a host's.
func (g *gpus) nodeOf(file, origin string) string {
	if n := ShortHost(origin); n != "" {
		return n
	}
	name := strings.ToLower(path.Base(file))
	best := ""
	for n := range g.nodes {
		if i := strings.Index(name, n); i >= 0 && bound(name, i-1) && bound(name, i+len(n)) && (len(n) > len(best) || len(n) == len(best) && n < best) {
			best = n
		}
	}
	if best != "" {
		return best
	}
	if h := besideTool(file); h != "" {
		return h
	}
	if dir := ShortHost(path.Base(path.Dir(file))); g.nodes[dir] {
		return dir
	}
	return ""
}

// stem is a file's name in lower case without its endings.
func stem(name string) string {
	name = strings.ToLower(path.Base(name))
	for again := true; again; {
		again = false
		for _, s := range endings {
			if before, ok := strings.CutSuffix(name, s); ok {
				name, again = before, true
			}
		}
	}
	return name
}

// besideTool is the host beside the name of a tool in a file's name, "" none.
func besideTool(name string) string {
	if m := tools.FindStringSubmatch(stem(name)); m != nil {
		for _, part := range m[1:] {
			if h := ShortHost(part); hostLike.MatchString(h) {
				return h
			}
		}
	}
	for dir := range strings.SplitSeq(path.Dir(name), "/") { // "nvidia-smi-q/n07.txt"
		if h := ShortHost(stem(name)); tools.MatchString(strings.ToLower(dir)) && hostLike.MatchString(h) && !ranked.MatchString(h) {
			return h
		}
	}
	return ""
}

// bound says that no name goes on at i.
func bound(s string, i int) bool {
	return i < 0 || i >= len(s) || !ascii.Digit(s[i]) && !ascii.Lower(s[i])
}

// readStates ties what tools say of GPUs to nodes and ranks.
func (g *gpus) readStates(in Input) {
	f := g.f
	for i := range f.Handed.GPUs {
		s := f.Handed.GPUs[i]
		if s.Node = ShortHost(s.State.Host); s.Node == "" {
			s.Node = g.nodeOf(s.File, in.Handed.Origins[s.File])
		}
		if s.Node == "" { // a log of the job, in which a script of one node printed it
			s.Node = f.ident.fileNode[s.File]
		}
		for _, p := range s.State.Processes { // processes that are known tell whose GPU it is
			rank, ok := f.ident.pid[fileInt{"host:" + s.Node, p.Pid}]
			if !ok || rank < 0 || s.Node == "" {
				continue
			}
			pci := p.PCI
			for j := range s.State.GPUs {
				if d := &s.State.GPUs[j]; pci == "" && d.Index >= 0 && d.Index == p.GPU {
					pci = d.PCI
				}
			}
			if pci != "" {
				g.put(s.Node, pci, rank)
			}
		}
		s.Ranks = make([]int, len(s.State.GPUs))
		for j := range s.State.GPUs {
			s.Ranks[j], _ = g.of(s.Node, s.State.GPUs[j].PCI)
		}
		g.states = append(g.states, &s)
	}
	told := map[fileLine]bool{}
	for _, s := range g.states {
		for i := range s.State.Troubles {
			told[fileLine{s.File, s.State.Troubles[i].Line}] = true
		}
	}
	// What is weighed here is not counted once more as a line of a log.
	g.failures = slices.DeleteFunc(g.failures, func(fl *Failure) bool { return fl.Kind == KindSign && told[fileLine{fl.At.File, fl.At.Line}] })
	for _, e := range g.events { // what the tools added
		if r, alien := g.of(e.Node, e.PCI); e.Rank == NoRank && r != NoRank && e.PCI != "" {
			e.Rank, e.RankBasis, e.Alien = r, "the address of its GPU", alien
		}
	}
	slices.SortStableFunc(g.states, func(a, b *GPUState) int { return strings.Compare(a.File, b.File) })
}

// unreachable are the GPUs that a tool could not reach, and those whose memory it says is damaged while their own rank reports an error
// of CUDA. A look at the state before the trouble began, in whatever zone its clock is, says nothing of it: the job still ran then.
func (g *gpus) unreachable(t *trouble) []*candidate {
	var out []*candidate
	from, _ := g.f.ran(t)
	add := func(s *GPUState, p gpustate.Place, pci string, rank int, mechanism knowledge.Slug, text string) {
		e := &KernelEvent{Event: &kernel.Event{Kind: kernel.OffBus, PCI: pci, Pid: -1, Links: -1, Message: p.Text, Count: 1}, At: s.At(p), Node: s.Node, Rank: rank, RankBasis: "the address of its GPU"}
		if r, alien := g.of(s.Node, pci); rank == NoRank {
			e.Rank, e.Alien = r, alien
		}
		if m := g.f.clock.at(s.Node, s.State.Stamp); m.Valid && t.known && g.f.YearProven && m.T+m.Unc < from-anyZone-t.unc {
			e.T, e.When, e.Lead = m, Before, t.from-m.T
		}
		out = append(out, &candidate{e: e, mechanism: mechanism, text: text, gpu: true, undateable: true})
	}
	for _, s := range g.states {
		for i := range s.State.Troubles {
			switch x := &s.State.Troubles[i]; x.Kind {
			case "handle", "lost":
				add(s, x.Place, x.PCI, NoRank, knowledge.GPUOffBus, fmt.Sprintf("nvidia-smi cannot reach GPU %s", x.PCI))
			case "none":
				if s.Node != "" && g.nodes[s.Node] {
					add(s, x.Place, "", NoRank, knowledge.GPUOffBus, "nvidia-smi finds no GPU there")
				}
			}
		}
		for i := range s.State.GPUs {
			d := &s.State.GPUs[i]
			if v := d.Of(gpustate.Unread); v != nil && d.PCI != "" {
				add(s, v.Place, d.PCI, s.Ranks[i], knowledge.GPUOffBus, fmt.Sprintf("nvidia-smi cannot read GPU %s", d.PCI))
			}
			v := d.Of(gpustate.Volatile)
			if v == nil || v.N == 0 || s.Ranks[i] == NoRank || !g.cudaOf(s.Ranks[i]) {
				continue
			}
			add(s, v.Place, d.PCI, s.Ranks[i], knowledge.GPUECC, fmt.Sprintf("%d uncorrected memory errors on GPU %s since its driver was loaded", v.N, d.PCI))
		}
	}
	return out
}

// cudaOf says that a rank itself reports an error of CUDA.
func (g *gpus) cudaOf(rank int) bool {
	return slices.ContainsFunc(g.failures, func(fl *Failure) bool {
		return fl.Rank == rank && fl.Mechanism.Is(knowledge.FromCUDA) && fl.Kind != KindKernel
	})
}

type fileLine struct {
	file string
	line int64
}
