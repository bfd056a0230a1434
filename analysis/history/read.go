package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"faultline/incident"
)

// Limits of what is read. A file beyond them is not used at all: what is used must not depend on the order of its lines.
const (
	maxBytes    = 64 << 20
	maxLines    = 50_000
	maxNames    = 1 << 17 // elements of a list, members of an object
	maxText     = 1024
	maxWarnings = 20
	maxFigures  = 16
)

// Run is one earlier run and the line that states it.
type Run struct {
	Record
	File      string
	Line, Off int64
	nodes     map[string]bool
	members   map[string]member
	raw       []byte
}

// member is one top-level member of a line; from and to are of the line and include the name.
type member struct {
	value    json.RawMessage
	from, to int
}

// Book is everything that was read: the runs, each once, by id.
type Book struct {
	Files []string
	Runs  []*Run
	// Warnings name the lines that are not used.
	Warnings []string
	// lines are all lines that are JSON objects of this schema, used or not: counts on the raw bytes meet them all.
	lines []*Run
}

// errTooLong ends the reading of one line.
var errTooLong = fmt.Errorf("longer than %d bytes", incident.MaxRecord)

// Read reads one file. What cannot be used is named in the warnings of the book; only the context and the reader fail.
func Read(ctx context.Context, name string, src io.Reader) (*Book, error) {
	b := &Book{Files: []string{name}}
	in := bufio.NewReaderSize(io.LimitReader(src, maxBytes+1), incident.MaxRecord+2)
	var off, n int64
	bad := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		text, size, err := readLine(in)
		n++
		start := off
		off += size
		if off > maxBytes || n > maxLines {
			return &Book{Files: b.Files, Warnings: []string{fmt.Sprintf("%s: not used: a history may have at most %d MB and %d lines", name, maxBytes>>20, maxLines)}}, nil
		}
		if errors.Is(err, io.EOF) && size == 0 {
			break
		}
		switch {
		case errors.Is(err, errTooLong):
			b.reject(name, n, err, &bad)
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("reading %s: %w", name, err)
		case len(bytes.TrimSpace(text)) > 0:
			run, why := parse(text)
			if run != nil {
				run.File, run.Line, run.Off = name, n, start
				b.lines = append(b.lines, run)
			}
			if why != nil {
				b.reject(name, n, why, &bad)
			} else {
				b.Runs = append(b.Runs, run)
			}
		}
		if errors.Is(err, io.EOF) {
			break
		}
	}
	if bad > maxWarnings {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%s: %d more lines were not used", name, bad-maxWarnings))
	}
	b.once()
	return b, nil
}

// Merge makes one book of several files.
func Merge(books ...*Book) *Book {
	out := &Book{}
	for _, b := range books {
		out.Files = append(out.Files, b.Files...)
		out.Runs = append(out.Runs, b.Runs...)
		out.Warnings = append(out.Warnings, b.Warnings...)
		out.lines = append(out.lines, b.lines...)
	}
	out.once()
	return out
}

func (b *Book) reject(name string, line int64, why error, bad *int) {
	if *bad++; *bad <= maxWarnings {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%s:%d: not used: %v", name, line, why))
	}
}

// readLine reads one line without its end. Of one that is too long only the size is told.
func readLine(in *bufio.Reader) (text []byte, size int64, err error) {
	part, err := in.ReadSlice('\n')
	size = int64(len(part))
	if !errors.Is(err, bufio.ErrBufferFull) {
		text = bytes.TrimSuffix(bytes.Clone(part), []byte("\n"))
		text = bytes.TrimSuffix(text, []byte("\r"))
		if err == nil && len(text) > incident.MaxRecord {
			err = errTooLong
		}
		return text, size, err
	}
	for errors.Is(err, bufio.ErrBufferFull) {
		part, err = in.ReadSlice('\n')
		size += int64(len(part))
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = errTooLong
	}
	return nil, size, err
}

// parse reads one line. run is nil where it is no object of this schema; why says what keeps it from being used.
func parse(text []byte) (run *Run, why error) {
	if bytes.ContainsAny(text, "\r\x1b") {
		return nil, errors.New("it holds control bytes")
	}
	ms, err := split(text)
	if err != nil {
		return nil, fmt.Errorf("not a JSON object: %w", err)
	}
	run = &Run{members: map[string]member{}, raw: text}
	twice := ""
	for _, m := range ms {
		if _, ok := run.members[m.name]; ok {
			twice = m.name
		}
		run.members[m.name] = m.member
	}
	var schema string
	if json.Unmarshal(run.members["schema"].value, &schema) != nil || schema != Schema {
		return nil, fmt.Errorf("its schema is not %q", Schema)
	}
	if twice != "" {
		return run, fmt.Errorf("it has the member %q twice", clip(twice))
	}
	if err := run.decode(); err != nil {
		return run, err
	}
	return run, run.check()
}

type namedMember struct {
	name string
	member
}

// split finds the members of an object, with their places.
func split(text []byte) ([]namedMember, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errors.New("it does not begin with {")
	}
	var out []namedMember
	for dec.More() {
		at := int(dec.InputOffset())
		from := len(text) - len(bytes.TrimLeft(text[at:], ", \t\n\r"))
		t, err := dec.Token()
		if err != nil {
			return nil, plain(err)
		}
		name, ok := t.(string)
		if !ok {
			return nil, errors.New("a member without a name")
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return nil, plain(err)
		}
		if out = append(out, namedMember{name, member{value, from, int(dec.InputOffset())}}); len(out) > maxNames {
			return nil, errors.New("too many members")
		}
	}
	if _, err := dec.Token(); err != nil {
		return nil, plain(err)
	}
	if len(bytes.TrimSpace(text[dec.InputOffset():])) > 0 {
		return nil, errors.New("something follows the object")
	}
	return out, nil
}

// plain keeps the text of a log or a history out of a message.
func plain(err error) error {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("invalid at byte %d", s.Offset)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("it is cut short")
	}
	return errors.New("invalid")
}

// decode fills the record. Names are compared exactly, as the verifier does.
func (r *Run) decode() error {
	var conf float64
	for _, x := range []struct {
		name string
		to   any
	}{
		{"id", &r.ID}, {"job", &r.Job}, {"run", &r.Run}, {"cluster", &r.Cluster}, {"name", &r.Name}, {"start", &r.Start}, {"end", &r.End},
		{"completed", &r.Completed}, {"status", &r.Status}, {"mechanism", &r.Mechanism}, {"origin", &r.Origin}, {"confidence", &conf},
		{"root_ranks", &r.RootRanks}, {"root_nodes", &r.RootNodes}, {"component", &r.Component}, {"item", &r.Item}, {"step", &r.Step},
		{"steps_logged", &r.StepsLogged}, {"framework", &r.Framework}, {"world_size", &r.WorldSize}, {"nodes_count", &r.NodesCount},
		{"versions", &r.Versions}, {"nodes", &r.Nodes}, {"arguments", &r.Arguments}, {"user", &r.User}, {"shapes", &r.Shapes},
		{"figures", &r.Figures}, {"before", &r.Before},
	} {
		m, ok := r.members[x.name]
		if ok && string(m.value) != "null" && json.Unmarshal(m.value, x.to) != nil {
			return fmt.Errorf("its member %q has the wrong type", x.name)
		}
	}
	r.Schema, r.Confidence = Schema, incident.Confidence(conf)
	return nil
}

var errText = errors.New("a text is too long or not text")

// check says why a record cannot be used.
func (r *Run) check() error {
	if !word(r.Job) || r.Cluster != "" && !word(r.Cluster) || r.Run < 0 {
		return errors.New("it names no job")
	}
	if r.ID != ID(r.Cluster, r.Job, r.Run) {
		return fmt.Errorf("its id is not %q", ID(r.Cluster, r.Job, r.Run))
	}
	for _, s := range slices.Concat([]string{r.Name, r.Start, r.End, r.Status, r.Mechanism, r.Origin, r.Component, r.Item, r.Framework, r.User}, r.Nodes, r.RootNodes) {
		if !sound(s) {
			return errText
		}
	}
	for _, s := range r.Shapes {
		if _, err := strconv.ParseUint(s, 16, 64); err != nil || len(s) != 16 {
			return errors.New("a shape is no hash of 16 hexadecimal digits")
		}
	}
	if len(r.Figures) > maxFigures {
		return errors.New("it has too many figures")
	}
	for _, f := range r.Figures {
		if !word(f.Name) || !sound(f.Unit) || f.N < 0 {
			return errors.New("a figure is none")
		}
	}
	if len(r.Before) > maxFigures || slices.ContainsFunc(r.Before, func(p incident.Precursor) bool { return !word(p.Kind) || p.N < 0 || !(p.Last >= 0) || !(p.Over > 0) }) {
		return errors.New("what came before is none")
	}
	for _, m := range []map[string]string{r.Versions, r.Arguments} {
		for k, v := range m {
			if !sound(k) || !sound(v) {
				return errText
			}
		}
	}
	if r.WorldSize < 0 || r.NodesCount < 0 || r.StepsLogged < 0 || r.Step != nil && *r.Step < 0 {
		return errors.New("a number is negative")
	}
	r.nodes = make(map[string]bool, len(r.Nodes))
	for _, n := range r.Nodes {
		if n == "" {
			return errors.New("a node without a name")
		}
		r.nodes[n] = true
	}
	for _, n := range r.RootNodes {
		if !r.nodes[n] {
			return errors.New("a node of its root is not among its nodes")
		}
	}
	return nil
}

// sound says that a text can be compared and shown.
func sound(s string) bool {
	return len(s) <= maxText && utf8.ValidString(s) && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c == 0x7f || c == utf8.RuneError })
}

func clip(s string) string {
	s = strings.ToValidUTF8(s, "?")
	if len(s) > 40 {
		return strings.ToValidUTF8(s[:40], "") + "…"
	}
	return s
}

// once keeps one line of each run, whatever the order of the lines: the surer verdict, else the smaller text.
func (b *Book) once() {
	rank := map[string]int{incident.Confirmed: 3, incident.NoFailure: 3, incident.Probable: 2, incident.Inconclusive: 1}
	slices.SortStableFunc(b.Runs, func(x, y *Run) int {
		if c := strings.Compare(x.ID, y.ID); c != 0 {
			return c
		}
		if c := rank[y.Status] - rank[x.Status]; c != 0 {
			return c
		}
		return bytes.Compare(x.raw, y.raw)
	})
	differ := 0
	b.Runs = slices.CompactFunc(b.Runs, func(x, y *Run) bool {
		if x.ID != y.ID {
			return false
		}
		if !bytes.Equal(x.raw, y.raw) {
			differ++
		}
		return true
	})
	if differ > 0 {
		b.Warnings = append(b.Warnings, fmt.Sprintf("%s: %d lines contradict a more certain line about the same run, so they were not used", strings.Join(b.Files, ", "), differ))
	}
}
