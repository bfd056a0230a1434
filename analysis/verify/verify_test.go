package verify

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"faultline/incident"
)

// write puts contents into a fresh directory and returns the set.
func write(t testing.TB, contents map[string]string) Files {
	t.Helper()
	dir := t.TempDir()
	files := Files{}
	for name, text := range contents {
		path := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		files[name] = path
	}
	return files
}

// quoteOf quotes the first occurrence of text in content.
func quoteOf(t testing.TB, file, content, text string, p *incident.Predicate) incident.Evidence {
	t.Helper()
	off := strings.Index(content, text)
	if off < 0 {
		t.Fatalf("%q is not in the content", text)
	}
	return incident.Quote(file, int64(strings.Count(content[:off], "\n"))+1, int64(off), text, p)
}

func lits(s ...string) *incident.Predicate { return &incident.Predicate{Literals: s} }

func keyed(key, value string, literals ...string) *incident.Predicate {
	return &incident.Predicate{Literals: literals, Fields: []incident.Field{{Key: key, Value: value}}}
}

func gz(t testing.TB, s string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zst(t testing.TB, s string) string {
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	return string(w.EncodeAll([]byte(s), nil))
}

const body = "start\n" +
	"[rank3]: last enqueued work: 4711, last completed work: 4710\n" +
	"\x1b[31mERROR\x1b[0m rank \x1b[1m7\x1b[0m lost\r\n" +
	" 10%|# | 1/10\r 20%|## | 2/10\r 30%|### | 3/10 Traceback\n" +
	"\x00\x00torn rank: 12.\n" +
	"[E 17:48:01.99] ran for 1800034 milliseconds\n" +
	"end\n"

func TestEvidence(t *testing.T) {
	long := strings.Repeat("x", 3*bufferSize)
	contents := map[string]string{
		"a.log":     body,
		"a.log.gz":  gz(t, body),
		"a.log.zst": zst(t, body),
		"cut.gz":    gz(t, body+strings.Repeat("noise 1234567\n", 50000))[:1500],
		"open.log":  "no final newline: rank 5",
		"empty.log": "",
		"hole.log":  "a\n" + strings.Repeat("\x00", holeBytes) + "b\n",
		"long.log":  "first\n" + long + " key=77 " + long + " needle\nlast\n",
		"out-0.log": "rank 0 here\nrank 2 here\nrank 0 here\n",
		"out-1.log": "rank 10 here\nrank -1 here\n",
	}
	files := write(t, contents)
	files["gone.log"] = filepath.Join(t.TempDir(), "gone.log")
	files["dir"] = t.TempDir()
	size := int64(len(body))
	count := func(n int64, p *incident.Predicate, names ...string) incident.Evidence {
		return incident.Evidence{Kind: incident.KindCount, Predicate: p, Files: names, N: n}
	}
	absence := func(bytes int64, p *incident.Predicate, names ...string) incident.Evidence {
		return incident.Evidence{Kind: incident.KindAbsence, Predicate: p, Files: names, Bytes: bytes}
	}
	set := func(values []string, names ...string) incident.Evidence {
		return incident.Evidence{Kind: incident.KindSet, Predicate: lits("here"), Capture: &incident.Capture{Key: "rank "}, Files: names, Values: values}
	}
	derived := func(formula, result string, in ...incident.Evidence) incident.Evidence {
		return incident.Evidence{Kind: incident.KindDerived, Formula: formula, Result: result, Inputs: in}
	}
	q := func(text string, p *incident.Predicate) incident.Evidence { return quoteOf(t, "a.log", body, text, p) }
	with := func(e incident.Evidence, change func(*incident.Evidence)) incident.Evidence { change(&e); return e }
	ran := q("[E 17:48:01.99] ran for 1800034 milliseconds", keyed("ran for ", "1800034"))
	enqueued, completed := q("last enqueued work: 4711,", keyed("enqueued work: ", "4711")), q("last completed work: 4710\n"[:25], keyed("completed work: ", "4710"))
	ranks := set([]string{"-1", "0", "2", "10"}, "out-0.log", "out-1.log")
	inventory := incident.Evidence{Kind: incident.KindInventory, Expected: []string{"0", "1", "2"}, Seen: []string{"0", "1"}, From: "--nodes", Files: []string{"out-0.log", "out-1.log"}}

	for _, tc := range []struct {
		name string
		ev   incident.Evidence
		want string // "" = holds; else a part of the reason
	}{
		{"quote", q("start", nil), ""},
		{"quote with field", enqueued, ""},
		{"quote in gz", quoteOf(t, "a.log.gz", body, "torn rank: 12", keyed("rank: ", "12")), ""},
		{"quote in zst", quoteOf(t, "a.log.zst", body, "torn rank: 12", keyed("rank: ", "12")), ""},
		{"quote in the whole part of a cut gz", quoteOf(t, "cut.gz", body, "start", nil), ""},
		{"quote with escapes, predicate without", q("\x1b[31mERROR\x1b[0m rank \x1b[1m7\x1b[0m lost\r", keyed("rank ", "7", "ERROR rank 7 lost")), ""},
		{"quote of bars, predicate on one of them", q(" 20%|## | 2/10\r 30%|### | 3/10 Traceback", lits("3/10", "Traceback")), ""},
		{"quote of bars, predicate over two of them", q(" 20%|## | 2/10\r 30%|### | 3/10 Traceback", lits("2/10", "Traceback")), "does not satisfy"},
		{"quote after NUL", q("\x00\x00torn", lits("torn")), ""},
		{"quote in a huge line", quoteOf(t, "long.log", contents["long.log"], " key=77 ", keyed("key=", "77")), ""},
		{"quote after a huge line", quoteOf(t, "long.log", contents["long.log"], "last", nil), ""},
		{"literals out of order", q("last enqueued work: 4711,", lits("4711", "enqueued")), "does not satisfy"},
		{"literals overlapping", q("start", lits("sta", "art")), "does not satisfy"},
		{"field of a number cut short", q("last enqueued work: 471", keyed("enqueued work: ", "471")), "does not satisfy"},
		{"field of a number cut before an escape", q("rank \x1b[1m7", keyed("rank ", "7")), ""},
		{"field without trailing dot", q("torn rank: 12.", keyed("rank: ", "12")), ""},
		{"forbidden literal", q("start", &incident.Predicate{Literals: []string{"st"}, Not: []string{"art"}}), "does not satisfy"},
		{"wrong line", with(q("end", nil), func(e *incident.Evidence) { e.Line++ }), "on line 7"},
		{"wrong offset", with(q("end", nil), func(e *incident.Evidence) { e.Offset-- }), "different text"},
		{"behind the end", with(q("end", nil), func(e *incident.Evidence) { e.Offset += 1000 }), "ends before"},
		{"text over the end", with(q("end", nil), func(e *incident.Evidence) { e.Text = "end." }), "different text"},
		{"text over lines", with(q("end", nil), func(e *incident.Evidence) { e.Text = "end\n" }), "spans lines"},
		{"blank text", with(q("end", nil), func(e *incident.Evidence) { e.Text = "" }), "blank"},
		{"file outside", with(q("end", nil), func(e *incident.Evidence) { e.File = "b.log" }), "not one of the files"},
		{"file gone", with(q("end", nil), func(e *incident.Evidence) { e.File = "gone.log" }), "cannot be read"},
		{"directory", with(q("end", nil), func(e *incident.Evidence) { e.File = "dir" }), "not a regular file"},
		{"number nobody checks", with(q("end", nil), func(e *incident.Evidence) { e.N = 3 }), "not evaluated"},
		{"span, which is not reported", with(q("end", nil), func(e *incident.Evidence) { e.Span = 3 }), ""},
		{"empty predicate", q("end", &incident.Predicate{}), "neither a literal nor a field"},
		{"unknown kind", incident.Evidence{Kind: "belief", Text: "x"}, "unknown kind"},
		{"no evidence", incident.Evidence{}, "unknown kind"},

		{"count", count(3, lits("rank"), "a.log"), ""},
		{"count over files of all kinds", count(9, lits("rank"), "a.log", "a.log.gz", "a.log.zst"), ""},
		{"count of redrawn bars", count(3, lits("%|"), "a.log"), ""},
		{"count through escapes", count(1, lits("ERROR rank 7 lost"), "a.log"), ""},
		{"count in a huge line", count(1, keyed("key=", "77", "xx", "needle"), "long.log"), ""},
		{"count with what a huge line lacks", count(1, keyed("key=", "7", "xx", "needle"), "long.log"), "0 satisfy"},
		{"count of too few", count(2, lits("rank"), "a.log"), "3 satisfy"},
		{"count of none", count(0, lits("zebra"), "a.log"), "is an absence"},
		{"count without files", count(1, lits("rank")), "no file"},
		{"count of a file twice", count(6, lits("rank"), "a.log", "a.log"), "twice"},
		{"count of anything", count(7, &incident.Predicate{Not: []string{"x"}}, "a.log"), "neither"},
		{"count without predicate", count(7, nil, "a.log"), "no predicate"},

		{"absence", absence(size*3, lits("zebra"), "a.log", "a.log.gz", "a.log.zst"), ""},
		{"absence with wrong bytes", absence(size+1, lits("zebra"), "a.log"), "bytes"},
		{"absence of what is there", absence(size, lits("torn"), "a.log"), "1 satisfy"},
		{"absence in a file cut short", absence(24, lits("zebra"), "open.log"), "end cleanly"},
		{"absence in an empty file", absence(0, lits("zebra"), "empty.log"), "end cleanly"},
		{"absence in a file with a hole", absence(int64(len(contents["hole.log"])), lits("zebra"), "hole.log"), "end cleanly"},
		{"absence in a damaged archive", absence(size, lits("zebra"), "cut.gz"), "end cleanly"},

		{"set", ranks, ""},
		{"set with one too many", set([]string{"-1", "0", "2", "3", "10"}, "out-0.log", "out-1.log"), `no segment holds "3"`},
		{"set with one too few", set([]string{"-1", "0", "10"}, "out-0.log", "out-1.log"), `also hold "2"`},
		{"set out of order", set([]string{"-1", "0", "10", "2"}, "out-0.log", "out-1.log"), "sorted"},
		{"set of nothing", set(nil, "a.log"), "without values"},

		{"inventory by names", inventory, ""},
		{"inventory with a name too many", with(inventory, func(e *incident.Evidence) { e.Seen = []string{"0", "1", "2"} }), `after "2"`},
		{"inventory with a name too few", with(inventory, func(e *incident.Evidence) { e.Seen = []string{"0"} }), "nothing that was seen"},
		{"inventory from nowhere", with(inventory, func(e *incident.Evidence) { e.From = "" }), "from where"},
		{"inventory by content", with(inventory, func(e *incident.Evidence) {
			e.Predicate, e.Capture, e.Seen = lits("here"), &incident.Capture{Key: "rank "}, []string{"-1", "0", "2", "10"}
		}), ""},

		{"time minus ms, one input", derived("time-minus-ms", "17:18:00", ran), ""},
		{"time minus ms, off by a second", derived("time-minus-ms", "17:18:01", ran), `is "17:18:00"`},
		{"difference", derived("difference", "1", enqueued, completed), ""},
		{"quotient", derived("quotient", "1", ranks, count(3, lits("rank"), "a.log")), ""},
		{"quotient-up", derived("quotient-up", "2", ranks, count(3, lits("rank"), "a.log")), ""},
		{"remainder", derived("remainder", "1", ranks, count(3, lits("rank"), "a.log")), ""},
		{"remainder, wrong", derived("remainder", "0", ranks, count(3, lits("rank"), "a.log")), `is "1"`},
		{"quotient by nothing", derived("quotient", "0", ranks, derived("difference", "0", enqueued, enqueued)), "above 0"},
		{"quotient of three", derived("quotient", "1", ranks, ranks, ranks), "two inputs"},
		{"difference, wrong", derived("difference", "2", enqueued, completed), `is "1"`},
		{"sum of a set, a count and a derived", derived("sum", "8", ranks, count(3, lits("rank"), "a.log"), derived("difference", "1", enqueued, completed)), ""},
		{"ratio", derived("ratio", "1.67", q("rank: 12", keyed("rank: ", "12")), q("[E 17:48:01.99] ran", &incident.Predicate{Literals: []string{"17:48"}, Fields: []incident.Field{{Key: "48:", Value: "01.99"}}})), "is \"0.17\""},
		{"ratio, half up", derived("ratio", "392.50", q("rank: 12", keyed("rank: ", "12")), q("last completed work: 4710\n"[:25], keyed("completed work: ", "4710"))), ""},
		{"ratio of one", derived("ratio", "1.00", enqueued), "two inputs"},
		{"ratio over no number", derived("ratio", "1.00", q("start", nil), enqueued), "no decimal fraction"},
		{"ratio over a count", derived("ratio", "1.00", count(3, lits("rank"), "a.log"), enqueued), "no decimal fraction"},
		{"missing", derived("missing", "2", inventory, inventory), ""},
		{"missing from a set", derived("missing", "-1,10", ranks, with(inventory, func(e *incident.Evidence) {
			e.Predicate, e.Capture, e.Seen, e.Files = lits("here"), &incident.Capture{Key: "rank "}, []string{"0", "2"}, []string{"out-0.log"}
		})), ""},
		{"derived from a false input", derived("difference", "1", with(enqueued, func(e *incident.Evidence) { e.Line = 3 }), completed), "input 0"},
		{"derived from nothing", derived("sum", "0"), "from nothing"},
		{"unknown formula", derived("guess", "1", enqueued), "no such formula"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := Evidence(files, tc.ev)
			switch {
			case tc.want == "" && err != nil:
				t.Errorf("rejected: %v", err)
			case tc.want != "" && err == nil:
				t.Error("accepted")
			case tc.want != "" && !strings.Contains(err.Error(), tc.want):
				t.Errorf("reason %q does not say %q", err, tc.want)
			}
			if err != nil {
				for name, path := range files {
					if strings.Contains(err.Error(), path) {
						t.Errorf("the reason gives away the path of %s: %v", name, err)
					}
				}
			}
		})
	}
}

// fill sets every field of a value to something not empty, evidence to a false quote, so that a place the walk forgets
// shows up as a missing failure.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(v.Index(i))
		}
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		e := reflect.New(v.Type().Elem()).Elem()
		fill(e)
		v.SetMapIndex(reflect.ValueOf("k"), e)
	case reflect.Struct:
		if v.Type() == evidenceType {
			v.Set(reflect.ValueOf(incident.Quote("a.log", 1, 0, "nowhere", nil)))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	}
}

func TestReportFindsEveryPlace(t *testing.T) {
	var r incident.Report
	fill(reflect.ValueOf(&r).Elem())
	v, failures, err := Report(context.Background(), write(t, map[string]string{"a.log": body}), &r)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, f := range failures {
		got[f.Path] = true
	}
	for _, path := range []string{
		"job.resumed_from.evidence[0]", "coverage.unclassified_top[1].first", "action.resume_from.evidence[1]",
		"groups[0].ranks[1].evidence[0]", "chain[1].evidence[0]", "timeline[0].evidence[1]",
		"hypotheses[1].for[0].evidence[0]", "hypotheses[0].against[1].evidence[1]", "revisions[1].evidence[1]",
	} {
		if !got[path] {
			t.Errorf("no failure at %s", path)
		}
	}
	if want := (incident.Ratio{Held: 0, Checked: 1}); v.Quotes != want {
		t.Errorf("quotes %v, want %v: the same claim counts once", v.Quotes, want)
	}
}

func TestReportAccountsForTrueAndFalse(t *testing.T) {
	files := write(t, map[string]string{"a.log": body})
	good := quoteOf(t, "a.log", body, "torn", nil)
	bad := good
	bad.Line = 1
	r := &incident.Report{Chain: []incident.Link{{Evidence: []incident.Evidence{good}}, {Evidence: []incident.Evidence{good, bad}}}}
	v, failures, err := Report(context.Background(), files, r)
	if err != nil {
		t.Fatal(err)
	}
	if len(failures) != 1 || failures[0].Path != "chain[1].evidence[1]" || !reflect.DeepEqual(failures[0].Evidence, bad) {
		t.Errorf("failures: %+v", failures)
	}
	if v.Quotes != (incident.Ratio{Held: 1, Checked: 2}) {
		t.Errorf("quotes: %+v", v.Quotes)
	}
}

func TestUnprovenStatements(t *testing.T) {
	some := []incident.Evidence{quoteOf(t, "a.log", body, "torn", nil)}
	r := &incident.Report{
		Job:        incident.Job{ResumedFrom: &incident.Step{}},
		Action:     incident.Action{ResumeFrom: &incident.Step{}},
		Groups:     []incident.Group{{Ranks: []incident.GroupMember{{}}}},
		Chain:      []incident.Link{{Evidence: some}, {}},
		Timeline:   []incident.Event{{}},
		Hypotheses: []incident.Hypothesis{{For: []incident.Finding{{}}, Against: []incident.Finding{{Evidence: some}}}},
		Revisions:  []incident.Revision{{}},
	}
	want := []string{"chain[1]", "timeline[0]", "hypotheses[0].for[0]", "revisions[0]", "action.resume_from"}
	if got := Unproven(r); !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestReportStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := &incident.Report{Chain: []incident.Link{{Evidence: []incident.Evidence{quoteOf(t, "a.log", body, "torn", nil)}}}}
	if _, _, err := Report(ctx, write(t, map[string]string{"a.log": body}), r); err == nil {
		t.Error("no error from a cancelled context")
	}
}

// A large job: many ranks, a file each, several claims on each and some over all.
func TestReportOfManyRanks(t *testing.T) {
	ranks := 2048
	if testing.Short() {
		ranks = 128
	}
	contents := map[string]string{}
	var names, values []string
	r := &incident.Report{}
	for i := range ranks {
		name := fmt.Sprintf("r/%d.log", i)
		text := fmt.Sprintf("[rank%d]: up\n[rank%d]: last enqueued work: %d, done\n[rank%d]: down\n", i, i, 100+i, i)
		contents[name] = text
		names, values = append(names, name), append(values, fmt.Sprint(100+i))
		for _, s := range []string{"up", "last enqueued work", "down"} {
			r.Timeline = append(r.Timeline, incident.Event{Evidence: []incident.Evidence{quoteOf(t, name, text, s, nil)}})
		}
	}
	r.Chain = []incident.Link{{Evidence: []incident.Evidence{
		{Kind: incident.KindCount, Predicate: lits("down"), Files: names, N: int64(ranks)},
		{Kind: incident.KindSet, Predicate: lits("enqueued"), Capture: &incident.Capture{Key: "work: "}, Files: names, Values: values},
	}}}
	v, failures, err := Report(context.Background(), write(t, contents), r)
	if err != nil || len(failures) > 0 {
		t.Fatal(err, failures)
	}
	if v.Quotes.Held != 3*ranks || v.Counts.Held != 1 || v.Sets.Held != 1 {
		t.Errorf("%+v", v)
	}
}
