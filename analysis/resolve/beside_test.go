package resolve

import (
	"fmt"
	"strings"
	"testing"

	"faultline/analysis/artifact/fabric"
	"faultline/analysis/worker"
)

// Where the logs name no node, what was handed in beside them is of the job, though nothing proves it; where they do, only their nodes are.
func TestWhatIsHandedInIsOfTheJobWhereItsLogsNameNoNode(t *testing.T) {
	var files []FabricFile
	for i, errors := range []int{4211, 65127} {
		text := fmt.Sprintf("# gpu-b11 2026-03-11T04:%d6:40 perfquery -x -C mlx5_4 -P 1\n# Port counters: Lid 43 port 1 (CapMask: 0x5A00)\nPortSelect:......................1\n"+
			"CounterSelect:...................0x0000\nSymbolErrorCounter:..............%d\nLinkErrorRecoveryCounter:........0\nLinkDownedCounter:...............0\n", 1+2*i, errors)
		facts, err := fabric.Read(t.Context(), strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, FabricFile{File: fmt.Sprintf("%d.txt", i), Facts: facts})
	}
	for _, tt := range []struct {
		nodes []string
		ours  bool
		proof bool
	}{{nil, true, false}, {[]string{"gpu-b11", "gpu-b12"}, true, true}, {[]string{"other-1", "other-2"}, false, false}} {
		f, err := Resolve(t.Context(), Input{Obs: worker.Merge(), Nodes: tt.nodes, Handed: Handed{Fabric: files}})
		if err != nil {
			t.Fatal(err)
		}
		if g := f.Fabric.Growth; len(g) != 1 || g[0].Node != "gpu-b11" || g[0].Ours != tt.ours || f.OfJob("gpu-b11") != tt.proof {
			t.Errorf("nodes %q: %+v, proven %v", tt.nodes, g, f.OfJob("gpu-b11"))
		}
	}
}
