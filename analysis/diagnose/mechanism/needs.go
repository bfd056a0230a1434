package mechanism

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"faultline/analysis/resolve"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/pattern"
)

// Obtainable of a need.
const (
	now       = "now"
	perishing = "perishing"
	nextTime  = "next-time"
)

// artefact is the need of a known kind of evidence. Whether and how it can be had is told by Needs, which knows the run.
func artefact(slug string) incident.Need {
	a, ok := knowledge.ArtefactBySlug(slug)
	if !ok {
		panic("there is no artefact " + slug)
	}
	return incident.Need{What: a.What, Why: a.Why, Artefact: slug}
}

// mostNext is how many needs are named that only the next run can leave.
const mostNext = 2

// mostDeciding is how many artefacts are named that decide between the members of a set: those that decide most.
const mostDeciding = 3

// Needs are what is left to ask for, of what a proposal wants and what decides between the members of a set: never what is at hand,
// each with how it can be had of this run. What will soon be gone stands first, among equals what decides more; what only the next
// run can leave stands last.
func Needs(s *Scene, set []knowledge.Slug, wants []incident.Need) []incident.Need {
	var all []incident.Need
	add := func(n incident.Need) {
		if n.Artefact != "" {
			var left bool
			if n, left = obtain(s, n); !left {
				return
			}
		}
		if !slices.ContainsFunc(all, func(o incident.Need) bool { return o.What == n.What || n.Artefact != "" && o.Artefact == n.Artefact }) {
			all = append(all, n)
		}
	}
	own := map[string]incident.Need{}
	for _, n := range wants {
		if n.Artefact != "" {
			own[n.Artefact] = n
		}
	}
	by := knowledge.Deciding(set)
	if alive(s, set) {
		bundle := artefact(knowledge.Bundle)
		if n := s.Facts.Job.WorldSize; n > 0 {
			bundle.Why += fmt.Sprintf("; waiting costs %.1f GPU hours per minute", float64(n)/60)
		}
		add(bundle)
	}
	for _, a := range by[:min(len(by), mostDeciding)] {
		n, ok := own[a.Slug]
		if !ok {
			n = artefact(a.Slug)
		}
		if a.Slug != knowledge.StorageLogs { // asked for in the words of their store
			add(n)
		}
	}
	for _, n := range wants {
		add(n)
	}
	slices.SortStableFunc(all, func(a, b incident.Need) int { return cmp.Compare(rank(a), rank(b)) })
	if i := slices.IndexFunc(all, func(n incident.Need) bool { return n.Obtainable == nextTime }); i >= 0 {
		all = all[:min(len(all), i+mostNext)]
	}
	return all
}

// kernelLogOf takes the kernel's log of one node: named after it, the log can be joined to the ranks that ran there.
const kernelLogOf = "ssh {node} dmesg -T > dmesg-{node}.txt"

// alive says that a job is still there that hangs, or of which nothing tells that it does not.
func alive(s *Scene, set []knowledge.Slug) bool {
	if !s.Facts.Alive() {
		return false
	}
	return len(set) == 0 || slices.ContainsFunc(set, func(slug knowledge.Slug) bool { return slug.Is(knowledge.Stands) })
}

// rank orders needs: before the logs of ranks that nobody has seen, nothing else decides.
func rank(n incident.Need) int {
	if n.First || n.What == needFiles.What || n.Artefact == knowledge.Bundle {
		return 0
	}
	return urgency[n.Obtainable]
}

var urgency = map[string]int{perishing: 1, now: 2, nextTime: 3}

// obtain says how an artefact of this run can be had; left is false where it is at hand.
func obtain(s *Scene, n incident.Need) (_ incident.Need, left bool) {
	a, _ := knowledge.ArtefactBySlug(n.Artefact)
	f := s.Facts
	if a.Slug == knowledge.FlightRecorder && !f.Alive() {
		return recorders(f, a, n)
	}
	if AtHand(s, a.Slug) {
		return n, false
	}
	alive := f.Alive()
	switch {
	case alive && a.Alive != "" && a.Slug != knowledge.Bundle:
		return n, false // the bundle brings it
	case alive && a.Alive != "":
		n.Command, n.Obtainable = cmp.Or(n.Command, a.Alive), perishing
	case a.Lasts == knowledge.OfNode:
		n.Command, n.Obtainable = cmp.Or(n.Command, a.Command), perishing
	case a.Lasts == knowledge.OfSite:
		n.Command, n.Obtainable = cmp.Or(n.Command, a.Command), now
	default:
		n.Command, n.Obtainable = cmp.Or(n.Command, a.Next), nextTime
	}
	return n, true
}

// AtHand says that evidence of a kind was handed in and is of use.
func AtHand(s *Scene, slug string) bool {
	f := s.Facts
	switch slug {
	case knowledge.SlurmRecords:
		return f.Accounting != nil && len(f.Accounting.Jobs) > 0
	case knowledge.Stacks:
		return len(f.Stood) > 0 // those that nobody can be told by say nothing of who held the others
	case knowledge.StorageLogs:
		return len(f.Daemons) > 0
	}
	return s.Here[slug]
}

// recorders asks for the dumps that lack. Where no line says that dumps were written and none is here, the recorder was most likely
// off: it is off unless somebody switches it on.
func recorders(f *resolve.Facts, a knowledge.Artefact, n incident.Need) (incident.Need, bool) {
	here := map[int]bool{}
	var lack []int
	for _, r := range f.Ranks {
		if r.Recorded != nil {
			here[r.ID] = true
		}
	}
	have := len(here)
	where, written := dumpsAt(f)
	if have == 0 {
		n.Command, n.Obtainable = a.Next, nextTime
		switch {
		case len(f.RecorderOff) > 0:
			n.Why += "; it was off in this run"
		case written:
			n.Command, n.Obtainable = strings.ReplaceAll(a.Command, "{dumps}", where+"*"), perishing
		}
		return n, true
	}
	for _, id := range f.RecorderOff {
		here[id] = true
	}
	for id := range f.Job.WorldSize {
		if !here[id] {
			lack = append(lack, id)
		}
	}
	if len(lack) == 0 {
		return n, false
	}
	n.What, n.Why = "flight-recorder dumps from "+rankWords(lack), fmt.Sprintf("%d of %d are here; the stalled rank may be one of those missing", have, f.Job.WorldSize)
	n.Command, n.Obtainable = "ls -l /tmp/nccl_trace_rank_* ~/.cache/torch/*_trace_rank_*   # on their nodes", perishing
	if written {
		n.Command = strings.ReplaceAll(a.Command, "{dumps}", where+"*")
		if nodes := nodesOf(f, lack); len(nodes) > 0 {
			n.Command = strings.ReplaceAll(n.Command, "{nodes}", strings.Join(nodes, ","))
		}
	}
	return n, true
}

// pastable is a path that needs no quoting in a shell.
var pastable = pattern.New(`^/[A-Za-z0-9_./\-]+$`)

// dumpsAt is the path before the rank's number at which recorders say that they wrote their dumps; written is true also where
// another line proves that they recorded.
func dumpsAt(f *resolve.Facts) (path string, written bool) {
	for i := range f.Obs.Signs {
		s := &f.Obs.Signs[i]
		e := f.Known.Entry(s.ID)
		if e.Says&knowledge.WroteRecorder == 0 {
			continue
		}
		if p := e.Named(f.Known.Fields(s.ID, []byte(s.Text)), knowledge.Writer, knowledge.AsPath); pastable.MatchString(p) && (path == "" || p < path) {
			path = p
		}
		written = true
	}
	written = written || len(f.Obs.Stacks) > 0 // the stack of a collective is known to the recorder alone
	if path == "" {
		path = "/tmp/nccl_trace_rank_"
	}
	return path, written
}

// needPeer is asked for where no line names the peer.
var needPeer = incident.Need{What: "logs from the peer that disappeared", Why: "it failed first; these lines only report losing it", Command: logsOfJob, Obtainable: now}
