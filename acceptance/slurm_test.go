package acceptance

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/fetch"
)

// slurmSamples are captures of a real SLURM: per scenario the mechanisms that the files leave standing, the first one
// first, and the nodes that they name. No training ran there: what SLURM prints is all there is.
var slurmSamples = []struct {
	scenario   string
	candidates string
	nodes      string
}{
	{"22.05/abrt_kill_on_bad_exit", "native-crash unknown", ""},
	{"22.05/bus_error", "native-crash", "node02"},
	{"22.05/exit1", "exception unknown", ""},
	{"22.05/exit1_kill_on_bad_exit", "exception unknown", ""},
	{"22.05/kill9_kill_on_bad_exit", "external-signal host-oom", "node02"},
	{"22.05/node_fail", "node-failure", "node03"},
	{"22.05/node_fail_requeue", "node-failure", "node03"},
	{"22.05/oom", "host-oom", "node02"},
	{"22.05/oom_kill_on_bad_exit", "host-oom", "node02"},
	{"22.05/requeue_then_preempt_append", "preempted", ""},
	{"22.05/scancel", "cancelled unknown", ""},
	{"22.05/scancel_sigterm_ignored", "cancelled unknown", ""},
	{"22.05/scancel_step", "cancelled unknown", ""},
	{"22.05/segv", "native-crash", "node03"},
	{"22.05/timeout", "time-limit rank-stalled collective-hang gpu-hang", ""},
	{"24.11/exit1_kill_on_bad_exit", "exception unknown", ""},
	{"24.11/node_fail", "node-failure", "node03"},
	{"24.11/node_fail_no_kill", "node-failure", "node03"},
	{"24.11/preempt_append", "preempted", ""},
	{"24.11/scancel", "cancelled unknown", ""},
	{"24.11/timeout", "time-limit rank-stalled collective-hang gpu-hang", ""},
}

func TestRealSlurmEndings(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..", "shared", "samples", "slurm")
	if _, err := os.Stat(root); err != nil {
		t.Skip("no SLURM captures beside the repository: ", err)
	}
	for _, s := range slurmSamples {
		t.Run(s.scenario, func(t *testing.T) {
			set, err := fetch.Local(context.Background(), []string{filepath.Join(root, s.scenario)}, fetch.LocalOptions{SpoolDir: t.TempDir()})
			if err != nil {
				t.Fatal(err)
			}
			r := diagnosed(t.Context(), t, s.scenario, analysis.Input{Sources: set.Sources})
			if got := said(r); !slices.Equal(got, strings.Fields(s.candidates)) {
				t.Errorf("said %v (%s), expected %s", got, r.Verdict.Summary, s.candidates)
			}
			if got := strings.Join(r.Verdict.Root.Nodes, " "); got != s.nodes {
				t.Errorf("named %q, expected %q", got, s.nodes)
			}
			if len(r.Verdict.Root.Ranks) > 0 {
				t.Errorf("named ranks %v: no line ties a rank to a task here", r.Verdict.Root.Ranks)
			}
		})
	}
}
