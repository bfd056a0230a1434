package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"faultline/incident"
	"faultline/simulate"
)

// A hang prints no line that says so: what nothing ended is not called healthy.
func TestAJobWhoseEndIsNotSeenIsNotCalledHealthy(t *testing.T) {
	steps := ""
	for i := range 20 {
		steps += fmt.Sprintf("2025-06-03 17:%02d:%02d,123 INFO train: step %d/100 loss 2.15\n", 40+i/6, i%6*10, i+1)
	}
	for _, c := range []struct {
		name, more, ending, says string
	}{
		{"progress to the last line", "", incident.EndUnseen, "nothing failed as far as these logs go"},
		{"a process still writes a little later", "2025-06-03 17:44:11,123 INFO data: 3 shards left\n", incident.EndUnseen, "nothing failed as far as these logs go"},
		{"a process still writes long after", "2025-06-03 18:20:11,123 INFO data: 3 shards left\n", incident.EndStalled, "steps have stopped after step 20"},
		{"its own last word", "2025-06-03 17:43:30,123 INFO train: Training finished\n", incident.EndSeen, "the job finished on its own;"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(steps + c.more)}}, nil, 1))
			v := r.Verdict
			if v.Status != incident.NoFailure || v.Ending != c.ending || !strings.Contains(v.Summary, c.says) {
				t.Errorf("%s %s, ending %q: %s", v.Status, v.Mechanism, v.Ending, v.Summary)
			}
			if collect := strings.Contains(r.Action.Text, "bot collect"); collect != (c.ending != incident.EndSeen) {
				t.Errorf("it says to do: %s", r.Action.Text)
			}
			if c.ending == incident.EndStalled && (len(r.Recommendations) == 0 || !strings.HasPrefix(r.Recommendations[0].Command, "bot collect")) {
				t.Errorf("%+v", r.Recommendations)
			}
		})
	}
}

// SLURM's clock and the job's may be in two zones: then nobody can tell a silence of an hour from none, and no more is said.
func TestATimeLimitAfterASilenceThatZonesMayMake(t *testing.T) {
	var steps strings.Builder
	for i := range 30 {
		fmt.Fprintf(&steps, "2022-05-02 12:%02d:00 step %d loss %.2f\n", i, i, 9-float64(i)/10)
	}
	for _, c := range []struct {
		end, mechanism, status string
		suspect                bool
	}{
		{"12:30:05", "time-limit", "confirmed", false},
		{"14:29:40", "time-limit", "probable", true},
		{"14:34:20", "time-limit", "inconclusive", false}, // five steps are missing in any zone
		{"12:56:00", "rank-stalled", "inconclusive", false},
	} {
		log := steps.String() + "slurmstepd: error: *** STEP 4242.0 ON n1 CANCELLED AT 2022-05-02T" + c.end + " DUE TO TIME LIMIT ***\n"
		v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(log)}}, nil, 0)).Verdict
		if suspect := len(v.Suspects) > 0; v.Mechanism != c.mechanism || v.Status != c.status || suspect != c.suspect {
			t.Errorf("ended at %s: %s %s (%s), suspects %v", c.end, v.Status, v.Mechanism, v.Why, v.Suspects)
		}
	}
}

// Limits are whole hours, and most nodes say nothing once they have started: that a file's last line and the end of the job are hours
// apart to the second makes no zone where another file's lines are later than the end would be.
func TestATimeLimitWholeHoursAfterANodeHadStarted(t *testing.T) {
	var steps strings.Builder
	for i := range 30 {
		fmt.Fprintf(&steps, "2022-05-02 12:%02d:00 step %d loss %.2f\n", i, i, 9-float64(i)/10)
	}
	started := "2022-05-02 11:59:50 started\n2022-05-02 12:00:10 ready\n"
	for end, want := range map[string]string{"12:30:05": "confirmed", "20:00:20": "probable"} {
		v := Run(read(t, []simulate.File{
			{Name: "n1.log", Data: []byte(steps.String())},
			{Name: "n2.log", Data: []byte(started + "slurmstepd: error: *** STEP 4242.0 ON n2 CANCELLED AT 2022-05-02T" + end + " DUE TO TIME LIMIT ***\n")},
		}, nil, 0)).Verdict
		if v.Status != want {
			t.Errorf("ended at %s: %s %s (%s)", end, v.Status, v.Mechanism, v.Why)
		}
	}
}

// What is known may mean something else before the first step; as the last words of a file it is no good end.
func TestAKnownErrorAsTheLastWordIsNoGoodEnd(t *testing.T) {
	const refused = "2025-03-01 10:09:00 ERROR socket.gaierror: [Errno -2] Name or service not known\n"
	for _, c := range []fieldCase{
		{"the last line", one(stepsFrom(1, 40) + refused), []string{"unknown"}, "-"},
		{"training goes on below it", one(stepsFrom(1, 20) + refused + stepsFrom(20, 40)), []string{"completed"}, "-"},
		{"the program says that it finished", one(stepsFrom(1, 40) + refused + "Training finished.\n"), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// A save that is under way when the time is up may have been what there was no time for, or may never have come to its end.
func TestATimeLimitInASave(t *testing.T) {
	var steps strings.Builder
	for i := range 30 {
		fmt.Fprintf(&steps, "2022-05-02 12:%02d:00 step %d loss %.2f\n", i, i, 9-float64(i)/10)
	}
	log := func(end string) map[string]string {
		return one(steps.String() + "2022-05-02 12:29:01 Saving checkpoint ...\nslurmstepd: error: *** STEP 4242.0 ON n1 CANCELLED AT 2022-05-02T" + end + " DUE TO TIME LIMIT ***\n")
	}
	for _, c := range []fieldCase{
		{"for a minute", log("12:30:20"), []string{"time-limit"}, "-"},
		{"for twenty", log("12:49:00"), []string{"checkpoint-io", "time-limit"}, "-"},
		{"for fifty", log("13:19:00"), []string{"checkpoint-io", "collective-hang", "gpu-hang", "rank-stalled"}, "-"},
	} {
		c.check(t)
	}
}
