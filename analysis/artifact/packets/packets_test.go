package packets

import (
	"bytes"
	"encoding/binary"
	"os"
	"path/filepath"
	"testing"
)

func read(t *testing.T, name string) *Capture {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if !Recognise(b[:min(len(b), HeadLen)]) {
		t.Errorf("%s is not recognised", name)
	}
	c, err := Read(t.Context(), bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// One capture in three forms: tcpdump's text, its file, and the same packets as pcapng. A link that was down for a second, a port that
// nobody listens on, and a receiver that does not read.
func TestAllFormsSayTheSame(t *testing.T) {
	text := read(t, "real.txt")
	var want [3]int64
	for i, name := range []string{"real.txt", "real.pcap", "real.pcapng"} {
		c := read(t, name)
		var sum [3]int64
		for _, f := range c.Flows {
			sum[0] += f.Again
			sum[1] += f.Resets
			sum[2] += f.Zero
		}
		if i == 0 {
			want = sum
			t.Logf("%d packets, %d flows: %v", c.Packets, len(c.Flows), sum)
		}
		if sum != want || c.Packets != text.Packets || len(c.Flows) != len(text.Flows) || c.Binary != (i > 0) || c.Cut {
			t.Errorf("%s: %d packets, %d flows, %v; want %v", name, c.Packets, len(c.Flows), sum, want)
		}
		for k := range c.Flows {
			if c.Flows[k].Src != text.Flows[k].Src || c.Flows[k].Again != text.Flows[k].Again {
				t.Errorf("%s: %+v", name, c.Flows[k])
			}
		}
	}
	if want[0] < 1 || want[1] < 1 || want[2] < 1 {
		t.Errorf("%v", want)
	}
	worst := text.Flows[0]
	if worst.Src == "" || !worst.FirstAgain.There && !worst.FirstZero.There {
		t.Errorf("%+v", worst)
	}
}

func TestDamagedCaptures(t *testing.T) {
	b, err := os.ReadFile("testdata/real.pcap")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Read(t.Context(), bytes.NewReader(b[:len(b)-5]))
	if err != nil || !c.Cut {
		t.Errorf("%v, %v", c, err)
	}
	huge := bytes.Clone(b)
	binary.LittleEndian.PutUint32(huge[24+8:], 0xfffffff0)
	if _, err := Read(t.Context(), bytes.NewReader(huge)); err == nil {
		t.Error("a packet of 4 GB")
	}
}

func TestLogsAreNone(t *testing.T) {
	for _, s := range []string{"", "no", "[rank0]: Flags [x]\n", "13:44:14.518735 IP 10.77.0.1.49658 > 10.77.0.2.5201: Flags [S], seq 1, win 64, length 0\n[rank0]: step\n[rank0]: step\n[rank0]: step\n"} {
		if Recognise([]byte(s)) {
			t.Errorf("%q", s)
		}
	}
}

func FuzzRead(f *testing.F) {
	names, _ := filepath.Glob("testdata/real*")
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		Recognise(b)
		c, err := Read(t.Context(), bytes.NewReader(b))
		if err == nil && c == nil {
			t.Fatal("nothing and no error")
		}
	})
}
