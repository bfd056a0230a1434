package verify

import (
	"encoding/binary"
	"errors"
	"net/netip"
	"strconv"
	"strings"

	"faultline/incident"
)

// A capture of packets is a value as well: {"packets": […]}, each an object with the members src, dst, seq, data, window and, where it is so,
// rst. Only the packets that are asked for are looked into.

// captured says that data is a file of packets: pcap in either order of bytes, or pcapng.
func captured(data []byte) bool {
	if len(data) < 24 {
		return false
	}
	switch string(data[:4]) {
	case "\xd4\xc3\xb2\xa1", "\xa1\xb2\xc3\xd4", "\x4d\x3c\xb2\xa1", "\xa1\xb2\x3c\x4d", "\x0a\x0d\x0d\x0a":
		return true
	}
	return false
}

var errCapture = errors.New("the capture is damaged")

// capture reads the packets that are asked for.
func capture(data []byte, asks []*incident.Evidence) (tree, error) {
	want := map[int]bool{}
	last := -1
	for _, ev := range asks {
		if rest, ok := strings.CutPrefix(ev.Place, "packets["); ok {
			if n, err := strconv.Atoi(strings.TrimSuffix(rest, "]")); err == nil {
				want[n] = true
				last = max(last, n)
			}
		}
	}
	var list []any
	err := eachPacket(data, func(link uint32, b []byte) bool {
		var v any
		if want[len(list)] {
			v = tcpMembers(link, b)
		}
		list = append(list, v)
		return len(list) <= last && len(list) < maxTree
	})
	if err != nil && len(list) <= last {
		return nil, err
	}
	return jsonTree{map[string]any{"packets": list}}, nil
}

// eachPacket calls f for each packet until it says no.
func eachPacket(data []byte, f func(link uint32, b []byte) bool) error {
	if data[0] == 0x0a {
		return eachBlock(data, f)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if data[0] == 0xa1 {
		order = binary.BigEndian
	}
	link := order.Uint32(data[20:]) & 0x0fffffff
	for at := 24; at+16 <= len(data); {
		n := int64(order.Uint32(data[at+8:]))
		from := int64(at) + 16
		if from+n > int64(len(data)) {
			return errCapture
		}
		if !f(link, data[from:from+n]) {
			return nil
		}
		at = int(from + n)
	}
	return nil
}

func eachBlock(data []byte, f func(link uint32, b []byte) bool) error {
	var order binary.ByteOrder = binary.LittleEndian
	var links []uint32
	for at := 0; at+12 <= len(data); {
		b := data[at:]
		if string(b[:4]) == "\x0a\x0d\x0d\x0a" {
			order, links = binary.LittleEndian, nil
			if string(b[8:12]) == "\x1a\x2b\x3c\x4d" {
				order = binary.BigEndian
			}
		}
		size := int64(order.Uint32(b[4:]))
		if size < 12 || size > int64(len(b)) {
			return errCapture
		}
		body := b[8 : size-4]
		packet, link := []byte(nil), uint32(0)
		switch kind := order.Uint32(b); {
		case kind == 1 && len(body) >= 4:
			links = append(links, uint32(order.Uint16(body)))
		case kind == 6 && len(body) >= 20:
			id, n := order.Uint32(body), int64(order.Uint32(body[12:]))
			if int64(id) >= int64(len(links)) || 20+n > int64(len(body)) {
				return errCapture
			}
			packet, link = body[20:20+n], links[id]
		case kind == 3 && len(body) >= 4 && len(links) > 0:
			packet, link = body[4:min(int64(len(body)), 4+int64(order.Uint32(body)))], links[0]
		}
		if packet != nil && !f(link, packet) {
			return nil
		}
		at += int(size)
	}
	return nil
}

// tcpMembers are those of a segment of TCP; nil for any other packet.
func tcpMembers(link uint32, b []byte) any {
	skip, ok := map[uint32]int{0: 4, 1: 14, 12: 0, 14: 0, 101: 0, 113: 16, 276: 20}[link]
	if !ok || len(b) < skip {
		return nil
	}
	for link == 1 && len(b) > skip+4 && (string(b[skip-2:skip]) == "\x81\x00" || string(b[skip-2:skip]) == "\x88\xa8") {
		skip += 4
	}
	b = b[skip:]
	if len(b) < 20 {
		return nil
	}
	var src, dst netip.Addr
	var payload []byte
	var length int
	switch b[0] >> 4 {
	case 4:
		head := 4 * int(b[0]&15)
		if head < 20 || len(b) < head || b[9] != 6 {
			return nil
		}
		src, dst = netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20]))
		payload, length = b[head:], int(binary.BigEndian.Uint16(b[2:]))-head
	case 6:
		if len(b) < 40 || b[6] != 6 {
			return nil
		}
		src, dst = netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40]))
		payload, length = b[40:], int(binary.BigEndian.Uint16(b[4:]))
	}
	if len(payload) < 20 {
		return nil
	}
	u16 := func(i int) uint16 { return binary.BigEndian.Uint16(payload[i:]) }
	out := map[string]any{"src": netip.AddrPortFrom(src, u16(0)).String(), "dst": netip.AddrPortFrom(dst, u16(2)).String(),
		"seq": strconv.FormatUint(uint64(binary.BigEndian.Uint32(payload[4:])), 10), "data": strconv.Itoa(max(0, length-4*int(payload[12]>>4))), "window": strconv.Itoa(int(u16(14)))}
	if payload[13]&4 != 0 {
		out["rst"] = "true"
	}
	return out
}
