package analysis

import (
	"testing"

	"faultline/analysis/diagnose"
	"faultline/simulate"
)

// BenchmarkConclude is everything after the reading of a hang of 16,384 ranks in 2,049 files: whose lines they are, what they
// add up to, and the verification on the raw bytes.
func BenchmarkConclude(b *testing.B) {
	const nodes, perNode = 2048, 8
	for _, s := range []simulate.Spec{
		{Mechanism: "rank-stalled", Layout: simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: nodes * perNode, PP: 1}},
		{Mechanism: "multi-group-stall", Layout: simulate.Layout{Kind: "megatron", TP: 8, CP: 1, EP: 1, DP: 512, PP: 4}},
		{Mechanism: "gpu-oom", Layout: simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: nodes * perNode, PP: 1}},
	} {
		b.Run(s.Mechanism, func(b *testing.B) {
			s.Seed, s.Torch, s.NodeCount, s.PerNode, s.FileMode = 3, "2.7", nodes, perNode, "node"
			inc, err := simulate.Generate(s)
			if err != nil {
				b.Fatal(err)
			}
			files := map[string]string{}
			for _, f := range inc.Files {
				files[f.Name] = string(f.Data)
			}
			in := Input{Sources: write(b, files), WorldSize: nodes * perNode}
			obs, failed, err := read(b.Context(), in)
			if err != nil || len(failed) > 0 {
				b.Fatal(err, failed)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := conclude(b.Context(), in, obs, nil, diagnose.Earlier{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
