package eval

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Change is a field of a report that is not what it was when the case was frozen.
type Change struct {
	Case string `json:"case"` // BATCH/NAME
	Path string `json:"path"` // verdict.candidates[1].mechanism; terminal[3] for a line of the text
	// Was and Now are JSON; nil where the field was not there, or no longer is.
	Was json.RawMessage `json:"was,omitempty"`
	Now json.RawMessage `json:"now,omitempty"`
	// Rule tells which changes of what a line means are new, and which are gone.
	Rule string `json:"rule,omitempty"`
}

// changes lists the fields in which two reports differ, in the order of their paths.
func (c *Comparison) changes(name string, was, now []byte) ([]Change, error) {
	a, err := decoded(was)
	if err != nil {
		return nil, fmt.Errorf("the frozen report of %s: %w", name, err)
	}
	b, err := decoded(now)
	if err != nil {
		return nil, fmt.Errorf("the report of %s: %w", name, err)
	}
	rule := newRules(a, b)
	delete(a, "trail")
	delete(b, "trail")
	var d differ
	d.compare("", a, b)
	var out []Change
	for _, ch := range d.found {
		if slices.ContainsFunc(c.Ignore, func(p string) bool { return below(ch.Path, p) }) {
			continue
		}
		ch.Case, ch.Rule = name, rule
		out = append(out, ch)
	}
	return out, nil
}

// newRules tells which changes of meaning one report's trail has and the other's has not: they are what may have changed the fields. A case that was
// frozen without a trail tells none.
func newRules(was, now map[string]any) string {
	before, ok := was["trail"].([]any)
	after, _ := now["trail"].([]any)
	if !ok {
		return ""
	}
	var out []string
	for _, s := range after {
		if !slices.Contains(before, s) {
			out = append(out, fmt.Sprint(s))
		}
	}
	for _, s := range before {
		if !slices.Contains(after, s) {
			out = append(out, fmt.Sprint("no longer: ", s))
		}
	}
	return strings.Join(out, "; ")
}

// below says whether a path is that of a field or of something in it.
func below(path, field string) bool {
	rest, ok := strings.CutPrefix(path, field)
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// decoded reads a frozen report. The fields of the report itself stand beside the terminal's text.
func decoded(b []byte) (map[string]any, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil {
		return nil, err
	}
	if r, ok := all["report"].(map[string]any); ok {
		delete(all, "report")
		for k, v := range r {
			all[k] = v
		}
	}
	return all, nil
}

// differ finds the smallest parts in which two JSON values differ.
type differ struct{ found []Change }

func (d *differ) compare(path string, was, now any) {
	if a, ok := was.(map[string]any); ok {
		if b, ok := now.(map[string]any); ok {
			d.objects(path, a, b)
			return
		}
	}
	if a, ok := was.([]any); ok {
		if b, ok := now.([]any); ok {
			d.lists(path, a, b)
			return
		}
	}
	if a, b := encoded(was), encoded(now); !bytes.Equal(a, b) {
		d.found = append(d.found, Change{Path: path, Was: a, Now: b})
	}
}

func (d *differ) objects(path string, was, now map[string]any) {
	var keys []string
	for k := range was {
		keys = append(keys, k)
	}
	for k := range now {
		if _, ok := was[k]; !ok {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	for _, k := range keys {
		at := strings.TrimPrefix(path+"."+k, ".")
		a, before := was[k]
		b, after := now[k]
		switch {
		case !after:
			d.found = append(d.found, Change{Path: at, Was: encoded(a)})
		case !before:
			d.found = append(d.found, Change{Path: at, Now: encoded(b)})
		default:
			d.compare(at, a, b)
		}
	}
}

// lists compares what lies between the elements that both lists have: an element that is put in changes none of those behind it.
func (d *differ) lists(path string, was, now []any) {
	a, b := make([]string, len(was)), make([]string, len(now))
	for i, v := range was {
		a[i] = string(encoded(v))
	}
	for i, v := range now {
		b[i] = string(encoded(v))
	}
	i, j := 0, 0
	for _, m := range append(matched(a, b), [2]int{len(a), len(b)}) {
		for ; i < m[0] && j < m[1]; i, j = i+1, j+1 {
			d.compare(fmt.Sprintf("%s[%d]", path, j), was[i], now[j])
		}
		for ; i < m[0]; i++ {
			d.found = append(d.found, Change{Path: fmt.Sprintf("%s[%d]", path, i), Was: json.RawMessage(a[i])})
		}
		for ; j < m[1]; j++ {
			d.found = append(d.found, Change{Path: fmt.Sprintf("%s[%d]", path, j), Now: json.RawMessage(b[j])})
		}
		i, j = m[0]+1, m[1]+1
	}
}

// maxTable bounds the work on two lists; longer ones are compared element by element.
const maxTable = 4 << 20

// matched pairs the elements of a longest common subsequence.
func matched(a, b []string) [][2]int {
	var out [][2]int
	head := 0
	for head < min(len(a), len(b)) && a[head] == b[head] {
		out = append(out, [2]int{head, head})
		head++
	}
	tail := 0
	for tail < min(len(a), len(b))-head && a[len(a)-1-tail] == b[len(b)-1-tail] {
		tail++
	}
	n, m := len(a)-tail-head, len(b)-tail-head
	if n*m <= maxTable {
		for _, p := range subsequence(a[head:head+n], b[head:head+m]) {
			out = append(out, [2]int{head + p[0], head + p[1]})
		}
	}
	for k := tail; k > 0; k-- {
		out = append(out, [2]int{len(a) - k, len(b) - k})
	}
	return out
}

func subsequence(a, b []string) [][2]int {
	length := make([][]int, len(a)+1) // of what is common behind i and j
	for i := range length {
		length[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				length[i][j] = length[i+1][j+1] + 1
			} else {
				length[i][j] = max(length[i+1][j], length[i][j+1])
			}
		}
	}
	var out [][2]int
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch {
		case a[i] == b[j]:
			out = append(out, [2]int{i, j})
			i, j = i+1, j+1
		case length[i+1][j] >= length[i][j+1]:
			i++
		default:
			j++
		}
	}
	return out
}

// encoded writes a value that was read from JSON: keys sorted, nothing escaped for HTML.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // what came from JSON goes back
		panic(err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
