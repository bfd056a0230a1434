//go:build realslurm

package slurm

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"faultline/integration/loopback"
)

// as runs a program as another account.
func (c *cluster) as(who account, env []string, argv ...string) (stdout, stderr string, code int) {
	cmd := c.command(argv[0], argv[1:]...)
	cmd.Env = append(cmd.Env, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: who.uid, Gid: who.gid}}
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if cmd.ProcessState == nil {
		return "", err.Error(), -1
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Logs that the bot's account cannot read, in a directory that it cannot even look into, are found because the job's last deed was
// to push them.
func TestAJobPushesItsLogs(t *testing.T) {
	c := start(t)
	bot := c.path("programs/bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	daemon, other := lookup(t, "daemon"), account{}
	const secret = "0123456789abcdef0123456789abcdef"
	address := loopback.Address(t)
	data := c.path("botdata")
	folder(t, data, daemon)
	// Slack is not there; the bot goes on trying, and takes what is pushed.
	config := c.path("etc/bot-push.yaml")
	write(t, config, fmt.Sprintf(`clusters:
  - name: ci
    slurm: {commands: local, settle: 1s}
    logs: {roots: ['%s'], patterns: ['{job}']}
    push: {secrets: [%s]}
slack: {app_token: xapp-1-A1-1-a, bot_token: xoxb-1-1-a, api_url: 'http://127.0.0.1:1/api/'}
data: {dir: '%s'}
ops: {listen: '%s'}
`, c.work, secret, data, address), 0o644)
	c.run(t, "bot", daemon, []string{"HOME=" + data}, bot, "serve", "--config", config)
	defer c.end("bot", syscall.SIGTERM)
	c.await(t, "the bot", func() bool {
		res, err := http.Get("http://" + address + "/healthz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})

	token := c.path("etc/nobody-push")
	mint, stderr, code := c.as(other, []string{"FAULTLINE_PUSH_TOKEN=" + secret}, bot, "push", "--make-token", c.user.name)
	if code != 0 {
		t.Fatal(stderr)
	}
	write(t, token, mint, 0o600)
	if err := os.Chown(token, int(c.user.uid), int(c.user.gid)); err != nil {
		t.Fatal(err)
	}
	batch, err := os.ReadFile(c.path("programs/batch.sh"))
	if err != nil {
		t.Fatal(err)
	}
	push := fmt.Sprintf("%s push --to http://%s --cluster ci --token-file %s", bot, address, token)
	first, rest, _ := strings.Cut(string(batch), "\n")
	write(t, c.path("programs/pushing.sh"), first+"\ntrap '"+push+" --quiet-failure >push.txt 2>&1' EXIT\n"+rest, 0o755)

	all := scenarios()
	sc := all[slices.IndexFunc(all, func(s scenario) bool { return s.name == "raise-kill" })]
	j := c.submitScript(t, "pushed", "pushing.sh", []string{"-N4", "--ntasks-per-node=2"}, sc.script)
	if err := os.Chmod(j.dir, 0o700); err != nil { //nolint:gosec // a directory
		t.Fatal(err)
	}
	c.ended(t, j)
	said, err := os.ReadFile(filepath.Join(j.dir, "push.txt"))
	if err != nil || !strings.Contains(string(said), "The bot has") || strings.Contains(string(said), "missing") {
		out, stderr, code := c.as(c.user, nil, append([]string{"sh", "-c"}, push+" --dry-run "+j.id)...)
		t.Logf("later: %d %s %s", code, out, stderr)
		out, stderr, _ = c.as(c.user, nil, "sh", "-c", "ls -la "+j.dir+"; sacct -D -P -j "+j.id+" -o jobid,state,workdir,user,start,end,submit; scontrol show job "+j.id+"; scontrol write batch_script "+j.id+" - | head -5")
		t.Logf("%s %s", out, stderr)
		t.Fatalf("%v\n%s", err, said)
	}
	t.Logf("%s", said)
	if state := c.must(t, "sacct", "-X", "-n", "-P", "-j", j.id, "-o", "State,ExitCode"); !strings.HasPrefix(state, "FAILED") {
		t.Errorf("the push changed how the job ended: %s", state)
	}
	if _, _, code := c.as(daemon, nil, "ls", j.dir); code == 0 {
		t.Fatal("the bot's account can read the logs")
	}
	text, stderr, code := c.as(daemon, []string{"HOME=" + data}, bot, "diagnose", "--format", "json", "--config", config, "--job", j.id)
	if code != 0 {
		t.Fatalf("%d\n%s", code, stderr)
	}
	var r report
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	judge(t, sc, r, j.dir)
	if !strings.Contains(stderr, "came by bot push from "+c.user.name+" on") {
		t.Error(stderr)
	}

	// Once more, by hand and after the end: only what the batch script's file has gained since is new. Somebody else may not.
	out, stderr, code := c.as(c.user, nil, append([]string{"sh", "-c"}, push+" "+j.id)...)
	if code != 0 || !strings.Contains(out, "/diagnose "+j.id) {
		t.Errorf("%d %s %s", code, out, stderr)
	}
	t.Logf("%s%s", stderr, out)
	mallory, _, _ := c.as(other, []string{"FAULTLINE_PUSH_TOKEN=" + secret}, bot, "push", "--make-token", "mallory")
	forged := c.path("etc/forged.out")
	write(t, forged, "RuntimeError: CUDA error: an illegal memory access was encountered\n", 0o644)
	if _, stderr, code := c.as(daemon, []string{"FAULTLINE_PUSH_TOKEN=" + mallory}, bot, "push", "--to", "http://"+address, "--cluster", "ci", j.id, forged); code != 0 {
		t.Errorf("%s", stderr)
	}
	text, _, _ = c.as(daemon, []string{"HOME=" + data}, bot, "diagnose", "--format", "json", "--config", config, "--job", j.id)
	if strings.Contains(text, "forged.out") {
		t.Error("somebody else's file is among the logs")
	}
}
