package worker

import (
	"io"
	"slices"

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

	head      *head // the first lines, until decided
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
	at         io.ReaderAt    // the file, where any part of it can be read,
	size       int64          // and its size

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
	waits := r.held != nil || r.part != nil
	return !waits && r.width == 0 && r.bare()
}

// bare reports whether nothing stands before the lines that their programs did not write there.
func (r *reader) bare() bool { return r.margin == nil && r.envelopes.Columns == nil }

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
		if r.keepHead(&p); l.No < headLines && len(r.head.text) < maxHead && !l.Long {
			return 1
		}
		return r.decide()
	}
	return r.take(&p, l.Long)
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
