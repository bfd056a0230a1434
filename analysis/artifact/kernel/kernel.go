// Package kernel reads kernel logs: dmesg in all its forms, the journal, syslog. It says what the kernel and its drivers
// reported of GPUs, links, memory and processes, and when by which clock; what of it concerns a job is not its business.
//
// Formats: util-linux dmesg (plain, -T, -d, -H, --time-format iso, --decode, --json), journalctl -k (short, short-iso, short-precise),
// rsyslog's traditional and RFC 5424-like file formats, each behind the labels of srun -l and pdsh. Messages: NVIDIA's driver (Xid,
// SXid, NVRM; open-gpu-kernel-modules 515 to 590), amdgpu, PCIe AER, mm/oom_kill.c, kernel/hung_task.c, mlx5_core, EDAC and MCE, the
// block layer, NVMe, MD, ext4 and XFS of Linux 4.18 to 6.12.
package kernel

import "faultline/analysis/line"

// Kind is what an event is.
type Kind int

// Kinds of events.
const (
	Xid      Kind = iota // Number, PCI, Pid, Name; Fatal for NVLink 5; Previous for 45
	SXid                 // Number, PCI, Fatal
	OffBus               // NVRM says that a GPU has fallen off the bus, without an Xid; PCI if stated
	AER                  // PCI of who reports, Fatal; Name is the severity
	AMDGPU               // PCI; Name is what: "ring timeout", "reset", "uncorrectable", "page fault", "reset succeeded"
	OOM                  // Pid, Name; Cgroup and Job if stated, Global
	HungTask             // Pid, Name; Stack are the modules of its call trace
	Lockup               // soft or hard lock-up of a CPU; Name is the process
	Machine              // machine check or EDAC; Fatal where uncorrected
	Link                 // a port of a network card; Name is the interface; Down
	Storage              // a file system or its server does not answer; Name is which
	Disk                 // a disk of the machine, or the file system on it, met errors; Name is the device
	Booted               // the kernel's first line: what stands above is of the boot before
)

// NotStarted is the Name of an OffBus event where the GPU answers, and the driver could not start it.
const NotStarted = "not started"

// Event is one report, or several that are alike.
type Event struct {
	Kind   Kind
	Number int
	// PCI is an address as "0000:65:00" (domain, bus, device), "" if not stated.
	PCI  string
	Pid  int    // −1 unknown
	Name string // of the process, or see Kind
	// Fatal: the line calls it fatal or uncorrected; NonFatal: it says that it is not. Neither where it says nothing.
	Fatal, NonFatal bool
	Previous        int // Xid 45 "caused by previous Xid N"; 0 not stated
	Links           int // number of the NVLink; −1 unknown
	Cgroup, Job     string
	Global          bool // out of memory of the whole node, not of one cgroup
	Down            bool
	Stack           []string // modules and functions of a call trace that tell where it waits
	Message         string   // without the header, bounded
	// Count is how many lines say the same (kind, number, address, process, host). Last is where the last of them stands.
	Count int
	Place
	Last Place
}

// Lost says what an event of a link means; where no interface is named, the adapter itself failed.
func (e *Event) Lost() string {
	if e.Name == "" {
		return "the network adapter " + e.PCI + " failed"
	}
	return "the link on " + e.Name + " went down"
}

// Place is where a line stands and what its header states.
type Place struct {
	Line int64 // 1-based
	Off  int64
	Len  int
	// Host is what the line names, "" if nothing. Task is srun's label, −1 unknown.
	Host  string
	Task  int
	Stamp line.Stamp
	// Boot is which boot of this file the line is of, from 0.
	Boot int
}

// Log is what one file says.
type Log struct {
	Events []Event // in the order of the file
	// Hosts are those that lines name, in the order of the alphabet.
	Hosts []string
	Lines int64
	// Kernel is how many of the lines have a header of the kernel's.
	Kernel int64
	// First and Last are the first and the last line with a stamp.
	First, Last Place
	// Clocks are lines that tie seconds since boot to a wall clock, by boot.
	Clocks []Clock
	// Damaged says what of the file could not be read; "" if all was.
	Damaged string
}

// Clock ties the seconds since boot to a wall clock.
type Clock struct {
	Place
	Uptime float64
	// Wall is the same instant as written.
	Wall line.Stamp
}

// Bounds of what is kept.
const (
	maxEvents  = 8192
	maxMessage = 400
	maxStack   = 8
	maxHosts   = 1024
	maxClocks  = 64
	maxLine    = 1 << 16
	// maxDocument is how much JSON in one line is read: a kernel's buffer is seldom larger than a MiB.
	maxDocument = 16 << 20
	maxName     = 64
)
