package analysis

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

// A large log that holds evidence is no table, whatever numbers stand in its lines; a table of that size is one.
func TestALargeLogIsNoTable(t *testing.T) {
	var log, table strings.Builder
	for i := 0; min(log.Len(), table.Len()) < smallLog; i++ {
		fmt.Fprintf(&log, "node1:41004:41004 [4] transport/net_ib.cc:2273 NCCL WARN NET/IB: Got completion from peer 10.0.0.2<4871> with status=12 opcode=0 len=%d vendor err 129\n", i)
		fmt.Fprintf(&table, "2026-05-06 %02d:%02d:%02d requests=%d latency=%d.5\n", i/3600, i/60%60, i%60, 100+i%7, 20+i%3)
	}
	logs := map[string]string{"train.log": log.String(), "begun.log": log.String()[:logHead] + "\n" + table.String()} // the latter begins with NCCL's lines
	in := Input{Version: "test", Sources: written(t, logs, ""), Evidence: written(t, map[string]string{"metrics.txt": table.String()}, "")}
	if err := separate(context.Background(), &in); err != nil {
		t.Fatal(err)
	}
	if err := readEvidence(context.Background(), &in); err != nil {
		t.Fatal(err)
	}
	if len(in.handed.NCCL) != 1 || len(in.handed.Series) != 1 || in.handed.Series[0].File != "metrics.txt" {
		t.Errorf("%d logs of NCCL, %d tables", len(in.handed.NCCL), len(in.handed.Series))
	}
	if len(in.notes) > 0 {
		t.Errorf("a log that nobody handed in is not used: %q", in.notes)
	}
}
