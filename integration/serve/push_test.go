package serve

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
	"faultline/simulate/slack"
)

const pushSecret = "push-secret-0123456789abcdef"

// pushes lets the owners of jobs hand in their logs.
func pushes(_ *world, conf map[string]any, _ *slack.Options) {
	west := conf["clusters"].([]any)[0].(map[string]any)
	west["push"] = map[string]any{"secrets": []string{"an-older-secret-of-the-cluster", pushSecret}}
}

// home is a job whose logs lie where the bot does not look.
func (w *world) home(spec simulate.Spec) (job string, files []string) {
	w.t.Helper()
	inc, err := simulate.Generate(spec)
	if err != nil {
		w.t.Fatal(err)
	}
	dir := filepath.Join(w.dir, "home", "alice", "run")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.t.Fatal(err)
	}
	for _, f := range inc.Files {
		name := filepath.Join(dir, f.Name)
		if err := os.WriteFile(name, f.Data, 0o600); err != nil {
			w.t.Fatal(err)
		}
		files = append(files, name)
	}
	return fmt.Sprint(inc.Played.Job), files
}

// push runs bot push where SLURM's commands are not.
func (w *world) push(secret string, args ...string) (out string, code int) {
	w.t.Helper()
	cmd := exec.Command(binary, append([]string{"push", "--to", "http://" + w.ops, "--cluster", "west"}, args...)...)
	cmd.Env = []string{"HOME=" + w.dir, "PATH=" + w.dir, "TMPDIR=" + w.dir, "FAULTLINE_PUSH_TOKEN=" + secret}
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		w.t.Fatal(err)
	}
	return text.String(), cmd.ProcessState.ExitCode()
}

func TestAPushGoesOnWithTheInvestigationThatWaitsForIt(t *testing.T) {
	t.Parallel()
	w := start(t, pushes)
	job, files := w.home(stall())
	w.slash(slack.Alice, slack.Training, job)
	w.message(slack.Alice, slack.Training, "Where are they?", "bot push "+job)
	var second []string
	files = slices.DeleteFunc(files, func(f string) bool {
		if node1(f) {
			second = append(second, f)
		}
		return node1(f)
	})
	out, code := w.push(pushSecret, append([]string{job}, files...)...)
	if code != 0 || !strings.Contains(out, "/diagnose "+job) {
		t.Fatalf("%d\n%s", code, out)
	}
	w.message(slack.Alice, slack.Training, "report.json")
	// What comes later is added, and what is there is not taken away.
	out, code = w.push(pushSecret, append([]string{job}, second...)...)
	if code != 0 {
		t.Fatalf("%d\n%s", code, out)
	}
	w.message(slack.Alice, slack.Training, "Because")

	// The same once more after a restart, without a chat, beside the bot that runs.
	w.stop()
	w.run()
	if out, code := w.push(pushSecret, append([]string{job}, files...)...); code != 0 {
		t.Fatalf("%d\n%s", code, out)
	}
	cmd := exec.Command(binary, "diagnose", "--config", w.conf, "--job", job, "--cluster", "west", "--format", "json")
	cmd.Env = []string{"HOME=" + w.dir, "PATH=" + w.dir, "TMPDIR=" + w.dir}
	text, err := cmd.Output()
	if err != nil || !bytes.Contains(text, []byte(`"mechanism": "rank-stalled"`)) || !bytes.Contains(text, []byte(`"origin": "push"`)) {
		t.Errorf("%v\n%.2000s", err, text)
	}
}

func TestAPushThatFailsSaysWhyAndNeverFailsAJob(t *testing.T) {
	t.Parallel()
	w := start(t, pushes, func(_ *world, conf map[string]any, _ *slack.Options) {
		conf["limits"] = map[string]any{"job_mb": 1, "spool_mb": 1}
	})
	job, files := w.home(stall())
	large := filepath.Join(w.dir, "large.log")
	if err := os.WriteFile(large, bytes.Repeat([]byte("step 1\n"), 300_000), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, secret string
		args         []string
		code         int
		want         string
	}{
		{"an old secret that is still good", "an-older-secret-of-the-cluster", []string{job, files[0]}, 0, "/diagnose " + job},
		{"a wrong secret", "another-secret-of-somebody", []string{job, files[0]}, 1, "the secret is wrong"},
		{"another cluster", pushSecret, []string{"--cluster", "east", job, files[0]}, 1, `cluster name was "east"`},
		{"too much", pushSecret, []string{job, large}, 1, "limits.job_mb"},
		{"a bot that is away", pushSecret, []string{"--to", "http://127.0.0.1:1", "--timeout", "20s", job, files[0]}, 1, "can't reach the bot"},
		{"in a batch script", pushSecret, []string{"--to", "http://127.0.0.1:1", "--timeout", "20s", "--quiet-failure", job, files[0]}, 0, "does not fail the job"},
		{"no file", pushSecret, []string{job, filepath.Join(w.dir, "nothing.out")}, 1, "nothing.out doesn't exist"},
		{"no SLURM and no files", pushSecret, []string{job}, 1, "List them: bot push " + job},
		{"no job", pushSecret, nil, 2, "which job?"},
		{"an address that is none", pushSecret, []string{"--to", "bot.example.org", job}, 2, "https://bot.example.org"},
		{"a job that is none", pushSecret, []string{"train;rm", files[0]}, 2, "not a job ID"},
	} {
		out, code := w.push(c.secret, c.args...)
		if code != c.code || !strings.Contains(out, c.want) {
			t.Errorf("%s: exit %d, want %d and %q\n%s", c.name, code, c.code, c.want, out)
		}
	}
	if strings.Contains(w.logText(), pushSecret) {
		t.Error("the secret is in the log")
	}
}
