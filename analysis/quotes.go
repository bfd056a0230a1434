package analysis

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/big"
	"reflect"
	"runtime"
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"

	"faultline/analysis/ascii"
	"faultline/analysis/diagnose"
	"faultline/analysis/scan"
	"faultline/analysis/verify"
	"faultline/analysis/worker"
	"faultline/incident"
)

// quoteLimit bounds a quotation. The lines that matter are longer only where a framework prints whole dictionaries.
const quoteLimit = 1200

type position struct {
	file string
	off  int64
}

// eachEvidence visits every piece of evidence in a report, wherever it stands.
func eachEvidence(r *incident.Report, visit func(*incident.Evidence)) {
	walk(reflect.ValueOf(r).Elem(), visit)
}

var evidenceType = reflect.TypeFor[incident.Evidence]()

func walk(v reflect.Value, visit func(*incident.Evidence)) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), visit)
		}
	case reflect.Struct:
		if v.Type() == evidenceType {
			visit(v.Addr().Interface().(*incident.Evidence))
		}
		for _, field := range v.Fields() {
			walk(field, visit)
		}
	case reflect.Slice:
		if k := v.Type().Elem().Kind(); k != reflect.Struct && k != reflect.Pointer && k != reflect.Slice {
			return
		}
		for i := range v.Len() {
			walk(v.Index(i), visit)
		}
	}
}

// fillQuotes fetches the raw text of every quotation by its position: excerpts are not held while reading, but for those
// of compressed files, within bounds.
func fillQuotes(ctx context.Context, from scan.Opener, files verify.Files, kept *keeper, r *incident.Report) error {
	byFile := map[string][]*incident.Evidence{}
	seen := map[*incident.Evidence]bool{} // chain and hypotheses may share what they cite
	eachEvidence(r, func(e *incident.Evidence) {
		if e.Kind == incident.KindQuote && e.Text == "" && !seen[e] {
			seen[e] = true
			byFile[e.File] = append(byFile[e.File], e)
		}
	})
	if err := fillByFile(ctx, from, files, kept, byFile); err != nil {
		return err
	}
	for i := range r.Standouts {
		if s := &r.Standouts[i]; s.Statement == "" && len(s.Evidence) > 0 { // it says no more than its line
			s.Statement = diagnose.Outstanding(s.Evidence[0].Text)
		}
	}
	return nil
}

func fillByFile(ctx context.Context, from scan.Opener, files verify.Files, kept *keeper, byFile map[string][]*incident.Evidence) error {
	names := slices.Sorted(maps.Keys(byFile))
	return each(len(names), func(i int) error {
		if err := fillFile(ctx, from, files[names[i]], kept.fill(names[i], byFile[names[i]])); err != nil {
			return fmt.Errorf("quote %s: %w", names[i], err)
		}
		return nil
	})
}

// said is the text of some lines. It is fetched only where it is compared with what others say.
func said(ctx context.Context, from scan.Opener, files verify.Files, kept *keeper, lines []worker.At) (map[worker.Pos]string, error) {
	byFile := map[string][]*incident.Evidence{}
	at := map[*incident.Evidence]worker.Pos{}
	for _, l := range lines {
		e := incident.Quote(l.File, l.Line, l.Off, "", nil)
		e.Span = l.Len
		byFile[l.File] = append(byFile[l.File], &e)
		at[&e] = l.Pos
	}
	if err := fillByFile(ctx, from, files, kept, byFile); err != nil {
		return nil, err
	}
	out := make(map[worker.Pos]string, len(at))
	for e, p := range at {
		out[p] = e.Text
	}
	return out, nil
}

// each does something for 0…n-1, on all processors. Of several errors it returns the first in this order.
func each(n int, do func(i int) error) error {
	errs := make([]error, n)
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i := range n {
		g.Go(func() error {
			errs[i] = do(i)
			return nil
		})
	}
	_ = g.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func fillFile(ctx context.Context, from scan.Opener, path string, evs []*incident.Evidence) error {
	if len(evs) == 0 {
		return nil
	}
	sort.SliceStable(evs, func(i, j int) bool { return evs[i].Offset < evs[j].Offset })
	f, err := from.Open(path)
	if err != nil {
		return plain(err)
	}
	defer func() { f.Close() }()
	in := bufio.NewReaderSize(f, 1<<16)
	at := int64(0)
	buf := make([]byte, 0, quoteLimit)
	last := int64(-1)
	for _, e := range evs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.Offset != last {
			if e.Offset < at {
				// Overlaps what was read for the one before: peek cannot go back, so start over. Rare: glued records.
				f.Close()
				if f, err = from.Open(path); err != nil {
					return plain(err)
				}
				in.Reset(f)
				at = 0
			}
			if err := skip(in, f, e.Offset-at); err != nil {
				return fmt.Errorf("offset %d: %w", e.Offset, plain(err))
			}
			at = e.Offset
			buf = buf[:cap(buf)]
			peek, err := in.Peek(quoteLimit)
			if err != nil && !errors.Is(err, io.EOF) && len(peek) == 0 {
				return plain(err)
			}
			n := copy(buf, peek)
			buf = buf[:n]
			last = e.Offset
		}
		text := buf
		if e.Span > 0 && e.Span < len(text) {
			text = text[:e.Span]
		}
		setQuote(e, text)
	}
	return nil
}

// skip passes over n bytes of what in buffers of f.
func skip(in *bufio.Reader, f io.Reader, n int64) error {
	if n <= int64(in.Buffered()) {
		_, err := in.Discard(int(n))
		return err
	}
	n -= int64(in.Buffered())
	in.Reset(f)
	return scan.Skip(f, n)
}

// setQuote takes the first line of the raw text, or the valid part of it that holds what the predicate asks for: JSON
// cannot carry bytes that are not text. Of a record that a terminal wrapped over several lines only the first line can
// be quoted; conditions on what stands in the others are left to the reader.
func setQuote(e *incident.Evidence, raw []byte) {
	wrapped := false
	if i := bytes.IndexByte(raw, '\n'); i >= 0 {
		raw, wrapped = raw[:i], true
	}
	raw = bytes.TrimSuffix(raw, []byte("\r"))
	if !utf8.Valid(raw) {
		start, best := 0, [2]int{0, 0}
		for i := 0; i < len(raw); {
			r, n := utf8.DecodeRune(raw[i:])
			if r == utf8.RuneError && n <= 1 {
				if i-start > best[1]-best[0] {
					best = [2]int{start, i}
				}
				start = i + 1
				n = 1
			}
			i += n
		}
		if len(raw)-start > best[1]-best[0] {
			best = [2]int{start, len(raw)}
		}
		e.Offset += int64(best[0])
		raw = raw[best[0]:best[1]]
	}
	e.Text, e.Span = string(raw), 0
	if e.Predicate != nil {
		e.Predicate = placed(filled(e.Predicate, raw), raw)
	}
	if wrapped && e.Predicate != nil {
		e.Predicate = holding(e.Predicate, raw)
	}
}

// filled gives the fields whose value is left to the reader of the line the token that stands there; a field whose key
// the line lacks goes.
func filled(p *incident.Predicate, raw []byte) *incident.Predicate {
	if !slices.ContainsFunc(p.Fields, func(f incident.Field) bool { return f.Value == "" }) {
		return p
	}
	out := &incident.Predicate{Literals: p.Literals, Not: p.Not}
	for _, f := range p.Fields {
		if f.Value == "" {
			_, rest, found := bytes.Cut(raw, []byte(f.Key))
			n := 0
			for n < len(rest) && (ascii.Digit(rest[n]) || rest[n] == '.') {
				n++
			}
			if f.Value = string(bytes.TrimRight(rest[:n], ".")); !found || f.Value == "" || n < len(rest) && !bytes.ContainsRune([]byte(" ,;|)]}\t"), rune(rest[n])) {
				continue // no number stands there, or it is glued to something
			}
		}
		out.Fields = append(out.Fields, f)
	}
	if len(out.Literals)+len(out.Fields)+len(out.Not) == 0 {
		return nil
	}
	return out
}

// computeRatios gives derived evidence whose result is left open the result that its quotations give. What cannot be
// computed, as where a terminal wrapped the number, is taken out.
func computeRatios(r *incident.Report) {
	eachEvidence(r, func(e *incident.Evidence) {
		if e.Kind == incident.KindDerived && e.Formula == "ratio" && e.Result == "" {
			e.Result = ratioOf(e.Inputs)
		}
	})
	pruneValue(reflect.ValueOf(r).Elem(), func(e incident.Evidence) bool {
		return e.Kind == incident.KindDerived && e.Formula == "ratio" && e.Result == ""
	})
}

func ratioOf(in []incident.Evidence) string {
	var v []*big.Rat
	for _, e := range in {
		if e.Predicate == nil {
			return ""
		}
		for _, f := range e.Predicate.Fields {
			if x, ok := new(big.Rat).SetString(f.Value); ok && x.Sign() > 0 {
				v = append(v, x)
				break
			}
		}
	}
	if len(v) != 2 {
		return ""
	}
	return new(big.Rat).Quo(v[1], v[0]).FloatString(2)
}

// placed fills in the keys of fields that state only a value, such as the step of a progress line, whose wording differs
// from framework to framework. A value that is not found as a word of its own is no condition.
func placed(p *incident.Predicate, raw []byte) *incident.Predicate {
	if p == nil || !slices.ContainsFunc(p.Fields, func(f incident.Field) bool { return f.Key == "" }) {
		return p
	}
	out := &incident.Predicate{Literals: p.Literals, Not: p.Not}
	for _, f := range p.Fields {
		if f.Key == "" {
			var ok bool
			if f, ok = place(raw, f.Value); !ok {
				continue
			}
		}
		out.Fields = append(out.Fields, f)
	}
	if len(out.Literals)+len(out.Fields) == 0 {
		return nil
	}
	return out
}

// stepWords stand before a step's number; a bar has only "| 120/5000 [" before it.
var stepWords = [][]byte{[]byte("iteration"), []byte("step"), []byte("Step"), []byte("iter"), []byte("Iter"), []byte("num_updates"), []byte("| ")}

// place finds a number that one of the step words precedes, as the token of a key that occurs nowhere before.
func place(raw []byte, value string) (incident.Field, bool) {
	const window = 24
	seg := raw
	if i := bytes.LastIndexByte(seg, '\r'); i >= 0 {
		seg = seg[i+1:]
	}
	if value == "" || bytes.IndexByte(seg, 0x1b) >= 0 {
		return incident.Field{}, false // keys are looked for without escape sequences
	}
	part := func(c byte) bool {
		return ascii.Alnum(c) || c == '_' || c == '-' || c == '.' || c == '/'
	}
	for at := 0; ; {
		i := bytes.Index(seg[at:], []byte(value))
		if i < 0 {
			return incident.Field{}, false
		}
		i += at
		at = i + 1
		end := i + len(value)
		if i == 0 || part(seg[i-1]) || end < len(seg) && seg[end] != '/' && (part(seg[end]) && seg[end] != '.' || seg[end] == ':') {
			continue
		}
		before := seg[max(0, i-window):i]
		if !slices.ContainsFunc(stepWords, func(w []byte) bool { return bytes.Contains(before, w) }) {
			continue
		}
		token := end
		for token < len(seg) && (part(seg[token]) || seg[token] == ':') {
			token++
		}
		for n := 1; n <= len(before); n++ {
			if key := before[len(before)-n:]; bytes.Index(seg, key)+n == i && utf8.Valid(key) {
				return incident.Field{Key: string(key), Value: strings.TrimRight(string(seg[i:token]), ".:")}, true
			}
		}
	}
}

// holding is the part of a predicate that the first line of a wrapped record can be held to.
func holding(p *incident.Predicate, raw []byte) *incident.Predicate {
	out := &incident.Predicate{}
	rest := raw
	for _, l := range p.Literals {
		if i := bytes.Index(rest, []byte(l)); i >= 0 {
			out.Literals = append(out.Literals, l)
			rest = rest[i+len(l):]
		}
	}
	for _, f := range p.Fields {
		if bytes.Contains(raw, []byte(f.Key+f.Value)) && !bytes.HasSuffix(raw, []byte(f.Key+f.Value)) {
			out.Fields = append(out.Fields, f)
		}
	}
	if len(out.Literals) == 0 && len(out.Fields) == 0 {
		return nil
	}
	return out
}

// without removes the observations that stand where a quotation was rejected.
func without(obs *worker.Observations, bad map[position]bool) *worker.Observations {
	return obs.Filter(func(at worker.At) bool { return !bad[position{at.File, at.Off}] })
}

// prune takes rejected evidence out of a report.
func prune(r *incident.Report, failures []verify.Failure) {
	bad := map[string]bool{}
	for _, f := range failures {
		bad[fingerprint(f.Evidence)] = true
	}
	pruneValue(reflect.ValueOf(r).Elem(), func(e incident.Evidence) bool { return bad[fingerprint(e)] })
}

// pruneUncountable takes out the sets, counts and absences over such files. The quotations they sum up stay.
func pruneUncountable(r *incident.Report, files map[string]bool) {
	pruneValue(reflect.ValueOf(r).Elem(), func(e incident.Evidence) bool {
		switch e.Kind {
		case incident.KindSet, incident.KindCount, incident.KindAbsence:
			for _, f := range e.Files {
				if files[f] {
					return true
				}
			}
		case incident.KindDerived:
			return unread(&e)
		}
		return false
	})
}

// unread says that a number is derived from a quotation that holds it no more: it stands in the part of a wrapped record
// that cannot be quoted, or its place in the line was not found.
func unread(e *incident.Evidence) bool {
	if e.Kind == incident.KindDerived {
		return e.Formula != "time-minus-ms" && slices.ContainsFunc(e.Inputs, func(in incident.Evidence) bool { return unread(&in) })
	}
	return e.Kind == incident.KindQuote && (e.Predicate == nil || len(e.Predicate.Fields) == 0)
}

// backing is how much evidence of a statement there is, and how much of it is derived.
type backing struct{ all, derived int }

func backingOf(list []incident.Evidence) backing {
	b := backing{all: len(list)}
	for i := range list {
		if list[i].Kind == incident.KindDerived {
			b.derived++
		}
	}
	return b
}

// less says that a statement lost all that it rested on, or a part of a calculation.
func (b backing) less(before backing) bool {
	return b.derived < before.derived || b.all == 0 && before.all > 0
}

// backed notes what the links of the chain and the comparisons of counters rest on.
func backed(r *incident.Report) (links, gaps []backing) {
	for _, l := range r.Chain {
		links = append(links, backingOf(l.Evidence))
	}
	for i := range r.Groups {
		b := backing{}
		if g := r.Groups[i].Gap; g != nil {
			b = backingOf(g.Evidence)
		}
		gaps = append(gaps, b)
	}
	return links, gaps
}

// dropBare takes out what no longer rests on what it did: consequences in the chain, and comparisons of counters.
func dropBare(r *incident.Report, links, gaps []backing) {
	kept := []incident.Link{}
	for i, l := range r.Chain {
		if l.Role != incident.Consequence || !backingOf(l.Evidence).less(links[i]) {
			kept = append(kept, l)
		}
	}
	r.Chain = kept
	for i := range r.Groups {
		if g := &r.Groups[i]; g.Gap != nil && backingOf(g.Gap.Evidence).less(gaps[i]) {
			g.Gap = nil
		}
	}
}

func fingerprint(e incident.Evidence) string {
	return fmt.Sprintf("%+v|%+v|%+v", e, e.Predicate, e.Capture)
}

func pruneValue(v reflect.Value, bad func(incident.Evidence) bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return
		}
		if v.Type().Elem() == evidenceType {
			if bad(v.Elem().Interface().(incident.Evidence)) && v.CanSet() {
				v.SetZero()
			}
			return
		}
		pruneValue(v.Elem(), bad)
	case reflect.Struct:
		for _, field := range v.Fields() {
			pruneValue(field, bad)
		}
	case reflect.Slice:
		if v.Type().Elem() == evidenceType {
			kept := reflect.MakeSlice(v.Type(), 0, v.Len())
			for i := range v.Len() {
				if !bad(v.Index(i).Interface().(incident.Evidence)) {
					kept = reflect.Append(kept, v.Index(i))
				}
			}
			v.Set(kept)
			return
		}
		if k := v.Type().Elem().Kind(); k == reflect.Struct || k == reflect.Pointer {
			for i := range v.Len() {
				pruneValue(v.Index(i), bad)
			}
		}
	}
}
