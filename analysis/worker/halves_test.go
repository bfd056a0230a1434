package worker

import (
	"strings"
	"testing"

	"faultline/analysis/line"
)

// The second half of a line is of the writer and the time of the first; a line that only closes a bracket of its own is not.
func TestSecondHalvesAreOfTheFirstHalfsWriterAndTime(t *testing.T) {
	sc, err := NewScanner()
	if err != nil {
		t.Fatal(err)
	}
	top := strings.Repeat("a line at the head\n", headLines)
	const state = "error or timeout) detected by watchdog at work: 255, last enqueued NCCL work: 269, last completed NCCL work: 254.\n"
	for _, c := range []struct {
		name, head, tail string
		rank             int
		group            string
		stamped          bool
	}{
		{"a watchdog's state", "[rank3]:[E116 19:37:23.290412436 ProcessGroupNCCL.cpp:1664] [PG 7 (tp) Rank 1] Exception (either an\n", state, 3, "tp", true},
		{"nothing is open above", "[rank3]:[E116 19:37:23.290412436 ProcessGroupNCCL.cpp:1664] [PG 7 (tp) Rank 1] another message\n", state, line.Unknown, "", false},
		{"it opens what it closes", "[rank3]:[E116 19:37:23.290412436 ProcessGroupNCCL.cpp:1664] [PG 7 (tp) Rank 1] Exception (either an\n", "an error (or a " + state, line.Unknown, "", false},
		{"nothing above tells the time", "Exception (either an\n", state, line.Unknown, "", false},
	} {
		states := readAll(t, sc, []byte(top+c.head+c.tail+strings.Repeat("a line at the end\n", 40)), false).States
		if len(states) != 1 {
			t.Errorf("%s: %d states", c.name, len(states))
			continue
		}
		s := &states[0]
		if got := s.Who().Global; got != c.rank {
			t.Errorf("%s: rank %d, want %d", c.name, got, c.rank)
		}
		if s.Group.Desc != c.group || (s.Stamp.Kind != line.NoStamp) != c.stamped {
			t.Errorf("%s: group %+v, stamp %+v", c.name, s.Group, s.Stamp)
		}
	}
	steps := readAll(t, sc, []byte(top+"[2022-04-20 01:32:53,418] [INFO] [logging.py:96:log_dist] [Rank\n0] step=3431, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]\n"), false).Progress
	if len(steps) != 1 || steps[0].Stamp.Minute != 32 {
		t.Errorf("a step's second half: %+v", steps)
	}
}
