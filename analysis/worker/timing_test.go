package worker

import (
	"fmt"
	"strings"
	"testing"
)

// What a step takes is read from the words of a name and its unit, whatever the program.
func TestTheTimeOfAStepIsReadByItsShape(t *testing.T) {
	for _, tc := range []struct {
		text string
		want float64 // 0: none
	}{
		{"iter 120 | 2.31 s/it", 2.31},
		{"iter 120 | 0.5 it/s", 2},
		{"step_time=2.3s", 2.3},
		{"step_time: 2.3", 2.3},
		{`{"step": 7, "step_time_ms": 7012, "data_ms": 50}`, 7.012},
		{"time/step: 410 ms", 0.41},
		{"410.5 ms/step", 0.4105},
		{"2.3 sec per iteration", 2.3},
		{"sec/step 2.30", 2.3},
		{"INFO trainer: step time: 2.3s", 2.3},
		{"avg iteration time (ms): 7012.5 | lr 1e-4", 7.0125},
		{"train_step_timing in s: 7.01", 7.01},
		{"timing_s/gen:33.2 - timing_s/step:70.1", 70.1},
		{"perf/time_per_step:70.1", 70.1},
		{"train/steps_per_second=0.25", 4},
		{"throughput/device/batches_per_second=0.1428", 1 / 0.1428},
		{"step 4 | loss: 6.5 | norm: 0.28 | dt: 338.11ms | tok/sec: 1550.9", 0.33811},
		{"iter 3: loss 2.1, time 7012.33ms", 7.01233},
		// No time of a step.
		{"time: 3600.5s", 0},                  // a sum
		{"step_time=7012", 0},                 // of which unit?
		{"timestep: 120.5", 0},                // a simulation's
		{"time_step=0.5", 0},                  // likewise
		{"optimizer step time: 0.31 s", 0},    // a part
		{"forward_step_time=0.31s", 0},        // likewise
		{"eval step time: 3.1 s", 0},          // other work
		{"total step time 36000.5 s", 0},      // a sum
		{"max_step_time=3.1s", 0},             // an extreme
		{"512.5 samples/s, 89000.5 tok/s", 0}, // other rates
		{"step 120 saved in 2.31 s", 0},
		{"2026-05-14 02:47:00.123 step 120", 0},
	} {
		if got := readTimings([]byte(tc.text), false).step; fmt.Sprintf("%.4f", got) != fmt.Sprintf("%.4f", tc.want) {
			t.Errorf("%q: %v, want %v", tc.text, got, tc.want)
		}
	}
}

// Parts of a step keep the names that the line gives them; sums, rates and forecasts are none.
func TestThePartsOfAStepAreReadByTheirShape(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"timing_s/gen:33.2 - timing_s/update_actor:20.1 - timing_s/step:70.1 - perf/throughput:731.2", "timing_s/gen 33.2, timing_s/update_actor 20.1"},
		{`"step_time_ms": 7012, "data_ms": 50, "fwd_bwd_ms": 4100, "allreduce_ms": 2900, "tokens_per_s": 142000.5`, "data_ms 0.05, fwd_bwd_ms 4.1, allreduce_ms 2.9"},
		{"step 3 gpu time: 0.5, data time: 0.02, optimizer step time: 0.31 s", "gpu time 0.5, data time 0.02, optimizer step time 0.31"},
		{"eta: 3.5 s elapsed 20.5 s total_time=40.5s val_time=2.5s", ""},
		{"step 3 | loss 2.31 | bwd 3 | tokens/s: 89000.5 | 3 ms", ""},
	} {
		var got []string
		for _, p := range readTimings([]byte(tc.text), true).phases {
			got = append(got, fmt.Sprintf("%s %.4g", p.name, p.value))
		}
		if s := strings.Join(got, ", "); s != tc.want {
			t.Errorf("%q: %s, want %s", tc.text, s, tc.want)
		}
	}
}
