package worker

import "testing"

func TestWhatMpirunSaysOfTheFirstProcessThatDied(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		rank, code int // code 0: nothing is read
		host       string
	}{
		{"Open MPI 4", "mpirun noticed that process rank 5 with PID 12345 on node gpu-2 exited on signal 11 (Segmentation fault).\n", 5, -11, "gpu-2"},
		{"Open MPI 5 breaks the line", "prterun noticed that process rank 12 with PID 7 on node gpu-3 exited on\nsignal 9 (Killed).\n", 12, -9, "gpu-3"},
		{"cut off before the signal", "mpirun noticed that process rank 5 with PID 12345 on node gpu-2 exited on\n", 0, 0, ""},
		{"something else below", "prterun noticed that process rank 5 with PID 12345 on node gpu-2 exited on\nstep 3 loss 2\n", 0, 0, ""},
		{"a number that is none", "mpirun noticed that process rank 99999999999999999999 with PID 1 on node gpu-2 exited on signal 0 (x).\n", 0, 0, ""},
	} {
		obs := observe(t, tc.text)
		if tc.code == 0 {
			if len(obs.ChildFailed) != 0 {
				t.Errorf("%s: read %+v", tc.name, obs.ChildFailed)
			}
			continue
		}
		if len(obs.ChildFailed) != 1 {
			t.Errorf("%s: %d reports", tc.name, len(obs.ChildFailed))
			continue
		}
		if c := obs.ChildFailed[0]; c.Rank != tc.rank || c.ExitCode != tc.code || c.Host != tc.host || !c.MPI {
			t.Errorf("%s: %+v", tc.name, c)
		}
	}
}
