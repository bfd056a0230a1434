package gate

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// maxLinks is how many links may be on the way, as on Linux.
const maxLinks = 40

// pin holds a file, and the directory in which it has the name by which it was found.
type pin struct {
	file    *os.File // nil where the system cannot hold what it does not open
	dir     *os.File // nil where base is a whole path, on which there was no link
	dirInfo fs.FileInfo
	base    string
	linked  bool
}

// Close lets go of the file. Nothing was written.
func (p *pin) Close() error {
	if p.dir != nil {
		_ = p.dir.Close()
	}
	if p.file != nil {
		_ = p.file.Close()
	}
	return nil
}

// read opens what is held for reading. A pipe or device that took its name is not waited for, and is not what is held.
func (p *pin) read(name string, held fs.FileInfo) (*os.File, error) {
	const flags = unix.O_RDONLY | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_NOCTTY | unix.O_CLOEXEC
	open := func() (int, error) { return openat(p.dir, p.base, flags) }
	if p.dir == nil {
		open = func() (int, error) { return openStraight(p.base, flags) }
	}
	fd, err := open()
	if errors.Is(err, unix.ELOOP) {
		return nil, &Refused{name, Changed}
	}
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	f := os.NewFile(uintptr(fd), name)
	info, err := f.Stat()
	if err == nil && !os.SameFile(info, held) {
		err = &Refused{name, Changed}
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ownName says that nobody but a file's owner, root or the bot gives names in a directory.
func ownName(dir fs.FileInfo, uid uint32) bool {
	maker, known := owner(dir)
	closed := dir.Mode().Perm()&0o022 == 0
	return known && (closed && trusted(maker) || maker == uid && (closed || !trusted(uid)))
}

// walker goes through a path element by element.
type walker struct {
	stack []*os.File // the directories from "/" on
	names []string   // of all but the first
	links []uint32
	n     int // links met
}

func (w *walker) at() *os.File { return w.stack[len(w.stack)-1] }

func (w *walker) up() {
	if len(w.names) == 0 {
		return
	}
	_ = w.at().Close()
	w.stack, w.names = w.stack[:len(w.stack)-1], w.names[:len(w.names)-1]
}

func (w *walker) close() {
	for _, d := range w.stack {
		_ = d.Close()
	}
}

// find finds what a clean absolute name leads to: at once where there is no link on the way, as is usual, and nothing to be asked of the
// directory.
func find(name string) (*pin, Place, error) {
	if fd, err := openStraight(name, holdMode); err == nil {
		f := os.NewFile(uintptr(fd), name)
		if info, err := f.Stat(); err == nil && (info.IsDir() || names(info) == 1) {
			return &pin{file: f, base: name}, Place{Path: name, Info: info}, nil
		}
		_ = f.Close()
	}
	return walk(name)
}

// walk finds it step by step.
func walk(name string) (_ *pin, _ Place, err error) {
	root, err := os.OpenFile("/", dirMode, 0)
	if err != nil {
		return nil, Place{}, err
	}
	w := &walker{stack: []*os.File{root}}
	defer w.close()
	rest := elements(name)
	for len(rest) > 0 {
		e := rest[0]
		rest = rest[1:]
		if e == ".." { // of a link
			w.up()
			continue
		}
		found, target, err := hold(w.at(), e)
		if err != nil {
			return nil, Place{}, w.failed(err)
		}
		switch {
		case found.info.Mode()&fs.ModeSymlink != 0:
			found.close()
			if rest, err = w.follow(name, found.info, target, rest); err != nil {
				return nil, Place{}, err
			}
		case found.info.IsDir() && len(rest) > 0:
			if err := w.into(name, e, found); err != nil {
				return nil, Place{}, err
			}
		case len(rest) > 0:
			found.close()
			return nil, Place{}, w.failed(syscall.ENOTDIR)
		default:
			return w.arrive(e, found)
		}
	}
	return w.arrive(".", held{}) // a link to "/", or to a directory by ".."
}

// failed is an error of the present directory.
func (w *walker) failed(err error) error {
	return &fs.PathError{Op: "open", Path: "/" + path.Join(w.names...), Err: err}
}

// follow puts a link's target in front of what is left of the way.
func (w *walker) follow(name string, link fs.FileInfo, target string, rest []string) ([]string, error) {
	if w.n++; w.n > maxLinks {
		return nil, w.failed(syscall.ELOOP)
	}
	uid, known := owner(link)
	if names(link) > 1 { // somebody may have given another's link this name, too
		if dir, err := w.at().Stat(); err != nil || !ownName(dir, uid) {
			return nil, &Refused{name, Shared}
		}
	}
	if !known || !trusted(uid) {
		w.links = append(w.links, uid)
	}
	for path.IsAbs(target) && len(w.names) > 0 {
		w.up()
	}
	return slices.Concat(elements(target), rest), nil
}

// into goes into a directory.
func (w *walker) into(name, e string, found held) error {
	dir := found.file
	if dir == nil {
		fd, err := openat(w.at(), e, dirMode|unix.O_NOFOLLOW)
		if err != nil {
			return w.failed(err)
		}
		dir = os.NewFile(uintptr(fd), path.Join(w.at().Name(), e))
		if info, err := dir.Stat(); err != nil || !os.SameFile(info, found.info) {
			_ = dir.Close()
			return &Refused{name, Changed}
		}
	}
	w.stack, w.names = append(w.stack, dir), append(w.names, e)
	return nil
}

// arrive ends the way at a name in the present directory.
func (w *walker) arrive(e string, found held) (*pin, Place, error) {
	dirInfo, err := w.at().Stat()
	if err != nil {
		found.close()
		return nil, Place{}, err
	}
	if e == "." {
		found.info = dirInfo
	}
	p := &pin{file: found.file, dir: w.at(), dirInfo: dirInfo, base: e, linked: w.n > 0}
	real := "/" + path.Join(path.Join(w.names...), e)
	w.stack = w.stack[:len(w.stack)-1] // the pin keeps it
	return p, Place{Path: path.Clean(real), Info: found.info, links: w.links}, nil
}

// held is one name in a directory.
type held struct {
	file *os.File // nil where the system cannot hold what it does not open
	info fs.FileInfo
}

func (h held) close() {
	if h.file != nil {
		_ = h.file.Close()
	}
}

func elements(name string) []string {
	return slices.DeleteFunc(strings.Split(name, "/"), func(e string) bool { return e == "" || e == "." })
}

// openat opens a name in a directory, however often the system interrupts that.
func openat(dir *os.File, name string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Openat(int(dir.Fd()), name, flags, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
