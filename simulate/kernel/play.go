// Package kernel plays small incidents whose cause stands in the kernel log of a node, or seems to: the job's own logs leave a set
// open, and a kernel log decides it, or must not. The wording is that of NVIDIA's driver, Linux and PyTorch, never of our readers.
package kernel

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Fault is what the kernel log tells.
type Fault string

// Faults that are the cause, and controls, which are not.
const (
	OffBus     Fault = "off-bus"      // Xid 79
	OffBusLoud Fault = "off-bus-loud" // with errors of PCIe before and GSP time-outs after it
	ECC        Fault = "ecc"          // Xid 48, 63 and 95 under a CUDA error
	Contained  Fault = "contained"    // Xid 94 of one of the job's processes
	NVLink     Fault = "nvlink"       // Xid 74
	NVLink5    Fault = "nvlink5"      // Xid 149, and 45 because of it
	Switch     Fault = "switch"       // a fatal SXid
	GSP        Fault = "gsp"          // Xid 119
	Timeout    Fault = "timeout"      // Xid 109 while others wait
	Program    Fault = "program"      // Xid 31 and 43 under an illegal memory access
	OOM        Fault = "oom"          // the cgroup's limit, under a SIGKILL
	Storage    Fault = "storage"      // a process that sleeps in NFS
	AMD        Fault = "amd"          // a ring that timed out
	Port       Fault = "port"         // the link of a network card

	LongBefore  Fault = "control: long before"
	Teardown    Fault = "control: after the report"
	Repair      Fault = "control: a row was remapped"
	OtherNode   Fault = "control: a node of another job"
	OtherGPU    Fault = "control: a GPU of another job"
	OtherProc   Fault = "control: contained in another job's process"
	OtherOOM    Fault = "control: out of memory in another job"
	Corrected   Fault = "control: corrected errors of PCIe"
	Healthy     Fault = "control: the job ended well"
	NonFatal    Fault = "control: errors that are not fatal"
	TwoUndated  Fault = "control: two nodes, no time"
	OtherTask   Fault = "control: a script sleeps in NFS"
	SurvivedXid Fault = "control: training went on"
)

// Faults are all that can be the cause, Controls all that cannot.
func Faults() []Fault {
	return []Fault{OffBus, OffBusLoud, ECC, Contained, NVLink, NVLink5, Switch, GSP, Timeout, Program, OOM, Storage, AMD, Port}
}

// Controls are what must not be taken for the cause.
func Controls() []Fault {
	return []Fault{LongBefore, Teardown, Repair, OtherNode, OtherGPU, OtherProc, OtherOOM, Corrected, Healthy, NonFatal, TwoUndated, OtherTask, SurvivedXid}
}

// Form is how the log was taken.
type Form string

// Forms.
const (
	Ctime   Form = "dmesg -T"
	Plain   Form = "dmesg"         // seconds since boot, with the line that sets the clock
	Bare    Form = "dmesg, cut"    // without that line: no time
	Journal Form = "journalctl -k" // short
	ISO     Form = "journalctl -k -o short-iso"
	Syslog  Form = "syslog"
	Labels  Form = "srun -l dmesg -T"
)

// Forms are all.
func Forms() []Form { return []Form{Ctime, Plain, Bare, Journal, ISO, Syslog, Labels} }

// Spec selects one incident.
type Spec struct {
	Seed  uint64
	Fault Fault
	Form  Form
	// Nodes and GPUs of each.
	Nodes, PerNode int
	// NCCL: the job logs NCCL's lines, which tie addresses to ranks.
	NCCL bool
	// Zone is how many hours the kernel's clock is ahead of the containers'.
	Zone int
}

// Truth is what the bytes determine.
type Truth struct {
	// Mechanisms are what may be the verdict's first, nothing else; for a control what the logs alone leave.
	Mechanisms []string
	// Ranks and Nodes may be named, and nobody else. Exact: the ranks must be.
	Ranks []int
	Nodes []string
	Exact bool
	// GPU is the address at fault, "" none.
	GPU string
	// Set says that the job's logs alone leave more than one mechanism.
	Set bool
}

// Incident is one case.
type Incident struct {
	Logs, Evidence map[string][]byte
	Truth          Truth
}

type player struct {
	Spec
	rng   *rand.Rand
	nodes []string
	gpus  []string // addresses, the same on every node
	start time.Time
	stuck time.Time
	bad   int // the rank at fault
	job   int
	logs  map[string]*strings.Builder
	kern  map[string]*klog
}

// Play makes the incident of a spec.
func Play(s Spec) *Incident {
	p := &player{Spec: s, rng: rand.New(rand.NewPCG(s.Seed, 7)), logs: map[string]*strings.Builder{}, kern: map[string]*klog{}, job: 4242}
	first := 3 + p.rng.IntN(40)
	for i := range s.Nodes {
		n := fmt.Sprintf("gpu%02d", first+i)
		p.nodes = append(p.nodes, n)
		p.logs[n], p.kern[n] = &strings.Builder{}, &klog{node: n, form: s.Form, zone: s.Zone, boot: time.Date(2025, 5, 20, 3, 11, 7, 0, time.UTC), task: i}
	}
	for i := range s.PerNode {
		p.gpus = append(p.gpus, fmt.Sprintf("0000:%02x:00", 0x1b+0x0c*i+p.rng.IntN(8)))
	}
	p.start = time.Date(2025, 6, 3, 14, p.rng.IntN(60), p.rng.IntN(60), 0, time.UTC)
	p.stuck = p.start.Add(time.Duration(1800+p.rng.IntN(1200)) * time.Second)
	p.bad = p.rng.IntN(s.Nodes * s.PerNode)
	inc := &Incident{Logs: map[string][]byte{}, Evidence: map[string][]byte{}}
	p.begin()
	inc.Truth = p.play()
	for _, n := range p.nodes {
		inc.Logs[fmt.Sprintf("error-%d-%s.out", p.job, n)] = []byte(p.logs[n].String())
	}
	for n, k := range p.kern {
		if text := k.text(); text != "" {
			inc.Evidence[n+".dmesg.log"] = []byte(text)
		}
	}
	return inc
}

func (p *player) world() int             { return p.Nodes * p.PerNode }
func (p *player) node(rank int) string   { return p.nodes[rank/p.PerNode] }
func (p *player) gpu(rank int) string    { return p.gpus[rank%p.PerNode] }
func (p *player) pid(rank int) int       { return 41000 + 3*rank }
func (p *player) at(s float64) time.Time { return p.stuck.Add(time.Duration(s * float64(time.Second))) }

func (p *player) say(rank int, format string, args ...any) {
	fmt.Fprintf(p.logs[p.node(rank)], format+"\n", args...)
}

// begin writes what a job prints until it gets stuck: Megatron-LM's lines, and NCCL's where it was asked for them.
func (p *player) begin() {
	w := p.world()
	p.say(0, "using world size: %d, data-parallel size: %d, context-parallel size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: 1 ", w, w)
	if p.NCCL {
		for r := range w {
			p.say(r, "%s:%d:%d [%d] NCCL INFO ncclCommInitRank comm 0x%x rank %d nranks %d cudaDev %d nvmlDev %d busId %s commId 0x9a3c51d2 - Init COMPLETE",
				p.node(r), p.pid(r), p.pid(r)+900, r%p.PerNode, 0x55d0c0de0000+r*4096, r, w, r%p.PerNode, r%p.PerNode, strings.TrimLeft(p.gpu(r)[5:7], "0")+"000")
		}
	}
	step := 100
	for t := p.start; t.Before(p.stuck); t = t.Add(50 * time.Second) {
		p.step(t, step)
		step += 10
	}
}

func (p *player) step(t time.Time, n int) {
	p.say(p.world()-1, " [%s] iteration %8d/  500000 | consumed samples: %12d | elapsed time per iteration (ms): 5000.1 | learning rate: 1.500000E-04 | global batch size:   256 | lm loss: 2.%06d | loss scale: 1.0 | grad norm: 0.412 | number of skipped iterations:   0 | number of nan iterations:   0 |",
		t.Format("2006-01-02 15:04:05"), n, n*256, 154321-n)
}

const limit = 600 // seconds until a watchdog gives up

// hang writes the watchdogs of PyTorch 2.6: these ranks wait in the same all-reduce.
func (p *player) hang(skip map[int]bool) {
	for r := range p.world() {
		if skip[r] {
			continue
		}
		t := p.at(limit + p.rng.Float64())
		c10 := fmt.Sprintf("[rank%d]:[E%d%02d %s.%09d ProcessGroupNCCL.cpp:", r, t.Month(), t.Day(), t.Format("15:04:05"), p.rng.IntN(1e9))
		work := fmt.Sprintf("WorkNCCL(SeqNum=1580, OpType=ALLREDUCE, NumelIn=4660000, NumelOut=4660000, Timeout(ms)=%d000)", limit)
		p.say(r, "%s629] [Rank %d] Watchdog caught collective operation timeout: %s ran for %d milliseconds before timing out.", c10, r, work, limit*1000+int(t.Sub(p.at(limit)).Milliseconds()))
		p.say(r, "%s2168] [PG ID 0 PG GUID 0(default_pg) Rank %d]  failure detected by watchdog at work sequence id: 1580 PG status: last enqueued work: 1582, last completed work: 1579", c10, r)
	}
	for r := range p.world() {
		if !skip[r] {
			t := p.at(limit + 2)
			p.say(r, "[rank%d]:[E%d%02d %s.%09d ProcessGroupNCCL.cpp:681] [Rank %d] To avoid data inconsistency, we are taking the entire process down.", r, t.Month(), t.Day(), t.Format("15:04:05"), p.rng.IntN(1e9), r)
		}
	}
}

// cuda writes the exception of one rank.
func (p *player) cuda(rank int, text string) {
	for _, l := range []string{"Traceback (most recent call last):", `  File "/app/train.py", line 214, in <module>`, "    main()", `  File "/app/train.py", line 160, in main`, "    loss.backward()",
		"RuntimeError: CUDA error: " + text, "CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect."} {
		p.say(rank, "[rank%d]: %s", rank, l)
	}
}

// failed writes torchrun's block for one process.
func (p *player) failed(rank, code int, at time.Time) {
	p.say(rank, "============================================================\n/app/train.py FAILED\n------------------------------------------------------------\nFailures:\n  <NO_OTHER_FAILURES>\n------------------------------------------------------------\nRoot Cause (first observed failure):\n[0]:")
	p.say(rank, "  time      : %s\n  host      : %s\n  rank      : %d (local_rank: %d)\n  exitcode  : %d (pid: %d)\n  error_file: <N/A>\n  traceback : Signal %d received by PID %d\n============================================================",
		at.Format("2006-01-02_15:04:05"), p.node(rank), rank, rank%p.PerNode, code, p.pid(rank), -code, p.pid(rank))
}
