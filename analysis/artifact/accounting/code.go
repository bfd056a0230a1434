package accounting

import (
	"strconv"
	"strings"
)

// Code is "status:signal" as sacct prints it.
type Code struct {
	Status, Signal int
	Known          bool
}

// Numbers that SLURM puts where a signal stands, though no process was sent one.
const (
	OutOfMemory = 125 // the kernel's out-of-memory killer struck in the step (SIG_OOM)
	NoOutput    = 53  // an output file could not be opened: "RaisedSignal:53"
)

func parseCode(s string) Code {
	a, b, ok := strings.Cut(strings.TrimSpace(s), ":")
	if !ok {
		return Code{}
	}
	status, err := strconv.Atoi(a)
	signal, err2 := strconv.Atoi(b)
	const most = 1 << 16
	if err != nil || err2 != nil || status < 0 || signal < 0 || status > most || signal > most {
		return Code{}
	}
	return Code{status, signal, true}
}

// DiedOf says by which signal a process ended, 0 if by none. The same death is written in several ways: 0:15 by a step whose
// task died of it, 143:0 by a shell that saw a child die of it (128 + 15), and 15:0 by sacct up to 25.05, which takes 128 off
// the status of the job, though not off the derived one: then 15 may as well be a program's own status, and sure is false.
func (c Code) DiedOf() (signal int, sure bool) {
	switch {
	case !c.Known:
		return 0, false
	case c.Signal != 0:
		return c.Signal & 0x7f, true
	case c.Status > 128 && signals[c.Status-128].name != "":
		return c.Status - 128, true
	case signals[c.Status].name != "":
		return c.Status, false
	}
	return 0, false
}

// signals are those that end jobs. Crash: only a fault of the process itself sends it.
var signals = map[int]struct {
	name  string
	crash bool
}{
	4: {"SIGILL", true}, 6: {"SIGABRT", false}, 7: {"SIGBUS", true}, 8: {"SIGFPE", true}, 9: {"SIGKILL", false}, 10: {"SIGUSR1", false},
	11: {"SIGSEGV", true}, 12: {"SIGUSR2", false}, 15: {"SIGTERM", false}, 24: {"SIGXCPU", false},
}

// Crash says that a signal is sent by nobody but the process's own fault, and names it.
func Crash(signal int) (name string, crash bool) {
	s := signals[signal]
	return s.name, s.crash
}

// Zero says that everything is known to have ended well.
func (c Code) Zero() bool { return c.Known && c.Status == 0 && c.Signal == 0 }
