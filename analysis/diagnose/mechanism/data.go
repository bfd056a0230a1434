package mechanism

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"faultline/analysis/artifact/kernel"
	"faultline/analysis/resolve"
	"faultline/analysis/waitfor"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/pattern"
)

// What would tell more about a store or a file system than the workers can.
var (
	// needAIS is what tells a store that dropped objects from a client that lost them.
	needAIS = incident.Need{What: "logs from all AIStore daemons for the failure and the 30 min before it",
		Why: "only a target's own lines distinguish pressure, a broken stream, a restart or a rebalance from a client fault", Command: "ais log get cluster ./ais-logs", Obtainable: "perishing"}
	needStore = incident.Need{What: "storage logs from that time", Why: "they distinguish a slow or broken store from a slow decoder or network",
		Command: "ais log get cluster ./ais-logs   # AIStore; another store has its own logs", Obtainable: perishing, Artefact: knowledge.StorageLogs}
	needKernelMount = incident.Need{What: "the kernel log from {node}", Why: "a hung or failed mount leaves nfs, lustre, mmfs or hung-task lines there",
		Command: kernelLogOf, Artefact: knowledge.KernelLog}
)

// AsksForStorage says that a need is one for the logs of the storage.
func AsksForStorage(n incident.Need) bool { return n.What == needAIS.What || n.What == needStore.What }

func failed(slug knowledge.Slug) func(*Scene) *Proposal {
	return func(s *Scene) *Proposal { return fromFailures(s, slug) }
}

// first asks one way of recognising after the other.
func first(ways ...func(*Scene) *Proposal) func(*Scene) *Proposal {
	return func(s *Scene) *Proposal {
		for _, way := range ways {
			if p := way(s); p != nil {
				return p
			}
		}
		return nil
	}
}

// sharing adds the rivals of the signatures that a proposal rests on.
func sharing(p *Proposal) *Proposal {
	if p == nil {
		return nil
	}
	for _, fl := range p.Failures {
		if more := unnamed(p, fl.Entry().LooksLike); len(more) > 0 {
			p.Rivals, p.Direct = append(p.Rivals, more...), false
		}
	}
	return p
}

// shared proposes a mechanism of which single lines speak, with what else those may mean.
func shared(slug knowledge.Slug) func(*Scene) *Proposal {
	return func(s *Scene) *Proposal { return sharing(fromFailures(s, slug)) }
}

// unnamed returns those mechanisms that a proposal does not name yet.
func unnamed(p *Proposal, all []knowledge.Slug) []knowledge.Slug {
	return slices.DeleteFunc(slices.Clone(all), func(o knowledge.Slug) bool { return o == p.Mechanism || slices.Contains(p.Rivals, o) })
}

// shortBatch: a batch that AIStore answered with fewer objects than were asked for. Without the daemons' logs it may as
// well be the client that lost them.
func shortBatch(s *Scene) *Proposal {
	p := fromFailures(s, knowledge.AISBatchObjectLoss)
	if p == nil {
		return nil
	}
	p.Rivals, p.Base, p.Direct = []knowledge.Slug{knowledge.Exception}, 0.9, false
	p.Why = "the loader got fewer objects than it requested; only the daemons' logs show whether the store or the client dropped them"
	return p
}

// ofTheJob are refusals that tell of the job's token, not of who showed it.
var ofTheJob = pattern.New(`(?i)token expired|STATUS:403|insufficient permissions`)

// tokenRefused: all ranks of a job show one token. When it runs out, or lacks a right, whoever asks next is refused first and
// takes the others along: nobody broke it. A token that is missing or damaged may well be so on one node only.
func tokenRefused(s *Scene) *Proposal {
	p := fromFailures(s, knowledge.AISAuth)
	if p == nil || !slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool { return ofTheJob.MatchString(fl.Text) }) {
		return p
	}
	if len(p.Ranks) > 0 {
		p.Why = "the token belongs to the job: the rank that is refused first did nothing wrong"
	}
	p.Ranks, p.Nodes, p.Scope = nil, nil, "all"
	return p
}

func checkpointFailed(s *Scene) *Proposal {
	p := sharing(fromFailures(s, knowledge.CheckpointIO))
	if p != nil && len(p.Rivals) == 0 && slices.ContainsFunc(p.Failures, func(fl *resolve.Failure) bool { return refusedSomehow(s.Facts, fl) }) {
		p.Rivals, p.Direct, p.Base = []knowledge.Slug{knowledge.Unknown}, false, min(p.Base, 0.9)
		p.Why = "it was saving or loading a checkpoint; the reason the operating system gave is not a known message"
	}
	return p
}

// fullPath is the path in an operating system's message, "…: '/scratch/ckpt/x.pt'".
var fullPath = pattern.New(`(?:No space left on device|Disk quota exceeded)[^'"]{0,40}['"](/[^'"]{1,240})['"]`)

// Places by which sites and programs name a node's own disk, and a file system that all nodes share.
var (
	localPlaces  = []string{"/tmp", "/var/", "/dev/", "/run/", "/local", "/scratch/local", "/raid", "/nvme", "/mnt/nvme", "/mnt/local", "/ssd", "/root/", "/ephemeral"}
	sharedPlaces = []string{"/lustre", "/gpfs", "/nfs", "/mnt/nfs", "/beegfs", "/weka", "/fsx", "/efs", "/home", "/project", "/work", "/ceph", "/mnt/ceph", "/shared"}
)

// mountOf is the first part of a path and what kind of file system its name says that it is on; "" where it does not.
func mountOf(path string) (mount, kind string) {
	for _, p := range localPlaces {
		if strings.HasPrefix(path, p) {
			return strings.TrimSuffix(p, "/"), "its node's local disk"
		}
	}
	for _, p := range sharedPlaces {
		if strings.HasPrefix(path, p) {
			kind = "a shared file system"
		}
	}
	mount = path
	if i := strings.IndexByte(path[1:], '/'); i >= 0 {
		mount = path[:i+1]
	}
	return mount, kind
}

// noRoom is how a tool says that a file system is full, whatever the path.
var noRoom = pattern.New(`No space left on device|Disk quota exceeded`)

// storageFull: the path, where the line gives it, says which file system is full. Where a container could not be unpacked, what
// tells of the container tells the node.
func storageFull(s *Scene) *Proposal {
	if reason := containerReason(s.Facts); noRoom.MatchString(reason) {
		if p := schedulerError(s); p != nil {
			p.Mechanism, p.Explains, p.Now = knowledge.StorageFull, []knowledge.Slug{knowledge.SchedulerError}, nil
			return p
		}
	}
	p := fromFailures(s, knowledge.StorageFull)
	if p == nil {
		return nil
	}
	for _, fl := range p.Failures {
		m := fullPath.FindStringSubmatch(fl.Text)
		if m == nil {
			continue
		}
		mount, kind := mountOf(m[1])
		p.Component = "mount:" + mount
		if kind != "" {
			p.Why += "; judging by its path, it is on " + kind
		}
		if dir := path.Dir(m[1]); pastable.MatchString(dir) && len(fl.Entry().Do) == 0 {
			p.Now, p.Moot = []knowledge.Advice{spaceAt(dir, kind != "")}, append(p.Moot, knowledge.FindFull().Text)
		}
		break
	}
	return p
}

// spaceAt is how to see what ran out in a directory: space, inodes or a quota.
func spaceAt(dir string, shared bool) knowledge.Advice {
	a := knowledge.Advice{Text: "Check whether space, inodes or a quota ran out in " + dir + ".", Command: fmt.Sprintf("df -h %s; df -i %[1]s; quota -s", dir)}
	if !shared {
		a.Command = "ssh {node} '" + a.Command + "'"
	}
	return a
}

// storageUnresponsive: a process that sleeps in the kernel on another node than the ranks that held everyone is another
// trouble.
func storageUnresponsive(s *Scene) *Proposal {
	p := sharing(fromFailures(s, knowledge.StorageUnresponsive))
	p.kernelOf(s.Facts)
	if p == nil || s.Graph.Shape != waitfor.Straggle {
		return p
	}
	roots := nodesOf(s.Facts, s.Graph.Root)
	for _, fl := range p.Failures {
		asleep := fl.Says(knowledge.HungTask) || fl.Kernel != nil && fl.Kernel.Kind == kernel.HungTask
		if !asleep || fl.Node == "" || len(roots) == 0 || slices.Contains(roots, fl.Node) {
			return p
		}
	}
	return nil
}

// kernelOf adds the one node whose kernel reports trouble with a file system at that time, where it is not known on which the ranks are.
func (p *Proposal) kernelOf(f *resolve.Facts) {
	if p == nil || len(p.Nodes) > 0 {
		return
	}
	var first *resolve.KernelEvent
	for _, e := range f.Kernel {
		switch {
		case e.Kind != kernel.Storage || e.Node == "" || e.When != resolve.Near:
		case first != nil && first.Node != e.Node:
			return
		case first == nil:
			first = e
		}
	}
	if first != nil {
		p.Summary += fmt.Sprintf("; at that time %s's kernel reports a file system that did not respond", first.Node)
		p.For = append(p.For, finding(fmt.Sprintf("the kernel of %s reports it", first.Node), QuoteAt(first.At, nil)))
	}
}

// ranOut: the iterator of a minority's data ended while the others went on. On most ranks alike it is the program's end of
// data, handled badly.
func ranOut(s *Scene) *Proposal {
	f := s.Facts
	var fls []*resolve.Failure
	ranks := map[int]bool{}
	for _, fl := range f.Failures {
		if fl.Role != knowledge.CauseRole || fl.Mechanism != knowledge.Exception || !stopped(fl) {
			continue
		}
		if fl.Rank == resolve.NoRank {
			return nil // how many they are nobody can tell
		}
		fls = append(fls, fl)
		ranks[fl.Rank] = true
	}
	world := max(f.Job.WorldSize, len(f.Ranks))
	if len(fls) == 0 || 2*len(ranks) >= world {
		return nil
	}
	p := propose(s, knowledge.UnevenData, Local, fls)
	p.Direct, p.Base = false, 0.9
	p.Why = "its data iterator ended there while the other ranks continued"
	return p
}

// stopped says that an exception is an iterator's end.
func stopped(fl *resolve.Failure) bool {
	if fl.Exc == nil {
		return false
	}
	if len(fl.Exc.Cause) > 0 {
		return fl.Exc.Cause[0].Type == "StopIteration"
	}
	return fl.Exc.Type == "StopIteration" || strings.HasPrefix(fl.Exc.Message, "generator raised StopIteration")
}

// badSample: an item that cannot be read. A file that is missing before the first step says as much of a root directory
// that is wrong for all items.
func badSample(s *Scene) *Proposal {
	p := sharing(fromFailures(s, knowledge.BadSample))
	if p == nil || s.Facts.Job.Training {
		return p
	}
	for _, fl := range p.Failures {
		if !fl.Says(knowledge.FileMissing) {
			return p
		}
	}
	p.Rivals, p.Base = []knowledge.Slug{knowledge.ConfigError}, 0.88
	p.Why = "a data-loading process could not find a file before the first step: one item is missing, or the path is wrong for all"
	return p
}

// refused are the classes that report only what the operating system said.
var refused = map[string]bool{"OSError": true, "IOError": true, "EnvironmentError": true}

// refusedSomehow says that what was raised first is what the operating system refused, in words that nobody knows: a full disk, a lost mount and
// a broken file look alike.
func refusedSomehow(f *resolve.Facts, fl *resolve.Failure) bool {
	x := fl.Exc
	if x == nil {
		return false
	}
	if len(x.Cause) > 0 {
		x = &x.Cause[0]
	}
	return refused[x.Type[strings.LastIndexByte(x.Type, '.')+1:]] && len(f.Known.Match(nil, []byte(x.Type+": "+x.Message))) == 0 && len(x.Signs) == 0
}

// lateData: as lateRank, where the part that grew is that of loading data.
func lateData(sc *Scene) *Proposal {
	p := late(sc, knowledge.DataloaderStall, true)
	if p != nil {
		p.Needs = []incident.Need{needStore}
	}
	return p
}
