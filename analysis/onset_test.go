package analysis

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"faultline/incident"
)

// loop is the log of a hand-written loop of n lines, each of which step makes, in two halves with what stands between them.
func loop(n int, between string, step func(i int, slow bool) string) string {
	var b strings.Builder
	for i := range n {
		if i == n/2 {
			b.WriteString(between)
		}
		for l := range strings.SplitSeq(step(i, i >= n/2), "\n") {
			at := time.Date(2026, 2, 3, 14, 0, 0, 0, time.UTC).Add(time.Duration(i) * 30 * time.Second)
			fmt.Fprintf(&b, "%s %s\n", at.Format(time.DateTime), l)
		}
	}
	return b.String()
}

func took(i int, slow bool) float64 {
	if slow {
		return 1.6 + 0.01*float64(i%5)
	}
	return 1 + 0.01*float64(i%5)
}

func TestWhatALogSaysWhenItsStepsSlowDown(t *testing.T) {
	for _, c := range []struct {
		name, log, want string
		mechanism       string
	}{
		{"an announcement", loop(80, "/opt/lib/frob/widget.py:123: UserWarning: frobs are deprecated\n  return frob(x)\n2026-02-03 14:20:00 frob stage 2: widgets=off, depth 2048\n", func(i int, slow bool) string {
			return fmt.Sprintf("step %d loss %.3f step_time %.2f s", i, 3-0.001*float64(i), took(i, slow))
		}), "the log says `2026-02-03 14:20:00 frob stage 2: widgets=off, depth 2048`", "throughput-regression"},
		{"a number that was another", loop(80, "", func(i int, slow bool) string {
			n := 16
			if slow {
				n = 64
			}
			return fmt.Sprintf("step %d loss %.3f frobs %d step_time %.2f s", i, 3-0.001*float64(i), n, took(i, slow))
		}), "the job's own frobs went from 16 to 64", "throughput-regression"},
		{"lines that come more often", loop(80, "", func(i int, slow bool) string {
			text := fmt.Sprintf("step %d loss %.3f step_time %.2f s", i, 3-0.001*float64(i), took(i, slow))
			if slow {
				text += fmt.Sprintf("\nregraph of unit %d", i)
			}
			return text
		}), "lines like `2026-02-03 14:20:00 regraph of unit 40` come far more often (39, before 0)", "throughput-regression"},
		{"a member that has more to do", loop(80, "", func(i int, slow bool) string {
			text := fmt.Sprintf("step %d loss %.3f step_time %.2f s", i, 3-0.001*float64(i), took(i, slow))
			for r := range 4 {
				n := 8000 + (i*37+r*11)%200
				if slow && r == 2 {
					n *= 3
				}
				text += fmt.Sprintf("\nstep %d ep_rank %d tokens %d expert_ms %.1f", i, r, n, float64(n)/200)
			}
			return text
		}), "ep_rank 2 has more to do: tokens rose from", "throughput-regression"},
		{"one of a list", loop(80, "", func(i int, slow bool) string {
			text := fmt.Sprintf("step %3d loss %.3f dt %.2fs compute[s]", i, 3-0.001*float64(i), took(i, slow))
			for r := range 16 {
				x := 0.7 + 0.01*float64((i+r)%4)
				if slow && r == 13 {
					x += 0.6
				}
				text += fmt.Sprintf(" %.2f", x)
			}
			return text
		}), "compute rose from 0.71 to 1.31 on index 13", "slow-rank"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": c.log}, "")})
			if v := r.Verdict; v.Mechanism != c.mechanism || !strings.Contains(v.Summary, c.want) || len(v.Root.Nodes) > 0 {
				t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
			}
		})
	}
}

func TestStepsThatDoMoreAreNotSlow(t *testing.T) {
	log := loop(80, "2026-02-03 14:20:00 stage 2: seq 8192 -> 16384\n", func(i int, slow bool) string {
		return fmt.Sprintf("step %d loss %.3f step_time %.2f s tokens/step 4194304 tflops/gpu %.1f", i, 3-0.001*float64(i), took(i, slow), 400+float64(i%7))
	})
	if v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": log}, "")}).Verdict; v.Status != incident.NoFailure {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}

// losses is the log of a loop that prints these losses.
func losses(head string, of func(i int) float64) string {
	return head + loop(240, "", func(i int, _ bool) string {
		return fmt.Sprintf("step=%d loss=%.4f step_time=%.2f", 10*i, of(i)+0.01*math.Sin(float64(i*i)), took(i, false))
	})
}

func TestALossThatRises(t *testing.T) {
	falls := func(i int) float64 { return 3 + 8*math.Exp(-float64(i)/20) }
	for name, c := range map[string]struct {
		of   func(i int) float64
		rise bool
	}{
		"from somewhere on": {func(i int) float64 { return falls(i) + 4*(1-math.Exp(-float64(max(0, i-110))/60)) }, true},
		"and comes back":    {func(i int) float64 { return falls(i) + 4*math.Exp(-math.Abs(float64(i-150))/8) }, false},
		"at once, and then falls as before": {func(i int) float64 {
			if i < 120 {
				return falls(i)
			}
			return 3.6 + math.Exp(-float64(i-120)/30)
		}, false},
		"not": {falls, false},
	} {
		v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": losses("", c.of)}, "")}).Verdict
		if got := strings.Contains(v.Summary, "diverges"); got != c.rise {
			t.Errorf("%s: %s: %s", name, v.Mechanism, v.Summary)
		}
	}
}

func TestALossThatRisesAfterAChangeOfScale(t *testing.T) {
	falls := func(i int) float64 { return 3 + 8*math.Exp(-float64(i)/20) }
	rises := func(i int) float64 { return falls(i) + 4*(1-math.Exp(-float64(max(0, i-110))/60)) }
	const cfg = "2026-02-03 13:59:00 cfg global_batch="
	for _, c := range []struct{ was, is, want string }{
		{"1024 peak_lr=0.0003", "8192 peak_lr=0.0024", "by the linear rule (global_batch 1024 → 8192, peak_lr 0.0003 → 0.0024)"},
		{"1024 peak_lr=0.0003", "8192 peak_lr=0.0003", "another size than the earlier one (global_batch 1024 → 8192) and the same learning rate"},
		{"1024 warmup_steps=200", "8192 warmup_steps=200", "another size than the earlier one (global_batch 1024 → 8192); next"},
	} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": losses(cfg+c.is+"\n", rises)}, ""),
			History: written(t, map[string]string{"old.log": losses(cfg+c.was+"\n", falls)}, "")})
		for _, want := range []string{c.want, "the earlier run had 3.0"} {
			if v := r.Verdict; !strings.Contains(v.Summary+"; next", want) {
				t.Errorf("%q is not in: %s", want, v.Summary)
			}
		}
	}
}

func TestALossThatRisesFromWhereTheEarlierRunEnded(t *testing.T) {
	of := func(from int, loss func(i int) float64) string {
		return loop(80, "", func(i int, _ bool) string {
			return fmt.Sprintf("step=%d loss=%.4f step_time=%.2f", from+10*i, loss(i)+0.01*math.Sin(float64(i*i)), took(i, false))
		})
	}
	flat := func(int) float64 { return 2.2 }
	for rise, want := range map[float64]bool{0.04: true, 0: false} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": of(20800, func(i int) float64 { return 2.2 + rise*float64(i) })}, ""),
			History: written(t, map[string]string{"old.log": of(20000, flat)}, "")})
		if v := r.Verdict; strings.Contains(v.Summary, "diverges") != want {
			t.Errorf("%g: %s", rise, v.Summary)
		}
	}
}

func TestWhatOnlyThisRunPrintsAtItsStart(t *testing.T) {
	of := func(head string, k float64) string {
		return head + loop(80, "", func(i int, _ bool) string {
			return fmt.Sprintf("step=%d loss=%.4f step_time=%.2f", 10*i, 3-0.001*float64(i), k*took(i, false))
		})
	}
	for mark, schedule := range map[string]string{
		"2026-02-03 13:58:00 WARNING ":         "2026-02-03 13:59:00 INFO Using schedule 1F1B with %d microbatches and 8 stages.\n",
		"W0203 13:58:00.123456 7 frob.cc:12] ": "I0203 13:59:00.123456 7 frob.cc:13] n_microbatches=%d pp_stages=8\n",
		"[2026-02-03 13:58:00] [WARNING] ":     "[2026-02-03 13:59:00] [INFO] 8 pipeline stages, %d chunks\n",
	} {
		r := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": of(mark+"frobs are fewer than widgets\n"+fmt.Sprintf(schedule, 4), 2)}, ""),
			History: written(t, map[string]string{"old.log": of(fmt.Sprintf(schedule, 32), 1)}, "")})
		for _, want := range []string{"the pipeline idles for 64% of a step instead of 18%", "it printed `frobs are fewer than widgets`, and the earlier run did not"} {
			if v := r.Verdict; !strings.Contains(v.Summary, want) {
				t.Errorf("%s: %q is not in: %s", mark, want, v.Summary)
			}
		}
	}
}

func TestSavesThatRowsCount(t *testing.T) {
	var b strings.Builder
	at := time.Date(2026, 2, 3, 14, 0, 0, 0, time.UTC)
	for i := range 120 {
		at = at.Add(30 * time.Second)
		fmt.Fprintf(&b, "{\"event\": \"step\", \"step\": %d, \"ts\": %q, \"loss\": %.3f, \"step_s\": %.2f}\n", 10*(i+1), at.Format("2006-01-02T15:04:05"), 3-0.001*float64(i), took(i, false))
		if i%10 == 9 {
			s := 30 + float64(i%7)
			if i > 60 {
				s *= 10
			}
			at = at.Add(time.Duration(s) * time.Second)
			fmt.Fprintf(&b, "{\"event\": \"saved\", \"step\": %d, \"ts\": %q, \"ckpt_s\": %.1f}\n", 10*(i+1), at.Format("2006-01-02T15:04:05"), s)
		}
	}
	if v := diagnosed(t, Input{Sources: written(t, map[string]string{"metrics.jsonl": b.String()}, "")}).Verdict; v.Mechanism != "slow-checkpoint" {
		t.Errorf("%s: %s", v.Mechanism, v.Summary)
	}
}

func TestStepsThatAreLongAgainAndAgain(t *testing.T) {
	rows := func(pauses bool) string {
		var b strings.Builder
		fmt.Fprintf(&b, "{\"event\": \"start\", \"world\": 64, \"tidy\": %t, \"every\": 100}\n", !pauses)
		for i := range 160 {
			s := took(i, false)
			if pauses && i%2 == 1 {
				s += 1.2
				fmt.Fprintf(&b, "{\"step\": %d, \"event\": \"tidy\", \"rank\": %d, \"pause_s\": 1.2}\n", 4*i, i%64)
			}
			fmt.Fprintf(&b, "{\"step\": %d, \"loss\": %.3f, \"step_time_s\": %.3f}\n", 4*i, 3-0.001*float64(i), s)
		}
		return b.String()
	}
	in := Input{Sources: written(t, map[string]string{"metrics.jsonl": rows(true)}, ""), History: written(t, map[string]string{"metrics.jsonl": rows(false)}, "earlier/")}
	v := diagnosed(t, in).Verdict
	for _, want := range []string{"s on average instead of 1.0", "80 lines like `{\"step\": 4, \"event\": \"tidy\"", "\"tidy\": false"} {
		if !strings.Contains(v.Summary, want) {
			t.Errorf("%q is not in: %s", want, v.Summary)
		}
	}
	in.Sources, in.History = written(t, map[string]string{"metrics.jsonl": rows(false)}, ""), written(t, map[string]string{"metrics.jsonl": rows(false)}, "earlier/")
	if v := diagnosed(t, in).Verdict; v.Status != incident.NoFailure {
		t.Errorf("two runs that are alike: %s: %s", v.Mechanism, v.Summary)
	}
}

func TestACountOfASwitchThatOutgrowsTheOthersSaysWhere(t *testing.T) {
	counters := func(port, hour string, k, stuck int) string {
		return fmt.Sprintf("# frobport %s 2026-02-03 %s\nPackets: %d\nBytes: %d\nXmitWait: %d\nFrames: %d\n", port, hour, 1000*k, 90000*k, stuck, 800*k)
	}
	files := map[string]string{"run.log": paceLog(1, 2)}
	for _, port := range []string{"port31", "port33", "port35"} {
		for k, hour := range map[int]string{1: "13:50", 2: "14:30"} {
			stuck := 1100 * k
			if port == "port33" && k == 2 {
				stuck = 918000
			}
			files[hour[:2]+"/frob-leaf2-"+port+".txt"] = counters(port, hour, k, stuck)
		}
	}
	v := diagnosed(t, Input{Sources: written(t, files, "")}).Verdict
	if v.Mechanism != "slow-communication" || len(v.Root.Nodes) > 0 || !strings.Contains(v.Summary, "XmitWait rose from 1100 to 918000") {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}

// Every rank loads data in a job without pipeline stages: those that take long are told, with the node that the log gives them.
func TestRanksThatLoadDataFarLonger(t *testing.T) {
	var b strings.Builder
	b.WriteString("using world size: 32, data-parallel size: 32, context-parallel size: 1, tensor-model-parallel size: 1, pipeline-model-parallel size: 1\nranks 0-7 c5n01, ranks 8-15 c5n02, ranks 16-23 c5n03, ranks 24-31 c5n04\n")
	b.WriteString(paceLog(1, 1))
	b.WriteString("times across ranks (ms):\n  batch-generator:\n")
	for rank := range 32 {
		ms := 12.5
		if rank >= 16 && rank < 24 {
			ms = 890
		}
		fmt.Fprintf(&b, "     rank %2d: %.2f\n", rank, ms)
	}
	v := diagnosed(t, Input{Sources: written(t, map[string]string{"run.log": b.String()}, "")}).Verdict
	if v.Mechanism != "slow-rank" || len(v.Root.Nodes) != 1 || v.Root.Nodes[0] != "c5n03" || !strings.Contains(v.Summary, "loading data") {
		t.Errorf("%s on %v: %s", v.Mechanism, v.Root.Nodes, v.Summary)
	}
}
