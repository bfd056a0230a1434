package verify

import (
	"bytes"
	"errors"
	"fmt"

	"faultline/incident"
)

const (
	maxToken  = 256  // a longer token is no token (incident.Field)
	maxNeedle = 4096 // bounds what is carried from window to window
	maxEscape = 4096 // an escape sequence longer than that is taken for text
	esc       = 0x1b
)

// predicate is an incident.Predicate made ready, with the key of a capture if there is one.
type predicate struct {
	literals [][]byte
	none     *anyOf // nil: none
	fields   []field
	capture  []byte // nil: none
	record   *record
	// needle is the longest string that every match holds: blocks without it are skipped unseen.
	needle []byte
	// span is the length of the longest string looked for.
	span int
}

type field struct{ key, value []byte }

var errNothingChecked = errors.New("the predicate holds neither a literal nor a field nor a member")

func compile(p *incident.Predicate, c *incident.Capture) (*predicate, error) {
	if p == nil {
		return nil, errors.New("no predicate")
	}
	if len(p.Literals) == 0 && len(p.Fields) == 0 && len(p.Members) == 0 {
		return nil, errNothingChecked
	}
	var out predicate
	var bad error
	out.record, bad = compileRecord(p, c)
	use := func(s string, required bool) []byte {
		switch {
		case s == "":
			bad = errors.New("the predicate holds an empty string")
		case len(s) > maxNeedle:
			bad = fmt.Errorf("the predicate holds a string longer than %d bytes", maxNeedle)
		case bytes.ContainsAny([]byte(s), "\r\n\x1b"):
			// Such a string can stand in no segment; in Not it would promise something that is always true.
			bad = errors.New("the predicate holds a line break or an escape byte")
		}
		b := []byte(s)
		out.span = max(out.span, len(b))
		if required && len(b) > len(out.needle) {
			out.needle = b
		}
		return b
	}
	for _, s := range p.Literals {
		out.literals = append(out.literals, use(s, true))
	}
	for _, f := range p.Fields {
		if f.Value == "" {
			bad = errors.New("the predicate holds an empty field value")
		}
		out.fields = append(out.fields, field{use(f.Key, true), []byte(f.Value)})
	}
	var not [][]byte
	for _, s := range p.Not {
		not = append(not, use(s, false))
	}
	if len(not) > 0 {
		out.none = newAnyOf(not)
	}
	if c != nil && c.Member == "" {
		out.capture = use(c.Key, false)
	}
	return &out, bad
}

// strip appends src to dst without ANSI escape sequences. No sequence reaches over \r or \n; what is not a complete
// sequence stays. When more of src may follow (!final), rest is the tail that cannot be judged yet.
func strip(dst, src []byte, final bool) (out, rest []byte) {
	for {
		i := bytes.IndexByte(src, esc)
		if i < 0 {
			return append(dst, src...), nil
		}
		dst = append(dst, src[:i]...)
		src = src[i:]
		n, incomplete := escape(src)
		switch {
		case incomplete && !final && len(src) < maxEscape:
			return dst, src
		case n == 0 || incomplete:
			dst = append(dst, esc)
			src = src[1:]
		default:
			src = src[n:]
		}
	}
}

// escape returns the length of the escape sequence at the start of s, 0 if there is none; incomplete if s ends in it.
func escape(s []byte) (n int, incomplete bool) {
	if len(s) < 2 {
		return 0, true
	}
	end := min(len(s), maxEscape)
	switch c := s[1]; {
	case c == '[':
		for i := 2; i < end; i++ {
			switch b := s[i]; {
			case b >= 0x40 && b <= 0x7e:
				return i + 1, false
			case b < 0x20 || b > 0x3f:
				return 0, false
			}
		}
		return 0, true
	case c == ']':
		for i := 2; i < end; i++ {
			switch s[i] {
			case 0x07:
				return i + 1, false
			case '\r', '\n':
				return 0, false
			case esc:
				if i+1 == len(s) {
					return 0, true
				}
				if s[i+1] == '\\' {
					return i + 2, false
				}
				return 0, false
			}
		}
		return 0, true
	case c >= '@' && c <= '_':
		return 2, false
	}
	return 0, false
}

func tokenByte(b byte) bool {
	return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' ||
		b == '_' || b == '-' || b == '.' || b == ':' || b == '/'
}

// token returns the token at the start of s, and how many bytes it spans with its trailing dots and colons.
func token(s []byte) (tok []byte, span int) {
	for span < len(s) && tokenByte(s[span]) {
		if span++; span > maxToken {
			return nil, span
		}
	}
	return bytes.TrimRight(s[:span], ".:"), span
}

// match is the state of one predicate over one segment, which may come in several windows.
type match struct {
	p    *predicate
	lit  int   // literals found so far
	from int64 // where in the segment the next literal may begin
	keys int   // fields decided so far, in order
	done bool  // capture decided
	dead bool  // cannot hold any more
	// member says that the members asked for are as asked, in the object that the segment is.
	member bool
	// captured is the token after the capture's key.
	captured []byte
}

func (m *match) reset() {
	m.lit, m.from, m.keys, m.done, m.dead, m.member, m.captured = 0, 0, 0, false, false, false, m.captured[:0]
}

// feed looks at one window of the segment, which begins at base of the (stripped) segment. Consecutive windows overlap
// by keepBytes(p) or more; final says that the segment ends with this window.
func (m *match) feed(w []byte, base int64, final bool) {
	if m.dead {
		return
	}
	if m.p.none != nil && m.p.none.in(w) {
		m.dead = true
		return
	}
	for m.lit < len(m.p.literals) {
		s := m.p.literals[m.lit]
		at := max(m.from-base, 0)
		if at > int64(len(w)) {
			break
		}
		i := bytes.Index(w[at:], s)
		if i < 0 {
			break
		}
		m.from = base + at + int64(i+len(s))
		m.lit++
	}
	for m.keys < len(m.p.fields) {
		f := m.p.fields[m.keys]
		tok, known := after(w, f.key, final)
		if !known {
			break
		}
		if !bytes.Equal(tok, f.value) {
			m.dead = true
			return
		}
		m.keys++
	}
	if m.p.capture != nil && !m.done {
		if tok, known := after(w, m.p.capture, final); known {
			m.captured, m.done = append(m.captured[:0], tok...), true
		}
	}
	if m.p.record != nil && final && base == 0 {
		var value string
		if m.member, value = m.p.record.holds(w); m.member && m.p.record.capture != "" {
			m.captured, m.done = append(m.captured[:0], value...), true
		}
	}
}

// holds is the verdict after the final window.
func (m *match) holds() bool {
	return !m.dead && m.lit == len(m.p.literals) && m.keys == len(m.p.fields) && (m.p.record == nil || m.member)
}

// after returns the token after the first occurrence of key. It is not known while the key is missing, or while the
// window may end inside the token.
func after(w, key []byte, final bool) (tok []byte, known bool) {
	i := bytes.Index(w, key)
	if i < 0 {
		return nil, false
	}
	rest := w[i+len(key):]
	tok, span := token(rest)
	if span == len(rest) && span <= maxToken && !final {
		return nil, false
	}
	return tok, true
}

// keepBytes is how far a window must reach back into the one before, so that nothing is cut in two.
func keepBytes(p *predicate) int { return p.span + maxToken + 2 }

// inQuote evaluates the predicate on the text of a quote: one of its segments must satisfy it. next are the bytes that
// follow the text in the file: where the text ends inside a token, the file's token counts.
func (p *predicate) inQuote(text, next []byte) bool {
	if i := bytes.IndexAny(next, "\r\n"); i >= 0 {
		next = next[:i]
	}
	segments := bytes.Split(text, []byte{'\r'})
	for i, seg := range segments {
		m := match{p: p}
		clean, _ := strip(nil, seg, true)
		m.feed(clean, 0, true)
		if !m.holds() {
			continue
		}
		if i == len(segments)-1 {
			longer, _ := strip(nil, append(append([]byte(nil), seg...), next...), true)
			if !p.sameTokens(clean, longer) {
				continue
			}
		}
		return true
	}
	return false
}

// sameTokens says whether every field's token that reaches the end of seg is the same in longer, which continues it.
func (p *predicate) sameTokens(seg, longer []byte) bool {
	for _, f := range p.fields {
		rest := seg[bytes.Index(seg, f.key)+len(f.key):]
		if _, span := token(rest); span < len(rest) {
			continue
		}
		if !bytes.HasPrefix(longer, seg) {
			return false
		}
		if tok, _ := after(longer, f.key, true); !bytes.Equal(tok, f.value) {
			return false
		}
	}
	return true
}
