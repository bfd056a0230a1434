package timeseries

import (
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/pattern"
)

// Log reads the lines of a job's own log as rows of tables: words with numbers behind them, in whatever way they are written.
type Log struct{ r *reader }

// NewLog begins a log.
func NewLog() *Log { return &Log{newReader()} }

// Line takes a line for a row, if it has a time or a step and names numbers.
func (l *Log) Line(x lines.Line) {
	text := strings.TrimSpace(x.Text)
	if text == "" || x.Cut || l.r.object(x, text) {
		return
	}
	st, rest, ok := peel(text)
	if !ok {
		st, rest = line.Stamp{}, text
	}
	if names, values := named(rest); len(names) >= leastPairs {
		l.r.keep(names, row{x.Place, st, values})
	}
}

// Table is what the lines say.
func (l *Log) Table() *Table { return l.r.table() }

// cell is a number, or several with commas between them ("experts 10,11"), as a word of its own.
var cell = pattern.New(`(?:^|[\s:=|;(\[{"'])([-+]?\d[\d.,]*(?:[eE][-+]?\d+)?)`)

// named are the numbers of a line with the words in front of them.
func named(text string) (names, values []string) {
	from := 0
	for _, m := range cell.FindAllStringSubmatchIndex(text, maxNames) {
		name := before(text[from:m[2]])
		if name != "" {
			names, values = append(names, name), append(values, strings.TrimRight(text[m[2]:m[3]], ".,"))
		}
		from = m[3]
	}
	return names, values
}

// wordsOfName is how many words in front of a colon name what stands behind it.
const wordsOfName = 3

// before is the name that a text ends in: its last word, or several where a colon or an equals sign closes them.
func before(text string) string {
	bare := strings.TrimRight(text, " \t\"'({[")
	closed := strings.TrimRight(bare, ":=")
	words := strings.FieldsFunc(closed, func(r rune) bool { return strings.ContainsRune(" \t|,;()[]{}\"'<>", r) })
	most := 1
	if closed != bare {
		most = wordsOfName
	}
	words = words[max(0, len(words)-most):]
	for i, w := range words { // a number's unit belongs to what stands in front
		if i == 0 && len(words) > 1 && len(w) <= 2 {
			words = words[1:]
		}
	}
	name := strings.Trim(strings.Join(words, " "), ":=.-")
	if name == "" || !ascii.Letter(name[0]) && name[0] != '_' {
		return ""
	}
	return name
}
