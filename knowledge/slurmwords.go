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
	lookAtSteps  = "Ask for the steps, not the job.\nsacct -D -P -j JOB -o JobID,State,ExitCode,DerivedExitCode,NodeList,Start,End,Reason"
	lookAtLimits = "Compare what you are allowed with what you use.\nsacctmgr show assoc user=$USER format=account,qos,grptres,maxtres,maxjobs; squeue -u $USER"
	lookAtQueue  = "Ask when it may start.\nsqueue --start -j JOB"
)

// slurmWords: states first, then reasons, each by name.
var slurmWords = []SlurmWord{
	{"BOOT_FAIL", false, "The nodes of the job could not be booted, so nothing of it ran.", CauseRole, SchedulerError, lookAtSteps},
	{"CANCELLED", false, "The job was ended by a person (“by UID” names whose account), or by SLURM after another failure.", SymptomRole, Cancelled, "Ask who, and look for an error before the cancellation: that is the failure.\nsacct -D -P -j JOB -o JobID,State,ExitCode,End,Reason"},
	{"COMPLETED", false, "All processes ended with code 0.", NoiseRole, Completed, "Nothing. A job whose log files could not be opened may end COMPLETED too: look whether they exist."},
	{"COMPLETING", false, "The job has ended and its last processes are being cleaned up; if this lasts, one of them cannot be killed.", InfoRole, "", "Look for a process in state D: it hangs in a driver or a file system.\nscontrol show node NODE | grep -i reason"},
	{"CONFIGURING", false, "The nodes are being made ready; nothing of the job runs yet.", InfoRole, "", lookAtQueue},
	{"DEADLINE", false, "The job was ended because it could not meet its --deadline.", CauseRole, TimeLimit, lookAtSteps},
	{"FAILED", false, "A process of the job ended with another code than 0: the outcome, not the cause.", ConsequenceRole, "", lookAtSteps},
	{"NODE_FAIL", false, "SLURM lost a node of the job.", CauseRole, NodeFailure, "Find out which node: srun says “Node failure on …” in the batch script's own output, sacct from 23.02 on.\nsacct -j JOB -o FailedNode"},
	{"OUT_OF_MEMORY", false, "The kernel killed a process because the job's memory limit was reached: host memory, not the GPU's.", CauseRole, HostOOM, lookAtSteps},
	{"PENDING", false, "The job waits; the reason beside it says for what.", InfoRole, "", lookAtQueue},
	{"PREEMPTED", false, "SLURM took the nodes for a job of higher priority.", CauseRole, Preempted, lookAtSteps},
	{"REQUEUED", false, "The job was put back into the queue under the same number; its earlier runs are in sacct only with -D.", InfoRole, "", lookAtSteps},
	{"REVOKED", false, "Another cluster of the federation took the job over.", InfoRole, "", "Look for the job on the other cluster."},
	{"RUNNING", false, "The job runs, or hangs: SLURM cannot tell the two apart.", InfoRole, "", "Does the step counter in the log still move?"},
	{"SPECIAL_EXIT", false, "The job was requeued into a held state because of its exit code.", InfoRole, "", "Release it once the cause is known.\nscontrol release JOB"},
	{"SUSPENDED", false, "The job was stopped for the time being; its processes sleep.", InfoRole, "", "Ask why.\nscontrol show job JOB | grep -E 'JobState|Reason'"},
	{"TIMEOUT", false, "The job reached its time limit.", CauseRole, TimeLimit, lookAtSteps},

	{"AssocGrp*", true, "Your account and those beside it have reached a common limit: the job waits until others end.", InfoRole, "", lookAtLimits},
	{"AssocMax*", true, "The job asks for more than your account may use at once.", InfoRole, "", lookAtLimits},
	{"BadConstraints", true, "No nodes can ever satisfy what the job asks for.", InfoRole, "", "Compare --constraint, --gres and --mem with what the nodes have.\nsinfo -N -o '%N %f %G %m'"},
	{"BeginTime", true, "The job may not start yet: its --begin time, or the pause after a requeue.", InfoRole, "", lookAtQueue},
	{"Cleaning", true, "The job was requeued and its earlier run is still being cleaned up.", InfoRole, "", "Usually a process that cannot be killed holds it.\nscontrol show job JOB"},
	{"Constraints", true, "What the job asks for cannot be satisfied at this time.", InfoRole, "", lookAtQueue},
	{"DeadLine", true, "The job can no longer meet its deadline.", InfoRole, TimeLimit, lookAtQueue},
	{"Dependency", true, "The job waits for another job to end.", InfoRole, "", "Look which one.\nscontrol show job JOB | grep Dependency"},
	{"DependencyNeverSatisfied", true, "The job waits for another one that ended in the wrong way; it will never start.", InfoRole, "", "Remove the dependency, or cancel the job.\nscontrol update JobId=JOB Dependency="},
	{"InvalidAccount", true, "The account named by the job does not exist or is not yours.", CauseRole, SchedulerError, lookAtLimits},
	{"InvalidQOS", true, "The quality of service named by the job does not exist.", CauseRole, SchedulerError, lookAtLimits},
	{"JobArrayTaskLimit", true, "As many tasks of the array run as it allows (the number after %).", InfoRole, "", "Raise it if more may run.\nscontrol update ArrayTaskThrottle=N JobId=JOB"},
	{"JobHeldAdmin", true, "An administrator holds the job; after a failed launch SLURM itself does.", InfoRole, "", "Ask them why before it is released.\nscontrol show job JOB | grep Reason"},
	{"JobHeldUser", true, "The job's owner holds it.", InfoRole, "", "Release it.\nscontrol release JOB"},
	{"JobHoldMaxRequeue", true, "The job was requeued as often as is allowed: something fails at every start.", SymptomRole, SchedulerError, lookAtSteps},
	{"JobLaunchFailure", true, "SLURM could not start the job: a file system, a program that does not exist, a broken node.", CauseRole, SchedulerError, lookAtSteps},
	{"Licenses", true, "The job waits for a licence.", InfoRole, "", "Look which are free.\nscontrol show licenses"},
	{"NodeDown", true, "A node that the job needs is down.", SymptomRole, NodeFailure, "Ask why.\nsinfo -R"},
	{"NonZeroExitCode", true, "The job ended with another code than 0: the outcome, not the cause.", ConsequenceRole, "", lookAtSteps},
	{"None", true, "The scheduler has not looked at the job yet.", InfoRole, "", lookAtQueue},
	{"OutOfMemory", true, "The kernel killed a process for memory.", CauseRole, HostOOM, lookAtSteps},
	{"PartitionDown", true, "The partition takes jobs and does not start them.", InfoRole, "", "Ask the administrators.\nsinfo -s"},
	{"PartitionNodeLimit", true, "The job asks for more nodes than the partition allows, or needs nodes that are down or drained.", InfoRole, "", "Compare with the partition, and see which nodes are out.\nscontrol show partition; sinfo -R"},
	{"PartitionTimeLimit", true, "The job asks for more time than the partition allows: it will never start as it is.", InfoRole, "", "Ask for less time (scontrol update JobId=JOB TimeLimit=…).\nscontrol show partition | grep MaxTime"},
	{"Priority", true, "Others with higher priority come first.", InfoRole, "", lookAtQueue},
	{"Prolog", true, "The node is still being prepared for the job; if it lasts, the prolog hangs.", InfoRole, "", "Ask the administrators for the prolog's log.\nscontrol show job JOB"},
	{"QOSGrp*", true, "All jobs of this quality of service together have reached a limit: the job waits.", InfoRole, "", lookAtLimits},
	{"QOSMax*", true, "The job asks for more than the quality of service allows one job or one user.", InfoRole, "", lookAtLimits},
	{"RaisedSignal", true, "A signal ended the job; the number behind it says which (53 is none: the output file could not be opened).", ConsequenceRole, "", lookAtSteps},
	{"ReqNodeNotAvail", true, "A node that the job names is not available: in use, reserved, down, drained (then it is listed as UnavailableNodes).", InfoRole, "", "Look for drained nodes and for a maintenance window that begins before the job's time limit.\nsinfo -R; scontrol show reservation"},
	{"Reservation", true, "The job waits for its reservation to begin.", InfoRole, "", "Look when it begins.\nscontrol show reservation"},
	{"Resources", true, "The job is next, and waits for nodes to become free.", InfoRole, "", lookAtQueue},
	{"SystemFailure", true, "SLURM, a file system or the network failed under the job.", CauseRole, SchedulerError, lookAtSteps},
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
