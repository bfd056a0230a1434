package messages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"faultline/incident"
)

const schemaPath = "../docs/report.schema.json"

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func validate(s *jsonschema.Schema, r *incident.Report) error {
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(&b)
	if err != nil {
		return err
	}
	return s.Validate(v)
}

func TestReportsSatisfyTheSchema(t *testing.T) {
	s := compileSchema(t)
	for name, fixture := range fixtures {
		if err := validate(s, fixture()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	full := stall()
	n := 0
	g := generator{rand.New(rand.NewPCG(1, 2)), true}
	for range 20 {
		r := g.report()
		if err := validate(s, r); err != nil {
			t.Fatalf("a full generated report: %v", err)
		}
	}
	g.full = false
	for range 200 {
		r := g.report()
		if err := validate(s, r); err != nil {
			t.Fatalf("a generated report: %v", err)
		}
		n += len(r.Ranks) + len(r.Chain) + len(r.Groups)
	}
	if n == 0 {
		t.Fatal("the generator generates nothing")
	}
	full.Verdict.Status = "certain"
	if validate(s, full) == nil {
		t.Error("the schema accepts a verdict status that does not exist")
	}
	full = stall()
	full.Ranks[3].Role = "guilty"
	if validate(s, full) == nil {
		t.Error("the schema accepts a role that does not exist")
	}
}

// generator fills a report at random; where the schema has a closed list, with a word of it.
type generator struct {
	*rand.Rand
	full bool
}

var closed = map[string][]string{
	"Report.Schema": {incident.Schema}, "Evidence.Kind": {"quote", "count", "absence", "set", "inventory", "derived"},
	"Evidence.Formula": {"time-minus-ms", "difference", "sum", "quotient", "remainder", "missing"}, "CutFile.How": {"empty", "header-only", "hole"},
	"Verdict.Status": {"confirmed", "probable", "inconclusive", "no-failure"}, "Verdict.Origin": {"gpu", "unknown"}, "Candidate.Origin": {"gpu", "none"},
	"Verdict.Phase": {"init", "unknown"}, "Verdict.Ending": {"seen", "stalled"}, "Verdict.Scope": {"rank", "unknown"}, "Need.Obtainable": {"now", "perishing", "next-time"},
	"Severity.Level": {"critical", "note"}, "Severity.Per": {"hour", "run"}, "Action.Resubmit": {"yes", "after-fix"}, "Action.Owner": {"data", "nobody"}, "Group.MembershipBasis": {"recorder", "unknown"}, "SyncPoint.Basis": {"stack", "consistent"},
	"GroupMember.Role": {"straggler", "missing"}, "RankState.Role": {"ok", "waiter"}, "Link.Role": {"trigger", "end"}, "Link.Kind": {"wait"}, "Finding.Kind": {"held"},
	"Storage.Status": {"partial", "examined"}, "StorageSign.Kind": {"trouble", "use"}, "Storage.Judgement": {"open", "cleared"}, "Hypothesis.Status": {"accepted", "rejected"},
	"Storage.Clocks": {"proven", "likely", "unproven"}, "StorageEpisode.Side": {"target", "network"}, "StorageEpisode.Standing": {"cause", "coincident"},
	"Triage.Clock": {"logs", "none"}, "Triage.State": {"running", "stalled"}, "Triage.Severity": {"critical", "none"},
	"TriageSign.Name": {"running", "failure"}, "TriageSign.Level": {"warning", "none"},
	"Recurrence.Kind": {"item", "host"}, "Difference.What": {"nodes-added", "argument"}, "Figure.Name": {"step-time", "loss"},
	"Event.Kind": {"error", "save"}, "ClockShift.Of": {"programs", "storage"}, "Lane.Kind": {"rank", "storage"}, "LaneSpan.Doing": {"runs", "goes-down"}, "LaneMark.Kind": {"error", "end"},
	"Standout.Severity": {"calm", "crash"}, "Reason.Part": {"severity", "cross-job"},
	"Recommendation.When": {"now", "structural"}, "Verdict.Mechanism": {"gpu-oom", ""}, "Candidate.Mechanism": {"gpu-oom"}, "Suspect.Mechanism": {"x"}, "Hypothesis.Mechanism": {"x-y"},
}

func (g generator) report() *incident.Report {
	r := new(incident.Report)
	g.fill(reflect.ValueOf(r).Elem(), "", 0)
	return r
}

func (g generator) fill(v reflect.Value, name string, depth int) {
	some := g.full || g.IntN(2) == 0
	switch v.Kind() {
	case reflect.String:
		if words := closed[name]; words != nil {
			v.SetString(words[g.IntN(len(words))])
			return
		}
		v.SetString(fmt.Sprintf("text %d é\x00\xff", g.IntN(100)))
	case reflect.Int, reflect.Int64:
		v.SetInt(1 + g.Int64N(1000))
	case reflect.Bool:
		v.SetBool(g.IntN(2) == 0)
	case reflect.Float64:
		v.SetFloat(g.Float64())
	case reflect.Struct:
		for i := range v.NumField() {
			g.fill(v.Field(i), v.Type().Name()+"."+v.Type().Field(i).Name, depth+1)
		}
	case reflect.Pointer:
		if some && depth < 8 {
			v.Set(reflect.New(v.Type().Elem()))
			g.fill(v.Elem(), name, depth+1)
		}
	case reflect.Slice:
		if some && depth < 8 {
			n := 1 + g.IntN(3)
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				g.fill(v.Index(i), name, depth+1)
			}
		}
	case reflect.Map:
		if some {
			v.Set(reflect.MakeMap(v.Type()))
			for _, k := range []string{"a", "b"} {
				e := reflect.New(v.Type().Elem()).Elem()
				g.fill(e, name, depth+1)
				v.SetMapIndex(reflect.ValueOf(k), e)
			}
		}
	default:
		panic("a kind of field that the generator does not know: " + v.Kind().String())
	}
}

// The schema and the Go types name the same members, both ways, and agree on which may be absent or null.
func TestSchemaAndTypesAgree(t *testing.T) {
	raw, err := os.ReadFile(schemaPath)
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(raw, &doc); err != nil {
		t.Fatal(err)
	}
	defs := doc["$defs"].(map[string]any)
	used := make(map[string]bool)
	resolve := func(s map[string]any) (node map[string]any, null bool) {
		if alt, ok := s["anyOf"].([]any); ok {
			s, null = alt[0].(map[string]any), true
		}
		if ref, ok := s["$ref"].(string); ok {
			name := strings.TrimPrefix(ref, "#/$defs/")
			used[name] = true
			s = defs[name].(map[string]any)
		}
		if types, ok := s["type"].([]any); ok && slices.Contains(types, any("null")) {
			null = true
		}
		return s, null
	}
	seen := make(map[reflect.Type]bool)
	var compare func(path string, typ reflect.Type, s map[string]any)
	compare = func(path string, typ reflect.Type, s map[string]any) {
		node, null := resolve(s)
		wantNull := typ.Kind() == reflect.Pointer || path == ".coverage.nodes_expected"
		if strings.HasSuffix(path, "?") { // left out when empty, so never null
			path, wantNull = strings.TrimSuffix(path, "?"), false
		}
		if null != wantNull {
			t.Errorf("%s: null allowed by the schema %v, by the type %v", path, null, wantNull)
		}
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		switch typ.Kind() {
		case reflect.Slice:
			compare(path+"[]", typ.Elem(), node["items"].(map[string]any))
		case reflect.Map:
			compare(path+"{}", typ.Elem(), node["additionalProperties"].(map[string]any))
		case reflect.Struct:
			if seen[typ] {
				return
			}
			seen[typ] = true
			props := node["properties"].(map[string]any)
			var required []string
			for _, x := range node["required"].([]any) {
				required = append(required, x.(string))
			}
			names := make(map[string]bool)
			for i := range typ.NumField() {
				name, opts, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
				if name == "-" {
					continue
				}
				names[name] = true
				p, ok := props[name].(map[string]any)
				if !ok {
					t.Errorf("%s.%s is not in the schema", path, name)
					continue
				}
				optional := strings.Contains(opts, "omitempty") || strings.Contains(opts, "omitzero")
				if optional == slices.Contains(required, name) {
					t.Errorf("%s.%s: required in the schema %v, optional in the type %v", path, name, !optional, optional)
				}
				sub := path + "." + name
				if optional {
					sub += "?"
				}
				compare(sub, typ.Field(i).Type, p)
			}
			for name := range props {
				if !names[name] {
					t.Errorf("%s.%s is in the schema only", path, name)
				}
			}
			if node["additionalProperties"] != false {
				t.Errorf("%s: the schema accepts members that nobody knows", path)
			}
		default:
			kinds := map[reflect.Kind]string{reflect.String: "string", reflect.Int: "integer", reflect.Int64: "integer", reflect.Float64: "number", reflect.Bool: "boolean"}
			got := fmt.Sprint(node["type"])
			if node["const"] == nil && !strings.Contains(got, kinds[typ.Kind()]) {
				t.Errorf("%s: %s in the schema, %s in the type", path, got, typ.Kind())
			}
		}
	}
	compare("", reflect.TypeFor[incident.Report](), doc)
	for name := range defs {
		if !used[name] {
			t.Errorf("$defs/%s is never used", name)
		}
	}
}

func TestListsAreNeverNull(t *testing.T) {
	var b bytes.Buffer
	if err := JSON(&b, minimal()); err != nil {
		t.Fatal(err)
	}
	got := b.String()
	for _, want := range []string{`"nodes_seen": []`, `"ranks_missing": []`, `"per_file": {}`, `"groups": []`, `"warnings": []`, `"nodes_expected": null`, `"id": null`, `"confidence": 0.00`, `"frontier": []`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in the JSON", want)
		}
	}
	if !strings.HasSuffix(got, "}\n") {
		t.Error("no newline at the end")
	}
}
