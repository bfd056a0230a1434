//go:build unix

package store

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lockFile makes the file ours until the process ends, however it ends.
func lockFile(path string) (release func() error, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		who := "another process"
		if b, err := os.ReadFile(path); err == nil && len(b) > 0 {
			who = "process " + strings.TrimSpace(string(b))
		}
		return nil, errors.Join(fmt.Errorf("%s has it open, and a SQLite file serves only one bot: stop that bot, or use PostgreSQL for several", who), f.Close())
	}
	if err == nil {
		err = f.Truncate(0)
	}
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), f.Close())
	}
	// The file stays: a lock on a removed file would be no lock. Given up by name, the lock is gone even while a process that is just being
	// started still holds the open file.
	return func() error { return errors.Join(syscall.Flock(int(f.Fd()), syscall.LOCK_UN), f.Close()) }, nil
}
