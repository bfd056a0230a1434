package simulate

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// plainSpec is a small DDP job without noise, for one release and mechanism.
func plainSpec(mechanism, torch string) Spec {
	s := Spec{Seed: 11, Mechanism: mechanism, Torch: torch, Layout: Layout{Kind: "ddp", TP: 1, CP: 1, EP: 1, DP: 16, PP: 1}, NodeCount: 2, PerNode: 8, FileMode: "node"}
	if strings.HasPrefix(mechanism, "multi-group") {
		s.Layout = Layout{Kind: "megatron", TP: 4, CP: 1, EP: 1, DP: 2, PP: 2}
	}
	return s
}

func allText(inc *Incident) string {
	var b bytes.Buffer
	for _, f := range inc.Files {
		b.Write(f.Data)
	}
	return b.String()
}

// TestReleaseWording checks each release's words against the reference: where each comes from is in formats-workers §1.
func TestReleaseWording(t *testing.T) {
	const ts = `\[E\d{3,4} \d\d:\d\d:\d\d\.\d{9} `
	for _, c := range []struct {
		torch   string
		want    []string // regular expressions
		without []string // literal
	}{
		{"1.13", []string{`(?m)^\[E ProcessGroupNCCL\.cpp:821\] \[Rank \d+\] Watchdog caught collective operation timeout: WorkNCCL\(SeqNum=\d+, OpType=\w+, Timeout\(ms\)=\d+\) ran for \d+ milliseconds before timing out\.$`,
			`'std::runtime_error'`, `WARNING:torch\.distributed\.elastic\.multiprocessing\.api:Sending process`}, []string{"NumelIn", "[rank", "PG ID", "last enqueued", "dump signal", "terminated with exception"}},
		{"2.0", []string{`\[E ProcessGroupNCCL\.cpp:828\] \[Rank \d+\] Watchdog`, `'std::runtime_error'`}, []string{"NumelIn", "[rank", "last enqueued", "dump signal"}},
		{"2.1", []string{`(?m)^\[E ProcessGroupNCCL\.cpp:475\] \[Rank \d+\] Watchdog .*NumelIn=\d+, NumelOut=\d+, Timeout`, `\[Rank \d+\] NCCL watchdog thread terminated with exception: `, `'c10::DistBackendError'`,
			`\] torch\.distributed\.elastic\.multiprocessing\.api: \[WARNING\] Sending`}, []string{"[rank", "last enqueued", "dump signal"}},
		{"2.2", []string{`(?m)^\[rank\d+\]:\[E ProcessGroupNCCL\.cpp:523\] \[Rank \d+\] Watchdog`, `Timeout\(ms\)=\d+`, `\[Rank \d+\] NCCL watchdog thread terminated`}, []string{"last enqueued", "dump signal", "PG "}},
		{"2.3", []string{`(?m)^\[rank\d+\]:\[E ProcessGroupNCCL\.cpp:563\] \[Rank \d+\] Watchdog`, `(?m)^\[rank\d+\]:\[E ProcessGroupNCCL\.cpp:1537\] \[PG 0 Rank \d+\] Timeout at NCCL work: \d+, last enqueued NCCL work: \d+, last completed NCCL work: \d+\.$`,
			`\[Rank \d+\] To avoid data inconsistency`}, []string{"dump signal", "PG ID", "detected by watchdog"}},
		{"2.4", []string{ts + `ProcessGroupNCCL\.cpp:607\] \[Rank \d+\] Watchdog`, `ProcessGroupNCCL\.cpp:1664\] \[PG 0 \(default_pg\) Rank \d+\] Exception \(either an error or timeout\) detected by watchdog at work: \d+, last enqueued NCCL work: \d+, last completed NCCL work: \d+\.`,
			`Timeout at NCCL work: \d+, last enq`, `Received a global dump signal from rank \d+, and will start to dump the debug info\. Last enqueued NCCL work: \d+, last completed NCCL work: \d+\.(?m:$)`}, []string{"PG ID", "failure detected", "collective timeout from"}},
		{"2.5", []string{`:616\] \[Rank`, `:1785\] \[PG ID 0 PG GUID 0\(default_pg\) Rank \d+\] Exception \(either`, `Received a dump signal due to a collective timeout from  rank \d+ and we will try our best to dump the debug info\. Last enqueued NCCL work: \d+, last completed NCCL work: \d+\.This is most likely`}, []string{"failure detected", "Observed flight"}},
		{"2.6", []string{`:629\] \[Rank`, `:2168\] \[PG ID 0 PG GUID 0\(default_pg\) Rank \d+\]  failure detected by watchdog at work sequence id: \d+ PG status: last enqueued work: \d+, last completed work: \d+(?m:$)`, `:667\] Stack trace of the failed collective not found`,
			`Observed flight recorder dump signal from another rank via TCPStore\.`, `Include stack trace: 1(?m:$)`}, []string{"First PG on this rank", "Exception (either"}},
		{"2.7", []string{`:632\] \[Rank`, `:2268\] \[PG ID 0`, `:670\] Stack`, `:2103\] \[PG ID 0 PG GUID 0\(default_pg\) Rank \d+\] First PG on this rank to signal dumping\.`, `Observed flight`}, nil},
		{"2.8", []string{`\]  failure detected by watchdog`, `First PG on this rank to signal dumping\.`}, nil},
		{"recent", []string{`:683\] \[Rank`, `:2241\] \[PG ID`, `:730\] Stack`, `:2573\] \[PG ID 0`, `:1794\] .*Observed`, `:1858\] .*Received`, `Include stack trace: 1, only active collectives: 0`}, nil},
	} {
		text := allText(generate(t, plainSpec("rank-stalled", c.torch)))
		for _, w := range c.want {
			if !regexp.MustCompile(w).MatchString(text) {
				t.Errorf("%s: no line matches %s", c.torch, w)
			}
		}
		for _, w := range c.without {
			if strings.Contains(text, w) {
				t.Errorf("%s: %q is not of this release", c.torch, w)
			}
		}
	}
}

func TestEveryHangPlaysInEveryReleaseItFits(t *testing.T) {
	for _, m := range hangs() {
		played := 0
		for _, g := range generations {
			spec := plainSpec(m.name, g.name)
			inc, err := Generate(spec)
			if err != nil {
				continue
			}
			played++
			if len(inc.Truth.Candidates) == 0 {
				t.Errorf("%s %s: no truth", m.name, g.name)
			}
		}
		if played < 6 {
			t.Errorf("%s plays in %d releases only", m.name, played)
		}
	}
}

var caughtLine = regexp.MustCompile(`\[rank(\d+)\]:\[E\S* ?\S* ?ProcessGroupNCCL\.cpp:\d+\] \[Rank (\d+)\] Watchdog caught`)

// TestStickyRankIsNotTheGlobalRank: in sub-groups [Rank N] is an in-group rank, and stays that of the process's first failure.
func TestStickyRankIsNotTheGlobalRank(t *testing.T) {
	differ := 0
	for _, torch := range []string{"2.3", "2.4", "2.6", "2.7", "recent"} {
		text := allText(generate(t, plainSpec("multi-group-stall", torch)))
		sticky := map[string]string{}
		for _, m := range caughtLine.FindAllStringSubmatch(text, -1) {
			if m[1] != m[2] {
				differ++
			}
			if old, ok := sticky[m[1]]; ok && old != m[2] {
				t.Errorf("%s: rank %s prints [Rank %s] and [Rank %s]", torch, m[1], old, m[2])
			}
			sticky[m[1]] = m[2]
		}
	}
	if differ == 0 {
		t.Error("every [Rank N] is the global rank")
	}
}

// TestStickyRankOutlivesItsGroup: somewhere a second group's failure carries the first group's rank.
func TestStickyRankOutlivesItsGroup(t *testing.T) {
	line := regexp.MustCompile(`\[rank(\d+)\]:\S+ \S+ ProcessGroupNCCL\.cpp:\d+\] \[PG ID \d+ PG GUID \S+ Rank (\d+)\]  failure detected`)
	found := false
	for seed := range uint64(20) {
		spec := plainSpec("multi-group-stall", "2.7")
		spec.Seed = seed
		text := allText(generate(t, spec))
		sticky := map[string]string{}
		for _, m := range caughtLine.FindAllStringSubmatch(text, -1) {
			sticky[m[1]] = m[2]
		}
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			found = found || sticky[m[1]] != m[2]
		}
	}
	if !found {
		t.Error("no process times out in two groups with different in-group ranks")
	}
}

// TestStalledRankIsIdleAndTheOthersAreNot reads the counters back from the text.
func TestStalledRankIsIdleAndTheOthersAreNot(t *testing.T) {
	failed := regexp.MustCompile(`\[rank(\d+)\]:.*failure detected by watchdog at work sequence id: (\d+) PG status: last enqueued work: (\d+), last completed work: (\d+)`)
	told := regexp.MustCompile(`\[rank(\d+)\]:.*collective timeout from  rank \d+ .*Last enqueued NCCL work: (\d+), last completed NCCL work: (\d+)`)
	for seed := range uint64(10) {
		spec := plainSpec("rank-stalled", "2.7")
		spec.Seed = seed
		inc := generate(t, spec)
		text := allText(inc)
		work := 0
		fired := map[int]bool{}
		for _, m := range failed.FindAllStringSubmatch(text, -1) {
			r, w, e, c := atoi(m[1]), atoi(m[2]), atoi(m[3]), atoi(m[4])
			if c != w-1 || e < w || work != 0 && w != work {
				t.Errorf("%s: rank %d is at %d with %d/%d", inc.ID, r, w, e, c)
			}
			work, fired[r] = w, true
		}
		var idle []int
		for _, m := range told.FindAllStringSubmatch(text, -1) {
			if r, e, c := atoi(m[1]), atoi(m[2]), atoi(m[3]); !fired[r] {
				idle = append(idle, r)
				if e != c || e != work-1 {
					t.Errorf("%s: rank %d is idle with %d/%d while the others are at %d", inc.ID, r, e, c, work)
				}
			}
		}
		slices.Sort(idle)
		if !slices.Equal(idle, inc.Truth.RootRanks) || len(fired)+len(idle) != 16 {
			t.Errorf("%s: %v are idle, truth says %v; %d fired", inc.ID, idle, inc.Truth.RootRanks, len(fired))
		}
	}
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err) // the expression matched digits
	}
	return n
}

// TestMultiGroupStallerIsTheOnlyOneWithoutTimeout checks the truth against the text, in every group layout.
func TestMultiGroupStallerIsTheOnlyOneWithoutTimeout(t *testing.T) {
	for seed := range uint64(12) {
		spec := plainSpec("multi-group-stall", "2.8")
		spec.Seed = seed
		switch seed % 3 {
		case 1:
			spec.Layout = Layout{Kind: "hsdp", TP: 8, CP: 1, EP: 1, DP: 2, PP: 1}
		case 2:
			spec.Layout = Layout{Kind: "megatron", TP: 2, CP: 1, EP: 2, DP: 2, PP: 2}
		}
		inc := generate(t, spec)
		fired := map[string]bool{}
		guids := map[string]bool{}
		for _, m := range regexp.MustCompile(`\[rank(\d+)\]:.*PG GUID ([^\s(]+)\S* Rank \d+\]  failure detected`).FindAllStringSubmatch(allText(inc), -1) {
			fired[m[1]], guids[m[2]] = true, true
		}
		if len(inc.Truth.RootRanks) != 1 || fired[fmt.Sprint(inc.Truth.RootRanks[0])] || len(fired) != 15 {
			t.Errorf("%s: root %v, %d ranks with timeouts", inc.ID, inc.Truth.RootRanks, len(fired))
		}
		if len(guids) < 3 || guids["0"] {
			t.Errorf("%s: timeouts in groups %v", inc.ID, guids)
		}
		for _, r := range inc.Truth.Intermediates {
			if !fired[fmt.Sprint(r)] {
				t.Errorf("%s: intermediate %d waits for nothing", inc.ID, r)
			}
		}
	}
}

func TestAblationsTakeTheEvidenceAway(t *testing.T) {
	for _, c := range []struct {
		ablate, gone string
		want         []string
		root         bool
		printing     int // ranks that print a line with their name
	}{
		{"", "", []string{"rank-stalled"}, true, 16},
		{"no-dump", "dump signal", []string{"rank-stalled"}, true, 16},
		{"no-world", "MEMBER: ", []string{"rank-stalled"}, true, 16},
		{"silent-root", "MEMBER: ", openHang, false, 15},
	} {
		spec := plainSpec("rank-stalled", "2.7")
		spec.Ablate = c.ablate
		inc := generate(t, spec)
		text := allText(inc)
		if c.gone != "" && strings.Contains(text, c.gone) {
			t.Errorf("%s: %q is still there", c.ablate, c.gone)
		}
		printing := 0
		for r := range 16 {
			if strings.Contains(text, fmt.Sprintf("[rank%d]:", r)) {
				printing++
			}
		}
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(inc.Truth.Candidates, want) || (len(inc.Truth.RootRanks) > 0) != c.root || printing != c.printing {
			t.Errorf("%s: %d ranks print; %+v", c.ablate, printing, inc.Truth)
		}
	}
}

func TestDamageWidensTheTruth(t *testing.T) {
	for _, c := range []struct {
		damage, torch string
		want          []string
		root          bool
		missing       int
	}{
		{"missing-root-file", "2.7", lostToo(openHang), false, 8},
		{"truncated-root", "2.7", lostToo(openHang), false, 0},
		{"missing-other-file", "2.7", []string{"rank-stalled"}, true, 8},
		{"missing-other-file", "2.2", lostToo(openHang), false, 8},
		{"truncated-other", "2.7", []string{"rank-stalled"}, true, 0},
		{"wrapped", "2.7", []string{"rank-stalled"}, true, 0},
	} {
		spec := plainSpec("rank-stalled", c.torch)
		spec.Damage = c.damage
		inc := generate(t, spec)
		want := slices.Sorted(slices.Values(c.want))
		if !slices.Equal(inc.Truth.Candidates, want) || (len(inc.Truth.RootRanks) > 0) != c.root || len(inc.Truth.MissingRanks) != c.missing || len(inc.Truth.MissingNodes) != c.missing/8 {
			t.Errorf("%s %s: %+v", c.damage, c.torch, inc.Truth)
		}
		if c.missing > 0 && (inc.WorldSize != 16 || inc.Nodes == "" || len(inc.Files) != 2) {
			t.Errorf("%s: flags %d %q, %d files", c.damage, inc.WorldSize, inc.Nodes, len(inc.Files))
		}
	}
}

// TestWhereOneSideIsLostTheBytesDecide: what is left of a split, a lone waiter or a stall says no more than it would had
// another of them been played.
func TestWhereOneSideIsLostTheBytesDecide(t *testing.T) {
	split := []string{"collective-mismatch"}
	for _, c := range []struct {
		mechanism, mode, damage string
		perNode                 int
		want                    []string
		root                    bool
	}{
		{"rank-stalled", "node", "missing-root-file", 8, lostToo(openHang), false},
		{"mismatch", "node", "missing-root-file", 8, lostToo(openHang), false},
		{"gloo-split", "node", "missing-root-file", 8, lostToo(openHang), false},
		{"gloo-split", "rank", "truncated-root", 8, lostToo(openHang), false},
		{"symmetric-hang", "rank", "missing-other-file", 8, lostToo(openHang), false},
		{"mismatch", "node", "missing-other-file", 8, split, false}, // the unseen half may be on the odd side
		{"mismatch", "rank", "missing-other-file", 8, split, true},
		{"gloo-split", "rank", "missing-other-file", 8, split, true},

		{"lone-waiter", "node", "", 8, []string{"lone-waiter"}, true},
		{"lone-waiter", "node", "missing-other-file", 8, lostToo(outsiders), false},
		{"lone-waiter", "rank", "missing-root-file", 8, lostToo(outsiders), false},
		{"lone-waiter", "node", "missing-root-file", 8, lostToo(loneOrOpen), false},
		{"lone-waiter", "node", "missing-other-file", 1, lostToo(loneOrOpen), false},
		{"rank-stalled", "node", "missing-root-file", 1, lostToo(loneOrOpen), false},
		{"symmetric-hang", "node", "missing-other-file", 1, lostToo(loneOrOpen), false},
		{"rank-stalled", "node", "missing-other-file", 2, lostToo(outsiders), false},
		{"rank-stalled", "node", "missing-other-file", 1, lostToo(outsiders), false},
		{"rank-stalled", "node", "", 1, pair, false},
		{"lone-waiter", "node", "", 1, pair, false},
	} {
		for seed := range uint64(8) {
			spec := plainSpec(c.mechanism, "2.7")
			spec.Seed, spec.FileMode, spec.Damage = seed, c.mode, c.damage
			spec.PerNode, spec.Layout.DP = c.perNode, 2*c.perNode
			inc := generate(t, spec)
			name := fmt.Sprintf("%s in files per %s, %d a node, %q", inc.ID, c.mode, c.perNode, c.damage)
			want := slices.Sorted(slices.Values(c.want))
			if c.mechanism == "mismatch" && strings.Contains(inc.Title, "(detail)") {
				if !slices.Equal(inc.Truth.Candidates, split) { // each line names both sides
					t.Errorf("%s: PyTorch names the mismatch, truth is %v", name, inc.Truth.Candidates)
				}
				continue
			}
			if !slices.Equal(inc.Truth.Candidates, want) || (len(inc.Truth.RootRanks) > 0) != c.root {
				t.Errorf("%s: %v of %v, want %v", name, inc.Truth.Candidates, inc.Truth.RootRanks, want)
			}
		}
	}
}

func TestTruncatedFileEndsInsideALineBeforeTheIncident(t *testing.T) {
	spec := plainSpec("rank-stalled", "2.7")
	spec.Damage = "truncated-root"
	cut := 0
	for _, f := range generate(t, spec).Files {
		if !bytes.HasSuffix(f.Data, []byte("\n")) {
			cut++
			if bytes.Contains(f.Data, []byte("dump signal")) || bytes.Contains(f.Data, []byte("Watchdog caught")) {
				t.Errorf("%s still shows the failure", f.Name)
			}
		}
	}
	if cut != 1 {
		t.Errorf("%d files are cut", cut)
	}
}

func TestOnlyNodeZeroWritesTheStepLine(t *testing.T) {
	inc := generate(t, plainSpec("symmetric-hang", "2.6"))
	for _, f := range inc.Files {
		if got, want := bytes.Contains(f.Data, []byte("*** STEP")), strings.HasSuffix(f.Name, "-0.out"); got != want {
			t.Errorf("%s: STEP line %v", f.Name, got)
		}
		if bytes.Contains(f.Data, []byte("srun: ")) != strings.HasPrefix(f.Name, "slurm-") {
			t.Errorf("%s: srun lines belong to the batch file only", f.Name)
		}
	}
}

func TestZonesDifferByQuarterHours(t *testing.T) {
	spec := plainSpec("symmetric-hang", "2.6")
	spec.ZoneMix = true
	s, err := newScene(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range s.nodes {
		if n.local == 0 || n.local%(15*60*1e9) != 0 || n.inside != 0 && n.inside != n.local {
			t.Errorf("%s: zones %v and %v", n.name, n.local, n.inside)
		}
	}
}

// TestGroupsFollowMegatronOrder: tp varies fastest, then cp, ep, dp, pp [Megatron-Core parallel_state].
func TestGroupsFollowMegatronOrder(t *testing.T) {
	spec := plainSpec("multi-group-stall", "2.7")
	spec.Layout = Layout{Kind: "megatron", TP: 2, CP: 1, EP: 2, DP: 2, PP: 2}
	s, err := newScene(spec)
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string][]int{"tp": {0, 1}, "ep": {0, 2}, "dp": {0, 2, 4, 6}, "pp": {0, 8}, "mp": {0, 1, 8, 9}} {
		if g := s.groupOf(0, kind); g == nil || !slices.Equal(g.ranks, want) {
			t.Errorf("%s group of rank 0 is %v, want %v", kind, g, want)
		}
	}
}

func TestImpossibleSpecsAreRefused(t *testing.T) {
	for name, spec := range map[string]Spec{
		"unknown mechanism": plainSpec("flat-tyre", "2.7"),
		"unknown release":   plainSpec("rank-stalled", "0.4"),
		"groups before 2.3": plainSpec("multi-group-stall", "2.2"),
		"ablation":          {Mechanism: "lone-waiter", Torch: "2.7", Ablate: "no-moon"},
		"layout":            {Mechanism: "lone-waiter", Torch: "2.7", NodeCount: 2, PerNode: 8, Layout: Layout{Kind: "ddp", DP: 3}},
	} {
		if _, err := Generate(spec); err == nil {
			t.Errorf("%s: generated", name)
		}
	}
}

// state is one parsed counter line of 2.7.
type state struct{ w, e, c int }

func states(text string) map[int]state {
	out := map[int]state{}
	for _, m := range regexp.MustCompile(`\[rank(\d+)\]:.*failure detected by watchdog at work sequence id: (\d+) PG status: last enqueued work: (\d+), last completed work: (\d+)`).FindAllStringSubmatch(text, -1) {
		out[atoi(m[1])] = state{atoi(m[2]), atoi(m[3]), atoi(m[4])}
	}
	return out
}

func TestLaggingGPUIsBehindAndKeepsEnqueuing(t *testing.T) {
	for seed := range uint64(20) {
		for _, kind := range []string{"ddp", "fsdp"} {
			spec := plainSpec("lagging-gpu", "2.7")
			spec.Seed, spec.Layout.Kind = seed, kind
			inc := generate(t, spec)
			got := states(allText(inc))
			root := inc.Truth.RootRanks[0]
			for r, o := range got {
				if r != root && (o.w-got[root].w < 3 || got[root].e < o.w || got[root].c != got[root].w-1) {
					t.Errorf("%s: rank %d is at %+v, the lagging rank %d at %+v", inc.ID, r, o, root, got[root])
				}
			}
			if len(got) != 16 {
				t.Errorf("%s: %d states", inc.ID, len(got))
			}
		}
	}
}

func TestMismatchShowsTwoSides(t *testing.T) {
	line := regexp.MustCompile(`\[rank(\d+)\]:\S+ \S+ ProcessGroupNCCL\.cpp:632\] \[Rank \d+\] Watchdog caught .*WorkNCCL\(SeqNum=(\d+), OpType=(\w+), NumelIn=(\d+), NumelOut=(\d+),`)
	tie, kinds := 0, map[string]int{}
	for seed := range uint64(60) {
		spec := plainSpec("mismatch", "2.7")
		spec.Seed, spec.Layout.Kind = seed, pickKind(seed)
		inc := generate(t, spec)
		text := allText(inc)
		if strings.Contains(text, "Detected mismatch between collectives on ranks.") {
			kinds["detail"]++
			continue
		}
		sides := map[string][]int{}
		for _, m := range line.FindAllStringSubmatch(text, -1) {
			k := strings.Join(m[2:], " ")
			if r := atoi(m[1]); !slices.Contains(sides[k], r) {
				sides[k] = append(sides[k], r)
			}
		}
		if len(sides) != 2 {
			t.Errorf("%s: %d sides: %v", inc.ID, len(sides), sides)
			continue
		}
		small := []int(nil)
		for _, s := range sides {
			if 2*len(s) < 16 {
				small = s
			}
		}
		slices.Sort(small)
		if small == nil {
			tie++
		}
		if !slices.Equal(small, inc.Truth.RootRanks) {
			t.Errorf("%s: the smaller side is %v, truth says %v", inc.ID, small, inc.Truth.RootRanks)
		}
		kinds[inc.Title[strings.LastIndexByte(inc.Title, '('):]]++
	}
	if tie == 0 || len(kinds) != 4 {
		t.Errorf("%d ties, kinds %v", tie, kinds)
	}
}

func pickKind(seed uint64) string {
	if seed%2 == 0 {
		return "fsdp"
	}
	return "ddp"
}

// TestMixedGroupsCountApart: in a pipeline group the last completed work may carry a higher number than the one that hangs.
func TestMixedGroupsCountApart(t *testing.T) {
	jumps := 0
	for seed := range uint64(10) {
		spec := plainSpec("multi-group-stall", "2.7")
		spec.Seed = seed
		for _, m := range regexp.MustCompile(`\(PIPELINE_MODEL_PARALLEL_GROUP\) Rank \d+\]  failure detected by watchdog at work sequence id: (\d+) PG status: last enqueued work: (\d+), last completed work: (\d+)`).FindAllStringSubmatch(allText(generate(t, spec)), -1) {
			if atoi(m[3]) > atoi(m[1]) {
				jumps++
			}
		}
	}
	if jumps == 0 {
		t.Error("no counter jumps between the two numberings")
	}
}

func TestLateWatchdogRanForHours(t *testing.T) {
	for _, m := range regexp.MustCompile(`Timeout\(ms\)=(\d+)\) ran for (\d+) milliseconds`).FindAllStringSubmatch(allText(generate(t, plainSpec("late-watchdog", "2.1"))), -1) {
		if atoi(m[2])-atoi(m[1]) < 2*3600*1000 {
			t.Errorf("ran for %s of %s ms", m[2], m[1])
		}
	}
}

func TestStuckMonitorsSpeakAfterTheTimeouts(t *testing.T) {
	text := allText(generate(t, plainSpec("stuck-after-timeout", "2.7")))
	caught, stuck := strings.LastIndex(text, "Watchdog caught"), strings.Index(text, "watchdog got stuck for 480 seconds")
	if caught < 0 || stuck < 0 {
		t.Fatalf("caught at %d, stuck at %d", caught, stuck)
	}
	if strings.Contains(text, "taking the entire process down") {
		t.Error("the processes were taken down before the monitors could speak")
	}
}

// TestRootsAndTheirNodesAreInTheText: whatever truth names can be read somewhere.
func TestRootsAndTheirNodesAreInTheText(t *testing.T) {
	named := 0
	for _, spec := range Grid(220, 3, 1) {
		if spec.Damage == "gz" || spec.Damage == "zst" || spec.Damage == "wrapped" {
			continue
		}
		inc := generate(t, spec)
		text := allText(inc)
		for _, r := range inc.Truth.RootRanks {
			named++
			found := false
			for _, id := range []string{"[rank%d]:", "[Rank %d]", "GLOBAL_RANK: %d,", " rank %d nranks", "Rank %d is running"} {
				found = found || strings.Contains(text, fmt.Sprintf(id, r))
			}
			for _, f := range inc.Files {
				found = found || f.Name == fmt.Sprintf("rank_%d.log", r) || strings.HasSuffix(f.Name, fmt.Sprintf("_%d_log.err", r))
			}
			if !found && spec.FileMode != "single" {
				t.Errorf("%s: root rank %d is nowhere", inc.ID, r)
			}
		}
		for _, n := range inc.Truth.RootNodes {
			if !strings.Contains(text, n) {
				t.Errorf("%s: root node %s is nowhere", inc.ID, n)
			}
		}
		if len(inc.Truth.RootRanks) > 0 && (len(inc.Truth.RootNodes) == 0) != (spec.Ablate == "no-node") {
			t.Errorf("%s: root nodes %v", inc.ID, inc.Truth.RootNodes)
		}
	}
	if named < 50 {
		t.Errorf("only %d roots are named", named)
	}
}
