package stacks

import (
	"strconv"
	"strings"
)

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
