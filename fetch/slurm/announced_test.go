package slurm

import (
	"os"
	"strings"
	"testing"
	"time"
)

// Where a log says that others are written they are taken, with the line that says so; through the gate of all that a job points at.
func TestWhatALogSaysOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		line     string // %D is the directory of the job
		put, old []string
		foreign  bool
		want     string // beside the batch log
		note     string
	}{
		"a file":                   {line: "INFO Logging to %D/x/y.log", put: []string{"x/y.log", "x/z.log"}, want: "x/y.log", note: "line 2 of slurm-7.out mentions it"},
		"a path of the job's":      {line: "NCCL INFO NCCL_DEBUG_FILE set to x/nccl.h.1.log", put: []string{"x/nccl.h.1.log"}, want: "x/nccl.h.1.log"},
		"Hydra":                    {line: "[hydra] Working directory : %D/outputs/2026-11-26/10-00-00", put: []string{"outputs/2026-11-26/10-00-00/train.log", "outputs/2026-11-26/10-00-00/model.bin"}, want: "outputs/2026-11-26/10-00-00/train.log"},
		"torchrun":                 {line: "I1126 [1] torch/distributed/launcher/api.py:1]   log_dir          : '%D/tl/none_ab'", put: []string{"tl/none_ab/attempt_0/0/stdout.log"}, want: "tl/none_ab/attempt_0/0/stdout.log"},
		"a directory of many jobs": {line: "Saving logs to %D/logs", put: []string{"logs/new.log", "logs/t-7.log", "logs/t-8.log"}, old: []string{"logs/old.log"}, want: "logs/t-7.log"},
		"another job's":            {line: "Saving logs to %D/logs", put: []string{"logs/new.log", "logs/slurm-8.out"}, want: "logs/new.log"},
		"somebody else's":          {line: "Logging to %D/x/y.log", put: []string{"x/y.log"}, foreign: true},
		"from before":              {line: "Logging to %D/x/y.log", old: []string{"x/y.log"}},
		"no log is meant":          {line: "loading %D/x/y.log", put: []string{"x/y.log"}},
		"the job's own directory":  {line: "log_dir: %D", put: []string{"y.log"}},
		"outside":                  {line: "Logging to /nowhere/x/y.log", note: "it is outside the directories I may read"},
		"of a node":                {line: "Logging to /tmp/x/y.log"},
		"beyond the root":          {line: "Logging to %D/../../etc/y.log"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.foreign && os.Getuid() != 0 {
				t.Skip("files can be given away by root only")
			}
			l := newLab(t)
			l.put(t, 90*time.Second, "began\n"+strings.ReplaceAll(c.line, "%D", l.dir)+"\n", "slurm-7.out")
			l.put(t, 90*time.Second, "line\n", c.put...)
			l.put(t, -time.Hour, "line\n", c.old...)
			if c.foreign {
				if err := os.Chown(l.dir+"/"+c.put[0], 4321, 4321); err != nil {
					t.Fatal(err)
				}
			}
			j := l.job(t, "7", "FAILED")
			got := l.locateWith(t, j, Script{Text: "#!/bin/bash\nsrun ./a\n"})
			if names := l.names(got); names != strings.TrimSpace("slurm-7.out "+c.want) && names != strings.TrimSpace(c.want+" slurm-7.out") {
				t.Errorf("found %q, want %q beside the batch log; %q", names, c.want, got.Notes)
			}
			if said := strings.Join(got.Notes, " "); !strings.Contains(said, c.note) || c.note == "" && c.want == "" && said != "" {
				t.Errorf("%q", said)
			}
		})
	}
}
