package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/bits"
	"slices"
	"strings"
	"sync"

	"faultline/analysis/line"
	"faultline/analysis/scan"
	"faultline/knowledge"
)

// A handler reads one family of lines. A record that holds one of its literals is offered to it; several handlers may
// be offered the same record. A literal has at least five bytes and is matched case-sensitively.
type handler struct {
	name     string
	literals []string
	// read emits what the record says. It returns true where it understood the record, which then is not counted as an
	// unclassified error. The record and its bytes are valid until read returns: copy what is kept.
	read func(r *reader, rec *record) bool
}

// handlers is everything a worker log can say, family by family. Lines that only light ones are offered are the ones
// that healthy jobs print by the million: each says what it says by itself, so they take a shorter way (see physical).
func handlers(known *knowledge.Catalogue) (list []handler, light []bool) {
	list = slices.Concat(
		ncclHandlers(),
		desyncHandlers(),
		reducerHandlers(),
		stallHandlers(),
		tracebackHandlers(),
		ncclWarnHandlers(),
		rasHandlers(),
		slurmHandlers(),
		batchHandlers(),
		launcherHandlers(),
		argumentHandlers(),
		checkpointHandlers(),
		topologyHandlers(),
		runHandlers(),
		signHandlers(known),
		storageHandlers(),
		syncHandlers(),
		rankTimeHandlers(),
		phaseHandlers(),
		elapsedHandlers(),
	)
	list = slices.DeleteFunc(list, func(h handler) bool { return !known.Reads(h.name) })
	light = make([]bool, len(list))
	for _, h := range slices.Concat(jobHandlers(), progressHandlers(), numericHandlers(), ncclCallHandlers()) {
		list, light = append(list, h), append(light, true)
	}
	return list, light
}

// record is one message as it stands in a file: a line, a segment of it between \r, or a part where two messages were
// glued together.
type record struct {
	// At is the header for observations: position of the raw bytes, writer, stamp (or the inherited one).
	At
	Who    line.Who // what At.By says, once the writer is known
	Prefix *line.Prefix
	// Raw are the bytes [Off, Off+Len) of the content, ANSI codes included.
	Raw []byte
	// Text is Raw without ANSI codes; Msg is Text without its prefix.
	Text, Msg []byte
	// head is the line above, where the record is its second half.
	head []byte
	// Cut: the file ends in this record without a \n, or the line is longer than the scanner's limit.
	Cut bool
	// Taken: a follower took it as part of its block.
	Taken   bool
	writer  *writer
	matched bool     // reader.matches are this record's
	ids     []uint16 // of the literals that it holds, valid until read returns
	heard   bool     // words are known
	words   wordSet  // see said
	final   struct { // see finalLine
		read, ok bool
		typ, msg []byte
	}
	storm  *storm // of its kind, if there is an account of it
	excess bool   // one of too many of its kind: no more signs are read of it
	finals *storm // that of final lines like it, of which it is one of too many
	told   bool   // it said something by itself as a final line
}

// emit appends an observation, bounded per file and kind, and in the bytes of the long texts that observations keep.
func emit[T any](r *reader, list *[]T, v T) {
	switch any(&v).(type) {
	case *Checkpoint, *Numeric, *PhaseReport:
		r.does |= noted
	default:
		r.does |= other
	}
	if len(*list) >= maxPerKind || r.kept > maxKept {
		r.dropped++
		return
	}
	switch x := any(&v).(type) {
	case *Exception:
		r.kept += x.size()
	case *NCCLWarn:
		r.kept += len(x.Text)
	case *Sign:
		r.kept += len(x.Text)
	case *CollectiveStack:
		r.kept += framesSize(x.Frames)
	}
	if len(*list) == cap(*list) { // append grows long lists by a quarter, and copies them again and again
		*list = slices.Grow(*list, max(len(*list), 4))
	}
	*list = append(*list, v)
}

// Limits of one file. They bound memory under hostile input and are far above what a real file holds.
const (
	maxFollow       = 4096
	maxOpen         = 64
	maxPerKind      = 1 << 17
	maxKept         = 64 << 20 // bytes of frames, messages and warnings
	maxText         = 2048     // bytes of any text that is kept
	maxLastText     = 256
	maxWriters      = 4096
	maxUnclassified = 50
	headLines       = 200
	tailBytes       = 16 << 10
)

// clip copies a bounded text. Text from a log is never longer than maxText in an observation.
func clip(b []byte) string {
	return string(b[:min(len(b), maxText)])
}

// dispatch is the table of literals: what the scanner looks for and who reads lines that hold it.
type dispatch struct {
	known    *knowledge.Catalogue
	handlers []handler
	literals []string
	owners   [][]uint64      // by literal: the set of handlers that read it
	light    []bool          // by literal: only light handlers do
	alarm    []bool          // by literal: it is one of alarmWords
	wraps    []bool          // by literal: a line with it may be one that cutShort knows
	link     uint16          // linkMark
	frame    uint16          // frameLiteral
	header   uint16          // tracebackHeader
	info     uint16          // ncclInfo
	frequent []bool          // by literal: it is one of frequent
	phases   []bool          // by literal: it begins a report of phases
	nccl     []bool          // by literal: lines of NCCL hold it
	glues    []bool          // by literal: a line with it may be several records, though it holds no bracket
	rules    []uint64        // by literal: the rules of ioRules that it is one of,
	doings   []uint64        // those of doingRules,
	saves    []uint64        // and those of checkpointRules
	resets   []uint8         // by literal: its place in ResetWords + 1, 0 if it is none of them
	named    map[string]int  // the place of a handler
	thrifty  []uint64        // the set of those of thrifty
	pairs    [1 << 10]uint64 // the pairs of bytes that stand next to each other in a literal
}

// adjoin reports whether the two bytes stand next to each other in a literal.
func (d *dispatch) adjoin(a, b byte) bool {
	pair := uint(a)<<8 | uint(b)
	return d.pairs[pair>>6]&(1<<(pair&63)) != 0
}

// whole is the table of everything that is known, built once.
var whole = sync.OnceValue(func() *dispatch { return tableOf(nil) })

// tableOf builds the table of what is known.
func tableOf(known *knowledge.Catalogue) *dispatch {
	list, light := handlers(known)
	d := &dispatch{known: known, handlers: list}
	owners, heavy := map[string][]uint64{}, map[string]bool{}
	own := func(l string) []uint64 {
		if owners[l] == nil {
			owners[l] = make([]uint64, (len(list)+63)/64)
		}
		return owners[l]
	}
	for i, h := range d.handlers {
		for _, l := range h.literals {
			own(l)[i/64] |= 1 << (i % 64)
			heavy[l] = heavy[l] || !light[i]
		}
	}
	// Looked for, whether or not somebody reads it.
	for _, l := range append([]string{linkMark}, alarmLiterals...) {
		own(l)
		heavy[l] = true
	}
	for _, l := range append([]string{ncclInfo}, numberless...) {
		own(l)
	}
	for l := range owners {
		d.literals = append(d.literals, l)
	}
	slices.Sort(d.literals)
	everyday := frequent()
	for _, l := range d.literals {
		for i := 1; i < len(l); i++ {
			pair := uint(l[i-1])<<8 | uint(l[i])
			d.pairs[pair>>6] |= 1 << (pair & 63)
		}
		d.owners = append(d.owners, owners[l])
		d.light = append(d.light, !heavy[l])
		d.alarm = append(d.alarm, slices.Contains(alarmWords, l))
		d.nccl = append(d.nccl, strings.Contains(l, "NCCL INFO") || strings.Contains(l, "NCCL WARN") || strings.Contains(l, "NCCL version"))
		d.frequent = append(d.frequent, everyday[l])
		d.phases = append(d.phases, l == phasesAcross || l == phasesOfOne)
		switch l {
		case ncclInfo:
			d.info = uint16(len(d.alarm) - 1)
		case linkMark:
			d.link = uint16(len(d.alarm) - 1)
		case tracebackHeader:
			d.header = uint16(len(d.alarm) - 1)
		case frameLiteral:
			d.frame = uint16(len(d.alarm) - 1)
		}
		d.resets = append(d.resets, uint8(slices.Index(ResetWords, l)+1))
		d.wraps = append(d.wraps, slices.ContainsFunc(cutPhrases, func(p string) bool { return strings.Contains(p, l) || strings.Contains(l, p) }))
	}
	d.named, d.thrifty = map[string]int{}, make([]uint64, (len(list)+63)/64)
	for i, h := range list {
		if d.named[h.name] = i; slices.Contains(thrifty, h.name) {
			d.thrifty[i/64] |= 1 << (i % 64)
		}
	}
	d.rules = ruleSets(d.literals, ioRules, func(r *ioRule) []string { return r.literals })
	d.saves = ruleSets(d.literals, checkpointRules, func(r *checkpointRule) []string { return []string{r.literal} })
	d.doings = ruleSets(d.literals, doingRules, func(r *doingRule) []string { return r.literals })
	d.glues = make([]bool, len(d.literals))
	for _, w := range line.MarkWords() {
		// Of the literals that the word holds, the longest is the rarest.
		best := ""
		for _, l := range d.literals {
			if len(l) > len(best) && strings.Contains(w, l) {
				best = l
			}
		}
		id, _ := slices.BinarySearch(d.literals, best)
		d.glues[id] = true
	}
	return d
}

// wrappable reports whether a line with these literals may be one that cutShort knows.
func (d *dispatch) wrappable(hits []uint16) bool {
	for _, id := range hits {
		if d.wraps[id] {
			return true
		}
	}
	return false
}

// everyday reports whether only light handlers want a line with these literals.
func (d *dispatch) everyday(hits []uint16) bool {
	for _, id := range hits {
		if !d.light[id] {
			return false
		}
	}
	return len(hits) > 0
}

// linked reports whether a line with these literals holds a link as chats make them.
func (d *dispatch) linked(hits []uint16) bool { return slices.Contains(hits, d.link) }

// Literals are the strings that the scanner has to look for, sorted.
func Literals() []string { return slices.Clone(whole().literals) }

// Scanner finds the lines that Read reads, by what is known of their wordings. It is immutable; one serves any number of goroutines.
type Scanner struct {
	*scan.Scanner
	table    *dispatch
	thorough bool // every line is read, whatever is known of its like
}

// By returns the same for another scanner of the same literals.
func (s *Scanner) By(sc *scan.Scanner) *Scanner { return &Scanner{sc, s.table, s.thorough} }

// NewScanner returns a scanner of everything that is known.
func NewScanner() (*Scanner, error) { return wholeScanner() }

// wholeScanner is built once: choosing the windows of the literals takes longer than reading a small job's logs.
var wholeScanner = sync.OnceValues(func() (*Scanner, error) { return newScanner(whole()) })

// ScannerOf returns a scanner of a catalogue.
func ScannerOf(known *knowledge.Catalogue) (*Scanner, error) {
	if known.Whole() {
		return NewScanner()
	}
	return newScanner(tableOf(known))
}

func newScanner(d *dispatch) (*Scanner, error) {
	sc, err := scan.New(d.literals, scan.Options{HeadLines: headLines, Frequent: frequent(), Slow: talk()})
	if err != nil {
		return nil, fmt.Errorf("building the scanner for worker logs: %w", err)
	}
	return &Scanner{Scanner: sc, table: d}, nil
}

// Read reads one file. name is what the observations call it. A file that cannot be read to its end gives what was
// read, with the reason in its Tail; only a cancelled context is an error.
func Read(ctx context.Context, name string, src io.Reader, sc *Scanner) (*Observations, error) {
	r := newReader(name, sc)
	if f, ok := src.(randomAccess); ok {
		r.at, r.size = f, f.Size()
	}
	tail := tailReader{r: src}
	stats, err := sc.ScanNews(ctx, &tail, r.peek, r.visit)
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading %s: %w", name, ctx.Err())
	}
	r.finish()
	r.readTail(&tail, stats.Lines)
	r.courses()
	r.putInOrder()
	t := Tail{
		File: name, Bytes: stats.Bytes, Lines: stats.Lines, EndsClean: stats.EndsClean && err == nil, Drawn: err == nil && tail.drawn(),
		Holed: len(stats.Holes) > 0, First: r.first, Last: r.last, Writers: r.spans(), Hostless: r.hostless, Unclassified: r.unclassified, Dropped: r.dropped, Joined: r.joined,
		Compared: r.clocks.known && !r.clocks.alien, Ahead: r.clocks.ahead, Rhythm: r.pulse.rhythm(stats.Bytes - tailBytes),
	}
	if err != nil {
		t.ReadError = readError(err)
	}
	r.obs.Tails = []Tail{t}
	r.obs.UnclassifiedN = r.unclassified
	r.obs.NCCL = r.said()
	return r.obs, nil
}

// randomAccess is a content of which any part can be read.
type randomAccess interface {
	io.ReaderAt
	Size() int64
}

func newReader(name string, sc *Scanner) *reader {
	return &reader{
		obs: &Observations{Known: sc.table.known}, file: name, table: sc.table, sc: sc, writers: map[line.Who]*writer{}, stride: 1, stepOff: -1, whole: wholeBars,
	}
}

// readError is the reason without the path in front of it: reports do not depend on where files lie.
func readError(err error) string {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	return clip([]byte(err.Error()))
}

// dispatch offers a record to the handlers whose literals it holds.
func (r *reader) dispatch(rec *record, p *phys, at int) bool {
	d := r.table
	if r.due == nil {
		r.due = make([]uint64, (len(d.handlers)+63)/64)
	}
	clear(r.due)
	ids := r.literalsOf(rec, p, at)
	rec.ids = ids
	for _, id := range ids {
		for i, set := range d.owners[id] {
			r.due[i] |= set
		}
	}
	understood, wanted, light := false, false, true
	r.alarm = p.all
	for _, id := range ids {
		r.alarm = r.alarm || d.alarm[id]
		light = light && d.light[id]
	}
	for _, set := range r.due {
		wanted = wanted || set != 0
	}
	if wanted && !light {
		rec.storm, rec.excess = r.stormOf(rec, ids)
	}
	for i, set := range r.due {
		for ; set != 0; set &= set - 1 {
			if d.handlers[i*64+bits.TrailingZeros64(set)].read(r, rec) {
				understood = true
			}
		}
	}
	return understood
}

// literalsOf lists the literals of the record that begins at p.raw[at:].
func (r *reader) literalsOf(rec *record, p *phys, at int) []uint16 {
	switch {
	case p.all:
		// Joined lines hold literals that the scanner could not see.
		return r.find(rec.Text)
	case len(rec.Text) != len(rec.Raw):
		return r.piecewise(rec, p, at)
	case len(rec.Raw)+1 >= len(p.raw):
		return p.hits // the whole line, perhaps without its \r
	}
	r.ids = r.between(r.ids[:0], p, at, at+len(rec.Raw))
	return r.ids
}

// between adds the literals that stand wholly in a stretch of the line. Stretches come from left to right.
func (r *reader) between(ids []uint16, p *phys, from, to int) []uint16 {
	for p.next < len(p.marks) && int(p.marks[p.next].At) < from {
		p.next++
	}
	for _, m := range p.marks[p.next:] {
		if int(m.At) >= to {
			break
		}
		if int(m.At)+len(r.table.literals[m.Lit]) <= to {
			ids = scan.Insert(ids, m.Lit)
		}
	}
	return ids
}

// find looks for every literal.
func (r *reader) find(text []byte) []uint16 {
	r.ids = r.sc.Find(r.ids[:0], text)
	return r.ids
}

// piecewise lists the literals of a record that is broken by escape sequences: those of its pieces, unless the end of one
// and the beginning of the next may be a literal together, or links and entities changed it, too.
func (r *reader) piecewise(rec *record, p *phys, at int) []uint16 {
	r.ids = r.ids[:0]
	kept, torn := 0, false
	line.Pieces(rec.Raw, func(off int, piece []byte) {
		if kept < len(rec.Text) && kept > 0 && r.table.adjoin(rec.Text[kept-1], piece[0]) {
			torn = true
		}
		r.ids = r.between(r.ids, p, at+off, at+off+len(piece))
		kept += len(piece)
	})
	if torn || kept != len(rec.Text) {
		return r.find(rec.Text)
	}
	return r.ids
}

// alarmWords are what a line that looks like an error holds.
var alarmWords = []string{"rror:", "ERROR", "Exception", "FATAL", "CRITICAL", "Fatal ", "fatal error", "Traceback", "panic: "}

// nativeLiteral finds what ProcessGroupNCCL prints.
const nativeLiteral = "NCCL.cpp:"

// alarmLiterals make the scanner deliver lines that look like errors, so that wording nobody knows yet becomes visible.
var alarmLiterals = []string{
	"rror: ", "ERROR", "error: ", "Exception", "FATAL", "CRITICAL", "Fatal ", "fatal error", "Traceback", "panic: ",
	nativeLiteral, "torch/distributed/elastic",
}

// alarming reports whether a record that nobody understood looks like an error. maybe is false where it holds none of
// alarmWords but, perhaps, the first.
func alarming(rec *record, maybe bool) bool {
	switch rec.Prefix.Severity {
	case 'E', 'F':
		_, _, end := lastGroup(rec.Msg)
		m := bytes.TrimSpace(rec.Msg[max(end, 0):])
		return len(m) > 0 && !bareRank(m) // c10 reports that begin with \n have an empty first line
	case 'I', 'V':
		return false
	}
	if bytes.HasPrefix(rec.Msg, []byte("frame #")) {
		return false // a C++ frame: c10::Error::Error
	}
	if maybe && containsAny(rec.Msg, alarmWords[1:]) {
		return true
	}
	return bytes.Contains(rec.Msg, []byte(alarmWords[0])) && complains(rec.Msg)
}
