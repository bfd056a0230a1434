package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Who asks sees why a line means what it means, beside the report. Names of files may hold what a terminal obeys.
func TestTheTrailIsPrintedBesideTheReport(t *testing.T) {
	dir := t.TempDir()
	text := "step 1 loss 2.1\nstep 2 loss 2.0\nTraceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    torch.save(x)\n" +
		"  File \"/usr/lib/python3/site-packages/torch/serialization.py\", line 850, in save\n    _save()\nOSError: [Errno 5] Input/output error: '/c/ckpt.pt'\n"
	if err := os.WriteFile(filepath.Join(dir, "a\x1b[2J.log"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	const trail = "storage-unresponsive (cause) by storage-io-error -> checkpoint-io (cause) by storage-io-error: the file belongs to a checkpoint"
	r := call(t, "", "diagnose", "--trail", dir)
	if !strings.Contains(r.err, trail) || strings.Contains(r.err, "\x1b[2J") || strings.Contains(r.out, trail) {
		t.Errorf("standard error has %q, and standard output must not have the trail", r.err)
	}
	if r := call(t, "", "diagnose", dir); strings.Contains(r.err, trail) {
		t.Error("nobody asked for the trail")
	}
}
