package analysis

import (
	"os"
	"path/filepath"
	"testing"

	"faultline/incident"
	"faultline/simulate/dumps"
)

// BenchmarkDumps reads the dumps of one job and puts them together: those of the folder that FAULTLINE_BENCH_DUMPS names
// (bench/dumps writes such folders), or those of 64 ranks.
func BenchmarkDumps(b *testing.B) {
	dir := os.Getenv("FAULTLINE_BENCH_DUMPS")
	if dir == "" {
		dir = b.TempDir()
		spec := dumps.Spec{Seed: 1, Fault: dumps.Processor, TP: 4, PP: 2, DP: 8, Steps: 250, Version: "2.9", Timing: true, Ring: 2000, Faulty: 1}
		if _, err := dumps.Each(spec, func(name string, data []byte) error { return os.WriteFile(filepath.Join(dir, name), data, 0o600) }); err != nil {
			b.Fatal(err)
		}
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(paths) == 0 {
		b.Fatalf("nothing in %s: %v", dir, err)
	}
	in := Input{}
	var total int64
	for _, p := range paths {
		st, err := os.Stat(p)
		if err != nil {
			b.Fatal(err)
		}
		in.Evidence = append(in.Evidence, incident.Source{Name: filepath.Base(p), Path: p, Bytes: st.Size()})
		total += st.Size()
	}
	b.Run("read", func(b *testing.B) {
		b.SetBytes(total)
		b.ReportAllocs()
		for b.Loop() {
			if err := readEvidence(b.Context(), &in); err != nil || len(in.handed.Dumps) != len(paths) {
				b.Fatal(err, in.notes)
			}
		}
	})
	b.Run("diagnose", func(b *testing.B) {
		b.SetBytes(total)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Diagnose(b.Context(), Input{Evidence: in.Evidence}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
