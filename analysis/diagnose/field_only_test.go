package diagnose

import (
	"fmt"
	"testing"

	"faultline/simulate"
)

// What mostly concerns the whole job and one node of several alone reports is said to be reported there.
func TestOnlyOneNodeReports(t *testing.T) {
	const (
		dns  = "[W1030 09:00:12.100000000 socket.cpp:755] [c10d] The IPv6 network addresses of (hub-1, 23456) cannot be retrieved (gai error: -3 - Temporary failure in name resolution).\n"
		wait = "torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. 2/3 clients joined.\n"
	)
	for _, c := range []struct {
		name string
		of   [3]string
		only string
	}{
		{"one, and the rest wait for it", [3]string{wait, wait, dns}, "kd3"},
		{"two of three", [3]string{wait, dns, dns}, ""},
		{"all", [3]string{dns, dns, dns}, ""},
	} {
		var files []simulate.File
		for i, text := range c.of {
			files = append(files, simulate.File{Name: fmt.Sprintf("kd%d.log", i+1), Data: fmt.Appendf(nil, "node kd%d, 8 GPUs\n%s", i+1, text)})
		}
		if got := Run(read(t, files, nil, 0)).Verdict.Root.Only; got != c.only {
			t.Errorf("%s: only %q, want %q", c.name, got, c.only)
		}
	}
}
