package nccltests

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The JSON of -J holds what the table does; the list of its devices has the first GPU of each process alone.
func TestReports(t *testing.T) {
	for _, c := range []struct {
		file  string
		ranks int
	}{{"all_reduce-report.json", 8}, {"all_reduce-report-8-gpus-a-process.json", 16}} {
		text := file(t, c.file)
		if !RecogniseJSON([]byte(text[:512])) || Recognise([]byte(text)) {
			t.Errorf("%s is not recognised as what it is", c.file)
		}
		runs, err := Read(t.Context(), strings.NewReader(text))
		if err != nil || len(runs) != 1 {
			t.Fatalf("%s: %v", c.file, err)
		}
		r := runs[0]
		last := r.Rows[len(r.Rows)-1]
		if r.Collective != "all_reduce" || r.Ranks() != c.ranks || r.Took() != c.ranks || len(r.Hosts()) != 2 || len(r.Rows) != 5 || !r.HasAverage || r.OutOfBounds != 0 || r.Failed || r.Began != "2026-11-20 10:00:00" ||
			last.Record != "results[4]" || last.Size != 1<<27 || last.Wrong() != 0 || !strings.HasPrefix(last.Out.Value, "1") {
			t.Errorf("%s: %+v", c.file, r)
		}
		if odd, checked := r.Odd(); len(odd) > 0 || checked != 10 {
			t.Errorf("%s: of %d %+v do not belong together", c.file, checked, odd)
		}
	}
}

func TestReportsThatAreDamaged(t *testing.T) {
	text := file(t, "all_reduce-report.json")
	for name, c := range map[string]struct{ text, why string }{
		"cut":           {text[:len(text)/2], "did not come to its end"},
		"broken":        {strings.Replace(text, `"results":[`, `"results":{[`, 1), "not the JSON of one run"},
		"of nobody":     {`{"version":1}`, "not of nccl-tests"},
		"another shape": {`{"results":"none"}`, "not the JSON of one run"},
	} {
		if _, err := Read(t.Context(), strings.NewReader(c.text)); err == nil || !strings.Contains(err.Error(), c.why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	odd := strings.NewReplacer(`"out_of_place":{"time":164.300000`, `"out_of_place":{"time":"nan"`, `"nwrong":0.000000`, `"nwrong":null`).Replace(text)
	runs, err := Read(t.Context(), strings.NewReader(odd))
	if err != nil || runs[0].Rows[0].Out.There || !runs[0].Rows[0].In.There || runs[0].Rows[1].Out.Wrong != -1 {
		t.Errorf("no number and not checked: %v, %+v", err, runs)
	}
}

func TestOtherJSONIsNoReport(t *testing.T) {
	for _, text := range []string{"", "{", `{"version":2,"start_time":"2026-11-20 10:00:00","args":["train.py"]}`, `{"version":"2.10","pg_config":{}}`, `[{"results":[]}]`} {
		if RecogniseJSON([]byte(text)) {
			t.Errorf("%q", text)
		}
	}
}

func FuzzReport(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.json")
	for _, n := range names {
		b, err := os.ReadFile(n)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(b[1:]))
	}
	f.Fuzz(func(t *testing.T, text string) {
		RecogniseJSON([]byte(text))
		runs, err := Read(t.Context(), strings.NewReader("{"+text))
		if err != nil {
			return
		}
		for i := range runs {
			runs[i].Odd()
			runs[i].Peak()
			runs[i].Inferred()
			runs[i].Ranks()
		}
	})
}
