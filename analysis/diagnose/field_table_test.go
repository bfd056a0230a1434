package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// Tables that launchers and scripts print tie processes to ranks and ranks to nodes.
func TestTablesOfRanks(t *testing.T) {
	const gloo = "RuntimeError: [../third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting 600000ms for recv operation to complete\n"
	ray := func(more string, silent ...int) map[string]string {
		var b strings.Builder
		b.WriteString(more)
		for r := range 4 {
			fmt.Fprintf(&b, "(TorchTrainer pid=7) - (node_id=ab%d, ip=10.4.0.%d, pid=%d) world_rank=%d, local_rank=%d, node_rank=%d\n", r/2, 8+r/2, 500+3*r, r, r%2, r/2)
		}
		for r := range 4 {
			fmt.Fprintf(&b, "(RayTrainWorker pid=%d, ip=10.4.0.%d) epoch 1 batch 7\n", 500+3*r, 8+r/2)
		}
		for r := range 4 {
			if r != silent[0] {
				fmt.Fprintf(&b, "(RayTrainWorker pid=%d, ip=10.4.0.%d) Traceback (most recent call last):\n(RayTrainWorker pid=%[1]d, ip=10.4.0.%[2]d) %[3]s", 500+3*r, 8+r/2, gloo)
			}
		}
		return one(b.String())
	}
	const nodes = "node 0: cq41 ranks 0-3\nnode 1: cq42 ranks 4-7\n"
	rows := func(but int) map[string]string {
		var b strings.Builder
		for r := range 6 {
			fmt.Fprintf(&b, "%d: rank %d local %d on dg%d pid 80%d\n", r, r, r%3, 1+r/3, r)
		}
		b.WriteString(fieldSteps)
		for r := range 6 {
			if r != but {
				fmt.Fprintf(&b, "%d: %s", r, watchdog(r, 55, "ALLREDUCE", 4096))
			}
		}
		return one(b.String())
	}
	for _, c := range []fieldCase{
		{"Ray Train's", ray("(TrainController pid=3) Attempting to start training worker group of size 4 with the following resources: [{'CPU': 4}] * 4\n", 2), []string{"rank-stalled"}, "rank 2, node 10.4.0.9"},
		{"a script's, by nodes", one(nodes + fieldSteps + raisedBy(5, "ValueError: shapes (4,) and (5,)")), []string{"exception"}, "rank 5, node cq42"},
		{"ranges that overlap", one(nodes + "node 2: cq43 ranks 4-11\n" + fieldSteps + raisedBy(5, "ValueError: shapes (4,) and (5,)")), []string{"exception"}, "rank 5"},
		{"the line by which each begins, as far as logs are here", rows(4), []string{"collective-hang", "gpu-hang", "rank-stalled"}, "-"},
		{"all that begin wait", rows(-1), []string{"collective-hang", "gpu-hang", "rank-stalled"}, "-"},
		{"kubectl's pods", one("[pod/gnn-worker-1/main] " + fieldSteps + "[pod/gnn-worker-2/main] KeyError: 'row'\n" + "[pod/gnn-launcher/mpi] done\n"), []string{"unknown"}, ""},
	} {
		c.check(t)
	}
}
