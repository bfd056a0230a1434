package worker

import "testing"

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
