package preflight

import (
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// limited is for how long the network held a connection up: data was under way, and the receiver had room. Neither a program that writes
// late nor one that reads late counts; on a busy machine both do.
func limited(c *net.TCPConn) (time.Duration, bool) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0, false
	}
	var info *unix.TCPInfo
	if raw.Control(func(fd uintptr) { info, err = unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO) }) != nil || err != nil {
		return 0, false
	}
	if info.Busy_time == 0 || info.Rwnd_limited > info.Busy_time {
		return 0, false
	}
	return time.Duration(info.Busy_time-info.Rwnd_limited) * time.Microsecond, true
}
