package login

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/pkg/sftp"

	"faultline/fetch/source"
	"faultline/fetch/source/internal/await"
	"faultline/fetch/source/internal/tree"
)

// Files are the files of a node below some roots. It implements source.Source.
type Files struct {
	node  *Node
	roots []string

	mu   sync.Mutex
	of   *link // that tree belongs to
	tree *tree.Tree

	naming sync.Mutex
	owners map[uint32]string
	mute   bool // the node names no accounts
}

// Files gives what lies below the roots, which are absolute paths on the node.
func (n *Node) Files(roots ...string) (*Files, error) {
	for _, r := range roots {
		if !path.IsAbs(r) {
			return nil, fmt.Errorf("the root %s is not an absolute path", source.Shown(r))
		}
	}
	return &Files{node: n, roots: roots, owners: map[uint32]string{}}, nil
}

// at gives the present connection, and the tree on it.
func (f *Files) at(ctx context.Context) (*link, *tree.Tree, error) {
	l, err := f.node.link(ctx)
	if err != nil {
		return nil, nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of != l {
		f.of, f.tree = l, &tree.Tree{FS: remote{l.files}, Roots: f.roots, Fail: f.node.fault}
		// This server resolves links; of others it is not known.
		if openSSH(l.client) {
			f.tree.FS = resolving{remote{l.files}}
		}
	}
	return l, f.tree, nil
}

// Glob implements source.Source.
func (f *Files) Glob(ctx context.Context, pattern string) ([]source.File, error) {
	if err := tree.Check(pattern); err != nil {
		return nil, f.placed(err)
	}
	l, t, err := f.at(ctx)
	if err != nil {
		return nil, err
	}
	type result struct {
		files []source.File
		err   error
	}
	r, err := do(ctx, l, func() (result, error) {
		files, err := t.Glob(ctx, pattern)
		return result{files, err}, nil
	}, nil)
	if err != nil {
		return nil, err
	}
	f.name(ctx, r.files)
	return r.files, f.placed(r.err)
}

// Stat implements source.Source.
func (f *Files) Stat(ctx context.Context, name string) (source.File, error) {
	if err := tree.Check(name); err != nil {
		return source.File{}, f.placed(err)
	}
	l, t, err := f.at(ctx)
	if err != nil {
		return source.File{}, err
	}
	file, err := do(ctx, l, func() (source.File, error) {
		e, _, err := f.look(ctx, l, t, name)
		return e.File, err
	}, nil)
	if err != nil {
		return source.File{}, f.placed(err)
	}
	named := []source.File{file}
	f.name(ctx, named)
	return named[0], nil
}

// look describes a regular file, and says where it is.
func (f *Files) look(ctx context.Context, l *link, t *tree.Tree, name string) (e tree.Entry, way tree.Way, err error) {
	if way, err = t.Resolve(ctx, name); err != nil {
		return e, way, err
	}
	disk := remote{l.files}
	if e, err = disk.Lstat(way.Real); err != nil {
		return e, way, f.node.fault(name, err)
	}
	dir, err := disk.Lstat(path.Dir(way.Real))
	if err != nil {
		return e, way, f.node.fault(name, err)
	}
	refused := source.Kind("")
	switch {
	case e.Mode&fs.ModeSymlink != 0, !dir.Mode.IsDir(): // put there just now
		refused = source.Changed
	case !e.Mode.IsRegular():
		refused = source.NotRegular
	case !way.Vouched(e), planted(dir, e):
		refused = source.Foreign
	}
	if refused != "" {
		return e, way, &source.Error{Kind: refused, Name: name}
	}
	e.File.Name = name
	return e, way, nil
}

// Open implements source.Source.
func (f *Files) Open(ctx context.Context, name string, offset int64) (source.File, io.ReadCloser, error) {
	if err := tree.Check(name); err != nil {
		return source.File{}, nil, f.placed(err)
	}
	l, t, err := f.at(ctx)
	if err != nil {
		return source.File{}, nil, err
	}
	body, err := do(ctx, l, func() (*content, error) {
		// A pipe would be opened by the server, which would then wait for its writer: look first.
		seen, way, err := f.look(ctx, l, t, name)
		if err != nil {
			return nil, err
		}
		file, err := l.files.Open(way.Real)
		if err != nil {
			return nil, f.node.fault(name, err)
		}
		info, err := file.Stat()
		if err == nil {
			err = f.same(ctx, l, t, name, way.Real, seen, entry(info))
		}
		if err == nil && (offset < 0 || offset > info.Size()) {
			err = &source.Error{Kind: source.Changed, Name: name, More: fmt.Sprintf("it has %d bytes", info.Size())}
		}
		if err != nil {
			_ = file.Close()
			return nil, f.node.fault(name, err)
		}
		what := entry(info).File
		what.Name = name
		return &content{files: f, file: file, what: what, at: offset}, nil
	}, func(c *content) { _ = c.Close() })
	if err != nil {
		return source.File{}, nil, f.placed(err)
	}
	return body.what, await.NewReader(ctx, body), nil
}

// planted says that a file can only be there because the owner of the directory, an ordinary account, gave another's file this name: a
// hard link. How many names a file has, the protocol does not tell.
func planted(dir, file tree.Entry) bool {
	closed := dir.Mode.Perm()&0o022 == 0
	return closed && dir.Account > 0 && file.Account != dir.Account
}

// same says that what was opened is what was looked at. The protocol names no inodes: what it tells of the opened file has to fit, and
// its name has to lead where it led.
func (f *Files) same(ctx context.Context, l *link, t *tree.Tree, name, real string, seen, opened tree.Entry) error {
	_, again, err := f.look(ctx, l, t, name)
	if err != nil {
		return err
	}
	fits := opened.Mode.IsRegular() && opened.Account == seen.Account && opened.File.Size >= seen.File.Size
	if again.Real != real || !fits || !steady(ctx, remote{l.files}, again, opened.Account) {
		return &source.Error{Kind: source.Changed, Name: name}
	}
	return nil
}

// content is what a file held when it was opened.
type content struct {
	files *Files
	file  *sftp.File
	what  source.File
	at    int64
}

func (c *content) Read(p []byte) (int, error) {
	if c.at == c.what.Size {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), c.what.Size-c.at)]
	n, err := c.file.ReadAt(p, c.at)
	c.at += int64(n)
	switch {
	case n == len(p), n > 0 && errors.Is(err, io.EOF): // a server may give less at once than it was asked for
		return n, nil
	case errors.Is(err, io.EOF):
		return n, &source.Error{Kind: source.Changed, Place: c.files.node.name, Name: c.what.Name, More: "it became shorter"}
	case err == nil:
		return n, nil
	}
	return n, c.files.node.fault(c.what.Name, err)
}

func (c *content) Close() error {
	_ = c.file.Close() // nothing was written, and the connection may be gone
	return nil
}

// placed says where an error is from.
func (f *Files) placed(err error) error {
	for _, e := range source.Each(err) {
		if e, ok := any(e).(*source.Error); ok && e.Place == "" {
			e.Place = f.node.name
		}
	}
	return err
}

// name replaces the numbers of accounts by their names, where the node tells them.
func (f *Files) name(ctx context.Context, files []source.File) {
	f.naming.Lock()
	defer f.naming.Unlock()
	var ask []string
	for _, file := range files {
		id, err := strconv.ParseUint(strings.TrimPrefix(file.Owner, "#"), 10, 32)
		if _, known := f.owners[uint32(id)]; err == nil && !known {
			f.owners[uint32(id)] = file.Owner
			ask = append(ask, strconv.FormatUint(id, 10))
		}
	}
	if len(ask) > 0 && !f.mute {
		ctx, cancel := context.WithTimeout(ctx, accountsWithin)
		defer cancel()
		out, err := f.node.Run(ctx, append([]string{"getent", "passwd"}, ask[:min(len(ask), maxAccounts)]...)...)
		f.mute = err != nil || out.Code != 0 && out.Code != 2 // 2: it knows not all of them
		for line := range strings.Lines(string(out.Stdout)) {
			fields := strings.Split(line, ":")
			if len(fields) < 3 || fields[0] == "" {
				continue
			}
			if id, err := strconv.ParseUint(fields[2], 10, 32); err == nil {
				f.owners[uint32(id)] = fields[0]
			}
		}
	}
	for i, file := range files {
		if id, err := strconv.ParseUint(strings.TrimPrefix(file.Owner, "#"), 10, 32); err == nil {
			files[i].Owner = f.owners[uint32(id)]
		}
	}
}

const (
	accountsWithin = 10 * time.Second
	maxAccounts    = 200 // asked for at once
)

// remote is the file system of a node.
type remote struct{ *sftp.Client }

// Lstat implements tree.FS.
func (r remote) Lstat(name string) (tree.Entry, error) {
	info, err := r.Client.Lstat(name)
	if err != nil {
		return tree.Entry{}, err
	}
	return entry(info), nil
}

// ReadDir implements tree.FS.
func (r remote) ReadDir(name string) ([]tree.Entry, error) {
	list, err := r.Client.ReadDir(name)
	entries := make([]tree.Entry, 0, len(list))
	for _, info := range list {
		if base := info.Name(); base != "." && base != ".." && base != "" && !strings.Contains(base, "/") {
			entries = append(entries, entry(info))
		}
	}
	return entries, err
}

// resolving is one whose server resolves links.
type resolving struct{ remote }

// Real resolves all links of a name; the last element need not exist.
func (r resolving) Real(name string) (string, error) { return r.RealPath(name) }

func entry(info fs.FileInfo) tree.Entry {
	e := tree.Entry{Name: info.Name(), Mode: info.Mode(), Account: tree.Unknown, File: source.File{Size: info.Size(), Written: info.ModTime()}}
	if st, ok := info.Sys().(*sftp.FileStat); ok {
		e.Account = int64(st.UID)
		e.File.Owner = "#" + strconv.FormatUint(uint64(st.UID), 10)
	}
	return e
}
