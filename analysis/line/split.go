package line

import "bytes"

// Split finds where records begin inside one segment. Several processes write to one file: a record may be glued behind
// a progress bar, or behind another rank's text that had no newline. The result are [from, to) ranges that cover seg
// without gaps, in order; the first begins at 0. Each range is to be parsed with its own prefix (and Labelled with
// that of the physical line).
//
// Only forms that no sentence contains by accident begin a record, and none right behind a quotation mark.
func Split(seg []byte) [][2]int {
	p := Parse(seg)
	return SplitParsed(nil, seg, &p)
}

// SplitParsed is Split for a segment whose prefix is known: pre is what Parse(seg) returns. The ranges are appended to dst.
func SplitParsed(dst [][2]int, seg []byte, pre *Prefix) [][2]int {
	out := dst
	from := 0
	i := pre.Len + 1
	for len(out) < maxRecords {
		if i = nextMark(seg, i); i < 0 {
			break
		}
		at := recordAt(seg, i, from)
		if at <= from {
			i++
			continue
		}
		if !quoted(seg[max(from, at-maxQuote):at]) {
			out = append(out, [2]int{from, at})
			from = at
		}
		i = max(i, at+Parse(seg[at:]).Len) + 1
	}
	return append(out, [2]int{from, len(seg)})
}

// nextMark is where at or behind i a mark may begin; −1: nowhere.
func nextMark(seg []byte, i int) int {
	if i+1 >= len(seg) { // no mark is a single byte
		return -1
	}
	kinds := begins[seg[i]]
	for n, c := range seg[i+1:] {
		if kinds&follows[c] != 0 {
			return i + n
		}
		kinds = begins[c]
	}
	return -1
}

// MarkWords are the words that those marks consist of which hold no bracket. A segment with none of them and without a
// closing bracket behind its prefix is one record.
func MarkWords() []string {
	return []string{
		"NCCL WARN", "NCCL INFO", "slurmstepd: error: ", "srun: error: ", "terminate called after throwing an instance of",
		"  what():  ", "Traceback (most recent call last):",
	}
}

// maxRecords bounds how many records one segment is split into.
const maxRecords = 4096

// maxQuote is how far back an opening quotation mark may lie in the text in front of a record.
const maxQuote = 512

// begins holds the bytes that marks of records begin with, follows those that may stand behind them: a bit for each
// kind of mark.
var (
	begins  = [256]uint8{'[': 1, 'N': 2, 's': 4, 't': 8, ' ': 16, 'T': 32, 'V': 64, 'I': 64, 'W': 64, 'E': 64, 'F': 64}
	follows = [256]uint8{
		'r': 1 | 4 | 32, 'N': 1, 'E': 1, 'W': 1, 'I': 1, 'F': 1, 'V': 1, 'C': 2, 'l': 4, 'e': 8, ' ': 16,
		'0': 64, '1': 64, '2': 64, '3': 64, '4': 64, '5': 64, '6': 64, '7': 64, '8': 64, '9': 64,
	}
)

// recordAt returns where the record begins whose mark stands at i, −1 if there is none. The start may lie left of the
// mark, but not left of from.
func recordAt(b []byte, i, from int) int {
	start := -1
	switch ch := b[i]; ch {
	case '[':
		switch {
		case rankMark(b, i):
			start = i
			// torchrun's own label in front of it.
			if i > from && b[i-1] == ':' {
				if o := bytes.LastIndexByte(b[max(from, i-64):i], '['); o >= 0 {
					o += max(from, i-64)
					c := cursor{b: b[:i], p: &Prefix{Who: NoOne}}
					if c.role(o) && c.i == i {
						start = o
					}
				}
			}
		case c10Mark(b, i):
			start = i
		case hasAt(b, i, "[NeMo ") && (&cursor{b: b, p: &Prefix{Who: NoOne}}).nemo(i):
			start = i
		}
	case 'N':
		if hasAt(b, i, "NCCL WARN") || hasAt(b, i, "NCCL INFO") {
			start = ncclStart(b, i, from)
		}
	case 's':
		if hasAt(b, i, "slurmstepd: error: ") || hasAt(b, i, "srun: error: ") {
			start = i
		}
	case 't':
		if hasAt(b, i, "terminate called after throwing an instance of") {
			start = i
		}
	case ' ':
		if hasAt(b, i, "  what():  ") {
			start = i
		}
	case 'T':
		if hasAt(b, i, "Traceback (most recent call last):") && b[i-1] != ' ' && b[i-1] != '\t' {
			start = i
		}
	case 'V', 'I', 'W', 'E', 'F':
		if isDigit(at(b, i+1)) && isDigit(at(b, i+4)) && (at(b, i+5) == ' ' || at(b, i+9) == ' ') && (&cursor{b: b[:min(len(b), i+400)], p: &Prefix{Who: NoOne}}).glog(i) {
			start = i
		}
	}
	return start
}

// quoted says that text ends with an opening quotation mark: one that no other of its kind is open for.
func quoted(text []byte) bool {
	q := text[len(text)-1]
	return (q == '"' || q == '\'' || q == '`') && bytes.Count(text, []byte{q})%2 == 1
}

// c10Mark says that a C++ header of PyTorch stands at i.
func c10Mark(b []byte, i int) bool {
	if !severity(at(b, i+1)) || (at(b, i+2) != ' ' && !isDigit(at(b, i+2))) {
		return false
	}
	c := cursor{b: b[:min(len(b), i+320)], p: &Prefix{Who: NoOne}}
	return c.c10(i) && (c.p.Stamp.Kind != NoStamp || sourceName([]byte(c.p.Source)))
}

// rankMark says that "[rankN]:" stands at i in front of something that only a process of that rank writes: a C++
// header, a torch logger's header, a traceback's lines.
func rankMark(b []byte, i int) bool {
	if !hasAt(b, i, "[rank") {
		return false
	}
	_, e := number(b, i+5, 7)
	if e == i+5 || !hasAt(b, e, "]:") {
		return false
	}
	e += 2
	if at(b, e) != ' ' {
		return c10Mark(b, e) || (&cursor{b: b[:min(len(b), e+400)], p: &Prefix{Who: NoOne}}).glogAt(e)
	}
	e++
	switch {
	case hasAt(b, e, "Traceback (most recent call last):"), hasAt(b, e, `  File "`), hasAt(b, e, "    "):
		return true
	}
	if s, n := ParseStamp(b[e:min(len(b), e+48)]); n > 0 && (s.Kind == DateTime || s.Kind == Zoned) {
		return true // a Python logger's line
	}
	return exceptionAt(b, e)
}

func (c *cursor) glogAt(i int) bool { return i < len(c.b) && c.glog(i) }

// exceptionAt says that the final line of a traceback stands at i: a dotted name whose last part begins with a capital
// and ends as exceptions do, then a colon or the end.
func exceptionAt(b []byte, i int) bool {
	e, last := i, i
	for e < len(b) && e-i < 128 && (isAlnum(b[e]) || b[e] == '_' || b[e] == '.') {
		if b[e] == '.' {
			last = e + 1
		}
		e++
	}
	if last >= e || b[last] < 'A' || b[last] > 'Z' || (e < len(b) && b[e] != ':') {
		return false
	}
	for _, s := range []string{"Error", "Exception", "Interrupt", "Exit", "Iteration", "Warning"} {
		if bytes.HasSuffix(b[last:e], []byte(s)) {
			return true
		}
	}
	return false
}

// ncclStart walks left from "NCCL WARN" over "[stamp] host:pid:tid [dev] file.cc:line (function) ".
func ncclStart(b []byte, i, from int) int {
	// A header is at most this long: two names and a path.
	lo := max(from, i-480)
	open := bytes.LastIndexByte(b[lo:i], '[')
	if open < 0 {
		return -1
	}
	e := lo + open // "[dev]"
	if e == lo || b[e-1] != ' ' {
		return -1
	}
	h := bytes.LastIndexByte(b[lo:e-1], ' ') + 1 + lo
	c := cursor{b: b[:min(len(b), i+16)], p: &Prefix{Who: NoOne}}
	if !c.nccl(h) {
		return -1
	}
	if h-2 >= lo && b[h-2] == ']' {
		if o := bytes.LastIndexByte(b[max(lo, h-40):h-1], '['); o >= 0 {
			o += max(lo, h-40)
			if _, n := ParseStamp(b[o+1 : h-2]); n > 0 && o+1+n == h-2 {
				return o
			}
		}
	}
	return h
}
