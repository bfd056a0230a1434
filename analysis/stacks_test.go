package analysis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

// A rank's log of a megabyte ends with its crash: where its main thread stood is read there, whoever searches for it.
func TestStacksAtTheEndOfALargeLogAreRead(t *testing.T) {
	var b strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&b, "[rank3]: step %d: everything is as it should be, loss 2.%d\n", i, i)
	}
	b.WriteString("[rank3]: Fatal Python error: Aborted\n[rank3]: \n[rank3]: Thread 0x00007f11 (most recent call first):\n[rank3]:   File \"/opt/lib/python3.11/site-packages/torch/utils/data/dataloader.py\", line 1251 in _try_get_data\n" +
		"[rank3]:   File \"/home/u/train.py\", line 64 in <module>\n")
	path := filepath.Join(t.TempDir(), "rank3.log")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	r, err := Diagnose(context.Background(), Input{Sources: []incident.Source{{Name: "rank3.log", Path: path, Bytes: int64(b.Len())}}, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Artifacts) != 1 || r.Artifacts[0].Kind != "stacks" || len(r.Artifacts[0].Findings) != 1 {
		t.Fatalf("%+v", r.Artifacts)
	}
	f := r.Artifacts[0].Findings[0]
	if !strings.Contains(f.Statement, "rank 3") || !strings.Contains(f.Statement, "its data loader") || len(f.Evidence) < 2 || f.Evidence[1].Line != 20004 {
		t.Errorf("%+v", f)
	}
	if len(r.Verdict.Root.Ranks) > 0 && r.Verdict.Mechanism == "dataloader-stall" {
		t.Error("the stack of one rank accuses it")
	}
}

// One dump, of the one rank that no line of the logs speaks of: where that rank stood nobody waits for others, and the logs prove
// that all others wait.
func TestTheStackOfTheMissingRankDecides(t *testing.T) {
	var log strings.Builder
	for r := 1; r < 4; r++ {
		fmt.Fprintf(&log, "[rank%d]:[E801 10:20:05.482000111 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=1, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600020 milliseconds before timing out.\n", r, r)
		fmt.Fprintf(&log, "[rank%d]:[E801 10:20:05.483000111 ProcessGroupNCCL.cpp:2268] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 1 PG status: last enqueued work: 1, last completed work: 0\n", r, r)
	}
	dump := func(frames string) string {
		return "Timeout (0:05:00)!\nThread 0x00007f1d5c0b4740 (most recent call first):\n" + frames + "  File \"/w/train.py\", line 310 in <module>\n"
	}
	const site = "/opt/conda/lib/python3.10/site-packages/"
	for _, c := range []struct {
		name, stack, want string
		root              string
	}{
		{"it prepares data", dump("  File \"" + site + "transformers/tokenization_utils_fast.py\", line 480 in _batch_encode_plus\n  File \"" + site + "datasets/arrow_dataset.py\", line 3370 in _map_single\n  File \"" + site + "datasets/arrow_dataset.py\", line 3090 in map\n"), "rank-busy", "[0]"},
		{"it saves", dump("  File \"" + site + "torch/serialization.py\", line 944 in save\n"), "checkpoint-io", "[0]"},
		{"it may wait for its GPU", dump("  File \"/w/train.py\", line 80 in step\n"), "rank-stalled", "[]"},
		{"it waits, too", dump("  File \"" + site + "torch/distributed/distributed_c10d.py\", line 4164 in barrier\n"), "", "[]"},
	} {
		dir := t.TempDir()
		source := func(name, text string) incident.Source {
			path := filepath.Join(dir, name)
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			return incident.Source{Name: name, Path: path, Bytes: int64(len(text))}
		}
		r, err := Diagnose(context.Background(), Input{Sources: []incident.Source{source("train.log", log.String()), source("stack-rank0.txt", c.stack)}, WorldSize: 4, Version: "test"})
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Verdict; c.want != "" && v.Mechanism != c.want || fmt.Sprint(v.Root.Ranks) != c.root {
			t.Errorf("%s: %s of %v, expected %s of %s", c.name, v.Mechanism, v.Root.Ranks, c.want, c.root)
		}
	}
}

// What nvidia-smi printed lies among the logs, named after a rank: that is no log of the rank that stayed silent.
func TestAToolsOutputNamedAfterARankIsNoLog(t *testing.T) {
	dir := t.TempDir()
	var log strings.Builder
	for r := 1; r < 4; r++ {
		fmt.Fprintf(&log, "[rank%d]:[E801 10:20:05.482000111 ProcessGroupNCCL.cpp:632] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=7, OpType=ALLREDUCE, NumelIn=1, NumelOut=1, Timeout(ms)=600000) ran for 600012 milliseconds before timing out.\n", r, r)
	}
	var sources []incident.Source
	for name, text := range map[string]string{"train.log": log.String(), "gpu-rank0.txt": "Sat Aug  1 10:30:00 2026\n" +
		"+---------------------------------------------------------------------------------------+\n" +
		"| NVIDIA-SMI 535.104.05             Driver Version: 535.104.05   CUDA Version: 12.2     |\n" +
		"|-----------------------------------------+----------------------+----------------------+\n" +
		"|   0  NVIDIA A100-SXM4-80GB          On  | 00000000:07:00.0 Off |                    0 |\n" +
		"| N/A   34C    P0              84W / 400W |  40536MiB / 81920MiB |    100%      Default |\n" +
		"+-----------------------------------------+----------------------+----------------------+\n"} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		sources = append(sources, incident.Source{Name: name, Path: path, Bytes: int64(len(text))})
	}
	r, err := Diagnose(context.Background(), Input{Sources: sources, WorldSize: 4, Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Verdict.Root.Ranks) > 0 || len(r.Artifacts) != 1 {
		t.Errorf("%s of %v, %d artefacts", r.Verdict.Mechanism, r.Verdict.Root.Ranks, len(r.Artifacts))
	}
}

// TestOneOfManyInACallOfTheFileSystem: where all others wait for their GPUs, it is whom they wait for; where many are, nobody is.
func TestOneOfManyInACallOfTheFileSystem(t *testing.T) {
	reads := "#0  0x00007f11 in __GI___libc_pread64 (fd=9) at pread64.c:25\n#1  0x00007f13 in nc_get_vara_float () from /usr/lib/libnetcdf.so.19\n"
	waits := "#0  0x00007f11 in cuStreamSynchronize () from /usr/lib/libcuda.so.1\n#1  0x00007f12 in cudaStreamSynchronize () from /usr/lib/libcudart.so.12\n"
	for name, c := range map[string]struct {
		reading []int
		want    []int
	}{
		"one reads": {[]int{3}, []int{3}},
		"two read":  {[]int{1, 3}, nil},
		"all read":  {[]int{0, 1, 2, 3, 4}, nil},
		"nobody":    {nil, nil},
	} {
		logs := map[string]string{"sea.out": "2026-06-16 19:27:34 step 880 loss 0.31\n2026-06-16 19:28:34 step 890 loss 0.31\n"}
		for r := range 5 {
			stack := waits
			if slices.Contains(c.reading, r) {
				stack = reads
			}
			logs[fmt.Sprintf("bt-rank%d.txt", r)] = fmt.Sprintf("$ gdb -p %d -batch -ex bt\n%s#2  0x00005511 in _PyEval_EvalFrameDefault ()\n", 700+r, stack)
		}
		r := diagnosed(t, Input{Sources: written(t, logs, "")})
		if !slices.Equal(r.Verdict.Root.Ranks, c.want) {
			t.Errorf("%s: %s of %v", name, r.Verdict.Mechanism, r.Verdict.Root.Ranks)
		}
	}
}
