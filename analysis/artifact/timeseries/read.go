package timeseries

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/line"
	"faultline/pattern"
)

// ErrOther says that a file is no table over time.
var ErrOther = errors.New("it is no table over time")

// row is one line of a table.
type row struct {
	lines.Place
	stamp line.Stamp
	cells []string
}

// grid are the rows below like headings.
type grid struct {
	names []string
	rows  []row
}

type reader struct {
	t     *Table
	sep   byte
	names []string   // headings that may be those of what follows
	above line.Stamp // of the block
	grids map[string]*grid
	order []*grid
	cells int
	rows  int
	// paired are rows of names and values.
	paired      int
	recognising bool // whose table it is does not matter
}

// Recognise says whether a file that begins so is a table over time, or holds rows of one.
func Recognise(head []byte) bool { return len(begin(head, false).table().Series) > 0 }

// Headed says that it is a table with headings, and not a log whose lines hold names and values.
func Headed(head []byte) bool {
	r := begin(head, true)
	return r.paired == 0 && len(r.table().Series) > 0
}

// begin reads how a file begins, up to the first row of names and values if a table has headings.
func begin(head []byte, headed bool) *reader {
	if len(head) > HeadLen {
		head = head[:HeadLen]
		if i := strings.LastIndexByte(string(head), '\n'); i > 0 {
			head = head[:i]
		}
	}
	r := newReader()
	r.recognising = true
	rest := string(head)
	for n := int64(1); rest != "" && r.rows < 4*maxNames; n++ {
		text, more, _ := strings.Cut(rest, "\n")
		r.line(lines.Line{Place: lines.Place{Line: n}, Text: strings.TrimRight(text, "\r")})
		if n > 40 && r.rows == 0 || headed && r.paired > 0 {
			break
		}
		rest = more
	}
	return r
}

// Read reads a table.
func Read(ctx context.Context, in io.Reader) (*Table, error) {
	r := newReader()
	if err := lines.Each(ctx, in, func(l lines.Line) error { r.line(l); return nil }); err != nil {
		return nil, err
	}
	if t := r.table(); len(t.Series) > 0 {
		return t, nil
	}
	return nil, ErrOther
}

func newReader() *reader { return &reader{t: &Table{}, grids: map[string]*grid{}} }

// line takes one line for a row, for headings, or for what stands between tables.
func (r *reader) line(l lines.Line) {
	text := strings.TrimSpace(l.Text)
	if text == "" || l.Cut {
		return
	}
	if r.object(l, text) || r.row(l, text) || r.pairs(l, text) {
		return
	}
	r.host(text)
	if !r.heads(text) {
		r.between(text)
	}
}

// row takes a line for a row below the headings that stand above it.
func (r *reader) row(l lines.Line, text string) bool {
	if r.names == nil {
		return false
	}
	x := row{Place: l.Place, stamp: r.above}
	bare := text
	if r.sep == blanks {
		if st, rest, ok := peel(text); ok {
			x.stamp, bare = st, rest
		}
	}
	x.cells = cells(bare, r.sep)
	names := fitting(r.names, len(x.cells), r.sep == blanks)
	if names == nil {
		return false
	}
	numbers := 0
	for _, c := range x.cells {
		if _, ok := number(c); ok || missing(c) {
			numbers++
		}
	}
	if numbers == 0 || r.sep == blanks && 2*numbers < len(x.cells) {
		return false
	}
	r.keep(names, x)
	return true
}

// timeHead are headings of the column of a time between blanks, which is taken off the rows.
var timeHead = pattern.New(`(?i)^#?(?:time(?:stamp)?|date|hh:mm:ss|[A-Z]{3,4})$`)

// fitting are the headings of a row of n cells, nil where they are not its own. Between blanks one that has no cell is the time's, or the title
// of the others ("avg-cpu:").
func fitting(names []string, n int, free bool) []string {
	switch {
	case len(names) == n:
		return names
	case !free || len(names) < n:
		return nil
	}
	out := names
	for len(out) > n && (strings.HasSuffix(out[0], ":") || timeHead.MatchString(out[0])) {
		out = out[1:]
	}
	for len(out) > n && timeHead.MatchString(out[len(out)-1]) {
		out = out[:len(out)-1]
	}
	if len(out) != n {
		return nil
	}
	return out
}

// heads takes a line for headings: none of its cells is a number, but times may be.
func (r *reader) heads(text string) bool {
	sep := separator(text)
	bare := strings.TrimSpace(strings.TrimPrefix(text, "#"))
	least := 2
	if sep == blanks {
		least = 3
		if st, rest, ok := peel(bare); ok { // sar has the time in front of its headings
			r.above, bare, least = st, rest, 1
		}
	}
	names := cells(bare, sep)
	if len(names) < least || len(names) > maxNames {
		return false
	}
	for _, n := range names {
		_, timed := whole(n)
		if _, num := number(n); num || len(n) > 64 || sep == blanks && !timed && !heading.MatchString(n) {
			return false
		}
	}
	if units(r.names, names) {
		return true
	}
	r.names, r.sep = names, sep
	return true
}

// heading is what stands above a column between blanks: a word, as no sentence has it before its end.
var heading = pattern.New(`^[%A-Za-z_(][\w%()/.\[\]-]{0,31}:?$`)

var unitWord = pattern.New(`^#?(?:Idx|W|C|%|MHz|MB|GB|KB|errs|bool|s|ms|us|HH:MM:SS|GB/s|MB/s|kB|B|-+)$`)

// units says that a second line of headings holds the units of the first.
func units(above, names []string) bool {
	if len(above) == 0 {
		return false
	}
	n := 0
	for _, w := range names {
		if unitWord.MatchString(w) {
			n++
		}
	}
	return 4*n >= 3*len(names)
}

var (
	pair    = pattern.New(`(?:^|[\s,;|])([A-Za-z_][\w./-]{0,40})=("[^"]*"|[^\s,;|]+)`)
	spelled = pattern.New(`\b([A-Za-z_]*(?:step|iter|iteration))[ :=]+(\d{1,12})\b`)
)

// leastPairs make a row of names and values.
const leastPairs = 2

// pairs takes a line for a row of "name=value".
func (r *reader) pairs(l lines.Line, text string) bool {
	if strings.Count(text, "=") < leastPairs {
		return false
	}
	st, rest, ok := peel(text)
	if !ok {
		st, rest = r.above, text
	}
	var names, values []string
	all := pair.FindAllStringSubmatchIndex(rest, maxNames)
	if len(all) < leastPairs {
		return false
	}
	if m := spelled.FindStringSubmatch(rest[:all[0][0]]); m != nil {
		names, values = append(names, m[1]), append(values, m[2])
	}
	for _, m := range all {
		names, values = append(names, rest[m[2]:m[3]]), append(values, strings.Trim(rest[m[4]:m[5]], `"`))
	}
	r.paired++
	r.keep(names, row{l.Place, st, values})
	return true
}

// object takes a line for a row that is a flat JSON object.
func (r *reader) object(l lines.Line, text string) bool {
	text = strings.Trim(text, "[],")
	if !strings.HasPrefix(text, "{") || !strings.HasSuffix(text, "}") {
		return false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	var names, values []string
	for dec.More() && len(names) < maxNames {
		k, err := dec.Token()
		name, ok := k.(string)
		var v any
		if err != nil || !ok || dec.Decode(&v) != nil {
			return false
		}
		switch v := v.(type) {
		case json.Number:
			names, values = append(names, name), append(values, v.String())
		case string:
			names, values = append(names, name), append(values, v)
		case bool:
			names, values = append(names, name), append(values, strconv.FormatBool(v))
		}
	}
	if len(names) < leastPairs {
		return false
	}
	r.keep(names, row{l.Place, r.above, values})
	return true
}

// hosts: "(knoten2)" behind a system's name or a command, a prompt "leaf-12#", "host: n3".
var hosts = pattern.New(`\(([A-Za-z][\w.-]*\d[\w.-]*)\)|^([A-Za-z][\w.-]*\d[\w.-]*)[#>$]|(?i:^#? ?(?:host(?:name)?|node)[ :=]+([\w.-]+)$)|^[\w.-]+@([\w.-]+)[: ]`)

// between takes what a line tells that is no part of a table.
func (r *reader) between(text string) {
	if st, ok := moment(text); ok {
		r.above = st
	} else if r.t.Date.Kind == line.NoStamp {
		r.t.Date, _ = day(text)
	}
}

// host takes the host that a line names which is no row.
func (r *reader) host(text string) {
	if r.t.Host != "" || r.recognising {
		return
	}
	for i, h := range hosts.FindStringSubmatch(text) {
		if i > 0 && h != "" {
			r.t.Host = h
			return
		}
	}
}

func (r *reader) keep(names []string, x row) {
	if r.rows >= maxRows || r.cells+len(x.cells) > maxCells {
		return
	}
	r.rows++
	r.cells += len(x.cells)
	key := strings.Join(names, "\x00")
	g := r.grids[key]
	if g == nil {
		g = &grid{names: names}
		r.grids[key] = g
		r.order = append(r.order, g)
	}
	g.rows = append(g.rows, x)
}

// table makes series of what was read.
func (r *reader) table() *Table {
	for _, g := range r.order {
		if len(g.rows) >= leastRows {
			r.t.take(g)
		}
	}
	return r.t
}
