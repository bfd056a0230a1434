package worker

import (
	"slices"
	"strings"
	"testing"

	"faultline/analysis/line"
	"faultline/knowledge"
)

const failureBlock = `torch.distributed.elastic.multiprocessing.errors.ChildFailedError: 
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2024-02-17_10:12:14
  host      : node-7.cluster
  rank      : 18 (local_rank: 2)
  exitcode  : -15 (pid: 4243)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 4243
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2024-02-17_10:12:13
  host      : node-7.cluster
  rank      : 17 (local_rank: 1)
  exitcode  : -6 (pid: 4242)
  error_file: <N/A>
  traceback : Signal 6 (SIGABRT) received by PID 4242
============================================================
`

func TestFailureBlockUnderAnyPrefix(t *testing.T) {
	for _, prefix := range []string{"", "3: ", "[default1]:", "[rank17]: ", "stderr: "} {
		var text strings.Builder
		for l := range strings.Lines(failureBlock) {
			text.WriteString(prefix + l)
		}
		obs := observe(t, text.String())
		if len(obs.ChildFailed) != 2 {
			t.Errorf("%q: %d items", prefix, len(obs.ChildFailed))
			continue
		}
		a, b := obs.ChildFailed[0], obs.ChildFailed[1]
		if a.Root || a.Rank != 18 || a.Local != 2 || a.ExitCode != -15 || a.Pid != 4243 || a.Host != "node-7.cluster" {
			t.Errorf("%q: first item %+v", prefix, a)
		}
		if !b.Root || b.Rank != 17 || b.Local != 1 || b.ExitCode != -6 || b.Line != 18 || stampText(b.Time) != "2024-2-17 10:12:13" ||
			b.Traceback != "Signal 6 (SIGABRT) received by PID 4242" {
			t.Errorf("%q: root item %+v", prefix, b)
		}
	}
}

func TestFailureBlockWithATraceback(t *testing.T) {
	text := strings.Replace(failureBlock, "Signal 6 (SIGABRT) received by PID 4242\n", "Traceback (most recent call last):\n    File \"/a/train.py\", line 3, in main\n      f()\n  ValueError: x\n", 1)
	obs := observe(t, text+"\nafter\n")
	if len(obs.ChildFailed) != 2 || !obs.ChildFailed[1].Root || obs.ChildFailed[1].Traceback != "Traceback (most recent call last): ValueError: x" {
		t.Errorf("%+v", obs.ChildFailed)
	}
}

func TestFailureBlockCutAtItsEnd(t *testing.T) {
	obs := observe(t, failureBlock[:strings.LastIndex(failureBlock, "  error_file")])
	if len(obs.ChildFailed) != 2 || obs.ChildFailed[1].Rank != 17 {
		t.Errorf("%+v", obs.ChildFailed)
	}
}

func TestCorpusGluedFailureBlocks(t *testing.T) {
	obs := readCase(t, "055")
	var got [][2]int
	for _, c := range obs.ChildFailed {
		root := 0
		if c.Root {
			root = 1
		}
		got = append(got, [2]int{c.Rank, root})
		if c.Host != "gpu187.cluster.local" || c.ExitCode != 1 {
			t.Errorf("%+v", c)
		}
	}
	if !slices.Equal(got, [][2]int{{3, 0}, {0, 1}, {4, 1}}) {
		t.Errorf("rank and root: %v", got)
	}
}

func TestChildExit(t *testing.T) {
	for _, tc := range []struct {
		text             string
		code, local, pid int
	}{
		{"ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: -6) local_rank: 3 (pid: 4242) of binary: /usr/bin/python3", -6, 3, 4242},
		{"E1223 05:18:02.971000 3304089 site-packages/torch/distributed/elastic/multiprocessing/api.py:882] failed (exitcode: -11) local_rank: 0 (pid: 3304209) of binary: x", -11, 0, 3304209},
		{"[2025-06-03 17:48:01,123] [ERROR] [launch.py:321:sigkill_handler] ['python', 'a.py'] exits with return code = -9", -9, line.Unknown, line.Unknown},
	} {
		obs := observe(t, tc.text+"\n")
		if len(obs.ChildExits) != 1 {
			t.Errorf("%q: %+v", tc.text, obs.ChildExits)
			continue
		}
		if e := obs.ChildExits[0]; e.ExitCode != tc.code || e.Local != tc.local || e.Pid != tc.pid {
			t.Errorf("%q: %+v", tc.text, e)
		}
	}
}

func TestRendezvousResult(t *testing.T) {
	obs := observe(t, `I0801 13:23:17.366000 32974 torch/distributed/elastic/agent/server/api.py:525] [default] Rendezvous complete for workers. Result:
  restart_count=1
  master_addr=node1
  master_port=29500
  group_rank=1
  group_world_size=2
  local_ranks=[0, 1]
  role_ranks=[2, 3]
  global_ranks=[2, 3]
  role_world_sizes=[4, 4]
  global_world_sizes=[4, 4]

[default] Starting worker group
`)
	if len(obs.Rendezvous) != 1 {
		t.Fatalf("%+v", obs.Rendezvous)
	}
	v := obs.Rendezvous[0]
	if v.Restart != 1 || v.WorldSize != 4 ||
		!slices.Equal(v.LocalRanks, []int{0, 1}) || !slices.Equal(v.GlobalRanks, []int{2, 3}) {
		t.Errorf("%+v", v)
	}
	if len(obs.RunMarks) != 1 || obs.RunMarks[0].Kind != "restart" || obs.RunMarks[0].Count != 1 {
		t.Errorf("%+v", obs.RunMarks)
	}
}

func TestElasticRestartIsMarked(t *testing.T) {
	obs := observe(t, "[default] Worker group FAILED. 3/3 attempts left; will restart worker group\n")
	if len(obs.RunMarks) != 1 || obs.RunMarks[0].Kind != "restart" || obs.RunMarks[0].Count != 1 {
		t.Errorf("%+v", obs.RunMarks)
	}
}

func TestDeepSpeedLauncherStatesTheWorld(t *testing.T) {
	obs := observe(t, "[2025-06-03 17:48:01,123] [INFO] [launch.py:145:main] WORLD INFO DICT: {'node1': [0, 1], 'node2': [0, 1]}\n"+
		"[2025-06-03 17:48:01,124] [INFO] [launch.py:151:main] nnodes=2, num_local_procs=2, node_rank=0\n")
	for _, want := range []string{"nodes=2", "world_size=4", "ranks_per_node=2", "ranks_on=node1 0 1", "ranks_on=node2 2 3"} {
		if !slices.Contains(facts(obs), want) {
			t.Errorf("no %s in %q", want, facts(obs))
		}
	}
}

func TestTablesOfRanksAndHosts(t *testing.T) {
	for text, want := range map[string][]string{
		"[init] ranks 0-7 mi-01, ranks 8-15 mi-02\n": {"ranks_on=mi-01 0 7", "ranks_on=mi-02 8 15"},
		"node 2: c5n03 ranks 16-23\n":                {"ranks_on=c5n03 16 23"},
		"mg-04: ranks 24-31\n":                       {"ranks_on=mg-04 24 31"},
		"stage1 ranks 8-15, stage2 ranks 16-23\n":    nil,
	} {
		got := slices.DeleteFunc(facts(observe(t, text)), func(s string) bool { return !strings.HasPrefix(s, "ranks_on=") })
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestRankMonitorTiesRankToHost(t *testing.T) {
	obs := observe(t, "[2025-06-03 17:48:01,123] [WARNING] [RankMonitorServer4242@node7:12] [Cycle 0] Did not get subsequent heartbeat. Waited 180.00 seconds.\n")
	if len(obs.Identities) != 1 || obs.Identities[0].Global != 12 || obs.Identities[0].Host != "node7" {
		t.Errorf("%+v", obs.Identities)
	}
	if !slices.Contains(signs(obs), "signal-nvrx-heartbeat") {
		t.Errorf("%q", signs(obs))
	}
}

func facts(obs *Observations) []string {
	var list []string
	for _, f := range obs.Facts {
		list = append(list, f.Key+"="+f.Value)
	}
	return list
}

// signs are all signatures of a file: those of lines, of exceptions and of NCCL warnings.
func signs(obs *Observations) []knowledge.ID {
	var list []knowledge.ID
	for _, s := range obs.Signs {
		list = append(list, s.ID)
	}
	for _, e := range obs.Exceptions {
		list = append(list, e.Signs...)
		for _, c := range e.Cause {
			list = append(list, c.Signs...)
		}
	}
	for _, w := range obs.NCCLWarns {
		list = append(list, w.Signs...)
	}
	return list
}

// The corpus: which mechanisms the lines of a real incident speak for as causes.
func TestCorpusSpeaksForItsMechanism(t *testing.T) {
	for _, tc := range []struct {
		id, mechanism string
		role          knowledge.Role
	}{
		{"003", "node-failure", knowledge.CauseRole},
		{"004", "node-failure", knowledge.CauseRole},
		{"005", "dataloader-worker-killed", knowledge.CauseRole},
		{"006", "gpu-ecc", knowledge.CauseRole},
		{"007", "gpu-oom", knowledge.CauseRole},
		{"009", "cuda-error", knowledge.CauseRole},
		{"014", "time-limit", knowledge.CauseRole},
		{"015", "time-limit", knowledge.CauseRole},
		{"016", "cancelled", knowledge.ConsequenceRole},
		{"017", "time-limit", knowledge.CauseRole},
		{"018", "native-crash", knowledge.CauseRole},
		{"030", "init-unreachable", knowledge.SymptomRole},
		{"031", "gpu-oom", knowledge.CauseRole},
		{"047", "external-signal", knowledge.ConsequenceRole},
		{"049", "init-unreachable", knowledge.CauseRole},
		{"058", "host-oom", knowledge.CauseRole},
		{"065", "collective-mismatch", knowledge.CauseRole},
		{"067", "gpu-oom", knowledge.CauseRole},
		{"068", "peer-lost", knowledge.SymptomRole},
		{"072", "gpu-ecc", knowledge.CauseRole},
		{"073", "gpu-hang", knowledge.CauseRole},
	} {
		t.Run(tc.id, func(t *testing.T) {
			found := false
			for _, id := range signs(readCase(t, tc.id)) {
				s, ok := knowledge.Whole().Lookup(id)
				if !ok {
					t.Errorf("unknown signature %s", id)
				}
				found = found || string(s.Mechanism) == tc.mechanism && s.Role == tc.role
			}
			if !found {
				t.Errorf("no %s of %s", tc.role, tc.mechanism)
			}
		})
	}
}

func TestCorpusHealthyJobHasNoCause(t *testing.T) {
	for _, id := range []string{"013", "019"} {
		obs := readCase(t, id)
		for _, sign := range signs(obs) {
			if s, _ := knowledge.Whole().Lookup(sign); s.Role == knowledge.CauseRole || s.Role == knowledge.SymptomRole {
				t.Errorf("%s: %s", id, sign)
			}
		}
		if !slices.ContainsFunc(obs.Facts, func(f Fact) bool { return f.Key == "exit_ok" }) {
			t.Errorf("%s: no clean end seen", id)
		}
	}
}

func FuzzLauncher(f *testing.F) {
	f.Add(failureBlock)
	f.Add("[default] Rendezvous complete for workers. Result:\n  restart_count=1\n  global_ranks=[2, 3]\n")
	f.Add("rank      : 99999999999999999999 (local_rank: 1)\nexitcode  : 1 (pid: 3)\nFailures:\n=====\n")
	f.Fuzz(func(t *testing.T, s string) {
		for _, c := range observe(t, s).ChildFailed {
			if c.Rank < line.Unknown {
				t.Fatalf("%+v", c)
			}
		}
	})
}

func TestProcessesThatASignalEnded(t *testing.T) {
	const cmd = "subprocess.CalledProcessError: Command '['/opt/conda/bin/python3', '-u', 'train.py', '--local_rank=7', '--seed', '1']' "
	for _, tc := range []struct {
		text      string
		code, pid int
	}{
		{cmd + "died with <Signals.SIGSEGV: 11>.", -11, line.Unknown},
		{cmd + "died with <Signals.SIGKILL: 9>.", -9, line.Unknown},
		{"Killed", -9, line.Unknown},
		{"/var/spool/slurmd/job7/slurm_script: line 28:  8156 Killed                  python3 main.py --epochs 400", -9, 8156},
	} {
		obs := observe(t, tc.text+"\n")
		if len(obs.ChildExits) != 1 {
			t.Errorf("%q: %d exits", tc.text, len(obs.ChildExits))
			continue
		}
		// The rank in the command is that of the process started last.
		if c := obs.ChildExits[0]; c.ExitCode != tc.code || c.Pid != tc.pid || c.Local != line.Unknown {
			t.Errorf("%q: %+v", tc.text, c)
		}
	}
	for _, text := range []string{
		"subprocess.CalledProcessError: Command '['ninja', '-v']' died with <Signals.SIGKILL: 9>.",
		"Killed process 4242 (pt_main_thread)",
		"INFO Killed all idle connections",
	} {
		if obs := observe(t, text+"\n"); len(obs.ChildExits) != 0 {
			t.Errorf("%q: %+v", text, obs.ChildExits)
		}
	}
}
