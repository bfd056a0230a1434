package analysis

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"faultline/incident"
)

// What somebody pasted into a small log is found; of very many, each is asked for what it begins with only.
func TestVeryManyLogsAreNotSearchedForWhatIsPasted(t *testing.T) {
	state := "state before the run:\n" + "CA 'mlx5_0'\n\tCA type: MT4123\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: Down\n\t\tPhysical state: Disabled\n\t\tRate: 10\n\t\tBase lid: 0\n\t\tLink layer: InfiniBand\n"
	text := strings.Repeat("loading shard by shard\n", 2000) + state
	dir := t.TempDir()
	path := filepath.Join(dir, "a.out")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for others, found := range map[int64]int{0: 1, smallLogs: 0} {
		in := Input{Sources: []incident.Source{{Name: "a.out", Path: path, Bytes: int64(len(text))}}}
		for n := int64(0); n*(smallLog-1) < others; n++ {
			name := fmt.Sprintf("gone-%d.out", n) // that it cannot be opened is no matter here
			in.Sources = append(in.Sources, incident.Source{Name: name, Path: filepath.Join(dir, name), Bytes: smallLog - 1})
		}
		if err := separate(context.Background(), &in); err != nil {
			t.Fatal(err)
		}
		if got := len(in.both) + len(in.Evidence); got != found {
			t.Errorf("beside %d bytes of small logs: evidence in %d files, not %d", others, got, found)
		}
	}
}
