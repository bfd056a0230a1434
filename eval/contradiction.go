package eval

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
)

// contradictions are the ways in which one part of a report can deny another. Each rule returns what it found, "" where the parts agree.
var contradictions = []struct {
	parts string
	found func(r *incident.Report) string
}{
	{"scope and root", func(r *incident.Report) string {
		if root := r.Verdict.Root; r.Verdict.Scope == "all" && len(root.Ranks)+len(root.Nodes) > 0 {
			return fmt.Sprintf("the whole job, and %v %v", root.Ranks, root.Nodes)
		}
		return ""
	}},
	{"status and root", func(r *incident.Report) string {
		if root := r.Verdict.Root; r.Verdict.Status == incident.NoFailure && len(root.Ranks)+len(root.Nodes) > 0 {
			return fmt.Sprintf("nothing failed, and %v %v", root.Ranks, root.Nodes)
		}
		return ""
	}},
	{"verdict and candidates", func(r *incident.Report) string {
		if v := r.Verdict; decided(r) && len(v.Candidates) > 0 && v.Candidates[0].Mechanism != v.Mechanism {
			return fmt.Sprintf("%s, and first of the set %s", v.Mechanism, v.Candidates[0].Mechanism)
		}
		return ""
	}},
	{"candidates and suspects", func(r *incident.Report) string {
		for _, s := range r.Verdict.Suspects {
			if slices.ContainsFunc(r.Verdict.Candidates, func(c incident.Candidate) bool { return c.Mechanism == s.Mechanism }) {
				return s.Mechanism + " has evidence, and has none"
			}
		}
		return ""
	}},
	{"heading and root", func(r *incident.Report) string {
		root := r.Verdict.Root
		if m := leadingRank.FindStringSubmatch(r.Verdict.Summary); m != nil && decided(r) && len(root.Ranks) > 0 {
			if rank, err := strconv.Atoi(m[1]); err == nil && !slices.Contains(root.Ranks, rank) {
				return fmt.Sprintf("the heading begins with rank %d, which is no root", rank)
			}
		}
		if node := leadingNode(r); node != "" && len(root.Ranks)+len(root.Nodes) == 0 && root.Named == "" {
			return "the heading begins with " + node + ", and no node is proven"
		}
		return ""
	}},
	{"root and map", func(r *incident.Report) string {
		for _, rank := range r.Ranks {
			if nodes := r.Verdict.Root.Nodes; slices.Contains(r.Verdict.Root.Ranks, rank.Rank) && rank.Node != "" && len(nodes) > 0 && !slices.Contains(nodes, rank.Node) {
				return fmt.Sprintf("rank %d is a root on %s, and the nodes are %v", rank.Rank, rank.Node, nodes)
			}
		}
		return ""
	}},
	{"advice and names", func(r *incident.Report) string {
		for _, a := range r.Recommendations {
			if hole := unfilled.FindString(a.Text + " " + a.Command); hole != "" {
				return "advice with a hole: " + hole
			}
			if m := toNode.FindStringSubmatch(a.Command); m != nil && a.When == "now" && decided(r) && elsewhere(r, m[1]) {
				return "sends people to " + m[1] + ", which is no root"
			}
		}
		return ""
	}},
	{"coverage and itself", func(r *incident.Report) string {
		c := r.Coverage
		switch {
		case c.RanksExpected != nil && c.RanksSeen > *c.RanksExpected:
			return fmt.Sprintf("%d ranks seen of %d", c.RanksSeen, *c.RanksExpected)
		case c.RanksStateKnown > c.RanksSeen && c.RanksSeen > 0:
			return fmt.Sprintf("the state of %d ranks known, and %d seen", c.RanksStateKnown, c.RanksSeen)
		}
		return ""
	}},
	{"verdict and storage", func(r *incident.Report) string {
		if v := r.Verdict; r.Storage.Judgement == "cleared" && v.Root.Component != nil && strings.HasPrefix(*v.Root.Component, "ais:") {
			return "the storage is cleared, and " + *v.Root.Component + " is the root"
		}
		return ""
	}},
	{"status and candidates", func(r *incident.Report) string {
		if r.Verdict.Status == incident.Confirmed && len(r.Verdict.Candidates) > 1 {
			return "confirmed, and a set"
		}
		return ""
	}},
	{"advice and root", func(r *incident.Report) string {
		for _, node := range r.Action.ExcludeNodes {
			if !slices.Contains(r.Verdict.Root.Nodes, node) {
				return "leaves out " + node + ", which is no root"
			}
		}
		return ""
	}},
	{"map and root", func(r *incident.Report) string {
		for _, rank := range r.Ranks {
			root, guilty := slices.Contains(r.Verdict.Root.Ranks, rank.Rank), blamed[rank.Role]
			switch {
			case root && innocent[rank.Role] && decided(r):
				return fmt.Sprintf("root rank %d is %s", rank.Rank, rank.Role)
			case guilty && !root && decided(r) && len(r.Verdict.Root.Ranks) > 0:
				return fmt.Sprintf("rank %d is %s and no root", rank.Rank, rank.Role)
			case guilty && r.Verdict.Status == incident.NoFailure:
				return fmt.Sprintf("nothing failed, and rank %d is %s", rank.Rank, rank.Role)
			}
		}
		return ""
	}},
	{"map and coverage", func(r *incident.Report) string {
		for _, node := range r.Coverage.NodesMissing {
			if slices.Contains(r.Coverage.NodesSeen, node) {
				return node + " is missing and seen"
			}
		}
		for _, rank := range r.Ranks {
			// Others may tell how a rank ended, or that it waits, that has no line here. That nothing is wrong with it only its own lines tell.
			if slices.Contains(r.Coverage.RanksMissing, rank.Rank) && rank.Role == "ok" {
				return fmt.Sprintf("rank %d is missing and %s", rank.Rank, rank.Role)
			}
		}
		return ""
	}},
	{"summary and groups", func(r *incident.Report) string {
		m := neverJoined.FindStringSubmatch(r.Verdict.Summary)
		if m == nil {
			return ""
		}
		waiting := 0
		for _, g := range r.Groups {
			if g.Stuck == nil {
				continue
			}
			waiting++
			if m[1] == fmt.Sprintf("%s #%d", g.Stuck.Op, g.Stuck.Seq) && within(g, r.Verdict.Root.Ranks) {
				return ""
			}
		}
		if waiting > 1 {
			return "never joined " + m[1] + ", in whose group it is not"
		}
		return ""
	}},
	{"chain and root", func(r *incident.Report) string {
		if !decided(r) || len(r.Verdict.Root.Ranks) == 0 {
			return ""
		}
		for _, link := range r.Chain {
			m := leadingRank.FindStringSubmatch(link.Statement)
			if m == nil || link.Role != incident.Cause && link.Role != incident.Trigger {
				continue
			}
			if rank, err := strconv.Atoi(m[1]); err == nil && !slices.Contains(r.Verdict.Root.Ranks, rank) && !held(r, rank) {
				return fmt.Sprintf("the cause speaks of rank %d, which is no root", rank)
			}
		}
		return ""
	}},
}

var (
	leadingRank = regexp.MustCompile(`^[Rr]ank (\d+)(?:[ ,:]|$)`)
	neverJoined = regexp.MustCompile(`never joined (\S+ #\d+)`)
	blamed      = map[string]bool{incident.Straggler: true, incident.FirstFailure: true}
	innocent    = map[string]bool{"ok": true, incident.Victim: true, incident.Notified: true}
)

var (
	unfilled = regexp.MustCompile(`\{[a-z]+\}`)
	toNode   = regexp.MustCompile(`^ssh ([\w.-]+)`)
)

// leadingNode is the node of the job that a heading begins with, as "n3: …"; "" where it begins with none.
func leadingNode(r *incident.Report) string {
	first, _, ok := strings.Cut(r.Verdict.Summary, ": ")
	if ok && slices.Contains(r.Coverage.NodesSeen, first) {
		return first
	}
	return ""
}

// elsewhere tells whether a node is one of the job, but none of those at fault, where any is, nor a missing one.
func elsewhere(r *incident.Report, node string) bool {
	return slices.Contains(r.Coverage.NodesSeen, node) && len(r.Verdict.Root.Nodes) > 0 && !slices.Contains(r.Verdict.Root.Nodes, node)
}

// within tells whether the ranks are members of a group.
func within(g incident.Group, ranks []int) bool {
	return !slices.ContainsFunc(ranks, func(rank int) bool {
		return !slices.ContainsFunc(g.Ranks, func(m incident.GroupMember) bool { return m.Rank != nil && *m.Rank == rank })
	})
}

func decided(r *incident.Report) bool {
	return r.Verdict.Status == incident.Confirmed || r.Verdict.Status == incident.Probable
}

// held tells whether a rank waits: what it waits in is the proof of who held it.
func held(r *incident.Report, rank int) bool {
	i := slices.IndexFunc(r.Ranks, func(s incident.RankState) bool { return s.Rank == rank })
	return i >= 0 && r.Ranks[i].Role == incident.Waiter
}

// Contradictions are the places where a report disagrees with itself.
func Contradictions(r *incident.Report) []string {
	var out []string
	for _, c := range contradictions {
		if found := c.found(r); found != "" {
			out = append(out, c.parts+": "+found)
		}
	}
	return out
}
