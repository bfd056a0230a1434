//go:build sources

package sources

import (
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"faultline/fetch/source"
)

// The accounts of two users of the cluster.
const alice, mallory = 20001, 20002

// A user of the cluster who exchanges names as fast as they can shows a bot that reads over OpenSSH's SFTP nothing of another's.
func TestNamesThatAreExchangedLeadToNothingOfOthers(t *testing.T) {
	s := newSite(t)
	n := s.node(t, s.sshd(t, "login"))
	for name, c := range map[string]struct{ open, one, other string }{
		"a file and a link":                 {"logs/mallory/x", "logs/mallory/x", "logs/mallory/to-file"},
		"a folder and a link outside":       {"logs/mallory/deep/v.log", "logs/mallory/deep", "logs/mallory/to-home"},
		"a folder and a link to another's":  {"logs/mallory/deep/v.log", "logs/mallory/deep", "logs/mallory/to-run"},
		"a folder above":                    {"logs/mallory/deep/er/v.log", "logs/mallory/deep", "logs/mallory/to-base"},
		"a folder in the root that all use": {"logs/top/v.log", "logs/top", "logs/to-home"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := os.MkdirTemp(s.dir, "cluster-")
			must(t, err)
			must(t, os.Chmod(dir, 0o755))
			at := func(name string) string { return dir + "/" + name }
			folder := func(owner int, mode os.FileMode, names ...string) {
				for _, n := range names {
					must(t, os.MkdirAll(at(n), 0o755))
					must(t, os.Chown(at(n), owner, owner))
					must(t, os.Chmod(at(n), mode))
				}
			}
			file := func(owner int, text string, names ...string) {
				for _, n := range names {
					must(t, os.WriteFile(at(n), []byte(text), 0o644))
					must(t, os.Chown(at(n), owner, owner))
				}
			}
			folder(0, 0o777|os.ModeSticky, "logs")
			folder(alice, 0o755, "home", "logs/run", "home/er")
			folder(mallory, 0o777, "logs/mallory", "logs/mallory/deep", "logs/mallory/deep/er", "logs/top")
			file(alice, "SECRET", "home/v.log", "home/er/v.log", "logs/run/v.log")
			file(mallory, "mine", "logs/mallory/x", "logs/mallory/deep/v.log", "logs/mallory/deep/er/v.log", "logs/top/v.log")
			for link, target := range map[string]string{"logs/mallory/to-file": "home/v.log", "logs/mallory/to-home": "home", "logs/mallory/to-run": "logs/run", "logs/mallory/to-base": "home", "logs/to-home": "home"} {
				must(t, os.Symlink(at(target), at(link)))
				must(t, os.Lchown(at(link), mallory, mallory))
			}
			files, err := n.Files(at("logs"))
			must(t, err)
			if b := readAll(files, at(c.open)); b != "mine" {
				t.Fatalf("%q before anything is exchanged", b)
			}
			exchange(t, at(c.one), at(c.other))
			read, refused, leaked := 0, 0, 0
			for begun := time.Now(); time.Since(begun) < 2*time.Second; {
				switch b := readAll(files, at(c.open)); {
				case strings.Contains(b, "SECRET"):
					leaked++
				case b == "":
					refused++
				default:
					read++
				}
			}
			t.Logf("%d read, %d refused, %d leaked", read, refused, leaked)
			if leaked > 0 || refused == 0 {
				t.Errorf("%d read, %d refused, %d of another's", read, refused, leaked)
			}
		})
	}
}

// readAll is what a file holds, "" where it is refused.
func readAll(files source.Source, name string) string {
	_, body, err := files.Open(ctx, name, 0)
	if err != nil {
		return ""
	}
	defer body.Close()
	b, _ := io.ReadAll(body)
	return string(b)
}

// exchange exchanges two names as mallory until the test ends.
func exchange(t *testing.T, one, other string) {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	text, err := os.ReadFile(self)
	must(t, err)
	dir, err := os.MkdirTemp("", "exchange-")
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755))
	program := dir + "/suite"
	must(t, os.WriteFile(program, text, 0o755))
	cmd := exec.Command(program, "-test.run", "^TestMalloryExchanges$", "-test.count=1")
	cmd.Dir = dir
	cmd.Env = []string{"EXCHANGE=" + one + ":" + other}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: mallory, Gid: mallory}, Pdeathsig: syscall.SIGKILL}
	must(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
}

func TestMalloryExchanges(t *testing.T) {
	one, other, ok := strings.Cut(os.Getenv("EXCHANGE"), ":")
	if !ok {
		t.Skip("runs as another account, out of another test")
	}
	for begun := time.Now(); time.Since(begun) < time.Minute; {
		_ = unix.Renameat2(unix.AT_FDCWD, one, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
	}
}
