package nccl

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"

	"faultline/analysis/ascii"
)

// Recognise says whether a file that begins so is a log that NCCL wrote itself: its banner or a line of NCCL stands first, and half of
// the lines or more are NCCL's. The log of a worker in which NCCL's lines stand among others is none.
func Recognise(head []byte) bool {
	if len(head) >= HeadLen {
		if i := bytes.LastIndexByte(head, '\n'); i >= 0 {
			head = head[:i]
		}
	}
	var e entry
	ours, all := 0, 0
	for l := range bytes.SplitSeq(head, []byte{'\n'}) {
		l = bytes.TrimSpace(l)
		if len(l) == 0 {
			continue
		}
		is := split(l, &e) || bannerOf(l) != ""
		if all == 0 && !is {
			return false
		}
		all++
		if is {
			ours++
		}
	}
	return ours > 0 && 2*ours >= all
}

// bannerOf is the version in "NCCL version 2.21.5+cuda12.4", NCCL's first words, which stand at the beginning of a line.
func bannerOf(b []byte) string {
	rest, ok := bytes.CutPrefix(bytes.TrimSpace(b), []byte("NCCL version "))
	if !ok {
		if rest, ok = bytes.CutPrefix(bytes.TrimSpace(b), []byte("RCCL version ")); !ok {
			return ""
		}
	}
	n := 0
	for n < len(rest) && n < maxWord && rest[n] != ' ' && rest[n] != ',' {
		n++
	}
	if n == 0 || !ascii.Digit(rest[0]) {
		return ""
	}
	return clip(rest[:n])
}

// buffer is how much of a file is held; longer lines are read by their beginning.
const buffer = 256 << 10

// Read reads a log to its end. Lines of others are passed over.
func Read(ctx context.Context, name string, in io.Reader) (*Log, error) {
	r := newReader(name)
	br := bufio.NewReaderSize(in, buffer)
	var at At
	for n := 0; ; n++ {
		if n&0xffff == 0 && ctx.Err() != nil {
			return nil, ctx.Err()
		}
		lines, size := skip(br)
		at.Line += lines
		at.Off += size
		at.Line++
		text, err := br.ReadSlice('\n')
		size = int64(len(text))
		at.Len = len(text)
		for at.Len > 0 && (text[at.Len-1] == '\n' || text[at.Len-1] == '\r') {
			at.Len--
		}
		tears := r.log.Torn
		r.line(text[:at.Len], at)
		if errors.Is(err, io.EOF) {
			r.log.Torn = tears // the file ends in it: that is a cut, see Clean
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			text, err = br.ReadSlice('\n')
			size += int64(len(text))
		}
		at.Off += size
		switch {
		case err == nil:
		case errors.Is(err, io.EOF):
			r.log.Bytes = at.Off
			r.log.Clean = size == 0 // else the last line has no end
			r.finish()
			return r.log, nil
		default:
			r.log.Bytes, r.log.Clean = at.Off, false
			r.finish()
			return r.log, err
		}
	}
}

// skip passes over the lines in the buffer of br that say nothing of NCCL: most logs hold few others.
func skip(br *bufio.Reader) (lines, size int64) {
	if _, err := br.Peek(1); err != nil {
		return 0, 0
	}
	b, _ := br.Peek(br.Buffered())
	end := bytes.LastIndexByte(b, '\n') + 1 // of the last whole line
	for _, word := range [][]byte{marked, callTail} {
		if i := bytes.Index(b[:end], word); i >= 0 {
			end = bytes.LastIndexByte(b[:i], '\n') + 1
		}
	}
	n, _ := br.Discard(end)
	return int64(bytes.Count(b[:n], []byte{'\n'})), int64(n)
}

// Collector takes lines that somebody else picked of a log. Calls are not to be counted in what it gathers: lines may be missing.
type Collector struct{ reader *reader }

// NewCollector returns a Collector of lines of the named file.
func NewCollector(name string) *Collector { return &Collector{newReader(name)} }

// Take reads one line, which stands at at. The line is not kept.
func (c *Collector) Take(line []byte, at At) { c.reader.line(line, at) }

// Log is what the lines said. No line is taken after it.
func (c *Collector) Log() *Log {
	c.reader.finish()
	return c.reader.log
}

func newReader(name string) *reader {
	return &reader{log: &Log{File: name, Clean: true}, procs: map[string]*proc{}}
}

type reader struct {
	log      *Log
	procs    map[string]*proc
	last     *proc
	e        entry
	openings [openings]opening
	comms    int
}

// proc is a process while its log is read.
type proc struct {
	*Proc
	key   string
	comms map[string]*Comm // by pointer: those that exist now
	last  *Comm
	ended At // its last line that is no call, since its last call
}

func (r *reader) finish() {
	for _, p := range r.procs {
		for _, c := range p.Comms {
			c.after = p.ended
		}
	}
}

func (r *reader) line(b []byte, at At) {
	if !bytes.Contains(b, marked) {
		if bytes.Contains(b, callTail) {
			r.torn(at)
		}
		return
	}
	e := &r.e
	p, ours := r.begin(b)
	if !ours {
		if v := bannerOf(b); v != "" && r.log.Version == "" {
			r.log.Version, r.log.VersionAt = v, at
		}
		if bytes.Contains(b, infoMark) && bytes.Contains(b, callHead) {
			r.torn(at)
		}
		return
	}
	if p == nil {
		return
	}
	r.log.Lines++
	p.Lines++
	if e.warn {
		p.fault(e, at)
		p.ended = at
		return
	}
	var c Call
	if ptr, nranks, global, ok := readCall(e.msg, &c); ok {
		c.At = at
		r.call(p, ptr, nranks, global, &c)
		if bytes.Contains(e.msg, infoMark) {
			r.torn(at) // another line stands behind it
		}
		return
	}
	if bytes.Contains(e.msg, callHead) || bytes.Contains(e.msg, callTail) || begunCall(e.msg) {
		r.torn(at)
		return
	}
	p.info(r, e, at)
}

// opening is how a process begins its lines, up to what they say: where that tells no time it is taken apart once.
type opening struct {
	text []byte
	e    entry
	p    *proc
}

const openings = 64

// begin takes a line apart into r.e, and finds its process: nil where that is one too many. It reports false for lines of others.
func (r *reader) begin(b []byte) (p *proc, ours bool) {
	i := markAt(b)
	if i < 0 {
		return nil, false
	}
	head := b[:i+len(infoMark)]
	h := uint32(len(head))
	for k := 8; k < len(head); k += 5 {
		h = h*31 + uint32(head[k])
	}
	o := &r.openings[h%openings]
	if o.p != nil && bytes.Equal(o.text, head) {
		r.e = o.e
		r.e.msg = b[len(head):]
		return o.p, true
	}
	if !r.e.split(b, i) {
		return nil, false
	}
	if p = r.proc(&r.e); p != nil && r.e.stamp == 0 {
		*o = opening{text: append(o.text[:0], head...), p: p, e: entry{dev: r.e.dev, warn: r.e.warn, source: bytes.Clone(r.e.source)}}
	}
	return p, true
}

var (
	callHead = []byte(": opCount ")
	callTail = []byte(" [nranks=")
)

// begunCall says that a line ends where its operation had just been named.
func begunCall(msg []byte) bool {
	op, rest, ok := bytes.Cut(msg, []byte{':'})
	return ok && operations[string(op)] != "" && len(rest) < len(" opCount ") && string(rest) == " opCount "[:len(rest)]
}

func (r *reader) torn(at At) {
	if r.log.Torn++; r.log.Torn == 1 {
		r.log.TornAt = at
	}
}

func (r *reader) proc(e *entry) *proc {
	if r.last != nil && string(e.who) == r.last.key {
		return r.last
	}
	p := r.procs[string(e.who)]
	if p == nil {
		if len(r.procs) >= maxProcs {
			return nil
		}
		p = &proc{Proc: &Proc{Host: clip(e.host), Pid: e.pid}, key: string(e.who), comms: map[string]*Comm{}}
		r.procs[p.key] = p
		r.log.Procs = append(r.log.Procs, p.Proc)
	}
	r.last = p
	return p
}

func (r *reader) newComm(p *proc, ptr string) *Comm {
	if r.comms >= maxComms {
		return nil
	}
	r.comms++
	c := &Comm{Ptr: ptr, Rank: Unknown, NRanks: Unknown, Dev: Unknown, Split: Unknown, Color: Unknown, Global: Unknown}
	p.Comms = append(p.Comms, c)
	p.comms[ptr] = c
	return c
}

func (r *reader) call(p *proc, ptr []byte, nranks, global int, call *Call) {
	c := p.last
	if c == nil || c.Ptr != string(ptr) {
		if c = p.comms[string(ptr)]; c == nil {
			if c = r.newComm(p, string(ptr)); c == nil {
				return
			}
			c.Dev = r.e.dev
		}
		p.last = c
	}
	p.ended = At{}
	if c.NRanks == Unknown {
		c.NRanks = nranks
	}
	if global != Unknown {
		c.Global = global
	}
	if oneSided[call.Op] {
		c.P2P++
		return
	}
	c.Calls++
	call.N = c.Calls
	if i := int((call.N - 1) % kept); i < len(c.ring) {
		c.ring[i] = *call
	} else {
		c.ring = append(c.ring, *call)
	}
}

// info reads what is no call.
func (p *proc) info(r *reader, e *entry, at At) {
	msg := e.msg
	if bytes.Contains(msg, []byte(" COMPLETE")) || bytes.Contains(msg, []byte("Init START")) {
		if x, ok := ReadInit(msg); ok {
			p.init(r, x, at)
			return
		}
	}
	if v := bannerOf(msg); v != "" && r.log.Version == "" {
		r.log.Version, r.log.VersionAt = v, at
		return
	}
	if w := word(msg, "Using network "); len(w) > 0 {
		_, name, _ := bytes.Cut(msg, []byte("Using network "))
		p.Networks = said(p.Networks, name, at)
		return
	}
	if bytes.HasPrefix(msg, []byte("NET/")) || bytes.HasPrefix(msg, []byte("Bootstrap")) {
		p.addresses(msg, at)
	}
	if bytes.HasPrefix(msg, []byte("NET/Plugin")) || bytes.HasPrefix(msg, []byte("NET/OFI Initializing")) {
		p.Plugins = said(p.Plugins, msg, at)
	}
	if bytes.Contains(msg, []byte(" -> ")) && bytes.Contains(msg, []byte(".cc:")) {
		p.ended = at // "transport/net.cc:1362 -> 6": where an error went
	}
}

func said(list []Said, text []byte, at At) []Said {
	t := clip(bytes.TrimSpace(text))
	if len(list) >= maxSaid {
		return list
	}
	for _, s := range list {
		if s.Text == t {
			return list
		}
	}
	return append(list, Said{t, at})
}

// init takes a line about a communicator. A pointer is free again once its communicator has begun anew.
func (p *proc) init(r *reader, x Init, at At) {
	c := p.comms[x.Ptr]
	again := c != nil && (x.Phase == "START" && (c.Whole() || c.Calls > 0) || x.Phase == "COMPLETE" && (c.Ready.Known() || c.Calls > 0))
	if c == nil || again {
		if c = r.newComm(p, x.Ptr); c == nil {
			return
		}
	}
	c.Rank, c.NRanks, c.Dev, c.Bus = x.Rank, x.NRanks, x.Dev, x.Bus
	if x.ID != "" {
		c.ID = x.ID
	}
	if x.Parent != "" {
		c.Parent, c.Split, c.Color = x.Parent, x.Split, x.Color
	}
	switch x.Phase {
	case "START":
		c.Began = at
	case "COMPLETE":
		c.Ready = at
	case "Abort COMPLETE":
		p.ended = at
	case "Destroy COMPLETE":
		p.ended = at
	}
	p.last = nil
}

// addresses reads each "eth0:10.0.0.1<0>" of a line.
func (p *proc) addresses(msg []byte, at At) {
	for f := range bytes.FieldsSeq(msg) {
		i := bytes.IndexByte(f, '<')
		if i < 0 || len(p.Addrs) >= maxSaid {
			continue
		}
		dev, ip, ok := bytes.Cut(f[:i], []byte{':'})
		if j := bytes.LastIndexByte(dev, ']'); j >= 0 {
			dev = dev[j+1:]
		}
		if !ok || len(dev) == 0 || len(ip) == 0 {
			continue
		}
		a := Address{clip(dev), clip(ip), at}
		known := false
		for _, o := range p.Addrs {
			known = known || o.Dev == a.Dev && o.IP == a.IP
		}
		if !known {
			p.Addrs = append(p.Addrs, a)
		}
	}
}

func (p *proc) fault(e *entry, at At) {
	if len(p.Faults) >= maxFaults {
		return
	}
	f := readFault(e.msg)
	f.At, f.Dev, f.Source = at, e.dev, clip(e.source)
	p.Faults = append(p.Faults, f)
}
