package diagnose

import (
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

// Rank 0 of a monitored barrier names whoever it cannot hear, by ranks of the group.
func TestAMonitoredBarrierAccusesWhoDidNotComeOnly(t *testing.T) {
	const (
		names   = "[rank%G]:[E1122 13:33:32.388341329 ProcessGroupGloo.cpp:145] [Rank 0]: Ranks %A failed to pass monitoredBarrier in 6000 ms\n"
		reached = "[rank%G]:[E1122 13:33:32.386756136 ProcessGroupGloo.cpp:145] Rank %A successfully reached monitoredBarrier, but received errors while waiting for send/recv from rank 0. Please check rank 0 logs for faulty rank.\n"
	)
	for _, c := range []struct {
		name  string
		text  string
		world int
		want  []int
	}{
		{"one is missing", say(names, "0", "2") + say(reached, "1", "1") + say(reached, "3", "3"), 4, []int{2}},
		{"one that gave up before rank 0 heard it had come", say(names, "0", "2, 3") + say(reached, "3", "3"), 4, []int{2}},
		{"nobody but rank 0 came: it may be the one that went astray", say(names, "0", "1, 2, 3"), 4, nil},
		{"all that are named had come", say(names, "0", "3") + say(reached, "3", "3"), 4, nil},
		{"the barrier of a group, whose rank 0 is rank 4 of the job", say(names, "4", "2"), 8, nil},
		{"the barrier of a group, as another member's line shows", say(names, "0", "1") + say(reached, "4", "2"), 8, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, c.world)).Verdict
			if !slices.Equal(v.Root.Ranks, c.want) || v.Mechanism != "rank-stalled" {
				t.Errorf("%s of ranks %v (%s), want ranks %v", v.Mechanism, v.Root.Ranks, v.Summary, c.want)
			}
		})
	}
}

// Rank 0 tells of each rank as it gives it up, then of all: they are counted once.
func TestAMonitoredBarrierCountsEachOnce(t *testing.T) {
	const names = "[E ProcessGroupGloo.cpp:138] [Rank 0]: %A failed to pass monitoredBarrier in 2000000 ms\n"
	v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(say(names, "", "Rank 4") + say(names, "", "Ranks 4, 5, 6, 7"))}}, nil, 0)).Verdict
	if !strings.HasPrefix(v.Summary, "4 members of a group never joined") {
		t.Error(v.Summary)
	}
}

func say(line, global, named string) string {
	return strings.NewReplacer("%G", global, "%A", named).Replace(line)
}
