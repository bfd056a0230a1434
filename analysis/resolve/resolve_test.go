package resolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/worker"
	"faultline/incident"
)

// logs are files by name; resolved says what they say. World is what the operator states, 0 for nothing.
type logs map[string]string

func (l logs) resolve(t testing.TB, world int, nodes ...string) *Facts {
	t.Helper()
	return l.resolveAs(t, Input{WorldSize: world, Nodes: nodes})
}

func (l logs) resolveAs(t testing.TB, in Input) *Facts {
	t.Helper()
	sc, err := worker.NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	var parts []*worker.Observations
	for name, text := range l {
		obs, err := worker.Read(t.Context(), name, strings.NewReader(text), sc)
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, obs)
		in.Sources = append(in.Sources, incident.Source{Name: name, Bytes: int64(len(text))})
	}
	in.Obs = worker.Merge(parts...)
	f, err := Resolve(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// watchdog is a time-out line of PyTorch 2.1, which names no global rank, behind a prefix.
func watchdog(prefix string, sticky string) string {
	return prefix + "[E ProcessGroupNCCL.cpp:475] [Rank " + sticky + "] Watchdog caught collective operation timeout: " +
		"WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=1800000) ran for 1800500 milliseconds before timing out.\n"
}

func TestWhatTiesALineToAGlobalRank(t *testing.T) {
	for _, c := range []struct {
		name  string
		logs  logs
		world int
		want  int // NoRank: nothing proves it
		basis string
	}{
		{"the rank prefix", logs{"a.log": watchdog("[rank5]: ", "1")}, 0, 5, "[rankN]: prefix"},
		{"a file of its own", logs{"rank_5.log": watchdog("", "1"), "rank_6.log": "hello\n"}, 0, 5, "file name"},
		{"Ray's rank", logs{"a.log": watchdog("(MegatronPolicyWorker[rank=5] pid=4242, ip=10.0.0.1) ", "1")}, 0, 5, "Ray worker's rank"},
		{"mpirun's tag", logs{"a.log": watchdog("[1,5]<stderr>:", "1")}, 0, 5, "launcher's tag"},
		{"the number in [Rank N] alone", logs{"a.log": watchdog("", "5")}, 0, NoRank, ""},
		{"the number in [Rank N] in a world that it cannot be the whole of", logs{"a.log": watchdog("", "1")}, 16, NoRank, ""},
		{"torchrun's local rank alone", logs{"error-7-1.out": watchdog("[default5]:", "5")}, 0, NoRank, ""},
		{"an srun label where labels and ranks are not the same", logs{"a.log": "3: [rank9]: hello\n" + watchdog("5: ", "1")}, 0, NoRank, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := c.logs.resolve(t, c.world)
			if len(f.Obs.Timeouts) != 1 {
				t.Fatalf("%d time-outs read", len(f.Obs.Timeouts))
			}
			at := f.Obs.Timeouts[0].At
			rank, basis, ok := f.ident.rankOf(at)
			if !ok {
				rank, basis = NoRank, ""
			}
			if rank != c.want || basis != c.basis {
				t.Errorf("rank %d by %q, expected %d by %q", rank, basis, c.want, c.basis)
			}
			for _, r := range f.Ranks {
				if c.want == NoRank && len(r.Pending) > 0 {
					t.Errorf("the wait is laid at the door of rank %d", r.ID)
				}
			}
			if c.want == NoRank && len(f.Anonymous) != 1 {
				t.Errorf("%d processes without a proven rank, expected one", len(f.Anonymous))
			}
		})
	}
}

func TestLabelsOfTasksAreRanksOnlyWhereEachMeetsItsOwn(t *testing.T) {
	f := logs{"a.log": "3: [rank3]: hello\n5: [rank5]: hello\n" + watchdog("6: ", "1")}.resolve(t, 0)
	if r, ok := f.RankOf(f.Obs.Timeouts[0].At); !ok || r != 6 {
		t.Errorf("rank %d (%v): every label that meets a rank meets the one of its number", r, ok)
	}
	f = logs{"a.log": "0: [rank0]: hello\n0: [rank1]: hello\n" + watchdog("6: ", "1")}.resolve(t, 0)
	if r, ok := f.RankOf(f.Obs.Timeouts[0].At); ok {
		t.Errorf("rank %d: a label that meets two ranks is no rank", r)
	}
}

// table is a launcher's table of one node: local ranks 0 and 1 are the global ranks given.
func table(zero, one string) string {
	return "[INFO] api.py:512: [default] Rendezvous complete for workers. Result:\n  restart_count=0\n  master_addr=node1\n  master_port=29500\n" +
		"  group_rank=1\n  group_world_size=2\n  local_ranks=[0, 1]\n  role_ranks=[" + zero + ", " + one + "]\n  global_ranks=[" + zero + ", " + one + "]\n" +
		"  role_world_sizes=[4, 4]\n  global_world_sizes=[4, 4]\n\n"
}

func TestTheLaunchersTableTiesLocalRanks(t *testing.T) {
	f := logs{"error-7-1.out": table("2", "3") + watchdog("[default1]:", "0")}.resolve(t, 0)
	if r, ok := f.RankOf(f.Obs.Timeouts[0].At); !ok || r != 3 {
		t.Errorf("rank %d (%v), the table says that local rank 1 is rank 3", r, ok)
	}
	// The same local rank is another process on another node.
	f = logs{"error-7-1.out": table("2", "3"), "error-7-0.out": watchdog("[default1]:", "0")}.resolve(t, 0)
	if r, ok := f.RankOf(f.Obs.Timeouts[0].At); ok {
		t.Errorf("rank %d: the table stands in another node's file", r)
	}
}

func TestAContradictionIsUnknown(t *testing.T) {
	f := logs{"a.out": table("2", "3") + table("2", "5") + watchdog("[default1]:", "0")}.resolve(t, 0)
	if r, ok := f.RankOf(f.Obs.Timeouts[0].At); ok {
		t.Errorf("rank %d: two tables contradict each other", r)
	}
	f = logs{
		"a.out": "node1:100:200 [0] NCCL INFO comm 0x5507fb1875fc rank 3 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x382749cca2bb6ad8 - Init COMPLETE\n",
		"b.out": "node2:100:200 [0] NCCL INFO comm 0x5507fb1875fc rank 3 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x382749cca2bb6ad8 - Init COMPLETE\n",
	}.resolve(t, 4)
	if n := f.ident.rankNode[3]; n != "" {
		t.Errorf("rank 3 on %s: two lines place it on two nodes", n)
	}
}

// Rank ÷ ranks per node is never evidence.
func TestNodesAreProvenByLinesNotByArithmetic(t *testing.T) {
	text := func(r string) string { return "[rank" + r + "]: 2026-03-01 10:00:00,000 hello\n" }
	f := logs{"a.log": text("0") + text("1") + text("2") + text("3") + "SLURM_GPUS_ON_NODE=2\n"}.resolve(t, 4, "node1", "node2")
	for _, r := range f.Ranks {
		if r.Node != "" {
			t.Errorf("rank %d is put on %s", r.ID, r.Node)
		}
	}
	f = logs{"a.log": text("0") + "node1:100:200 [0] NCCL INFO comm 0x5507fb1875fc rank 0 nranks 4 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x382749cca2bb6ad8 - Init COMPLETE\n"}.resolve(t, 4)
	if r := f.Rank(0); r == nil || r.Node != "node1" {
		t.Errorf("NCCL's init line places rank 0 on node1: %+v", r)
	}
	f = logs{"error-7-1.out": text("3"), "error-7-0.out": text("0")}.resolve(t, 4, "alpha", "beta")
	if r := f.Rank(3); r == nil || r.Node != "beta" {
		t.Errorf("the file of node index 1 is that of the second node that the operator states: %+v", r)
	}
}

// A log of the whole job, in which NCCL warned on one node only, is not that node's; nor are its other ranks there.
func TestALogOfTheWholeJobIsOfNoNode(t *testing.T) {
	text := func(ranks ...string) string {
		var b strings.Builder
		for _, r := range ranks {
			b.WriteString("[rank" + r + "]: 2026-03-01 10:00:00,000 hello\n")
		}
		return b.String()
	}
	warn := func(host string) string {
		return host + ":4242:4300 [3] misc/socket.cc:484 NCCL WARN socketProgress: Connection closed by remote peer node7<41000>\n"
	}
	const failed = "============================================================\ntrain.py FAILED\nRoot Cause (first observed failure):\n[0]:\n" +
		"  time      : 2026-03-01_10:00:09\n  host      : node3\n  rank      : %d (local_rank: %d)\n  exitcode  : 1 (pid: 470)\n" +
		"  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n============================================================\n"
	for name, c := range map[string]struct {
		logs logs
		rank int
		want string
	}{
		"ranks of two nodes":                     {logs{"train.log": text("0", "9", "12") + warn("node3")}, 9, ""},
		"ranks of two nodes of four":             {logs{"train.log": text("0", "5") + "nproc_per_node   : 4\n" + warn("node3")}, 5, ""},
		"ranks of one node":                      {logs{"train.log": text("8", "9", "12") + warn("node3")}, 9, "node3"},
		"a file for each node, ranks in turn":    {logs{"a.log": text("0", "8") + warn("node3"), "b.log": text("1", "9") + warn("node4")}, 9, "node4"},
		"below the ranks of torchrun's node":     {logs{"train.log": text("0", "5") + fmt.Sprintf(failed, 5, 1)}, 0, ""},
		"on it":                                  {logs{"train.log": text("4", "5") + fmt.Sprintf(failed, 5, 1)}, 4, "node3"},
		"the file's name says it, whatever else": {logs{"error-7-node3.out": text("0", "9") + warn("node3")}, 9, "node3"},
	} {
		if r := c.logs.resolve(t, 0).Rank(c.rank); r == nil || r.Node != c.want {
			t.Errorf("%s: rank %d is not placed on %q: %+v", name, c.rank, c.want, r)
		}
	}
}

func TestHostsAreCalledByTheirShortName(t *testing.T) {
	for in, want := range map[string]string{"Node1.cluster.local": "node1", "10.1.2.3": "10.1.2.3", "localhost": "", "(null)": "", "": "", "gpu-07": "gpu-07",
		`gpu-07", "timestamp": "2025-03-04T03:14:02.1Z`: "", "gpu 07": ""} {
		if got := ShortHost(in); got != want {
			t.Errorf("ShortHost(%q) = %q, expected %q", in, got, want)
		}
	}
}

// A node whose output is known to be in the files is not missing because no line names it.
func TestACoveredNodeIsNotMissing(t *testing.T) {
	line := func(r string) string { return "[rank" + r + "]: 2026-03-01 10:00:00,000 hello\n" }
	l := logs{"error-7-0.out": line("0"), "error-7-2.out": line("4")}
	in := Input{Nodes: []string{"n1", "n2", "n3", "n4"}, Covered: []string{"n2.local"}}
	if got := l.resolveAs(t, in).Coverage.NodesMissing; !slices.Equal(got, []string{"n4"}) {
		t.Errorf("%q", got)
	}
}

func TestExpectationsAreNamed(t *testing.T) {
	line := func(r string) string { return "[rank" + r + "]: 2026-03-01 10:00:00,000 hello\n" }
	f := logs{"error-7-0.out": line("0") + line("1"), "error-7-2.out": line("4") + line("5")}.resolve(t, 6, "n1", "n2", "n3")
	c := f.Coverage
	if !slices.Equal(c.RanksMissing, []int{2, 3}) || !slices.Equal(c.NodesMissing, []string{"n2"}) || !slices.Equal(c.FilesMissing, []string{"error-7-1.out"}) {
		t.Errorf("missing ranks %v, nodes %v, files %v", c.RanksMissing, c.NodesMissing, c.FilesMissing)
	}
	f = logs{"a.log": line("0") + line("1")}.resolve(t, 0)
	if c := f.Coverage; c.RanksExpected != 0 || len(c.RanksMissing)+len(c.NodesMissing) > 0 || c.From != "" {
		t.Errorf("nobody states anything, and yet: %+v", c)
	}
	f = logs{"a.log": "hello\nworld\n"}.resolve(t, 4)
	if c := f.Coverage; len(c.RanksMissing) > 0 {
		t.Errorf("no line names its rank: who is missing cannot be said: %v", c.RanksMissing)
	}
}

func TestFilesThatEndBeforeTheIncidentAreCut(t *testing.T) {
	wait := func(r string) string {
		return "[rank" + r + "]:[E301 10:30:00.000000000 ProcessGroupNCCL.cpp:632] [Rank " + r + "] Watchdog caught collective operation timeout: " +
			"WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\n"
	}
	head := func(r string) string {
		return "[rank" + r + "]:[W301 10:00:00.000000000 ProcessGroupNCCL.cpp:100] hello from here\n"
	}
	f := logs{"rank_0.log": head("0") + wait("0"), "rank_1.log": head("1") + "[rank1]: in the mid", "rank_2.log": "", "rank_3.log": head("3") + strings.Repeat("\x00", 4096) + "\n",
		"rank_4.log": head("4")}.resolve(t, 5)
	how := map[string]string{}
	for _, c := range f.Coverage.Cut {
		how[c.File] = c.How
	}
	for file, want := range map[string]string{"rank_0.log": "", "rank_1.log": "truncated-early", "rank_2.log": "empty", "rank_3.log": "hole", "rank_4.log": ""} {
		if how[file] != want {
			t.Errorf("%s: %q, expected %q", file, how[file], want)
		}
	}
	if !f.Coverage.CutRanks[1] || f.Coverage.CutRanks[0] || f.Coverage.CutRanks[4] || !f.Coverage.Partial {
		t.Errorf("cut ranks %v, partial %v", f.Coverage.CutRanks, f.Coverage.Partial)
	}
	// Torn while it reported: what its other ranks reported may be lost, what stands before the tear is not.
	f = logs{"rank_0.log": head("0") + wait("0"), "error-7-1.out": head("1") + head("2") + wait("1") + "[rank2]:[E301 10:31:00.000000000 ProcessGroupNCCL.cpp:632] [Ra"}.resolve(t, 3)
	if len(f.Coverage.Cut) != 1 || f.Coverage.Cut[0].How != "no-final-newline" || !f.Coverage.CutRanks[2] || f.Coverage.CutRanks[0] {
		t.Errorf("cut %+v, ranks %v", f.Coverage.Cut, f.Coverage.CutRanks)
	}
}

// Lines that are stamped eight hours after the scheduler ended the job are of another zone; those of a job that made steps since are not, nor
// those at any other distance.
func TestAJobDoesNotOutliveItsSchedulersWordByAZone(t *testing.T) {
	at := func(sec float64) Moment { return Moment{T: sec, Unc: 1, Valid: true} }
	const hour = 3600
	for name, c := range map[string]struct {
		end, step, want float64
		other           Moment // of a second word
		otherKind       bool
	}{
		"a zone later":                {1000 + 8*hour - 7, 900, 1000, Moment{}, false},
		"half an hour off":            {1000 + 5*hour + 1800 + 20, 900, 1000, Moment{}, false},
		"steps since":                 {1000 + 8*hour, 1000 + 7*hour, 1000 + 8*hour, Moment{}, false},
		"at no distance of two zones": {1000 + 8*hour + 600, 900, 1000 + 8*hour + 600, Moment{}, false},
		"minutes later":               {1300, 900, 1300, Moment{}, false},
		"stamped by two clocks":       {1000 + 8*hour - 7, 900, 1000, at(1000 + 8*hour), false},
		"ended in two ways":           {1000 + 8*hour - 7, 900, 1000 + 8*hour - 7, at(1000 + 8*hour), true},
	} {
		cancelled, limit := worker.End{Kind: worker.EndCancelled}, worker.End{Kind: worker.EndTerminating}
		ends := []*End{{Line: cancelled, T: at(1000)}, {Line: cancelled, T: c.other}}
		if c.otherKind {
			ends[1].Line = limit
		}
		if end := endByScheduler(at(c.end), ends, []ProgressPoint{{T: at(c.step)}}); end.T != c.want {
			t.Errorf("%s: ended at %g, not %g", name, end.T, c.want)
		}
	}
}
