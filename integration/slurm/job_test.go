//go:build realslurm

package slurm

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// job is one submitted job, with a folder of its own.
type job struct {
	id  string
	dir string
}

// submit runs sbatch as the ordinary user. args are sbatch's own, then the batch script's after it.
func (c *cluster) submit(t *testing.T, name string, sbatch, script []string) job {
	t.Helper()
	return c.submitScript(t, name, "batch.sh", sbatch, script)
}

// submitScript does the same with another batch script.
func (c *cluster) submitScript(t *testing.T, name, file string, sbatch, script []string) job {
	t.Helper()
	dir := filepath.Join(c.work, name)
	folder(t, dir, c.user)
	args := append([]string{"--parsable", "--chdir=" + dir, "--job-name=" + name, "--output=slurm-%j.out"}, sbatch...)
	args = append(append(args, c.path("programs/"+file)), script...)
	cmd := c.command("sbatch", args...)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.user.uid, Gid: c.user.gid}}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sbatch %v: %v: %s", args, err, stderr.Bytes())
	}
	id, _, _ := strings.Cut(strings.TrimSpace(string(out)), ";")
	return job{id, dir}
}

// trains waits until every rank of a run of the job has printed a step. Each run has its own count of starts in append mode.
func (c *cluster) trains(t *testing.T, j job, tasks int) {
	t.Helper()
	c.await(t, "steps of job "+j.id, func() bool {
		ranks := map[string]bool{}
		logs, _ := filepath.Glob(filepath.Join(j.dir, "error-*.out"))
		for _, name := range logs {
			b, err := os.ReadFile(name)
			if err != nil {
				continue
			}
			for line := range strings.Lines(string(b)) {
				if rank, rest, ok := strings.Cut(line, "]: "); ok && strings.Contains(rest, "step 2/") {
					ranks[rank] = true
				}
			}
		}
		return len(ranks) >= tasks
	})
}

// open are the states in which a job may still write.
var open = []string{"PENDING", "RUNNING", "SUSPENDED", "COMPLETING", "CONFIGURING", "REQUEUED", "RESIZING", ""}

// ended waits for the end of a job and of all its steps, in the controller and in the accounting.
func (c *cluster) ended(t *testing.T, j job) {
	t.Helper()
	const limit = 6 * time.Minute // a time limit of one minute is seen at SLURM's next round
	last := ""
	if !poll(limit, func() bool {
		time.Sleep(200 * time.Millisecond) // the controller answers others too
		out, err := c.try("squeue", "-h", "-t", "all", "-j", j.id, "-o", "%T")
		if last = out; err != nil {
			return false
		}
		for state := range strings.FieldsSeq(out) {
			if slices.Contains(open, state) {
				return false
			}
		}
		out, err = c.try("sacct", "-X", "-n", "-P", "-j", j.id, "-o", "State")
		last += out
		if err != nil || strings.TrimSpace(out) == "" || strings.Contains(out, "RUNNING") || strings.Contains(out, "PENDING") {
			return false
		}
		out, err = c.try("sacct", "-D", "-n", "-P", "-j", j.id, "-o", "State,End")
		last += out
		return err == nil && !strings.Contains(out, "RUNNING")
	}) {
		t.Fatalf("job %s has not ended: %s\n%s", j.id, last, c.must(t, "scontrol", "show", "job", j.id))
	}
}

// The fields of the accounting file, in its order; those that an older SLURM does not know are left out.
var accountingFields = []string{"JobID", "JobIDRaw", "User", "Account", "Partition", "State", "ExitCode", "DerivedExitCode", "NNodes", "NTasks", "NodeList",
	"Submit", "Start", "End", "Timelimit", "Restarts", "FailedNode", "Reason", "WorkDir", "StdOut", "StdErr", "SubmitLine", "JobName"}

// accounting is what sacct says of a job: every record of every run.
func (c *cluster) accounting(t *testing.T, j job) string {
	t.Helper()
	known := map[string]bool{}
	for f := range strings.FieldsSeq(c.must(t, "sacct", "-e")) {
		known[f] = true
	}
	var fields []string
	for _, f := range accountingFields {
		if known[f] {
			fields = append(fields, f)
		}
	}
	return c.must(t, "sacct", "-D", "-P", "-j", j.id, "-o", strings.Join(fields, ","))
}

// report is the part of the JSON that is judged.
type report struct {
	Verdict struct {
		Status, Mechanism string
		Candidates        []struct{ Mechanism string }
		Root              struct {
			Ranks []int
			Nodes []string
		}
	}
	Job struct {
		Run int
	}
	Coverage struct {
		NodesExpected []string `json:"nodes_expected"`
		NodesMissing  []string `json:"nodes_missing"`
		ExpectedFrom  string   `json:"expected_from"`
		RanksSeen     int      `json:"ranks_seen"`
	}
	Verification struct {
		Quotes    struct{ Held, Checked int }
		Withdrawn []string
	}
	Warnings []string
}

// diagnose runs the built binary over paths.
func diagnose(t *testing.T, bot string, args ...string) report {
	t.Helper()
	cmd := exec.Command(bot, append([]string{"diagnose", "--format", "json"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	const inconclusive = 3
	if err != nil && cmd.ProcessState.ExitCode() != inconclusive {
		t.Fatalf("bot diagnose %v: %v\n%s", args, err, stderr.Bytes())
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("the report is not JSON: %v\n%s", err, out)
	}
	return r
}
