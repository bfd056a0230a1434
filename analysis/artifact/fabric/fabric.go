// Package fabric reads what tools say of the network of one host, or of the whole fabric: state and speed of ports (ibstat, ibstatus,
// ibv_devinfo, ethtool, ip link, iblinkinfo, sysfs), their error counters (perfquery, ibqueryerrors, ethtool -S, ip -s link, sysfs) and
// whether packets of a size pass (ping). Outputs of several commands, hosts and moments may stand in one file: prompts, labels of clush and
// pdsh and the lines of date say whose and when.
//
// Formats: infiniband-diags 1.5 to 54 (ibstat.c, ibportstate, perfquery.c, ibqueryerrors.c, iblinkinfo.c), rdma-core 15 to 54
// (libibverbs/examples/devinfo.c), ibstatus (a shell script), iproute2 4.9 to 6.9 (ip/ipaddress.c), ethtool 4 to 6.7, iputils ping
// 20150815 to 20240117, Linux sysfs (Documentation/ABI/stable/sysfs-class-infiniband).
package fabric

import (
	"faultline/analysis/artifact/lines"
)

// File is what one file says.
type File struct {
	Ports    []Port
	Readings []Reading
	Links    []Link
	Pings    []Ping
}

// Empty says that nothing was found.
func (f *File) Empty() bool {
	return len(f.Ports)+len(f.Readings)+len(f.Links)+len(f.Pings) == 0
}

// Where is what the output itself says of the place of a port; "" and −1 are unknown.
type Where struct {
	Host   string // prompt, label of a launcher, header of a block
	Device string // mlx5_0, eth0
	Port   int
	LID    int
	GUID   string // of a port of the fabric, in ibqueryerrors
}

// Port is the state of one port as one tool prints it. A member that the tool does not print has no place.
type Port struct {
	Where
	Tool  string
	State Text   // Active, Down, Init, Armed; for Ethernet up, down
	Phys  Text   // LinkUp, Polling, Disabled, …
	Rate  Number // Gb/s
	Width Number // lanes
	MTU   Number
	Layer string // InfiniBand, Ethernet
	// Carrier is false where an interface is up and has no carrier.
	NoCarrier bool
	Loopback  bool
	At        Stamp
}

// Text is a word with its place.
type Text struct {
	Word  string
	Place lines.Place
}

// Number is a number with its place; Literal is how it is written.
type Number struct {
	Value   float64
	Literal string
	Place   lines.Place
}

// Stated says that the tool printed it.
func (n Number) Stated() bool { return n.Literal != "" }

// Stamp is the moment of a snapshot, by a line of date above it.
type Stamp struct {
	Unix  int64  // by the written time, without its zone
	Zone  string // as written
	Known bool
}

// Reading is one counter at one moment.
type Reading struct {
	Where
	Tool  string
	Name  string // as the tool writes it
	Value uint64
	// Snapshot counts how often the file holds this port's counters by this tool, from 0.
	Snapshot int
	At       Stamp
	Place    lines.Place
}

// Link is one link of the fabric as iblinkinfo and ibqueryerrors print it, with both ends.
type Link struct {
	A, B    End
	Width   int     // lanes, 0 down
	Lane    float64 // Gb/s of one lane
	Comment string  // "Could be 53.125 Gbps"
	Place   lines.Place
}

// End is one end of a link.
type End struct {
	Name string // "node03 mlx5_0", "MF0;sw1:MQM8700/U1"
	LID  int
	Port int
	// Host: it is an adapter of a host, not a port of a switch.
	Switch bool
}

// Ping is one run of ping.
type Ping struct {
	Host           string // where it ran
	Target         string
	Address        string
	Size, Whole    int // of the data, and with its headers
	Sent, Received int
	// TooLong: it was refused because of its length; MTU is what whoever refused it can take. Local: by the host itself.
	TooLong bool
	Local   bool
	MTU     int
	Place   lines.Place
	Result  lines.Place
	Refusal lines.Place
	Ended   bool
}

// Bounds of what is kept of one file.
const (
	maxPorts    = 1 << 15
	maxReadings = 1 << 18
	maxLinks    = 1 << 17
	maxPings    = 1 << 12
)
