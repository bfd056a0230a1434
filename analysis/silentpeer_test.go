package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// encoders are the logs of six processes, five of which end with an exception; last is what the one with this number wrote last.
func encoders(silent int, last string, raised func(rank int) string) map[string]string {
	logs := map[string]string{}
	for r := range 6 {
		var b strings.Builder
		fmt.Fprintf(&b, "trainer %d of 6 on host en%d\n", r, r+1)
		for step := range 40 {
			fmt.Fprintf(&b, "2026-04-02 11:%02d:00 step %d loss %.3f\n", step, step*10, 3-float64(step)/50)
		}
		if r == silent {
			b.WriteString(last)
		} else {
			fmt.Fprintf(&b, "[rank%d]: Traceback (most recent call last):\n[rank%d]:   File \"/w/enc/loop.py\", line 88, in step\n[rank%d]:     self.bus.sync(grads)\n[rank%d]: %s\n", r, r, r, r, raised(r))
		}
		logs[fmt.Sprintf("enc_%d.log", r)] = b.String()
	}
	return logs
}

// TestWhoSaysNothingAmongThoseWhoWaited: whatever library it is, those who waited in vain or lost a peer are not at fault.
func TestWhoSaysNothingAmongThoseWhoWaited(t *testing.T) {
	waited := func(r int) string {
		if r%2 == 0 {
			return "bus.SyncError: allreduce(grads) timed out after 1200 s"
		}
		return "bus.LinkError: channel to peer was dropped"
	}
	for name, c := range map[string]struct {
		silent  int
		last    string
		raised  func(int) string
		verdict string
		ranks   []int
		says    string
	}{
		"one is silent":    {4, "2026-04-02 11:39:20 compiling the augmenter\n", waited, "rank-stalled", []int{4}, "enc_4.log:42: “compiling the augmenter”"},
		"it draws a bar":   {4, "2026-04-02 11:39:20 scoring\n\rscoring:  12%|█▏        | 6/50 [05:52<43:31, 1.1it/s]\rscoring:  61%|██████    | 30/50 [30:02<19:20, 1.8it/s]", waited, "rank-stalled", []int{4}, "scoring:  61%"},
		"everybody waited": {-1, "", waited, "", nil, ""},
		"one failed by itself": {-1, "", func(r int) string {
			if r == 2 {
				return "ValueError: augmenter has 0 stages"
			}
			return waited(r)
		}, "exception", []int{2}, ""},
		"they asked a store":    {4, "2026-04-02 11:39:20 compiling the augmenter\n", func(int) string { return "store.GetError: GET http://en9/objects/a timed out after 60 s" }, "", nil, ""},
		"the silent one is cut": {4, "2026-04-02 11:39:20 compiling the augm", waited, "", nil, ""},
	} {
		r := diagnosed(t, Input{Sources: written(t, encoders(c.silent, c.last, c.raised), "")})
		if c.verdict != "" && r.Verdict.Mechanism != c.verdict || !slices.Equal(r.Verdict.Root.Ranks, c.ranks) {
			t.Errorf("%s: %s of %v, %s", name, r.Verdict.Mechanism, r.Verdict.Root.Ranks, r.Verdict.Summary)
		}
		if c.says != "" && (len(r.Recommendations) == 0 || !strings.Contains(r.Recommendations[0].Text, c.says)) {
			t.Errorf("%s: %+v", name, r.Recommendations)
		}
	}
}

// watchdogs are lines of ranks that gave up waiting after five minutes, each with its place in a group of four.
func watchdogs(ranks []int, places []int) string {
	var b strings.Builder
	for i, r := range ranks {
		fmt.Fprintf(&b, "[rank%d]:[E513 13:25:57.714781662 ProcessGroupNCCL.cpp:616] [Rank %d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLGATHER, NumelIn=4, NumelOut=16, Timeout(ms)=300000) ran for 300042 milliseconds before timing out.\n", r, places[i])
		fmt.Fprintf(&b, "[rank%d]:[E513 13:25:57.814781662 ProcessGroupNCCL.cpp:2268] [PG ID 3 PG GUID 9(mesh_x) Rank %d]  failure detected by watchdog at work sequence id: 3 PG status: last enqueued work: 3, last completed work: 2\n", r, places[i])
	}
	return b.String()
}

// TestWhatTheSilentMemberPrintedMeanwhile: its group is whole by the sizes of its gather, and what it prints while others wait holds it.
func TestWhatTheSilentMemberPrintedMeanwhile(t *testing.T) {
	const own = "[rank9]: 2026-05-13 13:20:10,100 tokenizing the holdout set\n[rank9]: 2026-05-13 13:23:00,100 tokenizing the holdout set: 12 of 90\n"
	text := ""
	for r := range 8 {
		text += fmt.Sprintf("[rank%d]: ready\n", r)
	}
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"t.log": text + own + watchdogs([]int{8, 10, 11}, []int{0, 2, 3})}, "")})
	if r.Verdict.Mechanism != "rank-stalled" || !slices.Equal(r.Verdict.Root.Ranks, []int{9}) {
		t.Fatalf("%s of %v", r.Verdict.Mechanism, r.Verdict.Root.Ranks)
	}
	if text := r.Recommendations[0].Text; !strings.Contains(text, "While other ranks waited it printed t.log:10: “tokenizing the holdout set: 12 of 90”") {
		t.Error(text)
	}
}

// TestTheLastLineOfWhoMayHoldTheOthers is a clue where nothing says how many ranks there are.
func TestTheLastLineOfWhoMayHoldTheOthers(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want int64
	}{
		"one is silent": {"[rank2]: fetching the vocabulary\n[rank0]: ready\n", 1},
		"all wait":      {"[rank3]: fetching the vocabulary\n[rank0]: ready\n", 0},
	} {
		text := c.text
		for _, r := range []int{0, 1, 3, 4, 5} {
			text += fmt.Sprintf("[rank%[1]d]:[E513 13:25:57.714781662 ProcessGroupNCCL.cpp:616] [Rank %[1]d] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=9, OpType=ALLREDUCE, NumelIn=4, NumelOut=4, Timeout(ms)=600000) ran for 600042 milliseconds before timing out.\n", r)
		}
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"t.log": text}, "")})
		got := int64(0)
		if len(r.Standouts) > 0 {
			got = r.Standouts[0].Evidence[0].Line
		}
		if got != c.want || len(r.Verdict.Root.Ranks) > 0 {
			t.Errorf("%s: line %d, %v", name, got, r.Verdict.Root)
		}
	}
}

// TestWhomSeveralPointTo: in whatever words, whom processes of several nodes name as gone is where to look.
func TestWhomSeveralPointTo(t *testing.T) {
	for name, c := range map[string]struct {
		whom map[int]int // who names whom
		head string
		want string
	}{
		"three name one":          {map[int]int{1: 3, 2: 3, 4: 3}, "", "fd3"},
		"one names one":           {map[int]int{1: 3}, "", ""},
		"they name each other":    {map[int]int{1: 3, 2: 3, 3: 4}, "", ""},
		"they name several":       {map[int]int{1: 3, 2: 4}, "", ""},
		"it is where all meet":    {map[int]int{1: 3, 2: 3, 4: 3}, "MASTER_ADDR=fd3\n", ""},
		"it is no node of theirs": {map[int]int{1: 9, 2: 9, 4: 9}, "", ""},
	} {
		logs := map[string]string{}
		for n := 1; n < 5; n++ {
			text := fmt.Sprintf("host fd%d ranks %d-%d\n%s", n, 8*n-8, 8*n-1, c.head)
			for step := range 30 {
				text += fmt.Sprintf("2026-02-02 08:%02d:00 step %d loss 2.5\n", step, step)
			}
			if whom := c.whom[n]; whom > 0 {
				text += fmt.Sprintf("Traceback (most recent call last):\n  File \"/w/run.py\", line 3, in step\n    mesh.sync()\nmesh.LinkError: fd%d-ib: peer left the mesh, connection lost\n", whom)
			}
			logs[fmt.Sprintf("run-fd%d.log", n)] = text
		}
		r := diagnosed(t, Input{Sources: written(t, logs, "")})
		if r.Verdict.Root.Named != c.want || len(r.Verdict.Root.Nodes) > 0 {
			t.Errorf("%s: %+v, %s", name, r.Verdict.Root, r.Verdict.Summary)
		}
	}
}

// TestWhoseErrorItIsByItsOwnWords: a rank in front of a message is its writer's, unless it counts the members of a group; a class without words is
// an exception, too; and what a launcher says of a task places that task's lines.
func TestWhoseErrorItIsByItsOwnWords(t *testing.T) {
	steps := ""
	for i := range 30 {
		steps += fmt.Sprintf("2026-04-02 11:%02d:00 step %d loss 2.1\n", i, i)
	}
	raised := "Traceback (most recent call last):\n  File \"/w/t.py\", line 3, in step\n    feed.get()\n"
	for name, c := range map[string]struct {
		text, node string
		ranks      []int
	}{
		"a rank in brackets":       {steps + raised + "RuntimeError: [Rank:5] bridge: launch failed\n", "", []int{5}},
		"of a process group":       {steps + raised + "RuntimeError: [Rank 5] process group lane: launch failed\n", "", nil},
		"a class without words":    {steps + "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/w/t.py\", line 3, in step\n[rank3]:     feed.get()\n[rank3]: feedlib.Drained\n", "", []int{3}},
		"a word is no class":       {steps + "[rank3]: Traceback (most recent call last):\n[rank3]:   File \"/w/t.py\", line 3, in step\n[rank3]:     feed.get()\n[rank3]: train.finished\n", "", nil},
		"the task's host is named": {steps + "6: " + strings.ReplaceAll(strings.TrimSuffix(raised, "\n"), "\n", "\n6: ") + "\n6: OSError: Unable to open file (truncated file: eof = 1, stored_eof = 2)\n3412.118s: flux-shell[1]: FATAL: doom: rank 6 on host mv12 exited and exit-timeout=30s has expired\n", "mv12", nil},
	} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"t.log": c.text}, "")})
		if node := strings.Join(r.Verdict.Root.Nodes, ","); !slices.Equal(r.Verdict.Root.Ranks, c.ranks) || c.node != "" && node != c.node {
			t.Errorf("%s: %s of %v on %s", name, r.Verdict.Mechanism, r.Verdict.Root.Ranks, node)
		}
	}
}

// TestWhoNeverJoinedTheStore: it counts those who came; who is as many as are missing, and reports nothing, did not.
func TestWhoNeverJoinedTheStore(t *testing.T) {
	for name, c := range map[string]struct {
		silent []int
		want   string
	}{
		"one is silent":                {[]int{4}, "rank 4"},
		"more are silent than missing": {[]int{3, 4}, ""},
		"nobody is silent":             {nil, ""},
	} {
		text := ""
		for r := range 6 {
			text += fmt.Sprintf("[rank%d]: loading the fused kernels\n", r)
		}
		text += "[rank0]: Traceback (most recent call last):\n[rank0]:   File \"/w/t.py\", line 3, in setup\n[rank0]:     dist.init_process_group(\"nccl\")\n[rank0]: torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 5/6 clients joined.\n"
		for r := 1; r < 6; r++ {
			if !slices.Contains(c.silent, r) {
				text += fmt.Sprintf("[rank%d]: Traceback (most recent call last):\n[rank%d]:   File \"/w/t.py\", line 3, in setup\n[rank%d]:     dist.init_process_group(\"nccl\")\n[rank%d]: torch.distributed.DistNetworkError: Connection reset by peer\n", r, r, r, r)
			}
		}
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"t.log": text}, "")})
		if v := r.Verdict; v.Mechanism != "init-unreachable" || v.Root.Named != c.want {
			t.Errorf("%s: %s, %q: %s", name, v.Mechanism, v.Root.Named, v.Summary)
		}
	}
}

// TestTheOnlyKernelThatReportsTheFileSystem is told where nothing says on which node the ranks are.
func TestTheOnlyKernelThatReportsTheFileSystem(t *testing.T) {
	text := ""
	for i := range 40 {
		text += fmt.Sprintf("2026-11-12 01:%02d:00 step %d loss 2.1\n", i+14, i)
	}
	text += "[rank6]: Traceback (most recent call last):\n[rank6]:   File \"/w/t.py\", line 3, in read\n[rank6]: OSError: [Errno 108] Cannot send after transport endpoint shutdown: '/scratch/a.flac'\n"
	lustre := func(node, clock string) string {
		return fmt.Sprintf("Nov 12 %s %s kernel: Lustre: scratch-OST0003-osc-ffff9d0c: Connection to scratch-OST0003 (at 10.20.0.13@o2ib) was lost; in progress operations using this service will wait for recovery to complete\n", clock, node)
	}
	for name, c := range map[string]struct {
		kernels map[string]string
		want    string
	}{
		"one node's":  {map[string]string{"messages-qf5": lustre("qf5", "01:53:02")}, "qf5's kernel"},
		"two nodes'":  {map[string]string{"messages-qf5": lustre("qf5", "01:53:02"), "messages-qf6": lustre("qf6", "01:53:03")}, ""},
		"long before": {map[string]string{"messages-qf5": lustre("qf5", "00:12:02")}, ""},
	} {
		logs := map[string]string{"t.err": text}
		for name, text := range c.kernels {
			logs[name] = text
		}
		r := diagnosed(t, Input{Sources: written(t, logs, "")})
		if said := strings.Contains(r.Verdict.Summary, "kernel reports"); said != (c.want != "") || !strings.Contains(r.Verdict.Summary, c.want) {
			t.Errorf("%s: %s", name, r.Verdict.Summary)
		}
	}
}
