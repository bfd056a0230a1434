package main

import (
	"syscall"
	"unsafe"
)

// echo returns what turns off, and on again, that a terminal shows what is typed; nil where nothing is typed on a terminal.
func echo(stream any) func(hidden bool) {
	if tty, _ := terminal(stream); !tty {
		return nil
	}
	fd := stream.(interface{ Fd() uintptr }).Fd()
	control := func(request uintptr, state *syscall.Termios) bool {
		_, _, errno := syscall.Syscall(syscall.SYS_IOCTL, fd, request, uintptr(unsafe.Pointer(state)))
		return errno == 0
	}
	return func(hidden bool) {
		var state syscall.Termios
		if !control(syscall.TCGETS, &state) {
			return
		}
		state.Lflag |= syscall.ECHO
		if hidden {
			state.Lflag &^= syscall.ECHO
		}
		control(syscall.TCSETS, &state)
	}
}
