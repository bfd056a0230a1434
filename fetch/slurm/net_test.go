package slurm

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/fetch/source/mounted"
)

func (l lab) locateWith(t *testing.T, j *Job, s Script) Located {
	t.Helper()
	files, err := mounted.New(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := j.Subject()
	got, err := (&Locator{Source: files, Roots: []string{l.dir}}).Locate(context.Background(), j, r, s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A script that nobody shows is said, with the reason; the file that was submitted is read instead where it is there.
func TestAScriptThatCannotBeSeen(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "slurm-7.out", "train.log", "run-8.log")
	l.put(t, -time.Hour, "line\n", "old.log")
	j := l.job(t, "7", "FAILED")
	why := Script{Err: errors.New(`scontrol said "Invalid user id"`)}
	got := l.locateWith(t, j, why)
	if !slices.Contains(got.Gaps, "logs that only the job's script names (I couldn't see it)") || !strings.Contains(strings.Join(got.Notes, " "), `because scontrol said "Invalid user id"`) {
		t.Errorf("%q %q", got.Gaps, got.Notes)
	}
	if l.names(got) != "run-8.log slurm-7.out train.log" || !strings.Contains(strings.Join(got.Notes, " "), "next to the batch log while the job ran") {
		t.Errorf("%s %q", l.names(got), got.Notes)
	}
	if len(got.Covered) > 0 {
		t.Errorf("nobody knows whose output is there: %q", got.Covered)
	}
	l.put(t, -time.Hour, "#!/bin/bash\nsrun -o e-%j-%n.log ./a\n", "job.sh")
	l.put(t, 90*time.Second, "line\n", "e-7-0.log", "e-7-1.log", "e-7-2.log", "e-7-3.log")
	j.SubmitLine = "sbatch -N4 job.sh"
	if got = l.locateWith(t, j, why); len(got.Gaps) > 0 || l.names(got) != "e-7-0.log e-7-1.log e-7-2.log e-7-3.log slurm-7.out" || len(got.Covered) != 4 {
		t.Errorf("%s %q %q %q", l.names(got), got.Gaps, got.Notes, got.Covered)
	}
}

// What the job's number is part of is taken beside the batch log, whoever named it.
func TestTheNetHoldsFilesWithTheJobsNumber(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "slurm-7.out", "logs/train_7.log", "logs/train_77.log", "train.log")
	got := l.locateWith(t, l.job(t, "7", "FAILED"), Script{Text: "#!/bin/bash\nsrun ./a\n"})
	if l.names(got) != "logs/train_7.log slurm-7.out" || !strings.Contains(strings.Join(got.Notes, " "), "the name contains the job ID") || len(got.Gaps) > 0 {
		t.Errorf("%s %q %q", l.names(got), got.Notes, got.Gaps)
	}
	if len(got.Covered) != 4 {
		t.Errorf("all nodes write to the batch log: %q", got.Covered)
	}
}

// What a script runs is read through the same gate as logs, and what cannot be read is said.
func TestAScriptThatIsRun(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "slurm-7.out", "v-7-0.log", "v-7-1.log", "v-7-3.log")
	l.put(t, 0, "srun -o v-%j-%n.log ./a\n", "launch.sh")
	j := l.job(t, "7", "FAILED")
	got := l.locateWith(t, j, Script{Text: "#!/bin/bash\nbash launch.sh\nbash gone.sh\nbash /etc/profile\n"})
	if l.names(got) != "slurm-7.out v-7-0.log v-7-1.log v-7-3.log" || strings.Join(got.Covered, " ") != "node01 node02 node04" {
		t.Errorf("%s %q", l.names(got), got.Covered)
	}
	for _, want := range []string{"missing node03 (index 2)", "gone.sh, which cannot be read: it doesn't exist", "/etc/profile, which cannot be read: it is outside"} {
		if !strings.Contains(strings.Join(got.Notes, " "), want) {
			t.Errorf("%q does not say %q", got.Notes, want)
		}
	}
	if os.Getuid() == 0 { // as root, files may be given away
		if err := os.Chown(l.dir+"/launch.sh", 4321, 4321); err != nil {
			t.Fatal(err)
		}
		if got = l.locateWith(t, j, Script{Text: "#!/bin/bash\nbash launch.sh\n"}); !strings.Contains(strings.Join(got.Notes, " "), "belongs to someone else") {
			t.Errorf("%q", got.Notes)
		}
	}
}

// A step that was not reached is not missed; a batch log that is gone is; a batch script has one log, whatever its name.
func TestWhatIsExpected(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "a-0.log", "a-1.log", "a-2.log", "a-3.log", "b-node01.out")
	script := "#!/bin/bash\nset -e\nsrun -o a-%n.log ./a\nsrun -o c-%n.log ./a\n"
	j := l.job(t, "7", "FAILED")
	j.StdOut = l.dir + "/b-%N.out"
	if got := l.locateWith(t, j, Script{Text: script}); len(got.Gaps) > 0 || len(got.Files) != 5 {
		t.Errorf("%s %q", l.names(got), got.Gaps)
	}
	j.StdOut = ""
	j.Runs[0].Steps = append(j.Runs[0].Steps, Step{Name: "batch"})
	if got := l.locateWith(t, j, Script{Text: script}); !slices.Equal(got.Gaps, []string{"the batch log slurm-%j.out"}) {
		t.Errorf("%q", got.Gaps)
	}
}

// Without an accounting the controller tells of the batch log, and nobody of steps.
func TestWhatIsExpectedWithoutAnAccounting(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "a-0.log", "a-1.log", "a-3.log")
	j := l.job(t, "7", "FAILED")
	j.Source, j.StdOut, j.Runs[0].Steps = "scontrol", l.dir+"/slurm-7.out", nil
	got := l.locateWith(t, j, Script{Text: "#!/bin/bash\nset -e\nsrun -o a-%n.log ./a\nsrun -o c-%n.log ./a\n"})
	want := []string{"the batch log slurm-7.out", "logs named a-%n.log: 3 of 4 nodes, missing node03 (index 2)", "c-%n.log, if its step ran"}
	if !slices.Equal(got.Gaps, want) {
		t.Errorf("%q", got.Gaps)
	}
}

// Where slurmdbd missed a job's start, it keeps a stub as root's: the controller's word counts.
func TestAStubOfTheAccounting(t *testing.T) {
	jobs := []Job{{ID: "1", Raw: 1, User: "root", Name: "allocation"}}
	complement(jobs, []Job{{ID: "1", Raw: 1, User: "ann", UID: "7", Name: "train", WorkDir: "/w", StdOut: "/w/slurm-1.out"}})
	if j := jobs[0]; j.User != "ann" || j.WorkDir != "/w" || j.StdOut == "" || j.Name != "train" {
		t.Errorf("%+v", j)
	}
	jobs = []Job{{ID: "1", Raw: 1, User: "bob", Name: "train", WorkDir: "/v"}}
	complement(jobs, []Job{{ID: "1", Raw: 1, User: "ann", WorkDir: "/w", StdOut: "/w/slurm-1.out"}})
	if j := jobs[0]; j.User != "bob" || j.StdOut != "" {
		t.Errorf("%+v", j)
	}
}

// A template may leave parts of a name open, or take all logs below a directory; a job's name with such a sign in it is a name.
func TestTemplatesWithOpenParts(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "a/run-7-0800.log", "a/run-8-0800.log", "b/7/x/rank0.out", "b/7/model.bin", "b/8/rank0.out", "c/t*n/7.log", "c/train/7.log")
	j := l.job(t, "7", "FAILED")
	j.Name = "t*n"
	for template, want := range map[string]string{
		"{root}/a/run-%j-*.log": "a/run-7-0800.log", "{root}/*/run-%j-*.log": "a/run-7-0800.log", "{root}/b/%j/**": "b/7/x/rank0.out", "{root}/c/{name}/%j.log": "c/t*n/7.log",
	} {
		files, err := mounted.New(l.dir)
		if err != nil {
			t.Fatal(err)
		}
		r, _ := j.Subject()
		no := func(name string) bool { return strings.HasSuffix(name, ".bin") }
		got, err := (&Locator{Source: files, Roots: []string{l.dir}, Team: []string{template}, Only: true, NoLog: no}).Locate(context.Background(), j, r, Script{})
		if err != nil || l.names(got) != want {
			t.Errorf("%s: %q, want %q; %v", template, l.names(got), want, err)
		}
	}
}
