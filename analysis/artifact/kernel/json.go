package kernel

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"

	"faultline/analysis/line"
	"faultline/pattern"
)

// dmesg --json (util-linux 2.38 on) writes one member a line: {"dmesg": [{"pri": 6, "time": 12.345678, "msg": "…"},{…}]}. Its times are
// seconds since boot always. jq -c writes an object a line of it, or all in one.

var (
	dmesgMember = []byte(`"dmesg"`)
	timeMember  = pattern.New(`^"time": *(\d{1,10}\.\d{1,9}),?$`)
	msgMember   = pattern.New(`^"msg": *(".*"),?$`)
	priMember   = []byte(`"pri":`)
	timeName    = []byte(`"time":`)
	msgName     = []byte(`"msg":`)
)

// dmesgJSON says that a file that begins so is what dmesg --json writes.
func dmesgJSON(head []byte) bool {
	head = bytes.TrimLeft(head, " \t\r\n")
	if len(head) == 0 || head[0] != '{' {
		return false
	}
	name := bytes.TrimLeft(head[1:min(len(head), 128)], " \t\r\n")
	return bytes.HasPrefix(name, dmesgMember) && bytes.Contains(head, timeName) && bytes.Contains(head, msgName)
}

// member reads a line of dmesg --json: the message, with the time that stands above it.
func (r *reader) member(b []byte) (header, bool) {
	b = bytes.TrimSpace(b)
	h := header{task: line.Unknown, delta: -1, kernel: true}
	switch {
	case bytes.HasPrefix(b, []byte("{")), bytes.HasPrefix(b, []byte("},{")):
		r.told = line.Stamp{}
	case bytes.HasPrefix(b, timeName):
		if m := timeMember.FindSubmatch(b); m != nil {
			r.told, _ = uptime(m[1])
		}
	case bytes.HasPrefix(b, msgName):
		m := msgMember.FindSubmatch(b)
		var text string
		if m == nil || json.Unmarshal(m[1], &text) != nil {
			return h, false
		}
		h.stamp, h.msg = r.told, []byte(text)
		return h, true
	}
	return h, false
}

// messages splits what jq -c wrote into one line, and says where in it each object stands.
func messages(b []byte) (spans [][2]int) {
	i := bytes.IndexByte(b, '[')
	if i < 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(b[i:]))
	if _, err := d.Token(); err != nil {
		return nil
	}
	for d.More() {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			break // cut short
		}
		end := i + int(d.InputOffset())
		spans = append(spans, [2]int{end - len(raw), end})
	}
	return spans
}

// object reads an object of dmesg --json that stands in one line.
func object(b []byte) header {
	h := header{task: line.Unknown, delta: -1, msg: b}
	var e struct {
		Time json.Number `json:"time"`
		Msg  *string     `json:"msg"`
	}
	if json.Unmarshal(b, &e) != nil || e.Msg == nil {
		return h
	}
	stamp, ok := uptime([]byte(e.Time))
	if !ok {
		return h
	}
	h.stamp, h.msg, h.kernel = stamp, []byte(*e.Msg), true
	return h
}

// uptime is a number of seconds since boot.
func uptime(b []byte) (line.Stamp, bool) {
	v, err := strconv.ParseFloat(string(b), 64)
	if err != nil || v < 0 || v >= 1_000_000_000 {
		return line.Stamp{}, false
	}
	whole, part := math.Modf(v)
	return line.Stamp{Kind: line.Uptime, Emitter: line.Kernel, Unix: int64(whole), Nanos: int32(math.Round(part*1e6)) * 1000}, true
}
