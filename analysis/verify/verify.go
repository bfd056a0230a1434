// Package verify re-opens the raw files of an incident and evaluates every piece of evidence of a report on their bytes.
// It shares no code with the readers that found the evidence: a mistake of theirs must not be able to confirm itself.
// What each kind of evidence claims is written down in package incident; this package is that text, executed.
//
// Every file is read once, as a stream in bounded memory, whatever its size and the length of its lines.
package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"sync"

	"faultline/incident"
)

// Files maps the name of a source (incident.Source.Name) to the path of its bytes. Evidence about any other file fails.
type Files map[string]string

// Verifier reads files through Open, which may refuse a path; the zero value reads whatever regular file this process may.
type Verifier struct {
	Open func(path string) (*os.File, error)
}

// open opens a regular file. A pipe in a directory of logs must not make us wait for its writer.
func (v Verifier) open(path string) (*os.File, error) {
	open := v.Open
	if open == nil {
		if info, err := os.Stat(path); err != nil {
			return nil, err
		} else if !info.Mode().IsRegular() {
			return nil, errIrregular
		}
		open = os.Open
	}
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close()
		return nil, cmp.Or(err, errIrregular)
	}
	return f, nil
}

var errIrregular = errors.New("not a regular file")

// Failure is one piece of evidence that does not hold.
type Failure struct {
	Path     string // its place in the report, in the names of the JSON: "chain[1].evidence[0]"
	Evidence incident.Evidence
	Reason   string
}

// Evidence evaluates one piece of evidence. A nil error means that it holds.
func Evidence(files Files, ev incident.Evidence) error {
	b := newBook(files, Verifier{})
	c := b.enter(ev, 0)
	if err := b.read(context.Background()); err != nil {
		return err
	}
	return c.judge()
}

// Report evaluates every piece of evidence of the report, wherever it stands. The counts are of distinct claims (the same
// quotation at three places is one), inputs of derived evidence belonging to it; inventories count as sets. The failures
// are in the report's order, one for each place. Withdrawing what rests on them is the caller's business. The error is
// the context's.
func Report(ctx context.Context, files Files, r *incident.Report) (incident.Verification, []Failure, error) {
	return Verifier{}.ReportAndHash(ctx, files, r, nil)
}

// ReportAndHash is Report that also hashes what it reads: the names in sums that have no value get the SHA-256 of the
// file's stored bytes, where a quotation or a record is of that file and it can be read. So what is hashed is what was verified.
func (v Verifier) ReportAndHash(ctx context.Context, files Files, r *incident.Report, sums map[string]string) (incident.Verification, []Failure, error) {
	out := incident.Verification{Withdrawn: []string{}}
	places := walk(reflect.ValueOf(r), "", nil)
	b := newBook(files, v)
	claims := make([]*claim, len(places))
	for i, p := range places {
		claims[i] = b.enter(p.evidence, 0)
	}
	for name, p := range b.passes {
		sum, asked := sums[name]
		p.hash = asked && sum == "" && len(p.quotes) > 0
	}
	for name, d := range b.docs {
		sum, asked := sums[name]
		d.hash = asked && sum == "" && (b.passes[name] == nil || !b.passes[name].hash)
	}
	if err := b.read(ctx); err != nil {
		return out, nil, fmt.Errorf("verifying the report: %w", err)
	}
	for name, p := range b.passes {
		if p.sum != "" {
			sums[name] = p.sum
		}
	}
	for name, d := range b.docs {
		if d.sum != "" {
			sums[name] = d.sum
		}
	}
	var failures []Failure
	counted := map[*claim]bool{}
	for i, c := range claims {
		err := c.judge()
		if err != nil {
			failures = append(failures, Failure{Path: places[i].path, Evidence: places[i].evidence, Reason: err.Error()})
		}
		if counted[c] {
			continue
		}
		counted[c] = true
		if ratio := ratioOf(&out, c.ev.Kind); ratio != nil {
			ratio.Checked++
			if err == nil {
				ratio.Held++
			}
		}
	}
	return out, failures, nil
}

// Unproven lists the statements of the report that must carry evidence and have none: "chain[2]", "revisions[0]". A
// checkpoint to resume from counts among them.
func Unproven(r *incident.Report) []string {
	out := bare(reflect.ValueOf(r), "", nil)
	if s := r.Action.ResumeFrom; s != nil && len(s.Evidence) == 0 {
		out = append(out, "action.resume_from")
	}
	return out
}

func ratioOf(v *incident.Verification, kind string) *incident.Ratio {
	switch kind {
	case incident.KindQuote:
		return &v.Quotes
	case incident.KindRecord:
		return &v.Records
	case incident.KindCount:
		return &v.Counts
	case incident.KindAbsence:
		return &v.Absences
	case incident.KindSet, incident.KindInventory:
		return &v.Sets
	case incident.KindDerived:
		return &v.Derived
	}
	return nil
}

// book collects all claims before any file is opened, so that each file is opened once.
type book struct {
	files  Files
	from   Verifier
	claims map[string]*claim
	passes map[string]*pass
	order  []*pass
	docs   map[string]*document
}

func newBook(files Files, from Verifier) *book {
	return &book{files: files, from: from, claims: map[string]*claim{}, passes: map[string]*pass{}, docs: map[string]*document{}}
}

var errOutside = errors.New("is not one of the files of this incident")

func (b *book) pass(name string) (*pass, error) {
	if p := b.passes[name]; p != nil {
		return p, nil
	}
	path, ok := b.files[name]
	if !ok {
		return nil, fmt.Errorf("%q %w", name, errOutside)
	}
	p := &pass{path: path, from: b.from}
	b.passes[name] = p
	b.order = append(b.order, p)
	return p, nil
}

// read makes all passes, and loads all documents.
func (b *book) read(ctx context.Context) error {
	jobs := make([]func(*room) error, 0, len(b.order)+len(b.docs))
	for _, p := range b.longestFirst() {
		jobs = append(jobs, func(rm *room) error { return p.run(ctx, rm) })
	}
	for _, d := range b.docs {
		jobs = append(jobs, func(rm *room) error { return d.run(ctx, rm) })
	}
	todo := make(chan func(*room) error)
	errs := make(chan error, len(jobs))
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		wg.Go(func() {
			rm := newRoom()
			for do := range todo {
				if err := do(rm); err != nil {
					errs <- err
				}
			}
		})
	}
	for _, do := range jobs {
		todo <- do
	}
	close(todo)
	wg.Wait()
	close(errs)
	return <-errs // nil from an empty closed channel
}

// longestFirst are the passes in an order in which the last ones are short, so that no processor waits long for another.
func (b *book) longestFirst() []*pass {
	if runtime.GOMAXPROCS(0) == 1 {
		return b.order
	}
	length := make(map[*pass]int64, len(b.order))
	for _, p := range b.order {
		if info, err := os.Stat(p.path); err == nil {
			length[p] = info.Size()
		}
		if p.hash {
			length[p] *= 2 // hashing takes as long as all else
		}
	}
	out := slices.Clone(b.order)
	slices.SortStableFunc(out, func(x, y *pass) int { return cmp.Compare(length[y], length[x]) })
	return out
}
