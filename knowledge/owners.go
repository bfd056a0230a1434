package knowledge

import "strings"

// toolOwners are who can run a tool, where that does not depend on what failed: nodes are looked at and changed by those who run them.
var toolOwners = map[string]Owner{
	"ssh": OwnerCluster, "clush": OwnerCluster, "scontrol": OwnerCluster, "ipmitool": OwnerCluster,
	"ais":    OwnerStorage,
	"export": OwnerUnknown, "sbatch": OwnerUnknown, "srun": OwnerUnknown, "python": OwnerUnknown, "torchrun": OwnerUnknown, "grep": OwnerUnknown, "pip": OwnerUnknown,
}

// OwnedBy is who does what an advice says: whoever has the tool of its command, else who owns the failure. OwnerUnknown is whoever runs the job.
func (a Advice) OwnedBy(failure Owner) Owner {
	tool, _, _ := strings.Cut(a.Command, " ")
	owner, known := toolOwners[tool]
	if !known {
		return failure
	}
	if owner == OwnerUnknown && (failure == OwnerCode || failure == OwnerConfig) {
		return failure
	}
	return owner
}
