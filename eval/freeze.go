package eval

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"faultline/simulate"
)

// Subjects are the cases that a freeze is made of.
type Subjects struct {
	// Dirs are folders of cases, or of captures that no case.json explains. Each is a batch that bears the folder's name.
	Dirs []string
	// Simulated are incidents, and Played what their batch is called.
	Simulated []simulate.Spec
	Played    string
}

// frozen is how the file of a batch ends. A person can look into it with tar.
const frozen = ".tar.gz"

// Count is what was played.
type Count struct {
	Cases int
	// Denials are the contradictions inside one report, as "BATCH/NAME: parts: what": there should be none, whatever was frozen.
	Denials []string
}

// Freeze diagnoses the subjects and writes each batch with the reports to dir/BATCH.tar.gz: the same bytes for the same engine. The cases are kept as
// well, so that Against needs nothing but dir and asks about the same cases for ever.
func Freeze(ctx context.Context, dir string, of Subjects, opts Options) (Count, error) {
	t := &tally{report: opts.Progress}
	batches, err := of.batches()
	if err != nil {
		return t.Count, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return t.Count, fmt.Errorf("making the folder of the freeze: %w", err)
	}
	for _, b := range batches {
		t.total += b.size
	}
	for _, b := range batches {
		if err := replace(filepath.Join(dir, b.name+frozen), func(w io.Writer) error { return b.freeze(ctx, w, opts, t) }); err != nil {
			return t.Count, fmt.Errorf("freezing %s: %w", b.name, err)
		}
	}
	return t.Count, nil
}

func (s Subjects) batches() ([]batch, error) {
	var out []batch
	for _, dir := range s.Dirs {
		b, err := folders(dir)
		if err != nil {
			return nil, err
		}
		out = append(out, b)
	}
	if len(s.Simulated) > 0 {
		out = append(out, played(s.Played, s.Simulated))
	}
	for i, b := range out {
		if slices.ContainsFunc(out[:i], func(o batch) bool { return o.name == b.name }) {
			return nil, fmt.Errorf("two batches are called %s: they are told apart by the names of their folders", b.name)
		}
	}
	return out, nil
}

func (b *batch) freeze(ctx context.Context, w io.Writer, opts Options, t *tally) error {
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return err
	}
	packed := tar.NewWriter(z)
	if err := put(packed, sizeMember, fmt.Appendln(nil, b.size)); err != nil {
		return err
	}
	i := 0
	next := func() (int, error) {
		if i == b.size {
			return 0, io.EOF
		}
		i++
		return i - 1, nil
	}
	diagnosed := func(i int) (p parcel, err error) {
		if p, err = b.read(i); err == nil {
			p.report, err = p.diagnosed(ctx, opts.Diagnose)
		}
		return p, err
	}
	err = inOrder(ctx, opts.Workers, next, diagnosed, func(p parcel) error {
		if err := t.one(b.name+"/"+p.name, p.report); err != nil {
			return err
		}
		return p.put(packed)
	})
	return errors.Join(err, packed.Close(), z.Close())
}

// tally counts the cases that are done.
type tally struct {
	Count
	total  int
	report func(done, total int)
}

func (t *tally) one(name string, of []byte) error {
	var o struct {
		Denied []string `json:"contradictions"`
	}
	if err := json.Unmarshal(of, &o); err != nil {
		return fmt.Errorf("the report of %s: %w", name, err)
	}
	for _, d := range o.Denied {
		t.Denials = append(t.Denials, name+": "+d)
	}
	if t.Cases++; t.report != nil {
		t.report(t.Cases, t.total)
	}
	return nil
}

// replace writes a file beside its place and moves it there, so that an interrupted run leaves the old one.
func replace(name string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".freeze-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := errors.Join(write(f), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}

// Comparison is how Against compares.
type Comparison struct {
	Options
	// Sample compares only some of the cases of a large batch, always the same.
	Sample bool
	// Ignore names fields that do not count, by the beginning of their paths: "terminal", "coverage.lines".
	Ignore []string
}

// sampled is how many cases of a batch a sample takes, about.
const sampled = 200

// Against diagnoses the cases that were frozen in dir (or in one batch's file) once more and calls changed for each field that is not what it
// was, in the order of the cases.
func Against(ctx context.Context, dir string, c Comparison, changed func(Change) error) (Count, error) {
	files, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+frozen))
	if st, statErr := os.Stat(dir); statErr == nil && st.Mode().IsRegular() {
		files = []string{dir}
	}
	if err == nil && len(files) == 0 {
		err = errors.New("nothing was frozen there")
	}
	if err != nil {
		return Count{}, fmt.Errorf("comparing with %s: %w", dir, err)
	}
	t := &tally{report: c.Progress}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), frozen)
		if err := c.against(ctx, file, name, t, changed); err != nil {
			return t.Count, fmt.Errorf("comparing with %s: %w", name, err)
		}
	}
	return t.Count, nil
}

func (c *Comparison) against(ctx context.Context, file, name string, t *tally, changed func(Change) error) error {
	f, err := os.Open(file)
	if err != nil {
		return bare(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return err
	}
	u, err := thaw(z)
	if err != nil {
		return err
	}
	stride := 1
	if c.Sample {
		stride = max(1, u.size/sampled)
	}
	t.total += (u.size + stride - 1) / stride
	next := func() (parcel, error) { return u.parcel(func(i int) bool { return i%stride == 0 }) }
	type comparison struct {
		name    string
		now     []byte
		changes []Change
	}
	compared := func(p parcel) (out comparison, err error) {
		out.name = name + "/" + p.name
		out.now, err = p.diagnosed(ctx, c.Diagnose)
		if err == nil && !bytes.Equal(out.now, p.report) {
			out.changes, err = c.changes(out.name, p.report, out.now)
		}
		return out, err
	}
	return inOrder(ctx, c.Workers, next, compared, func(one comparison) error {
		if err := t.one(one.name, one.now); err != nil {
			return err
		}
		for _, ch := range one.changes {
			if err := changed(ch); err != nil {
				return err
			}
		}
		return nil
	})
}

// inOrder reads with next until io.EOF, works on several at a time and hands the results on in the order of what was read. Only a few are in
// memory at a time.
func inOrder[In, Out any](ctx context.Context, workers int, next func() (In, error), work func(In) (Out, error), emit func(Out) error) error {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	type result struct {
		out Out
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ahead := make(chan chan result, 2*workers) // what is read and not handed on
	busy := make(chan struct{}, workers)
	var readErr error
	go func() {
		defer close(ahead)
		for ctx.Err() == nil {
			in, err := next()
			if err != nil {
				if !errors.Is(err, io.EOF) {
					readErr = err
				}
				return
			}
			slot := make(chan result, 1)
			ahead <- slot
			busy <- struct{}{}
			go func() {
				out, err := work(in)
				slot <- result{out, err}
				<-busy
			}()
		}
	}()
	var failed error
	for slot := range ahead { // to the end even after a failure: nobody is left behind
		r := <-slot
		if failed != nil {
			continue
		}
		if failed = r.err; failed == nil {
			failed = emit(r.out)
		}
		if failed != nil {
			cancel()
		}
	}
	if failed == nil {
		failed = readErr
	}
	if failed == nil {
		failed = context.Cause(ctx)
	}
	return failed
}
