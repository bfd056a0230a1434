package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestCheckPassesASoundMachine(t *testing.T) {
	outsideSLURM(t)
	dir := t.TempDir()
	call(t, "", "check", "--node", "localhost", "--write", dir).want(t, exitOK, "ready: 1 node")
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("it left %v", left)
	}
}

func TestCheckNamesWhatStopsAJob(t *testing.T) {
	outsideSLURM(t)
	dir := t.TempDir()
	smi := filepath.Join(dir, "nvidia-smi")
	if err := os.WriteFile(smi, []byte("#!/bin/sh\necho 'Unable to determine the device handle for GPU0000:3B:00.0: Unknown Error'\nexit 15\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	r := call(t, "", "check", "--node", "localhost", "--read", filepath.Join(dir, "none"), "--write", dir, "--checkpoint", "100000000")
	r.want(t, exitUnreadable, "not ready", "GPU: nvidia-smi: Unable to determine the device handle", "cannot read "+dir+"/none: no such file or directory", "a checkpoint needs 90949.5 TiB")
	var p passed
	r = call(t, "", "check", "--node", "localhost", "--read", filepath.Join(dir, "none"), "--format", "json")
	if err := json.Unmarshal([]byte(r.out), &p); err != nil || p.Pass || len(p.Findings) != 2 || len(p.Nodes) != 1 {
		t.Errorf("%v, %+v", err, p)
	}
}

func TestNodesOfACheckMeet(t *testing.T) {
	outsideSLURM(t)
	common := []string{"check", "--nodes", "localhost,127.0.0.1,127.0.0.2", "--lead", "localhost:20983", "--wait", "3s", "--send", "100ms"}
	ended := make(chan result)
	go func() { ended <- call(t, "", append(common, "--node", "127.0.0.1")...) }()
	r := call(t, "", append(common, "--node", "localhost")...)
	r.want(t, exitUnreadable, "127.0.0.2: rendezvous: did not reach the rendezvous", "not ready: 2 nodes")
	other := <-ended
	other.want(t, exitUnreadable, "see the output of localhost")
}

func TestCheckRefusesWhatItCannotDo(t *testing.T) {
	outsideSLURM(t)
	call(t, "", "check", "now").want(t, exitUsage, "takes no argument")
	call(t, "", "check", "--format", "xml").want(t, exitUsage, "choose terminal or json")
	call(t, "", "check", "--wait", "0s").want(t, exitUsage, "--wait")
	call(t, "", "check", "--nodes", "cn[1-2]", "--node", "cn9").want(t, exitUsage, "this node is cn9")
	call(t, "", "check", "--nodes", "cn[1-2]", "--node", "cn1").want(t, exitUsage, "--lead cn1:20001")
}

// outsideSLURM hides that the tests themselves may run in a job.
func outsideSLURM(t *testing.T) {
	t.Helper()
	for _, v := range []string{"SLURM_JOB_NODELIST", "SLURM_LOCALID", "SLURM_JOB_ID", "SLURMD_NODENAME"} {
		t.Setenv(v, "")
	}
}
