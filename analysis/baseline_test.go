package analysis

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"faultline/incident"
)

// testTable is what all_reduce_perf prints over two hosts with one rank each: bus and algorithm bandwidth are the same over two.
func testTable(a, b string, share float64) string {
	var s strings.Builder
	s.WriteString("# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1 minBytes 8 maxBytes 134217728 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0\n# Using devices\n")
	fmt.Fprintf(&s, "#  Rank  0 Group  0 Pid   100 on %10s device  0 [0009:01:00] NVIDIA H100\n#  Rank  1 Group  0 Pid   101 on %10s device  0 [0009:01:00] NVIDIA H100\n", a, b)
	s.WriteString("#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n")
	for i, full := range []float64{1, 40, 44, 48} { // a small size measures latency
		size := int64(1<<20) << (2 * i)
		bw := full * share
		if i == 0 {
			bw = full * 0.5 // latency differs, and says nothing
		}
		us := float64(size) / bw / 1000
		fmt.Fprintf(&s, "%12d  %12d     float     sum      -1  %9.1f  %6.2f  %6.2f      0  %9.1f  %6.2f  %6.2f      0\n", size, size/4, us, bw, bw, us, bw, bw)
	}
	s.WriteString("# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 20.5 \n#\n")
	return s.String()
}

func writeEvidence(t *testing.T, files map[string]string) []incident.Source {
	t.Helper()
	dir := t.TempDir()
	var out []incident.Source
	for name, text := range files {
		p := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out = append(out, incident.Source{Name: name, Path: p, Bytes: int64(len(text))})
	}
	return out
}

func testsReport(t *testing.T, in Input) incident.Artifact {
	t.Helper()
	in.Version = "test"
	r, err := Diagnose(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range r.Artifacts {
		if a.Kind == "nccl-tests" {
			if len(r.Verification.Withdrawn) > 0 {
				t.Errorf("withdrawn: %q", r.Verification.Withdrawn)
			}
			return a
		}
	}
	t.Fatalf("no word of the tests: %v", r.Warnings)
	return incident.Artifact{}
}

func spokenOf(a incident.Artifact) string {
	var s []string
	for _, f := range a.Findings {
		s = append(s, f.Statement)
	}
	return strings.Join(append(s, a.Limits), "\n")
}

// A run is held to the baseline size by size, and the worst pair is named first.
func TestABaselineOfNCCLTests(t *testing.T) {
	good := writeEvidence(t, map[string]string{"baseline/good.txt": testTable("node1", "node2", 1)})
	now := writeEvidence(t, map[string]string{"evidence/12.txt": testTable("node1", "node2", 0.98), "evidence/13.txt": testTable("node1", "node3", 0.5), "evidence/23.txt": testTable("node2", "node3", 0.4)})
	fine := writeEvidence(t, map[string]string{"evidence/12.txt": testTable("node1", "node2", 0.98)})
	for _, c := range []struct {
		name string
		in   Input
		want []string
		none string
	}{
		{"a file", Input{Evidence: now, Baseline: good}, []string{"on node2, node3 falls short of the baseline: bus bandwidth 19.2 GB/s instead of 48 at 64 MiB (40%), 17.6 GB/s instead of 44 at 16 MiB (40%), 16 GB/s instead of 40 at 4 MiB (40%)",
			"It is the worst of 3 runs; 2 are slow. Suspect node3: it is in every slow run"}, "1 MiB"},
		{"a number", Input{Evidence: now, Bandwidth: 48}, []string{"falls short of the given 48 GB/s: bus bandwidth 19.2 GB/s instead of 48 at 64 MiB (40%)"}, ""},
		{"reached", Input{Evidence: fine, Baseline: good}, []string{"meets the baseline: bus bandwidth 47.04 GB/s instead of 48"}, "falls short"},
	} {
		got := spokenOf(testsReport(t, c.in))
		for _, w := range c.want {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is not in\n%s", c.name, w, got)
			}
		}
		if c.none != "" && strings.Contains(strings.Split(got, "\n")[0], c.none) {
			t.Errorf("%s: %q is in\n%s", c.name, c.none, got)
		}
	}
}

// What the baseline has nothing for is said, and a file that is none is named.
func TestABaselineThatDoesNotFit(t *testing.T) {
	other := strings.ReplaceAll(testTable("node1", "node2", 1), "all_reduce", "all_gather")
	in := Input{Evidence: writeEvidence(t, map[string]string{"evidence/a.txt": testTable("node1", "node2", 0.5)}), Baseline: writeEvidence(t, map[string]string{"baseline/o.txt": other})}
	got := spokenOf(testsReport(t, in))
	if strings.Contains(got, "falls short") || !strings.Contains(got, "The baseline has no run of the same collective on as many hosts and ranks for all_reduce over 2 ranks") {
		t.Error(got)
	}
	in.Baseline = writeEvidence(t, map[string]string{"baseline/notes.txt": "we had 48 GB/s\n"})
	in.Version = "test"
	r, err := Diagnose(t.Context(), in)
	if err != nil || !strings.Contains(strings.Join(r.Warnings, "\n"), "not used as a baseline: baseline/notes.txt: it is no run of nccl-tests") {
		t.Errorf("%v: %q", err, r.Warnings)
	}
}

// A report in JSON is evidence alone, is quoted by its objects, and the earlier of two runs over the same hosts is the measure.
func TestReportsInJSON(t *testing.T) {
	b, err := os.ReadFile("artifact/nccltests/testdata/all_reduce-report.json")
	if err != nil {
		t.Fatal(err)
	}
	slow := strings.NewReplacer("2026-11-20", "2026-11-21").Replace(string(b))
	last := strings.LastIndex(slow, `"time":1916.400000`)
	if last < 0 {
		t.Fatal("the file is another")
	}
	tail := regexp.MustCompile(`"time":[0-9.]+,"alg_bw":[0-9.]+,"bus_bw":[0-9.]+`).ReplaceAllString(slow[last:], `"time":3832.800000,"alg_bw":35.018193,"bus_bw":61.281837`)
	slow = slow[:last] + tail
	dir := t.TempDir()
	in := Input{}
	for name, text := range map[string]string{"monday.json": string(b), "tuesday.json": slow} {
		p := filepath.Join(dir, name)
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		in.Sources = append(in.Sources, incident.Source{Name: name, Path: p, Bytes: int64(len(text))})
	}
	a := testsReport(t, in)
	if got := spokenOf(a); !strings.Contains(got, "The same 2 hosts reached 122.6 GB/s on 2026-11-20 10:00:00, but no longer on 2026-11-21 10:00:00") {
		t.Error(got)
	}
	if e := a.Findings[0].Evidence[0]; e.Kind != incident.KindRecord || e.File != "tuesday.json" || e.Place != "results[4].out_of_place" {
		t.Errorf("%+v", e)
	}
}
