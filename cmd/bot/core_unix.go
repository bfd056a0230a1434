//go:build unix

package main

import (
	"fmt"
	"syscall"
)

// noCore keeps the kernel from writing the memory of this process, where typed tokens are, to the disk when it crashes.
func noCore() error {
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}); err != nil {
		return fmt.Errorf("disabling core files: %w", err)
	}
	return nil
}
