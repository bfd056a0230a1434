package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
)

var ctx = context.Background()

// fake is one file, and what goes wrong: the errors of its calls, one after the other, and how many bytes each body gives
// before it fails.
type fake struct {
	content []byte
	mark    string
	found   []File
	errs    []error
	cuts    []int
	opened  []int64
	closed  int
	hang    bool
}

func (f *fake) next() error {
	if len(f.errs) == 0 {
		return nil
	}
	err := f.errs[0]
	f.errs = f.errs[1:]
	return err
}

func (f *fake) file() File { return File{Name: "a", Size: int64(len(f.content)), Mark: f.mark} }

func (f *fake) Glob(context.Context, string) ([]File, error) { return f.found, f.next() }

func (f *fake) Stat(ctx context.Context, _ string) (File, error) {
	if f.hang {
		<-ctx.Done()
		return File{}, context.Cause(ctx)
	}
	return f.file(), f.next()
}

func (f *fake) Open(ctx context.Context, _ string, offset int64) (File, io.ReadCloser, error) {
	f.opened = append(f.opened, offset)
	if err := f.next(); err != nil {
		return File{}, nil, err
	}
	b := &fakeBody{fake: f, ctx: ctx, rest: bytes.NewReader(f.content[offset:]), left: -1}
	if len(f.cuts) > 0 {
		b.left, f.cuts = f.cuts[0], f.cuts[1:]
	}
	return f.file(), b, nil
}

type fakeBody struct {
	*fake
	ctx  context.Context
	rest *bytes.Reader
	left int
}

func (b *fakeBody) Read(p []byte) (int, error) {
	if b.hang {
		<-b.ctx.Done()
		return 0, context.Cause(b.ctx)
	}
	if b.left == 0 {
		return 0, lost
	}
	p = p[:min(len(p), 100)]
	if b.left > 0 {
		p = p[:min(len(p), b.left)]
	}
	n, err := b.rest.Read(p)
	b.left -= n
	return n, err
}

func (b *fakeBody) Close() error {
	b.closed++
	return nil
}

var (
	lost   = &Error{Kind: Lost, Place: "there"}
	denied = &Error{Kind: Denied, Place: "there", Name: "a"}
)

// retry is one whose pauses are noted.
func retry(f *fake) (*Retry, *[]time.Duration) {
	var pauses []time.Duration
	return &Retry{Of: f, Attempts: 4, Chance: func() float64 { return 0.5 }, Sleep: func(_ context.Context, d time.Duration) error {
		pauses = append(pauses, d)
		return nil
	}}, &pauses
}

func TestWhatMayPassIsTriedAgain(t *testing.T) {
	f := &fake{errs: []error{lost, lost, nil}}
	r, pauses := retry(f)
	if _, err := r.Stat(ctx, "a"); err != nil {
		t.Error(err)
	}
	if want := []time.Duration{750 * time.Millisecond, 1500 * time.Millisecond}; !slices.Equal(*pauses, want) {
		t.Errorf("pauses %v", *pauses)
	}
	f.errs = []error{errors.Join(denied, lost), nil}
	if _, err := r.Glob(ctx, "*"); err != nil {
		t.Error(err)
	}
	f.errs = slices.Repeat([]error{lost}, 10)
	if _, err := r.Stat(ctx, "a"); !errors.Is(err, lost) || len(f.errs) != 6 {
		t.Errorf("%v, %d left", err, len(f.errs))
	}
}

func TestWhatCannotPassIsNotTriedAgain(t *testing.T) {
	for _, err := range []error{denied, context.Canceled, &Error{Kind: HostKey}, &Error{Kind: Changed}} {
		f := &fake{errs: []error{err, nil}}
		r, pauses := retry(f)
		if _, _, got := r.Open(ctx, "a", 0); !errors.Is(got, err) || len(*pauses) > 0 {
			t.Errorf("%v after %v", got, *pauses)
		}
	}
}

func TestPausesGrowUpToABound(t *testing.T) {
	r, pauses := retry(&fake{errs: slices.Repeat([]error{lost}, 20)})
	r.Attempts, r.Chance = 9, func() float64 { return 0 }
	_, _ = r.Stat(ctx, "a")
	if len(*pauses) != 8 || (*pauses)[0] != time.Second || (*pauses)[4] != 16*time.Second || (*pauses)[7] != 30*time.Second {
		t.Errorf("%v", *pauses)
	}
}

func TestABodyThatBreaksOffIsReadOn(t *testing.T) {
	content := bytes.Repeat([]byte("0123456789abcdef\n"), 1000)
	f := &fake{content: content, mark: "1", cuts: []int{0, 7000, 4096, 5000, 4097}}
	r, _ := retry(f)
	got, body, err := r.Open(ctx, "a", 3)
	if err != nil || got.Size != int64(len(content)) {
		t.Fatalf("%+v, %v", got, err)
	}
	b, err := io.ReadAll(body)
	if err != nil || !bytes.Equal(b, content[3:]) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if want := []int64{3, 3, 7003 - 4096, 7003 - 4096, 7003 + 904 - 4096, 7003 + 904 + 1 - 4096}; !slices.Equal(f.opened, want) {
		t.Errorf("opened at %v, want %v", f.opened, want)
	}
	_ = body.Close()
	if f.closed != len(f.opened) {
		t.Errorf("%d of %d bodies are closed", f.closed, len(f.opened))
	}
}

func TestABodyIsNotReadOnInAnotherFile(t *testing.T) {
	for name, change := range map[string]func(*fake){
		"another mark":  func(f *fake) { f.mark = "2" },
		"shorter":       func(f *fake) { f.content = f.content[:9000] },
		"other content": func(f *fake) { f.content = bytes.Repeat([]byte("y"), 10_000) },
	} {
		f := &fake{content: bytes.Repeat([]byte("x"), 10_000), mark: "1", cuts: []int{5000}}
		r, _ := retry(f)
		_, body, err := r.Open(ctx, "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(body, make([]byte, 5000)); err != nil {
			t.Fatal(err)
		}
		change(f)
		if b, err := io.ReadAll(body); KindOf(err) != Changed || len(b) > 0 {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
}

func TestABodyThatGivesNothingAnyMoreIsGivenUp(t *testing.T) {
	f := &fake{content: make([]byte, 10_000), cuts: []int{5000, 4096, 4096, 4096, 4096, 4096}}
	r, pauses := retry(f)
	_, body, err := r.Open(ctx, "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(body); !errors.Is(err, lost) || len(b) != 5000 || len(*pauses) != 3 {
		t.Errorf("%d bytes, %v, %v", len(b), err, *pauses)
	}
}

func TestBytesPerSecond(t *testing.T) {
	now := time.Unix(0, 0)
	r := &Rate{Of: &fake{content: make([]byte, 1000)}, BytesPerSecond: 100, Now: func() time.Time { return now }, Sleep: func(_ context.Context, d time.Duration) error {
		now = now.Add(d)
		return nil
	}}
	for range 2 {
		_, body, err := r.Open(ctx, "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, body); n != 1000 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if took := now.Sub(time.Unix(0, 0)); took != 20*time.Second-allowance {
		t.Errorf("took %v", took)
	}
}

func TestRequestsAtATime(t *testing.T) {
	r := &Rate{Of: &fake{content: []byte("x")}, Requests: 2}
	var bodies []io.Closer
	for range 2 {
		_, body, err := r.Open(ctx, "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		bodies = append(bodies, body)
	}
	why := errors.New("enough")
	stopped, stop := context.WithCancelCause(ctx)
	stop(why)
	if _, err := r.Stat(stopped, "a"); !errors.Is(err, why) {
		t.Errorf("a third: %v", err)
	}
	_, _ = bodies[0].Close(), bodies[0].Close()
	if _, err := r.Stat(ctx, "a"); err != nil {
		t.Error(err)
	}
	r.Of.(*fake).errs = []error{denied, denied}
	for range 2 {
		if _, _, err := r.Open(ctx, "a", 0); !errors.Is(err, denied) {
			t.Error(err)
		}
	}
	if _, err := r.Glob(ctx, "*"); err != nil {
		t.Error(err)
	}
}

func TestTheFilesAndBytesOfOneJob(t *testing.T) {
	f := &fake{content: make([]byte, 400), found: []File{{Name: "a"}, {Name: "b"}, {Name: "c"}}}
	l := &Limit{Of: f, Files: 3, Bytes: 1000}
	for range 2 {
		if files, err := l.Glob(ctx, "*"); len(files) != 3 || err != nil {
			t.Errorf("%v, %v", files, err)
		}
	}
	f.found = []File{{Name: "a"}, {Name: "d"}}
	if files, err := l.Glob(ctx, "*"); len(files) != 1 || KindOf(err) != TooMuch || !strings.Contains(err.Error(), "3 files for one job") {
		t.Errorf("%v, %v", files, err)
	}
	if _, _, err := l.Open(ctx, "d", 0); KindOf(err) != TooMuch {
		t.Errorf("a file that was not admitted: %v", err)
	}
	for range 2 {
		_, body, err := l.Open(ctx, "a", 0)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, body)
		_ = body.Close()
	}
	if _, _, err := l.Open(ctx, "a", 0); KindOf(err) != TooMuch || !strings.Contains(err.Error(), "800 of the 1000 bytes per job are used") {
		t.Errorf("%v", err)
	}
	_, unread, err := l.Open(ctx, "a", 200)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = unread.Close(), unread.Close()
	if _, _, err = l.Open(ctx, "a", 200); err != nil {
		t.Errorf("what was not read is counted: %v", err)
	}
}

func TestWhatTakesTooLongIsGivenUp(t *testing.T) {
	f := &fake{content: []byte("x")}
	var watched []time.Duration
	timeout := &Timeout{Of: f, Place: "there", Request: time.Minute, Idle: time.Second}
	timeout.after = func(d time.Duration, do func()) func() {
		watched = append(watched, d)
		if f.hang {
			do()
		}
		return func() {}
	}
	_, body, err := timeout.Open(ctx, "a", 0)
	if err != nil {
		t.Fatal(err)
	}
	f.hang = true
	if _, err := io.ReadAll(body); KindOf(err) != TimedOut || !strings.Contains(err.Error(), "there didn't respond in time (no data for 1s)") {
		t.Errorf("%v", err)
	}
	if _, err := timeout.Stat(ctx, "a"); KindOf(err) != TimedOut || !strings.Contains(err.Error(), "no response within 1m0s") {
		t.Errorf("%v", err)
	}
	if !slices.Equal(watched, []time.Duration{time.Minute, time.Second, time.Minute}) {
		t.Errorf("%v", watched)
	}
	f.hang = false
	real := &Timeout{Of: f, Request: time.Hour, Idle: time.Hour}
	if _, body, err = real.Open(ctx, "a", 0); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(body); string(b) != "x" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
}
