package filename

import (
	"math/rand/v2"
	"reflect"
	"testing"
)

func name(f func(n *Name)) Name { n := nothing; f(&n); return n }

func TestParse(t *testing.T) {
	for in, want := range map[string]Name{
		"error-4242-7.out":               name(func(n *Name) { n.Job, n.NodeIndex = "4242", 7 }),
		"logs/error-4242-7.out.gz":       name(func(n *Name) { n.Job, n.NodeIndex = "4242", 7 }),
		"slurm-4242.out":                 name(func(n *Name) { n.Job = "4242" }),
		"slurm-405737.out.log":           name(func(n *Name) { n.Job = "405737" }),
		"slurm-4242_3.out":               name(func(n *Name) { n.Job = "4242_3" }),
		"slurm-4242-12.out":              name(func(n *Name) { n.Job, n.NodeIndex = "4242", 12 }),
		"4242_3_log.err":                 name(func(n *Name) { n.Job, n.Task = "4242", 3 }),
		"log-x_4242_0.out":               name(func(n *Name) { n.Job, n.Restart = "4242", 0 }),
		"log-my_run-2_4242_1.err":        name(func(n *Name) { n.Job, n.Restart = "4242", 1 }),
		"error-4242-gpu-node07.out":      name(func(n *Name) { n.Job, n.Host = "4242", "gpu-node07" }),
		"train-4242-node7.err":           name(func(n *Name) { n.Job, n.Host = "4242", "node7" }),
		"error-4242-node7-12.out":        name(func(n *Name) { n.Job = "4242" }), // task 12 on node7, or node7-12
		"nccl-tests-4242.out":            name(func(n *Name) { n.Job = "4242" }),
		"meg_gpt2_n16-1999618.out":       name(func(n *Name) { n.Job = "1999618" }),
		"4242-3.out":                     name(func(n *Name) { n.Job, n.NodeIndex = "4242", 3 }),
		"rank9.log":                      name(func(n *Name) { n.Rank = 9 }),
		"run/rank_007.stderr.log":        name(func(n *Name) { n.Rank = 7 }),
		"rank3-4242.log":                 name(func(n *Name) { n.Rank = 3 }),
		"rank_3_8.log":                   name(func(n *Name) { n.Rank = 3 }),
		"4242-rank12.log":                name(func(n *Name) { n.Job, n.Rank = "4242", 12 }),
		"local_rank3.log":                name(func(n *Name) { n.Local = 3 }),
		"x/attempt_1/3/stderr.log":       name(func(n *Name) { n.Local, n.Restart = 3, 1 }),
		"node07.log":                     name(func(n *Name) { n.Host = "node07" }),
		"error-4242-7.out.1":             name(func(n *Name) { n.Job, n.NodeIndex = "4242", 7 }),
		"error-4242-gpu3.cluster.io.out": name(func(n *Name) { n.Job, n.Host = "4242", "gpu3.cluster.io" }),
	} {
		if got := Parse([]string{in})[in]; got != want {
			t.Errorf("%s: %+v, want %+v", in, got, want)
		}
	}
}

func TestParseInventsNothing(t *testing.T) {
	names := []string{"train.log", "main_log.log", "worker.log", "driver.log", "ras-query-2.log", "w8-train.stdout.tail.log", "step-12.log", "frank3x.log",
		"", "/", ".log", "ping-site-iam15.log", "xid-alerts.log", "part-3.txt", "2025-06-03.log", "gpu0.log", "error.log", "stderr.log",
		"train-rank8-15.log", "train_rank_0_to_7.log", "core.4242", "logs/core.node07.14242", "vgcore.4242", "nccl.node07.14242.log", "NCCL_DEBUG.node07.14242"}
	if got := Parse(names); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}

func TestNamesThatCountFromZeroAreNoJobs(t *testing.T) {
	if got := Parse([]string{"out_0.txt", "out_1.txt", "out_12.txt", "log-0.log"}); len(got) != 0 {
		t.Errorf("%+v", got)
	}
	got := Parse([]string{"run/out_0.txt", "slurm-7.out", "slurm-8.out", "error-10.out"})
	if got["slurm-7.out"].Job != "7" || got["error-10.out"].Job != "10" {
		t.Errorf("%+v", got)
	}
}

func TestNumberedNodesAreIndicesOnlyInADenseSeries(t *testing.T) {
	got := Parse([]string{"node_0.log", "node_1.log", "node_2.log"})
	if n := got["node_2.log"]; n.NodeIndex != 2 || n.Host != "" {
		t.Errorf("%+v", n)
	}
	got = Parse([]string{"node-2.log", "node-7.log"})
	if n := got["node-7.log"]; n.NodeIndex != None || n.Host != "node-7" {
		t.Errorf("%+v", n)
	}
	got = Parse([]string{"node0.log", "node1.log"})
	if n := got["node1.log"]; n.Host != "node1" {
		t.Errorf("%+v", n)
	}
}

func TestHostsThatEndInAHyphenAndANumber(t *testing.T) {
	for _, c := range []struct {
		names []string
		host  string
		task  int
	}{
		{[]string{"error-42-worker-27.out", "error-42-worker-29.out"}, "worker-27", None},
		{[]string{"error-42-worker-0.out", "error-42-worker-1.out", "error-42-worker-1.err"}, "worker-0", None},
		{[]string{"error-42-pool0-0073.out", "error-42-pool0-0074.out"}, "", None},
		{[]string{"error-42-dgx2-8.out", "error-42-dgx2-9.out"}, "", None},
		{[]string{"error-42-dgx2-0.out", "error-42-dgx2-1.out.gz", "error-42-dgx2-1.out"}, "dgx2", 0},
		{[]string{"error-42-n1-4.out", "error-42-n2-9.out"}, "", None},
		{[]string{"error-42-worker-27.out"}, "worker-27", None},
		{[]string{"slurm-77-node7-03.out", "slurm-77-node7-04.out"}, "", None},
		{[]string{"error-42-n1-0.out", "error-42-n1-1.out", "error-42-n2-2.out", "error-42-n2-3.out"}, "n1", 0},
		{[]string{"error-42-n1-0.out", "error-42-n1-1.out", "error-42-n2-3.out"}, "n1", 0},                       // a file is missing
		{[]string{"error-42-n1-0.out", "error-42-n2-1.out", "error-42-n1-2.out", "error-42-n2-3.out"}, "n1", 0},  // one after the other
		{[]string{"error-42-n1-0.out", "error-42-n2-1.out", "error-42-n1-2.out", "error-42-n3-3.out"}, "", None}, // neither
		{[]string{"error-42-r1-0.out", "error-42-r1-1.out", "error-42-r2-0.out", "error-42-r2-1.out"}, "", None}, // racks
		{[]string{"error-42-ip-10-0-0-5.out", "error-42-ip-10-0-0-6.out"}, "ip-10-0-0-5", None},
		{[]string{"error-42-ip-10-0-0-5-3.out"}, "ip-10-0-0-5", 3},
		{[]string{"train-4242-dgx-h100-07.err"}, "dgx-h100-07", None},
		{[]string{"train-4242-n1-7.err"}, "", None},
		{[]string{"train-4242-n1-task7.err"}, "n1", 7},
		{[]string{"train-4242-r6i4-n5.err"}, "r6i4-n5", None},
	} {
		if n := Parse(c.names)[c.names[0]]; n.Host != c.host || n.Task != c.task {
			t.Errorf("%v: %+v", c.names, n)
		}
	}
}

func TestWordsOfAnExperimentAreNoJob(t *testing.T) {
	if n := Parse([]string{"exp_2024_v2_7.log", "exp_2025_gpu2_worker_7.log", "t_4242_n1_00.err", "t_4242_n1_01.err", "t_4242_n2_02.err"}); len(n) != 0 {
		t.Errorf("%+v", n)
	}
}

func TestAPaddedNumberIsNoJob(t *testing.T) {
	names := []string{"cn-0042.log", "cn-0043.log", "slurm-0042_3.out"}
	for name, n := range Parse(names) {
		if n.Job != "" {
			t.Errorf("%s: job %q", name, n.Job)
		}
	}
	if n := Parse([]string{"train-4200.out"})["train-4200.out"]; n.Job != "4200" {
		t.Errorf("%+v", n)
	}
}

func TestGaps(t *testing.T) {
	for _, c := range []struct {
		names, want []string
	}{
		{[]string{"error-42-0.out", "error-42-1.out", "error-42-3.out"}, []string{"error-42-2.out"}},
		{[]string{"d/error-42-1.out", "d/error-42-2.out"}, []string{"d/error-42-0.out"}},
		{[]string{"rank0.log", "rank8.log", "rank16.log"}, nil},
		{[]string{"rank00.log", "rank01.log", "rank03.log.gz"}, []string{"rank02.log"}},
		{[]string{"error-42-0.out", "error-42-1.out.gz", "error-42-1.out"}, nil},
		{[]string{"error-42-0.out", "output-42-0.out", "error-42-1.out", "output-42-2.out"}, []string{"output-42-1.out"}},
		{[]string{"42_0_log.err", "42_2_log.err"}, []string{"42_1_log.err"}},
		{[]string{"log-x_42_0.out", "log-x_42_2.out"}, nil},
		{[]string{"a.log", "b.log"}, nil},
		{[]string{"error-42-5.out"}, nil},
		{[]string{"error-42-0.out", "error-43-1.out"}, nil},
		{[]string{"t-4242-n1-rank0.err", "t-4242-n1-rank1.err", "t-4242-n2-rank3.err"}, []string{"t-4242-%N-rank2.err"}},
	} {
		if got := Gaps(c.names); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Gaps(%v) = %v, want %v", c.names, got, c.want)
		}
	}
}

func TestEveryPatternIsReached(t *testing.T) {
	examples := []string{"attempt_0/1/stdout.log", "local_rank3.log", "4242-rank1.log", "rank1.log", "log-x_42_0.out", "slurm-42_1.out", "slurm-42_1-3.out",
		"error-42-1-8.out", "error-42-n1-8.out", "error-42-1.out", "42_1_log.err", "slurm-42.out", "error-42-n1.out", "train-4242-1.err", "train-4242-n1.err",
		"4242-1.out", "4242-n1.out", "train-4242.out", "4242.out", "node1.log", "node-a1.log"}
	used := map[int]bool{}
	for _, e := range examples {
		for i, p := range patterns {
			if p.re.MatchString(trim(e)) {
				used[i] = true
				break
			}
		}
	}
	for i, p := range patterns {
		if !used[i] {
			t.Errorf("no example reaches %s", p.slurm)
		}
	}
}

func FuzzSeries(f *testing.F) {
	f.Add("error-42-1.out", "error-42-3.out", "rank00.log")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		names := []string{a, b, c}
		for _, s := range Series(names) {
			for _, v := range s.Missing {
				n := s.Name(v)
				for _, have := range names {
					if n == have {
						t.Fatalf("%q is there and missing", n)
					}
				}
			}
		}
		if got := Series([]string{c, a, b}); !reflect.DeepEqual(got, Series(names)) {
			t.Fatal("depends on the order")
		}
	})
}

func TestNamesThatStateANodeAndARankOnIt(t *testing.T) {
	got := Parse([]string{"t-4242-gpu048-rank0.err", "t-4242-gpu048-rank1.err.gz", "t-4242-cn-a49-rank2.err", "slurm-4242.out"})
	if n := got["t-4242-cn-a49-rank2.err"]; n.Job != "4242" || n.Host != "cn-a49" || n.Rank != 2 {
		t.Errorf("%+v", n)
	}
	got = Parse([]string{"t_4242_n07_0.err", "t_4242_n07_1.err", "t_4242_n08_2.err", "t_4242_n08_3.err"})
	if n := got["t_4242_n08_3.err"]; n.Host != "n08" || n.Task != 3 || n.Rank != None {
		t.Errorf("%+v", n)
	}
	for _, names := range [][]string{
		{"t-4242-try1-rank0.err", "t-4242-try1-rank1.err", "t-4242-try2-rank0.err", "t-4242-try2-rank1.err"}, // attempts
		{"t-4242-v2-rank0.err", "t-4242-v2-rank1.err"},                                                       // one name: of whatever it is
	} {
		for name, n := range Parse(names) {
			if n.Host != "" || n.Rank == None {
				t.Errorf("%s: %+v", name, n)
			}
		}
	}
	// Beside them a file of each node, whose name ends in a number.
	got = Parse([]string{"t-4242-p0-048.log", "t-4242-p0-049.log", "t-4242-p0-048-rank0.err", "t-4242-p0-049-rank1.err"})
	if n := got["t-4242-p0-049-rank1.err"]; n.Host != "p0-049" || got["t-4242-p0-049.log"].Host != "p0-049" {
		t.Errorf("%+v", got)
	}
	// Hosts that are called by rack and number: by their names alone they may be tasks of a host.
	got = Parse([]string{"t-4242-r1-1.err", "t-4242-r1-2.err", "t-4242-r2-1.err", "t-4242-r2-2.err"})
	if n := got["t-4242-r2-1.err"]; n.Host != "" || n.Task != None {
		t.Errorf("%+v", n)
	}
}

// Whatever is missing of a set of files, none of the others is taken for another node's.
func TestNoFileChangesItsNodeWhenOthersAreMissing(t *testing.T) {
	heads := []string{"error-42-", "t-4242-", "t_4242_", "slurm-77-", "4242-", "job/out_4242_"}
	hosts := []string{"n1", "n2", "dgx2", "worker", "a3-node", "pool0-00", "pool0", "r1-1", "r1-2", "ip-10-0-0", "ip-10-0-0-5", "node7", "dgx-h100", "bert"}
	tails := []string{"", "-0", "-1", "-2", "-3", "-7", "-8", "-03", "-04", "-0073", "-rank0", "-rank1", "-task0", "-task1", "_0", "_1", "_2"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 4000 {
		head, mine := heads[rng.IntN(len(heads))], hosts
		if rng.IntN(2) == 0 {
			mine = []string{hosts[rng.IntN(len(hosts))], hosts[rng.IntN(len(hosts))]}
		}
		var names []string
		for range 1 + rng.IntN(9) {
			names = append(names, head+mine[rng.IntN(len(mine))]+tails[rng.IntN(len(tails))]+".out")
		}
		all := Parse(names)
		var some []string
		for _, name := range names {
			if rng.IntN(3) > 0 {
				some = append(some, name)
			}
		}
		for name, n := range Parse(some) {
			if a := all[name]; n.Host != "" && a.Host != "" && n.Host != a.Host {
				t.Fatalf("of %v %s is of %s, of %v of %s", names, name, a.Host, some, n.Host)
			}
		}
	}
}

// What lies beside the logs may have a number in its name that is a date, a time or a process.
func TestNumbersOfOtherFilesAreNoJobs(t *testing.T) {
	for _, tc := range []struct {
		names []string
		jobs  []string // of the names, in their order
	}{
		{[]string{"job-20931.out", "squeue_1841.txt"}, []string{"20931", ""}},
		{[]string{"slurm-9001.out.gz", "pystack-48211.txt", "ibstat-20251103.txt"}, []string{"9001", "", ""}},
		{[]string{"train-9001.log", "sacct-9001.txt"}, []string{"9001", "9001"}},
		{[]string{"train-9001.log", "train-9002.log"}, []string{"9001", "9002"}},
		{[]string{"train-9001.txt", "train-9002.txt"}, []string{"9001", "9002"}},
		{[]string{"train.log", "pystack-48211.txt"}, []string{"", "48211"}},
	} {
		got := Parse(tc.names)
		for i, name := range tc.names {
			if got[name].Job != tc.jobs[i] {
				t.Errorf("%q of %q is of job %q, want %q", name, tc.names, got[name].Job, tc.jobs[i])
			}
		}
	}
}
