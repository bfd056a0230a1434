package novel

import (
	"faultline/analysis/line"
	"faultline/knowledge/severity"
)

// Bounds of one file.
const (
	chunk        = 256 << 10
	mostKinds    = 8 << 10 // shapes that are kept; beyond, only what sounds bad is
	mostBad      = 1 << 10 // of those beyond
	mostText     = 400     // bytes of a line that are kept
	mostQuoted   = 1200    // bytes of a line that a quotation holds
	mostLine     = 4 << 10 // bytes of a line that are looked at
	mostStops    = 32
	stopLines    = 80 // lines of a traceback, panic or stack
	lastLines    = 3
	mostBelow    = 64      // lines, all of a few shapes, that may follow one of the last
	nextLines    = 2       // behind the last step
	fewEach      = 4       // writers of a shape that are told apart
	manyEach     = 64      // of one that sounds bad: who does not print it may matter
	mostSpoken   = 4 << 10 // lines of one that sounds bad whose writers are looked for
	introduction = 64      // bytes of a message in which it may name its writer
	around       = 64      // KiB behind the last step that are read whatever the budget is
)

// Options say what is known of a file before it is read.
type Options struct {
	// LastStep is the offset of the file's last step line, −1 where it has none, and StepLine its number.
	LastStep, StepLine int64
	// Size is how many bytes the content has, Lines how many lines; Budget how many bytes are looked at, 0 = all. Of more, the beginning and
	// the end count, and what follows the last step.
	Size, Lines, Budget int64
	// Skip passes over bytes of the source without reading them.
	Skip func(n int64) error
}

// Place is where a line stands.
type Place struct {
	Line, Off int64
	Len       int
	Stamp     line.Stamp // of the record that the line stands in
}

// Kind is one shape of lines in one file.
type Kind struct {
	Text   string // of the line that is quoted: the first one, or the first after the last step
	At     Place  // of that line
	N      int64  // lines of it
	After  int64  // of them behind the file's last step
	Sign   severity.Sign
	Who    []*line.Who // its writers, as far as they are told apart: one of each in a file
	Crowd  bool        // more lines of it came than writers are told apart in
	Last   int         // 1 for the file's last line, 2 for the one before, …; 0 none of the last
	Next   int         // 1 for the first line behind the last step, …; 0 none of them
	Ends   bool        // the line that is quoted is itself the one that Last counts
	Boxed  bool        // it stands in a record of a container's runtime or a structured logger
	Stop   *Stop       // the traceback, panic or stack that it opens
	first  Place
	firsts []Place // of each writer, where the shape sounds bad
	until  int64   // offset of the newest line
	// spoken is where each rank that lines state for their writers printed the shape first, where it sounds bad; nameless: some state none.
	spoken   map[int]Place
	nameless bool
	saying
	outcome
	frame bool // a frame of a Python traceback
	mute  bool // it tells nobody anything by itself
}

// File is what was read of one file.
type File struct {
	Name    string
	Kinds   []*Kind // in the order of their first lines
	Lines   int64
	Size    int64
	Stepped bool  // it has step lines
	Skipped int64 // bytes that were not looked at
	Binary  bool  // it is no text: bytes of 0 stand in it
	Crowded bool  // it has more shapes than are kept: what is rare is not known
}

// Stop is how a program of any language says that it cannot go on: an exception, a panic, an abort, with the innermost frame of its stack
// that is the user's own code.
type Stop struct {
	From    Place  // its first line
	Opening string // the text of that line
	Type    string // "AssertionError", "panic", "java.io.IOException"
	Message string // "" where the program gives none
	Frame   Frame
	// At is where the message stands, else the type.
	At   Place
	Text string // of that line
}

// Frame is a place in source code; File is "" where none is known.
type Frame struct {
	File   string
	Line   int
	Func   string
	Source string // the line of code, where the stack has it
	At     Place
}

// outcome is what became of the call that a line warns of.
type outcome int

const (
	unheard  outcome = iota // nothing tells
	endured                 // its thread went on with something else
	returned                // it failed, and its error was handed on
)

// saying is what a line of NCCL is, by the shape of it.
type saying int

const (
	other  saying = iota
	warns         // "host:pid:tid [dev] file.cc:line NCCL WARN …"
	hands         // "host:pid:tid [dev] NCCL INFO file.cc:line -> N"
	speaks        // any other line of a thread of NCCL
)
