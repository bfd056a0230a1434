// Package gate is the one door through which the served bot opens files that others can write. Whoever may create a name in a
// directory of logs decides what that name leads to: the gate judges the file that is opened, never the name.
//
// A file passes when all of this holds for the descriptor that its reader gets:
//   - The name lies below a root of an area (the logs of one cluster, or a directory of the bot's own), and so does the place where the
//     file really lies, in the same area. Links may be absolute and lead from root to root.
//   - Every link on the way belongs to root, to the bot, or to the file's owner: nobody can name another's file.
//   - It is a regular file.
//   - Where it has several names (hard links), its owner also owns the directory of this one, or only root or the bot can write there.
//
// Every step is taken on the descriptor of the step before and follows no link by itself, so that what is exchanged in between changes
// nothing.
package gate

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Area is a set of roots between which links may lead.
type Area struct {
	// Roots are absolute. They need not exist yet; where a root is itself a link, whoever configured it meant where it leads.
	Roots []string
	// Own: nobody but the bot writes here, and there are no links.
	Own bool
}

// Gate opens files. The zero value opens none.
type Gate struct {
	areas []*area
	typed bool
}

type area struct {
	Area
	mu   sync.Mutex
	real []string // where the roots lie, as long as none of them is a link
}

// New makes a gate to some areas.
func New(areas ...Area) (*Gate, error) {
	g := &Gate{}
	for _, a := range areas {
		for _, r := range a.Roots {
			if !filepath.IsAbs(r) {
				return nil, fmt.Errorf("the root %q is not an absolute path", r)
			}
		}
		g.areas = append(g.areas, &area{Area: a})
	}
	return g, nil
}

// Typed is the gate of a person who reads on their own machine, with their own rights: the paths that they type are the roots, and links
// lead where they lead. Nothing that is served may use it.
func Typed() *Gate { return &Gate{typed: true} }

// Why is a reason to refuse.
type Why string

// The reasons. Each ends the sentence "Left out NAME: …".
const (
	Outside Why = "it leads outside the directories I may read"
	Foreign Why = "it is one account's link to another account's file"
	Shared  Why = "it is a hard link in another account's directory"
	Special Why = "it isn't a regular file but a directory, device, socket or pipe"
	Changed Why = "it was replaced while being opened"
)

// Refused says that the gate let a name not pass. Its text holds nothing of what the name leads to.
type Refused struct {
	Name string
	Why  Why
}

func (e *Refused) Error() string { return string(e.Why) }

// WhyNot is the reason for which an error refuses, "" where it is another error.
func WhyNot(err error) Why {
	var r *Refused
	if errors.As(err, &r) {
		return r.Why
	}
	return ""
}

// Place is where a name leads.
type Place struct {
	// Path has no links in it. Only the file that lies there itself is opened by it.
	// Where paths are typed that is a directory's only.
	Path string
	Info fs.FileInfo
	// Own: it lies in a directory of the bot's.
	Own bool
	// links are the accounts that made the links on the way, without those that are trusted.
	links []uint32
}

// Strange says that a file belongs to an account that is neither root nor the bot's own, and which.
func Strange(info fs.FileInfo) (uid uint32, yes bool) {
	uid, known := owner(info)
	return uid, known && !trusted(uid)
}

// Vouched says that whoever made the links to a place may name a file in it.
func (p Place) Vouched(info fs.FileInfo) bool {
	uid, known := owner(info)
	return len(p.links) == 0 || known && !slices.ContainsFunc(p.links, func(l uint32) bool { return l != uid })
}

// Look says where a file or directory lies.
func (g *Gate) Look(name string) (Place, error) {
	if g.typed {
		return typedPlace(name)
	}
	f, p, err := g.pass(name)
	if err != nil {
		return Place{}, err
	}
	return p, f.Close()
}

func typedPlace(name string) (Place, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Place{}, err
	}
	if info.IsDir() {
		if real, err := filepath.EvalSymlinks(name); err == nil {
			return Place{Path: real, Info: info}, nil
		}
	}
	return Place{Path: name, Info: info}, nil
}

// Open opens a regular file for reading.
func (g *Gate) Open(name string) (*os.File, error) {
	if g.typed {
		if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() { // a pipe without a writer would wait for one
			return nil, &Refused{name, Special}
		}
		return os.Open(name)
	}
	pinned, p, err := g.pass(name)
	if err != nil {
		return nil, err
	}
	defer pinned.Close()
	if !p.Info.Mode().IsRegular() {
		return nil, &Refused{name, Special}
	}
	return pinned.read(name, p.Info)
}

// descriptors are the names of what this process was started with: standard input, and what a shell hands over for "<(zcat log.gz)".
var descriptors = regexp.MustCompile(`^/dev/(?:stdin|fd/\d+)$`)

// Stream opens a pipe that this process was started with, to be read once; nil where a name is none. Only a person who types may name one.
func (g *Gate) Stream(name string) (*os.File, error) {
	if !g.typed || !descriptors.MatchString(name) {
		return nil, nil
	}
	if info, err := os.Stat(name); err != nil || info.Mode()&fs.ModeNamedPipe == 0 {
		return nil, err
	}
	return os.Open(name)
}

// List reads the names in a directory.
func (g *Gate) List(name string) ([]fs.DirEntry, error) {
	if g.typed {
		return os.ReadDir(name)
	}
	pinned, p, err := g.pass(name)
	if err != nil {
		return nil, err
	}
	defer pinned.Close()
	if !p.Info.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: name, Err: syscall.ENOTDIR}
	}
	f, err := pinned.read(name, p.Info)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, err
}

// Own says whether a name is below a directory of the bot's, whatever lies there.
func (g *Gate) Own(name string) bool {
	return slices.ContainsFunc(g.candidates(path.Clean(name)), func(a *area) bool { return a.Own })
}

// pass resolves a name and judges where it leads. What it returns holds the file, whatever takes its name.
func (g *Gate) pass(name string) (*pin, Place, error) {
	if !filepath.IsAbs(name) || strings.ContainsRune(name, 0) || slices.Contains(strings.Split(name, "/"), "..") {
		return nil, Place{}, &Refused{name, Outside}
	}
	name = path.Clean(name)
	refusal := error(&Refused{name, Outside})
	for _, a := range g.candidates(name) {
		for _, fresh := range []bool{false, true} { // a root may have been moved since it was looked at
			real, roots, _ := a.below(name, fresh)
			if real == "" { // the root is not there
				refusal = &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
				continue
			}
			pinned, p, err := find(real)
			if err != nil {
				refusal = named(name, within(roots, err))
				if WhyNot(refusal) != Outside {
					return nil, Place{}, refusal
				}
				continue
			}
			p.Own = a.Own
			if err = judge(pinned, p, roots); err == nil {
				return pinned, p, nil
			}
			_ = pinned.Close()
			refusal = named(name, err)
			if WhyNot(err) != Outside {
				return nil, Place{}, refusal
			}
		}
	}
	return nil, Place{}, refusal
}

// candidates are the areas that a name may lead to: those below whose roots it lies; where it lies below none, all but the bot's own, for
// links of the machine's may lead there.
func (g *Gate) candidates(name string) (in []*area) {
	for _, a := range g.areas {
		if _, _, ok := a.below(name, false); ok {
			in = append(in, a)
		}
	}
	if len(in) > 0 {
		return in
	}
	for _, a := range g.areas {
		if !a.Own {
			in = append(in, a)
		}
	}
	return in
}

// named makes an error one of the name that was asked for, and tells nothing of where it leads.
func named(name string, err error) error {
	var r *Refused
	var p *fs.PathError
	switch {
	case errors.As(err, &r):
		return &Refused{name, r.Why}
	case errors.As(err, &p):
		return &fs.PathError{Op: p.Op, Path: name, Err: p.Err}
	}
	return err
}

// within makes an error beyond the roots a refusal: nobody learns what is there, and what is not.
func within(roots []string, err error) error {
	var p *fs.PathError
	if errors.As(err, &p) && !slices.ContainsFunc(roots, func(r string) bool { return Within(r, p.Path) }) {
		return &Refused{p.Path, Outside}
	}
	return err
}

// below is a name with its root resolved, "" where that is not there; and all roots of the area. It says whether the name is below one:
// else it stays as it is.
func (a *area) below(name string, fresh bool) (real string, roots []string, ok bool) {
	roots = a.realRoots(fresh)
	missing := false
	for i, r := range a.Roots {
		r = path.Clean(r)
		switch {
		case Within(r, name) && roots[i] == "":
			missing = true
		case Within(r, name):
			return path.Join(roots[i], strings.TrimPrefix(name, r)), roots, true
		case Within(roots[i], name):
			return name, roots, true
		}
	}
	if missing {
		return "", roots, true
	}
	return name, roots, false
}

// realRoots are the roots where they lie, "" for one that is not there.
func (a *area) realRoots(fresh bool) []string {
	a.mu.Lock()
	known := a.real
	a.mu.Unlock()
	if known != nil && !fresh {
		return known
	}
	real, fixed := make([]string, len(a.Roots)), true
	for i, r := range a.Roots {
		if at, err := filepath.EvalSymlinks(r); err == nil {
			real[i] = at
		}
		fixed = fixed && real[i] == path.Clean(r) // else it is a link, or not there: that may change at any time
	}
	if fixed {
		known = real
	} else {
		known = nil
	}
	a.mu.Lock()
	a.real = known
	a.mu.Unlock()
	return real
}

// Within says whether a clean path is a root or lies below it.
func Within(root, name string) bool {
	return name == root || root == "/" || root != "" && strings.HasPrefix(name, root+"/")
}

// judge applies the rules to a file that is held.
func judge(f *pin, p Place, roots []string) error {
	uid, _ := owner(p.Info)
	switch {
	case !slices.ContainsFunc(roots, func(r string) bool { return Within(r, p.Path) }):
		return &Refused{p.Path, Outside}
	case p.Own && f.linked:
		return &Refused{p.Path, Outside}
	case !p.Vouched(p.Info):
		return &Refused{p.Path, Foreign}
	case p.Info.Mode().IsRegular() && names(p.Info) > 1 && !ownName(f.dirInfo, uid):
		return &Refused{p.Path, Shared}
	}
	return nil
}

// trusted says that an account may name any file below the roots: root, and the bot itself.
func trusted(uid uint32) bool { return uid == 0 || int(uid) == os.Geteuid() }

func owner(info fs.FileInfo) (uint32, bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return st.Uid, true
}

// names is how many names a file has.
func names(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // its type differs between systems
	}
	return 1
}
