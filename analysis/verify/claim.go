package verify

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"faultline/incident"
)

// maxDepth bounds derived evidence over derived evidence.
const maxDepth = 16

// claim is one piece of evidence with the questions it asks of the files.
type claim struct {
	ev     incident.Evidence
	wrong  error // its form is wrong; nothing was asked
	pred   *predicate
	passes []*pass // the files named, in the order named
	quote  *quote
	tally  []*tally // one for each pass
	inputs []*claim
	doc    *document
	// The same claim is often cited at many places; it is judged once.
	judged bool
	result error
}

// evaluated lists, for each kind, the fields that are evaluated. Any other that is set is a claim nobody checks.
var evaluated = map[string][]string{
	incident.KindQuote:     {"File", "Line", "Offset", "Text", "Predicate"},
	incident.KindCount:     {"Predicate", "Files", "N"},
	incident.KindAbsence:   {"Predicate", "Files", "Bytes"},
	incident.KindSet:       {"Predicate", "Files", "Capture", "Values"},
	incident.KindInventory: {"Predicate", "Files", "Capture", "Expected", "Seen", "From", "Inputs"},
	incident.KindDerived:   {"Formula", "Inputs", "Result"},
	incident.KindRecord:    {"File", "Place", "Predicate"},
}

// enter puts a claim into the book; the same claim twice is one.
func (b *book) enter(ev incident.Evidence, depth int) *claim {
	k := key(ev)
	if c := b.claims[k]; c != nil {
		return c
	}
	c := &claim{ev: ev}
	b.claims[k] = c
	if c.wrong = c.form(depth); c.wrong == nil {
		c.wrong = c.ask(b, depth)
	}
	return c
}

// form checks what can be checked without a file.
func (c *claim) form(depth int) error {
	fields, ok := evaluated[c.ev.Kind]
	if !ok {
		return fmt.Errorf("unknown kind %q", c.ev.Kind)
	}
	if depth > maxDepth {
		return errors.New("derived over too many levels")
	}
	v := reflect.ValueOf(c.ev)
	for i := range v.NumField() {
		if v.Type().Field(i).Tag.Get("json") == "-" {
			continue // never reported, so it claims nothing
		}
		if name := v.Type().Field(i).Name; name != "Kind" && !v.Field(i).IsZero() && !slices.Contains(fields, name) {
			// An empty list claims nothing either.
			if f := v.Field(i); f.Kind() == reflect.Slice && f.Len() == 0 {
				continue
			}
			return fmt.Errorf("field %s is not evaluated for a %s", strings.ToLower(name), c.ev.Kind)
		}
	}
	ev := &c.ev
	switch ev.Kind {
	case incident.KindQuote:
		switch {
		case len(bytes.TrimSpace([]byte(ev.Text))) == 0:
			return errors.New("the quoted text is blank")
		case strings.Contains(ev.Text, "\n"):
			return errors.New("the quoted text spans lines")
		case ev.Line < 1 || ev.Offset < 0:
			return errors.New("the quotation has no place")
		}
	case incident.KindCount:
		if ev.N < 1 {
			return errors.New("a count of none is an absence")
		}
	case incident.KindSet:
		switch {
		case ev.Capture == nil:
			return errors.New("a set captures nothing")
		case len(ev.Values) == 0:
			return errors.New("a set without values")
		}
		return sorted(ev.Values)
	case incident.KindInventory:
		switch {
		case ev.From == "" || len(ev.Expected) == 0 || len(ev.Seen) == 0:
			return errors.New("an inventory needs what is expected, from where, and what was seen")
		case (ev.Predicate == nil) != (ev.Capture == nil):
			return errors.New("an inventory needs predicate and capture, or neither")
		}
		if ev.Predicate != nil {
			return sorted(ev.Seen)
		}
	case incident.KindDerived:
		if len(ev.Inputs) == 0 {
			return errors.New("derived from nothing")
		}
	case incident.KindRecord:
		return recordForm(ev.Predicate)
	}
	return nil
}

// ask registers what the claim needs from the files.
func (c *claim) ask(b *book, depth int) error {
	ev := &c.ev
	if ev.Kind == incident.KindRecord {
		var err error
		c.doc, err = b.document(ev.File, ev)
		return err
	}
	for _, in := range ev.Inputs {
		c.inputs = append(c.inputs, b.enter(in, depth+1))
	}
	if ev.Predicate != nil || ev.Kind != incident.KindQuote && ev.Kind != incident.KindInventory && ev.Kind != incident.KindDerived {
		var err error
		if c.pred, err = compile(ev.Predicate, ev.Capture); err != nil {
			return err
		}
	}
	switch ev.Kind {
	case incident.KindDerived:
		return nil
	case incident.KindQuote:
		p, err := b.pass(ev.File)
		if err != nil {
			return err
		}
		c.passes = []*pass{p}
		c.quote = p.addQuote(ev.Offset, len(ev.Text))
		return nil
	}
	if len(ev.Files) == 0 {
		return errors.New("no file is named")
	}
	seen := make(map[string]bool, len(ev.Files))
	for _, name := range ev.Files {
		if seen[name] {
			return fmt.Errorf("%q is named twice", name)
		}
		seen[name] = true
		if _, ok := b.files[name]; !ok {
			return fmt.Errorf("%q %w", name, errOutside)
		}
	}
	if c.pred == nil { // an inventory of names: its files need not be opened
		return nil
	}
	k := tallyKey(ev.Predicate, ev.Capture)
	for _, name := range ev.Files {
		p, err := b.pass(name)
		if err != nil {
			return err
		}
		if ev.Kind == incident.KindAbsence {
			p.whole = true
		}
		c.passes = append(c.passes, p)
		c.tally = append(c.tally, p.addTally(k, c.pred, len(ev.Values)+len(ev.Seen)+1))
	}
	return nil
}

// judge compares the claim with the answers.
func (c *claim) judge() error {
	if !c.judged {
		c.result, c.judged = c.evaluate(), true
	}
	return c.result
}

func (c *claim) evaluate() error {
	if c.wrong != nil {
		return c.wrong
	}
	for i, p := range c.passes {
		if p.err != nil {
			name := c.ev.File
			if c.ev.Kind != incident.KindQuote {
				name = c.ev.Files[i]
			}
			return fmt.Errorf("%q cannot be read: %w", name, p.err)
		}
	}
	for i, in := range c.inputs {
		if err := in.judge(); err != nil {
			return fmt.Errorf("input %d: %w", i, err)
		}
	}
	switch c.ev.Kind {
	case incident.KindQuote:
		return c.judgeQuote()
	case incident.KindCount:
		if n := c.total(); n != c.ev.N {
			return fmt.Errorf("%d satisfy the predicate, not %d", n, c.ev.N)
		}
	case incident.KindAbsence:
		return c.judgeAbsence()
	case incident.KindSet:
		return c.judgeSet(c.ev.Values)
	case incident.KindInventory:
		if c.pred != nil {
			return c.judgeSet(c.ev.Seen)
		}
		return judgeNames(c.ev.Files, c.ev.Seen)
	case incident.KindDerived:
		return c.judgeDerived()
	case incident.KindRecord:
		return c.doc.judge(&c.ev)
	}
	return nil
}

func (c *claim) judgeQuote() error {
	q, text := c.quote, []byte(c.ev.Text)
	switch {
	case q.line == 0:
		return fmt.Errorf("%q ends before offset %d", c.ev.File, c.ev.Offset)
	case !bytes.HasPrefix(q.got, text):
		return fmt.Errorf("%q has different text at offset %d", c.ev.File, c.ev.Offset)
	case q.line != c.ev.Line:
		return fmt.Errorf("the text is on line %d of %q, not %d", q.line, c.ev.File, c.ev.Line)
	case c.pred != nil && !c.pred.inQuote(text, q.got[len(text):]):
		return errors.New("the quoted text does not satisfy the predicate")
	}
	return nil
}

func (c *claim) total() (n int64) {
	for _, t := range c.tally {
		n += t.n
	}
	return n
}

func (c *claim) judgeAbsence() error {
	var total int64
	for i, p := range c.passes {
		if !p.clean {
			return fmt.Errorf("%q doesn't end cleanly: what seems absent may have been cut off", c.ev.Files[i])
		}
		total += p.bytes
	}
	if n := c.total(); n != 0 {
		return fmt.Errorf("%d satisfy the predicate, not none", n)
	}
	if total != c.ev.Bytes {
		return fmt.Errorf("the files hold %d bytes, not %d", total, c.ev.Bytes)
	}
	return nil
}

func (c *claim) judgeSet(want []string) error {
	claimed := make(map[string]bool, len(want))
	for _, v := range want {
		claimed[v] = true
	}
	found := map[string]bool{}
	for _, t := range c.tally {
		for v := range t.values {
			found[v] = true
			if !claimed[v] {
				// Any of them will do, but the same one each time.
				return fmt.Errorf("the files also hold %q", c.extra(claimed))
			}
		}
	}
	for _, v := range want {
		if !found[v] {
			return fmt.Errorf("no segment holds %q", v)
		}
	}
	return nil
}

// extra is the least captured value that is not claimed.
func (c *claim) extra(claimed map[string]bool) string {
	var least string
	for _, t := range c.tally {
		for v := range t.values {
			if !claimed[v] && (least == "" || v < least) {
				least = v
			}
		}
	}
	return least
}

// sorted checks that values are distinct, sorted and not empty.
func sorted(values []string) error {
	compare := strings.Compare
	if !slices.ContainsFunc(values, func(s string) bool { _, err := strconv.ParseInt(s, 10, 64); return err != nil }) {
		compare = func(a, b string) int {
			x, _ := strconv.ParseInt(a, 10, 64)
			y, _ := strconv.ParseInt(b, 10, 64)
			switch {
			case x < y:
				return -1
			case x > y:
				return 1
			}
			return strings.Compare(a, b)
		}
	}
	for i, v := range values {
		switch {
		case v == "":
			return errors.New("an empty value")
		case i > 0 && compare(values[i-1], v) >= 0:
			return fmt.Errorf("the values are not sorted and distinct at %q", v)
		}
	}
	return nil
}

// judgeNames checks an inventory of file names.
func judgeNames(files, seen []string) error {
	inName := func(name, word string) bool {
		for at := 0; ; {
			i := strings.Index(name[at:], word)
			if i < 0 {
				return false
			}
			from, to := at+i, at+i+len(word)
			if (from == 0 || !alnum(name[from-1])) && (to == len(name) || !alnum(name[to])) {
				return true
			}
			at = from + 1
		}
	}
	used := make([]bool, len(files))
	for _, word := range seen {
		if word == "" {
			return errors.New("an empty value")
		}
		hit := false
		for i, name := range files {
			if inName(name, word) {
				hit, used[i] = true, true
			}
		}
		if !hit {
			return fmt.Errorf("no file is named after %q", word)
		}
	}
	if i := slices.Index(used, false); i >= 0 {
		return fmt.Errorf("the name of %q contains nothing that was seen", files[i])
	}
	return nil
}

func alnum(b byte) bool { return b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' }
