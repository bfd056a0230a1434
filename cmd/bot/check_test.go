package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/artifact/checked"
	"faultline/knowledge"
	"faultline/preflight"
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

// A check that stops a job is the reason that the job's own log then gives, on the node that the check named, whatever the finding quotes.
func TestWhatACheckSaysIsReadAgain(t *testing.T) {
	sound := func(node string) preflight.Facts {
		return preflight.Facts{Node: node, Env: map[string]string{"MASTER_ADDR": "cn01"}, GPUs: []preflight.GPU{{Driver: "550.90"}}, OpenFiles: 1 << 20}
	}
	for want, spoil := range map[string]func(*preflight.Facts){
		"check-gpu":    func(f *preflight.Facts) { f.GPUTrouble = "nvidia-smi: No devices were found" },
		"check-gpus":   func(f *preflight.Facts) { f.GPUs = nil },
		"check-absent": func(f *preflight.Facts) { f.Unreached = "connection refused" },
		"check-name": func(f *preflight.Facts) {
			f.Names = []preflight.Lookup{{Name: "cn01", Trouble: "Name or service not known"}}
		},
		"check-network": func(f *preflight.Facts) { f.Broken, f.To = "connection reset by peer", "cn01" },
		"check-full":    func(f *preflight.Facts) { f.Dirs = []preflight.Dir{{Path: "/ckpt", Write: true, Free: 1}} },
		"check-directory": func(f *preflight.Facts) {
			f.Dirs = []preflight.Dir{{Path: "/ckpt", Write: true, Trouble: "read-only file system"}}
		},
		"check-library": func(f *preflight.Facts) {
			f.Libraries = []preflight.Library{{Name: "libnccl.so.2", Trouble: "not found"}}
		},
		"check-variable": func(f *preflight.Facts) { f.Env = map[string]string{"MASTER_ADDR": "cn09"} },
		"check-version":  func(f *preflight.Facts) { f.GPUs[0].Driver = "535.1" },
		"check-locked":   func(f *preflight.Facts) { f.Locked, f.Ports = 1, []preflight.Port{{State: "ACTIVE"}} },
		"check-warning":  func(f *preflight.Facts) { f.OpenFiles = 1024 },
	} {
		all := []preflight.Facts{sound("cn01"), sound("cn02"), sound("cn03")}
		spoil(&all[1])
		findings := preflight.Judge(all, nil, preflight.Wants{GPUs: 1, Checkpoint: 1 << 30})
		seen := false
		for _, f := range findings {
			s := line(f)
			ids := knowledge.Whole().Match(nil, []byte(s))
			if len(ids) == 0 || !strings.HasPrefix(string(ids[0]), "check-") {
				t.Errorf("%s: %q is read as %q", want, s, ids)
			}
			seen = seen || slices.Contains(ids, knowledge.ID(want))
			if _, ok := checked.Kind.Row(s); !ok {
				t.Errorf("%q is no row of a result", s)
			}
		}
		if !seen {
			t.Errorf("%s is not among %v", want, findings)
		}
	}
}

// What nccl-tests prints is held to the baseline of the command line, else of the configuration.
func TestCheckHoldsTheGPUsToABaseline(t *testing.T) {
	outsideSLURM(t)
	table, err := filepath.Abs("../../analysis/artifact/nccltests/testdata/all_reduce-2.17.txt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, script := range map[string]string{
		"nvidia-smi":      "for i in 0 1; do echo \"$i, NVIDIA H100 80GB HBM3, 550.90.07, 81559, 4, 1980, 1980, Not Active, Not Active\"; done",
		"all_reduce_perf": "cat " + table,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	yaml := fileWith(t, "faultline.yaml", "baselines:\n  bus: 5000\n")
	call(t, "", "check", "--node", "localhost").want(t, exitOK, "bot check: measured: all-reduce within a node ", "ready: 1 node, 2 GPUs")
	call(t, "", "check", "--node", "localhost", "--config", yaml).want(t, exitUnreadable, "localhost: GPU links: an all-reduce over 2 GPUs reaches", "the baseline is 5000 GB/s")
	call(t, "", "check", "--node", "localhost", "--config", yaml, "--baseline", "bus=0.001").want(t, exitOK, "ready")
	call(t, "", "check", "--node", "localhost", "--send", "0").want(t, exitOK, "bot check: ready")
	call(t, "", "check", "--baseline", "disk=3").want(t, exitUsage, "tcp=, bus= or rdma=")
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
