package diagnose

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"faultline/knowledge"
	"faultline/simulate"
)

// culprit is a line that says who failed, whoever writes it: as logs of others show it, or filled in after the format string of its source.
type culprit struct {
	line string
	want string // what has to reach the verdict: "rank 3", "n2", "process ID 4242"
}

// text is the line, with a traceback above it where it ends one.
func (c culprit) text() string {
	if !raisedLine.MatchString(c.line) {
		return c.line
	}
	return "Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n" + c.line
}

var raisedLine = regexp.MustCompile(`^[\w.]+(?:Error|Exception): `)

// culprits are such lines of a job on n1 (ranks 0 and 1) and n2 (ranks 2 and 3); rank 3 is process 4242 on n2, and its task is 3.
var culprits = map[knowledge.ID]culprit{
	"host-oom-kubelet":      {"2m11s       Warning   SystemOOM   node/n2   System OOM encountered, victim process: pt_main_thread, pid: 4242", "4242"},
	"host-oom-earlyoom":     {"earlyoom[812]: sending SIGTERM to process 4242 uid 1001 \"python3\": badness 870, VmRSS 51200 MiB", "4242"},
	"host-oom-srun":         {"srun: error: n2: task 3: Out Of Memory", "rank 3"},
	"host-oom-cgroup-kill":  {"Nov 12 10:02:11 n2 kernel: Memory cgroup out of memory: Killed process 4242 (python3) total-vm:900kB, anon-rss:800kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0", "rank 3"},
	"host-oom-node-kill":    {"Nov 12 10:02:11 n2 kernel: Out of memory: Killed process 4242 (python3) total-vm:900kB, anon-rss:800kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0", "rank 3"},
	"host-oom-constraint":   {"Nov 12 10:02:11 n2 kernel: oom-kill:constraint=CONSTRAINT_NONE,nodemask=(null),cpuset=/,mems_allowed=0-1,global_oom,task_memcg=/slurm/uid_1000/job_4242/step_0/task_1,task=python3,pid=4242,uid=1000", "rank 3"},
	"host-oom-reaper":       {"Nov 12 10:02:11 n2 kernel: Out of memory: Killed process 4242 (python3) total-vm:900kB, anon-rss:800kB, file-rss:0kB, shmem-rss:0kB, UID:1000 pgtables:1kB oom_score_adj:0\nNov 12 10:02:11 n2 kernel: oom_reaper: reaped process 4242 (python3), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB", "rank 3"},
	"hccl-listen":           {"[ERROR] HCCL(4242,python):2025-07-23-03:47:57.070.463 [hccl_socket.cc:100] [4242][HcclSocket][Listen] socket type[1], listen on ip[192.168.20.160] and specific port[16666] fail. Please check the port status and whether the port is been using by other process.", "192.168.20.160"},
	"peer-mpi-process-pid":  {"  Local PID:  4242", "4242"},
	"host-oom-yarn":         {"ERROR YarnClusterScheduler: Lost executor 2 on n2: Container killed by YARN for exceeding memory limits. 9.1 GB of 9 GB physical memory used. Consider boosting spark.yarn.executor.memoryOverhead.", "n2"},
	"host-oom-ray-node":     {"Memory on the node (IP: 172.24.49.143, ID: 8515c7e1e7b932197658c55aa4b9ec1332499950c4c95bd3804e7e08) where the task (actor ID: 4f48435abed4c32e8891fa7f0d000000, name=StreamingDataProducer.__init__, pid=3764266, memory used=23.49GB) was running was 718.15GB / 755.24GB (0.950882), which exceeds the memory usage threshold of 0.95. Ray killed this worker", "172.24.49.143"},
	"host-oom-raylet":       {"(raylet) [2023-04-09 07:23:59,445 E 395 395] (raylet) node_manager.cc:3049: 10 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: e5d953ef03e55e26f13973ea1b5a0fd0ecc729cd820bc89e4aa50451, IP: 10.0.62.231) over the last time period.", "10.0.62.231"},
	"megascale-host":        {"  The host that have bad TPUs are: n2", "n2"},
	"gaudi-memory":          {"RuntimeError: [Rank:3] FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed for size::939524096 (896)MB", "rank 3"},
	"gaudi-fatal":           {"RuntimeError: [Rank:3] FATAL ERROR :: MODULE:PT_BRIDGE Exception in Lowering thread...", "rank 3"},
	"native-segv-srun":      {"srun: error: n2: task 3: Segmentation fault (core dumped)", "rank 3"},
	"native-signal-openmpi": {"[n2:4242] Signal: Bus error (7)", "rank 3"},
	"native-signal-ucx":     {"[n2:4242 :0:4242] Caught signal 11 (Segmentation fault: invalid permissions for mapped object at address 0x7f12)", "rank 3"},
	"native-signal-glog":    {"*** SIGSEGV (@0x3e80000085b) received by PID 4242 (TID 0x7fea12549740) from PID 4242; stack trace: ***", "4242"},
	"native-signal-absl":    {"*** SIGSEGV (@0x7f12), see go/stacktraces#s15 received by PID 4242 (TID 4243) on cpu 8; stack trace: ***", "4242"},
	"native-segv-elastic":   {"  traceback : Signal 11 (SIGSEGV) received by PID 4242", "4242"},
	"native-shell-killed":   {"/var/spool/slurmd/job4242/slurm_script: line 41:  4242 Killed                  python train.py --config base.yaml", "4242"},
	"loader-worker-signal":  {"RuntimeError: DataLoader worker (pid 2831817) is killed by signal: Aborted. ", "2831817"},
	"loader-worker-exited":  {"RuntimeError: DataLoader worker (pid(s) 6662, 6663) exited unexpectedly", "6662"},
	"mpi-init-hydra":        {"Abort(1615247) on node 3 (rank 3 in comm 0): Fatal error in PMPI_Init_thread: Unknown error class, error stack:", "rank 3"},
	"config-hydra-exec":     {"[proxy:0:1@n2] HYDU_create_process (utils/launch/launch.c:74): execvp error on file ./solver (No such file or directory)", "n2"},
	"slurm-node-failed":     {"srun: error: Node failure on n2", "n2"},
	"slurm-unkillable":      {"slurmstepd: error: *** JOB 9325965 STEPD TERMINATED ON n2 AT 2023-01-13T09:58:47 DUE TO JOB NOT ENDING WITH SIGNALS ***", "n2"},
	"slurm-launch-failed":   {"srun: error: Task launch for StepId=4242.0 failed on node n2: Communication connection failure", "n2"},
	"slurm-nodes-not-ready": {"srun: error: Nodes n2 are still not ready", "n2"},
	"slurm-prolog":          {"srun: Prolog failure on node n2", "n2"},
	"checkpoint-dcp":        {"torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([2, 3])", "members 2-3"},
	"nan-megatron-grad":     {"AssertionError: Rank 3: found NaN in local grad norm in backward pass before data-parallel communication collective. Device: 5, node: n2", "rank 3"},
	"nan-megatron-result":   {"RuntimeError: Rank 3, node n2, device 1, iteration 12: Unexpected result nan (message='found NaN in local grad norm for bucket #0 in backward pass before data-parallel communication collective')", "rank 3"},
	"rerun-transient":       {"ERROR:megatron.core.rerun_state_machine:Rank 3, node n2, device 1, iteration #150: Possible transient error!", "rank 3"},
	"nan-megatron-inf":      {"AssertionError: Rank 3: found Inf in local forward loss calculation. Device: 1, node: n2", "rank 3"},
	"check-gpu":             {"bot check: FAIL n2: GPU: nvidia-smi: exit status 9  [nvidia-smi; dmesg | grep -i xid]", "n2"},
	"check-gpus":            {"bot check: FAIL n2: GPU: 7 of 8 GPUs  [nvidia-smi -L; dmesg | grep -i xid]", "n2"},
	"check-absent":          {"bot check: FAIL n2: rendezvous: did not reach the rendezvous  [scontrol show node n2]", "n2"},
	"check-name":            {"bot check: FAIL n2: name resolution: n1: no such host  [getent hosts n1]", "n2"},
	"check-network":         {"bot check: FAIL n2: network: sends 1.9 GiB/s to n3; most nodes reach 18.6 GiB/s  [find which end with bot isolate --for link]", "n2"},
	"check-full":            {"bot check: FAIL n2: directory: 1.0 GiB free in /ckpt: a checkpoint needs 1.0 TiB  [df -h /ckpt]", "n2"},
	"check-directory":       {"bot check: FAIL n2: directory: cannot write /ckpt: permission denied  [ls -ld /ckpt]", "n2"},
	"check-library":         {"bot check: FAIL n2: library: libnccl.so.2: it needs libcudart.so.12, which was not found  [ldconfig -p | grep libnccl.so.2]", "n2"},
	"check-variable":        {"bot check: FAIL n2: MASTER_ADDR: n9, and n1 on 3 other nodes", "n2"},
	"check-version":         {"bot check: FAIL n2: driver: 535.1, and 550.90.07 on 3 other nodes", "n2"},
	"check-locked":          {"bot check: FAIL n2: locked memory: ulimit -l is 64.0 KiB: RDMA can't register memory", "n2"},
	"ended-mindspore":       {"[ERROR] ME(162078:281473590168608,MainProcess):2025-03-10-09:40:12.440.000 [mindspore/parallel/cluster/process_entity/_api.py:268] Worker process 4242 exit with exception.", "4242"},
}

// ofFailed says that a name leads to a process or node that failed, or that writes of itself.
func ofFailed(n knowledge.Name) bool {
	return n.Kind.Process() && (n.Whose == knowledge.Culprit || n.Whose == knowledge.Writer)
}

// For every entry whose line says who failed, or who writes it, the verdict has that rank or node, or says what the line calls it, or the
// trail says why it leads to nobody.
func TestWhoALineSaysFailedReachesTheVerdict(t *testing.T) {
	hello := func(host, pid, rank, local string) string {
		return "[rank" + rank + "]: world_size=4 rank=" + rank + " hostname=" + host + "\n" +
			host + ":" + pid + ":" + pid + " [" + local + "] NCCL INFO ncclCommInitRank comm 0x1 rank " + rank + " nranks 4 cudaDev " + local + " nvmlDev " + local + " busId 1000 commId 0x7 - Init COMPLETE\n"
	}
	stated, traced := 0, 0
	for _, s := range knowledge.Whole().Signatures() {
		c, there := culprits[s.ID]
		if !there {
			if (s.Role == knowledge.CauseRole || s.Role == knowledge.SymptomRole) && slices.ContainsFunc(s.Names, ofFailed) {
				t.Errorf("%s says who failed, and no line here shows whom", s.ID)
			}
			continue
		}
		steps := fieldSteps
		if s.Mechanism == knowledge.InitUnreachable {
			steps = "" // what is met before the first one
		}
		f := read(t, []simulate.File{
			{Name: "error-4242-n1.out", Data: []byte("using world size: 4, data-parallel size: 4\n" + hello("n1", "4141", "0", "0") + hello("n1", "4142", "1", "1") + steps)},
			{Name: "error-4242-n2.out", Data: []byte(hello("n2", "4241", "2", "0") + hello("n2", "4242", "3", "1") + steps)},
			{Name: "slurm-4242.out", Data: []byte("start\n" + c.text() + "\n")},
		}, nil, 0)
		r := Run(f)
		said, err := json.Marshal(r.Verdict)
		if err != nil {
			t.Fatal(err)
		}
		text := string(said)
		reached := strings.Contains(text, c.want)
		if rank, is := strings.CutPrefix(c.want, "rank "); is {
			reached = reached || slices.Contains(r.Verdict.Root.Ranks, int(rank[0]-'0'))
		}
		if reached {
			stated++
			continue
		}
		_, number, _ := strings.Cut(c.want, " ")
		if slices.ContainsFunc(f.Trail(), func(line string) bool {
			return strings.Contains(line, cmp.Or(number, c.want)) && strings.Contains(line, "can't be assigned to a rank")
		}) {
			traced++
			continue
		}
		t.Errorf("%s: %q is nowhere: %s %v %v named %q: %s | %v", s.ID, c.want, r.Verdict.Mechanism, r.Verdict.Root.Ranks, r.Verdict.Root.Nodes, r.Verdict.Root.Named, r.Verdict.Summary, f.Trail())
	}
	t.Logf("%d of %d reach the verdict, of %d the trail says why not", stated, len(culprits), traced)
}
