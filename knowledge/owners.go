package knowledge

import (
	"slices"
	"strings"
)

// toolOwners are who can run a tool, where that does not depend on what failed: nodes are looked at and changed by those who run them.
var toolOwners = map[string]Owner{
	"ssh": OwnerCluster, "clush": OwnerCluster, "scontrol": OwnerCluster, "ipmitool": OwnerCluster,
	"ais":    OwnerStorage,
	"export": OwnerUnknown, "sbatch": OwnerUnknown, "srun": OwnerUnknown, "python": OwnerUnknown, "torchrun": OwnerUnknown, "grep": OwnerUnknown, "pip": OwnerUnknown,
}

// What the job's own program or settings have to change, whatever failed.
var (
	adviceReplay         = Advice{"Replay the steps around the jump from the same checkpoint and data, once on the same nodes and once on others, and compare bit by bit.", ""}
	adviceChecksums      = Advice{"Compare parameter checksums across data-parallel replicas every few hundred steps.", ""}
	adviceNorms          = Advice{"Log each rank's gradient norm before the reduction.", ""}
	adviceRetryBatches   = Advice{"Retry incomplete batches in the client instead of failing the job, and request fewer objects at a time.", ""}
	adviceRetryElsewhere = Advice{"Have clients retry across several endpoints for longer than a restart takes.", ""}
	adviceClientTimeout  = Advice{"Use a client timeout shorter than the collective timeout.", ""}
	adviceFewerWorkers   = Advice{"Reduce the number of workers or the batch size, or request more quota.", ""}
	adviceWarmCache      = Advice{"Warm the cache before the job, so training doesn't hit the remote store.", ""}
	adviceLogRetries     = Advice{"Log the endpoint and duration of every retry.", ""}
	adviceStage          = Advice{"Stage the data on local disks, so training doesn't depend on a shared mount at every step.", ""}
	adviceSaveSlowly     = Advice{"If the save is just slow, raise that process group's timeout or save asynchronously.", ""}
	adviceRenameSave     = Advice{"Write to a temporary name and rename at the end, so a half-written checkpoint is never mistaken for a complete one.", ""}
	adviceLogSaves       = Advice{"Log the start, end and size of every save.", ""}
	adviceBatchOutput    = Advice{"Keep the batch script's own output: srun's messages appear only there.", ""}
	adviceLogWaits       = Advice{"Log compute and wait time for each rank: the rank that waits least is the slow one.", ""}
	adviceSaveBeside     = Advice{"Save asynchronously, and alert when a save takes twice its usual time.", ""}
	adviceLogSaveSize    = Advice{"Log when each save begins and ends, and how many bytes it wrote.", ""}
)

// jobsOwn are for whoever runs the job, though the storage or the cluster was at fault and no command says so.
var jobsOwn = []Advice{
	adviceResubmit, adviceCheckpoint,
	adviceReplay,
	adviceChecksums,
	adviceNorms,
	adviceRetryBatches,
	adviceRetryElsewhere,
	adviceClientTimeout,
	adviceFewerWorkers,
	adviceWarmCache,
	adviceLogRetries,
	adviceStage,
	adviceSaveSlowly,
	adviceRenameSave,
	adviceLogSaves,
	adviceBatchOutput,
	adviceLogWaits,
	adviceSaveBeside,
	adviceLogSaveSize,
}

// OwnedBy is who does what an advice says: whoever has the tool of its command, else who owns the failure. OwnerUnknown is whoever runs the job.
func (a Advice) OwnedBy(failure Owner) Owner {
	tool, _, _ := strings.Cut(a.Command, " ")
	owner, known := toolOwners[tool]
	if slices.Contains(jobsOwn, a) {
		owner, known = OwnerUnknown, true
	}
	if !known {
		return failure
	}
	if owner == OwnerUnknown && (failure == OwnerCode || failure == OwnerConfig) {
		return failure
	}
	return owner
}
