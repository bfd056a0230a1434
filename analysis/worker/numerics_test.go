package worker

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestNumbersOfAStep(t *testing.T) {
	megatron := func(step int, scale, norm string, skipped, nan int) string {
		return fmt.Sprintf(" iteration %8d/  500000 | elapsed time per iteration (ms): 730.1 | global batch size:   256 | lm loss: 2.1E+00 | loss scale: %s | grad norm: %s | "+
			"number of skipped iterations: %3d | number of nan iterations: %3d |\n", step, scale, norm, skipped, nan)
	}
	tests := []struct {
		name, text string
		want       []string // kind step value
	}{
		{"Megatron, what every line repeats", megatron(1, "65536.0", "0.4", 0, 0) + megatron(2, "65536.0", "0.4", 0, 0),
			[]string{"batch 1 256", "scale 1 65536"}},
		{"Megatron, a scale that falls", megatron(1, "65536.0", "0.4", 0, 0) + megatron(2, "32768.0", "0.0", 1, 0),
			[]string{"batch 1 256", "scale 1 65536", "scale 2 32768", "skipped 2 1"}},
		{"Megatron, nan", megatron(7, "1.0", "nan", 0, 3), []string{"batch 7 256", "scale 7 1", "gradient 7 0", "nan 7 3"}},
		{"a schedule, and a learning rate that jumps", "step 1 loss 2.0 lr 1.00e-4\nstep 2 loss 2.0 lr 1.01e-4\nstep 3 loss 2.0 lr 1.02e-4\nstep 4 loss 2.0 lr 1e-3\n",
			[]string{"rate 1 0.0001", "rate 4 0.001"}},
		{"Hugging Face prints 0.0 for a loss that is none", "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.12}\n", []string{"gradient -1 0", "rate -1 1e-05"}},
		{"Hugging Face 5 quotes numbers", "{'loss': '0.0', 'grad_norm': 'nan', 'learning_rate': '1e-05', 'epoch': '0.12'}\n", []string{"gradient -1 0", "rate -1 1e-05"}},
		{"TorchTitan", "[titan] 2025-06-03 17:48:01,123 - root - INFO - step: 100  loss:     nan  grad_norm:     nan  memory: 60.2GiB(75.9%)  tps: 5,812\n", []string{"gradient 100 0"}},
		{"DeepSpeed", "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768\n", []string{"overflow -1 32768"}},
		{"DeepSpeed with hysteresis", "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, but hysteresis is 2. Reducing hysteresis to 1\n", []string{"overflow -1 0"}},
		{"apex", "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 32768.0\n", []string{"overflow -1 32768"}},
		{"fairseq", "2023-05-01 10:00:00 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0\n", []string{"overflow -1 64"}},
		{"prose", "the grad_norm: infinite patience; skipping steps is fine\n", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, n := range observe(t, tt.text).Numerics {
				got = append(got, fmt.Sprintf("%s %d %g", n.Kind, n.Step, n.Value))
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestTimesOfRanksSideBySide(t *testing.T) {
	tests := []struct {
		name, text string
		want       []string // rank node unit value side named
	}{
		{"Megatron's timers", "times across ranks (ms):\n  forward-compute:\n     rank  0: 1000.00\n     rank  1: 2500.50\n  optimizer:\n     rank  1: 3.00\n iteration 3/ 4 |\n",
			[]string{"0  seconds 1  false", "1  seconds 2.5005  false", "1  seconds 0.003  false"}},
		{"only the extremes", "(min, max) time across ranks (ms):\n    forward-compute ....: (10.00, 20.00)\n", nil},
		{"Megatron's straggler detector", " 0: INFO:megatron.core.utils:^^^^ Bottom 2 Ranks with lowest  Etpt(TF): 196.02/3, 296.17/2,\n" +
			" 0: INFO:megatron.core.utils:^^^^ Top    2 Ranks with highest Etpt(TF): 297.28/15, 297.28/11,\n",
			[]string{"3  rate 196.02 low false", "2  rate 296.17 low false", "15  rate 297.28 high false", "11  rate 297.28 high false"}},
		{"and the extremes alone", " 0: INFO:megatron.core.utils:[2024-03-14 23:07:56] | MnRtt/Rnk: 3453.08ms/8 | MxRtt/Rnk: 3468.20ms/0 | MnClk/Rnk: 1950MHz/28 | MxClk/Rnk: 1980MHz/0 | MnEtpt/Rnk: 146.02TF/3 | MxEtpt/Rnk: 297.32TF/8\n",
			[]string{"3  extreme 146.02 low false", "8  extreme 297.32 high false"}},
		{"extremes that are cut", "| MnEtpt/Rnk: 146.02TF/3 | MxEtpt/Rnk: 297.3", nil},
		{"NVIDIA's warning", "[NeMo W 2025-06-03 17:48:01 straggler:93] STRAGGLER DETECTION WARNING: Some GPUs have worse relative performance. Affected ranks: {StragglerId(rank=3, node='n-1.x')}\n",
			[]string{"3 n-1.x score 0  true"}},
		{"NVIDIA's warning with a list", "STRAGGLER DETECTION WARNING: Some GPUs performance dropped. Affected ranks: [162, 79]\n",
			[]string{"162  score 0  true", "79  score 0  true"}},
		{"NVIDIA's scores", "GPU relative performance:\n Worst performing 2/16 ranks:\n  Rank=4 Node=h100-1 Score=0.51\n  Rank=5 Node=h100-1 Score=0.98\n Best performing 1/16 ranks:\n  Rank=0 Node=h100-0 Score=1.00\n\n",
			[]string{"4 h100-1 score 0.51 low false", "5 h100-1 score 0.98 low false", "0 h100-0 score 1 high false"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, x := range observe(t, tt.text).RankTimes {
				got = append(got, fmt.Sprintf("%d %s %s %g %s %v", x.Rank, x.Node, x.Unit, x.Value, x.Side, x.Named))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestRateIn(t *testing.T) {
	for text, want := range map[string]string{
		"{'loss': 0.4589, 'grad_norm': 1.04, 'learning_rate': 5.28e-06, 'epoch': 1.22}": "5.28e-06",
		"step=100, skipped=0, lr=[1e-05, 1e-05], mom=[[0.9, 0.95]]":                     "1e-05",
		"step 120/5000 loss 2.31 lr 1e-4 tokens 1048576":                                "1e-4",
		"epoch 3 | iter 7 | LR: 0.000100 | loss 2":                                      "0.000100",
		`{"step": 1200, "lr": 0.0003}`:                                                  "0.0003",
		"colrs 3, lrs 4, loss 2":                                                        "",
		"lr warm-up over, loss 2.0":                                                     "",
	} {
		if got := string(rateIn([]byte(text))); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func FuzzNumbers(f *testing.F) {
	for _, s := range []string{
		" iteration 1/ 2 | loss scale: 1e400 | grad norm: -inf | number of skipped iterations: 999999999999999999999 | number of nan iterations: 1 |",
		"times across ranks (ms):\n a:\n rank  1: 2.0\n rank : 3\n", "^^^^ Bottom 2 Ranks with lowest  Etpt(TF): 1/2, /3, 4/", "{'grad_norm': nan",
		"STRAGGLER DETECTION WARNING: Affected ranks: {StragglerId(rank=3, node='", "GPU relative performance:\n Worst performing \n Rank=1 Score=", "| MnEtpt/Rnk: 1e999TF/3 | MxEtpt/Rnk: -1TF/99999999999 |", "OVERFLOW! kipping step, reducing to .",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		obs := observe(t, s)
		for _, n := range obs.Numerics {
			if math.IsNaN(n.Value) || math.IsInf(n.Value, 0) || len(n.Text) > maxText || n.Kind == "" {
				t.Fatalf("%+v", n)
			}
		}
		for _, x := range obs.RankTimes {
			if x.Rank < 0 || x.Value < 0 || math.IsNaN(x.Value) || math.IsInf(x.Value, 0) || strings.ContainsAny(x.Node, " \n") || x.Unit == "" {
				t.Fatalf("%+v", x)
			}
		}
	})
}
