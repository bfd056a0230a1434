//go:build sources

package sources

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"faultline/integration/loopback"
	"faultline/simulate/slack"
)

// Who waits for logs that are brought from a slow login node sees how far they are, and then the verdict.
func TestTheThreadSaysHowFarTheLogsHaveCome(t *testing.T) {
	s := newSite(t)
	address := s.sshd(t, "login")
	binary := s.path("bot")
	run(t, "go", "build", "-o", binary, "../../cmd/bot")
	logs := s.path("logs")
	must(t, os.Mkdir(logs, 0o755))
	for n := range 4 {
		text := bytes.Repeat(fmt.Appendf(nil, "[rank%d]: 2026-11-21 12:00:00,000 - INFO - reading shard, and nothing is wrong with it\n", n), 150_000)
		if n == 2 {
			text = append(text, "[rank2]: Traceback (most recent call last):\n[rank2]:   File \"/opt/train.py\", line 7, in <module>\n[rank2]:     main()\n[rank2]: KeyError: 'y'\n"...)
		}
		must(t, os.WriteFile(filepath.Join(logs, fmt.Sprintf("error-4242-%d.out", n)), text, 0o644))
	}
	look := slack.New(slack.Options{Patience: 20 * time.Second})
	api, err := look.Start("127.0.0.1:0")
	must(t, err)
	config := s.path("bot.yaml")
	must(t, os.WriteFile(config, fmt.Appendf(nil, `
clusters:
  - name: west
    ssh: {address: '%s', user: '%s', key_file: '%s', known_hosts: ['%s']}
    logs: {source: ssh, roots: ['%s'], patterns: ['error-{job}-*.out'], quiet: 0, rate_mb: 2}
channels: [{id: %s}]
slack: {app_token: %s, bot_token: %s, api_url: '%s/api/'}
data: {dir: '%s'}
ops: {listen: '%s'}
`, address, account(), s.path("user"), s.known, logs, slack.Training, slack.AppToken, slack.BotToken, api, s.path("data"), loopback.Address(t)), 0o600))
	var said bytes.Buffer
	bot := exec.Command(binary, "serve", "--config", config)
	bot.Stdout, bot.Stderr = &said, &said
	must(t, bot.Start())
	t.Cleanup(func() {
		_ = bot.Process.Signal(syscall.SIGTERM)
		_ = bot.Wait() // how it ended stands in its log
		_ = look.Close()
		if t.Failed() {
			t.Logf("%s", said.Bytes()[max(0, said.Len()-4000):])
		}
	})
	until := func(what string, holds func() bool) {
		t.Helper()
		for end := time.Now().Add(5 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("waiting for %s", what)
			}
		}
	}
	shown := func(text string) bool {
		for _, m := range look.All(slack.Training) {
			if strings.Contains(m.Text, text) || strings.Contains(string(m.Blocks), text) {
				return true
			}
		}
		return false
	}
	until("the bot", func() bool { return look.Sockets() > 0 })
	_, err = look.Slash(slack.Alice, slack.Training, "/diagnose", "4242")
	must(t, err)
	until("a word of how far the logs are", func() bool { return shown("of 4 files, ") && shown(" left") })
	until("the verdict", func() bool { return shown("rank 2") && reported(look.All(slack.Training)) })
	until("what is over to be shown no more", func() bool { return !shown("of 4 files, ") })
}

// reported tells whether a report's files are among messages: they come last, when an investigation is done.
func reported(all []slack.Message) bool {
	for _, m := range all {
		for _, f := range m.Files {
			if f.Name == "report.json" {
				return true
			}
		}
	}
	return false
}
