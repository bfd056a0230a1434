package aislog

import (
	"bytes"
	"fmt"
	"slices"

	"faultline/analysis/scan"
)

// Scanner looks for everything that Read understands. It is shared by goroutines.
type Scanner struct {
	sc *scan.Scanner
	// byLiteral are the texts whose longest literal has the id, ascending; plumbing are the ids of lines that are read
	// for something else; alarm those of the beginnings of warnings and errors.
	byLiteral [][]int
	plumbing  []bool
	alarm     []bool
	hints     *scan.Scanner // of cueTexts
}

// NewScanner compiles the table of texts.
func NewScanner() (*Scanner, error) {
	s := &Scanner{}
	var literals []string
	id := func(l string) int {
		i := slices.Index(literals, l)
		if i < 0 {
			i = len(literals)
			literals = append(literals, l)
			s.byLiteral, s.plumbing, s.alarm = append(s.byLiteral, nil), append(s.plumbing, false), append(s.alarm, false)
		}
		return i
	}
	for i, t := range texts {
		n := id(needle(t.literals))
		s.byLiteral[n] = append(s.byLiteral[n], i)
	}
	for _, l := range plumbing {
		s.plumbing[id(l)] = true
	}
	for h := range 24 {
		for tens := range 6 {
			for _, severity := range "WE" {
				s.alarm[id(fmt.Sprintf("%c %02d:%d", severity, h, tens))] = true
			}
		}
	}
	var err error
	if s.sc, err = scan.New(literals, scan.Options{HeadLines: headLines}); err != nil {
		return nil, fmt.Errorf("compile the texts of the daemons' logs: %w", err)
	}
	var hints []string
	for _, c := range cueTexts {
		hints = append(hints, c.text)
	}
	if s.hints, err = scan.New(hints, scan.Options{}); err != nil {
		return nil, fmt.Errorf("compile the cues of the daemons' logs: %w", err)
	}
	return s, nil
}

// everyday are words of lines that a healthy daemon writes all the time.
var everyday = []string{"get-batch[", "x-get-batch[", "shared-dm", "shared-dm["}

// minNeedle is how long a literal is at least that the whole text is searched for.
const minNeedle = 6

// needle is the longest of them, of those that are not in every other line: the rest is looked for where it stands.
func needle(literals []string) string {
	out := ""
	for _, l := range literals {
		if len(l) > len(out) && len(l) >= minNeedle && !slices.Contains(everyday, l) {
			out = l
		}
	}
	if out == "" {
		return literals[0]
	}
	return out
}

// alone says that one literal is all that a text asks for: where the scanner found it, nothing else is to be looked at.
func alone(t *text) bool { return len(t.literals) == 1 && len(t.not) == 0 }

// says reports whether b holds what a text asks for, as incident.Predicate defines it.
func says(t *text, b []byte) bool {
	for _, n := range t.not {
		if bytes.Contains(b, []byte(n)) {
			return false
		}
	}
	for _, l := range t.literals {
		i := bytes.Index(b, []byte(l))
		if i < 0 {
			return false
		}
		b = b[i+len(l):]
	}
	return true
}

// headLines are looked at whatever they hold: they say what the file is.
const headLines = 3

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 16 << 10

// Headed says that a daemon's log begins here: its first line is what every file of a daemon begins with.
func Headed(head []byte) bool {
	first, _, _ := bytes.Cut(head, []byte{'\n'})
	h, _, _ := heading(bytes.TrimRight(first, "\r"))
	return h != Headless
}

// Recognise tells a daemon's log by its first lines: "Started up at" or "Rotated at", or, where the beginning was cut off,
// lines that all have the daemon's stamp and one that only a daemon writes.
func Recognise(head []byte) bool {
	if first, _, _ := bytes.Cut(head, []byte{'\n'}); bytes.HasPrefix(first, startedUp) || bytes.HasPrefix(first, rotated) {
		return Headed(head)
	}
	const enough = 3
	stamped, others, own := 0, 0, false
	for i, rest := 0, head; len(rest) > 0; i++ {
		line, more, whole := bytes.Cut(rest, []byte{'\n'})
		rest = more
		if !whole && i > 0 {
			break // cut by the limit
		}
		line = line[min(prefixed(line), len(line)):]
		if _, _, ok := stamp(line); !ok {
			if i > 0 { // the first one may be the rest of a line
				others++
			}
			continue
		}
		stamped++
		own = own || ofDaemon(line)
	}
	return own && stamped >= enough && others <= stamped
}

// ofDaemon says that only a daemon of AIS writes such a line: it names itself, or it counts.
func ofDaemon(line []byte) bool {
	msg := message(line)
	if len(msg) > 0 && msg[0] == '{' {
		_, _, ok := (&names{}).read(msg)
		return ok && bytes.Contains(msg, []byte(litFlags))
	}
	for _, s := range []string{" t[", " p[", "(t[", "(p[", "Smap v", "x-get-batch["} {
		if bytes.Contains(msg, []byte(s)) {
			return true
		}
	}
	return bytes.HasPrefix(msg, []byte("t[")) || bytes.HasPrefix(msg, []byte("p["))
}

// Kinds are all kinds of records, in no order that means anything.
func Kinds() []Kind {
	out := []Kind{Alerts, Flags, Other}
	for _, t := range texts {
		if t.kind != noise && !slices.Contains(out, t.kind) {
			out = append(out, t.kind)
		}
	}
	return out
}
