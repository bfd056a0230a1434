// Package preflight looks at the nodes of a job before its training starts: what each node has and allows, whether all nodes came,
// whether they agree, and how fast they reach each other. Gathering is apart from judging, which is pure.
package preflight

import "time"

// Facts are what one node says of itself. They cross the network: whoever reads them trusts none of it.
type Facts struct {
	Node   string `json:"node"`
	Kernel string `json:"kernel,omitempty"`
	CPUs   int    `json:"cpus"`
	// Memory, Free, Shm and ShmFree are bytes: of the node, of it available, of /dev/shm.
	Memory  int64 `json:"memory"`
	Free    int64 `json:"free"`
	Shm     int64 `json:"shm"`
	ShmFree int64 `json:"shm_free"`
	// OpenFiles and Locked are limits of this process, -1 = unlimited, 0 = not read.
	OpenFiles int64 `json:"open_files"`
	Locked    int64 `json:"locked"`
	GPUs      []GPU `json:"gpus,omitempty"`
	// GPUTrouble is why the GPUs could not be listed, "" where there are none or they were.
	GPUTrouble string            `json:"gpu_trouble,omitempty"`
	Env        map[string]string `json:"env,omitempty"` // the variables of Variables that are set
	Interfaces []Interface       `json:"interfaces,omitempty"`
	Ports      []Port            `json:"ports,omitempty"`
	Dirs       []Dir             `json:"dirs,omitempty"`
	Names      []Lookup          `json:"names,omitempty"`
	Libraries  []Library         `json:"libraries,omitempty"`
	Libc       string            `json:"libc,omitempty"` // "glibc 2.36"
	// Slow are probes that did not end in time.
	Slow []string `json:"slow,omitempty"`
	// Offset is how far the lead's clock is ahead of this node's, in seconds, ± Unsure; measured when the nodes meet.
	Offset float64 `json:"offset,omitempty"`
	Unsure float64 `json:"unsure,omitempty"`
	// To is the node that this one sent to, at Rate bytes a second; Best is what the network would have carried, had both ends always
	// been ready. Broken is why it could not send.
	To     string  `json:"to,omitempty"`
	Rate   float64 `json:"rate,omitempty"`
	Best   float64 `json:"best,omitempty"`
	Broken string  `json:"broken,omitempty"`
	// Bus is what the GPUs of the node carry among them, by size; RDMA what it wrote to To, in bytes a second. The troubles say why they
	// could not be measured.
	Bus         []Measure `json:"bus,omitempty"`
	BusTrouble  string    `json:"bus_trouble,omitempty"`
	RDMA        float64   `json:"rdma,omitempty"`
	RDMATrouble string    `json:"rdma_trouble,omitempty"`
	// RDMAPort is where this node serves another's measurement.
	RDMAPort string `json:"rdma_port,omitempty"`
	// Over is the interface that it sent over, MTU that interface's.
	Over string `json:"over,omitempty"`
	MTU  int    `json:"mtu,omitempty"`
	// Taken is why the job could not open its rendezvous port on this node, which is the one of MASTER_ADDR; Unreached is why
	// this node could not reach that port while it was open.
	Taken     string `json:"taken,omitempty"`
	Unreached string `json:"unreached,omitempty"`
	// Lost is true where the node connected and its facts never arrived.
	Lost bool `json:"lost,omitempty"`
	// Listen is where this node takes data of another.
	Listen string `json:"listen,omitempty"`
}

// GPU is one line of nvidia-smi.
type GPU struct {
	Index  int    `json:"index"`
	Name   string `json:"name"`
	Driver string `json:"driver"`
	Memory int64  `json:"memory"` // MiB
	Used   int64  `json:"used"`   // MiB
	// Clock and MostClock are MHz of the processors now and at most, 0 = not told.
	Clock     int `json:"clock,omitempty"`
	MostClock int `json:"most_clock,omitempty"`
	// Slowdown is why the clocks are held down, "" = they are not.
	Slowdown string `json:"slowdown,omitempty"`
}

// Interface is a network interface that is up.
type Interface struct {
	Name string `json:"name"`
	MTU  int    `json:"mtu"`
}

// Port is one of an InfiniBand or RoCE adapter.
type Port struct {
	Device string `json:"device"`
	Port   string `json:"port"`
	State  string `json:"state"` // ACTIVE, DOWN, INIT, ARMED
	Rate   string `json:"rate"`  // "400 Gb/sec (4X NDR)"
}

// Dir is a directory that the job needs.
type Dir struct {
	Path    string  `json:"path"`
	Write   bool    `json:"write"` // to write to; else to read
	Trouble string  `json:"trouble,omitempty"`
	Free    int64   `json:"free,omitempty"`
	Rate    float64 `json:"rate,omitempty"` // bytes a second, written and synchronised
}

// Lookup is a name and what it resolved to.
type Lookup struct {
	Name    string   `json:"name"`
	Addrs   []string `json:"addrs,omitempty"`
	Trouble string   `json:"trouble,omitempty"`
}

// Library is a shared library that the job loads.
type Library struct {
	Name    string `json:"name"`
	Path    string `json:"path,omitempty"`
	Version string `json:"version,omitempty"`
	Trouble string `json:"trouble,omitempty"`
	// Implied is true where nobody asked for it: the job may run in a container that has its own.
	Implied bool `json:"implied,omitempty"`
}

// Variables are those that nodes must agree on, or that are shown where something is wrong.
var Variables = []string{"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "NNODES", "NCCL_SOCKET_IFNAME", "NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_P2P_DISABLE",
	"NCCL_ALGO", "NCCL_PROTO", "NCCL_NET", "NCCL_TIMEOUT", "NCCL_DEBUG", "CUDA_VISIBLE_DEVICES", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "LD_LIBRARY_PATH"}

// Wants are what the job needs.
type Wants struct {
	GPUs       int   // of each node, 0 = not stated
	Checkpoint int64 // bytes that one checkpoint takes, 0 = not stated
	MTU        int   // least of the interfaces that carry data, 0 = not stated
	Baseline   Baseline
}

// Level is how bad a finding is.
type Level string

// Fail stops the job, Warn is printed.
const (
	Fail Level = "fail"
	Warn Level = "warn"
)

// Prefix is what each line of a result begins with: it stands in the job's log among lines of others.
const Prefix = "bot check: "

// Finding is one thing that is wrong.
type Finding struct {
	Node  string `json:"node"` // "" = of several nodes
	Level Level  `json:"level"`
	Check string `json:"check"`
	Text  string `json:"text"`
	Fix   string `json:"fix,omitempty"`
}

// Bounds of a check.
const (
	ofProbe   = 20 * time.Second // one probe
	mostNodes = 4096
	mostFacts = 256 << 10 // bytes of one node's facts
	mostText  = 200       // bytes of a text of another node
)
