//go:build !linux

package gate

import (
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// dirMode opens a directory, which has to be readable here.
const dirMode = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC

const holdMode = 0

// openStraight is not possible here: every path is walked.
func openStraight(string, int) (int, error) { return -1, unix.ENOSYS }

// hold looks at a name in a directory; of a link it says where it leads. Nothing can be held here without being opened: whoever opens it
// compares. What is exchanged and put back in between is not noticed, so a bot that serves people belongs on Linux.
func hold(dir *os.File, name string) (held, string, error) {
	at := path.Join(dir.Name(), name)
	info, err := os.Lstat(at)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return held{info: info}, "", err
	}
	target, err := os.Readlink(at)
	return held{info: info}, target, err
}
