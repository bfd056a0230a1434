package kernel

import (
	"bytes"
	"context"
	"fmt"
	"testing"
)

// BenchmarkStorm reads corrected errors of PCIe by the thousand, as a bad link writes them.
func BenchmarkStorm(b *testing.B) {
	var text bytes.Buffer
	for i := 0; text.Len() < 8<<20; i++ {
		at := fmt.Sprintf("[%7d.%06d]", 1000+i/100, i%1000000)
		fmt.Fprintf(&text, "%s pcieport 0000:16:01.0: AER: Corrected error message received from 0000:17:00.0\n", at)
		fmt.Fprintf(&text, "%s mlx5_core 0000:17:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)\n", at)
		fmt.Fprintf(&text, "%s mlx5_core 0000:17:00.0:   device [15b3:1021] error status/mask=00001000/00002000\n", at)
		fmt.Fprintf(&text, "%s mlx5_core 0000:17:00.0:    [12] Timeout               \n", at)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := Read(context.Background(), bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOrdinary reads what kernels say most: of no interest.
func BenchmarkOrdinary(b *testing.B) {
	var text bytes.Buffer
	for i := 0; text.Len() < 8<<20; i++ {
		fmt.Fprintf(&text, "Jul 09 10:42:%02d node7 kernel: [%7d.%06d] audit: type=1400 audit(17%d.1:1): apparmor=\"DENIED\" operation=\"open\" profile=\"x\" name=\"/proc/1/x\"\n", i%60, 1000+i/100, i%1000000, i)
	}
	b.SetBytes(int64(text.Len()))
	for b.Loop() {
		if _, err := Read(context.Background(), bytes.NewReader(text.Bytes())); err != nil {
			b.Fatal(err)
		}
	}
}
