package line

import (
	"bytes"
	"slices"
	"strings"
)

// take reads what the collector put before a line: how long it is, who wrote the line, and when by the collector's clock.
func (c *Columns) take(b []byte, names *Names) (n int, by Who, when Stamp, ok bool) {
	by = NoOne
	i := 0
	for k, kind := range c.form {
		if i == len(b) && k > slices.Max(c.of[:]) {
			return i, by, when, true // nothing was written behind it
		}
		if i == len(b) {
			return 0, NoOne, Stamp{}, false
		}
		p := pieceAt(b, i)
		if p.kind != kind {
			return 0, NoOne, Stamp{}, false
		}
		c.say(k, b[p.from:p.to], &by, &when, names)
		i = p.to
	}
	return i + min(c.blanks, spaces(b, i)-i), by, when, true
}

// mostDigits is how long a number of a task or a process may be.
const mostDigits = 9

// say enters what the column k says.
func (c *Columns) say(k int, value []byte, by *Who, when *Stamp, names *Names) {
	for role, at := range c.of {
		if at != k {
			continue
		}
		if role == ofTask {
			_, end := ordinal(string(value)) // of a name, or all of a number
			value = value[len(value)-len(end):]
		}
		n, end := number(value, 0, mostDigits)
		switch {
		case role == ofHost:
			by.Host = names.of(value)
		case role == ofStamp:
			if s, n := ParseStamp(value); n > 0 {
				s.Emitter = Collector
				*when = s
			}
		case end == 0 || end < len(value): // what the head of the file promised is not there
		case role == ofTask:
			by.Task = n - c.base
		case role == ofLocal:
			by.Local = n
		case role == ofPid:
			by.Pid = n
		}
	}
}

// learnMembers learns from records in JSON which of their members say who writes.
func learnMembers(rows []row) *Columns {
	byKey := map[string]*column{}
	var keys []string
	var bodies [][]byte
	var u Unwrapper
	unusual := 0 // what was written is in a member of an unusual name
	for i := range rows {
		scalars(rows[i].b, func(key string, value []byte) {
			col := byKey[key]
			if col == nil {
				col = &column{kind: wordPiece, values: make([]string, len(rows))}
				byKey[key] = col
				keys = append(keys, key)
			}
			col.values[i] = string(value)
		})
	}
	c := &Columns{}
	for i := range rows {
		e, ok := u.Unwrap(rows[i].b)
		if !ok {
			unusual++
		}
		bodies = append(bodies, slices.Clone(e.Text))
	}
	if unusual > len(rows)/2 {
		if c.text = textMember(keys, byKey, len(rows)); c.text == "" {
			return nil
		}
		for i, v := range byKey[c.text].values {
			bodies[i] = []byte(v)
		}
	}
	var columns []column
	for _, key := range keys {
		if key == c.text || logged[key] || clocks[key] || measured[key] {
			continue
		}
		col := byKey[key]
		if slices.ContainsFunc(col.values, func(v string) bool { return bytes.IndexByte([]byte(v), ' ') >= 0 || len(v) > 64 }) {
			continue
		}
		col.at = len(c.keys)
		c.keys = append(c.keys, key)
		columns = append(columns, *col)
	}
	c.learn(columns, bodies, true)
	if !c.tells() { // then nothing is gained, and records that a run writes of itself stay as they are
		return nil
	}
	return c
}

// textMember is the member that varies most and says most, in words: it holds what was written.
func textMember(keys []string, members map[string]*column, rows int) (text string) {
	most := 0
	for _, key := range keys {
		size, worded := 0, 0
		for _, v := range members[key].values {
			size += len(v)
			if _, n := ParseStamp([]byte(v)); n == 0 && strings.Contains(v, " ") {
				worded++
			}
		}
		if words := worded > rows/3; words && size > most && members[key].distinct() > rows/8 {
			text, most = key, size
		}
	}
	return text
}

// record reads who wrote what stands in a record.
func (c *Columns) record(b []byte, names *Names) Who {
	by, when := NoOne, Stamp{}
	scalars(b, func(key string, value []byte) {
		if k := slices.Index(c.keys, key); k >= 0 {
			c.say(k, value, &by, &when, names)
		}
	})
	return by
}

// scalars visits the members of a record that are texts or numbers; the key is the last one of their path.
func scalars(b []byte, visit func(key string, value []byte)) {
	key := ""
	for i, members := 0, 0; i < len(b) && members < maxMembers; {
		switch ch := b[i]; {
		case ch == '"':
			end, _ := quotedEnd(b, i+1)
			if k := spaces(b, end+1); at(b, k) == ':' {
				key = string(b[i+1 : end])
				members++
				i = k + 1
				continue
			}
			if key != "" {
				visit(key, b[i+1:end])
			}
			key, i = "", end+1
		case isDigit(ch) && key != "":
			e := i
			for e < len(b) && (isAlnum(b[e]) || b[e] == '.' || b[e] == '-') {
				e++
			}
			visit(key, b[i:e])
			key, i = "", e
		case ch == '[':
			key, i = "", listEnd(b, i)
		default:
			i++
		}
	}
}
