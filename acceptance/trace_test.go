package acceptance

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"faultline/analysis"
	"faultline/incident"
	"faultline/simulate/trace"
)

// traceSpecs vary what is wrong, who wrote the traces, how the job is divided, and whose traces are there.
func traceSpecs() []trace.Spec {
	layouts := [][3]int{{1, 1, 4}, {1, 1, 8}, {2, 1, 4}, {4, 1, 2}, {2, 2, 2}, {1, 4, 2}, {8, 1, 1}}
	rng := rand.New(rand.NewPCG(2026, 7))
	var out []trace.Spec
	for i, kind := range trace.Kinds() {
		for j, format := range trace.Formats() {
			for k := range 3 {
				l := layouts[(i+j+3*k)%len(layouts)]
				s := trace.Spec{Seed: uint64(100*i + 10*j + k), Kind: kind, Format: format, TP: l[0], PP: l[1], DP: l[2], Steps: 3 + rng.IntN(3), Layers: 2 + rng.IntN(4), Minified: rng.IntN(3) == 0}
				if k > 0 && rng.IntN(2) == 0 {
					s.Lost = []int{rng.IntN(l[0] * l[1] * l[2]), rng.IntN(l[0] * l[1] * l[2])}
				}
				if kind == trace.Expert {
					s.DP = max(s.DP, 2) // who are experts to each other
				}
				out = append(out, s)
			}
		}
	}
	return out
}

// Nothing but the traces is given. Whom the others wait for is named wherever the traces tell it, by its right cause; nobody is accused
// where nobody is slow, where stages or experts have more to do, or where the slow one was not traced.
func TestTracesNameTheSlowRank(t *testing.T) {
	t.Parallel()
	exact, told, controls := 0, 0, 0
	for i, spec := range traceSpecs() {
		if brief() && i%4 != 0 {
			continue
		}
		inc, err := trace.Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		r := judgeTraces(t, inc)
		roots := r.Verdict.Root.Ranks
		what := fmt.Sprintf("%+v: %s of ranks %v; at fault %d", spec, r.Verdict.Mechanism, roots, inc.Culprit)
		if n := len(r.Verification.Withdrawn); n > 0 {
			t.Errorf("withdrawn %v: %s", r.Verification.Withdrawn, what)
		}
		if len(r.Artifacts) != 1 || len(r.Artifacts[0].Findings) == 0 {
			t.Errorf("nothing is said of the traces: %s", what)
		}
		slow := spec.Kind == trace.GPU || spec.Kind == trace.Loader || spec.Kind == trace.Host
		if !slow || slices.Contains(spec.Lost, inc.Culprit) {
			controls++
			if len(roots) > 0 || r.Verdict.Mechanism == "slow-rank" || r.Verdict.Mechanism == "dataloader-stall" {
				t.Errorf("accused: %s", what)
			}
			continue
		}
		named := len(roots) == 1 && roots[0] == inc.Culprit
		if len(roots) > 0 && !named {
			t.Errorf("accused: %s", what)
		}
		if spec.PP > 1 && spec.Format != trace.Named && spec.Format != trace.Packed {
			continue // stages of a pipeline differ, and nothing says who shares one
		}
		told++
		want := map[bool]string{true: "dataloader-stall", false: "slow-rank"}[spec.Kind == trace.Loader]
		if named && r.Verdict.Mechanism == want {
			exact++
		} else if len(spec.Lost) == 0 {
			t.Errorf("not named: %s", what)
		}
	}
	t.Logf("%d of %d exact, %d without anybody to name", exact, told, controls)
}

func judgeTraces(t *testing.T, inc *trace.Incident) *incident.Report {
	t.Helper()
	dir := t.TempDir()
	in := analysis.Input{Version: "test", WorldSize: inc.World}
	for _, name := range slices.Sorted(maps.Keys(inc.Files)) {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, inc.Files[name], 0o600); err != nil {
			t.Fatal(err)
		}
		in.Evidence = append(in.Evidence, incident.Source{Name: name, Path: p, Bytes: int64(len(inc.Files[name]))})
	}
	r, err := analysis.Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// Where all ranks are alike and wait in collectives for much of each step, that is the conclusion; where they do not, nothing is concluded.
func TestTracesConcludeThatCommunicationIsExposed(t *testing.T) {
	t.Parallel()
	said := map[bool]map[string]int{true: {}, false: {}}
	for _, spec := range traceSpecs() {
		if spec.Kind != trace.Network && spec.Kind != trace.Healthy || spec.Format == trace.CPU || spec.Format == trace.Array || len(spec.Lost) > 0 {
			continue
		}
		inc, err := trace.Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		r := judgeTraces(t, inc)
		said[spec.Kind == trace.Network][r.Verdict.Mechanism]++
		t.Logf("%s %s %d×%d×%d: %s %s", spec.Kind, spec.Format, spec.TP, spec.PP, spec.DP, r.Verdict.Mechanism, r.Verdict.Summary)
	}
	if said[true]["slow-communication"] == 0 || said[false]["slow-communication"] > 0 {
		t.Errorf("of slow networks it says %v, of healthy jobs %v", said[true], said[false])
	}
}
