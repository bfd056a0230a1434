package mechanism

import (
	"cmp"
	"slices"

	"faultline/analysis/resolve"
	"faultline/knowledge"
)

// place is one process's lines in one file: there the order of the lines is the order of events.
type place struct {
	rank int
	file string
}

// roots are the failures whose entries speak for a proposal.
func (p *Proposal) roots() []*resolve.Failure {
	if len(p.First) > 0 {
		return p.First
	}
	return p.Failures[:min(len(p.Failures), 1)]
}

// entries are the entries of the lines at a proposal's root, one a writer: of what one prints the first line counts, and of a line that
// holds several the more specific, which comes first. What context made something else of speaks for its entry no more.
func (p *Proposal) entries(slug knowledge.Slug) []knowledge.Signature {
	var out []knowledge.Signature
	first := map[place]int64{}
	at := map[place]int{}
	for _, fl := range p.roots() {
		s := fl.Entry()
		if s.ID == "" || cmp.Or(s.Mechanism, slug) != slug {
			continue
		}
		by := place{fl.Rank, fl.At.File}
		switch off, seen := first[by]; {
		case !seen:
			at[by] = len(out)
			out = append(out, *s)
		case fl.At.Off < off:
			out[at[by]] = *s
		default:
			continue
		}
		first[by] = fl.At.Off
	}
	return out
}

// Entry is the entry whose owner and first action hold for a proposal: that of its root. It is empty where roots of equal standing ask
// for different things.
func (p *Proposal) Entry() knowledge.Signature {
	all := p.entries(p.Mechanism)
	if len(all) == 0 {
		return knowledge.Signature{}
	}
	if slices.ContainsFunc(all, func(s knowledge.Signature) bool { return !knowledge.SameDo(&all[0], &s) }) {
		return knowledge.Signature{}
	}
	return all[0]
}

// Scoped is the scope on which all entries at a proposal's root agree.
func (p *Proposal) Scoped(slug knowledge.Slug) knowledge.Scope {
	all := p.entries(slug)
	if len(all) == 0 {
		return ""
	}
	if slices.ContainsFunc(all, func(s knowledge.Signature) bool { return s.Scope != all[0].Scope }) {
		return ""
	}
	return all[0].Scope
}

// blames says that the ranks of a proposal may be named: who writes of more than its own process is not who broke it.
func (p *Proposal) blames(slug knowledge.Slug) bool {
	if len(p.Ranks) == 0 {
		return true
	}
	return p.Scoped(slug).NamesRank()
}

// on begins the summary of what is a node's, where the node is known.
func (p *Proposal) on(slug knowledge.Slug) string {
	if !p.Scoped(slug).NamesNode() {
		return ""
	}
	for _, node := range p.Nodes {
		return node + ": "
	}
	return ""
}

// writer begins a statement with who wrote a line. Of a line about more than its writer that is the node; where no line names it, its
// writer tells whose it was.
func writer(fl *resolve.Failure, blamed bool) string {
	node := ""
	if fl.Node != "" {
		node = fl.Node + ": "
	}
	if fl.Rank == resolve.NoRank {
		return node
	}
	who := fl.Proc.Describe() + ": "
	if blamed {
		return who
	}
	return cmp.Or(node, who)
}

// Captured is what the lines at a proposal's root capture, as far as their words were kept.
func (p *Proposal) Captured(f *resolve.Facts) map[string]string {
	for _, fl := range p.roots() {
		if x := f.Known.Fields(fl.Sign, []byte(words(f, fl))); len(x) > 0 {
			return x
		}
	}
	return nil
}

// words is the text of a failure's line; "" where it was not kept.
func words(f *resolve.Facts, fl *resolve.Failure) string {
	switch {
	case fl.Told != nil:
		return fl.Told.Text
	case fl.Exc != nil:
		return fl.Exc.Type + ": " + fl.Exc.Message
	}
	for i := range f.Obs.NCCLWarns {
		if w := &f.Obs.NCCLWarns[i]; w.Pos == fl.At.Pos {
			return w.Text
		}
	}
	for i := range f.Obs.Signs {
		if s := &f.Obs.Signs[i]; s.Pos == fl.At.Pos {
			return s.Text
		}
	}
	return ""
}
