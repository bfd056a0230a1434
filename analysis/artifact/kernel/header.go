package kernel

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"faultline/analysis/ascii"
	"faultline/analysis/line"
	"faultline/pattern"
)

// header is what stands in front of a kernel's message.
type header struct {
	host  string
	task  int
	stamp line.Stamp
	// boot are the seconds since boot where a wall clock is stated as well.
	boot line.Stamp
	// kernel: the line says that it is the kernel's. system: it is a line of the system's log, of whichever program.
	kernel, system bool
	// delta is the distance to the line before ("[  +0.000316]"), in nanoseconds; −1 not stated.
	delta int64
	msg   []byte
}

var (
	taskLabel = pattern.New(`^ {0,4}(\d{1,5}): `)
	// dmesg --decode: facility and level.
	decoded = pattern.New(`^(?:kern|user|mail|daemon|auth|syslog|lpr|news|uucp|cron|authpriv|ftp|local[0-7]) *:(?:emerg|alert|crit|err|warn|notice|info|debug) *: `)
	// Raw printk: level, with the caller's thread or CPU behind the stamp in some kernels.
	level  = pattern.New(`^<\d{1,3}>`)
	caller = pattern.New(`^\[ *[TC]\d{1,9}\] `)
	// syslog's program: "kernel:", "sshd[123]:".
	program = pattern.New(`^([A-Za-z0-9._/()-]{1,64}?)(?:\[\d{1,9}\])?: `)
	// An alert that quotes a line of syslog.
	quoted = pattern.New(`(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) [ \d]\d \d\d:\d\d:\d\d [A-Za-z0-9][A-Za-z0-9._-]{0,127} kernel: `)
	isoAt  = pattern.New(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d`)
	// dmesg -H: a minute on its own in front of a group of distances.
	minute = pattern.New(`^\[((?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[ \d]?\d) (\d\d):(\d\d)\] `)
)

// words that only the kernel and its drivers begin a message with. A stamp in brackets alone, or an ISO stamp, is what others print as well.
var starts = [][]byte{
	[]byte("NVRM: "), []byte("nvidia"), []byte("pcieport "), []byte("pci "), []byte("mlx5_core "), []byte("mlx4_"), []byte("amdgpu"), []byte("[drm"), []byte("INFO: task "),
	[]byte("EXT4-fs"), []byte("XFS "), []byte("Linux version "), []byte("Out of memory"), []byte("Memory cgroup out of memory"), []byte("oom-kill:"), []byte("oom_reaper:"),
	[]byte("Lustre"), []byte("nfs:"), []byte("NFS:"), []byte("IPv6: ADDRCONF"), []byte("systemd"), []byte("audit:"), []byte("usb "), []byte("EDAC"), []byte("mce:"), []byte("Code: "),
	[]byte("Call Trace:"), []byte("{1}[Hardware Error]"), []byte("watchdog: BUG"), []byte("rtc_cmos"), []byte("ACPI"), []byte("bnxt_en"), []byte("ib_core"), []byte("infiniband"), []byte("sched:"),
}

// parse reads the header of one line; the line is none of a kernel log where neither kernel nor system is set.
func parse(b []byte) header {
	h := header{task: line.Unknown, delta: -1}
	b = bytes.TrimRight(b, "\r")
	if len(b) > 0 && (b[0] == ' ' || ascii.Digit(b[0])) {
		if m := taskLabel.FindSubmatch(b); m != nil {
			h.task = atoi(m[1])
			b = b[len(m[0]):]
		}
	}
	if host, rest, ok := label(b); ok && host != "kernel" {
		if inner := bare(rest); inner.kernel && inner.host == "" {
			inner.task, inner.host = h.task, host
			return inner
		}
	}
	out := bare(b)
	out.task = h.task
	if !out.kernel && !out.system && bytes.Contains(b, []byte(" kernel: ")) {
		if at := quoted.FindIndex(b); at != nil && at[0] < 256 {
			out = bare(b[at[0]:])
			out.task = h.task
		}
	}
	return out
}

// label is that of pdsh and clush in front of another header: a name, a colon, a blank.
func label(b []byte) (host string, rest []byte, ok bool) {
	if len(b) == 0 || !ascii.Letter(b[0]) {
		return "", nil, false
	}
	i := 1
	for i < len(b) && i < 129 && (ascii.Letter(b[i]) || ascii.Digit(b[i]) || b[i] == '.' || b[i] == '_' || b[i] == '-') {
		i++
	}
	if i > 128 || i+1 >= len(b) || b[i] != ':' || b[i+1] != ' ' {
		return "", nil, false
	}
	return string(b[:i]), b[i+2:], true
}

// bare reads a header that begins at the first byte.
func bare(b []byte) header {
	h := header{task: line.Unknown, delta: -1, msg: b}
	if len(b) > 0 && b[0] == '<' {
		b = b[len(level.Find(b)):]
	}
	forced := false
	if m := facility(b); m != nil {
		b, forced = b[len(m):], true
	}
	switch {
	case len(b) > 0 && b[0] == '[':
		if m := minuteOf(b); m != nil {
			s, n := line.ParseStamp([]byte(string(m[1][:3]) + " " + string(bytes.TrimSpace(m[1][3:])) + " " + string(m[2]) + ":" + string(m[3]) + ":00"))
			if n > 0 {
				s.Emitter = line.Kernel
				h.stamp, h.kernel, h.msg, h.delta = s, true, b[len(m[0]):], 0
			}
			return h
		}
		s, delta, n := bracket(b)
		if n == 0 {
			return h
		}
		h.stamp, h.delta, h.kernel = s, delta, true
		if b = b[n:]; len(b) > 0 && b[0] == '[' {
			b = b[len(caller.Find(b)):]
		}
		h.msg = b
	case len(b) > 18 && ascii.Digit(b[0]) && isoAt.Match(b), len(b) > 15 && b[3] == ' ' && b[6] == ' ':
		s, n := line.ParseStamp(b[:min(len(b), 48)])
		if n == 0 || s.Kind != line.Zoned && s.Kind != line.MonthDay && s.Kind != line.DateTime || n >= len(b) || b[n] != ' ' {
			return h
		}
		s.Emitter = line.Kernel
		rest := b[n+1:]
		if host, msg, kern, ok := logged(rest); ok {
			h.host, h.stamp, h.msg, h.system, h.kernel = host, s, msg, true, kern
			if at, _, k := bracket(msg); kern && k > 0 && at.Kind == line.Uptime {
				h.boot, h.msg = at, msg[k:]
			}
			return h
		}
		if s.Kind == line.Zoned && (forced || begins(rest)) { // dmesg --time-format iso
			h.stamp, h.msg, h.kernel = s, rest, true
		}
	case len(b) > 0 && b[0] == '{' && bytes.Contains(b, []byte(`"__REALTIME_TIMESTAMP"`)):
		return journal(b)
	case len(b) > 0 && b[0] == '{' && bytes.Contains(b, priMember) && bytes.Contains(b, timeName) && bytes.Contains(b, msgName):
		return object(b)
	case bytes.HasPrefix(b, []byte("kernel: ")): // journalctl -o cat behind a filter
		h.msg, h.kernel = b[len("kernel: "):], true
		if at, _, k := bracket(h.msg); k > 0 && at.Kind == line.Uptime {
			h.stamp, h.msg = at, h.msg[k:]
		}
	case bytes.HasPrefix(b, []byte("NVRM: Xid (")), bytes.HasPrefix(b, []byte("NVRM: GPU at PCI:")):
		h.kernel, h.msg = true, b
	}
	return h
}

// journal reads a line of journalctl -o json (systemd's Journal Export Formats: all values are strings, and one that is no UTF-8,
// or holds control characters, is a list of bytes).
func journal(b []byte) header {
	h := header{task: line.Unknown, delta: -1, msg: b}
	var e struct {
		Host      string          `json:"_HOSTNAME"`
		Time      string          `json:"__REALTIME_TIMESTAMP"` // microseconds since 1970
		Transport string          `json:"_TRANSPORT"`
		Message   json.RawMessage `json:"MESSAGE"`
	}
	if json.Unmarshal(b, &e) != nil {
		return h
	}
	micros, err := strconv.ParseInt(e.Time, 10, 64)
	if err != nil || micros < 0 {
		return h
	}
	var text string
	msg := []byte(nil)
	if json.Unmarshal(e.Message, &text) == nil {
		msg = []byte(text)
	} else if json.Unmarshal(e.Message, &msg) != nil {
		return h
	}
	at := time.UnixMicro(micros).UTC()
	if at.Year() > 9999 || !named(e.Host) {
		return h
	}
	msg, _, _ = bytes.Cut(msg, []byte("\n"))
	h.stamp = line.Stamp{Kind: line.Zoned, Emitter: line.Kernel, Year: int16(at.Year()), Month: int8(at.Month()), Day: int8(at.Day()),
		Hour: int8(at.Hour()), Minute: int8(at.Minute()), Second: int8(at.Second()), Nanos: int32(at.Nanosecond())}
	h.host, h.system, h.kernel, h.msg = e.Host, true, e.Transport == "kernel", msg
	return h
}

// facility is dmesg's "kern  :warn  : " in front, nil for none.
func facility(b []byte) []byte {
	if len(b) == 0 || b[0] < 'a' || b[0] > 'z' || bytes.IndexByte(b[:min(len(b), 12)], ':') < 0 {
		return nil
	}
	return decoded.Find(b)
}

// minuteOf is what stands on its own in front of distances, nil for none: "[Aug30 11:43] ".
func minuteOf(b []byte) [][]byte {
	if len(b) < 2 || !ascii.Letter(b[1]) {
		return nil
	}
	return minute.FindSubmatch(b)
}

// logged reads "host program: " of syslog and the journal.
func logged(b []byte) (host string, msg []byte, kernel, ok bool) {
	var name string
	var n int
	sp := bytes.IndexByte(b, ' ')
	if sp <= 0 || sp > 128 {
		return "", nil, false, false
	}
	rest := b[sp+1:]
	if after, found := bytes.CutPrefix(rest, []byte("kernel: ")); found { // as the expression would have it, and by far the most
		name, n = "kernel", len(rest)-len(after)
	} else {
		m := program.FindSubmatch(rest)
		if m == nil {
			return "", nil, false, false
		}
		name, n = string(m[1]), len(m[0])
	}
	if !named(string(b[:sp])) {
		return "", nil, false, false
	}
	return string(b[:sp]), rest[n:], name == "kernel", true
}

// named says that a text can be the name of a host, as it goes into commands.
func named(s string) bool {
	for i := range len(s) {
		if c := s[i]; !ascii.Letter(c) && !ascii.Digit(c) && c != '-' && c != '.' && c != '_' {
			return false
		}
	}
	return true
}

func begins(b []byte) bool {
	return slices.ContainsFunc(starts, func(s []byte) bool { return bytes.HasPrefix(b, s) })
}

// bracket reads "[12345.678901] ", "[  +0.000316] " and "[Fri Aug 30 11:43:14 2024] "; n is 0 where it is none of them.
func bracket(b []byte) (s line.Stamp, delta int64, n int) {
	end := bytes.IndexByte(b[:min(len(b), 64)], ']')
	if end < 0 || len(b) <= end+1 || b[0] != '[' || b[end+1] != ' ' {
		return s, -1, 0
	}
	in := bytes.TrimLeft(b[1:end], " ")
	plus := len(in) > 0 && in[0] == '+'
	if plus {
		in = in[1:]
	}
	if sec, nanos, ok := seconds(in); ok {
		switch {
		case plus:
			return s, sec*1e9 + nanos, end + 2
		case sec >= 1_000_000_000: // a Unix time: not the kernel's
			return s, -1, 0
		}
		return line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: sec, Nanos: int32(nanos)}, -1, end + 2
	}
	if plus || len(in) == 0 || in[0] < 'A' {
		return s, -1, 0
	}
	s, k := line.ParseStamp(in)
	if k != len(in) || s.Kind != line.DateTime {
		return line.Stamp{}, -1, 0
	}
	s.Emitter = line.Kernel
	return s, -1, end + 2
}

// seconds reads "12345.678901": six digits behind the point, as printk writes them.
func seconds(b []byte) (sec, nanos int64, ok bool) {
	dot := bytes.IndexByte(b, '.')
	if dot < 1 || dot > 10 || len(b)-dot-1 != 6 {
		return 0, 0, false
	}
	for i, c := range b {
		if i != dot && !ascii.Digit(c) {
			return 0, 0, false
		}
	}
	return int64(atoi(b[:dot])), int64(atoi(b[dot+1:])) * 1000, true
}

func atoi(b []byte) int {
	n := 0
	for _, c := range b {
		if !ascii.Digit(c) || n > 1<<53 {
			return n
		}
		n = n*10 + int(c-'0')
	}
	return n
}
