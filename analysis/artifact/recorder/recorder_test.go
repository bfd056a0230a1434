package recorder

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

func sampleDumps(t testing.TB, name string) map[int]*Dump {
	files, _ := filepath.Glob("../../../../shared/samples/flight-recorder/" + name + "/_dump_*")
	if len(files) == 0 {
		t.Skip("../shared/samples/flight-recorder is not there")
	}
	out := map[int]*Dump{}
	for _, f := range files {
		in, err := os.Open(f)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(in)
		in.Close()
		if err != nil {
			t.Fatalf("%s: %v", f, err)
		}
		rank, ok := RankOf(f)
		if !ok || !d.Fits(rank) {
			t.Fatalf("%s: the rank is not told by the name, or does not fit", f)
		}
		out[rank] = d
	}
	return out
}

func TestRealDumps(t *testing.T) {
	for _, name := range []string{"gpu_error_1st", "lock_gil_1st"} {
		t.Run(name, func(t *testing.T) {
			w := Join(sampleDumps(t, name))
			if len(w.Ranks) != 16 || w.Size != 16 || len(w.Off) != 0 || len(w.Warnings) != 0 {
				t.Errorf("%d ranks of %d, off %v, warnings %v", len(w.Ranks), w.Size, w.Off, w.Warnings)
			}
			for _, g := range w.Groups {
				for _, s := range g.States {
					if s.Tie == "" {
						t.Errorf("group %s, rank %d: nothing ties the counters to the group", g.Name, s.Rank)
					}
					if f := s.First(); f != nil && !f.P2P && (f.Seq != s.Completed+1 || s.Open[len(s.Open)-1].Seq != s.Enqueued) {
						t.Errorf("group %s, rank %d: open from %d to %d, counters %d and %d", g.Name, s.Rank, f.Seq, s.Open[len(s.Open)-1].Seq, s.Completed, s.Enqueued)
					}
				}
			}
		})
	}
}

// Who fits the two clauses of the reference: nothing in flight while a group of one's own waits, or the first open work of a
// group behind that of the others.
func TestRealDumpsShowTheirCulprits(t *testing.T) {
	for _, c := range []struct {
		name         string
		idle, behind []int
	}{{"gpu_error_1st", nil, []int{12, 14}}, {"lock_gil_1st", []int{9, 14}, nil}} {
		t.Run(c.name, func(t *testing.T) {
			dumps := sampleDumps(t, c.name)
			w := Join(dumps)
			idle, behind := map[int]bool{}, map[int]bool{}
			for _, g := range w.Groups {
				most := None
				for i := range g.States {
					if f := g.States[i].First(); f != nil && !f.P2P {
						most = max(most, f.Seq)
					}
				}
				for i := range g.States {
					switch s := &g.States[i]; {
					case most == None:
					case s.First() == nil && len(dumps[s.Rank].Open) == 0 && s.Enqueued < most:
						idle[s.Rank] = true
					case s.First() != nil && s.First().Seq < most:
						behind[s.Rank] = true
					}
				}
			}
			if got := keysOf(idle); !slices.Equal(got, c.idle) {
				t.Errorf("idle are %v, want %v", got, c.idle)
			}
			if got := keysOf(behind); !slices.Equal(got, c.behind) {
				t.Errorf("behind are %v, want %v", got, c.behind)
			}
		})
	}
}

func keysOf(m map[int]bool) []int {
	var out []int
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

const jsonDump = `{"version":"2.10","comm_lib_version":"2.28.3",
"pg_config":{"0":{"name":"0","desc":"default_pg","ranks":"[0, 1]"},"7":{"name":"7","desc":"pp","ranks":"[0, 1]"}},
"pg_status":{"0":{"last_enqueued_collective":"4","last_started_collective":"-1","last_completed_collective":"3"},"1":{"last_enqueued_collective":2,"last_started_collective":-1,"last_completed_collective":1}},
"unknown":{"more":[1,2]},
"entries":[{"record_id":8,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":3,"p2p_seq_id":0,"profiling_name":"nccl:all_reduce","time_created_ns":5,"input_sizes":[[4,2]],"input_dtypes":["Float"],"output_sizes":[[4,2]],"output_dtypes":["Float"],"state":"completed","retired":true,"timeout_ms":600000,"is_p2p":false},
{"record_id":9,"pg_id":0,"process_group":["0","default_pg"],"collective_seq_id":4,"p2p_seq_id":0,"profiling_name":"nccl:all_reduce","state":"scheduled","retired":false,"is_p2p":false},
{"record_id":10,"pg_id":1,"process_group":["7","pp"],"collective_seq_id":4,"p2p_seq_id":2,"profiling_name":"nccl:send 0->1","state":"started","is_p2p":true},
{"record_id":11}]}`

func TestJSON(t *testing.T) {
	d, err := Read(strings.NewReader(jsonDump))
	if err != nil {
		t.Fatal(err)
	}
	if d.Version != "2.10" || d.Library != "2.28.3" || d.Entries != 4 || d.Disabled || d.First != 8 || d.Last != 10 {
		t.Errorf("version %s, library %s, %d entries, records %d to %d", d.Version, d.Library, d.Entries, d.First, d.Last)
	}
	w := Join(map[int]*Dump{0: d})
	if len(w.Groups) != 2 || w.Size != 2 {
		t.Fatalf("%d groups, size %d", len(w.Groups), w.Size)
	}
	s := w.Groups[0].Of(0)
	if s.Enqueued != 4 || s.Completed != 3 || s.First().Seq != 4 || s.First().Kind() != "all_reduce" || s.Done == nil || s.Done.Seq != 3 || !reflect.DeepEqual(s.Done.In, [][]int64{{4, 2}}) {
		t.Errorf("the default group is %+v", s)
	}
	if s = w.Groups[1].Of(0); s.First().Seq != 2 || s.First().Kind() != "send" || s.Completed != 1 {
		t.Errorf("the other group is %+v", s)
	}
}

func TestWhatIsNoDump(t *testing.T) {
	for name, c := range map[string]struct{ in, why string }{
		"a text":                {"rank 3 failed", "no dump"},
		"other JSON":            {`{"traceEvents":[]}`, "no dump"},
		"JSON that is cut":      {jsonDump[:400], "ends in the middle"},
		"JSON with a text":      {`{"entries":"none"}`, "no list"},
		"a pickle of a list":    {"\x80\x02](K\x01K\x02e.", "no dump"},
		"a pickle of a dict":    {"\x80\x02}(X\x01\x00\x00\x00aK\x01u.", "no dump"},
		"a pickle that calls":   {"\x80\x02(cos\nsystem\nX\x02\x00\x00\x00ls\x85Rt.", "refused"},
		"a pickle that is cut":  {"\x80\x02}(X\x07\x00\x00\x00entr", "ends in the middle"},
		"a number as the whole": {"\x80\x02(K\x01t.", "no dump"},
		"nothing":               {"", "no dump"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Read(strings.NewReader(c.in)); err == nil || !strings.Contains(err.Error(), c.why) {
				t.Errorf("the error is %v, want one with %q", err, c.why)
			}
		})
	}
}

func TestARecorderThatWasOff(t *testing.T) {
	for name, in := range map[string]string{"version alone": "\x80\x02}(X\x07\x00\x00\x00versionX\x03\x00\x00\x002.4u.", "an old one": "\x80\x02].", "JSON": `{"version":"2.10","pg_config":{},"pg_status":{},"entries":[]}`} {
		t.Run(name, func(t *testing.T) {
			d, err := Read(strings.NewReader(in))
			if err != nil || !d.Disabled {
				t.Fatalf("%+v, %v", d, err)
			}
			if w := Join(map[int]*Dump{3: d}); !slices.Equal(w.Off, []int{3}) {
				t.Errorf("off are %v", w.Off)
			}
		})
	}
}

func TestCountersAreTiedToGroupsOnlyWhereThatIsSure(t *testing.T) {
	read := func(groups, status string) *State {
		d, err := Read(strings.NewReader(fmt.Sprintf(`{"version":"2.10","pg_config":{%s},"pg_status":{%s},"entries":[]}`, groups, status)))
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range Join(map[int]*Dump{0: d}).Groups {
			if g.Name == "33" || g.Name == "tp" {
				return g.Of(0)
			}
		}
		return nil
	}
	group := func(name string) string {
		b, _ := json.Marshal(map[string]string{"name": name, "desc": "", "ranks": "[0, 1]"})
		return fmt.Sprintf("%q:%s", name, b)
	}
	status := func(local, n int) string {
		return fmt.Sprintf(`"%d":{"last_enqueued_collective":%d,"last_started_collective":-1,"last_completed_collective":%d}`, local, n, n)
	}
	if s := read(group("0")+","+group("33")+","+group("4"), status(0, 10)+","+status(2, 20)+","+status(10, 30)); s.Tie != "order" || s.Enqueued != 30 {
		t.Errorf("as many counters as groups: %+v", s)
	}
	if s := read(group("0")+","+group("33"), status(0, 10)); s.Tie != "" || s.Enqueued != None {
		t.Errorf("fewer counters than groups: %+v", s)
	}
	if s := read(group("0")+","+group("tp"), status(0, 10)+","+status(2, 20)); s.Tie != "" {
		t.Errorf("a name that is no number: %+v", s)
	}
}

func TestRanksOfNames(t *testing.T) {
	for name, want := range map[string]int{"nccl_trace_rank_12": 12, "_dump_0": 0, "d/comm_lib_trace_rank_7.json": 7, "x3": 3, "trace": -1, "rank_5.pickle.gz": 5, "": -1} {
		if got, ok := RankOf(name); ok != (want >= 0) || ok && got != want {
			t.Errorf("%q: %d, %v", name, got, ok)
		}
	}
}

func TestADumpThatCannotBeThisRanks(t *testing.T) {
	d, err := Read(strings.NewReader(jsonDump))
	if err != nil {
		t.Fatal(err)
	}
	if !d.Fits(1) || d.Fits(2) {
		t.Error("rank 1 is a member of its groups, rank 2 is not")
	}
}

func FuzzReadDump(f *testing.F) {
	f.Add([]byte(jsonDump))
	f.Add([]byte("\x80\x02}(X\x07\x00\x00\x00versionX\x03\x00\x00\x002.4X\x07\x00\x00\x00entries](}(X\x09\x00\x00\x00record_idK\x01X\x05\x00\x00\x00stateX\x09\x00\x00\x00scheduledueu."))
	f.Fuzz(func(t *testing.T, b []byte) {
		d, err := Read(strings.NewReader(string(b)))
		if err != nil {
			return
		}
		Join(map[int]*Dump{0: d, 1: d})
		d.Fits(0)
	})
}

func BenchmarkReadDump(b *testing.B) {
	files, _ := filepath.Glob("../../../../shared/samples/flight-recorder/gpu_error_1st/_dump_14")
	if len(files) == 0 {
		b.Skip("../shared/samples/flight-recorder is not there")
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(strings.NewReader(string(data))); err != nil {
			b.Fatal(err)
		}
	}
}

// A group whose ranks also send and receive says so, though nothing of that is open any more.
func TestAGroupOfSendsIsKnownByWhatIsDone(t *testing.T) {
	of := func(w Work) *Joined {
		d := &Dump{Groups: []Group{{Name: "1", Desc: "pp", Ranks: []int{0, 1}}}, Done: []Work{w}}
		joined := Join(map[int]*Dump{0: d})
		if len(joined.Groups) != 1 {
			t.Fatalf("%d groups", len(joined.Groups))
		}
		return &joined.Groups[0]
	}
	if !of(Work{Group: "1", Seq: 4, State: "completed", P2P: true}).P2P {
		t.Error("a send that is done is not seen")
	}
	if of(Work{Group: "1", Seq: 4, State: "completed"}).P2P {
		t.Error("a collective is taken for a send")
	}
}
