package jobs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/fetch"
	"faultline/fetch/slurm"
	"faultline/fetch/source"
	"faultline/fetch/source/mounted"
	"faultline/fetch/spool"
	"faultline/workflow"
)

var ctx = context.Background()

// cluster answers SLURM's commands: rows of sacct, what scontrol says of nodes, and a script.
type cluster struct {
	rows   []string
	script string
	down   bool
}

const columns = 18 // JobID … WorkDir, JobName

func (c *cluster) Run(_ context.Context, argv ...string) (source.Output, error) {
	if c.down {
		return source.Output{}, errors.New("no route to host")
	}
	line := strings.Join(argv, " ")
	switch {
	case strings.Contains(line, "sacct -e"):
		return source.Output{Stdout: []byte("JobID")}, nil
	case strings.Contains(line, "sacct -D"):
		return table(argv, strings.Join(c.rows, "")), nil
	case strings.Contains(line, "sacct -a"):
		return table(argv, "99\x1f1795216400\x1fnode03\n98\x1f1795216410\x1fnode77\n"), nil
	case strings.Contains(line, "show node"):
		return source.Output{Stdout: []byte("NodeName=node03\n   State=DOWN\n   Reason=Not responding\n\nNodeName=node77\n   State=IDLE\n")}, nil
	case strings.Contains(line, "show config"):
		return source.Output{Stdout: []byte("NEXT_JOB_ID             = 4243\n")}, nil
	case strings.Contains(line, "batch_script"):
		return source.Output{Stdout: []byte(c.script)}, nil
	}
	return source.Output{Code: 1, Stderr: []byte("slurm_load_jobs error: Invalid job id specified")}, nil
}

// table sets what a command asked for between the columns.
func table(argv []string, rows string) source.Output {
	for _, arg := range argv {
		if sep, ok := strings.CutPrefix(arg, "--delimiter="); ok {
			rows = strings.ReplaceAll(rows, "\x1f", sep)
		}
	}
	return source.Output{Stdout: []byte(rows)}
}

// row is a record and its step 0; begin is its hour.
func (b *bench) row(id, raw, state, exit, nodes string, begin int) string {
	at := func(s int) string { return fmt.Sprint(1795216200 + begin*3600 + s) }
	job := []string{id, raw, b.user, "acc", "gpu", state, exit, "0:0", "4", "", nodes, at(0), at(10), at(200), "01:00:00", "None", b.logs, "train"}
	step := slices.Clone(job)
	step[0], step[1], step[2], step[9], step[17] = id+".0", raw+".0", "", "8", "python"
	if len(job) != columns {
		panic("columns")
	}
	return strings.Join(job, "\x1f") + "\n" + strings.Join(step, "\x1f") + "\n"
}

// bench is a fetcher with one cluster, west, whose logs are in a directory.
type bench struct {
	*Fetcher
	logs, user string
	west       *cluster
}

func newBench(t *testing.T) *bench {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	files, err := mounted.New(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{logs: dir, user: me.Username, west: &cluster{script: "#!/bin/bash\n#SBATCH -o slurm-%j.out\nsrun -e error-%j-%n.out ./train\n"}}
	patterns := []string{"{job}", "*{job}*"}
	b.Fetcher = &Fetcher{
		Shared: &fetch.Shared{Spool: t.TempDir(), Clusters: []fetch.Cluster{{Name: "west", Roots: []string{dir}, Patterns: patterns}}},
		Clusters: []Cluster{{
			Name: "west", Patterns: patterns, Ask: &slurm.Cluster{Name: "west", Backends: []slurm.Backend{&slurm.Commands{Command: b.west}}},
			Places: []Place{{Place: spool.Place{Source: files, ID: "file://", Origin: "shared"}, Roots: []string{dir}, Mounted: true}},
		}},
	}
	return b
}

func (b *bench) put(t *testing.T, names ...string) {
	t.Helper()
	for _, n := range names {
		f := filepath.Join(b.logs, n)
		if err := os.MkdirAll(filepath.Dir(f), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(f, []byte(n+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f, time.Time{}, time.Unix(1795216390, 0)); err != nil {
			t.Fatal(err)
		}
	}
}

func names(c workflow.Collection) string {
	var list []string
	for _, s := range c.Sources {
		list = append(list, s.Name)
	}
	return strings.Join(list, " ")
}

func TestAJobIsFoundFromItsIDAlone(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-04]", 0)}
	b.put(t, "slurm-7.out", "error-7-0.out", "error-7-1.out", "error-7-3.out", "error-77-0.out", "7/ckpt.out")
	found, err := b.Locate(ctx, "west", "7")
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(found.Places, []string{"slurm:west/7@1795216200"}) || len(found.Base) != 0 || !slices.Equal(found.Users, []string{b.user}) || found.NodesFrom != "sacct" ||
		strings.Join(found.Nodes, " ") != "node01 node02 node03 node04" || found.State != "FAILED (1:0) in step 0" || found.Running || found.Written.Unix() != 1795216390 {
		t.Errorf("%+v", found)
	}
	if len(found.Notes) != 2 || !strings.HasPrefix(found.Notes[0], "Job 7 ended FAILED (1:0) in step 0 on 4 nodes, according to sacct; its logs: ") || !strings.Contains(found.Notes[1], "3 of 4 nodes, missing node03 (index 2).") {
		t.Errorf("%q", found.Notes)
	}
	got, err := b.Collect(ctx, found.Places)
	if err != nil {
		t.Fatal(err)
	}
	if names(got) != "error-7-0.out error-7-1.out error-7-3.out slurm-7.out slurm-accounting.txt slurm-nodes.txt" || got.NodesFrom != "sacct" || len(got.Nodes) != 4 {
		t.Errorf("%s %+v", names(got), got)
	}
	if text := strings.Join(got.Warnings, " "); !strings.Contains(text, "missing node03 (index 2)") || !strings.Contains(text, "2 other jobs failed on this cluster; 1 of them shared a node with it") {
		t.Errorf("%q", got.Warnings)
	}
	for _, s := range got.Sources {
		raw, err := os.ReadFile(s.Path)
		if err != nil || int64(len(raw)) != s.Bytes {
			t.Errorf("%s: %d bytes, %v", s.Name, len(raw), err)
		}
		switch s.Name {
		case slurm.AccountingName:
			if s.Origin != "sacct" || !strings.HasPrefix(string(raw), "JobID|JobIDRaw|User|") || strings.Count(string(raw), "\n") != 3 {
				t.Errorf("%s: %s", s.Origin, raw)
			}
		case slurm.NodesName:
			if s.Origin != "scontrol" || strings.Contains(string(raw), "node77") {
				t.Errorf("%s: %s", s.Origin, raw)
			}
		}
	}
	// Nothing changed: the same bytes.
	again, err := b.Collect(ctx, found.Places)
	if err != nil || len(again.Sources) != len(got.Sources) {
		t.Fatal(err)
	}
	for i := range again.Sources {
		if again.Sources[i].SHA256 != got.Sources[i].SHA256 || again.Sources[i].Name != got.Sources[i].Name {
			t.Errorf("%s differs", again.Sources[i].Name)
		}
	}
}

func TestWhereTheScriptSaysNothingNamesAreLookedAt(t *testing.T) {
	b := newBench(t)
	b.west.script = ""
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-04]", 0)}
	b.put(t, "slurm-7.out", "run-7/rank0.log", "run-7/ckpt.pt", "run-77/rank0.log")
	found, err := b.Locate(ctx, "west", "7")
	if err != nil || len(found.Places) != 1 {
		t.Fatal(found, err)
	}
	got, err := b.Collect(ctx, found.Places)
	if err != nil || names(got) != "rank0.log slurm-7.out slurm-accounting.txt slurm-nodes.txt" {
		t.Errorf("%s %v", names(got), err)
	}
}

func TestWhatTheClusterSaysIsKeptWhereNoLogIsFound(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "NODE_FAIL", "0:0", "node[01-04]", 0)}
	found, err := b.Locate(ctx, "west", "7")
	if err != nil || len(found.Places) != 0 || !slices.Equal(found.Base, []string{"slurm:west/7@1795216200"}) || !strings.HasSuffix(found.Notes[0], "I found none of its logs.") {
		t.Fatalf("%+v %v", found, err)
	}
	b.put(t, "given.log")
	got, err := b.Collect(ctx, append(found.Base, filepath.Join(b.logs, "given.log")))
	if err != nil || names(got) != "given.log slurm-accounting.txt slurm-nodes.txt" {
		t.Errorf("%s %v", names(got), err)
	}
}

func TestAClusterThatDoesNotAnswerIsSearchedByName(t *testing.T) {
	b := newBench(t)
	b.west.down = true
	b.put(t, "slurm-7.out")
	found, err := b.Locate(ctx, "west", "7")
	if err != nil || !slices.Equal(found.Places, []string{filepath.Join(b.logs, "slurm-7.out")}) || len(found.Notes) != 1 || !strings.Contains(found.Notes[0], "no route to host") {
		t.Errorf("%+v %v", found, err)
	}
	b.west.down = false // and now it answers, and knows no such job
	if found, err = b.Locate(ctx, "west", "7"); err != nil || len(found.Places) != 1 || len(found.Notes) != 0 {
		t.Errorf("%+v %v", found, err)
	}
	// No id of SLURM's: nobody is asked, and the name may still be a folder's.
	b.put(t, "run_x/a.log")
	if found, err = b.Locate(ctx, "west", "run_x"); err != nil || len(found.Places) != 1 {
		t.Errorf("%+v %v", found, err)
	}
}

func TestAnArrayIsAnsweredInGroupsAndOneIsLookedAt(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{
		b.row("16_1", "17", "COMPLETED", "0:0", "node01", 0), b.row("16_2", "18", "TIMEOUT", "0:0", "node01", 0),
		b.row("16_3", "19", "FAILED", "1:0", "node01", 0), b.row("16_4", "16", "FAILED", "1:0", "node01", 0),
	}
	b.put(t, "slurm-16_3.out", "slurm-16_4.out")
	b.west.script = "#!/bin/bash\n"
	found, err := b.Locate(ctx, "west", "16")
	if err != nil || !slices.Equal(found.Places, []string{"slurm:west/16_3@1795216200"}) {
		t.Fatalf("%+v %v", found, err)
	}
	if text := strings.Join(found.Notes, " "); !strings.Contains(text, "Job 16 is an array: 3 of 4 failed: 2 alike, FAILED (1:0) in step 0; 1 with TIMEOUT. I'm looking at 16_3; to see another, give its ID.") {
		t.Error(text)
	}
	if found, err = b.Locate(ctx, "west", "16_[2,4]"); err != nil || !strings.Contains(strings.Join(found.Notes, " "), "2 of 2 failed") {
		t.Errorf("%+v %v", found, err)
	}
	if found, err = b.Locate(ctx, "west", "16_[8-9]"); err != nil || len(found.Places) != 0 {
		t.Errorf("%+v %v", found, err)
	}
}

func TestAHealthyLaterRunDoesNotClearTheFailedOne(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "NODE_FAIL", "0:0", "node[01-04]", 0), b.row("7", "7", "COMPLETED", "0:0", "node[01-02,04,05]", 1)}
	b.put(t, "slurm-7.out")
	found, err := b.Locate(ctx, "west", "7")
	if err != nil || strings.Join(found.Nodes, " ") != "node01 node02 node03 node04" || !strings.Contains(strings.Join(found.Notes, " "), "Job 7 ran 2 times; I'm looking at run 1: NODE_FAIL. The last run, completed, shows nothing about that failure.") {
		t.Errorf("%+v %v", found, err)
	}
}

func TestARunningJobIsSaid(t *testing.T) {
	b := newBench(t)
	row := strings.ReplaceAll(b.row("7", "7", "RUNNING", "0:0", "node[01-04]", 0), "1795216400", "Unknown")
	b.west.rows = []string{row}
	b.put(t, "slurm-7.out")
	if found, err := b.Locate(ctx, "west", "7"); err != nil || !found.Running || !strings.HasPrefix(found.Notes[0], "Job 7 is RUNNING on 4 nodes") {
		t.Errorf("%+v %v", found, err)
	}
}

func TestAnIDThatWasGivenAgainIsNotTheJobThatWasAskedFor(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-04]", 5)}
	if got, err := b.Collect(ctx, []string{"slurm:west/7@1795216200"}); err == nil || !strings.Contains(err.Error(), "now belongs to another job") {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := b.Collect(ctx, []string{"slurm:east/7@1"}); err == nil {
		t.Error("a cluster that is not there")
	}
}

// elsewhere is a place on another machine: a mounted one that is not read in place.
func TestFilesOfAnotherMachineAreBrought(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-04]", 0)}
	b.put(t, "slurm-7.out", "error-7-0.out", "error-7-1.out", "error-7-2.out", "error-7-3.out")
	p := &b.Clusters[0].Places[0]
	p.ID, p.Origin, p.Mounted = "sftp://login.west", "sftp", false
	b.Shared.Clusters[0].Roots = nil
	s, err := spool.Open(filepath.Join(t.TempDir(), "taken"), spool.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	b.Spool = s
	found, err := b.Locate(ctx, "west", "7")
	if err != nil {
		t.Fatal(err)
	}
	var far workflow.Brought
	got, err := b.Collect(workflow.Bringing(ctx, func(b workflow.Brought) { far = b }), found.Places)
	if far.Files != 5 || far.OfFiles != 5 || far.Bytes == 0 || far.Bytes != far.OfBytes || far.Fetched != far.Bytes {
		t.Errorf("told %+v", far)
	}
	if err != nil || names(got) != "error-7-0.out error-7-1.out error-7-2.out error-7-3.out slurm-7.out slurm-accounting.txt slurm-nodes.txt" || got.Sources[0].Origin != "sftp" || got.Sources[0].SHA256 == "" {
		t.Errorf("%s %v %v", names(got), err, got.Warnings)
	}
	b.west.down = true // nobody can be asked: the names are looked at there
	found, err = b.Locate(ctx, "west", "7")
	if err != nil || len(found.Places) != 5 || found.Places[0] != "sftp://login.west"+b.logs+"/error-7-0.out" {
		t.Fatalf("%+v %v", found, err)
	}
	if got, err = b.Collect(ctx, found.Places); err != nil || len(got.Sources) != 5 {
		t.Errorf("%s %v %v", names(got), err, got.Warnings)
	}
}

func FuzzPlace(f *testing.F) {
	f.Add("slurm:west/7@1795216200")
	f.Add("slurm:/16_[2,4%1]@-1")
	f.Fuzz(func(t *testing.T, s string) {
		cluster, job, submit, ok := parsePlace(s)
		if ok && fmt.Sprintf("%s%s/%s@", scheme, cluster, job) != s[:strings.LastIndexByte(s, '@')+1] && strings.Count(s, "@") == 1 {
			t.Errorf("%q is %q %q %d", s, cluster, job, submit)
		}
	})
}

// Dumps lie where the jobs' environment says, and are called as PyTorch likes.
func TestWhatLiesBesideTheLogsIsTakenWhereTheConfigurationSays(t *testing.T) {
	for _, place := range []string{"mounted", "elsewhere", "elsewhere, nobody to ask"} {
		t.Run(place, func(t *testing.T) {
			b := newBench(t)
			b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-02]", 0)}
			b.put(t, "slurm-7.out", "error-7-0.out", "error-7-1.out", "dumps/7/nccl_trace_rank_3", "dumps/7/more/stacks.pkl", "dumps/77/nccl_trace_rank_4", "other/7.pkl")
			c := &b.Clusters[0]
			c.Evidence = []string{"dumps/{job}"}
			if place != "mounted" {
				s, err := spool.Open(filepath.Join(t.TempDir(), "taken"), spool.Options{})
				if err != nil {
					t.Fatal(err)
				}
				defer s.Close()
				b.Spool, b.Shared.Clusters[0].Roots, c.Places[0].Mounted, c.Places[0].ID = s, nil, false, "sftp://login"
			}
			if place == "elsewhere, nobody to ask" {
				c.Ask = nil
			}
			found, err := b.Locate(ctx, "west", "7")
			if err != nil || len(found.Places) == 0 {
				t.Fatalf("%v %+v", err, found)
			}
			got, err := b.Collect(ctx, found.Places)
			if err != nil {
				t.Fatal(err)
			}
			list := names(got)
			for _, want := range []string{"nccl_trace_rank_3", "error-7-0.out"} {
				if !strings.Contains(list, want) {
					t.Errorf("%s is not among %s", want, list)
				}
			}
			for _, not := range []string{"rank_4", "other"} {
				if strings.Contains(list, not) {
					t.Errorf("%s is among %s", not, list)
				}
			}
			if place == "mounted" {
				return // what is mounted is looked into at once; this one is no pickle
			}
			if !strings.Contains(list, "stacks.pkl") {
				t.Errorf("stacks.pkl is not among %s", list)
			}
		})
	}
}

func TestAnUnusedNumberHasNoFiles(t *testing.T) {
	b := newBench(t)
	if next, ok := b.Unused(ctx, "west", "999999"); !ok || next != 4243 {
		t.Errorf("next %d, unused %v", next, ok)
	}
	for _, c := range [][2]string{{"west", "4242"}, {"east", "999999"}, {"west", "train-7b"}} {
		if _, ok := b.Unused(ctx, c[0], c[1]); ok {
			t.Errorf("%q is called unused", c)
		}
	}
	b.put(t, "slurm-999999.out")
	if _, ok := b.Unused(ctx, "west", "999999"); ok {
		t.Error("there is a file of that job")
	}
	b.west.down = true
	if _, ok := b.Unused(ctx, "west", "888888"); ok {
		t.Error("nobody answered")
	}
	b.Clusters[0].Ask = nil
	if _, ok := b.Unused(ctx, "west", "888888"); ok {
		t.Error("nobody can be asked")
	}
}
