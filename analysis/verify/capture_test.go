package verify

import (
	"encoding/binary"
	"testing"

	"faultline/incident"
)

// onePacket is a pcap with one segment of TCP, from 10.0.0.1:9 to 10.0.0.2:80, with four bytes of data.
func onePacket() []byte {
	b := append([]byte("\xd4\xc3\xb2\xa1\x02\x00\x04\x00"), make([]byte, 16)...)
	b[20] = 101
	ip := append([]byte{0x45, 0, 0, 44, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2}, 0, 9, 0, 80, 0, 0, 0, 7, 0, 0, 0, 0, 0x50, 4, 0, 0, 0, 0, 0, 0, 'd', 'a', 't', 'a')
	head := make([]byte, 16)
	binary.LittleEndian.PutUint32(head[8:], uint32(len(ip)))
	return append(append(b, head...), ip...)
}

func TestPacketsAreRecords(t *testing.T) {
	data := onePacket()
	ask := func(place string, members ...incident.Member) error {
		ev := &incident.Evidence{Kind: incident.KindRecord, Place: place, Predicate: &incident.Predicate{Members: members}}
		v, err := capture(data, []*incident.Evidence{ev})
		if err != nil {
			return err
		}
		return holdsAt(v, ev)
	}
	if !captured(data) {
		t.Fatal("no capture")
	}
	if err := ask("packets[0]", incident.Member{Name: "src", Value: "10.0.0.1:9"}, incident.Member{Name: "seq", Value: "7"}, incident.Member{Name: "data", Value: "4"}, incident.Member{Name: "window", Value: "0"},
		incident.Member{Name: "rst", Value: "true"}); err != nil {
		t.Error(err)
	}
	if ask("packets[0]", incident.Member{Name: "seq", Value: "8"}) == nil || ask("packets[1]", incident.Member{Name: "seq", Value: "7"}) == nil {
		t.Error("what is not there holds")
	}
	for n := range data {
		_ = captured(data[:n])
		if n >= 24 {
			_, _ = capture(data[:n], nil)
		}
	}
}

func FuzzCapture(f *testing.F) {
	f.Add(onePacket())
	f.Add([]byte("\x0a\x0d\x0d\x0a\x1c\x00\x00\x00\x4d\x3c\x2b\x1a\x01\x00\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x1c\x00\x00\x00"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		if captured(b) {
			_, _ = capture(b, []*incident.Evidence{{Place: "packets[3]"}})
		}
	})
}
