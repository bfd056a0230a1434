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

func TestWhatMpiexecSaysOfAProcessThatEndedBadly(t *testing.T) {
	const bad = "=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
	for _, tc := range []struct {
		name, text string
		rank, code int // code 0: nothing is read; rank −1: as the end of a process of no known rank
		host       string
	}{
		{"Intel MPI", bad + "=   RANK 9 PID 22311 RUNNING AT cpu-04\n=   KILLED BY SIGNAL: 11 (Segmentation fault)\n", 9, -11, "cpu-04"},
		{"Intel MPI, an error", bad + "=   RANK 9 PID 22311 RUNNING AT cpu-04\n=   EXIT STATUS: 3\n", 9, 3, "cpu-04"},
		{"Intel MPI kills the others itself", bad + "=   RANK 2 PID 22311 RUNNING AT cpu-04\n=   KILLED BY SIGNAL: 9 (Killed)\n", -1, -9, ""},
		{"or tells them to stop", bad + "=   RANK 2 PID 22311 RUNNING AT cpu-04\n=   KILLED BY SIGNAL: 15 (Terminated)\n", 0, 0, ""},
		{"MPICH", bad + "=   PID 4821 RUNNING AT user@node-5\n=   EXIT CODE: 139\n=   CLEANING UP REMAINING PROCESSES\n", -1, 139, "node-5"},
		{"MPICH names the signal", bad + "=   PID 4821 RUNNING AT node-5\n=   EXIT CODE: 9\n=====\nYOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n", -1, -9, "node-5"},
		{"cut off", bad + "=   PID 4821 RUNNING AT node-5\n", 0, 0, ""},
		{"another sentence", "the job is RUNNING AT node-5\n=   EXIT CODE: 9\n", 0, 0, ""},
	} {
		obs := observe(t, tc.text)
		var got []ChildFailed
		got = append(got, obs.ChildFailed...)
		for _, c := range obs.ChildExits {
			got = append(got, ChildFailed{At: c.At, Rank: -1, ExitCode: c.ExitCode, Host: c.Who().Host, MPI: true})
		}
		if tc.code == 0 {
			if len(got) != 0 {
				t.Errorf("%s: read %+v", tc.name, got)
			}
			continue
		}
		if len(got) != 1 || got[0].Rank != tc.rank || got[0].ExitCode != tc.code || got[0].Host != tc.host {
			t.Errorf("%s: %+v", tc.name, got)
		}
	}
}

func TestWhatHorovodrunSaysOfTheFirstProcessThatEnded(t *testing.T) {
	obs := observe(t, "The first process to do so was:\nProcess name: 5\nExit code: 1\n")
	if len(obs.ChildFailed) != 1 || obs.ChildFailed[0].Rank != 5 || obs.ChildFailed[0].ExitCode != 1 {
		t.Errorf("read %+v", obs.ChildFailed)
	}
	if obs = observe(t, "Process name: 5 of them\nExit code: 1\n"); len(obs.ChildFailed) != 0 {
		t.Errorf("read %+v", obs.ChildFailed)
	}
}

func TestHowLaunchersTellOfTheEndOfARank(t *testing.T) {
	for _, tc := range []struct {
		text       string
		rank, code int // code 0: nothing is read; rank −1: as the end of a process of no known rank
		host       string
	}{
		{"x1002c1s0b0n0: rank 29 exited with code 1\n", 29, 1, "x1002c1s0b0n0"},
		{"rank 4 on n07 died from signal 11\n", 4, -11, "n07"},
		{"Rank 7 (on node gx-3) was killed by signal 6\n", 7, -6, "gx-3"},
		{"n3: rank 12 exited with non-zero exit status 70\n", 12, 70, "n3"},
		{"rank 5 died with signal 11\n", 5, -11, ""},
		{"MPI rank 6 aborted due to signal 6\n", 6, -6, ""},
		{"rank 3 died from signal 15\n", 0, 0, ""},
		{"rank 3 exited with code 0\n", 0, 0, ""},
		{"rank 3 killed by signal 9\n", -1, -9, ""},
		{"checking that rank 3 exited with code 1\n", 0, 0, ""},
		{"rank 3 exited with a good loss\n", 0, 0, ""},
	} {
		obs := observe(t, tc.text)
		got := append([]ChildFailed(nil), obs.ChildFailed...)
		for _, c := range obs.ChildExits {
			got = append(got, ChildFailed{Rank: -1, ExitCode: c.ExitCode})
		}
		switch {
		case tc.code == 0 && len(got) > 0:
			t.Errorf("%q: read %+v", tc.text, got)
		case tc.code == 0:
		case len(got) != 1 || got[0].Rank != tc.rank || got[0].ExitCode != tc.code || got[0].Host != tc.host:
			t.Errorf("%q: %+v", tc.text, got)
		}
	}
}
