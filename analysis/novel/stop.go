package novel

import (
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/ascii"
	"faultline/pattern"
)

// openers are what the first lines of tracebacks, panics and native stacks hold, in any language.
var openers = []string{"Traceback (most recent call last)", "panic: ", "fatal error: ", "panicked at", "Exception in thread", "Unhandled exception", "Uncaught ", "uncaught exception",
	"terminate called", "Assertion", "assertion", "Check failed", "CHECK failed", "ERROR: LoadError", "stack traceback:", "Process received signal", "Caught signal",
	"Fatal Python error", "Fatal error: exception", "forrtl: severe", "Fortran runtime error", "SIGSEGV", "SIGABRT", "SIGBUS", "Segmentation fault", "Error in ", "Error using ", "CallStack (from HasCallStack)",
	"AddressSanitizer", "Error: ", "Exception: ", "Exception\n", "*** Error", "** (", "PHP Fatal", "invalid __"}

func opens(text string) bool {
	for _, o := range openers {
		if strings.Contains(text, o) {
			return true
		}
	}
	return strings.HasSuffix(text, "Error") || strings.HasSuffix(text, "Exception")
}

// block are the lines from an opener on.
type block struct {
	opener *Kind
	lines  []string
	at     []Place
}

// add takes a line and says that the block has all it may have.
func (b *block) add(text string, at Place) bool {
	b.lines, b.at = append(b.lines, text), append(b.at, at)
	return len(b.lines) >= stopLines
}

// frameForm is how one runtime prints a frame of a stack. The named groups are file, line and func.
type frameForm struct {
	runtime string
	re      *pattern.Regexp
	inner   bool // the innermost frame comes first
	above   bool // the function stands in the line above
	source  bool // the line of code stands in the line below
}

var frameForms = [...]frameForm{
	{"Python", pattern.New(`^\W*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<func>\S+))?`), false, false, true},
	{"Go", pattern.New(`^\s+(?P<file>/?[^\s:]+\.go):(?P<line>\d+)(?: \+0x[0-9a-f]+)?$`), true, true, false},
	{"Rust", pattern.New(`^\s+at (?P<file>[^\s:]+\.rs):(?P<line>\d+)`), true, true, false},
	{"JVM", pattern.New(`^\s+at (?P<func>[\w$.<>/]+)\((?P<file>[\w$]+\.(?:java|scala|kt|groovy)):(?P<line>\d+)\)`), true, false, false},
	{".NET", pattern.New(`^\s+at (?P<func>[^(]+)\([^)]*\) in (?P<file>.+):line (?P<line>\d+)`), true, false, false},
	{"JavaScript", pattern.New(`^\s+at (?:(?P<func>[^(]+) \()?(?:file://)?(?P<file>[^\s()]+\.[cm]?[jt]s):(?P<line>\d+):\d+\)?`), true, false, false},
	{"native", pattern.New(`^\s*#\d+\s+(?:0x[0-9a-f]+ (?:in )?)?(?P<func>[^\s(]+).*?(?: at | )(?P<file>[^\s:()]+\.(?:c|cc|cpp|cxx|cu|cuh|h|hpp|f90|F90|f|rs)):(?P<line>\d+)`), true, false, false},
	{"Julia", pattern.New(`^\s+@ (?:[\w.]+ )?(?P<file>\S+\.jl):(?P<line>\d+)`), true, true, false},
	{"Ruby", pattern.New("^\\s*(?:from )?(?P<file>\\S+\\.rb):(?P<line>\\d+):in [`'](?P<func>[^']+)'"), true, false, false},
	{"Lua", pattern.New(`^\s*(?P<file>\S+\.lua):(?P<line>\d+): in (?:function |field |local )?(?P<func>.*)`), true, false, false},
	{"OCaml", pattern.New(`^(?:Raised|Called from) .*file "(?P<file>[^"]+)".*line (?P<line>\d+)`), true, false, false},
	{"Perl", pattern.New(` at (?P<file>\S+\.p[lm]) line (?P<line>\d+)`), true, false, false},
	{"PHP", pattern.New(` in (?P<file>\S+\.php)(?: on line |:)(?P<line>\d+)`), true, false, false},
	{"Fortran", pattern.New(`At line (?P<line>\d+) of file (?P<file>\S+)`), true, false, false},
	{"C", pattern.New(`(?P<file>[\w./-]+\.(?:c|cc|cpp|cxx|cu|cuh|h|hpp)):(?P<line>\d+)(?::|\]| )(?: ?(?P<func>[\w:~<>]+).*Assertion)?`), true, false, false},
	{"Haskell", pattern.New(`called at (?P<file>\S+\.hs):(?P<line>\d+)`), true, false, false},
}

// cause is how one runtime names what ended the program. The named groups are type and message; either may be missing.
type cause struct {
	re   *pattern.Regexp
	last bool // of several the last one is the root: the cause of a chain
	next bool // the message is the next line
}

var causes = []cause{
	{re: pattern.New(`thread '[^']*'(?: \(\d+\))? (?P<type>panicked) at '(?P<message>.*)'`)},
	{re: pattern.New(`thread '[^']*'(?: \(\d+\))? (?P<type>panicked) at \S+:\d+:\d+:$`), next: true},
	{re: pattern.New(`^(?:.*\s)?(?P<type>panic|fatal error): (?P<message>.+)`)},
	{re: pattern.New(`what\(\):\s+(?P<message>.+)`)},
	{re: pattern.New(`(?P<type>Assertion) [` + "`" + `'"](?P<message>.+)['"] failed`)},
	{re: pattern.New(`(?P<type>[Cc]heck failed|CHECK failed): (?P<message>.+)`)},
	{re: pattern.New(`^Caused by: (?P<type>[\w$.]+)(?:: (?P<message>.*))?$`), last: true},
	{re: pattern.New(`Exception in thread "[^"]*" (?P<type>[\w$.]+)(?:: (?P<message>.*))?$`)},
	{re: pattern.New(`^Unhandled exception\. (?P<type>[\w$.]+)(?:: (?P<message>.*))?$`)},
	{re: pattern.New(`^ERROR: LoadError: (?P<message>.+)`)},
	{re: pattern.New(`(?P<type>forrtl: severe) \(\d+\): (?P<message>.+)`)},
	{re: pattern.New(`(?P<type>Fortran runtime error): (?P<message>.+)`)},
	{re: pattern.New(`(?P<type>Fatal Python error): (?P<message>.+)`)},
	{re: pattern.New(`Fatal error: exception (?P<type>\w[\w.]*)(?:\((?P<message>.*)\))?`)},
	{re: pattern.New(`^(?P<type>Error) (?:in|using) (?P<message>.+)`)},
	{re: pattern.New(`PHP (?P<type>Fatal error):\s+(?P<message>.+)`)},
	{re: pattern.New(`(?P<type>AddressSanitizer|ThreadSanitizer): (?P<message>.+)`)},
	{re: pattern.New(`(?P<type>(?:[Ff]atal|[Cc]aught|[Pp]rocess received) [Ss]ignal):? (?P<message>.+)`)},
	{re: pattern.New(`(?P<type>Invalid __\w+__ \w+) (?P<message>.+)`)},
	{re: pattern.New(`^(?:\[[^\]]*\]:? ?|\S+ )?(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Failure|Fault|Exit|Warning))(?:: (?P<message>.*))?$`), last: true},
}

// framesAt and causesAt tell which forms a line may have: most lines have none, and there are many.
var (
	framesAt = pattern.NewSet(expressions(frameForms[:], func(f *frameForm) *pattern.Regexp { return f.re })...)
	causesAt = pattern.NewSet(expressions(causes, func(c *cause) *pattern.Regexp { return c.re })...)
)

func expressions[T any](list []T, of func(*T) *pattern.Regexp) []*pattern.Regexp {
	out := make([]*pattern.Regexp, len(list))
	for i := range list {
		out[i] = of(&list[i])
	}
	return out
}

// parse reads a block; nil where it holds neither a cause nor a stack.
func (b *block) parse() *Stop {
	whole := *b
	end := b.extent()
	if end < len(b.lines) {
		b.lines, b.at = b.lines[:end], b.at[:end]
	}
	s := &Stop{From: b.at[0], Opening: b.lines[0]}
	if !b.cause(s) {
		return nil
	}
	b.frame(s)
	if s.Message == "" {
		whole.table(end, s)
	}
	return s
}

// tabled is a row of an aligned table that names a process or a place: "  rank      : 44 (local_rank: 0)".
var tabled = pattern.New(`^(rank|worker|task|process|host|node|hostname) *: +\S`)

// table takes for the message of an exception that has none the row below it that names a rank, else the first that names a place: launchers
// report so who of their processes failed.
func (b *block) table(from int, s *Stop) {
	for i := from; i < len(b.lines); i++ {
		text := strings.TrimSpace(Message(b.lines[i]))
		row := tabled.FindStringSubmatch(text)
		if row == nil || s.Message != "" && row[1] != "rank" {
			continue
		}
		if s.Message, s.At, s.Text = text, b.at[i], b.lines[i]; row[1] == "rank" {
			return
		}
	}
}

// extent is where the block ends: behind the final line of a Python traceback, else with the last line that looks like part of a stack.
func (b *block) extent() int {
	last, framed := 0, false
	for i, l := range b.lines {
		switch {
		case i == 0, strings.HasPrefix(strings.TrimSpace(l), "File \""), framedLine(l):
			last, framed = i, framed || i > 0
		case strings.HasPrefix(l, " ") || strings.HasPrefix(l, "\t"), l == "":
			if i-last > 6 {
				return last + 1
			}
		case causedLine(l):
			last = i
			if framed && strings.Contains(b.lines[0], "Traceback") {
				return i + 1
			}
		case i-last > 4:
			return last + 1
		}
	}
	return min(last+3, len(b.lines))
}

func framedLine(l string) bool {
	if !namesPlace(l) {
		return false
	}
	for may := framesAt.May(l); may != 0; may &= may - 1 {
		if frameForms[bits.TrailingZeros64(may)].re.MatchString(l) {
			return true
		}
	}
	return false
}

// namesPlace reports whether a line may hold a frame: each names a line of a file, as "line 7" or behind the end of the file's name.
func namesPlace(l string) bool {
	for i := 1; i+1 < len(l); i++ {
		if l[i] == ':' && (ascii.Letter(l[i-1]) || l[i-1] == '0') && ascii.Digit(l[i+1]) { // .f90:7
			return true
		}
	}
	return strings.Contains(l, "line ")
}

func causedLine(l string) bool {
	for may := causesAt.May(l); may != 0; may &= may - 1 {
		if causes[bits.TrailingZeros64(may)].re.MatchString(l) {
			return true
		}
	}
	return false
}

func (b *block) cause(s *Stop) bool {
	may := make([]uint64, len(b.lines))
	for i, l := range b.lines {
		may[i] = causesAt.May(l)
	}
	for k, c := range causes {
		found := false
		for i, l := range b.lines {
			if may[i]>>k&1 == 0 {
				continue
			}
			m := c.re.FindStringSubmatch(l)
			if m == nil || b.warns(group(c.re, m, "type")) {
				continue
			}
			s.Type, s.Message, s.At, s.Text = group(c.re, m, "type"), strings.TrimSpace(group(c.re, m, "message")), b.at[i], l
			if c.next && i+1 < len(b.lines) {
				s.Message, s.At, s.Text = strings.TrimSpace(b.lines[i+1]), b.at[i+1], b.lines[i+1]
			}
			if found = true; !c.last {
				break
			}
		}
		if found {
			return true
		}
	}
	return false
}

// warns says that a cause is a warning that was printed, not raised.
func (b *block) warns(kind string) bool {
	return strings.HasSuffix(kind, "Warning") && !strings.Contains(b.lines[0], "Traceback")
}

// frame finds the innermost frame of the user's own code, else the innermost of all.
func (b *block) frame(s *Stop) {
	var places [len(frameForms)][]int
	for i, l := range b.lines {
		if !namesPlace(l) {
			continue
		}
		for may := framesAt.May(l); may != 0; may &= may - 1 {
			form := bits.TrailingZeros64(may)
			places[form] = append(places[form], i)
		}
	}
	for i := range frameForms {
		if f := b.innermost(&frameForms[i], places[i]); f != nil {
			s.Frame = *f
			return
		}
	}
}

// innermost is the frame of one form that is nearest to the failure, of the user's own code if there is any; nil where none of the places is one.
func (b *block) innermost(form *frameForm, places []int) *Frame {
	var own, any *Frame
	for _, i := range places {
		f := b.frameAt(form, i)
		if f == nil {
			continue
		}
		if any == nil || !form.inner {
			any = f
		}
		if users(f) && (own == nil || !form.inner) {
			own = f
		}
	}
	if own != nil {
		return own
	}
	return any
}

// frameAt is the frame that a line holds; nil where it holds none of the form.
func (b *block) frameAt(form *frameForm, i int) *Frame {
	m := form.re.FindStringSubmatch(b.lines[i])
	if m == nil {
		return nil
	}
	f := &Frame{File: group(form.re, m, "file"), Func: strings.TrimSpace(group(form.re, m, "func")), At: b.at[i]}
	f.Line, _ = strconv.Atoi(group(form.re, m, "line"))
	if form.above && i > 0 {
		f.Func = function(b.lines[i-1])
	}
	if form.source && i+1 < len(b.lines) {
		f.Source = code(b.lines[i+1])
	}
	return f
}

func group(re *pattern.Regexp, m []string, name string) string {
	if i := re.SubexpIndex(name); i >= 0 {
		return m[i]
	}
	return ""
}

// function is the name in a line like "main.load(0xc000012, …)" or " [1] load(x::Int)" or "  3: train::load".
func function(l string) string {
	l = strings.TrimSpace(l)
	if i := strings.IndexAny(l, "]:"); i > 0 && i < 5 {
		l = strings.TrimSpace(l[i+1:])
	}
	if i := strings.LastIndex(l, "("); i > 0 {
		l = l[:i]
	}
	return l
}

// code is the line of source below a frame; carets that point into it are none.
func code(l string) string {
	l = strings.TrimSpace(l)
	if strings.Trim(l, "^~ ") == "" || strings.HasPrefix(l, "File \"") {
		return ""
	}
	return l
}

// foreign are what the paths and names of frames hold that belong to libraries and runtimes.
var foreign = []string{"site-packages/", "dist-packages/", "/lib/python", "<frozen", "<string>", "/usr/lib", "/usr/include", "/usr/local/go/src", "node_modules/", "node:internal", "/rustc/",
	"/stdlib/", "/.julia/packages/", "/gems/", "/vendor/", "/.cargo/registry/", "/libc", "/csrc/", "/aten/src", "/c10/", "/go/pkg/mod/", "/library/std/", "/library/core/", "/runtime/", "./lib/", "/opt/conda/lib"}

// foreignNames begin the names of functions of runtimes.
var foreignNames = []string{"runtime.", "java.", "javax.", "sun.", "jdk.", "scala.", "kotlin.", "org.apache.", "std::", "core::", "System.", "Microsoft.", "__GI_", "c10::", "at::", "torch::", "google::"}

// enders are functions of runtimes that only carry out an end.
var enders = []string{"raise", "abort", "panic", "rust_begin_unwind"}

func users(f *Frame) bool {
	inside := func(p string) bool { return strings.Contains(f.File, p) }
	begins := func(p string) bool { return strings.HasPrefix(f.Func, p) }
	return !slices.ContainsFunc(foreign, inside) && !slices.ContainsFunc(foreignNames, begins) && !slices.Contains(enders, f.Func)
}

// Says is the stop in a sentence: its message, else the code that raised it, and where that stands.
func (s *Stop) Says() string {
	what := s.Type
	switch {
	case s.Message != "" && what != "":
		what += ": " + s.Message
	case s.Message != "":
		what = s.Message
	case s.Frame.Source != "":
		what += ": " + s.Frame.Source
	}
	if s.Frame.File == "" {
		return what
	}
	what += " at " + base(s.Frame.File) + ":" + strconv.Itoa(s.Frame.Line)
	if s.Frame.Func != "" {
		what += " in " + s.Frame.Func
	}
	return what
}

func base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }
