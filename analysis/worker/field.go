package worker

import (
	"bytes"
	"strconv"
	"strings"

	"faultline/analysis/line"
)

// intAt reads a decimal integer, with sign, at the start of b. It returns how many bytes it took; 0 if there is none or
// if it does not fit.
func intAt(b []byte) (v int64, n int) {
	if n < len(b) && (b[n] == '-' || b[n] == '+') {
		n++
	}
	digits := n
	for n < len(b) && b[n] >= '0' && b[n] <= '9' {
		n++
	}
	if n == digits || n-digits > 18 {
		return 0, 0
	}
	v, err := strconv.ParseInt(string(b[:n]), 10, 64)
	if err != nil {
		return 0, 0
	}
	return v, n
}

// intAfter reads the integer right after the first key in b; blanks between them are allowed.
func intAfter(b []byte, key string) (int64, bool) {
	v, rest := intAfterRest(b, key)
	return v, rest != nil
}

// intAfterRest also returns what follows the integer, never nil if there was one.
func intAfterRest(b []byte, key string) (int64, []byte) {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return 0, nil
	}
	b = bytes.TrimLeft(b[i+len(key):], " \t")
	v, n := intAt(b)
	if n == 0 {
		return 0, nil
	}
	return v, b[n:]
}

// wholeAfter is intAfter for records that may be cut: an integer that ends where a cut record ends may lack digits and
// counts as not stated.
func (rec *record) wholeAfter(b []byte, key string) (int64, bool) {
	v, rest := intAfterRest(b, key)
	if rest == nil || len(rest) == 0 && rec.Cut {
		return 0, false
	}
	return v, true
}

// orUnknown turns "not stated" into line.Unknown, for numbers that are never negative.
func orUnknown(v int64, ok bool) int64 {
	if !ok {
		return line.Unknown
	}
	return v
}

// bounded is a number from a log as an int, line.Unknown where it is none or absurd.
func bounded(s string) int {
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil || n > 1<<31 || n < -1<<31 {
		return line.Unknown
	}
	return n
}

// wordAfter returns the bytes of set [A-Za-z0-9_] after key.
func wordAfter(b []byte, key string) string {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return ""
	}
	b = b[i+len(key):]
	n := 0
	for n < len(b) && isWord(b[n]) {
		n++
	}
	return clip(b[:n])
}

// intList reads "1, 3, 5" or "[1, 3]" at the start of b, bounded.
func intList(b []byte) []int {
	b = bytes.TrimLeft(b, "[ ")
	var list []int
	for len(list) < 1<<16 {
		v, n := intAt(b)
		if n == 0 || v < 0 {
			return list
		}
		list = append(list, int(v))
		b = bytes.TrimLeft(b[n:], " ")
		if len(b) == 0 || b[0] != ',' {
			return list
		}
		b = bytes.TrimLeft(b[1:], " ")
	}
	return list
}

var noGroup = GroupRef{Rank: line.Unknown}

// MemberRank is the rank within a process group that a text states of its writer last; line.Unknown where it states none.
func MemberRank(text string) int {
	g, _, _ := lastGroup([]byte(text))
	return g.Rank
}

// lastGroup finds the last group prefix in b and where it begins and ends (-1 if none). Forms (ProcessGroupNCCL::logPrefix):
//
//	[Rank 3]                                     ≤ 2.2; names no group
//	[PG 1 Rank 1]                                2.3, 2.4
//	[PG 0 (default_pg) Rank 2]                   2.4
//	[PG ID 0 PG GUID 0(default_pg) Rank 1]       ≥ 2.5
//	[PG ID 2 PG GUID 17 Rank 1]                  ≥ 2.5, without description
func lastGroup(b []byte) (g GroupRef, start, end int) {
	for end := len(b); ; {
		i := bytes.LastIndex(b[:end], []byte("[PG "))
		if i < 0 {
			break
		}
		if g, n := groupAt(b[i:]); n > 0 {
			return g, i, i + n
		}
		end = i
	}
	if i := bytes.LastIndex(b, []byte("[Rank ")); i >= 0 {
		v, n := intAt(b[i+len("[Rank "):])
		j := i + len("[Rank ") + n
		if n > 0 && j < len(b) && b[j] == ']' {
			g := noGroup
			g.Rank = int(v)
			return g, i, j + 1
		}
	}
	return noGroup, -1, -1
}

func groupAt(b []byte) (GroupRef, int) {
	const maxPrefix = 512
	if len(b) > maxPrefix {
		b = b[:maxPrefix]
	}
	g := noGroup
	p := len("[PG ")
	if bytes.HasPrefix(b[p:], []byte("ID ")) {
		_, n := intAt(b[p+3:])
		if n == 0 {
			return noGroup, 0
		}
		p += 3 + n
		if !bytes.HasPrefix(b[p:], []byte(" PG GUID ")) {
			return noGroup, 0
		}
		p += len(" PG GUID ")
	}
	// The description may hold blanks, even " Rank ": the prefix ends at the first " Rank <digits>]".
	name := b[p:]
	for from := 0; ; {
		i := bytes.Index(name[from:], []byte(" Rank "))
		if i < 0 {
			return noGroup, 0
		}
		i += from
		v, n := intAt(name[i+len(" Rank "):])
		j := i + len(" Rank ") + n
		if n > 0 && j < len(name) && name[j] == ']' {
			g.Rank = int(v)
			p += j + 1
			name = name[:i]
			break
		}
		from = i + 1
	}
	if i := bytes.IndexByte(name, '('); i >= 0 {
		g.Desc = clip(bytes.TrimSuffix(name[i+1:], []byte(")")))
		name = name[:i]
	}
	g.GUID = clip(bytes.TrimSpace(name))
	g.Known = g.GUID != "" && !bytes.ContainsAny(name[:len(bytes.TrimRight(name, " "))], " []")
	if !g.Known {
		return noGroup, 0
	}
	return g, p
}
