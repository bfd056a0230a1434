package nccl

import (
	"bytes"
	"time"

	"faultline/analysis/ascii"
)

var (
	infoMark = []byte("NCCL INFO ")
	warnMark = []byte("NCCL WARN ")
	marked   = []byte("NCCL ")
)

// entry is a line of NCCL, taken apart. Its texts are valid as long as the line.
type entry struct {
	who    []byte // "host:pid"
	host   []byte
	pid    int
	dev    int
	warn   bool
	source []byte // of warnings: "transport/net_ib.cc"
	stamp  int64
	msg    []byte
}

// split takes a line apart: "[launcher's labels] [stamp] host:pid:tid [dev] [file.cc:line [(function)]] NCCL INFO|WARN text".
func split(b []byte, e *entry) bool {
	i := markAt(b)
	return i >= 0 && e.split(b, i)
}

// markAt is where "NCCL INFO" or "NCCL WARN" stands in a line; −1: nowhere.
func markAt(b []byte) int {
	i := bytes.Index(b, marked)
	for i >= 0 && !bytes.HasPrefix(b[i:], infoMark) && !bytes.HasPrefix(b[i:], warnMark) {
		j := bytes.Index(b[i+1:], marked)
		if j < 0 {
			return -1
		}
		i += 1 + j
	}
	return i
}

// split takes the line apart whose mark stands at i.
func (e *entry) split(b []byte, i int) bool {
	*e = entry{warn: b[i+5] == 'W', msg: b[i+len(infoMark):]}
	head := b[:i]
	for j := bytes.LastIndexByte(head, '['); j > 0; j = bytes.LastIndexByte(head[:j], '[') {
		dev, k := digits(head[j+1:])
		if k == 0 || j+1+k >= len(head) || head[j+1+k] != ']' || !e.writer(head[:j]) {
			continue
		}
		e.dev = dev
		if e.warn {
			e.source = sourceOf(head[j+k+2:])
		}
		return true
	}
	return false
}

// writer reads "… host:pid:tid " from its end.
func (e *entry) writer(b []byte) bool {
	b = bytes.TrimRight(b, " ")
	j := len(b)
	tid := tailDigits(b)
	if tid == 0 || j-tid < 3 || b[j-tid-1] != ':' {
		return false
	}
	b = b[:j-tid-1]
	pid := tailDigits(b)
	if pid == 0 || len(b)-pid < 2 || b[len(b)-pid-1] != ':' {
		return false
	}
	n, _ := digits(b[len(b)-pid:])
	start := bytes.LastIndexAny(b[:len(b)-pid-1], " \t]|\r") + 1
	host := b[start : len(b)-pid-1]
	if len(host) == 0 || len(host) > maxWord || n == 0 {
		return false
	}
	for _, c := range host {
		if !hostByte(c) {
			return false
		}
	}
	e.who, e.host, e.pid = b[start:], host, n
	if start > 1 {
		e.stamp = stampOf(bytes.TrimRight(b[:start], " "))
	}
	return true
}

func hostByte(c byte) bool {
	return ascii.Alnum(c) || c == '-' || c == '.' || c == '_'
}

// stampOf reads a "[2025-06-03 17:48:01]" at the end of b, NCCL's own form unless NCCL_DEBUG_TIMESTAMP_FORMAT changes it.
func stampOf(b []byte) int64 {
	const layout = "[2006-01-02 15:04:05]"
	if len(b) < len(layout) || b[len(b)-1] != ']' {
		return 0
	}
	t, err := time.Parse(layout, string(b[len(b)-len(layout):]))
	if err != nil {
		return 0
	}
	return t.Unix()
}

// sourceOf finds the "transport/net_ib.cc" in " transport/net_ib.cc:488 (function) ".
func sourceOf(b []byte) []byte {
	for _, ext := range []string{".cc:", ".h:", ".cu:", ".cpp:"} {
		if i := bytes.LastIndex(b, []byte(ext)); i >= 0 {
			start := bytes.LastIndexAny(b[:i], " \t]") + 1
			return b[start : i+len(ext)-1]
		}
	}
	return nil
}

func digits(b []byte) (n, length int) {
	v, length := ascii.Number(b, 9)
	return int(v), length
}

func tailDigits(b []byte) int {
	n := 0
	for n < len(b) && n < 10 && ascii.Digit(b[len(b)-1-n]) {
		n++
	}
	if n == 10 {
		return 0
	}
	return n
}

// word is the token behind the first occurrence of key, "" if there is none.
func word(b []byte, key string) []byte {
	i := bytes.Index(b, []byte(key))
	if i < 0 {
		return nil
	}
	b = b[i+len(key):]
	n := 0
	for n < len(b) && n < maxWord && b[n] != ' ' && b[n] != ']' && b[n] != '\r' {
		n++
	}
	return b[:n]
}

// numberAfter is the number behind key, Unknown if there is none or it is negative.
func numberAfter(b []byte, key string) int {
	n, k := digits(word(b, key))
	if k == 0 {
		return Unknown
	}
	return n
}

func clip(b []byte) string {
	return string(bytes.ToValidUTF8(b[:min(len(b), maxWord)], []byte("?")))
}
