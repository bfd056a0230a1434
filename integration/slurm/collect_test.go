//go:build realslurm

package slurm

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// A job hangs: the report says not to cancel it, what it prints is pasted, and the bundle is handed back.
func TestAJobThatHangsIsCollectedFrom(t *testing.T) {
	bot := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	c := start(t)
	j := c.submit(t, "hangs", []string{"-N4", "--ntasks-per-node=2"}, []string{"hang"})
	c.trains(t, j, 8)
	c.await(t, "the accounting of job "+j.id, func() bool { return strings.Contains(c.accounting(t, j), "|RUNNING|") })
	write(t, filepath.Join(j.dir, "slurm-accounting.txt"), c.accounting(t, j), 0o644)

	text := func(args ...string) string {
		t.Helper()
		out, err := exec.Command(bot, args...).Output()
		if code := 0; err != nil {
			if code = err.(*exec.ExitError).ExitCode(); code != 3 {
				t.Fatalf("bot %v: %v", args, err)
			}
		}
		return strings.Join(strings.Fields(string(out)), " ")
	}
	said := text("diagnose", "--full", "--job", j.id, j.dir)
	for _, want := range []string{"before cancelling", "bot collect " + j.id} {
		if !strings.Contains(said, want) {
			t.Errorf("the report of a job that hangs does not say %q:\n%s\n%s", want, said, c.accounting(t, j))
		}
	}

	out, err := exec.Command(bot, "collect", j.id).Output()
	if err != nil {
		t.Fatal(err)
	}
	paste := c.command("bash", "-c", string(out))
	paste.Dir = j.dir
	paste.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: c.user.uid, Gid: c.user.gid}}
	var says bytes.Buffer
	paste.Stdout, paste.Stderr = &says, &says
	if err := paste.Run(); err != nil {
		t.Fatalf("pasting what bot collect prints: %v\n%s", err, says.Bytes())
	}
	t.Logf("%s", says.Bytes())
	bundle := filepath.Join(j.dir, "faultline-"+j.id+".tar.gz")
	if _, err := os.Stat(bundle); err != nil {
		t.Fatal(err)
	}
	if state := strings.TrimSpace(c.must(t, "squeue", "-h", "-j", j.id, "-o", "%T")); state != "RUNNING" {
		t.Errorf("after it was looked at the job is %s", state)
	}

	at := t.TempDir()
	if out, err := exec.Command("tar", "-xzf", bundle, "-C", at).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ranks := map[string]bool{}
	for _, node := range four {
		inner := filepath.Join(at, "faultline-"+j.id, node+".tar.gz")
		list, err := exec.Command("tar", "-xzOf", inner, node+"/collected-"+node+".txt").Output()
		if err != nil {
			t.Fatalf("%s: %v", node, err)
		}
		if !strings.HasPrefix(string(list), fmt.Sprintf("faultline collect 1 job=%s node=%s\n", j.id, node)) || !strings.Contains(string(list), "missing py-spy: not installed") && !pySpy() {
			t.Errorf("%s says\n%s", node, list)
		}
		for l := range strings.Lines(string(list)) {
			for f := range strings.FieldsSeq(l) {
				if rank, ok := strings.CutPrefix(f, "SLURM_PROCID="); ok {
					ranks[rank] = true
				}
			}
		}
	}
	for rank := range 8 {
		if !ranks[fmt.Sprint(rank)] {
			t.Errorf("no process of rank %d was looked at", rank)
		}
	}

	r := diagnose(t, bot, "--job", j.id, "--evidence", bundle, j.dir)
	if slices.ContainsFunc(r.Warnings, func(w string) bool {
		return strings.Contains(w, "a known kind of evidence") && (strings.Contains(w, "/collected-") || strings.Contains(w, "/processes-") || strings.Contains(w, "/ip-link-"))
	}) {
		t.Errorf("the bundle holds what is not known: %q", r.Warnings)
	}
	if r.Verification.Quotes.Held != r.Verification.Quotes.Checked {
		t.Errorf("%d of %d quotations confirmed", r.Verification.Quotes.Held, r.Verification.Quotes.Checked)
	}
	if said := text("diagnose", "--job", j.id, "--evidence", bundle, "--verbose", j.dir); !strings.Contains(said, "What could not be collected") || !strings.Contains(said, "on all 4 nodes") {
		t.Errorf("what could not be collected is not said:\n%s", said)
	}
	c.must(t, "scancel", j.id)
	c.ended(t, j)
}

func pySpy() bool {
	_, err := exec.LookPath("py-spy")
	return err == nil
}
