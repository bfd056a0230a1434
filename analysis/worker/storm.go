package worker

import (
	"bytes"

	"faultline/analysis/ascii"
	"faultline/knowledge"
)

// In a storm of errors the same few lines come by the ten thousand. What a line of a kind says by itself is read of the
// first stormFull from each writer, then of one in stormStride, in the end of one in stormRare. Lines of a kind hold the
// same literals; final lines of exceptions without a traceback also name the same type, and their messages begin alike.
// What is counted (retries, resets, errors of loaders), what belongs to a block, and everything of PyTorch's watchdogs is
// read of every line, and so is everything in the last bytes of a file, where a storm gets to its end.
const (
	stormFull   = 32
	stormStride = 64
	stormLong   = 1 << 10 // from here on one in stormRare
	stormRare   = 256
	maxStorms   = 1 << 14 // kinds times writers of which an account is kept
)

// stormKey is a kind of line from one writer.
type stormKey struct {
	literals uint64
	writer   *writer
}

// storm is the account of a kind.
type storm struct {
	n      int
	signed bool // the last line that was read matched a signature
	// telling says that lines under one of them would say something by themselves: they have to be known as part of it.
	telling bool
	echoes  []echo
	learnt  int
}

// stormOf counts a record with these literals and reports whether its signs are to be passed over.
func (r *reader) stormOf(rec *record, ids []uint16) (s *storm, excess bool) {
	if len(ids) == 0 {
		return nil, false
	}
	return r.storm(stormKey{r.table.kind(ids), rec.writer})
}

// kind is that of the lines that hold these literals.
func (d *dispatch) kind(ids []uint16) uint64 {
	h := uint64(fnvOffset)
	for _, id := range ids {
		if !d.light[id] {
			h = (h ^ uint64(id)) * fnvPrime
		}
	}
	return h
}

// storm counts a line of a kind.
func (r *reader) storm(k stormKey) (s *storm, excess bool) {
	s = r.storms[k]
	if s == nil {
		if len(r.storms) >= maxStorms {
			return nil, false
		}
		if r.storms == nil {
			r.storms = map[stormKey]*storm{}
		}
		s = &storm{}
		r.storms[k] = s
	}
	s.n++
	return s, s.over(s.n) && !r.ending
}

// over reports whether the n-th line of the kind is one of too many.
func (s *storm) over(n int) bool {
	switch {
	case n <= stormFull:
		return false
	case n <= stormLong:
		return n%stormStride != 0
	}
	return n%stormRare != 0
}

// finalStorm counts a final line without traceback and reports whether it is to be passed over. Lines of such a kind also
// name the same type, and their messages begin alike: an exception that nobody knows must not drown among others.
func (r *reader) finalStorm(rec *record, typ, msg []byte) (s *storm, excess bool) {
	h := kindOf(fnv(fnvOffset, typ), msg)
	for _, id := range rec.ids {
		h = (h ^ uint64(id)) * fnvPrime
	}
	return r.storm(stormKey{h, rec.writer})
}

// kindOf adds to h how a message begins: up to a name, and without its numbers other than a code in front ("[Errno 104]").
func kindOf(h uint64, msg []byte) uint64 {
	n := 40 // bytes
	code := len(msg) > 0 && msg[0] == '['
	for _, c := range msg {
		switch {
		case c == '\'', c == '"', c == '/', n == 0:
			return h
		case c == ']':
			code = false
		case ascii.Digit(c) && !code:
			continue
		}
		n--
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

func fnv(h uint64, b []byte) uint64 {
	for _, c := range b {
		h = (h ^ uint64(c)) * fnvPrime
	}
	return h
}

// signs are the signatures that the record's text matches, looked up once.
func (r *reader) signs(rec *record) []knowledge.ID {
	if !rec.matched {
		r.matches = r.recognise(r.matches[:0], rec.Text)
		rec.matched = true
	}
	return r.matches
}

// maxRecognised bounds a text that is remembered with the signatures that it matches.
const maxRecognised = 512

// recognised is a text and the signatures that it matches.
type recognised struct {
	text []byte
	ids  []knowledge.ID
}

// recognise is Match of the catalogue, for texts of which many are the same.
func (r *reader) recognise(dst []knowledge.ID, text []byte) []knowledge.ID {
	n := len(text)
	if n == 0 || n > maxRecognised {
		return r.table.known.Match(dst, text)
	}
	m := &r.recognised[(n*31+int(text[n/2])*7+int(text[n/4])*3+int(text[min(n-1, 6)]))%len(r.recognised)]
	if !bytes.Equal(m.text, text) {
		m.text, m.ids = append(m.text[:0], text...), r.table.known.Match(m.ids[:0], text)
	}
	return append(dst, m.ids...)
}

// said are the words of ioWords that the record holds, looked for once.
func (rec *record) said() wordSet {
	if !rec.heard {
		rec.heard = true
		rec.words = ioWords.in(rec.Text[:min(len(rec.Text), maxIOText)])
	}
	return rec.words
}

// foreign reports whether the record is about other things than data.
func (rec *record) foreign() bool { return rec.said().within(foreign) }
