package worker

import (
	"cmp"
	"slices"
	"sync"

	"faultline/analysis/line"
)

// Resets and errors of loaders are counted line by line, and a storm has them by the million. Of one writer's lines of a
// kind the first stormFull are kept; from then on one stands for those before it of the same minute, at most stormRare of
// them, and not across another line about the same business or about the end of a run. The counts stay exact, and of every
// minute the last line is there.

// standIn is the account of one writer's lines of a kind.
type standIn struct {
	kind int // a rule of ioRules, or a word of ResetWords
	n    int
	at   int // in its list: the last that was kept
	ends int // see runEnds
}

// again counts a line and finds the account of its kind.
func again(list *[]standIn, kind int) *standIn {
	for i := range *list {
		if a := &(*list)[i]; a.kind == kind {
			a.n++
			return a
		}
	}
	*list = append(*list, standIn{kind: kind, n: 1, at: -1})
	return &(*list)[len(*list)-1]
}

// standsFor reports whether what stands at a place may take the place of the last of its kind that was kept, which itself
// stands for so many more.
func (r *reader) standsFor(a *standIn, at, last *At, more int) bool {
	return a.n > stormFull && !r.ending && more+1 < stormRare && a.ends == r.runEnds() && *last.Who() == *at.Who() &&
		last.Repeated == at.Repeated && minute(last.Stamp) == minute(at.Stamp)
}

// maxRaised bounds the kinds of tracebacks of one writer of which an account is kept.
const maxRaised = 1 << 10

// raise keeps an exception with its signs, or lets it stand for the one before it that was raised in the same place in the
// same words. Beyond stormFull of those, one in stormStride is read for its signs.
func (r *reader) raise(t *trace, e *Exception) {
	does := r.does
	defer func() { r.does = does | inBlock }()
	a := r.writerOf(&t.who).raisedAgain(t.kind(e))
	var last *Exception
	if a.at >= 0 {
		last = &r.obs.Exceptions[a.at]
	}
	switch {
	case last == nil, len(last.Told) > 0, a.n <= stormFull, a.n%stormStride == 0, r.ending:
		e.Signs = r.signsOf(t.matched)
		e.Told = t.told(r.table.known, e.Signs)
	case r.standsFor(a, &e.At, &last.At, last.More):
		e.Signs, e.More = last.Signs, last.More+1
		r.kept += e.size() - last.size()
		*last = *e
		return
	default:
		e.Signs = last.Signs
	}
	keepStandIn(r, a, &r.obs.Exceptions, *e)
}

// raisedAgain counts a traceback and finds the account of its kind.
func (w *writer) raisedAgain(kind uint64) *standIn {
	a := w.raised[kind]
	if a == nil {
		a = &standIn{at: -1}
		if len(w.raised) < maxRaised {
			if w.raised == nil {
				w.raised = map[uint64]*standIn{}
			}
			w.raised[kind] = a
		}
	}
	a.n++
	return a
}

// kind is what a traceback has in common with others of the same failure: the words, and the functions that led to it.
func (t *trace) kind(e *Exception) uint64 {
	var words outline
	words.read(t.matched[:min(len(t.matched), mostOutline)])
	h := words.hash
	for i := range e.Frames {
		h = fnv(fnv(h, []byte(e.Frames[i].File)), []byte(e.Frames[i].Func))
	}
	if e.Warned {
		h++
	}
	return h
}

// keepStandIn keeps a line as the last of its kind, if there is room for it.
func keepStandIn[T any](r *reader, a *standIn, list *[]T, v T) {
	n := len(*list)
	if emit(r, list, v); len(*list) > n {
		a.at, a.ends = n, r.runEnds()
	}
}

// runEnds is how many lines of this file may separate the runs of a job.
func (r *reader) runEnds() int {
	return len(r.obs.RunMarks) + len(r.obs.Ends) + len(r.obs.TaskExits)
}

// ioLists are lists to be filled by one file after the other: in a storm they grow long, and what is left of a file's is
// copied.
var ioLists = sync.Pool{New: func() any { return new([]KeptIO) }}

// putInOrder brings the lists to their final form: a line that stands for others stands where the first of them did.
func (r *reader) putInOrder() {
	r.obs.Resets = inOrder(r.obs.Resets, func(v *Reset) bool { return v.More > 0 })
	if r.ios == nil {
		return
	}
	if list := *r.ios; len(list) > 0 {
		r.obs.IOs = IOs{inOrder(list, func(v *KeptIO) bool { return v.more > 0 })}
		clear(list)
		*r.ios = list[:0]
	}
	ioLists.Put(r.ios)
	r.ios = nil
}

// inOrder is a copy of a list of one file in which some lines stand too far in front.
func inOrder[T any, P placed[T]](list []T, moved func(*T) bool) []T {
	if len(list) == 0 {
		return nil
	}
	var late []*T
	for i := range list {
		if moved(&list[i]) {
			late = append(late, &list[i])
		}
	}
	before := func(a, b *T) int { return cmp.Compare(P(a).place().Off, P(b).place().Off) }
	slices.SortStableFunc(late, before)
	out := make([]T, 0, len(list))
	from := 0 // what is not copied yet
	for i := range list {
		switch v := &list[i]; {
		case moved(v):
			out, from = append(out, list[from:i]...), i+1
		case len(late) > 0 && before(late[0], v) < 0:
			out, from = append(out, list[from:i]...), i
			for len(late) > 0 && before(late[0], v) < 0 {
				out, late = append(out, *late[0]), late[1:]
			}
		}
	}
	out = append(out, list[from:]...)
	for _, v := range late {
		out = append(out, *v)
	}
	return out
}

// minute is a stamp without its seconds.
func minute(s line.Stamp) line.Stamp {
	s.Second, s.Nanos = 0, 0
	s.Unix /= 60
	return s
}
