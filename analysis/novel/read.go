// Package novel reads what nobody foresaw. It needs no catalogue of failures: it counts the shapes of all lines, keeps those that sound bad,
// that only few print or that come last, and weighs them by what an expert looks at who has never seen the message (weigh.go).
package novel

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"faultline/analysis/line"
	"faultline/knowledge/severity"
	"faultline/pattern"
)

// Read reads one file.
func Read(ctx context.Context, name string, src io.Reader, o Options) (*File, error) {
	r := &reader{opts: o, kinds: map[uint64]*Kind{}, writers: map[line.Who]*line.Who{}, warned: threads{}, file: &File{Name: name, Stepped: o.LastStep >= 0, Size: o.Size}}
	zones := r.plan()
	r.buf = make([]byte, roomFor(zones, o.Size))
	for i, z := range zones {
		if i > 0 && z.from > r.off {
			if err := o.Skip(z.from - r.off); err != nil {
				return r.finish(), fmt.Errorf("looking for what stands out in %s: %w", name, err)
			}
			r.file.Skipped += z.from - r.off
			r.off, r.line, r.long = z.from, z.line, z.torn
		}
		if err := r.read(ctx, src, z.to); err != nil {
			return r.finish(), fmt.Errorf("looking for what stands out in %s: %w", name, err)
		}
	}
	return r.finish(), nil
}

type reader struct {
	opts      Options
	tail      int64 // from where on lines are counted from the tail's first one; 0 where all are counted from the first
	buf       []byte
	file      *File
	kinds     map[uint64]*Kind
	writers   map[line.Who]*line.Who
	bad       int // kinds beyond mostKinds
	off       int64
	line      int64
	long      bool // within a line of which the beginning was read
	after     bool
	next      int
	last      [lastLines]*Kind
	lasts     [lastLines]Place
	words     [lastLines][]byte // their texts
	plain     []byte
	envelopes line.Unwrapper
	record    []byte // while a record is read, what it states of the line at hand; nil outside of records
	open      *block
	stops     int
	framed    bool // the line above is a frame of a Python traceback
	// warned are NCCL's threads.
	warned threads
}

// zone is a stretch of the content that is looked at.
type zone struct {
	from, to int64
	line     int64 // lines above it
	torn     bool  // it begins within a line, of which nobody knows what it is
}

// plan chooses what is looked at.
func (r *reader) plan() []zone {
	o := r.opts
	if o.Budget <= 0 || o.Size <= o.Budget || o.Skip == nil {
		return []zone{{to: math.MaxInt64}}
	}
	head := o.Budget / 4
	tail := o.Size - (o.Budget - head)
	zones := []zone{{to: head}}
	if o.LastStep >= head && o.LastStep < tail {
		zones = append(zones, zone{from: o.LastStep, to: min(tail, o.LastStep+around<<10), line: o.StepLine - 1})
	}
	r.tail = tail
	return append(zones, zone{from: tail, to: math.MaxInt64, torn: true})
}

// roomFor is how large a buffer the zones of so many bytes need; of a file that grows meanwhile it holds less at a time.
func roomFor(zones []zone, size int64) int64 {
	const least = 4 << 10
	if size <= 0 {
		return chunk
	}
	room := int64(least)
	for _, z := range zones {
		room = max(room, min(z.to, size)-z.from)
	}
	return min(room, chunk)
}

// read reads lines up to a place; what is buffered of the content behind it is lost.
func (r *reader) read(ctx context.Context, src io.Reader, to int64) error {
	held := 0
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		room := r.buf[held:]
		if left := to - r.off - int64(held); left < int64(len(room)) {
			room = room[:left]
		}
		n, err := io.ReadFull(src, room)
		over := err != nil || r.off+int64(held+n) >= to
		used := r.block(r.buf[:held+n], over)
		held = copy(r.buf, r.buf[used:held+n])
		switch {
		case err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
			return err
		case over:
			return nil
		}
	}
}

// block reads the whole lines of a buffer and says how much of it is done with.
func (r *reader) block(b []byte, end bool) int {
	used := 0
	for used < len(b) {
		rest := b[used:]
		n := bytes.IndexByte(rest, '\n')
		if n < 0 && !end && len(rest) < len(r.buf) {
			return used
		}
		text, over := rest, n >= 0
		if over {
			text = rest[:n]
		}
		if !r.long {
			r.physical(text)
		}
		r.long = !over
		if over {
			r.line++
			n++
		} else {
			n = len(rest)
		}
		used += n
		r.off += int64(n)
	}
	return used
}

// physical reads one line, or each picture of a bar that is drawn over and over in it.
func (r *reader) physical(b []byte) {
	if bytes.IndexByte(b, '\r') < 0 {
		r.segment(b, 0)
		return
	}
	line.Segments(b, func(off int, seg []byte) { r.segment(seg, off) })
}

func (r *reader) segment(b []byte, at int) {
	full := len(b)
	if r.line == 0 && bytes.IndexByte(b, 0) >= 0 {
		r.file.Binary = true
	}
	b = b[:min(len(b), mostLine)]
	place := Place{Line: r.line + 1, Off: r.off + int64(at), Len: full}
	e, boxed := r.envelopes.Unwrap(b)
	if !boxed || full > mostQuoted { // of a longer record it is not known whether what is said of it can be quoted
		r.logged(b, place)
		return
	}
	place.Stamp = e.Stamp
	r.record = b // it may say how bad its first line is
	for rest, more := e.Text, true; more; r.record = r.record[:0] {
		var one []byte
		one, rest, more = bytes.Cut(rest, []byte{'\n'})
		r.logged(one, place)
	}
	r.record = nil
}

// logged reads a line as its program wrote it.
func (r *reader) logged(b []byte, place Place) {
	h := Hash(b)
	k := r.kinds[h]
	if k == nil {
		if k = r.meet(h, b, place); k == nil {
			return
		}
	}
	if !r.after && r.opts.LastStep >= 0 && place.Off > r.opts.LastStep {
		r.after = true
	}
	if k.Text == "" { // nothing but spaces and rules
		r.feed(b, place)
		return
	}
	r.framed = k.frame
	k.N++
	k.until = place.Off
	if r.after || place.Off == r.opts.LastStep && k.Sign.Level >= severity.Failed { // a bar's last picture has it glued on
		r.behind(k, b, place)
	}
	r.write(k, b, place)
	if w, ok := r.warned.hear(k, b, place); ok {
		if w.at != w.kind.At {
			r.quote(w.kind, []byte(w.text), w.at)
		}
		w.kind.outcome = returned
	}
	if r.last[0] != k {
		copy(r.last[1:], r.last[:])
		copy(r.lasts[1:], r.lasts[:])
		oldest := r.words[lastLines-1]
		copy(r.words[1:], r.words[:])
		r.words[0] = oldest
	}
	r.last[0], r.lasts[0], r.words[0] = k, place, append(r.words[0][:0], b...)
	if r.open != nil {
		r.feed(b, place)
	} else if k.Sign.Level >= severity.Failed && (k.N <= 2 || k.After == 1) && r.stops < mostStops && opens(k.Text) {
		r.open = &block{opener: k}
		r.feed(b, place)
	}
}

// meet keeps a shape that was not seen before; nil where there is no room for it.
func (r *reader) meet(h uint64, b []byte, at Place) *Kind {
	r.plain = line.StripANSI(r.plain, b)
	text := r.plain
	k := &Kind{At: at, first: at}
	if !bare(text) {
		k.Sign, k.Text = signed(text)
		k.Boxed = r.record != nil
		if len(r.record) > 0 {
			k.Sign = stated(r.record, k.Text)
		}
		k.saying = sayingOf(k.Text)
		k.frame = isFrame(text)
		k.mute = k.Sign.Level == severity.Calm && (r.framed || !tells(k.Text))
	}
	if len(r.kinds) >= mostKinds {
		r.file.Crowded = true
		if k.Sign.Level < severity.Failed || r.bad >= mostBad {
			// It may be among the last lines all the same.
			if len(r.kinds) >= mostKinds+mostBad {
				return nil
			}
			if r.file.Size > 0 && at.Off < r.file.Size-mostLine {
				return nil
			}
		}
		r.bad++
	}
	r.kinds[h] = k
	r.file.Kinds = append(r.file.Kinds, k)
	return k
}

// behind counts a line that stands behind the last step. The first of its shape there is the one that is quoted.
func (r *reader) behind(k *Kind, b []byte, at Place) {
	if k.After++; k.After > 1 {
		return
	}
	if k.N > 1 {
		r.quote(k, b, at)
	}
	if r.next < nextLines {
		r.next++
		k.Next = r.next
	}
}

// quote makes a line the one of its shape that is quoted: its place, its text and why it sounds bad are of one and the same line.
func (r *reader) quote(k *Kind, b []byte, at Place) {
	r.plain = line.StripANSI(r.plain, b)
	k.At, k.Stop, k.outcome = at, nil, unheard
	s, text := signed(r.plain)
	if k.Text = text; s.Level == k.Sign.Level {
		k.Sign = s
	}
}

// signed is what makes a line sound bad, and as much of the line as is kept of it: that is part of it.
func signed(line []byte) (severity.Sign, string) {
	text := strings.ToValidUTF8(string(line[:min(len(line), mostQuoted)]), "�")
	if len(text) > mostText {
		text = severity.Excerpt(text, mostText)
	}
	sign := severity.Of([]byte(text))
	if len(line) > mostQuoted {
		if s := severity.Of(line); s.Level > sign.Level {
			sign.Level, sign.Why = s.Level, s.Why
		}
	}
	return sign, text
}

// stated is what makes a line sound bad by the record that it stands in; its place is that in the line.
func stated(record []byte, text string) severity.Sign {
	s := severity.Of(record)
	word := string(record[s.At : s.At+s.Len])
	if s.At = strings.Index(text, word); s.At < 0 {
		s.At, s.Len, s.English = 0, 0, ""
	}
	return s
}

// write notes who wrote a line, and where it did first.
func (r *reader) write(k *Kind, b []byte, at Place) {
	each, lines := fewEach, int64(fewEach)
	if k.Sign.Level >= severity.Failed {
		each, lines = manyEach, mostSpoken
	}
	if k.N > lines {
		k.Crowd = true
		return
	}
	p := line.Parse(b)
	if k.Sign.Level >= severity.Failed {
		k.speak(b, &p, at)
	}
	if k.N > 4*manyEach {
		k.Crowd = true
		return
	}
	who := r.writers[p.Who]
	switch {
	case who != nil && slices.Contains(k.Who, who):
	case len(k.Who) < each:
		if who == nil {
			own := p.Who
			who = &own
			r.writers[own] = who
		}
		k.Who = append(k.Who, who)
		if k.Sign.Level >= severity.Failed {
			k.firsts = append(k.firsts, at)
		}
	default:
		k.Crowd = true
	}
}

// speak notes the rank that a line states for its writer, in front of it or early in its text.
func (k *Kind) speak(b []byte, p *line.Prefix, at Place) {
	rank := p.Who.Global
	if rank < 0 {
		rank = statedRank(b[min(p.Len, len(b)):])
	}
	if rank < 0 {
		k.nameless = true
		return
	}
	if k.spoken == nil {
		k.spoken = map[int]Place{}
	}
	if _, had := k.spoken[rank]; !had {
		k.spoken[rank] = at
	}
}

// statedRank is the first rank that a message names near its beginning: "[Rank 3] …". −1 where it names none.
func statedRank(message []byte) int {
	m := early.FindSubmatch(message[:min(len(message), introduction)])
	if m == nil {
		return -1
	}
	rank, err := strconv.Atoi(string(m[1]))
	if err != nil {
		return -1
	}
	return rank
}

// early is how messages name a rank; "local_rank 3" and "nranks 8" do not.
var early = pattern.New(`(?i)(?:^|[^a-z_])rank[ :=]{0,2}(\d{1,6})(?:\D|$)`)

// leastWords is how many words a line needs to tell somebody something.
const leastWords = 2

// tells says that a line has words, not only a brace, a rule or one value.
func tells(text string) bool {
	words := 0
	for field := range strings.FieldsSeq(text) {
		letters := 0
		for _, r := range field {
			switch {
			case unicode.Is(unicode.Han, r):
				letters += 2 // a word has few of them, and nothing between it and the next
				words++
			case unicode.IsLetter(r):
				letters++
			}
		}
		if letters > 1 {
			words++
		}
	}
	return words >= leastWords
}

// isFrame says that a line is a frame of a Python traceback: the next one is a line of code.
func isFrame(b []byte) bool {
	i := bytes.Index(b, []byte(`File "`))
	return i >= 0 && bytes.Contains(b[i:], []byte(`", line `))
}

// bare says that a line holds no letter of any language.
func bare(text []byte) bool {
	for _, c := range text {
		if letter(c) || c >= 0x80 {
			return !spoken(text)
		}
	}
	return true
}

// spoken says that something besides the blocks and lines of progress bars and tables stands in a text.
func spoken(text []byte) bool {
	for _, r := range string(text) {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') || r >= 0x80 && (r < 0x2500 || r > 0x25FF) && r != 0xFFFD {
			return true
		}
	}
	return false
}

func (r *reader) feed(b []byte, at Place) {
	if r.open == nil {
		return
	}
	r.plain = line.StripANSI(r.plain, b)
	if r.open.add(string(r.plain[:min(len(r.plain), mostText)]), at) {
		r.close()
	}
}

func (r *reader) close() {
	k := r.open.opener
	if s := r.open.parse(); s != nil && k.Stop == nil && (k.After == 0 || s.From.Off >= k.At.Off) {
		k.Stop = s
		if s.From != k.At { // an earlier line of its shape opened none
			k.At, k.Text = s.From, s.Opening
		}
		r.stops++
	}
	r.open = nil
}

func (r *reader) finish() *File {
	if r.open != nil {
		r.close()
	}
	if r.tail > 0 {
		r.number()
	}
	r.file.Lines = r.line
	if r.file.Size < r.off {
		r.file.Size = r.off
	}
	for i, k := range r.last {
		if k != nil && k.Last == 0 && r.line-r.lasts[i].Line <= mostBelow && (i == 0 || r.lasts[i].Off > r.opts.LastStep) {
			k.Last = i + 1
			if k.Sign.Level == severity.Calm && k.At != r.lasts[i] {
				r.quote(k, r.words[i], r.lasts[i]) // as a last word it is the last of its kind that counts
			}
			k.Ends = k.At == r.lasts[i]
		}
	}
	r.file.Kinds = slices.DeleteFunc(r.file.Kinds, func(k *Kind) bool { return k.Text == "" })
	return r.file
}

// number gives the lines of the tail their numbers, which are known once it is read to its end.
func (r *reader) number() {
	above := r.opts.Lines - r.line
	if r.long { // the last line, which no \n ends, is one of them
		above--
	}
	r.line += above
	shift := func(p *Place) {
		if p.Line > 0 && p.Off >= r.tail {
			p.Line += above
		}
	}
	for i := range r.lasts {
		shift(&r.lasts[i])
	}
	for _, k := range r.file.Kinds {
		shift(&k.At)
		shift(&k.first)
		for i := range k.firsts {
			shift(&k.firsts[i])
		}
		if k.Stop != nil {
			shift(&k.Stop.From)
			shift(&k.Stop.At)
			shift(&k.Stop.Frame.At)
		}
	}
}
