package knowledge

import (
	"cmp"
	"slices"
	"strings"

	"faultline/knowledge/collect"
)

// Lasting is how long an artefact can be had.
type Lasting int

const (
	OfProcess Lasting = iota // while the processes of the job live
	OfNode                   // on the node, until somebody cleans up, reboots it or what is newer takes its place
	OfSite                   // kept by others
	OfNext                   // only if it was asked for before the job began
)

// Artefact is something that people can collect beside the logs of workers and hand in.
type Artefact struct {
	Slug  string
	What  string // as an answer to "what is needed?"
	Why   string
	Lasts Lasting
	// Command brings it: from the nodes after the end of the job, or from wherever it is kept. Alive brings it from a job whose processes
	// still live, Next makes the next run leave it; "" where there is no such way. Placeholders are those of Advice, and {dumps}, the
	// files that flight recorders wrote.
	Command, Alive, Next string
}

// UnseenRanks is what is needed where ranks sent no log.
const UnseenRanks = "the missing ranks' logs"

// Artefacts of the table, by slug.
const (
	FlightRecorder = "flight-recorder"
	Stacks         = "stacks"
	KernelLog      = "kernel"
	NCCLRAS        = "nccl-ras"
	NCCLLog        = "nccl-log"
	GPUState       = "gpu-state"
	FabricCounters = "fabric"
	SlurmRecords   = "slurm-records"
	PeerLogs       = "peer-logs"
	StorageLogs    = "storage-logs"
	Replay         = "replay"
	Bundle         = "collected" // all that can be had of a job that hangs right now
)

// collectCommand prints what to paste: it takes everything at once.
const collectCommand = collect.Short + "{job}"

// eachNode runs a command on every node of the job and keeps what it says in a file that is named after the node.
func eachNode(command, file string) string {
	return "for h in $(scontrol show hostnames '{nodes}'); do ssh \"$h\" '" + command + "' > \"" + file + "-$h.txt\"; done"
}

// LogsOfJob fetches what a job wrote, from a folder that is filled in where it is known; else nobody is shown it.
const LogsOfJob = "scp '<cluster>:<log dir>/*{job}*' logs/"

var artefacts = []Artefact{
	{Slug: FlightRecorder, What: "flight-recorder dumps from all ranks", Why: "they list every collective on every rank, with its group's members", Lasts: OfNode,
		Alive:   collectCommand,
		Command: "mkdir -p dumps; for h in $(scontrol show hostnames '{nodes}'); do scp \"$h:{dumps}\" dumps/; done",
		Next:    "export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"},
	{Slug: Stacks, What: "Python stacks from the stalled rank (py-spy dump)", Why: "shows whether it was loading data, saving, waiting in another backend, or blocked in the kernel", Lasts: OfProcess,
		Alive: collectCommand, Next: "pgrep -f train | xargs -n 1 py-spy dump --pid   # on the node that hangs"},
	{Slug: KernelLog, What: "the nodes' kernel logs", Why: "a hung GPU or failed link leaves Xid or mlx5 lines there", Lasts: OfNode,
		Command: eachNode("dmesg -T", "dmesg"), Alive: collectCommand},
	{Slug: NCCLRAS, What: "NCCL RAS output for the communicators", Why: "it shows which ranks are behind, in which operation, and which don't respond", Lasts: OfProcess,
		Alive: collectCommand, Next: "ncclras -v > ras.txt   # on any node, while it hangs; NCCL 2.24 or newer"},
	{Slug: NCCLLog, What: "NCCL logs from all ranks", Why: "they show which GPU belongs to which communicator, and how far each rank got", Lasts: OfNext,
		Next: "export NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL,NET NCCL_DEBUG_FILE=$PWD/nccl.%h.%p.log"},
	{Slug: GPUState, What: "GPU state on the nodes (nvidia-smi -q)", Why: "it shows what is using their memory, their error counts, and any links that are down", Lasts: OfNode,
		Command: eachNode("nvidia-smi -q", "nvidia-smi"), Alive: collectCommand},
	{Slug: FabricCounters, What: "error counters from the nodes' network ports", Why: "rising errors on one port distinguish a broken link from a dead peer", Lasts: OfNode,
		Command: eachNode("ibstat; perfquery -x; ip -s link", "counters"), Alive: collectCommand},
	{Slug: SlurmRecords, What: "SLURM's accounting records for the job", Why: "they show whether a limit, a person or the OOM killer ended it", Lasts: OfSite,
		Command: "sacct -D -P -j {job} -o JobID,State,ExitCode,DerivedExitCode,NodeList,Start,End,Reason > sacct.txt"},
	{Slug: PeerLogs, What: "logs from the peer that disappeared", Why: "it failed first and should say why; the other processes only noticed", Lasts: OfSite,
		Command: LogsOfJob},
	{Slug: StorageLogs, What: "storage logs from that time", Why: "they distinguish a slow or broken store from a slow decoder or network", Lasts: OfNode},
	{Slug: Bundle, What: "stacks, dumps and counters from all nodes, while it hangs", Why: "most of it is lost once the job ends", Lasts: OfProcess,
		Alive: collectCommand, Next: collectCommand},
	{Slug: Replay, What: "a replay of the preceding steps from the last good checkpoint, on other nodes",
		Why: "if it fails at the same step, the data or code is at fault; if not, a machine computes wrongly", Lasts: OfSite,
		Command: "sbatch --exclude={root} … --load=CHECKPOINT --seed=SAME"},
}

// decider says which artefacts tell two mechanisms apart that leave the same lines in the logs of workers, the surest first.
type decider struct {
	between [2]Slug
	by      []string
}

var deciders = []decider{
	// Who did not come, and who came and whose GPU does not go on, differ in what was enqueued.
	{[2]Slug{CollectiveHang, RankStalled}, []string{FlightRecorder, Stacks, NCCLRAS}},
	{[2]Slug{GPUHang, RankStalled}, []string{FlightRecorder, Stacks, KernelLog}},
	// Everybody came: then a kernel did not begin, or a machine says so.
	{[2]Slug{CollectiveHang, GPUHang}, []string{FlightRecorder, KernelLog, FabricCounters}},
	{[2]Slug{CollectiveHang, CollectiveMismatch}, []string{FlightRecorder, NCCLRAS}},
	{[2]Slug{CollectiveMismatch, GPUHang}, []string{FlightRecorder, KernelLog}},
	{[2]Slug{CollectiveMismatch, LoneWaiter}, []string{FlightRecorder, Stacks}},
	{[2]Slug{CollectiveMismatch, RankStalled}, []string{FlightRecorder, Stacks}},
	{[2]Slug{CollectiveMismatch, UnevenData}, []string{FlightRecorder, Stacks}},
	{[2]Slug{CollectiveHang, LoneWaiter}, []string{FlightRecorder, Stacks}},
	{[2]Slug{CollectiveHang, UnevenData}, []string{FlightRecorder, Stacks}},
	{[2]Slug{GPUHang, LoneWaiter}, []string{FlightRecorder, Stacks}},
	{[2]Slug{LoneWaiter, RankStalled}, []string{FlightRecorder, Stacks}},
	// What the process was in tells a save from anything else.
	{[2]Slug{CheckpointIO, RankStalled}, []string{Stacks, FlightRecorder}},
	{[2]Slug{CheckpointIO, CollectiveHang}, []string{Stacks, FlightRecorder}},
	{[2]Slug{CheckpointIO, GPUHang}, []string{Stacks, FlightRecorder, KernelLog}},
	// Who killed it.
	{[2]Slug{ExternalSignal, HostOOM}, []string{KernelLog, SlurmRecords}},
	{[2]Slug{ExternalSignal, TimeLimit}, []string{SlurmRecords}},
	{[2]Slug{ExternalSignal, NativeCrash}, []string{KernelLog, SlurmRecords}},
	{[2]Slug{Completed, ExternalSignal}, []string{SlurmRecords}},
	{[2]Slug{CUDAError, GPUOOM}, []string{GPUState, KernelLog}},
	{[2]Slug{InitUnreachable, LinkError}, []string{FabricCounters, KernelLog}},
	{[2]Slug{InitUnreachable, PeerLost}, []string{PeerLogs}},
	{[2]Slug{PeerLost, RankStalled}, []string{Stacks, KernelLog, PeerLogs}},
	{[2]Slug{NonFiniteLoss, SilentCorruption}, []string{Replay, KernelLog}},
	{[2]Slug{AISBatchObjectLoss, Exception}, []string{StorageLogs}},
	{[2]Slug{Exception, StorageRetriesExhausted}, []string{StorageLogs}},
	{[2]Slug{CheckpointIO, StorageUnresponsive}, []string{KernelLog}},
	{[2]Slug{AISThrottled, StorageRetriesExhausted}, []string{StorageLogs}},
	{[2]Slug{AISBackend, StorageRetriesExhausted}, []string{StorageLogs}},
	{[2]Slug{AISBatchObjectLoss, AISThrottled}, []string{StorageLogs}},
}

// ArtefactBySlug finds an artefact by its slug.
func ArtefactBySlug(slug string) (Artefact, bool) {
	i := slices.IndexFunc(artefacts, func(a Artefact) bool { return a.Slug == slug })
	if i < 0 {
		return Artefact{}, false
	}
	return artefacts[i], true
}

// Deciding are the artefacts that tell the members of a set of mechanisms apart. First stand those that decide most pairs of them,
// among equals the surer.
func Deciding(set []Slug) []Artefact {
	pairs, place := map[string]int{}, map[string]int{}
	for _, d := range deciders {
		if !slices.Contains(set, d.between[0]) || !slices.Contains(set, d.between[1]) {
			continue
		}
		for i, slug := range d.by {
			pairs[slug]++
			place[slug] += i
		}
	}
	var out []Artefact
	for _, a := range artefacts {
		if pairs[a.Slug] > 0 {
			out = append(out, a)
		}
	}
	slices.SortStableFunc(out, func(a, b Artefact) int {
		return cmp.Or(cmp.Compare(pairs[b.Slug], pairs[a.Slug]), cmp.Compare(place[a.Slug], place[b.Slug]), strings.Compare(a.Slug, b.Slug))
	})
	return out
}

// Prepares is the artefact that this advice makes the next run leave: who has it need not be told.
func (a Advice) Prepares() string {
	if a == adviceRecorder {
		return FlightRecorder
	}
	return ""
}

// Takes is the artefact that this advice takes of the node or the process at fault, as long as it is there.
func (a Advice) Takes() string {
	switch a {
	case adviceStacks:
		return Stacks
	case adviceKernelLog:
		return KernelLog
	}
	return ""
}
