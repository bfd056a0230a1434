package line

import (
	"testing"
)

func who(f func(w *Who)) Who { w := NoOne; f(&w); return w }

func md(mo, d, h, m, s int8, nanos int32, e Emitter) Stamp {
	return Stamp{Kind: MonthDay, Emitter: e, Month: mo, Day: d, Hour: h, Minute: m, Second: s, Nanos: nanos}
}

func dt(y int16, mo, d, h, m, s int8, nanos int32, e Emitter) Stamp {
	return Stamp{Kind: DateTime, Emitter: e, Year: y, Month: mo, Day: d, Hour: h, Minute: m, Second: s, Nanos: nanos}
}

func zoned(s Stamp, off int16) Stamp { s.Kind, s.ZoneOffset = Zoned, off; return s }

// Forms are those of the formats reference and of public logs.
var parseCases = []struct {
	name, in, msg string
	who           Who
	stamp, outer  Stamp
	sev           byte
	form          Form
	src           string
	ln            int
}{
	{"c10 without anything", "[E ProcessGroupNCCL.cpp:821] [Rank 3] Watchdog", "[Rank 3] Watchdog", NoOne, Stamp{}, Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 821},
	{"c10 with rank", "[rank1]:[E ProcessGroupNCCL.cpp:563] [PG 1 Rank 1] x", "[PG 1 Rank 1] x", who(func(w *Who) { w.Global = 1 }), Stamp{}, Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 563},
	{"c10 with stamp keeps no fraction", "[rank12]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 3] x", "[Rank 3] x", who(func(w *Who) { w.Global = 12 }), md(6, 3, 17, 48, 1, 0, Container), Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 632},
	{"c10 in December", "[rank0]:[W1206 07:08:09.1 socket.cpp:697] [c10d] x", "[c10d] x", who(func(w *Who) { w.Global = 0 }), md(12, 6, 7, 8, 9, 0, Container), Stamp{}, 'W', C10, "socket.cpp", 697},
	{"c10 keeps the blanks of the message", "[rank0]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632]  failure", " failure", who(func(w *Who) { w.Global = 0 }), md(6, 3, 17, 48, 1, 0, Container), Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 632},
	{"glog fraction is true", "E0603 17:48:01.005271 12345 ProcessGroupNCCL.cpp:632] x", "x", who(func(w *Who) { w.Pid = 12345 }), md(6, 3, 17, 48, 1, 5271000, Container), Stamp{}, 'E', Glog, "ProcessGroupNCCL.cpp", 632},
	{"glog with the year", "I20261122 17:40:36.950467     7 logger.cpp:213] x", "x", who(func(w *Who) { w.Pid = 7 }), Stamp{Kind: DateTime, Emitter: Container, Year: 2026, Month: 11, Day: 22, Hour: 17, Minute: 40, Second: 36, Nanos: 950467000}, Stamp{}, 'I', Glog, "logger.cpp", 213},
	{"absl", "I0603 17:48:01.123456    4242 distributed.cc:12] x", "x", who(func(w *Who) { w.Pid = 4242 }), md(6, 3, 17, 48, 1, 123456000, Container), Stamp{}, 'I', Glog, "distributed.cc", 12},
	{"torchrun", "W0801 13:23:17.366000 32974 torch/distributed/elastic/multiprocessing/api.py:900] Sending", "Sending", who(func(w *Who) { w.Pid = 32974 }), md(8, 1, 13, 23, 17, 366000000, Container), Stamp{}, 'W', Glog, "torch/distributed/elastic/multiprocessing/api.py", 900},
	{"torchrun under site-packages", "E1223 05:18:02.971000 3304089 site-packages/torch/distributed/elastic/multiprocessing/api.py:882] failed", "failed", who(func(w *Who) { w.Pid = 3304089 }), md(12, 23, 5, 18, 2, 971000000, Container), Stamp{}, 'E', Glog, "site-packages/torch/distributed/elastic/multiprocessing/api.py", 882},
	{"torchrun with a dotted module and a thread id", "E0709 17:05:38.120000 140123456789012 torch.distributed.elastic.multiprocessing.api:826] failed", "failed", NoOne, md(7, 9, 17, 5, 38, 120000000, Container), Stamp{}, 'E', Glog, "torch.distributed.elastic.multiprocessing.api", 826},
	{"torchrun 2.1", "[2024-04-10 16:02:56,193] torch.distributed.elastic.multiprocessing.api: [WARNING] Sending", "Sending", NoOne, dt(2024, 4, 10, 16, 2, 56, 193000000, Container), Stamp{}, 'W', PyLog, "torch.distributed.elastic.multiprocessing.api", Unknown},
	{"determined with a rank", "[2024-02-27T21:35:34.295662Z] fa88a9df [rank=3] ||   File \"x\"", "  File \"x\"", who(func(w *Who) { w.Global = 3 }), zoned(dt(2024, 2, 27, 21, 35, 34, 295662000, Collector), 0), Stamp{}, 0, NoForm, "", Unknown},
	{"SageMaker", "[1,mpirank:3,algo-2]<stderr>:ValueError: x", "ValueError: x", who(func(w *Who) { w.MPIRank, w.Host = 3, "algo-2" }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"an error's code is no host", "EI0002: the wait timed out", "EI0002: the wait timed out", NoOne, Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"torchrun 1.13", "WARNING:torch.distributed.elastic.multiprocessing.api:Sending", "Sending", NoOne, Stamp{}, Stamp{}, 'W', PyLog, "torch.distributed.elastic.multiprocessing.api", Unknown},
	{"determined", "[2024-02-27T21:35:32.106313Z] fa88a9df || WARNING: torch.distributed.elastic.agent.server.api:Received 15", "Received 15", NoOne, zoned(dt(2024, 2, 27, 21, 35, 32, 106313000, Collector), 0), Stamp{}, 'W', PyLog, "torch.distributed.elastic.agent.server.api", Unknown},
	{"determined keeps the indent", "[2024-02-27T21:35:34.295662Z] fa88a9df ||   File \"x\"", "  File \"x\"", NoOne, zoned(dt(2024, 2, 27, 21, 35, 34, 295662000, Collector), 0), Stamp{}, 0, NoForm, "", Unknown},
	{"python exception", "[rank3]: Traceback (most recent call last):", "Traceback (most recent call last):", who(func(w *Who) { w.Global = 3 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"python frame keeps its indent", "[rank3]:   File \"a.py\", line 1, in f", "  File \"a.py\", line 1, in f", who(func(w *Who) { w.Global = 3 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"torchrun's label that looks like PyTorch's", "[rank2]:[rank6]: Traceback", "Traceback", who(func(w *Who) { w.Global, w.Local, w.Role = 6, 2, RankRole }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"whole stack", "12: [default3]:[rank99]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 1] x", "[Rank 1] x",
		who(func(w *Who) { w.Task, w.Local, w.Role, w.Global = 12, 3, "default", 99 }), md(6, 3, 17, 48, 1, 0, Container), Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 632},
	{"srun padded", "  3: hello", "hello", who(func(w *Who) { w.Task = 3 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"srun zero padded", "003: hello", "hello", who(func(w *Who) { w.Task = 3 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"srun, empty line", "3:", "", who(func(w *Who) { w.Task = 3 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"srun keeps the indent", "3:     x = 1", "    x = 1", who(func(w *Who) { w.Task = 3 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"trainer role", "[trainer0]:hi", "hi", who(func(w *Who) { w.Local, w.Role = 0, "trainer" }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"a container's name", "trainer-1  | [rank3]: Traceback (most recent call last):", "Traceback (most recent call last):", who(func(w *Who) { w.Global, w.Host = 3, "trainer-1" }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"a container's name keeps the indent", "web.1 |   File \"a.py\", line 1, in f", "  File \"a.py\", line 1, in f", who(func(w *Who) { w.Host = "web.1" }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"a pod's name, by kubectl", "[pod/gnn-worker-2/main] KeyError: 7", "KeyError: 7", who(func(w *Who) { w.Host = "gnn-worker-2" }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"a path in brackets", "[pod/x] y", "[pod/x] y", NoOne, Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"a table's row", "acc-1 | 0.93", "acc-1 | 0.93", NoOne, Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"a table's head", "Name | Type", "Name | Type", NoOne, Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"pdsh", "node1: hi there", "hi there", who(func(w *Who) { w.Host = "node1" }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"pdsh by address", "10.10.23.10: [rank8]:[E ProcessGroupNCCL.cpp:1] x", "x", who(func(w *Who) { w.Host, w.Global = "10.10.23.10", 8 }), Stamp{}, Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 1},
	{"ray", "(WorkerDict pid=3490362) [rank1]:[E1118 20:32:23.955028747 ProcessGroupNCCL.cpp:629] x", "x", who(func(w *Who) { w.RayName, w.Pid, w.Global = "WorkerDict", 3490362, 1 }), md(11, 18, 20, 32, 23, 0, Container), Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 629},
	{"ray with rank and ip", "(MegatronPolicyWorker[rank=9] pid=3098846, ip=10.65.5.217) [Rank 0] Resumed", "[Rank 0] Resumed", who(func(w *Who) { w.RayName, w.RayRank, w.Pid, w.RayIP = "MegatronPolicyWorker", 9, 3098846, "10.65.5.217" }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"ray coloured", "\x1b[36m(WorkerDict pid=34)\x1b[0m [rank1]:[E ProcessGroupNCCL.cpp:629] x", "x", who(func(w *Who) { w.RayName, w.Pid, w.Global = "WorkerDict", 34, 1 }), Stamp{}, Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 629},
	{"mpirun", "[1,3]<stderr>:[rank3]:[E ProcessGroupNCCL.cpp:629] x", "x", who(func(w *Who) { w.MPIRank, w.Global = 3, 3 }), Stamp{}, Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 629},
	{"horovodrun", "[3]<stderr>:ValueError: x", "ValueError: x", who(func(w *Who) { w.MPIRank = 3 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"mpirun 5", "[prterun-n7-77@1,13]<stderr>: x", "x", who(func(w *Who) { w.MPIRank = 13 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"collector's line number", "[80746] [rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] x", "x", who(func(w *Who) { w.Global = 0 }), md(3, 21, 2, 7, 8, 0, Container), Stamp{}, 'E', C10, "ProcessGroupNCCL.cpp", 607},
	{"shipper's clock", "18:11:06.680 [rank4]:[E205 18:11:06.375750231 ProcessGroupNCCL.cpp:1870] x", "x", who(func(w *Who) { w.Global = 4 }), md(2, 5, 18, 11, 6, 0, Container),
		Stamp{Kind: TimeOnly, Emitter: Collector, Hour: 18, Minute: 11, Second: 6, Nanos: 680000000}, 'E', C10, "ProcessGroupNCCL.cpp", 1870},
	{"shipper's RFC 3339", "2025-06-03T17:48:01.123+02:00 [rank4]:[E603 15:48:01.375750231 ProcessGroupNCCL.cpp:1870] x", "x", who(func(w *Who) { w.Global = 4 }), md(6, 3, 15, 48, 1, 0, Container),
		zoned(dt(2025, 6, 3, 17, 48, 1, 123000000, Collector), 120), 'E', C10, "ProcessGroupNCCL.cpp", 1870},
	{"milabench", "llm-full.node0 [stderr] [rank1]: RuntimeError: x", "RuntimeError: x", who(func(w *Who) { w.Global = 1 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"accelerate", "stderr: [rank1]: RuntimeError: x", "RuntimeError: x", who(func(w *Who) { w.Global = 1 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"[RANK 1] is no rank", "[RANK 1] 2026-05-19 10:10:29,701 [ERROR] boom", "boom", NoOne, dt(2026, 5, 19, 10, 10, 29, 701000000, Container), Stamp{}, 'E', PyLog, "", Unknown},
	{"nccl warn 2.26", "[2025-06-03 17:48:01] node7:4242:4300 [6] transport/net_ib.cc:2244 NCCL WARN NET/IB: Got", "NET/IB: Got", who(func(w *Who) { w.Host, w.Pid, w.CudaDev = "node7", 4242, 6 }), dt(2025, 6, 3, 17, 48, 1, 0, Container), Stamp{}, 'W', NCCLWarn, "transport/net_ib.cc", 2244},
	{"nccl warn", "mycl-g2:353236:353423 [6] transport/net_ib.cc:2244 NCCL WARN NET/IB", "NET/IB", who(func(w *Who) { w.Host, w.Pid, w.CudaDev = "mycl-g2", 353236, 6 }), Stamp{}, Stamp{}, 'W', NCCLWarn, "transport/net_ib.cc", 2244},
	{"nccl warn 2.30", "n1:1:2 [0] transport/net_ib/p2p.cc:783 (ncclIbTest) NCCL WARN x", "x", who(func(w *Who) { w.Host, w.Pid, w.CudaDev = "n1", 1, 0 }), Stamp{}, Stamp{}, 'W', NCCLWarn, "transport/net_ib/p2p.cc", 783},
	{"nccl info", "r6i4n5:37333:37333 [3] NCCL INFO Channel 00 : 3[3] -> 4[4]", "Channel 00 : 3[3] -> 4[4]", who(func(w *Who) { w.Host, w.Pid, w.CudaDev = "r6i4n5", 37333, 3 }), Stamp{}, Stamp{}, 'I', NCCLInfo, "", Unknown},
	{"nemo", "[NeMo W 2025-06-03 17:48:01 nemo_logging:381] x", "x", NoOne, dt(2025, 6, 3, 17, 48, 1, 0, Container), Stamp{}, 'W', PyLog, "nemo_logging", 381},
	{"deepspeed", "[2025-06-03 17:48:01,123] [INFO] [comm.py:637:init_distributed] cdb=None", "cdb=None", NoOne, dt(2025, 6, 3, 17, 48, 1, 123000000, Container), Stamp{}, 'I', PyLog, "comm.py", 637},
	{"deepspeed keeps [Rank 0]", "[2025-06-03 17:48:01,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=100", "[Rank 0] step=100", NoOne, dt(2025, 6, 3, 17, 48, 1, 123000000, Container), Stamp{}, 'I', PyLog, "logging.py", 96},
	{"titan", "[rank0]:[titan] 2025-06-03 17:48:01,123 - root - INFO - step: 100", "step: 100", who(func(w *Who) { w.Global = 0 }), dt(2025, 6, 3, 17, 48, 1, 123000000, Container), Stamp{}, 'I', PyLog, "root", Unknown},
	{"areal", "20250603-17:48:01.123 trainer INFO: x", "trainer INFO: x", NoOne, dt(2025, 6, 3, 17, 48, 1, 123000000, Container), Stamp{}, 0, NoForm, "", Unknown},
	{"megatron", " [2025-06-03 17:48:01] iteration     1580/  500000 | x", "iteration     1580/  500000 | x", NoOne, dt(2025, 6, 3, 17, 48, 1, 0, Container), Stamp{}, 0, NoForm, "", Unknown},
	{"huggingface", "[WARNING|trainer.py:2409] 2025-06-03 17:48:01,123 >> Num", "Num", NoOne, dt(2025, 6, 3, 17, 48, 1, 123000000, Container), Stamp{}, 'W', PyLog, "trainer.py", 2409},
	{"huggingface basic", "06/03/2025 17:48:01 - WARNING - __main__ - Process rank: 0", "Process rank: 0", NoOne, dt(2025, 6, 3, 17, 48, 1, 0, Container), Stamp{}, 'W', PyLog, "__main__", Unknown},
	{"loguru", "2025-06-03 17:48:01.123 | ERROR    | train:main:12 - boom", "boom", NoOne, dt(2025, 6, 3, 17, 48, 1, 123000000, Container), Stamp{}, 'E', PyLog, "train:main:12", Unknown},
	{"vllm", "(VllmWorker rank=3 pid=4242) ERROR 06-03 17:48:01 [multiproc_executor.py:12] boom", "boom", who(func(w *Who) { w.RayName, w.RayRank, w.Pid = "VllmWorker", 3, 4242 }), md(6, 3, 17, 48, 1, 0, Container), Stamp{}, 'E', PyLog, "multiproc_executor.py", 12},
	{"dmesg -T", "[Fri Aug 30 11:43:14 2024] NVRM: Xid", "NVRM: Xid", NoOne, dt(2024, 8, 30, 11, 43, 14, 0, Kernel), Stamp{}, 0, NoForm, "", Unknown},
	{"dmesg -T, one digit", "[Wed Mar  1 17:45:52 2023] x", "x", NoOne, dt(2023, 3, 1, 17, 45, 52, 0, Kernel), Stamp{}, 0, NoForm, "", Unknown},
	{"dmesg", "[12345.678901] NVRM", "NVRM", NoOne, Stamp{Kind: Uptime, Emitter: Kernel, Unix: 12345, Nanos: 678901000}, Stamp{}, 0, NoForm, "", Unknown},
	{"dmesg with what looks like a host", "[Wed Mar  1 17:45:52 2023] nvidia-nvswitch2: open", "nvidia-nvswitch2: open", NoOne, dt(2023, 3, 1, 17, 45, 52, 0, Kernel), Stamp{}, 0, NoForm, "", Unknown},
	{"dmesg with what looks like a level", "[Thu Mar  2 15:59:56 2023] INFO: task epilog.sh:76609 blocked", "INFO: task epilog.sh:76609 blocked", NoOne, dt(2023, 3, 2, 15, 59, 56, 0, Kernel), Stamp{}, 0, NoForm, "", Unknown},
	{"journal with what looks like a host", "Jul 09 10:42:47 node7 kernel: R13: 000055c5", "R13: 000055c5", who(func(w *Who) { w.Host = "node7" }), md(7, 9, 10, 42, 47, 0, Kernel), Stamp{}, 0, NoForm, "", Unknown},
	{"dmesg early", "[    0.000001] Linux", "Linux", NoOne, Stamp{Kind: Uptime, Emitter: Kernel, Nanos: 1000}, Stamp{}, 0, NoForm, "", Unknown},
	{"dmesg -d", "[  +0.000316] NVRM", "NVRM", NoOne, Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"journal", "Jul 09 10:42:47 node7 kernel: NVRM", "NVRM", who(func(w *Who) { w.Host = "node7" }), md(7, 9, 10, 42, 47, 0, Kernel), Stamp{}, 0, NoForm, "", Unknown},
	{"journal with uptime keeps the wall clock", "May 19 07:08:57 ip-26-0-146-100 kernel: [680111.646286] NVRM", "NVRM", who(func(w *Who) { w.Host = "ip-26-0-146-100" }), md(5, 19, 7, 8, 57, 0, Kernel), Stamp{}, 0, NoForm, "", Unknown},
	{"journal iso", "2024-08-30T11:43:14+0000 node7 kernel: NVRM", "NVRM", who(func(w *Who) { w.Host = "node7" }), zoned(dt(2024, 8, 30, 11, 43, 14, 0, Kernel), 0), Stamp{}, 0, NoForm, "", Unknown},
	{"ucx under srun", "0: [1579244743.735971] [cgpu12:56309:0]          debug.c:1076 UCX  DEBUG using signal stack", "using signal stack",
		who(func(w *Who) { w.Task, w.Host, w.Pid = 0, "cgpu12", 56309 }), Stamp{Kind: Epoch, Emitter: Container, Unix: 1579244743, Nanos: 735971000}, Stamp{}, 'V', UCX, "debug.c", 1076},
	{"open mpi", "[node7:4242] *** Process received signal ***", "*** Process received signal ***", who(func(w *Who) { w.Host, w.Pid = "node7", 4242 }), Stamp{}, Stamp{}, 0, NoForm, "", Unknown},
	{"gloo", "[/opt/gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.7]:29555", "Connection closed by peer [10.0.0.7]:29555", NoOne, Stamp{}, Stamp{}, 0, FileLine, "/opt/gloo/transport/tcp/pair.cc", 598},
	{"python two stamps", "2025-06-03 19:48:00 2025-06-03 17:48:01,123 INFO x", "x", NoOne, dt(2025, 6, 3, 17, 48, 1, 123000000, Container), dt(2025, 6, 3, 19, 48, 0, 0, Collector), 'I', PyLog, "", Unknown},
}

func TestParseReadsEveryKnownPrefix(t *testing.T) {
	for _, c := range parseCases {
		t.Run(c.name, func(t *testing.T) {
			p := Parse([]byte(c.in))
			if got := c.in[p.Len:]; got != c.msg {
				t.Errorf("message = %q, want %q", got, c.msg)
			}
			if p.Who != c.who {
				t.Errorf("who = %+v, want %+v", p.Who, c.who)
			}
			if p.Stamp != c.stamp {
				t.Errorf("stamp = %+v, want %+v", p.Stamp, c.stamp)
			}
			if p.Outer != c.outer {
				t.Errorf("outer = %+v, want %+v", p.Outer, c.outer)
			}
			if p.Severity != c.sev || p.Form != c.form || p.Source != c.src || p.SourceLn != c.ln {
				t.Errorf("header = %q %d %q %d, want %q %d %q %d", p.Severity, p.Form, p.Source, p.SourceLn, c.sev, c.form, c.src, c.ln)
			}
		})
	}
}

// A message that only resembles a prefix is left whole and blames nobody.
func TestParseLeavesMessagesAlone(t *testing.T) {
	for _, in := range []string{
		"[Rank 3] Watchdog caught collective operation timeout", "[PG 1 Rank 1] x", "[PG ID 0 PG GUID 0(default_pg) Rank 1]  failure",
		"[rank: 3] Received SIGTERM: 15", "[rank3] is here", "  what():  [Rank 1] x", "[3]:", "  rank      : 3 (local_rank: 3)",
		"[3] is setting up NCCL communicator", "slurmstepd: error: *** STEP 1.0", "srun: error: node7: task 17: Killed",
		"RuntimeError: CUDA error: x", "WARNING: could not find", "fp16: True", "step1: 3", "x1: 0.53", "loss: 2.15", "l2: 1e-05",
		"step: 100  loss:  2.1543", "{'loss': 2.15}", "[RANK 1] hello", "Traceback (most recent call last):", "[2, 3] x", "[1.5, 2.25]",
		"    [5] finished collective #1233", "(see pid=3 of x", "frame #0: c10::Error", "17:48 x", "2025-13-03 17:48:01 x", "[E1332 17:48:01.0 a.cpp:1] x",
		"[INFO] Restoring KV cache (30.00 GB) to GPU", "Error: 3", "user said \"[rank3]: boom\"", "NCCL version 2.21.5+cuda12.4", "May be wrong", "Sat down",
	} {
		if p := Parse([]byte(in)); p.Len != 0 || p.Who != NoOne || p.Stamp.Kind != NoStamp {
			t.Errorf("Parse(%q) = %+v", in, p)
		}
	}
}
