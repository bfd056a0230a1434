package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/diagnose/mechanism"
	"faultline/simulate"
)

// parts is what a process prints of a step before a slowdown and since, in seconds by name.
type parts struct{ was, is [3]float64 }

// loops are the logs of processes that time the parts of their steps in words of their own.
func loops(names [3]string, ranks []parts) []simulate.File {
	var files []simulate.File
	for rank, p := range ranks {
		var b strings.Builder
		for i := range 60 {
			v := p.was
			if i >= 30 {
				v = p.is
			}
			s := 2 * i
			fmt.Fprintf(&b, "2026-03-01 10:%02d:%02d # %d | %s %.3fs | %s %.3fs | %s %.3fs | = %.3fs\n", s/60, s%60, 10*i, names[0], v[0], names[1], v[1], names[2], v[2]+0.001*float64(i%3), v[0]+v[1]+v[2])
		}
		files = append(files, simulate.File{Name: fmt.Sprintf("rank_%d.log", rank), Data: []byte(strings.ReplaceAll(b.String(), "= ", "Σ "))})
	}
	return files
}

// TestWhoIsLateIsToldByShape: no word of these loops is known, but those of the data.
func TestWhoIsLateIsToldByShape(t *testing.T) {
	unknown := [3]string{"laden", "rechnen", "abgleich"}
	calm := [3]float64{0.02, 0.80, 0.10}
	waits, works, loads := parts{calm, [3]float64{0.02, 0.80, 0.95}}, parts{calm, [3]float64{0.02, 1.65, 0.10}}, parts{calm, [3]float64{0.87, 0.80, 0.10}}
	for _, tt := range []struct {
		name      string
		words     [3]string
		ranks     []parts
		mechanism string
		want      []int
	}{
		{"one works longer", unknown, []parts{waits, waits, works, waits}, "slow-rank", []int{2}},
		{"one of three, the least that tells", unknown, []parts{waits, works, waits}, "slow-rank", []int{1}},
		{"two of four: nobody knows who waits", unknown, []parts{waits, works, works, waits}, "throughput-regression", nil},
		{"three of four work longer: the one that waits is not late", unknown, []parts{works, works, works, waits}, "throughput-regression", nil},
		{"two of four load longer", [3]string{"data_wait", "rechnen", "abgleich"}, []parts{waits, loads, loads, waits}, "dataloader-stall", []int{1, 2}},
		{"three of four load longer", [3]string{"data_wait", "rechnen", "abgleich"}, []parts{loads, loads, loads, waits}, "dataloader-stall", []int{0, 1, 2}},
		{"all work longer", unknown, []parts{works, works, works, works}, "throughput-regression", nil},
		{"one communicates longer", [3]string{"laden", "allreduce", "abgleich"}, []parts{waits, waits, works, waits}, "slow-communication", nil},
		{"nothing changes", unknown, []parts{{calm, calm}, {calm, calm}, {calm, calm}}, "", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			files := loops(tt.words, tt.ranks)
			f := read(t, files, nil, len(tt.ranks))
			r := run(f, mechanism.All())
			if tt.mechanism != "" && r.Verdict.Mechanism != tt.mechanism || !slices.Equal(r.Verdict.Root.Ranks, tt.want) {
				t.Errorf("%s %v: %s", r.Verdict.Mechanism, r.Verdict.Root.Ranks, r.Verdict.Summary)
			}
		})
	}
}
