package knowledge

import (
	"regexp"
	"slices"
	"testing"
)

// namesProcess are words by which patterns call what names a process or a node.
var namesProcess = []string{"rank", "rank2", "ranks", "group_rank", "group_ranks", "nccl_rank", "task", "tasks", "peer", "host", "hosts", "node", "nodes", "lost", "by", "pid", "address"}

// otherwise are captures that bear such a word and name something else.
var otherwise = map[string]string{
	"config-nccl-topology/node":      "a node of NCCL's topology, inside one host",
	"nccl-topology/node":             "a node of an XML file",
	"native-signal-glog/address":     "an address in memory",
	"k8s-unschedulable/nodes":        "how many nodes there are",
	"slurm-launch-failed/tasks":      "how many tasks there are",
	"signal-submitit-timeout/host":   "the writer's own, in front of every line of it",
	"node-hung-task/pid":             "a process that sleeps in the kernel",
	"storage-hung-task/task":         "the program's name",
	"storage-hung-task/pid":          "a process that sleeps in the kernel",
	"mpi-init/node":                  "the writer's own, in front of every line of it",
	"hub-unreachable/host":           "a server outside of the cluster",
	"init-vllm-server/peer":          "a server's URL",
	"storage-retries-exhausted/host": "a server of storage",
	"storage-resolve/host":           "a server of storage",
	"storage-read-timeout/host":      "a server of storage",
	"signal-told/rank":               "the label of the line",
	"signal-lightning-child/rank":    "the label of the line",
	"signal-nvrx-heartbeat/pid":      "the monitor's process",
}

func TestWhateverNamesAProcessSaysWhose(t *testing.T) {
	met := map[string]bool{}
	for _, s := range Whole().Signatures() {
		var captures []string
		if s.Pattern != "" {
			captures = regexp.MustCompile(s.Pattern).SubexpNames()
		}
		told := map[string]bool{}
		for _, n := range s.Names {
			if told[n.Capture] {
				t.Errorf("%s: %q is told twice", s.ID, n.Capture)
			}
			if !slices.Contains(captures, n.Capture) {
				t.Errorf("%s: its pattern captures no %q", s.ID, n.Capture)
			}
			if n.Kind == 0 || n.Whose == 0 {
				t.Errorf("%s: %q is a name without kind, or of nobody", s.ID, n.Capture)
			}
			told[n.Capture] = true
		}
		for _, c := range captures {
			_, other := otherwise[string(s.ID)+"/"+c]
			met[string(s.ID)+"/"+c] = true
			if slices.Contains(namesProcess, c) && !told[c] && !other && s.Role != NoiseRole && s.Role != InfoRole {
				t.Errorf("%s: whose is %q?", s.ID, c)
			}
			if other && told[c] {
				t.Errorf("%s: %q is told, and told to be something else", s.ID, c)
			}
		}
	}
	for c := range otherwise {
		if !met[c] {
			t.Errorf("there is no capture %s", c)
		}
	}
}
