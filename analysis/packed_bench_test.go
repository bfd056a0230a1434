package analysis_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"faultline/analysis"
	"faultline/analysis/scan"
	"faultline/analysis/worker"
	"faultline/incident"
	"faultline/simulate/volume"
)

// BenchmarkPacked reads one compressed log of 25 MB three times a round: decoded by the library alone, scanned as the
// engine does it, and diagnosed. Reported are the medians of decoding's time divided by each of the other two: 1 would be
// as fast as bare decoding. The rounds are interleaved, so that other work on the machine meets all three. Scanning uses two
// processors where they are free; cpu-decode/… is the same by processor time, for a machine that has other work.
func BenchmarkPacked(b *testing.B) {
	for _, kind := range []string{"gz", "zst"} {
		b.Run(kind, func(b *testing.B) {
			path := filepath.Join(b.TempDir(), volume.Name(3)+"."+kind)
			content := pack(b, path, kind)
			sc, err := worker.NewScanner()
			if err != nil {
				b.Fatal(err)
			}
			st, err := os.Stat(path)
			if err != nil {
				b.Fatal(err)
			}
			in := analysis.Input{Sources: []incident.Source{{Name: filepath.Base(path), Path: path, Bytes: st.Size()}}}
			var ratios [4][]float64
			var decoding time.Duration
			for b.Loop() {
				decode, decodeCPU := took(b, func() error { return bare(path, kind) })
				scan, scanCPU := took(b, func() error {
					r, err := scan.Open(path)
					if err != nil {
						return err
					}
					defer r.Close()
					_, err = sc.Ahead(1).Scan(context.Background(), r, func(*scan.Line) (int, error) { return 0, nil })
					return err
				})
				diagnose, diagnoseCPU := took(b, func() error {
					_, err := analysis.Diagnose(context.Background(), in)
					return err
				})
				decoding += decode
				for i, r := range [4]float64{
					decode.Seconds() / scan.Seconds(), decode.Seconds() / diagnose.Seconds(),
					decodeCPU.Seconds() / scanCPU.Seconds(), decodeCPU.Seconds() / diagnoseCPU.Seconds(),
				} {
					ratios[i] = append(ratios[i], r)
				}
			}
			b.ReportMetric(float64(content)*float64(b.N)/1e6/decoding.Seconds(), "decode-MB/s")
			for i, name := range [4]string{"decode/scan", "decode/diagnose", "cpu-decode/scan", "cpu-decode/diagnose"} {
				slices.Sort(ratios[i])
				b.ReportMetric(ratios[i][len(ratios[i])/2], name)
			}
		})
	}
}

// took returns how long f takes, by the clock and of all processors.
func took(b *testing.B, f func() error) (wall, cpu time.Duration) {
	b.Helper()
	start, before := time.Now(), processorTime()
	if err := f(); err != nil {
		b.Fatal(err)
	}
	return time.Since(start), processorTime() - before
}

func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pack writes a compressed log and returns how much it holds.
func pack(b *testing.B, path, kind string) int64 {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	var z io.WriteCloser = gzip.NewWriter(f)
	if kind == "zst" {
		if z, err = zstd.NewWriter(f); err != nil {
			b.Fatal(err)
		}
	}
	n := &count{w: z}
	if err := volume.Write(n, volume.Options{Kind: volume.Mixed, Files: 12, PerFile: 8, FileSize: 25_000_000}, 3); err != nil {
		b.Fatal(err)
	}
	if err := z.Close(); err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return n.n
}

type count struct {
	w io.Writer
	n int64
}

func (c *count) Write(p []byte) (int, error) {
	c.n += int64(len(p))
	return c.w.Write(p)
}

// bare is decoding and nothing else.
func bare(path, kind string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	var r io.Reader
	if kind == "gz" {
		r, err = gzip.NewReader(f)
	} else {
		var d *zstd.Decoder
		if d, err = zstd.NewReader(f, zstd.WithDecoderConcurrency(1)); err == nil {
			defer d.Close()
			r = d
		}
	}
	if err != nil {
		return err
	}
	_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, make([]byte, 256<<10))
	return err
}
