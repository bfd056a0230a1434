package diagnose

import (
	"testing"

	"faultline/analysis/diagnose/mechanism"
	"faultline/incident"
	"faultline/simulate"
)

// Lines by which SLURM alone says how a job ended.
func TestWhatSLURMAloneSays(t *testing.T) {
	const (
		requeue = "slurmstepd-node01: error: *** JOB 8 ON node01 CANCELLED AT 2026-03-01T10:00:08 DUE TO JOB REQUEUE ***"
		memory  = "slurmstepd: error: *** STEP 8.0 ON node01 UNCORRECTABLE MEMORY ERROR AT 2026-03-01T10:00:08 ***"
	)
	train := spoken(0, 3, "fine")
	with := func(lines string, first bool) []simulate.File {
		f := simulate.File{Name: "slurm-8.out", Data: []byte(lines)}
		if first {
			return []simulate.File{{Name: "train.log", Data: append([]byte(lines), train[0].Data...)}}
		}
		return append([]simulate.File{f}, train...)
	}
	for _, c := range []struct {
		name, lines, mechanism, status string
		above                          bool // the line stands in the training log, above its steps
	}{
		{name: "sent back to the queue", lines: requeue + "\n", mechanism: "cancelled", status: incident.NoFailure},
		{name: "a memory error", lines: memory + "\n", mechanism: "node-failure", status: incident.Probable},
		{name: "a memory error that the job outlived", lines: memory + "\n", above: true, mechanism: "", status: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := run(read(t, with(c.lines, c.above), nil, 8), mechanism.All()).Verdict
			if c.mechanism == "" {
				if v.Mechanism == "node-failure" {
					t.Errorf("%+v", v)
				}
				return
			}
			if v.Mechanism != c.mechanism || v.Status != c.status {
				t.Errorf("%s, %s: %s", v.Mechanism, v.Status, v.Summary)
			}
			if len(v.Root.Nodes)+len(v.Root.Ranks) > 0 {
				t.Errorf("the host that reports is accused: %+v", v.Root)
			}
		})
	}
	// What failed before explains why the job was sent back.
	v := run(read(t, append(spoken(5, 3, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."), with(requeue+"\n", false)[0]), nil, 8), mechanism.All()).Verdict
	if v.Mechanism != "gpu-oom" {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}
