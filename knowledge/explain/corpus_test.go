package explain

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"faultline/knowledge"
)

// telling are lines that speak of a failure by their form alone: the last line of a traceback, an error of CUDA or NCCL, of the
// watchdog, of SLURM, of the driver. Written from what such lines look like, not from the tables.
var telling = regexp.MustCompile(`(?:^|\]:? |: )(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception): \S|CUDA error: |NCCL WARN |Watchdog caught collective|ncclInternalError|ncclSystemError|ncclRemoteError` +
	`|^(?:srun|slurmstepd|sbatch): error: |NVRM: Xid|Root Cause \(first observed failure\)|Out of memory: Kill|Segmentation fault|Bus error`)

// Whoever pastes the line that tells of a real incident's failure gets an answer.
func TestTheTellingLinesOfTheCorpusAreExplained(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "shared", "corpus", "*", "logs", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Skip("no ../shared/corpus here")
	}
	told := map[string]bool{}
	asked := map[string]bool{}
	for _, file := range files {
		body, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(bytes.NewReader(body))
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			line := lines.Text()
			if asked[line] || !telling.MatchString(line) {
				continue
			}
			asked[line] = true
			if a := Text(line); len(a.Entries) == 0 || a.Entries[0].Kind == Variable {
				t.Errorf("%s: nothing is known of %q", filepath.Base(filepath.Dir(filepath.Dir(file))), clip(line))
			} else {
				told[a.Entries[0].ID] = true
			}
		}
		if err := lines.Err(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
	t.Logf("%d lines lead to %d entries", len(asked), len(told))
	if len(asked) < 80 || len(told) < 20 {
		t.Errorf("only %d telling lines, %d entries", len(asked), len(told))
	}
}

// What was only ever looked up is found by its own example, before the type of the exception that carries it.
func TestEveryMessageExplainsItself(t *testing.T) {
	for _, m := range knowledge.Whole().Messages() {
		got := Text(m.Example).Entries
		if len(got) == 0 || got[0].ID != string(m.ID) || got[0].Cause == "" || got[0].Check == "" {
			t.Errorf("%s: its example leads to %q", m.ID, ids(got))
		}
	}
}

// The libraries' words of the issue, as people paste them.
func TestTheWordsOfEachLibraryAreKnown(t *testing.T) {
	for text, want := range map[string]string{
		"RuntimeError: Mesh should not be bigger than default world size, but found 16 ranks!":                                                                 "mesh-too-big",
		"RuntimeError: aten.add.Tensor: got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling distributed operators!": "dtensor-mixed",
		"ValueError: `placements` must have the same length as `device_mesh.ndim`! Found placements length: 1, and device_mesh.ndim: 2.":                       "dtensor-placements",
		"RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.":                                                  "ddp-unused",
		"Parameters which did not receive grad for rank 3: head.weight, head.bias":                                                                             "ddp-no-grad-names",
		"DDP expects same model across all ranks, but Rank 0 has 64 params, while rank 1 has inconsistent 65 params.":                                          "ddp-different-model",
		"Expected to mark a variable ready only once.":                                                                                                         "ddp-ready-twice",
		"ValueError: `FlatParameter` requires uniform dtype but got torch.float32 and torch.bfloat16":                                                          "fsdp-dtype",
		"ValueError: `FlatParameter` requires uniform `requires_grad`":                                                                                         "fsdp-requires-grad",
		"Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`":                                                                       "fsdp-requires-grad",
		"FSDP parameters should be materialized from meta device before training, but the following were":                                                      "fsdp-meta",
		"Tensors must be contiguous":                                                                   "c10d-contiguous",
		"ProcessGroupNCCL is only supported with GPUs, no GPUs found!":                                 "c10d-no-gpu",
		"No backend type associated with device type cpu":                                              "c10d-device",
		"Tensors must be CUDA and dense":                                                               "c10d-dense",
		"Default process group has not been initialized, please make sure to call init_process_group.": "config-no-pg",
		"trying to initialize the default process group twice!":                                        "c10d-twice",
		"Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000":                         "nccl-duplicate-gpu",
		"slurmstepd: error: Exceeded job memory limit":                                                 "slurm-memory-limit",
		"sbatch: error: Batch job submission failed: Requested node configuration is not available":    "slurm-node-config",
		"torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError":                              "init-rendezvous-timeout",
		"429 Client Error: Too Many Requests for url: http://node/v1/objects":                          "ais-too-many",
	} {
		if got := ids(Text(text).Entries); len(got) == 0 || got[0] != want {
			t.Errorf("%q leads to %q, not to %s", text, got, want)
		}
	}
}

func TestNonsenseIsNotExplained(t *testing.T) {
	for _, text := range []string{
		"flux capacitor exploded on tuesday",
		"the mesh of the net was bigger than the fish",
		"tensors, placements and other animals",
		"expected to be in states of joy",
		"429 passengers are too many",
		"a uniform is required",
		"asdf 0x0 !!! ###",
	} {
		if a := Text(text); len(a.Entries) != 0 {
			t.Errorf("%q is claimed to be %q", text, ids(a.Entries))
		}
	}
}
