//go:build realslurm

package slurm

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"faultline/simulate/slack"
)

// hookSecret is what the controller of the test knows.
const hookSecret = "a-secret-of-the-controller"

// watched is a bot that watches the cluster, and the Slack look-alike that it posts to.
type watched struct {
	t       *testing.T
	c       *cluster
	slack   *slack.Server
	binary  string
	conf    string
	ops     string
	queries string // what sacct was asked, a line each
	log     bytes.Buffer
	bot     *exec.Cmd
}

// watch prepares the bot; it is not started.
func watch(t *testing.T, c *cluster, binary string) *watched {
	t.Helper()
	w := &watched{t: t, c: c, binary: binary, queries: c.path("log/queries"), ops: fmt.Sprintf("127.0.0.1:%d", freePorts(t, 1))}
	w.slack = slack.New(slack.Options{Patience: 20 * time.Second})
	api, err := w.slack.Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.end(syscall.SIGKILL)
		_ = w.slack.Close()
		if t.Failed() {
			b := w.log.Bytes()
			t.Logf("the bot: %s\n%s", b[max(0, len(b)-8000):], w.transcript(slack.Training))
		}
	})
	// sacct, with a note of each question.
	folder(t, c.path("bin"), account{})
	real, err := exec.LookPath("sacct")
	if err != nil {
		t.Fatal(err)
	}
	write(t, c.path("bin/sacct"), fmt.Sprintf("#!/bin/sh\nprintf '%%s %%s\\n' \"$(date +%%s)\" \"$*\" >>%s\nexec %s \"$@\"\n", w.queries, real), 0o755)
	w.conf = c.path("etc/bot-watch.yaml")
	write(t, w.conf, fmt.Sprintf(`
clusters:
  - name: %s
    hook_secret: %s
    slurm: {commands: local, settle: 1s}
    logs: {roots: ['%s'], quiet: 0, late: 5m}
    watch: [{channel: %s, every: 1m, tell_owner_first: true, per_hour: 5}]
channels: [{id: %s}]
identities: {%s: %s}
slack: {app_token: %s, bot_token: %s, api_url: '%s/api/'}
data: {dir: '%s'}
ops: {listen: '%s'}
logging: {level: info}
`, clusterName, hookSecret, c.work, slack.Training, slack.Training, owner, c.user.name, slack.AppToken, slack.BotToken, api, c.path("bot"), w.ops), 0o600)
	return w
}

// owner is who the jobs belong to, in Slack.
const owner = slack.Alice

func (w *watched) run() {
	w.t.Helper()
	w.until("the last sockets to end", func() bool { return w.slack.Sockets() == 0 })
	cmd := exec.Command(w.binary, "serve", "--config", w.conf)
	cmd.Env = append(w.c.env(), "HOME="+w.c.dir, "PATH="+w.c.path("bin")+":"+os.Getenv("PATH"))
	cmd.Stdout, cmd.Stderr = &w.log, &w.log
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.bot = cmd
	w.until("the bot's sockets", func() bool { return w.slack.Sockets() > 0 })
}

func (w *watched) end(sig syscall.Signal) {
	if w.bot == nil {
		return
	}
	_ = w.bot.Process.Signal(sig)
	_ = w.bot.Wait() // how it ended stands in its log
	w.bot = nil
}

// until waits for what the look-alike sees.
func (w *watched) until(what string, condition func() bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	for !condition() {
		select {
		case <-ctx.Done():
			w.t.Fatalf("waiting for %s", what)
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// asked are the times of the questions which jobs have ended: what else sacct is asked has other columns.
func (w *watched) asked() (at []int64) {
	b, err := os.ReadFile(w.queries)
	if err != nil {
		return nil
	}
	for _, m := range regexp.MustCompile(`(?m)^(\d+) -a -X .*--state=F,NF.* -o JobID,JobIDRaw,User,Account,`).FindAllSubmatch(b, -1) {
		n, err := strconv.ParseInt(string(m[1]), 10, 64)
		if err != nil {
			w.t.Fatal(err)
		}
		at = append(at, n)
	}
	return at
}

// call is what the epilog does, without a controller.
func (w *watched) call(job string) int {
	w.t.Helper()
	r, err := http.NewRequest(http.MethodPost, "http://"+w.ops+"/hooks/slurm/"+clusterName, strings.NewReader(url.Values{"SLURM_JOB_ID": {job}}.Encode()))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Authorization", "Bearer "+hookSecret)
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode
}

// says are the messages of a channel that hold a text.
func (w *watched) says(channel, text string) (n int) {
	for _, m := range w.slack.All(channel) {
		if strings.Contains(m.Text, text) || strings.Contains(string(m.Blocks), text) {
			n++
		}
	}
	return n
}

// heads are the messages of a channel itself that hold a text.
func (w *watched) heads(text string) (n int) {
	for _, m := range w.slack.All(slack.Training) {
		if (m.ThreadTS == "" || m.ThreadTS == m.TS) && m.VisibleTo == "" && (strings.Contains(m.Text, text) || strings.Contains(string(m.Blocks), text)) {
			n++
		}
	}
	return n
}

// reported tells whether a report's files are in a channel: they come last, when an investigation is done.
func (w *watched) reported(channel string) bool {
	for _, m := range w.slack.All(channel) {
		for _, f := range m.Files {
			if f.Name == "report.json" {
				return true
			}
		}
	}
	return false
}

func (w *watched) transcript(channel string) string {
	var b strings.Builder
	for _, m := range w.slack.All(channel) {
		fmt.Fprintf(&b, "%s %s %q\n", m.TS, m.ThreadTS, m.Text)
	}
	return b.String()
}

// epilog is the script of the documentation, with the addresses of this test.
func (w *watched) epilog() string {
	w.t.Helper()
	doc, err := os.ReadFile("../../docs/watching.md")
	if err != nil {
		w.t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(doc), "```sh\n")
	script, _, ok2 := strings.Cut(rest, "```")
	if !ok || !ok2 {
		w.t.Fatal("docs/watching.md has no script any more")
	}
	secret := w.c.path("etc/curl")
	write(w.t, secret, "header = \"Authorization: Bearer "+hookSecret+"\"\n", 0o600)
	for was, now := range map[string]string{"/etc/slurm/faultline-curl": secret, "https://faultline.example.org/hooks/slurm/west": "http://" + w.ops + "/hooks/slurm/" + clusterName} {
		if !strings.Contains(script, was) {
			w.t.Fatalf("the script of docs/watching.md does not name %s any more", was)
		}
		script = strings.ReplaceAll(script, was, now)
	}
	file := w.c.path("etc/epilog")
	write(w.t, file, script, 0o755)
	return file
}

// Jobs that really fail are found by one query for each interval, told where they belong, each once, also over a restart.
func TestJobsThatReallyFailAreFoundByTheWatch(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	c := start(t)
	w := watch(t, c, binary)
	before := c.submit(t, "before", []string{"-N4", "--ntasks-per-node=2"}, []string{"signal", "SEGV"})
	c.ended(t, before)
	w.run()
	begun := time.Now()
	if code := w.call("1"); code != http.StatusAccepted && code != http.StatusNoContent && code != http.StatusOK {
		t.Fatalf("the webhook answers %d", code)
	}
	w.until("watching to begin", func() bool { return len(w.asked()) > 0 }) // the first time only notes when it began

	crash := c.submit(t, "crash", []string{"-N4", "--ntasks-per-node=2"}, []string{"--kill-on-bad-exit=1", "--", "signal", "SEGV"})
	code := c.submit(t, "code", []string{"-p", "het", "-N2", "--ntasks-per-node=2", "--export=ALL,GUILTY=3"}, []string{"--kill-on-bad-exit=1", "--", "raise"})
	fine := c.submit(t, "fine", []string{"-N4", "--ntasks-per-node=2"}, []string{"ok"})
	for _, j := range []job{crash, code, fine} {
		c.ended(t, j)
	}
	direct := w.slack.Direct(owner)
	w.until("the thread of job "+crash.id, func() bool { return w.heads("Job "+crash.id+" on") == 1 && w.reported(slack.Training) })
	w.until("the owner's word about "+code.id, func() bool { return w.says(direct, "This seems to affect only your job") == 1 })
	w.until("the owner's word about "+crash.id, func() bool { return w.says(direct, "Your job "+crash.id) > 0 })
	if w.says(direct, "Your job "+crash.id) != 1 || w.heads("Job "+code.id+" on") != 0 || w.heads("Job "+fine.id+" on") != 0 || w.heads("Job "+before.id+" on") != 0 {
		t.Errorf("direct:\n%s", w.transcript(direct))
	}

	// Elements of an array are one case: they are on nodes of the first one, too.
	array := c.submit(t, "many", []string{"-N1", "-p", "doomed", "--array=1,3,5", "--ntasks-per-node=2", "--output=slurm-%A_%a.out", "--export=ALL,GUILTY=1"}, []string{"--kill-on-bad-exit=1", "--", "signal", "SEGV"})
	c.ended(t, array)
	w.until("the repeats of job "+array.id, func() bool {
		return w.heads("Job "+array.id+"_") == 1 && w.says(slack.Training, "It happened again") >= 1
	})
	w.until("both repeats", func() bool { return w.says(slack.Training, "2 jobs failed after") == 1 })

	// Between two questions the bot is away.
	w.end(syscall.SIGTERM)
	away := c.submit(t, "away", []string{"-p", "het", "-N2", "--ntasks-per-node=2", "--export=ALL,GUILTY=3"}, []string{"--kill-on-bad-exit=1", "--", "signal", "SEGV"})
	c.ended(t, away)
	w.run()
	w.until("the thread of job "+away.id, func() bool { return w.heads("Job "+away.id+" on") == 1 })

	if _, err := w.slack.Slash(owner, slack.Training, "/diagnose", "digest"); err != nil {
		t.Fatal(err)
	}
	w.until("the digest", func() bool { return w.heads("Digest") == 1 })
	w.until("job "+code.id+" in it", func() bool { return w.says(slack.Training, clusterName+":"+code.id) == 1 })
	for _, j := range []job{crash, away} {
		if n := w.heads("Job " + j.id + " on"); n != 1 {
			t.Errorf("job %s is told %d times", j.id, n)
		}
	}
	most := int(time.Since(begun)/time.Minute) + 2 + 1 // a question for each minute, and one for the call
	t.Logf("%d questions in %s", len(w.asked()), time.Since(begun).Round(time.Second))
	if n := len(w.asked()); n > most || n < 3 {
		t.Errorf("%d questions, want at most %d", n, most)
	}
}

// The controller calls by the script of the documentation, and a question comes within seconds.
func TestTheControllerOfARealClusterCalls(t *testing.T) {
	binary := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	c := start(t)
	w := watch(t, c, binary)
	// The first time it needs a new start of the controller.
	script := w.epilog()
	conf, err := os.ReadFile(c.path("etc/slurm.conf"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, c.path("etc/slurm.conf"), string(conf)+"EpilogSlurmctld="+script+"\n", 0o644)
	c.end("slurmctld", syscall.SIGTERM)
	c.run(t, "slurmctld", account{}, nil, "slurmctld", "-D")
	c.await(t, "idle nodes", func() bool {
		out, err := c.try("sinfo", "-h", "-t", "idle", "-o", "%D")
		return err == nil && strings.TrimSpace(out) == fmt.Sprint(nodes)
	})
	w.run()
	begun := time.Now()
	w.until("watching to begin", func() bool { return len(w.asked()) > 0 })
	called := func() (n int) {
		for _, at := range w.asked() {
			if second := at % 60; second > 3 && second < 58 { // cron's are at the full minute
				n++
			}
		}
		return n
	}
	// Where the machine is slow the jobs may end, or the call may come, at the full minute, and cron's question is its answer.
	for tries := 3; called() == 0; tries-- {
		if tries == 0 {
			t.Fatalf("no question follows a call: asked at %v", w.asked())
		}
		for s := time.Now().Second(); s < 5 || s > 35; s = time.Now().Second() {
			time.Sleep(time.Second)
		}
		for i := range 3 { // which end together
			c.submit(t, fmt.Sprintf("epilog-%d-%d", tries, i), []string{"-N1", "--ntasks-per-node=1", "--export=ALL,GUILTY=0"}, []string{"exit", "1"})
		}
		for end := time.Now().Add(90 * time.Second); called() == 0 && time.Now().Before(end); {
			time.Sleep(time.Second)
		}
	}
	asked := len(w.asked())
	w.until("the question of two more minutes", func() bool { return len(w.asked()) > asked+1 })
	all := len(w.asked())
	minutes := int(time.Now().Unix()/60 - begun.Unix()/60) // cron's, of which a slow machine asks some late
	t.Logf("asked at %v, %d of them not at a full minute, in %d minutes", w.asked(), called(), minutes)
	if n := all - minutes; n > 2 {
		t.Errorf("%d questions for jobs that ended together", n)
	}
}
