//go:build !linux

package preflight

import (
	"net"
	"time"
)

func limited(*net.TCPConn) (time.Duration, bool) { return 0, false }
