package worker

import (
	"bytes"
	"strconv"
	"strings"

	"faultline/analysis/line"
)

// What the watchdog, the heartbeat monitor and the dump machinery of ProcessGroupNCCL print, PyTorch 1.13 to recent
// (torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp). One phrasing is one literal; every number is optional.

func ncclHandlers() []handler {
	signals := make([]string, 0, len(signalPhrases))
	for _, s := range signalPhrases {
		signals = append(signals, s.literal)
	}
	return []handler{
		{"timeout", []string{"Watchdog caught", "timed out in blocking wait"}, readTimeout},
		{"state", []string{"detected by watchdog at work", "Timeout at NCCL work"}, readState},
		{"dump", []string{"to dump the debug info", "Received a dump signal", "Received a global dump signal"}, readDump},
		{"signal", signals, readSignal},
		{"collective stack", []string{"Stack trace of the failed collective"}, readStack},
		{"teardown", []string{
			"Some NCCL operations have failed or timed out", "Some HCCL operations have failed or timed out",
			"watchdog thread terminated with exception",
			"Exception raised from ",
			"Found key in store: NCCLABORTEDCOMM", // ≤ 2.1: told by the rank that gave up first
			"preparing to dump debug info",
			"waiting for future Flight recorder",
			"Broadcasting signal ",
			"Last error:", // NCCL's error block; the text on the next line is what counts
		}, func(*reader, *record) bool { return true }},
	}
}

// readTimeout reads every "Watchdog caught collective operation timeout: WorkNCCL(…) ran for N milliseconds before
// timing out." of a record: the error line itself and its copies in later messages.
func readTimeout(r *reader, rec *record) bool {
	found := false
	for from := 0; ; {
		i := bytes.Index(rec.Text[from:], []byte("Watchdog caught"))
		if i < 0 {
			break
		}
		i += from
		rest := rec.Text[i:]
		if j := bytes.Index(rest[1:], []byte("Watchdog caught")); j >= 0 {
			rest = rest[:1+j]
		}
		if !bytes.Contains(rec.Text[from:i], []byte("[Rank ")) && !bytes.Contains(rest, []byte("timeout: WorkNCCL(")) {
			from = i + len(rest)
			continue // it is spoken of: a hint, a page of documentation
		}
		emit(r, &r.obs.Timeouts, timeout(rec, rec.Text[from:i], rest))
		from, found = i+len(rest), true
	}
	if i := bytes.Index(rec.Text, []byte("timed out in blocking wait")); i >= 0 {
		t := timeout(rec, rec.Text[:i], rec.Text[:i])
		t.Form = "blocking"
		emit(r, &r.obs.Timeouts, t)
		found = true
	}
	return found
}

// timeout reads the work from text; before is what precedes it in the record.
func timeout(rec *record, before, text []byte) Timeout {
	t := Timeout{At: rec.At, Sticky: line.Unknown, Group: noGroup, Form: "error"}
	if i := bytes.LastIndex(before, []byte("[Rank ")); i >= 0 {
		if v, n := intAt(before[i+len("[Rank "):]); n > 0 {
			t.Sticky = int(v)
		}
	}
	// Only the line of the terminated watchdog carries the group's own prefix; what it embeds is the sticky one.
	if i := bytes.LastIndex(before, []byte("thread terminated with exception")); i >= 0 {
		t.Form = "terminated"
		if g, _, _ := lastGroup(before[:i]); g.Known {
			t.Group = g
		}
	} else if bytes.Contains(before, []byte("Error: ")) || rec.Prefix.Source == "" && spoken(before) {
		t.Form = "python"
	}
	if bytes.Contains(before, []byte("what():")) {
		t.Form = "what"
	}
	t.Work = work(text)
	return t
}

// spoken says that words stand in front of a watchdog's text which are not its own: a program repeats it in a line of its own.
func spoken(before []byte) bool {
	if i := bytes.LastIndex(before, []byte("[Rank ")); i >= 0 {
		before = before[:i]
	}
	before = bytes.TrimRight(before, " ")
	return len(before) > 0 && !bytes.Contains(before, []byte("ProcessGroupNCCL.cpp")) && bytes.IndexByte([]byte("|]>"), before[len(before)-1]) < 0
}

func work(b []byte) Work {
	if i := bytes.Index(b, []byte("WorkNCCL(")); i >= 0 {
		b = b[i:]
	}
	field := func(key string) int64 { return orUnknown(intUpTo(b, key, ",", ")")) }
	w := Work{
		Seq: field("SeqNum="), Op: wordAfter(b, "OpType="),
		NumelIn: field("NumelIn="), NumelOut: field("NumelOut="),
		TimeoutMS: field("Timeout(ms)="), RanForMS: orUnknown(intUpTo(b, "ran for ", " m")),
	}
	if i := bytes.Index(b, []byte("OpType=")); i >= 0 {
		if end := i + len("OpType=") + len(w.Op); end >= len(b) || b[end] != ',' && b[end] != ')' {
			if !opTypes[w.Op] {
				w.Op = "" // cut in the middle of the word
			}
		}
	}
	return w
}

// opTypes are the operations that WorkNCCL prints (c10d/Types.hpp, OpType), as far as one is not the beginning of another
// common one.
var opTypes = map[string]bool{"BROADCAST": true, "ALLREDUCE": true, "REDUCE": true, "ALLGATHER": true, "_ALLGATHER_BASE": true, "GATHER": true,
	"SCATTER": true, "ALLTOALL": true, "ALLTOALL_BASE": true, "SEND": true, "RECV": true, "BARRIER": true, "_REDUCE_SCATTER_BASE": true,
	coalesced: true}

// Shares returns how many times the small tensor of an all-gather or a reduce-scatter goes into the large one; 0 where the sizes do not say.
// PyTorch calls every batch of calls COALESCED: one whose tensors differ so is no batch of sends.
func (w *Work) Shares() int {
	in, out := w.NumelIn, w.NumelOut
	switch w.Op {
	case "_REDUCE_SCATTER_BASE":
		in, out = out, in
	case "_ALLGATHER_BASE", "ALLGATHER": // the latter counts the tensors of its list together
	case coalesced:
		in, out = min(in, out), max(in, out)
		if in == out {
			return 0
		}
	default:
		return 0
	}
	if in <= 0 || out <= 0 || out%in != 0 {
		return 0
	}
	return int(out / in)
}

// Pairwise tells whether the work is between senders and receivers, each pair with a count of its own.
func (w *Work) Pairwise() bool {
	switch w.Op {
	case "SEND", "RECV", "RECVANYSOURCE":
		return true
	}
	return w.Op == coalesced && w.Shares() == 0
}

const coalesced = "COALESCED"

// intUpTo reads the integer after key if one of ends follows it: where a line is cut (by a pane, a chat, a writer in
// between) its last number may lack digits, and a number that lacks digits is another number.
func intUpTo(b []byte, key string, ends ...string) (int64, bool) {
	v, rest := intAfterRest(b, key)
	if bytes.HasPrefix(rest, []byte("..")) {
		return 0, false
	}
	for _, e := range ends {
		if bytes.HasPrefix(rest, []byte(e)) {
			return v, true
		}
	}
	return 0, false
}

// lastCompleted reads the counter that ends a state line. From 2.6 on nothing follows it, so that a cut cannot be seen;
// but a count with fewer digits than the work's, and the same first ones, is one that lost its last digits.
func lastCompleted(rec *record, b []byte, key string, work int64) (int64, bool) {
	v, rest := intAfterRest(b, key)
	if rest == nil || len(rest) == 0 && rec.Cut || bytes.HasPrefix(rest, []byte("..")) {
		return 0, false
	}
	if len(rest) > 0 && strings.IndexByte(". \t\r", rest[0]) < 0 {
		return 0, false
	}
	have, want := strconv.FormatInt(v, 10), strconv.FormatInt(work-1, 10)
	if len(rest) == 0 && len(have) < len(want) && strings.HasPrefix(want, have) {
		return 0, false
	}
	return v, true
}

// The watchdog's state lines: form, what precedes the number of the work, and the keys of the counters.
var statePhrases = []struct{ form, key, enqueued, completed string }{
	{"failure-detected", "failure detected by watchdog at work sequence id:", "last enqueued work:", "last completed work:"}, // ≥ 2.6
	{"exception-detected", "detected by watchdog at work:", "last enqueued NCCL work:", "last completed NCCL work:"},         // 2.4, 2.5
	{"timeout-at", "Timeout at NCCL work:", "last enqueued NCCL work:", "last completed NCCL work:"},                         // 2.3 … 2.5
}

func readState(r *reader, rec *record) bool {
	for _, p := range statePhrases {
		i := bytes.Index(rec.Text, []byte(p.key))
		if i < 0 {
			continue
		}
		g, _, _ := lastGroup(append(rec.head[:len(rec.head):len(rec.head)], rec.Text[:i]...))
		b := rec.Text[i:]
		w, ok := intUpTo(b, p.key, ".", ",", " P")
		enqueued, okE := intUpTo(b, p.enqueued, ",")
		completed, okC := lastCompleted(rec, b, p.completed, w)
		if !okE || !okC || !ok {
			// A counter that is not there must not look like one: −1 is a value. That this watchdog fired stands.
			emit(r, &r.obs.Signals, Signal{At: rec.At, Group: g, Kind: SignalFired, N: orUnknown(w, ok)})
			return true
		}
		emit(r, &r.obs.States, State{At: rec.At, Group: g, Work: w, Enqueued: enqueued, Completed: completed, Form: p.form})
		return true
	}
	return false
}

// readDump reads "Received a dump signal …": "from this local rank", "from  rank 3" (two blanks, ≥ 2.5), "a global dump
// signal from rank 3," (2.4).
func readDump(r *reader, rec *record) bool {
	i := bytes.Index(rec.Text, []byte("Received a "))
	if i < 0 {
		return false
	}
	g, _, _ := lastGroup(rec.Text[:i])
	b := rec.Text[i:]
	d := Dump{At: rec.At, Group: g, From: line.Unknown}
	d.Local = bytes.Contains(b, []byte("from this local rank"))
	if !d.Local {
		for _, key := range []string{"from  rank", "from rank", "from another rank"} {
			if v, ok := intAfter(b, key); ok {
				d.From = int(v)
				break
			}
		}
	}
	enqueued, okE := intUpTo(b, "Last enqueued NCCL work:", ",")
	completed, okC := intUpTo(b, "last completed NCCL work:", ".")
	if !okE || !okC {
		emit(r, &r.obs.Signals, Signal{At: rec.At, Group: g, Kind: SignalDump, N: int64(d.From)})
		return true
	}
	d.Enqueued, d.Completed = enqueued, completed
	emit(r, &r.obs.Dumps, d)
	return true
}

// signalPhrases: number says which integer the line carries, if any.
var signalPhrases = []struct{ literal, kind, number string }{
	{"Observed flight recorder dump signal from another rank", SignalObserved, ""},
	{"detecting the dump signal through tcpstore", SignalObserved, ""}, // "First PG on this rank …", 2.4: notified, not first
	{"First PG on this rank to signal dumping", SignalFirst, ""},
	{"First watchdog to set the dump signal", SignalFirst, ""},
	{"Broadcasting flight recorder dump signal", SignalFirst, ""},
	{"First PG on this rank that detected no heartbeat", SignalHeartbeat, ""},
	{"Heartbeat monitor timed out!", SignalHeartbeat, ""},
	{"watchdog got", SignalStuck, "watchdog got stuck for"}, // the shorter literal also meets a line that a wrap cut behind it
	{"Could not acquire GIL within", SignalGIL, ""},
	{"remote error detected from rank", SignalRemote, "remote error detected from rank:"},
	{`Failed to check the "should dump" flag on TCPStore`, SignalStoreGone, ""},
	{"Terminating the process after attempting to dump", SignalTerminate, ""},
	{"would have terminated the process", SignalTerminate, ""},
	{"we are taking the entire process down", SignalTakingDown, ""}, // ≤ 2.0 "this inconsistency", later "data inconsistency"
	{"raised the following async exception", SignalAsync, "SeqNum="},
}

func readSignal(r *reader, rec *record) bool {
	found := false
	for _, p := range signalPhrases {
		i := bytes.Index(rec.Text, []byte(p.literal))
		if i < 0 || p.number != "" && p.kind == SignalStuck && !bytes.Contains(rec.Text[i:], []byte(p.number)) {
			continue
		}
		found = true
		g, _, _ := lastGroup(rec.Text[:i])
		if !g.Known && (p.kind == SignalTakingDown || p.kind == SignalAsync) {
			g = noGroup // the sticky prefix of a work, not the group's
		}
		s := Signal{At: rec.At, Group: g, Kind: p.kind, N: line.Unknown}
		if p.number != "" {
			s.N = orUnknown(rec.wholeAfter(rec.Text, p.number))
		}
		emit(r, &r.obs.Signals, s)
	}
	return found
}

// readStack reads "Stack trace of the failed collective: " and the frames under it: "#0 forward from /path/f.py:123"
// (≥ 2.6, only with the flight recorder on). The frames carry no prefix.
func readStack(r *reader, rec *record) bool {
	if bytes.Contains(rec.Text, []byte("not found")) {
		return true
	}
	s := CollectiveStack{At: rec.At}
	r.follow(rec, 256, func(r *reader, rec *record) verdict {
		if rec != nil {
			if f, ok := stackFrame(rec.Msg); ok && len(s.Frames) < maxFrames {
				s.Frames = append(s.Frames, f)
				return taken
			}
		}
		if len(s.Frames) > 0 {
			emit(r, &r.obs.Stacks, s)
		}
		return ended
	})
	return true
}

func stackFrame(b []byte) (Frame, bool) {
	b = bytes.TrimSpace(b)
	if len(b) < 2 || b[0] != '#' {
		return Frame{}, false
	}
	_, n := intAt(b[1:])
	i := bytes.LastIndex(b, []byte(" from "))
	c := bytes.LastIndexByte(b, ':')
	if n == 0 || i < 1+n || c < i {
		return Frame{}, false
	}
	v, m := intAt(b[c+1:])
	if m == 0 {
		return Frame{}, false
	}
	return Frame{
		File: clip(b[i+len(" from ") : c]), Line: int(v),
		Func: clip(bytes.TrimSpace(b[1+n : i])),
	}, true
}

// cutPhrases are what a line must hold for cutShort to be true of it.
var cutPhrases = []string{
	"Watchdog caught", "thread terminated with exception", "detected by watchdog at work", "Timeout at NCCL work",
	"Received a dump signal", "Received a global dump signal", "watchdog got",
}

// cutShort reports whether text looks like a message of this file whose tail stands on the next line, because a
// terminal, a chat or an issue form wrapped it in the middle of a token.
func cutShort(text []byte) bool {
	if i := bytes.LastIndex(text, []byte("Watchdog caught")); i >= 0 {
		return !bytes.Contains(text[i:], []byte("before timing out"))
	}
	if i := bytes.LastIndex(text, []byte("thread terminated with exception:")); i >= 0 {
		// "[Rank 2]" and then the wrap.
		rest := text[i+len("thread terminated with exception:"):]
		return len(bytes.TrimSpace(rest)) < len("[Rank 12345] Watchdog")
	}
	for _, p := range statePhrases {
		if i := bytes.LastIndex(text, []byte(p.key)); i >= 0 {
			_, ok := intAfter(text[i:], p.completed)
			return !ok
		}
	}
	for _, dump := range []string{"Received a dump signal", "Received a global dump signal"} { // the latter in 2.4
		if i := bytes.LastIndex(text, []byte(dump)); i >= 0 {
			_, ok := intAfter(text[i:], "last completed NCCL work:")
			return !ok
		}
	}
	if i := bytes.LastIndex(text, []byte("watchdog got")); i >= 0 {
		rest := text[i+len("watchdog got"):]
		words := " stuck for "
		return len(rest) < len(words)+len("480 seconds") && string(rest[:min(len(rest), len(words))]) == words[:min(len(rest), len(words))]
	}
	return false
}
