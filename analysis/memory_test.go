package analysis

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

const oomTraceback = `[rank%d]: Traceback (most recent call last):
[rank%[1]d]:   File "/w/train.py", line 40, in main
[rank%[1]d]:     out = model(x)
[rank%[1]d]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU %[1]d has a total capacity of 79.33 GiB of which 1.35 GiB is free. %[2]s
`

// Why a GPU ran out of memory is said where the numbers prove it, with the advice that fits, and left open elsewhere.
func TestWhyAGPURanOutOfMemory(t *testing.T) {
	const full = "Including non-PyTorch memory, this process has 77.97 GiB memory in use. Of the allocated memory 75.65 GiB is allocated by PyTorch, and 853.04 MiB is reserved by PyTorch but unallocated."
	const pieces = "Including non-PyTorch memory, this process has 77.97 GiB memory in use. Of the allocated memory 60.65 GiB is allocated by PyTorch, and 15.80 GiB is reserved by PyTorch but unallocated."
	const other = "Process 1234 has 70.00 GiB memory in use. Including non-PyTorch memory, this process has 7.97 GiB memory in use. Of the allocated memory 7.15 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated."
	const expandable = "expandable_segments:True"
	for _, c := range []struct {
		name, log, says, first string
		advised                bool
	}{
		{"full", fmt.Sprintf(oomTraceback, 3, full), "neither fragmentation nor another process explains it", "Reduce the micro-batch", false},
		{"fragmented", fmt.Sprintf(oomTraceback, 3, pieces), "rank 3: PyTorch held 15.8 GiB unused when 2.0 GiB was requested", "Enable expandable segments", true},
		{"occupied", fmt.Sprintf(oomTraceback, 3, other), "process 1234 holds 70.0 GiB of its 79.3 GiB", "Find the other process on rank 3's GPU", false},
		{"on two ranks alike", fmt.Sprintf(oomTraceback, 2, full) + fmt.Sprintf(oomTraceback, 3, full), "their usage is similar, so the configuration is at fault", "Reduce the micro-batch", false},
		{"without numbers", "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/w/train.py\", line 40, in main\n[rank3]: torch.OutOfMemoryError: CUDA out of memory.\n", "CUDA out of memory", "Reduce the micro-batch", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := filepath.Join(t.TempDir(), "worker.log")
			if err := os.WriteFile(p, []byte(c.log), 0o600); err != nil {
				t.Fatal(err)
			}
			r, err := Diagnose(t.Context(), Input{Version: "test", WorldSize: 8, Sources: []incident.Source{{Name: "worker.log", Path: p, Bytes: int64(len(c.log))}}})
			if err != nil || r.Verdict.Mechanism != "gpu-oom" {
				t.Fatalf("%v: %+v", err, r)
			}
			var said []string
			for _, f := range r.Hypotheses[0].For {
				said = append(said, f.Statement)
			}
			if got := strings.Join(said, "\n"); !strings.Contains(got, c.says) {
				t.Errorf("%q is not in\n%s", c.says, got)
			}
			if !strings.HasPrefix(r.Recommendations[0].Text, c.first) {
				t.Errorf("first of all: %q", r.Recommendations[0])
			}
			advised := slices.ContainsFunc(r.Recommendations, func(x incident.Recommendation) bool { return strings.Contains(x.Command, expandable) })
			if advised != c.advised {
				t.Errorf("expandable segments are advised: %v", advised)
			}
			if len(r.Verification.Withdrawn) > 0 {
				t.Errorf("withdrawn: %q", r.Verification.Withdrawn)
			}
		})
	}
}
