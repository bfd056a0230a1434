package worker

import (
	"cmp"
	"slices"

	"faultline/analysis/line"
)

// writer is one process, as far as the prefixes of this file tell it from others.
type writer struct {
	span    WriterSpan // without LastText
	stamp   line.Stamp // the last one it printed
	numeric numericState
	courses []*course
	facts   [][2]string // keys and values of what it said about the job
	resets  []standIn
	loads   []standIn
	raised  map[uint64]*standIn // its tracebacks by kind
	lastIO  int                 // in the list of IOs + 1
	who     *line.Who
	many    bool // lines of different writers are its
}

// whose is what its lines state of the writer, once for all of them.
func (w *writer) whose(who *line.Who) *line.Who {
	if w.who == nil || w.many && *w.who != *who {
		own := *who
		w.who = &own
	}
	return w.who
}

// writerCache is how many writers are found without hashing their names. Few processes write to one file.
const writerCache = 64

// writerOf finds the writer with these names. Lines that name nobody share r.nobody, those of writers beyond the bound
// r.crowd.
func (r *reader) writerOf(who *line.Who) *writer {
	slot := &r.recent[uint(who.Global*8+who.Local*8+who.Task*8+who.CudaDev+who.Pid+who.MPIRank+who.RayRank)%writerCache]
	if w := *slot; w != nil && w.span.Who == *who {
		return w
	}
	w := r.writers[*who]
	switch {
	case w != nil:
	case *who == line.NoOne:
		w = &r.nobody
		w.span.Who = line.NoOne
	case len(r.writers) >= maxWriters:
		r.crowd.many = true
		return &r.crowd
	default:
		w = &writer{span: WriterSpan{Who: *who}}
		r.writers[*who] = w
	}
	*slot = w
	return w
}

// wrote says whose the record is.
func (rec *record) wrote(w *writer) { rec.writer, rec.By = w, w.whose(&rec.Who) }

// inherit gives a record without a stamp the nearest one above, of its own writer where the writer is known. One whose own
// lines have no stamps, as tracebacks have none, gets that of the lines above which name nobody.
func (r *reader) inherit(rec *record) {
	switch {
	case rec.Stamp.Kind != line.NoStamp:
		r.lastStamp = rec.Stamp
		if rec.writer != &r.crowd {
			rec.writer.stamp = rec.Stamp
		}
	case rec.writer == &r.nobody:
		rec.Stamp = r.lastStamp.Above()
	case rec.writer.stamp.Kind == line.NoStamp:
		rec.Stamp = r.nobody.stamp.Above()
	default:
		rec.Stamp = rec.writer.stamp.Above()
	}
}

// span keeps what the file's tail says: first and last stamped record, and each writer's.
func (r *reader) span(rec *record) {
	if rec.Stamp.Kind != line.NoStamp {
		if r.first.File == "" {
			r.first = rec.At
		}
		r.last = rec.At
		if rec.Stamp.Emitter == line.Container {
			r.pulse.note(&rec.At)
		}
	}
	if rec.Who.Host == "" {
		r.hostless++
	}
	w := rec.writer
	if w == &r.nobody || w == &r.crowd {
		return
	}
	if w.span.Lines == 0 {
		w.span.First = rec.Mark()
	}
	w.span.Lines++
	w.span.Last = rec.Mark()
}

// spans lists the writers in the order of their first lines.
func (r *reader) spans() []WriterSpan {
	var list []WriterSpan
	for _, w := range r.writers {
		list = append(list, w.span)
	}
	slices.SortFunc(list, func(a, b WriterSpan) int {
		return cmp.Or(cmp.Compare(a.First.Off, b.First.Off), cmp.Compare(a.First.Len, b.First.Len), cmp.Compare(a.First.Line, b.First.Line))
	})
	return list
}
