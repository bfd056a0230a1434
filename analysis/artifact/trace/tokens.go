package trace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	window   = 1 << 20 // read at a time
	maxEvent = 4 << 20 // the largest event, and the largest value beside the events, that is looked at
	maxDepth = 64
)

var (
	errShort = errors.New("it ends in the middle")
	errMore  = errors.New("more bytes are needed")
	errDeep  = fmt.Errorf("it is nested more than %d deep", maxDepth)
	errForm  = errors.New("it is no JSON")
)

// input is a window of the file that moves forwards.
type input struct {
	r    io.Reader
	buf  []byte
	pos  int
	base int64 // offset of buf[0]
	line int64 // of buf[counted]
	// counted is up to where lines were counted.
	counted int
	err     error // of the reader, io.EOF at the end
}

func newInput(r io.Reader) *input {
	return &input{r: r, buf: make([]byte, 0, window), line: 1}
}

// fill makes room and reads on, so that more stands behind pos than did; false at the end.
func (in *input) fill() bool {
	if in.err != nil {
		return false
	}
	if in.pos > 0 {
		in.lineOf(in.pos)
		n := copy(in.buf, in.buf[in.pos:])
		in.buf, in.base, in.counted, in.pos = in.buf[:n], in.base+int64(in.pos), in.counted-in.pos, 0
	}
	if len(in.buf) == cap(in.buf) {
		grown := make([]byte, len(in.buf), min(2*cap(in.buf), 2*maxEvent))
		copy(grown, in.buf)
		in.buf = grown
	}
	had := len(in.buf)
	for len(in.buf) < cap(in.buf) && in.err == nil {
		var n int
		n, in.err = in.r.Read(in.buf[len(in.buf):cap(in.buf)])
		in.buf = in.buf[:len(in.buf)+n]
	}
	return len(in.buf) > had
}

// lineOf is the line in which a byte of the window stands. Bytes are asked for in order.
func (in *input) lineOf(i int) int64 {
	if i >= in.counted {
		in.line += int64(bytes.Count(in.buf[in.counted:i], []byte{'\n'}))
		in.counted = i
		return in.line
	}
	return in.line - int64(bytes.Count(in.buf[i:in.counted], []byte{'\n'}))
}

// ended says that nothing stands behind the window.
func (in *input) ended() bool { return in.err != nil }

// end is why there is nothing more.
func (in *input) end() error {
	if in.err != nil && !errors.Is(in.err, io.EOF) {
		return in.err
	}
	return errShort
}

// next is the next byte that is no space, without taking it.
func (in *input) next() (byte, error) {
	for {
		for in.pos < len(in.buf) {
			if c := in.buf[in.pos]; c != ' ' && c != '\n' && c != '\r' && c != '\t' {
				return c, nil
			}
			in.pos++
		}
		if !in.fill() {
			return 0, in.end()
		}
	}
}

// take takes the next byte, which must be one of those.
func (in *input) take(of string) (byte, error) {
	c, err := in.next()
	if err != nil {
		return 0, err
	}
	if bytes.IndexByte([]byte(of), c) < 0 {
		return 0, errForm
	}
	in.pos++
	return c, nil
}

// value is the next value as a whole, valid until the next call; nil with ok where it is too large, and was passed over.
func (in *input) value() ([]byte, error) {
	if _, err := in.next(); err != nil {
		return nil, err
	}
	for {
		n, err := skip(in.buf[in.pos:])
		if err != nil && !errors.Is(err, errMore) {
			return nil, err
		}
		whole := err == nil
		if end := in.pos + n; whole && (end < len(in.buf) || in.ended() || in.buf[end-1] == '}' || in.buf[end-1] == ']') { // a number may go on
			v := in.buf[in.pos:end]
			in.pos = end
			return v, nil
		}
		if len(in.buf)-in.pos >= maxEvent {
			return nil, in.pass()
		}
		if !in.fill() && !whole {
			return nil, in.end()
		}
	}
}

// pass passes over a value of any length.
func (in *input) pass() error {
	depth, text, escaped := 0, false, false
	for {
		for ; in.pos < len(in.buf); in.pos++ {
			c := in.buf[in.pos]
			switch {
			case escaped:
				escaped = false
			case text && c == '\\':
				escaped = true
			case c == '"':
				text = !text
				if !text && depth == 0 {
					in.pos++
					return nil
				}
			case text:
			case c == '{' || c == '[':
				if depth++; depth > maxDepth {
					return errDeep
				}
			case c == '}' || c == ']':
				if depth--; depth < 0 {
					return nil // the end of what holds a number or a word
				}
				if depth == 0 {
					in.pos++
					return nil
				}
			case c == ',' && depth == 0:
				return nil
			}
		}
		if !in.fill() {
			return in.end()
		}
	}
}

// skip is the length of the value that b begins with.
func skip(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, errMore
	}
	switch b[0] {
	case '"':
		return text(b)
	case '{', '[':
		return composite(b)
	}
	n := 0
	for n < len(b) && scalar[b[n]] {
		n++
	}
	if n == 0 {
		return 0, errForm
	}
	return n, nil
}

// scalar are the bytes of numbers, true, false, null, NaN and Infinity.
var scalar = func() (t [256]bool) {
	for _, c := range []byte("0123456789+-.eEtrufalsnNIiyx") {
		t[c] = true
	}
	return t
}()

// text is the length of a string, quotation marks included.
func text(b []byte) (int, error) {
	for i := 1; ; {
		n := bytes.IndexByte(b[i:], '"')
		if n < 0 {
			return 0, errMore
		}
		i += n + 1
		back := 0
		for k := i - 2; k > 0 && b[k] == '\\'; k-- {
			back++
		}
		if back%2 == 0 {
			return i, nil
		}
	}
}

// telling are the bytes that matter between the strings of an object.
var telling = func() (t [256]bool) {
	for _, c := range []byte(`"{}[]`) {
		t[c] = true
	}
	return t
}()

// composite is the length of an object or a list.
func composite(b []byte) (int, error) {
	depth := 0
	for i := 0; i < len(b); i++ {
		if !telling[b[i]] {
			continue
		}
		switch b[i] {
		case '"':
			n, err := text(b[i:])
			if err != nil {
				return 0, err
			}
			i += n - 1
		case '{', '[':
			if depth++; depth > maxDepth {
				return 0, errDeep
			}
		default:
			if depth--; depth == 0 {
				return i + 1, nil
			}
		}
	}
	return 0, errMore
}

// member is a key of an object with its value; places are in the object.
type member struct {
	key        []byte // without quotation marks, as written
	value      []byte // as written
	at         int    // of the key's quotation mark
	start, end int    // of the value
}

// members visits the members of an object that is whole.
func members(b []byte, visit func(m *member)) error {
	i := blank(b, 1)
	if i < len(b) && b[i] == '}' {
		return nil
	}
	var m member
	for {
		i = blank(b, i)
		if i >= len(b) || b[i] != '"' {
			return errForm
		}
		n, err := text(b[i:])
		if err != nil {
			return errForm
		}
		m.at, m.key = i, b[i+1:i+n-1]
		i = blank(b, i+n)
		if i >= len(b) || b[i] != ':' {
			return errForm
		}
		i = blank(b, i+1)
		if i >= len(b) {
			return errForm
		}
		if n, err = skip(b[i:]); err != nil {
			return errForm
		}
		m.start, m.end, m.value = i, i+n, b[i:i+n]
		visit(&m)
		i = blank(b, i+n)
		switch {
		case i >= len(b):
			return errForm
		case b[i] == '}':
			return nil
		case b[i] != ',':
			return errForm
		}
		i++
	}
}

func blank(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\r' || b[i] == '\t') {
		i++
	}
	return i
}
