package worker

import (
	"context"
	"fmt"
	"strings"
	"testing"
)

func TestReadSummed(t *testing.T) {
	for text, want := range map[string]string{
		"[timing] rank 4 step 3210 data_wait 1.079s forward 0.192s backward 0.179s optim 0.030s total 1.480s": "3210 1.48: data_wait 1.079, forward 0.192, backward 0.179, optim 0.03",
		"step=2412 fwd=549.8 bwd_inner=1080.0 bwd_allreduce=120.0 step_opt=48.1 total=1797.8 ms":              "2412 1.7978: fwd 0.5498, bwd_inner 1.08, bwd_allreduce 0.12, step_opt 0.0481",
		"Schritt 5010 | Laden 3.62 s | Rechnen 1.31 s | Abgleich 0.19 s | Gesamt 5.17 s":                      "5010 5.17: Laden 3.62, Rechnen 1.31, Abgleich 0.19",
		"第 7350 步: 数据 0.024s 计算 1.700s 同步等待 0.020s 总计 1.787s 损失 1.8380":                                       "7350 1.787: 数据 0.024, 计算 1.7, 同步等待 0.02",
		"step 300 rank 10 | fwd_bwd 1.328 | h2d+d2h 1.674 | cpu_adam 0.213 | wait 0.215 | total 3.459 s":      "300 3.459: fwd_bwd 1.328, h2d+d2h 1.674, cpu_adam 0.213, wait 0.215",
		"step 300 | fwd 1.3 s | bwd 1.6 s | loss 2.1 s":                                                       "", // no sum
		"step 300 | fwd 1.3 s | total 1.3 s":                                                                  "", // nothing adds up
		"fwd 1.3 s | bwd 1.6 s | total 2.9 s":                                                                 "", // of no step
		"step 7 lr 0.1 loss 2.0 norm 2.1":                                                                     "", // no times
	} {
		got := ""
		if s, ok := readSummed([]byte(text)); ok {
			var parts []string
			for _, p := range s.parts {
				parts = append(parts, fmt.Sprintf("%s %.4g", p.Name, p.Max))
			}
			got = fmt.Sprintf("%d %.5g: %s", s.step, s.total, strings.Join(parts, ", "))
		}
		if got != want {
			t.Errorf("%s:\n got %s\nwant %s", text, got, want)
		}
	}
}

func TestReadCounted(t *testing.T) {
	for text, want := range map[string]string{
		"Epoch 0:  30% 7350/24000 [v_num=cd31, it/s=0.5, data_s=0.004]": "7350 2",
		"batch 20/5000 took 1.5 s/it":                                   "20 1.5",
		"read 20/5000 files":                                            "0 0",
		"5000/20 it/s=2.0":                                              "0 0",
	} {
		s, _ := readCounted([]byte(text))
		if got := fmt.Sprintf("%d %.3g", s.step, s.total); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

func TestStepsWithAHeading(t *testing.T) {
	var b strings.Builder
	for i := range 30 {
		fmt.Fprintf(&b, "[batch=%d/4000]:\n\t Train loss: 2.5\n\t Train speed/batches_per_sec: 0.50\n\t Train dataload_wait_s: 0.020\nnode-3: something else\n", i+1)
	}
	obs, err := Summed(t.Context(), "x.log", strings.NewReader(b.String()))
	if err != nil || obs == nil || len(obs.Progress) != 30 {
		t.Fatalf("%+v %v", obs, err)
	}
	if p := obs.Progress[4]; p.Step != 5 || p.StepSeconds != 2 || p.Loss != "2.5" || p.Line != 21 {
		t.Errorf("%+v", p)
	}
}

func TestSummedNeedsAStepThatCountsUp(t *testing.T) {
	log := func(step func(i int) int) string {
		var b strings.Builder
		for i := range 40 {
			fmt.Fprintf(&b, "2026-02-17 13:27:%02d INFO  Schritt %d | Laden 0.05 s | Rechnen 1.31 s | Gesamt 1.40 s\nHinweis: sonst nichts\n", i, step(i))
		}
		return b.String()
	}
	obs, err := Summed(context.Background(), "lauf.log", strings.NewReader(log(func(i int) int { return 10 * i })))
	if err != nil || obs == nil || len(obs.Progress) != 40 || len(obs.Phases) != 40 {
		t.Fatalf("%v %v", obs, err)
	}
	text := log(func(i int) int { return 10 * i })
	p := &obs.Progress[7]
	if got := text[p.Off : p.Off+int64(p.Len)]; !strings.HasPrefix(got, "2026-02-17 13:27:07") || !strings.HasSuffix(got, "1.40 s") || p.Line != 15 || p.Step != 70 {
		t.Errorf("%+v stands at %q", p, got)
	}
	for name, text := range map[string]string{"the same job number in each line": log(func(int) int { return 4242 }), "prose": strings.Repeat("nothing to see here\n", 9000)} {
		if obs, err := Summed(context.Background(), "x.log", strings.NewReader(text)); obs != nil || err != nil {
			t.Errorf("%s: %v %v", name, obs, err)
		}
	}
}

func FuzzSummed(f *testing.F) {
	f.Add("Schritt 5010 | Laden 3.62 s | Rechnen 1.31 s | Gesamt 5.17 s\n")
	f.Fuzz(func(t *testing.T, s string) {
		obs, err := Summed(context.Background(), "f", strings.NewReader(strings.Repeat(s, 6)))
		if err != nil {
			t.Fatal(err)
		}
		if obs == nil {
			return
		}
		for _, p := range obs.Progress {
			if p.StepSeconds <= 0 || p.Step < 0 || p.Off < 0 || p.Len > summedLong {
				t.Fatalf("%+v", p)
			}
		}
	})
}
