package worker

import (
	"reflect"
	"testing"

	"faultline/analysis/line"
)

func TestDesyncReport(t *testing.T) {
	obs := observe(t, `[rank3]:[E603 17:48:01.005271823 ProcessGroupNCCL.cpp:700] [PG ID 1 PG GUID 5(mesh_dp) Rank 3] 
	 - [3] Timeout at collective: ALLREDUCE, #1234
	 - To our best knowledge, the lagging/dead/mismatched ranks that caused the desync are:
	   - [0, 1] joined but didn't finish collective #1234 (count from 1)
	     [5] finished collective #1233, but didn't join collective #1234 (count from 1)
	 - Snapshot of ranks' latest states:
	   #1234 started ranks:
	     [0, 1, 2, 3] started ALLREDUCE
	   #1233 finished ranks:
	     [5] finished BROADCAST
[rank3]:[E603 17:48:01.005271825 ProcessGroupNCCL.cpp:681] [Rank 3] Some NCCL operations have failed or timed out.
`)
	if len(obs.Desyncs) != 1 {
		t.Fatalf("got %d reports: %+v", len(obs.Desyncs), obs.Desyncs)
	}
	d := obs.Desyncs[0]
	if d.Seq != 1234 || d.Reporter != 3 || !reflect.DeepEqual(d.Lagging, []int{5}) {
		t.Errorf("got %+v", d)
	}
	if d.Who().Global != 3 || d.Group != named("5", "mesh_dp", 3) {
		t.Errorf("the report stands under the line of rank 3 in mesh_dp, got %+v %+v", d.Who(), d.Group)
	}
	if obs.UnclassifiedN != 0 {
		t.Errorf("unclassified: %+v", obs.Unclassified)
	}
}

func TestDesyncReportNeverJoined(t *testing.T) {
	obs := observe(t, "\t - [0] Timeout at collective: BROADCAST, #1\n\t - To our best knowledge, ranks [5, 7] are the lagging ranks that caused this timeout. They never joined any collectives\n")
	if len(obs.Desyncs) != 1 || !reflect.DeepEqual(obs.Desyncs[0].Lagging, []int{5, 7}) || obs.Desyncs[0].Seq != 1 {
		t.Fatalf("got %+v", obs.Desyncs)
	}
	if *obs.Desyncs[0].Who() != line.NoOne || obs.Desyncs[0].Group.Known {
		t.Errorf("nobody is named, got %+v", obs.Desyncs[0])
	}
}

func TestFingerprintMismatch(t *testing.T) {
	const dev = "TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
	tests := []struct {
		name, text string
		want       Mismatch
	}{
		{"with sequence numbers", "RuntimeError: Detected mismatch between collectives on ranks. Rank 1 is running collective: CollectiveFingerPrint(SequenceNumber=5, OpType=ALLREDUCE, TensorShape=[10], TensorDtypes=Float, TensorDeviceTypes=" + dev + "), but Rank 0 is running collective: CollectiveFingerPrint(SequenceNumber=6, OpType=BROADCAST, TensorShape=[20], TensorDtypes=Float, TensorDeviceTypes=" + dev + ").Collectives differ in the following aspects: \t Sequence number: 5vs 6  Op type: ALLREDUCEvs BROADCAST  Tensor Tensor shapes: 10vs 20",
			Mismatch{RankA: 1, RankB: 0, OpA: "ALLREDUCE", OpB: "BROADCAST", SeqA: 5, SeqB: 6, TensorA: "[10] Float cuda", TensorB: "[20] Float cuda"}},
		{"without separators, without tensors", "Detected mismatch between collectives on ranks. Rank 3 is running collective: CollectiveFingerPrint(SequenceNumber=0OpType=REDUCE), but Rank 12 is running collective: CollectiveFingerPrint(SequenceNumber=0OpType=BARRIER).Collectives differ in the following aspects:   Op type: REDUCEvs BARRIER",
			Mismatch{RankA: 3, RankB: 12, OpA: "REDUCE", OpB: "BARRIER", SeqA: 0, SeqB: 0}},
		{"1.13 has no sequence number", "Detected mismatch between collectives on ranks. Rank 0 is running collective: CollectiveFingerPrint(OpType=ALLREDUCE, TensorShape=[10]), but Rank 1 is running collective: CollectiveFingerPrint(OpType=REDUCE, TensorShape=[10]).",
			Mismatch{RankA: 0, RankB: 1, OpA: "ALLREDUCE", OpB: "REDUCE", SeqA: line.Unknown, SeqB: line.Unknown, TensorA: "[10]", TensorB: "[10]"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obs := observe(t, tt.text+"\n")
			if len(obs.Mismatches) != 1 {
				t.Fatalf("got %d mismatches", len(obs.Mismatches))
			}
			got := obs.Mismatches[0]
			got.At = At{}
			if !reflect.DeepEqual(got, tt.want) {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestBarriersThatGaveUp(t *testing.T) {
	const u = line.Unknown
	tests := []struct {
		text string
		want Barrier
	}{
		{"RuntimeError: [Rank 0]: Rank 2 failed to pass monitoredBarrier in 30000 ms",
			Barrier{Kind: "monitored", Rank: 0, Absent: []int{2}, Joined: u, World: u}},
		{"[Rank 0]: Ranks 1, 3, 14 failed to pass monitoredBarrier in 30000 ms",
			Barrier{Kind: "monitored", Rank: 0, Absent: []int{1, 3, 14}, Joined: u, World: u}},
		{"Rank 3 successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.",
			Barrier{Kind: "monitored-victim", Rank: 3, Joined: u, World: u}},
		{"[rank5]: RuntimeError: Rank 5 timed out in monitoredBarrier after 30000 ms.",
			Barrier{Kind: "monitored", Rank: 5, Joined: u, World: u}},
		{"RuntimeError: Timed out initializing process group in store based barrier on rank: 3, for key: store_based_barrier_key:1 (world_size=16, worker_count=15, timeout=0:30:00)",
			Barrier{Kind: "store", Rank: 3, Joined: 15, World: 16}},
		{"torch.distributed.DistStoreError: Timed out initializing process group in store based barrier on rank 3, for key: store_based_barrier_key:1 (world_size=16, num_workers_joined=15, timeout=1 day, 0:00:30 error=x)",
			Barrier{Kind: "store", Rank: 3, Joined: 15, World: 16}},
		{"Waiting in store based barrier to initialize process group for 10 secondsrank: 3, key: store_based_barrier_key:1 (world_size=4, num_workers_joined=2, timeout=0:30:00)",
			Barrier{Kind: "store-waiting", Rank: 3, Joined: 2, World: 4}},
		{"torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 8/16 clients joined.",
			Barrier{Kind: "store", Rank: u, Joined: 8, World: 16}},
	}
	for _, tt := range tests {
		obs := observe(t, tt.text+"\n")
		if len(obs.Barriers) != 1 {
			t.Errorf("%s\ngot %d barriers", tt.text, len(obs.Barriers))
			continue
		}
		got := obs.Barriers[0]
		got.At = At{}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%s\ngot  %+v\nwant %+v", tt.text, got, tt.want)
		}
	}
}
