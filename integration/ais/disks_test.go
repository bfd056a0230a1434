//go:build realais

package ais

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// disk mounts a file system of its own. It lies in memory: whoever keeps it busy does not keep the machine's disk busy, on
// which the other clusters are.
func disk(t *testing.T, at, dir string, mb int64) {
	t.Helper()
	ram := filepath.Join(dir, "ram")
	folder(t, ram)
	memory(t, ram, "")
	image := filepath.Join(ram, "disk.img")
	write(t, image, "")
	if err := os.Truncate(image, mb<<20); err != nil {
		t.Fatal(err)
	}
	for _, cmd := range [][]string{{"mkfs.ext4", "-q", "-F", image}, {"mount", "-o", "loop", image, at}} {
		if out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd, err, out)
		}
	}
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) }) // the namespace goes soon in any case
}

// memory mounts a file system that lies in memory alone.
func memory(t *testing.T, at, options string) {
	t.Helper()
	if err := syscall.Mount("tmpfs", at, "tmpfs", 0, options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) })
}

// leave fills the disk of a target but for some bytes, with what is not AIStore's.
func (c *cluster) leave(t *testing.T, target string, free int64) {
	t.Helper()
	path := c.mountpath(target, 1)
	var st syscall.Statfs_t
	if err := syscall.Statfs(path, &st); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(path, "another-tenant"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := syscall.Fallocate(int(f.Fd()), 0, 0, int64(st.Bavail)*st.Bsize-free); err != nil {
		t.Fatal(err)
	}
}

// occupy keeps the disk of a target busy until the test ends.
func (c *cluster) occupy(t *testing.T, target string) {
	t.Helper()
	f, err := os.OpenFile(filepath.Join(c.mountpath(target, 1), "another-tenant"), os.O_CREATE|os.O_WRONLY|syscall.O_SYNC, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		defer f.Close()
		for block := make([]byte, 256<<10); ; {
			select {
			case <-end:
				return
			default:
				_, _ = f.WriteAt(block, 0)       // it may be full; it is busy all the same
				time.Sleep(2 * time.Millisecond) // the disk is to be busy, not the processors
			}
		}
	}()
	t.Cleanup(func() { close(end); <-done })
}
