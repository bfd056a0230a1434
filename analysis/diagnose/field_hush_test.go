package diagnose

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"faultline/simulate"
)

// A job whose lines nobody knows the meaning of may have stood still before its end, if it says nothing any more where it had said
// something all the time. What a killed program printed may have been lost, and clocks may be in two zones.
func TestSilenceOfLinesOfAnyKind(t *testing.T) {
	start := time.Date(2025, 3, 4, 10, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return start.Add(time.Duration(s) * time.Second) }
	says := func(n, every int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "%s,120 INFO trainer - batch %d of 90000 done, cost %.4f, 412345 tokens a second\n", at(i*every).Format(time.DateTime), i, 2.5-float64(i)/1e4)
		}
		return b.String()
	}
	end := func(s int, why string) string {
		return "slurmstepd: error: *** STEP 77.0 ON gn11 CANCELLED AT " + at(s).Format("2006-01-02T15:04:05") + why + " ***\n"
	}
	bare := func(n int) string { // without a time
		return strings.Repeat("batch done, cost 2.5, 412345 tokens a second\n", n)
	}
	const limit = " DUE TO TIME LIMIT"
	over := "[after training is done] datetime: 2025-03-04 12:00:00\n"
	still := []string{"rank-stalled", "collective-hang", "gpu-hang"}
	or := func(s string) []string { return append([]string{s}, still...) }
	for _, c := range []fieldCase{
		// 5,000 lines, one in two seconds: the last one at 9,998 s.
		{"the time was up at once", one(says(5000, 2) + end(10_003, limit)), []string{"time-limit"}, "-"},
		{"the time was up after hours", one(says(5000, 2) + end(10_000+3*3600+422, limit)), or("time-limit"), "-"},
		{"hours that may be those of two zones", one(says(5000, 2) + end(10_000+3*3600+40, limit)), []string{"time-limit"}, "-"},
		{"cancelled at once", one(says(5000, 2) + end(10_003, "")), []string{"cancelled"}, "-"},
		{"cancelled after hours", one(says(5000, 2) + end(10_000+3*3600+422, "")), or("cancelled"), "-"},
		{"cancelled in another zone", one(says(5000, 2) + end(10_000+3*3600+4, "")), []string{"cancelled"}, "-"},
		{"it had finished", one(says(5000, 2) + over + end(10_000+3*3600+422, "")), []string{"cancelled"}, "-"},
		// 400 lines, one in 20 s, the last at 7,980 s: 8 KiB in a buffer are half an hour of it.
		{"what was lost in a buffer", one(says(400, 20) + end(8_000+1400, limit)), []string{"time-limit"}, "-"},
		{"more than a buffer holds", one(says(400, 20) + end(8_000+3*3600+437, limit)), []string{"time-limit"}, "-"}, // and two zones
		// It says little once it works: nothing follows from its silence, and nothing shows that it worked.
		{"a start, and nothing", one(says(300, 1) + end(300+9*3600+437, limit)), or("time-limit"), "-"},
		{"a few lines", one(says(20, 400) + end(8_000+9*3600+437, limit)), or("time-limit"), "-"},
		{"lines without a time go on", one(says(5000, 2) + bare(300) + end(10_000+3*3600+422, limit)), or("time-limit"), "-"},
		{"another file without times", map[string]string{"a.log": says(5000, 2) + end(10_000+3*3600+422, limit), "b.log": bare(300)}, or("time-limit"), "-"},
		{"another file went on", map[string]string{"a.log": says(5000, 2), "b.log": says(10_500, 2) + end(21_003, limit)}, []string{"time-limit"}, "-"},
	} {
		c.check(t)
	}
}

// That the time was up is certain; that nothing else had happened before is so only where some line tells that the job still worked.
func TestTheTimeWasUpAndNothingTellsATime(t *testing.T) {
	const steps = "step 1 loss 2.15\nstep 2 loss 2.14\nstep 3 loss 2.13\n"
	const end = "slurmstepd: error: *** STEP 77.0 ON gn11 CANCELLED AT 2025-03-04T10:00:00 DUE TO TIME LIMIT ***\n"
	for _, c := range []struct{ name, text, status string }{
		{"no line does", steps + end, "inconclusive"},
		{"one in the last hour", steps + "2025-03-04 09:31:00,120 WARNING data - shard 12 has 7 samples\n" + steps + end, "confirmed"},
		{"one that the ending makes it print", steps + end + "W0304 10:00:01.100000 4021 torch/distributed/elastic/agent/server/api.py:704] Received Signals.SIGTERM death signal, shutting down workers\n", "inconclusive"},
		{"and what srun says without a time", steps + end + "srun: Job step aborted: Waiting up to 32 seconds for job step to finish.\nsrun: Terminating StepId=77.0\n", "inconclusive"},
		{"one right above the end", steps + "2025-03-04 09:59:59,120 WARNING data - shard 12 has 7 samples\n" + end, "confirmed"},
		{"of a clock in another zone", steps + "2025-03-04 15:59:59,120 WARNING data - shard 12 has 7 samples\n" + end, "confirmed"},
		{"the time at which training began", "[before the start of training step] datetime: 2025-03-04 09:31:00 \n" + steps + end, "confirmed"},
		{"that it began long ago", "[before the start of training step] datetime: 2025-03-03 19:31:00 \n" + steps + end, "inconclusive"},
		{"a minute's lines, and then most of an hour", "2025-03-04 09:10:01,120 INFO main - begun\n" + steps + "2025-03-04 09:11:00,120 INFO main - on\n" + end, "inconclusive"},
		{"a minute's lines, and then steps without a time", "2025-03-04 09:10:01,120 INFO main - begun\n2025-03-04 09:11:00,120 INFO main - on\n" + steps + steps + end, "confirmed"},
		{"half an hour's lines, and then less", "2025-03-04 09:10:01,120 INFO main - begun\n" + steps + "2025-03-04 09:41:00,120 INFO main - on\n" + end, "confirmed"},
		{"one from its start", "2025-03-03 10:01:00,120 INFO main - 8 processes\n" + steps + end, "inconclusive"},
	} {
		v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 0)).Verdict
		if v.Mechanism != "time-limit" || v.Status != c.status || c.status == "inconclusive" && (len(v.Candidates) != 4 || v.Confidence > 0.9) {
			t.Errorf("%s: %v, %s, %v", c.name, v.Mechanism, v.Status, v.Candidates)
		}
	}
}

// Who cancels a job that never began to work cancelled a wait: nothing shows that nothing was wrong.
func TestWhatNeverWorkedAndWasCancelled(t *testing.T) {
	const (
		waits = "[09:00:01] modules loaded\n[09:00:20] launching\nsrun: Job 77 step creation temporarily disabled, retrying (Requested nodes are busy)\n"
		end   = "slurmstepd: error: *** JOB 77 ON gn11 CANCELLED AT 2025-03-04T09:47:00 ***\n"
	)
	fieldCase{"a step that never started", one(waits + end), []string{"cancelled", "unknown"}, "-"}.check(t)
}
