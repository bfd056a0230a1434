package eval

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/knowledge"
)

const outOfMemory = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 19.14 GiB. GPU 6 has a total capacity of 79.33 GiB of which 8.35 GiB is free."

// A stand-in for the engine: it names what it knows of the last line of the first file, and quotes it whatever it is.
func lastLine(_ context.Context, in CaseInput) (*incident.Report, error) {
	b, err := os.ReadFile(in.Sources[0].Path)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
	last := lines[len(lines)-1]
	e := incident.Evidence{Kind: incident.KindQuote, File: in.Sources[0].Name, Line: int64(len(lines)), Text: last}
	r := &incident.Report{Verdict: incident.Verdict{Status: incident.Inconclusive, Mechanism: "unknown", Confidence: 0.5, Candidates: []incident.Candidate{{Mechanism: "unknown"}}}}
	r.Chain = []incident.Link{{Statement: "it ended", Role: "cause", Evidence: []incident.Evidence{e}}}
	for _, id := range in.Known.Match(nil, []byte(last)) {
		s := in.Known.Entry(id)
		r.Verdict = incident.Verdict{Status: incident.Confirmed, Mechanism: string(s.Mechanism), Confidence: 0.98, Candidates: []incident.Candidate{{Mechanism: string(s.Mechanism)}}}
		return r, nil
	}
	r.Standouts = []incident.Standout{{Statement: last, Evidence: []incident.Evidence{e}}}
	return r, nil
}

func writeCase(t *testing.T, log string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "a-case")
	if err := os.MkdirAll(filepath.Join(dir, logsDir), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{answer: `{"id":"a-case","accept":["gpu-oom"],"cause_basis":"log-evident","decidable_from":"worker-logs"}`, "logs/a.log": log} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestABlindTrialLeavesOutWhatKnowsTheKeyLine(t *testing.T) {
	dir := writeCase(t, "loading\n"+outOfMemory+"\n")
	lines := 0
	var seen []*knowledge.Catalogue
	tried, err := Try(t.Context(), []string{dir}, Blind, Options{Workers: 1, Diagnose: func(ctx context.Context, in CaseInput) (*incident.Report, error) {
		seen = append(seen, in.Known)
		b, err := os.ReadFile(in.Sources[0].Path)
		lines = strings.Count(string(b), "\n")
		if err != nil {
			return nil, err
		}
		return lastLine(ctx, in)
	}, Readers: func(string) []string { return []string{"some reader"} }})
	if err != nil {
		t.Fatal(err)
	}
	got := tried[0]
	if lines < buried || len(seen) != 2 || !seen[0].Whole() || len(seen[1].Match(nil, []byte(outOfMemory))) != 0 || seen[1].Reads("some reader") {
		t.Errorf("%d lines; what was known is %v", lines, seen)
	}
	if !got.Tried || !got.Today || !got.Confident || got.Mechanism != "unknown" || !got.Quoted || !got.Right() || got.Wrong || got.Still || !slices.Contains(got.Out, "some reader") {
		t.Errorf("%+v", got)
	}
	for _, f := range Figures(tried) {
		if f.Title == "a key line is quoted on the first screen" && f.Tally != (Tally{1, 1}) || f.Fault && f.Tally.Of != f.Tally.Met {
			t.Errorf("%+v", f)
		}
	}
}

func TestAVerdictThatIsSureAndWrongIsCounted(t *testing.T) {
	dir := writeCase(t, outOfMemory+"\n")
	calls := 0
	tried, err := Try(t.Context(), []string{dir}, Blind, Options{Workers: 1, Diagnose: func(ctx context.Context, in CaseInput) (*incident.Report, error) {
		if calls++; calls == 1 {
			return lastLine(ctx, in)
		}
		return &incident.Report{Verdict: incident.Verdict{Status: incident.NoFailure, Mechanism: "completed", Confidence: 0.97}}, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := tried[0]; !got.Wrong || !got.Unbroken || got.Quoted || got.Right() {
		t.Errorf("%+v", got)
	}
}

func TestADriftRewritesKeyLinesAndNoOthers(t *testing.T) {
	const other = "torch.cuda.empty_cache failed? no: out of memory is never seen here"
	dir := writeCase(t, other+"\n"+outOfMemory+"\n")
	var first, last string
	tried, err := Try(t.Context(), []string{dir}, Drift, Options{Workers: 1, Diagnose: func(ctx context.Context, in CaseInput) (*incident.Report, error) {
		b, err := os.ReadFile(in.Sources[0].Path)
		if err != nil {
			return nil, err
		}
		first, last = last, string(b)
		return lastLine(ctx, in)
	}})
	if err != nil {
		t.Fatal(err)
	}
	if !tried[0].Tried || first == last || !strings.Contains(last, other) || !strings.Contains(first, outOfMemory) || strings.Contains(last, "\n"+outOfMemory+"\n") {
		t.Errorf("%+v", tried[0])
	}
}

// Every way to drift rewrites some line, and leaves its numbers of ranks alone.
func TestEveryDriftRewrites(t *testing.T) {
	for _, d := range drifts {
		line := "[rank3]: OSError: [Errno 28] No space left on device, 12 GiB: the write failed for rank 3 with an error"
		if got := d.rewrite(line); got == line || !strings.Contains(got, "ank3") || !strings.Contains(strings.ReplaceAll(got, "\n", " "), "rank 3") {
			t.Errorf("%s: %q", d.name, got)
		}
	}
}

// A rank is asked for where the key line or its file tells it; where they tell the node alone, the node; and nothing where they tell neither.
func TestOnlyARankThatTheLogsTellIsAskedFor(t *testing.T) {
	yes, no := true, false
	for _, c := range []struct {
		name, file, log, screen string
		want                    *bool
	}{
		{"the line tells it", "a.log", "[rank7]: lane 3 is torn\n", "lane 3 is torn on n4", &no},
		{"a launcher's field tells it", "a.log", "  rank      : 7 (local_rank: 3)\n", "rank 70 left", &no},
		{"the file's name tells it", "rank_7.log", "lane 3 is torn\n", "lane 3 is torn on n4", &no},
		{"it is named", "a.log", "lane 3 is torn\n", "lane 3 is torn: rank 7", &yes},
		{"the node alone is told, and named", "a.log", "lane 3 is torn\nn4 is left\n", "lane 3 is torn on n4", &yes},
		{"the node alone is told, and not named", "a.log", "lane 3 is torn\nn4 is left\n", "lane 3 is torn", &no},
		{"neither is told", "a.log", "lane 3 is torn\n", "lane 3 is torn", nil},
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(c.log), 0o600); err != nil {
			t.Fatal(err)
		}
		today := &incident.Verdict{Root: incident.Root{Ranks: []int{7}, Nodes: []string{"n4"}}}
		got := placed(today, &incident.Report{}, c.screen, []incident.Source{{Name: c.file, Path: path}}, []incident.Evidence{{Kind: incident.KindQuote, File: c.file, Line: 1}})
		if (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}
