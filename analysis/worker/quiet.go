package worker

import (
	"bytes"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// Most of the lines that are delivered hold one literal that nobody reads by itself: warnings of ProcessGroupNCCL, delivered so that
// wording that nobody knows becomes visible, and NCCL INFO. All that is to be had of such a line is who wrote it, and when. Their
// beginnings repeat, and mostly the messages too, so both are remembered. Whatever is not certain goes the ordinary way, of which this
// is a short form: a test holds the two to each other.

// quiet are literals of lines that may say nothing, by what stands in front of their messages.
type quiet uint8

const (
	loud   quiet = iota
	native       // a header of PyTorch's C++ code
	info         // a header of NCCL
)

// nativeLiteral finds what ProcessGroupNCCL prints.
const nativeLiteral = "NCCL.cpp:"

// quieted says which literals are those. A literal that a handler asks for is none.
func (d *dispatch) quieted() []quiet {
	list := make([]quiet, len(d.literals))
	for id, l := range d.literals {
		owned := false
		for _, set := range d.owners[id] {
			owned = owned || set != 0
		}
		switch {
		case owned || d.wraps[id]:
		case l == nativeLiteral:
			list[id] = native
		case l == ncclInfo:
			list[id] = info
		}
	}
	return list
}

// acquaintance is how lines of one writer begin.
type acquaintance struct {
	head   []byte
	who    line.Who
	writer *writer
}

// hush remembers what lines have in common.
type hush struct {
	heads    [64]acquaintance
	messages [64][]byte     // that say nothing
	signs    [64]recognised // what others say
}

// maxHush bounds what is remembered of one text.
const maxHush = 512

// passes reads a line that says nothing; it reports false where that is not certain.
//
// What ProcessGroupNCCL warns of counts by the signs in it and not by a list of harmless wordings: with one literal, which only asks for
// the line to be seen, the ordinary way has no use for its text either, unless an error is named in it.
func (r *reader) passes(l *scan.Line) bool {
	if len(l.Hits) != 1 || r.table.quiet[l.Hits[0]] == loud || l.Long || l.Final || r.width > 0 || r.margin != nil || r.held != nil || r.part != nil {
		return false
	}
	text := l.Text
	var a *acquaintance
	var stamp line.Stamp
	var n int
	if r.table.quiet[l.Hits[0]] == native {
		rank, s, severity, k := line.RankedNative(text)
		if k == 0 || severity == 'E' || severity == 'F' {
			return false
		}
		n, stamp = k, s
		_, label := line.RankLabel(text)
		if a = r.acquainted(text[:label]); a.writer == nil {
			a.who = line.NoOne
			a.who.Global = rank
		}
		if !r.hushed(text, n) {
			return false
		}
	} else {
		n = min(int(l.Marks[0].At)+len(ncclInfo)+1, len(text))
		if a = r.acquainted(text[:n]); len(l.Before) > 0 || a.writer == nil && !r.introduced(a, text, n) ||
			l.Passed && bytes.IndexByte(text, '%') >= 0 || !r.single(text, n, len(r.open) > 0) {
			return false
		}
	}
	if !r.strange(&a.who, l.No) {
		return false
	}
	if a.writer == nil {
		a.writer = r.writerOf(&a.who)
	}
	r.lineNo = l.No
	r.expire()
	rec := &r.rec
	rec.Pos = Pos{File: r.file, Line: l.No, Off: l.TextOff, Len: len(text)}
	rec.Who, rec.Stamp, rec.Repeated, rec.Msg = a.who, stamp, 0, text[n:]
	rec.wrote(a.writer)
	r.inherit(rec)
	r.span(rec)
	r.header.alone = false
	return true
}

// acquainted finds whose lines begin so; the writer is nil where it is somebody new.
func (r *reader) acquainted(head []byte) *acquaintance {
	n := len(head)
	a := &r.hush.heads[(n*7+int(head[n-3])*5+int(head[n-4])*17+int(head[n/2])*3)%len(r.hush.heads)]
	if !bytes.Equal(a.head, head) {
		*a = acquaintance{head: append(a.head[:0], head...)}
	}
	return a
}

// introduced reads who writes lines that begin with the n bytes of NCCL's "host:pid:tid [dev] NCCL INFO ".
func (r *reader) introduced(a *acquaintance, text []byte, n int) bool {
	if i := bytes.IndexByte(text[:n], ' '); i < 0 || text[i+1] != '[' {
		return false // there is more in front
	}
	pre := &r.pre
	r.names.ParseInto(pre, text)
	if pre.Form != line.NCCLInfo || pre.Len != n || pre.Stamp.Kind != line.NoStamp || pre.Outer.Kind != line.NoStamp {
		return false
	}
	if _, ok := r.passing.Unwrap(text); ok {
		return false
	}
	a.who = pre.Who
	return true
}

// hushed reports whether the message that begins at text[n] is nothing but one record without a sign of trouble in it.
func (r *reader) hushed(text []byte, n int) bool {
	msg := text[n:]
	if len(msg) == 0 || len(msg) > maxHush {
		return false
	}
	known := &r.hush.messages[(len(msg)*31+int(msg[len(msg)/2])*7+int(msg[len(msg)/4])*3+int(msg[min(12, len(msg)-1)]))%len(r.hush.messages)]
	if bytes.Equal(*known, msg) {
		return true
	}
	if !r.single(text, n, true) || bytes.Contains(msg, []byte(alarmWords[0])) {
		return false
	}
	*known = append((*known)[:0], msg...)
	return true
}

// single reports whether the message at text[n] is as it was written, one record if it is asked, and no header of others.
func (r *reader) single(text []byte, n int, split bool) bool {
	msg := text[n:]
	if len(msg) == 0 || msg[0] <= ' ' || bytes.IndexByte(text, '\r') >= 0 || bytes.IndexByte(text, '\x1b') >= 0 || bytes.IndexByte(msg, '&') >= 0 || repeated(msg) > 0 {
		return false
	}
	if msg[0] == '[' || msg[0] == 'R' {
		m := bytes.TrimSpace(msg)
		if _, start, end := lastGroup(m); bareRank(m) || start == 0 && end == len(m) {
			return false
		}
	}
	if !split {
		return true
	}
	r.pre.Len = n
	r.parts = line.SplitParsed(r.parts[:0], text, &r.pre)
	return len(r.parts) == 1
}

// strange reports whether no open block takes anything of a writer in the line with this number.
func (r *reader) strange(who *line.Who, no int64) bool {
	for i := range r.open {
		b := &r.open[i]
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

// expire closes the blocks that asked for lines above this one only.
func (r *reader) expire() {
	if len(r.open) == 0 {
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
