package acceptance

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"faultline/analysis"
	"faultline/analysis/hostlist"
	"faultline/incident"
	"faultline/messages"
	"faultline/simulate"
)

// sameSpecs are incidents of different kinds: several files, packed ones, several groups, several runs.
func sameSpecs() []simulate.Spec {
	ddp := func(nodes int) simulate.Layout {
		return simulate.Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: nodes * 8, PP: 1}
	}
	specs := []simulate.Spec{
		{Mechanism: "rank-stalled", Torch: "2.7", FileMode: "node", NodeCount: 4, Noise: 3, ZoneMix: true},
		{Mechanism: "rank-stalled", Torch: "1.13", FileMode: "rank", NodeCount: 2, Noise: 1, Damage: "gz"},
		{Mechanism: "symmetric-hang", Torch: "2.5", FileMode: "task", NodeCount: 4, Noise: 2, Damage: "zst"},
		{Mechanism: "lagging-gpu", Torch: "2.6", FileMode: "node", NodeCount: 4, Damage: "glued"},
		{Mechanism: "mismatch", Torch: "2.4", FileMode: "single", NodeCount: 2, Prefixes: []string{"srun-label"}},
		{Mechanism: "exception", Torch: "2.3", FileMode: "node", NodeCount: 8, Noise: 2, Damage: "missing-other-file"},
		{Mechanism: "gpu-ecc", Torch: "2.8", FileMode: "node", NodeCount: 2, Noise: 3, Damage: "utf8"},
		{Mechanism: "requeued", Torch: "2.2", FileMode: "node", NodeCount: 2, Noise: 1},
		{Mechanism: "healthy", Torch: "recent", FileMode: "node", NodeCount: 2, Noise: 3},
		{Mechanism: "node-failure", Torch: "2.6", FileMode: "node", NodeCount: 4, Noise: 1, Damage: "nul"},
	}
	for i := range specs {
		specs[i].Seed, specs[i].PerNode, specs[i].Layout = uint64(100+i), 8, ddp(specs[i].NodeCount)
	}
	return append(specs, simulate.Demo())
}

func TestTheReportIsTheSameBytesWhateverDoesNotMatter(t *testing.T) {
	for _, spec := range sameSpecs() {
		t.Run(spec.Mechanism+" "+spec.Damage, func(t *testing.T) { same(t, spec) })
	}
}

func same(t *testing.T, spec simulate.Spec) {
	inc := play(t, spec)
	var nodes []string
	if inc.Nodes != "" {
		var err error
		if nodes, err = hostlist.Expand(inc.Nodes); err != nil {
			t.Fatal(err)
		}
	}
	here := put(t, filepath.Join(t.TempDir(), "logs"), inc.Files)
	report := func(sources []incident.Source, workers int) []byte {
		t.Helper()
		r := diagnosed(t.Context(), t, inc.ID, analysis.Input{Sources: sources, Nodes: nodes, WorldSize: inc.WorldSize, Workers: workers})
		if r == nil {
			t.Fatal("no report")
		}
		var b bytes.Buffer
		if err := messages.JSON(&b, r); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	want := report(here, 1)
	check := func(what string, got []byte) {
		t.Helper()
		if !bytes.Equal(want, got) {
			t.Errorf("%s changes the report: %s", what, firstDifference(want, got))
		}
	}
	p := rand.New(rand.NewPCG(spec.Seed, 5))
	for workers := 2; workers <= 16; workers += 1 + workers/2 {
		check(fmt.Sprintf("%d workers", workers), report(here, workers))
	}
	for i := range 3 {
		mixed := append([]incident.Source(nil), here...)
		p.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		check("the order of the files", report(mixed, 1+i*7))
	}
	for i, s := range here {
		at := time.Unix(int64(1e9+p.IntN(1e8)), 0)
		if err := os.Chtimes(s.Path, at, at.Add(time.Duration(i)*time.Hour)); err != nil {
			t.Fatal(err)
		}
	}
	check("the time of the files", report(here, 3))
	there := put(t, filepath.Join(t.TempDir(), "error-999-3", "node07", "rank_5"), inc.Files)
	check("the parent folder", report(there, 2))
	t.Chdir(filepath.Dir(there[0].Path))
	for i := range there {
		there[i].Path = filepath.Base(there[i].Path)
	}
	check("the working directory", report(there, 16))
}

// firstDifference shows where two reports part.
func firstDifference(a, b []byte) string {
	x, y := bytes.Split(a, []byte("\n")), bytes.Split(b, []byte("\n"))
	for i := range min(len(x), len(y)) {
		if !bytes.Equal(x[i], y[i]) {
			return fmt.Sprintf("line %d: %s | %s", i+1, bytes.TrimSpace(x[i]), bytes.TrimSpace(y[i]))
		}
	}
	return fmt.Sprintf("%d lines | %d lines", len(x), len(y))
}
