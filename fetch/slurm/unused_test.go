package slurm

import (
	"context"
	"errors"
	"testing"

	"faultline/fetch/source"
)

// A number is called unused only where the controller says that it has not come to it and the accounting, which answers, has no such job.
func TestAnUnusedNumberIsProven(t *testing.T) {
	config := source.Output{Stdout: []byte("Configuration data as of 2026-03-04T05:06:07\nMaxJobId                = 67043328\nNEXT_JOB_ID             = 4243\n\nSlurmctld(primary) at head is UP\n")}
	works := func() map[string]source.Output {
		return map[string]source.Output{"sacct -e": {Stdout: []byte(listed22)}, "sacct -D": {}, "scontrol show job": invalidJob, "scontrol show config": config}
	}
	for _, c := range []struct {
		name, id string
		change   func(a map[string]source.Output)
		unused   bool
	}{
		{"beyond the next", "999999", nil, true},
		{"the next itself", "4243", nil, true},
		{"an element of an array beyond it", "999999_3", nil, true},
		{"below the next: too old, hidden, or never used", "4242", nil, false},
		{"a number of a federation", "134217729", nil, false},
		{"the accounting is off", "999999", func(a map[string]source.Output) {
			a["sacct -D"] = source.Output{Stderr: []byte("Slurm accounting storage is disabled\n"), Code: 1}
		}, false},
		{"the accounting has it, from before the controller lost its state", "999999", func(a map[string]source.Output) {
			a["sacct -D"] = source.Output{Stdout: []byte(row("999999", "999999", "alice", "FAILED", "1:0", "n1", "1000", "1010", "1100", "train"))}
		}, false},
		{"the controller does not answer", "999999", func(a map[string]source.Output) {
			a["scontrol show config"] = source.Output{Stderr: []byte("slurm_load_ctl_conf error: Unable to contact slurm controller"), Code: 1}
		}, false},
		{"the command is not allowed", "999999", func(a map[string]source.Output) { delete(a, "scontrol show config") }, false},
		{"the response has an unexpected format", "999999", func(a map[string]source.Output) {
			a["scontrol show config"] = source.Output{Stdout: []byte("NEXT_JOB_ID = (null)\n")}
		}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			answers := works()
			if c.change != nil {
				c.change(answers)
			}
			cl := &Cluster{Backends: []Backend{&told{err: ErrUnknown}, &Commands{Command: &fakeCommand{answers: answers}}}}
			next, ok := cl.Unused(context.Background(), mustID(t, c.id))
			if ok != c.unused || ok && next != 4243 {
				t.Errorf("next %d, unused %v", next, ok)
			}
		})
	}
	t.Run("another way to ask does not answer", func(t *testing.T) {
		cl := &Cluster{Backends: []Backend{&Commands{Command: &fakeCommand{answers: works()}}, &told{err: errors.New("no route to host")}}}
		if _, ok := cl.Unused(context.Background(), mustID(t, "999999")); ok {
			t.Error("unused")
		}
	})
	t.Run("nobody tells numbers", func(t *testing.T) {
		if _, ok := (&Cluster{Backends: []Backend{&told{err: ErrUnknown}}}).Unused(context.Background(), mustID(t, "999999")); ok {
			t.Error("unused")
		}
	})
}
