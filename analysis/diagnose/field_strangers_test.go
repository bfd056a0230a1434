package diagnose

import (
	"testing"

	"faultline/analysis/artifact/ras"
)

// A connection that NCCL's listening thread never accepted was no peer's; one that it loses elsewhere was.
func TestFieldStrangersAtThePort(t *testing.T) {
	lost := "gn4:510:900 [3] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer 198.51.100.7<40122>\n"
	inner := "gn4:510:900 [3] NCCL INFO misc/socket.cc:58 -> 6\ngn4:510:900 [3] NCCL INFO misc/socket.cc:666 -> 6\n"
	accept := "gn4:510:900 [3] proxy.cc:1485 NCCL WARN [Service thread] Accept failed "
	for _, c := range []fieldCase{
		{"a scan", one(fieldSteps + lost + inner + accept + "Success\n"), []string{"completed"}, "-"},
		{"a health check", one(fieldSteps + lost + accept + "Resource temporarily unavailable\n" + "step 4 loss 2.12\nstep 5 loss 2.11\nTraining completed in 2:31:08\n"), []string{"completed"}, "-"},
		{"a peer", one(fieldSteps + lost + inner), []string{"peer-lost", "unknown"}, "-"},
		{"another process's accept", one(fieldSteps + lost + inner + "gn4:511:901 [4] proxy.cc:1485 NCCL WARN [Service thread] Accept failed Success\n"), []string{"peer-lost", "unknown"}, "-"},
	} {
		c.check(t)
	}
}

// Who of a communicator is apart from all others is named, with its node.
func TestTheFewOfACountAreNamed(t *testing.T) {
	for want, k := range map[string]ras.Count{
		"rank 7 on node1":                {N: 1, Ranks: []ras.Rank{{Rank: 7, Host: "node1"}}},
		"rank 3 and rank 5 on 192.0.2.9": {N: 2, Ranks: []ras.Rank{{Rank: 3}, {Rank: 5, Host: "192.0.2.9"}}},
		"7 ranks":                        {N: 7},
		"2 ranks":                        {N: 2, Ranks: []ras.Rank{{Rank: 3}}},
	} {
		if got := countedRanks(&k); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
