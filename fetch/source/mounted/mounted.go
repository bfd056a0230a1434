// Package mounted is a Source on a file system that is mounted on this machine: local, NFS, Lustre.
package mounted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"

	"faultline/fetch/gate"
	"faultline/fetch/source"
	"faultline/fetch/source/internal/await"
	"faultline/fetch/source/internal/tree"
)

// Files implements source.Source.
type Files struct {
	disk disk
	tree tree.Tree
	gate *gate.Gate
}

// New gives what lies below the roots, which are absolute. They need not exist yet.
func New(roots ...string) (*Files, error) {
	for _, r := range roots {
		if !filepath.IsAbs(r) {
			return nil, fmt.Errorf("the root %s is not an absolute path", source.Shown(r))
		}
	}
	g, err := gate.New(gate.Area{Roots: roots})
	if err != nil {
		return nil, err
	}
	f := &Files{gate: g}
	f.disk.gate = g
	f.tree = tree.Tree{FS: &f.disk, Roots: roots, Fail: fail, Trusted: []int64{int64(os.Geteuid())}}
	return f, nil
}

// Glob implements source.Source.
func (f *Files) Glob(ctx context.Context, pattern string) ([]source.File, error) {
	type result struct {
		files []source.File
		err   error
	}
	r, err := await.Do(ctx, func() (result, error) {
		files, err := f.tree.Glob(ctx, pattern)
		return result{files, err}, nil
	}, nil)
	if err != nil {
		return nil, err
	}
	return r.files, r.err
}

// Stat implements source.Source. The file is opened where that is possible: NFS asks its server only then.
func (f *Files) Stat(ctx context.Context, name string) (source.File, error) {
	return await.Do(ctx, func() (source.File, error) {
		o, err := f.open(name)
		if source.KindOf(err) != source.Denied {
			if err == nil {
				err = o.file.Close()
			}
			return o.what, err
		}
		p, err := f.gate.Look(name)
		if err != nil {
			return source.File{}, fail(name, err)
		}
		what := f.disk.entry(p.Info).File
		what.Name = name
		return what, nil
	}, nil)
}

// Open implements source.Source.
func (f *Files) Open(ctx context.Context, name string, offset int64) (source.File, io.ReadCloser, error) {
	o, err := await.Do(ctx, func() (opened, error) {
		o, err := f.open(name)
		if err != nil {
			return o, err
		}
		switch {
		case offset < 0 || offset > o.what.Size:
			err = &source.Error{Kind: source.Changed, Name: name, More: fmt.Sprintf("it has %d bytes", o.what.Size)}
		default:
			_, err = o.file.Seek(offset, io.SeekStart)
		}
		if err != nil {
			_ = o.file.Close()
			return opened{}, fail(name, err)
		}
		return o, nil
	}, func(o opened) { _ = o.file.Close() })
	if err != nil {
		return source.File{}, nil, err
	}
	body := &content{file: o.file, name: name, left: o.what.Size - offset}
	return o.what, await.NewReader(ctx, body), nil
}

type opened struct {
	file *os.File
	what source.File
}

// open opens a regular file below the roots.
func (f *Files) open(name string) (opened, error) {
	if err := tree.Check(name); err != nil {
		return opened{}, err
	}
	file, err := f.gate.Open(name)
	if err != nil {
		return opened{}, fail(name, err)
	}
	info, err := file.Stat()
	if err != nil {
		_ = file.Close()
		return opened{}, fail(name, err)
	}
	what := f.disk.entry(info).File
	what.Name = name
	return opened{file, what}, nil
}

// content is what a file held when it was opened.
type content struct {
	file *os.File
	name string
	left int64
}

func (c *content) Read(p []byte) (int, error) {
	if c.left == 0 {
		return 0, io.EOF
	}
	n, err := c.file.Read(p[:min(int64(len(p)), c.left)])
	c.left -= int64(n)
	switch {
	case err == io.EOF && c.left > 0:
		return n, &source.Error{Kind: source.Changed, Name: c.name, More: "it became shorter"}
	case err != nil && err != io.EOF:
		return n, fail(c.name, err)
	}
	return n, nil
}

func (c *content) Close() error { return c.file.Close() }

// fail says in the words of sources what the operating system says.
func fail(name string, err error) *source.Error {
	var known *source.Error
	if errors.As(err, &known) {
		return known
	}
	e := &source.Error{Kind: source.Failed, Name: name, Err: err}
	switch why := gate.WhyNot(err); {
	case why != "":
		e.Kind = refusals[why]
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ENAMETOOLONG):
		e.Kind = source.NotFound
	case errors.Is(err, fs.ErrPermission):
		e.Kind = source.Denied
	case errors.Is(err, syscall.ESTALE):
		e.Kind = source.Changed
	case errors.Is(err, syscall.ELOOP):
		e.Kind, e.More = source.Outside, "it is a link"
	case errors.Is(err, syscall.ETIMEDOUT), errors.Is(err, syscall.EIO), errors.Is(err, syscall.ENOTCONN), errors.Is(err, syscall.EHOSTDOWN):
		e.Kind, e.Place, e.More = source.Lost, "the file system of "+name, err.Error()
	default:
		e.More = err.Error()
	}
	return e
}

// refusals are the words of sources for what the gate refuses.
var refusals = map[gate.Why]source.Kind{
	gate.Outside: source.Outside, gate.Foreign: source.Foreign, gate.Shared: source.Foreign, gate.Special: source.NotRegular, gate.Changed: source.Changed,
}

// disk is the operating system's file system.
type disk struct {
	gate  *gate.Gate
	names sync.Map // of user ids
}

// Lstat implements tree.FS.
func (d *disk) Lstat(name string) (tree.Entry, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return tree.Entry{}, err
	}
	return d.entry(info), nil
}

// ReadLink implements tree.FS.
func (d *disk) ReadLink(name string) (string, error) { return os.Readlink(name) }

// ReadDir implements tree.FS.
func (d *disk) ReadDir(name string) ([]tree.Entry, error) {
	list, err := d.gate.List(name)
	entries := make([]tree.Entry, 0, len(list))
	for _, l := range list {
		if info, err := l.Info(); err == nil { // else it is gone again
			entries = append(entries, d.entry(info))
		}
	}
	return entries, err
}

func (d *disk) entry(info fs.FileInfo) tree.Entry {
	e := tree.Entry{Name: path.Base(info.Name()), Mode: info.Mode(), Account: tree.Unknown, File: source.File{Size: info.Size(), Written: info.ModTime()}}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		e.File.Mark = fmt.Sprintf("%d:%d", st.Dev, st.Ino)
		e.File.Owner, e.Account = d.owner(st.Uid), int64(st.Uid)
	}
	return e
}

func (d *disk) owner(id uint32) string {
	if name, ok := d.names.Load(id); ok {
		return name.(string)
	}
	number := strconv.FormatUint(uint64(id), 10)
	name := "#" + number
	if u, err := user.LookupId(number); err == nil {
		name = u.Username
	}
	d.names.Store(id, name)
	return name
}
