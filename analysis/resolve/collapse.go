package resolve

import (
	"cmp"
	"hash/maphash"
	"slices"
	"strings"

	"faultline/incident"
	"faultline/knowledge"
)

// printed is what processes print of failures, as far as it is not kept one by one: a large job prints hundreds of thousands.
type printed struct {
	likes
	tolerance
	warn  *notes
	all   []*Failure // that are kept
	heard heard
}

// reported takes a failure that a process prints. Most are survived, or like one that it printed before: those are counted
// at once. What names no rank may yet turn out to be another's: that is decided by its file and its node.
func (p *printed) reported(fl *Failure) {
	if p.tolerates(fl) {
		return
	}
	old := p.find(fl)
	if old != nil && !less(fl.At.Pos, old.At.Pos) {
		old.again(fl)
		return
	}
	kept := *fl // most are not
	p.put(&kept)
	p.all = append(p.all, &kept)
}

// again counts one that is like it. Where several members of a group say the same, it is nobody's own.
func (fl *Failure) again(o *Failure) {
	fl.Count += o.Count
	if fl.Unplaced != o.Unplaced && strings.HasSuffix(fl.Unplaced, incident.OfItsGroup) {
		fl.Unplaced = ""
	}
}

// likeness is what failures have in common that one process repeats.
type likeness struct {
	rank  int
	where string
	mech  knowledge.Slug
	node  string // set while it is open whose it is
	role  knowledge.Role
	sign  knowledge.ID
	kind  FailureKind
	txt   string
}

// likes are the first failures of each kind, by the hash of what they have in common: a large job has many kinds, and their
// names are long.
type likes struct {
	open  bool // it is not yet decided whose those are that name no rank
	seed  maphash.Seed
	first map[uint64]*Failure
}

func newLikes(open bool) likes { return likes{open, maphash.MakeSeed(), map[uint64]*Failure{}} }

// find returns the last failure like this one that was put.
func (l *likes) find(fl *Failure) *Failure {
	k := l.like(fl)
	for old := l.first[maphash.Comparable(l.seed, k)]; old != nil; old = old.sameHash {
		if l.like(old) == k {
			return old
		}
	}
	return nil
}

func (l *likes) put(fl *Failure) {
	h := maphash.Comparable(l.seed, l.like(fl))
	fl.sameHash = l.first[h]
	l.first[h] = fl
}

func (l *likes) like(fl *Failure) likeness {
	k := likeness{rank: fl.Rank, mech: fl.Mechanism, role: fl.Role, sign: fl.Sign, kind: fl.Kind}
	if fl.Rank == NoRank {
		k.where = fl.At.File
		if l.open {
			k.node = fl.Node
		}
	}
	if fl.Kind == KindException || fl.Kind == KindTask {
		k.txt = fl.Text
	}
	return k
}

// collapse merges failures that one process repeats and orders the rest: proven time first, then position.
func collapse(all []*Failure) (out []*Failure) {
	seen := newLikes(false)
	slices.SortStableFunc(all, func(a, b *Failure) int { return comparePos(&a.At.Pos, &b.At.Pos) })
	for _, fl := range all {
		if old := seen.find(fl); old != nil {
			old.again(fl)
			continue
		}
		seen.put(fl)
		out = append(out, fl)
	}
	slices.SortStableFunc(out, func(x, y *Failure) int {
		a, b := x.When(), y.When()
		switch {
		case a.Valid && b.Valid && a.T != b.T:
			return cmp.Compare(a.T, b.T)
		case a.Valid != b.Valid && a.Valid:
			return -1
		case a.Valid != b.Valid:
			return 1
		}
		return comparePos(&x.At.Pos, &y.At.Pos)
	})
	for _, fl := range out {
		if fl.Proc != nil {
			fl.Proc.Failures = append(fl.Proc.Failures, fl)
		}
	}
	return out
}
