package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Limit bounds what is taken for one job. It is made for one, and forgotten with it.
type Limit struct {
	Of    Source
	Files int   // found by all patterns together, or opened; 0 = no bound
	Bytes int64 // read from all bodies together; 0 = no bound

	mu    sync.Mutex
	names map[string]bool
	bytes int64
}

// Glob implements Source. Beyond the bound the first files are given, beside an error.
func (l *Limit) Glob(ctx context.Context, pattern string) ([]File, error) {
	files, err := l.Of.Glob(ctx, pattern)
	if l.Files <= 0 {
		return files, err
	}
	for i, f := range files {
		if !l.admit(f.Name) {
			return files[:i], errors.Join(err, &Error{Kind: TooMuch, Name: pattern, More: fmt.Sprintf("%d files for one job", l.Files)})
		}
	}
	return files, err
}

// admit counts a file.
func (l *Limit) admit(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.Files <= 0 || l.names[name] {
		return true
	}
	if len(l.names) >= l.Files {
		return false
	}
	if l.names == nil {
		l.names = map[string]bool{}
	}
	l.names[name] = true
	return true
}

// Stat implements Source.
func (l *Limit) Stat(ctx context.Context, name string) (File, error) { return l.Of.Stat(ctx, name) }

// Open implements Source.
func (l *Limit) Open(ctx context.Context, name string, offset int64) (File, io.ReadCloser, error) {
	if !l.admit(name) {
		return File{}, nil, &Error{Kind: TooMuch, Name: name, More: fmt.Sprintf("%d files for one job", l.Files)}
	}
	f, body, err := l.Of.Open(ctx, name, offset)
	if err != nil || l.Bytes <= 0 {
		return f, body, err
	}
	b := &counted{limit: l, body: body, left: f.Size - offset}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.bytes+b.left > l.Bytes {
		_ = body.Close()
		return f, nil, &Error{Kind: TooMuch, Name: name, More: fmt.Sprintf("it has %d bytes, and %d of the %d bytes per job are used", f.Size, l.bytes, l.Bytes)}
	}
	l.bytes += b.left
	return f, b, nil
}

// counted gives back what is not read.
type counted struct {
	limit *Limit
	body  io.ReadCloser
	left  int64
	once  sync.Once
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.body.Read(p)
	c.left -= int64(n)
	return n, err
}

func (c *counted) Close() error {
	c.once.Do(func() {
		c.limit.mu.Lock()
		defer c.limit.mu.Unlock()
		c.limit.bytes -= c.left
	})
	return c.body.Close()
}

// Timeout gives up on what takes too long.
type Timeout struct {
	Of      Source
	Place   string        // what the error names
	Request time.Duration // for Glob, Stat and Open; 0 = no bound
	Idle    time.Duration // for a body to give something; 0 = no bound

	// after calls do when a time has passed, unless stop was called; nil = time.AfterFunc.
	after func(d time.Duration, do func()) (stop func())
}

// watch lets the context end when d has passed before stop is called.
func (t *Timeout) watch(d time.Duration, end context.CancelCauseFunc, name, what string) (stop func()) {
	if d <= 0 {
		return func() {}
	}
	do := func() { end(&Error{Kind: TimedOut, Place: t.Place, Name: name, More: fmt.Sprintf("%s %s", what, d)}) }
	if t.after != nil {
		return t.after(d, do)
	}
	timer := time.AfterFunc(d, do)
	return func() { timer.Stop() }
}

const answered = "no response within"

// Glob implements Source.
func (t *Timeout) Glob(ctx context.Context, pattern string) ([]File, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer t.watch(t.Request, end, pattern, answered)()
	return t.Of.Glob(ctx, pattern)
}

// Stat implements Source.
func (t *Timeout) Stat(ctx context.Context, name string) (File, error) {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer t.watch(t.Request, end, name, answered)()
	return t.Of.Stat(ctx, name)
}

// Open implements Source.
func (t *Timeout) Open(ctx context.Context, name string, offset int64) (File, io.ReadCloser, error) {
	ctx, end := context.WithCancelCause(ctx)
	stop := t.watch(t.Request, end, name, answered)
	f, body, err := t.Of.Open(ctx, name, offset)
	stop()
	if err != nil {
		end(nil)
		return f, nil, err
	}
	return f, &watched{t, name, end, body}, nil
}

type watched struct {
	timeout *Timeout
	name    string
	end     context.CancelCauseFunc
	body    io.ReadCloser
}

func (w *watched) Read(p []byte) (int, error) {
	defer w.timeout.watch(w.timeout.Idle, w.end, w.name, "no data for")()
	return w.body.Read(p)
}

func (w *watched) Close() error {
	defer w.end(nil)
	return w.body.Close()
}
