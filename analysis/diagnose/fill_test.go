package diagnose

import (
	"strings"
	"testing"

	"faultline/simulate"
)

// What changes a node, or takes its GPUs, is not proposed for nodes that nothing accuses: neither for all of the job nor for the one that is known.
func TestWhatDoesHarmIsForProvenNodes(t *testing.T) {
	const (
		firmware = "NVRM: Xid (PCI:0000:17:00): 119, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 (GSP_RM_CONTROL) (0x20803032 0x588).\n"
		ecc      = "RuntimeError: CUDA error: uncorrectable ECC error encountered\n"
	)
	acts := []string{"Drain the nodes", "Exclude the nodes", "Have the nodes rebooted", "Drain n", "Have n"}
	harm := []string{"--gpu-reset", "dcgmi diag", "State=DRAIN", "nvidia-bug-report"}
	for _, c := range []struct {
		name, file, text, mechanism string
		nodes                       []string
		want                        string // a part of a command
	}{
		{"firmware on one of two", "job.log", fieldSteps + firmware, "gpu-firmware", []string{"n1", "n2"}, "clush -w n[1-2] 'dmesg"},
		{"firmware, and one node is known", "job.log", fieldSteps + firmware, "gpu-firmware", []string{"n1"}, "ssh NODE 'nvidia-smi --gpu-reset'"},
		{"memory of one of two", "job.log", fieldSteps + ecc, "gpu-ecc", []string{"n1", "n2"}, "clush -w n[1-2] 'nvidia-smi -q"},
		{"memory, and one node is known", "job.log", fieldSteps + ecc, "gpu-ecc", []string{"n1"}, "clush -w n1 'nvidia-smi -q"},
		{"a reboot, of no node that is known", "job.log", fieldSteps + raisedBy(3, "RuntimeError: Failed to initialize NVML: Driver/library version mismatch"), "version-mismatch", []string{"n1", "n2"}, "clush -w n[1-2] 'cat /proc/driver"},
		{"memory of a proven node", "slurm-9-n2.out", fieldSteps + raisedBy(3, strings.TrimSpace(ecc)), "gpu-ecc", []string{"n1", "n2"}, "scontrol update NodeName=n2 State=DRAIN"},
	} {
		r := Run(read(t, []simulate.File{{Name: c.file, Data: []byte(c.text)}}, c.nodes, 0))
		if r.Verdict.Mechanism != c.mechanism {
			t.Errorf("%s: %s: %s", c.name, r.Verdict.Mechanism, r.Verdict.Summary)
		}
		var commands []string
		for _, rec := range r.Recommendations {
			commands = append(commands, rec.Command)
			for _, words := range acts {
				if len(r.Verdict.Root.Nodes) == 0 && strings.Contains(rec.Text, words) {
					t.Errorf("%s: %s", c.name, rec.Text)
				}
			}
			for _, word := range harm {
				if len(r.Verdict.Root.Nodes) == 0 && strings.Contains(rec.Command, word) && (strings.Contains(rec.Command, "n1") || strings.Contains(rec.Command, "n[")) {
					t.Errorf("%s: %s", c.name, rec.Command)
				}
			}
		}
		if all := strings.Join(commands, "\n"); !strings.Contains(all, c.want) {
			t.Errorf("%s: %q is not among\n%s", c.name, c.want, all)
		}
	}
}
