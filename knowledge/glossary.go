package knowledge

import (
	"slices"
	"strings"
	"sync"
)

// glossary explains each term once, in at most two sentences, to a researcher who never met it. Sorted by name.
var glossary = []Term{
	{"AIStore", "A storage cluster that serves training data as objects. It consists of proxies, which direct requests, and targets, which hold the data."},
	{"algbw", "nccl-tests' algorithm bandwidth: message size divided by time. It falls as ranks are added even on a perfect network, so compare busbw."},
	{"all-gather", "A collective after which every rank has all ranks' pieces. Its memory grows with the number of ranks."},
	{"all-gather buffer", "Memory for parameters that ZeRO-3 or FSDP gathers for the layers in use, on top of a rank's own shard. Limit it with stage3_max_live_parameters and stage3_prefetch_bucket_size (DeepSpeed), or by wrapping smaller units (FSDP)."},
	{"all-reduce", "A collective that sums (or otherwise combines) all ranks' numbers and gives every rank the result. Data-parallel training sums its gradients with it."},
	{"barrier", "A collective that moves no data: no rank leaves it until all have entered."},
	{"broadcast", "A collective in which one rank sends the same data to all the others in the group."},
	{"bucket_cap_mb", "The size of DDP's gradient buckets, 25 MB by default. Larger buckets use the network better; smaller ones start overlapping with the backward pass earlier."},
	{"busbw", "nccl-tests' bus bandwidth: algbw corrected for the number of ranks, so it can be compared with the slowest link's capacity. Compare nodes at the same message size."},
	{"cgroup OOM", "The kernel killed a process because its job (its cgroup) hit its memory limit. It means host memory, not GPU memory."},
	{"checkpoint", "The training state written to storage so that training can resume from it. It counts only if the save completed."},
	{"collective", "An operation that all ranks of a process group must enter together, such as all-reduce. If one doesn't join, all others wait."},
	{"completed", "The number of the last collective whose GPU work a rank has finished in a process group. Compare it with enqueued, and only within one group."},
	{"compute-communication overlap", "Collectives that run while the GPU computes cost no time. Communication that doesn't overlap is exposed: every step waits for it."},
	{"CPU", "The host's processor, on which the Python program runs. It issues work to the GPU and usually runs ahead of it."},
	{"CUDA", "NVIDIA's programming interface for GPUs. Its errors are reported late, often by a later, unrelated call."},
	{"data parallel", "Each rank (or group of ranks) trains a copy of the model on its own part of the data; gradients are summed across the copies at every step."},
	{"DataLoader worker", "A child process that reads and prepares batches for one rank. Its number is not a rank."},
	{"device mesh", "PyTorch's grid of ranks, one axis per kind of parallelism (data, tensor, pipeline). Its axes must multiply to the world size; each row and column is a process group."},
	{"disjoint shards", "Each rank must read its own part of the data. With Lhotse or WebDataset, a sampler without rank and world size gives all ranks the same data, and nothing fails."},
	{"DistributedDataParallel", "PyTorch's wrapper for data-parallel training (DDP). It sums gradients with all-reduce during the backward pass."},
	{"dropped audio", "In fault-tolerant mode, Lhotse silently skips cuts it can't read. Ranks then get fewer batches than others, or train on less data than you think."},
	{"DTensor placement", "How a tensor lies on a device mesh: sharded, replicated or partial. Ranks that disagree about it make different collectives: probe.same in the program of bot probe compares shapes and types."},
	{"ECC", "Error-correcting memory. Single flipped bits are corrected; an uncorrectable error means that data was lost and the GPU needs attention."},
	{"enqueued", "The number of the last collective a rank has handed to its GPU in a process group. Enqueued but not completed means that the rank is inside a collective, or its GPU is still working."},
	{"exit code", "The number a process exits with: 0 is success, 128 + n usually means that signal n ended it, and torchrun prints −n for signal n."},
	{"expert imbalance", "In a mixture of experts, a popular expert gets more tokens, and all ranks wait for the one that holds it. A load-balancing loss and a capacity factor limit this."},
	{"expert parallel", "The experts of a mixture-of-experts model are spread across ranks, which exchange tokens at every such layer."},
	{"flame graph", "A picture of where a process spends its time. Record several steps on a slow rank and two fast ones (py-spy record -d 60 --format raw -o rank3.folded --pid PID), and Faultline compares them."},
	{"flight recorder", "PyTorch's per-rank record of recent collectives, written to a file on a timeout. It shows which collective each rank was in and the line that called it."},
	{"FSDP", "Fully sharded data parallel: parameters, gradients and optimizer state are sharded across the ranks and gathered when needed."},
	{"GIL", "The lock that lets only one thread of a Python process run Python code at a time. A thread that holds it stops all others, including the watchdog."},
	{"global rank", "The number of a process in the whole job, from 0 to world size − 1. This is what the report means by “rank”."},
	{"Gloo", "A communication library for CPUs that PyTorch uses alongside NCCL. A rank waiting in Gloo shows nothing pending in NCCL."},
	{"GPU", "The accelerator that runs the model; usually one per rank."},
	{"gradient norm", "The size of the gradients before an update is applied. It jumps when training becomes unstable, and is NaN once values become invalid."},
	{"group rank", "The number of a rank inside one process group. Rank 3 of a group can be any global rank."},
	{"heartbeat monitor", "A PyTorch thread that kills the process when the watchdog itself has not responded for several minutes."},
	{"host", "The machine around the GPUs: processors, memory, operating system. Here the same thing as a node."},
	{"kernel", "Either a function that runs on the GPU or the core of the operating system. The kernel log is the operating system's."},
	{"LinkDownedCounter", "An InfiniBand port's count of times the link went down. If it grows while the job runs, a cable, transceiver or port is bad."},
	{"local rank", "A process's number on its own node, usually also its GPU's number there. Several ranks in a job share the same local rank."},
	{"loss scale", "A factor by which mixed-precision training multiplies the loss so that small gradients survive. It falls when gradients overflow."},
	{"m4a in BytesIO", "Some audio backends can't read m4a or AAC from memory, where no file name shows the format. Give them a file with its extension, or convert to FLAC or WAV."},
	{"micro-batch", "The part of a batch that goes through the model at once. A smaller one needs less GPU memory."},
	{"MTU", "The largest network packet a link can carry. If it differs along the path, small messages get through and large ones don't."},
	{"NaN", "“Not a number”, the result of undefined arithmetic such as 0/0. It spreads to everything it touches."},
	{"NCCL", "NVIDIA's library for communication between GPUs. Most training jobs run their collectives through it."},
	{"node", "One machine of the cluster, usually with several GPUs."},
	{"NVLink", "The fast connection between the GPUs of one node."},
	{"opCount", "NCCL's number for a collective within one communicator, in hexadecimal. Ranks with different numbers have called different numbers of collectives."},
	{"out of memory", "A memory request that couldn't be met (OOM). Running out of GPU memory and of host memory are different failures with different messages."},
	{"P2P", "Peer to peer: GPUs on one node read each other's memory without going through the host. Without it, NCCL uses host memory, which is several times slower."},
	{"PCIe", "The bus through which the processor talks to GPUs and network cards."},
	{"pipeline bubble", "The time pipeline stages sit idle while the pipeline fills and drains: (p−1)/(m+p−1) of a step with p stages and m micro-batches. With m below 4p it is large."},
	{"pipeline parallel", "The model's layers are split into stages on different ranks; activations pass from stage to stage by send and receive."},
	{"point-to-point", "A transfer between two ranks (send and receive). If both send first, or receive in different orders, each waits for the other."},
	{"PortRcvErrors", "An InfiniBand port's count of damaged packets. If it grows while the job runs, a cable, transceiver or port is bad."},
	{"PortXmitWait", "An InfiniBand port's count of ticks when it had data to send but no credits. It grows with congestion, and also with a slow receiver."},
	{"preemption", "SLURM takes a job's nodes for a higher-priority job. The preempted job is requeued or killed."},
	{"process group", "A set of ranks that run collectives together. A job with several kinds of parallelism has many; counters are comparable only within one group."},
	{"py-spy", "A tool that shows what a running Python process is doing, without stopping or changing it."},
	{"rank", "One process in a distributed job, usually with one GPU. Unless stated otherwise, the number is the global rank."},
	{"reduce-scatter", "A collective that combines all ranks' numbers and gives each rank one part of the result."},
	{"rendezvous", "The step at the start of a job in which processes find each other and agree on their ranks."},
	{"requeue", "SLURM puts a job back into the queue under the same job ID. Its log may then hold several runs."},
	{"ring algorithm", "NCCL passes data from rank to rank in a circle. It uses the full bandwidth, but latency grows with the number of ranks."},
	{"scheduler", "The program that allocates nodes to jobs, here SLURM."},
	{"sequence number", "The count of collectives in one process group. Ranks with different numbers have called a different number of collectives."},
	{"SIGABRT", "The signal a process raises to abort itself when it finds something wrong (exit code 134 or −6). The watchdog kills a rank this way."},
	{"SIGBUS", "The signal for accessing memory that can't be provided (135 or −7): often because /dev/shm is full or a mapped file vanished."},
	{"SIGKILL", "The signal that kills a process at once, with no message (exit code 137 or −9). The kernel sends it when memory runs out, but it isn't the only sender."},
	{"signal", "A notification from the operating system to a process, usually to exit. The exit code tells which signal it was."},
	{"SIGSEGV", "The signal for accessing memory the process doesn't own (139 or −11). The bug is in native code or, rarely, in the hardware."},
	{"SIGTERM", "The request to exit (exit code 143 or −15). After the first failure, launchers and SLURM send it to the remaining processes, so it is usually a consequence."},
	{"SLURM", "The scheduler on most GPU clusters: it starts jobs on nodes and kills them at their limits."},
	{"SLURM step", "One srun within a job: job 4242's first step is 4242.0. A step and its job can end differently."},
	{"step", "One update of the model during training. In SLURM, a step is something else: one srun within a job."},
	{"step time", "How long one step takes, in seconds. A synchronous job is only as fast as its slowest rank, so one slow GPU raises every rank's step time."},
	{"straggler", "The rank that others wait for: it hasn't entered the collective they are in."},
	{"SymbolErrorCounter", "An InfiniBand port's count of signal errors on the wire. If it grows while the job runs, a cable, transceiver or port is bad."},
	{"task", "One process started by srun. It equals a global rank only if each task is one rank; often a task is one torchrun per node."},
	{"TCPStore", "The small key-value server, usually on rank 0, through which ranks exchange addresses and flags. When its process exits, all other ranks lose their connection."},
	{"tensor parallel", "Individual layers are split across the ranks of a group, which exchange activations within every layer. Such groups usually stay within a node."},
	{"timeout", "How long a collective may take before the watchdog kills the job. It is set per process group; no NCCL variable sets it."},
	{"torchrun", "PyTorch's launcher. It starts one process per GPU on a node and kills them all when one fails."},
	{"torchrun agent", "The parent process of torchrun on each node. Its “root cause” is the first process this agent saw exit, not the cause of the failure."},
	{"traceback", "The list of calls that led to a Python exception. Read it from the last line upwards."},
	{"tree algorithm", "NCCL reduces along a tree, so latency grows with the logarithm of the number of nodes. It suits small messages and many nodes."},
	{"waiter", "A rank that entered a collective and waits in it. It reports the timeout, but it is a victim until proven otherwise."},
	{"watchdog", "A PyTorch thread that kills the process when a collective exceeds its timeout. The rank that reports is usually not the one that caused it."},
	{"world size", "The number of ranks in the job."},
	{"Xid", "The number of an error that NVIDIA's driver writes to the kernel log. Some mean broken hardware (79, 94, 95), others a program bug (13, 31)."},
	{"ZeRO-3", "The third stage of DeepSpeed's ZeRO: parameters, gradients and optimizer state are sharded across the ranks, and each layer is gathered when it is used. It saves memory for more communication."},
}

// aliases are other names of terms.
var aliases = map[string]string{
	"allreduce":     "all-reduce",
	"all_reduce":    "all-reduce",
	"allgather":     "all-gather",
	"ddp":           "DistributedDataParallel",
	"oom":           "out of memory",
	"dataloader":    "DataLoader worker",
	"loader worker": "DataLoader worker",
	"exit codes":    "exit code",
	"batches":       "micro-batch",
	"bubble":        "pipeline bubble",
	"overlap":       "compute-communication overlap",
	"ring":          "ring algorithm",
	"tree":          "tree algorithm",
	"moe imbalance": "expert imbalance",
	"peer to peer":  "P2P",
}

var glossaryIndex = sync.OnceValue(func() map[string]Term {
	out := make(map[string]Term, len(glossary)+len(aliases))
	for _, t := range glossary {
		out[strings.ToLower(t.Name)] = t
	}
	for alias, name := range aliases {
		out[alias] = out[strings.ToLower(name)]
	}
	return out
})

// Glossary returns all terms, sorted by name without regard to case.
func Glossary() []Term { return slices.Clone(glossary) }

// TermByName finds a term by its name or another name for it, in any case, also in the plural with s.
func TermByName(name string) (Term, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	t, ok := glossaryIndex()[name]
	if !ok {
		t, ok = glossaryIndex()[strings.TrimSuffix(name, "s")]
	}
	return t, ok
}
