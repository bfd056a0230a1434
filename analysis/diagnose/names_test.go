package diagnose

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"faultline/knowledge"
	"faultline/simulate"
)

// naming are lines in which somebody names another process or node, written after the sources that the entries cite, and what a report has
// to say of that: the job has two nodes with two ranks each, the line stands in the log of rank 0 on n1.
var naming = map[knowledge.ID]struct{ line, want string }{
	"peer-nccl-closed":                           {"n1:301:340 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n2.cluster<51159>", "n2"},
	"peer-nccl-call":                             {"n1:301:340 [0] misc/socket.cc:518 NCCL WARN Net : Call to recv from 10.0.0.2<58355> failed : Broken pipe", "10.0.0.2"},
	"peer-gloo-closed":                           {"RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.2]:29555", "10.0.0.2"},
	"peer-gloo-read":                             {"RuntimeError: [../gloo/transport/tcp/pair.cc:525] Read error [10.0.0.2]:29555: Connection reset by peer", "10.0.0.2"},
	"peer-gloo-write":                            {"RuntimeError: [../gloo/transport/tcp/pair.cc:446] writev [10.0.0.2]:29555: Broken pipe", "10.0.0.2"},
	"peer-store-send":                            {"[W socket.cpp:464] [c10d] sendBytes failed on SocketImpl(fd=3, addr=[n1]:41234, remote=[n2]:29500): Broken pipe", "n2"},
	"peer-store-recv":                            {"[W socket.cpp:464] [c10d] recvValue failed on SocketImpl(fd=3, addr=[n1]:41234, remote=[n2]:29500): failed to recv, got 0 bytes", "n2"},
	"peer-jax-heartbeat":                         {"jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: /job:jax_worker/replica:0/task:3 unexpectedly stopped: heartbeat timeout", "rank 3"},
	"peer-jax-unhealthy":                         {"jaxlib.xla_extension.XlaRuntimeError: UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats): /job:jax_worker/replica:0/task:3", "rank 3"},
	"peer-ray-actor":                             {"ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n\tpid: 4242\n\tip: 10.0.0.2", "10.0.0.2"},
	"peer-ray-worker":                            {"(raylet) A worker died or was killed while executing a task by an unexpected system error. Worker IP address: 10.0.0.2 Worker port: 10042 Worker PID: 4242 Worker exit type: SYSTEM_ERROR", "10.0.0.2"},
	"ray-node-dead":                              {"WARNING worker.py:2037 -- The node with node id: 9426f445 and address: 10.0.0.2 and node name: 10.0.0.2 has been marked dead because the detector has missed too many heartbeats from it.", "10.0.0.2"},
	"peer-mpi-host":                              {"  Remote daemon: [[11377,0],1] on node n2", "n2"},
	"peer-mpi-process-host":                      {"  Peer host:  n2", "n2"},
	"peer-oneflow":                               {"F20220301 16:13:39.021886 52842 ctrl_client.cpp:54] Check failed: rpc_client_.GetStubAt(i)->CallMethod<CtrlMethod::kLoadServer>( &client_ctx, request, &response).error_code() == grpc::StatusCode::OK (14 vs. 0) Machine 1 lost", "node number 1"},
	"hccl-notify":                                {"EI0002: The wait execution of the Notify register times out. Reason: The Notify register has not received the Notify record from remote rank: [1]. group information: [group:[tp_3], user define information[Unspecified], rankSize[2], rankId[0]]", "member 1 of tp_3"},
	"barrier-monitored":                          {"RuntimeError: [Rank 0]: Rank 3 failed to pass monitoredBarrier in 30000 ms", "3"},
	"init-rendezvous-dead-node":                  {"As part of the sync operation the node(s) 'n2_4242_0' have been removed from the rendezvous '123' since they had no heartbeat.", "n2"},
	"init-rendezvous-detected-dead":              {"Detected dead node 'n2_4242_0', removing it from the rendezvous", "n2"},
	"signal-lightning-child":                     {"Child process with PID 4242 terminated with code -6. Forcefully terminating all other processes to avoid zombies", "process ID 4242"},
	"signal-nvrx-heartbeat":                      {"[2025-06-03 17:48:01,123] [WARNING] [RankMonitorServer4242@n2:3] Did not get subsequent heartbeat. Waited 180.00 seconds.", "rank 3"},
	"slurm-io":                                   {"srun: error: Aborting, io error and missing step on node 1", "node number 1"},
	"slurm-receive":                              {"srun: error: slurm_receive_msgs: [[n2]:6818] failed: Socket timed out on send/recv operation", "n2"},
	"ssh-closed":                                 {"Connection to n2 closed by remote host.", "n2"},
	"ssh-packet":                                 {"packet_write_wait: Connection to 10.0.0.2 port 22: Broken pipe", "10.0.0.2"},
	"slurm-task-left":                            {"srun: StepId=4242.0 task 3: exited", "task 3"},
	knowledge.EndedWithError + "flux-doom":       {"261.098s: flux-shell[0]: FATAL: doom: rank 3 on host n2 exited and exit-timeout=30s has expired", "n2"},
	knowledge.EndedWithError + "mpi-abort":       {"MPI_ABORT was invoked on rank 3 in communicator MPI_COMM_WORLD", "rank 3"},
	knowledge.EndedWithError + "mpirun-improper": {"mpirun has exited due to process rank 3 with PID 4242 on", "rank 3"},
	knowledge.EndedWithError + "mpich-abort":     {"application called MPI_Abort(MPI_COMM_WORLD, 1) - process 3", "rank 3"},
}

// For every entry whose line names another process or node the report says whom, where it is to be looked for, and what to fetch of it.
func TestWhomALineNamesReachesTheVerdict(t *testing.T) {
	for _, s := range knowledge.Whole().Signatures() {
		if !slices.ContainsFunc(s.Names, func(n knowledge.Name) bool { return n.Whose.Blames() }) {
			continue
		}
		c, ok := naming[s.ID]
		if !ok {
			t.Errorf("%s names somebody, and no line here shows whom", s.ID)
			continue
		}
		t.Run(string(s.ID), func(t *testing.T) {
			hello := func(rank, host string) string {
				return "[rank" + rank + "]: world_size=4 rank=" + rank + " hostname=" + host + "\n"
			}
			r := Run(read(t, []simulate.File{
				{Name: "error-4242-n1.out", Data: []byte("using world size: 4, data-parallel size: 4\n" + hello("0", "n1") + hello("1", "n1") + c.line + "\n")},
				{Name: "other-4242-n3.out", Data: []byte("start\n")},
			}, nil, 0))
			said, err := json.Marshal(r.Verdict)
			if err != nil {
				t.Fatal(err)
			}
			text := string(said)
			if rank, isRank := strings.CutPrefix(c.want, "rank "); isRank && strings.Contains(text, `"ranks":[`+rank+`]`) {
				return
			}
			if !strings.Contains(text, c.want) {
				t.Errorf("%q is nowhere in the verdict: %s", c.want, text)
			}
		})
	}
}

// A process that was lost and lost another one itself follows from that one; a task is a rank only where something proves it.
func TestWhomLinesNameLeadsToTheFirst(t *testing.T) {
	lost := func(writer, peer string) string {
		return writer + ":301:340 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer " + peer + "<51159>\n"
	}
	const (
		world    = "[rank0]: world_size=4 rank=0 hostname=n1\n[rank1]: world_size=4 rank=1 hostname=n1\n"
		met      = "INFO:torch.distributed.elastic.agent.server.api:[default] Rendezvous complete for workers. Result:\n  restart_count=0\n  master_addr=n1\n  master_port=29500\n  group_rank=0\n  group_world_size=2\n  local_ranks=[0, 1]\n  role_ranks=[0, 1]\n  global_ranks=[0, 1]\n  role_world_sizes=[4, 4]\n  global_world_sizes=[4, 4]\n"
		improper = "mpirun has exited due to process rank 1 with PID 4242 on\n"
	)
	const left = "srun: First task exited 60s ago\nsrun: StepId=4242.0 task 3: exited\nsrun: StepId=4242.0 tasks 0-2: running\nsrun: Terminating StepId=4242.0\n"
	for _, c := range []struct {
		name  string
		files map[string]string
		named string
		ranks []int
	}{
		{"in a row", map[string]string{"error-4242-n1.out": lost("n1", "n2"), "error-4242-n2.out": lost("n2", "n3")}, "n3", nil},
		{"each other", map[string]string{"error-4242-n1.out": lost("n1", "n2"), "error-4242-n2.out": lost("n2", "n1")}, "", nil},
		{"a task", map[string]string{"slurm-4242.out": left}, "task 3", nil},
		{"a process of mpirun", map[string]string{"error-4242-n1.out": world + improper}, "", []int{1}},
		{"a process of mpirun that launches others", map[string]string{"error-4242-n1.out": met + world + improper}, "MPI rank 1", nil},
		{"a task that is a rank", map[string]string{"slurm-4242.out": "0: [rank0]: a\n1: [rank1]: a\n2: [rank2]: a\n3: [rank3]: a\n" + left}, "", []int{3}},
	} {
		var files []simulate.File
		for name, text := range c.files {
			files = append(files, simulate.File{Name: name, Data: []byte(text)})
		}
		slices.SortFunc(files, func(a, b simulate.File) int { return strings.Compare(a.Name, b.Name) })
		v := Run(read(t, files, nil, 0)).Verdict
		if v.Root.Named != c.named || !slices.Equal(v.Root.Ranks, c.ranks) {
			t.Errorf("%s: named %q, ranks %v, expected %q, %v (%s)", c.name, v.Root.Named, v.Root.Ranks, c.named, c.ranks, v.Summary)
		}
	}
}
