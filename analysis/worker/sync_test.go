package worker

import (
	"strings"
	"testing"
)

func TestCountersPrintedWhileItWorks(t *testing.T) {
	for _, c := range []struct {
		text     string
		group    string
		enqueued int64 // −2: no sample
	}{
		{"[rank3]:[I603 17:48:01.005271823 ProcessGroupNCCL.cpp:1516] [PG ID 0 PG GUID 0(default_pg) Rank 3] NCCL Work update periodically: last enqueued NCCL work: 120, last completed NCCL work: 119.", "0", 120},
		{"I0603 17:48:01.005271 12345 ProcessGroupNCCL.cpp:1516] [PG ID 2 PG GUID 17(mesh_dp) Rank 1]NCCL Work update periodically: last enqueued NCCL work: 8, last completed NCCL work: 8.", "17", 8},
		{"[rank1]:[I ProcessGroupNCCL.cpp:1516] [PG 3 Rank 1] NCCL Work update periodically: last enqueued NCCL work: -1, last completed NCCL work: -1.", "3", -1},
		{"[rank1]:[I ProcessGroupNCCL.cpp:1516] [PG 3 Rank 1] NCCL Work update periodically: last enqueued NCCL work: 120, last completed NCCL wor", "", -2}, // cut
		{"[rank1]:[I ProcessGroupNCCL.cpp:1516] [Rank 1] NCCL Work update periodically: last enqueued NCCL work: 120, last completed NCCL work: 119.", "", -2},
	} {
		obs := observe(t, c.text+"\n")
		if c.enqueued == -2 {
			if len(obs.Samples) != 0 {
				t.Errorf("%s\ngot %+v", c.text, obs.Samples)
			}
			continue
		}
		if len(obs.Samples) != 1 || obs.Samples[0].Enqueued != c.enqueued || obs.Samples[0].Group.GUID != c.group {
			t.Errorf("%s\ngot %+v", c.text, obs.Samples)
		}
		if obs.UnclassifiedN != 0 || len(obs.States)+len(obs.Dumps)+len(obs.Signals) != 0 {
			t.Errorf("%s\nis more than a sample: %+v", c.text, obs)
		}
	}
}

const aborted = `Fatal Python error: Aborted

Thread 0x00007f0000000001 (most recent call first):
  File "/usr/lib/python3.12/threading.py", line 324 in wait
  File "/usr/lib/python3.12/threading.py", line 1016 in _bootstrap

Current thread 0x00007f0000000002 (most recent call first):
  <no Python frame>

Thread 0x00007f0000000003 (most recent call first):
  File "/opt/NeMo/nemo/utils/callbacks/preemption.py", line 69 in interrupted
  File "/workspace/train.py", line 41 in main
  File "/workspace/train.py", line 50 in <module>

Extension modules: torch._C (total: 1)
`

func TestTheMainThreadOfAProcessThatItsWatchdogEnded(t *testing.T) {
	obs := observe(t, aborted)
	if len(obs.Exceptions) != 1 {
		t.Fatalf("got %+v", obs.Exceptions)
	}
	e := obs.Exceptions[0]
	if len(e.Frames) != 0 || len(e.Main) != 3 || e.Main[2].Func != "interrupted" || e.Main[2].Line != 69 {
		t.Errorf("frames %+v, main %+v", e.Frames, e.Main)
	}
	// A thread that runs Python itself is the one that counts.
	e = observe(t, strings.Replace(aborted, "  <no Python frame>", `  File "/app/crash.py", line 3 in boom`, 1)).Exceptions[0]
	if len(e.Frames) != 1 || e.Frames[0].Func != "boom" || e.Main != nil {
		t.Errorf("frames %+v, main %+v", e.Frames, e.Main)
	}
}

func FuzzSamples(f *testing.F) {
	f.Add("[PG 3 Rank 1] NCCL Work update periodically: last enqueued NCCL work: 9223372036854775808, last completed NCCL work: -1.")
	f.Add("NCCL Work update periodically: NCCL Work update periodically: [PG 3 Rank 1]")
	f.Add(aborted)
	f.Fuzz(func(t *testing.T, text string) {
		for _, s := range observe(t, text+"\n").Samples {
			if !s.Group.Known {
				t.Errorf("a sample of no group: %+v", s)
			}
		}
	})
}
