package slurm

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/fetch/source"
	"faultline/fetch/source/mounted"
)

const (
	listedPids = "PID      JOBID    STEPID   LOCALID GLOBALID\n4101     7        batch    0       0       \n4107     7        0        1       5       \n4108     7        0        -       -       \n9        8        0        0       0\n-1       7        extern   -       -\n"
	openFiles  = "/proc/4101/fd/:\ntotal 0\nlr-x------ 1 ann ann 64 Nov 27 10:00 0 -> /dev/null\nl-wx------ 1 ann ann 64 Nov 27 10:00 1 -> /w/slurm-7.out\nlrwx------ 1 ann ann 64 Nov 27 10:00 2 -> socket:[77]\n" +
		"\n/proc/4107/fd/:\nl-wx------ 1 ann ann 64 Nov 27 10:00 1 -> /w/run a/rank5.log\nlr-x------ 1 ann ann 64 Nov 27 10:00 3 -> /w/data.log\nlrwx------ 1 ann ann 64 Nov 27 10:00 4 -> /w/model.bin\nl-wx------ 1 ann ann 64 Nov 27 10:00 5 -> /dev/log\n"
)

// The files that a job's processes write to are read off SLURM's list of processes and Linux's list of their files.
func TestFilesThatAJobHasOpen(t *testing.T) {
	s := &fakeCommand{answers: map[string]source.Output{"scontrol listpids 7": {Stdout: []byte(listedPids)}, "ls -l --": {Stdout: []byte(openFiles), Code: 2}}}
	c := &Cluster{Backends: []Backend{&Commands{Command: s}}}
	if got := c.Opened(context.Background(), &Job{Raw: 7}); !slices.Equal(got, []string{"/w/run a/rank5.log", "/w/slurm-7.out"}) {
		t.Errorf("%q", got)
	}
	if want := "ls -l -- /proc/4101/fd/ /proc/4107/fd/ /proc/4108/fd/"; s.ran[len(s.ran)-1] != want {
		t.Errorf("ran %q, want %q", s.ran, want)
	}
	none := &fakeCommand{answers: map[string]source.Output{"scontrol listpids": {Code: 1, Stderr: []byte("No job steps exist for job 7 on this node")}}}
	c = &Cluster{Backends: []Backend{&Commands{Command: none}}}
	if got := c.Opened(context.Background(), &Job{Raw: 7}); got != nil || len(none.ran) != 1 {
		t.Errorf("%q, ran %q", got, none.ran)
	}
}

// What a running job has open is taken through the gate of all that a job points at; of a job that ended nobody asks.
func TestOpenFilesAreTaken(t *testing.T) {
	for name, c := range map[string]struct {
		state, want, note string
		foreign           bool
	}{
		"a running job":    {state: "RUNNING", want: "deep/a.log", note: "deep/a.log: the running job writes to it"},
		"a job that ended": {state: "FAILED"},
		"somebody else's":  {state: "RUNNING", foreign: true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.foreign && os.Getuid() != 0 {
				t.Skip("files can be given away by root only")
			}
			l := newLab(t)
			l.put(t, 90*time.Second, "line\n", "slurm-7.out", "deep/a.log", "deep/b.log")
			if c.foreign {
				if err := os.Chown(l.dir+"/deep/a.log", 4321, 4321); err != nil {
					t.Fatal(err)
				}
			}
			files, err := mounted.New(l.dir)
			if err != nil {
				t.Fatal(err)
			}
			open := func(context.Context, *Job) []string {
				return []string{l.dir + "/deep/a.log", l.dir + "/gone.log", "/nowhere/c.txt"}
			}
			j := l.job(t, "7", c.state)
			r, _ := j.Subject()
			got, err := (&Locator{Source: files, Roots: []string{l.dir}, Opened: open}).Locate(context.Background(), j, r, Script{Text: "#!/bin/bash\nsrun ./a\n"})
			if err != nil {
				t.Fatal(err)
			}
			if names := strings.Fields(l.names(got)); !slices.Contains(names, "slurm-7.out") || c.want != "" && !slices.Contains(names, c.want) || len(names) != 1+len(strings.Fields(c.want)) {
				t.Errorf("found %q; %q", names, got.Notes)
			}
			if said := strings.Join(got.Notes, " "); !strings.Contains(said, c.note) {
				t.Errorf("%q", said)
			}
		})
	}
}
