package resolve

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"faultline/analysis/artifact/nccl"
	"faultline/analysis/artifact/ras"
	"faultline/analysis/line"
	"faultline/analysis/worker"
)

// NCCL is what NCCL's own lines say of a run, in files of their own or in the logs of the job.
type NCCL struct {
	Logs        []*nccl.Log
	World       *nccl.World
	Standings   []nccl.Standing
	Divergences []nccl.Divergence

	ranks map[*nccl.Proc]int
	hosts map[string]string // address → host, "" where several have it
}

const ncclBasis = "NCCL's communicator of all ranks"

// Rank is the global rank of a process, with ok false where nothing proves it.
func (n *NCCL) Rank(p *nccl.Proc) (int, bool) {
	id, ok := n.ranks[p]
	return id, ok
}

// Host is the node with an address, by what NCCL lists of its processes' interfaces; the address itself where none has it.
func (n *NCCL) Host(addr string) string {
	if n != nil {
		if h := cmp.Or(n.hosts[addr], n.hosts[strings.TrimPrefix(addr, mapped)]); h != "" {
			return h
		}
	}
	return ShortHost(addr)
}

// Known says that it is known which node has an address.
func (n *NCCL) Known(addr string) bool {
	return n != nil && (n.hosts[addr] != "" || n.hosts[strings.TrimPrefix(addr, mapped)] != "")
}

// Shared are the places of two lines in which different nodes state an address as their own; nil where only one does.
func (n *NCCL) Shared(addr string) []worker.At {
	if n == nil || addr == "" {
		return nil
	}
	if host, seen := n.hosts[addr]; !seen || host != "" {
		return nil
	}
	var out []worker.At
	last := ""
	for _, l := range n.Logs {
		for _, p := range l.Procs {
			for _, a := range p.Addrs {
				if host := ShortHost(p.Host); a.IP == addr && host != last && len(out) < 2 {
					out, last = append(out, ncclAt(l, p, a.At, nccl.Unknown)), host
				}
			}
		}
	}
	return out
}

// mapped begins a GID of RoCE that is an IPv4 address.
const mapped = "::ffff:"

// ncclOf takes what NCCL's logs say. It returns the observations with those of logs that are no logs of the job: the same lines in either
// give the same facts.
func ncclOf(in Input, obs *worker.Observations, runs int, warn *notes) (*NCCL, *worker.Observations) {
	own := map[string]bool{}
	for _, t := range obs.Tails {
		own[t.File] = true
	}
	var logs []*nccl.Log
	read := map[string]bool{}
	for _, l := range slices.Concat(in.Handed.NCCL, in.Spoken) {
		if !read[l.File] {
			read[l.File] = true
			logs = append(logs, l)
		}
	}
	if len(logs) == 0 {
		return nil, obs
	}
	slices.SortFunc(logs, func(a, b *nccl.Log) int { return cmp.Compare(a.File, b.File) })
	if runs > 1 {
		logs = ofThisRun(logs, obs, own)
		if len(logs) == 0 {
			warn.add("NCCL's lines are not used: can't tell which run they are from")
			return nil, obs
		}
	}
	if logs = ofOurComms(logs, spoke(obs), warn); len(logs) == 0 {
		return nil, obs
	}
	n := &NCCL{Logs: logs, World: nccl.Join(logs), hosts: addresses(logs)}
	n.Standings, n.Divergences = n.World.Standings(), n.World.Divergences()
	out := *obs
	for _, l := range logs {
		if own[l.File] {
			continue
		}
		for _, p := range l.Procs {
			for i := range p.Faults {
				fl := &p.Faults[i]
				w := worker.NCCLWarn{At: ncclAt(l, p, fl.At, fl.Dev), Text: fl.Text, Peer: fl.Peer}
				w.Signs = in.Obs.Known.Match(nil, []byte(strings.TrimSpace(fl.Source+" NCCL WARN "+fl.Text)))
				out.NCCLWarns = append(slices.Clip(out.NCCLWarns), w)
			}
			for _, c := range p.Comms {
				at := cmp.Or(c.Ready, c.Began)
				if c.Rank == nccl.Unknown || !at.Known() {
					continue
				}
				out.CommInits = append(slices.Clip(out.CommInits), worker.CommInit{At: ncclAt(l, p, at, c.Dev), BusID: c.Bus, Rank: c.Rank, NRanks: c.NRanks})
			}
		}
	}
	return n, &out
}

func ncclAt(l *nccl.Log, p *nccl.Proc, at nccl.At, dev int) worker.At {
	who := line.NoOne
	who.Host, who.Pid, who.CudaDev = p.Host, p.Pid, dev
	return worker.At{Pos: worker.Pos{File: l.File, Line: at.Line, Off: at.Off, Len: at.Len}, By: &who}
}

// ofThisRun keeps of logs that hold several runs the processes that a line of this run is of; what the job's logs do not know may be of
// any.
func ofThisRun(logs []*nccl.Log, obs *worker.Observations, own map[string]bool) []*nccl.Log {
	type proc struct {
		host string
		pid  int
	}
	here := map[proc]bool{}
	for i := range obs.CommInits {
		here[proc{obs.CommInits[i].Who().Host, obs.CommInits[i].Who().Pid}] = true
	}
	for i := range obs.NCCLWarns {
		here[proc{obs.NCCLWarns[i].Who().Host, obs.NCCLWarns[i].Who().Pid}] = true
	}
	var out []*nccl.Log
	for _, l := range logs {
		if !own[l.File] {
			continue
		}
		c := *l
		c.Procs = nil
		for _, p := range l.Procs {
			if here[proc{p.Host, p.Pid}] {
				c.Procs = append(c.Procs, p)
			}
		}
		if len(c.Procs) > 0 {
			out = append(out, &c)
		}
	}
	return out
}

// spoke are the files in which more than NCCL speaks of the job: steps, watchdogs, exceptions.
func spoke(obs *worker.Observations) map[string]bool {
	out := map[string]bool{}
	for i := range obs.States {
		out[obs.States[i].File] = true
	}
	for i := range obs.Progress {
		out[obs.Progress[i].File] = true
	}
	for i := range obs.Exceptions {
		out[obs.Exceptions[i].File] = true
	}
	return out
}

// ofOurComms leaves out logs of NCCL's own that are of another job or run: their processes are in a communicator as wide as the widest in
// the job's own logs, and it is another one.
func ofOurComms(logs []*nccl.Log, own map[string]bool, warn *notes) []*nccl.Log {
	width, ours := 1, map[string]bool{}
	each := func(l *nccl.Log, see func(*nccl.Comm)) {
		for _, p := range l.Procs {
			for _, c := range p.Comms {
				if c.ID != "" {
					see(c)
				}
			}
		}
	}
	for _, l := range logs {
		if own[l.File] {
			each(l, func(c *nccl.Comm) {
				if c.NRanks > width {
					width, ours = c.NRanks, map[string]bool{}
				}
				if c.NRanks == width {
					ours[c.ID] = true
				}
			})
		}
	}
	if len(ours) == 0 {
		return logs
	}
	hosts := map[string]bool{}
	for _, l := range logs {
		for _, p := range l.Procs {
			if own[l.File] {
				hosts[p.Host] = true
			}
		}
	}
	var first *nccl.Log
	n := 0
	alien := func(l *nccl.Log) bool {
		as, shared := false, false
		each(l, func(c *nccl.Comm) {
			as, shared = as || c.NRanks == width, shared || ours[c.ID]
		})
		return !own[l.File] && as && !shared
	}
	if slices.ContainsFunc(logs, func(l *nccl.Log) bool {
		return alien(l) && slices.ContainsFunc(l.Procs, func(p *nccl.Proc) bool { return hosts[p.Host] })
	}) {
		return logs // on a host of the job: the communicator in its own logs may be that of a test before it
	}
	out := slices.DeleteFunc(logs, func(l *nccl.Log) bool {
		if !alien(l) {
			return false
		}
		if n++; first == nil {
			first = l
		}
		return true
	})
	if first != nil {
		more := ""
		if n > 1 {
			more = fmt.Sprintf(" and %s", countOf(n-1, "more log"))
		}
		warn.add("%s%s of NCCL not used: its communicator of %d ranks doesn't appear in the job's own logs, so it is from another job or run", first.File, more, width)
	}
	return out
}

// addresses are whose the interfaces are that NCCL lists, and the GIDs that processes state as their own where a transfer failed.
func addresses(logs []*nccl.Log) map[string]string {
	out := map[string]string{}
	add := func(addr, host string) {
		if old, seen := out[addr]; seen && old != host {
			host = "" // a bridge of containers has the same address everywhere
		}
		out[addr] = host
	}
	for _, l := range logs {
		for _, p := range l.Procs {
			host := ShortHost(p.Host)
			for _, a := range p.Addrs {
				add(a.IP, host)
			}
			for i := range p.Faults {
				if gid := p.Faults[i].LocalGID; gid != "" {
					add(strings.TrimPrefix(gid, mapped), host)
				}
			}
		}
	}
	return out
}

// ranksOf ties the processes to global ranks: a communicator of as many ranks as the job has holds them all, in their order; RCCL says
// the rank itself; and the job's logs may know a process by its host and number.
func (n *NCCL) ranksOf(ident *identity, world int) map[*nccl.Proc]int {
	ranks, at := map[*nccl.Proc]int{}, map[int]*nccl.Proc{}
	tie := func(p *nccl.Proc, id int) {
		if old, seen := ranks[p]; seen && old != id {
			id = NoRank
		}
		if q, seen := at[id]; id != NoRank && seen && q != p {
			ranks[q] = NoRank // two processes, one rank
			id = NoRank
		}
		ranks[p], at[id] = id, p
	}
	for _, m := range n.World.Procs {
		for _, c := range m.Proc.Comms {
			switch {
			case c.Global != nccl.Unknown:
				tie(m.Proc, c.Global)
			case world > 1 && c.NRanks == world && c.Rank != nccl.Unknown && c.Rank < c.NRanks:
				tie(m.Proc, c.Rank)
			}
		}
		if _, known := ranks[m.Proc]; !known {
			who := line.NoOne
			who.Host, who.Pid = m.Proc.Host, m.Proc.Pid
			if id, _, ok := ident.rankOf(worker.At{Pos: worker.Pos{File: m.Log.File}, By: &who}); ok {
				tie(m.Proc, id)
			}
		}
	}
	maps.DeleteFunc(ranks, func(_ *nccl.Proc, id int) bool { return id == NoRank })
	return ranks
}

// RASRank is the global rank of a rank that RAS speaks of: that of a communicator of the whole job, or of a process that is known by its
// host and number.
func (f *Facts) RASRank(c *ras.Comm, r *ras.Rank) (int, bool) {
	if f.Job.WorldSize > 1 && c.Size == f.Job.WorldSize && r.Rank < c.Size {
		return r.Rank, true
	}
	return f.RASProcess(r.Host, r.Pid)
}

// rasThen leaves out answers of RAS that state a time at which the job was not in trouble yet, or long after, in whatever zone their clock is.
func (f *Facts) rasThen(snapshots []*ras.Snapshot, warn *notes) []*ras.Snapshot {
	t := f.troubled()
	if !t.known || !f.YearProven {
		return snapshots
	}
	from, to := f.ran(&t)
	return slices.DeleteFunc(slices.Clone(snapshots), func(s *ras.Snapshot) bool {
		at := float64(s.Time)
		if s.Time == 0 || at > from-anyZone-t.unc && at < to+anyZone+t.unc {
			return false
		}
		warn.add("the NCCL RAS output in %s is not used: its timestamp is from a different day than this job's failure", s.File)
		return true
	})
}

// ran are the bounds of the time of which something taken beside the logs may tell: from the last step on, if the trouble is known from a
// later time only, to the end of the logs.
func (f *Facts) ran(t *trouble) (from, to float64) {
	from, to = t.from, t.to
	last := math.Inf(-1)
	for i := range f.Progress {
		if m := f.At(f.Progress[i].At); m.Valid && m.T < t.from {
			last = max(last, m.T)
		}
	}
	if !math.IsInf(last, -1) {
		from = last
	}
	for i := range f.Tails {
		if m := f.At(f.Tails[i].Last); m.Valid {
			to = max(to, m.T)
		}
	}
	return from, to
}

// RASProcess is the global rank of a process on a host, which RAS knows by its address.
func (f *Facts) RASProcess(host string, pid int) (int, bool) {
	if pid <= 0 || host == "" {
		return NoRank, false
	}
	if id, ok := f.ident.pid[fileInt{"host:" + f.NCCL.Host(host), pid}]; ok && id >= 0 {
		return id, true
	}
	return NoRank, false
}

// rasOf are the snapshots that can be of a job: one that counts more ranks than the job has is of another job; one that counts fewer may only
// lack some.
func rasOf(snapshots []*ras.Snapshot, w world, warn *notes) []*ras.Snapshot {
	if w.size == 0 {
		return snapshots
	}
	return slices.DeleteFunc(slices.Clone(snapshots), func(s *ras.Snapshot) bool {
		size, ours := s.GPUs, false // beside the trainers other processes may share a communicator with them
		for i := range s.Comms {
			size, ours = max(size, s.Comms[i].Size), ours || s.Comms[i].Size == w.size
		}
		if size <= w.size || ours {
			return false
		}
		warn.add("the NCCL RAS output in %s is not used: it is from a job with %d ranks, and this job has %d (%s)", s.File, size, w.size, w.from)
		return true
	})
}

// rasWorld is the number of ranks that all snapshots state for the job, as their summary counts the GPUs.
func rasWorld(snapshots []*ras.Snapshot) world {
	n := 0
	for _, s := range snapshots {
		size := s.GPUs
		if size == 0 || n > 0 && n != size {
			return world{}
		}
		n = size
	}
	if n < 2 || n > MaxWorld {
		return world{}
	}
	return world{n, "the NCCL RAS summary", nil}
}

// world is the world size by NCCL's own lines, for where nothing states it: no process has a larger communicator than that of all
// ranks. That holds for processes whose lines are here from the start, and where most members of it are here, as they made it. All of them
// must have one of that size, and it must leave room for every rank that appears. Where two processes are the same rank of such a communicator there are several of that size, or the job was
// started again: then who waits in the default group must be the same rank of it.
func (n *NCCL) world(obs *worker.Observations) world {
	if n == nil {
		return world{}
	}
	size := 0
	var at worker.At
	ranks := map[int]*nccl.Proc{} // of the largest communicators
	twice, begun := false, false
	for _, l := range n.Logs {
		for _, p := range l.Procs {
			first := len(p.Addrs) > 0 || len(p.Networks) > 0 // its first lines are here
			var largest *nccl.Comm
			for _, c := range p.Comms {
				if (largest == nil || c.NRanks > largest.NRanks) && (first || c.Ready.Known()) {
					largest = c
				}
			}
			switch {
			case largest == nil || largest.NRanks < 2 || largest.Rank == nccl.Unknown:
				continue // it has made none yet, or does not say
			case size == 0:
				size, at = largest.NRanks, ncclAt(l, p, cmp.Or(largest.Ready, largest.Began), largest.Dev)
			case largest.NRanks != size:
				return world{}
			}
			begun = begun || first
			other := ranks[largest.Rank]
			twice = twice || other != nil && (other.Host != p.Host || other.Pid != p.Pid)
			ranks[largest.Rank] = p
		}
	}
	proven := !twice && size > 0 && (begun || 2*len(ranks) > size) || slices.ContainsFunc(obs.States, func(s worker.State) bool {
		return s.Group.IsDefault() && s.Enqueued > 0 && ranks[s.Who().Global] != nil
	})
	if !proven || size > MaxWorld {
		return world{}
	}
	w, _ := world{size, "the largest communicator in NCCL's log lines", &at}.plausible(obs)
	return w
}

// ProcName names a process for people: "rank 5 on node3", or where its rank is not proven "pid 77 on node3, rank 5 of …".
func (f *Facts) ProcName(m nccl.Member) string {
	if id, ok := f.NCCL.Rank(m.Proc); ok {
		return f.byRank[id].Describe()
	}
	s := fmt.Sprintf("pid %d on %s", m.Proc.Pid, ShortHost(m.Proc.Host))
	if m.Comm != nil && m.Comm.Rank != nccl.Unknown {
		s += fmt.Sprintf(" (rank %d of a communicator of %d)", m.Comm.Rank, m.Comm.NRanks)
	}
	return s
}

// NCCLAt is where a line of NCCL stands.
func NCCLAt(m nccl.Member, at nccl.At) worker.At { return ncclAt(m.Log, m.Proc, at, nccl.Unknown) }
