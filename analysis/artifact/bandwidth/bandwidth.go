// Package bandwidth reads the tests of one path between two machines: iperf3 (its JSON and its text) and the bandwidth tests of
// perftest (ib_write_bw, ib_send_bw, ib_read_bw). It says what they measured; what that means takes other tests of the same kind.
//
// Formats: iperf3 3.1 to 3.17 (src/iperf_api.c, iperf_locale.c), linux-rdma/perftest 4.x to 24 (src/perftest_parameters.h: RESULT_FMT,
// RESULT_FMT_G, RESULT_LINE).
package bandwidth

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/pattern"
)

// Test is one measurement of one path.
type Test struct {
	Tool          string // iperf3, ib_write_bw, ib_send_bw, ib_read_bw
	Host          string // of the shell that it ran in, "" unknown
	Local, Remote string // addresses, "" unknown
	To            string // the other end as it was asked for, iperf3 only: a name or an address
	Both          bool   // both directions at once: the number is their sum
	Streams       int
	Gbits         float64 // 10⁹ bits in a second, as the receiver saw it where it says so; of the largest size
	Bytes         int64   // size of a message, perftest only
	Retransmits   int64   // −1 not stated
	Error         string
	Ended         bool // a result is there
	Place         lines.Place
	// JSON: the result stands at Member of the object at Record, as Value.
	JSON                  bool
	Record, Member, Value string
	RetransValue          string // retransmits as written, at end.sum_sent
}

// Bounds.
const (
	maxJSON  = 16 << 20
	maxTests = 1024
	// HeadLen is how much of a file Recognise wants to see.
	HeadLen = 8 << 10
)

var (
	perftest = pattern.New(`^\s*(RDMA_Write|RDMA_Read|Send) (Bidirectional )?BW Test\s*$`)
	header   = pattern.New(`^\s*#bytes\s+#iterations\s+(?:BW peak\[(MB/sec|Gb/sec|MiB/sec)\]\s+)?BW average\[(MB/sec|Gb/sec|MiB/sec)\]`)
	address  = pattern.New(`^\s*(local|remote) address: LID`)
	gid      = pattern.New(`^\s*GID: ((?:[0-9a-fA-F]{1,3}:){15}[0-9a-fA-F]{1,3})\s*$`)
	deviceOf = pattern.New(`\bDevice\s+: (\S{1,64})`)
	failed   = pattern.New(`^\s*(?:Failed status \d{1,3}: .{0,120}|Completion with error at (?:client|server).{0,80}|.{0,40}Unable to (?:Connect|init) the .{0,80}|Couldn't connect to \S{1,128})$`)

	connecting = pattern.New(`^Connecting to host (\S{1,256}), port \d{1,5}`)
	connected  = pattern.New(`^\[ *\d{1,6}\](?:\[(?:TX|RX)-[CS]\])? local (\S{1,64}) port \d{1,5} connected to (\S{1,64}) port \d{1,5}`)
	result     = pattern.New(`^\[ *(\d{1,6}|SUM)\](?:\[(TX|RX)-[CS]\])? +([0-9.]{1,12})-([0-9.]{1,12}) +sec +[0-9.]{1,12} [KMGT]?Bytes +([0-9.]{1,12}) ([KMGT]?)bits/sec(?: +(\d{1,18}))?.*?\b(sender|receiver)\s*$`)
	iperfError = pattern.New(`^iperf3: (error - .{1,200}|interrupt - .{1,200})$`)
	jsonHead   = pattern.New(`"version"\s*:\s*"iperf 3`)
)

// Recognise says that a file is the output of one of these programs.
func Recognise(head []byte) bool {
	if t := bytes.TrimLeft(head, " \t\r\n\xef\xbb\xbf"); len(t) > 0 && t[0] == '{' {
		return jsonHead.Match(head)
	}
	if !bytes.Contains(head, []byte(" BW Test")) && !bytes.Contains(head, []byte("] local ")) {
		return false
	}
	title, table, conn, to := false, false, false, false
	for len(head) > 0 {
		var l []byte
		l, head, _ = bytes.Cut(head, []byte("\n"))
		text := strings.TrimRight(string(l[:min(len(l), lines.Max)]), "\r")
		for range 2 {
			title = title || perftest.MatchString(text)
			table = table || header.MatchString(text)
			to = to || connecting.MatchString(text) || strings.HasPrefix(text, "Server listening on ")
			conn = conn || connected.MatchString(text)
			rest, _, ok := lines.Peel(text)
			if !ok {
				break
			}
			text = rest
		}
	}
	return title && table || to && conn
}

// Read reads all tests of a file.
func Read(ctx context.Context, in io.Reader) ([]Test, error) {
	buf := make([]byte, 64)
	n, err := io.ReadFull(in, buf)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	in = io.MultiReader(bytes.NewReader(buf[:n]), in)
	if t := bytes.TrimLeft(buf[:n], " \t\r\n\xef\xbb\xbf"); len(t) > 0 && t[0] == '{' {
		return readJSON(in)
	}
	r := &reader{}
	err = lines.Each(ctx, in, func(l lines.Line) error {
		text, host := l.Text, ""
		for range 3 {
			if r.line(l, text, host) {
				return nil
			}
			rest, h, ok := lines.Peel(text)
			if !ok {
				return nil
			}
			text = rest
			if h != "" {
				host = h
			}
		}
		return nil
	})
	r.close()
	return r.tests, err
}

// report is what is read of iperf3's JSON.
type report struct {
	Start struct {
		Connected []struct {
			Local  string `json:"local_host"`
			Remote string `json:"remote_host"`
		} `json:"connected"`
		Version string `json:"version"`
		To      struct {
			Host string `json:"host"`
		} `json:"connecting_to"`
	} `json:"start"`
	End struct {
		Sent     *sum `json:"sum_sent"`
		Received *sum `json:"sum_received"`
		Sum      *sum `json:"sum"` // UDP
	} `json:"end"`
	Error string `json:"error"`
}

type sum struct {
	Bits        json.Number `json:"bits_per_second"`
	Retransmits json.Number `json:"retransmits"`
}

func readJSON(in io.Reader) ([]Test, error) {
	b, err := io.ReadAll(io.LimitReader(in, maxJSON+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxJSON {
		return nil, fmt.Errorf("too long for a report of iperf3: more than %d MB", maxJSON>>20)
	}
	var r report
	dec := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(b, []byte("\xef\xbb\xbf"))))
	dec.UseNumber()
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("not the JSON of one run of iperf3: %w", err)
	}
	if !strings.HasPrefix(r.Start.Version, "iperf 3") {
		return nil, errors.New("JSON, and not of iperf3")
	}
	t := Test{Tool: "iperf3", JSON: true, Streams: len(r.Start.Connected), Retransmits: -1, To: bounded(r.Start.To.Host), Error: bounded(r.Error), Place: lines.Place{Line: 1}}
	if len(r.Start.Connected) > 0 {
		t.Local, t.Remote = bounded(r.Start.Connected[0].Local), bounded(r.Start.Connected[0].Remote)
	}
	for _, s := range []struct {
		place string
		sum   *sum
	}{{"end.sum_received", r.End.Received}, {"end.sum_sent", r.End.Sent}, {"end.sum", r.End.Sum}} {
		if s.sum == nil {
			continue
		}
		if v, err := s.sum.Bits.Float64(); err == nil && v > 0 && !t.Ended && !math.IsInf(v, 0) {
			t.Gbits, t.Ended, t.Record, t.Member, t.Value = v/1e9, true, s.place, "bits_per_second", s.sum.Bits.String()
		}
	}
	if r.End.Sent != nil && r.End.Sent.Retransmits != "" {
		if v, err := r.End.Sent.Retransmits.Int64(); err == nil && v >= 0 {
			t.Retransmits, t.RetransValue = v, r.End.Sent.Retransmits.String()
		}
	}
	return []Test{t}, nil
}

func bounded(s string) string { return s[:min(len(s), 256)] }

type reader struct {
	tests  []Test
	t      *Test
	unit   string // of perftest's table; "" outside of it
	peak   bool
	remote bool // the next GID is the remote's
	host   string
}

func (r *reader) close() {
	if r.t != nil && (r.t.Ended || r.t.Error != "" || r.t.Local != "") && len(r.tests) < maxTests {
		r.tests = append(r.tests, *r.t)
	}
	r.t, r.unit = nil, ""
}

func (r *reader) open(tool, host string, at lines.Place) *Test {
	r.close()
	if host == "" {
		host = r.host
	}
	r.t = &Test{Tool: tool, Host: host, Retransmits: -1, Place: at}
	return r.t
}

func (r *reader) line(l lines.Line, text, host string) bool {
	if h, _, ok := lines.Prompt(text); ok {
		r.host = h
		return true
	}
	if m := perftest.FindStringSubmatch(text); m != nil {
		tool := map[string]string{"RDMA_Write": "ib_write_bw", "RDMA_Read": "ib_read_bw", "Send": "ib_send_bw"}[m[1]]
		r.open(tool, host, l.Place).Both = m[2] != ""
		return true
	}
	if m := connecting.FindStringSubmatch(text); m != nil {
		t := r.open("iperf3", host, l.Place)
		t.Remote, t.To = m[1], m[1]
		return true
	}
	if r.t == nil {
		if strings.HasPrefix(text, "Accepted connection from ") {
			r.open("iperf3", host, l.Place)
			return true
		}
		return false
	}
	if r.t.Tool == "iperf3" {
		return r.iperf(l, text)
	}
	return r.verbs(l, text)
}

func (r *reader) iperf(l lines.Line, text string) bool {
	if m := connected.FindStringSubmatch(text); m != nil {
		r.t.Local, r.t.Remote = m[1], m[2]
		r.t.Streams++
		return true
	}
	if m := iperfError.FindStringSubmatch(text); m != nil {
		if r.t.Error == "" {
			r.t.Error, r.t.Place = m[1], l.Place
		}
		return true
	}
	m := result.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	if m[1] != "SUM" && r.t.Streams > 1 {
		return true // one of several streams
	}
	v, err := strconv.ParseFloat(m[5], 64)
	if err != nil {
		return true
	}
	if m[7] != "" && m[8] == "sender" {
		if n, err := strconv.ParseInt(m[7], 10, 64); err == nil {
			r.t.Retransmits = n
		}
	}
	if r.t.Ended && m[8] == "sender" {
		return true
	}
	r.t.Gbits, r.t.Ended, r.t.Place = v*map[string]float64{"": 1e-9, "K": 1e-6, "M": 1e-3, "G": 1, "T": 1e3}[m[6]], true, l.Place
	r.t.Both = r.t.Both || m[2] != ""
	return true
}

// verbs reads the lines of perftest.
func (r *reader) verbs(l lines.Line, text string) bool {
	if m := header.FindStringSubmatch(text); m != nil {
		r.unit, r.peak = m[2], m[1] != ""
		return true
	}
	if m := deviceOf.FindStringSubmatch(text); m != nil {
		return true
	}
	if m := address.FindStringSubmatch(text); m != nil {
		r.remote = m[1] == "remote"
		return true
	}
	if m := gid.FindStringSubmatch(text); m != nil {
		if ip := mapped(m[1]); r.remote {
			r.t.Remote = ip
		} else {
			r.t.Local = ip
		}
		return true
	}
	if failed.MatchString(text) {
		if r.t.Error == "" {
			r.t.Error, r.t.Place = strings.TrimSpace(text), l.Place
		}
		return true
	}
	cells := strings.Fields(text)
	at := 2
	if r.peak {
		at = 3
	}
	if r.unit == "" || len(cells) <= at || len(cells) > at+3 || l.Cut {
		return false
	}
	size, err := strconv.ParseInt(cells[0], 10, 64)
	if err != nil || size <= 0 {
		return false
	}
	v, err := strconv.ParseFloat(cells[at], 64)
	if err != nil || v < 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return false
	}
	if size < r.t.Bytes {
		return true
	}
	if r.unit != "Gb/sec" {
		v = v * 8 * (1 << 20) / 1e9 // its MB are 2²⁰ bytes: perftest's "MB/sec" counts so
	}
	r.t.Gbits, r.t.Bytes, r.t.Ended, r.t.Place = v, size, true, l.Place
	return true
}

// mapped is the IPv4 address in a GID as perftest writes it, in decimal bytes; "" where there is none.
func mapped(s string) string {
	parts := strings.Split(s, ":")
	var b [4]byte
	for i, p := range parts {
		want := ""
		switch {
		case i < 10:
			want = "00"
		case i < 12:
			want = "255"
		}
		if want != "" && p != want {
			return ""
		}
		if i >= 12 {
			n, err := strconv.ParseUint(p, 10, 8)
			if err != nil {
				return ""
			}
			b[i-12] = byte(n)
		}
	}
	return netip.AddrFrom4(b).String()
}
