package line

import (
	"bytes"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// Container runtimes and structured loggers put each line, or a whole message, into a record of their own:
//
//	{"log":"[rank3]: ValueError: bad\n","stream":"stderr","time":"2024-05-01T10:00:00.123456789Z"}   Docker's json-file
//	2024-05-01T10:00:00.123456789Z stderr F [rank3]: ValueError: bad                                 CRI: containerd, CRI-O
//	{"levelname":"ERROR","message":"step failed","exc_info":"Traceback (most recent call last):\n  …"}
//
// An Unwrapper gives back what was logged, and where each byte of it stands.

// Envelope is what one such line holds.
type Envelope struct {
	// Text is what was logged, perhaps several lines. It shares the memory of the line, or of the Unwrapper until the next call.
	Text []byte
	// From is where Text begins in the line, if it stands there as it is: then At is nil. Else At has the place of each byte of
	// Text and, behind them, that of its end.
	From int
	At   []int32
	// Stamp is when, by the runtime's clock or the logger's, and By who wrote it, by the collector's columns.
	Stamp Stamp
	By    *Who // nil where they do not say
	// Partial says that the runtime cut a long line here; Errors, that the stream is that of errors.
	Partial, Errors bool
	// Whole says that the text is a message of a logger: nothing of it stands on the next line.
	Whole bool
}

// Place is where Text[i] stands in the line; i may be the length of Text.
func (e *Envelope) Place(i int) int {
	if e.At == nil {
		return e.From + i
	}
	return int(e.At[i])
}

// Unwrapper takes envelopes off lines. The zero value is ready; it is not for use by several goroutines.
type Unwrapper struct {
	// Columns are what a collector puts into the lines; nil where none does.
	Columns *Columns
	names   Names
	writers map[Who]*Who // by the columns

	text [2][]byte
	at   [2][]int32
}

const (
	// maxEnvelopes is how many stand within each other: CRI, and a structured logger's.
	maxEnvelopes = 3
	// maxDepth is how deep a text may stand in a record: torchelastic's error file has message.extraInfo.py_callstack.
	maxDepth = 3
	// maxMembers bounds what is read of one record.
	maxMembers = 256
	// mostWriters bounds those that are remembered: the ranks of a large job, and no more of what hostile lines make up.
	mostWriters = 1 << 15
	// runtimeLine is where Docker, containerd and CRI-O cut lines.
	runtimeLine = 16 << 10
)

// logged are the members of structured records that hold what was logged. Sources: Docker json-file, python-json-logger,
// structlog, Google Cloud Logging, AWS CloudWatch, Azure Monitor, Splunk, LogDNA, OpenTelemetry, journald, Elastic Common Schema,
// torch.distributed.elastic. Loki's "line" is
// one where no other stands beside it: there it is a place in a program.
var logged = map[string]bool{
	"log": true, "message": true, "msg": true, "textPayload": true, "@message": true, "MESSAGE": true, "event": true,
	"exc_info": true, "exc_text": true, "exception": true, "error": true, "stack": true, "stack_trace": true, "stacktrace": true,
	"error.stack_trace": true, "traceback": true, "py_callstack": true, "_raw": true, "_line": true, "LogEntry": true, "stringValue": true,
}

// streams are the values by which a record says that it holds what a program wrote, whatever its members are called.
var streams = map[string]bool{"stdout": true, "stderr": true}

// clocks are the members that hold a time.
var clocks = map[string]bool{
	"time": true, "timestamp": true, "@timestamp": true, "asctime": true, "ts": true, "datetime": true,
	"_timestamp": true, "wall_time": true, // W&B's and TensorBoard's
}

// otherText are members that hold a message where "line" is the number of a line of code.
var otherText = map[string]bool{"text": true, "body": true, "error": true, "exception": true, "file": true, "filename": true, "func": true, "function": true, "lineno": true}

// measured are members by which a record reports a step of the training: it is read as it is.
var measured = map[string]bool{
	"step": true, "global_step": true, "iteration": true, "iter": true, "loss": true, "train_loss": true, "lm loss": true,
}

// Unwrap takes the envelope off a line, and what is within it if that is another. It reports false where there is none; what it returns
// then has only the stamp of a record that is read as it is.
func (u *Unwrapper) Unwrap(raw []byte) (Envelope, bool) {
	c := u.Columns
	if c == nil {
		return u.known(raw)
	}
	if c.form == nil {
		e, ok := u.known(raw)
		e.By = u.whose(c.record(raw, &u.names))
		return e, ok
	}
	n, by, when, ok := c.take(raw, &u.names)
	if !ok {
		return u.known(raw)
	}
	e, within := u.known(raw[n:])
	if !within {
		e = Envelope{Text: raw[n:]}
	}
	e.From += n
	for i := range e.At {
		e.At[i] += int32(n)
	}
	if e.Stamp.Kind == NoStamp {
		e.Stamp = when
	}
	e.By = u.whose(by)
	return e, true
}

// whose is one and the same pointer for each writer, nil for nobody.
func (u *Unwrapper) whose(by Who) *Who {
	if by == NoOne {
		return nil
	}
	w := u.writers[by]
	if w == nil {
		w = &by
		if u.writers == nil || len(u.writers) == mostWriters {
			u.writers = map[Who]*Who{}
		}
		u.writers[by] = w
	}
	return w
}

// known takes off envelopes that need not be learned.
func (u *Unwrapper) known(raw []byte) (Envelope, bool) {
	if len(raw) == 0 || raw[0] != '{' && raw[0] != ' ' && raw[0] != '\t' && !isDigit(raw[0]) {
		return u.escaped(raw)
	}
	e, ok := u.unwrap(raw, 0)
	if !ok {
		return Envelope{Stamp: e.Stamp}, false
	}
	for n := 1; n < maxEnvelopes; n++ {
		in, ok := u.unwrap(e.Text, n%2)
		if !ok {
			break
		}
		switch {
		case in.At == nil && e.At == nil:
			in.From += e.From
		case in.At == nil:
			in.At = e.At[in.From : in.From+len(in.Text)+1]
		default:
			for i, p := range in.At {
				in.At[i] = int32(e.Place(int(p)))
			}
		}
		if in.Stamp.Kind == NoStamp {
			in.Stamp = e.Stamp
		}
		in.Partial, in.Errors = in.Partial || e.Partial, in.Errors || e.Errors
		e = in
	}
	return e, true
}

func (u *Unwrapper) unwrap(b []byte, room int) (Envelope, bool) {
	switch at(b, 0) {
	case '{':
		return u.object(b, room)
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		return runtimeRecord(b)
	case ' ', '\t':
		return u.prettyMember(b, room)
	}
	return Envelope{}, false
}

// runtimeRecord reads "2024-05-01T10:00:00.123456789Z stderr F text"; P instead of F is a part of a line.
func runtimeRecord(b []byte) (Envelope, bool) {
	if at(b, 10) != 'T' {
		return Envelope{}, false
	}
	s, n := ParseStamp(b[:min(len(b), 48)])
	if n == 0 || s.Kind != Zoned || !hasAt(b, n, " stdout ") && !hasAt(b, n, " stderr ") {
		return Envelope{}, false
	}
	i := n + len(" stdout ")
	tag := at(b, i)
	end := closing(b, i, 64, ' ') // more tags may follow, behind colons
	if end < 0 && len(b)-i <= 1 {
		end = len(b) // an empty line
	}
	if tag != 'F' && tag != 'P' || end < 0 || end > i+1 && b[i+1] != ':' {
		return Envelope{}, false
	}
	s.Emitter = Collector
	from := min(end+1, len(b))
	return Envelope{Text: b[from:], From: from, Stamp: s, Partial: tag == 'P', Errors: b[n+4] == 'e'}, true
}

// member is one piece of text in a record.
type member struct{ from, to int } // between its quotation marks

// object reads a record in JSON. One that is cut off holds what stands there.
func (u *Unwrapper) object(b []byte, room int) (Envelope, bool) {
	if c := at(b, spaces(b, 1)); c != '"' {
		return Envelope{}, false
	}
	r := record{b: b}
	if u.Columns != nil {
		r.own = u.Columns.text
	}
	r.scan()
	e, list := &r.e, r.texts()
	if r.steps && e.Stamp.Kind != NoStamp {
		e.Stamp.Emitter = Container // the job writes its steps itself
	}
	if len(list) == 0 {
		return Envelope{Stamp: e.Stamp}, false
	}
	ended := u.open(e, b, list, room)
	if r.docker {
		e.Partial = !ended && len(list) == 1 && len(e.Text) >= runtimeLine
		return *e, true
	}
	e.Whole = true
	// A step's record is read as it is, unless it says more than a line can.
	return *e, !r.steps || bytes.IndexByte(e.Text, '\n') >= 0
}

// record is what is found in an object in JSON.
type record struct {
	b        []byte
	e        Envelope // its stamp, and whether it is of the error stream
	logged   []member // texts of members that hold what was logged
	captured []member // texts that end as a line does
	loki     member
	docker   bool   // it is Docker's: what was logged may be a part of a line
	steps    bool   // it holds measured numbers
	foreign  bool   // what was logged is in another member than Loki's
	streamed bool   // a word in it is the name of a stream
	own      string // the member that holds what was logged, where it is no usual one

	depth int
	key   []byte // of the value that follows; nil: none does
}

func (r *record) scan() {
	r.depth = 1
	members := 0
	for i := 1; i < len(r.b) && r.depth > 0 && members < maxMembers; {
		switch c := r.b[i]; {
		case c == '"':
			end, plain := quotedEnd(r.b, i+1)
			if k := spaces(r.b, end+1); at(r.b, k) == ':' {
				r.key = r.b[i+1 : end]
				i = spaces(r.b, k+1)
				members++
				r.steps = r.steps || plain && r.measures(i)
				continue
			}
			r.text(member{i + 1, end})
			i = end + 1
		case c == '{':
			r.depth++
			i++
		case c == '[':
			i = listEnd(r.b, i)
		case isDigit(c) && r.wantsStamp():
			r.e.Stamp, i = epoch(r.b, i)
		case c == '}':
			r.depth--
			i++
		default:
			i++
			continue
		}
		r.key = nil
	}
}

// measures says that the value at i, of the key before it, is a number that a step has.
func (r *record) measures(i int) bool {
	return r.depth == 1 && measured[string(r.key)] && at(r.b, i) != '"'
}

func (r *record) wantsStamp() bool { return clocks[string(r.key)] && r.e.Stamp.Kind == NoStamp }

// text takes a value that is a text.
func (r *record) text(m member) {
	text, top := r.b[m.from:m.to], r.depth == 1
	r.streamed = r.streamed || top && streams[string(text)]
	if r.key == nil || r.depth > maxDepth {
		return
	}
	holds := logged[string(r.key)] || r.own != "" && string(r.key) == r.own
	switch {
	case !holds && bytes.HasSuffix(text, []byte(`\n`)):
		r.captured = append(r.captured, m)
	case top && string(r.key) == "line":
		r.loki = m
	case top && otherText[string(r.key)] && string(r.key) != r.own:
		r.foreign = true
	case holds && len(text) > 0:
		r.logged = append(r.logged, m)
		r.docker = r.docker || top && string(r.key) == "log"
	case r.wantsStamp():
		r.stamp(text)
	case top && string(r.key) == "stream":
		r.e.Errors = string(text) == "stderr"
	}
}

// stamp takes the text of a clock, where it is a whole time.
func (r *record) stamp(text []byte) {
	s, n := ParseStamp(text)
	if n == 0 || s.Kind != Zoned && s.Kind != DateTime {
		return
	}
	s.Emitter = Container
	if s.Kind == Zoned {
		s.Emitter = Collector
	}
	r.e.Stamp = s
}

// texts are those of what was logged, in their order.
func (r *record) texts() []member {
	list := r.logged
	if r.streamed && !r.steps && len(r.captured) > 0 { // a word beside it says what kind of record it is
		oneWord := func(m member) bool { return bytes.IndexByte(r.b[m.from:m.to], ' ') < 0 }
		list = append(slices.DeleteFunc(list, oneWord), r.captured...)
		slices.SortFunc(list, func(a, b member) int { return a.from - b.from })
	}
	if len(list) == 0 && !r.foreign && r.loki.to > r.loki.from {
		list = append(list, r.loki)
	}
	return list
}

// open fills in the text of the members, one under the other, without the line end at its end; it says whether there was one.
func (u *Unwrapper) open(e *Envelope, b []byte, list []member, room int) (ended bool) {
	if m := list[0]; len(list) == 1 {
		text, ended := bytes.CutSuffix(b[m.from:m.to], []byte(`\n`))
		if bytes.IndexByte(text, '\\') < 0 {
			e.Text, e.From = text, m.from
			return ended
		}
	}
	text, places := u.text[room][:0], u.at[room][:0]
	for n, m := range list {
		if n > 0 {
			text, places = append(text, '\n'), append(places, int32(list[n-1].to))
		}
		for i := m.from; i < m.to; {
			was := len(text)
			next := i + 1
			if b[i] != '\\' {
				text = append(text, b[i])
			} else {
				text, next = unescaped(text, b[:m.to], i)
			}
			for range len(text) - was {
				places = append(places, int32(i))
			}
			i = next
		}
	}
	places = append(places, int32(list[len(list)-1].to))
	u.text[room], u.at[room] = text, places
	if e.Text, ended = bytes.CutSuffix(text, []byte{'\n'}); ended {
		places = places[:len(text)]
	}
	e.At = places
	return ended
}

// epoch reads a number of seconds since 1970, which may have a fraction; another number is no time.
func epoch(b []byte, i int) (Stamp, int) {
	const digits, least = 10, 1_000_000_000 // until 2286, since September 2001
	v, end := number(b, i, digits)
	if v < least || isDigit(at(b, end)) {
		return Stamp{}, max(end, i+1)
	}
	s := Stamp{Kind: Epoch, Emitter: Container, Unix: int64(v)}
	if at(b, end) == '.' {
		s.Nanos, end = fraction(b, end+1)
	}
	return s, end
}

// quotedEnd is where the string that begins at i ends: at its quotation mark, or where b does. plain says that nothing in
// it is escaped.
func quotedEnd(b []byte, i int) (end int, plain bool) {
	plain = true
	for i < len(b) {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return len(b), plain && bytes.IndexByte(b[i:], '\\') < 0
		}
		k := bytes.IndexByte(b[i:i+n], '\\')
		if k < 0 {
			return i + n, plain
		}
		plain = false
		i += k + 2
	}
	return len(b), false
}

// listEnd is where the list that begins at i ends.
func listEnd(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			i, _ = quotedEnd(b, i+1)
		case '[':
			depth++
		case ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(b)
}

// unescaped appends what the escape at b[i] stands for, and returns where it ends. What is none stays as it is.
func unescaped(dst, b []byte, i int) ([]byte, int) {
	switch at(b, i+1) {
	case 'n':
		return append(dst, '\n'), i + 2
	case 't':
		return append(dst, '\t'), i + 2
	case 'r':
		return append(dst, '\r'), i + 2
	case 'b', 'f':
		return append(dst, ' '), i + 2
	case '"', '\\', '/':
		return append(dst, b[i+1]), i + 2
	case 'u':
		r, ok := hex4(b, i+2)
		if !ok {
			break
		}
		end := i + 6
		if utf16.IsSurrogate(r) {
			low, ok := rune(0), false
			if hasAt(b, end, `\u`) {
				low, ok = hex4(b, end+2)
			}
			if r = utf16.DecodeRune(r, low); ok && r != utf8.RuneError {
				end += 6
			}
		}
		return utf8.AppendRune(dst, r), end
	}
	return append(dst, b[i]), i + 1
}

// hex4 reads four hexadecimal digits.
func hex4(b []byte, i int) (rune, bool) {
	if len(b)-i < 4 {
		return 0, false
	}
	r := rune(0)
	for _, c := range b[i : i+4] {
		var d rune
		switch {
		case isDigit(c):
			d = rune(c - '0')
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			d = rune(c|0x20-'a') + 10
		default:
			return 0, false
		}
		r = r<<4 | d
	}
	return r, true
}
