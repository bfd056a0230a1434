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

// Inside which group numbers part is said by name, and a rank is named only where one copy alone differs.
func TestNumbersInsideGroups(t *testing.T) {
	sums := func(odd ...int) string {
		var b strings.Builder
		b.WriteString("step,rank,tp_rank,dp_rank,param_checksum\n")
		for step := range 6 {
			for rank := range 8 {
				sum := fmt.Sprintf("c%dt%d", step, rank%2)
				if step >= 3 && slices.Contains(odd, rank) {
					sum += fmt.Sprint("x", rank)
				}
				fmt.Fprintf(&b, "%d,%d,%d,%d,%s\n", step, rank, rank%2, rank/2, sum)
			}
		}
		return b.String()
	}
	losses := func(tensor bool) string {
		var b strings.Builder
		b.WriteString("step,rank,tp_rank,dp_rank,loss\n")
		for step := range 8 {
			for rank := range 8 {
				loss := fmt.Sprintf("%.3f", 3-0.1*float64(step)+0.01*float64(rank/2))
				if step >= 5 && (rank == 5 || step >= 6 && rank == 4 && tensor) {
					loss = "nan"
				}
				fmt.Fprintf(&b, "%d,%d,%d,%d,%s\n", step, rank, rank%2, rank/2, loss)
			}
		}
		return b.String()
	}
	for _, c := range []struct {
		name, table, says, not string
		ranks                  []int
	}{
		{"one copy of a shard", sums(5), "the checksum was the same on all ranks in a data-parallel group (ranks 1,3,5,7) up to step 2; at step 3 it is c3t1x5 on rank 5", "", []int{5}},
		{"two shards of one copy", sums(4, 5), "in a data-parallel group (ranks 0,2,4,6)", "", nil},
		{"a number that is none goes to its tensor-parallel group", losses(true), "the first to follow are in its tensor-parallel group (ranks 4-5)", "data-parallel", []int{5}},
	} {
		p := filepath.Join(t.TempDir(), "numbers.csv")
		if err := os.WriteFile(p, []byte(c.table), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := Diagnose(t.Context(), Input{Version: "test", Evidence: []incident.Source{{Name: "evidence/numbers.csv", Path: p, Bytes: int64(len(c.table))}}})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, a := range r.Artifacts {
			for _, f := range a.Findings {
				got = append(got, f.Statement)
			}
		}
		all := strings.Join(got, "\n")
		if !strings.Contains(all, c.says) || c.not != "" && strings.Contains(all, c.not) {
			t.Errorf("%s: %q is not in\n%s", c.name, c.says, all)
		}
		if !slices.Equal(r.Verdict.Root.Ranks, c.ranks) && len(r.Verdict.Root.Ranks)+len(c.ranks) > 0 {
			t.Errorf("%s: ranks %v are accused: %s", c.name, r.Verdict.Root.Ranks, r.Verdict.Summary)
		}
		if len(r.Verification.Withdrawn) > 0 {
			t.Errorf("%s: withdrawn: %q", c.name, r.Verification.Withdrawn)
		}
	}
}
