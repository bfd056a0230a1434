package fabric

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// text is the state of a host's ports as a tool prints it. Sources: infiniband-diags ibstat.c and the script ibstatus, rdma-core
// libibverbs/examples/devinfo.c, Linux drivers/infiniband/core/sysfs.c.
func (h *host) text(tool string) string {
	var b strings.Builder
	for _, p := range h.ports {
		switch tool {
		case "ibstatus":
			fmt.Fprintf(&b, "Infiniband device '%s' port %d status:\n\tdefault gid:\t fe80:0000:0000:0000:f652:14ff:fe91:ba11\n\tbase lid:\t 0x%x\n\tsm lid:\t\t 0x1\n\tstate:\t\t %s\n\tphys state:\t %s\n\trate:\t\t %d Gb/sec (%dX NDR)\n\tlink_layer:\t InfiniBand\n\n",
				p.device, p.number, p.lid, numbered(p.state), numbered(p.phys), p.rate, p.width)
		case "ibv_devinfo":
			fmt.Fprintf(&b, "hca_id:\t%s\n\ttransport:\t\t\tInfiniBand (0)\n\tfw_ver:\t\t\t\t28.39.1002\n\tnode_guid:\t\t\tb8ce:f603:006b:5a5e\n\tphys_port_cnt:\t\t\t1\n\t\tport:\t%d\n\t\t\tstate:\t\t\tPORT_%s (%d)\n\t\t\tmax_mtu:\t\t4096 (5)\n\t\t\tactive_mtu:\t\t%d (5)\n"+
				"\t\t\tsm_lid:\t\t\t1\n\t\t\tport_lid:\t\t%d\n\t\t\tport_lmc:\t\t0x00\n\t\t\tlink_layer:\t\tInfiniBand\n\n", p.device, p.number, p.state, map[string]int{"ACTIVE": 4, "DOWN": 1}[p.state], p.mtu, p.lid)
		case "sysfs":
			dir := fmt.Sprintf("/sys/class/infiniband/%s/ports/%d/", p.device, p.number)
			fmt.Fprintf(&b, "%sphys_state:%s\n%srate:%d Gb/sec (%dX NDR)\n%sstate:%s\n", dir, numbered(p.phys), dir, p.rate, p.width, dir, numbered(p.state))
		default:
			fmt.Fprintf(&b, "CA '%s'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tFirmware version: 28.39.1002\n\tHardware version: 0\n\tNode GUID: 0xb8cef603006b5a5e\n\tSystem image GUID: 0xb8cef603006b5a62\n\tPort %d:\n\t\tState: %s\n\t\tPhysical state: %s\n\t\tRate: %d\n"+
				"\t\tBase lid: %d\n\t\tLMC: 0\n\t\tSM lid: 1\n\t\tCapability mask: 0xa741e848\n\t\tPort GUID: 0xb8cef603006b5a5f\n\t\tLink layer: InfiniBand\n", p.device, p.number, strings.ToUpper(p.state[:1])+strings.ToLower(p.state[1:]), p.phys, p.rate, p.lid)
		}
	}
	return b.String()
}

func numbered(state string) string {
	n := map[string]int{"ACTIVE": 4, "DOWN": 1, "LinkUp": 5, "Polling": 2, "Disabled": 3}[state]
	return fmt.Sprintf("%d: %s", n, state)
}

// order is that of perfquery, which prints a counter whether or not it counted. Source: infiniband-diags perfquery.c, mad_dump_perfcounters.
var order = []string{"SymbolErrorCounter", "LinkErrorRecoveryCounter", "LinkDownedCounter", "PortRcvErrors", "PortRcvRemotePhysicalErrors", "PortRcvSwitchRelayErrors", "PortXmitDiscards",
	"PortXmitConstraintErrors", "PortRcvConstraintErrors", "LocalLinkIntegrityErrors", "ExcessiveBufferOverrunErrors", "VL15Dropped", "PortXmitData", "PortRcvData", "PortXmitWait"}

// sysfsNames are the same counters in /sys/class/infiniband.
var sysfsNames = map[string]string{"SymbolErrorCounter": "symbol_error", "LinkErrorRecoveryCounter": "link_error_recovery", "LinkDownedCounter": "link_downed", "PortRcvErrors": "port_rcv_errors",
	"PortRcvRemotePhysicalErrors": "port_rcv_remote_physical_errors", "PortRcvSwitchRelayErrors": "port_rcv_switch_relay_errors", "PortXmitDiscards": "port_xmit_discards",
	"PortXmitConstraintErrors": "port_xmit_constraint_errors", "PortRcvConstraintErrors": "port_rcv_constraint_errors", "LocalLinkIntegrityErrors": "local_link_integrity_errors",
	"ExcessiveBufferOverrunErrors": "excessive_buffer_overrun_errors", "VL15Dropped": "VL15_dropped", "PortXmitData": "port_xmit_data", "PortRcvData": "port_rcv_data", "PortXmitWait": "port_xmit_wait"}

// counters are those of a host's ports.
func (h *host) counters(tool string) string {
	var b strings.Builder
	for i, p := range h.ports {
		if tool == "sysfs" {
			names := slices.SortedFunc(maps.Keys(sysfsNames), func(x, y string) int { return strings.Compare(sysfsNames[x], sysfsNames[y]) })
			for _, n := range names {
				fmt.Fprintf(&b, "/sys/class/infiniband/%s/ports/%d/counters/%s:%d\n", p.device, p.number, sysfsNames[n], p.counters[n])
			}
			continue
		}
		fmt.Fprintf(&b, "$ perfquery -C %s\n# Port counters: Lid %d port %d (CapMask: 0x5A00)\nPortSelect:......................%d\nCounterSelect:...................0x0000\n", p.device, 10+i, p.number, p.number)
		for _, n := range order {
			fmt.Fprintf(&b, "%s:%s%d\n", n, strings.Repeat(".", 32-len(n)), p.counters[n])
		}
	}
	return b.String()
}

// interfaces is what ip -s link prints. Source: iproute2 ip/ipaddress.c.
func (h *host) interfaces() string {
	flags, state := "BROADCAST,MULTICAST,UP,LOWER_UP", "UP"
	if h.standby {
		flags, state = "NO-CARRIER,BROADCAST,MULTICAST,UP", "DOWN"
	}
	return "1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN mode DEFAULT group default qlen 1000\n    link/loopback 00:00:00:00:00:00 brd 00:00:00:00:00:00\n" +
		"2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP mode DEFAULT group default qlen 1000\n    link/ether 0c:42:a1:00:00:01 brd ff:ff:ff:ff:ff:ff\n" +
		fmt.Sprintf("3: eth1: <%s> mtu 1500 qdisc mq state %s mode DEFAULT group default qlen 1000\n    link/ether 0c:42:a1:00:00:02 brd ff:ff:ff:ff:ff:ff\n", flags, state)
}
