package worker

import (
	"bytes"
	"slices"
	"strings"

	"faultline/analysis/line"
	"faultline/knowledge"
	"faultline/pattern"
)

// Python tracebacks, re-assembled per writer. Python's printer writes line by line, so blocks of several processes that
// share a file without prefixes alternate; then frames belong to nobody in particular, and only the final lines count.

const (
	maxFrames = 200
	maxChain  = 16
	// maxTraceLines is how far a block may stretch: deep frames with source and caret lines, several writers at once.
	maxTraceLines = 2000
	// maxOrphan is how far a block may stretch whose header was not seen.
	maxOrphan = 400
	// orphanGap is how far apart its lines may stand. Logs hold many stray frames: whatever follows each is looked at.
	orphanGap = 4
	// maxMessageLines is how many lines after the final line may belong to its message (NCCL's error block has six).
	maxMessageLines = 16
	maxMatched      = 8 << 10
	// maxAbortLines is how far "what():" may be from "terminate called" where several processes abort at once.
	maxAbortLines = 64
)

func tracebackHandlers() []handler {
	return []handler{
		{"traceback", []string{tracebackHeader}, readTraceback},
		{"frame", []string{frameLiteral}, readOrphan},
		{"final line", []string{"Error: ", "Exception: "}, readBareFinal},
		{"ignored exception", []string{ignoredHead, loggingHead}, readIgnored},
		{"Hydra", []string{"Error in call to target '", "Error in creating partial("}, readHydra},
		{"C++ exception", []string{"terminate called "}, readTerminate},
		{"Python fatal", []string{"Fatal Python error: "}, readFatal},
	}
}

const tracebackHeader = "Traceback (most recent call last)"

// checkpointRank ends the header of a traceback that torch.distributed.checkpoint carried over from another rank.
const checkpointRank = tracebackHeader + ": (RANK "

// ignoredHead begins what Python prints of exceptions that nobody can catch, in __del__ and the like (CPython's
// PyErr_WriteUnraisable; "in: …", from 3.14 "while …"): the program goes on.
const ignoredHead = "Exception ignored "

// loggingHead stands above what Python's logging raised of a line that it could not write (CPython's logging.Handler.handleError): the
// line is lost, and the program goes on.
const loggingHead = "--- Logging error ---"

// ignoredFar is how many lines below its head such an exception begins at most, beside those of the other heads that are open: several
// writers may share a file.
const ignoredFar = 2

func readIgnored(r *reader, rec *record) bool {
	if head := ungrouped(rec.Msg); own(rec) || !bytes.HasPrefix(head, []byte(ignoredHead)) && !bytes.HasPrefix(head, []byte(loggingHead)) {
		return false
	}
	if r.ignoredWho != rec.Who || r.lineNo-r.ignoredAt > ignoredFar+int64(r.ignoredN) {
		r.ignoredWho, r.ignoredN = rec.Who, 0
	}
	r.does |= other
	r.ignoredAt = r.lineNo
	r.ignoredN++
	return true
}

// warns says that the traceback that begins in rec stands right below a warning of its writer: so a logger prints the exception that it
// was given.
func (r *reader) warns(rec *record) bool {
	above := r.withoutANSI(r.lineAbove())
	if own(rec) || len(above) == 0 {
		return false
	}
	above = above[bytes.LastIndexByte(bytes.TrimRight(above, "\r"), '\r')+1:]
	var pre line.Prefix
	r.names.ParseInto(&pre, above)
	return pre.Who == rec.Who && (pre.Severity == 'W' || bytes.HasPrefix(above[min(pre.Len, len(above)):], []byte("WARNING:")))
}

// ignores says that what begins in rec stands below such a head of its writer. Each head speaks of one exception.
func (r *reader) ignores(rec *record) bool {
	if r.ignoredN == 0 || r.ignoredWho != rec.Who || r.lineNo-r.ignoredAt > ignoredFar+int64(r.ignoredN) {
		return false
	}
	r.ignoredN--
	r.ignoredAt = r.lineNo
	return true
}

// trace is a traceback that is being read: a chain of blocks, each of which ends with "Type: message".
type trace struct {
	who line.Who
	// chain holds the finished blocks in the order printed. original is the index of the block whose message holds what comes
	// after it, another process's own traceback: DataLoader's "Caught … in DataLoader worker process N.", DCP's
	// "CheckpointException ranks:dict_keys([3])"; −1.
	chain    []Exception
	original int
	cur      Exception // the block being read
	inside   bool
	matched  []byte // final lines and their continuations: what signatures are looked for in
	below    []below
	after    int  // lines since the final line
	direct   bool // the next block is raised from the last one
	open     int  // headers without a final line, where blocks are torn
	torn     bool
	// stamped: every line of this writer seems to carry a header, so that one ends nothing.
	stamped bool
	budget  int
	storm   *storm // of final lines like this one, if there is an account of them
	silent  bool   // one of too many: it only takes its lines
	orphan  bool   // its header was not seen
	// label is what a collector that no prefix is known of put in front of the header; labelled: a frame bore it as well.
	label    []byte
	labelled bool
	indent   int  // how far in the header stood, with nothing in front of it: one program quotes what another printed
	ignored  bool // Python says above it that it goes on
	warned   bool // a logger told it as a warning
	between  bool // another writer's record stood since the final line
}

// below is where a line that continues a message stands, and from where on in matched.
type below struct {
	at   At
	from int
}

func readTraceback(r *reader, rec *record) bool {
	if rec.Taken {
		return true
	}
	t := &trace{who: rec.Who, stamped: own(rec), original: -1, budget: maxTraceLines, ignored: r.ignores(rec)}
	t.label = bytes.Clone(labelOf(rec))
	t.begin(r, rec)
	t.warned = r.warns(rec)
	r.trace(rec, maxTraceLines, t.next)
	return true
}

func (t *trace) begin(r *reader, rec *record) {
	r.twins.begun = t
	t.cur = Exception{At: rec.At, Begin: rec.Pos, LoaderWorker: line.Unknown, From: t.direct}
	t.inside, t.direct, t.indent = true, false, 0
	t.open++
	b := ungrouped(rec.Msg)
	if bare := bytes.TrimLeft(b, " "); bytes.HasPrefix(bare, []byte(tracebackHeader)) {
		t.indent = len(b) - len(bare)
	}
}

// next is the follower of a traceback.
func (t *trace) next(r *reader, rec *record) verdict {
	if rec == nil {
		t.flush(r)
		return ended
	}
	b, same := t.message(rec)
	blank := len(bytes.TrimSpace(b)) == 0
	// PyTorch's excepthook prefixes every line but the empty ones; another prefix is another writer.
	if !same && !blank {
		t.between = t.between || own(rec)
		return pass
	}
	if t.budget--; t.budget < 0 {
		t.flush(r)
		return ended
	}
	switch {
	case bytes.Contains(b, []byte(tracebackHeader)):
		return t.header(r, rec, b)
	case t.inside:
		return t.body(r, rec, b)
	default:
		return t.tail(r, rec, b, blank)
	}
}

// message is the record without its prefix, and whether it is of the block's writer. A type with a digit in it
// ("urllib3.exceptions.MaxRetryError: ") has the form of a host in front of a line; here it is none unless the header
// had one.
func (t *trace) message(rec *record) (b []byte, same bool) {
	who := rec.Who
	b = rec.Msg
	if t.label != nil {
		rest, ok := withoutLabel(rec.Text, t.label)
		if ok && !t.labelled {
			_, t.labelled = pyFrame(ungrouped(rest))
		}
		switch {
		case ok && t.labelled:
			return ungrouped(rest), compatible(&who, &t.who)
		case t.labelled:
			return b, false // of another container
		case !ok && labelOf(rec) != nil:
			return b, false
		}
		if _, ok := pyFrame(ungrouped(b)); ok {
			t.label = nil // it was the end of another line
		}
	}
	if who.Host != "" && t.who.Host == "" {
		if i := bytes.LastIndex(rec.Text[:len(rec.Text)-len(b)], []byte(who.Host+": ")); i >= 0 {
			b = rec.Text[i:]
			who.Host = ""
		}
	}
	b = ungrouped(b)
	if n := t.indent; n > 0 && len(b) > n && len(bytes.TrimLeft(b[:n], " ")) == 0 {
		b = b[n:]
	}
	return b, who == t.who
}

// labelOf is what stands in front of the header of a traceback and is no prefix that line knows, with all in front of it; nil
// where the header begins the message. It may be a collector's label (the name of a pod, of a container), or just text.
func labelOf(rec *record) []byte {
	i := bytes.Index(rec.Text, []byte(tracebackHeader))
	if from := len(rec.Text) - len(rec.Msg); i <= from || i > maxLabel || len(bytes.TrimSpace(ungrouped(rec.Text[from:i]))) == 0 {
		return nil
	}
	return rec.Text[:i]
}

// maxLabel is how long the labels of a line may be.
const maxLabel = 256

// withoutLabel is text without the label of another line. Stamps within may differ, and the blanks at its end may be missing in
// front of nothing.
func withoutLabel(text, label []byte) ([]byte, bool) {
	bare := bytes.TrimRight(label, " \t")
	i, k := 0, 0
	for k < len(bare) {
		if k == 0 || !isWord(bare[k-1]) {
			_, n := line.ParseStamp(bare[k:])
			_, m := line.ParseStamp(text[i:min(len(text), i+maxStamp)])
			if n > 0 && m > 0 {
				k, i = k+n, i+m
				continue
			}
		}
		if i >= len(text) || text[i] != bare[k] {
			return nil, false
		}
		i, k = i+1, k+1
	}
	rest := text[i:]
	if len(bytes.TrimSpace(rest)) == 0 {
		return nil, true
	}
	return bytes.CutPrefix(rest, label[len(bare):])
}

// maxStamp is how long a stamp may be.
const maxStamp = 48

// header takes another "Traceback (most recent call last):".
func (t *trace) header(r *reader, rec *record, b []byte) verdict {
	t.orphan = false
	ignored := r.ignores(rec)
	switch {
	case t.inside && !t.torn:
		// A second header before the first block ended: two writers.
		t.torn = true
		t.ignored = t.ignored && ignored
		t.open++
	case t.torn:
		t.ignored = t.ignored && ignored
		t.open++
	case len(t.chain) > 0 && (bytes.Contains(b, []byte("Original Traceback")) && t.original < 0 || bytes.Contains(b, []byte(checkpointRank))):
		if t.original < 0 {
			t.original = len(t.chain) - 1
		}
		t.begin(r, rec)
	case t.linked():
		t.begin(r, rec)
	default:
		// A new traceback of the same writer.
		t.flush(r)
		t.begin(r, rec)
		t.ignored, t.warned = ignored, r.warns(rec)
		t.budget, r.longer = maxTraceLines, maxTraceLines
	}
	t.after = 0
	return taken
}

// linked reports whether the last line seen after a final line says that the next block belongs to the chain.
func (t *trace) linked() bool { return t.after < 0 && len(t.chain) < maxChain }

// body takes a line between the header and the final line.
func (t *trace) body(r *reader, rec *record, b []byte) verdict {
	if t.orphan && indented(b) {
		r.longer = orphanGap
	}
	if f, ok := pyFrame(b); ok {
		if !t.torn && len(t.cur.Frames) < maxFrames {
			t.cur.Frames = append(t.cur.Frames, f)
		}
		return taken
	}
	if own(rec) && !t.stamped {
		if t.orphan {
			return ended
		}
		return pass // a record of a logger amid the block
	}
	typ, msg, ok := finalLine(b)
	if !ok && !t.orphan && len(t.cur.Frames) > 0 && bareClass.Match(b) {
		typ, ok = b, true
	}
	if ok && len(msg) == 0 && !exceptionName(typ) && bytes.IndexByte(typ, '.') < 0 {
		return pass // Python prints no colon where there is no message: it heads a list ("Failures:")
	}
	if t.orphan && !indented(b) && !(ok && exceptionName(typ)) {
		return ended // a stack that was printed for another reason
	}
	if !ok || continuation(b) {
		if ok || indented(b) || chainMarker(b) {
			return taken
		}
		return pass
	}
	e := t.cur
	e.At, e.Type, e.Message = rec.At, clip(typ), clip(msg)
	e.LoaderWorker = loaderWorker(msg)
	if t.orphan {
		r.longer = maxMessageLines // what was raised is known now, and its message may go on
	}
	if !t.torn {
		t.chain = append(t.chain, e)
		t.inside, t.after, t.open, t.between = false, 0, 0, false
		t.keep(b)
		return taken
	}
	// Torn: which frames led here cannot be known.
	e.Frames, e.Begin, e.Torn = nil, Pos{}, true
	e.Signs = r.table.known.Match(nil, b)
	if !t.ignored {
		emit(r, &r.obs.Exceptions, e)
	}
	if t.open--; t.open <= 0 {
		t.inside, t.torn = false, false
		t.chain, t.matched, t.below = nil, nil, nil
		t.after = 0
	}
	return taken
}

// tail takes a line after a final line: the rest of its message, or what leads to the next block of the chain.
func (t *trace) tail(r *reader, rec *record, b []byte, blank bool) verdict {
	if chainMarker(b) {
		t.after = -3 // the header follows after a blank line
		t.direct = bytes.HasPrefix(b, []byte(directCause))
		return taken
	}
	t.after++
	switch {
	case blank:
		if t.after < 0 || t.after <= maxMessageLines {
			return taken
		}
	case t.after < 0:
		return taken
	case own(rec) && !t.stamped, t.after > maxMessageLines:
	case len(t.chain) == 0:
		// After torn blocks only another header is of interest.
		return pass
	default:
		more := t.announced() || t.states(b)
		if _, _, ok := finalLine(b); ok && !more && !continuation(b) {
			break
		}
		if continuation(b) && t.between && !bytes.Contains(t.matched, []byte("NCCL")) {
			break // of a message of that record's, which PyTorch goes on with below without its label
		}
		if _, ok := pyFrame(b); ok || endsMessage(b) || isBar(b) {
			break
		}
		if last := &t.chain[len(t.chain)-1]; more {
			last.Message = clip([]byte(last.Message + " " + string(bytes.TrimSpace(b))))
		}
		if len(t.matched) < maxMatched {
			t.below = append(t.below, below{rec.At, len(t.matched)})
		}
		t.keep(b)
		if s := t.storm; s != nil && !s.telling && s.n <= stormFull {
			s.telling = alarming(rec, true) || s.n <= stormFull/4 && len(r.table.known.Match(nil, rec.Text)) > 0
		}
		return taken
	}
	t.flush(r)
	return ended
}

// announced says that what was raised stands in this line, the first below one that ends with a colon: "backend='inductor'
// raised:", "Error(s) in loading state_dict for GPT:".
func (t *trace) announced() bool {
	return t.after == 1 && strings.HasSuffix(t.chain[len(t.chain)-1].Message, ":")
}

// labels stand in front of what Ray states of a process that is gone, a line each below the exception (python/ray/exceptions.py, ActorDiedError).
var labels = [][]byte{[]byte("pid: "), []byte("name: "), []byte("ip: ")}

// states says that a line tells which process an exception of Ray's is about.
func (t *trace) states(b []byte) bool {
	rest := bytes.TrimLeft(b, " \t")
	return len(rest) < len(b) && strings.HasPrefix(t.chain[len(t.chain)-1].Type, "ray.exceptions.") &&
		slices.ContainsFunc(labels, func(l []byte) bool { return bytes.HasPrefix(rest, l) })
}

// keep remembers text for the signatures.
func (t *trace) keep(b []byte) {
	if n := maxMatched - len(t.matched); n > 0 {
		t.matched = append(append(t.matched, b[:min(len(b), n)]...), '\n')
	}
}

// flush emits the chain as one exception.
func (t *trace) flush(r *reader) {
	chain := t.chain
	if t.inside && !t.torn && !t.orphan && len(t.cur.Frames) > 0 {
		// The final line is missing: cut file, or a writer that was killed. The frames still say where it was.
		chain = append(chain, t.cur)
	}
	if n := len(chain); n > 0 && !t.silent && !t.ignored && !survived(chain[n-1].Frames) {
		e := chain[n-1]
		cause := chain[:n-1]
		if o := t.original; o >= 0 && o < n-1 {
			// The worker's own traceback is printed inside the message of the one that reports it.
			e = chain[o]
			cause = append(append([]Exception(nil), chain[o+1:]...), chain[:o]...)
		}
		if len(cause) > 0 {
			e.Cause = append([]Exception(nil), cause...)
		}
		e.Warned = t.warned
		r.raise(t, &e)
	}
	t.chain, t.matched, t.below, t.original = nil, nil, nil, -1
	t.inside, t.torn, t.open, t.after, t.direct = false, false, 0, 0, false
	t.cur = Exception{}
}

// survived says that what such frames end with is printed and the program goes on: the cleaning up of multiprocessing at the
// end of a program (a file of NFS that is still open cannot be removed), its thread that hands descriptors to processes that
// may have ended, and torchrun, which waits for the other nodes only when its own workers have ended and leaves with their
// result whether or not the node that keeps the store is still there (PyTorch torch/distributed/elastic/agent/server/api.py,
// 1.9 on).
func survived(frames []Frame) bool {
	if len(frames) == 0 {
		return false
	}
	f := frames[0]
	return f.Func == "_run_finalizers" && strings.HasSuffix(f.File, "multiprocessing/util.py") ||
		f.Func == "_serve" && strings.HasSuffix(f.File, "multiprocessing/resource_sharer.py") ||
		f.Func == "_exit_barrier" && strings.HasSuffix(f.File, "distributed/elastic/agent/server/api.py")
}

// told finds the lines of a message that hold what its first line does not: NCCL's reason stands last, under "Last error:".
func (t *trace) told(entries *knowledge.Catalogue, signs []knowledge.ID) []Told {
	if len(t.below) == 0 || len(signs) == 0 {
		return nil
	}
	known := entries.Match(nil, t.matched[:t.below[0].from])
	for _, e := range t.chain[1:] {
		known = entries.Match(known, []byte(e.Type+": "+e.Message))
	}
	var out []Told
	for _, b := range t.below {
		l, _, _ := bytes.Cut(t.matched[b.from:], []byte("\n"))
		for _, id := range entries.Match(nil, l) {
			if !slices.Contains(known, id) && slices.Contains(signs, id) {
				known = append(known, id)
				out = append(out, Told{At: b.at, ID: id, Text: clip(bytes.TrimSpace(l))})
			}
		}
	}
	return out
}

// own reports whether a record has a header of its own (stamp, source, severity): then it is no part of a message.
func own(rec *record) bool {
	return rec.Prefix.Source != "" || rec.Prefix.Severity != 0 || rec.Prefix.Stamp.Kind != line.NoStamp && rec.Prefix.Stamp.Emitter != line.Collector
}

func indented(b []byte) bool {
	return len(b) == 0 || b[0] == ' ' || b[0] == '\t'
}

// ungrouped removes the rulers of exception groups (Python 3.11): "  | ", "  +-+---------------- 1 ----------------".
func ungrouped(b []byte) []byte {
	i := 0
	for i < len(b) && b[i] == ' ' {
		i++
	}
	if i+1 < len(b) && i > 0 && i%2 == 0 && (b[i] == '|' || b[i] == '+') && (b[i+1] == ' ' || b[i+1] == '-') {
		return b[i+2:]
	}
	return b
}

const directCause = "The above exception was the direct cause of the following"

func chainMarker(b []byte) bool {
	return bytes.HasPrefix(b, []byte(directCause)) ||
		bytes.HasPrefix(b, []byte("During handling of the above exception, another"))
}

// pyFrame reads `  File "/path/f.py", line 12, in forward`; faulthandler leaves out the second comma.
func pyFrame(b []byte) (Frame, bool) {
	b = bytes.TrimLeft(b, " \t")
	if bytes.HasPrefix(b, []byte("│")) {
		return richFrame(b)
	}
	if !bytes.HasPrefix(b, []byte(`File "`)) {
		return Frame{}, false
	}
	b = b[len(`File "`):]
	i := bytes.Index(b, []byte(`", line `))
	if i < 0 {
		return Frame{}, false
	}
	v, rest := intAfterRest(b[i:], `", line `)
	if rest == nil || v < 0 || v > 1<<31 {
		return Frame{}, false
	}
	f := Frame{File: clip(b[:i]), Line: int(v)}
	if in, ok := bytes.CutPrefix(bytes.TrimPrefix(rest, []byte(",")), []byte(" in ")); ok {
		f.Func = clip(bytes.TrimSpace(in))
	}
	return f, true
}

// richFrame reads "│ /path/f.py:12 in forward        │", a frame in the box that the rich library draws.
func richFrame(b []byte) (Frame, bool) {
	b = bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(bytes.TrimPrefix(b, []byte("│"))), []byte("│")))
	path, fn, ok := bytes.Cut(b, []byte(" in "))
	c := bytes.LastIndexByte(path, ':')
	if !ok || c <= 0 || bytes.ContainsAny(path, " ❱") {
		return Frame{}, false
	}
	v, n := intAt(path[c+1:])
	if n == 0 || c+1+n != len(path) || v < 0 || v > 1<<31 {
		return Frame{}, false
	}
	return Frame{File: clip(path[:c]), Line: int(v), Func: clip(fn)}, true
}

func (e *Exception) size() int {
	n := len(e.Type) + len(e.Message) + framesSize(e.Frames) + framesSize(e.Main)
	for _, l := range e.Told {
		n += len(l.Text) + 200
	}
	for i := range e.Cause {
		n += e.Cause[i].size()
	}
	return n
}

func framesSize(frames []Frame) int {
	n := 0
	for _, f := range frames {
		n += len(f.File) + len(f.Func) + 40
	}
	return n
}

// finalLine reads "torch.OutOfMemoryError: CUDA out of memory.", "KeyboardInterrupt", "SystemExit: 1" at the margin.
func finalLine(b []byte) (typ, msg []byte, ok bool) {
	n, last := 0, 0
	for n < len(b) && (isWord(b[n]) || b[n] == '.' && n > 0 && n+1 < len(b) && isWord(b[n+1])) {
		if b[n] == '.' {
			last = n + 1
		}
		n++
	}
	if n == 0 || b[0] >= '0' && b[0] <= '9' || n > 256 {
		return nil, nil, false
	}
	typ = b[:n]
	name := typ[last:]
	rest := bytes.TrimRight(b[n:], " \t")
	switch {
	case len(rest) == 0:
		// Without message the type must look like one: a lone word may be anything.
		return typ, nil, exceptionName(name)
	case rest[0] != ':' || len(rest) > 1 && rest[1] != ' ':
		return nil, nil, false
	case last == 0 && !exceptionName(name) && (name[0] < 'A' || name[0] > 'Z'):
		return nil, nil, false
	}
	return typ, bytes.TrimSpace(rest[1:]), true
}

// bareClass is a line with nothing but the name of a class with its module, as Python prints an exception of its own name without a
// message: "_queue.Empty", "__main__.Halt".
var bareClass = pattern.New(`^(?:[A-Za-z_]\w*\.)+[A-Z]\w*$`)

// finalLine reads the record's message as one, once.
func (rec *record) finalLine() (typ, msg []byte, ok bool) {
	f := &rec.final
	if !f.read {
		f.read = true
		f.typ, f.msg, f.ok = finalLine(rec.Msg)
	}
	return f.typ, f.msg, f.ok
}

func exceptionName(name []byte) bool {
	for _, s := range []string{"Error", "Exception", "Exit", "Interrupt", "StopIteration", "StopAsyncIteration", "Warning", "Timeout"} {
		if bytes.HasSuffix(name, []byte(s)) {
			return true
		}
	}
	return false
}

// continuation reports whether a line that looks like a final line is known to continue a message: NCCL's
// "ncclSystemError: System call …" and "Last error:" (ProcessGroupNCCL / NCCLUtils).
func continuation(b []byte) bool {
	return bytes.HasPrefix(b, []byte("nccl")) || bytes.HasPrefix(b, []byte("Last error:"))
}

// endsMessage reports whether a line is known to begin something else than the rest of a message.
func endsMessage(b []byte) bool {
	b = bytes.TrimLeft(b, " ")
	for _, s := range []string{"=====", "terminate called", "what():", "Fatal Python error", "Exception raised from", "frame #", "srun:", "slurmstepd:",
		"Killing subprocess ", "MPI_ABORT was invoked", "make: *** ", "make[", "Process finished with exit code ", "command terminated with exit code ",
		"double free or corruption", "Failed to initialize NVML", "Segmentation fault", "Aborted", "Bus error"} {
		if bytes.HasPrefix(b, []byte(s)) {
			return true
		}
	}
	return false
}

func loaderWorker(msg []byte) int {
	v, ok := intAfter(msg, "in DataLoader worker process ")
	if !ok || v < 0 || v > 1<<31 {
		return line.Unknown
	}
	return int(v)
}
