package scan

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
)

// Defaults of Options, and limits.
const (
	DefaultMaxLine   = 1 << 20
	DefaultChunkSize = 512 << 10
	minLiteral       = 3
	maxLiteral       = 512
	maxLiterals      = 1<<14 - 1 // so that their words are counted in 16 bits
	// minHole is the shortest run of NUL bytes reported as a hole: a page that was allocated and never written.
	minHole = 4 << 10
)

// Options of a Scanner; zero values are defaults.
type Options struct {
	// HeadLines is how many lines at the top are delivered whatever they hold.
	HeadLines int
	// MaxLine is the longest line, in bytes, that is delivered in one piece.
	MaxLine int
	// ChunkSize is how many bytes are read at a time.
	ChunkSize int
	// Frequent are literals of lines that healthy programs print all the time. Where lines that hold nothing else stand
	// close together, only stretches of the content are searched for them: see thin.go.
	Frequent map[string]bool
	// Slow are those of them that do not say how far a program is: before some of the others did, only very many lines with
	// nothing else are passed over.
	Slow map[string]bool
}

// Scanner looks for a fixed set of literals. It is immutable and shared by goroutines.
type Scanner struct {
	opts   Options
	lits   []string
	filter *filter
	rare   *filter // without the frequent literals
	often  *sieve  // of the frequent literals only
	common []bool  // by literal: it is one of them
	slow   []bool  // by literal: it is one of Options.Slow
	// overlap is how much of a window of a long line is repeated in the next one.
	overlap int
	buffers *sync.Pool
	helpers int   // goroutines that search ahead
	kept    *Kept // nil: nothing is
	// Lines that lie between these offsets are counted and not searched; see Ends.
	skipFrom, skipTo int64
}

// New builds a scanner. The index of a literal is its id in Line.Hits. A literal has at least three bytes and no
// newline. Literals are case-sensitive bytes. The shortest one decides how closely the whole text is looked at: with
// six bytes or more every fourth byte is enough, with five every third.
func New(literals []string, opts Options) (*Scanner, error) {
	if len(literals) > maxLiterals {
		return nil, fmt.Errorf("scan: %d literals, at most %d are possible", len(literals), maxLiterals)
	}
	if opts.MaxLine <= 0 {
		opts.MaxLine = DefaultMaxLine
	}
	if opts.ChunkSize <= 0 {
		opts.ChunkSize = DefaultChunkSize
	}
	s := &Scanner{opts: opts, lits: literals, buffers: &sync.Pool{}}
	longest := 0
	for _, l := range literals {
		switch {
		case len(l) < minLiteral || len(l) > maxLiteral:
			return nil, fmt.Errorf("scan: literal %q has %d bytes, not %d to %d", l, len(l), minLiteral, maxLiteral)
		case strings.ContainsAny(l, "\n"):
			return nil, fmt.Errorf("scan: literal %q holds a newline", l)
		}
		longest = max(longest, len(l))
	}
	s.lits = append([]string(nil), literals...)
	s.common, s.slow = make([]bool, len(s.lits)), make([]bool, len(s.lits))
	words := gauge(s.lits, frequencies())
	s.filter = newFilter(s.lits, s.common, words)
	s.rare = s.filter
	if len(opts.Frequent) > 0 {
		for id, l := range s.lits {
			s.common[id], s.slow[id] = opts.Frequent[l], opts.Slow[l]
		}
		s.rare = newFilter(s.lits, s.common, words)
		s.often = newSieve(s.lits, s.common, words)
	}
	// The overlap must hold any literal but its last byte; the rest is context for a reader of the window.
	s.overlap = max(longest-1, min(4<<10, opts.MaxLine/4), 1)
	s.opts.MaxLine = max(s.opts.MaxLine, 2*s.overlap)
	return s, nil
}

// Ends returns a scanner of the same literals that searches, of content of the given size, only about the first head and the
// last tail bytes. It still reads everything between: lines, offsets and Stats are those of the whole content.
func (s *Scanner) Ends(head, tail, size int64) *Scanner {
	if head+tail >= size {
		return s
	}
	short := *s
	short.skipFrom, short.skipTo = head, size-tail
	return &short
}

// Close returns a scanner of the same literals that passes over no line.
func (s *Scanner) Close() *Scanner {
	all := *s
	all.rare = s.filter
	return &all
}

// Ahead returns a scanner of the same literals that reads and searches ahead of the visitor, on one goroutine that reads
// and n that search. What it delivers is the same.
func (s *Scanner) Ahead(n int) *Scanner {
	ahead := *s
	ahead.helpers = n
	return &ahead
}

// Scan reads r to its end and calls visit for the lines that hold a literal or were asked for. Memory is bounded by the
// options, whatever the input. After an error of r the lines read so far have been delivered and Stats describe them;
// the error is returned. An error of visit ends the pass.
func (s *Scanner) Scan(ctx context.Context, r io.Reader, visit Visitor) (Stats, error) {
	return s.ScanNews(ctx, r, nil, visit)
}

// ScanNews is Scan without the lines that peek takes.
func (s *Scanner) ScanNews(ctx context.Context, r io.Reader, peek Peeker, visit Visitor) (Stats, error) {
	p := &pass{Scanner: s, peek: peek, visit: visit, want: s.opts.HeadLines, no: 1, thin: newThinner()}
	c := &cutter{Scanner: s, r: r}
	var err error
	if s.helpers > 0 {
		err = p.ahead(ctx, c, s.helpers)
	} else {
		err = p.run(ctx, c)
	}
	st := c.stats(p.no - 1)
	st.EndsClean = err == nil && c.bytes > 0 && c.lastByte == '\n' && len(st.Holes) == 0
	return st, err
}

// pass is the state of one Scan.
type pass struct {
	*Scanner
	peek  Peeker // nil: nobody takes lines
	visit Visitor
	want  int   // lines still to be delivered whatever they hold
	no    int64 // number of the line that begins at the start of the block
	off   int64 // offset of the block in the content
	// seen is how many bytes at the start of the block were searched before, as the end of a window of a long line
	// whose first byte is at lineOff. long is set within such a line.
	long    bool
	seen    int
	lineOff int64
	more    int // what the visitor asked for in earlier windows of this line

	thin  thinner
	known int     // how many of the next lines the visitor knows already
	above []byte  // what stands right before the block
	below int     // how many bytes are known behind it
	since int64   // offset of the first line of those that were passed over
	over  bool    // lines are being passed over
	idle  bool    // the last line was unwanted
	ready list    // what was found ahead
	looks looks   // at the block
	found []match // in the line at hand
	whole []byte  // the block that holds it,
	start int     // and where it begins there
	lacks bool    // frequent literals were not looked for in it
	hits  []uint16
	marks []Mark
	line  Line // reused: a visitor may not keep it
}

// run reads and visits piece by piece.
func (p *pass) run(ctx context.Context, c *cutter) error {
	room := p.room()
	defer p.buffers.Put(room)
	var b piece
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !c.next(&b, *room) {
			return c.failure()
		}
		if p.thin.pass && !b.window && !b.skip {
			// All that is rare in the piece before the first line of it is visited: the visitor's code, which is much, would be
			// pushed out of the caches between two lines.
			b.by, b.found = p.rare, p.rare.collect(b.found[:0], b.b, 0, len(b.b))
		}
		if err := p.piece(&b); err != nil {
			return err
		}
	}
}

func (s *Scanner) room() *[]byte {
	room, _ := s.buffers.Get().(*[]byte)
	if room == nil {
		b := make([]byte, aboveMost+s.opts.MaxLine+s.opts.ChunkSize+s.hold())
		room = &b
	}
	return room
}

// piece visits what was cut.
func (p *pass) piece(c *piece) error {
	p.off, p.above, p.below, p.ready = c.off, c.above, len(c.below), list{by: c.by, found: c.found}
	p.looks.by = nil
	if c.total >= 0 {
		p.thin.end(c.total)
		if p.kept != nil {
			defer func() { p.kept.tail(c.b, c.off) }()
		}
	}
	switch {
	case c.skip:
		p.no += int64(bytes.Count(c.b, newline))
		p.want, p.over = 0, false
		return nil
	case c.window:
		p.over = false
		return p.cut(c.b, 0)
	}
	return p.block(c.b, c.final)
}

// block visits the lines of b, which begins at the start of a line (or within a long one) and ends with a newline, or,
// if final, with the file.
func (p *pass) block(b []byte, final bool) error {
	pos, counted := 0, 0 // start of the next line to look at; p.no belongs to counted
	for pos < len(b) {
		if p.known > 0 {
			pos = p.leap(b, pos)
			continue
		}
		var start, end int
		searched := p.want == 0 && !p.long
		if searched && p.peek != nil {
			if pos, counted = p.peeked(b, pos, counted); pos == len(b) {
				break
			}
		}
		p.lacks = false
		if searched {
			var to int
			if to, start, end = p.search(b, pos); start < 0 {
				pos = to
				continue
			}
		} else {
			start, end = pos, len(b)
			if i := bytes.IndexByte(b[start:], '\n'); i >= 0 {
				end = start + i
			}
		}
		p.no += int64(bytes.Count(b[counted:start], newline))
		counted = start
		for end-start > p.opts.MaxLine {
			if err := p.cut(b, start); err != nil {
				return err
			}
			start += p.opts.MaxLine - p.overlap
			searched = false
		}
		if !searched {
			p.found = p.filter.collect(p.found[:0], b, start, end)
		}
		passed := !searched && !p.long && p.rare != p.filter && p.thin.at(p.off+int64(start)) && len(p.found) > 0 && p.allCommon()
		p.thin.saw(p.off+int64(start), end-start, p.found, p.common, p.slow)
		p.line.Before, p.line.Passed = nil, passed
		if searched && p.over {
			p.line.Before = p.before(b, start)
		}
		if err := p.deliver(b, start, end, final && end == len(b), true); err != nil {
			return err
		}
		pos = end + 1
		if !p.idle {
			p.since = p.off + int64(pos)
		}
	}
	p.no += int64(bytes.Count(b[counted:], newline))
	return nil
}

var newline = []byte{'\n'}

// peeked offers the lines from b[pos] on, before they are searched, to the one who may know them. It returns where the first begins that is
// not taken; p.no belongs to counted.
func (p *pass) peeked(b []byte, pos, counted int) (next, countedTo int) {
	for pos < len(b) {
		off := p.off + int64(pos)
		n := bytes.IndexByte(b[pos:], '\n')
		if whole := n >= 0 && n <= p.opts.MaxLine; !whole || off >= p.thin.tail || p.thin.at(off) {
			break
		}
		p.no += int64(bytes.Count(b[counted:pos], newline))
		counted = pos
		if !p.peek(b[pos:pos+n:pos+n], p.no, off) {
			break
		}
		if p.kept != nil {
			p.kept.line(b, p.off, pos, pos+n)
		}
		pos += n + 1
		p.over, p.since = false, p.off+int64(pos)
	}
	return pos, counted
}

// leap passes over the line at b[pos], which the visitor knows, and returns where the next one begins.
func (p *pass) leap(b []byte, pos int) int {
	end := len(b)
	if i := bytes.IndexByte(b[pos:], '\n'); i >= 0 {
		end = pos + i
	}
	if p.kept != nil {
		p.kept.line(b, p.off, pos, end)
	}
	p.known--
	p.since = p.off + int64(end) + 1
	return min(end+1, len(b))
}

// cut visits the MaxLine bytes of b from start on, which are in a line longer than that.
func (p *pass) cut(b []byte, start int) error {
	if !p.long {
		p.long, p.lineOff, p.seen, p.more = true, p.off+int64(start), 0, 0
	}
	end := start + p.opts.MaxLine
	p.found = p.filter.collect(p.found[:0], b, start, end)
	p.line.Passed = false
	err := p.deliver(b, start, end, false, false)
	p.seen = p.overlap
	return err
}

// deliver hands b[start:end] to the visitor if it holds a literal that was not seen before, of those in p.found, or is
// wanted. last says that the line ends here.
func (p *pass) deliver(b []byte, start, end int, final, last bool) error {
	known := 0 // end of what an earlier window showed
	if p.long {
		known = start + p.seen
	}
	p.mark(start, known)
	p.idle = false
	if len(p.hits) > 0 || p.want > 0 {
		p.line = Line{Before: p.line.Before, Passed: p.line.Passed, Last: p.hold() > 0 && p.off+int64(start) >= p.thin.tail, No: p.no, Off: p.off + int64(start), TextOff: p.off + int64(start), Text: b[start:end:end], Final: final, Hits: p.hits, Marks: p.marks}
		p.line.lacks, p.line.by = p.lacks, p
		p.whole, p.start = b, start
		if p.long {
			p.line.Off, p.line.Long = p.lineOff, true
		} else {
			p.line.Below = p.behind(b, end)
		}
		more, err := p.visit(&p.line)
		if err != nil {
			return err
		}
		p.idle = more == Unwanted
		if p.kept != nil && !p.long && !p.idle {
			p.kept.line(b, p.off, start, end)
		}
		p.more = max(p.more, more)
		if p.line.Enough {
			p.want = int(max(int64(p.opts.HeadLines)-p.no+1, 0))
		}
		if last {
			p.known = p.line.Skip
			p.want -= p.known
		}
	}
	if last {
		p.want = max(p.want-1, p.more, 0)
		p.more = 0
		p.long, p.seen = false, 0
	}
	return nil
}

// mark turns what was found in the line that begins at start, behind what was known, into hits and marks.
func (p *pass) mark(start, known int) {
	p.hits, p.marks = p.hits[:0], p.marks[:0]
	p.add(start, known)
}

// add adds it to them.
func (p *pass) add(start, known int) {
	sorted := true
	for _, m := range p.found {
		if m.end <= known {
			continue
		}
		k := Mark{At: int32(m.start - start), Lit: m.lit}
		sorted = sorted && (len(p.marks) == 0 || p.marks[len(p.marks)-1].before(k))
		p.marks = append(p.marks, k)
		p.hits = Insert(p.hits, m.lit)
	}
	if !sorted {
		slices.SortFunc(p.marks, func(a, b Mark) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Lit, b.Lit)) })
	}
}

func (m Mark) before(n Mark) bool { return m.At < n.At || m.At == n.At && m.Lit < n.Lit }

// Insert adds a literal to an ascending list without repetition. Few literals stand in one line.
func Insert(list []uint16, lit uint16) []uint16 {
	i := len(list)
	for i > 0 && list[i-1] >= lit {
		if i--; list[i] == lit {
			return list
		}
	}
	list = append(list, lit)
	copy(list[i+1:], list[i:])
	list[i] = lit
	return list
}

// Marks finds the literals that text holds as a line that is delivered has them, in the room of hits and marks.
func (s *Scanner) Marks(hits []uint16, marks []Mark, text []byte) ([]uint16, []Mark) {
	var room [16]match
	p := pass{found: s.filter.collect(room[:0], text, 0, len(text)), hits: hits, marks: marks}
	p.mark(0, 0)
	return p.hits, p.marks
}

// Find appends to dst the ids of the literals that text holds, ascending, without repetition.
func (s *Scanner) Find(dst []uint16, text []byte) []uint16 {
	var room [16]match
	for _, m := range s.filter.collect(room[:0], text, 0, len(text)) {
		dst = Insert(dst, m.lit)
	}
	return dst
}
