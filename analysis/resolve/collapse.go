package resolve

import (
	"sort"

	"faultline/knowledge"
)

// printed is what processes print of failures, as far as it is not kept one by one: a large job prints hundreds of thousands.
type printed struct {
	likes
	tolerance
}

// reported takes a failure that a process prints. Most are survived, or like one that it printed before: those are counted
// at once. What names no rank may yet turn out to be another's: that is decided by its file and its node.
func (f *Facts) reported(p *printed, fl *Failure) {
	if f.tolerates(&p.tolerance, fl) {
		return
	}
	k := like(fl)
	if fl.Rank == NoRank {
		k.node = fl.Node
	}
	if old := p.likes[k]; old != nil && !less(fl.At.Pos, old.At.Pos) {
		old.Count += fl.Count
		return
	}
	kept := *fl // most are not
	p.likes[k] = &kept
	f.Failures = append(f.Failures, &kept)
}

// likeness is what failures have in common that one process repeats.
type likeness struct {
	rank            int
	where, mech     string
	node            string // set while it is open whose it is
	role            knowledge.Role
	sign, kind, txt string
}

// likes are the first failures of each kind.
type likes map[likeness]*Failure

func like(fl *Failure) likeness {
	k := likeness{rank: fl.Rank, mech: fl.Mechanism, role: fl.Role, sign: fl.Sign, kind: fl.Kind}
	if fl.Rank == NoRank {
		k.where = fl.At.File
	}
	if fl.Kind == "exception" || fl.Kind == "task" {
		k.txt = fl.Text
	}
	return k
}

// collapse merges failures that one process repeats and orders the rest: proven time first, then position.
func (f *Facts) collapse() {
	var out []*Failure
	seen := likes{}
	sort.SliceStable(f.Failures, func(i, j int) bool { return less(f.Failures[i].At.Pos, f.Failures[j].At.Pos) })
	for _, fl := range f.Failures {
		k := like(fl)
		if old := seen[k]; old != nil {
			old.Count += fl.Count
			continue
		}
		seen[k] = fl
		out = append(out, fl)
	}
	sort.SliceStable(out, func(i, j int) bool {
		a, b := out[i].When(), out[j].When()
		if a.Valid && b.Valid && a.T != b.T {
			return a.T < b.T
		}
		if a.Valid != b.Valid {
			return a.Valid
		}
		return less(out[i].At.Pos, out[j].At.Pos)
	})
	f.Failures = out
	for _, fl := range out {
		if fl.Proc != nil {
			fl.Proc.Failures = append(fl.Proc.Failures, fl)
		}
	}
}
