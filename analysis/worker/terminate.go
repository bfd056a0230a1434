package worker

import (
	"bytes"
	"slices"

	"faultline/analysis/line"
)

// readTerminate reads "terminate called after throwing an instance of 'c10::DistBackendError'" and the "  what():  …"
// under it, several of which may be glued when processes abort at once.
func readTerminate(r *reader, rec *record) bool {
	e := Exception{At: rec.At, Begin: rec.Pos, Type: "terminate", LoaderWorker: line.Unknown}
	i := bytes.Index(rec.Text, []byte("terminate called "))
	if i < 0 {
		return false
	}
	b := rec.Text[i:]
	const key = "throwing an instance of '"
	if j := bytes.LastIndex(b, []byte(key)); j >= 0 { // the last one: two processes may tear each other's line
		rest := b[j+len(key):]
		if k := bytes.IndexByte(rest, '\''); k > 0 {
			e.Type = clip(rest[:k])
		}
	} else {
		e.Message = clip(bytes.TrimSpace(b))
		emit(r, &r.obs.Exceptions, e)
		return true
	}
	who := rec.Who
	var matched []byte
	lines, whats := 0, 0
	done := func(r *reader) verdict {
		e.Signs = r.table.known.Match(nil, matched)
		emit(r, &r.obs.Exceptions, e)
		return ended
	}
	r.follow(rec, maxAbortLines+maxMessageLines, func(r *reader, rec *record) verdict {
		if rec == nil {
			return done(r)
		}
		if rec.Taken || rec.Who != who && rec.Who != line.NoOne {
			return pass // another process that aborts at the same time has its own what()
		}
		lines++
		if j := bytes.LastIndex(rec.Text, []byte("what():")); j >= 0 && whats == 0 {
			whats++
			msg := bytes.TrimSpace(rec.Text[j+len("what():"):])
			e.At, e.Message = rec.At, clip(msg)
			matched = append(matched, msg[:min(len(msg), maxMatched)]...)
			return taken
		}
		if whats == 0 {
			if lines > maxAbortLines {
				return done(r)
			}
			return pass // frames of another process that aborts at the same time
		}
		if own(rec) || len(bytes.TrimSpace(rec.Msg)) == 0 || len(matched) >= maxMatched ||
			endsMessage(rec.Msg) || bytes.Contains(rec.Msg, []byte(tracebackHeader)) {
			return done(r)
		}
		matched = append(append(matched, '\n'), rec.Msg[:min(len(rec.Msg), maxMatched-len(matched))]...)
		return taken
	})
	return true
}

// readFatal reads faulthandler's "Fatal Python error: Segmentation fault" and the frames of its "Current thread", which
// stand most recent first and are stored, as everywhere, most recent last. Where the thread that aborted runs no Python,
// as PyTorch's watchdog, it keeps the main thread's apart: faulthandler prints that last.
func readFatal(r *reader, rec *record) bool {
	i := bytes.Index(rec.Text, []byte("Fatal Python error: "))
	e := Exception{At: rec.At, Begin: rec.Pos, Type: "Fatal Python error", LoaderWorker: line.Unknown}
	e.Message = clip(bytes.TrimSpace(rec.Text[i+len("Fatal Python error: "):]))
	e.Signs = r.table.known.Match(nil, rec.Text[i:])
	who, current := rec.Who, false
	var thread []Frame // of the last thread that has any
	fresh := false
	r.follow(rec, 512, func(r *reader, rec *record) verdict {
		if rec != nil {
			if rec.Who != who && len(bytes.TrimSpace(rec.Msg)) > 0 {
				return pass
			}
			f, ok := pyFrame(rec.Msg)
			switch {
			case bytes.Contains(rec.Msg, []byte("(most recent call first)")):
				current, fresh = bytes.Contains(rec.Msg, []byte("Current thread ")), true
				return taken
			case ok:
				if fresh {
					thread, fresh = nil, false
				}
				if len(thread) < maxFrames {
					thread = append(thread, f)
				}
				if current && len(e.Frames) < maxFrames {
					e.Frames = append(e.Frames, f)
				}
				return taken
			case len(bytes.TrimSpace(rec.Msg)) == 0 || indented(rec.Msg):
				return taken
			}
		}
		slices.Reverse(e.Frames)
		if len(e.Frames) == 0 && len(thread) > 0 && thread[len(thread)-1].Func == "<module>" {
			slices.Reverse(thread)
			e.Main = thread
		}
		emit(r, &r.obs.Exceptions, e)
		return ended
	})
	return true
}
