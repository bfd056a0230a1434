package stacks

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/pattern"
)

// What lines look like, without the labels in front.
var (
	spyProcess = pattern.New(`^Process (\d{1,10}): (.*)$`)
	spyParent  = pattern.New(`^Parent Process (\d{1,10}): `)
	spyPython  = pattern.New(`^Python v\d+\.\d+\S* \(`)
	spyThread  = pattern.New(`^Thread (0[xX][0-9A-Fa-f]+|\d{1,20})(?: \((active|idle|active\+gil|gil)\))?(?:: "(.*)")?$`)
	spyFrame   = pattern.New(`^\s+(\S.*?) \(([^()]+?)(?::(\d{1,9}))?\)$`)
	spyLocals  = pattern.New(`^\s{8,}(?:Arguments:|Locals:|\S+: .*)$`)

	fhFatal   = pattern.New(`^(?:Fatal Python error: |Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!)`)
	fhThread  = pattern.New(`^(Current thread|Thread) (0x[0-9a-f]+)(?: \[(.*)\])? \(most recent call first\):$`)
	fhFrame   = pattern.New(`^\s*File "(.*)", line (\d{1,9}|\?\?\?) in (\S.*)$`)
	fhNative  = pattern.New(`^\s*Binary file "(.*)", at (?:(\S+?)\+)?0x[0-9a-f]+ \[0x[0-9a-f]+\]$`)
	fhNothing = pattern.New(`^\s*(?:<no Python frame>|Garbage-collecting|\.\.\.|<tstate is freed>|Current thread's C stack trace \(most recent call first\):|<cannot get C stack.*>)$`)
	fhModules = pattern.New(`^Extension modules: `)

	gdbThread = pattern.New(`^Thread (\d{1,6}) \((.*)\)(?: "[^"]*")?:$`)
	// A frame as PyTorch prints it for the call of a collective that failed: where it was enqueued, not where the process stands.
	enqueued   = pattern.New(` from \S.*\.py:\d+$`)
	gdbFrame   = pattern.New(`^#(\d{1,4})\s+(?:0x[0-9a-f]+ (?:in )?)?(\S.*)$`)
	gdbProcess = pattern.New(`^(?:Attaching to process |PID |\[Inferior \d+ \(process )(\d{1,10})`)
	gdbNoise   = pattern.New(`^(?:\[New LWP |\[Thread debugging|Using host libthread_db|warning: |0x[0-9a-f]+ in |\[Inferior |\[Current thread|\[Switching |Reading symbols|Missing separate|Detaching from)`)
	gdbLWP     = pattern.New(`(?:LWP|process) (\d{1,10})`)
	gdbName    = pattern.New(`"([^"]*)"`)
	gdbPython  = pattern.New(`for file (.{1,300}?), line (\d{1,9}), in (\S+) `)
	euThread   = pattern.New(`^TID (\d{1,10}):$`)
	gdbPyBt    = pattern.New(`^Traceback \(most recent call first\):$`)
	gdbPyFrame = pattern.New(`^\s*File "(.*)", line (\d{1,9}), in (\S+)`)

	// Frames from the outermost on: pystack, and what programs print of their threads by themselves.
	lastThread = pattern.New(`^(?:Traceback|Stack|Thread)\b(?: for)?(?: thread)?:? (\S{1,40})(?: \((.*?)\))?.*\(most recent call last\):$`)
	lastFrame  = pattern.New(`^\s*(?:\((Python|C|C\+\+|Cython|Native)\) )?File "(.*)", line (\d{1,9}), in (\S+)(?: \((.*)\))?$`)
	// A command that looks at one process.
	looksAt = pattern.New(`^[$#>%] (?:sudo )?(?:gdb|pstack|gstack|pystack|py-spy|eu-stack|jstack|lldb)\b.*?(?:\s|=)(\d{2,10})(?:\s|$)`)

	procStack   = pattern.New(`/proc/(\d{1,10})/(?:task/\d{1,10}/)?stack\b`)
	kernelFrame = pattern.New(`^\[<[0-9a-f]{1,16}>\] ([A-Za-z_][\w.]*)\+0x[0-9a-f]+/0x[0-9a-f]+`)

	stat = pattern.New(`^[DIRSTtXZ][<NLsl+]{0,6}$`)

	keyed     = pattern.New(`(?i)^\s*(?:global[_ ]?)?(?:rank|host|hostname|node|nodename|pid)[ =:#]+\S`)
	environ   = pattern.New(`^(RANK|LOCAL_RANK|OMPI_COMM_WORLD_RANK|PMI_RANK|SLURM_PROCID|SLURMD_NODENAME|HOSTNAME)=([\w.-]{1,100})$`)
	aRank     = pattern.New(`(?i)rank[ =:#_-]{0,3}(\d{1,6})\b`)
	aPID      = pattern.New(`(?i)\bpid[ =:#_-]{1,3}(\d{1,10})\b`)
	aHost     = pattern.New(`(?i)\b(?:host(?:name)?|node(?:name)?)[ =:]{1,3}([A-Za-z][A-Za-z0-9.-]{0,100})`)
	bareHost  = pattern.New(`^([A-Za-z][A-Za-z-]*\d[A-Za-z0-9.-]*)(?:\s|:|,|$)`)
	otherRank = pattern.New(`(?i)(?:local|node|group|role|machine|tp|dp|pp|ep|cp|sp|tensor|pipeline|data|expert|lora|parallel)[ _-]?$`)

	localOption = pattern.New(`--local[_-]rank[= ](\d{1,5})\b`)
	rankOption  = pattern.New(`\s--rank[= ](\d{1,6})\b`)
)

// longestOther is more bytes than otherRank can match: it is slow in a long text.
const longestOther = 16

// header is what a collector writes above a dump.
type header struct {
	rank, local, task, pid int
	host                   string
}

func noHeader() header {
	return header{rank: line.Unknown, local: line.Unknown, task: line.Unknown}
}

// headerOf reads "==== node07 rank 12 ====", "### host=node07 pid=4242", "Rank 12:"; ok is false for a line that states none of
// rank, process and host.
func headerOf(text string) (h header, ok bool) {
	h = noHeader()
	const longest = 200 // bytes: a bar is no header, and the expressions take long for it
	if len(text) > longest {
		return h, false
	}
	// What both expressions begin with.
	if t := strings.TrimLeft(text, "\t\n\f\r "); t == "" || strings.IndexByte("=#-*>+[grhnpGRHNP", t[0]) < 0 {
		return h, false
	}
	// What the others look for, and how a bare host begins.
	lower := strings.ToLower(text)
	ranked, process, hosted := keys(lower, "rank"), keys(lower, "pid"), keys(lower, "host") || keys(lower, "node")
	if !ranked && !process && !hosted {
		if t := strings.TrimLeft(text, "\t\n\f\r =#-*>+["); t == "" || !letter(t[0]) {
			return h, false
		}
	}
	inner, framed := decorated(text)
	if !framed && !begins(lower, "global", "rank", "host", "node", "pid") {
		return h, false
	}
	switch {
	case framed:
		text = inner
		if b := bareHost.FindStringSubmatch(text); b != nil && !strings.HasPrefix(strings.ToLower(b[1]), "rank") && !strings.HasPrefix(strings.ToLower(b[1]), "pid") {
			h.host, ok = b[1], true
		}
	case !keyed.MatchString(text):
		return h, false
	}
	for _, at := range found(ranked, aRank, text) {
		n, _ := strconv.Atoi(text[at[2]:at[3]])
		before := text[max(at[0]-longestOther, 0):at[0]]
		switch {
		case strings.HasSuffix(strings.TrimRight(strings.ToLower(before), " _-"), "local"):
			h.local, ok = n, true
		case otherRank.MatchString(before):
		default:
			h.rank, ok = n, true
		}
	}
	if process {
		if p := aPID.FindStringSubmatch(text); p != nil {
			h.pid, _ = strconv.Atoi(p[1])
			ok = true
		}
	}
	if hosted {
		if n := aHost.FindStringSubmatch(text); n != nil {
			h.host, ok = n[1], true
		}
	}
	return h, ok
}

// keys says that a word of a text in lower case may be the key of a value: a blank, a mark or a number stands behind it.
func keys(lower, word string) bool {
	for rest := lower; ; {
		i := strings.Index(rest, word)
		if i < 0 {
			return false
		}
		rest = strings.TrimPrefix(rest[i+len(word):], "name")
		if rest != "" && (strings.IndexByte(" =:#_-", rest[0]) >= 0 || ascii.Digit(rest[0])) {
			return true
		}
	}
}

// decorated is what stands in "==== text ====", "### text", "[text]:" and the like.
func decorated(text string) (inner string, ok bool) {
	const blanks = "\t\n\f\r "
	t := strings.TrimLeft(text, blanks)
	switch {
	case t == "":
		return "", false
	case t[0] == '[':
		t = t[1:]
	case strings.IndexByte("=#-*>+", t[0]) < 0:
		return "", false
	default:
		rest := strings.TrimLeft(t, t[:1])
		if len(t)-len(rest) < 2 && t[0] != '#' {
			return "", false
		}
		t = rest
	}
	t = strings.TrimSuffix(strings.TrimLeft(t, blanks), ":")
	if t == "" {
		return "", true
	}
	switch c := t[len(t)-1]; {
	case c == ']':
		t = t[:len(t)-1]
	case strings.IndexByte("=#-*<+", c) >= 0:
		if rest := strings.TrimRight(t, string(c)); len(t)-len(rest) >= 2 {
			t = rest
			if c == '=' {
				t = strings.TrimSuffix(t, "<") // "<=="
			}
		}
	}
	return strings.TrimRight(t, blanks), true
}

// begins says that behind blanks a text begins with one of some words.
func begins(text string, words ...string) bool {
	text = strings.TrimLeft(text, "\t\n\f\r ")
	return slices.ContainsFunc(words, func(w string) bool { return strings.HasPrefix(text, w) })
}

func letter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// found is where a pattern matches, if it may at all.
func found(may bool, p *pattern.Regexp, text string) [][]int {
	if !may {
		return nil
	}
	return p.FindAllStringSubmatchIndex(text, 4)
}

// nativeFrame reads a frame of gdb or eu-stack behind its number and address.
func nativeFrame(rest string) Frame {
	if m := gdbPython.FindStringSubmatch(rest); m != nil {
		n, _ := strconv.Atoi(m[2])
		return Frame{Func: clip(m[3]), File: clip(m[1]), Line: n}
	}
	f := Frame{Native: true}
	if i := strings.LastIndex(rest, " from "); i >= 0 {
		f.File, rest = rest[i+len(" from "):], rest[:i]
	} else if i := strings.LastIndex(rest, " at "); i >= 0 {
		f.File, rest = rest[i+len(" at "):], rest[:i]
		if file, n, ok := cutLine(f.File); ok {
			f.File, f.Line = file, n
		}
	} else if fn, lib, ok := strings.Cut(rest, " - "); ok {
		f.File, rest = lib, fn
	}
	// "name (arguments)"; in a template or a conversion the name may hold blanks and parentheses of its own.
	if i := strings.Index(rest, " ("); i > 0 {
		rest = rest[:i]
	}
	f.Func, f.File = clip(strings.TrimSpace(rest)), clip(strings.TrimSpace(f.File))
	return f
}

func cutLine(s string) (file string, n int, ok bool) {
	i := strings.LastIndexByte(s, ':')
	if i < 0 {
		return s, 0, false
	}
	n, err := strconv.Atoi(s[i+1:])
	return s[:i], n, err == nil
}

func clip(s string) string {
	if len(s) > maxText {
		s = s[:maxText]
	}
	return strings.Clone(strings.ToValidUTF8(s, "?"))
}

// spyFrameOf reads "    all_reduce (torch/distributed/distributed_c10d.py:2219)".
func spyFrameOf(text string) (Frame, bool) {
	m := spyFrame.FindStringSubmatch(text)
	if m == nil {
		return Frame{}, false
	}
	n, _ := strconv.Atoi(m[3])
	f := Frame{Func: clip(m[1]), File: clip(m[2]), Line: n}
	f.Native = native(f.File)
	return f, true
}

// native says that a file is no Python: py-spy --native gives libraries, and sources of C.
func native(file string) bool {
	b := base(file)
	if strings.HasSuffix(b, ".py") || strings.HasPrefix(b, "<") || strings.HasSuffix(b, ".pyx") || strings.HasSuffix(b, ".pyc") {
		return false
	}
	for _, s := range []string{".so", ".c", ".cc", ".cpp", ".cu", ".h", ".hpp", ".cuh", ".S", ".rs"} {
		if strings.HasSuffix(b, s) || s == ".so" && strings.Contains(b, ".so.") {
			return true
		}
	}
	return ascii.Begins(b, "libc10", "python3")
}

// processes is the layout of a list by ps: where its columns are.
type processes struct {
	pid, stat, command int
}

// listOf reads the head of a list: it holds PID, STAT or S, and a command at its end.
func listOf(text string) *processes {
	if !strings.Contains(text, "PID") {
		return nil
	}
	cols := strings.Fields(text)
	p := processes{-1, -1, -1}
	for i, c := range cols {
		switch c {
		case "PID":
			p.pid = i
		case "STAT", "S":
			p.stat = i
		case "COMMAND", "CMD":
			p.command = i
		}
	}
	if p.pid < 0 || p.stat < 0 || p.command != len(cols)-1 {
		return nil
	}
	return &p
}

func (p *processes) row(text string) (State, bool) {
	f := strings.Fields(text)
	if len(f) <= p.command {
		return State{}, false
	}
	pid, err := strconv.Atoi(f[p.pid])
	if err != nil || pid <= 0 || !stat.MatchString(f[p.stat]) {
		return State{}, false
	}
	return State{PID: pid, Stat: strings.Clone(f[p.stat]), Command: clip(strings.Join(f[p.command:], " "))}, true
}

// begun is what some line of every dump holds: most logs have none of it, and need not be read line by line.
var begun = []string{"Thread ", "most recent call first", "most recent call last", "#0", "#1", "TID ", "[<", "PID"}

func holds(text []byte, marks ...string) bool {
	for _, m := range marks {
		if bytes.Contains(text, []byte(m)) {
			return true
		}
	}
	return false
}

// Recognise says that a file begins as one of this kind: most of its first lines belong to stacks or to a list of processes. A log
// that quotes one does not.
func Recognise(head []byte) bool {
	known, lines, ok := made(head)
	return ok && 10*known >= 6*lines
}

// Only says that a whole text is stacks and nothing beside them but what their tools print: no log of a process, whose silence would
// tell something. The stacks of a crash stand in such a log.
func Only(text []byte) bool {
	known, lines, ok := made(text)
	return ok && !bytes.Contains(text, []byte("Fatal Python error")) && (lines-known <= 2 || 10*known >= 9*lines)
}

// made counts the lines of a text and those of them that are of stacks; ok is false where it holds none.
func made(head []byte) (known, lines int, ok bool) {
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	if isJSON(head) {
		return 1, 1, true
	}
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 && len(head) >= HeadLen-1 {
		head = head[:i]
	}
	if !holds(head, begun...) {
		return 0, 0, false
	}
	r := newReader()
	left := bytes.Count(head, []byte("\n")) + 1 // lines at most
	for len(head) > 0 && 10*(r.known+left) >= 6*(r.lines+left) {
		l, rest, _ := bytes.Cut(head, []byte("\n"))
		r.line(l)
		head = rest
		left--
	}
	r.finish()
	return r.known, r.lines, r.frames > 0 && len(r.file.Stacks) > 0 || len(r.file.States) > 0
}

// Pasted says that stacks stand somewhere in a text.
func Pasted(text []byte) bool {
	if !holds(text, "(most recent call first):", `"MainThread"`, "\n#0 ", "\n#1 ", "[<0>] ", " STAT ", `"thread_id"`) {
		return false
	}
	f, err := Read(context.Background(), bytes.NewReader(text))
	return err == nil && len(f.Stacks)+len(f.States) > 0
}
