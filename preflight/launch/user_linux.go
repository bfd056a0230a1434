package launch

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// sameUser refuses what another user of the node says.
func sameUser(conn net.Conn) error {
	raw, err := conn.(*net.UnixConn).SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	if e := raw.Control(func(fd uintptr) { cred, err = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); e != nil || err != nil {
		return errors.Join(e, err)
	}
	if int(cred.Uid) != os.Getuid() {
		return errors.New("it belongs to another user")
	}
	return nil
}
