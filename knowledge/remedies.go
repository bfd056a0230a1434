package knowledge

import (
	"slices"
	"strings"
	"unicode"
)

// Remedy is one way to mend what broke: what it risks, and what shows that it holds. What a team's closed cases say worked is counted by
// remedies, for people word them each time anew.
type Remedy struct {
	Slug   string
	Does   string // an imperative with its object
	Risk   string
	Verify string
	// Structural: it keeps the failure from coming back; else it gets the next run through.
	Structural bool
	For        []Slug
	// Words are beginnings of words of which a person who did it writes one; of a phrase all, in their order.
	Words []string
}

// Remedies are those of a mechanism: what helps at once before what lasts.
func Remedies(m Slug) []Remedy {
	var out []Remedy
	for _, lasting := range []bool{false, true} {
		for _, r := range remedies {
			if r.Structural == lasting && slices.Contains(r.For, m) {
				out = append(out, r)
			}
		}
	}
	return out
}

// RemedyIn is the remedy of a mechanism that a person describes; ok is false where the text speaks of none, or of several.
func RemedyIn(m Slug, text string) (r Remedy, ok bool) {
	words := strings.FieldsFunc(strings.ToLower(text), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '_' })
	n := 0
	for _, candidate := range Remedies(m) {
		if slices.ContainsFunc(candidate.Words, func(phrase string) bool { return speaks(words, strings.Fields(phrase)) }) {
			r, n = candidate, n+1
		}
	}
	return r, n == 1
}

// speaks says that words hold, in this order and with others between them, words with these beginnings.
func speaks(words, phrase []string) bool {
	for _, w := range words {
		if len(phrase) > 0 && strings.HasPrefix(w, phrase[0]) {
			phrase = phrase[1:]
		}
	}
	return len(phrase) == 0
}

// hardware are failures of a machine: another one is what helps.
var hardware = []Slug{GPUECC, GPUFirmware, GPUHang, GPUNVLink, GPUOffBus, LinkError, NodeFailure, PeerLost, SilentCorruption, SlowCommunication, SlowCompute, SlowHost, SlowRank, ThermalPower, ThroughputRegression}

var remedies = []Remedy{
	// Memory.
	{Slug: "smaller-batch", Does: "Reduce the micro-batch size.", For: []Slug{GPUOOM, HostOOM}, Words: []string{"batch", "mbs", "microbatch"},
		Risk: "Slower steps; without more accumulation steps the global batch shrinks, so the learning rate no longer fits.", Verify: "Peak memory stays 5% below the limit for 100 steps, at the same global batch."},
	{Slug: "shorter-sequences", Does: "Shorten the sequences, or bucket them by length.", For: []Slug{GPUOOM}, Words: []string{"sequence", "seq", "context length", "max_len", "truncat"},
		Risk: "The model sees less context; results aren't comparable with earlier runs.", Verify: "The dataset's longest batch fits: run it first."},
	{Slug: "checkpoint-activations", Does: "Turn on activation checkpointing.", For: []Slug{GPUOOM}, Words: []string{"activation", "gradient checkpoint", "recompute"},
		Risk: "Steps become 20 to 35% slower.", Verify: "Peak memory falls; step time rises by no more than that."},
	{Slug: "expandable-segments", Does: "Enable expandable segments in the CUDA allocator.", For: []Slug{GPUOOM}, Words: []string{"expandable", "fragment", "alloc_conf"},
		Risk: "None known on current drivers; it helps only if memory was reserved but not allocated.", Verify: "Reserved memory stays within 10% of allocated memory."},
	{Slug: "shard-more", Does: "Shard parameters, gradients or optimizer state over more ranks (FSDP, ZeRO), or split the model.", Structural: true, For: []Slug{GPUOOM}, Words: []string{"fsdp", "zero", "shard", "tensor parallel", "pipeline parallel", "offload"},
		Risk: "More communication per step; checkpoints need converting.", Verify: "Step time and memory per rank hold over 100 steps, and a restored checkpoint continues the loss curve."},
	{Slug: "fewer-workers", Does: "Use fewer loader workers or less prefetching.", For: []Slug{HostOOM, DataloaderWorkerKilled, ResourceLimit}, Words: []string{"worker", "prefetch", "num_workers"},
		Risk: "The GPUs may wait for data.", Verify: "Host memory is flat over an epoch, and step time does not rise."},
	{Slug: "more-memory", Does: "Request more memory for the job, or nodes that have it.", For: []Slug{HostOOM, DataloaderWorkerKilled, ResourceLimit}, Words: []string{"more memory", "more mem", "mem_per"},
		Risk: "It hides a leak until the leak outgrows it.", Verify: "Host memory is flat over an epoch."},
	{Slug: "fix-leak", Does: "Find and fix the leak.", Structural: true, For: []Slug{HostOOM, GPUOOM}, Words: []string{"leak", "cache", "detach"},
		Risk: "Low; it changes the program.", Verify: "Memory at step 1,000 equals memory at step 100."},
	// Machines.
	{Slug: "exclude-node", Does: "Exclude the node and have it tested.", For: hardware, Words: []string{"exclud", "drain", "another node", "other node", "without node", "moved", "different node"},
		Risk: "It costs a node, and without hardware evidence it may be the wrong one.", Verify: "The next run passes the failing step on other nodes, and the node fails or passes a test on its own."},
	{Slug: "replace-hardware", Does: "Replace or reset the part: GPU, cable, transceiver, card.", Structural: true, For: hardware, Words: []string{"cable", "replac", "rma", "reset", "reseat", "transceiver", "reboot"},
		Risk: "Low once the part is proven.", Verify: "Its error counters stay at zero during a one-hour load test."},
	{Slug: "update-driver", Does: "Update the driver or firmware on all nodes.", Structural: true, For: append([]Slug{VersionMismatch, CUDAError}, hardware...), Words: []string{"driver", "firmware", "upgrad", "updat"},
		Risk: "It affects all jobs; versions must match on all nodes.", Verify: "All nodes report the same version, and a test passes on each."},
	{Slug: "cooling", Does: "Restore cooling or power: fans, limits, airflow.", Structural: true, For: []Slug{ThermalPower, SlowCompute, SlowRank, ThroughputRegression}, Words: []string{"cool", "fan", "power", "therm"},
		Risk: "Low.", Verify: "Clocks stay at their maximum under load for an hour."},
	// Collectives and start-up.
	{Slug: "same-path", Does: "Make every rank call the same collectives in the same order.", Structural: true, For: []Slug{CollectiveMismatch, LoneWaiter, RankBusy, CollectiveHang, RankStalled}, Words: []string{"rank 0", "condition", "branch", "order", "barrier", "early return"},
		Risk: "Low; test the path with 2 ranks.", Verify: "The next run passes the failing step, and a 2-rank run with TORCH_DISTRIBUTED_DEBUG=DETAIL is clean."},
	{Slug: "raise-timeout", Does: "Raise the timeout of that process group only.", For: []Slug{RankBusy, RankStalled, CheckpointIO, SlowCheckpoint, WatchdogStuck}, Words: []string{"timeout", "time-out", "timeout_ms"},
		Risk: "A real hang is noticed that much later.", Verify: "The slow phase ends well before the new timeout, three times in a row."},
	{Slug: "network-settings", Does: "Correct the network settings: interface, port, host names, firewall.", For: []Slug{InitUnreachable, PeerLost, LinkError}, Words: []string{"ifname", "interface", "firewall", "dns", "port", "master_addr", "hosts", "mtu"},
		Risk: "Low; the wrong interface would be slow, not broken.", Verify: "bot check passes on all nodes."},
	{Slug: "same-versions", Does: "Run the same image on all nodes.", Structural: true, For: []Slug{VersionMismatch, InitUnreachable}, Words: []string{"image", "container", "version", "nccl", "rebuil", "pin"},
		Risk: "Low.", Verify: "bot check reports the same versions on all nodes."},
	// Numbers.
	{Slug: "lower-lr", Does: "Lower the learning rate, or warm up for longer.", For: []Slug{NonFiniteLoss, LossPlateau}, Words: []string{"learning rate", "lr", "warm"},
		Risk: "Slower progress; results aren't comparable with earlier runs.", Verify: "Loss and gradient norm stay finite for 1,000 steps beyond the failing one."},
	{Slug: "clip-gradients", Does: "Clip the gradient norm, or skip steps with non-finite gradients.", For: []Slug{NonFiniteLoss}, Words: []string{"clip", "skip step", "skip the step"},
		Risk: "It may hide bad data.", Verify: "The number of clipped or skipped steps is logged and stays below 1%."},
	{Slug: "precision", Does: "Use bfloat16, or keep unstable layers in float32.", Structural: true, For: []Slug{NonFiniteLoss}, Words: []string{"bf16", "bfloat", "fp32", "float32", "precision", "loss scal"},
		Risk: "Float32 layers are slower and larger.", Verify: "Loss matches an earlier good run over 500 steps."},
	{Slug: "roll-back", Does: "Resume from a checkpoint saved before the trouble, and skip that data.", For: []Slug{NonFiniteLoss, LossPlateau, SilentCorruption}, Words: []string{"roll back", "rollback", "rolled", "earlier checkpoint", "skip data", "skipped data"},
		Risk: "Steps since that checkpoint are lost.", Verify: "The run passes the failing step, with the loss where it was before."},
	// Data and storage.
	{Slug: "remove-item", Does: "Remove or repair the bad item.", For: []Slug{BadSample, DataloaderStall, AISBatchObjectLoss}, Words: []string{"sample", "shard", "corrupt", "bad file", "item"},
		Risk: "Low; record it, so item counts still agree.", Verify: "A full pass over the dataset, without training, finishes cleanly."},
	{Slug: "read-timeouts", Does: "Give each read a timeout and retries, and skip items that stay unreadable.", Structural: true, For: []Slug{DataloaderStall, StorageRetriesExhausted, StorageUnresponsive, BadSample, AISSilentStall, AISStreamBroken, AISThrottled}, Words: []string{"retr", "read timeout", "skip"},
		Risk: "Skipped items must be counted, or ranks get different numbers of batches.", Verify: "A run with one read blocked on purpose keeps going."},
	{Slug: "even-data", Does: "End all ranks at the same step: drop or pad the last batches.", Structural: true, For: []Slug{UnevenData}, Words: []string{"drop_last", "drop last", "padd", "join"},
		Risk: "A few samples are never used.", Verify: "Every rank logs the same last step in each epoch."},
	{Slug: "free-space", Does: "Free space, or write elsewhere; keep fewer checkpoints.", For: []Slug{StorageFull, CheckpointIO}, Words: []string{"space", "quota", "delet", "clean", "fewer checkpoint", "disk"},
		Risk: "A checkpoint that is still needed may be deleted.", Verify: "After a save, there is still room for three checkpoints."},
	{Slug: "fix-storage", Does: "Have the storage team repair or restart the daemon, disk or target.", Structural: true, For: []Slug{AISAdministration, AISBackend, AISDaemonRestart, AISDiskFault, AISNetwork, AISRebalance, AISResourcePressure, AISSilentStall, AISStreamBroken, AISThrottled, StorageUnresponsive, StorageRetriesExhausted, CheckpointIO}, Words: []string{"target", "daemon", "restart", "storage", "rebalanc", "disk", "mount"},
		Risk: "Other jobs read from it too.", Verify: "Its error counters stay flat while the job reads."},
	{Slug: "credentials", Does: "Renew or correct the credentials.", For: []Slug{AISAuth, ConfigError}, Words: []string{"token", "credential", "permission", "auth"},
		Risk: "Low.", Verify: "A read from a compute node with the job's own credentials works."},
	{Slug: "async-saves", Does: "Save checkpoints asynchronously, or less often.", Structural: true, For: []Slug{SlowCheckpoint, CheckpointIO}, Words: []string{"async", "less often", "interval"},
		Risk: "A failure loses more steps, and the copy needs memory.", Verify: "A step with a save takes at most twice as long as the others."},
	// Programs and limits.
	{Slug: "fix-code", Does: "Fix the program.", Structural: true, For: []Slug{Exception, CUDAError, NativeCrash, ConfigError, CollectiveMismatch, BadSample}, Words: []string{"bug", "code", "patch", "commit", "index", "vocab", "config", "argument"},
		Risk: "Low, with a test that used to fail.", Verify: "A short run gets past the failing step."},
	{Slug: "more-time", Does: "Request more time, or save and requeue before the limit.", For: []Slug{TimeLimit}, Words: []string{"time", "requeue", "signal", "walltime", "limit"},
		Risk: "Longer jobs wait longer in the queue.", Verify: "The job saves and exits by itself before the limit."},
	{Slug: "raise-limits", Does: "Raise the limit: open files, locked memory, /dev/shm, processes.", For: []Slug{ResourceLimit, DataloaderWorkerKilled}, Words: []string{"ulimit", "shm", "nofile", "memlock", "open files"},
		Risk: "Low.", Verify: "bot check shows the new limit on all nodes."},
	{Slug: "requeue", Does: "Requeue, and save often enough that a failure costs little.", For: []Slug{Preempted, ExternalSignal, SchedulerError, Cancelled, NodeFailure}, Words: []string{"requeue", "resubmit"},
		Risk: "It fails again as long as the cause remains.", Verify: "The run resumes from its last save by itself."},
}
