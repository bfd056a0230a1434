package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// onTerminal starts the binary on a terminal of that many columns and 24 rows. What it prints comes through the other end, which also types.
func onTerminal(t *testing.T, columns uint16, environ []string, args ...string) (*exec.Cmd, *os.File) {
	t.Helper()
	far, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { far.Close() })
	fd := int(far.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: columns}); err != nil {
		t.Fatal(err)
	}
	near, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	cmd := exec.CommandContext(t.Context(), bot, args...)
	cmd.Env = append(os.Environ(), environ...)
	cmd.Stdin, cmd.Stdout = near, near // the bar of progress goes elsewhere
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, far
}

var controls = regexp.MustCompile(`\x1b\[[0-9;]*[a-zA-Z]|\r`)

// printed is what a command shows on its terminal until it ends.
func printed(t *testing.T, columns uint16, environ []string, args ...string) (text, raw string) {
	t.Helper()
	cmd, far := onTerminal(t, columns, environ, args...)
	var all bytes.Buffer
	_, _ = io.Copy(&all, far) // it ends with an error when the terminal has no user any more
	_ = cmd.Wait()
	return controls.ReplaceAllString(all.String(), ""), all.String()
}

func TestTheFirstScreenFitsEveryTerminal(t *testing.T) {
	logs := failedJob(t, t.TempDir(), "4242")
	for _, columns := range []int{60, 80, 100, 140} {
		text, _ := printed(t, uint16(columns), []string{"TERM=xterm"}, "diagnose", logs)
		piped := exec.Command(bot, "diagnose", logs)
		piped.Env = append(os.Environ(), fmt.Sprint("COLUMNS=", columns))
		out, err := piped.Output()
		if err != nil || string(out) != text {
			t.Errorf("piped it is not what the terminal shows: %v\n%s\n%s", err, out, text)
		}
		for line := range strings.Lines(text) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > columns {
				t.Errorf("more than %d columns: %q", columns, line)
			}
		}
		if rows := strings.Count(text, "\n"); strings.Contains(text, "…") || strings.Contains(text, "Decision") || rows >= 24 || !strings.Contains(text, "add --full") {
			t.Errorf("at %d columns, %d rows:\n%s", columns, rows, text)
		}
	}
	for _, environ := range [][]string{{"TERM=dumb"}, {"TERM=xterm", "NO_COLOR=1"}} {
		if _, raw := printed(t, 80, environ, "diagnose", logs); strings.Contains(raw, "\x1b[3") || strings.Contains(raw, "\x1b[1") {
			t.Errorf("%v: colors in %q", environ, raw)
		}
	}
	if _, raw := printed(t, 80, []string{"TERM=xterm"}, "diagnose", logs); !strings.Contains(raw, "\x1b[1m") {
		t.Errorf("no colors on a terminal: %q", raw)
	}
}

func TestAWholeReportIsPaged(t *testing.T) {
	logs := failedJob(t, t.TempDir(), "4242")
	mark := "PAGER=sed 's/^/page: /'"
	for _, c := range []struct {
		environ []string
		paged   bool
	}{{[]string{"TERM=xterm", mark}, true}, {[]string{"TERM=dumb", mark}, false}, {[]string{"TERM=xterm", "PAGER="}, false}} {
		text, _ := printed(t, 100, c.environ, "diagnose", "--full", logs)
		if strings.Contains(text, "page: A Python exception") != c.paged || !strings.Contains(text, "What was examined") {
			t.Errorf("%v:\n%s", c.environ, text)
		}
	}
	if text, _ := printed(t, 100, []string{"TERM=xterm", mark}, "diagnose", logs); strings.Contains(text, "page:") {
		t.Errorf("the first screen needs no pager:\n%s", text)
	}
	if r := call(t, "", "diagnose", "--full", logs); !strings.Contains(r.out, "What was examined") {
		t.Errorf("%s", r.out)
	}
}

func TestCtrlCEndsWhatWaitsForInput(t *testing.T) {
	for _, args := range [][]string{{"explain", "-"}, {"console"}} {
		cmd, far := onTerminal(t, 80, nil, args...)
		go func() { _, _ = io.Copy(io.Discard, far) }()
		time.Sleep(300 * time.Millisecond) // until it reads
		if _, err := far.WriteString("\x03"); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		if code := cmd.ProcessState.ExitCode(); code != 130 {
			t.Errorf("bot %s: exit code %d", args, code)
		}
	}
}

func TestAStoppedDiagnosisLeavesNothingBehind(t *testing.T) {
	for sig, code := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143} {
		temp := t.TempDir()
		cmd := exec.CommandContext(t.Context(), bot, "diagnose", "-")
		cmd.Env = append(os.Environ(), "TMPDIR="+temp)
		logs, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		var said bytes.Buffer
		cmd.Stderr = &said
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(logs, "[rank0]: ValueError: bad\n")
		for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
			if made, _ := filepath.Glob(filepath.Join(temp, "*", "*", "stdin")); len(made) > 0 {
				break
			}
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		left, _ := os.ReadDir(temp)
		if got := cmd.ProcessState.ExitCode(); got != code || len(left) > 0 || said.String() != "bot diagnose: stopped\n" {
			t.Errorf("%v: exit code %d, left %v, said %q", sig, got, left, said.String())
		}
	}
}

func TestAPipeIsReadWhateverItsName(t *testing.T) {
	logs := filepath.Join(failedJob(t, t.TempDir(), "4242"), "slurm-4242.out")
	out, err := exec.Command("bash", "-c", `gzip -c "$1" > "$1.gz" && "$0" diagnose <(zcat "$1.gz") && "$0" diagnose <(cat "$1.gz")`, bot, logs).CombinedOutput()
	if err != nil || strings.Count(string(out), "ValueError: bad value in batch. See pipe:5.") != 2 {
		t.Errorf("%v\n%s", err, out)
	}
}
