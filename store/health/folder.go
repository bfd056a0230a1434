//go:build unix

package health

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

const (
	// probeFile is written and removed. It begins with a dot: no one takes it for content.
	probeFile = ".probe"
	// probeBytes are written: a quota that is used up may still have room for a byte.
	probeBytes = 64 << 10
	// leastBytes and leastFiles must be left, or a fiftieth of a file system that is small.
	leastBytes = 64 << 20
	leastFiles = 64
	fiftieth   = 50
	// leastSize is how long files must be allowed to be: one of a few MB is reached by the store itself.
	leastSize = 1 << 30
)

// Folder is the check of a folder that the bot writes to, and of those within, which are made where they are missing.
func Folder(name, dir string, within ...string) Check {
	return Check{
		Name: name, Cannot: "store files",
		Probe: func(context.Context) error {
			err := probe(dir)
			for _, sub := range within {
				sub = filepath.Join(dir, sub)
				if err == nil {
					err = os.MkdirAll(sub, 0o700)
				}
				if err == nil {
					err = write(filepath.Join(sub, probeFile))
				}
			}
			return err
		},
		Mend: func(context.Context) error { return remake(dir) },
		Room: func() (Room, error) { return room(dir) },
	}
}

// probe says why dir cannot be written to, or will not be for long.
func probe(dir string) error {
	st, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !st.IsDir() {
		return fmt.Errorf("%s is a file: %w", dir, syscall.ENOTDIR)
	}
	if err := space(dir); err != nil {
		return err
	}
	return write(filepath.Join(dir, probeFile))
}

// write writes a file and removes it.
func write(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, probeBytes))
	return errors.Join(err, f.Close(), os.Remove(name))
}

// space says what is running out.
func space(dir string) error {
	var lim syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &lim); err == nil && lim.Cur < leastSize {
		return fmt.Errorf("files may have only %d bytes (ulimit -f; LimitFSIZE): %w", lim.Cur, syscall.EFBIG)
	}
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return fmt.Errorf("asking for the room left in %s: %w", dir, err)
	}
	size := uint64(st.Bsize)
	free, total := st.Bavail*size, st.Blocks*size
	if least := min(leastBytes, total/fiftieth); total > 0 && free < least {
		return fmt.Errorf("only %d bytes are free in %s, less than %d: %w", free, dir, least, syscall.ENOSPC)
	}
	// File systems without a table of files say 0.
	if least := min(leastFiles, st.Files/fiftieth); st.Files > 0 && st.Ffree < least {
		return fmt.Errorf("only %d more files fit into %s, less than %d (inodes): %w", st.Ffree, dir, least, syscall.ENOSPC)
	}
	return nil
}

func room(dir string) (Room, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(dir, &st); err != nil {
		return Room{}, err
	}
	return Room{st.Bavail * uint64(st.Bsize), st.Ffree, st.Files > 0}, nil
}

// remake makes a folder that is gone.
func remake(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return ErrLeft
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("recreating %s: %w", dir, err)
	}
	return nil
}
