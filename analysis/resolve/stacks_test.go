package resolve

import (
	"testing"

	"faultline/analysis/artifact/stacks"
	"faultline/analysis/line"
)

// The logs know which rank is the local rank of a node: a stack that states both needs no more.
func TestAStackIsTiedByTheLocalRankOfItsNode(t *testing.T) {
	const failed = "============================================================\ntrain.py FAILED\nRoot Cause (first observed failure):\n[0]:\n" +
		"  time      : 2026-03-01_10:00:09\n  host      : node3\n  rank      : 9 (local_rank: 1)\n  exitcode  : 1 (pid: 470)\n" +
		"  error_file: <N/A>\n  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html\n============================================================\n"
	for name, c := range map[string]struct {
		host  string
		local int
		want  int
	}{
		"its node and its local rank": {"node3", 1, 9},
		"of another node":             {"node4", 1, NoRank},
		"another local rank":          {"node3", 0, NoRank},
	} {
		s := stacks.Stack{Tool: stacks.PySpy, Kind: stacks.Trainer, PID: 77, Host: c.host, Rank: line.Unknown, Local: c.local, Option: line.Unknown}
		s.At.Who = line.NoOne
		f := logs{"train.log": failed}.resolveAs(t, Input{WorldSize: 16, Handed: Handed{Stacks: []StackFile{{Name: "dump.txt", Stacks: &stacks.File{Stacks: []stacks.Stack{s}}}}}})
		if len(f.Stood) != 1 || f.Stood[0].Rank != c.want {
			t.Errorf("%s: %+v, want rank %d", name, f.Stood, c.want)
		}
	}
}
