package diagnose

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"faultline/simulate"
)

// Who came to a start-up, and how often, is told by the lines: too many is not too few, and who is named is named.
func TestWhoCameToTheStartUp(t *testing.T) {
	announce := func(label string, ranks ...int) string {
		var b strings.Builder
		for _, r := range ranks {
			fmt.Fprintf(&b, "%sLOCAL_RANK: %d - CUDA_VISIBLE_DEVICES: [0,1,2]\n%sInitializing distributed: GLOBAL_RANK: %d, MEMBER: %d/6\n", label, r, label, r, r+1)
		}
		return b.String()
	}
	waits := func(second, rank, joined int) string {
		return fmt.Sprintf("2026-03-04 05:06:%02d,100 - torch.distributed.distributed_c10d - INFO - Waiting in store based barrier to initialize process group for rank: %d, key: store_based_barrier_key:1 (world_size=6, num_workers_joined=%d, timeout=0:10:00)\n", second, rank, joined)
	}
	gaveUp := func(joined int) string {
		return fmt.Sprintf("RuntimeError: Timed out initializing process group in store based barrier on rank 2, for key: store_based_barrier_key:1 (world_size=6, num_workers_joined=%d, timeout=0:10:00)\n", joined)
	}
	jax := "jaxlib.xla_extension.XlaRuntimeError: DEADLINE_EXCEEDED: Barrier timed out. Barrier_id: PjRT_Client_Connect. Timed out task names:\n/job:jax_worker/replica:0/task:3\n/job:jax_worker/replica:0/task:2\n"
	failed := "Traceback (most recent call last):\n  File \"a.py\", line 2, in <module>\n    go()\nOSError: [Errno 99] Cannot assign requested address\n"
	config, unreached := []string{"config-error"}, []string{"init-unreachable"}
	for _, c := range []struct {
		name, text string
		want       []string // candidates, sorted
		says       string   // in the summary, or whom it names
	}{
		{"more joined than the group has", gaveUp(11), []string{"config-error", "unknown"}, "11 processes joined a group of 6"},
		{"more clients than the store expected", "torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 7/6 clients joined.\n", []string{"config-error", "unknown"}, "7 processes joined"},
		{"more wait than the group has", waits(1, 0, 9), []string{"config-error", "unknown"}, "9 processes joined a group of 6"},
		{"fewer joined", gaveUp(5), unreached, ""},
		{"a coordinator names who did not come", jax, unreached, "ranks 2-3 did not reach"},
		{"who came still waits when the log ends", waits(1, 4, 1) + waits(11, 4, 1), []string{"init-unreachable", "unknown"}, "ranks 0-3,5"},
		{"the wait was over", waits(1, 4, 5) + strings.Repeat("loading shards\nall well\n", 4), []string{"unknown"}, ""},
		{"ranks that start twice, others never", announce("", 0, 1, 2) + announce("", 1, 2, 0), config, "ranks 0-2 of 6 started twice; there are no lines from ranks 3-5"},
		{"two tasks that start the same rank", announce("0: ", 1) + announce("1: ", 1), config, "rank 1 of 6 started twice"},
		{"a logger that writes each line twice", strings.Repeat(announce("", 0), 1) + "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/6\n", []string{"unknown"}, ""},
		{"each rank came, and started again", announce("", 0, 1, 2, 3, 4, 5) + announce("", 0, 1, 2, 3, 4, 5), []string{"unknown"}, ""},
		{"they failed and were started again", announce("", 0, 1, 2) + failed + announce("", 0, 1, 2), nil, "Cannot assign"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Run(read(t, []simulate.File{{Name: "train.log", Data: []byte(c.text)}}, nil, 0)).Verdict
			var got []string
			for _, x := range v.Candidates {
				got = append(got, x.Mechanism)
			}
			slices.Sort(got)
			if c.want == nil && slices.Contains(got, "config-error") || c.want != nil && !slices.Equal(got, c.want) {
				t.Errorf("said %v (%s)", got, v.Summary)
			}
			if said := v.Summary + "; " + v.Root.Named; !strings.Contains(said, c.says) {
				t.Errorf("said %q, want %q", said, c.says)
			}
		})
	}
}

// One rank on two nodes may be two runs: only lines of one time say that two processes had its number at once.
func TestARankOnTwoNodesMayBeTwoRuns(t *testing.T) {
	start := func(host, clock string) string {
		var b strings.Builder
		for r := range 3 {
			fmt.Fprintf(&b, "%s%s:%d:%d [%d] NCCL INFO Bootstrap : Using eth0:10.0.0.1<0>\n", clock, host, 100+r, 100+r, r)
			fmt.Fprintf(&b, "%sInitializing distributed: GLOBAL_RANK: %d, MEMBER: %d/6\n", clock, r, r+1)
		}
		return b.String()
	}
	for _, c := range []struct {
		name, one, two string
		want           []string
	}{
		{"at one time", "2026-03-04 05:06:01,100 ", "2026-03-04 05:06:05,100 ", []string{"config-error"}},
		{"hours apart", "2026-03-04 05:06:01,100 ", "2026-03-04 07:06:05,100 ", []string{"unknown"}},
		{"no line says when", "", "", []string{"config-error", "unknown"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := Run(read(t, []simulate.File{{Name: "train-node01.log", Data: []byte(start("node01", c.one))}, {Name: "train-node02.log", Data: []byte(start("node02", c.two))}}, nil, 0)).Verdict
			var got []string
			for _, x := range v.Candidates {
				got = append(got, x.Mechanism)
			}
			slices.Sort(got)
			if !slices.Equal(got, c.want) {
				t.Errorf("said %v (%s)", got, v.Summary)
			}
		})
	}
}
