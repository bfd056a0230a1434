//go:build realslurm

package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// hidden is a program whose log no script names, deeper than is looked beside the batch log.
const hidden = `#!/usr/bin/perl
open(my $log, ">", "far/away/deep-$ENV{SLURM_PROCID}.log") or die; select($log); $| = 1;
print "[rank$ENV{SLURM_PROCID}] step 1 loss 2.0\n"; sleep 600;
`

// The logs that a running job has open are found on the node where the bot runs, and asked for nowhere else.
func TestOpenFilesOfARunningJob(t *testing.T) {
	bot := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	c := start(t)
	config := c.ways(t)["commands"]
	j := c.lays(t, layout{name: "open", script: "mkdir -p far/away\nsrun ./hidden", files: map[string]string{"hidden": hidden}}, c.work)
	log := filepath.Join(j.dir, "far/away/deep-0.log")
	c.await(t, "a log of the running job", func() bool {
		info, err := os.Stat(log)
		return err == nil && info.Size() > 0
	})
	doctor := func() string {
		out, _ := exec.Command(bot, "doctor", "--config", config, "--job", j.id).CombinedOutput() // what it says counts, not its code
		return string(out)
	}
	if out := doctor(); !strings.Contains(out, "far/away/deep-0.log") || !strings.Contains(out, "the running job writes to it") {
		t.Errorf("the open log is not found:\n%s\n%s", out, c.must(t, "scontrol", "listpids", j.id))
	}
	c.must(t, "scancel", j.id)
	c.ended(t, j)
	if out := doctor(); strings.Contains(out, "writes to it") {
		t.Errorf("a job that ended is said to write:\n%s", out)
	}
}
