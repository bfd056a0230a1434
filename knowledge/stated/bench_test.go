package stated

import "testing"

// Most messages state nothing, which is known only when all of them was read.
func BenchmarkRead(b *testing.B) {
	for b.Loop() {
		Read("RuntimeError", "resume from global_step9000 failed for reasons that the trainer of this run did not write into its message, see /ck/run7/x", true)
	}
}
