package resolve

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
)

// state is a time-out and its state line of PyTorch 2.6 for a rank, in a group in which it has a place.
func state(rank, place int, sticky int, guid, desc, op string, seq int) string {
	head := fmt.Sprintf("[rank%d]:[E301 10:30:00.000000000 ProcessGroupNCCL.cpp:%%d] ", rank)
	return fmt.Sprintf(head+"[Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=%d, OpType=%s, NumelIn=64, NumelOut=512, "+
		"Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n", 632, sticky, seq, op) +
		fmt.Sprintf(head+"[PG ID 3 PG GUID %s(%s) Rank %d]  failure detected by watchdog at work sequence id: %d PG status: last enqueued work: %d, last completed work: %d\n",
			2200, guid, desc, place, seq, seq, seq-1)
}

func groupOf(t *testing.T, f *Facts, key string) *Group {
	t.Helper()
	for _, g := range f.Groups {
		if g.Key == key {
			return g
		}
	}
	t.Fatalf("no group %s in %d", key, len(f.Groups))
	return nil
}

// The number in "[Rank N]" is that of the first group in which the process ever failed; the state line tells the group.
func TestTheGroupIsThatOfTheStateLineNotTheStickyRank(t *testing.T) {
	f := logs{"a.log": state(9, 1, 9, "14", "TENSOR_MODEL_PARALLEL_GROUP", "ALLREDUCE", 77)}.resolve(t, 16)
	g := groupOf(t, f, "14")
	if len(f.Groups) != 1 || len(g.Pending) != 1 {
		t.Fatalf("%d groups, %d pending", len(f.Groups), len(g.Pending))
	}
	p := g.Pending[0]
	if p.Rank.ID != 9 || p.GroupRank != 1 || p.State == nil || p.State.Completed != 76 {
		t.Errorf("rank %d, place %d, state %+v", p.Rank.ID, p.GroupRank, p.State)
	}
	if p.Start.T != p.Report.T-600.001 {
		t.Errorf("began at %v, reported at %v: a collective begins when its report says, less what it ran for", p.Start.T, p.Report.T)
	}
}

// std::terminate and Python print the watchdog's text again, with and without a prefix: one wait stays one wait.
func TestEchoesOfAWaitAreNotMoreWaits(t *testing.T) {
	text := "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=64, NumelOut=512, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n"
	f := logs{"a.log": state(3, 3, 3, "0", "default_pg", "ALLREDUCE", 77) +
		"[rank3]:[E301 10:30:01.000000000 ProcessGroupNCCL.cpp:1895] [PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with exception: " + text +
		"terminate called after throwing an instance of 'c10::DistBackendError'\n" +
		"  what():  [PG ID 0 PG GUID 0(default_pg) Rank 3] Process group watchdog thread terminated with exception: " + text +
		"  what():  " + text}.resolve(t, 8)
	n := 0
	for _, g := range f.Groups {
		n += len(g.Pending)
	}
	if n != 1 || len(f.Anonymous) != 0 {
		t.Errorf("%d waits and %d processes without a rank of one rank's wait", n, len(f.Anonymous))
	}
}

// Lines of releases that name no group speak of the default group only where their ranks reach beyond any smaller one.
func TestUnnamedGroupsAreTheWorldOnlyWhereTheirRanksProveIt(t *testing.T) {
	for _, c := range []struct {
		name   string
		ranks  []string
		world  int
		proven bool
	}{
		{"the last rank of the world is there", []string{"0", "7"}, 8, true},
		{"beyond the half of it", []string{"1", "4"}, 8, true},
		{"all of them could be ranks of a smaller group", []string{"0", "3"}, 8, false},
		{"one of them claimed twice", []string{"7", "7"}, 8, false},
		{"beyond the world: the stated size is not this group's", []string{"0", "9"}, 8, false},
		{"nobody states the size", []string{"0", "7"}, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := logs{"error-7-0.out": watchdog("[default0]:", c.ranks[0]), "error-7-1.out": watchdog("[default0]:", c.ranks[1])}.resolve(t, c.world)
			g := groupOf(t, f, unnamedKey)
			if g.Default != c.proven {
				t.Errorf("taken for the whole world: %v, expected %v", g.Default, c.proven)
			}
			if ranks := len(f.Ranks); c.proven && ranks != 2 || !c.proven && ranks != 0 {
				t.Errorf("%d ranks are named", ranks)
			}
		})
	}
}

func TestMembersComeFromWhatListsThem(t *testing.T) {
	one := state(5, 1, 1, "14", "TENSOR_MODEL_PARALLEL_GROUP", "ALLREDUCE", 77)
	for _, c := range []struct {
		name    string
		text    string
		world   int
		members []int
		basis   string
	}{
		{"a line that lists them", "All tensor model parallel group ranks: [[0, 1], [2, 3], [4, 5], [6, 7]]\n" + one, 8, []int{4, 5}, "config-line"},
		{"nothing lists them", one, 8, []int{5}, "seen-only"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := logs{"a.log": c.text}.resolve(t, c.world)
			g := groupOf(t, f, "14")
			if !slices.Equal(g.Members, c.members) || g.Basis != c.basis || g.Complete() != (c.basis != "seen-only") {
				t.Errorf("members %v by %s, complete %v; expected %v by %s", g.Members, g.Basis, g.Complete(), c.members, c.basis)
			}
		})
	}
}

// A group is complete by its size only; the size of an all-gather's output is a size, but not a list of members.
func TestSizesReadOffACollectiveNameNobody(t *testing.T) {
	f := logs{"a.log": state(5, 1, 1, "14", "x", "_ALLGATHER_BASE", 77)}.resolve(t, 16)
	g := groupOf(t, f, "14")
	if g.Size != 8 || g.Complete() || !slices.Equal(g.Members, []int{5}) {
		t.Errorf("size %d, members %v, complete %v; 512 of 64 each are eight ranks, of whom one is seen", g.Size, g.Members, g.Complete())
	}
}

func TestMegatronGroups(t *testing.T) {
	j := JobFacts{WorldSize: 16, TP: 2, CP: 1, EP: 2, PP: 2}
	for kind, want := range map[string][][]int{
		"tensor":   {{0, 1}, {2, 3}, {4, 5}, {6, 7}, {8, 9}, {10, 11}, {12, 13}, {14, 15}},
		"data":     {{0, 2, 4, 6}, {1, 3, 5, 7}, {8, 10, 12, 14}, {9, 11, 13, 15}},
		"pipeline": {{0, 8}, {1, 9}, {2, 10}, {3, 11}, {4, 12}, {5, 13}, {6, 14}, {7, 15}},
		"expert":   {{0, 2}, {1, 3}, {4, 6}, {5, 7}, {8, 10}, {9, 11}, {12, 14}, {13, 15}},
		"model":    {{0, 1, 8, 9}, {2, 3, 10, 11}, {4, 5, 12, 13}, {6, 7, 14, 15}},
		"nonsense": nil,
	} {
		if got := megatronGroups(kind, j); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, expected %v", kind, got, want)
		}
	}
	if got := megatronGroups("tensor", JobFacts{WorldSize: 16, TP: 3}); got != nil {
		t.Errorf("16 ranks in threes: %v", got)
	}
	if got := megatronGroups("tensor", JobFacts{WorldSize: 16}); got != nil {
		t.Errorf("nobody states a parallel size: %v", got)
	}
}

// Every rank is in exactly one group of each kind, whatever the sizes.
func TestMegatronGroupsPartitionTheWorld(t *testing.T) {
	for _, tp := range []int{1, 2, 4} {
		for _, cp := range []int{1, 2} {
			for _, pp := range []int{1, 2, 4} {
				for _, ep := range []int{1, 2} {
					j := JobFacts{WorldSize: 64, TP: tp, CP: cp, PP: pp, EP: ep}
					for _, kind := range []string{"tensor", "context", "data", "pipeline", "model", "expert", "data with context", "tensor context", "tensor data"} {
						seen := map[int]int{}
						for _, g := range megatronGroups(kind, j) {
							if !slices.IsSorted(g) {
								t.Fatalf("%s of %+v: %v is not in order", kind, j, g)
							}
							for _, r := range g {
								seen[r]++
							}
						}
						for r := range 64 {
							if seen[r] != 1 {
								t.Fatalf("%s of %+v: rank %d is in %d groups", kind, j, r, seen[r])
							}
						}
					}
				}
			}
		}
	}
}

func TestNamesOfOneGroup(t *testing.T) {
	for _, same := range [][]string{
		{"TENSOR_MODEL_PARALLEL_GROUP", "All tensor model parallel group ranks", "tensor model parallel", "tp", "mesh_tp"},
		{"DATA_PARALLEL_GROUP", "data parallel", "dp"},
		{"PIPELINE_MODEL_PARALLEL_GROUP", "pp", "pipeline model parallel"},
		{"EXPERT_MODEL_PARALLEL_GROUP", "ep"},
	} {
		for _, n := range same {
			if normal(n) != normal(same[0]) {
				t.Errorf("%q is %q, %q is %q", n, normal(n), same[0], normal(same[0]))
			}
		}
	}
	if normal("DATA_PARALLEL_GROUP") == normal("DATA_PARALLEL_GROUP_WITH_CP") {
		t.Error("data parallel groups with and without context parallelism are not the same")
	}
}

func TestTensorParallelismIsToldByAGroupsName(t *testing.T) {
	for name, want := range map[string]bool{"TENSOR_MODEL_PARALLEL_GROUP": true, "mesh_tp": true, "tensor model parallel group": true, "TENSOR_AND_DATA_PARALLEL_GROUP": false,
		"mesh_dp_tp": false, "default_pg": false, "": false, "DATA_PARALLEL_GROUP": false} {
		if got := SplitsTensors(&Group{Desc: name}); got != want {
			t.Errorf("%q: %v", name, got)
		}
	}
	if SplitsTensors(&Group{Desc: "tensor", Default: true}) {
		t.Error("the default group is everybody's")
	}
}
