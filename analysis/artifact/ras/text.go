package ras

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"

	"faultline/analysis/ascii"
)

var tableHead = []byte("Ranks     Ranks    Status  Errors")

// marks are lines by which the text of the client is known.
var marks = []string{"Communicator ranks have different ", " considered dead (unreachable via the RAS network)", "Missing communicator data from ", "Gathering data about the RAS network"}

// RecogniseJSON says so of an answer in JSON, which no worker log is.
func RecogniseJSON(head []byte) bool {
	trimmed := bytes.TrimLeft(head, " \t\r\n")
	return len(trimmed) > 0 && trimmed[0] == '{' && bytes.Contains(trimmed, []byte(`"nccl_version"`)) && bytes.Contains(trimmed, []byte(`"communicators`))
}

// Recognise says whether a file that begins so is an answer of the client, or several: text whose first lines are its head, or JSON
// with the members that only it has. A few lines may stand above it, as a shell's prompt does.
func Recognise(head []byte) bool {
	if RecogniseJSON(head) {
		return true
	}
	n := 0
	for l := range bytes.SplitSeq(head, []byte{'\n'}) {
		l = bytes.TrimSpace(l)
		if len(l) == 0 {
			continue
		}
		if bytes.HasSuffix(l, tableHead) || bytes.HasPrefix(l, []byte("NCCL version ")) && bytes.Contains(l, []byte(" compiled with CUDA ")) || bytes.Equal(l, []byte("Job summary")) ||
			bytes.HasPrefix(l, []byte("Communicators... (")) {
			return true
		}
		if fieldRow(l) {
			return true
		}
		for _, m := range marks {
			if bytes.Contains(l, []byte(m)) {
				return true
			}
		}
		if n++; n > 8 {
			return false
		}
	}
	return false
}

// Pasted says whether such text stands somewhere in a log: the head of its table, or two of the sentences that only it has.
func Pasted(text []byte) bool {
	if bytes.Contains(text, tableHead) {
		return true
	}
	n := 0
	for _, m := range marks {
		if bytes.Contains(text, []byte(m)) {
			n++
		}
	}
	return n > 1
}

func fieldRow(b []byte) bool {
	var r Row
	return readRow(b, &r)
}

// Read reads a file of the client's answers.
func Read(ctx context.Context, name string, in io.Reader) ([]*Snapshot, error) {
	br := bufio.NewReaderSize(in, 64<<10)
	if head, _ := br.Peek(64); bytes.HasPrefix(bytes.TrimSpace(head), []byte("{")) {
		return readJSON(ctx, name, br)
	}
	return readText(ctx, name, br)
}

type textReader struct {
	name string
	out  []*Snapshot
	s    *Snapshot
	comm *Comm
	dead bool // processes that follow are dead
	gone bool // processes that follow are missing
	gap  bool // ranks that follow are missing
	fail bool // ranks that follow failed
	op   string
	// listing is the count whose ranks follow, by place: those of the last count.
	listing int
	kept    int
}

// readText reads text. Lines of others are passed over: it may stand in the middle of a log.
func readText(ctx context.Context, name string, br *bufio.Reader) ([]*Snapshot, error) {
	t := &textReader{name: name, listing: Unknown}
	var at At
	for n := 0; ; n++ {
		if n&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		at.Line++
		text, err := br.ReadSlice('\n')
		size := int64(len(text))
		at.Len = len(bytes.TrimRight(text, "\r\n"))
		if !errors.Is(err, bufio.ErrBufferFull) {
			t.line(text[:at.Len], at)
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			text, err = br.ReadSlice('\n')
			size += int64(len(text))
		}
		at.Off += size
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return t.out, err
		}
	}
}

// begin is the snapshot that a line belongs to. A part of the answer that stands before the last one seen begins the next answer.
func (t *textReader) begin(fresh bool, at At) *Snapshot {
	if t.s == nil || fresh {
		s := &Snapshot{File: t.name, At: at}
		if len(t.out) < maxSnapshots {
			t.out = append(t.out, s)
		}
		t.s, t.comm, t.listing = s, nil, Unknown
		t.dead, t.gone, t.gap, t.fail = false, false, false, false
	}
	return t.s
}

func (t *textReader) line(raw []byte, at At) {
	b := bytes.TrimSpace(raw)
	switch {
	case len(b) == 0:
		t.dead, t.gone, t.gap, t.fail, t.listing = false, false, false, false, Unknown
	case t.heading(b, at):
	case b[0] == '#' && t.named(b, at):
	case t.tabled(b, at):
	case t.counted(b, at):
	default:
		t.item(b, at)
	}
}

// heading reads the heads of the answer and of its parts.
func (t *textReader) heading(b []byte, at At) bool {
	lost := t.s != nil && len(t.s.Dead)+len(t.s.Missing) > 0
	comms := t.s != nil && len(t.s.Comms) > 0
	switch {
	case bytes.HasPrefix(b, []byte("NCCL version ")) && bytes.Contains(b, []byte(" compiled with CUDA ")):
		t.begin(true, at)
	case bytes.HasSuffix(b, tableHead):
		t.begin(lost || comms || t.s != nil && len(t.s.Rows) > 0, at)
	case bytes.Equal(b, []byte("Errors")) && (comms || lost):
		t.begin(true, at)
	default:
		return false
	}
	return true
}

// tabled reads a row of the table of communicators.
func (t *textReader) tabled(b []byte, at At) bool {
	var row Row
	if !readRow(b, &row) {
		return false
	}
	row.At = at
	if s := t.begin(false, at); len(s.Rows) < maxSnapshots {
		s.Rows = append(s.Rows, row)
	}
	return true
}

// counted reads lines that begin with a number: of processes, of ranks.
func (t *textReader) counted(b []byte, at At) bool {
	n, rest, ok := leading(b)
	switch {
	case !ok:
		return false
	case bytes.Contains(rest, []byte(" considered dead (unreachable via the RAS network)")):
		t.begin(false, at)
		t.dead, t.gone = true, false
	case bytes.HasPrefix(rest, []byte(" ranks have launched up to operation ")):
		v, k := digits(rest[len(" ranks have launched up to operation "):])
		t.count(Count{Value: v, N: int(n), At: at}, k > 0)
	case bytes.HasPrefix(rest, []byte(" ranks have not launched any operations")):
		t.count(Count{N: int(n), At: at}, true)
	default:
		t.summary(b)
	}
	return true
}

// item reads what stands below a heading: processes, ranks, and what they are listed for.
func (t *textReader) item(b []byte, at At) {
	switch {
	case bytes.HasPrefix(b, []byte("Missing communicator data from ")):
		t.begin(false, at)
		_, rest, _ := leading(b[len("Missing communicator data from "):])
		t.gone, t.gap = bytes.HasPrefix(rest, []byte(" job process")), bytes.HasPrefix(rest, []byte(" rank")) && t.comm != nil
	case bytes.HasPrefix(b, []byte("Communicator ranks have different ")):
		op, _, _ := bytes.Cut(b[len("Communicator ranks have different "):], []byte{' '})
		if t.op = clip(op); t.op == "collective" || t.op == "operation" {
			t.op = ""
		}
	case bytes.HasPrefix(b, []byte("Process ")):
		t.process(b, at)
	case bytes.HasPrefix(b, []byte("Encountered ")) && bytes.Contains(b, []byte(" communication timeout")):
	case t.comm == nil:
	case bytes.HasPrefix(b, []byte("The missing rank")):
		t.missing(b, at)
	case bytes.HasPrefix(b, []byte("Rank ")):
		t.rank(b, at)
	case bytes.HasPrefix(b, []byte("Asynchronous error")), bytes.HasPrefix(b, []byte("Initialization error")):
		t.fail, t.gap = true, false
	}
}

// process reads a process that is dead or did not answer.
func (t *textReader) process(b []byte, at At) {
	if t.s == nil || !t.dead && !t.gone {
		return
	}
	p, ok := process(b)
	if !ok || !t.room() {
		return
	}
	p.At = at
	if t.dead {
		t.s.Dead = append(t.s.Dead, p)
	} else {
		t.s.Missing = append(t.s.Missing, p)
	}
}

// missing reads "The missing ranks: 3, 5".
func (t *textReader) missing(b []byte, at At) {
	i := bytes.IndexByte(b, ':')
	if i <= 0 {
		return
	}
	for f := range bytes.FieldsFuncSeq(b[i+1:], func(r rune) bool { return r == ',' || r == ' ' }) {
		if n, k := digits(f); k == len(f) && k > 0 && t.room() {
			t.comm.Missing = append(t.comm.Missing, Rank{Rank: int(n), At: at})
		}
	}
}

// named reads "#0-0 (cf264af53edbe986) INCOMPLETE".
func (t *textReader) named(b []byte, at At) bool {
	f := bytes.Fields(b)
	if len(f) < 3 || len(f[1]) < 3 || f[1][0] != '(' || f[1][len(f[1])-1] != ')' {
		return false
	}
	g, k := digits(f[0][1:])
	if k == 0 {
		return false
	}
	s := t.begin(false, at)
	name := clip(f[0])
	t.comm, t.gap, t.fail, t.op, t.listing = nil, false, false, "", Unknown
	for i := range s.Comms {
		if s.Comms[i].Name == name {
			t.comm = &s.Comms[i]
			return true
		}
	}
	if !t.room() {
		return true
	}
	c := Comm{Name: name, Hash: hash(f[1][1 : len(f[1])-1]), At: at}
	if int(g) < len(s.Rows) {
		c.Size = s.Rows[g].Size
	}
	s.Comms = append(s.Comms, c)
	t.comm = &s.Comms[len(s.Comms)-1]
	return true
}

func (t *textReader) room() bool {
	t.kept++
	return t.kept <= maxListed
}

func (t *textReader) count(c Count, ok bool) {
	if t.comm == nil || !ok || !t.room() {
		return
	}
	c.Op = t.op
	t.comm.Counts = append(t.comm.Counts, c)
	t.listing = len(t.comm.Counts) - 1
}

// rank reads "Rank 3 -- GPU 3 managed by process 4242 on node 10.0.0.7", "Rank 5 has launched up to operation 1579 -- GPU 5 …" and
// "Rank 3 -- [process information not found]".
func (t *textReader) rank(b []byte, at At) {
	n, rest, ok := leading(b[len("Rank "):])
	if !ok || !t.room() {
		return
	}
	r := Rank{Rank: int(n), At: at}
	said, who, _ := bytes.Cut(rest, []byte("-- "))
	if gpu, more, ok := bytes.Cut(bytes.TrimPrefix(who, []byte("GPU ")), []byte(" managed by process ")); ok {
		r.GPU = clip(gpu)
		pid, tail, _ := leading(more)
		r.Pid = int(pid)
		if host, ok := bytes.CutPrefix(tail, []byte(" on node ")); ok {
			r.Host = clip(host)
		}
	}
	switch {
	case bytes.Contains(said, []byte(" launched up to operation ")):
		_, v, _ := bytes.Cut(said, []byte(" launched up to operation "))
		value, k := digits(v)
		t.count(Count{Value: value, N: 1, Ranks: []Rank{r}, At: at}, k > 0)
		t.listing = Unknown
	case bytes.Contains(said, []byte(" not launched any operations")):
		t.count(Count{N: 1, Ranks: []Rank{r}, At: at}, true)
		t.listing = Unknown
	case t.gap:
		t.comm.Missing = append(t.comm.Missing, r)
	case t.fail:
		t.comm.Failed = append(t.comm.Failed, r)
	case t.listing != Unknown:
		c := &t.comm.Counts[t.listing]
		c.Ranks = append(c.Ranks, r)
	}
}

// summary reads the numbers under "Job summary": nodes, processes per node, GPUs per process, processes, GPUs.
func (t *textReader) summary(b []byte) {
	f := bytes.Fields(b)
	if t.s == nil || len(f) != 5 || len(t.s.Rows) > 0 || t.s.Processes > 0 {
		return
	}
	var v [5]int
	for i := range f {
		n, k := digits(f[i])
		if k == 0 {
			return
		}
		v[i] = int(n)
	}
	t.s.Processes, t.s.GPUs = v[3], v[4]
}

var (
	statuses = map[string]bool{"NOCOMM": true, "INIT": true, "RUNNING": true, "FINALIZE": true, "ABORT": true}
	troubles = map[string]bool{"OK": true, "MISMATCH": true, "ERROR": true, "INCOMPLETE": true}
)

// readRow reads a line of the table: six numbers (the fourth may be a range), status, errors.
func readRow(b []byte, r *Row) bool {
	f := bytes.Fields(b)
	if len(f) < 8 {
		return false
	}
	f = f[len(f)-8:]
	if !statuses[string(f[6])] {
		return false
	}
	for e := range bytes.SplitSeq(f[7], []byte{','}) {
		if !troubles[string(e)] {
			return false
		}
		if string(e) != "OK" {
			r.Errors = append(r.Errors, string(e))
		}
	}
	for i := range 6 {
		n, k := digits(f[i])
		if k == 0 || k < len(f[i]) && (i != 3 || f[i][k] != '-') {
			return false
		}
		if i == 4 {
			r.Size = int(n)
		}
	}
	return true
}

// process reads "Process 3487984 on node 172.16.64.213 managing GPU 5".
func process(b []byte) (Process, bool) {
	f := bytes.Fields(b)
	if len(f) < 7 || string(f[2]) != "on" || string(f[3]) != "node" || string(f[5]) != "managing" {
		return Process{}, false
	}
	pid, k := digits(f[1])
	return Process{Pid: int(pid), Host: clip(f[4]), GPUs: clip(bytes.Join(f[7:], []byte{' '}))}, k > 0
}

func leading(b []byte) (int64, []byte, bool) {
	n, k := digits(b)
	return n, b[k:], k > 0
}

func digits(b []byte) (n int64, length int) { return ascii.Number(b, 17) }

func clip(b []byte) string {
	return string(bytes.ToValidUTF8(b[:min(len(b), maxWord)], []byte("?")))
}

// hash is a communicator's hash as NCCL's log has it: without leading zeros.
func hash(b []byte) string {
	b = bytes.TrimPrefix(b, []byte("0x"))
	n, err := strconv.ParseUint(string(b), 16, 64)
	if err != nil {
		return clip(b)
	}
	return strconv.FormatUint(n, 16)
}
