package worker

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// In a storm most lines say what a line of their writer said before, but for their numbers. Of a line that is one of too
// many of its kind nothing is read but what is counted, so one that is such an echo is counted without being read again.

// thrifty are the handlers that of such a line read at most what is counted.
var thrifty = []string{"signature", "NCCL warning", "final line", "storage", "connection reset"}

// echo is a line of a kind whose like is expected again from its writer, and what is made of it.
type echo struct {
	msg    []byte
	head   line.Prefix // without who and when
	ids    []uint16    // of the literals that it holds, without frequent ones
	fill   bool        // NCCL's collector may want it for one of those
	words  wordSet     // see record.said,
	paths  bool        // unless it holds paths, which may hold others
	final  *storm      // of final lines without a traceback; nil: it is none
	knew   bool        // somebody understands it, whatever else is read
	signed bool        // so does who looks for signatures, if one was found last
	io     bool        // it may tell of a read or write
	reset  bool        // or of a connection
	alarms bool        // it looks like an error
}

const (
	maxEchoes  = 1 << 12 // of a file
	kindEchoes = 4       // of a kind and writer at a time,
	kindLearnt = 64      // and in all: lines that are never alike need not be compared
	maxEcho    = 512     // bytes of one
)

// learn remembers a record that is one of too many of its kind, if it is a physical line by itself.
func (r *reader) learn(p *phys, rec *record) {
	s, d := rec.storm, r.table
	if s.learnt >= kindLearnt || r.echoes >= maxEchoes || rec.told || rec.Taken || rec.Repeated > 0 || !r.strange(&rec.Who, rec.Line) || r.header.alone ||
		p.all || p.window || p.cut || p.at != nil || p.stamp.Kind != line.NoStamp || p.records > 1 || len(rec.Text) != len(p.raw) || len(p.raw) > maxEcho {
		return
	}
	for i, set := range r.due {
		if set&^d.thrifty[i] != 0 {
			return
		}
	}
	due := func(name string) bool { return r.due[d.named[name]/64]>>(d.named[name]%64)&1 == 1 }
	if s.learnt++; len(s.echoes) < kindEchoes {
		s.echoes = append(s.echoes, echo{})
		r.echoes++
		r.echoing.add(d.kind(rec.ids))
	}
	s.echoes[s.learnt%len(s.echoes)] = echo{
		msg: slices.Clone(rec.Msg), head: headOf(rec.Prefix), ids: d.seldom(rec.ids), fill: slices.Contains(rec.ids, d.info), words: rec.said(), paths: bytes.IndexByte(rec.Msg, '/') >= 0, final: rec.finals,
		knew: rec.finals != nil || due("NCCL warning"), signed: due("signature") && !r.bareFinal(rec), io: due("storage"), reset: due("connection reset"),
		alarms: alarming(rec, r.alarm),
	}
}

// headOf is a prefix without what differs from line to line.
func headOf(p *line.Prefix) line.Prefix {
	return line.Prefix{Severity: p.Severity, Source: p.Source, Form: p.Form}
}

// echoed counts a line that is like one before it but for its numbers; it reports false where that is not certain.
func (r *reader) echoed(l *scan.Line) bool {
	if r.echoes == 0 || l.Last || l.Passed || l.Long || l.Final || len(l.Hits) == 0 || !r.alone() || r.section > 0 {
		return false
	}
	kind := r.table.kind(l.Hits)
	if !r.echoing.has(kind) {
		return false
	}
	f, e := r.recall(kind, l)
	if e == nil {
		pre := &r.pre
		r.names.ParseInto(pre, l.Text)
		f = familiar{pre: pre, writer: r.writerOf(&pre.Who), head: l.Text[:min(pre.Len, len(l.Text))]}
		f.storm = r.storms[stormKey{kind, f.writer}]
		if e = f.echo(l, r.table); e == nil || e.head != headOf(pre) {
			return false
		}
		r.remember(kind, l, &f)
	}
	if e.fill {
		l.Fill()
	}
	s := f.storm
	if e.knew || e.io || e.reset || e.alarms || e.final != nil || e.signed && s.signed {
		r.does |= other
	}
	if !s.over(s.n+1) || e.final != nil && !e.final.over(e.final.n+1) || !r.strange(&f.pre.Who, l.No) {
		return false
	}
	if s.n++; e.final != nil {
		e.final.n++
	}
	r.lineNo = l.No
	r.spoken(l)
	r.expire()
	r.above(f.pre, l.Before, l.Off, l.No)
	rec := &r.rec
	*rec = record{}
	rec.Raw, rec.Text, rec.Msg = l.Text, l.Text, l.Text[len(f.head):]
	rec.Prefix, rec.Who, rec.ids, rec.storm, rec.excess = f.pre, f.pre.Who, l.Hits, s, true
	rec.words, rec.heard = e.words, !e.paths
	rec.Pos = Pos{File: r.file, Line: l.No, Off: l.TextOff, Len: len(l.Text)}
	r.attribute(rec, f.writer)
	r.knew = e.knew || e.signed && s.signed
	if e.io && readIO(r, rec) {
		r.knew = true
	}
	if e.reset {
		readReset(r, rec)
	}
	if !r.knew && e.alarms {
		r.unclassify(rec)
	}
	r.header.alone = false
	return true
}

// seldom are the ids without those of frequent literals.
func (d *dispatch) seldom(ids []uint16) []uint16 {
	var list []uint16
	for _, id := range ids {
		if !d.frequent[id] {
			list = append(list, id)
		}
	}
	return list
}

// holds reports whether a line with these ids holds exactly the seldom ones.
func (d *dispatch) holds(ids, seldom []uint16) bool {
	for _, id := range ids {
		if d.frequent[id] {
			continue
		}
		if len(seldom) == 0 || seldom[0] != id {
			return false
		}
		seldom = seldom[1:]
	}
	return len(seldom) == 0
}

// kindSet may hold more kinds of lines than were added.
type kindSet [4]uint64

func (s *kindSet) add(kind uint64)      { s[kind>>62] |= 1 << (kind >> 56 & 63) }
func (s *kindSet) has(kind uint64) bool { return s[kind>>62]>>(kind>>56&63)&1 == 1 }

// familiar is how lines of a kind begin that have echoes. Such a beginning is read once; but for the stamp that it may begin with.
type familiar struct {
	head   []byte
	stamp  int // the length of that stamp
	pre    *line.Prefix
	writer *writer
	storm  *storm
}

const (
	familiarBits = 8
	stampedBits  = 4
)

// familiarPlace is the place of a beginning without a stamp in reader.familiars.
func familiarPlace(kind uint64, text []byte) uint64 {
	if len(text) < 16 {
		return 0
	}
	h := kind ^ binary.LittleEndian.Uint64(text) ^ binary.LittleEndian.Uint64(text[8:])*fnvPrime
	return (h ^ h>>29) * 0x9e3779b97f4a7c15 >> (64 - familiarBits)
}

// recall finds the echo that a line with a familiar beginning is.
func (r *reader) recall(kind uint64, l *scan.Line) (familiar, *echo) {
	place := familiarPlace(kind, l.Text)
	for _, f := range [...]*familiar{&r.familiars[place], &r.familiars[place^1]} {
		if f.storm != nil && bytes.HasPrefix(l.Text, f.head) {
			if e := f.echo(l, r.table); e != nil {
				return *f, e
			}
		}
	}
	f := &r.stamped[kind>>(64-stampedBits)]
	if f.storm == nil || len(l.Text) < len(f.head) || !bytes.Equal(l.Text[f.stamp:len(f.head)], f.head[f.stamp:]) {
		return familiar{}, nil
	}
	s, n := line.ParseStamp(l.Text)
	if n != f.stamp || s.Kind != f.pre.Stamp.Kind {
		return familiar{}, nil
	}
	e := f.echo(l, r.table)
	if e == nil {
		return familiar{}, nil
	}
	now := *f
	r.pre = *f.pre
	s.Emitter = f.pre.Stamp.Emitter
	r.pre.Stamp, now.pre = s, &r.pre
	return now, e
}

// remember makes the beginning of a line familiar, unless it may be read in another way in front of another message.
func (r *reader) remember(kind uint64, l *scan.Line, f *familiar) {
	msg := l.Text[len(f.head):]
	if len(msg) == 0 || !isWord(msg[0]) || ascii.Digit(msg[0]) || f.pre.Outer.Kind != line.NoStamp {
		return
	}
	n := familiarPlace(kind, l.Text)
	place := &r.familiars[n]
	if place.storm != nil && r.familiars[n^1].storm == nil {
		place = &r.familiars[n^1]
	}
	if f.pre.Stamp.Kind != line.NoStamp {
		s, n := line.ParseStamp(f.head)
		if s.Emitter = f.pre.Stamp.Emitter; n == 0 || s != f.pre.Stamp {
			return
		}
		f.stamp, place = n, &r.stamped[kind>>(64-stampedBits)]
	}
	pre := *f.pre
	*place = familiar{head: slices.Clone(f.head), stamp: f.stamp, pre: &pre, writer: f.writer, storm: f.storm}
}

// echo finds the echo that a line which begins so is; nil: none.
func (f *familiar) echo(l *scan.Line, d *dispatch) *echo {
	if f.storm == nil {
		return nil
	}
	list := f.storm.echoes
	for i := range list {
		if sameButNumbers(list[i].msg, l.Text[len(f.head):]) && d.holds(l.Hits, list[i].ids) {
			if i > 0 {
				list[0], list[i] = list[i], list[0]
			}
			return &list[0]
		}
	}
	return nil
}

// sameButNumbers reports whether two messages differ in nothing but their numbers, ids in hexadecimal, or paths behind their first name. A
// number that may be a code counts.
func sameButNumbers(a, b []byte) bool {
	for i, j := 0, 0; ; {
		x, y := a[i:], b[j:]
		for len(x) >= 8 && len(y) >= 8 {
			d := binary.LittleEndian.Uint64(x) ^ binary.LittleEndian.Uint64(y)
			if d != 0 {
				n := bits.TrailingZeros64(d) / 8
				x, y = x[n:], y[n:]
				break
			}
			x, y = x[8:], y[8:]
		}
		i, j = len(a)-len(x), len(b)-len(y)
		for i < len(a) && j < len(b) && a[i] == b[j] {
			i, j = i+1, j+1
		}
		if i == len(a) && j == len(b) {
			return true
		}
		if n, m := restOfPath(a, i), restOfPath(b, j); n >= 0 && m >= 0 {
			i, j = n, m
			continue
		}
		n, m := numberEnd(a, i), numberEnd(b, j)
		from := i // where in a the number begins that stands here
		for from > 0 && ascii.Digit(a[from-1]) {
			from--
		}
		size, other := n-from, m-j+i-from
		if size > 0 && other > 0 && (n > i || m > j) && !within(a, from, n) && !within(b, j-(i-from), m) {
			if code(a, from, n) || code(b, j-(i-from), m) {
				return false
			}
		} else if n, m = idEnd(a, i), idEnd(b, j); n < 0 || m < 0 || n-i != m-j {
			return false
		}
		i, j = n, m
	}
}

// restOfPath is where the path ends that b[i] stands in, or right behind, after its first name; −1 if there is none.
func restOfPath(b []byte, i int) int {
	from := i
	for from > 0 && !pathStop[b[from-1]] {
		from--
	}
	for k := from + 1; k < i; k++ {
		if b[k] == '/' && (isWord(b[k-1]) || b[k-1] == '-' || b[k-1] == '.') {
			return pathEnd(b, k)
		}
	}
	return -1
}

// within reports whether letters stand side by side with the number b[from:to] as they do in ids.
func within(b []byte, from, to int) bool {
	return from > 0 && isHex(b[from-1]) || to < len(b) && isHex(b[to])
}

func numberEnd(b []byte, i int) int {
	for i < len(b) && ascii.Digit(b[i]) {
		i++
	}
	return i
}

// code reports whether the number b[from:to] may be a code: of HTTP, or of the system behind "[Errno ".
func code(b []byte, from, to int) bool {
	if to-from == 3 && (b[from] == '4' || b[from] == '5') {
		return (from == 0 || b[from-1] != '.') && (to == len(b) || b[to] != '.')
	}
	return from >= len(errnoMark) && string(b[from-len(errnoMark):from]) == errnoMark
}

const errnoMark = "[Errno "

// idEnd is where the id ends that stands at b[i]: six or more hexadecimal digits, a decimal one among them; −1 if there is none.
func idEnd(b []byte, i int) int {
	from := i
	for from > 0 && isHex(b[from-1]) {
		from--
	}
	number := false
	to := from
	for to < len(b) && isHex(b[to]) {
		number = number || ascii.Digit(b[to])
		to++
	}
	if !number || to-from < 6 || to <= i || to < len(b) && isWord(b[to]) || from > 0 && isWord(b[from-1]) || bytes.Contains(b[from:to], []byte("c10d")) {
		return -1 // what holds the name of PyTorch's library is foreign, wherever that stands
	}
	return to
}

func isHex(c byte) bool { return ascii.Digit(c) || c >= 'a' && c <= 'f' }
