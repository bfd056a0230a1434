package redact

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
)

//go:embed issuers.txt
var issuersText string

// issuer is one format of secrets that its prefix gives away.
type issuer struct {
	name, prefix string
	alphabet     func(byte) bool
	least        int // characters after the prefix
	// wordy prefixes begin words as well: what follows has to look drawn, not written.
	wordy bool
}

var alphabets = map[string]func(byte) bool{
	"hex":    func(c byte) bool { return hexDigit(c) || c == '-' },
	"lower":  func(c byte) bool { return lower(c) || digit(c) },
	"upper":  func(c byte) bool { return upper(c) || digit(c) },
	"alnum":  alnum,
	"url":    func(c byte) bool { return alnum(c) || c == '-' || c == '_' },
	"base64": func(c byte) bool { return alnum(c) || c == '+' || c == '/' || c == '=' || c == '_' || c == '-' },
	"dotted": func(c byte) bool { return alnum(c) || strings.IndexByte("-_.:/=+", c) >= 0 },
}

func lower(c byte) bool    { return c >= 'a' && c <= 'z' }
func upper(c byte) bool    { return c >= 'A' && c <= 'Z' }
func digit(c byte) bool    { return c >= '0' && c <= '9' }
func alnum(c byte) bool    { return lower(c) || upper(c) || digit(c) }
func hexDigit(c byte) bool { return digit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

// issuers finds formats by the first two bytes of their prefixes, so that the time of a search does not grow with their number.
type issuers map[[2]byte][]issuer

// known are all of the table; it is read when a text first needs it.
var known = sync.OnceValue(func() issuers { return readIssuers(func(string) bool { return true }) })

// readIssuers reads the table; wanted chooses by name.
func readIssuers(wanted func(name string) bool) issuers {
	index := issuers{}
	for line := range strings.Lines(issuersText) {
		f := strings.Split(strings.TrimSpace(line), " | ")
		if len(f) != 5 || strings.HasPrefix(line, "#") || !wanted(f[0]) {
			continue
		}
		least, err := strconv.Atoi(f[3])
		i := issuer{f[0], f[1], alphabets[f[2]], least, wordy(f[1])}
		if err != nil || i.alphabet == nil || len(i.prefix) < 2 {
			panic("issuers.txt: " + line)
		}
		key := [2]byte{i.prefix[0], i.prefix[1]}
		index[key] = append(index[key], i)
	}
	return index
}

func wordy(prefix string) bool {
	return len(prefix) < 4 || len(prefix) < 6 && strings.Trim(prefix, "abcdefghijklmnopqrstuvwxyz-_.") == ""
}

// find adds what the issuers' formats match. A format begins where a word begins.
func (x issuers) find(text string, add func(from, to int)) {
	for at := 0; at+1 < len(text); at++ {
		if at > 0 && alnum(text[at-1]) {
			continue
		}
		for _, i := range x[[2]byte{text[at], text[at+1]}] {
			if to := i.match(text, at); to > 0 {
				add(at, to)
				at = to - 1
				break
			}
		}
	}
}

// match returns the end of a secret that begins at a place; 0 where none does.
func (i *issuer) match(text string, at int) int {
	if !strings.HasPrefix(text[at:], i.prefix) {
		return 0
	}
	from := at + len(i.prefix)
	to := from
	for to < len(text) && i.alphabet(text[to]) {
		to++
	}
	for to > from && strings.IndexByte("-.:/_", text[to-1]) >= 0 { // a sentence's or a path's
		to--
	}
	if body := text[from:to]; to-from < i.least || i.wordy && !drawn(body) && !isHex(body) || len(i.prefix) < 3 && !mixed(body, 12) && (!isHex(body) || len(body) < 32) {
		return 0
	}
	for to < len(text) && text[to] == '=' {
		to++
	}
	return to
}
