package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAChecklistStandsInFrontOfSbatch(t *testing.T) {
	dir := t.TempDir()
	team := filepath.Join(dir, "team.yaml")
	yaml := `checklists:
  - name: ours
    includes: [long-run]
    items:
      - {id: links, text: Links are up, critical: true, run: "test -e ` + dir + `/links || { echo mlx5_0 is down; false; }"}
      - {id: restart, text: Our own restart is on}
`
	if err := os.WriteFile(team, []byte(yaml), 0o644); err != nil {
		t.Fatal(err)
	}
	call(t, "", "check", "--checklist", "long-run").want(t, exitUnreadable, "[ ] Checkpoints are saved automatically (critical): tick it with --tick auto-checkpoint", "FAIL")
	args := []string{"check", "--checklist", "ours", "--config", team, "--tick", "auto-checkpoint", "--write", dir, "--checkpoint", "0.000001", "--plan", "keep=2"}
	call(t, "", args...).want(t, exitUnreadable, "[!] Links are up (critical): its command failed: mlx5_0 is down", "[x] Checkpoints are saved automatically", "[ ] Our own restart is on")
	if err := os.WriteFile(filepath.Join(dir, "links"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	call(t, "", args...).want(t, exitOK, "[x] Links are up (critical): its command succeeded", "ready:")
	call(t, "", append(args, "--format", "json")...).want(t, exitOK, `"checklist": [`, `"id": "links"`)

	call(t, "", "check", "--checklist", "mine").want(t, exitUsage, "choose one of pre-training, scaling-up, long-run")
	call(t, "", "check", "--checklist", "long-run", "--tick", "links").want(t, exitUsage, "has no such item")
	call(t, "", "check", "--checklist", "long-run", "--plan", "parms=1").want(t, exitUsage, "--plan")
	call(t, "", "check", "--tick", "alerts").want(t, exitUsage, "belong to a checklist")
}

func TestACheckSaysWhatChangedSinceTheLastPass(t *testing.T) {
	file := filepath.Join(t.TempDir(), "health.jsonl")
	args := []string{"check", "--node", "cn1", "--record", file}
	call(t, "", args...).want(t, exitOK, "ready:")
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	older := strings.Replace(string(b), `"libc":"`, `"libc":"old `, 1) // that the machine has another libc by now
	if older == string(b) {
		t.Fatalf("no libc in %s", b)
	}
	if err := os.WriteFile(file, []byte(older), 0o644); err != nil {
		t.Fatal(err)
	}
	call(t, "", args...).want(t, exitOK, "cn1: changed: since its last pass on ", "previously old ")
	call(t, "", args...).want(t, exitOK, "ready:") // the newest pass is as it is now
	if b, _ := os.ReadFile(file); strings.Count(string(b), "\n") != 3 {
		t.Errorf("%d lines", strings.Count(string(b), "\n"))
	}
	call(t, "", "check", "--record", t.TempDir()).want(t, exitOK, "ready:")
}
