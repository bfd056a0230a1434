package novel

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestLinesThatDifferInTheirNumbersHaveOneShape(t *testing.T) {
	for _, pair := range [][2]string{
		{"step 9 loss 1.5", "step 123456789012 loss 12345.25"},
		{"x 1", "x 123456789"},
		{"rank7: at 0x7f3a in frame 3", "rank12: at 0x7fffdeadbeef99 in frame 44"},
		{"[2026-01-21 15:38:13,100] INFO saved", "[2025-12-01 05:08:03,9] INFO saved"},
		{"", ""},
		{"1", "22222222222222222222"},
	} {
		if Hash([]byte(pair[0])) != Hash([]byte(pair[1])) {
			t.Errorf("%q and %q have different shapes", pair[0], pair[1])
		}
	}
}

func TestOtherLinesHaveOtherShapes(t *testing.T) {
	seen := map[uint64]string{}
	words := []string{"rank", "error", "step", "the", "failed", "node", "0", "12:", "loss=", "a", "", "  ", "über", "\x00", "\x80", "读取"}
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200_000 {
		var b bytes.Buffer
		for range 1 + rng.IntN(9) {
			b.WriteString(words[rng.IntN(len(words))])
			b.WriteByte(' ')
		}
		h, shape := Hash(b.Bytes()), naive(b.Bytes())
		if was, ok := seen[h]; ok && was != shape {
			t.Fatalf("%q and %q have one hash", was, shape)
		}
		seen[h] = shape
	}
	if len(seen) < 10_000 {
		t.Fatalf("only %d shapes were tried", len(seen))
	}
}

// naive is the shape byte by byte.
func naive(b []byte) string {
	var out []byte
	for i := 0; i < len(b); i++ {
		if b[i] < '0' || b[i] > '9' {
			out = append(out, b[i])
			continue
		}
		out = append(out, '0')
		for i+1 < len(b) && numeric[b[i+1]] {
			i++
		}
	}
	return string(out)
}

// What follows a line in its buffer, and where in it the line begins, means nothing.
func TestTheShapeIsThatOfTheLineAlone(t *testing.T) {
	line := []byte("rank 12 of 64: all-reduce 4711 timed out after 600000 ms")
	want := Hash(line)
	for pad := range 17 {
		b := append(bytes.Repeat([]byte("7"), pad), line...)
		b = append(b, "89 more"...)
		if got := Hash(b[pad : pad+len(line) : pad+len(line)]); got != want {
			t.Fatalf("with %d bytes before it: %x, not %x", pad, got, want)
		}
	}
}

func TestTemplates(t *testing.T) {
	for line, want := range map[string]string{
		`open("/data/shard-000123.tar") failed: errno 5`:          `open("…") failed: errno 0`,
		"worker on node07 (10.1.2.3:29500) lost, uuid 3f2a9c0de1": "worker on node0 (<host>) lost, uuid <hex>",
		"can't read /mnt/x/y.bin at 0xdeadbeef":                   "can't read <path> at <hex>",
		"  two   spaces 12":                                       "two spaces 0",
		"feedback added":                                          "feedback added",
	} {
		if got := Template(line); got != want {
			t.Errorf("%q: %q, not %q", line, got, want)
		}
	}
}

func BenchmarkHash(b *testing.B) {
	for name, line := range map[string]string{
		"progress": "[2026-01-21 15:38:13,100] iteration 1200/ 500000 | consumed samples: 307200 | elapsed time per iteration (ms): 1532.1 | learning rate: 3.000E-04 | lm loss: 2.153021E+00 |",
		"text":     "Received an inband message, message header details follow, the multicast group is allocated and the team set up",
		"nccl":     "node07:12345:12399 [3] NCCL INFO Channel 05/0 : 3[3] -> 4[4] via P2P/CUMEM/read",
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(line)
			b.SetBytes(int64(len(text)))
			var sum uint64
			for b.Loop() {
				sum += Hash(text)
			}
			_ = fmt.Sprint(sum)
		})
	}
}
