package worker

import (
	"cmp"
	"iter"
	"slices"
	"sort"

	"faultline/analysis/line"
)

// KeptIO is an IO as observations hold it: in a storm a file has them by the ten thousand. What the writer's prefix states
// and what the wording means is said once for all of them, so each takes a third of the room.
type KeptIO struct {
	Pos
	By     *line.Who // shared by the lines of a writer; nil: nobody's
	Stamp  line.Stamp
	Target string

	attempt, limit, left, more, repeated int32
	rule, fault                          uint8 // in ioRules, and in faults + 1
	access                               Access
}

// IOs are a list for each file that has any, in the order of files, each in the order of its lines. The lists are never joined: they
// may be long.
type IOs [][]KeptIO

// All gives every line, in order.
func (l IOs) All() iter.Seq[*KeptIO] {
	return func(yield func(*KeptIO) bool) {
		for _, list := range l {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}

// Find is the line at a place, or nil.
func (l IOs) Find(file string, off int64) *KeptIO {
	i, found := slices.BinarySearchFunc(l, file, func(list []KeptIO, file string) int { return cmp.Compare(list[0].File, file) })
	if !found {
		return nil
	}
	list := l[i]
	n := sort.Search(len(list), func(i int) bool { return list[i].Off >= off })
	if n == len(list) || list[n].Off != off {
		return nil
	}
	return &list[n]
}

// keptIO is what rule n read in a line of who.
func keptIO(v *IO, n int, who *line.Who) KeptIO {
	k := KeptIO{Pos: v.Pos, By: who, Stamp: v.Stamp, Target: v.Target, rule: uint8(n), access: v.Access,
		attempt: int32(v.Attempt), limit: int32(v.Limit), left: int32(v.Left), more: int32(v.More), repeated: int32(v.Repeated)}
	for i := range faults {
		if faults[i].fault == v.Fault {
			k.fault = uint8(i + 1)
		}
	}
	return k
}

// At is the header of the line.
func (k *KeptIO) At() At {
	return At{Pos: k.Pos, By: k.By, Stamp: k.Stamp, Repeated: int(k.repeated)}
}

// Kind is that of its IO.
func (k *KeptIO) Kind() string { return ioRules[k.rule].kind }

// Form is that of its IO.
func (k *KeptIO) Form() string { return ioRules[k.rule].form }

// Access is what the client wanted.
func (k *KeptIO) Access() Access { return k.access }

// More is how many alike lines right before it this one stands for.
func (k *KeptIO) More() int { return int(k.more) }

// IO is the line with all that it says.
func (k *KeptIO) IO() IO {
	rule := &ioRules[k.rule]
	v := IO{At: k.At(), Kind: rule.kind, Form: rule.form, Fallback: rule.fallback, Target: k.Target, Access: k.access,
		Attempt: int(k.attempt), Limit: int(k.limit), Left: int(k.left), More: int(k.more)}
	if k.fault > 0 {
		v.Fault = faults[k.fault-1].fault
	}
	return v
}

// Retry says that the client tries again.
func (k *KeptIO) Retry() bool { return ioRules[k.rule].kind == IORetry }
