// Package snapshot reads what a tool prints of the state of a machine at one moment, whatever tool it is: names with values behind them, under
// headings that say whose they are, and rows of cells. It says what is printed, and nothing of what it means.
package snapshot

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/artifact/timeseries"
	"faultline/analysis/line"
	"faultline/pattern"
)

// Cell is one value of one member: of port 1 of mlx5_0, of module ib_core.
type Cell struct {
	timeseries.Series // What it is called, and whose it is
	timeseries.Point  // Value is NaN where it is no number
}

// Snapshot is what one file says.
type Snapshot struct {
	// Taken are the date and time at the top, as digits; "" where none stand there.
	Taken string
	Cells []Cell
	// Titles are the words of comments, prompts and headings.
	Titles map[string]bool
}

// Under stands between a heading and what stands under it.
const Under = " › "

// Bounds.
const (
	MaxBytes = 1 << 20
	maxCells = 1 << 15
	maxWidth = 64
	maxWords = 1 << 10
	topLines = 6
)

// Limits of what is a snapshot.
const (
	leastCells = 3
	stampShare = 10 // one of so many lines that begins with a time makes it a log
)

// reader is the state of reading one file.
type reader struct {
	out     Snapshot
	above   []heading
	names   []string // headings of columns
	comment bool     // the line above was one
	fresh   bool     // the line above were the headings
}

// heading is a line under which others stand.
type heading struct {
	indent int
	what   string
	keys   []timeseries.Key
}

// Read reads a file; ok is false where it is none, but a log or a text.
func Read(text string) (out *Snapshot, ok bool) {
	r := &reader{out: Snapshot{Titles: map[string]bool{}}}
	all := strings.Split(text, "\n")
	off, stamped, some := int64(0), 0, 0
	for i, raw := range all {
		l := lines.Line{Place: lines.Place{Line: int64(i + 1), Offset: off, Len: len(strings.TrimRight(raw, "\r"))}, Text: strings.TrimRight(raw, "\r \t")}
		off += int64(len(raw)) + 1
		bare := strings.TrimSpace(l.Text)
		if bare == "" || len(l.Text) > lines.Max {
			continue
		}
		some++
		bare = bracketed.ReplaceAllString(bare, "")
		if _, n := line.ParseStamp([]byte(bare)); n > 0 {
			stamped++
			continue
		}
		if i < topLines && r.out.Taken == "" {
			r.out.Taken = Date(bare)
		}
		next := ""
		if i+1 < len(all) {
			next = strings.TrimRight(all[i+1], "\r \t")
		}
		if r.line(&l, bare, next); len(r.out.Cells) >= maxCells {
			break
		}
	}
	return &r.out, len(r.out.Cells) >= leastCells && stampShare*stamped < some
}

// bracketed is a time in brackets in front of a line, as kernels write it: by the clock or since the boot.
var bracketed = pattern.New(`^\[[^\]]*\d[:.]\d[^\]]*\] ?`)

var dates = pattern.New(`\b(20\d\d)[-/_.]?([01]\d)[-/_.]?([0-3]\d)(?:[T_ -]{0,2}([0-2]\d):?([0-5]\d)(?::?([0-5]\d))?)?`)

// Date is the date and time in a text, as digits.
func Date(text string) string {
	m := dates.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	return strings.Join(m[1:], "")
}

// remote runs a command on another host: "ssh n01 ibstat", "srun -w n01 ibstat".
var remote = pattern.New(`^(?:ssh|srun|pdsh|clush)\b(?: -[a-z]\b| --?[\w-]+=\S+)* ([A-Za-z][\w.-]*\d[\w.-]*) `)

// alone is a name in a frame, above what is of it: "=== n01 ===".
var alone = pattern.New(`^[=*#-]{2,}\s*([A-Za-z][\w.-]*\d)\s*[=*#-]{2,}$`)

// prompt is a short one in front of a command: "h-3$ nproc".
var prompt = pattern.New(`^([a-z][a-z0-9.-]*\d)[$#>] `)

func indentOf(s string) int { return len(s) - len(strings.TrimLeft(s, " \t")) }

// named: "tx_pause: 5", "SM   : 990 MHz", "PortXmitData:....7", "rate = 4".
var named = pattern.New(`^([A-Za-z#%"'<(][^:=]{0,63}?)"?\s*(?:[:=][.\s]+|[:=]$|\s=|\.{3,}:?\s*|=)(.*)$`)

// line takes one line.
func (r *reader) line(l *lines.Line, bare, next string) {
	if r.place(bare) {
		return
	}
	indent := indentOf(l.Text)
	columns := split(strings.TrimLeft(bare, "# "))
	if headed(columns) && len(next) > 0 && rowOf(split(strings.TrimLeft(next, "# ")), len(columns)) {
		if !r.fresh { // else they are the units
			r.names = columns
		}
		r.fresh = true
		return
	}
	r.fresh = false
	if strings.HasPrefix(bare, "#") {
		r.title(bare)
		return
	}
	r.comment = false
	for len(r.above) > 0 && r.above[len(r.above)-1].indent >= indent {
		r.above = r.above[:len(r.above)-1]
	}
	deeper := indentOf(next) > indent && strings.TrimSpace(next) != ""
	m := named.FindStringSubmatch(bare)
	switch {
	case strings.HasSuffix(bare, ":"), m == nil && deeper, m != nil && strings.TrimSpace(m[2]) == "":
		r.above, r.names = append(r.above, titled(indent, bare)), nil
	case m != nil && r.names == nil:
		h := titled(indent, m[1])
		value := strings.TrimSpace(m[2])
		r.add(l, h.what, h.keys, value)
		if deeper {
			if spelled.MatchString(value) { // "Metric: CompileTime"
				h.what += " " + value
			}
			r.above = append(r.above, h)
		}
	case r.names == nil && r.says(l, bare):
	default:
		r.row(l, split(bare))
	}
}

// place takes a line that says whose the lines below it are: a prompt, or a name in a frame.
func (r *reader) place(bare string) bool {
	host, command, ok := lines.Prompt(bare)
	if m := remote.FindStringSubmatch(command); m != nil {
		host = m[1]
	}
	if ok && host != "" {
		r.out.Titles[strings.ToLower(host)] = true
		r.above, r.names = []heading{{-1, "", append(keysIn(command), timeseries.Key{Name: "host", Value: host})}}, nil
		return true
	}
	if m := alone.FindStringSubmatch(bare); m != nil {
		r.above, r.names = []heading{{-1, "", []timeseries.Key{{Value: m[1]}}}}, nil
		return true
	}
	m := prompt.FindStringSubmatch(bare)
	if m != nil {
		r.comment = false
		r.title(m[1])
	}
	return m != nil
}

// Limits of a sentence.
const (
	leastWords = 5
	topicWords = 3
)

// says takes a sentence of a subject, "driver 0000:1b:00.0: so many units of this, limited by that": what it is about are its first words. Who says
// something else of it than all others is told by its whole text.
func (r *reader) says(l *lines.Line, bare string) bool {
	subject, text, ok := strings.Cut(bare, ": ")
	var topic []string
	for _, w := range strings.Fields(text) {
		if w = strings.Trim(w, ".,;:()"); spelled.MatchString(w) {
			topic = append(topic, w)
		}
	}
	if !ok || len(topic) < leastWords || !member.MatchString(subject) {
		return false
	}
	h := titled(0, subject)
	r.add(l, strings.TrimSpace(h.what+" "+strings.Join(topic[:topicWords], " ")), h.keys, text)
	return true
}

// spelled is a word of a language.
var spelled = pattern.New(`^[A-Za-z][A-Za-z-]*$`)

// title takes a comment: the first of several says whose the lines below are.
func (r *reader) title(text string) {
	h := titled(-1, text)
	h.keys = slices.DeleteFunc(h.keys, func(k timeseries.Key) bool { return !devices.MatchString(k.Value) })
	if !r.comment {
		r.above, r.names = []heading{h}, nil
	}
	r.comment = true
	for _, w := range words(text) {
		if len(r.out.Titles) < maxWords {
			r.out.Titles[strings.ToLower(strings.TrimRight(w, ":"))] = true
		}
	}
}

// devices are words that name a machine or a part of one.
var devices = pattern.New(`^[A-Za-z][\w.-]*\d`)

// row takes the cells of a row: the first names its member.
func (r *reader) row(l *lines.Line, cells []string) {
	if len(cells) < 2 || len(cells) > maxWidth {
		return
	}
	own, of := []timeseries.Key{{Value: cells[0]}}, ""
	if len(r.names) > 0 {
		own[0].Name = r.names[0]
	}
	if !member.MatchString(cells[0]) { // what it names is another thing than what the row above names
		own, of = nil, cells[0]+"/"
	}
	for i, c := range cells[1:] {
		if i+1 < len(r.names) && index.MatchString(r.names[i+1]) {
			own = append(own, timeseries.Key{Name: r.names[i+1], Value: c})
			continue
		}
		what := "column " + strconv.Itoa(i+2)
		if i+1 < len(r.names) {
			what = r.names[i+1]
		}
		r.add(l, of+what, own, c)
	}
}

// index is what a column is called that counts members.
var index = pattern.New(`(?i)^(?:index|idx|gpu|rank|port|core|cpu|device|interface|socket)$`)

func (r *reader) add(l *lines.Line, what string, own []timeseries.Key, value string) {
	if value == "" || len(r.out.Cells) >= maxCells {
		return
	}
	var keys []timeseries.Key
	var path []string
	for _, h := range r.above {
		if keys = append(keys, h.keys...); h.what != "" && h.indent >= 0 {
			path = append(path, h.what)
		}
	}
	c := Cell{timeseries.Series{What: strings.Join(append(path, what), Under), Keys: append(keys, own...)}, timeseries.Point{Step: timeseries.None, Value: number(value), Text: value, Place: l.Place}}
	r.out.Cells = append(r.out.Cells, c)
}

// split divides a line into cells.
func split(s string) []string {
	for _, c := range []string{"\t", ",", ";", "|"} {
		if strings.Count(s, c) >= 2 {
			out := strings.Split(strings.Trim(s, "| "), c)
			for i := range out {
				out[i] = strings.Trim(strings.TrimSpace(out[i]), `"`)
			}
			return out
		}
	}
	return strings.Fields(s)
}

// headed says that cells are headings of columns: words.
func headed(cells []string) bool {
	if len(cells) < 3 || len(cells) > maxWidth {
		return false
	}
	return !slices.ContainsFunc(cells, func(c string) bool { return !heads.MatchString(c) })
}

var heads = pattern.New(`^[#%A-Za-z_][\w%()/.+\[\] -]{0,63}$`)

// rowOf says that cells may be a row of so many columns; the second line of headings, which states units, is none.
func rowOf(cells []string, n int) bool {
	if len(cells) < 2 || len(cells) > n+1 || 2*len(cells) < n {
		return false
	}
	for _, c := range cells {
		if !math.IsNaN(number(c)) {
			return true
		}
	}
	return headed(cells) && len(cells) == n
}

// titled is the heading that a text makes.
func titled(indent int, text string) heading {
	text = strings.Trim(dates.ReplaceAllString(text, ""), `#:"' `)
	return heading{indent, strings.Join(plainWords(text), " "), keysIn(text)}
}

// member is a word that names one of several: n07, mlx5_0, 0000:1b:00.0, ens9f0np0.
var member = pattern.New(`\d`)

func plainWords(text string) (out []string) {
	for _, w := range words(text) {
		if !member.MatchString(w) || strings.Contains(w, "_") && !numbered.MatchString(w) {
			out = append(out, strings.TrimRight(w, ":"))
		}
	}
	return out
}

// numbered ends in what counts: mlx5_0, and not tx_prio3_pause.
var numbered = pattern.New(`\d[a-z]?$|^[0-9a-fA-Fx:.]+$`)

func keysIn(text string) (out []timeseries.Key) {
	before := ""
	for _, w := range words(text) {
		if member.MatchString(w) && (numbered.MatchString(w) || !strings.Contains(w, "_")) {
			k := timeseries.Key{Value: w}
			if _, err := strconv.Atoi(w); err == nil {
				k.Name = before
			}
			out = append(out, k)
		}
		before = w
	}
	return out
}

func words(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" \t,;()[]{}\"'=<>|", r) })
}

var leading = pattern.New(`^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?`)

// scales are what a letter behind a number multiplies it by.
var scales = map[byte]float64{'k': 1e3, 'K': 1e3, 'm': 1e6, 'M': 1e6, 'g': 1e9, 'G': 1e9, 't': 1e12, 'T': 1e12}

// number is the number that a value begins with, its unit behind it; NaN where it is more than that.
func number(s string) float64 {
	n := leading.FindString(s)
	rest := strings.TrimSpace(s[len(n):])
	if n == "" || member.MatchString(rest) || len(rest) > 12 {
		return math.NaN()
	}
	v, err := strconv.ParseFloat(n, 64)
	if err != nil {
		return math.NaN()
	}
	if rest != "" {
		if f, ok := scales[rest[0]]; ok && (len(rest) == 1 || strings.ContainsAny(rest[1:2], "BiHb")) {
			v *= f
		}
	}
	return v
}
