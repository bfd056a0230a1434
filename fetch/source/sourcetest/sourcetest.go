// Package sourcetest is what every source.Source must hold, whatever it is made of.
package sourcetest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	"faultline/fetch/source"
)

// Place is a source, empty at the start, and the hand that changes what lies there. Names are the source's.
type Place struct {
	Source source.Source
	// Root and Outside are directories (or prefixes, without the slash at their end): the one is a root of the source, the
	// other lies outside of its roots.
	Root, Outside string
	// Write makes a file, with the directories above it, or puts another in its place.
	Write func(t *testing.T, name string, content []byte)
	// Remove takes a file away.
	Remove func(t *testing.T, name string)
	// Append makes a file longer.
	Append func(t *testing.T, name string, content []byte)
	// Empty makes a file empty without replacing it; nil where files cannot change.
	Empty func(t *testing.T, name string)
	// Link makes a symbolic link; nil where there are none.
	Link func(t *testing.T, name, target string)
	// Deny takes the right to read a file or directory away; nil where the tests cannot.
	Deny func(t *testing.T, name string)
}

// Run holds a source to its contract. Each test gets a place of its own.
func Run(t *testing.T, place func(t *testing.T) Place) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, Place)
	}{
		{"patterns find files", patterns},
		{"what is not there is no error of a pattern", nothing},
		{"a name that is no name is refused", badNames},
		{"a file is described", described},
		{"reading from an offset", offsets},
		{"an empty file", empty},
		{"a file that grows", growing},
		{"a file that is replaced", replaced},
		{"a file that is emptied while it is read", emptied},
		{"a file that vanishes", vanished},
		{"a link that leads out of the roots", links},
		{"what lies beside the roots", outside},
		{"what may not be read", denied},
		{"hostile names", hostile},
		{"a context that ends", cancelled},
		{"many at the same time", together},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(t, place(t)) })
	}
}

var ctx = context.Background()

func patterns(t *testing.T, p Place) {
	for _, name := range []string{"job/error-4242-0.out", "job/error-4242-1.out", "job/error-4242-10.out", "job/slurm-4242.out",
		"job/deep/a/b.log", "job/deep/c.log", "other/error-4242-0.out", "job/[4242].out"} {
		p.Write(t, p.at(name), []byte(name))
	}
	for _, c := range []struct{ pattern, want string }{
		{"job/error-4242-0.out", "job/error-4242-0.out"},
		{"job/error-4242-?.out", "job/error-4242-0.out job/error-4242-1.out"},
		{"job/error-4242-*.out", "job/error-4242-0.out job/error-4242-1.out job/error-4242-10.out"},
		{"job/error-4242-[1-9]*.out", "job/error-4242-1.out job/error-4242-10.out"},
		{"*/error-4242-0.out", "job/error-4242-0.out other/error-4242-0.out"},
		{"*/*-4242.out", "job/slurm-4242.out"},
		{"job/*.log", ""},
		{"job/*/*.log", "job/deep/c.log"},
		{"job/deep/**", "job/deep/a/b.log job/deep/c.log"},
		{"j*/d*/**", "job/deep/a/b.log job/deep/c.log"},
		{"job", ""},
		{"job/deep", ""},
		{"job/error-4242", ""},
		{"job/" + source.Escape("[4242].out"), "job/[4242].out"},
		{"job/[4242].out", ""},
	} {
		files, err := p.Source.Glob(ctx, path.Join(source.Escape(p.Root), c.pattern))
		if err != nil {
			t.Errorf("%s: %v", c.pattern, err)
		}
		var got []string
		for _, f := range files {
			name := strings.TrimPrefix(f.Name, p.Root+"/")
			got = append(got, name)
			if f.Size != int64(len(name)) || f.Written.IsZero() {
				t.Errorf("%s: %s has %d bytes, written %v", c.pattern, name, f.Size, f.Written)
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: got %q, want %q", c.pattern, got, c.want)
		}
	}
}

func nothing(t *testing.T, p Place) {
	for _, pattern := range []string{"a", "*", "**", "no/such/directory/*", "no/such/directory/**", "*/*/*"} {
		if files, err := p.Source.Glob(ctx, path.Join(source.Escape(p.Root), pattern)); len(files) != 0 || err != nil {
			t.Errorf("%s: %v, %v", pattern, files, err)
		}
	}
}

func badNames(t *testing.T, p Place) {
	p.Write(t, p.at("a"), []byte("x"))
	for _, pattern := range []string{p.at("[a"), p.at("a\x00"), "", p.at("b/../a"), p.Root + "//a", p.at("../*")} {
		if files, err := p.Source.Glob(ctx, pattern); source.KindOf(err) != source.BadName || len(files) != 0 {
			t.Errorf("pattern %q: %v, %v", pattern, files, err)
		}
	}
	for _, name := range []string{"", p.at("a\x00"), p.at("b/../a"), p.Root + "//a", p.Root + "/./a"} {
		if _, err := p.Source.Stat(ctx, name); source.KindOf(err) != source.BadName {
			t.Errorf("name %q: %v", name, err)
		}
		if _, _, err := p.Source.Open(ctx, name, 0); source.KindOf(err) != source.BadName {
			t.Errorf("opening %q: %v", name, err)
		}
	}
}

func described(t *testing.T, p Place) {
	name := p.at("job/a.out")
	p.Write(t, name, []byte("12345"))
	f, err := p.Source.Stat(ctx, name)
	if err != nil || f.Name != name || f.Size != 5 || f.Written.IsZero() {
		t.Fatalf("%+v, %v", f, err)
	}
	files, err := p.Source.Glob(ctx, source.Escape(name))
	if err != nil || len(files) != 1 || !same(files[0], f) {
		t.Errorf("found %+v, %v; described %+v", files, err, f)
	}
	opened, _ := p.read(t, name, 0)
	if !same(opened, f) {
		t.Errorf("opened %+v; described %+v", opened, f)
	}
	if _, err := p.Source.Stat(ctx, p.at("job")); kindIsNot(err, source.NotRegular, source.NotFound) {
		t.Errorf("a directory: %v", err)
	}
	if _, _, err := p.Source.Open(ctx, p.at("job"), 0); kindIsNot(err, source.NotRegular, source.NotFound) {
		t.Errorf("a directory: %v", err)
	}
	if _, err := p.Source.Stat(ctx, p.at("job/b.out")); source.KindOf(err) != source.NotFound {
		t.Errorf("no such file: %v", err)
	}
}

func offsets(t *testing.T, p Place) {
	want := Bytes(3<<20 + 17)
	name := p.at("large")
	p.Write(t, name, want)
	for _, offset := range []int64{0, 1, 4096, 32767, 32768, 1 << 20, int64(len(want)) - 1, int64(len(want))} {
		f, got := p.read(t, name, offset)
		if f.Size != int64(len(want)) || !bytes.Equal(got, want[offset:]) {
			t.Errorf("from %d: %d bytes of a file of %d", offset, len(got), f.Size)
		}
	}
	for _, offset := range []int64{-1, int64(len(want)) + 1, 1 << 40} {
		if _, _, err := p.Source.Open(ctx, name, offset); source.KindOf(err) != source.Changed {
			t.Errorf("from %d: %v", offset, err)
		}
	}
}

func empty(t *testing.T, p Place) {
	p.Write(t, p.at("empty"), nil)
	if f, got := p.read(t, p.at("empty"), 0); f.Size != 0 || len(got) != 0 {
		t.Errorf("%+v, %q", f, got)
	}
	if _, _, err := p.Source.Open(ctx, p.at("empty"), 1); source.KindOf(err) != source.Changed {
		t.Errorf("from 1: %v", err)
	}
}

func growing(t *testing.T, p Place) {
	name := p.at("a")
	p.Write(t, name, []byte("one\n"))
	before, body, err := p.Source.Open(ctx, name, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	p.Append(t, name, []byte("two\n"))
	if got, err := io.ReadAll(body); err != nil || string(got) != "one\n" {
		t.Errorf("what was opened before it grew: %q, %v", got, err)
	}
	after, got := p.read(t, name, before.Size)
	if after.Size != 8 || string(got) != "two\n" {
		t.Errorf("%+v, %q", after, got)
	}
	if after.Whole == (after.Mark == before.Mark) {
		t.Errorf("the mark was %q and is %q; it marks the content: %v", before.Mark, after.Mark, after.Whole)
	}
}

func replaced(t *testing.T, p Place) {
	name := p.at("a")
	p.Write(t, name, []byte("one"))
	before, _ := p.read(t, name, 0)
	p.Write(t, name, []byte("two"))
	after, got := p.read(t, name, 0)
	if string(got) != "two" || before.Mark != "" && before.Mark == after.Mark {
		t.Errorf("%q, marks %q and %q", got, before.Mark, after.Mark)
	}
}

func emptied(t *testing.T, p Place) {
	if p.Empty == nil {
		t.Skip("files do not change there")
	}
	name := p.at("large")
	p.Write(t, name, Bytes(16<<20))
	_, body, err := p.Source.Open(ctx, name, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	if _, err := io.ReadFull(body, make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	p.Empty(t, name)
	if n, err := io.Copy(io.Discard, body); source.KindOf(err) != source.Changed {
		t.Errorf("%d bytes more, %v", n, err)
	}
}

func vanished(t *testing.T, p Place) {
	name := p.at("a")
	p.Write(t, name, []byte("x"))
	if files, err := p.Source.Glob(ctx, source.Escape(name)); len(files) != 1 || err != nil {
		t.Fatalf("%v, %v", files, err)
	}
	p.Remove(t, name)
	if _, err := p.Source.Stat(ctx, name); source.KindOf(err) != source.NotFound {
		t.Errorf("described: %v", err)
	}
	if _, _, err := p.Source.Open(ctx, name, 0); source.KindOf(err) != source.NotFound {
		t.Errorf("opened: %v", err)
	}
}

func (p Place) at(name string) string { return p.Root + "/" + name }

// read reads a file from an offset to its end.
func (p Place) read(t *testing.T, name string, offset int64) (source.File, []byte) {
	t.Helper()
	f, body, err := p.Source.Open(ctx, name, offset)
	if err != nil {
		t.Fatal(err)
	}
	defer body.Close()
	got, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return f, got
}

func same(a, b source.File) bool {
	return a.Name == b.Name && a.Size == b.Size && a.Mark == b.Mark && a.Written.Equal(b.Written)
}

func kindIsNot(err error, kinds ...source.Kind) bool {
	return !slices.Contains(kinds, source.KindOf(err))
}

// Bytes are n bytes of which no stretch is like another.
func Bytes(n int) []byte {
	b := make([]byte, n)
	x := uint32(2463534242)
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x)
	}
	return b
}

func together(t *testing.T, p Place) {
	want := map[string][]byte{}
	for _, n := range []string{"a", "b", "c", "d", "e", "f"} {
		want[n] = append([]byte(n), Bytes(300_000)...)
		p.Write(t, p.at(n), want[n])
	}
	var wait sync.WaitGroup
	errs := make(chan error, 100)
	for i := range 30 {
		wait.Go(func() {
			name := string(rune('a' + i%6))
			_, body, err := p.Source.Open(ctx, p.at(name), int64(i))
			if err != nil {
				errs <- err
				return
			}
			defer body.Close()
			got, err := io.ReadAll(body)
			if err != nil || !bytes.Equal(got, want[name][i:]) {
				errs <- errors.Join(err, errors.New("not what "+name+" holds"))
			}
		})
	}
	wait.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}
