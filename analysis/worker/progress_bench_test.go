package worker

import (
	"bytes"
	"context"
	"testing"
)

// BenchmarkReadProgress reads logs that are nothing but progress: the slowest that a healthy job can write.
func BenchmarkReadProgress(b *testing.B) {
	for _, tc := range []struct{ name, line string }{
		{"megatron", " [2025-06-03 17:48:01] iteration     1580/  500000 | consumed samples:       404480 | elapsed time per iteration (ms): 730.1 | throughput per GPU (TFLOP/s/GPU): 412.0 | learning rate: 2.999E-04 | global batch size:   256 | lm loss: 2.184771E+00 | loss scale: 1.0 | grad norm: 0.312 | number of skipped iterations:   0 | number of nan iterations:   0 |\n"},
		{"hf-dict", "{'loss': 0.4589, 'grad_norm': 1.0493940198290594, 'learning_rate': 5.284132841328413e-06, 'epoch': 1.22}\n"},
		{"bars", " 41%|██████▌    | 366/903 [5:15:39<6:53:09, 46.16s/it]\r 41%|██████▌    | 367/903 [5:16:25<6:52:23, 46.16s/it]\r"},
		{"lightning-bar", "Epoch 0:   6%|█         | 32040/500150 [6:28:43<94:39:17,  1.37it/s, v_num=95nc, reduced_train_loss=2.590, global_step=32040.0, consumed_samples=2.56e+7]\n"},
		{"deepspeed", "[2025-06-03 17:48:01,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=100, skipped=0, lr=[1e-05], mom=[[0.9, 0.95]]\n[2025-06-03 17:48:01,123] [INFO] [timer.py:199:stop] epoch=0/micro_step=100/global_step=100, RunningAvgSamplesPerSec=12.1, CurrSamplesPerSec=12.0, MemAllocated=1.0GB, MaxMemAllocated=2.0GB\n"},
		{"titan", "[rank0]:[titan] 2025-03-12 11:10:21,511 - root - INFO - step: 22  loss:  6.2250  grad_norm:  0.4100  memory:  1.41GiB(1.79%)  tps: 193,831  tflops: 18.36  mfu: 1.86%\n"},
		{"nemo", "Training epoch 0, iteration 99/999 | lr: 2.9e-05 | global_batch_size: 512 | global_step: 99 | reduced_train_loss: 2.15 | train_step_timing in s: 0.73 | consumed_samples: 51200\n"},
		{"generic", "step 120/5000 loss 2.31 lr 1e-4 tokens 1048576 grad 0.31\n"},
	} {
		b.Run(tc.name, func(b *testing.B) {
			text := bytes.Repeat([]byte(tc.line), (1<<20)/len(tc.line))
			sc, err := NewScanner()
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				obs, err := Read(context.Background(), "x", bytes.NewReader(text), sc)
				if err != nil || len(obs.Progress) == 0 {
					b.Fatal(err, len(obs.Progress))
				}
			}
		})
	}
}
