package diagnose

import (
	"fmt"
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
