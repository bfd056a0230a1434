package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
)

const (
	maxDocument = 192 << 20 // bytes of a pickle
	maxJSON     = 32 << 20  // a tree of it takes many times its length
	maxTree     = 4 << 20   // values of a pickle that are held
	// maxKeptDocument is how large the memory of a document may be that is used again for the next one.
	maxKeptDocument = 8 << 20
)

// document is a file that holds one value, and what is asked of it.
type document struct {
	path string
	from Verifier
	asks []*incident.Evidence
	// Answers, in the order of asks; err stands for all of them.
	results map[string]error
	err     error

	hash bool   // the SHA-256 of the stored bytes is asked for
	sum  string // it
}

func (b *book) document(name string, ev *incident.Evidence) (*document, error) {
	path, ok := b.files[name]
	if !ok {
		return nil, fmt.Errorf("%q %w", name, errOutside)
	}
	d := b.docs[name]
	if d == nil {
		d = &document{path: path, from: b.from, results: map[string]error{}}
		b.docs[name] = d
	}
	d.asks = append(d.asks, ev)
	return d, nil
}

func recordForm(p *incident.Predicate) error {
	switch {
	case p == nil || len(p.Members) == 0:
		return errors.New("a record of which no member is claimed")
	case len(p.Literals)+len(p.Fields)+len(p.Not) > 0:
		return errors.New("a record has members, no text")
	}
	for _, m := range slices.Concat(p.Members, p.NotMembers) {
		if m.Name == "" || m.Value == "" {
			return errors.New("a member without a name or a value")
		}
	}
	return nil
}

func (d *document) judge(ev *incident.Evidence) error {
	if d.err != nil {
		return fmt.Errorf("%q cannot be read: %w", ev.File, d.err)
	}
	err, ok := d.results[key(*ev)]
	if !ok {
		return errors.New("it was not looked up")
	}
	return err
}

// run reads the file and answers. Only the context's end is an error of its own.
func (d *document) run(ctx context.Context, rm *room) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	root, err := d.load(ctx, rm)
	if d.err = pathless(err); d.err == nil {
		d.err = d.answer(root, rm)
	}
	return ctx.Err()
}

// answer looks up what is asked. Where that was gone over, the whole is read.
func (d *document) answer(root tree, rm *room) (err error) {
	for _, ev := range d.asks {
		holds := holdsAt(root, ev)
		if rm.pile.lacks {
			if root, err = rm.pile.unpickle(rm.doc.Bytes(), nil); err != nil {
				return err
			}
			holds = holdsAt(root, ev)
		}
		d.results[key(*ev)] = holds
	}
	return nil
}

// load reads the file into the room of a worker, where its value stays until the next one is read.
func (d *document) load(ctx context.Context, rm *room) (tree, error) {
	f, err := d.from.open(d.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	disk := &watched{Reader: f}
	if d.hash {
		disk.sum = sha256.New()
	}
	r, done, err := content(disk, rm.head)
	if err != nil {
		return nil, err
	}
	defer done()
	rm.doc.Reset()
	if rm.doc.Cap() > maxKeptDocument {
		rm.doc = bytes.Buffer{}
	}
	if _, err := rm.doc.ReadFrom(io.LimitReader(r, maxDocument+1)); err != nil {
		return nil, err
	}
	if d.hash {
		if d.sum, err = disk.hashRest(ctx, rm.buf); err != nil {
			return nil, err
		}
	}
	data := rm.doc.Bytes()
	switch {
	case len(data) > maxDocument:
		return nil, errors.New("it is too large to be checked")
	case len(data) > 2 && data[0] == 0x80:
		root, err := rm.pile.unpickle(data, numbersIn(d.asks))
		if err != nil {
			root, err = rm.pile.unpickle(data, nil)
		}
		return root, err
	case captured(data):
		return capture(data, d.asks)
	case len(data) > maxJSON:
		return nil, errors.New("it is too large to be checked")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, errors.New("it holds no value")
	}
	return jsonTree{v}, nil
}

// tree is a value that holds others.
type tree interface {
	// element and member go one step down; nil where there is none.
	element(i int) tree
	member(name string) tree
	// object is what stands under the names of an object, lists as []any, objects within as nil; nil for what is none.
	object() map[string]any
}

// holdsAt goes to the place and evaluates the members there.
func holdsAt(v tree, ev *incident.Evidence) error {
	rest := ev.Place
	for rest != "" {
		var step string
		if after, ok := strings.CutPrefix(rest, "["); ok {
			if step, rest, ok = strings.Cut(after, "]"); !ok {
				return errors.New("the place is not well formed")
			}
			i, err := strconv.Atoi(step)
			if err == nil && i >= 0 {
				v = v.element(i)
			}
			if err != nil || i < 0 || v == nil {
				return fmt.Errorf("there is no element %s at %s", step, ev.Place)
			}
			rest = strings.TrimPrefix(rest, ".")
			continue
		}
		n := strings.IndexAny(rest, ".[")
		if n < 0 {
			n = len(rest)
		}
		step = rest[:n]
		rest = strings.TrimPrefix(rest[n:], ".")
		if v = v.member(step); v == nil {
			return fmt.Errorf("there is no %s at %s", strconv.Quote(step), ev.Place)
		}
	}
	object := v.object()
	if object == nil {
		return fmt.Errorf("there is no object at %s", ev.Place)
	}
	for _, m := range ev.Predicate.Members {
		if !isMember(object, m) {
			return fmt.Errorf("%s at %s is not %s", m.Name, strconv.Quote(ev.Place), strconv.Quote(m.Value))
		}
	}
	for _, m := range ev.Predicate.NotMembers {
		if isMember(object, m) {
			return fmt.Errorf("%s at %s is %s", m.Name, strconv.Quote(ev.Place), strconv.Quote(m.Value))
		}
	}
	return nil
}

// jsonTree is a value as encoding/json reads it.
type jsonTree struct{ v any }

func (t jsonTree) element(i int) tree {
	if list, ok := t.v.([]any); ok && i < len(list) {
		return jsonTree{list[i]}
	}
	return nil
}

func (t jsonTree) member(name string) tree {
	object, _ := t.v.(map[string]any)
	if v, ok := object[name]; ok {
		return jsonTree{v}
	}
	return nil
}

func (t jsonTree) object() map[string]any {
	object, _ := t.v.(map[string]any)
	return object
}

func isMember(object map[string]any, m incident.Member) bool {
	v, there := object[m.Name]
	if !there {
		return false
	}
	if list, ok := v.([]any); ok {
		if len(list) == 0 {
			return m.Value == "[]"
		}
		return slices.ContainsFunc(list, func(e any) bool { return written(e) == m.Value })
	}
	return written(v) == m.Value
}

// written is a scalar as text; "" for what is none.
func written(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case string:
		return v
	case json.Number:
		return v.String()
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}
