package worker

import (
	"context"
	"strings"
	"sync"
	"testing"

	"faultline/analysis/line"
)

// scanner is built once: it is immutable, and building it costs more than reading a small file.
var scanner = sync.OnceValues(NewScanner)

// observe reads a text as one file.
func observe(t testing.TB, text string) *Observations {
	t.Helper()
	sc, err := scanner()
	if err != nil {
		t.Fatal(err)
	}
	obs, err := Read(context.Background(), "file.log", strings.NewReader(text), sc)
	if err != nil {
		t.Fatal(err)
	}
	checkPlaces(t, text, obs)
	return obs
}

func named(guid, desc string, rank int) GroupRef {
	return GroupRef{Known: true, GUID: guid, Desc: desc, Rank: rank}
}

func TestWatchdogTimeoutOfEveryVersion(t *testing.T) {
	const u = line.Unknown
	tests := []struct {
		name, text string
		global     int
		sticky     int
		work       Work
	}{
		{"1.13", "[E ProcessGroupNCCL.cpp:821] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=12, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1802710 milliseconds before timing out.",
			u, 3, Work{12, "ALLREDUCE", u, u, 1800000, 1802710}},
		{"1.12 without sequence number", "[E ProcessGroupNCCL.cpp:587] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(OpType=BROADCAST, Timeout(ms)=1800000) ran for 1808499 milliseconds before timing out.",
			u, 0, Work{u, "BROADCAST", u, u, 1800000, 1808499}},
		{"2.1 behind a progress bar", "Epoch 0:   6%|██   | 32040/500150 [6:28:43<94:39:17,  1.37it/s, loss=2.6][E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=96120, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 25624887 milliseconds before timing out.",
			u, 0, Work{96120, "ALLREDUCE", u, u, 1800000, 25624887}},
		{"2.1.x with sizes", "[E ProcessGroupNCCL.cpp:475] [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=880, OpType=BROADCAST, NumelIn=131137536, NumelOut=131137536, Timeout(ms)=1800000) ran for 1800135 milliseconds before timing out.",
			u, 2, Work{880, "BROADCAST", 131137536, 131137536, 1800000, 1800135}},
		{"2.3", "[rank1]:[E ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=313, OpType=_ALLGATHER_BASE, NumelIn=262668288, NumelOut=525336576, Timeout(ms)=600000) ran for 600010 milliseconds before timing out.",
			1, 1, Work{313, "_ALLGATHER_BASE", 262668288, 525336576, 600000, 600010}},
		{"2.7 with a sticky rank of another group", "[rank12]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=466119168, NumelOut=466119168, Timeout(ms)=600000) ran for 600060 milliseconds before timing out.",
			12, 3, Work{1580, "ALLREDUCE", 466119168, 466119168, 600000, 600060}},
		{"srun, torchrun and c10 prefixes", "12: [default3]:[rank99]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.",
			99, 1, Work{7, "ALLREDUCE", 1, 1, 600000, 600001}},
		{"ANSI colours", "\x1b[31m[rank4]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 4] Watch\x1b[0mdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out.\x1b[0m",
			4, 4, Work{7, "ALLREDUCE", 1, 1, 600000, 600001}},
		{"cut in the middle of a number", "[rank1]:[E ProcessGroupNCCL.cpp:563] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=313, OpType=_ALLGATHER_BASE, NumelIn=2626",
			1, 1, Work{313, "_ALLGATHER_BASE", u, u, u, u}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			end := "\n"
			if strings.HasPrefix(tt.name, "cut") {
				end = ""
			}
			obs := observe(t, tt.text+end)
			if len(obs.Timeouts) != 1 {
				t.Fatalf("got %d timeouts, want 1", len(obs.Timeouts))
			}
			got := obs.Timeouts[0]
			if got.Work != tt.work || got.Sticky != tt.sticky || got.Who().Global != tt.global {
				t.Errorf("got rank %d sticky %d %+v", got.Who().Global, got.Sticky, got.Work)
			}
			if got.Form != "error" || got.Group.Known {
				t.Errorf("form %q group %+v: the error line names no group", got.Form, got.Group)
			}
			if obs.UnclassifiedN != 0 {
				t.Errorf("unclassified: %+v", obs.Unclassified)
			}
		})
	}
}

func TestFormOfACopiedTimeout(t *testing.T) {
	const work = "Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600001 milliseconds before timing out."
	tests := []struct {
		name, text, form string
		group            GroupRef
		sticky           int
	}{
		{"terminated watchdog has the true group", "[rank9]:[E318 08:49:08.969150748 ProcessGroupNCCL.cpp:2057] [PG ID 4 PG GUID 45 Rank 1] Process group watchdog thread terminated with exception: [Rank 0] " + work,
			"terminated", named("45", "", 1), 0},
		{"2.4", "[rank5]:[E926 11:10:13.2 ProcessGroupNCCL.cpp:1515] [PG 3 Rank 5] Process group watchdog thread terminated with exception: [Rank 5] " + work,
			"terminated", named("3", "", 5), 5},
		{"2.1 names no group", "[E ProcessGroupNCCL.cpp:915] [Rank 2] NCCL watchdog thread terminated with exception: [Rank 2] " + work,
			"terminated", noGroup, 2},
		{"what()", "  what():  [PG ID 0 PG GUID 0(default_pg) Rank 7] Process group watchdog thread terminated with exception: [Rank 7] " + work,
			"what", named("0", "default_pg", 7), 7},
		{"three processes' what() glued", "  what():    what():    what():  [PG 0 (default_pg) Rank 2] Process group watchdog thread terminated with exception: [Rank 2] " + work,
			"what", named("0", "default_pg", 2), 2},
		{"≤ 2.0 what()", "  what():  [Rank 1] " + work, "what", noGroup, 1},
		{"main thread", "[rank3]: torch.distributed.DistBackendError: [Rank 3] " + work, "python", noGroup, 3},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obs := observe(t, tt.text+"\n")
			if len(obs.Timeouts) != 1 {
				t.Fatalf("got %d timeouts, want 1", len(obs.Timeouts))
			}
			got := obs.Timeouts[0]
			if got.Form != tt.form || got.Group != tt.group || got.Sticky != tt.sticky || got.Work.Seq != 2 {
				t.Errorf("got form %q group %+v sticky %d seq %d", got.Form, got.Group, got.Sticky, got.Work.Seq)
			}
		})
	}
}

func TestBlockingWaitTimeout(t *testing.T) {
	for _, tail := range []string{"(NCCL_BLOCKING_WAIT=1).", "(TORCH_NCCL_BLOCKING_WAIT=1).", ""} {
		obs := observe(t, "RuntimeError: [Rank 1] Work WorkNCCL(SeqNum=5, OpType=ALLREDUCE, Timeout(ms)=60000) timed out in blocking wait "+tail+"\n")
		if len(obs.Timeouts) != 1 || obs.Timeouts[0].Form != "blocking" || obs.Timeouts[0].Work.Seq != 5 || obs.Timeouts[0].Sticky != 1 {
			t.Errorf("tail %q: %+v", tail, obs.Timeouts)
		}
	}
}

func TestWatchdogState(t *testing.T) {
	tests := []struct {
		name, text string
		want       State
	}{
		{"2.3", "[rank0]:[E ProcessGroupNCCL.cpp:1537] [PG 1 Rank 0] Timeout at NCCL work: 315, last enqueued NCCL work: 316, last completed NCCL work: 314.",
			State{Group: named("1", "", 0), Work: 315, Enqueued: 316, Completed: 314, Form: "timeout-at"}},
		{"2.4 with description", "[rank2]:[E1206 01:02:03.000000001 ProcessGroupNCCL.cpp:1664] [PG 0 (default_pg) Rank 2] Exception (either an error or timeout) detected by watchdog at work: 1580, last enqueued NCCL work: 1582, last completed NCCL work: 1579.",
			State{Group: named("0", "default_pg", 2), Work: 1580, Enqueued: 1582, Completed: 1579, Form: "exception-detected"}},
		{"2.5", "[rank1]:[E626 06:24:44.906457629 ProcessGroupNCCL.cpp:1785] [PG ID 0 PG GUID 0(default_pg) Rank 1] Exception (either an error or timeout) detected by watchdog at work: 808, last enqueued NCCL work: 811, last completed NCCL work: 807.",
			State{Group: named("0", "default_pg", 1), Work: 808, Enqueued: 811, Completed: 807, Form: "exception-detected"}},
		{"2.6 without description", "[rank1]:[E626 06:24:44.906457629 ProcessGroupNCCL.cpp:2168] [PG ID 2 PG GUID 17 Rank 1]  failure detected by watchdog at work sequence id: 1 PG status: last enqueued work: 1, last completed work: -1",
			State{Group: named("17", "", 1), Work: 1, Enqueued: 1, Completed: -1, Form: "failure-detected"}},
		{"a description with blanks and a hash for a name", "[rank1]:[E626 06:24:44.906457629 ProcessGroupNCCL.cpp:2168] [PG ID 2 PG GUID a1b2:c3(mesh dp Rank x) Rank 11]  failure detected by watchdog at work sequence id: 9 PG status: last enqueued work: 10, last completed work: 8",
			State{Group: named("a1b2:c3", "mesh dp Rank x", 11), Work: 9, Enqueued: 10, Completed: 8, Form: "failure-detected"}},
		{"CRLF", "[rank1]:[E626 06:24:44.906457629 ProcessGroupNCCL.cpp:2168] [PG ID 2 PG GUID 17 Rank 1]  failure detected by watchdog at work sequence id: 1 PG status: last enqueued work: 1, last completed work: 20\r",
			State{Group: named("17", "", 1), Work: 1, Enqueued: 1, Completed: 20, Form: "failure-detected"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obs := observe(t, tt.text+"\n")
			if len(obs.States) != 1 {
				t.Fatalf("got %d states, want 1", len(obs.States))
			}
			got := obs.States[0]
			got.At = At{}
			if got != tt.want {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestACutStateIsNoState(t *testing.T) {
	const whole = "[rank1]:[E626 06:24:44.906457629 ProcessGroupNCCL.cpp:2168] [PG ID 2 PG GUID 17 Rank 1]  failure detected by watchdog at work sequence id: 21 PG status: last enqueued work: 21, last completed work: 20"
	from := strings.Index(whole, "sequence id:")
	for n := from; n <= len(whole); n++ {
		obs := observe(t, whole[:n])
		if len(obs.States) != 0 {
			t.Fatalf("cut after %q: a state %+v whose last digits may be missing", whole[:n], obs.States[0])
		}
		if n > from+len("sequence id:") && (len(obs.Signals) != 1 || obs.Signals[0].Kind != SignalFired) {
			t.Fatalf("cut after %q: the watchdog fired, got %+v", whole[:n], obs.Signals)
		}
	}
}

func TestDumpSignal(t *testing.T) {
	const tail = "This is most likely caused by incorrect usages of collectives, e.g., wrong sizes used across ranks"
	tests := []struct {
		name, text string
		want       Dump
	}{
		{"2.4 local", "[rank2]:[E1 ProcessGroupNCCL.cpp:1300] [PG 0 (default_pg) Rank 2] Received a dump signal from this local rank and will start to dump the debug info. Last enqueued NCCL work: 5, last completed NCCL work: 4.",
			Dump{Group: named("0", "default_pg", 2), Local: true, From: -1, Enqueued: 5, Completed: 4}},
		{"2.4 global", "[PG 0 (default_pg) Rank 2] Received a global dump signal from rank 3, and will start to dump the debug info. Last enqueued NCCL work: 5, last completed NCCL work: 5.",
			Dump{Group: named("0", "default_pg", 2), From: 3, Enqueued: 5, Completed: 5}},
		{"2.7 local", "[rank0]:[E709 17:05:38.482119928 ProcessGroupNCCL.cpp:1746] [PG ID 0 PG GUID 0(default_pg) Rank 0] Received a dump signal due to a collective timeout from this local rank and we will try our best to dump the debug info. Last enqueued NCCL work: 20589, last completed NCCL work: 20584." + tail,
			Dump{Group: named("0", "default_pg", 0), Local: true, From: -1, Enqueued: 20589, Completed: 20584}},
		{"2.7 from a rank, two blanks", "[rank6]:[E703 21:51:54.112142364 ProcessGroupNCCL.cpp:1987] [PG ID 0 PG GUID 0(default_pg) Rank 6] Received a dump signal due to a collective timeout from  rank 7 and we will try our best to dump the debug info. Last enqueued NCCL work: -1, last completed NCCL work: -1." + tail,
			Dump{Group: named("0", "default_pg", 6), From: 7, Enqueued: -1, Completed: -1}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obs := observe(t, tt.text+"\n")
			if len(obs.Dumps) != 1 {
				t.Fatalf("got %d dumps, want 1", len(obs.Dumps))
			}
			got := obs.Dumps[0]
			got.At = At{}
			if got != tt.want {
				t.Errorf("got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestSignals(t *testing.T) {
	const pg = "[rank1]:[E810 03:04:11.063313477 ProcessGroupNCCL.cpp:1794] [PG ID 0 PG GUID 0(default_pg) Rank 1] "
	tests := []struct {
		text, kind string
		n          int64
	}{
		{pg + "Observed flight recorder dump signal from another rank via TCPStore.", SignalObserved, -1},
		{pg + "First PG on this rank detecting the dump signal through tcpstore.", SignalObserved, -1},
		{pg + "First PG on this rank to signal dumping.", SignalFirst, -1},
		{pg + "First watchdog to set the dump signal.", SignalFirst, -1},
		{pg + "First PG on this rank that detected no heartbeat of its watchdog.", SignalHeartbeat, -1},
		{pg + "Heartbeat monitor timed out! Process will be terminated after dumping debug info. workMetaList_.size()=4", SignalHeartbeat, -1},
		{pg + "ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives.", SignalStuck, 480},
		{pg + "Could not acquire GIL within 300 ms on exit, possible GIL induced hang", SignalGIL, -1},
		{pg + " remote error detected from rank: 5", SignalRemote, 5},
		{pg + `Failed to check the "should dump" flag on TCPStore, (maybe TCPStore server has shut down too early), with error: Broken pipe`, SignalStoreGone, -1},
		{pg + "Terminating the process after attempting to dump debug info, due to collective timeout or exception.", SignalTerminate, -1},
		{"[rank1]:[E ProcessGroupNCCL.cpp:583] [Rank 1] To avoid data inconsistency, we are taking the entire process down.", SignalTakingDown, -1},
		{"[E ProcessGroupNCCL.cpp:341] Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA kernels, subsequent GPU operations might run on corrupted/incomplete data. To avoid this inconsistency, we are taking the entire process down.", SignalTakingDown, -1},
		{"[Rank 2] Collective WorkNCCL(SeqNum=44, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5", SignalAsync, 44},
	}
	for _, tt := range tests {
		obs := observe(t, tt.text+"\n")
		if len(obs.Signals) != 1 || obs.Signals[0].Kind != tt.kind || obs.Signals[0].N != tt.n {
			t.Errorf("%s\ngot %+v", tt.text, obs.Signals)
		}
		if obs.UnclassifiedN != 0 {
			t.Errorf("unclassified: %s", tt.text)
		}
	}
}

func TestStackOfTheFailedCollective(t *testing.T) {
	obs := observe(t, `[rank3]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:664] Stack trace of the failed collective: 
#0 all_reduce from /opt/torch/distributed/distributed_c10d.py:2501
#1 train step from /job/train.py:88

[rank3]:[E603 17:48:01.005271824 ProcessGroupNCCL.cpp:681] [Rank 3] Some NCCL operations have failed or timed out.
`)
	if len(obs.Stacks) != 1 || len(obs.Stacks[0].Frames) != 2 || obs.Stacks[0].Who().Global != 3 {
		t.Fatalf("got %+v", obs.Stacks)
	}
	if f := obs.Stacks[0].Frames[1]; f != (Frame{"/job/train.py", 88, "train step"}) {
		t.Errorf("got %+v", f)
	}
}

func TestHardWrappedLinesAreJoined(t *testing.T) {
	const whole = "  what():  [PG ID 0 PG GUID 0(default_pg) Rank 2] Process group watchdog thread terminated with exception: [Rank 2] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4, OpType=BROADCAST, NumelIn=112, NumelOut=112, Timeout(ms)=1800000) ran for 1800010 milliseconds before timing out."
	for width := 100; width <= 240; width++ {
		var wrapped strings.Builder
		for i := 0; i < len(whole); i += width {
			wrapped.WriteString(whole[i:min(i+width, len(whole))] + "\n")
		}
		// A wrap in the middle of "Watchdog caught" or of what announces it hides the literal; every other is undone.
		first := whole[:width]
		if i := strings.Index(whole, "Watchdog caught"); width > i && width < i+len("Watchdog caught") ||
			!strings.Contains(first, "terminated with exception:") && !strings.Contains(whole[width:], "Watchdog caught") {
			continue
		}
		obs := observe(t, "before\n"+wrapped.String()+"Exception raised from checkTimeout at /pytorch/f.cpp:632 (most recent call first):\n")
		if len(obs.Timeouts) != 1 {
			t.Fatalf("width %d: got %d timeouts", width, len(obs.Timeouts))
		}
		got := obs.Timeouts[0]
		if got.Work != (Work{4, "BROADCAST", 112, 112, 1800000, 1800010}) {
			t.Errorf("width %d: got %+v", width, got.Work)
		}
		if strings.Contains(first, "terminated with exception:") && (got.Form != "what" || got.Group != named("0", "default_pg", 2) || got.Line != 2) {
			t.Errorf("width %d: form %q group %+v line %d", width, got.Form, got.Group, got.Line)
		}
	}
}

// The heartbeat monitor's last words are joined wherever the wrap falls behind "watchdog got".
func TestTheHeartbeatMonitorsLastWordsAreJoined(t *testing.T) {
	const said = "[rank45]:[E1227 02:57:48.266160735 ProcessGroupNCCL.cpp:1743] [PG ID 0 PG GUID 0(default_pg) Rank 45] ProcessGroupNCCL's watchdog got stuck for 480 seconds without making progress in monitoring enqueued collectives."
	begin := strings.Index(said, "watchdog got") + len("watchdog got")
	for width := begin; width <= strings.Index(said, " without"); width++ {
		obs := observe(t, "before\n"+said[:width]+"\n"+said[width:]+"\nafter\n")
		if len(obs.Signals) != 1 || obs.Signals[0].Kind != SignalStuck || obs.Signals[0].N != 480 || obs.Signals[0].Line != 2 {
			t.Errorf("width %d: %+v", width, obs.Signals)
		}
	}
	if obs := observe(t, "[rank4]: the watchdog got\nstuck in traffic\n"); len(obs.Signals) != 0 {
		t.Errorf("%+v", obs.Signals)
	}
}

func TestATruncatedLineIsNotJoinedWithAnotherRanks(t *testing.T) {
	obs := observe(t, `[rank0]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALL
[rank4]:[E321 02:07:08.414640780 ProcessGroupNCCL.cpp:607] [Rank 4] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1581, OpType=ALLGATHER, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600067 milliseconds before timing out.
`)
	if len(obs.Timeouts) != 2 || obs.Timeouts[0].Work.Op != "" || obs.Timeouts[1].Who().Global != 4 || obs.Timeouts[1].Work.Seq != 1581 {
		t.Errorf("got %+v", obs.Timeouts)
	}
}

func TestRayRepetitionIsKept(t *testing.T) {
	obs := observe(t, "(W pid=12) [rank9]:[E129 16:38:47.714884178 ProcessGroupNCCL.cpp:2573] [PG ID 5 PG GUID 37(T) Rank 1] First PG on this rank to signal dumping. [repeated 14x across cluster]\n")
	if len(obs.Signals) != 1 || obs.Signals[0].Repeated != 14 {
		t.Errorf("got %+v", obs.Signals)
	}
}

func TestNumbersThatLackDigitsAreNotStated(t *testing.T) {
	const pre = "[rank1]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=466, NumelOut=466, Timeout(ms)=600000) ran for 600060 milliseconds before timing out."
	for n := strings.Index(pre, "WorkNCCL("); n <= len(pre); n++ {
		for _, end := range []string{"", "...", " |", "[rank2]:[E603"} {
			obs := observe(t, pre[:n]+end+"\nnext\n")
			if len(obs.Timeouts) == 0 {
				t.Fatalf("%q: no timeout", pre[:n]+end)
			}
			w := obs.Timeouts[0].Work
			if w.Seq != 1580 && w.Seq != line.Unknown || w.Op != "ALLREDUCE" && w.Op != "" || w.NumelIn != 466 && w.NumelIn != line.Unknown ||
				w.NumelOut != 466 && w.NumelOut != line.Unknown || w.TimeoutMS != 600000 && w.TimeoutMS != line.Unknown || w.RanForMS != 600060 && w.RanForMS != line.Unknown {
				t.Errorf("%q: %+v", pre[:n]+end, w)
			}
		}
	}
	const state = "[rank1]:[E603 17:48:01.005538748 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank 1]  failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1591, last completed work: 1579"
	for n := strings.Index(state, "id: "); n <= len(state); n++ {
		for _, end := range []string{"", "...", "[rank2]:[E603"} {
			for _, s := range observe(t, state[:n]+end+"\nnext\n").States {
				if s.Work != 1580 || s.Enqueued != 1591 || s.Completed != 1579 {
					t.Errorf("%q: %+v", state[:n]+end, s)
				}
			}
		}
	}
}
