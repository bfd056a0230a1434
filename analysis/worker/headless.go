package worker

import (
	"bytes"

	"faultline/analysis/line"
	"faultline/analysis/scan"
)

// Errors that stand without the header of their traceback: its beginning is cut off, or a library printed them without.

// readBareFinal reads a final line whose traceback is not in the file: cut off, or printed elsewhere. Only forms that
// loggers do not write count: behind the "[rank3]: " of PyTorch's excepthook, with a dotted type at the margin, or
// DataLoader's "Caught … in DataLoader worker process N.", under which the worker's own traceback follows. Python's own
// types at the margin count where the file ends soon after, which is known later.
func readBareFinal(r *reader, rec *record) bool {
	if rec.Taken || !r.bareFinal(rec) {
		return rec.Taken
	}
	r.does |= other
	typ, msg, _ := rec.finalLine()
	bare := rec.Who.Global == line.Unknown && bytes.IndexByte(typ, '.') < 0 && loaderWorker(msg) == line.Unknown
	s, excess := r.finalStorm(rec, typ, msg)
	if excess && !s.telling {
		rec.finals = s
		return true
	}
	rec.told = true
	lone, ignored := s != nil && s.n > 1 && r.lone(rec), r.ignores(rec)
	if lone && (excess || ignored) {
		return true
	}
	e := Exception{At: rec.At, Type: clip(typ), Message: clip(msg), LoaderWorker: loaderWorker(msg), Bare: bare}
	if lone {
		e.Signs = r.signsOf(rec.Msg[:min(len(rec.Msg), maxMatched)])
		emit(r, &r.obs.Exceptions, e)
		return true
	}
	t := &trace{who: rec.Who, original: -1, budget: maxMessageLines, storm: s, silent: excess, ignored: ignored, chain: []Exception{e}}
	t.keep(rec.Msg)
	r.trace(rec, maxMessageLines, t.next)
	return true
}

// lone reports whether none of the lines below a final line continues its message: its block need not ask for them, which costs
// more than to read the line. What stands below the first of a kind is read all the same: it may tell when that was. Only a
// writer with PyTorch's label is looked for; where it is not certain what a line of it is, the block asks.
func (r *reader) lone(rec *record) bool {
	label := bytes.TrimRight(rec.Text[:rec.Prefix.Len], " ")
	rank, n := line.RankLabel(label)
	who := line.NoOne
	if who.Global = rank; n == 0 || n != len(label) || rec.Who != who || r.width > 0 || r.margin != nil || rec.Off+int64(rec.Len) != r.belowFrom {
		return false
	}
	below := r.below
	for range maxMessageLines {
		end := bytes.IndexByte(below, '\n')
		if end < 0 {
			return false // what follows is not known
		}
		l := below[:end]
		below = below[end+1:]
		if !holdsLabel(l, label[:n-1]) {
			continue
		}
		l, _, _ = bytes.Cut(l, []byte{'\r'})
		if _, _, _, own := line.RankedNative(l); own > 0 {
			return len(bytes.TrimSpace(l[own:])) > 0
		}
		m, ok := unlabelled(l, label)
		_, frame := pyFrame(m)
		_, _, final := finalLine(m)
		return ok && (frame || isBar(m) || final && !continuation(m) && !bytes.HasSuffix(bytes.TrimSpace(rec.Msg), []byte{':'}))
	}
	return true
}

// readOrphan reads a traceback whose beginning is not in the file: a log is cut, or somebody copied its end. Frames that lead
// to no final line are none: programs print their stack for other reasons.
func readOrphan(r *reader, rec *record) bool {
	if rec.Taken {
		return true
	}
	r.does |= other
	if rec.excess {
		return false
	}
	if _, ok := pyFrame(rec.Msg); !ok || !bytes.Contains(rec.Msg, []byte(", in ")) || own(rec) {
		return false
	}
	t := &trace{who: rec.Who, original: -1, budget: maxOrphan, orphan: true}
	t.begin(r, rec)
	t.body(r, rec, rec.Msg)
	r.longer = 0 // it asks for lines itself
	r.trace(rec, orphanGap, t.next)
	return true
}

// frameLiteral finds the frames of tracebacks.
const frameLiteral = "  File \""

// stray reports whether a line that nobody asked for holds nothing but a frame that leads nowhere: logs hold many, and to
// read what follows each costs more than all the rest. The lines below are looked at as readOrphan's block would read them;
// where that is not certain the line is none.
func (r *reader) stray(l *scan.Line) bool {
	if len(l.Hits) != 1 || l.Hits[0] != r.table.frame || l.Below == nil || !r.alone() {
		return false
	}
	for i := range r.open {
		if r.open[i].last >= l.No {
			return false
		}
	}
	if bytes.IndexByte(l.Text, '\x1b') >= 0 || bytes.IndexByte(l.Text, '\r') >= 0 {
		return false
	}
	if label := bytes.TrimRight(l.Text[:l.Marks[0].At], " "); ranked(label) {
		return !leads(label, l.Below)
	}
	pre := &r.pre
	if r.names.ParseInto(pre, l.Text); pre.Stamp.Kind != line.NoStamp || pre.Source != "" || pre.Severity != 0 {
		return false // its writer's other lines begin differently
	}
	if !bytes.HasPrefix(bytes.TrimLeft(l.Text[pre.Len:], " "), []byte(frameLiteral[2:])) {
		return false // it is glued behind something else
	}
	if _, ok := r.passing.Unwrap(l.Text); ok {
		return false
	}
	return !leads(bytes.TrimRight(l.Text[:pre.Len], " "), l.Below)
}

// ranked reports whether a label is nothing but PyTorch's, so that it need not be read like a prefix of any kind.
func ranked(label []byte) bool {
	_, n := line.RankLabel(label)
	return n > 0 && n == len(label)
}

// leads reports whether a final line may follow, within the lines that a block without a header asks for, of a writer whose
// lines begin with label.
func leads(label, below []byte) bool {
	for left := orphanGap; left > 0; left-- {
		end := bytes.IndexByte(below, '\n')
		if end < 0 {
			return true // what follows is not known
		}
		l := below[:end]
		below = below[end+1:]
		if n := len(l); n > 0 && l[n-1] == '\r' {
			l = l[:n-1]
		}
		if holdsLabel(l, label) { // mostly others write
			if ends(l, label) {
				return true
			}
			if m, ok := unlabelled(l, label); ok && indented(m) {
				left = orphanGap + 1
			}
		}
		if bare(l) {
			left = orphanGap + 1
		}
	}
	return false
}

// holdsLabel reports whether a label stands in a text. Logs are full of brackets, with which most labels begin.
func holdsLabel(b, label []byte) bool {
	if len(label) == 0 {
		return true
	}
	rare := max(bytes.IndexByte(label, 'k'), 0) // of "[rank"
	for at := rare; ; at++ {
		if at >= len(b) {
			return false
		}
		i := bytes.IndexByte(b[at:], label[rare])
		if i < 0 {
			return false
		}
		if at += i; bytes.HasPrefix(b[at-rare:], label) {
			return true
		}
	}
}

// bare reports whether a line may hold nothing but a label.
func bare(l []byte) bool {
	const longest = 80
	if n := len(l); n > 0 && l[n-1] == ' ' {
		l = bytes.TrimRight(l, " ")
	}
	if len(l) == 0 {
		return true
	}
	switch l[len(l)-1] {
	case ':', ']', ')', '>', '|':
		return len(l) < longest
	}
	return false
}

// ends reports whether a record of the writer with this label may be a final line: at the start of the line, behind a bar,
// or glued behind what another one wrote.
func ends(l, label []byte) bool {
	const glued = 256 // bytes
	if n := len(l) - glued; len(label) > 0 {
		for rest := l[max(n, 0):]; ; {
			i := bytes.Index(rest, label)
			if i < 0 {
				break
			}
			m, _ := unlabelled(rest[i:], label)
			if rest = rest[i+len(label):]; concludes(m) {
				return true
			}
		}
		if n <= 0 {
			return false
		}
	}
	for rest, more := l, true; more; {
		var seg []byte
		seg, rest, more = bytes.Cut(rest, []byte{'\r'})
		if m, ok := unlabelled(seg, label); ok && concludes(m) {
			return true
		}
	}
	return false
}

// unlabelled is a text without its label, behind which a blank may stand.
func unlabelled(b, label []byte) ([]byte, bool) {
	b, ok := bytes.CutPrefix(b, label)
	if len(label) > 0 && len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	return b, ok
}

// concludes reports whether a text may begin with the final line of a traceback.
func concludes(b []byte) bool {
	if len(b) > 0 && b[0] == ' ' {
		b = ungrouped(b)
	}
	for len(b) > 0 && b[0] == '\x1b' {
		n := len(b)
		if b = line.SkipEscape(b); len(b) == n {
			return true
		}
	}
	n := 0
	for n < len(b) && (isWord(b[n]) || b[n] == '.') {
		n++
	}
	if n == len(b) || b[n] == ':' || b[n] == ' ' || b[n] == '\t' || b[n] == '\r' || b[n] == '\x1b' {
		return n > 0 && exceptionName(b[:n])
	}
	return false
}

// readHydra reads what Hydra prints instead of the traceback of what it could not make: under the name of the target the
// exception as Python writes it, "ValueError('bad')".
func readHydra(r *reader, rec *record) bool {
	if rec.Taken || own(rec) || !bytes.HasPrefix(rec.Msg, []byte("Error in c")) {
		return rec.Taken
	}
	r.follow(rec, 1, func(r *reader, rec *record) verdict {
		if rec == nil {
			return ended
		}
		typ, arg, ok := bytes.Cut(bytes.TrimSpace(rec.Msg), []byte("("))
		arg, closed := bytes.CutSuffix(arg, []byte(")"))
		if !ok || !closed || !exceptionName(typ) || bytes.ContainsAny(typ, " '\"") {
			return ended
		}
		msg := bytes.Trim(arg, `'"`)
		e := Exception{At: rec.At, Type: clip(typ), Message: clip(msg), LoaderWorker: line.Unknown}
		e.Signs = r.table.known.Match(nil, []byte(e.Type+": "+e.Message))
		emit(r, &r.obs.Exceptions, e)
		return final
	})
	return true
}
