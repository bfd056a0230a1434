package severity

import (
	"strings"
	"unicode/utf8"
)

// elision stands where an excerpt leaves something out.
const elision = " … "

// Excerpt is at most so many letters of a line: its beginning and, where that stands further on, what makes the line sound bad. A line says first who
// speaks and last what happened, so neither end alone is enough.
func Excerpt(line string, most int) string {
	if utf8.RuneCountInString(line) <= most {
		return line
	}
	s := Of([]byte(line))
	if s.Len == 0 || utf8.RuneCountInString(line[:s.At+s.Len]) < most {
		return whole(line[:after(line, 0, most-1)]) + "…"
	}
	head := whole(line[:after(line, 0, most/3)])
	room := most - utf8.RuneCountInString(head) - utf8.RuneCountInString(elision) - 1
	spare := max(0, room-utf8.RuneCountInString(line[s.At:s.At+s.Len]))
	from := before(line, s.At, spare*2/3)
	to := after(line, from, room)
	if end := before(line, len(line), room+1); end <= s.At { // the line ends soon
		from, to = end, len(line)
	}
	if i := strings.IndexByte(line[from:s.At], ' '); i >= 0 && i < mostOfWord && line[from-1] != ' ' { // not within a word
		from += i
	}
	text := head + elision + strings.TrimLeft(line[from:to], " ")
	if to < len(line) {
		text += "…"
	}
	return text
}

// mostOfWord is how much of a word that is cut is left out with it.
const mostOfWord = 20

// whole is a beginning of a line up to its last whole word, where what is left out is no longer than a word.
func whole(head string) string {
	if i := strings.LastIndexByte(head, ' '); i > 0 && len(head)-i <= mostOfWord {
		head = head[:i]
	}
	return strings.TrimRight(head, " ")
}

// after is n letters behind a place, or the end.
func after(text string, at, n int) int {
	for ; n > 0 && at < len(text); n-- {
		_, size := utf8.DecodeRuneInString(text[at:])
		at += size
	}
	return at
}

// before is n letters before a place, or the beginning.
func before(text string, at, n int) int {
	for ; n > 0 && at > 0; n-- {
		_, size := utf8.DecodeLastRuneInString(text[:at])
		at -= size
	}
	return at
}
