package worker

import (
	"slices"
	"strings"
	"testing"
)

const rasHead = "Group     Comms     Nodes     Ranks     Ranks     Ranks    Status  Errors\n" +
	"    #  in group  per comm  per node  per comm  in group\n"

func TestRASSnapshotsBecomeFacts(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string
	}{
		{"healthy", rasHead + "    0         1         2         8        16        16   RUNNING      OK\n",
			[]string{"ras_errors=OK", "ras_status=RUNNING", "ras_ranks=16"}},
		{"a row that lost its blanks and has a label", "node3: 0 4 2 7-8 16 15 ABORT INCOMPLETE,MISMATCH\n",
			[]string{"ras_errors=INCOMPLETE,MISMATCH", "ras_status=ABORT", "ras_ranks=16"}},
		{"missing ranks in one line", "#0-0 (00aa) INCOMPLETE\n  Missing communicator data from 2 ranks\n  The missing ranks: 3, 5\n",
			[]string{"ras_missing=3", "ras_missing=5"}},
		{"missing ranks one by one", "  Missing communicator data from 2 ranks\n  Rank 3 -- GPU 3 managed by process 11 on node 10.0.0.7\n" +
			"  Rank 5 -- [process information not found]\n\n  Rank 6 -- GPU 6 managed by process 14 on node 10.0.0.7\n",
			[]string{"ras_missing=3", "ras_missing=5"}},
		{"missing processes are no ranks", "  Missing communicator data from 1 job process\n  Process 11 on node 10.0.0.7 managing GPU 5\n", nil},
		{"dead processes", "DEAD\n  2 job processes are considered dead (unreachable via the RAS network)\n  Process 11 on node 10.0.0.7 managing GPU 5\n" +
			"  Process 12 on node 10.0.0.8 managing GPUs 0-1\n",
			[]string{"ras_dead=10.0.0.7 11", "ras_dead=10.0.0.8 12"}},
		{"operation counts", "  Communicator ranks have different AllReduce operation counts\n  15 ranks have launched up to operation 1582\n" +
			"  Rank 5 has launched up to operation 1579 -- GPU 5 managed by process 11 on node 10.0.0.7\n",
			[]string{"ras_launched=1582 15", "ras_rank=5 1579"}},
		{"nothing launched", "  2 ranks have not launched any operations\n  Rank 7 has not launched any operations -- GPU 7 managed by process 9 on node h\n",
			[]string{"ras_launched=0 2", "ras_rank=7 0"}},
		{"a table of something else", "1 2 3 4 5 6 RUNNING yes\njob 17 RUNNING OK\n    a b c d e f INIT OK\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			obs := observe(t, tt.text)
			var got []string
			for _, f := range obs.Facts {
				if strings.HasPrefix(f.Key, "ras_") {
					got = append(got, f.Key+"="+f.Value)
				}
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if obs.UnclassifiedN != 0 {
				t.Errorf("%d lines unclassified", obs.UnclassifiedN)
			}
		})
	}
}
