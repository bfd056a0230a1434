package gate

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// dirMode holds a directory that may be searched; it need not be readable.
const dirMode = unix.O_PATH | unix.O_DIRECTORY | unix.O_CLOEXEC

// holdMode holds a file without opening it.
const holdMode = unix.O_PATH | unix.O_CLOEXEC

// openStraight opens a path on which there is no link; ELOOP where there is one, another error where the kernel knows no such call.
func openStraight(name string, flags int) (fd int, err error) {
	how := unix.OpenHow{Flags: uint64(flags), Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS}
	for {
		fd, err = unix.Openat2(unix.AT_FDCWD, name, &how)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}

// hold takes hold of a name in a directory, whatever it is, without opening it; of a link it says where it leads.
func hold(dir *os.File, name string) (held, string, error) {
	fd, err := openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC)
	if err != nil {
		return held{}, "", err
	}
	f := os.NewFile(uintptr(fd), path.Join(dir.Name(), name))
	info, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return held{}, "", err
	}
	target := ""
	if info.Mode()&fs.ModeSymlink != 0 {
		if target, err = readlink(fd); err != nil {
			_ = f.Close()
			return held{}, "", err
		}
	}
	return held{f, info}, target, nil
}

// readlink says where the link leads that a descriptor holds.
func readlink(fd int) (string, error) {
	for size := 256; ; size *= 2 {
		b := make([]byte, size)
		n, err := unix.Readlinkat(fd, "", b)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return "", err
		case n < size:
			return string(b[:n]), nil
		}
	}
}
