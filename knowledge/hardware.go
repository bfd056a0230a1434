package knowledge

import (
	"fmt"
	"slices"
	"strings"
)

// Link is what one kind of connection can carry. GBps is of one direction, of all its lanes together: what busbw of nccl-tests is
// compared with.
type Link struct {
	Name   string
	Words  []string // other names, in lower case
	Of     string   // of what one such link is: a GPU, a port, a node
	GBps   float64
	Source string
}

// links are the connections of the usual machines, as their makers state them.
var links = []Link{
	{"NVLink of an H100", []string{"h100 nvlink", "h100", "h200", "nvlink 4"}, "a GPU", 450, "NVIDIA H100 Tensor Core GPU datasheet: 900 GB/s in both directions together"},
	{"NVLink of an A100", []string{"a100 nvlink", "a100", "nvlink 3"}, "a GPU", 300, "NVIDIA A100 Tensor Core GPU datasheet: 600 GB/s in both directions together"},
	{"Infinity Fabric of an MI300X", []string{"mi300x", "mi300", "infinity fabric"}, "a GPU", 448, "AMD Instinct MI300X data sheet: 896 GB/s in both directions together"},
	{"InfiniBand HDR", []string{"hdr", "hdr200"}, "a port", 25, "InfiniBand Trade Association's roadmap: 200 Gbit/s at four lanes"},
	{"InfiniBand NDR", []string{"ndr", "ndr400"}, "a port", 50, "InfiniBand Trade Association's roadmap: 400 Gbit/s at four lanes"},
	{"RoCE at 100 Gbit/s", []string{"roce", "100gbe"}, "a port", 12.5, "the rate of the Ethernet port, IEEE 802.3"},
	{"RoCE at 200 Gbit/s", []string{"200gbe"}, "a port", 25, "the rate of the Ethernet port, IEEE 802.3"},
	{"RoCE at 400 Gbit/s", []string{"400gbe"}, "a port", 50, "the rate of the Ethernet port, IEEE 802.3"},
	{"EFA of a p4d.24xlarge", []string{"p4d", "p4d.24xlarge"}, "a node", 50, "Amazon EC2's page of instance types: 400 Gbit/s"},
	{"EFA of a p5.48xlarge", []string{"efa", "p5", "p5.48xlarge"}, "a node", 400, "Amazon EC2's page of instance types: 3,200 Gbit/s"},
	{"PCIe 4.0 x16", []string{"pcie 4", "pcie gen4"}, "a slot", 32, "PCI-SIG: 16 GT/s on 16 lanes"},
	{"PCIe 5.0 x16", []string{"pcie 5", "pcie gen5"}, "a slot", 64, "PCI-SIG: 32 GT/s on 16 lanes"},
}

// Links returns the table.
func Links() []Link { return slices.Clone(links) }

// LinkByName finds a link by its name or another name for it, in any case.
func LinkByName(name string) (Link, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	for _, l := range links {
		if strings.ToLower(l.Name) == name || slices.Contains(l.Words, name) {
			return l, true
		}
	}
	return Link{}, false
}

// LinkByRate finds the generation of InfiniBand by a port's rate in Gbit/s.
func LinkByRate(gbits float64) (Link, bool) {
	const bits = 8
	i := slices.IndexFunc(links, func(l Link) bool { return strings.HasPrefix(l.Name, "InfiniBand ") && l.GBps == gbits/bits })
	if i < 0 {
		return Link{}, false
	}
	return links[i], true
}

// Text says what the link can carry, and what a test of it should show.
func (l *Link) Text() string {
	return fmt.Sprintf("It carries at most %g GB/s in each direction (%s). A test with large messages that reaches less than two thirds of that is worth a look; compare it with other nodes first.", l.GBps, l.Of)
}
