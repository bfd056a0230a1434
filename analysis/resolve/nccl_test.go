package resolve

import (
	"testing"

	"faultline/analysis/artifact/nccl"
)

// The ends of failed transfers are known by the interfaces that NCCL lists, and by the GIDs that the processes state as their own; an address
// that two hosts have is nobody's.
func TestHostsOfAddresses(t *testing.T) {
	proc := func(host, ip, gid string) *nccl.Proc {
		return &nccl.Proc{Host: host, Addrs: []nccl.Address{{IP: ip}}, Faults: []nccl.Fault{{LocalGID: gid}}}
	}
	n := &NCCL{hosts: addresses([]*nccl.Log{{Procs: []*nccl.Proc{proc("node1.site", "192.168.3.1", "::ffff:10.1.2.1"), proc("node2", "192.168.3.2", "fe80::1234"), proc("node3", "172.17.0.1", ""), proc("node4", "172.17.0.1", "")}}})}
	for addr, want := range map[string]string{"192.168.3.1": "node1", "::ffff:10.1.2.1": "node1", "10.1.2.1": "node1", "fe80::1234": "node2", "::ffff:192.168.3.2": "node2"} {
		if got := n.Host(addr); got != want || !n.Known(addr) {
			t.Errorf("%s is of %q", addr, got)
		}
	}
	for _, addr := range []string{"172.17.0.1", "10.9.9.9", ""} {
		if n.Known(addr) {
			t.Errorf("%q is known as %q", addr, n.Host(addr))
		}
	}
}
