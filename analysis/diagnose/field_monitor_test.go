package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// A monitor that says whom it kills has sent the signal; one that speaks after others were told to end has not.
func TestWhomTheMonitorKills(t *testing.T) {
	monitor := func(at string, rank int) string {
		return fmt.Sprintf("[2025-09-17 %s,123] [WARNING] [RankMonitorServer42@gb2:%d] [Cycle 0] Did not get subsequent heartbeat. Waited 600.00 seconds.\n", at, rank)
	}
	killed := "[2025-09-17 05:18:01,511] [ERROR] [ft_launcher@gb2] failed (exitcode: -9) local_rank: 5 (pid: 301) of binary: /usr/bin/python\n"
	for _, c := range []fieldCase{
		{"its own launcher saw it die", one(fieldSteps + monitor("05:18:00", 21) + killed), []string{"external-signal", "rank-stalled", "unknown"}, "-"},
		{"and the other node was told to end", map[string]string{"a.log": fieldSteps + monitor("05:18:00", 21) + killed,
			"b.log": "[2025-09-17 05:18:09,000] torch.distributed.elastic.agent.server.api: [WARNING] Received 15 death signal, shutting down workers\n"}, []string{"external-signal", "rank-stalled", "unknown"}, "-"},
		{"one was killed of whom it does not speak", one(fieldSteps + killed + monitor("05:18:02", 21)), []string{"external-signal", "host-oom"}, "-"},
		{"nobody spoke", one(fieldSteps + killed), []string{"external-signal", "host-oom"}, "-"},
	} {
		c.check(t)
	}
}

// A monitor that is switched off says what it would have done.
func TestAMonitorThatEndsNothing(t *testing.T) {
	const off = "[rank0]:[E304 10:18:02.123456789 ProcessGroupNCCL.cpp:1560] [PG ID 0 PG GUID 0(default_pg) Rank 0] ProcessGroupNCCL monitor thread is disabled, but would have terminated the processafter attempting to dump debug info, due to ProcessGroupNCCL watchdog hang.\n"
	const finished = "[rank0]: 2025-03-04 10:59:00 Training completed\n"
	steps := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "[rank0]: 2025-03-04 10:%02d:00 step %d loss 2.%d\n", i, i, i)
		}
		return b.String()
	}
	for _, c := range []fieldCase{
		{"training went on", one(steps(1, 10) + stuckSince(0, "10:18:00") + off + steps(20, 58) + finished), []string{"completed"}, "-"},
		{"it did not", one(steps(1, 10) + stuckSince(0, "10:18:00") + off), []string{"watchdog-stuck"}, ""},
	} {
		c.check(t)
	}
}
