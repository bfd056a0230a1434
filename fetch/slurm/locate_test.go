package slurm

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"faultline/fetch/source/mounted"
)

// lab is a directory with the logs of job 7 of alice: four nodes, eight tasks, 00:00:10 to 00:01:40 of some day.
type lab struct {
	dir  string
	from time.Time
}

func newLab(t *testing.T) lab {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return lab{dir, time.Unix(1795216200, 0)}
}

// put writes files, all last written to so long after the beginning of the job.
func (l lab) put(t *testing.T, after time.Duration, content string, names ...string) {
	t.Helper()
	for _, n := range names {
		f := filepath.Join(l.dir, n)
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f, time.Time{}, l.from.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
}

func (l lab) at(after time.Duration) string { return fmt.Sprint(l.from.Add(after).Unix()) }

// job is run after run of job id: each is its state.
func (l lab) job(t *testing.T, id string, states ...string) *Job {
	t.Helper()
	var lines []string
	for i, s := range states {
		begin := time.Duration(i) * time.Hour
		lines = append(lines,
			row(id, "7", "alice", s, "1:0", "node[01-04]", l.at(begin), l.at(begin+10*time.Second), l.at(begin+100*time.Second), "train"),
			row(id+".0", "7.0", "", s, "1:0", "node[01-04]", l.at(begin), l.at(begin+10*time.Second), l.at(begin+100*time.Second), "python"))
	}
	jobs := jobsOf(t, lines...)
	if len(jobs) != 1 {
		t.Fatalf("%d jobs", len(jobs))
	}
	jobs[0].WorkDir = l.dir
	jobs[0].UID = "12345" // not who runs this test
	if u, err := user.Current(); err == nil {
		jobs[0].User = u.Username
	}
	return &jobs[0]
}

func (l lab) locate(t *testing.T, j *Job, script string, templates ...string) Located {
	t.Helper()
	files, err := mounted.New(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	r, _ := j.Subject()
	got, err := (&Locator{Source: files, Roots: []string{l.dir}, Templates: templates}).Locate(context.Background(), j, r, Script{Text: script})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func (l lab) names(got Located) string {
	var names []string
	for _, f := range got.Files {
		names = append(names, strings.TrimPrefix(f.Name, l.dir+"/"))
	}
	return strings.Join(names, " ")
}

const usual = "#!/bin/bash\n#SBATCH -o slurm-%j.out\nsrun --output=slurm-%j-%n.out --error=error-%j-%n.out ./train.sh\n"

func TestTheJobsOwnScriptSaysWhereItsLogsAre(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "slurm-7.out", "slurm-7-0.out", "slurm-7-1.out", "slurm-7-2.out", "slurm-7-3.out", "error-7-0.out", "error-7-1.out.gz", "error-7-3.out",
		"error-70-0.out", "error-17-0.out", "slurm-70.out", "checkpoint-7.pt")
	got := l.locate(t, l.job(t, "7", "FAILED"), usual)
	if want := "error-7-0.out error-7-1.out.gz error-7-3.out slurm-7-0.out slurm-7-1.out slurm-7-2.out slurm-7-3.out slurm-7.out"; l.names(got) != want {
		t.Errorf("%s\nwant %s", l.names(got), want)
	}
	if len(got.Notes) != 1 || got.Notes[0] != "Logs named error-%j-%n.out (according to the job's script): 3 of 4 nodes, missing node03 (index 2)." {
		t.Errorf("%q", got.Notes)
	}
	if len(got.Sets) != 3 || !got.Sets[0].Batch || !got.Sets[1].Result.Complete() {
		t.Errorf("%+v", got.Sets)
	}
}

func TestTheConfiguredTemplate(t *testing.T) {
	l := newLab(t)
	j := l.job(t, "7", "FAILED")
	l.put(t, 90*time.Second, "line\n", j.User+"/run/error-7-node01.out", j.User+"/run/error-7-node02.out", j.User+"/run/error-7-node04.out", "bob/run/error-7-node03.out")
	got := l.locate(t, j, "", "{user}/run/error-%j-%N.out", "{root}/{account}/none-%j")
	if strings.ReplaceAll(l.names(got), j.User, "alice") != "alice/run/error-7-node01.out alice/run/error-7-node02.out alice/run/error-7-node04.out" {
		t.Error(l.names(got))
	}
	if len(got.Notes) != 1 || !strings.Contains(got.Notes[0], "(according to the configuration): 3 of 4 nodes, missing node03 (index 2).") {
		t.Errorf("%q", got.Notes)
	}
	j.User = "../../etc"
	if got := l.locate(t, j, "", "{user}/run/error-%j-%N.out"); len(got.Files) != 0 {
		t.Errorf("a user's name climbs: %s", l.names(got))
	}
}

func TestWhereNobodySaysTheDefaultNameIsMeant(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "slurm-7.out", "slurm-16_3.out", "slurm-16_4.out")
	if got := l.locate(t, l.job(t, "7", "FAILED"), ""); l.names(got) != "slurm-7.out" {
		t.Error(l.names(got))
	}
	if got := l.locate(t, l.job(t, "16_3", "FAILED"), ""); l.names(got) != "slurm-16_3.out" {
		t.Error(l.names(got))
	}
}

func TestAPathOutsideOfTheRootsIsSaidAndNotRead(t *testing.T) {
	l := newLab(t)
	elsewhere := newLab(t)
	elsewhere.put(t, 90*time.Second, "secret\n", "x-7-0.out")
	j := l.job(t, "7", "FAILED")
	got := l.locate(t, j, "#!/bin/bash\nsrun -o "+elsewhere.dir+"/x-%j-%n.out ./a\n")
	if len(got.Files) != 0 || !strings.Contains(strings.Join(got.Notes, " "), "outside") {
		t.Errorf("%s %q", l.names(got), got.Notes)
	}
	if err := os.Symlink(filepath.Join(elsewhere.dir, "x-7-0.out"), filepath.Join(l.dir, "y-7-0.out")); err != nil {
		t.Fatal(err)
	}
	if got = l.locate(t, j, "#!/bin/bash\nsrun -o y-%j-%n.out ./a\n"); len(got.Files) != 0 {
		t.Errorf("a link leads out: %s", l.names(got))
	}
}

func TestNamesWithoutTheJobAreTakenByTheirTime(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "train.log")
	script := "#!/bin/bash\nsrun -o train.log ./a\n"
	if got := l.locate(t, l.job(t, "7", "FAILED"), script); l.names(got) != "train.log" {
		t.Errorf("%s %q", l.names(got), got.Notes)
	}
	l.put(t, 5*time.Hour, "line of another job\n", "train.log")
	if got := l.locate(t, l.job(t, "7", "FAILED"), script); l.names(got) != "" {
		t.Errorf("the log of a later job is taken: %s", l.names(got))
	}
}

func TestARequeueThatOverwroteIsSaid(t *testing.T) {
	l := newLab(t)
	l.put(t, time.Hour+50*time.Second, "line\n", "slurm-7.out")
	j := l.job(t, "7", "NODE_FAIL", "COMPLETED")
	if r, i := j.Subject(); i != 0 || r.State() != "NODE_FAIL" {
		t.Fatal("the healthy later run is looked at")
	}
	got := l.locate(t, j, "#!/bin/bash\n")
	if len(got.Notes) != 1 || !strings.HasPrefix(got.Notes[0], "The requeue overwrote the failed run's log, unless this cluster appends (JobFileAppend): run 2 of 2 started at ") {
		t.Errorf("%q", got.Notes)
	}
	if got = l.locate(t, j, "#!/bin/bash\n#SBATCH --open-mode=truncate\n"); len(got.Notes) != 1 || !strings.HasPrefix(got.Notes[0], "The requeue overwrote the failed run's log: ") {
		t.Errorf("%q", got.Notes)
	}
	for _, script := range []string{"#!/bin/bash\n#SBATCH --open-mode=append\n"} {
		if got = l.locate(t, j, script); len(got.Notes) != 0 {
			t.Errorf("%q", got.Notes)
		}
	}
	l.put(t, 50*time.Second, "line\n", "slurm-7.out")
	if got = l.locate(t, j, "#!/bin/bash\n"); len(got.Notes) != 0 {
		t.Errorf("the later run did not write: %q", got.Notes)
	}
}

func TestAPatternOfASmallerStepMissesNobody(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "prep-7-0.out", "t-7-0.out", "t-7-1.out", "t-7-2.out", "t-7-3.out", "slurm-7.out")
	j := l.job(t, "7", "FAILED")
	j.Runs[0].Steps = append(j.Runs[0].Steps, Step{Name: "1", NNodes: 1, NTasks: 1, NodeList: "node01", State: "COMPLETED"})
	got := l.locate(t, j, "#!/bin/bash\nsrun -N1 -n1 -o prep-%j-%n.out ./prep\nsrun -o t-%j-%n.out ./a\n")
	if len(got.Notes) != 0 || len(got.Files) != 6 {
		t.Errorf("%s %q", l.names(got), got.Notes)
	}
	if got := strings.Join(j.Runs[0].Expected(), " "); got != "node01 node02 node03 node04" {
		t.Error(got)
	}
}

func TestWhatCannotBeLookedAtIsNotMissing(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may read everything")
	}
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "logs/t-7-0.out")
	if err := os.Chmod(filepath.Join(l.dir, "logs"), 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(filepath.Join(l.dir, "logs"), 0o755)
	got := l.locate(t, l.job(t, "7", "FAILED"), "#!/bin/bash\nsrun -o logs/t-%j-%n.out ./a\n")
	if text := strings.Join(got.Notes, " "); !strings.Contains(text, "I call no file missing") || strings.Contains(text, "node01") {
		t.Errorf("%q", got.Notes)
	}
}

func TestHeadersAndEmptyFilesAreTold(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "t-7-0.out", "t-7-1.out")
	l.put(t, 90*time.Second, "", "t-7-2.out")
	l.put(t, 90*time.Second, "slurmstepd: error: couldn't chdir\n", "t-7-3.out")
	got := l.locate(t, l.job(t, "7", "FAILED"), "#!/bin/bash\nsrun -o t-%j-%n.out ./a\n")
	if len(got.Notes) != 1 || !strings.HasSuffix(got.Notes[0], "4 of 4 nodes, empty node03 (index 2), header only node04 (index 3).") {
		t.Errorf("%q", got.Notes)
	}
}

func TestAStreamThatNobodyUsesIsNotMentioned(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "", "t-7-0.out", "t-7-1.out", "t-7-2.out", "t-7-3.out")
	if got := l.locate(t, l.job(t, "7", "FAILED"), "#!/bin/bash\nsrun -o t-%j-%n.out ./a\n"); len(got.Files) != 4 || len(got.Notes) != 0 {
		t.Errorf("%s %q", l.names(got), got.Notes)
	}
}

func TestFilesOfOthersAreLeftOut(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "slurm-7.out", "t-7-0.out")
	j := l.job(t, "7", "FAILED")
	j.User = "somebody-else"
	got := l.locate(t, j, "#!/bin/bash\nsrun -o t-%j-%n.out ./a\n")
	if len(got.Files) != 0 || !strings.Contains(strings.Join(got.Notes, " "), "Left out 1 file that the job points at but someone else owns.") {
		t.Errorf("%s %q", l.names(got), got.Notes)
	}
	// What whoever runs the bot states is not the job's doing.
	if got = l.locate(t, j, "", "t-%j-%n.out"); l.names(got) != "t-7-0.out" {
		t.Errorf("%s %q", l.names(got), got.Notes)
	}
}

func TestAComputedNameHasToHoldTheJob(t *testing.T) {
	l := newLab(t)
	l.put(t, 90*time.Second, "line\n", "run-7-a-0.log", "run-8-a-0.log", "run-77-a-0.log", "run-a-0.log")
	if got := l.locate(t, l.job(t, "7", "FAILED"), "#!/bin/bash\nsrun -o run-$(x)-%n.log ./a\n"); l.names(got) != "run-7-a-0.log" {
		t.Errorf("%s %q", l.names(got), got.Notes)
	}
	l.put(t, 90*time.Second, "line\n", "r-16_3-0.log", "r-16_30-0.log", "r-7-0.log")
	if got := l.locate(t, l.job(t, "16_3", "FAILED"), "#!/bin/bash\nsrun -o r-$(x)-%n.log ./a\n"); l.names(got) != "r-16_3-0.log" {
		t.Errorf("%s %q", l.names(got), got.Notes)
	}
}

func TestFillPutsInWhatIsKnownOnceOnly(t *testing.T) {
	j := Job{ID: "7", User: "alice", Name: "{workdir}", WorkDir: "/w/100%"}
	for template, want := range map[string]string{
		"{user}/{job}-%n.err": "/logs/alice/7-%n.err", "{name}/x": "/logs/{workdir}/x", "{workdir}/%j": "/w/100%%/%j", "/abs/{root}": "/abs//logs",
		"{account}/x": "", "{other}/x": "/logs/{other}/x",
	} {
		if got := j.Fill(template, "/logs"); got != want {
			t.Errorf("%s: %q, want %q", template, got, want)
		}
	}
	j.Name = "../x"
	if got := j.Fill("{name}", "/logs"); got != "" {
		t.Errorf("a name with a slash gave %q", got)
	}
}
