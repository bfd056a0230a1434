package line

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// A collector of logs puts into each line who wrote it, each collector in its own way. Columns are what it puts there, learned from the lines
// themselves: it stands before every line in one form, goes back and forth between few values, and does not depend on what is written. No list
// of the forms of known collectors is needed, and none would be complete.

// Columns is what a collector puts before the lines of a file, or around them. It is safe for several goroutines.
type Columns struct {
	form   []byte // kinds of the pieces
	blanks int    // behind the last of them that belong to it

	keys []string // the lines are records in JSON, and these are the members that form speaks of
	text string   // the member that holds what was written, where it is no usual one

	of [roles]int // which piece or member says it, −1 where none does
	// base is from where tasks are counted, if the lines show it.
	base int
}

// What a column may say of a writer.
const (
	ofHost = iota
	ofTask
	ofLocal
	ofPid
	ofStamp
	roles
)

// Kinds of pieces; a punctuation mark is its own kind.
const (
	wordPiece  = 'w'
	stampPiece = 't'
	blankPiece = ' '
)

type piece struct {
	kind     byte
	from, to int
}

const (
	leastRows  = 12  // lines from which columns are learned
	strays     = 50  // of so many lines one may be another's
	mostPieces = 28  // of a form
	widest     = 240 // bytes that it may take
)

// pieceAt is the piece that begins at i.
func pieceAt(b []byte, i int) piece {
	switch c := b[i]; {
	case c == ' ':
		return piece{blankPiece, i, spaces(b, i)}
	case isAlnum(c):
		if _, n := ParseStamp(b[i:min(len(b), i+64)]); n > 0 {
			return piece{stampPiece, i, i + n}
		}
		e := i + 1
		for e < len(b) && (isAlnum(b[e]) || bytes.IndexByte([]byte("-._"), b[e]) >= 0 && isAlnum(at(b, e+1))) {
			e++
		}
		return piece{wordPiece, i, e}
	default:
		return piece{c, i, i + 1}
	}
}

// row is a line of the head, taken apart.
type row struct {
	b      []byte
	pieces []piece
}

func rowOf(b []byte) row {
	r := row{b: b}
	for i := 0; i < min(len(b), widest) && len(r.pieces) < mostPieces && b[i] != esc; {
		p := pieceAt(b, i)
		r.pieces = append(r.pieces, p)
		i = p.to
	}
	return r
}

func (r *row) value(k int) string { return string(r.b[r.pieces[k].from:r.pieces[k].to]) }

// body is what follows the first n pieces and so many blanks.
func (r *row) body(n, blanks int) []byte {
	switch {
	case n == 0:
		return r.b
	case n > len(r.pieces):
		return nil
	}
	i := r.pieces[n-1].to
	return r.b[i+min(blanks, spaces(r.b, i)-i):]
}

// LearnColumns learns from the first lines of a file, and from others if there may be columns, what a collector puts there; nil where nothing
// tells it from what the programs print.
func LearnColumns(head [][]byte, others func() [][]byte) *Columns {
	rows := rowsOf(nil, head)
	if len(rows) < leastRows {
		return nil
	}
	if some, n := alike(slices.Clone(rows)); !recorded(rows) && !slices.ContainsFunc(some[0].pieces[:min(n, len(some[0].pieces))], func(p piece) bool { return p.kind == wordPiece }) {
		return nil
	}
	rows = rowsOf(rows, others())
	if recorded(rows) {
		return learnMembers(rows)
	}
	rows, n := alike(rows)
	return cut(rows, n)
}

func rowsOf(rows []row, lines [][]byte) []row {
	for _, b := range lines {
		if b = bytes.TrimRight(b, " \r\n"); len(b) > 0 {
			rows = append(rows, rowOf(b))
		}
	}
	return rows
}

// recorded says that the lines are records in JSON, but for a few.
func recorded(rows []row) bool {
	others := 0
	for i := range rows {
		if b := rows[i].b; b[0] != '{' || b[len(b)-1] != '}' {
			others++
		}
	}
	return others <= len(rows)/strays
}

// alike finds with how many pieces all rows begin alike, but for a few, which it leaves out.
func alike(rows []row) ([]row, int) {
	left := len(rows) / strays
	for k := range mostPieces {
		var seen [256]int
		over := 0
		for i := range rows {
			if k < len(rows[i].pieces) {
				seen[rows[i].pieces[k].kind]++
			} else {
				over++
			}
		}
		kind := byte(0)
		for c, n := range seen {
			if n > seen[kind] {
				kind = byte(c)
			}
		}
		others := len(rows) - over - seen[kind]
		if over > len(rows)/3 || others > left {
			return rows, k
		}
		left -= others
		rows = slices.DeleteFunc(rows, func(r row) bool { return k < len(r.pieces) && r.pieces[k].kind != kind })
	}
	return rows, mostPieces
}

// understood is how much Parse and the readers of tracebacks find at the beginning of a message. A number before a colon may be anything.
func understood(b []byte) int {
	p := Parse(b)
	p.Who.Task = Unknown
	switch {
	case p.Form != NoForm, bytes.HasPrefix(b, []byte("Traceback (")), bytes.HasPrefix(b, []byte(`  File "`)):
		return 2
	case p.Who != NoOne:
		return 1
	}
	return 0
}

// cut finds how many of the first n pieces, which all rows have, are the collector's: that many behind which most is understood, and
// where this leaves a choice, those up to the last that tells who writes or when.
func cut(rows []row, n int) *Columns {
	raw, unknown := 0, 0
	for i := range rows {
		raw += understood(rows[i].b)
		if Parse(rows[i].b).Who == NoOne {
			unknown++
		}
	}
	gain, last := 0, 0
	gains := make([]int, n+1)
	for k := 1; k <= n; k++ {
		if kind := kindAt(rows, k-1); kind == wordPiece || kind == stampPiece {
			gains[k] = -1
			continue
		}
		blanks := blanksAt(rows, k)
		for i := range rows {
			gains[k] += understood(rows[i].body(k-pad(rows, k), blanks))
		}
		if gains[k] -= raw; gains[k] >= gain {
			gain, last = gains[k], k
		}
	}
	if last == 0 || unknown < len(rows)/2 {
		return nil
	}
	sure := gain > len(rows)/strays
	c := &Columns{}
	end := 0
	for _, n := range []int{last, 0} { // what is written begins where the columns end, and shows which they are
		if n == 0 {
			n = end
		}
		c.learn(textColumns(rows, n), bodies(rows, n), sure)
		if end = c.end(rows, last, gains, gain); end == 0 {
			return nil
		}
	}
	told := c.of[ofHost] >= 0 || c.of[ofTask] >= 0 || c.of[ofPid] >= 0
	if !told {
		return nil
	}
	c.blanks = blanksAt(rows, end)
	for k := range end - pad(rows, end) {
		c.form = append(c.form, kindAt(rows, k))
	}
	return c
}

// end is behind how many pieces most is understood, the columns that tell something among them.
func (c *Columns) end(rows []row, last int, gains []int, gain int) int {
	for k := slices.Max(c.of[:]) + 1; k <= last; k++ {
		if k > 0 && gains[k] == gain {
			return extend(rows, k, last, gains)
		}
	}
	return 0
}

// extend adds what closes the first end pieces: marks and blanks, and words that are always the same or only count, up to a mark.
func extend(rows []row, end, last int, gains []int) int {
	same := gains[end]
	for k := end; k > 0 && k < last && gains[k+1] <= same; k++ {
		switch kind := kindAt(rows, k); {
		case kind == wordPiece && !given(rows, k):
			return end
		case kind != wordPiece && gains[k+1] == same && (kind != blankPiece || k == end):
			end = k + 1
		}
	}
	return end
}

// given says that a piece does not depend on what is written: it is always the same, or goes up.
func given(rows []row, k int) bool {
	c := textColumns(rows, k+1)
	col := &c[len(c)-1]
	return col.distinct() <= 3 || col.numeric() && !col.alternates()
}

// kindAt is the kind of the piece k of the rows.
func kindAt(rows []row, k int) byte {
	for i := range rows {
		if k < len(rows[i].pieces) {
			return rows[i].pieces[k].kind
		}
	}
	return 0
}

// pad is 1 if the first k pieces end with blanks, of which only as many belong to them as all rows have.
func pad(rows []row, k int) int {
	if kindAt(rows, k-1) == blankPiece {
		return 1
	}
	return 0
}

// blanksAt is how many blanks all rows have at the end of their first k pieces.
func blanksAt(rows []row, k int) int {
	if pad(rows, k) == 0 {
		return 0
	}
	least := widest
	for i := range rows {
		if k < len(rows[i].pieces) {
			p := rows[i].pieces[k-1]
			least = min(least, p.to-p.from)
		}
	}
	return least
}

// column is what the rows say at one place.
type column struct {
	at     int
	values []string // one for each row
	kind   byte
}

func textColumns(rows []row, n int) []column {
	var out []column
	for k := range n {
		if kind := kindAt(rows, k); kind == wordPiece || kind == stampPiece {
			c := column{at: k, kind: kind, values: make([]string, len(rows))}
			for i := range rows {
				if k < len(rows[i].pieces) {
					c.values[i] = rows[i].value(k)
				}
			}
			out = append(out, c)
		}
	}
	return out
}

func bodies(rows []row, n int) [][]byte {
	out := make([][]byte, len(rows))
	for i := range rows {
		out[i] = rows[i].body(n, widest)
	}
	return out
}

// learn finds out which columns say who writes. sure says that something besides the columns shows that a collector wrote the lines.
func (c *Columns) learn(columns []column, bodies [][]byte, sure bool) {
	for i := range c.of {
		c.of[i] = -1
	}
	shapes := make([]string, len(bodies))
	distinct := map[string]bool{}
	for i, b := range bodies {
		shapes[i] = shape(b)
		distinct[shapes[i]] = true
	}
	const various = 8
	var names, numbers []*column
	for i := range columns {
		col := &columns[i]
		switch {
		case col.kind == stampPiece:
			c.of[ofStamp] = col.at
		case sure && col.family():
			names = append(names, col)
		case !col.alternates() || !col.independent(shapes):
		case col.numeric():
			if sure || len(distinct) >= various {
				numbers = append(numbers, col)
			}
		case col.named():
			names = append(names, col)
		}
	}
	// The host is the name that tells least: several containers, and several processes, may be on one.
	slices.SortStableFunc(names, func(a, b *column) int { return a.distinct() - b.distinct() })
	if len(names) > 0 {
		c.of[ofHost] = names[0].at
	}
	for _, col := range numbers {
		switch least, most := col.bounds(); {
		case most >= 4*col.distinct()+8:
			c.of[ofPid] = col.at
		case len(names) > 0 && !col.decides(names[0]):
			c.of[ofLocal] = col.at
		case c.of[ofTask] < 0:
			c.of[ofTask], c.base = col.at, base(col, least, bodies)
		}
	}
	if n := len(names); n > 0 && c.of[ofTask] < 0 {
		if col := names[n-1].ordinals(); col != nil {
			c.of[ofTask], c.base = col.at, base(col, 0, bodies)
		}
	}
}

// base is from where a column counts ranks: the lines that say their rank show it.
func base(col *column, least int, bodies [][]byte) int {
	off, known := 0, false
	for i, b := range bodies {
		if p := Parse(b); p.Who.Global != Unknown {
			n, _ := strconv.Atoi(col.values[i])
			if known && n-p.Who.Global != off {
				return 0
			}
			off, known = n-p.Who.Global, true
		}
	}
	if known && off == least {
		return off
	}
	return 0
}

// shape is a message without its numbers.
func shape(b []byte) string {
	out := make([]byte, 0, 64)
	for _, ch := range b[:min(len(b), 64)] {
		if isDigit(ch) {
			ch = '0'
			if n := len(out); n > 0 && out[n-1] == '0' {
				continue
			}
		}
		out = append(out, ch)
	}
	return string(out)
}

func (c *column) distinct() int {
	seen := map[string]bool{}
	for _, v := range c.values {
		if v != "" {
			seen[v] = true
		}
	}
	return len(seen)
}

// alternates says that a column goes back and forth between several values: what mostly goes up counts, or tells the time.
func (c *column) alternates() bool {
	n, changes, ups, last := c.distinct(), 0, 0, ""
	for _, v := range c.values {
		if v != "" && v != last {
			changes++
			if len(v) > len(last) || len(v) == len(last) && v > last {
				ups++
			}
			last = v
		}
	}
	if n > len(c.values)/2 {
		return !c.numeric() || ups*10 < changes*9
	}
	return n > 1 && changes > n
}

// independent says that of what is written more than once a good part is written under several values of the column. Names of loggers and
// levels decide what is written.
func (c *column) independent(shapes []string) bool {
	under, several, often := map[string]string{}, map[string]bool{}, map[string]bool{}
	for i, s := range shapes {
		v, known := under[s]
		if often[s] = often[s] || known; known && v != c.values[i] {
			several[s] = true
		}
		under[s] = c.values[i]
	}
	return len(several) > 1 || 8*len(several) > len(often)
}

// numeric says that all values are numbers.
func (c *column) numeric() bool {
	return !slices.ContainsFunc(c.values, func(v string) bool { return v != "" && !digits([]byte(v)) })
}

// named says that all values are names with a number in them, or addresses.
func (c *column) named() bool {
	return !slices.ContainsFunc(c.values, func(v string) bool {
		return v != "" && !ipv4([]byte(v)) && (!isLetter(v[0]) || !strings.ContainsAny(v, "0123456789") || key([]byte(v)))
	})
}

// family says that the values are several names that begin alike and end with numbers, which do not only go up.
func (c *column) family() bool {
	stem, names, most, up := "", map[string]bool{}, -1, true
	for _, v := range c.values {
		if v == "" {
			continue
		}
		name, _, _ := strings.Cut(v, ".")
		s, number := ordinal(name)
		n, err := strconv.Atoi(number)
		if err != nil || s == "" || len(names) > 0 && s != stem {
			return false
		}
		stem, names[v] = s, true
		up = up && n >= most
		most = max(most, n)
	}
	return len(names) > 1 && !up
}

func (c *column) bounds() (least, most int) {
	least = 1 << 30
	for _, v := range c.values {
		if n, err := strconv.Atoi(v); err == nil {
			least, most = min(least, n), max(most, n)
		}
	}
	return least, most
}

// decides says that each value of c stands beside one value of the other.
func (c *column) decides(other *column) bool {
	with := map[string]string{}
	for i, v := range c.values {
		if o, known := with[v]; known && o != other.values[i] {
			return false
		}
		with[v] = other.values[i]
	}
	return true
}

// ordinals are the numbers at the end of names that begin alike and are counted from 0, as those of replicas are; nil where they are not.
func (c *column) ordinals() *column {
	out := &column{at: c.at, kind: c.kind, values: make([]string, len(c.values))}
	stem := ""
	for i, v := range c.values {
		if v == "" {
			continue
		}
		s, n := ordinal(v)
		if n == "" || stem != "" && s != stem {
			return nil
		}
		stem, out.values[i] = s, n
		if n[0] == '0' && n != "0" {
			return nil // hosts are numbered with as many digits
		}
	}
	if least, most := out.bounds(); least > 0 || most >= 2*out.distinct()+8 {
		return nil
	}
	return out
}

// ordinal splits a name in front of the number at its end.
func ordinal(name string) (stem, number string) {
	n := len(name)
	for n > 0 && isDigit(name[n-1]) {
		n--
	}
	return name[:n], name[n:]
}
