package mounted

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"faultline/fetch/source"
	"faultline/fetch/source/sourcetest"
)

// open is an empty place in a directory that everybody may enter.
func open(t *testing.T) sourcetest.Place {
	t.Helper()
	dir, err := os.MkdirTemp("", "mounted-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	files, err := New(filepath.Join(dir, "root"))
	if err != nil {
		t.Fatal(err)
	}
	p := sourcetest.OnDisk(files, dir)
	if os.Geteuid() != 0 {
		p.Deny = func(t *testing.T, name string) {
			if err := os.Chmod(name, 0); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = os.Chmod(name, 0o755) })
		}
	}
	return p
}

func TestAMountedFileSystemIsASource(t *testing.T) { sourcetest.Run(t, open) }

// Nothing can be denied to root: the suite is run once more as somebody else.
func TestAMountedFileSystemIsASourceForAnOrdinaryUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the test above ran as one")
	}
	dir, err := os.MkdirTemp("", "mounted-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "suite"), program, 0o755)
	}
	if err == nil {
		err = os.Chmod(dir, 0o777)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "suite"), "-test.run", "^TestAMountedFileSystemIsASource$", "-test.v")
	cmd.Dir, cmd.Env = dir, []string{"TMPDIR=" + dir, "PATH=/usr/bin:/bin"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestSpecialFilesAreNotRead(t *testing.T) {
	p := open(t)
	p.Write(t, p.Root+"/a", []byte("x"))
	pipe := filepath.Join(p.Root, "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := p.Source.Open(context.Background(), pipe, 0); source.KindOf(err) != source.NotRegular {
		t.Errorf("a pipe: %v", err)
	}
	if files, err := p.Source.Glob(context.Background(), p.Root+"/*"); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}

func TestRootsThatAreLinksAndRootsThatAreMoved(t *testing.T) {
	p := open(t)
	p.Write(t, p.Root+"/old/a", []byte("old"))
	p.Write(t, p.Root+"/new/a", []byte("newer"))
	link := p.Root + "/project"
	p.Link(t, link, p.Root+"/old")
	files, err := New(link)
	if err != nil {
		t.Fatal(err)
	}
	f, err := files.Stat(context.Background(), link+"/a")
	if err != nil || f.Size != 3 {
		t.Errorf("%+v, %v", f, err)
	}
	p.Remove(t, link)
	p.Link(t, link, p.Root+"/new")
	if f, err = files.Stat(context.Background(), link+"/a"); err != nil || f.Size != 5 {
		t.Errorf("%+v, %v", f, err)
	}
	if _, err := New("relative"); err == nil {
		t.Error("a relative root is taken")
	}
}

func TestDecoratorsKeepTheContract(t *testing.T) {
	sourcetest.Run(t, func(t *testing.T) sourcetest.Place {
		p := open(t)
		p.Source = &source.Limit{Files: 1000, Bytes: 1 << 30, Of: &source.Rate{BytesPerSecond: 1 << 40, Requests: 40,
			Of: &source.Retry{Of: &source.Timeout{Of: p.Source, Request: time.Minute, Idle: time.Minute}}}}
		return p
	})
}
