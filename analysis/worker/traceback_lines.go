package worker

import (
	"bytes"

	"faultline/analysis/line"
	"faultline/pattern"
)

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
