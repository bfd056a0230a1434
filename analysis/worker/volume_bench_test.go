package worker_test

import (
	"bytes"
	"context"
	"syscall"
	"testing"
	"time"

	"faultline/analysis/scan"
	"faultline/analysis/worker"
	"faultline/simulate/volume"
)

// BenchmarkVolume reads one file of each kind that the measurements of docs/performance.md are made of: the scanner
// alone, with a visitor that does nothing, and the reader with everything it does to a line. cpu-MB/s is by processor
// time, which a neighbour on the machine disturbs less than the wall clock.
func BenchmarkVolume(b *testing.B) {
	for _, kind := range volume.Kinds() {
		var text bytes.Buffer
		if err := volume.Write(&text, volume.Options{Kind: kind, Files: 64, PerFile: 8, FileSize: 8 << 20}, 3); err != nil {
			b.Fatal(err)
		}
		sc, err := worker.NewScanner()
		if err != nil {
			b.Fatal(err)
		}
		measure := func(what string, f func() error) {
			b.Run(what+"/"+kind, func(b *testing.B) {
				b.SetBytes(int64(text.Len()))
				b.ReportAllocs()
				before := processorTime()
				for b.Loop() {
					if err := f(); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(text.Len())*float64(b.N)/1e6/(processorTime()-before).Seconds(), "cpu-MB/s")
			})
		}
		measure("scan", func() error {
			_, err := sc.Scan(context.Background(), bytes.NewReader(text.Bytes()), func(*scan.Line) (int, error) { return 0, nil })
			return err
		})
		measure("read", func() error {
			_, err := worker.Read(context.Background(), "x", bytes.NewReader(text.Bytes()), sc)
			return err
		})
	}
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
