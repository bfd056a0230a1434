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
	Name    string // the last element
	Mode    fs.FileMode
	Account int64 // the number of who owns it, or Unknown
	File    source.File
}

// Unknown is the account of what belongs to nobody knows whom.
const Unknown = -1

// Tree is a file system with roots.
type Tree struct {
	FS    FS
	Roots []string // absolute
	// Fail makes an error of FS one of the source.
	Fail func(name string, err error) *source.Error
	// Trusted are accounts, beside root, whose links may lead to any file below the roots. Those of others lead to files of their own.
	Trusted []int64

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

// Way is where a name leads.
type Way struct {
	Real string // has no links in it
	root string // in which Real lies
	// links are the accounts of the links on the way, without those that are trusted.
	links []int64
}

// Vouched says that whoever made the links on the way may name the file at its end.
func (w Way) Vouched(e Entry) bool {
	return !slices.ContainsFunc(w.links, func(l int64) bool { return l == Unknown || l != e.Account })
}

// in is the way to a name in a directory, where that name is no link.
func (w Way) in(name string) Way {
	w.Real = path.Join(w.Real, name)
	return w
}

// Dirs are the directories that Real lies in, from the root on.
func (w Way) Dirs() (dirs []string) {
	for dir := w.Real; dir != w.root && dir != "/"; {
		dir = path.Dir(dir)
		dirs = append(dirs, dir)
	}
	slices.Reverse(dirs)
	return dirs
}

// Resolve says where a name leads, if that is below a root.
func (t *Tree) Resolve(ctx context.Context, name string) (Way, error) {
	if err := Check(name); err != nil {
		return Way{}, err
	}
	for _, fresh := range []bool{false, true} { // a root may have been moved since it was looked at
		roots, rerr := t.realRoots(ctx, fresh)
		way, err := t.real(ctx, t.below(name, roots))
		if err != nil && (fresh || source.KindOf(err) != source.NotFound) {
			return Way{}, err
		}
		in := slices.IndexFunc(roots, func(r string) bool { return r != "" && Within(r, way.Real) })
		if err == nil && in >= 0 {
			way.root = roots[in]
			return way, nil
		}
		if fresh && rerr != nil && source.KindOf(rerr) != source.NotFound {
			return Way{}, rerr
		}
	}
	return Way{}, &source.Error{Kind: source.Outside, Name: name}
}

// below is a name with its root resolved: whoever configured a root that is a link meant where it leads.
func (t *Tree) below(name string, roots []string) string {
	for i, r := range t.Roots {
		if r = path.Clean(r); roots[i] != "" && Within(r, name) {
			return path.Join(roots[i], strings.TrimPrefix(name, r))
		}
	}
	return name
}

// realRoots are the roots without links. One that is missing is ""; the error says so.
func (t *Tree) realRoots(ctx context.Context, fresh bool) ([]string, error) {
	t.mu.Lock()
	known := t.roots
	t.mu.Unlock()
	if known != nil && !fresh {
		return known, nil
	}
	roots := make([]string, len(t.Roots))
	var errs []error
	linked := false // and may be moved at any time
	for i, r := range t.Roots {
		real, err := t.root(ctx, path.Clean(r))
		if err != nil {
			errs = append(errs, err)
		}
		roots[i], linked = real, linked || real != path.Clean(r)
	}
	if !linked {
		t.mu.Lock()
		t.roots = roots
		t.mu.Unlock()
	}
	return roots, errors.Join(errs...)
}

// root resolves a root. Whoever configured it vouches for the links in it.
func (t *Tree) root(ctx context.Context, name string) (string, error) {
	if r, ok := t.FS.(realer); ok {
		real, err := r.Real(name)
		if err != nil {
			return "", t.fail(name, err)
		}
		return real, nil
	}
	way, err := t.steps(ctx, name)
	return way.Real, err
}

// Within says whether name is root or below it.
func Within(root, name string) bool {
	return name == root || root == "/" || strings.HasPrefix(name, root+"/")
}

var errLoop = errors.New("too many links, or a loop of them")

// real resolves every link in name. A server that does that by itself does not say whose the links are, so they are looked at where
// there are any.
func (t *Tree) real(ctx context.Context, name string) (Way, error) {
	r, ok := t.FS.(realer)
	if !ok {
		return t.steps(ctx, name)
	}
	real, err := r.Real(name)
	if err != nil {
		return Way{}, t.fail(name, err)
	}
	if real == name {
		return Way{Real: real}, nil
	}
	way, err := t.steps(ctx, name)
	if source.KindOf(err) == source.NotFound { // the last element need not be there
		return Way{Real: real, links: []int64{Unknown}}, nil
	}
	return way, err
}

// steps resolves a name element by element.
func (t *Tree) steps(ctx context.Context, name string) (Way, error) {
	var way Way
	at, rest := "/", elements(name)
	for links := 0; len(rest) > 0; {
		if ctx.Err() != nil {
			return Way{}, context.Cause(ctx)
		}
		if rest[0] == ".." { // of a link: at has none, so this is its parent
			at, rest = path.Dir(at), rest[1:]
			continue
		}
		next := path.Join(at, rest[0])
		e, err := t.FS.Lstat(next)
		if err != nil {
			return Way{}, t.fail(next, err)
		}
		if e.Mode&fs.ModeSymlink == 0 {
			at, rest = next, rest[1:]
			continue
		}
		if links++; links > maxLinks {
			return Way{}, t.fail(name, errLoop)
		}
		if e.Account != 0 && !slices.Contains(t.Trusted, e.Account) {
			way.links = append(way.links, e.Account)
		}
		target, err := t.FS.ReadLink(next)
		if err != nil {
			return Way{}, t.fail(next, err)
		}
		if path.IsAbs(target) {
			at = "/"
		}
		rest = slices.Concat(elements(target), rest[1:])
	}
	way.Real = at
	return way, nil
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
