package knowledge

import "strings"

// SlurmWord is one state of a job, as sacct and squeue print it, or one reason why a job waits or ended.
type SlurmWord struct {
	Name string // "NODE_FAIL", "ReqNodeNotAvail"; with a final "*" it stands for all that begin so
	// Reason is false for a state.
	Reason    bool
	Meaning   string // one sentence for people
	Role      Role
	Mechanism Slug   // slug this word speaks for, or ""
	Check     string // what to look at first; a second line is a command
}

// Sources of the two kinds.
const (
	SlurmStateSource  = "SLURM, job state codes (man sacct), seen with 22.05 and 24.11"
	SlurmReasonSource = "SLURM, job reason codes, slurm.schedmd.com/job_reason_codes.html"
)

const (
	lookAtSteps  = "Look at the steps, not the job.\nsacct -D -P -j JOB -o JobID,State,ExitCode,DerivedExitCode,NodeList,Start,End,Reason"
	lookAtLimits = "Compare your limits with your usage.\nsacctmgr show assoc user=$USER format=account,qos,grptres,maxtres,maxjobs; squeue -u $USER"
	lookAtQueue  = "See when it may start.\nsqueue --start -j JOB"
)

// slurmWords: states first, then reasons, each by name.
var slurmWords = []SlurmWord{
	{"BOOT_FAIL", false, "The job's nodes failed to boot, so none of it ran.", CauseRole, SchedulerError, lookAtSteps},
	{"CANCELLED", false, "The job was cancelled by a person (“by UID” names the account), or by SLURM after another failure.", SymptomRole, Cancelled, "Find out who did it, and look for an error before the cancellation: that is the failure.\nsacct -D -P -j JOB -o JobID,State,ExitCode,End,Reason"},
	{"COMPLETED", false, "All processes ended with code 0.", NoiseRole, Completed, "Nothing to do. A job whose log files couldn't be opened may also end COMPLETED, so make sure they exist."},
	{"COMPLETING", false, "The job has ended and its last processes are being cleaned up; if this lasts, one of them cannot be killed.", InfoRole, "", "Look for a process in state D: it is stuck in a driver or file system.\nscontrol show node NODE | grep -i reason"},
	{"CONFIGURING", false, "The nodes are being prepared; the job hasn't started yet.", InfoRole, "", lookAtQueue},
	{"DEADLINE", false, "The job was cancelled because it couldn't meet its --deadline.", CauseRole, TimeLimit, lookAtSteps},
	{"FAILED", false, "A process in the job exited with a nonzero code: the outcome, not the cause.", ConsequenceRole, "", lookAtSteps},
	{"NODE_FAIL", false, "SLURM lost one of the job's nodes.", CauseRole, NodeFailure, "Find out which node: srun says “Node failure on …” in the batch script's own output, and sacct names it from 23.02 on.\nsacct -j JOB -o FailedNode"},
	{"OUT_OF_MEMORY", false, "The kernel killed a process because the job's memory limit was reached: host memory, not the GPU's.", CauseRole, HostOOM, lookAtSteps},
	{"PENDING", false, "The job is waiting; the reason next to it says for what.", InfoRole, "", lookAtQueue},
	{"PREEMPTED", false, "SLURM took the nodes for a higher-priority job.", CauseRole, Preempted, lookAtSteps},
	{"REQUEUED", false, "The job was put back into the queue under the same job ID; sacct shows its earlier runs only with -D.", InfoRole, "", lookAtSteps},
	{"REVOKED", false, "Another cluster in the federation took over the job.", InfoRole, "", "Look for the job on the other cluster."},
	{"RUNNING", false, "The job is running or hanging: SLURM can't tell the two apart.", InfoRole, "", "See whether the step counter in the log still advances."},
	{"SPECIAL_EXIT", false, "The job was requeued into a held state because of its exit code.", InfoRole, "", "Release it once the cause is known.\nscontrol release JOB"},
	{"SUSPENDED", false, "The job is suspended; its processes are paused.", InfoRole, "", "Find out why.\nscontrol show job JOB | grep -E 'JobState|Reason'"},
	{"TIMEOUT", false, "The job reached its time limit.", CauseRole, TimeLimit, lookAtSteps},

	{"AssocGrp*", true, "Your account and its siblings have reached a shared limit: the job waits until other jobs end.", InfoRole, "", lookAtLimits},
	{"AssocMax*", true, "The job requests more than your account may use at once.", InfoRole, "", lookAtLimits},
	{"BadConstraints", true, "No nodes can ever satisfy the job's request.", InfoRole, "", "Compare --constraint, --gres and --mem with what the nodes have.\nsinfo -N -o '%N %f %G %m'"},
	{"BeginTime", true, "The job may not start yet: its --begin time, or the pause after a requeue.", InfoRole, "", lookAtQueue},
	{"Cleaning", true, "The job was requeued and its earlier run is still being cleaned up.", InfoRole, "", "Usually a process that can't be killed holds it up.\nscontrol show job JOB"},
	{"Constraints", true, "The job's request can't be satisfied right now.", InfoRole, "", lookAtQueue},
	{"DeadLine", true, "The job can no longer meet its deadline.", InfoRole, TimeLimit, lookAtQueue},
	{"Dependency", true, "The job is waiting for another job to end.", InfoRole, "", "See which job it is.\nscontrol show job JOB | grep Dependency"},
	{"DependencyNeverSatisfied", true, "The job depends on another job that didn't end as required, so it will never start.", InfoRole, "", "Remove the dependency, or cancel the job.\nscontrol update JobId=JOB Dependency="},
	{"InvalidAccount", true, "The account named by the job doesn't exist or isn't yours.", CauseRole, SchedulerError, lookAtLimits},
	{"InvalidQOS", true, "The QOS named by the job doesn't exist.", CauseRole, SchedulerError, lookAtLimits},
	{"JobArrayTaskLimit", true, "The array is running its maximum number of tasks (the number after %).", InfoRole, "", "Raise it if more may run.\nscontrol update ArrayTaskThrottle=N JobId=JOB"},
	{"JobHeldAdmin", true, "An administrator has held the job, or SLURM did so itself after a failed launch.", InfoRole, "", "Ask them why before you have it released.\nscontrol show job JOB | grep Reason"},
	{"JobHeldUser", true, "The job's owner has held it.", InfoRole, "", "Release it.\nscontrol release JOB"},
	{"JobHoldMaxRequeue", true, "The job was requeued the maximum number of times: something fails at every start.", SymptomRole, SchedulerError, lookAtSteps},
	{"JobLaunchFailure", true, "SLURM couldn't start the job: a file system failed, the program doesn't exist, or the node is broken.", CauseRole, SchedulerError, lookAtSteps},
	{"Licenses", true, "The job is waiting for a license.", InfoRole, "", "See which ones are free.\nscontrol show licenses"},
	{"NodeDown", true, "A node that the job needs is down.", SymptomRole, NodeFailure, "Find out why.\nsinfo -R"},
	{"NonZeroExitCode", true, "The job exited with a nonzero code: the outcome, not the cause.", ConsequenceRole, "", lookAtSteps},
	{"None", true, "The scheduler hasn't considered the job yet.", InfoRole, "", lookAtQueue},
	{"OutOfMemory", true, "The kernel killed a process to free memory.", CauseRole, HostOOM, lookAtSteps},
	{"PartitionDown", true, "The partition accepts jobs but doesn't start them.", InfoRole, "", "Ask the administrators.\nsinfo -s"},
	{"PartitionNodeLimit", true, "The job requests more nodes than the partition allows, or needs nodes that are down or drained.", InfoRole, "", "Compare it with the partition's limits, and see which nodes are out.\nscontrol show partition; sinfo -R"},
	{"PartitionTimeLimit", true, "The job requests more time than the partition allows: as submitted, it will never start.", InfoRole, "", "Request less time (scontrol update JobId=JOB TimeLimit=…).\nscontrol show partition | grep MaxTime"},
	{"Priority", true, "Jobs with higher priority come first.", InfoRole, "", lookAtQueue},
	{"Prolog", true, "The node is still being prepared for the job; if this lasts, the prolog is hanging.", InfoRole, "", "Ask the administrators for the prolog's log.\nscontrol show job JOB"},
	{"QOSGrp*", true, "All jobs in this QOS together have reached a limit, so the job waits.", InfoRole, "", lookAtLimits},
	{"QOSMax*", true, "The job requests more than the QOS allows per job or per user.", InfoRole, "", lookAtLimits},
	{"RaisedSignal", true, "A signal killed the job; the number after it says which (53 isn't a signal: the output file couldn't be opened).", ConsequenceRole, "", lookAtSteps},
	{"ReqNodeNotAvail", true, "A node that the job names is unavailable: in use, reserved, down or drained (then listed as UnavailableNodes).", InfoRole, "", "Look for drained nodes, and for a maintenance window that starts before the job would end.\nsinfo -R; scontrol show reservation"},
	{"Reservation", true, "The job is waiting for its reservation to start.", InfoRole, "", "See when it starts.\nscontrol show reservation"},
	{"Resources", true, "The job is next in line, waiting for nodes to become free.", InfoRole, "", lookAtQueue},
	{"SystemFailure", true, "SLURM, a file system or the network failed while the job ran.", CauseRole, SchedulerError, lookAtSteps},
	{"TimeLimit", true, "The job reached its time limit.", CauseRole, TimeLimit, lookAtSteps},
}

// SlurmWords returns the table: states, then reasons.
func SlurmWords() []SlurmWord { return append([]SlurmWord(nil), slurmWords...) }

// Source says where a word comes from.
func (w SlurmWord) Source() string {
	if w.Reason {
		return SlurmReasonSource
	}
	return SlurmStateSource
}

// SlurmWordByName finds a state or reason. States are capitals and reasons are not, so TIMEOUT and TimeLimit are two
// words; a family such as "AssocGrp*" is found by each of its members.
func SlurmWordByName(name string) (SlurmWord, bool) {
	for _, w := range slurmWords {
		if w.Name == name {
			return w, true
		}
	}
	for _, w := range slurmWords {
		if family, ok := strings.CutSuffix(w.Name, "*"); ok && strings.HasPrefix(name, family) && !strings.ContainsAny(name, " \t") {
			return w, true
		}
	}
	return SlurmWord{}, false
}
