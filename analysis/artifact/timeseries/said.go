package timeseries

import (
	"strconv"
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
	names, values, lists := named(rest)
	if len(names) >= leastPairs || len(names) > 0 && len(lists) > 0 {
		l.r.keep(names, row{x.Place, st, values})
	}
	for _, list := range lists {
		for i, v := range list.values {
			l.r.keep(append(names[:len(names):len(names)], Index, list.name), row{x.Place, st, append(values[:len(values):len(values)], strconv.Itoa(i), v)})
		}
	}
}

// Index is the key of a number that is one of several behind one name, one for each rank perhaps.
const Index = "index"

// list are several numbers behind one name.
type list struct {
	name   string
	values []string
}

// Table is what the lines say.
func (l *Log) Table() *Table { return l.r.table() }

// cell is a number, or several with commas between them ("experts 10,11"), as a word of its own.
var cell = pattern.New(`(?:^|[\s:=|;(\[{"'])([-+]?\d[\d.,]*(?:[eE][-+]?\d+)?)`)

// leastList are so many numbers behind one name that they are of members.
const leastList = 3

// named are the numbers of a line with the words in front of them. Several behind one name are a list.
func named(text string) (names, values []string, lists []list) {
	from := 0
	run := list{}
	end := func() {
		switch {
		case len(run.values) >= leastList:
			lists = append(lists, run)
		case len(run.values) > 0:
			names, values = append(names, run.name), append(values, run.values[0])
		}
		run = list{}
	}
	for _, m := range cell.FindAllStringSubmatchIndex(text, maxNames) {
		v := strings.TrimRight(text[m[2]:m[3]], ".,")
		if between := text[from:m[2]]; len(run.values) > 0 && strings.TrimSpace(between) == "" {
			run.values = append(run.values, v)
		} else {
			end()
			if name := before(between); name != "" {
				run = list{name, []string{v}}
			}
		}
		from = m[3]
	}
	end()
	return names, values, lists
}

// unitBehind is the unit of a name in brackets: "compute[s]".
var unitBehind = pattern.New(`[\[(][A-Za-z/%]{1,8}[\])]\s*$`)

// wordsOfName is how many words in front of a colon name what stands behind it.
const wordsOfName = 3

// before is the name that a text ends in: its last word, or several where a colon or an equals sign closes them.
func before(text string) string {
	bare := strings.TrimRight(text, " \t\"'({[")
	closed := strings.TrimRight(bare, ":=")
	closed = unitBehind.ReplaceAllString(closed, "")
	words := strings.FieldsFunc(closed, func(r rune) bool { return strings.ContainsRune(" \t|,;()[]{}\"'<>", r) })
	most := 1
	if closed != bare {
		most = wordsOfName
	}
	words = words[max(0, len(words)-most):]
	if len(words) > 1 && len(words[0]) <= 2 { // the unit of the number in front
		words = words[1:]
	}
	name := strings.Trim(strings.Join(words, " "), ":=.-")
	if name == "" || !ascii.Letter(name[0]) && name[0] != '_' {
		return ""
	}
	return name
}
