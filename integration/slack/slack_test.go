//go:build slackclients

package slack

import (
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// Unmodified Bolt and WebClient do with the look-alike what they do with Slack.
func TestOfficialClients(t *testing.T) {
	installed(t)
	node(t, []string{"LAUNCHER=" + newLauncher(t)}, "--test", "--test-reporter=spec", "conformance.mjs", "receiver.mjs", "answers.mjs")
}

// node runs Node in this folder and shows what it printed.
func node(t *testing.T, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&said, t.Output()), t.Output()
	if err := cmd.Run(); err != nil {
		t.Fatalf("node %v: %v", args, err)
	}
	return said.String()
}

// What the bot posts has the shapes that Slack's own types ask for.
func TestShapes(t *testing.T) {
	installed(t)
	node(t, nil, "--test", "--test-reporter=spec", "shapes.mjs")
}

// People use the look-alike's page in a real browser; an unmodified Bolt app answers.
func TestPage(t *testing.T) {
	installed(t)
	node(t, []string{"LAUNCHER=" + newLauncher(t)}, "--test", "--test-reporter=spec", "page.mjs")
}

// A newcomer with nothing but this binary and a browser sees a whole investigation.
func TestPlayground(t *testing.T) {
	installed(t)
	node(t, []string{"BOT=" + built(t)}, "--test", "--test-reporter=spec", "playground.mjs")
}

// A reader opens the HTML report on a desktop and on a phone.
func TestReport(t *testing.T) {
	installed(t)
	node(t, []string{"BOT=" + built(t)}, "--test", "--test-reporter=spec", "report.mjs")
}

// built is the bot's binary.
func built(t *testing.T) string {
	t.Helper()
	bot := filepath.Join(t.TempDir(), "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		t.Fatalf("building the binary: %v\n%s", err, out)
	}
	return bot
}
