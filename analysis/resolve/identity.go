package resolve

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/filename"
	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/knowledge"
)

// identity answers "which global rank, which node" for a line. A rank is tied to a line only by what some line, file
// name or launcher's table states; arithmetic on ranks per node is never evidence.
type identity struct {
	fileNode  map[string]string // file → node
	nodeBasis map[string]string
	fileRank  map[string]int
	local     map[fileInt]int // (file, local rank) → global
	pid       map[fileInt]int // (file or host, pid) → global
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
	// said holds the ranks that files give as theirs in lines without a label.
	said      map[string]map[int]bool
	rankNode  map[int]string
	rankLocal map[int]int
	multiHost map[string]bool // files in which several hosts write
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
		local: map[fileInt]int{}, pid: map[fileInt]int{}, taskNode: map[int]string{},
		rankNode: map[int]string{}, rankLocal: map[int]int{}, multiHost: map[string]bool{}, introduced: map[string]map[int]bool{},
		keyed: map[string]bool{}, said: map[string]map[int]bool{}, launchers: map[string]bool{},
	}
	id.localLabels, id.beside = localLabels(obs), engineBeside(obs)
	id.launchersOf(obs)
	id.nodesFromContent(obs)
	id.nodesSaid(obs)
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
	id.ranksSaid(obs, seen)
	id.untie(obs, seen, perNode)
	id.fromNames(obs, sources, nodes, world, seen)
	id.nodesOfRanks(obs)
	return id
}

// ranksSaid adds to the ranks that labels show in each file those that its own lines give, where no label does. Where two processes give the same,
// it is not theirs.
func (id *identity) ranksSaid(obs *worker.Observations, seen map[string]map[int]bool) {
	process := map[int]string{}
	for at, rank := range ownRanks(obs) {
		name := streamless(at.File)
		if other, known := process[rank]; known && other != name {
			clear(id.said)
			return
		}
		if process[rank] = name; len(seen[at.File]) > 0 {
			continue
		}
		if id.said[at.File] == nil {
			id.said[at.File] = map[int]bool{}
		}
		id.said[at.File][rank] = true
	}
	maps.Copy(seen, id.said)
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

// fromNames ties files to nodes and ranks by their names: %N is a host, %n an index into the stated node list, %t a task.
func (id *identity) fromNames(obs *worker.Observations, sources []incident.Source, nodes []string, world int, seen map[string]map[int]bool) {
	for _, s := range sources {
		if s.Node != "" {
			id.fileNode[s.Name] = ShortHost(s.Node)
			id.nodeBasis[s.Name] = "origin of the file"
		}
	}
	hostsSaid := id.hostsInFiles(obs)
	names := make([]string, 0, len(sources))
	for _, s := range sources {
		names = append(names, s.Name)
	}
	id.calledByHost(names, slices.Concat(nodes, hostsSaid))
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
	id.streams(names)
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

// ranksFromTables learns local → global and pid → global from what launchers print.
func (id *identity) ranksFromTables(obs *worker.Observations, world int) {
	for _, r := range obs.Rendezvous {
		if len(r.LocalRanks) != len(r.GlobalRanks) {
			continue
		}
		for i, l := range r.LocalRanks {
			id.isLocal(r.File, l, r.GlobalRanks[i])
		}
	}
	for _, c := range obs.ChildFailed {
		if c.Rank < 0 {
			continue
		}
		host := ShortHost(c.Host)
		id.isPid(c.File, c.Pid, c.Rank)
		if host != "" {
			id.isPid("host:"+host, c.Pid, c.Rank)
			id.tie(c.Rank, host)
		}
		id.isLocal(c.File, c.Local, c.Rank)
	}
	for _, i := range obs.Identities {
		if i.Global < 0 {
			continue
		}
		if id.introduced[i.File] == nil {
			id.introduced[i.File] = map[int]bool{}
		}
		id.introduced[i.File][i.Global] = true
		id.isLocal(i.File, i.Local, i.Global)
		id.isPid(i.File, i.Pid, i.Global)
		if h := ShortHost(i.Host); h != "" {
			id.tie(i.Global, h)
		}
	}
	id.rangesOnNodes(obs)
	for _, c := range obs.CommInits {
		// A communicator of the whole world has the ranks of the job.
		if world == 0 || c.NRanks != world || c.Rank < 0 {
			continue
		}
		if h := ShortHost(c.Who().Host); h != "" && c.Who().Pid > 0 {
			id.isPid("host:"+h, c.Who().Pid, c.Rank)
			id.tie(c.Rank, h)
		}
	}
	id.taskIsOne = oneEach(id.ranksFromLabels(obs), obs, world)
	for _, e := range obs.TaskExits {
		if len(e.Hosts) == 1 {
			for _, t := range e.Tasks {
				id.runsOn(t, ShortHost(e.Hosts[0]))
			}
		}
	}
	for i := range obs.Signs { // a launcher that names a task names the host beside it
		s := &obs.Signs[i]
		e := obs.Known.Entry(s.ID)
		if !slices.ContainsFunc(e.Names, func(n knowledge.Name) bool { return n.Kind == knowledge.AsTask }) {
			continue
		}
		fields := obs.Known.Fields(s.ID, []byte(s.Text))
		task, host := e.Named(fields, knowledge.FirstOut, knowledge.AsTask), e.Named(fields, knowledge.FirstOut, knowledge.AsHost)
		if n, err := strconv.Atoi(task); err == nil && host != "" {
			id.runsOn(n, ShortHost(host))
		}
	}
}

// isLocal notes which rank has a local rank in a file, where that is stated.
func (id *identity) isLocal(file string, local, rank int) {
	if local >= 0 {
		put(id.local, fileInt{file, local}, rank)
		id.rankLocal[rank] = local
	}
}

// isPid notes which rank a process of a file or a host is, where that is stated.
func (id *identity) isPid(where string, pid, rank int) {
	if pid > 0 {
		put(id.pid, fileInt{where, pid}, rank)
	}
}

// ranksFromLabels learns from lines that bear a rank's number beside another label, and gives the ranks that each of srun's tasks labels.
func (id *identity) ranksFromLabels(obs *worker.Observations) map[int]map[int]bool {
	ofTask := map[int]map[int]bool{}
	for _, t := range obs.Tails {
		for i := range t.Writers {
			w := &t.Writers[i].Who
			if global, _ := id.labels(w); global < 0 {
				continue
			}
			id.isLocal(t.File, w.Local, w.Global)
			if w.RayName != "" {
				id.isPid(t.File, w.Pid, w.Global)
			}
			if w.Task >= 0 {
				if ofTask[w.Task] == nil {
					ofTask[w.Task] = map[int]bool{}
				}
				ofTask[w.Task][w.Global] = true
			}
		}
	}
	return ofTask
}

// oneEach says that one task is one rank: every label that meets a rank meets exactly the one of its own number, or no label meets any
// and they end with the number of the last rank.
func oneEach(ranks map[int]map[int]bool, obs *worker.Observations, world int) bool {
	for t, rs := range ranks {
		if len(rs) != 1 || !rs[t] {
			return false
		}
	}
	if len(ranks) > 0 {
		return true
	}
	last := -1
	for _, t := range obs.Tails {
		for i := range t.Writers {
			last = max(last, t.Writers[i].Who.Task)
		}
	}
	return world > 0 && last == world-1
}

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

// ShortHost is the name by which a node is known here: in lower case and without its domain; an address stays as it is. It is empty
// where there is none.
func ShortHost(h string) string {
	// Builds with several slurmd on one machine (Debian's) print "slurmstepd-<node>: …".
	h = strings.TrimPrefix(h, "slurmstepd-")
	if h == "" || h == "localhost" || h == "(null)" || strings.ContainsAny(h, "\"'\\{}()<>,;= \t") {
		return "" // what holds one of these was cut out of a record in the wrong place, and is not a node name
	}
	if strings.Count(h, ".") == 3 {
		if _, err := strconv.Atoi(strings.ReplaceAll(h, ".", "")); err == nil {
			return h // an IPv4 address is not a host name with a domain
		}
	}
	if i := strings.IndexByte(h, '.'); i > 0 {
		h = h[:i]
	}
	return strings.ToLower(h)
}
