package worker

import (
	"regexp"
	"strconv"

	"faultline/knowledge"
	"faultline/knowledge/severity"
)

// errnoText is the C library's message as Python prints it: its number, which is the same in every language, and its words.
var errnoText = regexp.MustCompile(`\[Errno (\d{1,3})\] [^\n]*?(?:(: ['"])|\n|$)`)

// signsOf knows an exception by its words; where nothing knows them, by those that the C library's message has in English.
func (r *reader) signsOf(text []byte) []knowledge.ID {
	if ids := r.recognise(nil, text); len(ids) > 0 {
		return ids
	}
	return r.table.known.Match(nil, inEnglish(text))
}

// inEnglish is an exception with the C library's message in English; nil where it holds none in another language.
func inEnglish(text []byte) []byte {
	if m := errnoText.FindSubmatchIndex(text); m != nil {
		n, _ := strconv.Atoi(string(text[m[2]:m[3]]))
		e, ok := knowledge.ErrnoByNumber(n)
		if !ok {
			return nil
		}
		rest := m[1] // what follows the words: the path, or the next line
		if m[4] >= 0 {
			rest = m[4]
		}
		out := append([]byte{}, text[:m[3]]...)
		out = append(append(out, "] "...), e.Text...)
		if rest == m[1] {
			out = append(out, '\n')
		}
		return append(out, text[rest:]...)
	}
	if s := severity.Translated(text); s.English != "" {
		return []byte(s.InEnglish(string(text)))
	}
	return nil
}
