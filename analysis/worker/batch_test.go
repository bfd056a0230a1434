package worker

import "testing"

func TestEndsByOtherBatchSystems(t *testing.T) {
	for text, want := range map[string]string{ // system, kind and reason
		"=>> PBS: job killed: walltime 3617 exceeded limit 3600":                                                  "PBS cancelled " + timeLimit,
		"=>> PBS: job killed: cput 86411 exceeded limit 86400":                                                    "PBS cancelled " + timeLimit,
		"=>> PBS: job killed: mem 263192576kb exceeded limit 262144000kb":                                         "PBS oom " + overMemory,
		"=>> PBS: job killed: vmem 263192576kb exceeded limit 262144000kb":                                        "PBS oom " + overMemory,
		"MOAB_INFO:  job exceeded wallclock limit":                                                                "Moab cancelled " + timeLimit,
		"TERM_RUNLIMIT: job killed after reaching LSF run time limit.":                                            "LSF cancelled " + timeLimit,
		"TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.":                                        "LSF oom " + overMemory,
		"TERM_PREEMPT: job killed after preemption.":                                                              "LSF cancelled " + preemption,
		"TERM_REQUEUE_OWNER: job killed and requeued by owner.":                                                   "LSF cancelled JOB REQUEUE",
		"TERM_OWNER: job killed by owner.":                                                                        "LSF cancelled ",
		"TERM_FORCE_ADMIN: job killed by root or LSF administrator without time for cleanup.":                     "LSF cancelled ",
		"Warning  Evict  12s  volcano  Pod is evicted, because of preempt":                                        "Volcano cancelled " + preemption,
		"Normal  Preempted  5s  default-scheduler  Preempted by pod 1b2c on node gpu-3":                           "Kubernetes cancelled " + preemption,
		"ray.exceptions.ActorDiedError: The actor died because its node has died. the actor's node was preempted": "Ray cancelled " + preemption,
		"the documentation says TERM_RUNLIMIT: is what LSF writes":                                                "",
		"PBS: job killed: see below":                                                                              "",
		"Preempted twice, and went on":                                                                            "",
	} {
		got := ""
		if ends := observe(t, text+"\n").SlurmEnds; len(ends) > 0 {
			got = ends[0].System + " " + ends[0].Kind + " " + ends[0].Reason
		}
		if got != want {
			t.Errorf("%s\nis %q, want %q", text, got, want)
		}
	}
}
