package acceptance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"faultline/analysis"
	"faultline/incident"
)

// losses are a table by step and rank; from steps on, where a rank's are no number.
func losses(ranks int, none map[int]int) string {
	var b strings.Builder
	b.WriteString("step,rank,train_loss,grad_norm\n")
	for step := range 20 {
		for r := range ranks {
			v, norm := fmt.Sprintf("%.4f", 3-0.05*float64(step)+0.003*float64(r*step%7)), "0.5"
			if from, ok := none[r]; ok && step >= from {
				v, norm = "nan", "nan"
			}
			fmt.Fprintf(&b, "%d,%d,%s,%s\n", step, r, v, norm)
		}
	}
	return b.String()
}

// checksums are a table of parameters by step and rank; one rank leaves its replicas.
func checksums(column string, from int, odd ...int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "step,rank,%sparam_checksum\n", column)
	for step := range 12 {
		for r := range 8 {
			sum := 0xabc0 + step*17
			if step >= from && slices.Contains(odd, r) {
				sum += 1 + r
			}
			group := ""
			if column != "" {
				group = fmt.Sprintf("dp%d,", r%2)
				sum += r % 2 << 20
			}
			fmt.Fprintf(&b, "%d,%d,%s%x\n", step, r, group, sum)
		}
	}
	return b.String()
}

// Tables by rank name the rank that numbers went wrong on first, and nobody where they do not show it.
func TestTablesOfNumbersNameTheOrigin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text, mechanism string
		ranks                 []int
	}{
		{"a loss is none on one rank, then on all", losses(4, map[int]int{0: 12, 1: 12, 2: 11, 3: 12}), "non-finite-loss", []int{2}},
		{"on all at once", losses(4, map[int]int{0: 12, 1: 12, 2: 12, 3: 12}), "", nil},
		{"on one rank, and it stays there", losses(4, map[int]int{1: 5}), "", nil},
		{"healthy", losses(4, nil), "", nil},
		{"a replica leaves the others", checksums("replica_group,", 7, 5), "silent-corruption", []int{5}},
		{"two of four leave", checksums("replica_group,", 7, 5, 3), "", nil},
		{"nothing says who are replicas", checksums("", 7, 5), "", nil},
		{"replicas agree", checksums("replica_group,", 99, 5), "", nil},
	} {
		dir := t.TempDir()
		log := filepath.Join(dir, "log-7.out")
		text := "step: 11  loss:  2.15\nstep: 12  loss:  2.14\nslurmstepd: error: *** JOB 7 ON node1 CANCELLED AT 2026-01-02T03:04:05 ***\n"
		table := filepath.Join(dir, "metrics.csv")
		for p, s := range map[string]string{log: text, table: c.text} {
			if err := os.WriteFile(p, []byte(s), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		in := analysis.Input{Version: "test", Sources: []incident.Source{{Name: "log-7.out", Path: log, Bytes: int64(len(text))}},
			Evidence: []incident.Source{{Name: "metrics.csv", Path: table, Bytes: int64(len(c.text))}}}
		r, err := analysis.Diagnose(context.Background(), in)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Verification.Withdrawn) > 0 || len(r.Artifacts) != 1 {
			t.Errorf("%s: withdrawn %v, artifacts %v", c.name, r.Verification.Withdrawn, r.Artifacts)
		}
		if c.mechanism == "" {
			if m := r.Verdict.Mechanism; m == "silent-corruption" || len(r.Verdict.Root.Ranks) > 0 {
				t.Errorf("%s: %s of %v", c.name, m, r.Verdict.Root.Ranks)
			}
			continue
		}
		if r.Verdict.Mechanism != c.mechanism || !slices.Equal(r.Verdict.Root.Ranks, c.ranks) {
			t.Errorf("%s: %s of %v", c.name, r.Verdict.Mechanism, r.Verdict.Root.Ranks)
		}
	}
}
