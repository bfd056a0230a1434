package fetch

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"faultline/workflow"
)

// What our own disk refuses is no damage of the archive, and no reason to ask for another one.
func TestAnArchiveThatOurDiskDoesNotTakeIsNotBlamed(t *testing.T) {
	dir := t.TempDir()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	text := []byte("step 1\n")
	if err := errors.Join(w.WriteHeader(&tar.Header{Name: "slurm-4242.out", Mode: 0o644, Size: int64(len(text))}), second(w.Write(text)), w.Close()); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(dir, "logs.tar")
	joined := filepath.Join(dir, "joined.txt")
	parts := "==> slurm-1.out <==\nstep 1\n\n==> slurm-2.out <==\nstep 2\n"
	if err := errors.Join(os.WriteFile(archive, b.Bytes(), 0o600), os.WriteFile(joined, []byte(parts), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{archive, joined} {
		set, err := Local(t.Context(), []string{path}, LocalOptions{SpoolDir: filepath.Join(dir, "gone")})
		var own *workflow.Fault
		if !errors.Is(err, ErrNothing) || !errors.As(set.Fault, &own) || own.Why != "folder is gone on the bot's host" {
			t.Errorf("%s: %v, fault %v", path, err, set.Fault)
		}
	}
	shared := &Shared{Spool: filepath.Join(dir, "gone")}
	var own *workflow.Fault
	if _, err := shared.Collect(t.Context(), []string{archive}); !errors.As(err, &own) {
		t.Errorf("%v", err)
	}
}

// Logs that this process could not open because it has too many files open are neither unreadable nor somebody's to permit.
func TestALimitOfOursIsNoFaultOfTheLogs(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "slurm-1.out")
	if err := os.WriteFile(file, []byte("step 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var was syscall.Rlimit
	if err := errors.Join(syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was), syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: 64, Max: was.Max})); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was) }()
	for _, path := range []string{dir, file} {
		var open []*os.File
		for {
			f, err := os.Open(os.DevNull)
			if err != nil {
				break
			}
			open = append(open, f)
		}
		set, err := Local(t.Context(), []string{path}, LocalOptions{})
		for _, f := range open {
			_ = f.Close()
		}
		var own *workflow.Fault
		if !errors.Is(err, ErrNothing) || !errors.As(set.Fault, &own) || own.Why != "too many open files on the bot's host" {
			t.Errorf("%s: %v, fault %v", path, err, set.Fault)
		}
	}
}

func second(_ int, err error) error { return err }
