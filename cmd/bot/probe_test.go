package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/isolate"
	probes "faultline/probe"
)

func TestAComponentIsFoundByProbes(t *testing.T) {
	if !slices.Equal(probes.Components, isolate.JobComponents) {
		t.Errorf("the program tests %v, a search %v", probes.Components, isolate.JobComponents)
	}
	dir := t.TempDir()
	script, ledger := filepath.Join(dir, "probe.py"), filepath.Join(dir, "c.json")
	call(t, "", "probe", "--out", script).want(t, exitOK, "python3 "+script+" compute|memory|data|communication")
	call(t, "", "probe").want(t, exitOK, "def communication(args):")
	good := fileWith(t, "good.txt", "probe compute: rank 0 of 1 on cn01: ok 400 TFLOP/s; fine\n")
	bad := fileWith(t, "bad.txt", "probe data: rank 0 of 1 on cn01: FAIL no file in /d\n")
	call(t, "", "probe", good).want(t, exitOK, "Nothing wrong: 1 result.")
	call(t, "", "probe", good, bad).want(t, exitInconclusive, "data: rank 0 on cn01: no file in /d")
	call(t, "", "probe", script).want(t, exitUnreadable, "holds no result of bot probe")
	call(t, "", "isolate", "--ledger", ledger, "--components", "--nodes", "cn[01-04]", "--gpus", "8").want(t, exitInconclusive,
		"Round 1: 4 tests, one after the other", "1c   srun --time=10 --nodes=4 --nodelist='cn[01-04]' --ntasks-per-node=8 --gpus-per-node=8 python3 probe.py data")
	call(t, "", "isolate", "--ledger", ledger, "1a="+good, "1b=void", "1c="+bad, "1d=pass").want(t, exitInconclusive, "2a   srun", "probe.py data")
	call(t, "", "isolate", "--ledger", ledger, "2a=fail").want(t, exitInconclusive, "3a   srun", "probe.py data")
	call(t, "", "isolate", "--ledger", ledger, "3a=fail").want(t, exitInconclusive, "4a   srun", "probe.py memory")
	r := call(t, "", "isolate", "--ledger", ledger, "4a=pass")
	r.want(t, exitOK, "Fails alone: data (7 tests in 4 rounds).", "bot isolate --ledger data.json --nodes 'cn[01-04]' --gpus 8 --test 'python3 probe.py data'")
	if strings.Contains(r.out, "first:") {
		t.Error(r.out)
	}
}
