package worker

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// tracebackStorm is a log of tracebacks of several writers, most of them alike, with what may stand between, behind and in place of them.
func tracebackStorm(rng *rand.Rand, n int) string {
	var b strings.Builder
	for i := range n {
		label := []string{"", "[rank1]: ", "[rank2]: ", "ERROR: ", "2025-09-12 03:12:44,023 "}[rng.IntN(5)]
		put := func(lines ...string) {
			for _, l := range lines {
				b.WriteString(label + l + "\n")
			}
		}
		head := "Traceback (most recent call last):"
		set := `  File "/workspace/data/set.py", line 88, in __getitem__`
		read := `  File "/workspace/data/reader.py", line 212, in read`
		final := fmt.Sprintf("OSError: [Errno 5] Input/output error: '/lustre/train/shard-%06d.tar'", i)
		switch rng.IntN(40) {
		default:
			put(head, set, "    return self.read(index)", read, "    raise OSError(errno.EIO, path)", final)
		case 0:
			put(head, set, "    return self.read(index)", "ValueError: bad sample "+fmt.Sprint(i))
		case 1:
			put(head, set, "    return self.read(index)", final, "  it was tried twice", "Last error: none")
		case 2:
			put(head, set, "    return self.read(index)", read, "    raise OSError(errno.EIO, path)", final, "", "The above exception was the direct cause of the following exception:", "",
				head, set, "    return self.read(index)", "RuntimeError: CUDA error: out of memory")
		case 3:
			put(head, set)
		case 4:
			put(head, set, "    return self.read(index)", read, "    raise OSError(errno.EIO, path)", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB")
		case 5:
			put("Exception ignored in: <function Worker.__del__ at 0x7f00>", head, set, "    return self.read(index)", read, "    raise OSError(errno.EIO, path)", final)
		case 6:
			put(head, "  + Exception Group", set, "    return", final)
		}
		if rng.IntN(3) == 0 {
			fmt.Fprintf(&b, "2025-09-12 03:%02d:%02d,%03d INFO trainer: step %d loss 2.%d\n", i/3600%60, i/60%60, i%1000, i, i%97)
		}
		if rng.IntN(50) == 0 {
			b.WriteString("slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0\n")
		}
	}
	return b.String()
}

// A traceback that is taken as a whole says what it says when its lines are read one by one.
func TestTracebacksThatAreTakenAsAWholeSayTheSame(t *testing.T) {
	for seed := range uint64(6) {
		text := tracebackStorm(rand.New(rand.NewPCG(20+seed, 99)), 5000)
		obs, all, leapt := bothWays(t, []byte(text))
		if leapt < 3000 {
			t.Errorf("only %d lines were taken with their tracebacks", leapt)
		}
		sameRemains(t, obs, all)
	}
}
