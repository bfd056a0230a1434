package numbers

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// ErrOther says that a file is no table of numbers by step.
var ErrOther = errors.New("it is no table of losses, gradient norms or checksums by step")

// Read reads a table. Lines that are not of it are counted and left out.
func Read(ctx context.Context, r io.Reader) (*Table, error) {
	t := &Table{Form: "csv"}
	in := bufio.NewReaderSize(r, maxLine)
	var heads []string
	var cols []column
	var sep byte
	off := int64(0)
	for n := int64(1); ; n++ {
		if n&0xfff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		raw, err := in.ReadSlice('\n')
		size := int64(len(raw))
		long := errors.Is(err, bufio.ErrBufferFull)
		for errors.Is(err, bufio.ErrBufferFull) { // a line that is too long is passed over
			raw, err = in.ReadSlice('\n')
			size += int64(len(raw))
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		at := Place{n, off, 0}
		off += size
		line := bytes.TrimRight(raw, "\r\n")
		at.Len = len(line)
		switch text := bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")); {
		case long:
			t.Odd++
		case len(bytes.TrimSpace(text)) == 0:
		case heads == nil && text[0] == '{':
			t.Form, heads = "jsonl", []string{}
			t.object(text, at)
		case heads == nil:
			sep = separator(text)
			names, ok := cells(text, sep)
			if !ok {
				return nil, ErrOther
			}
			heads = names
			for _, h := range names {
				cols = append(cols, columnOf(h))
			}
			if !measured(cols) {
				return nil, ErrOther
			}
		case t.Form == "jsonl":
			t.object(text, at)
		default:
			values, ok := cells(text, sep)
			if !ok || len(values) != len(heads) {
				t.Odd++
				break
			}
			t.row(heads, cols, values, at)
			if len(t.Lines) < maxLines {
				t.Lines = append(t.Lines, Line{at, restated(heads, values)})
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
	}
	if len(t.Rows) == 0 {
		return nil, ErrOther
	}
	return t, nil
}

// row keeps what matters of one line.
func (t *Table) row(names []string, cols []column, values []string, at Place) {
	rank, step, group, pos := None, int64(None), "", nowhere
	for i, c := range cols {
		switch c {
		case rankColumn:
			if n, err := strconv.Atoi(values[i]); err == nil && n >= 0 && n < 1<<24 {
				rank = n
				t.Ranked = true
			}
		case stepColumn:
			if v, nan, ok := parsed(values[i]); ok && !nan && v >= 0 && v < 1<<53 {
				step = int64(v)
			}
		case groupColumn:
			group = clip(values[i])
		}
		if c >= axisColumn {
			if n, err := strconv.ParseInt(values[i], 10, 32); err == nil && n >= 0 && n < 1<<24 {
				pos[c-axisColumn] = int32(n)
			}
		}
	}
	if step == None {
		t.Odd++
		return
	}
	for i, c := range cols {
		r := Row{Rank: rank, Step: step, Name: names[i], Group: group, Text: values[i], At: at, Pos: pos}
		switch c {
		case lossColumn, gradientColumn:
			var ok bool
			if _, r.NaN, ok = parsed(values[i]); !ok {
				continue
			}
			r.What = Loss
			if c == gradientColumn {
				r.What = Gradient
			}
		case checksumColumn:
			if values[i] == "" {
				continue
			}
			r.What = Checksum
		default:
			continue
		}
		if len(t.Rows) >= maxRows || len(values[i]) > 256 {
			continue
		}
		t.Rows = append(t.Rows, r)
	}
}

// restated writes a row as an object, without the cells that are empty.
func restated(heads, values []string) string {
	var b strings.Builder
	for i, v := range values {
		if v = strings.TrimSpace(v); v == "" {
			continue
		}
		if _, _, number := parsed(v); !number {
			v = strconv.Quote(v)
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(strings.TrimSpace(heads[i])) + ": " + v)
	}
	return "{" + b.String() + "}"
}

// object keeps what matters of a line that is an object. NaN and Infinity, which Python writes bare, are no JSON.
func (t *Table) object(line []byte, at Place) {
	var names, values []string
	var cols []column
	if !members(line, func(name, value string) {
		names, values, cols = append(names, name), append(values, value), append(cols, columnOf(name))
	}) {
		t.Odd++
		return
	}
	t.row(names, cols, values, at)
}

func objectColumns(line []byte) (out []column, ok bool) {
	ok = members(line, func(name, _ string) { out = append(out, columnOf(name)) })
	return out, ok
}

// members visits the numbers and texts of a flat object; members that hold more are passed over.
func members(line []byte, visit func(name, value string)) bool {
	dec := json.NewDecoder(bytes.NewReader(bareNumbers(line)))
	dec.UseNumber()
	if tok, err := dec.Token(); err != nil || tok != json.Delim('{') {
		return false
	}
	for n := 0; dec.More(); n++ {
		key, err := dec.Token()
		name, ok := key.(string)
		if err != nil || !ok || n > maxCols {
			return false
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return false
		}
		if raw = bytes.TrimSpace(raw); len(raw) == 0 || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n' {
			continue
		}
		value := string(raw)
		if raw[0] == '"' {
			if json.Unmarshal(raw, &value) != nil {
				return false
			}
		}
		visit(name, value)
	}
	tok, err := dec.Token()
	return err == nil && tok == json.Delim('}')
}

// bareNumbers puts the words that Python writes for numbers that are none into quotes.
func bareNumbers(line []byte) []byte {
	if !bytes.Contains(line, []byte("NaN")) && !bytes.Contains(line, []byte("Infinity")) {
		return line
	}
	var out []byte
	text := false
	for i := 0; i < len(line); i++ {
		c := line[i]
		if c == '\\' && text && i+1 < len(line) {
			out = append(out, c, line[i+1])
			i++
			continue
		}
		if c == '"' {
			text = !text
		}
		if !text {
			found := false
			for _, w := range []string{"NaN", "-Infinity", "Infinity"} {
				if bytes.HasPrefix(line[i:], []byte(w)) {
					out = append(out, '"')
					out = append(out, w...)
					out = append(out, '"')
					i += len(w) - 1
					found = true
					break
				}
			}
			if found {
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func clip(s string) string { return s[:min(len(s), 64)] }
