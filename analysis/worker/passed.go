package worker

import (
	"bytes"
	"io"

	"faultline/analysis/line"
)

// readTail gives the lines at the end of the file that were not delivered to the accounts of stamps and writers.
func (r *reader) readTail(t *tailReader, lines int64) {
	b, off, no := t.lines(lines)
	r.passed(b, off, no, r.lineNo)
}

// passed gives lines that were not delivered, those with a number above one, to the accounts of stamps and writers.
func (r *reader) passed(b []byte, off, no, above int64) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			end = len(b)
		}
		if no > above {
			from := 0
			if r.margin != nil {
				from = r.margin(b[:end])
			}
			text := bytes.TrimSuffix(b[from:end], []byte("\r"))
			if first := bytes.IndexByte(text, '\r'); first < 0 {
				r.glance(no, off+int64(from), text)
			} else { // between the first and the last segment stand bars that were drawn over
				if first > 0 {
					r.glance(no, off+int64(from), text[:first])
				}
				if last := bytes.LastIndexByte(text, '\r') + 1; last < len(text) {
					r.glance(no, off+int64(from+last), text[last:])
				}
			}
		}
		n := min(end+1, len(b))
		b, off, no = b[n:], off+int64(n), no+1
	}
}

// glance reads who wrote a segment, and when, for the accounts only.
func (r *reader) glance(no, off int64, seg []byte) {
	r.written(no, off, seg)
	r.account()
}

// written reads who wrote a segment, and when, into r.rec.
func (r *reader) written(no, off int64, seg []byte) {
	var stamp line.Stamp
	raw := seg
	e, ok := r.passing.Unwrap(seg)
	if ok {
		seg, _, _ = bytes.Cut(e.Text[bytes.LastIndexByte(e.Text, '\r')+1:], []byte{'\n'})
		stamp = e.Stamp
	}
	text := r.withoutANSI(seg)
	rec := &r.rec
	*rec = record{}
	rec.Prefix, rec.Raw, rec.Text = &r.pre, seg, text
	r.names.ParseInto(rec.Prefix, text)
	rec.Msg = text[min(max(rec.Prefix.Len, 0), len(text)):]
	rec.Pos = Pos{File: r.file, Line: no, Off: off, Len: len(raw)}
	stamped(rec.Prefix, stamp)
	told := r.clocks.tell(rec.Prefix)
	if rec.Who, rec.Stamp = rec.Prefix.Who.CollectedBy(e.By), rec.Prefix.Stamp; told {
		rec.Stamp.Emitter = line.Container
	}
}

// account gives r.rec to the accounts of stamps and writers.
func (r *reader) account() {
	r.rec.wrote(r.writerOf(&r.rec.Who))
	r.inherit(&r.rec)
	r.span(&r.rec)
}

// tailReader keeps the last tailBytes that went through it, and how many bytes went before.
type tailReader struct {
	r   io.Reader
	buf []byte // the last bytes, at most 2 × tailBytes
	off int64  // offset of buf[0]
}

func (t *tailReader) Read(p []byte) (int, error) {
	n, err := t.r.Read(p)
	if n > 0 {
		t.keep(p[:n])
	}
	return n, err
}

func (t *tailReader) keep(b []byte) {
	if n := len(b) - tailBytes; n > 0 {
		t.off += int64(len(t.buf) + n)
		t.buf, b = t.buf[:0], b[n:]
	}
	t.buf = append(t.buf, b...)
	if drop := len(t.buf) - tailBytes; drop > tailBytes {
		t.off += int64(drop)
		t.buf = append(t.buf[:0], t.buf[drop:]...)
	}
}

// lines returns the last whole lines that were kept, the offset of the first of them and its number. all is how many
// lines the file has.
func (t *tailReader) lines(all int64) (b []byte, off, no int64) {
	b, off = t.buf, t.off
	if drop := len(b) - tailBytes; drop > 0 {
		b, off = b[drop:], off+int64(drop)
	}
	no = all - int64(bytes.Count(b, []byte{'\n'}))
	if n := len(b); n == 0 || b[n-1] == '\n' {
		no++ // b ends in front of a line
	}
	if off > 0 {
		i := bytes.IndexByte(b, '\n') + 1
		if i == 0 {
			return nil, off, no
		}
		b, off, no = b[i:], off+int64(i), no+1
	}
	return b, off, no
}

// drawn reports whether the file ends in a whole picture of a progress bar: whoever draws it over itself ends no line before it is full.
func (t *tailReader) drawn() bool {
	b := t.buf[bytes.LastIndexByte(t.buf, '\n')+1:]
	b = bytes.TrimRight(b, "\r ")
	b = b[bytes.LastIndexByte(b, '\r')+1:]
	return len(b) > 0 && isBar(b)
}
