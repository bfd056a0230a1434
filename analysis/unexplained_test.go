package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/incident"
)

// failingJob is a job of eight ranks in separate files: each ends in lines of its own, and srun's file tells how one of its tasks ended.
func failingJob(t *testing.T, srun string, own func(rank int) string) []incident.Source {
	t.Helper()
	files := map[string]string{"slurm-4242.out": srun}
	for r := range 8 {
		files[fmt.Sprintf("rank_%d.log", r)] = healthyLog(r, 300) + own(r)
	}
	return written(t, files, "")
}

// Where what is known of a failure may not be all, the lines that may tell the rest are shown beside it: those of the process that failed before
// those of others, and what says why before what says only how something ended.
func TestWhatMayTellTheRestIsShown(t *testing.T) {
	const (
		exited    = "srun: error: gn3: task 5: Exited with exit code 1\n"
		traceback = "[rank5]: Traceback (most recent call last):\n[rank5]:   File \"/opt/py/site-packages/mux/lane.py\", line 3, in claim\n[rank5]:     f()\n"
		answering = "\n[rank5]: During handling of the above exception, another exception occurred:\n\n"
	)
	closing := "lane a is handed back\nlane b stays\nthe pool keeps c\nd is free\nnothing waits for e\n"
	for _, c := range []struct {
		name, srun string
		own        func(rank int) string
		first      string // what the first line that is shown holds
	}{
		{"of an exit status, what all ranks say", exited, func(r int) string {
			return closing + fmt.Sprintf("mux: ERROR: lane %d has no uplink\n", r) + closing
		}, "has no uplink"},
		{"of an exit status, no other word of an end", exited + "srun: error: gn3: tasks 0-4,6-7: Terminated\n", func(r int) string {
			if r != 5 {
				return "terminated by request\n"
			}
			return closing + "feeder left with exit status 41\nmux: ERROR: lane 5 has no uplink\n" + closing
		}, "has no uplink"},
		{"of an exception, what it was raised in answer to", "", func(r int) string {
			if r != 5 {
				return closing + fmt.Sprintf("mux: ERROR: neighbour of %d hung up\n", r) + closing
			}
			return traceback + "[rank5]: mux.LaneError: lane 5 is torn\n" + answering + traceback + "[rank5]: RuntimeError: claim came to nothing\n"
		}, "lane 5 is torn"},
	} {
		r := diagnosed(t, Input{Sources: failingJob(t, c.srun, c.own)})
		if len(r.Standouts) == 0 || !strings.Contains(r.Standouts[0].Statement, c.first) {
			t.Errorf("%s: %s %v, shown is %s", c.name, r.Verdict.Mechanism, r.Verdict.Candidates, standoutsOf(r))
		}
	}
}

// Beside a cause that may not be all, what nobody understands is shown wherever it stands: also below what is known, and as a warning.
func TestASetShowsWhatNobodyUnderstands(t *testing.T) {
	away := func(own string) func(rank int) string {
		return func(r int) string {
			text := raised(r, "RuntimeError: [mux/pair.cc:534] the lane went away")
			if r == 5 {
				return text + own
			}
			return text
		}
	}
	for _, c := range []struct {
		name  string
		own   func(rank int) string
		holds string
	}{
		{"below the exception", away("mux: ERROR: uplink 5 lost its owner\n"), "uplink 5 lost its owner"},
		{"a warning", away("mux: WARNING: uplink 5 was slow to answer\n"), "uplink 5 was slow to answer"},
		{"a heading tells nothing", away("Root cause (first observed failure):\nmux: WARNING: uplink 5 was slow to answer\n"), "uplink 5 was slow to answer"},
	} {
		r := diagnosed(t, Input{Sources: failingJob(t, "", c.own)})
		if len(r.Standouts) == 0 || !strings.Contains(r.Standouts[0].Statement, c.holds) {
			t.Errorf("%s: %s %v, shown is %s", c.name, r.Verdict.Mechanism, r.Verdict.Candidates, standoutsOf(r))
		}
	}
}

// raised is a traceback out of a library, as the process of a rank prints it.
func raised(rank int, last string) string {
	var b strings.Builder
	for l := range strings.Lines("Traceback (most recent call last):\n  File \"/a/train.py\", line 3, in main\n    f()\n  File \"/opt/py/site-packages/mux/lane.py\", line 3, in claim\n    pull()\n" + last + "\n") {
		fmt.Fprintf(&b, "[rank%d]: %s", rank, l)
	}
	return b.String()
}

// Who never joined a collective is sure only while no line that nobody knows sounds as bad before it.
func TestAnErrorThatNobodyKnowsLeavesAWaitOpen(t *testing.T) {
	const timeout = "[rank%[1]d]:[E1126 10:22:44.290212436 ProcessGroupNCCL.cpp:607] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=255, OpType=ALLREDUCE, NumelIn=49, NumelOut=49, Timeout(ms)=600000) ran for 600073 milliseconds before timing out.\n" +
		"[rank%[1]d]:[E1126 10:22:44.290412436 ProcessGroupNCCL.cpp:1664] [PG 0 (default_pg) Rank %[1]d] Exception (either an error or timeout) detected by watchdog at work: 255, last enqueued NCCL work: 255, last completed NCCL work: 254.\n"
	for _, c := range []struct {
		name, own string
		open      bool
	}{
		{"it says nothing", "", false},
		{"it tells of its work", "2026-11-26 10:12:43,105 - mux - INFO - lane 5 is handed on\n", false},
		{"it met an error", "2026-11-26 10:12:43,105 - mux - ERROR - lane 5 has no uplink\n", true},
	} {
		v := diagnosed(t, Input{Sources: failingJob(t, "", func(r int) string {
			if r == 5 {
				return c.own
			}
			return fmt.Sprintf(timeout, r)
		})}).Verdict
		open := slices.ContainsFunc(v.Candidates, func(x incident.Candidate) bool { return x.Mechanism == "unknown" })
		if v.Mechanism != "rank-stalled" || open != c.open || open == (v.Confidence >= 0.75) {
			t.Errorf("%s: %s %.2f of %v", c.name, v.Mechanism, float64(v.Confidence), v.Candidates)
		}
	}
}

// What NCCL says of an invalid call is sure only while no warning of NCCL that nobody knows stands above it, after which its thread fell silent.
func TestAWarningThatNobodyKnowsLeavesAFailedCallOpen(t *testing.T) {
	const warning = "gn3:900:91%d [0] mux.cc:40 NCCL WARN lane table is torn : expected 7 found 9\n"
	const went = "gn3:900:91%d [0] NCCL INFO mux.cc:44 going on with another lane\n"
	for _, c := range []struct {
		name, above string
		open        bool
	}{
		{"nothing above", "", false},
		{"a warning", warning, true},
		{"a warning that its thread went on after", warning + went, false},
	} {
		files := map[string]string{}
		for r := range 8 {
			above := c.above
			for strings.Contains(above, "%d") {
				above = strings.Replace(above, "%d", fmt.Sprint(r), 1)
			}
			files[fmt.Sprintf("rank_%d.log", r)] = above + raised(r, "torch.distributed.DistBackendError: NCCL error in: ../torch/csrc/distributed/c10d/NCCLUtils.hpp:219, invalid usage, NCCL version 2.18.1\n[rank"+fmt.Sprint(r)+"]: ncclInvalidUsage: This usually reflects invalid usage of NCCL library.")
		}
		v := diagnosed(t, Input{Sources: written(t, files, "")}).Verdict
		open := slices.ContainsFunc(v.Candidates, func(x incident.Candidate) bool { return x.Mechanism == "unknown" })
		if open != c.open {
			t.Errorf("%s: %s %.2f of %v: %s", c.name, v.Mechanism, float64(v.Confidence), v.Candidates, v.Why)
		}
	}
}

// The title of DDP's error is glued to another's, and its list of parameters still tells what it is about.
func TestParametersBelowAGluedTitle(t *testing.T) {
	text := "untimeError: RuntimeErrorExpected to have finished reduction in the prior iteration before starting a new one. This error indicates that your module has parameters that were not used in producing loss.\n" +
		"making sure all `forward` function outputs participate in calculating loss.\nParameter indices which did not receive grad for rank 2: 362 363 364 401\n"
	v := diagnosed(t, Input{Sources: written(t, map[string]string{"train.log": text}, "")}).Verdict
	if v.Mechanism != "exception" || !strings.Contains(v.Summary, "362, 363, 364, … (4 in all) got no gradient") {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}

// A log in which nothing stands out is not left without a line: its last progress is where the rest has to be looked for. It accuses nobody.
func TestTheLastProgressIsShownWhereNothingStandsOut(t *testing.T) {
	bar := func(n int) string {
		return fmt.Sprintf("Epoch 0:   3%%|▎         | %d/20101 [2:12:19<76:15:08, 14.05s/it, loss=nan, reduced_train_loss=3.910, gradient_norm=1.010], ", n)
	}
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"log-rank0.log": bar(565) + bar(566) + bar(567) + "Epoch 0:   3%|▎         | 567/20101 [2:12:45<76:14:00, 14.05s/it, loss=nan, reduced_tra"}, "")})
	if r.Verdict.Mechanism != "unknown" || len(r.Standouts) != 1 || r.Standouts[0].Severity != "calm" || strings.Contains(r.Verdict.Summary, "suspicious") {
		t.Errorf("%s: %s, shown is %s", r.Verdict.Mechanism, r.Verdict.Summary, standoutsOf(r))
	}
}

// A watchdog's line that is cut within its words is still one: what it proves is held to the words that are there.
func TestAHangWhoseLastLineIsCut(t *testing.T) {
	bars := "  1%|          | 20/1752 [00:57<1:22:40,  2.86s/it]\n  1%|          | 21/1752 [00:59<1:21:32,  2.83s/it]\n  1%|          | 22/1752 [01:01<1:21:32,  2.83s/it]\n  1%|          | 24/1752 [01:08<1:22:56,  2.88s/it]"
	end := "[rank5]:[E602 11:17:52.185053341 ProcessGroupNCCL.cpp:632] [Rank 5] Watchdog caught collective operati\n"
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"train.log": bars + end}, "")})
	if r.Verdict.Mechanism != "rank-stalled" || r.Verdict.Status != incident.Inconclusive {
		t.Errorf("%s, %s", r.Verdict.Mechanism, r.Verdict.Status)
	}
}
