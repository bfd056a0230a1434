package analysis

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

// work is an entry of a dump that a test writes.
type dumped struct {
	group, op string
	seq       int
	state     string
}

// dumpOf writes the JSON dump of one rank of a job whose groups are given by their members. counters are, by group, the last
// enqueued and completed work.
func dumpOf(groups map[string][]int, counters map[string][2]int, works ...dumped) string {
	config, status, entries := map[string]any{}, map[string]any{}, []any{}
	local := map[string]int{}
	names := []string{}
	for name := range groups {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		ranks, _ := json.Marshal(groups[name])
		config[name] = map[string]string{"name": name, "desc": map[bool]string{true: "default_pg", false: "tp"}[name == "0"], "ranks": strings.ReplaceAll(string(ranks), ",", ", ")}
		local[name] = i
		c := counters[name]
		status[fmt.Sprint(i)] = map[string]int{"last_enqueued_collective": c[0], "last_started_collective": -1, "last_completed_collective": c[1]}
	}
	for i, w := range works {
		entries = append(entries, map[string]any{"record_id": 100 + i, "pg_id": local[w.group], "process_group": []string{w.group, "tp"}, "collective_seq_id": w.seq, "p2p_seq_id": 0,
			"profiling_name": "nccl:" + w.op, "time_created_ns": 1758610505592849034, "input_sizes": [][]int{{64}}, "output_sizes": [][]int{{64}},
			"input_dtypes": []string{"Float"}, "output_dtypes": []string{"Float"}, "state": w.state, "retired": false, "timeout_ms": 600000, "is_p2p": false})
	}
	b, _ := json.Marshal(map[string]any{"version": "2.9", "pg_config": config, "pg_status": status, "entries": entries})
	return string(b)
}

func handIn(t *testing.T, files map[string]string, logs ...incident.Source) *incident.Report {
	t.Helper()
	in := Input{Sources: logs, Evidence: written(t, files, ""), Version: "test"}
	r, err := Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var four = map[string][]int{"0": {0, 1, 2, 3}}

// waiting is a dump of one of four ranks that waits in work 8 of the default group.
func waiting() string {
	return dumpOf(four, map[string][2]int{"0": {8, 7}}, dumped{"0", "all_reduce", 7, "completed"}, dumped{"0", "all_reduce", 8, "scheduled"})
}

func name(rank int) string { return fmt.Sprintf("evidence/nccl_trace_rank_%d", rank) }

func TestDumpsOfTheFlightRecorder(t *testing.T) {
	idle := dumpOf(four, map[string][2]int{"0": {7, 7}}, dumped{"0", "all_reduce", 7, "completed"})
	behind := dumpOf(four, map[string][2]int{"0": {8, 4}}, dumped{"0", "all_reduce", 5, "scheduled"}, dumped{"0", "all_reduce", 6, "scheduled"}, dumped{"0", "all_reduce", 7, "scheduled"}, dumped{"0", "all_reduce", 8, "scheduled"})
	other := dumpOf(four, map[string][2]int{"0": {8, 7}}, dumped{"0", "broadcast", 8, "scheduled"})
	begun := strings.ReplaceAll(waiting(), `"scheduled"`, `"started"`)
	off := `{"version":"2.9","pg_config":{},"pg_status":{},"entries":[]}`
	for _, c := range []struct {
		name      string
		dumps     []string // by rank; "" none
		mechanism []string
		ranks     []int
		frontier  []int
	}{
		{"a rank with nothing in flight held the others", []string{waiting(), waiting(), idle, waiting()}, []string{"rank-stalled"}, []int{2}, nil},
		{"a rank that has not completed what the others have", []string{waiting(), behind, waiting(), waiting()}, []string{"gpu-hang"}, []int{1}, nil},
		{"a rank that calls something else", []string{waiting(), waiting(), waiting(), other}, []string{"collective-mismatch"}, []int{3}, nil},
		{"everybody waits in the same", []string{waiting(), waiting(), waiting(), waiting()}, []string{"collective-hang", "gpu-hang"}, nil, nil},
		{"one GPU has not begun what all entered", []string{begun, begun, waiting(), begun}, []string{"gpu-hang"}, []int{2}, nil},
		{"only one GPU has begun it", []string{waiting(), begun, waiting(), waiting()}, []string{"collective-hang", "gpu-hang"}, nil, nil},
		{"all have begun it", []string{begun, begun, begun, begun}, []string{"collective-hang", "gpu-hang"}, nil, nil},
		{"one waits and nobody else", []string{waiting(), idle, idle, idle}, []string{"lone-waiter"}, []int{0}, nil},
		{"a dump is missing", []string{waiting(), waiting(), "", waiting()}, []string{"rank-stalled", "collective-hang", "gpu-hang", "collective-mismatch"}, nil, []int{2}},
		{"a recorder was off", []string{waiting(), waiting(), off, waiting()}, []string{"rank-stalled", "collective-hang", "gpu-hang", "collective-mismatch"}, nil, []int{2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := map[string]string{}
			for rank, d := range c.dumps {
				if d != "" {
					files[name(rank)] = d
				}
			}
			r := handIn(t, files)
			var got []string
			for _, x := range r.Verdict.Candidates {
				got = append(got, x.Mechanism)
			}
			if !slices.Equal(got, c.mechanism) {
				t.Errorf("the verdict is %v, want %v", got, c.mechanism)
			}
			if !slices.Equal(r.Verdict.Root.Ranks, c.ranks) && len(r.Verdict.Root.Ranks)+len(c.ranks) > 0 {
				t.Errorf("the ranks are %v, want %v", r.Verdict.Root.Ranks, c.ranks)
			}
			if !slices.Equal(r.Verdict.Root.Frontier, c.frontier) && len(r.Verdict.Root.Frontier)+len(c.frontier) > 0 {
				t.Errorf("the frontier is %v, want %v", r.Verdict.Root.Frontier, c.frontier)
			}
			if v := r.Verification; v.Records.Checked == 0 || v.Records.Held != v.Records.Checked || len(v.Withdrawn) > 0 {
				t.Errorf("%d of %d records hold, withdrawn: %v", v.Records.Held, v.Records.Checked, v.Withdrawn)
			}
			if w := r.Job.WorldSize; w == nil || *w != 4 {
				t.Errorf("the world has %v ranks", w)
			}
		})
	}
}

func TestDumpsThatAreNotUsed(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		why   string
	}{
		{"a name without a rank", map[string]string{name(0): waiting(), "evidence/trace": waiting()}, "its name does not end with its rank"},
		{"a rank that is in none of its groups", map[string]string{name(0): waiting(), name(9): waiting()}, "isn't in any of its groups"},
		{"a file of another kind", map[string]string{name(0): waiting(), "evidence/notes_7.txt": "we saw rank 3 hang\n"}, "a known kind of evidence"},
		{"a pickle that calls", map[string]string{name(0): waiting(), name(1): "\x80\x02(cos\nsystem\nX\x02\x00\x00\x00ls\x85Rt."}, "refused"},
		{"an older dump of the same rank", map[string]string{name(0): waiting(), "evidence/old/nccl_trace_rank_0.json": waiting()}, "there is a newer one from the same rank"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := handIn(t, c.files)
			if !slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, c.why) }) {
				t.Errorf("the warnings are %q", r.Warnings)
			}
		})
	}
}

func TestRealDumpsAreJudged(t *testing.T) {
	for _, c := range []struct {
		sample, mechanism string
		ranks             []int
	}{{"gpu_error_1st", "gpu-hang", []int{12, 14}}, {"lock_gil_1st", "rank-stalled", []int{9, 14}}} {
		t.Run(c.sample, func(t *testing.T) {
			found, _ := filepath.Glob("../../shared/samples/flight-recorder/" + c.sample + "/_dump_*")
			if len(found) == 0 {
				t.Skip("../shared/samples/flight-recorder is not there")
			}
			files := map[string]string{}
			for _, p := range found {
				b, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				files["evidence/"+filepath.Base(p)] = string(b)
			}
			r := handIn(t, files)
			if len(r.Verdict.Candidates) != 1 || r.Verdict.Mechanism != c.mechanism || !slices.Equal(r.Verdict.Root.Ranks, c.ranks) {
				t.Errorf("the verdict is %s of ranks %v, want %s of %v", r.Verdict.Mechanism, r.Verdict.Root.Ranks, c.mechanism, c.ranks)
			}
		})
	}
}

// hungLog is what the four ranks print that wait in work 8, by their watchdogs.
func hungLog() string {
	var b strings.Builder
	b.WriteString("[rank0]:[I1120 23:00:00.000000000 main.py:1] world_size=4\n")
	for rank := range 4 {
		fmt.Fprintf(&b, "[rank%d]:[E1120 23:30:00.000000000 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=8, OpType=ALLREDUCE, NumelIn=64, NumelOut=64, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.\n", rank, rank)
		fmt.Fprintf(&b, "[rank%d]:[E1120 23:30:00.000100000 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 8 PG status: last enqueued work: 8, last completed work: 7\n", rank, rank)
	}
	return b.String()
}

func TestADumpDecidesWhatTheLogsLeaveOpen(t *testing.T) {
	logs := written(t, map[string]string{"error-7.out": hungLog()}, "")
	in := Input{Sources: logs, WorldSize: 4, Version: "test"}
	r, err := Diagnose(context.Background(), in)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Verdict.Candidates) < 2 || len(r.Revisions) > 0 {
		t.Fatalf("the logs alone leave %v, revisions %v", r.Verdict.Candidates, r.Revisions)
	}
	begun := strings.ReplaceAll(waiting(), `"scheduled"`, `"started"`)
	r = handIn(t, map[string]string{name(0): begun, name(1): begun, name(2): begun, name(3): waiting()}, logs...)
	if len(r.Verdict.Candidates) != 1 || r.Verdict.Mechanism != "gpu-hang" || !slices.Equal(r.Verdict.Root.Ranks, []int{3}) {
		t.Errorf("with the dumps it is %v of ranks %v", r.Verdict.Candidates, r.Verdict.Root.Ranks)
	}
	if len(r.Revisions) != 1 || len(r.Revisions[0].Evidence) == 0 || r.Revisions[0].Evidence[0].Kind != incident.KindRecord {
		t.Fatalf("the revisions are %+v", r.Revisions)
	}
	t.Logf("%s → %s: %s", r.Revisions[0].Was, r.Revisions[0].Now, r.Revisions[0].Because)
}

func TestEvidenceThatIsNoneSaysWhy(t *testing.T) {
	_, err := Diagnose(context.Background(), Input{Evidence: written(t, map[string]string{"evidence/odd_3": "\x80\x02}(X\x01\x00\x00\x00aK\x01u."}, "")})
	if !errors.Is(err, ErrNothingToRead) || !strings.Contains(err.Error(), "no dump of the flight recorder") {
		t.Errorf("the error is %v", err)
	}
}
