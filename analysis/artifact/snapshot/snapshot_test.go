package snapshot

import (
	"fmt"
	"strings"
	"testing"
)

// printedBy are made up in the forms of tools, and of one that is none.
var printedBy = []struct {
	name, text string
	want       []string // "what [keys] = text", each to be there
}{
	{"names under headings", "GPU 00000000:1B:00.0\n    Clocks\n        SM            : 990 MHz\nGPU 00000000:43:00.0\n    Clocks\n        SM            : 1980 MHz\n    Power\n        Limit : N/A\n",
		[]string{"GPU › Clocks › SM [00000000:1B:00.0] = 990 MHz", "GPU › Clocks › SM [00000000:43:00.0] = 1980 MHz"}},
	{"members in names", "GPU 4: X (UUID: GPU-1)\n\t Link 0: 25 GB/s\n\t Link 1: <inactive>\nGPU 5: X (UUID: GPU-2)\n\t Link 0: 25 GB/s\n", []string{"GPU › Link [GPU=4 Link=1] = <inactive>"}},
	{"counters", "# n7 eth0  2026-10-21 06:00\nstats:\n   rx_prio3_pause: 5\n   tx_prio3_pause: 0\n   drops: 0\n", []string{"stats › rx_prio3_pause [n7 eth0] = 5"}},
	{"dotted", "PortSelect:......................1\nPortXmitWait:....................4474\nPortRcvErrors:...................0\n", []string{"PortXmitWait [] = 4474"}},
	{"rows under headings and units", "# gpu    pwr  pclk\n# Idx      W   MHz\n    0    317  1200\n    1    301  1980\n", []string{"pclk [gpu=0] = 1200", "pwr [gpu=1] = 301"}},
	{"rows with two members", "host, index, power.limit [W]\nn1, 0, 700.00 W\nn1, 1, 450.00 W\nn2, 0, 700.00 W\n", []string{"power.limit [W] [host=n1 index=1] = 450.00 W"}},
	{"rows that name things", "Module Size Used\nib_core 438272 6\nnvidia 56711168 412\n", []string{"nvidia/Size [] = 56711168"}},
	{"sentences of a subject", "[Thu Sep 10 06:54:22 2026] frob 0000:8a:00.0: 252.0 Gb/s usable widget rate (16.0 GT/s wide slot)\n[Thu Sep 10 06:54:22 2026] frob 0000:ca:00.0: 63.0 Gb/s usable widget rate, limited by 8.0 GT/s narrow slot at 0000:c9:00.0\na: 1\n",
		[]string{"frob usable widget rate [0000:ca:00.0] = 63.0 Gb/s usable widget rate, limited by 8.0 GT/s narrow slot at 0000:c9:00.0"}},
	{"commands on other hosts", "$ ssh n01 frobstat -s\nCA 'x5_0'\n\tRate: 200\n\tState: Up\n$ ssh n02 frobstat -s\nCA 'x5_0'\n\tRate: 100\n\tState: Up\n", []string{"CA › Rate [n02 host=n02 x5_0] = 100"}},
	{"names in frames", "=== n01 ===\nRate: 200\nState: Up\n=== n02 ===\nRate: 100\nState: Up\n", []string{"Rate [n02] = 100"}},
	{"rows without headings", "CA: n17 mlx5_7:\n  0xa0 1243 4X Active\n  0xa1 1244 2X Active\n", []string{"CA › column 3 [n17 mlx5_7 0xa1] = 2X"}},
}

func TestWhatToolsPrintIsReadByItsShape(t *testing.T) {
	for _, c := range printedBy {
		t.Run(c.name, func(t *testing.T) {
			s, ok := Read(c.text)
			if !ok {
				t.Fatal("not read")
			}
			var all []string
			for _, x := range s.Cells {
				var keys []string
				for _, k := range x.Keys {
					keys = append(keys, strings.TrimPrefix(k.Name+"="+k.Value, "="))
				}
				all = append(all, fmt.Sprintf("%s [%s] = %s", x.What, strings.Join(keys, " "), x.Text))
			}
			for _, w := range c.want {
				if !strings.Contains("\n"+strings.Join(all, "\n")+"\n", "\n"+w+"\n") {
					t.Errorf("want %q in\n%s", w, strings.Join(all, "\n"))
				}
			}
		})
	}
}

func TestALogIsNoSnapshot(t *testing.T) {
	text := strings.Repeat("2026-10-21 06:00:01 step: 5 loss: 2.1\n", 20)
	if s, ok := Read(text); ok {
		t.Errorf("%d cells", len(s.Cells))
	}
}

func FuzzRead(f *testing.F) {
	for _, c := range printedBy {
		f.Add(c.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, _ := Read(text)
		for _, c := range s.Cells {
			if c.Place.Line < 1 || c.Place.Offset < 0 || c.Place.Offset > int64(len(text)) {
				t.Fatalf("%+v", c)
			}
		}
	})
}
