//go:build unix

package preflight

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// segments bounds how many bytes a connection sends in one packet; to be set before it connects.
func segments(most int) func(network, address string, c syscall.RawConn) error {
	return func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_MAXSEG, most) })
		if err != nil {
			return err
		}
		return failed
	}
}

// limits reads what the kernel lets this process do.
func limits(f *Facts) {
	read := func(what int) int64 {
		var l unix.Rlimit
		if unix.Getrlimit(what, &l) != nil {
			return 0
		}
		if l.Cur >= 1<<62 { // RLIM_INFINITY of any system
			return -1
		}
		return int64(l.Cur)
	}
	f.OpenFiles, f.Locked = read(unix.RLIMIT_NOFILE), read(unix.RLIMIT_MEMLOCK)
	var u unix.Utsname
	if unix.Uname(&u) == nil {
		f.Kernel = unix.ByteSliceToString(u.Release[:])
	}
}

// room is the size of the file system of a path and what is free of it, in bytes; 0 where it cannot be told.
func room(path string) (all, free int64) {
	var s unix.Statfs_t
	if unix.Statfs(path, &s) != nil {
		return 0, 0
	}
	return int64(s.Blocks) * int64(s.Bsize), int64(s.Bavail) * int64(s.Bsize) //nolint:unconvert // other systems have other types
}
