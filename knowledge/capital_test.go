package knowledge

import "testing"

func TestNamesOfProgramsKeepTheirCase(t *testing.T) {
	for text, want := range map[string]string{
		"srun: task 0 exited": "srun: task 0 exited", "torchrun reported 2 failures": "torchrun reported 2 failures", "srun's own limit": "srun's own limit",
		"verl ended": "verl ended", "nvidia-smi shows none": "nvidia-smi shows none", "rank 3 stalled": "Rank 3 stalled", "gpu-a failed": "gpu-a failed",
		"libcudart.so is missing": "libcudart.so is missing", "errno 5": "Errno 5", "": "", "é": "É", "3 ranks": "3 ranks", "DNS fails": "DNS fails", "node's clock": "Node's clock", "can't tell": "Can't tell", "gpu-a's fault": "gpu-a's fault",
	} {
		if got := Capital(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
