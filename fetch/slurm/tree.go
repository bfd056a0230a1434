package slurm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// tree is a JSON value whose shape differs between versions: a number is an int, a string or {set,infinite,number}; a state
// a string or a list. What is not there is nothing.
type tree struct{ v any }

func parseTree(raw []byte) (tree, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return tree{}, fmt.Errorf("%w: not JSON: %w", errShape, err)
	}
	return tree{v}, nil
}

// at goes down by keys; a key of several spellings is written "a|b".
func (t tree) at(keys ...string) tree {
	for _, key := range keys {
		m, ok := t.v.(map[string]any)
		if !ok {
			return tree{}
		}
		t = tree{}
		for k := range strings.SplitSeq(key, "|") {
			if v, ok := m[k]; ok {
				t = tree{v}
				break
			}
		}
	}
	return t
}

func (t tree) list() []tree {
	l, _ := t.v.([]any)
	out := make([]tree, 0, len(l))
	for _, v := range l {
		out = append(out, tree{v})
	}
	return out
}

// text is a string, a number as text, or the first of a list.
func (t tree) text() string {
	switch v := t.v.(type) {
	case string:
		return strings.ToValidUTF8(strings.TrimSpace(v), "?")
	case json.Number:
		return v.String()
	case []any:
		if len(v) > 0 {
			return tree{v[0]}.text()
		}
	case map[string]any:
		if n, ok := t.number(); ok {
			return strconv.FormatInt(n, 10)
		}
	}
	return ""
}

// words are a string, or all strings of a list.
func (t tree) words() []string {
	if l := t.list(); len(l) > 0 {
		var out []string
		for _, e := range l {
			if s := e.text(); s != "" {
				out = append(out, s)
			}
		}
		return out
	}
	return strings.FieldsFunc(t.text(), func(r rune) bool { return r == ',' || r == '+' || r == ' ' })
}

// number is an integer that is there and set.
func (t tree) number() (int64, bool) {
	switch v := t.v.(type) {
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, true
		}
		f, err := v.Float64()
		return int64(f), err == nil && math.Abs(f) < 1<<53
	case string:
		n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
		return n, err == nil
	case map[string]any:
		if set, ok := v["set"].(bool); ok && !set {
			return 0, false
		}
		if infinite, ok := v["infinite"].(bool); ok && infinite {
			return 0, false
		}
		if _, nested := v["number"].(map[string]any); nested {
			return 0, false
		}
		return tree{v["number"]}.number()
	}
	return 0, false
}

// count is a number that fits, or None.
func (t tree) count() int {
	n, ok := t.number()
	if !ok || n < 0 || n > math.MaxInt32 {
		return None
	}
	return int(n)
}

func (t tree) time() time.Time {
	n, ok := t.number()
	if !ok || n <= 0 || n > 1<<40 {
		return time.Time{}
	}
	return time.Unix(n, 0).UTC()
}

// release is the SLURM release that answered, 2205 for 22.05; 0 = not told.
func (t tree) release() int {
	v := t.at("meta", "slurm|Slurm", "version")
	major, minor := v.at("major").count(), v.at("minor").count()
	if major <= 0 || minor < 0 || major > 99 || minor > 99 {
		return 0
	}
	return major*100 + minor
}
