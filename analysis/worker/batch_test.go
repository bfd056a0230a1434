package worker

import "testing"

func TestEndsByOtherBatchSystems(t *testing.T) {
	for text, want := range map[string]string{ // system, kind and reason
		"=>> PBS: job killed: walltime 3617 exceeded limit 3600":                                                                       "PBS cancelled " + string(ReasonTimeLimit),
		"=>> PBS: job killed: cput 86411 exceeded limit 86400":                                                                         "PBS cancelled " + string(ReasonTimeLimit),
		"=>> PBS: job killed: mem 263192576kb exceeded limit 262144000kb":                                                              "PBS oom " + string(ReasonMemoryLimit),
		"=>> PBS: job killed: vmem 263192576kb exceeded limit 262144000kb":                                                             "PBS oom " + string(ReasonMemoryLimit),
		"MOAB_INFO:  job exceeded wallclock limit":                                                                                     "Moab cancelled " + string(ReasonTimeLimit),
		"TERM_RUNLIMIT: job killed after reaching LSF run time limit.":                                                                 "LSF cancelled " + string(ReasonTimeLimit),
		"TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.":                                                             "LSF oom " + string(ReasonMemoryLimit),
		"TERM_PREEMPT: job killed after preemption.":                                                                                   "LSF cancelled " + string(ReasonPreemption),
		"TERM_REQUEUE_OWNER: job killed and requeued by owner.":                                                                        "LSF cancelled JOB REQUEUE",
		"TERM_OWNER: job killed by owner.":                                                                                             "LSF cancelled ",
		"TERM_FORCE_ADMIN: job killed by root or LSF administrator without time for cleanup.":                                          "LSF cancelled ",
		"Warning  Evict  12s  volcano  Pod is evicted, because of preempt":                                                             "Volcano cancelled " + string(ReasonPreemption),
		"Normal  Preempted  5s  default-scheduler  Preempted by pod 1b2c on node gpu-3":                                                "Kubernetes cancelled " + string(ReasonPreemption),
		"ray.exceptions.ActorDiedError: The actor died because its node has died. the actor's node was preempted":                      "Ray cancelled " + string(ReasonPreemption),
		"Slurm Job_id=77 Name=train Failed, Run time 1-17:47:31, NODE_FAIL, ExitCode 0":                                                "SLURM cancelled " + string(ReasonNodeFailure),
		"Cluster-A slurm Job_id=77 Name=train Ended, Run time 14-00:00:31, TIMEOUT, ExitCode 0":                                        "SLURM cancelled " + string(ReasonTimeLimit),
		"Slurm Job_id=77 Name=train Ended, Run time 00:00:02, COMPLETED, ExitCode 0":                                                   "",
		"05/04/2011 03:36:38|  main|n7|W|job 48.1 exceeded hard wallclock time - initiate terminate method":                            "Grid Engine cancelled " + string(ReasonTimeLimit),
		"05/04/2011 03:36:38|  main|n7|W|job 48.1 exceeded soft wallclock time - initiate soft notify method":                          "",
		`W|job 48 exceeds job hard limit "h_vmem" of queue "gpu.q@n7" (34400000000.00000 > limit:34359738368.00000) - sending SIGKILL`: "Grid Engine oom " + string(ReasonMemoryLimit),
		`"statusReason": "Job attempt duration exceeded timeout",`:                                                                     "AWS Batch cancelled " + string(ReasonTimeLimit),
		`"statusReason": "Host EC2 (instance i-0282b396e52b4c95d) terminated.",`:                                                       "AWS Batch cancelled " + string(ReasonPreemption),
		`"reason": "OutOfMemoryError: Container killed due to memory usage"`:                                                           "AWS Batch oom " + string(ReasonMemoryLimit),
		`"statusReason": "Essential container in task exited"`:                                                                         "",
		"the documentation says TERM_RUNLIMIT: is what LSF writes":                                                                     "",
		"PBS: job killed: see below":                                                                                                   "",
		"Preempted twice, and went on":                                                                                                 "",
	} {
		got := ""
		if ends := observe(t, text+"\n").Ends; len(ends) > 0 {
			got = ends[0].System + " " + string(ends[0].Kind) + " " + string(ends[0].Reason)
		}
		if got != want {
			t.Errorf("%s\nis %q, want %q", text, got, want)
		}
	}
}
