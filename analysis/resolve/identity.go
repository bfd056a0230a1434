package resolve

import (
	"slices"
	"strings"

	"faultline/analysis/filename"
	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/incident"
)

// identity answers "which global rank, which node" for a line. A rank is tied to a line only by what some line, file
// name or launcher's table states; arithmetic on ranks per node is never evidence.
type identity struct {
	fileNode  map[string]string // file → node
	nodeBasis map[string]string
	fileRank  map[string]int
	local     map[fileInt]int // (file, local rank) → global
	pid       map[fileInt]int // (file or host, pid) → global
	task      map[int]int     // srun label → global
	taskIsOne bool            // one task is one rank
	// taskIsNode says that one task is one node's launcher, which starts several ranks.
	taskIsNode bool
	taskNode   map[int]string
	// launchers are files in which srun labels the lines of launchers, of one node each, that start several ranks.
	launchers map[string]bool
	// localLabels is true where torchrun labels lines by "[rankN]:" as PyTorch does, and by the local rank.
	localLabels bool
	// beside is true where ranks train and an inference engine's workers, which count theirs from 0 again, write beside them.
	beside bool
	// introduced holds the ranks that introduce themselves in each file ("GLOBAL_RANK: 3, MEMBER: 4/16").
	introduced map[string]map[int]bool
	rankNode   map[int]string
	rankBasis  map[int]string
	rankLocal  map[int]int
	multiHost  map[string]bool // files in which several hosts write
	// keyed are files in which names stand in front of some lines as hosts do, but not of most: then they are keys of what
	// is printed ("model2: loaded"), as far as nothing else says that they are hosts.
	keyed map[string]bool
}

type fileInt struct {
	file string
	n    int
}

// ambiguous marks a mapping that two lines contradict.
const ambiguous = -2

func put(m map[fileInt]int, k fileInt, v int) {
	if old, ok := m[k]; ok && old != v {
		m[k] = ambiguous
		return
	}
	m[k] = v
}

func newIdentity(obs *worker.Observations, sources []incident.Source, nodes []string, world, perNode int) *identity {
	id := &identity{
		fileNode: map[string]string{}, nodeBasis: map[string]string{}, fileRank: map[string]int{},
		local: map[fileInt]int{}, pid: map[fileInt]int{}, task: map[int]int{}, taskNode: map[int]string{},
		rankNode: map[int]string{}, rankBasis: map[int]string{}, rankLocal: map[int]int{}, multiHost: map[string]bool{}, introduced: map[string]map[int]bool{},
		keyed: map[string]bool{}, launchers: map[string]bool{},
	}
	id.localLabels, id.beside = localLabels(obs), engineBeside(obs)
	id.launchersOf(obs)
	id.nodesFromContent(obs)
	id.ranksFromTables(obs, world)
	seen := map[string]map[int]bool{}
	for _, t := range obs.Tails {
		for _, w := range t.Writers {
			if global, _ := id.labels(&w.Who); global >= 0 {
				if seen[t.File] == nil {
					seen[t.File] = map[int]bool{}
				}
				seen[t.File][global] = true
			}
		}
	}
	id.untie(obs, seen, perNode)
	id.fromNames(sources, nodes, world, seen)
	id.nodesOfRanks(obs)
	return id
}

// localLabels says that torchrun labels this job's lines with a "[rankN]:" of its own, by the local rank.
func localLabels(obs *worker.Observations) bool {
	titan := slices.ContainsFunc(obs.Facts, func(x worker.Fact) bool { return x.Key == "framework" && x.Value == "torchtitan" })
	for _, t := range obs.Tails {
		for i := range t.Writers {
			if w := &t.Writers[i].Who; w.Role == line.RankRole && w.Global >= 0 {
				return true
			}
		}
		if titan && belowBase(obs, &t) {
			return true
		}
	}
	return false
}

// belowBase says that a file of a node whose ranks begin above 0, as torchrun's failure block tells, holds labels of lower ranks alone.
// torchtitan's own script has torchrun label the lines (--role rank --tee 3).
func belowBase(obs *worker.Observations, t *worker.Tail) bool {
	base := 0
	for i := range obs.ChildFailed {
		if c := &obs.ChildFailed[i]; c.File == t.File && c.Rank >= 0 && c.Local >= 0 {
			base = max(base, c.Rank-c.Local)
		}
	}
	labels := 0
	for i := range t.Writers {
		switch w := &t.Writers[i].Who; {
		case w.Global >= base:
			return false
		case w.Global >= 0:
			labels++
		}
	}
	return labels > 0
}

// engineWorker says that a name in front of lines is that of vLLM's workers: "(VllmWorker rank=1 pid=…)".
func engineWorker(w *line.Who) bool {
	return strings.HasPrefix(strings.ToLower(w.RayName), "vllm")
}

// engineBeside says that a job trains, with ranks of which lines tell, and that an inference engine's workers write in its logs, too.
func engineBeside(obs *worker.Observations) bool {
	engine := false
	train := slices.ContainsFunc(obs.ChildFailed, func(c worker.ChildFailed) bool { return c.Rank >= 0 && !engineWorker(c.Who()) })
	for _, t := range obs.Tails {
		for i := range t.Writers {
			w := &t.Writers[i].Who
			engine = engine || engineWorker(w)
			train = train || (w.Global >= 0 || w.RayRank >= 0) && !engineWorker(w)
		}
	}
	return engine && train && slices.ContainsFunc(obs.Progress, func(p worker.Progress) bool { return p.Phase == worker.Training && !engineWorker(p.Who()) })
}

// labels are the global and the local rank that the labels of a line state.
func (id *identity) labels(w *line.Who) (global, local int) {
	if id.beside && engineWorker(w) {
		return line.Unknown, line.Unknown // what it counts are the engine's workers
	}
	if id.localLabels && w.Local < 0 {
		return line.Unknown, w.Global
	}
	return w.Global, w.Local
}

// nodesFromContent ties a file to a node where exactly one host writes in it.
// launchersOf finds the files into which srun merged what launchers print, each under its task's number: of several labels at least one
// stands before lines of several ranks.
// onTask is the node of the launcher whose label a line bears, or "".
// untie takes a file's node back where it is the only one that these logs name and the file holds ranks of more than one node: a log of
// the whole job, in which one node's NCCL warned or one node's torchrun gave its account. Where files name several nodes, ranks may well
// be spread over them in turn. That ranks do not fit on one node says where none of them is; it never says where one is.
// labelOnly says that a host stands in a line as nothing but "name: ", as launchers label every line they pass on. NCCL, UCX and
// MPI name it together with the process.
// fromNames ties files to nodes and ranks by their names: %N is a host, %n an index into the stated node list, %t a task.
func (id *identity) fromNames(sources []incident.Source, nodes []string, world int, seen map[string]map[int]bool) {
	for _, s := range sources {
		if s.Node != "" {
			id.fileNode[s.Name] = ShortHost(s.Node)
			id.nodeBasis[s.Name] = "origin of the file"
		}
	}
	names := make([]string, 0, len(sources))
	for _, s := range sources {
		names = append(names, s.Name)
	}
	id.calledByHost(names, nodes)
	id.calledAlike(names)
	for name, n := range filename.Parse(names) {
		if n.Host != "" && id.fileNode[name] == "" {
			id.fileNode[name] = ShortHost(n.Host)
			id.nodeBasis[name] = "file name"
		}
		if n.NodeIndex >= 0 && id.fileNode[name] == "" && n.NodeIndex < len(nodes) {
			id.fileNode[name] = ShortHost(nodes[n.NodeIndex])
			id.nodeBasis[name] = "file name and node list"
		}
		if n.Rank >= 0 {
			id.fileRank[name] = n.Rank
		}
	}
	parsed := filename.Parse(names)
	id.tasksAsRanks(parsed, seen, world)
	id.numbered(names, seen)
	id.hostsOfTasks(parsed, world)
	id.oneEach(seen)
}

// oneEach reads files that hold one process each: every file in which processes introduce themselves holds exactly one
// introduction, of another rank each, and no prefix in it says otherwise.
func (id *identity) oneEach(seen map[string]map[int]bool) {
	taken := map[int]bool{}
	for file, ranks := range id.introduced {
		if len(ranks) != 1 || len(seen[file]) > 1 {
			return
		}
		for r := range ranks {
			if taken[r] || len(seen[file]) == 1 && !seen[file][r] {
				return
			}
			taken[r] = true
		}
	}
	if len(taken) < 2 {
		return
	}
	for file, ranks := range id.introduced {
		if _, known := id.fileRank[file]; known {
			continue
		}
		for r := range ranks {
			id.fileRank[file] = r
		}
	}
}

// hostsOfTasks uses srun's exit lines, which name a host and its tasks: where one task is one rank they tie ranks to
// nodes, and where one task is one node's launcher they tie the files of node indices to hosts.
// distinct says that no two tasks share a host.
// tasksAsRanks reads the task in a file's name as the rank where one task is one rank: the names count up to the world
// size, or every prefix found in such a file says the same number.
func (id *identity) tasksAsRanks(parsed map[string]filename.Name, seen map[string]map[int]bool, world int) {
	most, agree, files := -1, 0, 0
	for name, n := range parsed {
		if n.Task < 0 {
			continue
		}
		most = max(most, n.Task)
		files++
		for r := range seen[name] {
			if r != n.Task {
				return
			}
			agree++
		}
	}
	// More than half of the world has a file of its own: then the others had one too.
	many := world > 0 && most < world && 2*files > world
	if most < 0 || agree == 0 && !many {
		return
	}
	for name, n := range parsed {
		if _, known := id.fileRank[name]; !known && n.Task >= 0 {
			id.fileRank[name] = n.Task
		}
	}
	id.taskIsOne = true
}

// ShortHost is the name by which a node is known here: in lower case and without its domain; an address stays as it is. It is empty
// where there is none.
// ranksFromTables learns local → global and pid → global from what launchers print.
func (id *identity) ranksFromTables(obs *worker.Observations, world int) {
	for _, r := range obs.Rendezvous {
		if len(r.LocalRanks) != len(r.GlobalRanks) {
			continue
		}
		for i, l := range r.LocalRanks {
			put(id.local, fileInt{r.File, l}, r.GlobalRanks[i])
			id.rankLocal[r.GlobalRanks[i]] = l
		}
	}
	for _, c := range obs.ChildFailed {
		if c.Rank < 0 {
			continue
		}
		if c.Pid > 0 {
			put(id.pid, fileInt{c.File, c.Pid}, c.Rank)
			if h := ShortHost(c.Host); h != "" {
				put(id.pid, fileInt{"host:" + h, c.Pid}, c.Rank)
			}
		}
		if c.Local >= 0 {
			put(id.local, fileInt{c.File, c.Local}, c.Rank)
			id.rankLocal[c.Rank] = c.Local
		}
		if h := ShortHost(c.Host); h != "" {
			id.tie(c.Rank, h, "torchrun failure block")
		}
	}
	for _, i := range obs.Identities {
		if i.Global < 0 {
			continue
		}
		if id.introduced[i.File] == nil {
			id.introduced[i.File] = map[int]bool{}
		}
		id.introduced[i.File][i.Global] = true
		if i.Local >= 0 {
			put(id.local, fileInt{i.File, i.Local}, i.Global)
			id.rankLocal[i.Global] = i.Local
		}
		if h := ShortHost(i.Host); h != "" {
			id.tie(i.Global, h, "identity line")
		}
	}
	for _, c := range obs.CommInits {
		// A communicator of the whole world has the ranks of the job.
		if world == 0 || c.NRanks != world || c.Rank < 0 {
			continue
		}
		if h := ShortHost(c.Who().Host); h != "" && c.Who().Pid > 0 {
			put(id.pid, fileInt{"host:" + h, c.Who().Pid}, c.Rank)
			id.tie(c.Rank, h, "NCCL init line")
		}
	}
	labels := map[int]map[int]bool{} // task → globals
	for _, t := range obs.Tails {
		for _, w := range t.Writers {
			if global, _ := id.labels(&w.Who); global < 0 {
				continue
			}
			if w.Who.Local >= 0 {
				put(id.local, fileInt{t.File, w.Who.Local}, w.Who.Global)
				id.rankLocal[w.Who.Global] = w.Who.Local
			}
			if w.Who.Pid > 0 && w.Who.RayName != "" {
				put(id.pid, fileInt{t.File, w.Who.Pid}, w.Who.Global)
			}
			if w.Who.Task >= 0 {
				if labels[w.Who.Task] == nil {
					labels[w.Who.Task] = map[int]bool{}
				}
				labels[w.Who.Task][w.Who.Global] = true
			}
		}
	}
	// One task is one rank where every label that meets a rank meets exactly the one of its own number, or where there
	// are as many labels as ranks.
	one := len(labels) > 0
	for t, gs := range labels {
		if len(gs) != 1 || !gs[t] {
			one = false
		}
	}
	if !one && len(labels) == 0 && world > 0 {
		distinct := map[int]bool{}
		most := -1
		for _, t := range obs.Tails {
			for _, w := range t.Writers {
				if w.Who.Task >= 0 {
					distinct[w.Who.Task] = true
					most = max(most, w.Who.Task)
				}
			}
		}
		one = most == world-1
	}
	id.taskIsOne = one
	for _, e := range obs.TaskExits {
		if len(e.Hosts) == 1 {
			for _, t := range e.Tasks {
				id.runsOn(t, ShortHost(e.Hosts[0]))
			}
		}
	}
}

// runsOn notes the node of a task, or that it is not known: tasks of several steps have the same numbers.
// nodesOfRanks ties ranks to the nodes of the files they write in.
// rankOf is the global rank of a line with what proves it, in order of strength.
func (id *identity) rankOf(at worker.At) (rank int, basis string, ok bool) {
	w := at.Who()
	global, local := id.labels(w)
	if global >= 0 {
		return global, "[rankN]: prefix", true
	}
	if w.RayRank >= 0 && !(id.beside && engineWorker(w)) {
		return w.RayRank, "Ray worker's rank", true
	}
	if r, ok := id.fileRank[at.File]; ok {
		return r, "file name", true
	}
	if w.Pid > 0 {
		if w.Host != "" {
			if r, ok := id.pid[fileInt{"host:" + ShortHost(w.Host), w.Pid}]; ok && r >= 0 {
				return r, "host and pid", true
			}
		}
		if r, ok := id.pid[fileInt{at.File, w.Pid}]; ok && r >= 0 {
			return r, "pid", true
		}
	}
	if local >= 0 {
		if r, ok := id.local[fileInt{at.File, local}]; ok && r >= 0 {
			return r, "local rank and launcher's table", true
		}
	}
	if w.Task >= 0 && id.taskIsOne {
		return w.Task, "srun label", true
	}
	if w.MPIRank >= 0 {
		return w.MPIRank, "launcher's tag", true
	}
	return NoRank, "", false
}

// hostOf is the host that the line itself or its file names, or "".
// nodeOf is the node of a line, or "": its host, else its rank's, else that of the
// SLURM task by srun's exit lines, else the address that Ray prints.
