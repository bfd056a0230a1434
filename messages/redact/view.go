package redact

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// view is a text as a person, a shell or a browser would read it, and where each of its bytes comes from.
type view struct {
	text string
	at   []int // where the source of each byte begins; nil where the view is the text itself
	end  []int // and where it ends
}

// source returns the part of the original that a part of the view stands for.
func (v view) source(from, to int) (int, int) {
	if v.at == nil {
		return from, to
	}
	if to <= from {
		return 0, 0
	}
	return v.at[from], v.end[to-1]
}

// viewer builds a view byte by byte.
type viewer struct {
	b       strings.Builder
	at, end []int
}

func (w *viewer) add(s string, at, end int) {
	w.b.WriteString(s)
	for range len(s) {
		w.at = append(w.at, at)
		w.end = append(w.end, end)
	}
}

func (w *viewer) done(over view) view {
	if over.at != nil {
		for i := range w.at {
			w.at[i], w.end[i] = over.at[w.at[i]], over.end[w.end[i]-1]
		}
	}
	return view{w.b.String(), w.at, w.end}
}

// entities are those of HTML that stand around values.
var entities = []struct{ code, text string }{{"&amp;", "&"}, {"&quot;", `"`}, {"&apos;", "'"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&#39;", "'"}, {"&#34;", `"`}, {"&#61;", "="}, {"&#x3d;", "="}, {"&#x27;", "'"}, {"&#43;", "+"}, {"&#47;", "/"}}

// decoded undoes, once, what hides text: percent-encoding, escapes of JSON and of shells, entities of HTML, characters that cannot be
// seen, full-width letters and typographic quotes. ok is false where there is nothing to undo.
func decoded(over view) (v view, ok bool) {
	s := over.text
	if !strings.ContainsAny(s, `%\&`) && ascii(s) {
		return over, false
	}
	percent := hasPercent(s)
	var w viewer
	for i := 0; i < len(s); {
		text, n := decodeAt(s[i:], percent)
		if n > 1 || text != s[i:i+n] {
			ok = ok || text != s[i:i+n]
		}
		w.add(text, i, i+n)
		i += n
	}
	if !ok {
		return over, false
	}
	return w.done(over), true
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func hasPercent(s string) bool {
	for i := strings.IndexByte(s, '%'); i >= 0 && i+2 < len(s); {
		if hexDigit(s[i+1]) && hexDigit(s[i+2]) {
			return true
		}
		j := strings.IndexByte(s[i+1:], '%')
		if j < 0 {
			return false
		}
		i += 1 + j
	}
	return false
}

// decodeAt returns what the beginning of a text stands for, and its length.
func decodeAt(s string, percent bool) (string, int) {
	switch c := s[0]; {
	case c == '%' && percent && len(s) > 2:
		if b, ok := hexByte(s[1:3]); ok {
			return b, 3
		}
	case c == '+' && percent:
		return " ", 1
	case c == '\\':
		return unescape(s)
	case c == '&':
		for _, e := range entities {
			if strings.HasPrefix(s, e.code) {
				return e.text, len(e.code)
			}
		}
	case c >= utf8.RuneSelf:
		r, n := utf8.DecodeRuneInString(s)
		return plainRune(r, s[:n]), n
	}
	return s[:1], 1
}

// hexByte is the printable byte of two hex digits.
func hexByte(s string) (string, bool) {
	n, err := strconv.ParseUint(s, 16, 8)
	if err != nil || (n < 0x20 && n != '\n' && n != '\t') || n >= 0x7f {
		return "", false
	}
	return string(rune(n)), true
}

func unescape(s string) (string, int) {
	if len(s) < 2 {
		return s, len(s)
	}
	switch s[1] {
	case '"', '\'', '/', '\\':
		return s[1:2], 2
	case 'n':
		return "\n", 2
	case 't':
		return "\t", 2
	case 'u', 'U':
		if len(s) >= 6 && s[2:4] == "00" {
			if b, ok := hexByte(s[4:6]); ok {
				return b, 6
			}
		}
	case 'x':
		if len(s) >= 4 {
			if b, ok := hexByte(s[2:4]); ok {
				return b, 4
			}
		}
	}
	return s[:1], 1
}

// plainRune is the ASCII that a rune stands for, nothing for what cannot be seen, and itself for the rest.
func plainRune(r rune, s string) string {
	switch {
	case r == utf8.RuneError, r >= 0x200b && r <= 0x200f, r == 0x2060, r == 0xfeff, r == 0x00ad, r >= 0xfe00 && r <= 0xfe0f, r == 0x034f:
		return ""
	case r >= 0xff01 && r <= 0xff5e:
		return string(r - 0xfee0)
	case strings.ContainsRune("“”„‟«»″", r):
		return `"`
	case strings.ContainsRune("‘’‚‛‹›′", r):
		return "'"
	case r == 0x00a0, r >= 0x2000 && r <= 0x200a, r == 0x202f, r == 0x3000:
		return " "
	case r == 0x2010, r == 0x2011, r == 0x2012, r == 0x2013, r == 0x2212:
		return "-"
	case r == '：':
		return ":"
	}
	return s
}

// joined puts together the lines of a text where a word may go on in the next line: the line's end, a backslash in front of it, and
// what the next line has in front (the same prefix, spaces) go. joins are the places in the view.
func joined(over view) (v view, joins []int) {
	s := over.text
	if !strings.Contains(s, "\n") {
		return over, nil
	}
	var w viewer
	start := 0
	for start <= len(s) {
		end := lineEnd(s, start)
		from := start
		if start > 0 && len(w.at) > 0 {
			from += lineStart(s[previousLine(s, start):start-1], s[start:end])
			joins = append(joins, w.b.Len())
		}
		upTo := end
		if upTo > from && s[upTo-1] == '\\' {
			upTo--
		}
		for i := from; i < upTo; i++ {
			w.add(s[i:i+1], i, i+1)
		}
		start = end + 1
	}
	return w.done(over), joins
}

// lineEnd is where the line that begins at a place ends.
func lineEnd(s string, start int) int {
	if i := strings.IndexByte(s[start:], '\n'); i >= 0 {
		return start + i
	}
	return len(s)
}

func previousLine(s string, start int) int { return strings.LastIndexByte(s[:start-1], '\n') + 1 }

// lineStart is the length of what stands in front of a line's own text: what a logger puts in front of every line, and spaces.
func lineStart(before, line string) int {
	n := linePrefix(line)
	if !strings.HasPrefix(shape(before), shape(line[:n])) {
		n = 0
	}
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return n
}

// linePrefix is the length of "[rank3]: ", "2026-03-04 11:02:03,123 " and "node07: " in front of a line.
func linePrefix(line string) int { return len(prefixForm.FindString(line)) }

// shape is a prefix with one digit in the place of every number.
func shape(s string) string {
	var b strings.Builder
	for i := range len(s) {
		if digit(s[i]) && i > 0 && digit(s[i-1]) {
			continue
		}
		if digit(s[i]) {
			b.WriteByte('0')
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}
