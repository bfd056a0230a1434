// Package gpustate reads what tools say of the state of GPUs: nvidia-smi (its table, -q, --query-gpu as CSV, -L, topo -m, nvlink -e and -s, dmon, and
// what it says instead of them), dcgmi diag, dcgmi health and dcgmi nvlink -s, and the table of rocm-smi. It says what they print, not what it means for a job.
//
// Formats: nvidia-smi of drivers 418 to 580, DCGM 2.2 to 4.2, rocm-smi 5.7 to 6.3.
package gpustate

import "faultline/analysis/line"

// Form is what a file is.
type Form string

// Forms.
const (
	Table    Form = "nvidia-smi"
	Query    Form = "nvidia-smi -q"
	CSV      Form = "nvidia-smi --query-gpu"
	List     Form = "nvidia-smi -L"
	Topology Form = "nvidia-smi topo -m"
	Refusal  Form = "what nvidia-smi says instead of a table"
	Diag     Form = "dcgmi diag"
	Health   Form = "dcgmi health"
	ROCm     Form = "rocm-smi"
	XML      Form = "nvidia-smi -q -x"
	DiagJSON Form = "dcgmi diag -j"
	// LinkStatus is a letter for each NVLink of each GPU, Monitor one line for each GPU and second.
	LinkStatus Form = "dcgmi nvlink --link-status"
	Monitor    Form = "nvidia-smi dmon"
)

// Key names a value of a GPU, however a tool calls it.
type Key string

// Keys. The errors are counts; Pending, Failure and the Slow ones are 0 or 1.
const (
	Volatile  Key = "uncorrected errors since the driver was loaded" // ECC, all memories together
	Aggregate Key = "uncorrected errors in its life"
	Remapped  Key = "rows remapped for uncorrected errors"
	Pending   Key = "remapping or retirement pending"
	Failure   Key = "remapping failed"
	Retired   Key = "pages retired for double-bit errors"
	NVLink    Key = "NVLink errors"
	SlowHW    Key = "hardware slow-down"
	SlowHeat  Key = "hardware thermal slow-down"
	SlowPower Key = "power brake"
	SlowSoft  Key = "software thermal slow-down"
	Busy      Key = "utilisation in percent"
	Power     Key = "power in watts"
	Limit     Key = "power limit in watts"
	Heat      Key = "temperature in degrees"
	Clock     Key = "clock of the SMs in MHz"
	Used      Key = "memory used in MiB"
	NVLinkOn  Key = "NVLinks that are active"
	NVLinkOff Key = "NVLinks that are inactive"
	Relinked  Key = "NVLinks that had to be trained again"
	Width     Key = "lanes of PCIe in use"
	WidthMax  Key = "lanes of PCIe that there are"
	Gen       Key = "generation of PCIe in use" // falls when a GPU is idle
	GenMax    Key = "generation of PCIe that it can"
	Threshold Key = "limit of SRAM errors exceeded"
	Recovery  Key = "recovery asked for by the driver"
	Unread    Key = "values that could not be read" // "ERR!", "Unknown Error", "[GPU is lost]"
)

// Place is where a statement stands.
type Place struct {
	Line int64
	Off  int64
	Len  int
	Text string // bounded
}

// Value is one value of a GPU.
type Value struct {
	Key Key
	N   int64
	Place
}

// GPU is one device.
type GPU struct {
	Index  int    // −1 not stated
	PCI    string // "0000:65:00", "" not stated
	Values []Value
	Place
}

// Of is a value of the GPU; nil where the tool does not state it.
func (g *GPU) Of(k Key) *Value {
	for i := range g.Values {
		if g.Values[i].Key == k {
			return &g.Values[i]
		}
	}
	return nil
}

// Process is one that uses a GPU.
type Process struct {
	GPU int
	PCI string
	Pid int
	Place
}

// Trouble is a sentence by which a tool says that it cannot reach a GPU, or that a test failed.
type Trouble struct {
	// Kind: handle (the driver lists a GPU and cannot talk to it), lost, none (no GPU at all), driver (the driver does not answer),
	// test (a test of DCGM failed), health (a watch of DCGM reports a failure or a warning).
	Kind string
	PCI  string
	GPU  int // −1 not stated
	// What is the test or the watch; Warning: it is less than a failure.
	What    string
	Warning bool
	Place
}

// State is what one file says of one node.
type State struct {
	Form Form
	// Host is the node by a label in front of the lines, or by a heading or prompt above them; "" where none names one.
	Host      string
	Stamp     line.Stamp // when the tool ran, if it says so
	GPUs      []GPU
	Processes []Process
	Troubles  []Trouble
}

// Bounds.
const (
	maxGPUs      = 1024
	maxProcesses = 4096
	maxTroubles  = 512
	maxLine      = 1 << 16
	maxText      = 300
	// HeadLen is how much of a file Recognise wants to see.
	HeadLen = 8 << 10
)
