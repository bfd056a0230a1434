package acceptance

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
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"faultline/analysis"
	"faultline/analysis/hostlist"
	"faultline/eval"
	"faultline/incident"
	"faultline/knowledge"
	"faultline/messages"
	"faultline/simulate"
)

// gridSeed draws the cases that the scoreboard in docs/ is made of.
const gridSeed = 2026

var (
	seed   = flag.Uint64("seed", gridSeed, "the number that simulated cases are drawn from")
	update = flag.Bool("update", false, "write docs/scoreboard.md")
)

// corpus holds the real cases; it is not part of the repository.
const corpus = "../../shared/corpus"

// scratch is removed when all tests are done: the grid is written once and used by several of them.
var scratch string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "faultline-acceptance-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	if raced && flag.Lookup("test.run").Value.String() == "" {
		if err := flag.Set("test.run", goroutines); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// full says that this run has time: FAULTLINE_FULL=1 go test ./acceptance. Where it says ci, the grids that are judged by shares and make
// the scoreboard are whole, and of the rest a third is played.
var (
	full  = os.Getenv("FAULTLINE_FULL") != ""
	third = os.Getenv("FAULTLINE_FULL") == "ci"
)

// brief says that a run plays a sample: the first rounds of each grid, so that each kind is played. Whoever writes the scoreboard plays all.
func brief() bool { return raced || testing.Short() || !full && !*update }

// cases is n, or a fraction of it in a run that is brief.
func cases(n int) int {
	if raced {
		return max(n*4/100, 1)
	}
	if brief() {
		return max(n*8/100, 1)
	}
	if third {
		return max(n/3, 1)
	}
	return n
}

// share is cases for what is judged by shares, which mean nothing of few cases.
func share(n int) int {
	if raced {
		return max(n*6/100, 1)
	}
	if brief() {
		return max(n*10/100, 1)
	}
	return n
}

func needCorpus(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("under the race detector the grid has the same goroutines")
	}
	if !haveCorpus() {
		t.Skip("the corpus of real cases is not at ../shared/corpus next to the repository")
	}
}

// engine runs the engine as an operator would.
func engine(ctx context.Context, in eval.CaseInput) (*incident.Report, error) {
	input := analysis.Input{Known: in.Known, Sources: in.Sources, Storage: in.Storage, WorldSize: in.WorldSize, Workers: 1, Version: "test"}
	if in.Nodes != "" {
		nodes, err := hostlist.Expand(in.Nodes)
		if err != nil {
			return nil, fmt.Errorf("nodes of case %s: %w", in.ID, err)
		}
		input.Nodes = nodes
	}
	return analysis.Diagnose(ctx, input)
}

// audit collects what is wrong with reports whatever they say: their form, and evidence that does not hold.
type audit struct {
	mu     sync.Mutex
	wrong  []string
	n      int
	proofs int
}

func (a *audit) engine(ctx context.Context, in eval.CaseInput) (*incident.Report, error) {
	r, err := engine(ctx, in)
	if err != nil {
		return nil, err
	}
	if err = sound(r); err == nil {
		err = asks(r)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	v := &r.Verification
	a.proofs += v.Quotes.Held + v.Counts.Held + v.Sets.Held + v.Absences.Held + v.Derived.Held
	if err != nil {
		a.wrong = append(a.wrong, in.ID+": "+err.Error())
	}
	return r, nil
}

var schema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	return jsonschema.NewCompiler().Compile("../docs/report.schema.json")
})

// sound says whether a report has the form of the schema and whether all that it claims was held against the bytes.
func sound(r *incident.Report) error {
	s, err := schema()
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := messages.JSON(&b, r); err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		return err
	}
	if err := s.Validate(v); err != nil {
		return fmt.Errorf("the report does not satisfy its schema: %w", err)
	}
	for name, ratio := range map[string]incident.Ratio{"quotations": r.Verification.Quotes, "counts": r.Verification.Counts,
		"sets": r.Verification.Sets, "absences": r.Verification.Absences, "derived values": r.Verification.Derived} {
		if ratio.Held != ratio.Checked {
			return fmt.Errorf("%d of %d %s hold", ratio.Held, ratio.Checked, name)
		}
	}
	return nil
}

// asks says whether a report that leaves several mechanisms open asks for what tells them apart, what is soon gone before the rest.
func asks(r *incident.Report) error {
	set := slices.DeleteFunc(said(r), func(m string) bool { return m == "unknown" })
	if r.Verdict.Status != incident.Inconclusive || len(set) < 2 {
		return nil
	}
	if len(r.Verdict.Needs) == 0 {
		return fmt.Errorf("nothing is asked for that would decide between %v", set)
	}
	slugs := make([]knowledge.Slug, len(set))
	for i, m := range set {
		slugs[i] = knowledge.Slug(m)
	}
	if len(knowledge.Deciding(slugs)) == 0 {
		return fmt.Errorf("nothing is known that would decide between %v", set)
	}
	soon := func(n incident.Need) bool { return n.Obtainable == "perishing" }
	logs := func(n incident.Need) bool { return n.What == knowledge.UnseenRanks } // they decide before all else
	if i := slices.IndexFunc(r.Verdict.Needs, func(n incident.Need) bool { return !soon(n) && !logs(n) }); i >= 0 && slices.ContainsFunc(r.Verdict.Needs[i:], soon) {
		return fmt.Errorf("what is soon gone is not asked for first: %v", r.Verdict.Needs)
	}
	return nil
}

// play generates an incident.
func play(t testing.TB, spec simulate.Spec) *simulate.Incident {
	t.Helper()
	inc, err := simulate.Generate(spec)
	if err != nil {
		t.Fatal(err)
	}
	return inc
}

// asked is the engine's input for an incident, but for its files.
func asked(t testing.TB, inc *simulate.Incident) analysis.Input {
	t.Helper()
	in := analysis.Input{WorldSize: inc.WorldSize, Workers: 1, Version: "test"}
	if inc.Nodes != "" {
		nodes, err := hostlist.Expand(inc.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		in.Nodes = nodes
	}
	return in
}

// put writes files into a directory and returns them as an operator's input.
func put(t testing.TB, dir string, files []simulate.File) []incident.Source {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	out := make([]incident.Source, 0, len(files))
	for _, f := range files {
		path := filepath.Join(dir, f.Name)
		if err := os.WriteFile(path, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		out = append(out, incident.Source{Name: f.Name, Path: path, Bytes: int64(len(f.Data)), Origin: "path"})
	}
	slices.SortFunc(out, func(a, b incident.Source) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// diagnosed is the report, or nil where nothing can be read; a panic fails the test with the name of the case.
func diagnosed(ctx context.Context, t testing.TB, name string, in analysis.Input) (r *incident.Report) {
	t.Helper()
	defer func() {
		if p := recover(); p != nil {
			t.Errorf("%s: the engine panicked: %v", name, p)
		}
	}()
	r, err := analysis.Diagnose(ctx, in)
	switch {
	case errors.Is(err, analysis.ErrNothingToRead):
		return nil
	case err != nil:
		t.Errorf("%s: %v", name, err)
		return nil
	}
	return r
}

// said are the mechanisms that a report leaves standing.
func said(r *incident.Report) []string {
	var out []string
	for _, c := range r.Verdict.Candidates {
		out = append(out, c.Mechanism)
	}
	return out
}
