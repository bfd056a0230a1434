//go:build realslurm

package slurm

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Whoever follows docs/slurm.md has the first right answer within five minutes: the script takes the page's own configuration.
func TestTheFirstAnswerByTheDocs(t *testing.T) {
	c := start(t)
	dir := filepath.Join(c.work, "first")
	folder(t, dir, c.user)
	script, err := filepath.Abs("../../bench/first-answer.sh")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", script, dir)
	cmd.Env = append(os.Environ(), "SLURM_CONF="+c.path("etc/slurm.conf"), "SUBMIT=setpriv --reuid "+c.user.name+" --clear-groups")
	out, err := cmd.CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Error(err)
	}
}
