package eval

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/knowledge"
	"faultline/simulate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// cases writes folders with the given case.json texts and one log each.
func cases(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for id, text := range texts {
		logs := filepath.Join(dir, id, "logs", "sub")
		if err := os.MkdirAll(logs, 0o700); err != nil {
			t.Fatal(err)
		}
		for path, data := range map[string]string{filepath.Join(dir, id, "case.json"): text, filepath.Join(logs, "a.log"): "first\nsecond\n"} {
			if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	return dir
}

// said builds a report from its verdict.
func said(status, origin, mechanism string, confidence float64, candidates ...string) *incident.Report {
	r := &incident.Report{Verdict: incident.Verdict{Status: status, Origin: origin, Mechanism: mechanism, Confidence: incident.Confidence(confidence)}}
	if len(candidates) == 0 && mechanism != "" {
		candidates = []string{mechanism}
	}
	for _, m := range candidates {
		r.Verdict.Candidates = append(r.Verdict.Candidates, incident.Candidate{Mechanism: m})
	}
	return r
}

func rooted(r *incident.Report, ranks []int, nodes ...string) *incident.Report {
	r.Verdict.Root.Ranks, r.Verdict.Root.Nodes = ranks, nodes
	return r
}

// judge runs one case against one report and returns the metrics met and failed.
func judge(t *testing.T, text string, r *incident.Report) (met, failed []Metric, c Case) {
	t.Helper()
	dir := cases(t, map[string]string{"c": text})
	b, err := Run(context.Background(), []string{dir}, Options{Diagnose: func(context.Context, CaseInput) (*incident.Report, error) { return r, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range b.Cases[0].Scores {
		if s.OK {
			met = append(met, s.Metric)
		} else {
			if s.Why == "" {
				t.Errorf("%s failed without a reason", s.Metric)
			}
			failed = append(failed, s.Metric)
		}
	}
	return met, failed, b.Cases[0]
}

const (
	stalled = `{"truth": {"candidates": ["rank-stalled"], "root_ranks": [77], "root_nodes": ["node09"], "intermediates": [5, 6],
		"forbid_mechanisms": ["collective-hang"], "action": "yes", "missing_nodes": ["node03"], "missing_ranks": [24, 25]}}`
	ablated = `{"truth": {"candidates": ["gpu-hang", "collective-hang"], "root_ranks": null, "root_nodes": []}}`
	orSo    = `{"truth": {"candidates": ["peer-lost", "unknown"]}}`
	healthy = `{"truth": {"candidates": ["completed"], "no_failure": true}}`
	oom     = `{"category": "gpu-oom", "cause_basis": "log-evident", "decidable_from": "worker-logs", "root_rank": 62, "root_node": "gpu187.cluster.local (10.0.0.7)",
		"accept": ["gpu-oom"], "forbid": {"mechanisms": ["host-oom"], "ranks": [1], "nodes": ["batchhost"]}}`
	open2   = `{"category": "unknown", "cause_basis": "our-reading", "decidable_from": "worker-logs", "accept": ["unknown", "rank-stalled"], "forbid": {"mechanisms": [], "ranks": [], "nodes": []}}`
	fine    = `{"category": "none", "cause_basis": "log-evident", "decidable_from": "worker-logs", "accept": ["completed"], "forbid": {}}`
	twoRoot = `{"category": "software", "cause_basis": "source-confirmed", "decidable_from": "py-spy", "root_rank": [0, 4], "root_node": null, "accept": ["exception"]}`
)

func TestScores(t *testing.T) {
	full := func(r *incident.Report) *incident.Report {
		r.Action.Resubmit = "yes"
		r.Coverage.NodesMissing, r.Coverage.RanksMissing = []string{"node03"}, []int{24, 25}
		return r
	}
	for _, tc := range []struct {
		name   string
		text   string
		report *incident.Report
		failed []Metric
	}{
		{"all right", stalled, full(rooted(said("probable", "unknown", "rank-stalled", 0.8), []int{77}, "node09")), nil},
		{"wrong mechanism, which is forbidden", stalled, full(rooted(said("probable", "unknown", "collective-hang", 0.8), []int{77}, "node09")), []Metric{InCandidates, FirstRight, Forbidden}},
		{"wrong rank is an innocent one", stalled, full(rooted(said("probable", "unknown", "rank-stalled", 0.8), []int{78}, "node09")), []Metric{RootRank, Innocent}},
		{"an intermediate beside the root", stalled, full(rooted(said("probable", "unknown", "rank-stalled", 0.8), []int{77, 5}, "node09")), []Metric{RootRank, Innocent, Intermediate}},
		{"wrong node", stalled, full(rooted(said("probable", "unknown", "rank-stalled", 0.8), []int{77}, "node08")), []Metric{RootNode, Innocent}},
		{"no root named", stalled, full(said("probable", "unknown", "rank-stalled", 0.8)), []Metric{RootRank, RootNode}},
		{"loss not named, other decision", stalled, rooted(said("probable", "unknown", "rank-stalled", 0.8), []int{77}, "node09"), []Metric{Decision, Coverage}},
		{"wider than the truth", stalled, full(rooted(said("inconclusive", "unknown", "unknown", 0.4, "rank-stalled", "dataloader-stall"), []int{77}, "node09")), []Metric{FirstRight}},

		{"set in any order", ablated, said("inconclusive", "unknown", "collective-hang", 0.5, "collective-hang", "gpu-hang"), nil},
		{"set too small", ablated, said("probable", "unknown", "gpu-hang", 0.5), []Metric{InCandidates, ExactSet}},
		{"set too wide, origin of one", ablated, said("inconclusive", "gpu", "gpu-hang", 0.5, "gpu-hang", "collective-hang", "link-error"), []Metric{ExactSet, Origin}},
		{"a root where the bytes name none", ablated, rooted(said("inconclusive", "unknown", "gpu-hang", 0.5, "gpu-hang", "collective-hang"), []int{3}), []Metric{NoGround}},
		{"a node where the bytes name none", ablated, rooted(said("inconclusive", "unknown", "gpu-hang", 0.5, "gpu-hang", "collective-hang"), nil, "node01"), []Metric{NoGround}},
		{"unknown allowed and said", orSo, said("inconclusive", "unknown", "unknown", 0.2), nil},
		{"unknown allowed, mechanism said beside it", orSo, said("inconclusive", "unknown", "peer-lost", 0.2, "peer-lost", "unknown"), nil},
		{"unknown allowed, another said", orSo, said("probable", "unknown", "link-error", 0.2), []Metric{InCandidates, ExactSet}},

		{"healthy", healthy, said("no-failure", "none", "completed", 0.9), nil},
		{"healthy, blamed", healthy, said("probable", "software", "exception", 0.6), []Metric{InCandidates, FirstRight, Origin, ControlBlamed}},
		{"healthy, rank named", healthy, rooted(said("no-failure", "none", "completed", 0.9), []int{0}), []Metric{NoGround, ControlBlamed, SelfContradiction}},
		{"healthy, left open", healthy, said("inconclusive", "unknown", "unknown", 0.1), []Metric{InCandidates, FirstRight, Origin}},

		{"real, right, short name of the node", oom, rooted(said("confirmed", "gpu", "gpu-oom", 0.9), []int{62}, "gpu187"), nil},
		{"real, right, address of the node", oom, rooted(said("confirmed", "gpu", "gpu-oom", 0.9), []int{62}, "10.0.0.7"), nil},
		{"real, an address that only begins alike", oom, rooted(said("confirmed", "gpu", "gpu-oom", 0.9), []int{62}, "10.0.0.70"), []Metric{RootNode, Innocent}},
		{"real, forbidden mechanism", oom, rooted(said("confirmed", "software", "host-oom", 0.9), []int{62}, "gpu187"), []Metric{AcceptTruth, Origin, Forbidden}},
		{"real, forbidden rank and node", oom, rooted(said("confirmed", "gpu", "gpu-oom", 0.9), []int{1}, "batchhost.cluster"), []Metric{RootRank, RootNode, Innocent, Forbidden}},
		{"real, open set where unknown is accepted", open2, said("inconclusive", "unknown", "gpu-hang", 0.4, "gpu-hang", "collective-hang"), nil},
		{"real, one candidate is no open set", open2, said("inconclusive", "gpu", "gpu-hang", 0.4), []Metric{AcceptOther}},
		{"real, root named where null", open2, rooted(said("probable", "unknown", "rank-stalled", 0.6), []int{4}), []Metric{NoGround}},
		{"real control", fine, said("no-failure", "none", "completed", 0.9), nil},
		{"real control blamed", fine, rooted(said("confirmed", "software", "exception", 0.9), nil, "n1"), []Metric{AcceptTruth, Origin, NoGround, ControlBlamed}},
		{"real, root not named where the logs do not hold it", twoRoot, said("confirmed", "software", "exception", 0.9), nil},
		{"real, another root named where the logs do not hold it", twoRoot, rooted(said("confirmed", "software", "exception", 0.9), []int{1}), []Metric{Innocent}},
		{"real, two root ranks", twoRoot, rooted(said("confirmed", "software", "exception", 0.9), []int{4, 0}), nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			met, failed, c := judge(t, tc.text, tc.report)
			slices.Sort(failed)
			want := slices.Clone(tc.failed)
			slices.Sort(want)
			if !slices.Equal(failed, want) {
				t.Errorf("failed %v, want %v\n%s", failed, want, c.Reason())
			}
			if !slices.Contains(met, Verified) {
				t.Errorf("evidence not scored: met %v", met)
			}
		})
	}
}

func TestFalseEvidenceIsFound(t *testing.T) {
	r := said("no-failure", "none", "completed", 0.9)
	r.Chain = []incident.Link{{Evidence: []incident.Evidence{incident.Quote("sub/a.log", 2, 6, "second", nil)}}}
	if _, failed, _ := judge(t, healthy, r); len(failed) > 0 {
		t.Errorf("true evidence: failed %v", failed)
	}
	r.Chain = append(r.Chain, incident.Link{Statement: "because I say so"})
	if _, failed, _ := judge(t, healthy, r); !slices.Equal(failed, []Metric{Proven}) {
		t.Errorf("a statement without evidence: failed %v", failed)
	}
	r.Chain = r.Chain[:1]
	r.Chain[0].Evidence[0].Line = 3
	if _, failed, c := judge(t, healthy, r); !slices.Equal(failed, []Metric{Verified}) || !strings.Contains(c.Reason(), "chain[0].evidence[0]") {
		t.Errorf("false evidence: failed %v, %s", failed, c.Reason())
	}
}

func TestTheEngineGetsWhatAnOperatorWouldState(t *testing.T) {
	dir := cases(t, map[string]string{"x": `{"id": "named", "flags": {"world_size": 128, "nodes": "node[01-16]"}, "truth": {"candidates": ["completed"]}}`})
	var got CaseInput
	_, err := Run(context.Background(), []string{filepath.Join(dir, "x")}, Options{Sized: true, Diagnose: func(_ context.Context, in CaseInput) (*incident.Report, error) {
		got = in
		return said("no-failure", "none", "completed", 1), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got.ID != "named" || got.WorldSize != 128 || got.Nodes != "node[01-16]" || len(got.Sources) != 1 || got.Sources[0].Name != "sub/a.log" || got.Sources[0].Bytes != 13 {
		t.Errorf("%+v", got)
	}
}

func TestACaseThatCannotRunIsAFailedCase(t *testing.T) {
	dir := cases(t, map[string]string{"a-broken": `{"truth": `, "b-error": healthy, "c-panic": healthy, "d-nil": healthy, "e-good": healthy})
	b, err := Run(context.Background(), []string{dir}, Options{Diagnose: func(_ context.Context, in CaseInput) (*incident.Report, error) {
		switch in.ID {
		case "b-error":
			return nil, errors.New("no idea")
		case "c-panic":
			panic("index out of range")
		case "d-nil":
			return nil, nil
		}
		return said("no-failure", "none", "completed", 1), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"reading case.json", "no idea", "panicked", "no report", ""}
	for i, c := range b.Cases {
		if got := c.Reason(); !strings.Contains(got, want[i]) || (got == "") != (want[i] == "") || strings.Contains(got, dir) {
			t.Errorf("%s: %q, want %q", c.ID, got, want[i])
		}
	}
}

func TestRunRefuses(t *testing.T) {
	ok := Options{Diagnose: func(context.Context, CaseInput) (*incident.Report, error) { return said("", "", "", 0), nil }}
	empty := t.TempDir()
	for name, run := range map[string]func() error{
		"no engine":      func() error { _, err := Run(context.Background(), []string{empty}, Options{}); return err },
		"no folder":      func() error { _, err := Run(context.Background(), nil, ok); return err },
		"no cases":       func() error { _, err := Run(context.Background(), []string{empty}, ok); return err },
		"missing folder": func() error { _, err := Run(context.Background(), []string{filepath.Join(empty, "x")}, ok); return err },
		"cancelled": func() error {
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			_, err := Run(ctx, []string{cases(t, map[string]string{"a": healthy})}, ok)
			return err
		},
	} {
		if run() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// board is a run over all kinds of cases with some errors in it.
func board(t *testing.T, workers int) *Scoreboard {
	t.Helper()
	dir := cases(t, map[string]string{"s1": stalled, "s2": ablated, "s3": healthy, "s4": orSo, "r1": oom, "r2": open2, "r3": fine})
	b, err := Run(context.Background(), []string{dir}, Options{Workers: workers, Diagnose: func(_ context.Context, in CaseInput) (*incident.Report, error) {
		switch in.ID {
		case "s1":
			return rooted(said("confirmed", "unknown", "rank-stalled", 0.95), []int{77}, "node09"), nil
		case "s2":
			return said("inconclusive", "unknown", "gpu-hang", 0.55, "gpu-hang", "collective-hang"), nil
		case "s3", "r3":
			return said("no-failure", "none", "completed", 1), nil
		case "s4":
			return said("probable", "network", "link|error <b>", 0.93), nil
		case "r1":
			return rooted(said("confirmed", "software", "host-oom", 0.9), []int{1}), nil
		}
		return said("inconclusive", "unknown", "unknown", 0.1), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMarkdownAndJSONAreGoldenAndDeterministic(t *testing.T) {
	for _, form := range []struct {
		file  string
		write func(*Scoreboard, *bytes.Buffer) error
	}{
		{"board.md", func(b *Scoreboard, w *bytes.Buffer) error { return b.Markdown(w) }},
		{"board.json", func(b *Scoreboard, w *bytes.Buffer) error { return b.JSON(w) }},
	} {
		var one, many bytes.Buffer
		if err := errors.Join(form.write(board(t, 1), &one), form.write(board(t, 7), &many)); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), many.Bytes()) {
			t.Errorf("%s depends on the number of workers", form.file)
		}
		golden := filepath.Join("testdata", form.file)
		if *update {
			if err := os.MkdirAll("testdata", 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(golden, one.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(one.Bytes(), want) {
			got, old := strings.Split(one.String(), "\n"), strings.Split(string(want), "\n")
			for i := range min(len(got), len(old)) {
				if got[i] != old[i] {
					t.Errorf("%s differs from its golden file (-update rewrites it) in line %d:\n%s\n%s", form.file, i+1, got[i], old[i])
					break
				}
			}
			if len(got) != len(old) {
				t.Errorf("%s has %d lines, its golden file %d", form.file, len(got), len(old))
			}
		}
	}
}

func TestTextListsFailingCases(t *testing.T) {
	var b bytes.Buffer
	if err := board(t, 2).Text(&b, true); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"4 simulated cases, 3 real ones", "3 failing", "\nr1: said host-oom", "\ns1: resubmit", "confidence against outcome, simulated"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

func TestCalibrationBins(t *testing.T) {
	yes, no := new(bool), new(bool)
	*yes = true
	b := &Scoreboard{Cases: []Case{
		{Status: "x", Simulated: true, Confidence: 0.3, Right: yes},
		{Status: "x", Simulated: true, Confidence: 0.34, Right: no},
		{Status: "x", Simulated: true, Confidence: 1, Right: yes},
		{Status: "x", Simulated: true, Confidence: 0.95, Right: yes},
		{Status: "x", Confidence: 0.9, Right: yes},
		{Status: "x", Simulated: true, Confidence: 0.5},
		{Status: "x", Simulated: true, Mechanism: "unknown", Right: yes}, // names nothing
		{Status: "x", Simulated: true, Mechanism: "completed", Confidence: 0.48, Right: yes, // one of two, and only one is named
			Members: []Member{{"completed", 0.48, 0.5}, {"unknown", 0.48, 0.5}}},
	}}
	for what, c := range map[string]struct {
		got  []Bin
		want string
	}{
		"verdicts": {b.Calibration(true), `[{0.3 2 0.320 0.500 -0.180} {0.45 1 0.480 0.500 -0.020} {0.95 2 0.975 1.000 -0.025}]`},
		"real":     {b.Calibration(false), `[{0.9 1 0.900 1.000 -0.100}]`},
	} {
		if got := shown(c.got); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

func shown(bins []Bin) string {
	var out []string
	for _, b := range bins {
		out = append(out, fmt.Sprintf("{%g %d %.3f %.3f %.3f}", b.From, b.N, b.Stated, b.Observed, b.Over))
	}
	return fmt.Sprint(out)
}

// Each of a true set of k is right in 1/k of the cases, and what is said beside it in none.
func TestMembersOfASetAreHeldAgainstTheirShare(t *testing.T) {
	of := func(cs ...incident.Candidate) *Scoreboard {
		return &Scoreboard{Cases: []Case{{Members: members(cs, []string{"gpu-hang", "collective-hang"})}}}
	}
	for want, b := range map[string]*Scoreboard{
		`[{0.45 2 0.480 0.500 -0.020}]`: of(incident.Candidate{Mechanism: "gpu-hang", Confidence: 0.48}, incident.Candidate{Mechanism: "collective-hang", Confidence: 0.48}),
		`[{0.3 3 0.320 0.333 -0.013}]`: of(incident.Candidate{Mechanism: "gpu-hang", Confidence: 0.32}, incident.Candidate{Mechanism: "collective-hang", Confidence: 0.32},
			incident.Candidate{Mechanism: "rank-stalled", Confidence: 0.32}),
		`[]`: of(incident.Candidate{Mechanism: "gpu-hang", Confidence: 0.95}), // no set
	} {
		if got := shown(b.MemberCalibration()); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// An engine that knows the truth of simulated incidents fails nothing: what simulate writes is what is read here.
func TestAnOracleIsRight(t *testing.T) {
	dir := t.TempDir()
	truth := map[string]simulate.Truth{}
	for _, spec := range simulate.Grid(40, 7, 0) {
		inc, err := simulate.Generate(spec)
		if err != nil {
			t.Fatal(err)
		}
		if err := simulate.Write(dir, inc); err != nil {
			t.Fatal(err)
		}
		truth[inc.ID] = inc.Truth
	}
	b, err := Run(context.Background(), []string{dir}, Options{Diagnose: func(_ context.Context, in CaseInput) (*incident.Report, error) {
		w := truth[in.ID]
		origin := ""
		for _, slug := range w.Candidates {
			m, ok := knowledge.MechanismBySlug(knowledge.Slug(slug))
			if !ok {
				return nil, errors.New(slug + " is not in the taxonomy")
			}
			if origin != "" && origin != m.Origin {
				m.Origin = "unknown"
			}
			origin = m.Origin
		}
		r := rooted(said("probable", origin, w.Candidates[0], 0.9, w.Candidates...), w.RootRanks, w.RootNodes...)
		r.Action.Resubmit = w.Action
		r.Coverage.NodesMissing, r.Coverage.RanksMissing = w.MissingNodes, w.MissingRanks
		if w.Sync == "" && w.PerStep == 0 {
			return r, nil
		}
		name := in.Sources[0].Name
		word := strings.FieldsFunc(name, func(r rune) bool { return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') })[0]
		ev := []incident.Evidence{{Kind: incident.KindInventory, Expected: []string{word}, Seen: []string{word}, From: "the oracle", Files: []string{name}}}
		g := incident.Group{Stuck: &incident.Stuck{Sync: &incident.SyncPoint{Points: []string{"at " + w.Sync}, Evidence: ev}}}
		if n := int64(w.PerStep); n > 0 {
			g.Gap = &incident.SeqGap{Collectives: int64(w.Gap), PerStep: &n, Evidence: ev}
			if k := int64(w.StepsApart); k > 0 {
				g.Gap.Steps = &k
			}
		}
		r.Groups = append(r.Groups, g)
		return r, nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	if len(b.Cases) != len(truth) {
		t.Errorf("%d cases of %d", len(b.Cases), len(truth))
	}
	for _, c := range b.Failing() {
		t.Errorf("%s: %s", c.ID, c.Reason())
	}
}

// Every case of the real corpus, where it is at hand, can be read.
func TestCorpusCanBeRead(t *testing.T) {
	const corpus = "../../shared/corpus"
	if _, err := os.Stat(corpus); err != nil {
		t.Skip("the corpus is not beside the repository")
	}
	b, err := Run(context.Background(), []string{corpus}, Options{Diagnose: func(context.Context, CaseInput) (*incident.Report, error) {
		return said("inconclusive", "unknown", "unknown", 0), nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	established := 0
	for _, c := range b.Cases {
		for _, s := range c.Failed() {
			// Knowing nothing misses what is known, and accuses nobody.
			if !slices.Contains([]Metric{AcceptTruth, AcceptOther, RootRank, RootNode, Origin}, s.Metric) {
				t.Errorf("%s: %s", c.ID, s.Why)
			}
		}
		if c.GroundTruth {
			established++
		}
	}
	if len(b.Cases) == 0 || established == 0 {
		t.Errorf("%d cases, %d with an established answer", len(b.Cases), established)
	}
}
