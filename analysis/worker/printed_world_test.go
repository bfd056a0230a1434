package worker

import (
	"testing"
)

// A script prints how many ranks there are beside its own; a smaller world, of a group or an engine, is not the job's.
func TestWorldPrintedWithARank(t *testing.T) {
	for text, want := range map[string]string{
		"rank 3, world_size 64": "64", "[rank 3] world size: 64": "64", "Rank of current process: 0. World size: 8": "8", "Initialized process group: rank=3, world_size=64": "64",
		"| distributed init (rank 3): env://, gpu 3, world size 64, host n1": "", "2025-05-06 10:00:00,123 INFO train: rank=3 world_size=64": "64",
		"Initialized data parallel group: rank=3, world_size=4": "", "tp rank 1 world size 4": "", "rank 3, world_size 2": "", "world_size 64": "", "init_distributed: world_size=8 rank=3 distributed_init_method=tcp://n1:1": "",
		"rank 3: timed out in store (world_size=64, num_workers_joined=63)": "64", "{'rank': 3, 'world_size': 64}": "64", "rank: 3, local world_size 8": "", "group rank 3 world size 8": "",
		"DistributedSampler: rank=3, world_size=4": "", "loader: rank 3 world_size 8": "",
	} {
		got := ""
		for _, x := range observe(t, text+"\n").Facts {
			if x.Key == "world_size" {
				got = x.Value
			}
		}
		if got != want {
			t.Errorf("%s: %q, expected %q", text, got, want)
		}
	}
}
