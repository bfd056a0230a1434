package worker

import (
	"bytes"
	"faultline/analysis/ascii"
	"strconv"
	"unicode/utf8"
)

// The shapes of ioRules, read by hand: in a storm every second line of a log is one of these, and a pattern costs ten
// times as much. Each stands for the pattern above it, which the tests hold it to.

// shape fills in what a wording says about the retry. It returns false where the text has another form.
type shape func(v *IO, text []byte) bool

// count sets a number of a retry; one beyond reason refuses the line.
func count(to *int, digits []byte) bool {
	n, err := strconv.Atoi(string(digits))
	if err != nil || n > 1<<20 {
		return false
	}
	*to = n
	return true
}

func (v *IO) target(b []byte) { v.Target = string(b[:min(len(b), maxLastText)]) }

// word is the run of bytes at the start of b that are no white space.
func word(b []byte) []byte {
	for i, c := range b {
		if space(c) {
			return b[:i]
		}
	}
	return b
}

// space is \s.
func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\f' || c == '\r' }

// `Object (?P<target>\S+).*? from bucket \S+ (?:returned empty content|is empty)`
func shapeEmptyObject(v *IO, text []byte) bool {
	for b := after(text, "Object "); b != nil; b = after(b, "Object ") {
		name := word(b)
		if len(name) == 0 {
			continue
		}
		for rest := after(b[len(name):], " from bucket "); rest != nil; rest = after(rest, " from bucket ") {
			bucket := word(rest)
			if tail := rest[len(bucket):]; len(bucket) > 0 && (bytes.HasPrefix(tail, []byte(" returned empty content")) || bytes.HasPrefix(tail, []byte(" is empty"))) {
				v.target(name)
				return true
			}
		}
	}
	return false
}

// `Failed to fetch object (?P<target>\S+)`
func shapeFailedFetch(v *IO, text []byte) bool {
	const key = "Failed to fetch object "
	for b := after(text, key); b != nil; b = after(b, key) {
		if name := word(b); len(name) > 0 {
			v.target(name)
			return true
		}
	}
	return false
}

// `: Caught \w+ in DataLoader worker process \d+`
func shapeCaught(_ *IO, text []byte) bool {
	for b := after(text, ": Caught "); b != nil; b = after(b, ": Caught ") {
		n := 0
		for n < len(b) && isWord(b[n]) {
			n++
		}
		rest, ok := bytes.CutPrefix(b[n:], []byte(" in DataLoader worker process "))
		if ok && n > 0 && digits(rest) > 0 {
			return true
		}
	}
	return false
}

// `\(reached max retries: (?P<limit>\d+)\)`
func shapeReached(v *IO, text []byte) bool {
	const key = "(reached max retries: "
	for b := after(text, key); b != nil; b = after(b, key) {
		if n := digits(b); n > 0 && n < len(b) && b[n] == ')' {
			return count(&v.Limit, b[:n])
		}
	}
	return false
}

const retryTotal = "Retrying (Retry(total="

// `Retrying \(Retry\(total=(?P<left>\d+).{0,200}?\)\) after connection broken by .*: (?P<target>/\S*)`
func shapeBroken(v *IO, text []byte) bool {
	const broken = ")) after connection broken by "
	for b := after(text, retryTotal); b != nil; b = after(b, retryTotal) {
		n := digits(b)
		gap := bytes.Index(b[n:], []byte(broken))
		if gap < 0 {
			return false
		}
		if n == 0 || gap > 200 && utf8.RuneCount(b[n:n+gap]) > 200 {
			continue
		}
		rest := b[n+gap+len(broken):]
		for i := bytes.LastIndexByte(rest, ':'); i >= 0; i = bytes.LastIndexByte(rest[:i], ':') {
			if bytes.HasPrefix(rest[i:], []byte(": /")) {
				v.target(word(rest[i+len(": "):]))
				return count(&v.Left, b[:n])
			}
		}
	}
	return false
}

// `Retrying \(Retry\(total=(?P<left>\d+)`
func shapeLeft(v *IO, text []byte) bool {
	for b := after(text, retryTotal); b != nil; b = after(b, retryTotal) {
		if n := digits(b); n > 0 {
			return count(&v.Left, b[:n])
		}
	}
	return false
}

// `host='(?P<target>[^']+)'`
func shapeHost(v *IO, text []byte) bool {
	const key = "host='"
	for b := after(text, key); b != nil; b = after(b, key) {
		if i := bytes.IndexByte(b, '\''); i > 0 {
			v.target(b[:i])
			return true
		}
	}
	return false
}

// `Retrying (?P<target>\S+) in [\d.]+ seconds as it (?:raised|returned) `
func shapeTenacity(v *IO, text []byte) bool {
	const key = "Retrying "
	for b := after(text, key); b != nil; b = after(b, key) {
		name := word(b)
		rest, ok := bytes.CutPrefix(b[len(name):], []byte(" in "))
		if !ok || len(name) == 0 {
			continue
		}
		n := decimals(rest)
		rest, ok = bytes.CutPrefix(rest[n:], []byte(" seconds as it "))
		if ok && n > 0 && (bytes.HasPrefix(rest, []byte("raised ")) || bytes.HasPrefix(rest, []byte("returned "))) {
			v.target(name)
			return true
		}
	}
	return false
}

// decimals is the length of [\d.]* at the start of b.
func decimals(b []byte) int {
	n := 0
	for n < len(b) && (ascii.Digit(b[n]) || b[n] == '.') {
		n++
	}
	return n
}

// `Resuming '(?P<target>[^']*)' after .* \((?P<attempt>\d+)/(?P<limit>\d+)\)`
func shapeResuming(v *IO, text []byte) bool {
	const key = "Resuming '"
	for b := after(text, key); b != nil; b = after(b, key) {
		i := bytes.IndexByte(b, '\'')
		if i < 0 {
			return false
		}
		rest, ok := bytes.CutPrefix(b[i:], []byte("' after "))
		if !ok {
			continue
		}
		for end := len(rest); ; {
			k := bytes.LastIndex(rest[:end], []byte(" ("))
			if k < 0 {
				break
			}
			end = k + 1
			n := digits(rest[k+2:])
			tail := rest[k+2+n:]
			if n == 0 || len(tail) == 0 || tail[0] != '/' {
				continue
			}
			m := digits(tail[1:])
			if m > 0 && 1+m < len(tail) && tail[1+m] == ')' {
				v.target(b[:i])
				return count(&v.Attempt, rest[k+2:k+2+n]) && count(&v.Limit, tail[1:1+m])
			}
		}
	}
	return false
}

// `(?i)\bre-?try(?:ing)?\b.{0,120}?RATIO`: "Retrying in 5sec [1/20]", "retrying 2/5", "Retry 3 of 5", "(retry 1/3)".
func shapeRetry(v *IO, text []byte) bool {
	for i := 0; i+5 <= len(text); i++ {
		if text[i]|0x20 != 'r' || i > 0 && isWord(text[i-1]) || text[i+1]|0x20 != 'e' {
			continue
		}
		b := text[i+2:]
		if b[0] == '-' {
			b = b[1:]
		}
		if !hasFold(b, "try") {
			continue
		}
		b = b[len("try"):]
		if hasFold(b, "ing") {
			b = b[len("ing"):]
		}
		if (len(b) == 0 || !isWord(b[0])) && v.ratio(b, 120) {
			return true
		}
	}
	return false
}

// `(?i)\battempt\b.{0,40}?RATIO`
func shapeAttempt(v *IO, text []byte) bool {
	const key = "attempt"
	for i := 0; i+len(key) <= len(text); i++ {
		if text[i]|0x20 != 'a' || i > 0 && isWord(text[i-1]) || !hasFold(text[i:], key) {
			continue
		}
		if b := text[i+len(key):]; (len(b) == 0 || !isWord(b[0])) && v.ratio(b, 40) {
			return true
		}
	}
	return false
}

// ratio reads, behind at most so many characters,
// `[\s(\[#=:](?P<attempt>\d{1,4})\s*(?:/|of|out of)\s*(?P<limit>\d{1,4})(?:$|[^\d\w/.-]|\.(?:$|\s))`.
func (v *IO) ratio(b []byte, most int) bool {
	for chars, i := 0, 0; i < len(b) && chars <= most; chars++ {
		c := b[i]
		if c >= utf8.RuneSelf {
			_, n := utf8.DecodeRune(b[i:])
			i += n
			continue
		}
		i++
		if !space(c) && c != '(' && c != '[' && c != '#' && c != '=' && c != ':' {
			continue
		}
		if attempt, limit := parts(b[i:]); attempt != nil {
			return count(&v.Attempt, attempt) && count(&v.Limit, limit)
		}
	}
	return false
}

// parts are the two numbers of "3/5", "3 of 5", "3 out of 5" at the start of b.
func parts(b []byte) (attempt, limit []byte) {
	n := digits(b)
	if n == 0 || n > 4 {
		return nil, nil
	}
	rest := trimSpace(b[n:])
	switch {
	case len(rest) > 0 && rest[0] == '/':
		rest = rest[1:]
	case hasFold(rest, "of"):
		rest = rest[len("of"):]
	case hasFold(rest, "out of"):
		rest = rest[len("out of"):]
	default:
		return nil, nil
	}
	rest = trimSpace(rest)
	m := digits(rest)
	if m == 0 || m > 4 {
		return nil, nil
	}
	if tail := rest[m:]; len(tail) > 0 {
		switch c := tail[0]; {
		case isWord(c), c == '/', c == '-':
			return nil, nil
		case c == '.' && len(tail) > 1 && !space(tail[1]):
			return nil, nil
		}
	}
	return b[:n], rest[:m]
}

func trimSpace(b []byte) []byte {
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	return b
}

// `(?i)(?:fail(?:ed|ure)|giving up|gave up|exhausted)\b.{0,80}?\bafter (?P<limit>\d{1,4}) (?:retries|attempts|tries)\b`
func shapeGaveUp(v *IO, text []byte) bool {
	for i := range text {
		n := 0
		switch text[i] | 0x20 {
		case 'f':
			if hasFold(text[i:], "failed") {
				n = len("failed")
			} else if hasFold(text[i:], "failure") {
				n = len("failure")
			}
		case 'g':
			if hasFold(text[i:], "giving up") {
				n = len("giving up")
			} else if hasFold(text[i:], "gave up") {
				n = len("gave up")
			}
		case 'e':
			if hasFold(text[i:], "exhausted") {
				n = len("exhausted")
			}
		}
		if n == 0 || i+n < len(text) && isWord(text[i+n]) {
			continue
		}
		chars := 0
		for k := i + n; k < len(text) && chars <= 80; chars++ {
			if limit := triesAfter(text, k); limit != nil {
				return count(&v.Limit, limit)
			}
			_, size := utf8.DecodeRune(text[k:])
			k += size
		}
	}
	return false
}

// triesAfter is the number of "after 5 attempts" at i, where a word begins.
func triesAfter(text []byte, i int) []byte {
	b := text[i:]
	if b[0]|0x20 != 'a' || isWord(text[i-1]) || !hasFold(b, "after ") {
		return nil
	}
	b = b[len("after "):]
	n := digits(b)
	if n == 0 || n > 4 || n == len(b) || b[n] != ' ' {
		return nil
	}
	for _, unit := range []string{"retries", "attempts", "tries"} {
		if rest := b[n+1:]; hasFold(rest, unit) && (len(rest) == len(unit) || !isWord(rest[len(unit)])) {
			return b[:n]
		}
	}
	return nil
}

// dataWord is a word that a line about reading or writing something holds, in lower case. begins and ends say that it has
// to begin or end as a word does.
type dataWord struct {
	word         string
	begins, ends bool
}

var dataWords = []dataWord{
	{word: "connect"}, {word: "read"}, {word: "object"}, {word: "batch", begins: true}, {word: "reset"}, {word: "timeout"},
	{word: "timedout"}, {word: "time out"}, {word: "timed out"}, {word: "time-out"}, {word: "timed-out"}, {word: "download"},
	{word: "fetch"}, {word: "get", begins: true, ends: true}, {word: "http", ends: true}, {word: "https", ends: true},
	{word: "url", begins: true}, {word: "bucket"}, {word: "s3", begins: true, ends: true}, {word: "gs://"}, {word: "hdfs"},
	{word: "store"}, {word: "stream"}, {word: "shard"}, {word: "sample"}, {word: "open", begins: true},
	{word: "load", begins: true}, {word: "file"}, {word: "request", begins: true}, {word: "i/o"}, {word: "host", begins: true},
	{word: "checkpoint"}, {word: "save", begins: true}, {word: "saving", begins: true}, {word: "writ"}, {word: "upload"},
}

// ofData reports whether a line speaks of reading or writing something.
func ofData(text []byte) bool {
	low := make([]byte, 0, 256)
	for _, c := range text {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		low = append(low, c)
	}
	for _, w := range dataWords {
		for at := 0; ; {
			i := bytes.Index(low[at:], []byte(w.word))
			if i < 0 {
				break
			}
			i += at
			at = i + 1
			if end := i + len(w.word); (!w.begins || i == 0 || !isWord(low[i-1])) && (!w.ends || end == len(low) || !isWord(low[end])) {
				return true
			}
		}
	}
	return false
}
