package knowledge

// kubernetesSignatures: what Kubernetes says about a pod, as kubectl describes it or as a record of its state. The words are
// those of the kubelet; a container that is killed for memory of its own cannot say so in its log.
var kubernetesSignatures = []Signature{
	{
		ID: IDK8SOOMKilled, Mechanism: HostOOM, Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"OOMKilled"}, Pattern: `[Rr]eason"?:\s*"?OOMKilled\b`,
		Meaning: "The kernel killed a process of this container because the container was over its memory limit.",
		Do:      []Advice{advicePods},
		Source:  "Kubernetes kubelet, container state",
		Example: "      Reason:       OOMKilled",
	},
	{
		ID: IDK8SEvictedMemory, Mechanism: HostOOM, Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"he node was low on resource: memory"},
		Meaning:  "The node ran short of memory, and the kubelet ended this pod.",
		Do:       []Advice{advicePods},
		Source:   "Kubernetes pkg/kubelet/eviction/helpers.go",
		Example:  "Message:      The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi.",
	},
	{
		ID: IDK8SEvictedDisk, Mechanism: StorageFull, Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"he node was low on resource: "}, Pattern: `low on resource: (?P<resource>ephemeral-storage|inodes)`,
		Meaning: "The node's own disk ran full, and the kubelet ended this pod.",
		Do:      []Advice{advicePods},
		Source:  "Kubernetes pkg/kubelet/eviction/helpers.go",
		Example: "Message:      The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9Gi.",
	},
	{
		ID: IDK8SPressureMemory, Mechanism: HostOOM, Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"he node had condition: "}, Pattern: `he node had condition: \[[^\]]{0,40}MemoryPressure`,
		Meaning: "The node ran short of memory, and the kubelet ended this pod, or did not take it.",
		Do:      []Advice{advicePods},
		Source:  "Kubernetes pkg/kubelet/eviction/eviction_manager.go (Admit)",
		Example: "Message: Pod The node had condition: [MemoryPressure].",
	},
	{
		ID: IDK8SPressureDisk, Mechanism: StorageFull, Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"he node had condition: "}, Pattern: `he node had condition: \[[^\]]{0,40}DiskPressure`,
		Meaning: "The node's own disk ran full, and the kubelet ended this pod, or did not take it.",
		Do:      []Advice{advicePods},
		Source:  "Kubernetes pkg/kubelet/eviction/eviction_manager.go (Admit)",
		Example: "Message: Pod The node had condition: [DiskPressure].",
	},
	{
		ID: IDK8SAdmission, Mechanism: SchedulerError, Role: CauseRole, Tier: ProcessKiller,
		Literals: []string{"requested number of devices unavailable for "}, Pattern: `unavailable for (?P<resource>[\w./-]+)\. Requested: (?P<requested>\d+), Available: (?P<available>\d+)`,
		Meaning: "A pod came to a node that has no such device free: it is still held, or the node lost one.",
		Scope:   ScopeNode,
		Do:      []Advice{advicePods},
		Source:  "Kubernetes pkg/kubelet/cm/devicemanager",
		Example: "Message: Pod Allocate failed due to requested number of devices unavailable for nvidia.com/gpu. Requested: 8, Available: 7, which is unexpected",
	},
	{
		// Both are tried again for as long as it takes: they matter where the job never began.
		ID: IDK8SUnschedulable, Mechanism: SchedulerError, Role: SymptomRole, Tier: ProcessKiller,
		Literals: []string{" nodes are available: "}, Pattern: `0/(?P<nodes>\d+) nodes are available: (?P<text>.{1,160})`,
		Meaning: "Kubernetes has no node for a pod of the job.",
		Scope:   ScopeJob,
		Do:      []Advice{advicePods},
		Source:  "Kubernetes scheduler framework (FitError)",
		Example: "0/12 nodes are available: 12 Insufficient nvidia.com/gpu.",
	},
	{
		ID: IDK8SMount, Mechanism: SchedulerError, Role: SymptomRole, Tier: ProcessKiller,
		Literals: []string{"MountVolume."}, Pattern: `MountVolume\.\w+ failed for volume "(?P<volume>[^"]{1,120})"`,
		Meaning: "A volume of the pod could not be mounted on its node, so nothing ran there.",
		Scope:   ScopeNode,
		Do:      []Advice{advicePods},
		Source:  "Kubernetes pkg/volume/util/operationexecutor",
		Example: "MountVolume.SetUp failed for volume \"pvc-77\" : mount failed: exit status 32",
	},
	{
		ID: IDK8SEvictedLocal, Mechanism: StorageFull, Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"phemeral local storage usage exceeds"},
		Meaning:  "The pod wrote more to the node's own disk than it may, and the kubelet ended it.",
		Do:       []Advice{advicePods},
		Source:   "Kubernetes pkg/kubelet/eviction/eviction_manager.go",
		Example:  "Message: Pod ephemeral local storage usage exceeds the total limit of containers 100Gi.",
	},
	{
		ID: "k8s-preempted", Mechanism: Preempted, Role: CauseRole, Tier: ProcessKiller,
		Literals: []string{"Preempted "}, Pattern: `Preempted (?:in order to admit critical pod|by (?:a )?pod \S+ on node)`,
		Meaning: "Kubernetes ended this pod to make room for a more important one.",
		Source:  "Kubernetes scheduler framework/preemption; kubelet preemption",
		Example: "Warning  Preempted  10s  default-scheduler  Preempted by pod 1234-5678 on node gpu-7",
	},
}
