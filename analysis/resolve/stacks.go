package resolve

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/stacks"
	"faultline/analysis/ascii"
	"faultline/analysis/filename"
	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// StackFile is a file with stacks of processes.
type StackFile struct {
	Name   string
	Stacks *stacks.File
}

// Stood is where a process stood when somebody looked: by its last dump, if there are several.
type Stood struct {
	*stacks.Stack
	File string
	Rank int // NoRank where nothing proves it
	Node string
	// Dumps is how many there are of it. Moved is true where two of them differ.
	Dumps int
	Moved bool
	// Kernel is where it stood in the kernel; nil where nobody looked.
	Kernel *KernelStack
	// Stale is true where steps are reported below it in its own file: it tells of an earlier time.
	Stale bool
}

// KernelStack is where a process stood in the kernel.
type KernelStack struct {
	*stacks.Stack
	File string
}

// ListedState is a process in a list.
type ListedState struct {
	*stacks.State
	File, Node string
}

// Spot is where a fact of a stack stands.
func Spot(file string, at stacks.At) worker.At {
	return worker.At{Pos: worker.Pos{File: file, Line: at.No, Off: at.Off, Len: at.Len}, By: &at.Who}
}

// Place is where it stood: in the kernel's storage if the kernel says so, else by its own frames.
func (s *Stood) Place() stacks.Place {
	switch {
	case s.Kernel != nil && s.Kernel.Place == stacks.Storage:
		return stacks.Storage
	case s.Tool == stacks.Kernel && s.Stack.Place != stacks.Storage:
		return stacks.Nowhere // waiting on a futex or a socket tells nothing
	}
	return s.Stack.Place
}

// Describe names the process: "rank 3", or by its pid.
func (s *Stood) Describe() string {
	var b strings.Builder
	switch {
	case s.Rank != NoRank:
		fmt.Fprintf(&b, "rank %d", s.Rank)
	case s.PID > 0:
		fmt.Fprintf(&b, "process %d", s.PID)
	default:
		fmt.Fprintf(&b, "the process in %s:%d", s.File, s.At.No)
	}
	if s.Node != "" {
		b.WriteString(" on " + s.Node)
	}
	return b.String()
}

// stoodOf ties the stacks to ranks and nodes. A rank is tied by what a header above the stack says, by labels in front of its lines, by
// the name of a file that holds no other trainer, by its pid where the logs tie that to a rank, or by its local rank on a known node.
func stoodOf(f *Facts, files []StackFile, warn *notes) ([]*Stood, []*ListedState) {
	if len(files) == 0 {
		return nil, nil
	}
	names := make([]string, len(files))
	for i := range files {
		names[i] = files[i].Name
	}
	j := stackJoin{f: f, parsed: filename.Parse(names), pids: map[fileInt]int{}, local: map[fileInt]int{}, hosts: f.hosts()}
	j.learn()
	var all, kernel []*Stood
	var listed []*ListedState
	for i := range files {
		file := &files[i]
		trainers := map[string]bool{}
		for k := range file.Stacks.Stacks {
			if s := (&Stood{Stack: &file.Stacks.Stacks[k], File: file.Name, Rank: NoRank}); s.Kind == stacks.Trainer {
				trainers[s.process()] = true
			}
		}
		for k := range file.Stacks.Stacks {
			s := &Stood{Stack: &file.Stacks.Stacks[k], File: file.Name, Rank: NoRank, Dumps: 1}
			s.Node = j.node(s)
			j.rank(s, len(trainers) == 1)
			if _, below := f.StepsAround(Spot(s.File, s.At)); below > 0 {
				s.Stale = true
			}
			if s.Tool == stacks.Kernel {
				kernel = append(kernel, s)
			} else {
				all = append(all, s)
			}
		}
		for k := range file.Stacks.States {
			s := &file.Stacks.States[k]
			listed = append(listed, &ListedState{State: s, File: file.Name, Node: j.host(file.Name, s.Host, s.At)})
		}
		if n := file.Stacks.Left; n > 0 {
			warn.add("%s contains stacks of too many processes: %d left out", file.Name, n)
		}
	}
	all = once(all)
	options(all)
	claims(all, warn)
	return overlay(latest(all), kernel), listed
}

// stackJoin ties stacks to ranks and nodes.
type stackJoin struct {
	f      *Facts
	parsed map[string]filename.Name
	pids   map[fileInt]int // ("host:…" or "", pid) → rank
	local  map[fileInt]int // (node, local rank) → rank
	hosts  []string
}

// hosts are the nodes that the job's logs name, longest first.
func (f *Facts) hosts() []string {
	var out []string
	for _, n := range slices.Concat(f.Coverage.NodesExpected, f.Coverage.NodesSeen) {
		out = append(out, ShortHost(n))
	}
	for _, n := range f.ident.taskNode {
		out = append(out, n)
	}
	for _, n := range f.ident.rankNode {
		out = append(out, n)
	}
	slices.SortFunc(out, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	out = slices.Compact(out)
	return slices.DeleteFunc(out, func(h string) bool { return len(h) < 3 })
}

func (j *stackJoin) learn() {
	for k, r := range j.f.ident.pid {
		if strings.HasPrefix(k.file, "host:") && r >= 0 {
			put(j.pids, k, r)
		}
	}
	for _, r := range j.f.Ranks {
		if r.ID == NoRank {
			continue
		}
		for pid := range r.Pids {
			put(j.pids, fileInt{"", pid}, r.ID)
			if r.Node != "" {
				put(j.pids, fileInt{"host:" + r.Node, pid}, r.ID)
			}
		}
		if r.Node != "" && r.Local >= 0 {
			put(j.local, fileInt{r.Node, r.Local}, r.ID)
		}
	}
}

func (j *stackJoin) node(s *Stood) string { return j.host(s.File, s.Host, s.At) }

// host is the node that a header, a label or the file's name states.
func (j *stackJoin) host(file, stated string, at stacks.At) string {
	if h := ShortHost(stated); h != "" {
		return h
	}
	if h := j.f.ident.hostOf(Spot(file, at)); h != "" {
		return h
	}
	if n, ok := j.parsed[file]; ok && n.Host != "" {
		return ShortHost(n.Host)
	}
	low := strings.ToLower(file)
	for _, h := range j.hosts {
		if isWord(low, h) {
			return h
		}
	}
	return ""
}

// isWord says that a text holds a word between bytes that are neither letters nor digits.
func isWord(text, word string) bool {
	plain := func(i int) bool {
		if i < 0 || i >= len(text) {
			return true
		}
		c := text[i]
		return !ascii.Digit(c) && !ascii.Lower(c)
	}
	for from := 0; ; {
		i := strings.Index(text[from:], word)
		if i < 0 {
			return false
		}
		if i += from; plain(i-1) && plain(i+len(word)) {
			return true
		}
		from = i + 1
	}
}

func (j *stackJoin) rank(s *Stood, alone bool) {
	set := func(rank int) {
		if world := j.f.Job.WorldSize; rank >= 0 && (world == 0 || rank < world) {
			s.Rank = rank
			if r := j.f.Rank(rank); s.Node == "" && r != nil {
				s.Node = r.Node
			}
		}
	}
	if s.Kind != stacks.Trainer {
		return // of a rank, but not it
	}
	if s.Stack.Rank != line.Unknown {
		set(s.Stack.Rank)
		return
	}
	at := Spot(s.File, s.At)
	if r, basis, ok := j.f.ident.rankOf(at); ok && (basis != "file name" || alone) {
		set(r)
		return
	}
	if n, ok := j.parsed[s.File]; ok && n.Rank >= 0 && alone {
		set(n.Rank)
		return
	}
	if s.PID > 0 {
		key := fileInt{"", s.PID}
		if s.Node != "" {
			key.file = "host:" + s.Node
		}
		if r, ok := j.pids[key]; ok && r >= 0 {
			set(r)
			return
		}
	}
	if s.Local != line.Unknown && s.Node != "" {
		if r, ok := j.local[fileInt{s.Node, s.Local}]; ok && r >= 0 {
			set(r)
		}
	}
}

// options reads "--rank N" of commands as the rank where every trainer has one, and each another.
func options(all []*Stood) {
	seen := map[int]int{}
	for _, s := range all {
		if s.Kind != stacks.Trainer {
			continue
		}
		if s.Rank != NoRank || s.Option == line.Unknown || s.PID == 0 {
			return
		}
		if pid, ok := seen[s.Option]; ok && pid != s.PID {
			return
		}
		seen[s.Option] = s.PID
	}
	if len(seen) < 2 {
		return
	}
	for _, s := range all {
		if s.Kind == stacks.Trainer {
			s.Rank = s.Option
		}
	}
}

// claims takes ranks back that two processes claim: then one of the headers or names is not what it seems.
func claims(all []*Stood, warn *notes) {
	pids := map[int]int{}
	twice := map[int]bool{}
	for _, s := range all {
		if s.Rank == NoRank || s.PID == 0 {
			continue
		}
		if pid, ok := pids[s.Rank]; ok && pid != s.PID {
			twice[s.Rank] = true
		}
		pids[s.Rank] = s.PID
	}
	for _, s := range all {
		if twice[s.Rank] && s.Rank != NoRank {
			s.Rank = NoRank
		}
	}
	if len(twice) > 0 {
		warn.add("the stacks of %s claim the same rank as another process's, so they are assigned to no rank", countOf(len(twice), "rank"))
	}
}

// once leaves out what is handed in twice: the same dump at the same place of a copy of its file.
func once(all []*Stood) []*Stood {
	type dump struct {
		tool      stacks.Tool
		pid       int
		thread    string
		same      uint64
		off       int64
		named, no int
	}
	seen := map[dump]string{}
	return slices.DeleteFunc(all, func(s *Stood) bool {
		k := dump{s.Tool, s.PID, s.Thread.ID, s.Same, s.At.Off, s.Named, s.Threads}
		file, twice := seen[k]
		if !twice {
			seen[k] = s.File
		}
		return twice && file != s.File && cmp.Or(s.PID, len(s.Thread.ID)) > 2 && base(file) == base(s.File)
	})
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// process tells processes apart.
func (s *Stood) process() string {
	switch {
	case s.Rank != NoRank:
		return fmt.Sprintf("rank %d", s.Rank)
	case s.PID > 0 && s.Node != "":
		return fmt.Sprintf("%s %d", s.Node, s.PID)
	case s.PID > 0 && s.At.Who.Task != line.Unknown:
		return fmt.Sprintf("task %d %d", s.At.Who.Task, s.PID)
	case s.PID > 0:
		return fmt.Sprintf("%s %d", s.File, s.PID)
	case s.Tool == stacks.FaultHandler: // which states no pid; the address of its main thread stays
		return fmt.Sprintf("%s %s", s.File, s.Thread.ID)
	}
	return fmt.Sprintf("%s:%d", s.File, s.At.Off)
}

// latest keeps the last dump of each process, and whether those before were the same.
func latest(all []*Stood) []*Stood {
	last := map[string]*Stood{}
	var order []string
	for _, s := range all {
		if s.Kind == stacks.LoaderWorker || s.Kind == stacks.Launcher || s.Kind == stacks.Helper {
			s.Rank = NoRank
		}
		key := string(s.Kind) + " " + s.process()
		old := last[key]
		if old == nil {
			order = append(order, key)
			last[key] = s
			continue
		}
		if old.Tool != s.Tool && (old.Place() == stacks.Nowhere || s.Place() == stacks.Nowhere) {
			if s.Place() != stacks.Nowhere { // gdb without symbols, beside a tool that knows Python
				last[key] = s
			}
			continue
		}
		s.Dumps += old.Dumps
		s.Moved = old.Moved || old.Same != s.Same && old.Tool == s.Tool || old.Place() != s.Place()
		last[key] = s
	}
	out := make([]*Stood, len(order))
	for i, key := range order {
		out[i] = last[key]
	}
	slices.SortStableFunc(out, func(a, b *Stood) int {
		return cmp.Or(cmp.Compare(uint(a.Rank), uint(b.Rank)), cmp.Compare(a.Node, b.Node), cmp.Compare(a.PID, b.PID), cmp.Compare(a.Same, b.Same), cmp.Compare(a.File, b.File), cmp.Compare(a.At.Off, b.At.Off))
	})
	return out
}

// overlay adds what the kernel says of the same processes. A process of which nothing else is known stands by
// itself.
func overlay(stood, kernel []*Stood) []*Stood {
	type key struct {
		node string
		pid  int
	}
	by := map[key][]*Stood{}
	for _, s := range stood {
		if s.PID > 0 {
			by[key{s.Node, s.PID}] = append(by[key{s.Node, s.PID}], s)
			if s.Node != "" {
				by[key{"", s.PID}] = append(by[key{"", s.PID}], s)
			}
		}
	}
	find := func(node string, pid int) *Stood {
		m := by[key{node, pid}]
		if len(m) == 0 {
			m = by[key{"", pid}] // of any node: it must be the only one, and say nothing of another
		}
		if len(m) == 1 && (m[0].Node == "" || node == "" || m[0].Node == node) {
			return m[0]
		}
		return nil
	}
	for _, k := range kernel {
		if s := find(k.Node, k.PID); s != nil {
			s.Kernel = &KernelStack{k.Stack, k.File}
			continue
		}
		stood = append(stood, k)
	}
	return stood
}
