package jobs

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/fetch/slurm"
)

func TestOfAJobWhoseLogsAPersonNamedOnlyWhatTheClusterSaysIsBrought(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-04]", 0)}
	b.put(t, "slurm-7.out", "error-7-0.out", "mine/error-7-0.out")
	found, err := b.Facts(ctx, "west", "7")
	if err != nil || !slices.Equal(found.Base, []string{"facts:west/7@1795216200"}) || !slices.Equal(found.Users, []string{b.user}) {
		t.Fatalf("%+v, %v", found, err)
	}
	got, err := b.Collect(ctx, append(found.Base, b.logs+"/mine"))
	if err != nil || names(got) != "error-7-0.out slurm-accounting.txt slurm-nodes.txt" || strings.Join(got.Nodes, " ") != "node01 node02 node03 node04" || got.NodesFrom != "sacct" {
		t.Errorf("%s %v %v", names(got), got.Nodes, err)
	}
	if !slices.Equal(got.Facts, []string{slurm.AccountingName, slurm.NodesName}) {
		t.Errorf("%q", got.Facts)
	}
	// Beside its logs they come once.
	both, err := b.Collect(ctx, append(found.Base, "slurm:west/7@1795216200"))
	if err != nil || names(both) != "error-7-0.out slurm-7.out slurm-accounting.txt slurm-nodes.txt" {
		t.Errorf("%s %v", names(both), err)
	}
}

func TestNobodyKnowsAnythingOfAJobThatIsNotInTheAccounting(t *testing.T) {
	b := newBench(t)
	for _, id := range []string{"8", "x;y", ""} {
		if found, err := b.Facts(ctx, "", id); err != nil || len(found.Base)+len(found.Notes) != 0 {
			t.Errorf("%q: %+v, %v", id, found, err)
		}
	}
	b.west.down = true
	if found, err := b.Facts(ctx, "west", "8"); err == nil {
		t.Errorf("%+v", found)
	}
}

func TestTheNodesOfAHeterogeneousJobAreThoseOfAllComponentsThatHadAStep(t *testing.T) {
	b := newBench(t)
	whole := b.row("7+0", "7", "FAILED", "1:0", "node[01-02]", 0) + b.row("7+1", "8", "FAILED", "1:0", "node[03-04]", 0)
	data := b.row("7+2", "9", "FAILED", "1:0", "node05", 0)
	data = data[:strings.IndexByte(data, '\n')+1] // only held the others' data
	for rows, want := range map[string]string{whole: "node01 node02 node03 node04", whole + data: "node01 node02 node03 node04", data: "node05"} {
		b.west.rows = []string{rows}
		found, err := b.Facts(ctx, "west", "7")
		if err != nil || strings.Join(found.Nodes, " ") != want {
			t.Errorf("%v, %v; want %s", found.Nodes, err, want)
		}
	}
}

func TestWhatAClusterSaidGoesWhenNobodyQuotesItAnyMore(t *testing.T) {
	b := newBench(t)
	b.west.rows = []string{b.row("7", "7", "FAILED", "1:0", "node[01-04]", 0)}
	var quoted []string
	for range 3 { // three looks
		got, err := b.Collect(ctx, []string{"facts:west/7@1795216200"})
		if err != nil {
			t.Fatal(err)
		}
		quoted = nil
		for _, s := range got.Sources {
			quoted = append(quoted, s.Path)
		}
	}
	other := filepath.Join(b.Shared.Spool, "archive-1")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		before time.Time
		left   int
	}{{time.Now().Add(-time.Hour), 4}, {time.Now().Add(time.Hour), 2}} {
		if err := b.Tidy(step.before, quoted); err != nil {
			t.Fatal(err)
		}
		if list, err := os.ReadDir(b.Shared.Spool); err != nil || len(list) != step.left {
			t.Errorf("%d are left, want %d (%v)", len(list), step.left, err)
		}
	}
	for _, p := range append(quoted, other) {
		if _, err := os.Stat(p); err != nil {
			t.Error(err)
		}
	}
}
