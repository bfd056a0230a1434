// Package packets reads what was captured of TCP on the wire: the text of tcpdump, and its files (pcap, pcapng). For each direction of each
// connection it counts segments that were sent again, resets, and windows of zero. It reads headers only, and no more than a bounded
// number of connections; RDMA does not pass by a capture of the host.
//
// Formats: tcpdump 4.9 to 4.99 (print-tcp.c), libpcap's savefile (pcap-savefile(5)), the pcapng draft (draft-ietf-opsawg-pcapng).
//
// The containers are read by this package itself: they are two small formats, and the libraries that read them bring the means to open
// sockets with them, which the engine must not have.
package packets

import (
	"cmp"
	"slices"

	"faultline/analysis/artifact/lines"
)

// Capture is what one file holds.
type Capture struct {
	Binary  bool
	Packets int64 // all that were captured
	Flows   []Flow
	// More is how many segments belong to connections beyond those that are kept.
	More int64
	// Cut says that the file ends in the middle of a packet.
	Cut bool
}

// Flow is one direction of one connection.
type Flow struct {
	Src, Dst string // address and port
	Data     int64  // segments with data
	Again    int64  // data that had been sent before
	Resets   int64
	Zero     int64 // times the window closed: the receiver could take no more
	// The first of each, for quoting.
	FirstAgain, FirstReset, FirstZero Sample
	// Before is the segment up to which data had been sent when FirstAgain came.
	Before  Sample
	top     Sample
	next    uint32 // the sequence number after the highest data seen
	started bool
	closed  bool // its window is zero now
}

// Sample is one packet and where it stands.
type Sample struct {
	There bool
	Place lines.Place // of its line, in text
	Index int64       // of its packet in a file of packets, from 0
	Seq   uint32
	Len   int
}

// maxFlows is how many directions of connections are kept.
const maxFlows = 1 << 14

// segment is one captured segment of TCP.
type segment struct {
	src, dst string
	seq      uint32
	hasSeq   bool
	size     int // of its data
	syn, rst bool
	window   int // −1 unknown
	at       Sample
}

type tracker struct {
	out   Capture
	flows map[[2]string]*Flow
}

func newTracker() *tracker { return &tracker{flows: map[[2]string]*Flow{}} }

func (t *tracker) add(s *segment) {
	key := [2]string{s.src, s.dst}
	f := t.flows[key]
	if f == nil {
		if len(t.flows) >= maxFlows {
			t.out.More++
			return
		}
		f = &Flow{Src: s.src, Dst: s.dst}
		t.flows[key] = f
	}
	if s.syn {
		f.started, f.closed = false, false // another connection of the same ports
	}
	if s.rst {
		f.Resets++
		if !f.FirstReset.There {
			f.FirstReset = s.at
		}
	}
	if s.window >= 0 && !s.rst && !s.syn {
		if s.window == 0 && !f.closed {
			f.Zero++
			if !f.FirstZero.There {
				f.FirstZero = s.at
			}
		}
		f.closed = s.window == 0
	}
	if s.size <= 0 || !s.hasSeq {
		return
	}
	f.Data++
	end := s.seq + uint32(s.size)
	if !f.started {
		f.started, f.next, f.top = true, end, s.at
		return
	}
	switch {
	case s.size == 1 && int32(end-f.next) <= 0 && f.next-s.seq == 1:
		// A byte that only asks whether the window is open again, or keeps the connection alive.
	case int32(end-f.next) <= 0:
		f.Again++
		if !f.FirstAgain.There {
			f.FirstAgain, f.Before = s.at, f.top
		}
	default:
		f.next, f.top = end, s.at
	}
}

// finish orders the flows: those with the most trouble first.
func (t *tracker) finish() *Capture {
	for _, f := range t.flows {
		t.out.Flows = append(t.out.Flows, *f)
	}
	slices.SortFunc(t.out.Flows, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Again+b.Resets+b.Zero, a.Again+a.Resets+a.Zero), cmp.Compare(a.Src, b.Src), cmp.Compare(a.Dst, b.Dst))
	})
	return &t.out
}
