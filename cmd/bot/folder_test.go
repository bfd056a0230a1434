package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// Commands name the folder where it is known; the JSON, which holds no paths, and what lies in several folders is shown without the command.
func TestCommandsNameTheFolder(t *testing.T) {
	root := t.TempDir()
	for _, name := range []string{"4242/slurm-4242.out", "77/slurm-77.out", "77/more/slurm-77.log"} {
		write(t, filepath.Join(root, name), "[rank0] warming up\n[rank0] ready\n")
	}
	yaml := fmt.Sprintf("clusters: [{name: west, logs: {roots: [%q]}}]\n", root)
	here(t, "", yaml, "diagnose", "--full", "--job", "4242").want(t, exitInconclusive, "scp '"+root+"/4242/*4242*' logs/")
	if r := here(t, "", yaml, "diagnose", "--job", "4242", "--format", "json"); strings.Contains(r.out, root) || !strings.Contains(r.out, "log dir") {
		t.Errorf("%s", r.out)
	}
	if r := here(t, "", yaml, "diagnose", "--full", "--job", "77"); r.code != exitInconclusive || strings.Contains(r.out, "<log dir>") {
		t.Errorf("%d: %s", r.code, r.out)
	}
}
