package messages

import (
	"strings"
	"testing"

	"faultline/incident"
)

// What whoever brought the files knows to be missing keeps the row from saying that nothing is.
func TestMissingSaysWhatWasNotFound(t *testing.T) {
	ranks := 8
	whole := incident.Coverage{RanksExpected: &ranks, RanksSeen: ranks, NodesExpected: []string{"node01"}, NodesSeen: []string{"node01"}}
	if got := gapsText(&incident.Report{Coverage: whole}); !strings.HasPrefix(got, "Nothing") {
		t.Errorf("%q", got)
	}
	whole.Gaps = []string{"the batch log slurm-7.out", "perhaps more logs: srun takes $ARGS, which comes from outside the script", "a third"}
	got := gapsText(&incident.Report{Coverage: whole})
	if strings.Contains(got, "Nothing") || !strings.HasPrefix(got, "The batch log slurm-7.out; perhaps more logs: srun takes $ARGS") || strings.Contains(got, "a third") {
		t.Errorf("%q", got)
	}
}
