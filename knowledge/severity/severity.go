// Package severity reads how bad a line of any software says that it is, without knowing the software: by the mark of its logger, by words
// for failures in several languages, by the C library's messages as its translations print them, by signals and exit statuses.
package severity

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// Level is how bad a line sounds.
type Level int

const (
	Calm    Level = iota // nothing in it sounds bad
	Warning              // something may be wrong
	Failed               // something failed
	Crash                // a process ended, or cannot go on
)

func (l Level) String() string {
	return [...]string{"calm", "warning", "error", "crash"}[l]
}

// Sign is what makes a line sound bad.
type Sign struct {
	Level Level
	Why   string // "logged as ERROR", "“keine berechtigung” is “Permission denied”"
	// At and Len are where in the line the sign stands; Len is 0 where none does.
	At, Len int
	// English is the C library's message that stands there in another language.
	English string
	// Ends: it tells only that something ended, or was told to, and not why.
	Ends bool
}

// most bounds how much of a line is looked at.
const most = 4 << 10

// Of reads one line. The mark of the logger bounds what words can say: a program that logs "failed" as INFO does not mean a failure.
func Of(line []byte) Sign {
	line = line[:min(len(line), most)]
	low := lower(line)
	sign := of(low, line)
	if sign.Level == Failed && survived(low) {
		sign.Level = Warning
	}
	sign.Ends = sign.Level > Calm && ends(low, line)
	return sign
}

// survived says that a program meant to go on after what a line tells: it tries again, or does without.
func survived(low []byte) bool {
	return slices.ContainsFunc(goesOn, func(w []byte) bool { return bytes.Contains(low, w) })
}

func of(low, line []byte) Sign {
	mark := markOf(line)
	word := worst(low, line)
	switch mark.Level {
	case ordinary:
		if word.Level > Calm {
			word.Level--
		}
		return word
	case unmarked:
		return word
	}
	if word.Level == Crash && mark.Level < marked(Crash) {
		return word
	}
	sign := Sign{Level: Level(mark.Level), Why: "logged as " + mark.Word, At: mark.At, Len: len(mark.Word)}
	if word.Level >= sign.Level {
		word.Level = sign.Level
		return word
	}
	return sign
}

// Translated is the C library's message that a text holds in another language, whatever else it says; its English is "" where there is none.
func Translated(text []byte) Sign {
	text = text[:min(len(text), most)]
	return phrase(lower(text), text)
}

// InEnglish is a line with the C library's message that it holds in English; the line itself where it holds none in another language.
func (s Sign) InEnglish(line string) string {
	if s.English == "" || s.At+s.Len > len(line) {
		return line
	}
	return line[:s.At] + s.English + line[s.At+s.Len:]
}

// guesses begin what a message says of causes that it does not know, in lower case.
var guesses = [][]byte{[]byte("can be caused by"), []byte("may be caused by"), []byte("could be caused by"), []byte("likely caused by"), []byte("possible cause"), []byte("potential root cause")}

// worst is the worst of what the words of a line say; of several as bad the first. Where a message guesses at causes, words that stand before tell why
// it sounds bad.
func worst(low, line []byte) Sign {
	all := worstOf(low, line)
	if all.Level == Calm {
		return all
	}
	for _, g := range guesses {
		if i := bytes.Index(low, g); i > 0 && i < all.At {
			if s := worstOf(low[:i], line[:i]); s.Level > Calm {
				s.Level = all.Level
				return s
			}
		}
	}
	return all
}

func worstOf(low, line []byte) Sign {
	best := exitStatus(low, line)
	better := func(s Sign) {
		if s.Level > best.Level || s.Level == best.Level && s.Level > Calm && s.At < best.At {
			best = s
		}
	}
	better(phrase(low, line))
	words(low, line, better)
	return best
}

// lower makes ASCII letters small; everything else, and every offset, stays.
func lower(line []byte) []byte {
	low := make([]byte, len(line))
	for i, c := range line {
		if c >= 'A' && c <= 'Z' {
			c += 'a' - 'A'
		}
		low[i] = c
	}
	return low
}

// exitStatus reads "exit code 1", "exited with status: 139", "rc=143", "returned non-zero exit status 2". A status of 0 says nothing, nor does
// an HTTP server's answer that is none of its errors.
func exitStatus(low, line []byte) Sign {
	for _, w := range exitWords {
		for from := 0; ; {
			i := bytes.Index(low[from:], w)
			if i < 0 {
				break
			}
			i += from
			from = i + len(w)
			j := from
			for j < len(low) && j-from < 3 && bytes.IndexByte([]byte(" :="), low[j]) >= 0 {
				j++
			}
			if j < len(low) && low[j] == '-' {
				j++
			}
			n, end := 0, j
			for end < len(low) && end-j < 6 && low[end] >= '0' && low[end] <= '9' {
				n, end = n*10+int(low[end]-'0'), end+1
			}
			answered := string(w) == "status code" && n >= 100 && n < 400
			if end == j || n == 0 || answered || !bounded(low, i, end) {
				continue
			}
			return Sign{Level: Failed, Why: "says “" + string(line[i:end]) + "”", At: i, Len: end - i}
		}
	}
	return Sign{}
}

// bounded says that neither neighbour of a stretch is a letter, a digit or an underscore.
func bounded(b []byte, from, to int) bool {
	return !(from > 0 && wordByte(b[from-1]) && wordByte(b[from])) && !(to < len(b) && wordByte(b[to]) && wordByte(b[to-1]))
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_'
}

// phrase finds the worst of the phrases that a line holds.
func phrase(low, line []byte) Sign {
	ix := phrases()
	var best Sign
	for i := 0; i+4 <= len(low); i++ {
		h := key(low[i:])
		if ix.any[h>>6]&(1<<(h&63)) == 0 {
			continue
		}
		for _, p := range ix.by[h] {
			if p.Level > best.Level && bytes.HasPrefix(low[i:], p.text) && bounded(low, i, i+len(p.text)) && !denied(low[:i]) {
				best = Sign{Level: p.Level, Why: p.why(line[i : i+len(p.text)]), At: i, Len: len(p.text), English: p.of}
			}
		}
	}
	return best
}

// denied says that the word before a phrase takes it back: "no fatal error", "non-fatal error".
func denied(before []byte) bool {
	before = bytes.TrimRight(before, " -")
	i := len(before)
	for i > 0 && wordByte(before[i-1]) {
		i--
	}
	word := string(before[i:])
	return word == "no" || word == "non" || word == "without"
}

func key(b []byte) uint32 {
	w := uint32(b[0]) | uint32(b[1])<<8 | uint32(b[2])<<16 | uint32(b[3])<<24
	return w * 0x9E3779B1 >> 20
}

// words visits the words of a line that mean trouble. A word that is the name of a number ("error: 0.02", "errors=0"), that is denied ("no
// error") or part of a longer name ("ignore_errors") does not.
func words(low, line []byte, found func(Sign)) {
	var before []byte
	for i := 0; i < len(low); {
		c := low[i]
		if !wordByte(c) && c < utf8.RuneSelf {
			i++
			continue
		}
		end := i
		for end < len(low) && (wordByte(low[end]) || low[end] >= utf8.RuneSelf || low[end] == '-' && end+1 < len(low) && wordByte(low[end+1])) {
			end++
		}
		word := low[i:end]
		level, known := troubles[string(word)]
		if !known {
			level = named(line[i:end])
		}
		if level > Calm && !denials[string(before)] && !quantity(low[end:]) && (!known || !setting(low, i, end)) {
			found(Sign{Level: level, Why: "says “" + string(line[i:end]) + "”", At: i, Len: end - i})
		}
		before, i = word, end
	}
}

// named reads the names of exceptions and signals: "ValueError", "java.lang.NullPointerException", "SIGSEGV", "EIO".
func named(word []byte) Level {
	switch {
	case bytes.HasSuffix(word, []byte("Warning")) && len(word) > len("Warning"):
		return Warning
	case len(word) > 5 && exceptional(word):
		return Failed
	case signals[string(word)]:
		return Crash
	case numbers[string(word)]:
		return Failed
	}
	return Calm
}

// exceptional says that a word is the name of an exception's type: it ends as those do, with a capital in the middle.
func exceptional(word []byte) bool {
	return slices.ContainsFunc(exceptionEnds, func(e []byte) bool { return bytes.HasSuffix(word, e) })
}

// quantity says that a number, or a word that stands for none, follows a name: it counts or measures.
func quantity(rest []byte) bool {
	i := 0
	if i < len(rest) && (rest[i] == '"' || rest[i] == '\'') {
		i++
	}
	for i < len(rest) && rest[i] == ' ' {
		i++
	}
	if i >= len(rest) || rest[i] != ':' && rest[i] != '=' {
		return false
	}
	for i < len(rest) && bytes.IndexByte([]byte(" :=\"'"), rest[i]) >= 0 {
		i++
	}
	value := rest[i:]
	for _, w := range nothings {
		if bytes.HasPrefix(value, w) && bounded(value, 0, len(w)) {
			return !begins(w, value[len(w):])
		}
	}
	n := 0
	for n < len(value) && (value[n] >= '0' && value[n] <= '9' || value[n] == '.' || value[n] == '-' || value[n] == 'e') {
		n++
	}
	// An error's number ("error: 13: Permission denied") is followed by what it means.
	return n > 0 && (n == len(value) || value[n] != ':' && value[n] != '(')
}

// begins says that "no" or "on" is the first word of a message, not a value: "error: no lanes left". "Errors: no failures" has none.
func begins(word, rest []byte) bool {
	if w := string(word); w != "no" && w != "on" || len(rest) < 2 || rest[0] != ' ' {
		return false
	}
	end := 1
	for end < len(rest) && wordByte(rest[end]) {
		end++
	}
	_, trouble := troubles[string(lower(rest[1:end]))]
	return end > 1 && !trouble
}

// setting says that a word belongs to the name or the value of a setting, or to a path: "--exit-on-error", "on_error=raise", "/error/".
func setting(low []byte, from, to int) bool {
	if from > 0 && bytes.IndexByte([]byte("-/_$."), low[from-1]) >= 0 && (from < 2 || low[from-2] != ' ') && !bytes.HasPrefix(low[max(0, from-2):], []byte("..")) {
		return true
	}
	return to < len(low) && (low[to] == '/' || low[to] == '_' || low[to] == '=' && to+1 < len(low) && low[to+1] != ' ' && low[to+1] != '"')
}
