// Package tree finds files below the roots of a file system, whoever serves it. Links are resolved here, element by element,
// so that nothing outside of the roots is given whatever the users of a cluster put into their directories.
package tree

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"faultline/fetch/source"
)

// FS is what is needed of a file system. Names are absolute and slash-separated. One that has a method Real(name) (string,
// error), which resolves all links of a name, is asked by it.
type FS interface {
	Lstat(name string) (Entry, error)
	ReadLink(name string) (string, error)
	ReadDir(name string) ([]Entry, error)
}

type realer interface {
	Real(name string) (string, error)
}

// Entry is one name in a directory. Of File everything but the name is set.
type Entry struct {
	Name string // the last element
	Mode fs.FileMode
	File source.File
}

// Tree is a file system with roots.
type Tree struct {
	FS    FS
	Roots []string // absolute
	// Fail makes an error of FS one of the source.
	Fail func(name string, err error) *source.Error

	mu    sync.Mutex
	roots []string // resolved
}

const (
	maxLinks   = 40      // as Linux
	maxDepth   = 64      // below "**"
	maxEntries = 500_000 // looked at for one pattern
)

// Check refuses what is no absolute, clean path.
func Check(name string) error {
	if !path.IsAbs(name) || path.Clean(name) != name || strings.ContainsRune(name, 0) || len(name) > 4096 {
		return &source.Error{Kind: source.BadName, Name: name}
	}
	return nil
}

// CheckPattern refuses what path.Match does not understand, element by element: a backslash before a slash makes no other name of it.
func CheckPattern(pattern string) error {
	for _, e := range strings.Split(pattern, "/") {
		if _, err := path.Match(e, ""); err != nil {
			return &source.Error{Kind: source.BadName, Name: pattern, Err: err}
		}
	}
	return nil
}

// Resolve gives the name without links, if it lies below a root.
func (t *Tree) Resolve(ctx context.Context, name string) (string, error) {
	if err := Check(name); err != nil {
		return "", err
	}
	real, err := t.real(ctx, name)
	if err != nil {
		return "", err
	}
	return real, t.check(ctx, name, real)
}

// check says whether what name leads to lies below a root.
func (t *Tree) check(ctx context.Context, name, real string) error {
	for _, fresh := range []bool{false, true} { // a root may have been moved since it was looked at
		roots, err := t.realRoots(ctx, fresh)
		if slices.ContainsFunc(roots, func(r string) bool { return Within(r, real) }) {
			return nil
		}
		if fresh && err != nil && source.KindOf(err) != source.NotFound {
			return err
		}
	}
	return &source.Error{Kind: source.Outside, Name: name}
}

// realRoots are the roots without links. One that is missing is left out; the error says so.
func (t *Tree) realRoots(ctx context.Context, fresh bool) ([]string, error) {
	t.mu.Lock()
	known := t.roots
	t.mu.Unlock()
	if known != nil && !fresh {
		return known, nil
	}
	var roots []string
	var errs []error
	for _, r := range t.Roots {
		real, err := t.real(ctx, path.Clean(r))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		roots = append(roots, real)
	}
	if len(errs) == 0 {
		t.mu.Lock()
		t.roots = roots
		t.mu.Unlock()
	}
	return roots, errors.Join(errs...)
}

// Within says whether name is root or below it.
func Within(root, name string) bool {
	return name == root || root == "/" || strings.HasPrefix(name, root+"/")
}

var errLoop = errors.New("too many links, or a loop of them")

// real resolves every link in name.
func (t *Tree) real(ctx context.Context, name string) (string, error) {
	if r, ok := t.FS.(realer); ok {
		real, err := r.Real(name)
		if err != nil {
			return "", t.fail(name, err)
		}
		return real, nil
	}
	at, rest := "/", elements(name)
	for links := 0; len(rest) > 0; {
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if rest[0] == ".." { // of a link: at has none, so this is its parent
			at, rest = path.Dir(at), rest[1:]
			continue
		}
		next := path.Join(at, rest[0])
		e, err := t.FS.Lstat(next)
		if err != nil {
			return "", t.fail(next, err)
		}
		if e.Mode&fs.ModeSymlink == 0 {
			at, rest = next, rest[1:]
			continue
		}
		if links++; links > maxLinks {
			return "", t.fail(name, errLoop)
		}
		target, err := t.FS.ReadLink(next)
		if err != nil {
			return "", t.fail(next, err)
		}
		if path.IsAbs(target) {
			at = "/"
		}
		rest = slices.Concat(elements(target), rest[1:])
	}
	return at, nil
}

func elements(name string) []string {
	return slices.DeleteFunc(strings.Split(name, "/"), func(e string) bool { return e == "" || e == "." })
}

// fail names the directory where it is that which may not be searched: whether the file is there is not known then.
func (t *Tree) fail(name string, err error) error {
	e := t.Fail(name, err)
	if e.Kind == source.Denied && name != "/" {
		e.Name = path.Dir(name)
	}
	return e
}
