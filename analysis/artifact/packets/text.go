package packets

import (
	"bytes"
	"context"
	"io"
	"strconv"
	"strings"

	"faultline/analysis/artifact/lines"
	"faultline/analysis/ascii"
	"faultline/pattern"
)

// tcpLine is a line of tcpdump: "13:44:14.518735 IP 10.77.0.1.49658 > 10.77.0.2.5201: Flags [P.], seq 1:38, ack 1, win 63, options […], length 37".
// The interface and the direction stand before IP with -i any.
var tcpLine = pattern.New(`^(?:\d{4}-\d\d-\d\d )?(?:\d\d:\d\d:\d\d\.\d{1,9}|\d{9,10}\.\d{1,9}|\d{1,2}:\d\d:\d\d)? ?(?:\S{1,32} +(?:In|Out|B|M|P) +)?IP6? (\S{3,128}) > (\S{3,128}): Flags \[([A-Z.]{1,8}|none)\](?:, cksum [^,]{1,60})?(?:, seq (\d{1,10})(?::(\d{1,10}))?)?(?:, ack \d{1,10})?(?:, win (\d{1,9}))?.*?(?:, length (\d{1,7})).*$`)

// otherLine is any other packet that tcpdump prints.
var otherLine = pattern.New(`^(?:\d{4}-\d\d-\d\d )?\d\d:\d\d:\d\d\.\d{6,9} (?:\S{1,32} +(?:In|Out|B|M|P) +)?(?:IP6?|ARP),? `)

// HeadLen is how much of a file Recognise wants to see.
const HeadLen = 8 << 10

// Recognise says that a file is a capture: by its magic number, or by lines of tcpdump and little else.
func Recognise(head []byte) bool {
	if magic(head) {
		return true
	}
	if !bytes.Contains(head, []byte(" Flags [")) {
		return false
	}
	tcp, all := 0, 0
	for len(head) > 0 {
		var l []byte
		var more bool
		l, head, more = bytes.Cut(head, []byte("\n"))
		text := string(bytes.TrimSpace(l[:min(len(l), lines.Max)]))
		if text == "" || !more && tcp > 0 || ascii.Begins(text, "tcpdump: ", "listening on ", "reading from file ") {
			continue
		}
		all++
		if tcpLine.MatchString(text) || tcp > 0 && otherLine.MatchString(text) {
			tcp++
		}
		if all >= 200 {
			break
		}
	}
	return tcp >= 2 && tcp*2 >= all
}

// Read reads a capture.
func Read(ctx context.Context, in io.Reader) (*Capture, error) {
	head := make([]byte, 12)
	n, err := io.ReadFull(in, head)
	if err != nil && n == 0 {
		return nil, err
	}
	in = io.MultiReader(bytes.NewReader(head[:n]), in)
	if magic(head[:n]) {
		return readBinary(ctx, in)
	}
	t := newTracker()
	err = lines.Each(ctx, in, func(l lines.Line) error {
		text := strings.TrimSpace(l.Text)
		m := tcpLine.FindStringSubmatch(text)
		if m == nil {
			if otherLine.MatchString(text) {
				t.out.Packets++
			}
			return nil
		}
		t.out.Packets++
		s := segment{src: host(m[1]), dst: host(m[2]), window: -1, syn: strings.Contains(m[3], "S"), rst: strings.Contains(m[3], "R"), at: Sample{There: true, Place: l.Place}}
		s.size = int(number(m[7]))
		if m[4] != "" {
			s.seq, s.hasSeq = uint32(number(m[4])), true
		}
		if m[6] != "" {
			s.window = int(number(m[6]))
		}
		s.at.Seq, s.at.Len = s.seq, s.size
		t.add(&s)
		return nil
	})
	return t.finish(), err
}

func number(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// host writes address and port as they are written elsewhere: tcpdump puts a full stop between the two.
func host(s string) string {
	i := strings.LastIndexByte(s, '.')
	if i < 0 {
		return s
	}
	if strings.Contains(s[:i], ":") {
		return "[" + s[:i] + "]:" + s[i+1:]
	}
	return s[:i] + ":" + s[i+1:]
}
