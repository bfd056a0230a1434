package diagnose

import (
	"slices"

	"faultline/analysis/diagnose/mechanism"
	"faultline/analysis/resolve"
	"faultline/knowledge"
)

// taken says that what an advice takes of whoever is at fault is among the evidence. Where there is some of its kind, and not of them,
// but is the sentence that says of whom it is.
func (b *builder) taken(a knowledge.Advice) (taken bool, but string) {
	root := &b.r.Verdict.Root
	switch a.Takes() {
	case knowledge.Stacks:
		var here []int
		for _, s := range b.s.Facts.Stood {
			if s.Rank != resolve.NoRank && !s.Stale && !slices.Contains(here, s.Rank) {
				here = append(here, s.Rank)
			}
		}
		if len(here) == 0 || len(root.Ranks) == 0 {
			return false, ""
		}
		if within(root.Ranks, here) {
			return true, ""
		}
		slices.Sort(here)
		return false, " The stacks provided are from " + ofRanks(here) + "."
	case knowledge.KernelLog:
		var here []string
		for _, e := range b.s.Facts.Kernel {
			if e.Node != "" && e.When == resolve.Near && !slices.Contains(here, e.Node) {
				here = append(here, e.Node)
			}
		}
		return len(root.Nodes) > 0 && within(root.Nodes, here), ""
	}
	return false, ""
}

func ofRanks(ids []int) string {
	if len(ids) == 1 {
		return "rank " + mechanism.Ranges(ids)
	}
	return "ranks " + mechanism.Ranges(ids)
}

// within says that all of some are among others.
func within[T comparable](some, others []T) bool {
	return !slices.ContainsFunc(some, func(x T) bool { return !slices.Contains(others, x) })
}
