package worker

import "testing"

func TestNCCLWarnNamesItsPeer(t *testing.T) {
	tests := []struct{ text, peer string }{
		{"node-7:4242:4300 [3] transport/net_ib.cc:1100 NCCL WARN NET/IB : Got completion from peer 10.1.2.3<4791> with status=12 opcode=0 len=0 vendor err 129 (Send) localGid ::ffff:10.0.0.1 remoteGids::ffff:10.0.0.2 hca mlx5_3", "10.1.2.3"},
		{"[2025-06-03 17:48:01] node-7:4242:4300 [3] transport/net_ib/p2p.cc:783 (ncclIbTest) NCCL WARN NET/IB: Got completion from peer 10.1.2.3<4791> with status=IBV_WC_RETRY_EXC_ERR(12) opcode=IBV_WC_SEND(0) vendor_err=129", "10.1.2.3"},
		{"node-7:4242:4300 [3] [p2p.cc:783](https://p2p.cc:783/) NCCL WARN NET/IB: Got completion from peer 10.1.2.3<4791> with status=12", "10.1.2.3"},
		{"node-7:4242:4300 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node-9.cluster.example<51159>", "node-9.cluster.example"},
		{"node-7:4242:4300 [0] misc/socket.cc:49 NCCL WARN socketProgressOpt: Call to recv from 10.0.0.2<34567> failed : Connection reset by peer", "10.0.0.2"},
		{"node-7:4242:4300 [0] misc/socket.cc:49 NCCL WARN socketPollConnect: connect to 10.0.0.2<40001> returned Connection refused, exceeded error retry count after 35 attempts", "10.0.0.2"},
		{"node-7:4242:4300 [0] transport/net_socket.cc:488 NCCL WARN NET/Socket : peer 10.0.5.194<41988> message truncated : receiving 4 bytes instead of 2.", "10.0.5.194"},
		{"node-7:4242:4300 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'", ""},
		{"node-7:4242:4300 [3] init.cc:290 NCCL WARN Bootstrap : Using eth0:10.0.0.1<0>", ""},
	}
	for _, tt := range tests {
		obs := observe(t, "\n"+tt.text+"\n")
		if len(obs.NCCLWarns) != 1 {
			t.Errorf("%s\ngot %d warnings", tt.text, len(obs.NCCLWarns))
			continue
		}
		w := obs.NCCLWarns[0]
		if w.Peer != tt.peer {
			t.Errorf("%s\ngot peer %q", tt.text, w.Peer)
		}
		if w.Who().Host != "node-7" || w.Who().Pid != 4242 {
			t.Errorf("%s\ngot writer %+v", tt.text, w.Who())
		}
	}
}

func TestCommunicatorLinesOfEveryVersion(t *testing.T) {
	const pre = "node-7:4242:4300 [3] NCCL INFO "
	tests := []struct {
		text string
		want CommInit
	}{
		{"comm 0x55aa rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x9a3c - Init START",
			CommInit{BusID: "5d000", Rank: 3, NRanks: 16}},
		{"ncclCommInitRank comm 0x55aa rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x9a3c - Init COMPLETE",
			CommInit{BusID: "5d000", Rank: 3, NRanks: 16}},
		{"ncclCommSplit comm 0x55aa rank 0 nranks 2 cudaDev 3 nvmlDev 3 busId 5d000 parent 0x77 splitCount 1 color 4 key 3- Init START",
			CommInit{BusID: "5d000", Rank: 0, NRanks: 2}},
		{"comm 0x55aa rank 3 nranks 16 cudaDev 3 busId 5d000 - Abort COMPLETE",
			CommInit{BusID: "5d000", Rank: 3, NRanks: 16}},
		{"comm 0x55aa rank 3 nranks 16 cudaDev 3 busId 5d000 - Destroy COMPLETE",
			CommInit{BusID: "5d000", Rank: 3, NRanks: 16}},
	}
	for _, tt := range tests {
		obs := observe(t, pre+tt.text+"\n")
		if len(obs.CommInits) != 1 {
			t.Errorf("%s\ngot %d", tt.text, len(obs.CommInits))
			continue
		}
		got := obs.CommInits[0]
		got.At = At{}
		if got != tt.want {
			t.Errorf("%s\ngot  %+v\nwant %+v", tt.text, got, tt.want)
		}
	}
}

// What NCCL says of networks and addresses is gathered on the way; where it prints its calls, the file is read once more instead.
func TestWhatNCCLSaysBesidesCallsIsGatheredOnTheWay(t *testing.T) {
	const pre = "node-7:4242:4300 [3] NCCL INFO "
	text := "NCCL version 2.21.5+cuda12.4\n" + pre + "Bootstrap : Using eth0:10.0.0.7<0>\n" + pre + "Using network IB\n" +
		pre + "ncclCommInitRank comm 0x55aa rank 3 nranks 16 cudaDev 3 nvmlDev 3 busId 5d000 commId 0x9a3c - Init COMPLETE\nstep 1\n"
	got := observe(t, text).NCCL
	if len(got) != 1 || len(got[0].Procs) != 1 {
		t.Fatalf("gathered %+v", got)
	}
	p := got[0].Procs[0]
	if got[0].Version != "2.21.5+cuda12.4" || len(p.Networks) != 1 || p.Networks[0].Text != "IB" || len(p.Addrs) != 1 || p.Addrs[0].IP != "10.0.0.7" || len(p.Comms) != 1 {
		t.Errorf("gathered %+v of %+v", p, got[0])
	}
	if at := p.Networks[0].At; at.Line != 3 || text[at.Off:at.Off+int64(at.Len)] != pre+"Using network IB" {
		t.Errorf("the network is said at %+v", at)
	}
	call := pre + "AllReduce: opCount 1f sendbuff 0x7f recvbuff 0x7f count 4 datatype 7 op 0 root 0 comm 0x55aa [nranks=16] stream 0x1\n"
	if got := observe(t, text+call).NCCL; got != nil {
		t.Errorf("calls are counted although lines may be missing: %+v", got)
	}
	if got := observe(t, pre+"Bootstrap : Using eth0:10.0.0.7<0>\n").NCCL; got != nil {
		t.Errorf("gathered of a file that names no communicator: %+v", got)
	}
}
