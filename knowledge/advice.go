package knowledge

import (
	"regexp"
	"slices"
	"strings"
)

// Advice that several mechanisms share. Two rules of the taxonomy hold here: nobody is told to drain or replace a node
// without a hardware sign from that node, and a command can be pasted as it stands.
var (
	adviceStacks = Advice{
		"If the job is still hanging, take a Python stack of the process blocking the other ranks, before the job ends.",
		"srun --jobid={job} --overlap --nodes=1 --ntasks=1 -w {node} py-spy dump --pid {pid}"}
	adviceLastWords = Advice{"Start with rank {rank}'s last line before the wait, {last}.", ""}
	adviceTraceback = Advice{"Start at {frame}; rank {rank}'s traceback ends at {line}.", ""}
	adviceRecorder  = Advice{
		"Enable the flight recorder for the next run: after a timeout it shows which collective each rank was in and the line of code that called it.",
		"export TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1 TORCH_NCCL_DEBUG_INFO_TEMP_FILE=$PWD/nccl_trace_rank_"}
	adviceGroupTimeout = Advice{
		"If the long work is legitimate, raise the timeout for that process group only: init_process_group(timeout=…) or new_group(timeout=…). There is no NCCL variable for it.", ""}
	adviceKernelLog = Advice{
		"Check the kernel log on {node} from {since} on: hardware errors and hung file systems leave lines there.",
		"ssh {node} 'dmesg -T | grep -Ei \"xid|nvrm|nvlink|ecc|aer|mce|hung_task|blocked for more than|out of memory\"'"}
	adviceExclude = Advice{
		"Exclude {node} when you resubmit, and test it before reuse.",
		"sbatch --exclude={root} …"}
	adviceGPUTest = Advice{
		"Test the GPUs on {node} while no job is running there.",
		"ssh {node} 'dcgmi diag -r 3; nvidia-smi -q -d ECC,ROW_REMAPPER'"}
	adviceDrain = Advice{
		"Drain {root}: it has a recorded hardware error.",
		"scontrol update NodeName={root} State=DRAIN Reason=\"GPU error, job {job}\""}
	adviceSacct = Advice{
		"Ask SLURM how each step ended; the job's own state doesn't show the cause.",
		"sacct -D -P -j {job} -o JobID,State,ExitCode,DerivedExitCode,NodeList,Start,End,Reason"}
	adviceAllLogs = Advice{
		"Collect the logs from every node and from the batch script: the missing one may be the one that matters.",
		"ls -l *{job}*"}
	adviceFabricTest = Advice{
		"Test the fabric between the job's nodes, then bisect to find the slow or silent one. Compare bus bandwidth, not algorithm bandwidth.",
		"srun -w {nodes} --ntasks-per-node=8 --gpus-per-node=8 all_reduce_perf -b 8M -e 4G -f 2 -g 1"}
	adviceResubmit   = Advice{"Resubmit from {save}.", ""}
	adviceNCCLWarn   = Advice{"Have NCCL write its warnings to one file per process (%h host, %p process), so they don't mix with the job's output.", "export NCCL_DEBUG=WARN NCCL_DEBUG_FILE=$PWD/nccl.%h.%p.log"}
	adviceCheckpoint = Advice{"Save checkpoints often enough that losing one interval doesn't hurt, and keep the last three.", ""}
)

// Resubmit is the advice to go on from the last save.
func Resubmit() Advice { return adviceResubmit }

// Placeholders are the names that {name} in Advice may hold: root is the nodes at fault, nodes those to look at, all of the job where none
// is at fault; target is the storage daemon at fault, mountpath and disk those of it that its log names. Last, frame, line and save are of the logs: what the rank wrote last before a wait, the
// innermost call of its own code, where the verdict's line stands, the checkpoint to resume from, and when the trouble began. They stand in
// sentences alone.
var Placeholders = []string{"job", "node", "nodes", "root", "rank", "pid", "target", "mountpath", "disk", Last, Frame, Line, Save, Since}

// The placeholders of what is in the logs.
const (
	Last  = "last"
	Frame = "frame"
	Line  = "line"
	Save  = "save"
	Since = "since"
)

// Names tells whether the sentence of an advice holds a placeholder.
func (a Advice) Names(name string) bool { return strings.Contains(a.Text, "{"+name+"}") }

// ofRunningJob is in commands that look into a job's own processes or change the job: when it is over they do nothing.
var ofRunningJob = regexp.MustCompile(`--overlap|\bpy-spy dump\b|\bscontrol update JobId=|\bscancel\b`)

// NeedsJob tells whether an advice can be followed only while the job is there.
func (a Advice) NeedsJob() bool { return ofRunningJob.MatchString(a.Command) }

var (
	placeholder = regexp.MustCompile(`\{([a-z]+)\}`)
	// Values come from logs and end in a shell: what is not plainly a name, a number or a host list is not filled in.
	// A name that began with '-' would be read as an option.
	safeValue = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.\-]*(\[[0-9,\-]+\])?(,[A-Za-z0-9_][A-Za-z0-9_.\-]*(\[[0-9,\-]+\])?)*$`)
)

// Pastable says that a value can stand in a command as it is.
func Pastable(value string) bool { return len(value) <= 4096 && safeValue.MatchString(value) }

// safePath is a path of plain names: nothing in it means anything to a shell, and it is no option.
var safePath = regexp.MustCompile(`^/?[A-Za-z0-9_.][A-Za-z0-9_.\-]*(/[A-Za-z0-9_.\-]+)*/?$`)

// pastableAs says that the value of a placeholder can stand in a command as it is.
func pastableAs(name, value string) bool {
	return Pastable(value) || (name == "path" || name == "item" || name == "mountpath") && len(value) <= 4096 && safePath.MatchString(value)
}

var (
	advicePods    = Advice{"Check what Kubernetes reports about the job's pods and their nodes.", "kubectl get events --sort-by=.lastTimestamp | tail -40; kubectl describe pod POD"}
	adviceNPU     = Advice{"Rerun the failing step with blocking launches, so the traceback points at the operator that failed.", "ASCEND_LAUNCH_BLOCKING=1 torchrun --nproc-per-node=8 train.py"}
	adviceROCm    = Advice{"Rerun the failing step with serialized kernels, so the traceback points at the one that failed.", "AMD_SERIALIZE_KERNEL=3 torchrun --nproc-per-node=8 train.py"}
	adviceTPU     = Advice{"Rerun it on other hosts: if it fails there too, suspect the program; if not, suspect this TPU.", ""}
	adviceSeesGPU = Advice{"Check whether {node} lists its GPUs, and whether the job requested them.", "ssh {node} nvidia-smi -L; echo $CUDA_VISIBLE_DEVICES; scontrol show job {job} | grep -i tres"}
	adviceMachine = Advice{"Use a machine with more memory, or fewer loader workers and less prefetch.", ""}
)

// lasting are the words of errors of a container's start that come again however often it is tried.
var lasting = []string{"No such file or directory", "no such file or directory", "Permission denied", "permission denied", "failed to execute", "Read-only file system",
	"No space left on device", "manifest unknown", "unauthorized", "not found"}

// StaysSo says that what a container's runtime gives for a container that did not start will not go away by itself.
func StaysSo(reason string) bool {
	return slices.ContainsFunc(lasting, func(word string) bool { return strings.Contains(reason, word) })
}

// unnamed is what a sentence says where the value is not known. What is no placeholder is a capture that entries' advice may hold.
var unnamed = map[string]string{Save: "the last completed checkpoint", Frame: "the innermost frame of your own code", Line: "this line", Since: "the time of the failure",
	"job": "the job", "node": "the node", "nodes": "the nodes", "root": "the node", "rank": "the affected rank", "pid": "the process", "target": "the target", "mountpath": "the failed mountpath",
	"host": "the host", "hosts": "those hosts", "peer": "the peer", "server": "the server", "port": "the port", "hca": "the card", "pci": "the GPU", "device": "the device",
	"path": "the path", "item": "the item", "library": "the library", "module": "the package", "process": "the process", "container": "the container",
	"interface": "the interface", "parameter": "the parameter"}

// captures says that advice holds what its line captures.
func (a Advice) captures() bool {
	return slices.ContainsFunc(placeholder.FindAllString(a.Text+a.Command, -1), func(m string) bool { return !slices.Contains(Placeholders, m[1:len(m)-1]) })
}

// Unfilled are the names in braces that an advice holds.
func (a Advice) Unfilled() (names []string) {
	for _, m := range placeholder.FindAllStringSubmatch(a.Text+a.Command, -1) {
		names = append(names, m[1])
	}
	return names
}

// WithCaptures adds to values what a line captures. Rank, node and job stay those that are proven: a line may mean another numbering.
func WithCaptures(values, captures map[string]string) map[string]string {
	for name, v := range captures {
		if name == "pid" || !slices.Contains(Placeholders, name) {
			values[name] = v
		}
	}
	return values
}

// Fill puts values into the placeholders of text and command. Without a value, or with one that is not safe to paste
// into a shell, a command gets the placeholder's name in capitals, so that the reader sees what to put there, and a
// sentence says "the node".
func (a Advice) Fill(values map[string]string) Advice {
	fill := func(s string, otherwise func(name string) string) string {
		return placeholder.ReplaceAllStringFunc(s, func(m string) string {
			name := m[1 : len(m)-1]
			if v := values[name]; pastableAs(name, v) {
				return v
			}
			return otherwise(name)
		})
	}
	text := a.Text
	for _, name := range []string{Frame, Line, Save, Since} {
		if v := values[name]; v != "" {
			text = strings.ReplaceAll(text, "{"+name+"}", strings.NewReplacer("{", "(", "}", ")").Replace(v))
		}
	}
	if v := values["rank"]; !safeValue.MatchString(v) {
		text = strings.ReplaceAll(text, "rank {rank}", "{rank}")
	}
	return Advice{
		Text: fill(text, func(name string) string {
			if words, ok := unnamed[name]; ok {
				return words
			}
			return strings.ToUpper(name)
		}),
		Command: fill(a.Command, func(name string) string {
			if name == "root" { // no word that an administrator would look for
				name = "node"
			}
			return strings.ToUpper(name)
		}),
	}
}
