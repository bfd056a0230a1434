package spool

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"faultline/fetch/source"
)

var (
	ctx   = context.Background()
	start = time.Date(2026, 5, 1, 3, 0, 0, 0, time.UTC)
)

// memory is a source whose files and faults the tests set.
type memory struct {
	mu    sync.Mutex
	files map[string]*held
	// cut lets each reading end, in words of a source, after so many bytes; -1 = never.
	cut int64
	// during is called when a body has given its first bytes.
	during func(name string)
	opened []string
}

type held struct {
	bytes   []byte
	mark    string
	whole   bool
	written time.Time
}

func newMemory() *memory { return &memory{files: map[string]*held{}, cut: -1} }

func (m *memory) put(name string, content []byte, mark string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := start
	if old := m.files[name]; old != nil {
		at = old.written.Add(time.Second)
	}
	m.files[name] = &held{bytes: slices.Clone(content), mark: mark, written: at}
}

func (m *memory) describe(name string) (source.File, []byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.files[name]
	if h == nil {
		return source.File{}, nil, &source.Error{Kind: source.NotFound, Place: "memory", Name: name}
	}
	return source.File{Name: name, Size: int64(len(h.bytes)), Written: h.written, Mark: h.mark, Whole: h.whole}, h.bytes, nil
}

func (m *memory) Glob(context.Context, string) ([]source.File, error) { return nil, nil }

func (m *memory) Stat(_ context.Context, name string) (source.File, error) {
	f, _, err := m.describe(name)
	return f, err
}

func (m *memory) Open(ctx context.Context, name string, offset int64) (source.File, io.ReadCloser, error) {
	f, content, err := m.describe(name)
	if err == nil && offset > f.Size {
		err = &source.Error{Kind: source.Changed, Name: name}
	}
	if err != nil {
		return f, nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.opened = append(m.opened, name)
	return f, &body{ctx: ctx, m: m, name: name, rest: bytes.NewReader(content[offset:]), left: m.cut}, nil
}

type body struct {
	ctx  context.Context
	m    *memory
	name string
	rest *bytes.Reader
	left int64
	read bool
}

func (b *body) Read(p []byte) (int, error) {
	if b.ctx.Err() != nil {
		return 0, context.Cause(b.ctx)
	}
	if b.read && b.m.during != nil {
		b.m.during(b.name)
	}
	if b.left == 0 {
		return 0, &source.Error{Kind: source.Lost, Place: "memory"}
	}
	p = p[:min(len(p), 10_000)]
	if b.left > 0 {
		p = p[:min(int64(len(p)), b.left)]
	}
	n, err := b.rest.Read(p)
	b.left -= int64(n)
	b.read = true
	return n, err
}

func (b *body) Close() error { return nil }

// clock is a time that stands still until somebody moves it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

func open(t *testing.T, dir string, o Options) *Spool {
	t.Helper()
	if o.Now == nil {
		o.Now = (&clock{at: start}).now
	}
	s, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// reopen is a restart.
func reopen(t *testing.T, s *Spool) *Spool {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, s.dir, s.o)
}

func place(m *memory) Place { return Place{Source: m, ID: "memory", Origin: "test"} }

func want(t *testing.T, m *memory, names ...string) []Want {
	t.Helper()
	var list []Want
	for _, n := range names {
		f, err := m.Stat(ctx, n)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, Want{File: f})
	}
	return list
}

// takeAll takes files, holds the spool to what the source has, and returns how much was fetched.
func takeAll(t *testing.T, s *Spool, m *memory, names ...string) int64 {
	t.Helper()
	got, err := s.Take(ctx, place(m), want(t, m, names...), nil)
	if err != nil || len(got.Missed) > 0 {
		t.Fatalf("%v, missed %v", err, got.Missed)
	}
	for _, src := range got.Sources {
		b, err := os.ReadFile(src.Path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(b, m.files["/"+src.Name].bytes) {
			t.Errorf("%s is not what the source has", src.Name)
		}
	}
	s.account(t)
	return got.Fetched
}

// account holds the spool's numbers to what is on its disk.
func (s *Spool) account(t *testing.T) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	kept := s.total
	again := &Spool{dir: s.dir, parts: map[string]int64{}, blobs: map[string]*blob{}}
	if err := again.measure(); err != nil {
		t.Fatal(err)
	}
	if again.total != kept {
		t.Errorf("the spool counts %d bytes and its disk holds %d", kept, again.total)
	}
}

// smallDisk is a part on a disk with so much room left, for all parts together.
type smallDisk struct {
	part
	left *int64
}

func (d smallDisk) WriteAt(b []byte, at int64) (int, error) {
	if *d.left < int64(len(b)) {
		n, _ := d.part.WriteAt(b[:*d.left], at)
		*d.left = 0
		return n, &os.PathError{Op: "write", Path: "part", Err: syscall.ENOSPC}
	}
	*d.left -= int64(len(b))
	return d.part.WriteAt(b, at)
}

func one(t *testing.T, missed []Missed) error {
	t.Helper()
	if len(missed) != 1 {
		t.Fatalf("missed %v", missed)
	}
	var e *source.Error
	if !errors.As(missed[0].Err, &e) {
		t.Fatalf("%v is no error of a source", missed[0].Err)
	}
	return missed[0].Err
}
