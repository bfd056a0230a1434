package diagnose

import (
	"fmt"
	"strings"
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

// Alike errors are kept once; the nodes that report them are all of those that print them.
func TestOneErrorThatStandsForAlikeOnesIsNotOneNodes(t *testing.T) {
	var b strings.Builder
	for range 6 {
		for _, l := range []string{"loading", "building the model", "Traceback (most recent call last):", `  File "t.py", line 3, in main`, "ValueError: bad", "step 1 loss 2.5"} {
			for i := range 4 {
				fmt.Fprintf(&b, "<gx%d>.%d :: %s\n", i/2, i, l)
			}
		}
	}
	v := Run(read(t, []simulate.File{{Name: "all.log", Data: []byte(b.String())}}, nil, 0)).Verdict
	if v.Mechanism != "exception" || v.Root.Only != "" {
		t.Errorf("%s, only %q", v.Mechanism, v.Root.Only)
	}
}
