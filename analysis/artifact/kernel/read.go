package kernel

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"faultline/analysis/line"
)

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 16 << 10

// Recognise says that a file is a kernel log: nearly all its lines have a header of the kernel's or of the system's log, and the
// kernel speaks in some. A log that quotes such lines is none.
func Recognise(head []byte) bool {
	if bytes.IndexByte(head[:min(len(head), 512)], 0) >= 0 {
		return false
	}
	if dmesgJSON(head) {
		return true
	}
	if i := bytes.LastIndexByte(head, '\n'); i >= 0 && len(head) >= HeadLen {
		head = head[:i]
	}
	n, kern, ours := 0, 0, 0
	for l := range bytes.SplitSeq(head, []byte("\n")) {
		l = bytes.TrimRight(l, " \t\r")
		if len(l) == 0 || skipped(l) {
			continue
		}
		n++
		switch h := parse(l); {
		case h.kernel:
			kern++
			if begins(h.msg) || h.stamp.Kind != line.Uptime || h.host != "" {
				ours++
			} else if _, ok := event(h.msg); ok {
				ours++
			}
		case h.system:
		case kern > 0 && continues(l):
			n--
		default:
			if n > 40 && kern == 0 {
				return false
			}
			n += 4 // a stranger weighs more
		}
	}
	return ours > 0 && (float64(n-kern) <= share*float64(n) || systemLog(head))
}

// share of lines that may be of others.
const share = 0.2

// systemLog says that all lines are of the system's log, the kernel's among them.
func systemLog(head []byte) bool {
	for l := range bytes.SplitSeq(head, []byte("\n")) {
		l = bytes.TrimRight(l, " \t\r")
		if len(l) == 0 || skipped(l) {
			continue
		}
		if h := parse(l); !h.kernel && !h.system {
			return false
		}
	}
	return true
}

// skipped are lines that tools print around a log: of the journal, of grep, a prompt with the command that made it.
func skipped(l []byte) bool {
	return bytes.HasPrefix(l, []byte("-- ")) || bytes.Equal(l, []byte("--")) ||
		(bytes.Contains(l, []byte("dmesg")) || bytes.Contains(l, []byte("journalctl"))) && (bytes.Contains(l, []byte("$ ")) || bytes.Contains(l, []byte("# ")) || bytes.HasPrefix(l, []byte("$")))
}

// continues says that a line without a header goes on with the message above: indented, as registers and modules are.
func continues(l []byte) bool { return l[0] == ' ' || l[0] == '\t' }

// Read reads a log. Lines of any length are passed over in pieces; what is kept is bounded.
func Read(ctx context.Context, in io.Reader) (*Log, error) {
	r := &reader{log: &Log{}, byKey: map[key]int{}, hosts: map[string]bool{}, seen: map[string]said{}}
	br := bufio.NewReaderSize(in, maxLine)
	off := int64(0)
	if head, _ := br.Peek(HeadLen); dmesgJSON(head) {
		if bytes.IndexByte(bytes.TrimSpace(head[:min(len(head), 512)]), '\n') < 0 {
			return r.oneLine(br)
		}
		r.json = true
	}
	for {
		if r.log.Lines&0xfff == 0 {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
		}
		l, err := br.ReadSlice('\n')
		size := int64(len(l))
		if len(l) > 0 {
			r.log.Lines++
			r.line(bytes.TrimRight(l, "\r\n"), off)
		}
		off += size
		for errors.Is(err, bufio.ErrBufferFull) {
			l, err = br.ReadSlice('\n')
			off += int64(len(l))
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if r.log.Kernel == 0 {
				return nil, err
			}
			r.log.Damaged = "it is damaged and was read up to line " + strconv.FormatInt(r.log.Lines, 10)
			break
		}
	}
	return r.ended()
}

func (r *reader) ended() (*Log, error) {
	for h := range r.hosts {
		r.log.Hosts = append(r.log.Hosts, h)
	}
	slices.Sort(r.log.Hosts)
	if r.log.Kernel == 0 {
		return nil, errors.New("it has no line of a kernel")
	}
	return r.log, nil
}

// oneLine reads what jq -c made of dmesg --json: all of it is one line.
func (r *reader) oneLine(in io.Reader) (*Log, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxDocument+1))
	if err != nil && len(b) == 0 {
		return nil, err
	}
	if len(b) > maxDocument || err != nil {
		r.log.Damaged = "it is damaged or too long, and was read up to there"
	}
	r.log.Lines = 1
	for _, at := range messages(b[:min(len(b), maxDocument)]) {
		r.line(b[at[0]:at[1]], int64(at[0]))
	}
	return r.ended()
}

type reader struct {
	log   *Log
	byKey map[key]int // index of the event
	hosts map[string]bool
	// seen remembers what messages say: a storm of errors repeats few of them by the million.
	seen map[string]said
	boot int
	// json: the file is what dmesg --json writes, and told is the time that the object which is being read states.
	json bool
	told line.Stamp
	// base is the last absolute stamp of dmesg -H, to which distances are added, in nanoseconds.
	base      line.Stamp
	baseNanos int64
	// named is the GPU of a message that goes on over further lines ("NVRM: The NVIDIA GPU 0000:b3:00.0"), and where it stands.
	named   string
	namedAt Place
	// trace is the event whose call trace is being read, −1 none.
	trace, traceLeft int
}

// said is what a message says.
type said struct {
	event Event
	ok    bool
}

const (
	maxSeen     = 4096
	longestSeen = 256 // bytes of a message that is remembered
)

func (r *reader) event(msg []byte) (Event, bool) {
	if len(msg) > longestSeen {
		return event(msg)
	}
	if x, ok := r.seen[string(msg)]; ok {
		return x.event, x.ok
	}
	e, ok, near := reading(msg)
	if near {
		if len(r.seen) >= maxSeen {
			clear(r.seen)
		}
		r.seen[string(msg)] = said{e, ok}
	}
	return e, ok
}

func (r *reader) line(b []byte, off int64) {
	h, ok := header{}, false
	if r.json {
		h, ok = r.member(b)
	}
	if !ok {
		h = parse(b)
	}
	if !h.kernel {
		r.goesOn(b, off)
		return
	}
	r.log.Kernel++
	p := Place{Line: r.log.Lines, Off: off, Len: len(b), Host: clip(h.host, 128), Task: h.task, Stamp: h.stamp, Boot: r.boot}
	r.reltime(&p, h)
	if h.host != "" && len(r.hosts) < maxHosts {
		r.hosts[p.Host] = true
	}
	if p.Stamp.Kind != line.NoStamp {
		if r.log.First.Line == 0 {
			r.log.First = p
		}
		r.log.Last = p
	}
	r.clock(&p, h)
	if bytes.Contains(h.msg, nvidiaWord) {
		if m := nvidiaGPU.FindSubmatch(h.msg); m != nil {
			r.named, r.namedAt = Address(string(m[1])), p
		}
	}
	e, ok := r.event(h.msg)
	if !ok {
		r.stack(h.msg)
		return
	}
	if e.Kind == OffBus && e.PCI == "" && p.Host == r.namedAt.Host {
		e.PCI = r.gpu()
	}
	if e.Kind == Booted {
		if r.log.Kernel > 1 {
			r.boot++
			p.Boot = r.boot
		}
		r.trace = -1
		r.traceLeft = 0
		return
	}
	e.Place, e.Last = p, p
	r.add(e)
}

// nvidiaGPU begins the driver's message about a GPU that does not answer when it is looked for; it says so two lines below
// (NVIDIA's kernel-open/nvidia/nv.c: three lines in one print).
var (
	nvidiaWord = []byte("NVRM: The NVIDIA GPU ")
	nvidiaGPU  = re(`^NVRM: The NVIDIA GPU ([0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d)`)
)

// gpu is the GPU that was named at most two lines above.
func (r *reader) gpu() string {
	if r.named == "" || r.log.Lines-r.namedAt.Line > 2 {
		return ""
	}
	return r.named
}

// goesOn reads a line without a header of its own below the name of a GPU.
func (r *reader) goesOn(b []byte, off int64) {
	if r.gpu() == "" {
		return
	}
	if e, ok := event(bytes.TrimLeft(b, " \t")); ok && e.Kind == OffBus {
		e.PCI = r.named
		e.Place = r.namedAt
		e.Place.Line, e.Place.Off, e.Place.Len = r.log.Lines, off, len(b)
		e.Last = e.Place
		r.add(e)
	}
}

// reltime adds the distances of dmesg -H up to a stamp: the minute is stated, the rest is counted.
func (r *reader) reltime(p *Place, h header) {
	switch {
	case h.delta < 0:
		r.base = line.Stamp{}
	case h.stamp.Kind != line.NoStamp:
		r.base, r.baseNanos = h.stamp, 0
	case r.base.Kind != line.NoStamp:
		r.baseNanos += h.delta
		s := r.base
		total := int64(s.Hour)*3600 + int64(s.Minute)*60 + r.baseNanos/1e9
		if total < 24*3600 {
			s.Hour, s.Minute, s.Second = int8(total/3600), int8(total/60%60), int8(total%60)
			p.Stamp = s
		}
	}
}

var setClock = re(`setting system clock to (\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d) UTC`)

// clock notes lines that state both clocks.
func (r *reader) clock(p *Place, h header) {
	if len(r.log.Clocks) >= maxClocks {
		return
	}
	up, wall := h.boot, p.Stamp
	if h.boot.Kind == line.NoStamp {
		if p.Stamp.Kind != line.Uptime || !bytes.Contains(h.msg, []byte("setting system clock to ")) {
			return
		}
		m := setClock.FindSubmatch(h.msg)
		if m == nil {
			return
		}
		s, n := line.ParseStamp([]byte(string(m[1]) + "T" + string(m[2]) + "Z"))
		if n == 0 {
			return
		}
		s.Emitter = line.Kernel
		up, wall = p.Stamp, s
	}
	c := Clock{Place: *p, Uptime: float64(up.Unix) + float64(up.Nanos)/1e9, Wall: wall}
	if n := len(r.log.Clocks); n > 0 && r.log.Clocks[n-1].Boot == c.Boot && r.log.Clocks[n-1].Host == c.Host && h.boot.Kind != line.NoStamp {
		r.log.Clocks[n-1] = c // the newest of a boot: clocks drift
		return
	}
	r.log.Clocks = append(r.log.Clocks, c)
}

// key is what events have in common that are counted as one.
type key struct {
	kind             Kind
	number, previous int
	pid, boot        int
	pci, host, name  string
	fatal, down      bool
}

// lines of a call trace that follow a hung task.
const traceLines = 80

func (r *reader) add(e Event) {
	k := key{kind: e.Kind, number: e.Number, pci: e.PCI, pid: e.Pid, host: e.Host, fatal: e.Fatal, down: e.Down, boot: e.Boot}
	switch e.Kind {
	case AMDGPU, Link, Storage, AER, OOM:
		k.name = e.Name
	case Xid:
		k.previous = e.Previous
	}
	r.trace, r.traceLeft = -1, 0
	if i, seen := r.byKey[k]; seen && !r.apart(&r.log.Events[i], &e) {
		old := &r.log.Events[i]
		old.Count++
		old.Last = e.Place
		if e.Kind == OOM {
			old.Cgroup, old.Job = first(old.Cgroup, e.Cgroup), first(old.Job, e.Job)
			old.Global = old.Global || e.Global
		}
		if e.Kind == HungTask {
			r.trace, r.traceLeft = i, traceLines
		}
		return
	}
	if len(r.log.Events) >= maxEvents {
		return
	}
	r.byKey[k] = len(r.log.Events)
	r.log.Events = append(r.log.Events, e)
	if e.Kind == HungTask {
		r.trace, r.traceLeft = len(r.log.Events)-1, traceLines
	}
}

// apart says that an event is not the same as one seen before: a day or a quarter of an hour lies between.
func (r *reader) apart(old, e *Event) bool {
	const gap = 900.0
	a, okA := rough(old.Last.Stamp)
	b, okB := rough(e.Stamp)
	return okA && okB && (b-a > gap || a-b > gap)
}

// rough is a stamp in seconds, good enough for distances.
func rough(s line.Stamp) (float64, bool) {
	switch s.Kind {
	case line.Uptime:
		return float64(s.Unix), true
	case line.MonthDay, line.DateTime, line.Zoned:
		days := (int64(s.Year)*372 + int64(s.Month)*31 + int64(s.Day))
		return float64(days*86400 + int64(s.Hour)*3600 + int64(s.Minute)*60 + int64(s.Second)), true
	}
	return 0, false
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

var (
	inModule = re(`\[([A-Za-z0-9_]{2,32})\]\s*$`)
	frame    = re(`^\s*(?:\? )?([A-Za-z0-9_.]{2,64})\+0x[0-9a-f]+/0x[0-9a-f]+`)
)

// stack adds to the hung task above what its call trace shows: the modules of the kernel that it waits in, and functions that tell.
func (r *reader) stack(msg []byte) {
	if r.traceLeft == 0 || r.trace < 0 {
		return
	}
	r.traceLeft--
	e := &r.log.Events[r.trace]
	word := ""
	if m := inModule.FindSubmatch(msg); m != nil && frame.Match(msg) {
		word = string(m[1])
	} else if m := frame.FindSubmatch(msg); m != nil {
		for _, f := range []string{"nfs", "rpc_wait", "fuse_", "ceph_", "wait_on_page", "io_schedule", "blk_", "jbd2", "xfs_", "ext4_", "cifs_", "cl_", "ll_"} {
			if strings.HasPrefix(string(m[1]), f) {
				word = string(m[1])
			}
		}
	}
	if word != "" && len(e.Stack) < maxStack && !slices.Contains(e.Stack, word) {
		e.Stack = append(e.Stack, word)
	}
}
