package simulate

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

func syncSpecs(n int) []Spec { return Grid(n, 11, 5) }

func TestSyncIncidentsPlay(t *testing.T) {
	seen := map[string]int{}
	for _, spec := range syncSpecs(60) {
		inc, err := Generate(spec)
		if err != nil {
			t.Fatalf("%+v: %v", spec, err)
		}
		seen[spec.Mechanism]++
		all := []byte{}
		for _, f := range inc.Files {
			if !strings.HasSuffix(f.Name, ".gz") && !strings.HasSuffix(f.Name, ".zst") {
				all = append(all, f.Data...)
			}
		}
		if spec.Mechanism == "stack-named" && !bytes.Contains(all, []byte("#2 interrupted from")) {
			t.Errorf("%s: no stack", inc.ID)
		}
		if inc.Truth.PerStep > 0 && bytes.Count(all, []byte("NCCL Work update periodically: ")) < 3 {
			t.Errorf("%s: a step's collectives are called proven by no samples", inc.ID)
		}
		for _, r := range inc.Truth.RootRanks {
			if r == 0 && spec.Mechanism != "steps-apart" {
				t.Errorf("%s: the sender of a broadcast is called the root of the stall", inc.ID)
			}
		}
	}
	if len(seen) != len(Mechanisms(5)) {
		t.Errorf("played %v of %v", seen, Mechanisms(5))
	}
}

// The ranks that a broadcast let go have done what lies between, and no more.
func TestTheSenderIsAheadByWhatItSent(t *testing.T) {
	for seed := range uint64(40) {
		s := syncSpecs(6)[1]
		s.Seed, s.Mechanism, s.Damage, s.Ablate, s.Torch = seed, "object-broadcast", "", "", "2.7"
		inc, err := Generate(s)
		if err != nil {
			t.Fatal(err)
		}
		var waits, further int
		for _, f := range inc.Files {
			waits += bytes.Count(f.Data, []byte("OpType=BROADCAST, NumelIn=1, "))
			further += bytes.Count(f.Data, []byte("OpType=ALLREDUCE, NumelIn=1, "))
		}
		if waits == 0 && further == 0 || further == 0 {
			t.Error(fmt.Sprint(inc.ID, ": nobody has left the broadcast"))
		}
	}
}
