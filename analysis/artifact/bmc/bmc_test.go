package bmc

import (
	"context"
	"strings"
	"testing"
)

const log = `[root@n2 ~]# ipmitool sel elist
   1 | 05/06/2026 | 09:10:44 | Event Logging Disabled SEL | Log area reset/cleared | Asserted
   2 | 05/06/2026 | 09:12:03 UTC | Memory DIMM_A1 | Uncorrectable ECC | Asserted
   3 | 05/06/26 | 09:12:05 | Power Supply PS1 Status | Power Supply AC lost | Asserted
   4 | 05/06/2026 | 09:14:11 | Power Supply PS1 Status | Power Supply AC lost | Deasserted
  1a | Pre-Init  |0000000011| Processor #0x60 | Thermal Trip | Asserted
`

func TestWhatTheJobFeelsIsTold(t *testing.T) {
	told, err := Kind.Read(context.Background(), strings.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"Memory DIMM_A1: main memory had an error that it could not correct (05/06/2026 09:12:03 UTC by the BMC's clock)",
		"Power Supply PS1 Status: a power supply lost its input (05/06/26 09:12:05 by the BMC's clock)",
		"Processor #0x60: the processor shut down because it was too hot (Pre-Init 0000000011 by the BMC's clock)",
	}
	if len(told) != len(want) {
		t.Fatalf("told %v", told)
	}
	for i, x := range told {
		line := log[x.Offset : x.Offset+int64(x.Len)]
		for _, l := range x.Literals {
			if !strings.Contains(line, l) {
				t.Errorf("%q does not hold %q", line, l)
			}
		}
		if x.Says != want[i] || x.Host != "n2" {
			t.Errorf("%s: %q, expected %q", x.Host, x.Says, want[i])
		}
		if at := x.Time; i < 2 && (at.Year != 2026 || at.Month != 5 || at.Day != 6) || i == 2 && at.Month != 0 {
			t.Errorf("%s: %+v", x.Says, at)
		}
	}
}

func TestItIsKnownByItsRows(t *testing.T) {
	if !Kind.Recognise([]byte(log)) || !Kind.Pasted([]byte("step 1 loss 2.1\n"+log)) {
		t.Error("an event log is not recognised")
	}
	for _, other := range []string{"", "step 1 | loss 2.1 | lr 0.1\nstep 2 | loss 2.0 | lr 0.1\n", "| 1 | 05/06/2026 | a |\n", "2026-05-06 | 09:12:03 | INFO | train | step 3\n"} {
		if Kind.Recognise([]byte(other)) || Kind.Pasted([]byte(other)) {
			t.Errorf("%q is taken for an event log", other)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(log)
	f.Fuzz(func(t *testing.T, text string) {
		told, err := Kind.Read(context.Background(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range told {
			if end := x.Offset + int64(x.Len); x.Offset < 0 || end > int64(len(text)) || !strings.Contains(text[x.Offset:end], x.Literals[0]) {
				t.Fatalf("%+v is not in the text", x)
			}
		}
	})
}
