package tree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"faultline/fetch/source"
)

// disk is a file system without links.
type disk struct{ fs.FS }

func (d disk) Lstat(name string) (Entry, error) {
	info, err := fs.Stat(d.FS, rel(name))
	if err != nil {
		return Entry{}, err
	}
	return Entry{Name: info.Name(), Mode: info.Mode(), File: source.File{Size: info.Size()}}, nil
}

func (d disk) ReadLink(string) (string, error) { return "", errors.New("there are none") }

func (d disk) ReadDir(name string) ([]Entry, error) {
	if info, err := fs.Stat(d.FS, rel(name)); err != nil || !info.IsDir() {
		return nil, fs.ErrNotExist
	}
	list, err := fs.ReadDir(d.FS, rel(name))
	var entries []Entry
	for _, l := range list {
		entries = append(entries, Entry{Name: l.Name(), Mode: l.Type()})
	}
	return entries, err
}

func rel(name string) string {
	if name == "/" {
		return "."
	}
	return strings.TrimPrefix(name, "/")
}

func fail(name string, err error) *source.Error {
	kind := source.Failed
	if errors.Is(err, fs.ErrNotExist) {
		kind = source.NotFound
	}
	return &source.Error{Kind: kind, Name: name, Err: err}
}

func files() fs.FS {
	all := fstest.MapFS{}
	for _, name := range []string{"a", "b.out", "error-1-0.out", "error-1-10.out", "d/a", "d/b.out", "d/e/f.out", "d/e/[x]", "d/e/*", "x/y/z/w", `d/back\slash`, "d/é"} {
		all[name] = &fstest.MapFile{Data: []byte(name)}
	}
	return all
}

// What path/filepath finds is found, and no more.
func FuzzPatternsFindWhatTheLibraryFinds(f *testing.F) {
	for _, p := range []string{"/*", "/a", "/d/*", "/*/*/*", "/d/e/[[]x]", `/d/e/\*`, "/error-1-?.out", "/[a-d]*", "/d/[^a]*", "/*/b.out", "/d/*/f.out", "/x/y/z/w", `/d/back\\slash`, "/d/?", `/0\/0`, "/[", "//", "/..", "/d/"} {
		f.Add(p)
	}
	root, all := f.TempDir(), files()
	if err := os.CopyFS(root, all); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, pattern string) {
		tree := &Tree{FS: disk{all}, Roots: []string{"/"}, Fail: fail}
		got, err := tree.Glob(context.Background(), pattern)
		if source.KindOf(err) == source.BadName || strings.HasSuffix(pattern, "/**") || strings.Contains(pattern, "\n") {
			return
		}
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		var names []string
		for _, g := range got {
			names = append(names, g.Name)
		}
		matches, err := filepath.Glob(escape(root) + pattern)
		if err != nil {
			t.Fatalf("%q: %v", pattern, err)
		}
		var want []string
		for _, m := range matches {
			if info, err := os.Stat(m); err == nil && info.Mode().IsRegular() {
				want = append(want, path.Clean(strings.TrimPrefix(m, root)))
			}
		}
		slices.Sort(want)
		if !slices.Equal(names, slices.Compact(want)) {
			t.Errorf("%q: got %q, want %q", pattern, names, want)
		}
	})
}

func escape(s string) string { return source.Escape(s) }

func TestEverythingBelow(t *testing.T) {
	tree := &Tree{FS: disk{files()}, Roots: []string{"/d", "/x"}, Fail: fail}
	for pattern, want := range map[string]int{"/d/**": 7, "/x/**": 1, "/d/e/**": 3, "/none/**": 0, "/x/*/**": 1} {
		got, err := tree.Glob(context.Background(), pattern)
		if err != nil && source.KindOf(err) != source.NotFound || len(got) != want {
			t.Errorf("%s: %v, %v", pattern, got, err)
		}
	}
	for _, pattern := range []string{"/**", "/a", "/*", "/dd/**"} {
		if got, err := tree.Glob(context.Background(), pattern); len(got) > 0 || pattern != "/dd/**" && source.KindOf(err) != source.Outside {
			t.Errorf("%s: %v, %v", pattern, got, err)
		}
	}
}
