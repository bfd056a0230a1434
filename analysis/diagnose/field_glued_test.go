package diagnose

import (
	"fmt"
	"testing"
	"time"
)

// The logs of several nodes, one behind the other in one file, hold one start of the job and not one for each node; a launcher that starts
// below the steps of a run, and later than they were made, holds another.
func TestTheLogsOfSeveralNodesInOneFile(t *testing.T) {
	node := func(n int, hour string, end string) string {
		b := fmt.Sprintf("W0607 %s:00:0%d.450333 862358 torch/distributed/run.py:792] Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed. \n", hour, n)
		for i := range 20 {
			b += fmt.Sprintf("2025-06-07 %s:%02d:00 [rank %d] step %d loss 2.%d data_time 0.047\n", hour, i+1, 8*n, i+1, 99-i)
		}
		return b + end
	}
	failed := raisedBy(1, "KeyError: 'x'") + childFailed("10:21:00", "n3", 1, 1, 1)
	ended := "Traceback (most recent call last):\n  File \"/usr/local/bin/torchrun\", line 33, in <module>\n    sys.exit(main())\n  File \"/usr/lib/python3.12/site-packages/torch/distributed/elastic/multiprocessing/api.py\", line 84, in _terminate_process_handler\n    raise SignalException(f\"Process {os.getpid()} got signal: {sigval}\", sigval=sigval)\ntorch.distributed.elastic.multiprocessing.api.SignalException: Process 862358 got signal: 15\n"
	for _, c := range []fieldCase{
		{"three nodes, the first failed", one(node(0, "10", failed) + node(1, "10", ended) + node(2, "10", ended)), []string{"exception"}, "rank 1, node n3"},
		{"two nodes, the first failed", one(node(0, "10", failed) + node(1, "10", ended)), []string{"exception"}, "rank 1, node n3"},
		{"it failed, was started again and finished", one(node(0, "10", failed) + node(0, "12", "INFO: Training finished.\n")), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}

// An end by a clock that is hours behind may stand in a pause of the job: it is that of the job's last step all the same.
func TestAnEndOfAnotherZoneInAPause(t *testing.T) {
	start := time.Date(2025, 6, 7, 8, 0, 0, 0, time.UTC)
	train, at := "world_size=8\n", start
	for step := 1; at.Before(start.Add(4 * time.Hour)); step++ {
		train += fmt.Sprintf("%s INFO step %d loss %.4f\n", at.Format(time.DateTime), step, 3-float64(step)/1e4)
		if at = at.Add(30 * time.Second); at.Equal(start.Add(100 * time.Minute)) {
			at = at.Add(25 * time.Minute) // an evaluation that says nothing
		}
	}
	job := func(end time.Time) map[string]string {
		return map[string]string{"train.log": train, "slurm-9.out": "srun python train.py\nslurmstepd: error: *** JOB 9 ON n1 CANCELLED AT " + end.Format("2006-01-02T15:04:05") + " DUE TO TIME LIMIT ***\n"}
	}
	last := at.Add(-30 * time.Second)
	for _, c := range []fieldCase{
		{"two hours behind", job(last.Add(20*time.Second - 2*time.Hour)), []string{"time-limit"}, "-"},
		{"in one zone", job(last.Add(20 * time.Second)), []string{"time-limit"}, "-"},
		{"in one zone, and the job went on", job(start.Add(103 * time.Minute)), []string{"completed"}, "-"},
	} {
		c.check(t)
	}
}
