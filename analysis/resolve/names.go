package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/hostlist"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// Naming is a line that says of a process or node other than its writer that it is gone, is waited for, or ended first.
type Naming struct {
	Whose knowledge.Whose
	Sign  knowledge.ID // "" where srun says it of a task
	Name  string       // in the words of the line: "task 4", "member 24 of group_name_1654", "10.0.0.7"
	Ranks []int        // whom it names, as far as that is proven
	Nodes []string
	Thing bool     // it is a device, a server or a file: no process, and no node
	Why   string   // why it leads to no rank, or to nothing at all; "" where it leads to a rank
	Files []string // the files of that rank, else of that node, that are here
	By    int      // the writer, or NoRank
	On    string   // and its node
	At    *worker.At
}

// mostNamings bounds what is kept: a large job that breaks down prints the same of each pair of its ranks.
const mostNamings = 4096

// named finds what lines name, and resolves it: for every entry here and nowhere else.
func (f *Facts) named() (all []*Naming) {
	seen := map[string]bool{}
	add := func(at *worker.At, id knowledge.ID, text string) {
		s, ok := f.Known.Lookup(id)
		if !ok || len(all) >= mostNamings || !slices.ContainsFunc(s.Names, func(n knowledge.Name) bool { return tells(&s, n.Whose) }) {
			return
		}
		if n := f.naming(&s, at, text); n != nil {
			if k := fmt.Sprint(n.Whose, "\x00", n.Sign, "\x00", n.Name, "\x00", n.By, "\x00", n.On, "\x00", at.File); !seen[k] {
				seen[k] = true
				all = append(all, n)
			}
		}
	}
	for i := range f.Obs.Signs {
		add(&f.Obs.Signs[i].At, f.Obs.Signs[i].ID, f.Obs.Signs[i].Text)
	}
	for i := range f.Obs.NCCLWarns {
		for _, id := range f.Obs.NCCLWarns[i].Signs {
			add(&f.Obs.NCCLWarns[i].At, id, f.Obs.NCCLWarns[i].Text)
		}
	}
	for i := range f.Obs.Exceptions {
		x := &f.Obs.Exceptions[i]
		for _, id := range x.Signs {
			add(&x.At, id, x.Type+": "+x.Message)
		}
		for j := range x.Told {
			add(&x.Told[j].At, x.Told[j].ID, x.Told[j].Text)
		}
	}
	if n := f.firstOut(); n != nil {
		all = append(all, n)
	}
	all = append(all, f.pointedAt()...)
	slices.SortStableFunc(all, func(a, b *Naming) int { return comparePos(&a.At.Pos, &b.At.Pos) })
	return all
}

// firstOut are the tasks that srun reports first, where it says of all others that it ended them; nil where it does not.
func (f *Facts) firstOut() *Naming {
	var first []*Failure
	rest := false
	for _, fl := range f.Failures {
		switch {
		case fl.Kind != KindTask || len(fl.Tasks) == 0:
		case fl.Role == knowledge.ConsequenceRole:
			rest = true
		default:
			first = append(first, fl)
		}
	}
	if !rest || len(first) != 1 {
		return nil
	}
	fl := first[0]
	n := &Naming{Whose: knowledge.FirstOut, Name: taskWords(fl.Tasks), By: NoRank, At: fl.At}
	n.leadsTo(f.place(n, &whom{kind: knowledge.AsTask, numbers: fl.Tasks, hosts: nonEmpty(fl.Node)}))
	return n
}

// whom is what one line says of whom it names.
type whom struct {
	kind    knowledge.NameKind // of the numbers; the surest, where it has several
	numbers []int
	group   string // and size: of what ranks in a group are counted in
	size    int
	hosts   []string // nodes, or addresses that nothing ties to one
	thing   string   // what is no process and no node, where nothing else is named: "GPU 3"
}

// naming reads one line; nil where it names nobody but its writer.
func (f *Facts) naming(s *knowledge.Signature, at *worker.At, text string) *Naming {
	n := &Naming{Sign: s.ID, By: NoRank, On: f.NodeOf(*at), At: at}
	if r, ok := f.RankOf(*at); ok {
		n.By = r
	}
	w := n.read(s, f.Known.Fields(s.ID, []byte(text)), func(o knowledge.Whose) bool { return tells(s, o) })
	if n.Name = cmp.Or(w.words(), w.thing); n.Name == "" {
		return nil
	}
	if n.leadsTo(f.place(n, w)); w.words() == "" {
		n.Thing, n.Why = true, w.thing+" writes no log of its own"
	}
	if len(n.Ranks) == 1 && n.Ranks[0] == n.By {
		return nil
	}
	return n
}

// tells says that a line which names somebody so tells of another's end: it blames somebody beside its writer, or it is no cause by itself
// and says who failed.
func tells(s *knowledge.Signature, o knowledge.Whose) bool {
	return o.Blames() || o == knowledge.Culprit && s.Role != knowledge.CauseRole
}

// read takes from a line's captures what names somebody of whom the line says such a thing.
func (n *Naming) read(s *knowledge.Signature, fields map[string]string, such func(knowledge.Whose) bool) *whom {
	w := &whom{}
	for _, name := range s.Names {
		v := fields[name.Capture]
		if v == "" || !such(name.Whose) {
			continue
		}
		n.Whose = name.Whose
		switch name.Kind {
		case knowledge.AsGroup:
			w.group = v
		case knowledge.AsGroupSize:
			w.size, _ = strconv.Atoi(v)
		case knowledge.AsHost, knowledge.AsAddress, knowledge.AsAgent:
			w.hosts = append(w.hosts, hostsIn(name.Kind, v)...)
		case knowledge.AsServer, knowledge.AsGPU, knowledge.AsDevice, knowledge.AsPath:
			w.thing = cmp.Or(w.thing, nouns[name.Kind]+" "+begin(v, mostThing))
		case knowledge.AsReason:
		default:
			if numbers := numbersIn(v); len(numbers) > 0 && (w.kind == 0 || name.Kind < w.kind) {
				w.kind, w.numbers = name.Kind, numbers
			}
		}
	}
	return w
}

// own gives a failure the rank and the node that its own words state: of whom they say that it failed, whoever writes them, else of
// their writer, where nothing else tells that. Where a name leads to nobody the trail says why.
func (fl *Failure) own(f *Facts, text string) {
	s := fl.Entry()
	if !s.Keeps() {
		return
	}
	fields, n := f.Known.Fields(s.ID, []byte(text)), &Naming{On: fl.Node, At: fl.At}
	is := func(whose knowledge.Whose) func(knowledge.Whose) bool {
		return func(o knowledge.Whose) bool { return o == whose }
	}
	w := n.read(s, fields, is(knowledge.Culprit))
	accused := w.words() != "" && s.Role != knowledge.ConsequenceRole // what launchers say of a process that ended is told of them, see exits
	if !accused {
		w = n.read(s, fields, is(knowledge.Writer))
	}
	words := w.words()
	if words == "" {
		return
	}
	if n.leadsTo(f.place(n, w)) {
		fl.belongs(f, n, accused)
		return
	}
	if accused && len(w.numbers) <= 1 { // a list of members of some group leads nowhere
		fl.Unplaced = words
	}
	if ours := slices.DeleteFunc(slices.Clone(w.hosts), f.Foreign); accused && len(w.hosts) > 0 && len(ours) == 0 { // nor is it who writes of them
		fl.Unplaced, fl.Rank, fl.Proc, fl.Node = words+NotOfTheJob, NoRank, nil, ""
	}
	m := fl.Meaning()
	fl.Trail = append(fl.Trail, Change{m, m, words + " can't be assigned to a rank: " + n.Why, fl.At.Pos})
}

// belongs makes a failure that of one rank, or of one node. Who is accused takes the place of who writes.
func (fl *Failure) belongs(f *Facts, n *Naming, accused bool) {
	node := ""
	if len(n.Nodes) == 1 {
		node = n.Nodes[0]
	}
	switch {
	case len(n.Ranks) == 1 && (accused || fl.Rank == NoRank || fl.Rank == n.Ranks[0]):
		r := f.rank(n.Ranks[0], "its own error")
		if r.Node == "" && node != "" {
			r.Node = node
		}
		if accused && fl.Rank != r.ID {
			fl.Node = "" // of who writes
		}
		fl.Rank, fl.Proc, fl.Node = r.ID, r, cmp.Or(node, r.Node, fl.Node)
	case len(n.Ranks) == 0 && node != "" && (accused || fl.Node == ""):
		if fl.Proc != nil && fl.Proc.Node != node {
			fl.Rank, fl.Proc = NoRank, nil // it writes of another node
		}
		fl.Node = node
	}
}

// nouns are what numbers of a kind count.
var nouns = map[knowledge.NameKind]string{knowledge.AsRank: "rank", knowledge.AsGroupRank: "member", knowledge.AsMPIRank: "MPI rank", knowledge.AsTask: "task",
	knowledge.AsProcessIndex: "process", knowledge.AsNodeIndex: "node number", knowledge.AsPID: "process ID",
	knowledge.AsServer: "server", knowledge.AsGPU: "GPU", knowledge.AsDevice: "device", knowledge.AsPath: "file"}

// mostThing bounds what a line calls a device or a file.
const mostThing = 120

// begin is the first bytes of a text, whole letters.
func begin(text string, most int) string { return strings.ToValidUTF8(text[:min(len(text), most)], "") }

// words say whom the line names as it does.
func (w *whom) words() string {
	hosts := strings.Join(w.hosts, ", ")
	switch w.kind {
	case 0:
		return hosts
	case knowledge.AsGroupRank:
		return counted(nouns[w.kind], w.numbers) + " of " + cmp.Or(w.group, "a process group")
	case knowledge.AsPID:
		if hosts != "" {
			return fmt.Sprintf("process %d on %s", w.numbers[0], hosts)
		}
	}
	return counted(nouns[w.kind], w.numbers)
}

// placed is where a name leads: to ranks, nodes and files, and why not where it leads to no rank.
type placed struct {
	ranks []int
	nodes []string
	files []string
	why   string
}

// leadsTo takes what a name was resolved to, and tells whether that is anybody.
func (n *Naming) leadsTo(p placed) bool {
	n.Ranks, n.Nodes, n.Files, n.Why = p.ranks, p.nodes, p.files, p.why
	return len(p.ranks)+len(p.nodes) > 0
}

// place resolves the name in a line to ranks and nodes, or says why it cannot.
func (f *Facts) place(n *Naming, w *whom) (p placed) {
	for _, h := range w.hosts {
		if node, why := f.nodeNamed(h); node != "" {
			p.nodes = appendUnique(p.nodes, node)
		} else {
			p.why = why
		}
	}
	if w.kind == knowledge.AsTask {
		for _, t := range w.numbers {
			p.nodes = appendUnique(p.nodes, nonEmpty(f.ident.taskNode[t])...)
		}
	}
	ranks, why, ok := f.ranksOf(n, w, p.nodes)
	if p.ranks = ranks; !ok || w.kind == knowledge.AsPID {
		p.why = why
	}
	for _, id := range p.ranks {
		if r := f.byRank[id]; r != nil {
			p.files = appendUnique(p.files, r.Files...)
			p.nodes = appendUnique(p.nodes, nonEmpty(r.Node)...)
		} else {
			p.nodes = appendUnique(p.nodes, nonEmpty(f.ident.rankNode[id])...)
		}
	}
	if len(p.ranks) == 0 {
		for file, node := range f.ident.fileNode {
			if slices.Contains(p.nodes, node) {
				p.files = appendUnique(p.files, file)
			}
		}
	}
	slices.Sort(p.nodes)
	slices.Sort(p.files)
	return p
}

// ranksOf are the global ranks that a line's numbers stand for; ok is false where there is a reason that they stand for none. The nodes are those
// that it names beside them.
func (f *Facts) ranksOf(n *Naming, w *whom, nodes []string) (ranks []int, why string, ok bool) {
	switch w.kind {
	case knowledge.AsRank:
		return f.globalRanks(w.numbers, "")
	case knowledge.AsMPIRank:
		if launchersReport(f.Obs) {
			return nil, "mpirun started launchers and counts those", false
		}
		return f.globalRanks(w.numbers, "no line maps MPI ranks to the job's ranks")
	case knowledge.AsGroupRank:
		return f.member(w)
	case knowledge.AsProcessIndex:
		return f.globalRanks(w.numbers, "no line maps the coordinator's processes to the job's ranks")
	case knowledge.AsTask:
		if !f.taskIsRank() {
			return nil, "no table maps tasks to ranks", false
		}
		return f.globalRanks(w.numbers, "")
	case knowledge.AsPID:
		on := n.On
		if len(nodes) == 1 {
			on = nodes[0]
		}
		return f.process(w.numbers, on, n.At.File)
	case knowledge.AsNodeIndex:
		return nil, "there is no ordered list of the job's nodes", false
	}
	return nil, "it names a node but no rank", len(nodes) == 0
}

// globalRanks takes numbers for global ranks. Without a reason to doubt it any number of the world is one; with one, only where the job's
// size, or a line of that rank, shows that its processes are counted so.
func (f *Facts) globalRanks(numbers []int, doubt string) (ranks []int, why string, ok bool) {
	for _, id := range numbers {
		switch {
		case f.Job.WorldSize > 0 && id >= f.Job.WorldSize:
			return nil, fmt.Sprintf("the job has only %d ranks", f.Job.WorldSize), false
		case doubt != "" && f.byRank[id] == nil && f.Job.WorldSize == 0:
			return nil, doubt, false
		}
	}
	return slices.Clone(numbers), "", true
}

// member turns ranks of a process group into global ones, by the members that something lists.
func (f *Facts) member(w *whom) (ranks []int, why string, ok bool) {
	if w.size > 0 && w.size == f.Job.WorldSize {
		return f.globalRanks(w.numbers, "")
	}
	i := slices.IndexFunc(f.Groups, func(g *Group) bool {
		return w.group != "" && (g.GUID == w.group || g.Desc == w.group || g.Key == w.group)
	})
	if i < 0 || !f.Groups[i].Complete() {
		return nil, "its number is a group rank, and no line lists the group's members", false
	}
	for _, m := range w.numbers {
		if m < len(f.Groups[i].Members) {
			ranks = append(ranks, f.Groups[i].Members[m])
		}
	}
	return ranks, "", true
}

// process finds the ranks of processes by their numbers, on the node that stands beside them or on the writer's, or as the writer's file
// counts them.
func (f *Facts) process(pids []int, on, file string) (ranks []int, why string, ok bool) {
	for _, pid := range pids {
		id, ok := f.ident.pid[fileInt{"host:" + on, pid}]
		if !ok || on == "" {
			id, ok = f.ident.pid[fileInt{file, pid}]
		}
		for _, r := range f.Ranks {
			if !ok && on != "" && r.Node == on && r.Pids[pid] {
				id, ok = r.ID, true
			}
		}
		if ok && id >= 0 {
			ranks = append(ranks, id)
		}
	}
	if len(ranks) == 0 {
		return nil, "no line maps this process ID to a rank", false
	}
	return ranks, "", true
}

// nodeNamed is the node that a host name or an address is of.
func (f *Facts) nodeNamed(name string) (node, why string) {
	if _, err := netip.ParseAddr(name); err == nil {
		switch {
		case f.NCCL.Known(name):
			return f.NCCL.Host(name), ""
		case f.knowsNode(name):
			return name, ""
		}
		return "", "no line maps the address " + name + " to a node"
	}
	host := ShortHost(name)
	if host == "" {
		return "", name + " is not a node name"
	}
	if i := strings.LastIndexByte(host, '-'); i > 0 && !f.knowsNode(host) && f.knowsNode(host[:i]) {
		return host[:i], "" // the name of its network card: n12-ib
	}
	if f.Foreign(host) && !f.knowsNode(host) {
		return "", host + " is not one of the job's nodes"
	}
	return host, ""
}

// NotOfTheJob follows the name of a host that is at fault by what a line says, and no node of the job.
const NotOfTheJob = " (not one of the job's nodes)"

// Foreign tells whether a host is no node of the job: those are stated, and it is not among them. An address may be any of them, and where the
// logs know nodes and call none as that statement does, the two have names of their own.
func (f *Facts) Foreign(host string) bool {
	_, notAddress := netip.ParseAddr(host)
	if len(f.nodes) == 0 || f.nodes[ShortHost(host)] || notAddress == nil {
		return false
	}
	known := f.ident.allNodes()
	return f.nodesTyped && len(known) == 0 || slices.ContainsFunc(known, func(n string) bool { return f.nodes[n] })
}

// knowsNode says that anything else is of this node.
func (f *Facts) knowsNode(node string) bool {
	if slices.ContainsFunc(f.Ranks, func(r *Rank) bool { return r.Node == node }) || slices.ContainsFunc(f.Anonymous, func(r *Rank) bool { return r.Node == node }) {
		return true
	}
	return slices.Contains(f.ident.allNodes(), node)
}

// allNodes are the nodes that lines and names of files tie to a rank, a task or a file.
func (id *identity) allNodes() []string {
	return slices.Concat(slices.Collect(maps.Values(id.taskNode)), slices.Collect(maps.Values(id.rankNode)), slices.Collect(maps.Values(id.fileNode)))
}

// hostsIn are the hosts that a capture lists, without ports and without what torchrun adds to its launchers' names.
func hostsIn(kind knowledge.NameKind, v string) []string {
	var out []string
	list := []string{v}
	if kind != knowledge.AsAddress {
		list = strings.FieldsFunc(v, func(r rune) bool { return r == '\'' || r == ' ' })
		if all, err := hostlist.Expand(v); err == nil && len(all) > 0 && kind == knowledge.AsHost {
			list = all
		}
	}
	for _, h := range list {
		h = strings.Trim(h, ", ")
		if kind == knowledge.AsAgent { // <host>_<pid>_<number>
			parts := strings.Split(h, "_")
			if len(parts) < 3 {
				continue
			}
			h = strings.Join(parts[:len(parts)-2], "_")
		}
		h, _, _ = strings.Cut(h, "<")
		if a, err := netip.ParseAddrPort(h); err == nil {
			h = a.Addr().String()
		} else if i := strings.IndexByte(h, ':'); i > 0 && strings.Count(h, ":") == 1 {
			h = h[:i]
		}
		h = strings.TrimPrefix(strings.Trim(h, "[]"), mapped)
		if hostChars(h) && h != "localhost" && !strings.HasPrefix(h, "127.") && h != "::1" {
			out = appendUnique(out, h)
		}
	}
	return out
}

// hostChars says that nothing but what names and addresses of hosts are made of stands there.
func hostChars(h string) bool {
	return h != "" && len(h) <= 253 && !strings.ContainsFunc(h, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._:-%", r))
	})
}

// mostNumbers bounds a list of ranks or tasks in a line.
const mostNumbers = 1 << 16

// numbersIn reads "4", "3, 7", "0-3,5", "[0-3]"; nil where anything else stands there.
func numbersIn(v string) []int {
	var out []int
	for part := range strings.FieldsFuncSeq(strings.Trim(v, "[]"), func(r rune) bool { return r == ',' || r == ' ' }) {
		lo, hi, isRange := strings.Cut(part, "-")
		a, err := strconv.Atoi(lo)
		b := a
		if err == nil && isRange {
			b, err = strconv.Atoi(hi)
		}
		if err != nil || a < 0 || b < a || b-a >= mostNumbers-len(out) {
			return nil
		}
		for i := a; i <= b; i++ {
			out = append(out, i)
		}
	}
	return out
}

func taskWords(tasks []int) string { return counted("task", tasks) }

// counted is "task 4", "tasks 4-7", "tasks 1, 3".
func counted(noun string, list []int) string {
	if len(list) == 1 {
		return fmt.Sprintf("%s %d", noun, list[0])
	}
	sorted := slices.Sorted(slices.Values(list))
	plural := cmp.Or(map[string]string{"process": "processes"}[noun], noun+"s")
	if n := len(sorted); sorted[n-1]-sorted[0] == n-1 {
		return fmt.Sprintf("%s %d-%d", plural, sorted[0], sorted[n-1])
	}
	return plural + " " + strings.Trim(strings.ReplaceAll(fmt.Sprint(sorted[:min(len(sorted), 8)]), " ", ", "), "[]")
}

func nonEmpty(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func appendUnique(list []string, more ...string) []string {
	for _, s := range more {
		if !slices.Contains(list, s) {
			list = append(list, s)
		}
	}
	return list
}
