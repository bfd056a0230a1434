package worker

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"faultline/analysis/line"
)

// observable is what case.json of the corpus says a correct reader extracts, as far as it is machine-readable. Values
// are numbers, or per-rank maps, or prose: prose is skipped.
type observable map[string]json.RawMessage

func caseFacts(t *testing.T, id string) observable {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(corpusDir(t), id+"-*", "case.json"))
	if err != nil || len(files) != 1 {
		t.Skipf("case %s is not in the corpus", id)
	}
	b, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	var c struct{ Observable observable }
	if err := json.Unmarshal(b, &c); err != nil {
		t.Fatal(err)
	}
	return c.Observable
}

// number reads a field that is one integer.
func (o observable) number(key string) (int64, bool) {
	var v int64
	return v, o[key] != nil && json.Unmarshal(o[key], &v) == nil
}

// perRank reads a field that maps global ranks to one integer each.
func (o observable) perRank(key string) map[string]int64 {
	var v map[string]int64
	if o[key] == nil || json.Unmarshal(o[key], &v) != nil {
		return nil
	}
	return v
}

func (o observable) ranks(key string) []int {
	var v []int
	if o[key] == nil || json.Unmarshal(o[key], &v) != nil {
		return nil
	}
	return v
}

// TestCorpusWatchdogFacts holds the reader to the facts that case.json states for real incidents.
func TestCorpusWatchdogFacts(t *testing.T) {
	for _, id := range []string{"020", "021", "023", "024", "025", "035", "036", "038", "053", "062", "070", "073", "074"} {
		t.Run(id, func(t *testing.T) {
			want, obs := caseFacts(t, id), readCase(t, id)
			checked := 0
			rank := func(w line.Who) string { return fmt.Sprint(w.Global) }
			all := func(key string, value func(Work) int64) {
				v, ok := want.number(key)
				if !ok || len(obs.Timeouts) == 0 {
					return
				}
				checked++
				for _, x := range obs.Timeouts {
					if got := value(x.Work); got != v && got != line.Unknown {
						t.Errorf("%s: line %d says %d, case.json %d", key, x.Line, got, v)
					}
				}
			}
			all("seq", func(w Work) int64 { return w.Seq })
			all("numel", func(w Work) int64 { return w.NumelIn })
			all("timeout_ms", func(w Work) int64 { return w.TimeoutMS })
			for r, v := range want.perRank("seq") {
				checked++
				if !slices.ContainsFunc(obs.Timeouts, func(x Timeout) bool { return rank(*x.Who()) == r && x.Work.Seq == v }) {
					t.Errorf("rank %s timed out at %d: not read", r, v)
				}
			}
			for key, value := range map[string]func(enqueued, completed int64) int64{
				"last_enqueued":  func(e, _ int64) int64 { return e },
				"last_completed": func(_, c int64) int64 { return c },
			} {
				for r, v := range want.perRank(key) {
					checked++
					found := slices.ContainsFunc(obs.States, func(s State) bool { return rank(*s.Who()) == r && value(s.Enqueued, s.Completed) == v }) ||
						slices.ContainsFunc(obs.Dumps, func(d Dump) bool { return rank(*d.Who()) == r && value(d.Enqueued, d.Completed) == v })
					if !found {
						t.Errorf("%s of rank %s is %d: not read", key, r, v)
					}
				}
				if v, ok := want.number(key); ok {
					checked++
					for _, s := range obs.States {
						if value(s.Enqueued, s.Completed) != v {
							t.Errorf("%s: line %d, want %d", key, s.Line, v)
						}
					}
				}
			}
			var fired []int
			for _, x := range obs.Timeouts {
				fired = append(fired, x.Who().Global)
			}
			for _, s := range obs.States {
				fired = append(fired, s.Who().Global)
			}
			slices.Sort(fired)
			fired = slices.Compact(slices.DeleteFunc(fired, func(r int) bool { return r == line.Unknown }))
			if w := want.ranks("own_watchdog_fired"); w != nil {
				checked++
				if !slices.Equal(fired, w) {
					t.Errorf("own watchdog fired on %v, want %v", fired, w)
				}
			}
			for _, r := range want.ranks("notified_only") {
				checked++
				if slices.Contains(fired, r) {
					t.Errorf("rank %d was only notified", r)
				}
				heard := slices.ContainsFunc(obs.Dumps, func(d Dump) bool { return d.Who().Global == r && !d.Local }) ||
					slices.ContainsFunc(obs.Signals, func(s Signal) bool { return s.Who().Global == r && s.Kind == SignalObserved })
				if !heard && id != "023" { // the head of 023 was cut by who copied it
					t.Errorf("rank %d was notified: not read", r)
				}
			}
			if checked == 0 {
				t.Error("nothing to check: case.json changed?")
			}
		})
	}
}

func TestCorpusStuckWatchdogs(t *testing.T) {
	for id, want := range map[string][]int{"042": {1, 2}, "043": {5, 7}, "045": {0, 4}} {
		var got []int
		for _, s := range readCase(t, id).Signals {
			if s.Kind == SignalStuck {
				got = append(got, s.Who().Global)
				if s.N != 480 || !s.Group.Known {
					t.Errorf("%s: %+v", id, s)
				}
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: stuck on %v, want %v", id, got, want)
		}
	}
}

func TestCorpusSubgroupsAreNotTheDefaultGroup(t *testing.T) {
	obs := readCase(t, "074")
	for _, s := range obs.States {
		if s.Who().Global != 9 || s.Group.Rank != 1 || s.Group.GUID == "0" {
			t.Errorf("rank 9 is rank 1 of two subgroups: %+v %+v", s.Who(), s.Group)
		}
	}
	if len(obs.States) != 2 || obs.States[0].Group.GUID != "37" || obs.States[1].Group.GUID != "100" {
		t.Errorf("got %+v", obs.States)
	}
	for _, d := range obs.Dumps {
		if d.Group.GUID != "0" || d.Enqueued != 62 {
			t.Errorf("a dump line counts the default group: %+v", d)
		}
	}
	for _, x := range readCase(t, "024").Timeouts {
		if x.Group.GUID != "45" || x.Group.Rank != 1 || x.Form == "terminated" && x.Who().Global != 9 {
			t.Errorf("got %+v", x)
		}
	}
}

func TestCorpusMismatch(t *testing.T) {
	obs := readCase(t, "033")
	if len(obs.Mismatches) != 1 {
		t.Fatalf("got %+v", obs.Mismatches)
	}
	m := obs.Mismatches[0]
	if m.RankA != 1 || m.OpA != "ALLGATHER" || m.SeqA != 101 || m.RankB != 7 || m.OpB != "REDUCE" || m.SeqB != 0 {
		t.Errorf("got %+v", m)
	}
}

func TestCorpusPeers(t *testing.T) {
	for id, want := range map[string]string{"065": "10.0.5.194", "067": "ng30903-ib.narval.calcul.quebec", "068": "10.200.84.247"} {
		if !slices.ContainsFunc(readCase(t, id).NCCLWarns, func(w NCCLWarn) bool { return w.Peer == want }) {
			t.Errorf("%s: peer %s not read", id, want)
		}
	}
	ours := readCase(t, "067").NCCLWarns
	if !slices.ContainsFunc(ours, func(w NCCLWarn) bool { return w.Who().Pid == 3063028 && slices.Contains(w.Signs, "gpu-oom-nccl") }) {
		t.Errorf("067: the process that ran out of memory is pid 3063028: %+v", ours)
	}
}

func TestCorpusWrappedAndGlued(t *testing.T) {
	obs := readCase(t, "070")
	if len(obs.Timeouts) != 1 || obs.Timeouts[0].Work != (Work{4, "BROADCAST", 112, 112, 1800000, 1800010}) || obs.Timeouts[0].Group.Rank != 2 {
		t.Errorf("got %+v", obs.Timeouts)
	}
}

func TestCorpusTornTracebacksNameNobody(t *testing.T) {
	for _, e := range readCase(t, "005").Exceptions {
		if !e.Torn || e.Frames != nil {
			t.Errorf("two processes alternate line by line: %+v", e)
		}
	}
}

// TestCorpusIsReadWithoutHarm reads every file of every case.
func TestCorpusIsReadWithoutHarm(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(corpusDir(t), "[0-9]*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		obs := readCase(t, filepath.Base(c)[:3])
		for _, tail := range obs.Tails {
			if tail.ReadError != "" || tail.Dropped != 0 {
				t.Errorf("%s: %+v", filepath.Base(c), tail)
			}
		}
	}
}
