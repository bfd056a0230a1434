package analysis

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"faultline/incident"
)

// paceLog is a log of steps that take was seconds and, from its middle on, is seconds.
func paceLog(was, is float64) string {
	var b strings.Builder
	at := time.Date(2026, 2, 3, 14, 0, 0, 0, time.UTC)
	for i := range 120 {
		took := was
		if i >= 60 {
			took = is
		}
		at = at.Add(time.Duration(10 * took * float64(time.Second)))
		took += 0.01 * float64(i%5)
		fmt.Fprintf(&b, " [%s] iteration %8d/  100000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f | learning rate: 1.0E-04 | global batch size:  1024 | lm loss: 2.0%dE+00 | loss scale: 1.0 | grad norm: 0.5 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
			at.Format(time.DateTime), 10*(i+1), 10240*(i+1), 1000*took, i%9)
	}
	return b.String()
}

// table is a table of a node's GPUs by the minute around the slowdown of paceLog(1, 2), at 14:10.
func limits(slow bool) string {
	var b strings.Builder
	b.WriteString("timestamp,gpu,power_limit_w,power.draw\n")
	for m := range 20 {
		limit := 700
		if slow && m >= 10 {
			limit = 400
		}
		for gpu := range 2 {
			fmt.Fprintf(&b, "2026-02-03 14:%02d:30,%d,%d,%d\n", m, gpu, limit, limit-50+(m*7+gpu)%20)
		}
	}
	return b.String()
}

func TestATableNamesTheNodeThatLeftTheOthers(t *testing.T) {
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": paceLog(1, 2), "smi_n1.csv": limits(false), "smi_n2.csv": limits(true), "smi_n3.csv": limits(false)}, "")})
	v := r.Verdict
	if v.Mechanism != "slow-rank" || !slices.Equal(v.Root.Nodes, []string{"n2"}) || !strings.Contains(v.Summary, "power_limit_w fell from 700 to 400 on n2") {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}

func TestTablesThatDoNotMoveAccuseNobody(t *testing.T) {
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": paceLog(1, 2), "smi_n1.csv": limits(false), "smi_n2.csv": limits(false)}, "")})
	if v := r.Verdict; v.Mechanism != "throughput-regression" || len(v.Root.Nodes) > 0 {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}

func TestTwoPlacesAtOnceDecideNothing(t *testing.T) {
	moves := strings.NewReplacer("power_limit_w", "swap_si", ",400,", ",9000,", ",700,", ",0,").Replace(limits(true))
	r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": paceLog(1, 2), "smi_n1.csv": limits(false), "smi_n2.csv": limits(true), "smi_n3.csv": limits(false),
		"vmstat_n1.csv": moves, "vmstat_n2.csv": strings.ReplaceAll(moves, ",9000,", ",0,"), "vmstat_n3.csv": strings.ReplaceAll(moves, ",9000,", ",0,")}, "")})
	if v := r.Verdict; len(v.Root.Nodes) > 0 {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}

// ownSteps is what a rank prints of its own steps.
func ownSteps(rank int, copies, wait float64) string {
	var b strings.Builder
	for i := range 80 {
		n := 0.01 * float64(i%4)
		fmt.Fprintf(&b, "step %d rank %d | fwd_bwd %.3f | h2d %.3f | wait %.3f | total %.3f s\n", 4*i, rank, 1.3+n, copies+n, wait, 1.3+copies+wait+2*n)
	}
	return b.String()
}

func TestAnEarlierRunShowsARankThatWasSlowFromTheStart(t *testing.T) {
	logs, before := map[string]string{}, map[string]string{}
	for rank := range 6 {
		name := fmt.Sprintf("rank%d.log", rank)
		logs[name], before[name] = ownSteps(rank, 0.2, 1.6), ownSteps(rank, 0.2, 0.1)
	}
	logs["rank3.log"] = ownSteps(3, 1.7, 0.1)
	in := Input{Sources: written(t, logs, ""), History: written(t, before, "earlier/")}
	v := diagnosed(t, in).Verdict
	if v.Mechanism != "slow-rank" || !slices.Equal(v.Root.Ranks, []int{3}) || !strings.Contains(v.Summary, "earlier run") {
		t.Errorf("%s, ranks %v: %s", v.Mechanism, v.Root.Ranks, v.Summary)
	}
	in.Sources = written(t, before, "") // as fast as ever
	if v := diagnosed(t, in).Verdict; v.Status != incident.NoFailure {
		t.Errorf("without a difference: %s: %s", v.Mechanism, v.Summary)
	}
}

func TestAnEarlierRunShowsThatNCCLUsesAnotherNetwork(t *testing.T) {
	net := func(name string) string {
		return "n1:44:44 [0] NCCL INFO Bootstrap : Using eth0:10.7.0.11<0>\nn1:44:53 [0] NCCL INFO Using network " + name +
			"\nn1:44:53 [0] NCCL INFO ncclCommInitRank comm 0x55d1c0 rank 0 nranks 32 cudaDev 0 nvmlDev 0 busId f000 commId 0x9ac1 - Init START\n"
	}
	in := Input{Sources: written(t, map[string]string{"run.log": paceLog(3, 3), "nccl.log": net("Socket")}, ""), History: written(t, map[string]string{"run.log": paceLog(1, 1), "nccl.log": net("IB")}, "earlier/")}
	v := diagnosed(t, in).Verdict
	if v.Mechanism != "slow-communication" || !strings.Contains(v.Summary, "NCCL uses Socket, and used IB") {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}

func TestWhatSetsInWithASlowdownSaysWhy(t *testing.T) {
	const line = "[rank0]:W0203 %s 18840 torch/_dynamo/convert_frame.py:1016] [2/8] torch._dynamo hit config.recompile_limit (8)\n"
	at := func(clock string) string { return paceLog(1, 2) + strings.Replace(line, "%s", clock, 1) }
	v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": at("14:10:05.1")}, "")}).Verdict
	if v.Mechanism != "slow-compute" || !strings.Contains(v.Summary, "torch.compile gave up") {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
	if v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": at("14:02:05.1")}, "")}).Verdict; v.Mechanism != "throughput-regression" {
		t.Errorf("what came long before is blamed: %s: %s", v.Mechanism, v.Summary)
	}
}

func TestUnevenExpertsAreNoNodesFault(t *testing.T) {
	var b strings.Builder
	for m := range 20 {
		hot, rest := 1.02, 0.99
		if m >= 10 {
			hot, rest = 3.3, 0.66
		}
		fmt.Fprintf(&b, "2026-02-03 14:%02d:30 iter %d tokens per rank: ep0=%.2f ep1=%.2f ep2=%.2f ep3=%.2f\n", m, 60*m, rest, rest, hot+0.01*float64(m%3), rest)
	}
	v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": paceLog(1, 2), "moe-load.log": b.String()}, "")}).Verdict
	if v.Mechanism != "throughput-regression" || !strings.Contains(v.Summary, "experts share the work unevenly") || !strings.Contains(v.Summary, "ep2") || len(v.Root.Nodes) > 0 {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}

func TestALongerStepThatDoesMoreIsNoSlowdown(t *testing.T) {
	log := func(rate string) string {
		lines := strings.SplitAfter(paceLog(1, 2), "\n")
		for i := range lines {
			r := "803"
			if i >= 60 {
				r = rate
			}
			if rate != "412" {
				r += fmt.Sprint(i % 7)
			}
			lines[i] = strings.Replace(lines[i], " | learning rate", " | tokens/s/gpu: "+r+" | learning rate", 1)
		}
		return strings.Join(lines, "")
	}
	if v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": log("790")}, "")}).Verdict; v.Mechanism == "throughput-regression" {
		t.Errorf("as many tokens a second are called slow: %s", v.Summary)
	}
	if v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": log("401")}, "")}).Verdict; v.Mechanism != "throughput-regression" {
		t.Errorf("half the tokens a second: %s: %s", v.Mechanism, v.Summary)
	}
	constant := strings.ReplaceAll(log("412"), "tokens/s/gpu: 803 ", "tokens/s/gpu: 412 ")
	if v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": constant}, "")}).Verdict; v.Mechanism != "throughput-regression" {
		t.Errorf("a figure that never varies excuses a slowdown: %s: %s", v.Mechanism, v.Summary)
	}
}

func TestWhatWasSetOtherwiseIsTold(t *testing.T) {
	head := func(method string) string {
		return "[2026-02-03 13:59:00] partitioning the stages with method " + method + "\n"
	}
	in := Input{Sources: written(t, map[string]string{"run.log": head("uniform") + paceLog(3, 3)}, ""), History: written(t, map[string]string{"run.log": head("balanced") + paceLog(1, 1)}, "earlier/")}
	if v := diagnosed(t, in).Verdict; v.Mechanism != "throughput-regression" || !strings.Contains(v.Summary, "`method uniform` where the earlier run printed `method balanced`") {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}

func TestOneNodeThatStartsOtherwiseIsNamed(t *testing.T) {
	nccl := func(node, state string) string {
		return fmt.Sprintf("%s:44:44 [0] NCCL INFO Bootstrap : Using eth0:10.7.0.11<0>\n%s:44:53 [0] NCCL INFO NET/IB : GPU Direct RDMA %s for HCA 0 'mlx5_0'\n%s:44:53 [0] NCCL INFO Using network IB\n", node, node, state, node)
	}
	in := Input{Sources: written(t, map[string]string{"run.log": paceLog(3, 3), "nccl-n1.log": nccl("n1", "Enabled"), "nccl-n2.log": nccl("n2", "Disabled"), "nccl-n3.log": nccl("n3", "Enabled")}, ""),
		History: written(t, map[string]string{"run.log": paceLog(1, 1), "nccl-n2.log": nccl("n2", "Enabled")}, "earlier/")}
	if v := diagnosed(t, in).Verdict; v.Mechanism != "slow-rank" || !slices.Equal(v.Root.Nodes, []string{"n2"}) {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}

// stepTable is a rank's own table of its steps: from the middle on fwd takes longer, or the others' bwd, in which they wait.
func stepTable(slow bool) string {
	var b strings.Builder
	b.WriteString("step,unix_ts,data_s,fwd_s,bwd_s,total_s\n")
	at := 1770127200.0
	for i := range 120 {
		fwd, bwd := 0.2, 0.4
		switch {
		case i >= 60 && slow:
			fwd = 0.7
		case i >= 60:
			bwd = 0.9
		}
		fwd += 0.002 * float64(i%5)
		at += 10 * (fwd + bwd + 0.02)
		fmt.Fprintf(&b, "%d,%.2f,0.0200,%.4f,%.4f,%.4f\n", 10*i, at, fwd, bwd, fwd+bwd+0.02)
	}
	return b.String()
}

func TestTablesOfStepsAreLogsOfTheirRanks(t *testing.T) {
	files := map[string]string{}
	for rank := range 6 {
		files[fmt.Sprintf("steps/rank%02d.csv", rank)] = stepTable(rank == 4)
	}
	v := diagnosed(t, Input{Sources: written(t, files, "")}).Verdict
	if v.Mechanism != "slow-rank" || !slices.Equal(v.Root.Ranks, []int{4}) {
		t.Errorf("%s, ranks %v: %s", v.Mechanism, v.Root.Ranks, v.Summary)
	}
}

func TestARankThatHasMoreToDoIsNotSlow(t *testing.T) {
	files := map[string]string{"run.log": paceLog(1, 2)}
	for rank := range 8 {
		var b strings.Builder
		for m := range 20 {
			tokens, gemm := 16000+m%3, 210.0
			if m >= 10 && rank == 3 {
				tokens, gemm = 68000+m%3, 880
			}
			fmt.Fprintf(&b, `{"t": %d, "rank": %d, "gemm_ms": %.1f, "tokens_recv": %d}`+"\n", 1770127230+60*m, rank, gemm+float64(m%4), tokens)
		}
		files[fmt.Sprintf("metrics/rank_%05d.jsonl", rank)] = b.String()
	}
	v := diagnosed(t, Input{Sources: written(t, files, "")}).Verdict
	if v.Mechanism != "throughput-regression" || !strings.Contains(v.Summary, "has more to do") {
		t.Errorf("%s, ranks %v: %s", v.Mechanism, v.Root.Ranks, v.Summary)
	}
}

func TestRanksThatAreLateFromTheFirstStepAreNamed(t *testing.T) {
	files := func(late float64) map[string]string {
		out := map[string]string{}
		for rank := range 8 {
			var b strings.Builder
			for i := range 80 {
				fwd, sync := 400+float64(i%7), 25.0
				switch {
				case rank == 5:
					fwd += late
				default:
					sync += late
				}
				fmt.Fprintf(&b, `{"event": "step", "rank": %d, "step": %d, "ts": %d, "fwd_bwd_ms": %.1f, "sync_ms": %.1f, "step_ms": %.1f}`+"\n", rank, 4*i, 1770127230+3*i, fwd, sync, fwd+sync+1)
			}
			out[fmt.Sprintf("events/rank%d.jsonl", rank)] = b.String()
		}
		return out
	}
	if v := diagnosed(t, Input{Sources: written(t, files(240), "")}).Verdict; v.Mechanism != "slow-rank" || !slices.Equal(v.Root.Ranks, []int{5}) {
		t.Errorf("%s, ranks %v: %s", v.Mechanism, v.Root.Ranks, v.Summary)
	}
	if v := diagnosed(t, Input{Sources: written(t, files(8), "")}).Verdict; v.Status != incident.NoFailure {
		t.Errorf("a little unevenness is no fault: %s: %s", v.Mechanism, v.Summary)
	}
}

func TestAHistoryThatIsNoneIsNamed(t *testing.T) {
	in := Input{Sources: written(t, map[string]string{"run.log": paceLog(1, 2)}, ""), History: written(t, map[string]string{"notes.txt": "colour,shape\nred,round\nblue,square\n", "empty.jsonl": ""}, "")}
	r := diagnosed(t, in)
	n := 0
	for _, w := range r.Warnings {
		if strings.Contains(w, "neither a history of runs nor a job's log") {
			n++
		}
	}
	if n != 1 || !strings.Contains(strings.Join(r.Warnings, "\n"), "notes.txt: not used") {
		t.Errorf("%q", r.Warnings)
	}
}
