package accounting

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"faultline/analysis/hostlist"
	"faultline/analysis/line"
	"faultline/pattern"
)

// Limits of what is read; the accounting of one job has some dozen lines.
const (
	maxBytes   = 16 << 20
	maxLine    = 1 << 16
	maxRecords = 1 << 16
	maxCell    = 512 // what is held of one value
	maxQuote   = 400 // what is quoted around one
	// HeadLen is how much of a file Recognise wants to see.
	HeadLen = 4096
)

// Format is what a file is.
type Format int

const (
	None     Format = iota
	Sacct           // the table of "sacct -P"
	ShowJob         // "scontrol show job"
	ShowNode        // "scontrol show node"
)

var (
	showJob  = pattern.New(`^JobId=\d+ +(?:ArrayJobId=|HetJobId=|JobName=)`)
	showNode = pattern.New(`^NodeName=\S+ +(?:Arch=|CoresPerSocket=)`)
	fewNode  = pattern.New(`^NodeName=\S+[ \t]*\r?\n[ \t]+State=\S`) // as slurmrestd's answer is written down
	column   = pattern.New(`^[A-Za-z][A-Za-z0-9_]{1,30}$`)
	jobID    = pattern.New(`^(\d{1,10}(?:_\d{1,10}|\+\d{1,6}|_\[[\d,%-]+\])?)(?:\.(\d{1,10}|batch|extern|interactive))?$`)
)

// Recognise tells by the first line that is not empty.
func Recognise(head []byte) Format {
	first := firstLine(head)
	switch {
	case showJob.Match(first):
		return ShowJob
	case showNode.Match(first), fewNode.Match(bytes.TrimLeft(head, "\xef\xbb\xbf \t\r\n")):
		return ShowNode
	case columns(string(first)) != nil:
		return Sacct
	}
	if _, rest, more := bytes.Cut(bytes.TrimLeft(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf")), " \t\r\n"), []byte("\n")); more {
		below, _, _ := bytes.Cut(rest, []byte("\n"))
		if c, _ := table(string(first), string(below)); c != nil {
			return Sacct
		}
	}
	return None
}

func firstLine(b []byte) []byte {
	b = bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))
	for {
		l, rest, more := bytes.Cut(b, []byte("\n"))
		if l = bytes.TrimSpace(l); len(l) > 0 || !more {
			return l
		}
		b = rest
	}
}

// columns reads a header: names of fields with "|" between them, an id and how it ended among them; nil if it is none.
func columns(header string) []string {
	header = strings.TrimRight(header, "\r\n")
	if !strings.Contains(header, "|") {
		return nil
	}
	names := strings.Split(strings.TrimSuffix(header, "|"), "|")
	id, state := false, false
	for i, n := range names {
		if !column.MatchString(n) {
			return nil
		}
		if c, ok := known[strings.ToLower(n)]; ok {
			names[i] = c
		}
		id = id || names[i] == "JobID"
		state = state || names[i] == "State"
	}
	if !id || !state {
		return nil
	}
	return names
}

// known are the columns that are read, by their names in small letters.
var known = func() map[string]string {
	m := map[string]string{}
	for _, c := range []string{"JobID", "JobIDRaw", "JobName", "User", "State", "ExitCode", "DerivedExitCode", "NodeList", "FailedNode", "Submit", "Start", "End",
		"Restarts", "Reason", "NNodes", "NTasks", "Timelimit"} {
		m[strings.ToLower(c)] = c
	}
	return m
}()

// open are columns of text that may hold the delimiter itself: a pipe in a command line.
var open = map[string]bool{"JobName": true, "SubmitLine": true, "Comment": true, "AdminComment": true, "SystemComment": true, "WorkDir": true}

// public are columns that may be quoted: none of them names a person, a program or a directory.
var public = map[string]bool{"State": true, "ExitCode": true, "DerivedExitCode": true, "NNodes": true, "NTasks": true, "NodeList": true, "Submit": true, "Start": true,
	"End": true, "Timelimit": true, "Restarts": true, "FailedNode": true, "Reason": true, "JobID": true, "JobIDRaw": true, "Partition": true, "Elapsed": true, "AllocNodes": true}

// errTooLong says that a file is larger than any accounting.
var errTooLong = errors.New("too long for the accounting of a job: only its beginning was read")

// Read reads a file that Recognise knows. What does not fit is left out and counted in a warning.
func Read(ctx context.Context, file string, in io.Reader) (*Book, error) {
	r := &reader{file: file, book: &Book{}}
	err := r.read(ctx, in)
	if r.skipped > 0 {
		r.book.Warnings = append(r.book.Warnings, fmt.Sprintf("%s: %d lines are no records and were left out", file, r.skipped))
	}
	return r.book, err
}

type reader struct {
	file    string
	book    *Book
	format  Format
	columns []string
	cuts    [][2]int // where the columns stand in a table with fixed widths; nil where "|" parts them
	above   string   // the line before
	skipped int
	record  *Record // of scontrol show job, while its lines are read
	node    *Node
}

func (r *reader) read(ctx context.Context, in io.Reader) error {
	br := bufio.NewReaderSize(in, maxLine)
	off, no := int64(0), int64(0)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		l, err := br.ReadSlice('\n')
		if len(l) > 0 {
			no++
			if !errors.Is(err, bufio.ErrBufferFull) {
				r.line(string(bytes.TrimRight(l, "\r\n")), off, no)
			} else {
				r.skipped++
			}
			off += int64(len(l))
		}
		for errors.Is(err, bufio.ErrBufferFull) { // the rest of a line that is too long
			l, err = br.ReadSlice('\n')
			off += int64(len(l))
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case off > maxBytes || len(r.book.Records)+len(r.book.Nodes) >= maxRecords:
			return errTooLong
		}
	}
}

func (r *reader) line(text string, off, no int64) {
	trimmed := strings.TrimPrefix(text, "\xef\xbb\xbf")
	off += int64(len(text) - len(trimmed))
	text = trimmed
	if strings.TrimSpace(text) == "" {
		return
	}
	above := r.above
	r.above = text
	if f := Recognise([]byte(text)); f != None { // several outputs may stand below each other
		r.format = f
		if f == Sacct {
			r.columns, r.cuts = columns(text), nil
			return
		}
	}
	if c, cuts := table(above, text); c != nil {
		r.format, r.columns, r.cuts = Sacct, c, cuts
		return
	}
	switch r.format {
	case Sacct:
		r.row(text, off, no)
	case ShowJob, ShowNode:
		if f := Recognise([]byte(text)); f == None && text[0] != ' ' && text[0] != '\t' {
			r.skipped++
			r.book.Foreign++
			return
		}
		if r.format == ShowJob {
			r.jobLine(text, off, no)
		} else {
			r.nodeLine(text, off, no)
		}
	}
}

// row reads one line of sacct's table.
func (r *reader) row(text string, off, no int64) {
	cells := r.align(text, off, no)
	if r.cuts != nil {
		cells = r.cut(text, off, no)
	}
	value := func(c string) string { return cells[c].Value }
	m := jobID.FindStringSubmatch(value("JobID"))
	if m == nil || value("State") == "" {
		r.skipped++
		if !strings.Contains(text, "|") && r.cuts == nil {
			r.book.Foreign++
		}
		return
	}
	rec := &Record{File: r.file, Line: no, Job: m[1], Step: m[2], cells: cells}
	rec.Raw, _, _ = strings.Cut(value("JobIDRaw"), ".")
	rec.Name, rec.User = value("JobName"), value("User")
	rec.State, rec.By = state(value("State"))
	rec.Exit, rec.Derived = parseCode(value("ExitCode")), parseCode(value("DerivedExitCode"))
	rec.Nodes, rec.FailedNodes = hosts(value("NodeList")), hosts(value("FailedNode"))
	rec.Submit, rec.Start, rec.End = stamp(value("Submit")), stamp(value("Start")), stamp(value("End"))
	r.book.Records = append(r.book.Records, rec)
}

// align cuts a row into the header's columns. Where it has more of them, those in front of the first column of free text
// count from the left and those behind the last from the right.
func (r *reader) align(text string, off, no int64) map[string]Cell {
	parts := strings.Split(text, "|")
	n := len(r.columns)
	if len(parts) == n+1 && parts[n] == "" {
		parts = parts[:n] // sacct -p ends each line with the delimiter
	}
	from, to := n, -1 // the columns that cannot be told apart
	if len(parts) > n {
		for i, c := range r.columns {
			if open[c] {
				from, to = min(from, i), i
			}
		}
	}
	starts := make([]int64, len(parts)+1)
	starts[0] = off
	for i, p := range parts {
		starts[i+1] = starts[i] + int64(len(p)) + 1
	}
	at := func(i int) int { // column → part, −1 if unknown
		switch {
		case i < from:
			return i
		case i > to && to >= 0:
			return len(parts) - (n - i)
		}
		return -1
	}
	cells := map[string]Cell{}
	for i, c := range r.columns {
		p := at(i)
		if p < 0 || p >= len(parts) || parts[p] == "" || len(parts[p]) > maxCell && !open[c] {
			continue
		}
		if _, twice := cells[c]; twice {
			continue
		}
		// With it stand its public neighbours to the right.
		last := p
		for j := i; j+1 < n && public[c] && public[r.columns[j+1]] && at(j+1) == last+1 && last+1 < len(parts) && starts[last+2]-1-starts[p] <= maxQuote; j++ {
			last++
		}
		end := starts[last+1] - 1
		for end > starts[p] && text[end-1-off] == '|' {
			end-- // empty columns at the end say nothing
		}
		cells[c] = Cell{File: r.file, Line: no, Off: starts[p], Len: int(end - starts[p]), Value: parts[p]}
	}
	return cells
}

// state is the base state: "CANCELLED by 1001", "COMPLETED+EXTRA".
func state(s string) (base string, by bool) {
	base, rest, _ := strings.Cut(strings.TrimSpace(s), " ")
	base, _, _ = strings.Cut(base, "+")
	return strings.ToUpper(base), strings.HasPrefix(rest, "by ")
}

func hosts(s string) []string {
	list, err := hostlist.Expand(s)
	if err != nil {
		return nil
	}
	return list
}

// stamp reads SLURM's times: seconds since 1970, or the local time of whoever asked; nothing for "Unknown" and "None".
func stamp(s string) line.Stamp {
	s = strings.TrimSpace(s)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		const least, most = 1e8, 1e11
		if n < least || n > most {
			return line.Stamp{}
		}
		return line.Stamp{Kind: line.Epoch, Emitter: line.Accounting, Unix: n}
	}
	if len(s) != len("2006-01-02T15:04:05") {
		return line.Stamp{}
	}
	st, n := line.ParseStamp([]byte(s))
	if n != len(s) || st.Kind != line.DateTime {
		return line.Stamp{}
	}
	st.Emitter = line.Accounting
	return st
}
