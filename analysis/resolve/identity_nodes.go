package resolve

import (
	"cmp"
	"sort"
	"strings"

	"faultline/analysis/ascii"
	"faultline/analysis/filename"
	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// Which node a line, a file, a task or a rank is of.

// nodesFromContent ties a file to a node where exactly one host writes in it.
func (id *identity) nodesFromContent(obs *worker.Observations) {
	hosts := map[string]map[string]string{} // file → host → basis
	see := func(file, host, basis string, by *line.Who) {
		host = ShortHost(host)
		if host == "" || file == "" {
			return
		}
		if id.launchers[file] && by.Task >= 0 {
			id.runsOn(by.Task, host)
			return
		}
		if hosts[file] == nil {
			hosts[file] = map[string]string{}
		}
		if _, ok := hosts[file][host]; !ok {
			hosts[file][host] = basis
		}
	}
	for k := range obs.Tails {
		t := &obs.Tails[k]
		id.keyed[t.File] = mostlyHostless(t)
		for i := range t.Writers {
			if w := &t.Writers[i].Who; !id.keyed[t.File] || !labelOnly(w) {
				see(t.File, w.Host, "host in the line prefix", w)
			}
		}
	}
	for _, w := range obs.NCCLWarns {
		see(w.File, w.Who().Host, "NCCL line prefix", w.Who())
	}
	for _, c := range obs.CommInits {
		see(c.File, c.Who().Host, "NCCL init line", c.Who())
	}
	for _, c := range obs.ChildFailed {
		see(c.File, c.Host, "torchrun failure block", c.Who())
	}
	for _, i := range obs.Identities {
		see(i.File, i.Host, "identity line", i.Who())
	}
	for _, f := range obs.Facts {
		if f.Key == "node_name" {
			see(f.File, f.Value, "the file's own statement", f.Who())
		}
	}
	several := rayOnSeveral(obs.Tails)
	for file, hs := range hosts {
		id.multiHost[file] = len(hs) > 1 || several[file]
		if id.multiHost[file] {
			continue
		}
		for h, b := range hs {
			id.fileNode[file], id.nodeBasis[file] = h, b
		}
	}
}

// mostlyHostless says that names stand in front of no more lines of a file than lack one: they are no hosts by themselves.
func mostlyHostless(t *worker.Tail) bool {
	labelled := int64(0)
	for i := range t.Writers {
		if labelOnly(&t.Writers[i].Who) {
			labelled += t.Writers[i].Lines
		}
	}
	return labelled <= t.Hostless
}

// rayOnSeveral are the files into which Ray passes on what actors of more than one node print. It states no address for those beside
// the driver.
func rayOnSeveral(tails []worker.Tail) map[string]bool {
	out := map[string]bool{}
	for _, t := range tails {
		ray, seen := "", false
		for i := range t.Writers {
			if w := &t.Writers[i].Who; w.RayName != "" {
				out[t.File] = out[t.File] || seen && w.RayIP != ray
				ray, seen = w.RayIP, true
			}
		}
	}
	return out
}

// launchersOf finds the files into which srun merged what launchers print, each under its task's number: of several labels at least one
// stands before lines of several ranks.
func (id *identity) launchersOf(obs *worker.Observations) {
	for i := range obs.Tails {
		t := &obs.Tails[i]
		first, tasks, several := map[int]int{}, map[int]bool{}, false
		for j := range t.Writers {
			w := &t.Writers[j].Who
			if w.Task < 0 {
				continue
			}
			tasks[w.Task] = true
			if global, _ := id.labels(w); global >= 0 {
				old, known := first[w.Task]
				several = several || known && old != global
				first[w.Task] = global
			}
		}
		id.launchers[t.File] = several && len(tasks) > 1
	}
}

// onTask is the node of the launcher whose label a line bears, or "".
func (id *identity) onTask(at worker.At) string {
	if w := at.Who(); w.Task >= 0 && id.launchers[at.File] {
		return id.taskNode[w.Task]
	}
	return ""
}

// usualNode is how many ranks a node has where nothing says it.
const usualNode = 8

// untie takes a file's node back where it is the only one that these logs name and the file holds ranks of more than one node: a log of
// the whole job, in which one node's NCCL warned or one node's torchrun gave its account. Where files name several nodes, ranks may well
// be spread over them in turn. That ranks do not fit on one node says where none of them is; it never says where one is.
func (id *identity) untie(obs *worker.Observations, seen map[string]map[int]bool, perNode int) {
	hosts := map[string]bool{}
	for _, h := range id.fileNode {
		hosts[h] = true
	}
	if len(hosts) != 1 {
		return
	}
	if perNode <= 0 {
		perNode = usualNode
	}
	lowest := map[string]int{} // rank on the node of which a file's torchrun speaks: it numbers them in a row
	for i := range obs.ChildFailed {
		if c := &obs.ChildFailed[i]; c.Rank >= 0 && c.Local >= 0 {
			lowest[c.File] = max(lowest[c.File], c.Rank-c.Local)
		}
	}
	for file := range id.fileNode {
		nodes := map[int]bool{}
		for rank := range seen[file] {
			nodes[rank/perNode] = true
			if rank < lowest[file] {
				nodes[-1] = true
			}
		}
		if len(nodes) > 1 {
			delete(id.fileNode, file)
			delete(id.nodeBasis, file)
			id.multiHost[file] = true
		}
	}
}

// labelOnly says that a host stands in a line as nothing but "name: ", as launchers label every line they pass on. NCCL, UCX and
// MPI name it together with the process.
func labelOnly(w *line.Who) bool {
	return w.Host != "" && w.Pid == line.Unknown && w.CudaDev == line.Unknown && w.MPIRank == line.Unknown && w.RayName == ""
}

// hostsOfTasks uses srun's exit lines, which name a host and its tasks: where one task is one rank they tie ranks to
// nodes, and where one task is one node's launcher they tie the files of node indices to hosts.
func (id *identity) hostsOfTasks(parsed map[string]filename.Name, world int) {
	most, files := -1, -1
	for t := range id.taskNode {
		most = max(most, t)
	}
	for _, n := range parsed {
		files = max(files, n.NodeIndex)
	}
	switch {
	case id.taskIsOne || world > 1 && most == world-1:
		for t, host := range id.taskNode {
			id.tie(t, host)
		}
	case files >= 0 && most >= 0 && most <= files && distinct(id.taskNode):
		id.taskIsNode = world > files+1
		for name, n := range parsed {
			if h := id.taskNode[n.NodeIndex]; n.NodeIndex >= 0 && h != "" && id.fileNode[name] == "" && !id.multiHost[name] {
				id.fileNode[name], id.nodeBasis[name] = h, "srun exit line of the node's only task"
			}
		}
	}
}

// distinct says that no two tasks share a host.
func distinct(taskNode map[int]string) bool {
	seen := map[string]bool{}
	for _, h := range taskNode {
		if seen[h] {
			return false
		}
		seen[h] = true
	}
	return true
}

// calledByHost ties files whose names end in that of a node which SLURM or the node list names, whatever stands before it: a node's name
// may look like anything, and is known again only by another line.
func (id *identity) calledByHost(names, nodes []string) {
	known := map[string]bool{}
	for _, h := range id.taskNode {
		known[h] = true
	}
	for _, n := range nodes {
		known[ShortHost(n)] = true
	}
	delete(known, "")
	if len(known) == 0 {
		return
	}
	for _, name := range names {
		stem := strings.ToLower(filename.Stem(name))
		ends := []int{len(stem)}
		if host, ok := strings.CutSuffix(strings.TrimRight(stem, "0123456789"), "-"); ok {
			ends = append(ends, len(host)) // behind it may stand the number of a task, where no host is called so
		}
		for _, end := range ends {
			for at := 0; id.fileNode[name] == "" && !id.multiHost[name] && at < end; at++ {
				if (at == 0 || strings.IndexByte("/._-", stem[at-1]) >= 0) && known[stem[at:end]] {
					id.fileNode[name], id.nodeBasis[name] = stem[at:end], "file name"
				}
			}
		}
	}
}

// series is what a file's name has before and behind the node that its own lines name, and that node without its numbers.
type series struct{ before, behind, shape string }

// calledAlike ties files that are called as another is of which lines prove that its name holds its node's: "train-gpu-1.log" tells
// whose "train-gpu-2.log" is. The names of the nodes may differ in their numbers alone.
func (id *identity) calledAlike(names []string) {
	proven := map[series]bool{}
	for name, host := range id.fileNode {
		lower := strings.ToLower(name)
		at := strings.LastIndex(lower, host)
		if at < 0 {
			continue
		}
		s := series{lower[:at], lower[at+len(host):], unnumbered(host)}
		if strings.Contains(s.shape, "#") && strings.Trim(s.shape, "#") != "" && bounded(s.before, s.behind) {
			proven[s] = true
		}
	}
	for _, name := range names {
		if id.fileNode[name] != "" || id.multiHost[name] {
			continue
		}
		lower, host := strings.ToLower(name), ""
		for s := range proven {
			if rest, ok := strings.CutPrefix(lower, s.before); ok {
				if node, ok := strings.CutSuffix(rest, s.behind); ok && unnumbered(node) == s.shape {
					if host != "" && host != node {
						host = ""
						break
					}
					host = node
				}
			}
		}
		if host != "" {
			id.fileNode[name], id.nodeBasis[name] = host, "file name, like the rest of its series"
		}
	}
}

// bounded says that what stands between the two is a part of a name of its own.
func bounded(before, behind string) bool {
	const marks = "/._-"
	return (before == "" || strings.ContainsRune(marks, rune(before[len(before)-1]))) && (behind == "" || strings.ContainsRune(marks, rune(behind[0])))
}

// unnumbered is a name with each number in it replaced by a mark.
func unnumbered(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch digit := '0' <= name[i] && name[i] <= '9'; {
		case !digit:
			b.WriteByte(name[i])
		case i == 0 || !ascii.Digit(name[i-1]):
			b.WriteByte('#')
		}
	}
	return b.String()
}

// runsOn notes the node of a task, or that it is not known: tasks of several steps have the same numbers.
func (id *identity) runsOn(task int, host string) {
	if old, known := id.taskNode[task]; known && old != host {
		host = ""
	}
	id.taskNode[task] = host
}

// RankNode is the node of a rank, also of one that writes in no log; "" where nothing tells it.
func (f *Facts) RankNode(rank int) string {
	if r := f.Rank(rank); r != nil && r.Node != "" {
		return r.Node
	}
	return f.ident.rankNode[rank]
}

// tie puts a rank on a node, or on none where something else put it on another.
func (id *identity) tie(rank int, node string) {
	if old, ok := id.rankNode[rank]; ok && old != node {
		node = ""
	}
	id.rankNode[rank] = node
}

// nodesOfRanks ties ranks to the nodes of the files they write in.
func (id *identity) nodesOfRanks(obs *worker.Observations) {
	type hit struct {
		rank, local int
		node        string
	}
	var hits []hit
	see := func(rank int, at worker.At) {
		_, local := id.labels(at.Who())
		h := hit{rank: rank, local: local, node: cmp.Or(id.hostOf(at), id.onTask(at))}
		hits = append(hits, h)
	}
	for _, t := range obs.Tails {
		for i := range t.Writers {
			at := worker.At{Pos: worker.Pos{File: t.File}, By: &t.Writers[i].Who}
			if r, _, ok := id.rankOf(at); ok {
				see(r, at)
			}
		}
		if r, ok := id.fileRank[t.File]; ok {
			see(r, worker.At{Pos: worker.Pos{File: t.File}})
		}
	}
	sort.SliceStable(hits, func(i, j int) bool { return hits[i].rank < hits[j].rank })
	for _, h := range hits {
		if _, known := id.rankNode[h.rank]; h.node != "" && !known {
			id.tie(h.rank, h.node)
		}
		if _, known := id.rankLocal[h.rank]; h.local >= 0 && !known {
			id.rankLocal[h.rank] = h.local
		}
	}
}

// hostOf is the host that the line itself or its file names, or "".
func (id *identity) hostOf(at worker.At) string {
	if h := ShortHost(at.Who().Host); h != "" && !(id.keyed[at.File] && labelOnly(at.Who()) && at.Stamp.Emitter != line.Kernel) {
		return h // what the kernel says bears its host's name between a time and the word kernel, which no key of what is printed does
	}
	return id.fileNode[at.File]
}

// nodeOf is the node of a line, or "": its host, else its rank's, else that of the
// SLURM task by srun's exit lines, else the address that Ray prints.
func (id *identity) nodeOf(at worker.At) string {
	if h := id.hostOf(at); h != "" {
		return h
	}
	if r, _, ok := id.rankOf(at); ok {
		if n := id.rankNode[r]; n != "" {
			return n
		}
	}
	if at.Who().Task >= 0 && id.taskNode[at.Who().Task] != "" {
		return id.taskNode[at.Who().Task]
	}
	return at.Who().RayIP
}
