package trace

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

func TestRecognise(t *testing.T) {
	for _, c := range []struct {
		name, head string
		want       bool
	}{
		{"Kineto", "\n{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [\n  ],\n", true},
		{"events first", `{"traceEvents":[{"ph":"X"`, true},
		{"the plain array", `[{"name": "aten::zeros", "ph": "X", "ts": 178, "dur": 20, "tid": 1, "pid": "CPU functions", "args": {}}`, true},
		{"a log that quotes one", "INFO wrote {\"traceEvents\": []}\n", false},
		{"JSON lines of a worker", `{"message": "step 3", "ts": 17, "name": "trainer"}` + "\n", false},
		{"a list of records", `[{"name": "a", "ts": 3}, {"ph": "X"}]`, false},
		{"a flight recorder", `{"version":"2.9","pg_config":{},"entries":[{"record_id":0}]}`, false},
		{"nothing", "", false},
	} {
		if got := Recognise([]byte(c.head)); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
}

func TestRankOf(t *testing.T) {
	for name, want := range map[string]int{"trace_rank3.json": 3, "profile/iteration_10/rank12_trace.json": 12, "rank-7.pt.trace.json.gz": 7, "Rank_5.json": 5, "global_rank4.json": 4,
		"host0_4000.1758610505000.pt.trace.json": None, "local-rank1-rank3.json": None, "frankrank3.json": None, "trace.json": None} {
		if got, ok := RankOf(name); got != want || ok != (want != None) {
			t.Errorf("%s: %d %v", name, got, ok)
		}
	}
}

// sample is one step of 1000 µs on a GPU: 400 of kernels, of which 100 beside a collective of 300; a copy of 50.
const sample = `{
  "schemaVersion": 1,
  "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8},
  "traceEvents": [
  {
    "ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)", "pid": 0, "tid": 20,
    "ts": 1300, "dur": 300.000,
    "args": {"Collective name": "allreduce", "Group size": 8, "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": "[0, 1]"}
  },
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1000.000, "dur": 250, "args": {"grid": [1, 2, {"a": "}\"]"}]}},
  {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1250.5, "dur": 149.5},
  {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD", "pid": 0, "tid": 7, "ts": 1800, "dur": 50},
  {"ph": "i", "name": "a mark", "ts": 5},
  {"args": {}, "dur": 30, "ts": 1010, "name": "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "cat": "user_annotation", "ph": "X"},
  {"ph": "X", "cat": "gpu_user_annotation", "name": "ProfilerStep#7", "pid": 0, "tid": 7, "ts": 1000, "dur": 1000},
  {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#7", "pid": 9, "tid": 9, "ts": 995, "dur": 900}
  ],
  "displayTimeUnit": "ms"
}`

func read(t *testing.T, text string) *Trace {
	t.Helper()
	tr, err := Read(context.Background(), strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return tr
}

func TestTimeIsDividedWithinAStep(t *testing.T) {
	tr := read(t, sample)
	if tr.Rank != 3 || tr.World != 8 || !tr.GPU || !tr.Grouped || tr.Events != 8 || len(tr.Steps) != 1 || tr.Cut != "" {
		t.Fatalf("%+v", tr)
	}
	s := tr.Steps[0]
	want := Step{Number: 7, Dur: 1000e3, Compute: 399.5e3, Comm: 300e3, Exposed: 200e3, Idle: 350.5e3, Kernels: 2, Loader: 30e3}
	got := s
	got.At, got.LoaderAt, got.Ops = Place{}, Place{}, nil
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	if s.Own() != 800e3 {
		t.Errorf("own %d", s.Own())
	}
	if len(s.Ops) != 1 || s.Ops[0].Name != "allreduce" || s.Ops[0].Group != "0" || s.Ops[0].Size != 8 || s.Ops[0].N != 1 {
		t.Errorf("%+v", s.Ops)
	}
	for _, x := range []Text{s.Ops[0].First[0].At.Dur, s.Ops[0].First[0].At.Name, s.LoaderAt.Dur, s.At.Name} {
		text := x.Key + x.Value
		if !strings.HasPrefix(sample[x.Off:], text) || int64(strings.Count(sample[:x.Off], "\n")+1) != x.Line {
			t.Errorf("%q is not at %d, line %d", text, x.Off, x.Line)
		}
	}
}

func TestTheOrderOfEventsDoesNotMatter(t *testing.T) {
	events := sample[strings.Index(sample, "  {\n    \"ph\""):strings.Index(sample, "\n  ],\n  \"displayTimeUnit\"")]
	first, rest, _ := strings.Cut(events, "},\n  {\"ph\"")
	turned := strings.Replace(sample, events, "{\"ph\""+rest+",\n"+first+"}", 1)
	a, b := read(t, sample).Steps[0], read(t, turned).Steps[0]
	if a.Compute != b.Compute || a.Exposed != b.Exposed || a.Idle != b.Idle || a.Kernels != b.Kernels {
		t.Errorf("%+v\n%+v", a, b)
	}
}

func TestDamagedAndHostileTraces(t *testing.T) {
	deep := strings.Repeat("[", 1<<20)
	for _, c := range []struct{ name, text, says string }{
		{"empty", "", "it ends in the middle"},
		{"nested", `{"traceEvents":[{"ph":"X","args":` + deep, "nested more than 64 deep"},
		{"nested beside the events", `{"x":` + deep, "nested more than 64 deep"},
		{"no JSON", `{"traceEvents":[}`, "no JSON"},
		{"no events", `{"traceEvents":[],"schemaVersion":1}`, "no events"},
		{"an endless string", `{"x":"` + strings.Repeat("a", 1<<20), "ends in the middle"},
	} {
		_, err := Read(context.Background(), strings.NewReader(c.text))
		if err == nil || !strings.Contains(err.Error(), c.says) || len(err.Error()) > 120 {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	before, _, _ := strings.Cut(sample, `"Memcpy HtoD"`)
	cut := read(t, before)
	if cut.Events != 3 || !strings.Contains(cut.Cut, "it ends in the middle") {
		t.Errorf("%d events, %q", cut.Events, cut.Cut)
	}
	large := strings.Replace(sample, `"a mark"`, `"`+strings.Repeat("m", 9<<20)+`"`, 1)
	if tr := read(t, large); tr.Events != 7 || len(tr.Steps) != 1 || tr.Cut != "" {
		t.Errorf("an event of 9 MiB: %d events, cut %q", tr.Events, tr.Cut)
	}
}

func TestMicroseconds(t *testing.T) {
	for text, want := range map[string]int64{"5": 5000, "4497673466101.278": 4497673466101278, "0.5": 500, "1.23456": 1234, "1e3": 1e6, "": -1, "x": -1, "99999999999999999999": -1, "1.2.3": -1, "NaN": -1} {
		got, ok := nanoseconds([]byte(text))
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(sample))
	f.Add([]byte(`[{"name": "gloo:all_reduce", "ph": "X", "ts": 178, "dur": 20, "tid": 1, "pid": "CPU functions", "args": {}}, {"name": "ProfilerStep#1", "ph": "X", "ts": 1, "dur": 400}]`))
	f.Add([]byte(`{"traceEvents":[{"ph":"X","name":"a\\","ts":1e400,"dur":-1},`))
	f.Fuzz(func(t *testing.T, data []byte) {
		Recognise(data)
		a, err := Read(context.Background(), bytes.NewReader(data))
		b, err2 := Read(context.Background(), iotest.OneByteReader(bytes.NewReader(data)))
		if (err == nil) != (err2 == nil) || !reflect.DeepEqual(a, b) {
			t.Fatalf("it depends on how it is read: %+v %v, %+v %v", a, err, b, err2)
		}
		if err != nil {
			return
		}
		for _, s := range a.Steps {
			if s.Dur < 0 || s.Exposed < 0 || s.Exposed > s.Comm || s.Comm > s.Dur || s.Compute > s.Dur || s.Idle < 0 {
				t.Fatalf("%+v", s)
			}
		}
		Compare(map[int]*Trace{0: a, 1: b, 2: a}, 3)
	})
}
