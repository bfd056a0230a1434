package nccl

import (
	"bytes"
	"maps"
	"slices"
	"testing"
)

func TestTheSameSpecGivesTheSameBytes(t *testing.T) {
	for _, f := range Faults() {
		spec := Spec{Seed: 7, Fault: f, Nodes: 2, PerNode: 4, Tensor: true, Version: "2.21"}
		a, err := Play(spec)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := Play(spec)
		if !maps.EqualFunc(a.Files, b.Files, bytes.Equal) || !maps.EqualFunc(a.Logs, b.Logs, bytes.Equal) {
			t.Errorf("%s: other bytes the second time", f)
		}
	}
}

func TestWhoStallsHasCalledLeast(t *testing.T) {
	for seed := range uint64(20) {
		for _, waits := range []bool{false, true} {
			inc, err := Play(Spec{Seed: seed, Fault: Stall, Nodes: 2, PerNode: 4, Tensor: waits, Waits: waits, Version: "2.18"})
			if err != nil {
				t.Fatal(err)
			}
			calls := map[string]int{}
			for name, text := range inc.Files {
				calls[name] = bytes.Count(text, []byte(": opCount "))
			}
			least, n := slices.Min(slices.Collect(maps.Values(calls))), 0
			for _, c := range calls {
				if c == least {
					n++
				}
			}
			if n != 1 {
				t.Errorf("seed %d: %d processes called %d times: %v", seed, n, least, calls)
			}
		}
	}
}
