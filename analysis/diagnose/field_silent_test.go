package diagnose

import (
	"fmt"
	"maps"
	"strings"
	"testing"
)

// Transfers to a node that fell silent before them fail as over a broken link do, and with it as an end of that link the node had told.
func TestALinkToANodeThatFellSilent(t *testing.T) {
	node := func(n int, tail string) string {
		var b strings.Builder
		for s := range 30 {
			fmt.Fprintf(&b, "2025-09-17 05:%02d:00 z%d rank %d step %d loss 2.1\n", s, n, n*8, s)
		}
		for r := range 8 {
			fmt.Fprintf(&b, "z%d:%d:%d [%d] NCCL INFO ncclCommInitRank comm 0x%d rank %d nranks 24 cudaDev %d nvmlDev %d busId %d000 commId 0x5d - Init COMPLETE\n", n, 40+r, 40+r, r, 900+r, n*8+r, r, r, r+1)
		}
		return b.String() + tail
	}
	failed := func(n int) string {
		return fmt.Sprintf("[rank%d]:[E917 05:33:00.5 ProcessGroupNCCL.cpp:552] [Rank %d] Collective WorkNCCL(SeqNum=211, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) raised the following async exception: NCCL error: remote process exited or there was a network error, NCCL version 2.21.5\n"+
			"ncclRemoteError: A call failed possibly due to a network error or a remote process exiting prematurely.\nLast error:\nNET/IB: Got completion from peer 10.1.3.9<41231> with status=12 opcode=0 len=0 vendor err 129 (Recv) hca mlx5_0\n", n*8, n*8)
	}
	ended := "[rank17]:[W917 05:33:09.5 TCPStore.cpp:125] [c10d] recvValue failed on SocketImpl(fd=71, addr=[z2]:5122, remote=[z0]:29500): failed to recv, got 0 bytes\n"
	all := map[string]string{"z0.log": node(0, failed(0)), "z1.log": node(1, failed(1)), "z2.log": node(2, "")}
	alive := maps.Clone(all)
	alive["z2.log"] = node(2, ended)
	pair := maps.Clone(all)
	delete(pair, "z1.log")
	for _, c := range []fieldCase{
		{"the third says nothing", all, []string{"link-error", "node-failure"}, "-"},
		{"the third lives", alive, []string{"link-error"}, ""},
		{"of two, one says nothing", pair, []string{"link-error"}, ""},
	} {
		c.check(t)
	}
}
