package line

import "bytes"

// lineBreak is how rsyslog writes a line break within a message (EscapeControlCharactersOnReceive): a whole traceback is one line then.
const lineBreak = "#012"

// escaped takes apart a line of syslog's traditional form, "Aug  5 02:31:17 kx-3 train.py[4402]: text#012text". Each line of what was logged
// gets the header that stands in front of the first.
func (u *Unwrapper) escaped(raw []byte) (Envelope, bool) {
	const stamp = len("Aug  5 02:31:17 ")
	if len(raw) < stamp || raw[3] != ' ' || raw[9] != ':' || raw[12] != ':' || raw[stamp-1] != ' ' || !bytes.Contains(raw, []byte(lineBreak)) {
		return Envelope{}, false
	}
	colon := bytes.Index(raw, []byte(": "))
	if colon < 0 || bytes.Index(raw, []byte(lineBreak)) < colon {
		return Envelope{}, false
	}
	header := colon + len(": ")
	if label := closing(raw, header, maxLabel, ']'); at(raw, header) == '[' && label > 0 && at(raw, label+1) == ' ' {
		header = label + len("] ")
	}
	text, place := u.text[0][:0], u.at[0][:0]
	add := func(from, to int) {
		text = append(text, raw[from:to]...)
		for i := from; i < to; i++ {
			place = append(place, int32(i))
		}
	}
	add(0, header)
	for from := header; ; {
		n := bytes.Index(raw[from:], []byte(lineBreak))
		if n < 0 {
			add(from, len(raw))
			break
		}
		add(from, from+n)
		text, place = append(text, '\n'), append(place, int32(from+n))
		from += n + len(lineBreak)
		add(0, header)
	}
	u.text[0], u.at[0] = text, append(place, int32(len(raw)))
	return Envelope{Text: text, At: u.at[0], Whole: true}, true
}

// maxLabel is how long a program's own label may be: "[rank18] ".
const maxLabel = 32
