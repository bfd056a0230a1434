package fetch

import (
	"archive/tar"
	"bytes"
	"errors"
	"os"
	"path/filepath"
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

func second(_ int, err error) error { return err }
