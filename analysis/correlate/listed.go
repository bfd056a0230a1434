package correlate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// listing is what a request says of the objects that it is for. Source: AIStore api/apc/multiobj.go (ListRange.Str) and
// cmn/cos/template.go, 4.0 to 5.0; earlier releases do not write it.
type listing struct {
	// names are all of them, or the first of many.
	names []string
	many  bool
	// prefix begins the name of each; ranges follow it. Without ranges any end will do.
	prefix string
	ranges []numbers
}

// numbers are a range in a template, and the text behind it.
type numbers struct {
	from, to, step int64
	digits         int
	gap            string
}

// listed reads "ctl: list(60 names):[a, ...]", "ctl: list:[a b]", "ctl: prefix:a/" and "ctl: template:a-{0..9}.tar".
func listed(text string) (listing, bool) {
	_, ctl, ok := strings.Cut(text, " ctl: ")
	if !ok {
		return listing{}, false
	}
	if rest, ok := strings.CutPrefix(ctl, "list:["); ok {
		rest, _, ok = strings.Cut(rest, "]")
		names := strings.Fields(rest)
		return listing{names: names, many: len(names) > 3}, ok // then names hold spaces
	}
	if rest, ok := strings.CutPrefix(ctl, "list("); ok {
		_, rest, ok = strings.Cut(rest, "):[")
		first, _, ok2 := strings.Cut(rest, ", ...]")
		return listing{names: []string{first}, many: true}, ok && ok2
	}
	if rest, ok := strings.CutPrefix(ctl, "prefix:"); ok {
		return listing{prefix: strings.TrimSuffix(rest, "*")}, true
	}
	if rest, ok := strings.CutPrefix(ctl, "template:"); ok {
		return template(rest)
	}
	return listing{}, false
}

// template reads a name with ranges: "a-{0001..0999..2}.tar", "a-@0999.tar".
func template(s string) (listing, bool) {
	i := strings.IndexAny(s, "{@%")
	if i < 0 || s[i] == '%' {
		return listing{}, false
	}
	open := s[i : i+1]
	l := listing{prefix: s[:i]}
	for s = s[i:]; s != ""; {
		n, rest, ok := ranged(s, open)
		if !ok {
			return listing{}, false
		}
		l.ranges, s = append(l.ranges, n), rest
	}
	return l, true
}

// ranged reads the range that a text begins with, and the text up to the next one.
func ranged(s, open string) (n numbers, rest string, ok bool) {
	n.step = 1
	if rest = s[len(open):]; open == "@" {
		end := digitsOf(rest)
		n.digits, rest = len(end), rest[len(end):]
		n.to, ok = number(end)
	} else {
		inside, after, closed := strings.Cut(rest, "}")
		rest, ok = after, closed && n.read(strings.Split(inside, ".."))
	}
	n.gap, _, _ = strings.Cut(rest, open)
	return n, rest[len(n.gap):], ok && n.step > 0 && digitsOf(n.gap) == ""
}

// read takes first, last and step.
func (n *numbers) read(parts []string) bool {
	if len(parts) != 2 && len(parts) != 3 {
		return false
	}
	ok := [3]bool{true, true, true}
	n.from, ok[0] = number(parts[0])
	n.to, ok[1] = number(parts[1])
	if len(parts) == 3 {
		n.step, ok[2] = number(parts[2])
	}
	n.digits = min(len(parts[0]), len(parts[1]))
	return ok == [3]bool{true, true, true}
}

func number(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && v >= 0
}

// covers says that an object is one of them; sure is false where the listing does not tell.
func (l *listing) covers(object string) (yes, sure bool) {
	switch {
	case slices.Contains(l.names, object):
		return true, true
	case l.names != nil:
		return false, !l.many
	}
	rest, ok := strings.CutPrefix(object, l.prefix)
	for _, n := range l.ranges {
		digits := digitsOf(rest)
		v, isNumber := number(digits)
		within := isNumber && v >= n.from && v <= n.to && (v-n.from)%n.step == 0 && fmt.Sprintf("%0*d", n.digits, v) == digits
		if rest, ok = strings.CutPrefix(rest[len(digits):], n.gap); !ok || !within {
			return false, true
		}
	}
	return ok && (l.ranges == nil || rest == ""), true
}
