package stacks

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
)

// ErrOther says that a file holds none of what this package reads.
var ErrOther = errors.New("it holds no stack of a process")

// Read reads a file of any length. What is no stack in it is passed over.
func Read(ctx context.Context, in io.Reader) (*File, error) {
	b := bufio.NewReaderSize(in, 64<<10)
	head, err := b.Peek(4096)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, err
	}
	if isJSON(head) {
		return readJSON(ctx, b)
	}
	return readLines(ctx, b, newReader())
}

// ReadFrom reads what stands in a file from an offset on, which is in the line of that number.
func ReadFrom(ctx context.Context, in io.Reader, no, off int64) (*File, error) {
	r := newReader()
	r.no, r.after = no-1, off
	return readLines(ctx, bufio.NewReaderSize(in, 64<<10), r)
}

func readLines(ctx context.Context, b *bufio.Reader, r *reader) (*File, error) {
	for {
		l, err := r.next(b)
		if len(l) > 0 || err == nil {
			r.line(l)
		}
		if r.no%4096 == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if len(r.file.Stacks) == 0 {
				return nil, fmt.Errorf("it cannot be read to its end: %w", err)
			}
			break // what stands above the damage holds
		}
	}
	r.finish()
	if len(r.file.Stacks)+len(r.file.States) == 0 {
		return nil, ErrOther
	}
	return &r.file, nil
}

// reader takes a file line by line.
type reader struct {
	file    File
	streams map[line.Who]*stream
	names   line.Names
	plain   []byte
	buf     []byte

	no, off, after int64 // of the line at hand, and where the next one begins
	lines, known   int   // not empty ones, and of them those that belong to a dump
	frames         int
	strings        map[string]string
}

func newReader() *reader {
	return &reader{streams: map[line.Who]*stream{}, strings: map[string]string{}}
}

// stream is what one label in front of the lines tells apart.
type stream struct {
	open    bool
	cur     Stack
	threads []Thread
	group   []Stack // heads of threads that share the next one's frames, as people paste them
	head    header
	fresh   bool // the header was written since the last process
	list    *processes
	strange int // lines in a row that belong to no dump
}

// next reads a line, of which it keeps maxLine bytes.
func (r *reader) next(b *bufio.Reader) ([]byte, error) {
	r.off = r.after
	r.buf = r.buf[:0]
	for {
		part, err := b.ReadSlice('\n')
		r.after += int64(len(part))
		if room := maxLine - len(r.buf); room > 0 {
			r.buf = append(r.buf, part[:min(len(part), room)]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		r.no++
		return bytes.TrimSuffix(r.buf, []byte("\n")), err
	}
}

func (r *reader) line(raw []byte) {
	if r.off == r.after { // by Recognise, which needs no places
		r.no++
	}
	n := len(bytes.TrimRight(raw, "\r \t")) // terminals and web pages fill lines up with blanks
	raw = raw[:n]
	r.plain = line.StripANSI(r.plain, raw)
	text := bytes.TrimRight(r.plain, " \t")
	if len(text) == 0 {
		return
	}
	r.lines++
	pre := r.names.Parse(text)
	msg := string(text[pre.Len:])
	at := At{No: r.no, Off: r.off, Len: n, Who: pre.Who}
	key := pre.Who
	s := r.streams[key]
	if s == nil {
		if len(r.streams) >= maxStreams {
			return
		}
		s = &stream{head: noHeader()}
		r.streams[key] = s
	}
	if r.take(s, msg, at) {
		r.known++
		s.strange = 0
		return
	}
	s.strange++
	if s.strange > 3 {
		r.close(s)
	}
}

// take reads one line; ok is false for a line that belongs to no dump.
func (r *reader) take(s *stream, msg string, at At) bool {
	if s.list != nil {
		if st, ok := s.list.row(msg); ok {
			if len(r.file.States) < maxStates {
				st.At, st.Host = at, s.head.host
				r.file.States = append(r.file.States, st)
			}
			return true
		}
		s.list = nil
	}
	switch {
	case r.frame(s, msg, at), r.thread(s, msg, at), r.process(s, msg, at):
		return true
	}
	if p := listOf(msg); p != nil {
		r.close(s)
		s.list = p
		return true
	}
	if m := environOf(msg); m != nil {
		r.environ(s, m[1], m[2])
		return true
	}
	if pid, ok := lookedAt(msg); ok {
		r.close(s)
		s.head.pid, s.fresh = pid, true
		return true
	}
	if h, ok := headerOf(msg); ok {
		r.close(s)
		if h.host == "" {
			h.host = s.head.host
		}
		s.head, s.fresh = h, true
		return true
	}
	return false
}

// lookedAt is the process that a tool was told to look at, by the command above what it printed.
func lookedAt(msg string) (pid int, ok bool) {
	if len(msg) < 2 || len(msg) > maxText || msg[1] != ' ' {
		return 0, false
	}
	m := looksAt.FindStringSubmatch(msg)
	if m == nil {
		return 0, false
	}
	pid, err := strconv.Atoi(m[1])
	return pid, err == nil
}

// environOf reads NAME=value.
func environOf(msg string) []string {
	if i := strings.IndexByte(msg, '='); i < 0 || i > len("OMPI_COMM_WORLD_RANK") {
		return nil
	}
	return environ.FindStringSubmatch(msg)
}

func (r *reader) environ(s *stream, name, value string) {
	r.close(s)
	if !s.fresh {
		host := s.head.host
		s.head, s.fresh = noHeader(), true
		s.head.host = host
	}
	n, err := strconv.Atoi(value)
	switch {
	case name == "SLURMD_NODENAME" || name == "HOSTNAME":
		s.head.host = clip(value)
	case err != nil || n < 0:
	case name == "LOCAL_RANK":
		s.head.local = n
	case name == "SLURM_PROCID":
		s.head.task = n
	default:
		s.head.rank = n
	}
}

// openings are what the lines begin with that begin a process, and gdb's before it has one.
var openings = []string{"Process ", "Parent Process ", "Python v", "Fatal Python error: ", "Timeout (", "Extension modules: ", "Attaching to process ", "PID ", "["}

// mayBegin says that a line may be one of process, where none is open: most lines of a log are not, and the expressions take long.
func mayBegin(msg string) bool {
	return slices.ContainsFunc(openings, func(o string) bool { return strings.HasPrefix(msg, o) }) || strings.Contains(msg, "/stack")
}

// process reads lines that begin a process, and those that say more of one.
func (r *reader) process(s *stream, msg string, at At) bool {
	if !s.open && !mayBegin(msg) {
		return false
	}
	if m := spyProcess.FindStringSubmatch(msg); m != nil {
		r.close(s)
		r.begin(s, PySpy, at)
		s.cur.PID, _ = strconv.Atoi(m[1])
		s.cur.Command = clip(m[2])
		return true
	}
	if s.open && spyParent.MatchString(msg) {
		return true
	}
	if spyPython.MatchString(msg) {
		return s.open
	}
	if fhFatal.MatchString(msg) {
		r.close(s)
		r.begin(s, FaultHandler, at)
		return true
	}
	if fhModules.MatchString(msg) {
		r.close(s)
		return true
	}
	if m := gdbProcess.FindStringSubmatch(msg); m != nil {
		pid, _ := strconv.Atoi(m[1])
		if s.open && s.cur.Tool == GDB && s.cur.PID == 0 && msg[0] == '[' { // "[Inferior 1 (process 4242) detached]" stands below
			s.cur.PID = pid
			r.close(s)
			return true
		}
		if s.open && s.cur.Tool == GDB && s.cur.PID == pid {
			return true
		}
		r.close(s)
		if msg[0] != '[' {
			r.begin(s, GDB, at)
			s.cur.PID = pid
		}
		return true
	}
	if m := procStack.FindStringSubmatch(msg); m != nil && len(msg) < maxText {
		r.close(s)
		r.begin(s, Kernel, at)
		s.cur.PID, _ = strconv.Atoi(m[1])
		return true
	}
	return s.open && s.cur.Tool == GDB && gdbNoise.MatchString(msg) || !s.open && strings.HasPrefix(msg, "[") && gdbNoise.MatchString(msg)
}

// thread reads the head of a thread.
func (r *reader) thread(s *stream, msg string, at At) bool {
	if len(msg) < 6 || msg[0] != 'T' && msg[0] != 'C' {
		return false
	}
	if m := fhThread.FindStringSubmatch(msg); m != nil {
		current := m[1] != "Thread"
		if !s.open || s.cur.Tool != FaultHandler || r.again(s, m[2], current) {
			r.close(s)
			r.begin(s, FaultHandler, at)
		}
		r.add(s, Thread{ID: clip(m[2]), Name: clip(m[3]), Current: current, At: at})
		return true
	}
	if m := spyThread.FindStringSubmatch(msg); m != nil && (m[2] != "" || m[3] != "") {
		t := Thread{ID: clip(m[1]), Name: clip(m[3]), At: at}
		t.TID, _ = strconv.Atoi(m[1])
		switch m[2] {
		case "active", "idle":
			t.State = m[2]
		default:
			t.State = "active"
		}
		r.spyThread(s, t)
		return true
	}
	if m := gdbThread.FindStringSubmatch(msg); m != nil {
		if !s.open || s.cur.Tool != GDB || has(s.threads, m[1]) {
			r.close(s)
			r.begin(s, GDB, at)
		}
		t := Thread{ID: clip(m[1]), At: at}
		if n := gdbLWP.FindStringSubmatch(msg); n != nil {
			t.TID, _ = strconv.Atoi(n[1])
		}
		if n := gdbName.FindStringSubmatch(msg); n != nil {
			t.Name = clip(n[1])
		}
		r.add(s, t)
		return true
	}
	if r.outermostFirst(s, msg, at) {
		return true
	}
	if m := euThread.FindStringSubmatch(msg); m != nil {
		if !s.open || s.cur.Tool != GDB {
			r.close(s)
			r.begin(s, GDB, at)
		}
		t := Thread{ID: strconv.Itoa(len(s.threads) + 1), At: at}
		t.TID, _ = strconv.Atoi(m[1])
		r.add(s, t)
		return true
	}
	return false
}

// outermostFirst reads the head of a thread whose outermost call stands first.
func (r *reader) outermostFirst(s *stream, msg string, at At) bool {
	m := lastThread.FindStringSubmatch(msg)
	if m == nil {
		return false
	}
	if !s.open || s.cur.Tool != Traceback || has(s.threads, m[1]) {
		r.close(s)
		r.begin(s, Traceback, at)
	}
	t := Thread{ID: clip(m[1]), Name: clip(m[2]), At: at}
	t.TID, _ = strconv.Atoi(m[1])
	r.add(s, t)
	return true
}

// spyThread adds a thread of py-spy. Without the line that names the process each main thread is another one; heads in a row without
// frames are what people make of equal stacks.
func (r *reader) spyThread(s *stream, t Thread) {
	main := t.Name == "MainThread"
	bare := s.open && s.cur.Tool == PySpy && s.cur.Command == "" && len(s.threads) == 1 && s.threads[0].Name == "MainThread" && len(s.threads[0].Frames) == 0
	switch {
	case main && bare && s.threads[0].State == t.State && len(s.group) < maxThreads:
		s.cur.Thread = s.threads[0]
		s.group = append(s.group, s.cur)
		group := s.group
		s.open, s.threads = false, nil
		r.begin(s, PySpy, t.At)
		s.group = group
	case !s.open || s.cur.Tool != PySpy || main && hasName(s.threads, "MainThread"):
		r.close(s)
		r.begin(s, PySpy, t.At)
	}
	if main && s.cur.PID == 0 {
		s.cur.PID = t.TID
	}
	r.add(s, t)
}

// again says that the head of a thread cannot belong to the dump at hand.
func (r *reader) again(s *stream, id string, current bool) bool {
	for i := range s.threads {
		if s.threads[i].ID == id || current && s.threads[i].Current {
			return true
		}
	}
	return false
}

func has(threads []Thread, id string) bool {
	for i := range threads {
		if threads[i].ID == id {
			return true
		}
	}
	return false
}

func hasName(threads []Thread, name string) bool {
	for i := range threads {
		if threads[i].Name == name {
			return true
		}
	}
	return false
}

// frame reads one call of the thread at hand.
func (r *reader) frame(s *stream, msg string, at At) bool {
	var m []string
	if strings.HasPrefix(msg, "[<") {
		m = kernelFrame.FindStringSubmatch(msg)
	}
	if m != nil {
		if !s.open || s.cur.Tool != Kernel {
			r.close(s)
			r.begin(s, Kernel, at)
		}
		if len(s.threads) == 0 {
			r.add(s, Thread{ID: strconv.Itoa(s.cur.PID), TID: s.cur.PID, At: at})
		}
		return r.call(s, Frame{Func: clip(m[1]), Kernel: true, At: at})
	}
	if len(msg) > 1 && msg[0] == '#' {
		if m := gdbFrame.FindStringSubmatch(msg); m != nil && !(strings.Contains(msg, ".py:") && enqueued.MatchString(msg)) {
			r.gdbFrame(s, m[1], m[2], at)
			return true
		}
	}
	if !s.open || len(s.threads) == 0 && s.cur.Tool != GDB {
		return false
	}
	switch s.cur.Tool {
	case PySpy:
		if f, ok := spyFrameOf(msg); ok {
			f.At = at
			return r.call(s, f)
		}
		return spyLocals.MatchString(msg)
	case FaultHandler:
		if m := fhFrame.FindStringSubmatch(msg); m != nil {
			n, _ := strconv.Atoi(m[2])
			return r.call(s, Frame{Func: clip(m[3]), File: clip(m[1]), Line: n, At: at})
		}
		if m := fhNative.FindStringSubmatch(msg); m != nil { // below Python's frames; it tells of the same thread
			return true
		}
		return fhNothing.MatchString(msg)
	case GDB:
		if gdbPyBt.MatchString(msg) {
			if len(s.threads) == 0 || len(s.threads[len(s.threads)-1].Frames) > 0 && !s.threads[len(s.threads)-1].Frames[0].Native {
				r.add(s, Thread{ID: strconv.Itoa(len(s.threads) + 1), At: at})
			}
			return true
		}
		if m := gdbPyFrame.FindStringSubmatch(msg); m != nil && len(s.threads) > 0 {
			n, _ := strconv.Atoi(m[2])
			return r.call(s, Frame{Func: clip(m[3]), File: clip(m[1]), Line: n, At: at})
		}
		return len(msg) > 4 && msg[:4] == "    " // the source that py-bt prints under a frame
	case Traceback:
		if f, ok := lastFrameOf(msg); ok {
			f.At = at
			return r.call(s, f)
		}
		return strings.HasPrefix(msg, "    ") // the source under a frame
	case Kernel:
		return msg == "[<0>] 0xffffffffffffffff"
	}
	return false
}

// lastFrameOf reads a frame as Python's traceback module prints it, and pystack with the language in front and the library behind.
func lastFrameOf(msg string) (Frame, bool) {
	m := lastFrame.FindStringSubmatch(msg)
	if m == nil {
		return Frame{}, false
	}
	n, _ := strconv.Atoi(m[3])
	f := Frame{Func: clip(m[4]), File: clip(m[2]), Line: n, Native: m[1] != "" && m[1] != "Python" && m[1] != "Cython"}
	if f.Native && m[5] != "" {
		f.File = clip(m[5])
	}
	return f, true
}

func (r *reader) gdbFrame(s *stream, number, rest string, at At) {
	if !s.open || s.cur.Tool != GDB {
		r.close(s)
		r.begin(s, GDB, at)
	}
	n := len(s.threads)
	if number == "0" && n > 0 && len(s.threads[n-1].Frames) > 0 { // "bt" of another process, without any head
		r.close(s)
		r.begin(s, GDB, at)
		n = 0
	}
	if n == 0 {
		r.add(s, Thread{ID: "1", At: at})
	}
	f := nativeFrame(rest)
	f.At = at
	r.call(s, f)
}

func (r *reader) begin(s *stream, tool Tool, at At) {
	s.open, s.group = true, nil
	s.threads = s.threads[:0]
	s.cur = Stack{Tool: tool, PID: s.head.pid, Rank: s.head.rank, Local: s.head.local, Option: line.Unknown, Host: s.head.host, At: at}
	if s.head.task != line.Unknown && s.cur.At.Who.Task == line.Unknown {
		s.cur.At.Who.Task = s.head.task
	}
	s.fresh = false
}

func (r *reader) add(s *stream, t Thread) {
	if len(s.threads) < maxThreads {
		s.threads = append(s.threads, t)
	}
}

func (r *reader) call(s *stream, f Frame) bool {
	if n := len(s.threads); n > 0 {
		if t := &s.threads[n-1]; len(t.Frames) < maxFrames {
			f.Func, f.File = r.intern(f.Func), r.intern(f.File)
			t.Frames = append(t.Frames, f)
			r.frames++
		}
	}
	return true
}

// intern spares the room of the same names in a hundred thousand stacks.
func (r *reader) intern(s string) string {
	if old, ok := r.strings[s]; ok {
		return old
	}
	if len(r.strings) < 1<<16 {
		r.strings[s] = s
	}
	return s
}

// close ends the process at hand.
func (r *reader) close(s *stream) {
	if !s.open {
		return
	}
	s.open = false
	s.cur.options()
	if s.cur.Tool == Traceback {
		for i := range s.threads {
			slices.Reverse(s.threads[i].Frames)
		}
	}
	if !s.cur.settle(s.threads) {
		s.group = nil
		return
	}
	r.keep(s.cur)
	for _, g := range s.group {
		c := s.cur
		c.PID, c.At = g.PID, g.At
		c.Thread.ID, c.Thread.TID, c.Thread.At = g.Thread.ID, g.Thread.TID, g.Thread.At
		r.keep(c)
	}
	s.group = nil
}

func (r *reader) keep(s Stack) {
	if len(r.file.Stacks) >= maxStacks {
		r.file.Left++
		return
	}
	r.file.Stacks = append(r.file.Stacks, s)
}

// options reads the command line.
func (s *Stack) options() {
	if m := localOption.FindStringSubmatch(s.Command); m != nil && s.Local == line.Unknown {
		s.Local, _ = strconv.Atoi(m[1])
	}
	if m := rankOption.FindStringSubmatch(s.Command); m != nil {
		s.Option, _ = strconv.Atoi(m[1])
	}
}

func (r *reader) finish() {
	for _, s := range r.streams {
		r.close(s)
	}
	r.file.sort()
}
