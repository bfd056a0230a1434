package worker

import (
	"bytes"

	"faultline/pattern"
)

// How other batch systems than SLURM write into a job's output that they ended it.
var batchEnds = []struct {
	system, literal string
	says            *pattern.Regexp // its first group is what the line is quoted by
	reason          EndReason       // as End.Reason; "" for a person's doing; ReasonMemoryLimit
}{
	// Sources: OpenPBS src/resmom/linux/mom_mach.c and Torque (to 6.1), "=>> PBS: job killed: …"; Moab's MOAB_INFO.
	{"PBS", "PBS: job killed: ", pattern.New(`(PBS: job killed: (?:walltime|cput|cput_limit)) \d+ exceeded limit \d+`), ReasonTimeLimit},
	{"PBS", "PBS: job killed: ", pattern.New(`(PBS: job killed: p?v?mem) \d+\w* exceeded limit \d+`), ReasonMemoryLimit},
	{"PBS", "PBS: job killed: ", pattern.New(`(PBS: job killed: node \d+ )\((?P<node>[A-Za-z0-9][\w.-]{0,252})\) requested job terminate, '(?:EOF|COMM_FAIL)`), ReasonNodeFailure},
	{"Moab", "MOAB_INFO:", pattern.New(`(MOAB_INFO:\s+job exceeded wallclock limit)`), ReasonTimeLimit},
	// Source: LSF's reference, termination reasons (lsbatch.h).
	{"LSF", "TERM_RUNLIMIT: ", pattern.New(`(TERM_RUNLIMIT: job killed)`), ReasonTimeLimit},
	{"LSF", "TERM_MEMLIMIT: ", pattern.New(`(TERM_MEMLIMIT: job killed)`), ReasonMemoryLimit},
	{"LSF", "TERM_CPULIMIT: ", pattern.New(`(TERM_CPULIMIT: job killed)`), ReasonTimeLimit},
	{"LSF", "TERM_DEADLINE: ", pattern.New(`(TERM_DEADLINE: job killed)`), ReasonTimeLimit},
	{"LSF", "TERM_WINDOW: ", pattern.New(`(TERM_WINDOW: job killed)`), ReasonTimeLimit},
	{"LSF", "TERM_PREEMPT: ", pattern.New(`(TERM_PREEMPT: job killed)`), ReasonPreemption},
	{"LSF", "TERM_LOAD: ", pattern.New(`(TERM_LOAD: job killed)`), ReasonPreemption},
	{"LSF", "TERM_REQUEUE_", pattern.New(`(TERM_REQUEUE_(?:OWNER|ADMIN): job killed)`), ReasonRequeue},
	{"LSF", "TERM_OWNER: ", pattern.New(`(TERM_OWNER: job killed)`), ""},
	{"LSF", "TERM_ADMIN: ", pattern.New(`(TERM_ADMIN: job killed)`), ""},
	// Sources: Kubernetes' scheduler and kubelet; Volcano pkg/scheduler/cache (Evict); Ray's drain of a node.
	{"Kubernetes", "Preempted ", pattern.New(`(Preempted (?:in order to admit critical pod|by (?:a )?pod))`), ReasonPreemption},
	// Sources: Kubernetes pkg/kubelet/nodeshutdown (1.21 on), pkg/controller/job, pkg/kubelet/active_deadline.go.
	{"the kubelet", "in response to ", pattern.New(`Pod was (terminated in response to (?:imminent )?node shutdown)`), ReasonPreemption},
	// Source: Kubernetes pkg/controller/tainteviction and the eviction API, conditions of the type DisruptionTarget (1.26 on).
	{"the taint manager", "Taint manager: ", pattern.New(`(Taint manager: deleting due to NoExecute taint)`), ReasonPreemption},
	{"Kubernetes", "Eviction API: evicting", pattern.New(`(Eviction API: evicting)`), ReasonPreemption},
	// Source: Kubernetes pkg/util/node (NodeUnreachablePodMessage), in the status of a pod and in its events.
	{"Kubernetes", " which was running pod ", pattern.New(`(Node (?P<node>[A-Za-z0-9][\w.-]{0,252}) which was running pod )\S{1,253} is unresponsive`), ReasonNodeFailure},
	{"Kubernetes", "was active ", pattern.New(`((?:Job|Pod) was active (?:on the node )?longer than (?:the )?specified deadline)`), ReasonTimeLimit},
	// Source: Kueue pkg/scheduler/preemption; the event and the workload's condition have the same words.
	{"Kueue", "Preempted to accommodate a ", pattern.New(`(Preempted to accommodate a (?:higher priority )?[Ww]orkload)`), ReasonPreemption},
	// Sources: dstack JobTerminationReason; SageMaker's SDK prints the secondary status of a job and what it means.
	{"dstack", "INTERRUPTED_BY_NO_CAPACITY", pattern.New(`[Rr]un failed with error code (?:JobErrorCode\.)?(INTERRUPTED_BY_NO_CAPACITY)`), ReasonPreemption},
	{"SageMaker", " Interrupted - ", pattern.New(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (Interrupted) - `), ReasonPreemption},
	{"SageMaker", "exceeded MaxRuntimeInSeconds", pattern.New(`(Training job runtime exceeded MaxRuntimeInSeconds)`), ReasonTimeLimit},
	{"SageMaker", "MaxWaitTimeExceeded", pattern.New(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d (MaxWaitTimeExceeded) - `), ReasonTimeLimit},
	// Sources: Compute Engine's operation compute.instances.preempted, as Vertex AI and others quote it, and what Taskcluster's start-worker prints; EC2's event, and AWS' node
	// termination handler (pkg/monitor/spotitn).
	{"Compute Engine", "nstance was preempted by Compute Engine", pattern.New(`(Instance was preempted by Compute Engine)`), ReasonPreemption},
	{"Compute Engine", "Metadata Service says termination is imminent", pattern.New(`(GCP Metadata Service says termination is imminent)`), ReasonPreemption},
	{"EC2", "EC2 Spot Instance ", pattern.New(`("detail-type": ?"EC2 Spot Instance Interruption Warning"|EC2 Spot Instance [Ii]nterruption (?:[Ww]arning|[Nn]otice) (?:received|detected))`), ReasonPreemption},
	{"EC2", "Spot ITN received", pattern.New(`(Spot ITN received)`), ReasonPreemption},
	{"Azure", "EventType", pattern.New(`(['"]EventType['"]: ?['"]Preempt['"])`), ReasonPreemption}, // of its instance metadata service, as those who watch it print it
	{"SkyPilot", "ob finished (status: ", pattern.New(`([Jj]ob finished \(status: (?:\w+\.)?CANCELLED\))`), ""},
	{"Volcano", "Pod is evicted, because of ", pattern.New(`(Pod is evicted, because of (?:preempt|reclaim))`), ReasonPreemption},
	{"Ray", "node was preempted", pattern.New(`(the actor's node was preempted)`), ReasonPreemption},
	// Source: submitit core/job_environment.py; it asks SLURM to queue the job again, and ends.
	{"submitit", "Requeued job ", pattern.New(`submitit \w+ \([^)]{1,40}\) - (Requeued job \S+) \(\d+ remaining timeouts\)`), ReasonRequeue},
	// Sources: Flux src/cmd/job (job.exception), src/modules/job-exec/exec.c, src/shell/oom.c.
	{"Flux", "job.exception type=timeout ", pattern.New(`job\.exception type=timeout severity=0 (resource allocation expired)`), ReasonTimeLimit},
	{"Flux", "job.exception type=cancel ", pattern.New(`(job\.exception type=cancel) severity=0`), ""},
	{"Flux", "lost contact with job shell on ", pattern.New(`(lost contact with job shell on )(?:broker )?(?P<node>[A-Za-z0-9][\w.-]{0,252}) \((?:shell )?rank \d+\)`), ReasonNodeFailure},
	{"Flux", "oom: Memory cgroup out of memory: ", pattern.New(`(oom: Memory cgroup out of memory: killed \d+ tasks? on )(?P<node>[A-Za-z0-9][\w.-]{0,252}?)\.?(?:\s|$)`), ReasonMemoryLimit},
	// Source: SLURM src/slurmctld/agent.c, the subject of the mail about a job.
	{"SLURM", "Job_id=", pattern.New(`((?i:slurm) Job_id=\d+ Name=\S+ (?:Ended|Failed), Run time [\d:-]+, TIMEOUT)`), ReasonTimeLimit},
	{"SLURM", "Job_id=", pattern.New(`((?i:slurm) Job_id=\d+ Name=\S+ (?:Ended|Failed), Run time [\d:-]+, PREEMPTED)`), ReasonPreemption},
	{"SLURM", "Job_id=", pattern.New(`((?i:slurm) Job_id=\d+ Name=\S+ (?:Ended|Failed), Run time [\d:-]+, OUT_OF_MEMORY)`), ReasonMemoryLimit},
	{"SLURM", "Job_id=", pattern.New(`((?i:slurm) Job_id=\d+ Name=\S+ (?:Ended|Failed), Run time [\d:-]+, CANCELLED)`), ""},
	{"SLURM", "Job_id=", pattern.New(`((?i:slurm) Job_id=\d+ Name=\S+ (?:Ended|Failed), Run time [\d:-]+, NODE_FAIL)`), ReasonNodeFailure},
	// Sources: Grid Engine source/daemons/execd/msg_execd.h (6.2 to 8.1), what its execd says of a job.
	{"Grid Engine", "exceeded hard wallclock time", pattern.New(`(job (?P<id>\d+)\.\d+ exceeded hard wallclock time) - initiate terminate method`), ReasonTimeLimit},
	{"Grid Engine", " exceeds job hard limit ", pattern.New(`(job (?P<id>\d+) exceeds job hard limit "h_cpu") of queue "\S+" \([\d.]+ > limit:[\d.]+\) - sending SIGKILL`), ReasonTimeLimit},
	{"Grid Engine", " exceeds job hard limit ", pattern.New(`(job (?P<id>\d+) exceeds job hard limit "h_(?:vmem|rss)") of queue "\S+" \([\d.]+ > limit:[\d.]+\) - sending SIGKILL`), ReasonMemoryLimit},
	// Source: AWS Batch's and ECS' reasons of a job, an attempt or a task that stopped, as describe-jobs prints them. A host is said to be terminated
	// when its Spot instance was taken back, and otherwise.
	{"AWS Batch", "Job attempt duration exceeded timeout", pattern.New(`(Job attempt duration exceeded timeout)`), ReasonTimeLimit},
	{"AWS Batch", "Host EC2 (instance ", pattern.New(`(Host EC2 \(instance i-[0-9a-f]{8,17}\) terminated)`), ReasonPreemption},
	{"AWS Batch", "ontainer killed due to memory usage", pattern.New(`(OutOfMemoryError: [Cc]ontainer killed due to memory usage)`), ReasonMemoryLimit},
	{"LSF", "TERM_FORCE_", pattern.New(`(TERM_FORCE_(?:OWNER|ADMIN): job killed)`), ""},
}

func batchHandlers() []handler {
	var literals []string
	for _, e := range batchEnds {
		literals = append(literals, e.literal)
	}
	return []handler{{"batch end", literals, readBatchEnd}}
}

func readBatchEnd(r *reader, rec *record) bool {
	for i := range batchEnds {
		e := &batchEnds[i]
		if !bytes.Contains(rec.Text, []byte(e.literal)) {
			continue
		}
		m := e.says.FindSubmatch(rec.Text)
		if m == nil {
			continue
		}
		end := End{At: rec.At, Kind: EndCancelled, Entity: "JOB", Reason: e.reason, System: e.system, Says: string(m[1])}
		node := group(e.says, m, "node")
		end.ID = group(e.says, m, "id")
		switch {
		case e.reason == ReasonMemoryLimit:
			end.Kind, end.N, end.Host = EndOOM, 1, node
		case e.reason == ReasonNodeFailure && node != "":
			end.Kind, end.Hosts = EndNodeFailure, []string{node}
		}
		r.ends(end)
		return true
	}
	return false
}

// group is what a group of this name matched; "" where there is none.
func group(re *pattern.Regexp, m [][]byte, name string) string {
	for i, g := range re.SubexpNames() {
		if g == name {
			return string(m[i])
		}
	}
	return ""
}
