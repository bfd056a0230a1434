package nccl

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
)

const pre = "gpu01:4242:4300 [3] NCCL INFO "

func read(t testing.TB, text string) *Log {
	t.Helper()
	l, err := Read(context.Background(), "x.log", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCallsAreCountedAndTheirCounterIsHexadecimal(t *testing.T) {
	const start = pre + "comm 0x55aa rank 3 nranks 16 cudaDev 3 busId 5d000 commId 0x9a3c - Init START\n"
	tests := []struct {
		name, text string
		want       Call
		p2p        int64
	}{
		{"as NCCL prints it", pre + "AllReduce: opCount 1f sendbuff 0x7f recvbuff 0x7e count 466119168 datatype 9 op 0 root 0 comm 0x55aa [nranks=16] stream 0x1\n",
			Call{N: 1, OpCount: 0x1f, Count: 466119168, Datatype: 9, Op: "AllReduce"}, 0},
		{"as RCCL prints it", pre + "AllReduce: opCount a sendbuff 0x79 recvbuff 0x79 acc (nil) count 1 datatype 7 op 0 root 0 comm 0x55aa [nranks=16] stream (nil) task 0 globalrank 5\n",
			Call{N: 1, OpCount: 10, Count: 1, Datatype: 7, Op: "AllReduce"}, 0},
		{"with a root, behind labels", "7: [rank3]: " + pre + "Broadcast: opCount 0 sendbuff 0x7f recvbuff 0x7e count 8 datatype 1 op 0 root 12 comm 0x55aa [nranks=16] stream 0x1\n",
			Call{N: 1, Count: 8, Datatype: 1, Root: 12, Op: "Broadcast"}, 0},
		{"what is sent is counted apart", pre + "Send: opCount 2 sendbuff 0x7f recvbuff (nil) count 8 datatype 1 op 0 root 1 comm 0x55aa [nranks=16] stream 0x1\n" +
			pre + "AllGather: opCount 2 sendbuff 0x7f recvbuff 0x7e count 8 datatype 1 op 0 root 0 comm 0x55aa [nranks=16] stream 0x1\n",
			Call{N: 1, OpCount: 2, Count: 8, Datatype: 1, Op: "AllGather"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			l := read(t, start+tt.text)
			if len(l.Procs) != 1 || len(l.Procs[0].Comms) != 1 {
				t.Fatalf("%+v", l)
			}
			c := l.Procs[0].Comms[0]
			got := c.Last()
			if got == nil {
				t.Fatal("no call")
			}
			g := *got
			g.At = At{}
			if g != tt.want || c.P2P != tt.p2p || c.Rank != 3 || c.NRanks != 16 || !c.Whole() {
				t.Errorf("got %+v of %+v, want %+v", g, c, tt.want)
			}
		})
	}
}

func TestAPointerThatBeginsAnewIsAnotherCommunicator(t *testing.T) {
	init := pre + "comm 0x55aa rank 3 nranks 16 cudaDev 3 busId 5d000 - Init COMPLETE\n"
	call := pre + "AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x7e count 8 datatype 9 op 0 root 0 comm 0x55aa [nranks=16] stream 0x1\n"
	p := read(t, init+call+call+pre+"comm 0x55aa rank 3 nranks 16 cudaDev 3 busId 5d000 - Destroy COMPLETE\n"+init+call).Procs[0]
	if len(p.Comms) != 2 || p.Comms[0].Calls != 2 || p.Comms[1].Calls != 1 {
		t.Errorf("%+v", p.Comms)
	}
}

func TestALogThatEndsInALineOrIsInPiecesSaysSo(t *testing.T) {
	call := pre + "AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x7e count 8 datatype 9 op 0 root 0 comm 0x55aa [nranks=16] stream 0x1"
	tests := []struct {
		name, text string
		clean      bool
		torn       int
	}{
		{"whole", call + "\n" + call + "\n", true, 0},
		{"ends within a line", call + "\n" + call[:90], false, 0},
		{"two lines in one", call[:70] + call + "\n" + call[70:] + "\n", true, 2},
		{"the tail of a line alone", call + "\n" + call[100:] + "\n", true, 1},
		{"an operation and nothing more", pre + "AllReduce: opCo\n" + call + "\n", true, 1},
	}
	for _, tt := range tests {
		if l := read(t, tt.text); l.Clean != tt.clean || l.Torn != tt.torn {
			t.Errorf("%s: clean %v, torn %d", tt.name, l.Clean, l.Torn)
		}
	}
}

func TestOnlyALaterLineProvesThatALogGoesOn(t *testing.T) {
	call := pre + "AllReduce: opCount 0 sendbuff 0x7f recvbuff 0x7e count 8 datatype 9 op 0 root 0 comm 0x55aa [nranks=16] stream 0x1\n"
	for text, want := range map[string]bool{
		call: false,
		call + pre + "comm 0x55aa rank 3 nranks 16 cudaDev 3 busId 5d000 - Abort COMPLETE\n":                                       true,
		call + "\ngpu01:4242:4300 [3] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer gpu02<51159>\n": true,
		call + pre + "Connected all rings\n": false,
		call + pre + "comm 0x55aa rank 3 nranks 16 cudaDev 3 busId 5d000 - Abort COMPLETE\n" + call:              false,
		call + "gpu01:9999:9999 [4] NCCL INFO comm 0x55aa rank 4 nranks 16 cudaDev 4 busId 5 - Abort COMPLETE\n": false,
	} {
		if _, after := read(t, text).Procs[0].Comms[0].After(); after != want {
			t.Errorf("%v for\n%s", after, text)
		}
	}
}

func TestFaultsOfEveryVersion(t *testing.T) {
	tests := []struct {
		text string
		want Fault
	}{
		{"transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 10.2.0.5<33092> with error 12, opcode 0, len 0, vendor err 129 (Recv)", Fault{Kind: IBCompletion, Peer: "10.2.0.5", Status: 12}},
		{"transport/net_ib.cc:2244 NCCL WARN NET/IB: Got completion from peer 192.168.3.5<53908> with status=12 opcode=129 len=1048576 vendor err 129 (Recv) localGid ::ffff:192.168.6.3 remoteGids::ffff:192.168.6.5 hca mlx5_10",
			Fault{Kind: IBCompletion, Peer: "192.168.3.5", Status: 12, HCA: "mlx5_10", LocalGID: "::ffff:192.168.6.3", RemoteGID: "::ffff:192.168.6.5"}},
		{"transport/net_ib/p2p.cc:783 (ncclIbTest) NCCL WARN NET/IB: Got completion from peer 10.1.2.3<4791> with status=IBV_WC_WR_FLUSH_ERR(5) opcode=IBV_WC_SEND(0) vendor_err=249 hca mlx5_3", Fault{Kind: IBCompletion, Peer: "10.1.2.3", Status: 5, HCA: "mlx5_3"}},
		{"transport/net_ib.cc:94 NCCL WARN NET/IB : mlx5_3:1 Got async event : port error", Fault{Kind: IBAsync, Status: Unknown, HCA: "mlx5_3", InvolvesOnlyLocalSide: true}},
		{"misc/ibvwrap.cc:160 NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_3:1, curr state INIT, next state RTR", Fault{Kind: IBSetup, Status: Unknown, HCA: "mlx5_3"}},
		{"misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer node-9.cluster.example<51159>", Fault{Kind: PeerClosed, Peer: "node-9.cluster.example", Status: Unknown}},
		{"include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'", Fault{Kind: CUDAFailure, Status: Unknown, InvolvesOnlyLocalSide: true}},
	}
	for _, tt := range tests {
		l := read(t, "\n[2025-06-03 17:48:01] gpu01:4242:4300 [3] "+tt.text+"\n")
		if len(l.Procs) != 1 || len(l.Procs[0].Faults) != 1 {
			t.Errorf("%s: %+v", tt.text, l)
			continue
		}
		got := l.Procs[0].Faults[0]
		if got.Dev != 3 || got.Source == "" {
			t.Errorf("%s: %+v", tt.text, got)
		}
		got.At, got.Dev, got.Source, got.Text = At{}, 0, "", ""
		if got != tt.want {
			t.Errorf("%s\ngot  %+v\nwant %+v", tt.text, got, tt.want)
		}
	}
}

func TestOnlyNCCLsOwnLogsAreRecognised(t *testing.T) {
	own := "NCCL version 2.21.5+cuda12.4\n" + strings.Repeat(pre+"Connected all rings\n", 9)
	for text, want := range map[string]bool{
		own: true,
		strings.Repeat(pre+"Connected all rings\n", 300): true,
		"":                 false,
		"starting\n" + own: false,
		"NCCL version 2.21.5+cuda12.4\n" + strings.Repeat("step 1 loss 2.1\n", 9): false,
		"To see more run with NCCL INFO messages\n":                               false,
	} {
		if Recognise([]byte(text[:min(len(text), HeadLen)])) != want {
			t.Errorf("%v expected for %.60q", want, text)
		}
	}
}

func TestCommunicatorsAreTiedByWhatRanksShare(t *testing.T) {
	line := func(host string, pid int, text string) string {
		return fmt.Sprintf("%s:%d:%d [0] NCCL INFO %s\n", host, pid, pid, text)
	}
	init := func(ptr string, rank, n int, more string) string {
		return fmt.Sprintf("comm %s rank %d nranks %d cudaDev 0 busId 1b000 %s- Init COMPLETE", ptr, rank, n, more)
	}
	logs := func(named, more string) []*Log {
		var out []*Log
		for r := range 4 {
			host, pid := fmt.Sprintf("gpu%d", r/2), 100+r
			out = append(out, read(t, line(host, pid, init("0xaa", r, 4, named))+line(host, pid, init("0xbb", r%2, 2, strings.ReplaceAll(more, "COLOR", fmt.Sprint(r/2))))))
			out[r].File = fmt.Sprint(r)
		}
		return out
	}
	tests := []struct {
		name, named, more string
		joined, lone      int
	}{
		{"split without a name", "commId 0x77 ", "parent 0xaa splitCount 1 color COLOR key 0 ", 3, 0},
		{"split without a count", "commId 0x77 ", "parent 0xaa color COLOR key 0 ", 3, 0},
		{"with a name", "commId 0x77 ", "commId 0x9COLOR ", 3, 0},
		{"nothing tells the two pairs apart", "", "", 1, 4},
	}
	for _, tt := range tests {
		if w := Join(logs(tt.named, tt.more)); len(w.Comms) != tt.joined || w.Apart != tt.lone {
			t.Errorf("%s: %d communicators, %d apart", tt.name, len(w.Comms), w.Apart)
		}
	}
}

// jobLog is a log of that many lines, of 64 processes on 3 communicators each.
type jobLog struct {
	left, n int
	rest    []byte
}

func (j *jobLog) Read(b []byte) (int, error) {
	for len(j.rest) == 0 {
		if j.left == 0 {
			return 0, io.EOF
		}
		j.left--
		p := j.n % 64
		j.rest = fmt.Appendf(j.rest[:0], "gpu%02d:%d:%d [%d] NCCL INFO AllReduce: opCount %x sendbuff 0x7f1200000000 recvbuff 0x7f1200000000 count %d datatype 9 op 0 root 0 comm 0x55%08x [nranks=64] stream 0x55d100000000\n",
			p/8, 4000+p, 4200+p, p%8, j.n/64, j.n%4096, p*3+j.n/64%3)
		j.n++
	}
	n := copy(b, j.rest)
	j.rest = j.rest[n:]
	return n, nil
}

// A log of 10,000,000 lines is held in as little as one of 100,000.
func TestALongLogIsStreamed(t *testing.T) {
	n := 300_000
	l, err := Read(context.Background(), "x", &jobLog{left: n})
	if err != nil || l.Lines != int64(n) || len(l.Procs) != 64 {
		t.Fatalf("%v, %d lines of %d processes", err, l.Lines, len(l.Procs))
	}
	calls := int64(0)
	for _, p := range l.Procs {
		for _, c := range p.Comms {
			calls += c.Calls
			if len(c.ring) > kept {
				t.Fatalf("%d calls are kept", len(c.ring))
			}
		}
	}
	if calls != int64(n) {
		t.Errorf("%d calls", calls)
	}
}

func BenchmarkRead(b *testing.B) {
	const lines = 400_000
	text, err := io.ReadAll(&jobLog{left: lines})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Read(context.Background(), "x", strings.NewReader(string(text))); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkTenMillionLines reports what a log of ten million lines takes: run it with -benchtime=1x.
func BenchmarkTenMillionLines(b *testing.B) {
	for b.Loop() {
		if _, err := Read(context.Background(), "x", &jobLog{left: 10_000_000}); err != nil {
			b.Fatal(err)
		}
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		b.ReportMetric(float64(m.Sys)/(1<<20), "MiB-sys")
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("NCCL version 2.21.5+cuda12.4\n" + pre + "comm 0x55aa rank 3 nranks 16 cudaDev 3 busId 5d000 commId 0x9a3c - Init START\n" +
		pre + "AllReduce: opCount 1f sendbuff 0x7f recvbuff 0x7e count 4 datatype 9 op 0 root 0 comm 0x55aa [nranks=16] stream 0x1\n"))
	f.Add([]byte("\n[2025-06-03 17:48:01] gpu01:4242:4300 [3] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 10.2.0.5<33092> with error 12, opcode 0"))
	f.Add([]byte("a:1:2 [0] NCCL INFO ncclCommSplit comm 0x1 rank 0 nranks 2 cudaDev 3 busId 5 parent 0x1 splitCount 1 color 4 key 3- Init START\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		Recognise(b)
		l, err := Read(context.Background(), "x", strings.NewReader(string(b)))
		if err != nil {
			t.Fatal(err)
		}
		w := Join([]*Log{l, l})
		Holders(w.Standings())
		w.Divergences()
		for _, p := range l.Procs {
			for _, c := range p.Comms {
				if last := c.Last(); (last == nil) != (c.Calls == 0) {
					t.Fatalf("%d calls, last %v", c.Calls, last)
				}
			}
		}
	})
}
