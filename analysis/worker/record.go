package worker

import (
	"bytes"
	"strings"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// phys is a physical line, or several joined ones.
type phys struct {
	no, off int64
	raw     []byte // with the \n between joined lines
	cut     bool   // no \n at its end: more may have been meant to follow
	hits    []uint16
	marks   []scan.Mark
	before  []byte   // some of the lines above that were passed over
	next    int      // in marks: the first that no record before has passed
	all     bool     // hits are unknown: try every literal
	light   bool     // only light handlers want it
	linked  bool     // it may hold a link
	passed  bool     // only open blocks may want it
	window  bool     // of a line that is too long: its hits are those that no window before had
	records int      // how many of its records were read
	outer   line.Who // what the first of them states of its writer

	starts []int      // of a line in parts: where in raw those begin that stand on further lines
	at     []int32    // where each byte of raw stands, and behind them its end, from off on; nil: side by side
	end    int32      // of a part: where it ends
	stamp  line.Stamp // of the envelope
	by     *line.Who  // the writer, by a collector's columns
}

// place is where n bytes of raw stand in the file.
func (p *phys) place(file string, at, n int) Pos {
	if p.at == nil {
		return Pos{File: file, Line: p.no, Off: p.off + int64(at), Len: n}
	}
	no := p.no
	for _, from := range p.starts {
		if from <= at {
			no++
		}
	}
	return Pos{File: file, Line: no, Off: p.off + int64(p.at[at]), Len: int(p.at[at+n] - p.at[at])}
}

// stamped adds the stamp that the envelope states to the prefix of what it holds.
func stamped(pre *line.Prefix, s line.Stamp) {
	switch {
	case s.Kind == line.NoStamp:
	case pre.Stamp.Kind == line.NoStamp:
		pre.Stamp = s
	case pre.Outer.Kind == line.NoStamp:
		pre.Outer = s
	}
}

// physical reads one physical line: segments between \r, records glued together in each. A line that only holds what
// light handlers read is not searched for records within: a step line that is glued behind text stays a step line.
func (r *reader) physical(p *phys) {
	if p.passed && r.beside(p) {
		return
	}
	p.light = len(r.open) == 0 && !p.all && r.table.everyday(p.hits)
	p.linked = p.all || r.table.linked(p.hits)
	end := bytes.IndexByte(p.raw, '\n')
	if end < 0 {
		r.segments(p, len(p.raw))
		return
	}
	// A joined line is one record from the last record of its first line on; before that stand bars and other writers.
	head := bytes.TrimRight(p.raw[:end], "\r")
	cut := bytes.LastIndexByte(head, '\r') + 1
	pre := r.names.Parse(head[cut:])
	if parts := line.SplitParsed(nil, head[cut:], &pre); len(parts) > 1 {
		cut += parts[len(parts)-1][0]
	}
	if cut > 0 {
		r.segments(p, cut)
	}
	r.record(p, cut, p.raw[cut:], false)
}

// segments reads what stands before end, between \r.
func (r *reader) segments(p *phys, end int) {
	if i := bytes.IndexByte(p.raw[:end], '\r'); i < 0 || i+1 == end && i > 0 {
		if i > 0 {
			end = i
		}
		r.segment(p, 0, p.raw[:end])
		return
	}
	if !r.ending && !p.window && !p.all && p.off >= r.whole && r.table.everyday(p.hits) {
		r.redrawn(p, p.raw[:end])
		return
	}
	line.Segments(p.raw[:end], func(off int, seg []byte) { r.segment(p, off, seg) })
}

// segment reads the records of one.
func (r *reader) segment(p *phys, off int, seg []byte) {
	if p.light && len(p.before) == 0 {
		r.record(p, off, seg, false)
		return
	}
	pre := &r.pre
	r.names.ParseInto(pre, seg)
	if p.records == 0 {
		r.above(pre, p.before, p.off, p.no)
	}
	if p.light {
		r.record(p, off, seg, true)
		return
	}
	if bytes.IndexByte(seg[pre.Len:], ']') < 0 && !r.mayBeGlued(p, off+pre.Len) {
		r.record(p, off, seg, true)
		return
	}
	r.parts = line.SplitParsed(r.parts[:0], seg, pre)
	known := len(r.parts) == 1
	for i, part := range r.parts {
		r.record(p, off+part[0], seg[part[0]:part[1]], known)
		if i+1 < len(r.parts) && !r.knew {
			r.torn(&r.rec)
		}
	}
}

// above reads the lines that were passed over in front of the one that begins at off and has this prefix, if it tells no time itself:
// when it happened, only they can tell.
func (r *reader) above(pre *line.Prefix, before []byte, off, no int64) {
	if len(before) == 0 || pre.Stamp.Kind != line.NoStamp {
		return
	}
	known := *pre
	r.passed(before, off-int64(len(before)), no-int64(bytes.Count(before, []byte{'\n'})), 0)
	*pre = known
}

// mayBeGlued reports whether behind a place of a line another record may begin, though no bracket stands there.
func (r *reader) mayBeGlued(p *phys, from int) bool {
	if p.all || p.window {
		return true
	}
	for i := len(p.marks) - 1; i >= 0 && int(p.marks[i].At) > from; i-- {
		if r.table.glues[p.marks[i].Lit] {
			return true
		}
	}
	return false
}

// torn keeps that a watchdog reported something where another writer cut into its line before it was said what.
func (r *reader) torn(rec *record) {
	if pre := rec.Prefix; (pre.Severity == 'E' || pre.Severity == 'F') && strings.HasPrefix(pre.Source, "ProcessGroup") {
		emit(r, &r.obs.Signals, Signal{At: rec.At, Group: noGroup, Kind: SignalFired, N: line.Unknown})
	}
}

// record reads one message. at is its offset in p.raw; known says that r.pre is its prefix already.
func (r *reader) record(p *phys, at int, raw []byte, known bool) {
	text := r.plainText(p, raw)
	rec := &r.rec
	*rec = record{}
	rec.Raw, rec.Text, rec.Prefix = raw, text, &r.pre
	if !known || len(text) != len(raw) {
		r.names.ParseInto(rec.Prefix, text)
	}
	rec.Cut = p.cut && at+len(raw) == len(bytes.TrimRight(p.raw, "\r"))
	rec.Msg = text[min(max(rec.Prefix.Len, 0), len(text)):]
	rec.Pos = p.place(r.file, at, len(raw))
	stamped(rec.Prefix, p.stamp)
	rec.Who = rec.Prefix.Who.CollectedBy(p.by)
	if p.records > 0 {
		rec.Who = rec.Who.Labelled(p.outer)
	}
	if r.section > 0 && rec.Who == line.NoOne {
		rec.Who.MPIRank = r.section - 1
	}
	if p.records == 0 && at == 0 {
		r.halved(rec)
	}
	rec.Repeated = repeated(text)
	r.attribute(rec, r.writerOf(&rec.Who))
	r.follows(rec)
	if rec.Taken {
		r.does |= inBlock
	}
	if p.records > 0 {
		r.does |= other
	}
	// A line that only blocks asked for, and none took, is passed over like its kind elsewhere.
	r.knew = p.passed && !rec.Taken || r.dispatch(rec, p, at) || rec.Taken
	if !r.knew && alarming(rec, r.alarm) {
		r.unclassify(rec)
	}
	if p.records == 0 {
		p.outer = rec.Who
	}
	p.records++
	r.heading(rec)
	if r.header.alone {
		r.does |= other
	}
	if rec.excess {
		r.learn(p, rec)
	}
}

// attribute says who wrote a record and when, and enters both in the accounts. Its names are known.
func (r *reader) attribute(rec *record, w *writer) {
	told := r.clocks.tell(rec.Prefix)
	if rec.Stamp = rec.Prefix.Stamp; told {
		rec.Stamp.Emitter = line.Container
	}
	rec.wrote(w)
	r.inherit(rec)
	r.span(rec)
}

// heading remembers the record if it is nothing but a header of the lines under it.
func (r *reader) heading(rec *record) {
	h := &r.header
	h.alone = false
	m := bytes.TrimSpace(rec.Msg)
	if bareRank(m) {
		h.group, h.alone = noGroup, true
	} else if bytes.HasPrefix(m, []byte("[PG ")) || bytes.HasPrefix(m, []byte("[Rank ")) {
		g, start, end := lastGroup(m)
		h.group, h.alone = g, start == 0 && end == len(m)
	}
	if h.alone {
		h.line, h.by, h.stamp = rec.Line, rec.By, rec.Stamp
	}
}

// plainText is what was written: without what terminals, chats and line ends put in. It is valid until the next call.
func (r *reader) plainText(p *phys, raw []byte) []byte {
	text := raw
	if p.all {
		text = unwrapped(raw)
	}
	if bytes.IndexByte(text, '\x1b') >= 0 {
		r.plain = line.StripANSI(r.plain, text)
		return unescape(unlink(r.plain))
	}
	if p.linked {
		text = unlink(text)
	}
	return unescape(text)
}

// withoutANSI is text without escape sequences, valid until the next call.
func (r *reader) withoutANSI(text []byte) []byte {
	if bytes.IndexByte(text, '\x1b') < 0 {
		return text
	}
	r.plain = line.StripANSI(r.plain, text)
	return r.plain
}

// bareRank reports whether a message is nothing but "Rank 3": that is what PyTorch ≥ 2.6 puts in front of the desync
// report, which begins with a line end.
func bareRank(m []byte) bool {
	if !bytes.HasPrefix(m, []byte("Rank ")) {
		return false
	}
	_, rest := intAfterRest(m, "Rank ")
	return rest != nil && len(rest) == 0
}

func (r *reader) unclassify(rec *record) {
	r.does |= other
	r.unclassified++
	if len(r.obs.Unclassified) < maxUnclassified {
		r.obs.Unclassified = append(r.obs.Unclassified, Unclassified{At: rec.At, Text: clip(rec.Text)})
	}
}

// repeated reads Ray's "[repeated 14x across cluster]" at the end of a line.
func repeated(text []byte) int {
	if n := len(text); n == 0 || text[n-1] != ']' && text[n-1] != ' ' {
		return 0
	}
	if !bytes.HasSuffix(bytes.TrimRight(text, " "), []byte("across cluster]")) {
		return 0
	}
	i := bytes.LastIndex(text, []byte("[repeated "))
	if i < 0 {
		return 0
	}
	v, n := intAt(text[i+len("[repeated "):])
	if n == 0 || v < 0 || v > 1<<30 || !bytes.HasPrefix(text[i+len("[repeated ")+n:], []byte("x")) {
		return 0
	}
	return int(v)
}
