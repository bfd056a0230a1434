package analysis_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"faultline/analysis"
	"faultline/incident"
	"faultline/simulate/volume"
)

// BenchmarkDiagnose runs the whole engine over the files of one job: those of the folder that FAULTLINE_BENCH_DIR names
// (bench/generate writes such folders), or a small set of its own.
func BenchmarkDiagnose(b *testing.B) {
	dir := os.Getenv("FAULTLINE_BENCH_DIR")
	if dir == "" {
		dir = b.TempDir()
		o := volume.Options{Kind: volume.Mixed, Files: 4, PerFile: 8, FileSize: 4 << 20}
		for i := range o.Files {
			f, err := os.Create(filepath.Join(dir, volume.Name(i)))
			if err != nil {
				b.Fatal(err)
			}
			if err := volume.Write(f, o, i); err != nil {
				b.Fatal(err)
			}
			if err := f.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
	var in analysis.Input
	var total int64
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) == 0 {
		b.Fatalf("nothing in %s: %v", dir, err)
	}
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			b.Fatal(err)
		}
		in.Sources = append(in.Sources, incident.Source{Name: filepath.Base(p), Path: p, Bytes: st.Size()})
		total += st.Size()
	}
	b.SetBytes(total)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := analysis.Diagnose(context.Background(), in); err != nil {
			b.Fatal(err)
		}
	}
}
