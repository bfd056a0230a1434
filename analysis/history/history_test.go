package history

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"faultline/analysis/verify"
	"faultline/incident"
	"faultline/knowledge"
)

func ptr[T any](v T) *T { return &v }

// report is one that states everything that a line can hold.
func report() *incident.Report {
	r := &incident.Report{Schema: incident.Schema}
	r.Job = incident.Job{ID: ptr("4242"), Run: ptr(1), Name: ptr("nightly-70b"), StartTime: ptr("2026-07-09T14:01:12"), EndTime: ptr("2026-07-09T17:06:02"),
		Framework: ptr("megatron"), WorldSize: ptr(16), NodesCount: ptr(2), LastStep: ptr(int64(311)), StepsLogged: 31,
		Versions: []incident.NameOf{{Name: "torch", Value: "2.6.0"}}, Arguments: []incident.NameOf{{Name: "lr", Value: "0.1"}, {Name: "quoted", Value: `a "b" <c> é`}}}
	r.Figures = []incident.Figure{{Name: incident.SignStepTime, Unit: "s", N: 31, Median: 7.02, Spread: 0.1, First: 7, Last: 7.1}}
	r.Coverage.NodesSeen = []string{"node2", "node1"}
	r.Verdict = incident.Verdict{Status: incident.Confirmed, Mechanism: "native-crash", Origin: "software", Confidence: 0.95,
		Root: incident.Root{Ranks: []int{9}, Nodes: []string{"node2"}, Component: ptr("gpu:3b"), Item: ptr("/data/7.tar")}}
	return r
}

func read(t testing.TB, data string) *Book {
	t.Helper()
	b, err := Read(t.Context(), "h.jsonl", strings.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func line(t testing.TB, r *incident.Report, who Who) string {
	t.Helper()
	rec, err := Of(r, who)
	if err != nil {
		t.Fatal(err)
	}
	b, err := rec.Line()
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func TestALineIsReadAsItWasWritten(t *testing.T) {
	text := line(t, report(), Who{Cluster: "west", User: "u-1"})
	want, _ := Of(report(), Who{Cluster: "west", User: "u-1"})
	b := read(t, text)
	if len(b.Runs) != 1 || len(b.Warnings) > 0 {
		t.Fatalf("%d runs, %v", len(b.Runs), b.Warnings)
	}
	if got := b.Runs[0].Record; !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if want.ID != "west/4242/1" || !slices.Equal(want.Nodes, []string{"node1", "node2"}) {
		t.Errorf("%+v", want)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/history.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Errorf("the schema in the documentation does not accept it: %v", err)
	}
	// Every member that the schema names is one that is read, and the other way round.
	raw, err := os.ReadFile("../../docs/history.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	for i := range reflect.TypeFor[Record]().NumField() {
		name, _, _ := strings.Cut(reflect.TypeFor[Record]().Field(i).Tag.Get("json"), ",")
		if doc.Properties[name] == nil {
			t.Errorf("the schema does not know %q", name)
		}
		delete(doc.Properties, name)
	}
	if len(doc.Properties) > 0 {
		t.Errorf("the schema knows more: %v", doc.Properties)
	}
}

func TestARunWithoutAJobHasNoLine(t *testing.T) {
	for _, id := range []*string{nil, ptr(""), ptr("a b"), ptr("a/b"), ptr("7\n8")} {
		r := report()
		if r.Job.ID = id; id == nil || *id != "" {
			r.Job.ID = id
		}
		if _, err := Of(r, Who{}); err == nil {
			t.Errorf("job %v has a line", id)
		}
	}
}

func TestOneBadLineSparesTheOthers(t *testing.T) {
	good := line(t, report(), Who{})
	b := read(t, "nonsense\n"+good+"\n{\"schema\": \"x\"}\n"+strings.Repeat("y", incident.MaxRecord+7)+"\n"+good[:40]+"\n"+strings.TrimSuffix(good, "\n"))
	if len(b.Runs) != 1 || b.Runs[0].Line != 2 {
		t.Fatalf("%+v", b.Runs)
	}
	want := []string{"h.jsonl:1: ", "h.jsonl:4: ", "h.jsonl:5: ", "h.jsonl:6: "}
	if len(b.Warnings) != len(want) {
		t.Fatalf("%q", b.Warnings)
	}
	for i, w := range want {
		if !strings.HasPrefix(b.Warnings[i], w) {
			t.Errorf("%q does not begin with %q", b.Warnings[i], w)
		}
	}
	many := read(t, strings.Repeat("bad\n", 500))
	if len(many.Warnings) != maxWarnings+1 || !strings.Contains(many.Warnings[maxWarnings], "480 more lines") {
		t.Errorf("%d warnings, the last %q", len(many.Warnings), many.Warnings[len(many.Warnings)-1])
	}
}

func TestOfLinesThatTellOfOneRunTheSurerCounts(t *testing.T) {
	sure := line(t, report(), Who{})
	other := report()
	other.Verdict.Status, other.Verdict.Root.Nodes = incident.Probable, []string{"node1"}
	unsure := line(t, other, Who{})
	for _, text := range []string{sure + unsure, unsure + sure, unsure + sure + sure} {
		b := read(t, text)
		if len(b.Runs) != 1 || b.Runs[0].RootNodes[0] != "node2" || len(b.Warnings) != 1 {
			t.Errorf("%+v %v", b.Runs, b.Warnings)
		}
	}
}

func TestChanceIsThatOfIndependentEvents(t *testing.T) {
	fair := []float64{0.5, 0.5, 0.5, 0.5}
	for k, want := range []float64{1, 15. / 16, 11. / 16, 5. / 16, 1. / 16, 0} {
		if got := atLeast(k, fair); math.Abs(got-want) > 1e-12 {
			t.Errorf("at least %d of 4: %v, not %v", k, got, want)
		}
	}
	if got := atLeast(2, []float64{1, 0.1, 0.2}); math.Abs(got-0.28) > 1e-12 {
		t.Errorf("%v, not 0.28", got)
	}
	if atLeast(3, []float64{1, 1, 1}) != 1 {
		t.Error("what happens always proves something")
	}
}

// nodes1to is a history in which node1 was the root in the first k of n runs on m nodes.
func crashes(t *testing.T, k, n, m int) string {
	var b strings.Builder
	for i := range n {
		r := report()
		r.Job.ID, r.Job.Run, r.Job.Name = ptr(fmt.Sprint(100+i)), ptr(0), ptr(fmt.Sprintf("job-%d", i))
		r.Coverage.NodesSeen, r.Job.NodesCount = nil, nil
		for j := range m {
			r.Coverage.NodesSeen = append(r.Coverage.NodesSeen, fmt.Sprintf("node%d", j+1))
		}
		r.Verdict.Root = incident.Root{Nodes: []string{"node1"}, Ranks: []int{3 + i}}
		if i >= k {
			r.Verdict.Root.Nodes = []string{"node2"}
		}
		b.WriteString(line(t, r, Who{}))
	}
	return b.String()
}

func TestAHostWeighsByItsDenominator(t *testing.T) {
	machine := func(m knowledge.Slug) bool { return m == "native-crash" }
	for _, tt := range []struct {
		k, n, m int
		weighs  bool
	}{
		{1, 1, 8, false}, {1, 1, 128, true}, {2, 2, 8, false}, {2, 2, 16, true}, {3, 5, 8, false}, {3, 4, 16, true}, {3, 40, 16, false},
		{6, 6, 1, false}, {8, 8, 2, true}, {20, 40, 2, false}, {40, 40, 1, false},
	} {
		b := read(t, crashes(t, tt.k, tt.n, tt.m))
		p := b.Past(This{Job: "999", Name: "mine", Nodes: []string{"node1", "node2"}})
		rec := p.Host("node1", []int{1}, machine)
		if rec == nil || rec.Times != tt.k || rec.Of != tt.n || rec.Weighs != tt.weighs {
			t.Errorf("root in %d of %d runs of %d nodes: %+v", tt.k, tt.n, tt.m, rec)
		}
		if p.Host("node1", []int{1}, func(knowledge.Slug) bool { return false }) != nil {
			t.Error("a failure that no machine causes speaks against a machine")
		}
	}
}

func TestAnotherClustersNodesAreNotTheseNodes(t *testing.T) {
	text := strings.ReplaceAll(crashes(t, 3, 4, 16), `"run":0`, `"run":0,"cluster":"east"`)
	text = strings.ReplaceAll(text, `"id":"`, `"id":"east/`)
	b := read(t, text+line(t, report(), Who{Cluster: "west"}))
	machine := func(knowledge.Slug) bool { return true }
	for cluster, found := range map[string]bool{"east": true, "west": false, "": false} {
		p := b.Past(This{Who: Who{Cluster: cluster}, Job: "999", Name: "mine", Nodes: []string{"node1"}})
		if got := p.Host("node1", []int{1}, machine) != nil; got != found || len(p.Warnings) != 0 != (cluster == "") {
			t.Errorf("cluster %q: found %v, warnings %v", cluster, got, p.Warnings)
		}
	}
}

// FuzzRead holds whatever is read to three things: nothing panics, what is quoted is not the submitter, and every count that
// is claimed is found by the verifier on the bytes.
func FuzzRead(f *testing.F) {
	good := `{"schema":"faultline.history/v1","id":"1/0","job":"1","run":0,"name":"n","completed":false,"status":"confirmed","mechanism":"m","root_ranks":[7],"root_nodes":["a"],"item":"i","step":5,"steps_logged":900,"nodes":["a","b"],"user":"private"}`
	f.Add(good + "\n" + strings.ReplaceAll(good, `"1/0","job":"1"`, `"2/0","job":"2"`) + "\n")
	f.Add(good + "\n" + strings.ReplaceAll(good, `"a"`, `"\u0061"`) + "\n" + good)
	f.Add(strings.ReplaceAll(good, ":", ": \t") + "\n{}\n" + strings.ReplaceAll(good, `"completed":false`, `"completed":true`))
	f.Add(strings.ReplaceAll(good, "faultline", "x") + "\r\n\x00\xff" + good + "\r\n")
	f.Fuzz(func(t *testing.T, data string) {
		b, err := Read(t.Context(), "h.jsonl", strings.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		p := b.Past(This{Job: "9", Name: "n", Nodes: []string{"a", "c"}, WorldSize: 4})
		p.Summary()
		var evs []incident.Evidence
		for _, rec := range []*incident.Recurrence{p.Host("a", []int{3}, func(knowledge.Slug) bool { return true }), p.Step(5, "m"), p.Item("i", "m")} {
			if rec != nil {
				evs = append(evs, rec.Evidence...)
			}
		}
		if good := p.LastGood(Now{Arguments: []Value{{Name: "x", Value: "1"}}, Versions: []Value{{Name: "torch", Value: "2"}}}); good != nil {
			evs = append(evs, good.Evidence...)
			for _, d := range good.Differences {
				evs = append(evs, d.Evidence...)
			}
		}
		if len(evs) == 0 {
			return
		}
		path := filepath.Join(t.TempDir(), "h.jsonl")
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, e := range evs {
			if e.Kind == incident.KindQuote {
				text := data[e.Offset : e.Offset+int64(e.Span)]
				if bytes.Contains([]byte(text), []byte(`"user":"private"`)) {
					t.Errorf("quotes the submitter: %q", text)
				}
				if strings.ContainsRune(text, '\n') || strings.Count(data[:e.Offset], "\n")+1 != int(e.Line) {
					t.Errorf("%q does not stand in line %d", text, e.Line)
				}
				continue
			}
			if err := verify.Evidence(verify.Files{"h.jsonl": path}, e); err != nil {
				t.Errorf("%+v: %v", e, err)
			}
		}
	})
}

// What rarely changed between the earlier runs of the job comes first, whatever its kind; of few runs the order stays.
func TestWhatRarelyChangesComesFirst(t *testing.T) {
	past := func(runs int) *Past {
		var text strings.Builder
		for i := range runs {
			r := report()
			r.Job.ID, r.Job.EndTime = ptr(fmt.Sprint(100+i)), ptr(fmt.Sprintf("2026-07-%02dT17:06:02", i+1))
			r.Coverage.NodesSeen = []string{fmt.Sprintf("node%d", i+1)}
			r.Job.Arguments = []incident.NameOf{{Name: "lr", Value: "0.1"}, {Name: "seed", Value: fmt.Sprint(i)}}
			text.WriteString(line(t, r, Who{Cluster: "west"}))
		}
		return read(t, text.String()).Past(This{Job: "200", Name: "nightly-70b"})
	}
	list := []incident.Difference{{What: NodesAdded}, {What: Version, Name: "torch"}, {What: Argument, Name: "seed"}, {What: Argument, Name: "lr"}}
	order := func(runs int) (names []string) {
		for _, d := range past(runs).Rarest(slices.Clone(list)) {
			names = append(names, d.What+" "+d.Name)
		}
		return names
	}
	if got, want := order(6), []string{"version torch", "argument lr", "nodes-added ", "argument seed"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := order(3); got[0] != "nodes-added " {
		t.Errorf("of three runs %q", got)
	}
}
