package login

import (
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const alice, mallory = 20001, 20002

// What a user of a cluster puts into a directory of logs does not lead a bot that reads over SFTP to the files of others.
func TestNothingOutsideOrOfAnothersIsReadOverSFTP(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several accounts")
	}
	n := serve(t).node(t)
	link := func(target string) func(t *testing.T, base string) {
		return func(t *testing.T, base string) {
			own(t, mallory, os.Symlink(strings.ReplaceAll(target, "@", base), base+"/logs/mallory/x"), base+"/logs/mallory/x")
		}
	}
	for name, c := range map[string]struct {
		open string // "" = logs/mallory/x
		do   func(t *testing.T, base string)
	}{
		"a link outside":               {"", link("@/home/v.log")},
		"a relative link":              {"", link("../../home/v.log")},
		"a link with ..":               {"", link("@/logs/alice/../../home/v.log")},
		"a folder's link":              {"logs/mallory/x/v.log", link("@/home")},
		"a link to another's":          {"", link("@/logs/alice/a.out")},
		"a relative link to another's": {"", link("../alice/a.out")},
		"a link to another's folder":   {"logs/mallory/x/a.out", link("@/logs/alice")},
		"a link to root's file":        {"", link("@/logs/root.out")},
		"through the root's folder":    {"logs/mallory/x/root.out", link("@/logs")},
		"a process's environment":      {"", link("/proc/self/environ")},
		"a process's root":             {"logs/mallory/x/etc/passwd", link("/proc/self/root")},
		"a device":                     {"", link("/dev/zero")},
		"a loop":                       {"", link("x")},
		"a name outside":               {"home/v.log", nil},
		"a name with ..":               {"logs/../home/v.log", nil},
		"a hard link": {"", func(t *testing.T, base string) {
			own(t, alice, os.Link(base+"/logs/alice/a.out", base+"/logs/mallory/x"), base+"/logs/mallory/x")
		}},
		"a hard link to what is outside": {"", func(t *testing.T, base string) {
			own(t, alice, os.Link(base+"/home/v.log", base+"/logs/mallory/x"), base+"/logs/mallory/x")
		}},
		"a pipe": {"", func(t *testing.T, base string) {
			own(t, mallory, syscall.Mkfifo(base+"/logs/mallory/x", 0o666), base+"/logs/mallory/x")
		}},
		"a socket": {"", func(t *testing.T, base string) {
			l, err := net.Listen("unix", base+"/logs/mallory/x")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			base := cluster(t)
			if c.do != nil {
				c.do(t, base)
			}
			files, err := n.Files(base + "/logs")
			if err != nil {
				t.Fatal(err)
			}
			open := base + "/logs/mallory/x"
			if c.open != "" {
				open = base + "/" + c.open
			}
			if b, err := bytesOf(files, open); err == nil {
				t.Errorf("%q is read", b)
			}
		})
	}
}

func TestUsualLinksAreReadOverSFTP(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several accounts")
	}
	n, base := serve(t).node(t), cluster(t)
	own(t, mallory, os.Symlink("m.out", base+"/logs/mallory/latest.out"), base+"/logs/mallory/latest.out")
	own(t, mallory, os.Symlink(base+"/logs/mallory", base+"/logs/run"), base+"/logs/run")
	own(t, 0, os.Symlink(base+"/logs/alice", base+"/logs/4242"), base+"/logs/4242")
	own(t, 0, os.Symlink(base+"/logs", base+"/scratch"), base+"/scratch")
	files, err := n.Files(base + "/logs")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"logs/mallory/m.out", "logs/mallory/latest.out", "logs/run/latest.out", "logs/4242/a.out", "scratch/alice/a.out"} {
		if b, err := bytesOf(files, base+"/"+name); len(b) == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWhatIsExchangedMeanwhileIsNotReadOverSFTP(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several accounts")
	}
	n, base := serve(t).node(t), cluster(t)
	x, y, link := base+"/logs/mallory/x", base+"/logs/mallory/y", base+"/logs/mallory/z"
	own(t, mallory, os.WriteFile(y, []byte("mine"), 0o644), y)
	own(t, mallory, os.Symlink(base+"/home/v.log", link), link)
	own(t, mallory, os.Symlink(y, x), x)
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			from := link
			if i%2 == 0 {
				from = y
			}
			_ = os.Remove(x + ".new")
			_ = os.Link(from, x+".new")
			_ = os.Rename(x+".new", x)
		}
	})
	files, err := n.Files(base + "/logs")
	if err != nil {
		t.Fatal(err)
	}
	read, refused := 0, 0
	for begun := time.Now(); time.Since(begun) < time.Second; {
		b, err := bytesOf(files, x)
		switch {
		case string(b) == "mine":
			read++
		case err != nil:
			refused++
		default:
			t.Fatalf("%q is read", b)
		}
	}
	close(stop)
	swapping.Wait()
	t.Logf("%d read, %d refused", read, refused)
	if read == 0 || refused == 0 {
		t.Errorf("%d read, %d refused: nothing was exchanged", read, refused)
	}
}

// A server resolves every path anew: the folder that was looked at is not the one that the next look comes through.
func TestFoldersThatAreExchangedLeadToNothingOfOthersOverSFTP(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make files of several accounts")
	}
	n, base := serve(t).node(t), cluster(t)
	deep, link := base+"/logs/mallory/deep", base+"/logs/mallory/link"
	own(t, mallory, os.Mkdir(deep, 0o755), deep)
	own(t, mallory, os.Chmod(deep, 0o777), deep)
	own(t, mallory, os.WriteFile(deep+"/v.log", []byte("mine"), 0o644), deep+"/v.log")
	own(t, alice, os.WriteFile(deep+"/hers.log", []byte("mine"), 0o644), deep+"/hers.log")
	own(t, mallory, os.Symlink(base+"/home", link), link)
	files, err := n.Files(base + "/logs")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"v.log", "hers.log"} {
		if b, err := bytesOf(files, deep+"/"+name); string(b) != "mine" {
			t.Errorf("%s in a folder that all may write to: %q, %v", name, b, err)
		}
	}
	stop := make(chan struct{})
	var swapping sync.WaitGroup
	swapping.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, deep, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE)
			}
		}
	})
	refused := 0
	for begun := time.Now(); time.Since(begun) < 2*time.Second; {
		b, err := bytesOf(files, deep+"/v.log")
		if err != nil {
			refused++
		} else if string(b) != "mine" {
			t.Errorf("%q is read", b)
			break
		}
	}
	close(stop)
	swapping.Wait()
	if refused == 0 {
		t.Error("nothing was exchanged")
	}
}

// cluster is a folder of logs in which alice and mallory have theirs, and a home beside it.
func cluster(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	for dir, owner := range map[string]int{"logs": 0, "logs/alice": alice, "logs/mallory": mallory, "home": alice} {
		own(t, owner, os.MkdirAll(base+"/"+dir, 0o755), base+"/"+dir)
	}
	for file, owner := range map[string]int{"logs/alice/a.out": alice, "home/v.log": alice, "logs/root.out": 0, "logs/mallory/m.out": mallory} {
		own(t, owner, os.WriteFile(base+"/"+file, []byte("SECRET of "+file), 0o644), base+"/"+file)
	}
	return base
}

// own gives what was made to an account.
func own(t *testing.T, uid int, err error, name string) {
	t.Helper()
	if err == nil {
		err = os.Lchown(name, uid, uid)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func bytesOf(files *Files, name string) ([]byte, error) {
	_, body, err := files.Open(ctx, name, 0)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}
