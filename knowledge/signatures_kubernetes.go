package knowledge

// kubernetesSignatures: what Kubernetes says about a pod, as kubectl describes it or as a record of its state. The words are
// those of the kubelet; a container that is killed for memory of its own cannot say so in its log.
var kubernetesSignatures = []Signature{
	{
		ID: "k8s-oom-killed", Mechanism: "host-oom", Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"OOMKilled"}, Pattern: `[Rr]eason"?:\s*"?OOMKilled\b`,
		Meaning: "The kernel killed a process of this container because the container was over its memory limit.",
		Source:  "Kubernetes kubelet, container state",
		Example: "      Reason:       OOMKilled",
	},
	{
		ID: "k8s-evicted-memory", Mechanism: "host-oom", Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"he node was low on resource: memory"},
		Meaning:  "The node ran short of memory, and the kubelet ended this pod.",
		Source:   "Kubernetes pkg/kubelet/eviction/helpers.go",
		Example:  "Message:      The node was low on resource: memory. Threshold quantity: 100Mi, available: 80Mi.",
	},
	{
		ID: "k8s-evicted-disk", Mechanism: "storage-full", Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"he node was low on resource: "}, Pattern: `low on resource: (?P<resource>ephemeral-storage|inodes)`,
		Meaning: "The node's own disk ran full, and the kubelet ended this pod.",
		Source:  "Kubernetes pkg/kubelet/eviction/helpers.go",
		Example: "Message:      The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9Gi.",
	},
	{
		ID: "k8s-evicted-local", Mechanism: "storage-full", Role: CauseRole, Tier: ProcessKiller, Direct: true,
		Literals: []string{"phemeral local storage usage exceeds"},
		Meaning:  "The pod wrote more to the node's own disk than it may, and the kubelet ended it.",
		Source:   "Kubernetes pkg/kubelet/eviction/eviction_manager.go",
		Example:  "Message: Pod ephemeral local storage usage exceeds the total limit of containers 100Gi.",
	},
	{
		ID: "k8s-preempted", Mechanism: "preempted", Role: CauseRole, Tier: ProcessKiller,
		Literals: []string{"Preempted "}, Pattern: `Preempted (?:in order to admit critical pod|by (?:a )?pod \S+ on node)`,
		Meaning: "Kubernetes ended this pod to make room for a more important one.",
		Source:  "Kubernetes scheduler framework/preemption; kubelet preemption",
		Example: "Warning  Preempted  10s  default-scheduler  Preempted by pod 1234-5678 on node gpu-7",
	},
}
