package script

import (
	"path"
	"strings"
)

// Values are texts in which single runes of Unicode's private area stand for what is not the same everywhere: a symbol of
// SLURM's (symbolBase + its letter), a text within one element of a path (anything), a text that comes from outside
// (outsideBase + its number).
const (
	symbolBase  = '\uf000'
	anything    = '\uf0ff'
	outsideBase = '\ue000'
	outsideEnd  = '\uefff'
)

func symbol(letter rune) string { return string(symbolBase + letter) }

// clean takes the runes away that have a meaning here: whoever writes a script has no business with them.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= outsideBase && r <= anything || r == 0 || r == '\x1a' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

func isOutside(r rune) bool { return r >= outsideBase && r <= outsideEnd }
func isMark(r rune) bool    { return r >= outsideBase && r <= anything }

// open says that a text holds something that comes from outside.
func open(s string) bool { return strings.ContainsFunc(s, isOutside) }

// marked says that a text is not known to the letter.
func marked(s string) bool { return strings.ContainsFunc(s, isMark) }

// fromPattern turns a fact, written in SLURM's pattern language, into a value.
func fromPattern(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] != '%' || i+1 == len(s):
			b.WriteByte(s[i])
		case s[i+1] == '%':
			b.WriteByte('%')
			i++
		default:
			b.WriteString(symbol(rune(s[i+1])))
			i++
		}
	}
	return b.String()
}

// toPattern writes a value as a pattern: srun reads the percent signs that the script wrote, everybody else opens them as they are.
// Any is the package pattern's sign for text that is not known.
func (in *reader) toPattern(s string, kind Kind) (pattern string, outside []string) {
	const any = "\x1a"
	var b strings.Builder
	for _, r := range s {
		switch {
		case isOutside(r):
			outside = append(outside, in.names[r])
			b.WriteString(any)
		case r == anything:
			b.WriteString(any)
		case r > symbolBase && r < anything:
			b.WriteByte('%')
			b.WriteRune(r - symbolBase)
		case r == '%' && kind == Written:
			b.WriteString("%%")
		default:
			b.WriteRune(r)
		}
	}
	return strings.ReplaceAll(b.String(), any+any, any), outside
}

// resolve is where a relative path leads; a value that begins with something from outside may be absolute and stays.
func (in *reader) resolve(s *state, v string) string {
	switch {
	case v == "":
		return s.dir
	case strings.HasPrefix(v, "/") || isOutside([]rune(v)[0]):
		return path.Clean(v)
	case s.dir == "":
		return v
	}
	return path.Join(s.dir, v)
}

// outside is the mark of what comes from outside, by its name.
func (in *reader) outside(name string) string {
	for r, n := range in.names {
		if n == name {
			return string(r)
		}
	}
	r := outsideBase + rune(len(in.names))
	if r > outsideEnd {
		return string(anything)
	}
	in.names[r] = name
	return string(r)
}
