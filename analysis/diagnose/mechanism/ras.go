package mechanism

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/ras"
	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
)

// rasAgrees says that NCCL's own RAS subsystem found all ranks at the same operation counts.
func rasAgrees(f *resolve.Facts) bool {
	for _, s := range f.Handed.RAS {
		if !s.OK() {
			return false
		}
	}
	if len(f.Handed.RAS) > 0 {
		return true
	}
	ok := false
	for _, x := range f.Obs.Facts { // what stands in logs too large to be searched for what is pasted into them
		if x.Key == "ras_errors" {
			if x.Value != "OK" {
				return false
			}
			ok = true
		}
	}
	return ok
}

// standStill is how far apart two snapshots must be, in seconds, to show by themselves that a communicator stands still.
const standStill = 60

// Stands is a communicator whose counts two snapshots have alike, while some ranks are behind.
type Stands struct {
	Comm        *ras.Comm
	First, Last *ras.Snapshot
	Behind      []ras.Rank
	Least, Most int64
	Op          string
	// Apart is how many seconds lie between the snapshots; 0 where they do not say.
	Apart int64
}

// RASStands finds communicators that stand still between two snapshots with the same ranks behind. One snapshot proves nothing: counts
// differ for an instant in every job that works.
func RASStands(f *resolve.Facts) []Stands {
	var out []Stands
	seen := map[string]*Stands{}
	for _, s := range inOrder(f.Handed.RAS) {
		for i := range s.Comms {
			c := &s.Comms[i]
			ranks, least, most, op, ok := c.Behind()
			if c.Hash == "" {
				continue
			}
			old := seen[c.Hash]
			if !ok {
				delete(seen, c.Hash)
				continue
			}
			now := Stands{Comm: c, First: s, Last: s, Behind: ranks, Least: least, Most: most, Op: op}
			if old != nil && old.Op == op && old.Least == least && old.Most == most && slices.EqualFunc(old.Behind, ranks, func(a, b ras.Rank) bool { return a.Rank == b.Rank }) {
				now.First = old.First
				if now.First.Time > 0 && s.Time > 0 {
					now.Apart = s.Time - now.First.Time
				}
			}
			seen[c.Hash] = &now
		}
	}
	for _, s := range inOrder(f.Handed.RAS) { // in the order of the last snapshot that has them
		for i := range s.Comms {
			if x := seen[s.Comms[i].Hash]; x != nil && x.Comm == &s.Comms[i] && x.First != x.Last {
				out = append(out, *x)
			}
		}
	}
	return out
}

// inOrder are the snapshots in the order of their times; those without keep the order of their files.
func inOrder(list []*ras.Snapshot) []*ras.Snapshot {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b *ras.Snapshot) int {
		if a.Time == 0 || b.Time == 0 || a.Time == b.Time {
			return 0
		}
		if a.Time < b.Time {
			return -1
		}
		return 1
	})
	return out
}

// rasBehind names the ranks that are behind in a communicator that stands still, by two snapshots of RAS. Text has no times: there the
// job's logs must show that it hung.
func rasBehind(s *Scene) *Proposal {
	f, g := s.Facts, s.Graph
	if !openHang(s) {
		return nil
	}
	for _, x := range RASStands(f) {
		if x.Apart != 0 && x.Apart < standStill {
			continue
		}
		p := openedBy(s, knowledge.RankStalled)
		p.Base = 0.9
		named := true
		nodes := map[string]bool{}
		for i := range x.Behind {
			id, ok := f.RASRank(x.Comm, &x.Behind[i])
			if ok && g.Waits(id) {
				return nil // its own watchdog says that it waited itself
			}
			named = named && ok
			p.Ranks = appendNew(p.Ranks, id)
			nodes[f.NCCL.Host(x.Behind[i].Host)] = true
		}
		if !named {
			p.Ranks = nil
		}
		p.Nodes, p.Scope = keysOf(nodes), scopeOf(f, p.Ranks)
		who := rasWords(f, x.Comm, x.Behind)
		p.Summary = who + " did not launch what the other ranks in a communicator had launched"
		p.Why = "two NCCL RAS snapshots have the same counts: the communicator is stalled, with the same ranks behind"
		p.For = append(p.For, StandsFinding(f, &x))
		return p
	}
	return nil
}

// StandsFinding says which ranks of a communicator that stands still are behind.
func StandsFinding(f *resolve.Facts, x *Stands) incident.Finding {
	text := fmt.Sprintf("two snapshots have %s at %s %d while the other ranks launched up to %d", rasWords(f, x.Comm, x.Behind), opWords(x.Op), x.Least, x.Most)
	if x.Apart > 0 {
		text = fmt.Sprintf("two snapshots %s apart have %s at %s %d while the other ranks launched up to %d", duration(float64(x.Apart)), rasWords(f, x.Comm, x.Behind), opWords(x.Op), x.Least, x.Most)
	}
	var ev []incident.Evidence
	for _, snap := range []*ras.Snapshot{x.First, x.Last} {
		for i := range snap.Comms {
			if c := &snap.Comms[i]; c.Hash == x.Comm.Hash {
				ev = append(ev, CountsEvidence(snap, c)...)
			}
		}
	}
	return finding(text, ev...)
}

func opWords(op string) string {
	if op == "" {
		return "operation"
	}
	return op
}

// rasGone names processes that RAS counts as dead, where the job's logs show a hang and not who held it.
func rasGone(s *Scene) *Proposal {
	f, g := s.Facts, s.Graph
	if !openHang(s) {
		return nil
	}
	gone, ev := RASDead(f)
	var ids []int
	for _, d := range gone {
		if id, ok := d.Global(f); ok && !g.Waits(id) {
			ids = appendNew(ids, id)
		}
	}
	if len(ids) == 0 || len(ids) != len(gone) || f.Job.WorldSize > 0 && 2*len(ids) >= f.Job.WorldSize {
		return nil
	}
	p := openedBy(s, knowledge.RankStalled)
	p.Rivals, p.Base = []knowledge.Slug{knowledge.PeerLost}, 0.85
	p.Ranks, p.Nodes, p.Scope = ids, nodesOf(f, ids), scopeOf(f, ids)
	p.Summary = fmt.Sprintf("%s does not respond to NCCL RAS while other ranks wait: it is gone, stopped or cut off", where(f, ids))
	p.Why = "RAS could not reach it for a minute; these files don't show whether it died or was stopped"
	p.For = append(p.For, finding(fmt.Sprintf("RAS counts %s as dead", rankWords(ids)), ev...))
	return p
}

// Gone is a process that does not answer.
type Gone struct {
	Pid  int
	Host string
	GPUs string
	comm *ras.Comm
	rank *ras.Rank
}

// Global is its rank in the job.
func (d *Gone) Global(f *resolve.Facts) (int, bool) {
	if d.rank != nil {
		return f.RASRank(d.comm, d.rank)
	}
	return f.RASProcess(d.Host, d.Pid)
}

// RASDead are the processes that the last snapshots count as dead, with the rank that a communicator misses for them where that is the
// only one.
func RASDead(f *resolve.Facts) (gone []Gone, ev []incident.Evidence) {
	seen := map[string]bool{}
	add := func(d Gone, e incident.Evidence) {
		if k := d.Host + " " + strconv.Itoa(d.Pid); !seen[k] {
			seen[k] = true
			gone = append(gone, d)
			if len(ev) < 4 {
				ev = append(ev, e)
			}
		}
	}
	for _, s := range f.Handed.RAS {
		for _, d := range s.Dead {
			g := Gone{Pid: d.Pid, Host: d.Host, GPUs: d.GPUs}
			g.comm, g.rank = missedAs(f, s, d)
			add(g, rasQuote(s, d.At, "Process "+strconv.Itoa(d.Pid)+" on node "+d.Host))
		}
		for c, m := range missing(s) {
			if m.Dead {
				add(Gone{Pid: m.Pid, Host: m.Host, GPUs: m.GPU, comm: c, rank: m}, rasRank(s, m, incident.Member{Name: "pid", Value: strconv.Itoa(m.Pid)}))
			}
		}
	}
	return gone, ev
}

// missing goes over the ranks that the communicators of a snapshot miss.
func missing(s *ras.Snapshot) iter.Seq2[*ras.Comm, *ras.Rank] {
	return func(yield func(*ras.Comm, *ras.Rank) bool) {
		for i := range s.Comms {
			c := &s.Comms[i]
			for k := range c.Missing {
				if !yield(c, &c.Missing[k]) {
					return
				}
			}
		}
	}
}

// missedAs is the rank that a communicator, that of the whole job before others, misses for a dead process. Where none gives its process, it is the
// only rank that one misses, if it is the only process that is gone.
func missedAs(f *resolve.Facts, s *ras.Snapshot, d ras.Process) (comm *ras.Comm, rank *ras.Rank) {
	if len(s.Dead) == 1 && len(s.Missing) == 0 {
		if i := slices.IndexFunc(s.Comms, func(c ras.Comm) bool { return len(c.Missing) == 1 }); i >= 0 {
			comm = &s.Comms[i]
			rank = &comm.Missing[0]
		}
	}
	for c, m := range missing(s) {
		if m.Pid == d.Pid && m.Host == d.Host && (rank == nil || c.Size == f.Job.WorldSize) {
			comm, rank = c, m
		}
	}
	return comm, rank
}

// rasLost is a job of which RAS alone tells, by a process that is dead.
func rasLost(s *Scene) *Proposal {
	f := s.Facts
	gone, ev := RASDead(f)
	if len(gone) == 0 {
		return nil
	}
	p := &Proposal{Mechanism: knowledge.PeerLost, Class: Symptom, Rivals: []knowledge.Slug{knowledge.RankStalled, knowledge.Unknown}, Scope: "unknown", Base: 0.8}
	nodes := map[string]bool{}
	named := true
	for i := range gone {
		id, ok := gone[i].Global(f)
		named = named && ok
		p.Ranks = appendNew(p.Ranks, id)
		nodes[f.NCCL.Host(gone[i].Host)] = true
	}
	if !named {
		p.Ranks = nil
	}
	p.Nodes = keysOf(nodes)
	if len(p.Nodes) > 1 {
		p.Nodes, p.Ranks = nil, nil // as many as that are cut off together, and nobody knows from which side
	}
	p.Summary = fmt.Sprintf("%s does not respond: it died, was stopped, or is cut off", goneWords(gone))
	p.Why = "NCCL RAS counts it as dead after a minute without a response; it doesn't say why"
	p.For = append(p.For, finding("NCCL RAS counts as dead: "+goneWords(gone), ev...))
	p.Needs = append(p.Needs, needPeer)
	return p
}

// rasOnce is a job of which one answer of RAS alone tells, with a few ranks behind. It may have caught a moment of a job that works: so it
// leaves open whether anything is wrong.
func rasOnce(s *Scene) *Proposal {
	f := s.Facts
	if len(f.Tails) > 0 || len(f.Handed.RAS) != 1 {
		return nil
	}
	snap := f.Handed.RAS[0]
	for i := range snap.Comms {
		c := &snap.Comms[i]
		behind, least, most, op, ok := c.Behind()
		if !ok || most-least < fewBehind {
			continue
		}
		p := &Proposal{Mechanism: knowledge.RankStalled, Class: Symptom, Rivals: []knowledge.Slug{knowledge.Unknown}, Base: 0.7}
		nodes, named := map[string]bool{}, true
		for i := range behind {
			id, ok := f.RASRank(c, &behind[i])
			named = named && ok
			p.Ranks = appendNew(p.Ranks, id)
			nodes[f.NCCL.Host(behind[i].Host)] = true
		}
		if !named {
			p.Ranks = nil
		}
		p.Nodes = keysOf(nodes)
		p.Scope = scopeOf(f, p.Ranks)
		p.Summary = fmt.Sprintf("%s had launched %s %d while other ranks had launched up to %d", rasWords(f, c, behind), opWords(op), least, most)
		p.Why = "one snapshot: a working job's counts differ for a moment, too"
		p.For = append(p.For, finding(p.Summary, CountsEvidence(snap, c)...))
		p.Needs = []incident.Need{needSecondRAS, needPySpy}
		return p
	}
	return nil
}

// fewBehind is how many operations behind a rank may be in any job that works, as far as one look tells.
const fewBehind = 2

// needSecondRAS is asked for where one answer shows a rank behind.
var needSecondRAS = incident.Need{What: "a second NCCL RAS answer, a minute later", Why: "a rank that is behind by the same counts is stuck; one that caught up is not", Command: "ncclras -v", Obtainable: perishing}

func goneWords(gone []Gone) string {
	d := gone[0]
	text := fmt.Sprintf("process %d on %s", d.Pid, d.Host)
	var of []string
	if d.GPUs != "" {
		of = append(of, "GPU "+d.GPUs)
	}
	if d.rank != nil {
		of = append(of, fmt.Sprintf("rank %d of a communicator%s", d.rank.Rank, sizeWords(d.comm)))
	}
	if len(of) > 0 {
		text += " (" + strings.Join(of, ", ") + ")"
	}
	if n := len(gone) - 1; n > 0 {
		text += fmt.Sprintf(" and %s", plural(n, "other", "others"))
	}
	return text
}

// rasWords names ranks of a communicator.
func rasWords(f *resolve.Facts, c *ras.Comm, ranks []ras.Rank) string {
	var ids, local []int
	for i := range ranks {
		local = appendNew(local, ranks[i].Rank)
		if id, ok := f.RASRank(c, &ranks[i]); ok {
			ids = appendNew(ids, id)
		}
	}
	if len(ids) == len(ranks) {
		return where(f, ids)
	}
	s := rankWords(local)
	if len(ranks) == 1 && ranks[0].Host != "" {
		s += fmt.Sprintf(" (process %d on %s)", ranks[0].Pid, ranks[0].Host)
	}
	return s + " of a communicator" + sizeWords(c)
}

func sizeWords(c *ras.Comm) string {
	if c.Size > 0 {
		return fmt.Sprintf(" of %d", c.Size)
	}
	return ""
}

// CountsEvidence proves the counts of a communicator: a line each, or one rank's record.
func CountsEvidence(s *ras.Snapshot, c *ras.Comm) []incident.Evidence {
	var out []incident.Evidence
	for i := range c.Counts {
		k := &c.Counts[i]
		switch {
		case len(out) == 3:
		case !s.JSON:
			lit := "launched up to operation " + strconv.FormatInt(k.Value, 10)
			if k.Value == 0 {
				lit = "not launched any operations"
			}
			out = append(out, rasQuote(s, k.At, lit))
		case len(k.Ranks) > 0 && k.Ranks[0].At.Place != "":
			out = append(out, incident.Evidence{Kind: incident.KindRecord, File: s.File, Place: k.Ranks[0].At.Place + ".collective_counts",
				Predicate: &incident.Predicate{Members: []incident.Member{{Name: k.Op, Value: strconv.FormatInt(k.Value, 10)}}}})
		case len(k.Ranks) > 0:
			out = append(out, rasQuote(s, k.Ranks[0].At, `"rank"`))
		}
	}
	return out
}

// rasRank proves a rank of JSON.
func rasRank(s *ras.Snapshot, r *ras.Rank, members ...incident.Member) incident.Evidence {
	if r.At.Place == "" {
		return rasQuote(s, r.At, `"rank"`)
	}
	return incident.Evidence{Kind: incident.KindRecord, File: s.File, Place: r.At.Place, Predicate: &incident.Predicate{
		Members: append([]incident.Member{{Name: "rank", Value: strconv.Itoa(r.Rank)}}, members...)}}
}

func rasQuote(s *ras.Snapshot, at ras.At, literal string) incident.Evidence {
	e := incident.Quote(s.File, at.Line, at.Off, "", &incident.Predicate{Literals: []string{literal}})
	e.Span = at.Len
	return e
}

// RASQuote quotes the line of a snapshot.
func RASQuote(s *ras.Snapshot, at ras.At) incident.Evidence {
	e := incident.Quote(s.File, at.Line, at.Off, "", nil)
	e.Span = at.Len
	return e
}
