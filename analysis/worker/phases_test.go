package worker

import (
	"fmt"
	"strings"
	"testing"
)

func TestPhasesAreRead(t *testing.T) {
	tests := []struct {
		name, text, want string
	}{
		{"Megatron's extremes", "(min, max) time across ranks (ms):\n    forward-backward ...............................: (6512.33, 6530.11)\n    all-grads-sync .................................: (2900.00, 7100.00)\n next\n",
			"across forward-backward 6.512 6.53 all-grads-sync 2.9 7.1"},
		{"Megatron's slowest rank", "max time across ranks (ms):\n    optimizer ......................................: 31.02\n", "across optimizer 0 0.03102"},
		{"labels of srun", "31: (min, max) time across ranks (ms):\n31:     optimizer ....: (31.00, 31.50)\n", "across optimizer 0.031 0.0315"},
		{"Megatron's table of all ranks", "times across ranks (ms):\n  forward-compute:\n     rank  0: 1000.00\n     rank  1: 3000.00\n  optimizer:\n     rank  0: 10.00\n     rank  1: 10.00\n", "across forward-compute 1 3 optimizer 0.01 0.01"},
		{"DeepSpeed's breakdown", "[2024-05-01 10:00:00,123] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: 12.41 | bwd: 37.92 | bwd_inner: 30.11 | bwd_allreduce: 7.80 | step: 4.10\n",
			"fwd 0 0.01241 bwd 0 0.03792 bwd_inner 0 0.03011 bwd_allreduce 0 0.0078 step 0 0.0041"},
		{"a meter of DETR's kind", "Epoch: [0]  [ 120/50000]  eta: 9:11:02  lr: 0.000100  loss: 2.3 (2.4)  time: 0.5123  data: 0.0213  max mem: 40960\n", "data 0 0.0213"},
		{"a meter of PyTorch's examples", "Epoch: [0][ 10/5005]\tTime  0.512 ( 0.530)\tData  0.301 ( 0.280)\tLoss 6.9e+00 (7.0e+00)\n", "Data 0 0.301"},
		{"a loop with all phases", "step 120 | loss 2.31 | fwd 310ms | bwd 620 ms | allreduce: 0.42s | opt_time=0.05 | data_ms=12 | total 1.4s\n", "fwd 0 0.31 bwd 0 0.62 allreduce 0 0.42 opt_time 0 0.05 data_ms 0 0.012"},
		{"words that only look like phases", "step 120 loss 2.31 compute_dtype=bf16 optimizer=adamw forward-looking 3.5 backward compatible 1.2 data v2.1\n", ""},
		{"a size of data", "step 10 loss 2.3 data 37 time 0.5\n", ""},
		{"no numbers", "(min, max) time across ranks (ms):\n    optimizer ....: (nan, inf)\n", ""},
		{"extremes in the wrong order", "(min, max) time across ranks (ms):\n    optimizer ....: (3.0, 1.0)\n", ""},
		{"a sentence about timers", "max time across ranks (ms): is printed below\n", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, r := range observe(t, tt.text).Phases {
				if r.Across {
					got = append(got, "across")
				}
				for _, x := range r.Times {
					got = append(got, fmt.Sprintf("%s %.4g %.4g", x.Name, x.Min, x.Max))
				}
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("got %q, want %q", s, tt.want)
			}
		})
	}
}

// Of a long course of reports some are kept, of each kind.
func TestReportsOfPhasesAreThinned(t *testing.T) {
	var b strings.Builder
	for i := range 3 * mostReports {
		fmt.Fprintf(&b, "time (ms) | fwd_microstep: %d.00\ntime (ms) | fwd: %d.00\n", i+1, i+1)
	}
	n := map[string]int{}
	for _, r := range observe(t, b.String()).Phases {
		n[r.Times[0].Name]++
	}
	if sum := n["fwd"] + n["fwd_microstep"]; sum > mostReports || n["fwd"] < mostReports/8 || n["fwd_microstep"] < mostReports/8 {
		t.Errorf("kept %v", n)
	}
}
