package line

import (
	"bytes"
	"slices"
	"strconv"
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
		for e < len(b) && (isAlnum(b[e]) || joins(b[e]) && isAlnum(at(b, e+1))) {
			e++
		}
		return piece{wordPiece, i, e}
	default:
		return piece{c, i, i + 1}
	}
}

// joins says that a mark between letters or digits belongs to their word.
func joins(c byte) bool { return c == '-' || c == '.' || c == '_' }

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
	if !recorded(rows) && !promising(rows) {
		return nil
	}
	rows = rowsOf(rows, others())
	if recorded(rows) {
		return learnMembers(rows)
	}
	if !promising(rows) {
		return nil
	}
	rows, n := alike(rows)
	return cut(rows, n)
}

// promising says that the lines begin alike with a word or a number, and that nothing that is known says who wrote them. Finding out costs
// little, and most files are none that a collector wrote.
func promising(rows []row) bool {
	some, n := alike(slices.Clone(rows))
	if !slices.ContainsFunc(textColumns(some, n), column.mayTell) {
		return false
	}
	known := 0
	for i := range rows {
		if Parse(rows[i].b).Who != NoOne {
			known++
		}
	}
	return known <= len(rows)/2
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
	gains, last := gainsOf(rows, n)
	if last == 0 {
		return nil
	}
	c := &Columns{}
	for end, pass := last, 0; ; pass++ { // what is written begins where the columns end, and shows which they are
		c.learn(textColumns(rows, end), bodies(rows, end), gains[last] > len(rows)/strays)
		if end = c.end(rows, last, gains); end == 0 || !c.tells() {
			return nil
		}
		if pass == 0 {
			continue
		}
		c.blanks = blanksAt(rows, end)
		for k := range end - pad(rows, end) {
			c.form = append(c.form, kindAt(rows, k))
		}
		return c
	}
}

// tells says that the columns tell writers apart.
func (c *Columns) tells() bool { return c.of[ofHost] >= 0 || c.of[ofTask] >= 0 || c.of[ofPid] >= 0 }

// gainsOf is how much more is understood behind the first k pieces than at the beginning of the lines, for each k where a piece ends, and the
// last k of those where that is most.
func gainsOf(rows []row, n int) (gains []int, last int) {
	raw := 0
	for i := range rows {
		raw += understood(rows[i].b)
	}
	gains = make([]int, n+1)
	for k := 1; k <= n; k++ {
		if kind := kindAt(rows, k-1); kind == wordPiece || kind == stampPiece {
			gains[k] = -1
			continue
		}
		blanks := blanksAt(rows, k)
		for i := range rows {
			gains[k] += understood(rows[i].body(k-pad(rows, k), blanks))
		}
		if gains[k] -= raw; gains[k] >= gains[last] {
			last = k
		}
	}
	return gains, last
}

// end is behind how many pieces most is understood, the columns that tell something among them.
func (c *Columns) end(rows []row, last int, gains []int) int {
	for k := slices.Max(c.of[:]) + 1; k <= last; k++ {
		if k > 0 && gains[k] == gains[last] {
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
	if least == widest {
		return 1 // nothing is written behind it
	}
	return least
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
			n, err := strconv.Atoi(col.values[i])
			if err != nil {
				continue
			}
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
