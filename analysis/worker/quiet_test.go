package worker

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// readQuietly reads text, the long way if plainly is set.
func readQuietly(t testing.TB, sc *Scanner, text []byte, plainly bool) (*Observations, int) {
	t.Helper()
	r := newReader("log", sc)
	if plainly {
		d := *r.table
		d.quiet = make([]quiet, len(d.literals))
		r.table = &d
	}
	passed := 0
	if _, err := sc.Scan(t.Context(), bytes.NewReader(text), r.visit); err != nil {
		t.Fatal(err)
	}
	r.finish()
	r.courses()
	r.putInOrder()
	r.obs.Tails = []Tail{{File: "log", First: r.first, Last: r.last, Writers: r.spans(), Hostless: r.hostless, Unclassified: r.unclassified}}
	r.obs.NCCL = r.said()
	for i := range r.hush.heads {
		if r.hush.heads[i].writer != nil {
			passed++
		}
	}
	return r.obs, passed
}

var quietHeads = []string{
	"[rank1]:[W912 03:14:53.218403327 ProcessGroupNCCL.cpp:4003] ", "[rank2]:[W912 03:14:54.218403327 ProcessGroupNCCL.cpp:4003] ",
	"[rank1]:[I912 03:15:00.1 ProcessGroupNCCL.cpp:9] ", "[rank1]:[E912 03:15:07.1 ProcessGroupNCCL.cpp:9] ", "[rank3]:[W ProcessGroupNCCL.cpp:9] ",
	"[W912 03:16:00.1 ProcessGroupNCCL.cpp:9] ", "[default1]:[rank1]:[W912 03:17:00.1 ProcessGroupNCCL.cpp:9] ", "12: [rank1]:[W912 03:18:00.1 ProcessGroupNCCL.cpp:9] ",
	"node1:41:42 [0] NCCL INFO ", "node1:41:43 [0] NCCL INFO ", "node2:51:52 [1] NCCL INFO ", "[2025-09-12 03:19:00] node1:41:42 [0] NCCL INFO ", "[rank1]: node1:41:42 [0] NCCL INFO ",
	"node1:41:42 [0] misc/socket.cc:484 NCCL WARN ", "[rank1]: ", "[rank2]: ", "", "node1: ", "2025-09-12 03:29:19,025 - data - INFO - ",
	"2025-09-12T03:29:19.025Z stderr F [rank1]:[W912 03:14:53.218403327 ProcessGroupNCCL.cpp:4003] ",
}

var quietMessages = []string{
	"Guessing device ID based on global rank. This can cause a hang if rank to GPU mapping is heterogeneous.",
	"[PG ID 0 PG GUID 0 Rank 1]  using GPU 1 as device used by this process is currently unknown.", "[PG ID 0 PG GUID 0 Rank 1]", "Rank 3", "",
	"Channel 09/0 : 10[2] -> 11[3] via P2P/CUMEM", "Connected all rings, 50% of them", "an rror: in it", "one &lt;two&gt;", "a\rb", "\x1b[31mred\x1b[0m", "a b\r",
	"Traceback (most recent call last):", "  File \"/opt/a.py\", line 3, in forward", "    return f(x)", "ValueError: bad", "BrokenPipeError: [Errno 32] Broken pipe",
	"one[rank2]:[W912 03:20:00.1 ProcessGroupNCCL.cpp:9] another", "one node2:51:52 [1] NCCL INFO another", "[repeated 3x across cluster]", "step 12/100 loss 2.3",
	"  | a ruler", "Init COMPLETE", strings.Repeat("long ", 200), "terminate called after throwing an instance of 'c10::DistBackendError'", "  what():  no",
}

// quietLog is a log in which lines that say nothing stand among others, as a seed will have it.
func quietLog(seed uint64) []byte {
	rng := rand.New(rand.NewPCG(seed, 11))
	var b bytes.Buffer
	b.WriteString(strings.Repeat("a line at the head\n", headLines))
	for range 20 + rng.IntN(100) {
		head, msg := quietHeads[rng.IntN(len(quietHeads))], quietMessages[min(rng.IntN(len(quietMessages)), rng.IntN(len(quietMessages)))]
		fmt.Fprintf(&b, "%s%s\n", head, msg)
	}
	if seed%3 == 0 {
		for i := range 3000 {
			fmt.Fprintf(&b, "node%d:41:42 [0] NCCL INFO Channel %d/0\n", i%3, i)
			if rng.IntN(40) == 0 {
				fmt.Fprintf(&b, "%s%s\n", quietHeads[rng.IntN(len(quietHeads))], quietMessages[rng.IntN(len(quietMessages))])
			}
		}
	}
	return b.Bytes()
}

// A line that says nothing leaves behind what the ordinary way leaves: who wrote, when, and what ended with it.
func TestLinesThatSayNothingLeaveTheSameBehind(t *testing.T) {
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	quietly := 0
	for seed := range uint64(300) {
		text := quietLog(seed)
		got, n := readQuietly(t, sc, text, false)
		want, _ := readQuietly(t, sc, text, true)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("seed %d:\n%+v\nwant\n%+v", seed, got.Tails, want.Tails)
		}
		quietly += n
	}
	if quietly < 300 {
		t.Fatalf("only %d writers were read so", quietly)
	}
}

func FuzzLinesThatSayNothing(f *testing.F) {
	sc, err := NewScanner()
	if err != nil {
		f.Fatal(err)
	}
	for seed := range uint64(5) {
		f.Add(quietLog(seed)[19*headLines:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		text := append(bytes.Repeat([]byte("a line at the head\n"), headLines), b...)
		got, _ := readQuietly(t, sc, text, false)
		want, _ := readQuietly(t, sc, text, true)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q:\n%+v\nwant\n%+v", b, got, want)
		}
	})
}
