package knowledge

import "strings"

// Xid is one number of the errors that NVIDIA's driver writes to the kernel log.
type Xid struct {
	Number    int
	Name      string // short, as the catalogue names it
	Meaning   string // one sentence for people
	Role      Role
	Mechanism Slug // slug this number speaks for, or ""
	// Check is what to do first where no mechanism says it; a second line is a command.
	Check string
	// Action is what the catalogue tells to do at once, in its own words ("RESTART_APP"); "" where it tells nothing.
	Action string
	Harm   Harm
	Fault  Fault
}

// Harm is what ends with an Xid.
type Harm int

const (
	HarmUnknown Harm = iota
	HarmNothing      // work goes on
	HarmProcess      // the process that owned the work: the error is contained
	HarmGPU          // whatever uses the GPU
)

// Fault is whose fault an Xid is, as far as the number alone tells.
type Fault int

const (
	FaultUnknown  Fault = iota
	FaultNobody         // it tells of no fault: a repair, a warning
	FaultProgram        // the program, mostly: it accuses no hardware
	FaultDriver         // driver or firmware
	FaultHardware       // the GPU, its memory, its power or its way to the host
	FaultLink           // the link between GPUs, or what is at its other end
	FaultEcho           // of something that failed before
)

// xidActions say in plain words what the catalogue's own words for what to do mean.
var xidActions = map[string]string{
	"CHECK_MECHANICALS":    "check the board's seating, cables and power",
	"CHECK_UVM":            "read what the unified-memory driver (nvidia-uvm) logged",
	"CONTACT_SUPPORT":      "contact the vendor's support",
	"IGNORE":               "nothing needs to be done",
	"RESET_GPU":            "reset the GPU before anything else runs on it",
	"RESTART_APP":          "restart the program",
	"RESTART_BM":           "restart the node",
	"RESTART_VM":           "restart the virtual machine",
	"UPDATE_SWFW":          "update the driver or firmware",
	"WORKFLOW_NVLINK5_ERR": "follow NVIDIA's steps for NVLink 5 errors",
	"WORKFLOW_NVLINK_ERR":  "follow NVIDIA's steps for NVLink errors",
	"WORKFLOW_XID_45":      "follow NVIDIA's steps for this Xid: look for what came before it",
	"WORKFLOW_XID_48":      "follow NVIDIA's steps for this Xid: look for Xid 63, 64, 94 or 95 at the same time",
	"XID_154":              "do what the line itself says",
}

// Advises is what the catalogue tells to do at once, in its own word and in plain ones; "" where it tells nothing.
func (x Xid) Advises() string {
	if plain := xidActions[x.Action]; plain != "" {
		return x.Action + ": " + plain
	}
	return x.Action
}

// XidSource is where the numbers are explained by their maker.
const XidSource = "NVIDIA Xid catalogue, docs.nvidia.com/deploy/xid-errors"

// Xids returns the table, by number.
func Xids() []Xid { return append([]Xid(nil), xids...) }

// XidByNumber finds one number.
func XidByNumber(n int) (Xid, bool) {
	for _, x := range xids {
		if x.Number == n {
			return x, true
		}
	}
	return Xid{}, false
}

// Recorded is what Xid 63 and 64 are about, which depends on the GPU: until Volta and Turing pages of memory were retired, from
// Ampere on rows are remapped. The line itself tells ("Row Remapper: …", "Dynamic Page Retirement: …"); "" where it does not.
// Source: open-gpu-kernel-modules, inforom and row remapper messages; NVIDIA GPU Memory Error Management.
func Recorded(text string) string {
	switch {
	case strings.Contains(text, "Row Remapper"), strings.Contains(text, "Row remap"), strings.Contains(text, "row remap"):
		return "row remapping"
	case strings.Contains(text, "Page Retirement"), strings.Contains(text, "page retirement"), strings.Contains(text, "retired page"), strings.Contains(text, "Dynamic Page"):
		return "page retirement"
	}
	return ""
}
