package stacks

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"faultline/analysis/line"
)

func (f *File) sort() {
	slices.SortFunc(f.Stacks, func(a, b Stack) int { return cmp.Or(cmp.Compare(a.At.Off, b.At.Off), cmp.Compare(a.PID, b.PID)) })
	slices.SortFunc(f.States, func(a, b State) int { return cmp.Compare(a.At.Off, b.At.Off) })
}

// isJSON says that this is what "py-spy dump --json" prints: a list of threads.
func isJSON(head []byte) bool {
	head = bytes.TrimSpace(head)
	return len(head) > 1 && head[0] == '[' && bytes.HasPrefix(bytes.TrimSpace(head[1:]), []byte("{")) &&
		bytes.Contains(head, []byte(`"thread_id"`)) && (bytes.Contains(head, []byte(`"os_thread_id"`)) || bytes.Contains(head, []byte(`"owns_gil"`)))
}

// spyJSON is a thread as "py-spy dump --json" prints it (py-spy src/stack_trace.rs).
type spyJSON struct {
	PID    int               `json:"pid"`
	ID     json.Number       `json:"thread_id"`
	Name   string            `json:"thread_name"`
	TID    int               `json:"os_thread_id"`
	Active bool              `json:"active"`
	GIL    bool              `json:"owns_gil"`
	Frames []json.RawMessage `json:"frames"`
	Info   *struct {
		Command string `json:"command_line"`
	} `json:"process_info"`
}

type spyFrameJSON struct {
	Name  string `json:"name"`
	File  string `json:"filename"`
	Short string `json:"short_filename"`
	Line  int    `json:"line"`
}

// readJSON reads lists of threads, one behind the other.
func readJSON(ctx context.Context, in io.Reader) (*File, error) {
	data, err := io.ReadAll(io.LimitReader(in, maxJSON+1))
	switch {
	case err != nil && len(data) == 0:
		return nil, err
	case len(data) > maxJSON:
		return nil, fmt.Errorf("its JSON is larger than %d MB", maxJSON>>20)
	}
	r := newReader()
	places := &places{data: data, no: 1}
	dec := json.NewDecoder(bytes.NewReader(data))
	for {
		t, err := dec.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || t != json.Delim('[') {
			return r.json(errors.New("its JSON is broken"))
		}
		s := &stream{head: noHeader()}
		for dec.More() {
			var raw json.RawMessage
			if err := dec.Decode(&raw); err != nil {
				r.close(s)
				return r.json(errors.New("its JSON is broken, or ends in the middle"))
			}
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			r.jsonThread(s, raw, int(dec.InputOffset())-len(raw), places)
		}
		r.close(s)
		if _, err := dec.Token(); err != nil {
			return r.json(errors.New("its JSON ends in the middle"))
		}
	}
	return r.json(nil)
}

func (r *reader) json(err error) (*File, error) {
	if len(r.file.Stacks) == 0 {
		return nil, cmp.Or(err, ErrOther)
	}
	r.file.sort()
	return &r.file, nil
}

func (r *reader) jsonThread(s *stream, raw json.RawMessage, off int, places *places) {
	var j spyJSON
	if json.Unmarshal(raw, &j) != nil {
		return
	}
	at := places.at(off, raw, `"pid"`)
	if !s.open || s.cur.PID != j.PID {
		r.close(s)
		r.begin(s, PySpy, at)
		s.cur.PID = j.PID
		if j.Info != nil {
			s.cur.Command = clip(j.Info.Command)
		}
	}
	t := Thread{ID: clip(j.ID.String()), Name: clip(j.Name), TID: j.TID, State: "idle", At: at}
	if j.Active || j.GIL {
		t.State = "active"
	}
	r.add(s, t)
	from := 0
	for _, f := range j.Frames[:min(len(j.Frames), maxFrames)] {
		var v spyFrameJSON
		i := bytes.Index(raw[from:], f)
		if i < 0 || json.Unmarshal(f, &v) != nil {
			continue
		}
		from += i
		file := cmp.Or(v.Short, v.File)
		r.call(s, Frame{Func: clip(v.Name), File: clip(file), Line: v.Line, Native: native(file), At: places.at(off+from, f, `"name"`)})
		from += len(f)
	}
}

// places finds the lines of places in a text, which are asked for in ascending order.
type places struct {
	data    []byte
	off, no int
}

// at is where a member stands in an object: to the end of its line, or of what is quoted of one.
func (p *places) at(off int, object []byte, member string) At {
	if i := bytes.Index(object, []byte(member)); i >= 0 {
		off += i
		object = object[i:]
	}
	if off < p.off {
		p.off, p.no = 0, 1
	}
	p.no += bytes.Count(p.data[p.off:off], []byte("\n"))
	p.off = off
	n := bytes.IndexByte(object, '\n')
	if n < 0 {
		n = len(object)
	}
	return At{No: int64(p.no), Off: int64(off), Len: min(n, maxText), Who: line.NoOne}
}
