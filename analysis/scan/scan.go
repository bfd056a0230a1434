package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Defaults of Options, and limits.
const (
	DefaultMaxLine   = 1 << 20
	DefaultChunkSize = 1 << 20
	minLiteral       = 3
	maxLiteral       = 512
	maxLiterals      = 1 << 15
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
}

// Scanner looks for a fixed set of literals. It is immutable and shared by goroutines.
type Scanner struct {
	opts   Options
	lits   []string
	short  []uint16 // ids of the literals that the filter cannot take
	filter *filter
	// overlap is how much of a window of a long line is repeated in the next one.
	overlap int
	buffers *sync.Pool
	// Lines that lie between these offsets are counted and not searched; see Ends.
	skipFrom, skipTo int64
}

// New builds a scanner. The index of a literal is its id in Line.Hits. A literal has at least three bytes and no
// newline; those of three to six bytes cost a pass over the text each, so prefer longer forms. Literals are
// case-sensitive bytes.
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
	s := &Scanner{opts: opts, lits: literals, filter: newFilter(nil), buffers: &sync.Pool{}}
	longest := 0
	for id, l := range literals {
		switch {
		case len(l) < minLiteral || len(l) > maxLiteral:
			return nil, fmt.Errorf("scan: literal %q has %d bytes, not %d to %d", l, len(l), minLiteral, maxLiteral)
		case strings.ContainsAny(l, "\n"):
			return nil, fmt.Errorf("scan: literal %q holds a newline", l)
		case len(l) < minLong:
			s.short = append(s.short, uint16(id))
		}
		longest = max(longest, len(l))
	}
	s.lits = append([]string(nil), literals...)
	s.filter = newFilter(s.lits)
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

// Scan reads r to its end and calls visit for the lines that hold a literal or were asked for. Memory is bounded by the
// options, whatever the input. After an error of r the lines read so far have been delivered and Stats describe them;
// the error is returned. An error of visit ends the pass.
func (s *Scanner) Scan(ctx context.Context, r io.Reader, visit Visitor) (Stats, error) {
	buf, _ := s.buffers.Get().(*[]byte)
	if buf == nil {
		b := make([]byte, s.opts.MaxLine+s.opts.ChunkSize)
		buf = &b
	}
	defer s.buffers.Put(buf)
	p := &pass{Scanner: s, visit: visit, want: s.opts.HeadLines, no: 1}
	p.set = make([]bool, len(s.lits))
	p.next = make([]int, len(s.short))
	err := p.run(ctx, r, *buf)
	st := p.stats()
	st.EndsClean = err == nil && p.bytes > 0 && p.lastByte == '\n' && len(st.Holes) == 0
	return st, err
}

// pass is the state of one Scan.
type pass struct {
	*Scanner
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

	set  []bool
	hits []uint16
	line Line  // reused: a visitor may not keep it
	next []int // for each short literal, where it stands next; −1: not in this block

	bytes, lines, nuls int64
	lastByte           byte
	holes              []Hole
	run0               int64 // length of the run of NUL bytes at the end of what was read
}

func (p *pass) run(ctx context.Context, r io.Reader, buf []byte) error {
	n := 0 // bytes in buf
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		m, rerr := fill(r, buf[n:n+p.opts.ChunkSize])
		p.count(buf[n : n+m])
		n += m
		end := bytes.LastIndexByte(buf[:n], '\n') + 1
		if rerr != nil {
			end = n
		}
		if end > 0 && p.skipped(end) {
			p.no += int64(bytes.Count(buf[:end], newline))
			p.off += int64(end)
			p.want = 0
			n = copy(buf, buf[end:n])
		} else if end > 0 {
			if err := p.block(buf[:end], rerr != nil && end > 0 && buf[end-1] != '\n'); err != nil {
				return err
			}
			n = copy(buf, buf[end:n])
		}
		for rerr == nil && n > p.opts.MaxLine {
			if err := p.window(buf[:p.opts.MaxLine]); err != nil {
				return err
			}
			keep := p.opts.MaxLine - p.overlap
			n = copy(buf, buf[keep:n])
		}
		if errors.Is(rerr, io.EOF) {
			return nil
		}
		if rerr != nil {
			return fmt.Errorf("after %d bytes: %w", p.bytes, rerr)
		}
	}
}

// skipped says whether the n bytes from the block's offset on are not to be searched. The end of a long line that was
// begun is searched all the same.
func (p *pass) skipped(n int) bool {
	return p.skipTo > 0 && !p.long && p.off >= p.skipFrom && p.off+int64(n) <= p.skipTo
}

// fill reads until b is full or the reader ends or fails. Unlike io.ReadFull it hands errors on as they are.
func fill(r io.Reader, b []byte) (n int, err error) {
	idle := 0
	for n < len(b) && err == nil {
		var m int
		m, err = r.Read(b[n:])
		n += m
		if m > 0 {
			idle = 0
		} else if idle++; idle > 100 && err == nil {
			err = io.ErrNoProgress
		}
	}
	return n, err
}

// block visits the lines of b, which begins at the start of a line (or within a long one) and ends with a newline, or,
// if final, with the file.
func (p *pass) block(b []byte, final bool) error {
	for i := range p.next {
		p.next[i] = bytes.Index(b, []byte(p.lits[p.short[i]]))
	}
	pos, counted := 0, 0 // start of the next line to look at; p.no belongs to counted
	for pos < len(b) {
		start := pos
		if p.want == 0 && !p.long {
			at := p.earliest(b, pos)
			if at < 0 {
				break
			}
			start = bytes.LastIndexByte(b[pos:at], '\n') + 1 + pos
		}
		end := bytes.IndexByte(b[start:], '\n')
		if end < 0 {
			end = len(b)
		} else {
			end += start
		}
		p.no += int64(bytes.Count(b[counted:start], newline))
		counted = start
		for end-start > p.opts.MaxLine {
			if err := p.cut(b, start); err != nil {
				return err
			}
			start += p.opts.MaxLine - p.overlap
		}
		if err := p.deliver(b, start, end, final && end == len(b), true); err != nil {
			return err
		}
		pos = end + 1
	}
	p.no += int64(bytes.Count(b[counted:], newline))
	p.off += int64(len(b))
	return nil
}

var newline = []byte{'\n'}

// window visits b, the first MaxLine bytes of what is known of a line whose end is not.
func (p *pass) window(b []byte) error {
	for i := range p.next {
		p.next[i] = bytes.Index(b, []byte(p.lits[p.short[i]]))
	}
	err := p.cut(b, 0)
	p.off += int64(p.opts.MaxLine - p.overlap)
	return err
}

// cut visits the MaxLine bytes of b from start on, which are in a line longer than that.
func (p *pass) cut(b []byte, start int) error {
	if !p.long {
		p.long, p.lineOff, p.seen, p.more = true, p.off+int64(start), 0, 0
	}
	err := p.deliver(b, start, start+p.opts.MaxLine, false, false)
	p.seen = p.overlap
	return err
}

// earliest is a position in the first line of b[from:] that holds a literal, −1 if none does.
func (p *pass) earliest(b []byte, from int) int {
	at := -1
	for i, n := range p.next {
		if n >= 0 && n < from {
			n = bytes.Index(b[from:], []byte(p.lits[p.short[i]]))
			if n >= 0 {
				n += from
			}
			p.next[i] = n
		}
		if n >= 0 && (at < 0 || n < at) {
			at = n
		}
	}
	to := len(b)
	if at >= 0 {
		to = at // a long literal further on is not earlier
	}
	if l := p.filter.next(b, from, to); l >= 0 {
		return l
	}
	return at
}

// deliver hands b[start:end] to the visitor if it holds a literal that was not seen before or is wanted. last says that
// the line ends here.
func (p *pass) deliver(b []byte, start, end int, final, last bool) error {
	known := 0 // end of what an earlier window showed
	if p.long {
		known = start + p.seen
	}
	clear(p.set)
	p.hits = p.hits[:0]
	p.filter.collect(b, start, end, func(lit uint16, e int) {
		if e > known {
			p.set[lit] = true
		}
	})
	for i, id := range p.short {
		if n := p.next[i]; n < 0 || n >= end {
			continue
		}
		l := p.lits[id]
		from := max(start, known-len(l)+1)
		if from < end && bytes.Contains(b[from:end], []byte(l)) {
			p.set[id] = true
		}
	}
	for id, in := range p.set {
		if in {
			p.hits = append(p.hits, uint16(id))
		}
	}
	if len(p.hits) > 0 || p.want > 0 {
		p.line = Line{No: p.no, Off: p.off + int64(start), TextOff: p.off + int64(start), Text: b[start:end:end], Final: final, Hits: p.hits}
		if p.long {
			p.line.Off, p.line.Long = p.lineOff, true
		}
		more, err := p.visit(&p.line)
		if err != nil {
			return err
		}
		p.more = max(p.more, more)
	}
	if last {
		p.want = max(p.want-1, p.more, 0)
		p.more = 0
		p.long, p.seen = false, 0
	}
	return nil
}
