package worker

import (
	"bytes"
	"slices"
	"strings"

	"faultline/analysis/artifact/nccl"
	"faultline/analysis/line"
	"faultline/analysis/scan"
	"faultline/knowledge"
)

// reader is the state of reading one file.
type reader struct {
	obs     *Observations // emit(r, &r.obs.Timeouts, Timeout{…})
	file    string
	table   *dispatch
	sc      *Scanner
	lineNo  int64 // of the physical line (the last one, if several were joined) being read
	open    []*openBlock
	knew    bool  // the last record was understood
	longer  int64 // more lines that the block which just took one asks for
	dropped int
	kept    int

	unclassified int
	lastStamp    line.Stamp // last stamp in the file
	first, last  At
	pulse        pulse
	writers      map[line.Who]*writer
	recent       [writerCache]*writer
	nobody       writer // of lines that name no writer
	hostless     int64  // lines looked at that name no host
	crowd        writer // of lines whose writer is one too many
	header       header
	storms       map[stormKey]*storm
	echoes       int // of all storms
	familiars    [1 << familiarBits]familiar
	stamped      [1 << stampedBits]familiar // by kind
	echoing      kindSet
	ending       bool            // within the last bytes of the file
	section      int             // the rank whose output a launcher repeats here, + 1
	ownEnd       int64           // in which line the program said that it kills itself; 0: it did not, or that was told
	called       bool            // NCCL's lines about calls were seen
	nccl         *nccl.Collector // of NCCL's other lines; nil before the first one
	ignoredWho   line.Who        // who said last that an exception is ignored
	ignoredAt    int64           // in which line
	ignoredN     int             // of how many that were not read yet
	launched     map[launcher]int64
	phases       phases
	elapsed      elapsed
	detector     int64 // where the straggler detector's last report begins

	stride   int64       // of the courses
	steps    *[]Progress // of stepLists; nil while there is none
	headed   headed      // the step that was read last whose numbers follow
	stepOff  int64       // the record that was last read as a step
	stepLen  int
	past     pastStep
	draws    redraws
	whole    int64 // up to where all pictures of a bar are read
	pictures int   // of bars that may be passed over, seen behind that
	undrawn  int64 // pictures of the bar at hand that were passed over right before this one

	head      []phys // the first lines, until decided
	headBytes int
	decided   bool
	width     int // column at which the file is wrapped; 0 if it is not
	margin    margin
	clocks    clocks
	joined    bool
	held      *held
	heldAbove *[]byte // while a line is read that was held back: what stands above that
	mended    unwrappedLine
	part      *part
	joins     part // the last one that was read, whose room is used again

	line       *scan.Line // at hand; nil while the head is read,
	headAbove  []byte     // when this stands above the line at hand
	below      []byte     // what follows the line at hand, which ends at belowFrom; nil where it is not known
	belowFrom  int64
	recognised [64]recognised
	routines   routines
	twins      twins
	does       effect         // what reading the line at hand did so far
	envelopes  line.Unwrapper // of lines
	passing    line.Unwrapper // of lines that are only counted

	// Scratch space, to spare the allocator the many records.
	plain   []byte // text without ANSI codes
	pre     line.Prefix
	rec     record
	scratch step
	times   timings // of the line that was read last for its times
	io      IO
	ios     *[]KeptIO // of ioLists; nil while there is none
	ids     []uint16
	due     []uint64
	matches []knowledge.ID
	alarm   bool // the record holds a word of alarm
	names   line.Names
	parts   [][2]int
}

// effect is what reading a line did, besides entering its writer and its time into the accounts.
type effect uint8

const (
	stepped    effect = 1 << iota // it was a step of a course
	did                           // it told what its writer is about
	opensBlock                    // a block begins with it
	inBlock                       // it belongs to an open block
	noted                         // it told of what healthy jobs do now and then
	other                         // anything else

	news   = opensBlock | inBlock | noted | other
	calmly = stepped | did | noted // what others did before does not belong to it
)

// header remembers a message that is nothing but a prefix: c10 reports that begin with \n stand under one.
type header struct {
	line  int64
	by    *line.Who
	stamp line.Stamp
	group GroupRef
	alone bool // the message is nothing but "[PG … Rank 3]" or "Rank 3"
}

// held is a physical line whose tail seems to stand on the next one.
type held struct {
	phys
	joined int
	above  []byte // the line above its first
}

// unwrappedLine is the last line that was joined of several, as it was before somebody wrapped it.
type unwrappedLine struct {
	text []byte
	last int64 // number of the last of them
}

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

const maxJoined = 3

// visit takes one physical line from the scanner. The head of the file is kept until it tells whether the file is
// wrapped.
func (r *reader) visit(l *scan.Line) (more int, err error) {
	r.routines.faces.searched(l.No)
	var kind *patterned
	var own *routine
	repeats := r.mayRepeat(l)
	if repeats {
		var held bool
		if held, kind, own = r.routine(l); !held && r.passesOver(l) {
			return r.wanted(0), nil
		}
		if held || r.waits(l, kind, own) {
			r.spoken(l)
			return r.wanted(0), nil
		}
	}
	r.resume(false)
	if r.leaps(l) {
		return r.wanted(0), nil
	}
	r.does = 0
	more = r.look(l)
	l.Enough = more <= 0 && r.idle(l)
	r.witness(l)
	does := r.effect()
	if kind != nil {
		kind.learn(own, does)
	}
	if repeats {
		r.routines.calmed(r.table.kind(l.Hits), does)
	}
	return more, nil
}

// idle reports whether nobody waits for more of the lines below this one, though somebody may have asked for them. When a file begins
// is told by any line with a time: until one was seen, those that were asked for are looked at.
func (r *reader) idle(l *scan.Line) bool {
	waiting := len(r.open) > 0 || !r.decided || !r.alone()
	return !waiting && l.Off >= routineFrom && !l.Long && r.first.File != ""
}

// alone reports whether the next line is read by itself: nothing above it waits for more, and no column cuts it.
func (r *reader) alone() bool {
	return r.width == 0 && r.margin == nil && r.held == nil && r.part == nil
}

// look reads a line, unless the head of the file is still being kept.
func (r *reader) look(l *scan.Line) (more int) {
	r.line, r.ending = l, l.Last
	r.below, r.belowFrom = l.Below, l.TextOff+int64(len(l.Text))
	if r.decided && r.echoed(l) {
		return r.wanted(0)
	}
	l.Fill()
	if r.decided && r.stray(l) {
		r.does |= other
		return scan.Unwanted
	}
	r.spoken(l)
	p := phys{before: l.Before, passed: l.Passed, no: l.No, off: l.TextOff, raw: l.Text, cut: l.Final || l.Long, window: l.Long, hits: l.Hits, marks: l.Marks}
	if l.No == 1 {
		p.trim(unprinted)
	}
	if !r.decided {
		p.raw, p.hits, p.marks, p.before = slices.Clone(p.raw), slices.Clone(p.hits), slices.Clone(p.marks), nil
		r.head = append(r.head, p)
		r.headBytes += len(p.raw)
		if l.No < headLines && r.headBytes < maxHead && !l.Long {
			return 1
		}
		return r.decide()
	}
	return r.take(&p, l.Long)
}

// decide reads the head.
func (r *reader) decide() (more int) {
	r.decided = true
	r.width, r.margin = wrapWidth(r.head), marginOf(r.head)
	head := r.head
	r.head = nil
	r.compareClocks(head)
	r.saidPlace(head)
	r.line = nil
	for i := range head {
		if i > 0 {
			r.headAbove = head[i-1].raw
		}
		more = r.take(&head[i], len(head[i].raw) >= maxHead)
	}
	return more
}

// lineAbove is the line above the one at hand; nil where it is not known.
func (r *reader) lineAbove() []byte {
	if r.heldAbove != nil {
		return *r.heldAbove
	}
	if r.mended.text != nil && r.mended.last == r.lineNo-1 {
		return r.mended.text
	}
	above := r.headAbove
	if r.line != nil {
		if above = r.line.Above(); r.margin != nil {
			above = above[r.margin(above):]
		}
	}
	if e, ok := r.passing.Unwrap(above); ok {
		return e.Text
	}
	return above
}

// take reads a physical line, or holds it back to join it with the next ones. It returns how many lines it needs.
func (r *reader) take(p *phys, long bool) int {
	no := r.lineNo
	p.trim(r.margin)
	if r.lineNo = p.no; r.enveloped(p) {
		if r.part != nil {
			return r.wanted(1)
		}
		return r.wanted(0)
	}
	r.lineNo = no
	r.parted()
	if h := r.held; h != nil {
		if p.no == h.no+int64(h.joined)+1 && !long && continues(p.raw) {
			h.raw = append(append(h.raw, '\n'), p.raw...)
			h.joined++
			r.joined = true
			h.cut = p.cut
			if !p.cut && r.holds(h.raw, h.joined) {
				return r.wanted(1)
			}
			r.held = nil
			r.lineNo = p.no
			r.unheld(h)
			return r.wanted(0)
		}
		r.release()
	}
	r.lineNo = p.no
	if !long && !p.cut && r.margin == nil && (r.width > 0 || r.table.wrappable(p.hits)) && r.holds(p.raw, 0) {
		p.raw = slices.Clone(p.raw)
		p.hits, p.marks, p.before, p.all = nil, nil, nil, true
		r.held = &held{phys: *p, above: slices.Clone(r.lineAbove())}
		return r.wanted(1)
	}
	r.physical(p)
	return r.wanted(0)
}

// holds reports whether the tail of raw, joined from so many lines, seems to stand on the next line.
func (r *reader) holds(raw []byte, joined int) bool {
	if r.width > 0 && joined < maxWrapped && lineWidth(raw) == r.width && !padded(raw) {
		return true
	}
	return len(raw) <= maxHeld && joined < maxJoined && cutShort(unwrapped(raw))
}

// maxHeld bounds the lines that are held back: wrapped ones are as narrow as a terminal, but may follow a bar.
const maxHeld = 8 << 10

// release reads the held line as it is: nothing that follows belongs to it.
func (r *reader) release() {
	if h := r.held; h != nil {
		r.held = nil
		no := r.lineNo
		r.lineNo = h.no + int64(h.joined)
		r.unheld(h)
		r.lineNo = max(no, r.lineNo)
	}
}

// unheld reads a line that was held back; the scanner stands below it by now.
func (r *reader) unheld(h *held) {
	r.heldAbove = &h.above
	r.physical(&h.phys)
	r.heldAbove = nil
	if h.joined > 0 {
		r.mended = unwrappedLine{unwrapped(h.raw), h.no + int64(h.joined)}
	}
}

// continues reports whether a line can be the tail of a wrapped one, rather than a message of its own.
func continues(text []byte) bool {
	text = bytes.TrimRight(text, "\r")
	if len(bytes.TrimSpace(text)) == 0 {
		return false
	}
	p := line.Parse(text)
	if p.Stamp.Kind != line.NoStamp || p.Source != "" || p.Who.Global != line.Unknown {
		return false
	}
	for _, s := range []string{"Exception raised from", "frame #", "terminate called", "Traceback", "  what():", "Fatal Python error"} {
		if bytes.HasPrefix(text, []byte(s)) {
			return false
		}
	}
	return true
}

// unwrapped is raw without the line ends of joined lines.
func unwrapped(raw []byte) []byte {
	if bytes.IndexByte(raw, '\n') < 0 {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for rest := raw; ; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			return append(out, rest...)
		}
		out = append(out, bytes.TrimSuffix(rest[:i], []byte("\r"))...)
		rest = rest[i+1:]
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
	rec.Who = rec.Prefix.Who
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

// finish closes what is open at the end of the file.
func (r *reader) finish() {
	r.resume(false)
	r.line, r.headAbove = nil, nil // the scanner has the line's room back
	if !r.decided {
		r.decide()
	}
	r.release()
	r.parted()
	for len(r.open) > 0 {
		blocks := r.open
		r.open = nil
		for _, b := range blocks {
			b.f(r, nil)
		}
	}
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
