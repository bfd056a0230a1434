package worker

import (
	"bytes"
	"faultline/analysis/ascii"
	"strconv"
)

// Text that was pasted may have something in front of every line that says nothing: the indentation of a list or of a block of code,
// the "> " of a quotation, the numbers of an editor or of grep -n, the names of files that grep -r writes. Such a file is known by its head, where every line that is not empty
// has it. Positions stay those of the bytes as they are.

// margin tells how many of the first bytes of a line say nothing; nil where all say something.
type margin func(line []byte) int

const (
	minMargined = 5 // lines that must have it
	minIndent   = 2 // blanks: many programs begin their messages with one
)

// marginOf finds the margin of a file by its head. Labels of tasks ("3: ") may go up, too, where each of them says one thing: behind them
// stands a blank, as it does not behind each number of a line.
func marginOf(head []phys) margin {
	var lines [][]byte
	for i := range head {
		if l := bytes.TrimRight(head[i].raw, "\r "); len(l) > 0 {
			lines = append(lines, l)
		}
	}
	if len(lines) < minMargined {
		return nil
	}
	n := indentation(lines[0])
	quoted, labels, files := true, true, true
	numbers := make([]int, len(lines))
	for i, l := range lines {
		n = min(n, indentation(l))
		quoted, files = quoted && l[0] == '>', files && filed(l) > 0
		if numbers[i] = -1; i == 0 || numbers[i-1] >= 0 {
			var n int
			numbers[i], n = numbered(l)
			labels = labels && n > 0 && l[n-1] == ':' && (n == len(l) || l[n] == ' ')
		}
	}
	switch {
	case quoted:
		return quote
	case files:
		return filed
	case !labels && counted(numbers):
		return func(l []byte) int {
			_, n := numbered(l)
			return n
		}
	}
	for _, l := range lines {
		if indentation(l) == n && bytes.HasPrefix(l[n:], []byte(frameLiteral[2:])) {
			n -= len("  ") // those of the frame itself
			break
		}
	}
	if n < minIndent && (n < 1 || lines[0][0] != '\t') {
		return nil
	}
	return func(l []byte) int { return min(n, indentation(l)) }
}

// indentation is how many bytes of indentation a line has.
func indentation(l []byte) int {
	n := 0
	for n < len(l) && (l[n] == ' ' || l[n] == '\t') {
		n++
	}
	return n
}

// quote is the margin of a quotation in a mail or an issue.
func quote(l []byte) int {
	n := 0
	for n < len(l) && l[n] == '>' {
		if n++; n < len(l) && l[n] == ' ' {
			n++
		}
	}
	return n
}

// ofLogs are how the names of logs end.
var ofLogs = []string{".log", ".out", ".err", ".txt", "/stderr", "/stdout"}

// filed is how long the name of a log in front of a line is, with the number of the line if it has one: "logs/error-7-n01.out:12:".
func filed(l []byte) int {
	const longest = 255
	n := bytes.IndexByte(l[:min(len(l), longest)], ':')
	if n < 0 || bytes.ContainsAny(l[:n], " \t\"'[](){}<>=") {
		return 0
	}
	for _, e := range ofLogs {
		if bytes.HasSuffix(l[:n], []byte(e)) && n > len(e) {
			if number, more := numbered(l[n+1:]); number >= 0 && l[n+more] == ':' {
				return n + 1 + more
			}
			return n + 1
		}
	}
	return 0
}

// numbered reads the number in front of a line, and how long it is with what stands behind it: "12:" of grep -n, "    12\t" of cat -n and
// nl, "12 | " of a web page. It is negative where there is none.
func numbered(l []byte) (number, n int) {
	const most = 9 // digits
	from := indentation(l)
	for n = from; n < len(l) && ascii.Digit(l[n]); n++ {
	}
	if n == from || n-from > most {
		return -1, 0
	}
	number, _ = strconv.Atoi(string(l[from:n]))
	switch rest := l[n:]; {
	case len(rest) == 0:
		return number, n // nothing in the line
	case rest[0] == ':' || rest[0] == '\t':
		return number, n + 1
	case bytes.HasPrefix(rest, []byte(" | ")):
		return number, n + 3
	}
	return -1, 0
}

// counted reports whether the numbers in front of lines are those of the lines: they go up, mostly by one. Lines that were left out
// were empty, or are not what was looked for.
func counted(numbers []int) bool {
	next := 0
	for i, n := range numbers {
		if n < 0 || i > 0 && n <= numbers[i-1] {
			return false
		}
		if i > 0 && n-numbers[i-1] <= 2 {
			next++
		}
	}
	return next*2 >= len(numbers)-1
}

// unprinted is how many bytes in front of a file's text are none of it: the byte-order mark of an editor, and the hole that a log has
// which was emptied while its writer went on where it stood.
func unprinted(l []byte) int {
	n := 0
	for n < len(l) && l[n] == 0 {
		n++
	}
	if bytes.HasPrefix(l[n:], []byte("\xef\xbb\xbf")) {
		n += len("\xef\xbb\xbf")
	}
	return n
}

// trim leaves the margin out of a line.
func (p *phys) trim(m margin) {
	if m == nil || p.window {
		return
	}
	n := m(p.raw)
	if n == 0 {
		return
	}
	p.raw, p.off = p.raw[n:], p.off+int64(n)
	kept := p.marks[:0:0]
	lost := false
	for _, k := range p.marks {
		if k.At < int32(n) {
			lost = true
			continue
		}
		k.At -= int32(n)
		kept = append(kept, k)
	}
	p.marks = kept
	p.all = p.all || lost
}
