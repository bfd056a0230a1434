package blockkit

import (
	"strings"
	"unicode/utf8"
)

// cutMark ends a text that goes on elsewhere; where there is little room, shortMark does.
const (
	cutMark   = "… (cut, see the report file)"
	shortMark = "…"
)

// Clip shortens s to at most n characters and ends it with a mark where something was cut; n ≥ 1. A character reference
// of Escape is not torn apart.
func Clip(s string, n int) string {
	if len(s) <= n || utf8.RuneCountInString(s) <= n {
		return s
	}
	mark := cutMark
	if n < 80 {
		mark = shortMark
	}
	keep := n - utf8.RuneCountInString(mark)
	at := 0
	for ; keep > 0; keep-- {
		_, size := utf8.DecodeRuneInString(s[at:])
		at += size
	}
	s = s[:at]
	if i := strings.LastIndexByte(s, '&'); i >= 0 && len(s)-i < len("&amp;") && !strings.Contains(s[i:], ";") {
		s = s[:i]
	}
	return s + mark
}

// clip is Clip that counts.
func (f *fitter) clip(s, limit string) string { return f.clipTo(s, bound(limit).budget) }

func (f *fitter) clipTo(s string, n int) string {
	t := Clip(s, n)
	if len(t) != len(s) || t != s {
		f.lost.texts++
	}
	return t
}
