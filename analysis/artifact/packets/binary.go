package packets

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
)

// Link types that are read (https://www.tcpdump.org/linktypes.html).
const (
	linkNull     = 0
	linkEthernet = 1
	linkRaw      = 101
	linkCooked   = 113
	linkCooked2  = 276
)

// Bounds of one packet and one block; tcpdump's own limit is 256 KiB.
const (
	maxPacket = 1 << 20
	headers   = 256 // bytes of a packet that are looked at
)

// Magic numbers of the two containers.
const (
	micro   = 0xa1b2c3d4
	nano    = 0xa1b23c4d
	section = 0x0a0d0d0a
	little  = 0x1a2b3c4d
)

// magic says that a file begins like pcap or pcapng.
func magic(b []byte) bool {
	if len(b) < 12 {
		return false
	}
	switch l, m := binary.LittleEndian.Uint32(b), binary.BigEndian.Uint32(b); {
	case l == micro || l == nano || m == micro || m == nano:
		return true
	case l == section:
		return binary.LittleEndian.Uint32(b[8:]) == little || binary.BigEndian.Uint32(b[8:]) == little
	}
	return false
}

var errDamaged = errors.New("the capture is damaged: a packet or block of it has an impossible length")

func readBinary(ctx context.Context, in io.Reader) (*Capture, error) {
	r := &binaryReader{r: bufio.NewReaderSize(in, 64<<10), t: newTracker(), ctx: ctx}
	r.t.out.Binary = true
	first, err := r.r.Peek(4)
	if err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint32(first) == section {
		err = r.blocks()
	} else {
		err = r.classic()
	}
	if errors.Is(err, io.ErrUnexpectedEOF) {
		r.t.out.Cut, err = true, nil
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return r.t.finish(), err
}

type binaryReader struct {
	r     *bufio.Reader
	t     *tracker
	ctx   context.Context
	order binary.ByteOrder
	links []uint32 // of the section's interfaces
	buf   [headers]byte
}

// packet takes the next n bytes as one captured packet: its beginning is looked at, the rest passed over.
func (r *binaryReader) packet(link uint32, n int) error {
	if n < 0 || n > maxPacket {
		return errDamaged
	}
	b := r.buf[:min(n, headers)]
	if _, err := io.ReadFull(r.r, b); err != nil {
		return unexpected(err)
	}
	if _, err := r.r.Discard(n - len(b)); err != nil {
		return unexpected(err)
	}
	if s, ok := decode(link, b); ok {
		s.at.There, s.at.Index, s.at.Seq, s.at.Len = true, r.t.out.Packets, s.seq, s.size
		r.t.add(s)
	}
	r.t.out.Packets++
	if r.t.out.Packets&1023 == 0 {
		return r.ctx.Err()
	}
	return nil
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (r *binaryReader) classic() error {
	var h [24]byte
	if _, err := io.ReadFull(r.r, h[:]); err != nil {
		return err
	}
	r.order = binary.LittleEndian
	if m := binary.BigEndian.Uint32(h[:]); m == micro || m == nano {
		r.order = binary.BigEndian
	}
	link := r.order.Uint32(h[20:]) & 0x0fffffff
	for {
		var p [16]byte
		if _, err := io.ReadFull(r.r, p[:]); err != nil {
			return err
		}
		n := r.order.Uint32(p[8:])
		if n > maxPacket {
			return errDamaged
		}
		if err := r.packet(link, int(n)); err != nil {
			return err
		}
	}
}

// blocks reads pcapng: sections, interfaces, packets; other blocks are passed over.
func (r *binaryReader) blocks() error {
	for {
		head, err := r.r.Peek(12)
		if err != nil {
			if len(head) == 0 {
				return io.EOF
			}
			return io.ErrUnexpectedEOF
		}
		if binary.LittleEndian.Uint32(head) == section {
			switch {
			case binary.LittleEndian.Uint32(head[8:]) == little:
				r.order = binary.LittleEndian
			case binary.BigEndian.Uint32(head[8:]) == little:
				r.order = binary.BigEndian
			default:
				return errDamaged
			}
			r.links = nil
		}
		kind, size := r.order.Uint32(head), r.order.Uint32(head[4:])
		if size < 12 || size%4 != 0 || size > maxPacket+4096 {
			return errDamaged
		}
		if err := r.block(kind, int(size)); err != nil {
			return err
		}
	}
}

func (r *binaryReader) block(kind uint32, size int) error {
	if _, err := r.r.Discard(8); err != nil {
		return unexpected(err)
	}
	rest := size - 8
	take := func(n int) ([]byte, error) {
		if n > rest-4 {
			return nil, errDamaged
		}
		b := make([]byte, n)
		_, err := io.ReadFull(r.r, b)
		rest -= n
		return b, unexpected(err)
	}
	switch kind {
	case 1: // interface description
		b, err := take(4)
		if err != nil {
			return err
		}
		if len(r.links) < 1<<16 {
			r.links = append(r.links, uint32(r.order.Uint16(b)))
		}
	case 6: // enhanced packet
		b, err := take(20)
		if err != nil {
			return err
		}
		id, n := r.order.Uint32(b), r.order.Uint32(b[12:])
		if int64(n) > int64(rest-4) || int(id) >= len(r.links) {
			return errDamaged
		}
		if err := r.packet(r.links[id], int(n)); err != nil {
			return err
		}
		rest -= int(n)
	case 3: // simple packet, of the first interface
		b, err := take(4)
		if err != nil {
			return err
		}
		if len(r.links) == 0 {
			return errDamaged
		}
		n := min(int(r.order.Uint32(b)), rest-4)
		if err := r.packet(r.links[0], n); err != nil {
			return err
		}
		rest -= n
	}
	_, err := r.r.Discard(rest)
	return unexpected(err)
}

// decode finds the segment of TCP in a packet.
func decode(link uint32, b []byte) (*segment, bool) {
	kind := uint16(0)
	switch link {
	case linkEthernet:
		if len(b) < 14 {
			return nil, false
		}
		kind, b = binary.BigEndian.Uint16(b[12:]), b[14:]
		for range 2 { // 802.1Q
			if (kind == 0x8100 || kind == 0x88a8) && len(b) >= 4 {
				kind, b = binary.BigEndian.Uint16(b[2:]), b[4:]
			}
		}
	case linkCooked:
		if len(b) < 16 {
			return nil, false
		}
		kind, b = binary.BigEndian.Uint16(b[14:]), b[16:]
	case linkCooked2:
		if len(b) < 20 {
			return nil, false
		}
		kind, b = binary.BigEndian.Uint16(b), b[20:]
	case linkNull:
		if len(b) < 4 {
			return nil, false
		}
		b = b[4:]
	case linkRaw, 12, 14:
	default:
		return nil, false
	}
	if kind != 0 && kind != 0x0800 && kind != 0x86dd || len(b) < 20 {
		return nil, false
	}
	switch b[0] >> 4 {
	case 4:
		return ip4(b)
	case 6:
		return ip6(b)
	}
	return nil, false
}

func ip4(b []byte) (*segment, bool) {
	head, total := int(b[0]&15)*4, int(binary.BigEndian.Uint16(b[2:]))
	if head < 20 || len(b) < head || b[9] != 6 || binary.BigEndian.Uint16(b[6:])&0x1fff != 0 {
		return nil, false
	}
	return tcp(netip.AddrFrom4([4]byte(b[12:16])), netip.AddrFrom4([4]byte(b[16:20])), b[head:], total-head)
}

func ip6(b []byte) (*segment, bool) {
	if len(b) < 40 || b[6] != 6 { // extension headers are rare before TCP
		return nil, false
	}
	return tcp(netip.AddrFrom16([16]byte(b[8:24])), netip.AddrFrom16([16]byte(b[24:40])), b[40:], int(binary.BigEndian.Uint16(b[4:])))
}

// tcp reads the header of a segment of which size bytes were sent, header and data.
func tcp(src, dst netip.Addr, b []byte, size int) (*segment, bool) {
	if len(b) < 20 {
		return nil, false
	}
	head := int(b[12]>>4) * 4
	if head < 20 {
		return nil, false
	}
	s := &segment{src: netip.AddrPortFrom(src, binary.BigEndian.Uint16(b)).String(), dst: netip.AddrPortFrom(dst, binary.BigEndian.Uint16(b[2:])).String(),
		seq: binary.BigEndian.Uint32(b[4:]), hasSeq: true, size: max(0, size-head), syn: b[13]&2 != 0, rst: b[13]&4 != 0, window: int(binary.BigEndian.Uint16(b[14:]))}
	if s.syn {
		s.size = 0
	}
	return s, true
}
