package diagnose

import (
	"strings"
	"testing"

	"faultline/simulate"
)

// A heading begins with a place only where somebody there is at fault; who merely reports is called that.
func TestAHeadingDoesNotAccuseWhoReports(t *testing.T) {
	const failed = "n1:301:340 [0] transport/net_ib.cc:1296 NCCL WARN NET/IB : Got completion from peer 10.0.0.9<33092> with error 12, opcode 0, len 0, vendor err 129 (Recv)\n"
	r := Run(read(t, []simulate.File{{Name: "error-4242-n1.out", Data: []byte(fieldSteps + failed)}, {Name: "error-4242-n2.out", Data: []byte(fieldSteps)}}, nil, 0))
	v := r.Verdict
	if len(v.Root.Ranks)+len(v.Root.Nodes) > 0 || v.Mechanism != "link-error" {
		t.Fatalf("the case shows something else: %s %v", v.Mechanism, v.Root)
	}
	if !strings.HasPrefix(v.Summary, "reported by n1: ") {
		t.Errorf("nobody is proven, and the heading is %q", v.Summary)
	}
}
