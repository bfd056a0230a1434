package worker

import (
	"context"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"faultline/analysis/scan"
)

func TestLinesAreAlikeButForTheirNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"read failed, retrying 1/5", "read failed, retrying 4/5", true},
		{"batch 7 failed", "batch 1207 failed", true},
		{"batch 7", "batch 71", true},
		{"peer 10.0.4.5<4211> with status=12", "peer 10.0.204.50<31099> with status=5", true},
		{"target t[f1ba73d1] failed", "target t[8c94d390] failed", true},
		{"target t[f1ba73d1] failed", "target t[f1c10d90] failed", false}, // c10d is a word
		{"target t[1fba73d1] failed", "target t[23456789] failed", true},
		{"rank3a failed", "rank44a failed", false},                        // no id
		{"target t[deadbeef] failed", "target t[8c94d390] failed", false}, // so may this be
		{"failed: 503", "failed: 404", false},
		{"failed: 503", "failed: 1503", false},
		{"took 503.5 s", "took 404.7 s", true},
		{"[Errno 32] it broke", "[Errno 28] it broke", false},
		{"read failed", "read failed 3", false},
		{"read 3 failed", "read failed", false},
		{"read 3 failed", "read 3 worked", false},
		{"read 31 failed", "read 3 failed", true},
		{"broken: /v1/objects/train/a-1.tar", "broken: /v1/objects/train/query-22.tar", true},
		{"broken: /v1/objects/train/a-1.tar (3 left)", "broken: /v1/objects/train/query/b-22.tar (2 left)", true},
		{"broken: /v1/objects/a: refused", "broken: /v1/objects/b: timed out", false},
		{"broken: /v1/a", "broken: /v2/b", true},
		{"broken: train/a", "broken: other/a", false}, // another bucket
		{"", "", true},
		{"", "3", false},
		{"3", "", false},
	} {
		if got := sameButNumbers([]byte(c.a), []byte(c.b)); got != c.want {
			t.Errorf("%q, %q: %v", c.a, c.b, got)
		}
		if got := sameButNumbers([]byte(c.b), []byte(c.a)); got != c.want {
			t.Errorf("%q, %q: %v", c.b, c.a, got)
		}
	}
}

func FuzzSameButNumbersEnds(f *testing.F) {
	f.Add("batch 12 [Errno 4] f1ba73d1.5", "batch 7 [Errno 44] 8c94d390.5")
	f.Fuzz(func(t *testing.T, a, b string) {
		if sameButNumbers([]byte(a), []byte(b)) != sameButNumbers([]byte(b), []byte(a)) {
			t.Errorf("%q, %q: it depends on which comes first", a, b)
		}
		if !sameButNumbers([]byte(a), []byte(a)) {
			t.Errorf("%q is not like itself", a)
		}
	})
}

// What is made of a storm is the same whether or not its echoes are read.
func TestEchoesSayWhatTheyWouldIfTheyWereRead(t *testing.T) {
	sc, err := scannerWith(scan.Options{HeadLines: headLines})
	if err != nil {
		t.Fatal(err)
	}
	read := func(text string, echoes int) (*reader, *Observations) {
		r := newReader("f", sc)
		r.echoes = echoes
		if _, err := sc.Scan(context.Background(), strings.NewReader(text), r.visit); err != nil {
			t.Fatal(err)
		}
		r.finish()
		r.putInOrder()
		return r, r.obs
	}
	heard := 0
	for seed := range uint64(4) {
		text := stormy(rand.New(rand.NewPCG(seed, 1)))
		was, want := read(text, maxEchoes) // which leaves no room for any
		r, got := read(text, 0)
		heard += r.echoes
		if !reflect.DeepEqual(got, want) {
			t.Errorf("seed %d: %d exceptions, %d signs, %d retries, %d resets, %d warnings; want %d, %d, %d, %d, %d", seed,
				len(got.Exceptions), len(got.Signs), len(got.IOs), len(got.Resets), len(got.NCCLWarns),
				len(want.Exceptions), len(want.Signs), len(want.IOs), len(want.Resets), len(want.NCCLWarns))
		}
		if a, b := r.spans(), was.spans(); !reflect.DeepEqual(a, b) {
			t.Errorf("seed %d: writers\n%+v\nwant\n%+v", seed, a, b)
		}
		if r.unclassified != was.unclassified || r.hostless != was.hostless {
			t.Errorf("seed %d: %d unclassified lines, %d without a host; want %d, %d", seed, r.unclassified, r.hostless, was.unclassified, was.hostless)
		}
		if !reflect.DeepEqual([]At{r.first, r.last}, []At{was.first, was.last}) || !reflect.DeepEqual(r.said(), was.said()) {
			t.Errorf("seed %d: from %+v to %+v; want %+v to %+v", seed, r.first, r.last, was.first, was.last)
		}
	}
	if heard == 0 {
		t.Error("none of the lines was an echo")
	}
}

// stormy is a log full of trouble, with what breaks into it.
func stormy(rnd *rand.Rand) string {
	var b strings.Builder
	second := 0
	clock := func() string { return fmt.Sprintf("03:%02d:%02d", second/60%60, second%60) }
	kinds := []func(rank int){
		func(int) {
			fmt.Fprintf(&b, "2025-09-12 %s,701 - urllib3.connectionpool - WARNING - Retrying (Retry(total=%d, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ConnectionResetError(104, 'Connection reset by peer')': /v1/objects/b/shard-%06d.tar\n",
				clock(), rnd.IntN(5), rnd.IntN(1e6))
		},
		func(rank int) {
			fmt.Fprintf(&b, "[rank%d]: AISBatchLoaderError: batch %d failed after %d attempts: GET http://ais-proxy:51080/v1/objects: %d\n", rank, second, 1+rnd.IntN(5), []int{503, 503, 503, 404}[rnd.IntN(4)])
		},
		func(rank int) {
			fmt.Fprintf(&b, "[rank%d]: ConnectionResetError: [Errno 104] Connection reset by peer\n", rank)
		},
		func(rank int) { fmt.Fprintf(&b, "[rank%d]: BrokenPipeError: [Errno 32] Broken pipe\n", rank) },
		func(rank int) {
			fmt.Fprintf(&b, "node7:4100%d:4190%d [%d] transport/net_ib.cc:2273 NCCL WARN NET/IB: Got completion from peer 10.0.%d.%d<%d> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n",
				rank, rank, rank, rnd.IntN(255), rnd.IntN(255), 30000+rnd.IntN(9999))
		},
		func(rank int) {
			fmt.Fprintf(&b, "[rank%d]:[W912 %s.790373158 socket.cpp:755] [c10d] The client socket has failed to connect to [node%04d]:29500 (errno: 110 - Connection timed out).\n", rank, clock(), rnd.IntN(9))
		},
		func(int) {
			fmt.Fprintf(&b, "2025-09-12 %s - aistore.client - ERROR - request to target t[%08x] failed: retry %d/5\n", clock(), rnd.Uint32(), 1+rnd.IntN(5))
		},
		func(int) {
			fmt.Fprintf(&b, "ERROR: no table knows this, number %d\n", rnd.IntN(1e4))
		},
	}
	const ranks = 3
	for range 9000 {
		second += rnd.IntN(2)
		rank := rnd.IntN(ranks)
		kinds[rnd.IntN(len(kinds))](rank)
		switch rnd.IntN(60) {
		case 0:
			fmt.Fprintf(&b, "[rank%d]: Traceback (most recent call last):\n[rank%d]:   File \"a.py\", line %d, in f\n[rank%d]: ValueError: bad %d\n", rank, rank, second, rank, second)
		case 1:
			fmt.Fprintf(&b, " 12%%|█  | %d/900 [0:00:01<6:53:09,  1.2it/s]\r 13%%|█  | %d/900 [0:00:01<6:53:09,  1.2it/s]\n", second, second+1)
		case 2:
			fmt.Fprintf(&b, "[rank%d]:   goes on\n", rank)
		case 3:
			fmt.Fprintf(&b, " 12%%|█  | %d/900 [0:00:01<6:53:09,  1.2it/s]\r", second)
		case 4:
			fmt.Fprintf(&b, "\x1b[31m")
		}
	}
	return b.String()
}
