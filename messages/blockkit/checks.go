package blockkit

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"
)

// length holds a string to a limit and counts what people see.
func (c *checker) length(at, s, name string, shown bool) {
	n := utf8.RuneCountInString(s)
	if shown {
		c.shown += n
		if c.inTable {
			c.tables += n
		}
	}
	l := bound(name)
	switch {
	case n < l.min:
		c.problem(at, "must be more than %d characters", l.min-1)
	case n > l.max:
		c.problem(at, "must be less than %d characters", l.max+1)
	case n > l.budget:
		c.overBudget(at, "%d characters, and the budget is %d", n, l.budget)
	}
}

func (c *checker) items(at string, n int, name string) {
	l := bound(name)
	switch {
	case n < l.min:
		c.problem(at, "must have at least %d items", l.min)
	case n > l.max:
		c.problem(at, "no more than %d items allowed", l.max)
	case n > l.budget:
		c.overBudget(at, "%d items, and the budget is %d", n, l.budget)
	}
}

func str(name string, shown bool) check {
	bound(name)
	return func(c *checker, at string, v any) {
		s, ok := v.(string)
		if !ok {
			c.problem(at, "must provide a string")
			return
		}
		c.length(at, s, name, shown)
	}
}

// shown is a string that people see; hidden is one that only programs see.
func shown(name string) check  { return str(name, true) }
func hidden(name string) check { return str(name, false) }

// text is a text object of either kind; plain is one of plain text.
func text(name string) check  { return textObject(name, "plain_text", "mrkdwn") }
func plain(name string) check { return textObject(name, "plain_text") }

func textObject(name string, kinds ...string) check {
	bound(name)
	plainFields := fields{"text": must(shown(name)), "emoji": may(boolean)}
	mrkdwnFields := fields{"text": must(shown(name)), "verbatim": may(boolean)}
	return func(c *checker, at string, v any) {
		o, ok := c.object(at, v)
		if !ok {
			return
		}
		switch kind := c.typeOf(at, o, kinds...); kind {
		case "plain_text":
			c.fields(at, o, object{fields: plainFields})
		case "mrkdwn":
			c.fields(at, o, object{fields: mrkdwnFields})
			if s, _ := o["text"].(string); strings.Contains(s, "<!") {
				c.overBudget(at+"/text", "calls a whole channel")
			}
		}
	}
}

func boolean(c *checker, at string, v any) {
	if _, ok := v.(bool); !ok {
		c.problem(at, "must provide a boolean")
	}
}

func number(name string) check {
	l := bound(name)
	return func(c *checker, at string, v any) {
		n, ok := v.(json.Number)
		if !ok {
			c.problem(at, "must provide a number")
			return
		}
		i, err := strconv.Atoi(n.String())
		if err != nil || i < l.min || i > l.max {
			c.problem(at, "must be an integer from %d to %d", l.min, l.max)
		}
	}
}

func anyNumber(c *checker, at string, v any) {
	n, ok := v.(json.Number)
	if !ok {
		c.problem(at, "must provide a number")
		return
	}
	if _, err := n.Float64(); err != nil {
		c.problem(at, "must be a number that fits into 64 bits")
	}
}

func oneOf(values ...string) check {
	return func(c *checker, at string, v any) {
		s, ok := v.(string)
		if !ok {
			c.problem(at, "must provide a string")
			return
		}
		for _, w := range values {
			if s == w {
				return
			}
		}
		c.problem(at, "value must be one of: %s", strings.Join(values, ", "))
	}
}

func webURL(c *checker, at string, v any) {
	hidden("url")(c, at, v)
	s, ok := v.(string)
	if ok && s != "" && !isURL(s) {
		c.problem(at, "must be a valid URL")
	}
}

// isURL accepts what Slack makes clickable.
func isURL(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || rest == "" || strings.ContainsAny(s, " \t\r\n\x00<>") {
		return false
	}
	switch strings.ToLower(scheme) {
	case "http", "https":
		return strings.HasPrefix(rest, "//") && len(rest) > 2
	case "mailto", "slack":
		return true
	}
	return false
}

func userID(c *checker, at string, v any) {
	hidden("rich_text.user_id")(c, at, v)
	if s, ok := v.(string); ok && !IsUserID(s) {
		c.problem(at, "invalid user id")
	}
}

// IsUserID tells whether s has the form of a person's id: U or W, then capital letters and digits.
func IsUserID(s string) bool {
	if len(s) < 2 || len(s) > bound("rich_text.user_id").max || s[0] != 'U' && s[0] != 'W' {
		return false
	}
	for i := range len(s) {
		if (s[i] < 'A' || s[i] > 'Z') && (s[i] < '0' || s[i] > '9') {
			return false
		}
	}
	return true
}

func list(name string, item check) check {
	bound(name)
	return func(c *checker, at string, v any) {
		l, ok := v.([]any)
		if !ok {
			c.problem(at, "must provide an array")
			return
		}
		c.items(at, len(l), name)
		for i, x := range l {
			item(c, at+"/"+strconv.Itoa(i), x)
		}
	}
}

// an is an object without a "type".
func an(o object) check {
	return func(c *checker, at string, v any) {
		if m, ok := c.object(at, v); ok {
			c.fields(at, m, o)
		}
	}
}

// family is an object of one of the types that the schema lists under the name.
func family(name string) check {
	return func(c *checker, at string, v any) {
		m, ok := c.object(at, v)
		if !ok {
			return
		}
		kind, _ := m["type"].(string)
		o, known := c.schema[name][kind]
		switch {
		case m["type"] == nil:
			c.problem(at, "missing required field: type")
			return
		case !known, c.view && onlyInMessages[kind], !c.view && onlyInViews[kind]:
			c.problem(at+"/type", "unsupported type: %s", kind)
			return
		}
		c.fields(at, m, o)
		c.action(at, m)
	}
}

func contextElement(c *checker, at string, v any) {
	if m, ok := v.(map[string]any); ok && m["type"] == "image" {
		family("contextual")(c, at, v)
		return
	}
	text("context.text")(c, at, v)
}

func rows(table string) check {
	row := list(table+".columns", family("cell"))
	all := list(table+".rows", row)
	return func(c *checker, at string, v any) {
		c.inTable = true
		all(c, at, v)
		c.inTable = false
		c.tableCount++
	}
}

func exactlyOne(a, b string) func(*checker, string, map[string]any) {
	return func(c *checker, at string, o map[string]any) {
		if (o[a] == nil) == (o[b] == nil) {
			c.problem(at, "must provide exactly one of: %s, %s", a, b)
		}
	}
}

func atLeastOne(a, b string) func(*checker, string, map[string]any) {
	return func(c *checker, at string, o map[string]any) {
		if o[a] == nil && o[b] == nil {
			c.problem(at, "missing required field: %s or %s", a, b)
		}
	}
}

func sameLength(c *checker, at string, o map[string]any) {
	rows, _ := o["rows"].([]any)
	for i, r := range rows {
		first, ok := rows[0].([]any)
		row, ok2 := r.([]any)
		if ok && ok2 && len(row) != len(first) {
			c.problem(at+"/rows/"+strconv.Itoa(i), "must have as many cells as the first row (%d)", len(first))
			return
		}
	}
	if n, ok := o["row_header_column_index"].(json.Number); ok && len(rows) > 0 {
		first, _ := rows[0].([]any)
		if i, err := strconv.Atoi(n.String()); err == nil && i >= len(first) {
			c.problem(at+"/row_header_column_index", "must be less than %d", len(first))
		}
	}
}

func headerRow(c *checker, at string, o map[string]any) {
	rows, _ := o["rows"].([]any)
	if len(rows) == 0 {
		return
	}
	header, _ := rows[0].([]any)
	for i, x := range header {
		if m, ok := x.(map[string]any); ok && m["type"] != "raw_text" {
			c.problem(fmt.Sprintf("%s/rows/0/%d/type", at, i), "unsupported type in the header row: %v", m["type"])
		}
	}
}

func distinctOptions(c *checker, at string, o map[string]any) {
	seen := map[string]bool{}
	for i, v := range allOptions(o) {
		m, _ := v.(map[string]any)
		s, _ := m["value"].(string)
		if s != "" && seen[s] {
			c.problem(fmt.Sprintf("%s/options/%d/value", at, i), "value already used by another option: %s", s)
			return
		}
		seen[s] = true
	}
}

func allOptions(o map[string]any) []any {
	out, _ := o["options"].([]any)
	groups, _ := o["option_groups"].([]any)
	for _, g := range groups {
		if m, ok := g.(map[string]any); ok {
			l, _ := m["options"].([]any)
			out = append(out[:len(out):len(out)], l...)
		}
	}
	return out
}

// initialOption: what is chosen at first must be, in all its parts, one of the options.
func initialOption(c *checker, at string, o map[string]any) {
	var chosen []any
	if v := o["initial_option"]; v != nil {
		chosen = append(chosen, v)
	}
	if l, ok := o["initial_options"].([]any); ok {
		chosen = append(chosen, l...)
	}
	for _, v := range chosen {
		found := false
		for _, w := range allOptions(o) {
			found = found || reflect.DeepEqual(v, w)
		}
		if !found {
			c.problem(at, "initial option must exactly match one of the options")
			return
		}
	}
}

func lengthsFit(c *checker, at string, o map[string]any) {
	number := func(name string, otherwise int) int {
		if n, ok := o[name].(json.Number); ok {
			if i, err := strconv.Atoi(n.String()); err == nil {
				return i
			}
		}
		return otherwise
	}
	least, most := number("min_length", 0), number("max_length", bound("plain_text_input.max_length").max)
	if least > most {
		c.problem(at+"/min_length", "must not be greater than max_length")
	}
	if s, _ := o["initial_value"].(string); utf8.RuneCountInString(s) > most {
		c.problem(at+"/initial_value", "must not be longer than max_length")
	}
}
