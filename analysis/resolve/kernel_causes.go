package resolve

import (
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/analysis/worker"
	"faultline/knowledge"
)

// candidate is what an event would be the cause of.
type candidate struct {
	e          *KernelEvent
	mechanism  knowledge.Slug
	text       string
	direct     bool
	program    bool // it tells of a fault of the program, mostly
	contained  bool // it ends one process only, and matters where that is one of this job
	faded      bool // it ends nothing by itself
	gpu        bool // it is about a GPU
	undateable bool // its time is that of a look at the state, not of the event
	nameless   bool // nothing ties its node to the job
}

// Modules and functions of the kernel that a process waits in for storage.
var storageModules = []string{"mmfs", "mmfslinux", "nfs", "nfsv4", "nfsv3", "sunrpc", "rpc_wait", "lustre", "lov", "osc", "ptlrpc", "obdclass", "mdc", "llite", "lmv", "ceph", "libceph", "cifs", "fuse", "beegfs", "wekafs", "wekafsio",
	"gpfs", "io_schedule", "wait_on_page", "jbd2", "xfs", "ext4", "orangefs", "daos"}

// trainers are names that processes of training have. A data loader's worker is named by PyTorch from 2.3 on.
var trainers = []string{"python", "pt_", "torchrun", "ray::", "deepspeed", "accelerate"}

func trains(name string) bool {
	return slices.ContainsFunc(trainers, func(p string) bool { return strings.HasPrefix(name, p) })
}

// onStorage is the first word of a call trace that is of storage, "" none.
func onStorage(stack []string) string {
	for _, s := range stack {
		for _, m := range storageModules {
			if s == m || strings.HasPrefix(s, m+"_") || strings.HasPrefix(s, m) && len(s) <= len(m)+2 {
				return s
			}
		}
	}
	return ""
}

// candidateOf says what an event could be the cause of, by itself.
func (g *gpus) candidateOf(e *KernelEvent, t *trouble) (candidate, bool) {
	c := candidate{e: e, direct: true}
	onGPU := ""
	if e.PCI != "" {
		onGPU = " on GPU " + e.PCI
	}
	switch e.Kind {
	case kernel.Xid:
		return g.xid(c, onGPU, t.hang)
	case kernel.SXid:
		return switchError(c)
	case kernel.OffBus:
		return offBus(c, onGPU)
	case kernel.AER:
		return busError(c, onGPU)
	case kernel.AMDGPU:
		return g.amdgpu(c, onGPU)
	case kernel.OOM:
		return g.outOfMemory(c)
	case kernel.HungTask:
		return hungTask(c)
	case kernel.Link:
		return linkDown(c)
	case kernel.Disk:
		return g.diskFailed(c)
	}
	return c, false
}

func (g *gpus) xid(c candidate, onGPU string, hang bool) (candidate, bool) {
	e := c.e
	x, ok := knowledge.XidByNumber(e.Number)
	if !ok || x.Mechanism == "" || x.Fault == knowledge.FaultEcho || x.Fault == knowledge.FaultNobody {
		return c, false
	}
	if x.Role != knowledge.CauseRole && !g.endedJob(e) {
		return c, false
	}
	c.mechanism, c.text, c.gpu = x.Mechanism, fmt.Sprintf("Xid %d%s: %s", e.Number, onGPU, x.Name), true
	c.program, c.contained, c.faded = x.Fault == knowledge.FaultProgram, x.Harm == knowledge.HarmProcess, x.Harm == knowledge.HarmNothing
	c.direct = !c.program && !c.faded
	stopped := e.Number == 8 || e.Number == 109 // the GPU, or a context switch, stopped processing
	if stopped && hang && !g.cudaFailure("") {
		c.mechanism = knowledge.GPUHang
	}
	return c, true
}

// endedJob says that an error of the fifth NVLink, which may be no cause by its number, was one: it was fatal, or the driver ended
// processes because of it.
func (g *gpus) endedJob(e *KernelEvent) bool {
	nvlink5 := e.Number >= 144 && e.Number <= 150
	return nvlink5 && (e.Fatal || g.endedBy(e))
}

func switchError(c candidate) (candidate, bool) {
	name := "an NVSwitch error"
	if x, ok := knowledge.SXidByNumber(c.e.Number); ok {
		name = x.Name
	}
	c.mechanism, c.text, c.gpu = knowledge.GPUNVLink, fmt.Sprintf("fatal SXid %d on switch %s: %s", c.e.Number, c.e.PCI, name), true
	return c, c.e.Fatal
}

func offBus(c candidate, onGPU string) (candidate, bool) {
	which := strings.Replace(onGPU, " on GPU", ":", 1)
	c.mechanism, c.text, c.gpu = knowledge.GPUOffBus, "a GPU has fallen off the bus"+which, true
	if c.e.Name == kernel.NotStarted {
		c.text, c.direct = "the driver couldn't initialize a GPU"+which, false
	}
	return c, true
}

// busError is of no known device where its rank is not known.
func busError(c candidate, onGPU string) (candidate, bool) {
	c.mechanism, c.text, c.gpu, c.direct = knowledge.GPUOffBus, "an uncorrected bus error"+onGPU, true, false
	return c, c.e.Fatal && c.e.Rank != NoRank
}

func (g *gpus) amdgpu(c candidate, onGPU string) (candidate, bool) {
	c.gpu = true
	switch c.e.Name {
	case "ring timeout", "reset", "reset failed":
		if g.damagedAbove(c.e) {
			c.e.Unused = "the driver reset the GPU because of the error above"
			return c, false
		}
		c.mechanism, c.text = knowledge.GPUHang, "the driver gave up on the GPU and reset it"+onGPU
	case "uncorrectable":
		c.mechanism, c.text = knowledge.GPUECC, "an uncorrectable hardware error"+onGPU
	case "lost":
		c.mechanism, c.text = knowledge.GPUOffBus, "the GPU is lost"+onGPU
	default:
		return c, false
	}
	return c, true
}

func (g *gpus) outOfMemory(c candidate) (candidate, bool) {
	e := c.e
	c.mechanism = knowledge.HostOOM
	c.text = fmt.Sprintf("the kernel killed process %d (%s): out of memory", e.Pid, e.Name)
	if e.Global {
		c.text += " on the whole node"
	} else if e.Cgroup != "" {
		c.text += " at the job's own limit"
	}
	return c, g.killedHere(e)
}

func hungTask(c candidate) (candidate, bool) {
	e, where := c.e, onStorage(c.e.Stack)
	c.mechanism, c.direct = knowledge.StorageUnresponsive, e.Rank != NoRank
	c.text = fmt.Sprintf("process %d (%s) was blocked in the kernel, waiting for storage (%s)", e.Pid, e.Name, where)
	return c, where != "" && (e.Rank != NoRank || trains(e.Name))
}

func linkDown(c candidate) (candidate, bool) {
	e := c.e
	c.mechanism, c.direct, c.text = knowledge.LinkError, false, e.Lost()
	return c, e.Down && strings.HasPrefix(e.Message, "mlx")
}

// diskFailed is of a disk of the machine: it matters where a process could not read or write.
func (g *gpus) diskFailed(c candidate) (candidate, bool) {
	c.mechanism, c.text = knowledge.StorageUnresponsive, "the kernel reports errors of the disk "+c.e.Name
	return c, g.jobless() || g.failedOn(c.e.Node, func(fl *Failure) bool {
		return fl.Mechanism.Is(knowledge.ReadsOrWrites) || fl.Says(knowledge.TurnedReadOnly)
	})
}

// failedOn says that a cause of this kind is known on a node, or on none that is known.
func (g *gpus) failedOn(node string, is func(fl *Failure) bool) bool {
	return slices.ContainsFunc(g.f.Failures, func(fl *Failure) bool {
		return fl.Role == knowledge.CauseRole && fl.Kind != KindKernel && (node == "" || fl.Node == "" || fl.Node == node) && is(fl)
	})
}

// jobless says that no log of a job is here: what tools print of GPUs may stand among the logs.
func (g *gpus) jobless() bool {
	return !slices.ContainsFunc(g.f.Tails, func(t worker.Tail) bool {
		return !slices.ContainsFunc(g.states, func(s *GPUState) bool { return s.File == t.File })
	})
}

// damagedAbove says that an error that cannot be corrected stands above a reset of the same GPU.
func (g *gpus) damagedAbove(e *KernelEvent) bool {
	return slices.ContainsFunc(g.events, func(o *KernelEvent) bool {
		return o.Kind == kernel.AMDGPU && o.Name == "uncorrectable" && o.PCI == e.PCI && o.Node == e.Node && o.At.File == e.At.File && o.At.Off <= e.At.Off
	})
}

// amongOthers says that the names of the job's logs hold names of nodes that are made as this one is, and not this one.
func (g *gpus) amongOthers(node string) bool {
	made := shapeOf(node)
	if len(g.nodes) > 0 || node == "" || made == node || strings.Trim(made, "#.-_") == "" {
		return false // what is known of the nodes is asked elsewhere
	}
	others, asked := g.apart[node]
	if asked {
		return others
	}
	if g.apart == nil {
		g.apart = map[string]bool{}
	}
	named := false
	for i := range g.f.Tails {
		file := g.f.Tails[i].File
		base := strings.ToLower(file[strings.LastIndexByte(file, '/')+1:])
		named = named || holdsWord(base, strings.ToLower(node))
		others = others || holdsWord(shapeOf(base), strings.ToLower(made))
	}
	g.apart[node] = others && !named
	return g.apart[node]
}

// shapeOf is a name with its numbers left out.
func shapeOf(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case !ascii.Digit(c):
			b.WriteByte(c)
		case i == 0 || !ascii.Digit(name[i-1]):
			b.WriteByte('#')
		}
	}
	return b.String()
}

// endedBy says that the driver ended processes on the same GPU because of this number.
func (g *gpus) endedBy(e *KernelEvent) bool {
	return slices.ContainsFunc(g.events, func(o *KernelEvent) bool {
		return o.Kind == kernel.Xid && o.Number == 45 && o.Previous == e.Number && o.PCI == e.PCI && o.Node == e.Node
	})
}

// killedHere says that a process that the kernel killed is of this job: by its cgroup, its number, or because a process of this job on that
// node ended so, or was lost to others.
func (g *gpus) killedHere(e *KernelEvent) bool {
	f := g.f
	if e.Rank != NoRank || e.Job != "" && e.Job == f.Job.ID {
		return true
	}
	if e.Alien || !trains(e.Name) {
		return false
	}
	for _, r := range f.byRank {
		if r.Exit != nil && (r.Exit.Code == -9 || r.Exit.Code == 137) && (r.Node == e.Node || r.Exit.Host == e.Node) && e.Node != "" {
			return true
		}
	}
	for i := range f.Obs.ChildExits { // of a process without a rank
		c := &f.Obs.ChildExits[i]
		if n := f.NodeOf(c.At); (c.ExitCode == -9 || c.ExitCode == 137) && (n == "" || n == e.Node) {
			return true
		}
	}
	for _, fl := range g.failures {
		if fl.Mechanism.Is(knowledge.Killed|knowledge.KilledChild) && (fl.Node == "" || fl.Node == e.Node) {
			return true
		}
		if fl.Kind == KindTask && fl.Node == e.Node && strings.Contains(fl.Text, "Killed") {
			return true
		}
	}
	return g.jobless() || f.lostPeers()[e.Node]
}

// cudaFailure says that some process reports an error of CUDA, on this node or none that is known; on any for "".
func (g *gpus) cudaFailure(node string) bool {
	for _, fl := range g.failures {
		here := node == "" || fl.Node == "" || fl.Node == node
		if here && fl.Kind != KindKernel && (fl.Mechanism.Is(knowledge.RaisesCUDA) || fl.Says(knowledge.TooFewGPUs)) {
			return true
		}
	}
	return false
}

// lacks says that some process was given no GPU, on this node or none that is known.
func (g *gpus) lacks(node string) bool {
	return slices.ContainsFunc(g.failures, func(fl *Failure) bool {
		return fl.Says(knowledge.WithoutGPU) && (fl.Node == "" || fl.Node == node)
	})
}

// fits says that what failed can have come of it.
func (g *gpus) fits(c *candidate, t *trouble) bool {
	f := g.f
	if g.jobless() {
		return true // nothing but such evidence is here
	}
	if !t.any {
		return false
	}
	if !c.gpu {
		return true
	}
	if t.hang || g.cudaFailure("") || len(f.Ends) > 0 {
		return true
	}
	for _, fl := range g.failures { // others lost it
		if fl.Role == knowledge.SymptomRole || fl.Mechanism.Is(knowledge.BySignal) {
			return true
		}
	}
	for _, r := range f.byRank {
		if r.Exit != nil && r.Exit.Code < 0 {
			return true
		}
	}
	return false
}

// causes decides which events are taken for the cause of the failure, and counts those among the failures.
func (g *gpus) causes(t *trouble) {
	var near, undated []*candidate
	for _, e := range g.events {
		c, ok := g.candidateOf(e, t)
		if ok {
			g.place(&c, t, &near, &undated)
		}
	}
	for _, s := range g.unreachable(t) {
		g.place(s, t, &near, &undated)
	}
	if len(near) == 0 && len(undated) > 0 {
		near = g.onlyOne(undated)
	}
	for _, c := range near {
		c.e.Cause = c.mechanism
		g.failures = append(g.failures, g.failure(c))
	}
	sortedKernel(g.events)
}

// place sorts a candidate by its time, or says why it is none.
func (g *gpus) place(c *candidate, t *trouble, near, undated *[]*candidate) {
	e := c.e
	switch {
	case e.Alien:
		e.Unused = "it belongs to another job"
	case e.Node != "" && len(g.nodes) > 0 && !g.nodes[e.Node]:
		e.Unused = "the node isn't known to belong to this job"
		if g.whole {
			e.Unused = "the node isn't one of this job's"
		}
	case g.amongOthers(e.Node):
		e.Unused = "the job's log names are for other nodes"
	case e.Kind == kernel.OffBus && e.Name == kernel.NotStarted && !g.jobless() && !g.lacks(e.Node):
		e.Unused = "no process lacked a GPU, so a GPU that failed to initialize wasn't in use"
	case !g.fits(c, t):
		e.Unused = "it explains no failure here"
		if !c.program && !c.contained && !c.faded && e.When != Before && e.When != Outlived {
			e.Could = c.mechanism
		}
	case e.When == Before:
		e.Unused = "it occurred long before the failure"
	case e.When == After:
		e.Unused = "it occurred after the failure was reported"
	case e.When == Outlived:
		e.Unused = "the job continued after it"
	case c.contained && !c.program && e.Rank == NoRank && !g.jobless() && !g.cudaFailure(e.Node):
		e.Unused = "the error was contained in one process, which isn't known to belong to this job"
	case c.faded && !g.jobless() && !g.cudaFailure(e.Node):
		e.Unused = "it doesn't kill any process"
	case e.When == Near:
		*near = append(*near, c)
	default:
		*undated = append(*undated, c)
	}
}

// onlyOne are candidates without a time: they count only where there is one mechanism on one node. Where several nodes say the same
// and nothing is known of a job, the mechanism stands and no node is named.
func (g *gpus) onlyOne(all []*candidate) []*candidate {
	slugs, nodes := map[knowledge.Slug]bool{}, map[string]bool{}
	for _, c := range all {
		if !(c.program && len(all) > 1) {
			slugs[c.mechanism] = true
		}
		nodes[c.e.Node] = true
	}
	if len(slugs) > 1 && atOnce(all) {
		slugs = map[knowledge.Slug]bool{all[0].mechanism: true} // one log tells of one accident: what stands first was first
	}
	alone := len(nodes) == 1 && g.onTheCulprits(all[0].e.Node)
	if len(slugs) != 1 || !alone && !g.jobless() {
		for _, c := range all {
			c.e.Unused = "can't relate its time to the failure's, and it isn't the only one"
		}
		return nil
	}
	for _, e := range g.events {
		nodes[e.Node] = true
	}
	for _, c := range all {
		c.direct, c.nameless = false, !alone || g.jobless() && len(nodes) > 1
	}
	return slices.DeleteFunc(all, func(c *candidate) bool { return !slugs[c.mechanism] })
}

// atOnce says that all stand in one log, of one boot, within a minute.
func atOnce(all []*candidate) bool {
	a, b := all[0].e, all[len(all)-1].e
	for _, c := range all {
		if c.e.At.File != a.At.File || c.e.Boot != a.Boot || c.e.Stamp.Kind != line.Uptime || c.undateable {
			return false
		}
	}
	return b.Stamp.Unix-a.Stamp.Unix <= wentOn
}

// onTheCulprits says that a node may be the one where the failure began: a process failed there, or none is known to have failed anywhere.
func (g *gpus) onTheCulprits(node string) bool {
	known := false
	for _, fl := range g.failures {
		if fl.Role == knowledge.CauseRole && fl.Node != "" && fl.Kind != KindKernel {
			known = true
			if fl.Node == node {
				return true
			}
		}
	}
	return !known
}

// failure is what a candidate makes of itself when it is taken for the cause.
func (g *gpus) failure(c *candidate) *Failure {
	e := c.e
	at := e.At
	fl := &Failure{known: g.f.Known, Rank: NoRank, Node: e.Node, Mechanism: c.mechanism, Role: knowledge.CauseRole, Direct: c.direct, Kind: KindKernel, At: &at, Text: c.text, Count: 1, Kernel: e}
	if c.nameless {
		fl.Node = ""
		return fl
	}
	if e.When == Near && !c.undateable {
		fl.T = e.T
	}
	id, basis := e.Rank, e.RankBasis
	if id == NoRank && c.mechanism.Is(knowledge.OneGPU) && c.mechanism.Is(knowledge.Hardware) {
		id, basis = g.onlyCUDA(e.Node), "the node's only process whose GPU failed"
	}
	if id != NoRank {
		fl.Rank, fl.Proc = id, g.f.rank(id, basis)
		if fl.Proc.Node == "" {
			fl.Proc.Node = e.Node
		}
	}
	return fl
}

// onlyCUDA is the one rank of a node that reports an error of CUDA where others of that node are seen that do not, or its launcher tells how
// it ended; NoRank where there is none.
func (g *gpus) onlyCUDA(node string) int {
	only := NoRank
	for _, fl := range g.failures {
		switch {
		case fl.Kind == KindKernel || !fl.Mechanism.Is(knowledge.OneGPU):
		case fl.Rank == NoRank && (fl.Node == "" || fl.Node == node), fl.Rank != NoRank && fl.Node == "":
			return NoRank // whoever that is
		case fl.Node != node || fl.Rank == only:
		case only != NoRank:
			return NoRank
		default:
			only = fl.Rank
		}
	}
	for _, r := range g.f.byRank {
		if only != NoRank && r.Node == node && (r.ID != only && r.Lines > 0 || r.ID == only && r.Exit != nil) {
			return only
		}
	}
	return NoRank
}
