package line

import "bytes"

// A record in JSON may be printed over several lines, one member each:
//
//	  {
//	    "severity": "ERROR",
//	    "textPayload": "[rank3]: ValueError: bad",
//	    "timestamp": "2024-05-01T10:00:00.123456789Z"
//	  },
//
// Viewers of log services export so. The line of a member that holds what was logged is an envelope of its own. Its stamp is
// on another line, so it has none; the others are read as they are and say nothing.

// prettyMember reads the line of one member whose value is a string that ends with the line.
func (u *Unwrapper) prettyMember(b []byte, room int) (Envelope, bool) {
	i := indented(b)
	if at(b, i) != '"' {
		return Envelope{}, false
	}
	end, plain := quotedEnd(b, i+1)
	if !plain || end >= len(b) || !logged[string(b[i+1:end])] {
		return Envelope{}, false
	}
	i = spaces(b, end+1)
	if at(b, i) != ':' {
		return Envelope{}, false
	}
	i = spaces(b, i+1)
	if at(b, i) != '"' {
		return Envelope{}, false
	}
	to, _ := quotedEnd(b, i+1)
	if to >= len(b) || to == i+1 { // a string that does not end is no JSON, and an empty one no text
		return Envelope{}, false
	}
	if rest := bytes.TrimRight(b[to+1:], " \t\r"); len(rest) > 0 && string(rest) != "," {
		return Envelope{}, false
	}
	var e Envelope
	u.open(&e, b, []member{{i + 1, to}}, room)
	e.Whole = true
	return e, true
}

// indented is where the text behind blanks and tabs begins.
func indented(b []byte) int {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	return i
}
