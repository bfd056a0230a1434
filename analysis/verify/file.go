package verify

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"io/fs"
	"slices"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"faultline/incident"
)

const (
	bufferSize = 256 << 10
	// A segment longer than longSegment is evaluated window by window.
	longSegment = bufferSize / 2
	// holeBytes is the shortest run of NUL bytes that makes a hole (incident.Evidence, Files).
	holeBytes = 4096
	// tailBytes of the file after a quote are kept, to see whether its last token goes on.
	tailBytes = maxToken + 64
	// maxWindow bounds what a zstd frame may ask for; `zstd --long=27` needs that much.
	maxWindow = 128 << 20
)

// pass is everything that is asked of one file, answered in one reading.
type pass struct {
	path    string
	from    Verifier
	quotes  []*quote
	tallies []*tally
	byKey   map[string]*tally
	whole   bool // length and clean end are asked for
	hash    bool // the SHA-256 of the stored bytes is asked for

	// Answers.
	err   error // the file could not be read
	sum   string
	bytes int64
	clean bool

	broken bool // decompression stopped before its end
}

// quote is one quotation being looked for.
type quote struct {
	offset int64
	want   int // bytes to collect: text and tail
	// Answers.
	line int64 // 0: the file ends before offset
	got  []byte
}

// tally counts the segments that satisfy one predicate and collects what they capture.
type tally struct {
	match match
	limit int // distinct values worth collecting: one more than anybody claims
	// Answers.
	n      int64
	values map[string]struct{}
}

func (p *pass) addQuote(offset int64, text int) *quote {
	q := &quote{offset: offset, want: text + tailBytes}
	p.quotes = append(p.quotes, q)
	return q
}

func (p *pass) addTally(key string, pr *predicate, limit int) *tally {
	t := p.byKey[key]
	if t == nil {
		if p.byKey == nil {
			p.byKey = map[string]*tally{}
		}
		t = &tally{match: match{p: pr}}
		p.byKey[key] = t
		p.tallies = append(p.tallies, t)
	}
	t.limit = max(t.limit, limit)
	return t
}

// pathless takes the path out of an error: where the bytes lie must not reach a report.
func pathless(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// watched remembers an error of the disk, to tell it from one of the decompressor, and hashes what is read.
type watched struct {
	io.Reader
	err error
	sum hash.Hash // nil: not asked for
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if err != nil && err != io.EOF {
		w.err = err
	}
	if w.sum != nil {
		w.sum.Write(p[:n])
	}
	return n, err
}

// hashRest reads what a pass left and returns the hash of all, or "" where the disk fails.
func (w *watched) hashRest(ctx context.Context, buf []byte) (string, error) {
	for w.err == nil {
		if err := ctx.Err(); err != nil {
			return "", err
		}
		if _, err := w.Read(buf); errors.Is(err, io.EOF) {
			return hex.EncodeToString(w.sum.Sum(nil)), nil
		}
	}
	return "", nil
}

// room is the memory of one worker, used for one file after the other.
type room struct {
	buf  []byte
	head *bufio.Reader
	doc  bytes.Buffer // a document
	pile stacker      // and its values, where it is a pickle
}

func newRoom() *room {
	return &room{buf: make([]byte, bufferSize), head: bufio.NewReaderSize(nil, 64<<10)}
}

// content returns the reader of a file's content, decompressed if its first bytes say so.
func content(r io.Reader, b *bufio.Reader) (io.Reader, func(), error) {
	b.Reset(r)
	magic, _ := b.Peek(4)
	switch {
	case bytes.HasPrefix(magic, []byte{0x1f, 0x8b}):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, nil, err
		}
		return z, func() { z.Close() }, nil
	case bytes.Equal(magic, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, err
		}
		return z, z.Close, nil
	}
	return b, func() {}, nil
}

// run reads the file once. Only the context's end is an error of its own; everything else is an answer.
func (p *pass) run(ctx context.Context, rm *room) error {
	slices.SortFunc(p.quotes, func(a, b *quote) int {
		switch {
		case a.offset < b.offset:
			return -1
		case a.offset > b.offset:
			return 1
		}
		return 0
	})
	f, err := p.from.open(p.path)
	if err != nil {
		p.err = pathless(err)
		return nil
	}
	defer f.Close()
	disk := &watched{Reader: f}
	if p.hash {
		disk.sum = sha256.New()
	}
	if err := p.unpack(ctx, disk, rm); err != nil || !p.hash || disk.err != nil {
		return err
	}
	p.sum, err = disk.hashRest(ctx, rm.buf)
	return err
}

func (p *pass) unpack(ctx context.Context, disk *watched, rm *room) error {
	r, done, err := content(disk, rm.head)
	if err != nil {
		if disk.err != nil {
			p.err = pathless(disk.err)
		}
		p.broken = true
		return nil
	}
	defer done()
	return p.read(ctx, r, disk, rm.buf)
}

func (p *pass) read(ctx context.Context, r io.Reader, disk *watched, buf []byte) error {
	look := newLook(p)
	seg := newSegments(p.tallies)
	have := 0
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.Read(buf[have:])
		look.chunk(buf[have : have+n])
		if len(p.tallies) > 0 {
			have = seg.data(buf[:have+n])
		} else if !p.whole && look.complete() {
			return nil
		}
		if err == nil {
			continue
		}
		if err != io.EOF {
			p.broken = true
			// What a cut or damaged compressed file holds before the damage still counts; a failing disk says nothing.
			if disk.err != nil {
				p.err = pathless(disk.err)
			}
		}
		seg.end(buf[:have])
		p.bytes = look.at
		p.clean = !p.broken && look.at > 0 && look.last == '\n' && !look.hole
		return nil
	}
}

// look follows quotes, lines, length and holes over the raw content.
type look struct {
	p      *pass
	at     int64 // offset of the next byte
	line   int64 // number of \n before it, plus 1
	next   int   // first quote not yet reached
	active []*quote
	last   byte
	nuls   int64
	hole   bool
}

func newLook(p *pass) *look { return &look{p: p, line: 1} }

func (l *look) complete() bool { return l.next == len(l.p.quotes) && len(l.active) == 0 }

func (l *look) chunk(b []byte) {
	if len(b) == 0 {
		return
	}
	open := l.active[:0]
	for _, q := range l.active {
		if q.take(b) {
			open = append(open, q)
		}
	}
	l.active = open
	end := l.at + int64(len(b))
	done := l.at // lines are counted up to here
	for l.next < len(l.p.quotes) && l.p.quotes[l.next].offset < end {
		q := l.p.quotes[l.next]
		l.next++
		l.line += int64(bytes.Count(b[done-l.at:q.offset-l.at], []byte{'\n'}))
		done = q.offset
		q.line = l.line
		if q.take(b[q.offset-l.at:]) {
			l.active = append(l.active, q)
		}
	}
	if l.next < len(l.p.quotes) {
		l.line += int64(bytes.Count(b[done-l.at:], []byte{'\n'}))
	}
	if l.p.whole && !l.hole {
		l.runs(b)
	}
	l.last = b[len(b)-1]
	l.at = end
}

// runs looks for a run of NUL bytes that makes a hole.
func (l *look) runs(b []byte) {
	for len(b) > 0 {
		if b[0] != 0 {
			l.nuls = 0
			i := bytes.IndexByte(b, 0)
			if i < 0 {
				return
			}
			b = b[i:]
		}
		n := 0
		for n < len(b) && b[n] == 0 {
			n++
		}
		if l.nuls += int64(n); l.nuls >= holeBytes {
			l.hole = true
			return
		}
		b = b[n:]
	}
}

// take collects bytes of the quote and says whether it wants more.
func (q *quote) take(b []byte) bool {
	n := min(q.want-len(q.got), len(b))
	q.got = append(q.got, b[:n]...)
	return len(q.got) < q.want
}

// tallyKey tells apart what a tally of one file is asked for.
func tallyKey(p *incident.Predicate, c *incident.Capture) string { return key(p) + key(c) }
