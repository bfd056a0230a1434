// Package stacks reads what processes were doing at an instant: dumps of py-spy (text and JSON), of Python's faulthandler, of gdb,
// pstack and eu-stack, /proc/PID/stack, and lists of processes by ps. Many dumps may stand in one file, in one after the other or
// line by line with labels of launchers in front.
//
// Formats: pystack's report and threads that print where they are by Python's traceback module; py-spy src/dump.rs and src/stack_trace.rs (0.3 … 0.4); CPython Python/traceback.c and Modules/faulthandler.c (3.8 …
// 3.14); gdb "thread apply all bt" and "py-bt" (8 … 16); elfutils' eu-stack; Linux fs/proc/base.c (/proc/PID/stack, wchan).
package stacks

import (
	"faultline/analysis/line"
)

// Limits of what is held of one file.
const (
	// HeadLen is how much of a file Recognise wants to see.
	HeadLen = 16 << 10

	maxStacks  = 1 << 18
	maxStates  = 1 << 14
	maxThreads = 4096 // of one process
	maxFrames  = 512  // of one thread while it is read
	keptFrames = 24   // of the thread that decides
	maxText    = 300
	maxLine    = 16 << 10
	maxStreams = 1 << 14 // labels in one file
	maxJSON    = 64 << 20
)

// Tool is what made a dump.
type Tool string

// The tools.
const (
	PySpy        Tool = "py-spy"
	FaultHandler Tool = "faulthandler"
	GDB          Tool = "gdb"
	Kernel       Tool = "/proc/PID/stack"
	Traceback    Tool = "traceback" // the outermost call first, as pystack prints it, too
)

// At is where a fact stands: Len bytes from offset Off on, in line No, with what the labels in front of it state.
type At struct {
	No, Off int64
	Len     int
	Who     line.Who
}

// Frame is one call.
type Frame struct {
	Func string
	File string // as the tool shortens it; a library for native frames; "" unknown
	Line int    // 0 unknown
	// Native is true of calls outside of Python, Kernel of calls in the kernel.
	Native, Kernel bool
	At             At
}

// Thread is one thread of a process, the innermost call first.
type Thread struct {
	ID, Name string
	TID      int    // of the operating system; 0 unknown
	State    string // "active", "idle"; "" not stated
	Current  bool   // faulthandler: the one that caused the dump
	Frames   []Frame
	At       At
}

// Stack is what one dump says of one process.
type Stack struct {
	Tool    Tool
	PID     int // 0 unknown
	Command string
	// Rank, Local and Host are what a header above it or the command states; line.Unknown and "" if nothing does. Option is the N
	// of a "--rank N" in the command, which may mean something else.
	Rank, Local, Option int
	Host                string
	Kind                Kind
	Threads             int
	// Thread is the one that decides what the process is about, with the innermost of its calls.
	Thread Thread
	Place  Place
	Op     string // the collective, "" for other places
	// Named is the index of the frame that tells the place, User of the innermost one of the job's own code; −1: none.
	Named, User int
	// Same is equal where all calls of the thread are.
	Same uint64
	At   At
}

// State is one process in a list.
type State struct {
	PID     int
	Stat    string // "Dl"
	Command string
	Host    string
	At      At
}

// Sleeps says that the process is in uninterruptible sleep.
func (s *State) Sleeps() bool { return len(s.Stat) > 0 && s.Stat[0] == 'D' }

// File is what one file holds.
type File struct {
	Stacks []Stack
	States []State
	// Left counts processes beyond what is held.
	Left int
}
