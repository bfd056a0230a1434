package eval

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/simulate"
)

// reads is an engine that says how many files it was given, and names them.
func reads(_ context.Context, in CaseInput) (*incident.Report, error) {
	r := said("probable", "host", "host-oom", 0.9, "host-oom")
	r.Engine.Version = "of today"
	for _, s := range slices.Concat(in.Sources, in.Storage, in.Evidence) {
		data, err := os.ReadFile(s.Path)
		if err != nil {
			return nil, err
		}
		r.Warnings = append(r.Warnings, s.Name+" "+string(data))
	}
	return r, nil
}

func freeze(t *testing.T, of Subjects, workers int, engine Diagnose) string {
	t.Helper()
	dir := t.TempDir()
	if _, err := Freeze(t.Context(), dir, of, Options{Diagnose: engine, Workers: workers}); err != nil {
		t.Fatal(err)
	}
	return dir
}

func against(t *testing.T, dir string, c Comparison) (changes []string, cases int) {
	t.Helper()
	n, err := Against(t.Context(), dir, c, func(ch Change) error {
		changes = append(changes, strings.Join([]string{ch.Case, ch.Path, string(ch.Was), string(ch.Now), ch.Rule}, "|"))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return changes, n.Cases
}

func TestAFreezeIsTheSameWhateverTheNumberOfWorkers(t *testing.T) {
	of := Subjects{Dirs: []string{cases(t, map[string]string{"b": "{}", "a": "{}", "c": "{}"})}, Simulated: simulate.Grid(5, 1, 0), Played: "simulated"}
	one, four := freeze(t, of, 1, reads), freeze(t, of, 4, reads)
	files, err := os.ReadDir(one)
	if err != nil || len(files) != 2 {
		t.Fatalf("%v %v", files, err)
	}
	for _, f := range files {
		a, _ := os.ReadFile(filepath.Join(one, f.Name()))
		b, _ := os.ReadFile(filepath.Join(four, f.Name()))
		if len(a) == 0 || !bytes.Equal(a, b) {
			t.Errorf("%s is not the same", f.Name())
		}
	}
	if got, n := against(t, one, Comparison{Options: Options{Diagnose: reads}}); len(got) > 0 || n != 8 {
		t.Errorf("the same engine on %d cases: %q", n, got)
	}
}

func TestEachChangedFieldIsListed(t *testing.T) {
	dir := cases(t, map[string]string{"a": "{}", "b": "{}", "c": "{}"})
	batch := filepath.Base(dir)
	frozen := freeze(t, Subjects{Dirs: []string{dir}}, 2, reads)
	engine := func(ctx context.Context, in CaseInput) (*incident.Report, error) {
		r, err := reads(ctx, in)
		r.Engine.Version = "of tomorrow"
		switch in.ID {
		case "a":
			r.Verdict.Mechanism = "gpu-oom"
			r.Trail = []string{"a.log:1: host-oom (cause) -> gpu-oom (cause): it says so"}
			r.Verdict.Candidates = append([]incident.Candidate{{Mechanism: "gpu-oom", Origin: "gpu"}}, r.Verdict.Candidates...)
		case "c":
			return nil, errors.New("no more")
		}
		return r, err
	}
	c := Comparison{
		Options: Options{Diagnose: engine},
		Ignore:  []string{"terminal"},
	}
	got, n := against(t, frozen, c)
	if n != 3 {
		t.Errorf("%d cases", n)
	}
	ofA := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasPrefix(s, batch+"/a|") })
	const rule = "a.log:1: host-oom (cause) -> gpu-oom (cause): it says so"
	want := []string{
		batch + `/a|verdict.candidates[0]||{"confidence":0.00,"mechanism":"gpu-oom","origin":"gpu"}|` + rule,
		batch + `/a|verdict.mechanism|"host-oom"|"gpu-oom"|` + rule,
	}
	if !slices.Equal(ofA, want) {
		t.Errorf("got  %q\nwant %q", ofA, want)
	}
	if !slices.Contains(got, batch+`/c|error||"diagnosing: no more"|`) {
		t.Errorf("an error in the place of a report is not listed: %q", got)
	}
	if slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, batch+"/b|") }) {
		t.Errorf("b did not change: %q", got)
	}
	c.Ignore = nil
	if all, _ := against(t, frozen, c); !slices.ContainsFunc(all, func(s string) bool { return strings.HasPrefix(s, batch+"/a|terminal[") }) {
		t.Errorf("the terminal's text changed as well: %q", all)
	}
}

func TestAContradictionIsCountedEvenWhereItIsNotNew(t *testing.T) {
	dir := cases(t, map[string]string{"a": "{}", "b": "{}"})
	engine := func(ctx context.Context, in CaseInput) (*incident.Report, error) {
		r, err := reads(ctx, in)
		if in.ID == "b" {
			r.Verdict.Status, r.Verdict.Root.Nodes = incident.NoFailure, []string{"n1"}
		}
		return r, err
	}
	opts := Options{Diagnose: engine}
	frozen := t.TempDir()
	n, err := Freeze(t.Context(), frozen, Subjects{Dirs: []string{dir}}, opts)
	want := []string{filepath.Base(dir) + "/b: status and root: nothing failed, and [] [n1]"}
	if err != nil || n.Cases != 2 || !slices.Equal(n.Denials, want) {
		t.Errorf("frozen: %+v, %v", n, err)
	}
	n, err = Against(t.Context(), frozen, Comparison{Options: opts, Ignore: []string{"contradictions"}}, func(ch Change) error { t.Errorf("changed: %v", ch); return nil })
	if err != nil || n.Cases != 2 || !slices.Equal(n.Denials, want) {
		t.Errorf("compared: %+v, %v", n, err)
	}
}

func TestASampleIsSpreadOverALargeBatch(t *testing.T) {
	texts := map[string]string{}
	for i := range 2*sampled + 1 {
		texts["c"+strings.Repeat("x", i%7)+string(rune('a'+i%26))+strings.Repeat("y", i/26)] = "{}"
	}
	frozen := freeze(t, Subjects{Dirs: []string{cases(t, texts)}}, 2, reads)
	other := func(context.Context, CaseInput) (*incident.Report, error) { return said("x", "x", "x", 0), nil }
	got, n := against(t, frozen, Comparison{Options: Options{Diagnose: other}, Sample: true, Ignore: []string{"terminal"}})
	if want := (len(texts) + 1) / 2; n != want || len(got) < want {
		t.Errorf("%d of %d cases, %d changes", n, len(texts), len(got))
	}
}

// A capture is what a person could name: a folder, or a file that lies beside folders.
func TestCapturesAreCasesToo(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "samples")
	for _, f := range []string{"one/notes.txt", "one/job/a.log", "one/job/b.log"} {
		to := filepath.Join(dir, f)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(f), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	frozen := freeze(t, Subjects{Dirs: []string{dir}}, 1, reads)
	none := func(context.Context, CaseInput) (*incident.Report, error) { return said("x", "x", "x", 0), nil }
	got, n := against(t, frozen, Comparison{Options: Options{Diagnose: none}})
	var warned []string
	for _, g := range got {
		if strings.Contains(g, "|warnings[") {
			warned = append(warned, g)
		}
	}
	want := []string{
		`samples/one|warnings[0]|"job/a.log one/job/a.log"||`, `samples/one|warnings[1]|"job/b.log one/job/b.log"||`, `samples/one|warnings[2]|"notes.txt one/notes.txt"||`,
		`samples/one_job|warnings[0]|"a.log one/job/a.log"||`, `samples/one_job|warnings[1]|"b.log one/job/b.log"||`,
		`samples/one_notes.txt|warnings[0]|"notes.txt one/notes.txt"||`,
	}
	if n != 3 || !slices.Equal(warned, want) {
		t.Errorf("%d cases\ngot  %q\nwant %q", n, warned, want)
	}
}

// What lies in a case's folder and is no part of the case, such as a report that somebody kept there, must not end the case.
func TestAFreezeHoldsOnlyWhatTheEngineReads(t *testing.T) {
	dir := cases(t, map[string]string{"a": "{}", "b": "{}"})
	if err := os.WriteFile(filepath.Join(dir, "a", reportMember), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	frozen := freeze(t, Subjects{Dirs: []string{dir}}, 1, reads)
	if got, n := against(t, frozen, Comparison{Options: Options{Diagnose: reads}}); n != 2 || len(got) > 0 {
		t.Errorf("the same engine on %d of 2 cases: %q", n, got)
	}
}

func TestWhatIsNoFreezeIsAnError(t *testing.T) {
	dir := t.TempDir()
	if _, err := Against(t.Context(), dir, Comparison{Options: Options{Diagnose: reads}}, nil); err == nil {
		t.Error("an empty folder was compared with")
	}
	if err := os.WriteFile(filepath.Join(dir, "x.tar.gz"), []byte("no archive"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Against(t.Context(), dir, Comparison{Options: Options{Diagnose: reads}}, nil); err == nil {
		t.Error("a file that is no archive was compared with")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Freeze(ctx, t.TempDir(), Subjects{Dirs: []string{cases(t, map[string]string{"a": "{}"})}}, Options{Diagnose: reads}); !errors.Is(err, context.Canceled) {
		t.Errorf("a freeze that was interrupted: %v", err)
	}
}

func TestDiffer(t *testing.T) {
	for _, c := range []struct{ was, now, want string }{
		{`{"a": 1}`, `{"a": 1}`, ``},
		{`{"a": 1, "b": null}`, `{"b": 0, "c": "<"}`, `a:1> b:null>0 c:>"<"`},
		{`{"l": [1, 2, 3, 4]}`, `{"l": [0, 1, 2, 4]}`, `l[0]:>0 l[2]:3>`},
		{`{"l": [{"x": 1, "y": [1]}, 7]}`, `{"l": [{"x": 1, "y": [2]}, 7]}`, `l[0].y[0]:1>2`},
		{`{"l": [5, 1, 2]}`, `{"l": [1, 2, 6]}`, `l[0]:5> l[2]:>6`},
		{`{"l": []}`, `{"l": {}}`, `l:[]>{}`},
		{`{"n": 1.50}`, `{"n": 1.5}`, `n:1.50>1.5`},
	} {
		was, err := decoded([]byte(c.was))
		if err != nil {
			t.Fatal(err)
		}
		now, err := decoded([]byte(c.now))
		if err != nil {
			t.Fatal(err)
		}
		var d differ
		d.compare("", was, now)
		var got []string
		for _, ch := range d.found {
			if !json.Valid(ch.Was) && ch.Was != nil {
				t.Errorf("%s is no JSON", ch.Was)
			}
			got = append(got, ch.Path+":"+string(ch.Was)+">"+string(ch.Now))
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%s, %s: got %s, want %s", c.was, c.now, s, c.want)
		}
	}
}

func TestWhatIsCollectedBesideLogsIsEvidence(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"case.json": "{}", "evidence/dmesg.txt": "x"} { // logs/ may be missing then
		to := filepath.Join(dir, "a", name)
		if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	var got []string
	board, err := Run(t.Context(), []string{dir}, Options{Diagnose: func(_ context.Context, in CaseInput) (*incident.Report, error) {
		for _, s := range in.Evidence {
			got = append(got, s.Name)
		}
		return said("x", "x", "x", 0), nil
	}})
	if err != nil || len(board.Cases) != 1 || !slices.Equal(got, []string{"evidence/dmesg.txt"}) {
		t.Errorf("%q, %v", got, err)
	}
}

// The truth of a real case is a sentence; one that cannot be read would be frozen as an error, and no change of it be seen.
func TestTheTruthOfARealCaseIsASentence(t *testing.T) {
	var c caseFile
	if err := json.Unmarshal([]byte(`{"truth": "one rank was slow", "accept": ["slow-rank"]}`), &c); err != nil || c.simulated() || len(c.Accept) != 1 {
		t.Errorf("%+v, %v", c, err)
	}
	if err := json.Unmarshal([]byte(`{"truth": {"no_failure": true}}`), &c); err != nil || !c.control() {
		t.Errorf("%+v, %v", c, err)
	}
}
