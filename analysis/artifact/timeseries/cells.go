package timeseries

import (
	"strconv"
	"strings"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/pattern"
)

// blanks says that cells are what stands between blanks.
const blanks = ' '

// separator is what stands between the cells of a line.
func separator(s string) byte {
	for _, c := range []byte{',', '\t', ';', '|'} {
		if strings.IndexByte(s, c) >= 0 {
			return c
		}
	}
	return blanks
}

// cells divides a line. Quotes around a cell are taken off.
func cells(s string, sep byte) []string {
	if sep == blanks {
		return strings.Fields(s)
	}
	if sep == '|' { // a frame, too
		s = strings.Trim(s, "| ")
	}
	out := strings.Split(s, string(sep))
	for i := range out {
		out[i] = strings.Trim(strings.TrimSpace(out[i]), `"`)
	}
	return out
}

var (
	hm       = pattern.New(`^\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d$|^\d\d:\d\d$`)
	half     = pattern.New(`^ ([AP])M\b`)
	inside   = pattern.New(`(?:^|[^\w:.])(\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d|\d\d/\d\d/\d{4} \d\d:\d\d:\d\d|\d\d:\d\d:\d\d)`)
	dateOnly = pattern.New(`\b(?:(\d\d)/(\d\d)/(\d{4})|(\d{4})-(\d\d)-(\d\d))\b`)
)

// stampAt is the stamp that a text begins with, with its length; 0 where it begins with none. Twelve-hour clocks say which half of the day it is.
func stampAt(s string) (line.Stamp, int) {
	st, n := line.ParseStamp([]byte(s))
	if n == 0 {
		return st, 0
	}
	if m := half.FindStringSubmatch(s[n:]); m != nil {
		st.Hour %= 12
		if m[1] == "P" {
			st.Hour += 12
		}
		n += len(m[0])
	}
	return st, n
}

// whole is the stamp that a cell is.
func whole(s string) (line.Stamp, bool) {
	if n := len(s); n > 4 && s[n-3] == ':' && hm.MatchString(s) {
		s += ":00"
	}
	st, n := stampAt(s)
	return st, n > 0 && strings.Trim(s[n:], "Z ") == ""
}

// peel takes the stamp off a line of cells between blanks: it stands in front or at the end. rest is the line without it.
func peel(s string) (st line.Stamp, rest string, ok bool) {
	s = strings.TrimSpace(s)
	bare := strings.TrimPrefix(s, "[")
	if st, n := stampAt(bare); n > 0 {
		rest := strings.TrimPrefix(bare[n:], "]")
		if rest == "" || rest[0] == ' ' || rest[0] == '\t' {
			return st, strings.TrimSpace(rest), true
		}
	}
	if !clocked(s) {
		return st, s, false
	}
	all := inside.FindAllStringSubmatchIndex(s, -1)
	if len(all) == 0 {
		return st, s, false
	}
	at := all[len(all)-1][2]
	if st, n := stampAt(s[at:]); n > 0 && strings.TrimSpace(s[at+n:]) == "" {
		return st, strings.TrimSpace(s[:at]), true
	}
	return line.Stamp{}, s, false
}

// clocked reports whether hours, minutes and seconds stand in a line: most lines tell no time, and an expression takes long to find that out.
func clocked(s string) bool {
	for i := 2; i+5 < len(s); i++ {
		if s[i] != ':' || s[i+3] != ':' {
			continue
		}
		if two(s[i-2:]) && two(s[i+1:]) && two(s[i+4:]) {
			return true
		}
	}
	return false
}

// two says that a text begins with two digits.
func two(s string) bool { return ascii.Digit(s[0]) && ascii.Digit(s[1]) }

// between reports whether a byte stands between two digits.
func between(s string, c byte) bool {
	for i := 1; i+1 < len(s); i++ {
		if s[i] == c && ascii.Digit(s[i-1]) && ascii.Digit(s[i+1]) {
			return true
		}
	}
	return false
}

// moment is the stamp that stands anywhere in a line that is no row.
func moment(s string) (line.Stamp, bool) {
	if !clocked(s) {
		return line.Stamp{}, false
	}
	m := inside.FindStringSubmatchIndex(s)
	if m == nil {
		return line.Stamp{}, false
	}
	st, n := stampAt(s[m[2]:])
	return st, n > 0
}

// day is the date that a line states without a time.
func day(s string) (line.Stamp, bool) {
	if !between(s, '-') && !between(s, '/') {
		return line.Stamp{}, false
	}
	m := dateOnly.FindStringSubmatch(s)
	if m == nil {
		return line.Stamp{}, false
	}
	year, month, date := m[3], m[1], m[2]
	if year == "" {
		year, month, date = m[4], m[5], m[6]
	}
	y, _ := strconv.ParseInt(year, 10, 16)
	mo, _ := strconv.ParseInt(month, 10, 8)
	d, _ := strconv.ParseInt(date, 10, 8)
	if mo < 1 || mo > 12 || d < 1 || d > 31 {
		return line.Stamp{}, false
	}
	return line.Stamp{Kind: line.DateTime, Year: int16(y), Month: int8(mo), Day: int8(d)}, true
}

// scales are the letters behind a number that multiply it.
var scales = map[byte]float64{'k': 1e3, 'K': 1e3, 'M': 1e6, 'G': 1e9, 'T': 1e12}

var unit = pattern.New(`^ ?(?:[kKMGT]i?B?(?:/s)?|%|W|MHz|GHz|[CF]|ms|us|µs|s|B|MiB|GiB|x|GB/s|MB/s|Gb/s|it/s|s/it|tok/s|TFLOPS?|°C)?$`)

// flags are cells that say yes or no.
var flags = map[string]float64{"active": 1, "not active": 0, "true": 1, "false": 0, "yes": 1, "no": 0, "on": 1, "off": 0, "enabled": 1, "disabled": 0}

// number is the number that a cell states, with its unit behind it.
func number(s string) (v float64, ok bool) {
	if v, ok = flags[strings.ToLower(s)]; ok {
		return v, true
	}
	n := 0
	for n < len(s) && ofNumber(s, n) {
		n++
	}
	v, err := strconv.ParseFloat(s[:n], 64)
	if err != nil || !unit.MatchString(s[n:]) {
		return 0, false
	}
	rest := strings.TrimSpace(s[n:])
	if rest == "ms" || len(rest) == 0 {
		return v, true
	}
	if f, scaled := scales[rest[0]]; scaled && (len(rest) == 1 || rest[1] == 'i' || rest[1] == 'B') {
		v *= f
	}
	return v, true
}

// ofNumber says that a number which has come so far may go on with this byte: a sign stands in front or behind an exponent.
func ofNumber(s string, i int) bool {
	switch s[i] {
	case '.', 'e', 'E':
		return true
	case '+', '-':
		return i == 0 || s[i-1] == 'e' || s[i-1] == 'E'
	}
	return ascii.Digit(s[i])
}

// missing are cells that state nothing.
func missing(s string) bool {
	switch strings.ToLower(s) {
	case "", "-", "n/a", "[n/a]", "na", "nan", "null", "none", "[not supported]":
		return true
	}
	return false
}
