package worker

import (
	"bytes"
	"context"
	"fmt"
	"syscall"
	"testing"
	"time"

	"faultline/simulate/volume"
)

// BenchmarkKinds reads lines of one kind after the other, each of them in full: what is new in a log costs this much. A line is to
// cost at most 1.5 µs and 2 ns for each byte, by processor time: above 1 limit it costs more.
func BenchmarkKinds(b *testing.B) {
	sc, err := NewScanner()
	if err != nil {
		b.Fatal(err)
	}
	full := *sc
	full.thorough = true
	const n = 4000
	for _, family := range volume.Families() {
		for kind := range volume.Templates(family) {
			var text bytes.Buffer
			if err := volume.Repeat(&text, family, kind, n); err != nil {
				b.Fatal(err)
			}
			lines := max(bytes.Count(text.Bytes(), []byte("\n")), bytes.Count(text.Bytes(), []byte("\r")))
			b.Run(fmt.Sprintf("%s-%d", family, kind), func(b *testing.B) {
				before := processorTime()
				for b.Loop() {
					if _, err := Read(context.Background(), "x", bytes.NewReader(text.Bytes()), &full); err != nil {
						b.Fatal(err)
					}
				}
				each := float64((processorTime() - before).Nanoseconds()) / float64(b.N*lines)
				b.ReportMetric(each, "ns/line")
				b.ReportMetric(each/(1500+2*float64(text.Len())/float64(lines)), "limits")
			})
		}
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
