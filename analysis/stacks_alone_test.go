package analysis

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// Stacks alone tell who held the others: the one of many that stands at a lock, a program or the network while all others wait for each other. Who
// waits at a barrier of their data loader holds nobody.
func TestStacksAlone(t *testing.T) {
	const (
		file    = "acquire (filelock/_api.py:344)"
		barrier = "wait (shardkit/ipc/barrier.py:88)"
		loader  = "__next__ (torch/utils/data/dataloader.py:701)"
		fetch   = "fetch (torch/utils/data/_utils/fetch.py:52)"
	)
	for _, c := range []struct {
		name   string
		stacks string
		want   []string
		ranks  []int
	}{
		{"a lock of a file", stacksIn("gx1", 0, 1, 3, 4) + stackOf("gx1", 2, file, "open (hub.py:8)"), []string{"rank-stalled"}, []int{2}},
		{"two locks", stacksIn("gx1", 0, 1, 4) + stackOf("gx1", 2, file) + stackOf("gx1", 3, file), []string{"unknown"}, nil},
		{"of a job of two ranks", stacksIn("gx1", 0) + stackOf("gx1", 1, file), []string{"unknown"}, nil},
		{"a barrier within the loader", stacksIn("gx1", 0, 1) + stackOf("gx1", 2, fetch) + stackOf("gx1", 3, barrier, loader) + stackOf("gx1", 4, barrier, loader), []string{"dataloader-stall"}, []int{2}},
		{"the job's own code", stacksIn("gx1", 0, 1, 3, 4) + stackOf("gx1", 2, "step (train.py:9)"), []string{"unknown"}, nil},
	} {
		r, err := Diagnose(context.Background(), Input{Version: "test", Evidence: written(t, map[string]string{"stacks.txt": c.stacks}, "")})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, x := range r.Verdict.Candidates {
			got = append(got, x.Mechanism)
		}
		if !slices.Equal(got, c.want) || strings.Trim(fmt.Sprint(r.Verdict.Root.Ranks), "[]") != strings.Trim(fmt.Sprint(c.ranks), "[]") {
			t.Errorf("%s: %v, ranks %v", c.name, got, r.Verdict.Root.Ranks)
		}
	}
}
