package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Dir is a Bucket in a directory that only the bot may read.
type Dir struct {
	path string
	mu   sync.Mutex
	open *os.Root
}

// parts is where files are while they are written.
const parts = ".part"

// Folders are what a Dir with contents has in its directory.
var Folders = []string{parts, contents}

// partAge is when a file in parts belongs to a process that is gone.
const partAge = 24 * time.Hour

// OpenDir opens, or makes, the directory. Several processes may have it open.
func OpenDir(dir string) (*Dir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("opening the file store: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the file store: %w", err)
	}
	d := &Dir{path: dir, open: root}
	if err := d.tidy(); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the file store: %w", err), root.Close())
	}
	return d, nil
}

// Close releases the directory.
func (d *Dir) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.open.Close()
}

// root is the directory that the path leads to now: one that was removed and made anew is another one.
func (d *Dir) root() *os.Root {
	d.mu.Lock()
	defer d.mu.Unlock()
	there, err := os.Stat(d.path)
	here, herr := d.open.Stat(".")
	if err != nil || herr == nil && os.SameFile(there, here) {
		return d.open
	}
	now, err := os.OpenRoot(d.path)
	if err != nil {
		return d.open
	}
	_ = d.open.Close() // who is at it goes on with an error, and tries again
	d.open = now
	return now
}

// tidy removes what processes left that were killed while they wrote.
func (d *Dir) tidy() error {
	if err := d.root().MkdirAll(parts, 0o700); err != nil {
		return err
	}
	left, err := fs.ReadDir(d.root().FS(), parts)
	if err != nil {
		return err
	}
	for _, e := range left {
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > partAge {
			if err := d.root().Remove(path.Join(parts, e.Name())); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// Put implements Bucket.
func (d *Dir) Put(ctx context.Context, key string, content io.Reader, size int64) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if err := d.put(ctx, key, &exactly{content, size}); err != nil {
		return fmt.Errorf("storing %s: %w", key, err)
	}
	return nil
}

func (d *Dir) put(ctx context.Context, key string, content io.Reader) error {
	// What is put into a directory without its name is lost with it.
	if there, err := os.Stat(d.path); err != nil {
		return err
	} else if !there.IsDir() {
		return fmt.Errorf("%s is a file: %w", d.path, syscall.ENOTDIR)
	}
	part := path.Join(parts, rand.Text())
	if err := d.root().MkdirAll(parts, 0o700); err != nil {
		return err
	}
	f, err := d.root().OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = d.root().Remove(part) }() // there is none any more when all went well
	_, err = io.Copy(f, readerWith{ctx, content})
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	dir := path.Dir(key)
	// Others make this directory too, and whoever removes the last file of one removes it, perhaps between these lines.
	for range 100 {
		if err = d.root().MkdirAll(dir, 0o700); err == nil {
			err = d.root().Rename(part, key)
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrExist) {
			break
		}
	}
	if err != nil {
		return err
	}
	return d.sync(dir)
}

// sync makes names last, in the directory and in those above it.
func (d *Dir) sync(dir string) error {
	for {
		f, err := d.root().Open(dir)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // somebody may have removed what was just put
			return err
		}
		if dir == "." {
			return nil
		}
		dir = path.Dir(dir)
	}
}

// readerWith stops reading when the context ends.
type readerWith struct {
	ctx  context.Context
	from io.Reader
}

func (r readerWith) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.from.Read(p)
}

// Open implements Bucket.
func (d *Dir) Open(_ context.Context, key string) (io.ReadCloser, error) {
	if err := checkKey(key); err != nil {
		return nil, errors.Join(err, fs.ErrNotExist)
	}
	f, err := d.root().Open(key)
	if err != nil {
		return nil, fmt.Errorf("opening %s: %w", key, err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fs.ErrNotExist
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("opening %s: %w", key, err), f.Close())
	}
	return f, nil
}

// List implements Bucket.
func (d *Dir) List(ctx context.Context, prefix string) ([]string, error) {
	var keys []string
	err := fs.WalkDir(d.root().FS(), ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist) && name != ".":
			return nil // removed while we look
		case err != nil:
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case e.IsDir() && name != "." && (strings.HasPrefix(e.Name(), ".") || !strings.HasPrefix(name+"/", prefix) && !strings.HasPrefix(prefix, name+"/")):
			return fs.SkipDir
		case e.Type().IsRegular() && strings.HasPrefix(name, prefix) && isKey(name):
			keys = append(keys, name)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing %q: %w", prefix, err)
	}
	slices.Sort(keys)
	return keys, nil
}

// Remove implements Bucket.
func (d *Dir) Remove(_ context.Context, key string) error {
	if !isKey(key) {
		return nil
	}
	if info, err := d.root().Lstat(key); err == nil && info.IsDir() {
		return nil // no key leads to it
	}
	if err := d.root().Remove(key); err != nil && !missing(err) {
		return fmt.Errorf("removing %s: %w", key, err)
	}
	for dir := path.Dir(key); dir != "." && d.root().Remove(dir) == nil; {
		dir = path.Dir(dir)
	}
	return nil
}

// missing says that there is nothing, or that a file stands where the key has a directory.
func missing(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
