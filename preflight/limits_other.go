//go:build !unix

package preflight

import (
	"errors"
	"syscall"
)

func segments(int) func(network, address string, c syscall.RawConn) error {
	return func(string, string, syscall.RawConn) error { return errors.ErrUnsupported }
}

func limits(*Facts) {}

func room(string) (all, free int64) { return 0, 0 }
