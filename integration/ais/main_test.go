//go:build realais

package ais

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// What the test that was called hands to itself inside.
const (
	envBot  = "FAULTLINE_AIS_BOT"
	envNode = "FAULTLINE_AIS_NODE"
)

// TestMain runs the tests in namespaces of their own: the daemons listen on all interfaces, and nothing of them may outlive
// the test, whatever becomes of it.
func TestMain(m *testing.M) {
	if os.Getenv(envBot) == "" {
		os.Exit(enter())
	}
	if err := furnish(); err != nil {
		fmt.Fprintln(os.Stderr, "the namespaces:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// enter runs this test again, inside, and returns how that ended.
func enter() int {
	// The process inside ends with the thread that made it.
	runtime.LockOSThread()
	if os.Getuid() != 0 {
		return fail("it needs root, for the namespaces and the small disk")
	}
	node, err := daemonBinary()
	if err != nil {
		return fail("%v", err)
	}
	dir, err := os.MkdirTemp("", "faultline-ais-")
	if err != nil {
		return fail("%v", err)
	}
	defer os.RemoveAll(dir)
	bot := filepath.Join(dir, "bot")
	if out, err := exec.Command("go", "build", "-o", bot, "../../cmd/bot").CombinedOutput(); err != nil {
		return fail("building the binary: %v\n%s", err, out)
	}
	// Clusters wait more than they work: all of them at once.
	inside := exec.Command(os.Args[0], append([]string{"-test.parallel=8"}, os.Args[1:]...)...)
	inside.Env = append(os.Environ(), envBot+"="+bot, envNode+"="+node, "TMPDIR="+dir)
	inside.Stdout, inside.Stderr = os.Stdout, os.Stderr
	inside.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET | syscall.CLONE_NEWNS | syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	err = inside.Run()
	var ended *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &ended) && ended.ExitCode() > 0:
		return ended.ExitCode()
	}
	return fail("inside the namespaces: %v", err)
}

func fail(format string, args ...any) int {
	fmt.Fprintf(os.Stderr, "integration/ais: "+format+"\n", args...)
	return 1
}

// daemonBinary is what prepare.sh built. Without it there is nothing to test, and a skip would hide that.
func daemonBinary() (string, error) {
	cache := os.Getenv("FAULTLINE_CACHE")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(home, ".cache", "faultline")
	}
	found, err := filepath.Glob(filepath.Join(cache, "tools", "aistore-v*", "aisnode"))
	if err != nil || len(found) == 0 {
		return "", errors.New("AIStore's daemon is not built; run integration/ais/prepare.sh first")
	}
	return found[len(found)-1], nil
}

// furnish gives the namespaces what processes expect: mounts that stay inside, a /proc of their own, a loopback.
func furnish() error {
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("mounts of their own: %w", err)
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("/proc: %w", err)
	}
	s, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_DGRAM, 0)
	if err != nil {
		return err
	}
	defer syscall.Close(s)
	up := struct {
		name  [syscall.IFNAMSIZ]byte
		flags uint16
		_     [22]byte
	}{flags: syscall.IFF_UP}
	copy(up.name[:], "lo")
	if _, _, no := syscall.Syscall(syscall.SYS_IOCTL, uintptr(s), syscall.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&up))); no != 0 {
		return fmt.Errorf("the loopback: %w", no)
	}
	return nil
}
