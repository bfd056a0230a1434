package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// The log of a node holds the step lines of all its ranks: the one whose own phases grew is told from those that wait for it.
func TestTheLoopsOfOneNode(t *testing.T) {
	loops := func(phase string) string {
		var b strings.Builder
		b.WriteString("world_size=4\n")
		at := time.Date(2025, 6, 7, 2, 30, 0, 0, time.UTC)
		for step := range 60 {
			took := map[string]float64{"data": 3, "fwd": 200, "bwd": 400, "allreduce": 50}
			seconds := 0.7
			if step >= 30 {
				seconds = 1.3
			}
			at = at.Add(time.Duration(seconds * float64(time.Second)))
			for rank := range 4 {
				his := func(name string) float64 {
					switch {
					case step < 30 || name != phase && name != "allreduce":
						return took[name]
					case rank == 2 && name == phase, rank != 2 && name == "allreduce":
						return took[name] + 600
					}
					return took[name]
				}
				fmt.Fprintf(&b, "%s [rank %d] step %d/900 | loss 2.%04d | data %.1fms | fwd %.1fms | bwd %.1fms | allreduce %.1fms\n", at.Format("2006-01-02 15:04:05.000"), rank, step+1, 9000-step*40,
					his("data"), his("fwd"), his("bwd"), his("allreduce"))
			}
		}
		return b.String()
	}
	for _, c := range []fieldCase{
		{"one rank computes longer", one(loops("fwd")), []string{"slow-rank"}, "rank 2"},
		{"one rank waits for its data", one(loops("data")), []string{"dataloader-stall"}, "rank 2"},
	} {
		c.check(t)
	}
}
