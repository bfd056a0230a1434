package worker

import (
	"slices"

	"faultline/analysis/line"
)

// Some lines ask for those below: a traceback for its frames, a table for its rows. Each is a block that is open until it has them.

// openBlock is one of them.
type openBlock struct {
	who   line.Who
	from  int64 // number of the line that opened it
	last  int64 // number of the last line that was asked for
	f     follower
	trace bool // it takes nothing of others but blank lines
}

// verdict is what a follower says about a record that follows its own.
type verdict uint8

const (
	pass  verdict = iota // not mine; handlers see it; keep asking me
	taken                // mine; handlers still see it, but it is not an unclassified error; keep asking me
	final                // mine, and the block ends with it
	ended                // not mine, and the block ended before it
)

// A follower reads the records that follow one that opened a block (a traceback, torchrun's failure block, an indented
// result). It is called once with a nil record when the lines run out: then the block is as long as it gets. It is not
// called again after it returned final or ended or got nil.
type follower func(r *reader, rec *record) verdict

// follow asks for up to n more lines (n ≤ maxFollow) and gives those records to f that the writer of rec may have
// written: every field that both prefixes state is equal, where a missing rank prefix is no contradiction.
func (r *reader) follow(rec *record, n int, f follower) {
	r.does |= opensBlock
	if len(r.open) >= maxOpen {
		f(r, nil)
		return
	}
	r.open = append(r.open, &openBlock{who: rec.Who, from: r.lineNo, last: r.lineNo + int64(min(n, maxFollow)), f: f})
}

// trace is follow for a block that takes nothing but what its own writer prints, and blank lines.
func (r *reader) trace(rec *record, n int, f follower) {
	was := len(r.open)
	if r.follow(rec, n, f); len(r.open) > was {
		r.open[was].trace = true
	}
}

// wanted is how many of the next lines are needed whatever they hold.
func (r *reader) wanted(n int) int {
	for i := range r.open {
		n = max(n, int(r.open[i].last-r.lineNo))
	}
	return n
}

// follows offers a record to the open blocks of its writer.
func (r *reader) follows(rec *record) {
	if !slices.ContainsFunc(r.open, func(b *openBlock) bool { return r.lineNo > b.last || compatible(&b.who, &rec.Who) }) {
		return
	}
	blocks := r.open
	r.open = nil // a follower may open another block
	kept := blocks[:0]
	for _, b := range blocks {
		if r.lineNo > b.last {
			b.f(r, nil)
			continue
		}
		if !compatible(&b.who, &rec.Who) {
			kept = append(kept, b)
			continue
		}
		v := b.f(r, rec)
		if r.longer > 0 {
			b.last, r.longer = max(b.last, r.lineNo+r.longer), 0
		}
		rec.Taken = rec.Taken || v == taken || v == final
		if v == pass || v == taken {
			kept = append(kept, b)
		}
	}
	r.open = append(kept, r.open...)
}

// compatible reports whether the same process may have written both: what both prefixes state is equal.
func compatible(a, b *line.Who) bool {
	eq := func(x, y int) bool { return x == line.Unknown || y == line.Unknown || x == y }
	return eq(a.Global, b.Global) && eq(a.Local, b.Local) && eq(a.Task, b.Task) && eq(a.Pid, b.Pid) &&
		eq(a.MPIRank, b.MPIRank) && eq(a.RayRank, b.RayRank) && eq(a.CudaDev, b.CudaDev) &&
		(a.Host == "" || b.Host == "" || a.Host == b.Host) && (a.RayName == "" || b.RayName == "" || a.RayName == b.RayName)
}

// expire closes the blocks that asked for lines above this one only.
func (r *reader) expire() {
	if !slices.ContainsFunc(r.open, func(b *openBlock) bool { return r.lineNo > b.last }) {
		return
	}
	blocks := r.open
	r.open = nil // closing one may open another
	kept := blocks[:0]
	for _, b := range blocks {
		if r.lineNo > b.last {
			b.f(r, nil)
		} else {
			kept = append(kept, b)
		}
	}
	r.open = append(kept, r.open...)
}

// strange reports whether no open block takes anything of a writer in the line with this number.
func (r *reader) strange(who *line.Who, no int64) bool {
	for i := range r.open {
		b := r.open[i]
		if b.last < no {
			continue
		}
		w := *who
		if b.who.Host == "" {
			w.Host = "" // see trace.message
		}
		if !b.trace || w == b.who {
			return false
		}
	}
	return true
}

// apart reports whether no open block takes anything of the writer of the record that was just read.
func (r *reader) apart() bool {
	for i := range r.open {
		b := r.open[i]
		who := r.rec.Who
		if b.who.Host == "" {
			who.Host = "" // see trace.message
		}
		if !b.trace || who == b.who {
			return false
		}
	}
	return true
}
