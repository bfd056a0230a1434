package worker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
)

// rowReader restates rows of a loop's own table, below a line of headings or as JSON objects, as the step lines that other loops print:
// "step 12 rank 3 fwd_ms 402.1 ms step_ms 690.1 ms". The longest time is the sum of the others, so it stands last.
type rowReader struct {
	heads []string
	sep   string
}

// headings are no more than so many.
const maxHeadings = 64

// restate is the row as such a line, with the time that a column states; ok is false for what is no row.
func (r *rowReader) restate(text []byte) (out []byte, at line.Stamp, ok bool) {
	s := strings.TrimSpace(string(text))
	if strings.HasPrefix(s, "{") {
		var names, values []string
		if !flat(s, func(name, value string) { names, values = append(names, name), append(values, value) }) {
			return nil, at, false
		}
		return restated(names, values)
	}
	if r.heads == nil {
		r.heads = []string{}
		for _, sep := range []string{",", "\t"} {
			if names := strings.Split(s, sep); len(names) > 2 && len(names) <= maxHeadings {
				r.heads, r.sep = names, sep
			}
		}
		return nil, at, false
	}
	values := strings.Split(s, r.sep)
	if len(r.heads) == 0 || len(values) != len(r.heads) {
		return nil, at, false
	}
	return restated(r.heads, values)
}

// flat visits the numbers of an object that holds no other.
func flat(s string, visit func(name, value string)) bool {
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return false
	}
	for dec.More() {
		k, err := dec.Token()
		name, isName := k.(string)
		var v any
		if err != nil || !isName || dec.Decode(&v) != nil {
			return false
		}
		if n, isNumber := v.(json.Number); isNumber {
			visit(name, n.String())
		}
	}
	return true
}

// Times of the clock, in seconds since 1970.
const (
	firstEpoch = 1e9
	lastEpoch  = 1e10
)

func restated(names, values []string) (out []byte, at line.Stamp, ok bool) {
	var head bytes.Buffer
	var cells []string
	longest, most := 0, 0.0
	for i, name := range names {
		name = strings.Trim(strings.TrimSpace(name), `"`)
		v, err := strconv.ParseFloat(strings.TrimSpace(values[i]), 64)
		if err != nil || name == "" || strings.ContainsAny(name, " \t") {
			continue
		}
		unit := unitIn(name)
		switch lower := strings.ToLower(name); {
		case v >= firstEpoch && v < lastEpoch:
			sec, part := math.Modf(v)
			at = line.Stamp{Kind: line.Epoch, Unix: int64(sec), Nanos: int32(part * 1e9)}
		case lower == "step" || lower == "iter" || lower == "iteration" || lower == "global_step" || lower == "rank":
			fmt.Fprintf(&head, "%s %d ", strings.TrimPrefix(lower, "global_"), int64(v))
			ok = ok || lower != "rank"
		case unit != "":
			if v > most {
				longest, most = len(cells), v
			}
			cells = append(cells, fmt.Sprintf("%s %s %s ", name, strconv.FormatFloat(v, 'f', 6, 64), unit))
		}
	}
	if len(cells) == 0 {
		return nil, at, false
	}
	sum := cells[longest]
	head.WriteString(strings.Join(slices.Delete(cells, longest, longest+1), "") + sum)
	return head.Bytes(), at, ok
}

// unitIn is the unit of a time that a name ends with; "" none.
func unitIn(name string) string {
	i := strings.LastIndexByte(name, '_')
	if i <= 0 {
		return ""
	}
	switch u := name[i+1:]; u {
	case "s", "ms", "us", "sec":
		return u
	}
	return ""
}
