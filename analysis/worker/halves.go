package worker

import (
	"bytes"

	"faultline/analysis/line"
)

// mostClosed is within how many bytes of the second half of a line the bracket is closed that the first half opened.
const mostClosed = 64

// halved gives a record that is the second half of a line what stands in front of the first half: who wrote it, and when. Narrow collectors
// break lines between words; a bracket that one line opens and the next one closes tells that the two are one.
func (r *reader) halved(rec *record) {
	if rec.Prefix.Stamp.Kind != line.NoStamp || rec.Prefix.Form != line.NoForm || rec.Who != line.NoOne {
		return
	}
	closer := closes(rec.Text)
	if closer == 0 {
		return
	}
	head := bytes.TrimRight(r.lineAbove(), "\r\n")
	head = line.StripANSI(nil, head[bytes.LastIndexByte(head, '\r')+1:])
	pre := line.Parse(head)
	if pre.Len == 0 || pre.Stamp.Kind == line.NoStamp || !opens(head[min(pre.Len, len(head)):], closer) {
		return
	}
	pre.Len = 0 // nothing of it stands in this record
	*rec.Prefix, rec.Who, rec.head = pre, pre.Who, head
}

// closes is the bracket that a text closes near its beginning and has not opened; 0 where there is none.
func closes(text []byte) byte {
	if len(text) == 0 || text[0] == '[' || text[0] == '(' {
		return 0
	}
	depth := 0
	for _, c := range text[:min(len(text), mostClosed)] {
		switch c {
		case '[', '(', '{':
			depth++
		case ']', ')', '}':
			if depth--; depth < 0 {
				return c
			}
		}
	}
	return 0
}

// opens says that a text opens a bracket and does not close it.
func opens(text []byte, closer byte) bool {
	opener := map[byte]byte{']': '[', ')': '(', '}': '{'}[closer]
	return bytes.Count(text, []byte{opener}) > bytes.Count(text, []byte{closer})
}
