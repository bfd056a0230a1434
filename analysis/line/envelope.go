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
	// Stamp is when, by the runtime's clock or the logger's.
	Stamp Stamp
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
	if len(raw) == 0 || raw[0] != '{' && raw[0] != ' ' && raw[0] != '\t' && !isDigit(raw[0]) {
		return Envelope{}, false
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
	var e Envelope
	var list []member
	var loki member
	var captured []member // what ends as a line does
	docker, steps, foreign, streamed := false, false, false, false
	depth, members := 1, 0
	key := []byte(nil)
	for i := 1; i < len(b) && depth > 0 && members < maxMembers; {
		switch c := b[i]; {
		case c == '"':
			end, plain := quotedEnd(b, i+1)
			text := b[i+1 : end]
			next := end + 1
			if k := spaces(b, next); at(b, k) == ':' {
				key, i = text, spaces(b, k+1)
				members++
				if plain && depth == 1 && measured[string(key)] && at(b, i) != '"' {
					steps = true
				}
				continue
			}
			streamed = streamed || depth == 1 && streams[string(text)]
			switch {
			case key == nil || depth > maxDepth:
			case bytes.HasSuffix(text, []byte(`\n`)) && !logged[string(key)]:
				captured = append(captured, member{i + 1, end})
			case depth == 1 && string(key) == "line":
				loki = member{i + 1, end}
			case depth == 1 && otherText[string(key)]:
				foreign = true
			case logged[string(key)] && len(text) > 0:
				list = append(list, member{i + 1, end})
				docker = docker || depth == 1 && string(key) == "log"
			case clocks[string(key)] && e.Stamp.Kind == NoStamp:
				if s, n := ParseStamp(text); n > 0 && (s.Kind == Zoned || s.Kind == DateTime) {
					if e.Stamp, e.Stamp.Emitter = s, Container; s.Kind == Zoned {
						e.Stamp.Emitter = Collector
					}
				}
			case depth == 1 && string(key) == "stream":
				e.Errors = string(text) == "stderr"
			}
			key, i = nil, next
		case c == '{':
			depth++
			key = nil
			i++
		case c == '[':
			i = listEnd(b, i)
			key = nil
		case isDigit(c) && clocks[string(key)] && e.Stamp.Kind == NoStamp:
			e.Stamp, i = epoch(b, i)
			key = nil
		case c == '}':
			depth--
			key = nil
			i++
		default:
			i++
		}
	}
	if streamed && !steps && len(captured) > 0 { // a word beside it says what kind of record it is
		list = append(slices.DeleteFunc(list, func(m member) bool { return bytes.IndexByte(b[m.from:m.to], ' ') < 0 }), captured...)
		slices.SortFunc(list, func(a, b member) int { return a.from - b.from })
	}
	if len(list) == 0 && !foreign && loki.to > loki.from {
		list = append(list, loki)
	}
	if steps && e.Stamp.Kind != NoStamp {
		e.Stamp.Emitter = Container // the job writes its steps itself
	}
	if len(list) == 0 {
		return Envelope{Stamp: e.Stamp}, false
	}
	ended := u.open(&e, b, list, room)
	if docker {
		e.Partial = !ended && len(list) == 1 && len(e.Text) >= runtimeLine
		return e, true
	}
	e.Whole = true
	// A step's record is read as it is, unless it says more than a line can.
	return e, !steps || bytes.IndexByte(e.Text, '\n') >= 0
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
