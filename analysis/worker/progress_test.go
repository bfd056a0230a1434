package worker

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"faultline/analysis/line"
	"faultline/pattern"
)

func TestProgressOfEveryFramework(t *testing.T) {
	const none = line.Unknown
	for _, tc := range []struct {
		text, form         string
		step, total, epoch int64
		loss, phase        string
		seconds            float64
	}{
		{" iteration    43680/  311541 | consumed samples:     25709904 | elapsed time per iteration (ms): 25593.4 | learning rate: 9.135E-05 | global batch size:  1024 | lm loss: 2.635663E+00 | loss scale: 131072.0 | grad norm: 17224.723 |",
			"megatron", 43680, 311541, none, "2.635663E+00", "training", 25.5934},
		{" [2025-06-03 17:48:01] iteration     1580/  500000 | consumed samples: 404480 | elapsed time per iteration (ms): 730.1 | throughput per GPU (TFLOP/s/GPU): 412.0 | lm loss: nan | loss scale: 1.0 |",
			"megatron", 1580, 500000, none, "nan", "training", 0.7301},
		{"[default7]: iteration    45000/  115311 | consumed samples:     76002224 | elapsed time per iteration (s): 111.00 | lm loss: 2.113567E+00 |",
			"megatron", 45000, 115311, none, "2.113567E+00", "training", 111},
		{" iteration       10/     200 | consumed samples: 1 | elapsed time per iteration (ms): 1.0 | learning rate: 0.000E+00 | global batch size:     1 | loss scale: 4096.0 | number of skipped iterations:  10 |",
			"megatron", 10, 200, none, "", "training", 0.001},
		{"valid loss at iteration 45000 | lm loss value: 2.327091E+00 | lm loss PPL: 1.0E+01 |", "megatron", 45000, none, none, "2.327091E+00", "evaluation", 0},
		{"Training epoch 0, iteration 99/999 | lr: 2.9e-05 | global_batch_size: 512 | global_step: 99 | reduced_train_loss: 2.15 | train_step_timing in s: 0.73 | consumed_samples: 51200",
			"nemo", 99, 999, 0, "2.15", "training", 0.73},
		{"Training epoch 1, iteration 4/999 | lr: 2.9e-05 | global_step: 1003 | reduced_train_loss: 2.15", "nemo", 1003, none, 1, "2.15", "training", 0},
		{"Epoch 0:   6%|█  | 32040/500150 [6:28:43<94:39:17,  1.37it/s, loss=2.6, v_num=95nc, reduced_train_loss=2.590, global_step=3.2e+4, consumed_samples=2.56e+7]",
			"lightning-bar", none, none, 0, "2.6", "training", 1 / 1.37},
		{"Epoch 0:   6%|█  | 40/500 [0:28:43<94:39:17,  2.00s/it, loss=2.6, global_step=40.00, x=1]", "lightning-bar", none, none, 0, "2.6", "training", 2},
		{" 41%|██████▌    | 366/903 [5:15:39<6:53:09, 46.16s/it]", "hf-dict", 366, 903, none, "", "training", 46.16},
		{"{'loss': 0.4589, 'grad_norm': 1.0493940198290594, 'learning_rate': 5.284132841328413e-06, 'epoch': 1.22}", "hf-dict", none, none, 1, "0.4589", "training", 0},
		{"{'loss': nan, 'grad_norm': nan, 'learning_rate': 5e-06, 'epoch': 0.1}", "hf-dict", none, none, 0, "nan", "training", 0},
		{"[2025-06-03 17:48:01,123] [INFO] [logging.py:96:log_dist] [Rank 0] step=100, skipped=0, lr=[1e-05], mom=[[0.9, 0.95]]", "deepspeed", 100, none, none, "", "training", 0},
		{"[2025-06-03 17:48:01,123] [INFO] [timer.py:199:stop] epoch=0/micro_step=100/global_step=100, RunningAvgSamplesPerSec=12.1, CurrSamplesPerSec=12.0", "deepspeed", 100, none, none, "", "training", 0},
		{"\x1b[31mstep: 100\x1b[0m  \x1b[32mloss:  2.1543\x1b[0m  grad_norm: 0.41  memory: 60.2GiB(75.9%)  tps: 5,812", "titan", 100, none, none, "2.1543", "training", 0},
		{"completed step: 10, seconds: 0.73, TFLOP/s/device: 412.0, Tokens/s/device: 1.0, total_weights: 1, loss: 10.8", "maxtext", 10, none, none, "10.8", "training", 0.73},
		{"========================= Step 41/1000 =========================", "nemo-rl", 40, 1000, none, "", "training", 0},
		{"Epoch 1/10 Step 3/100 Train step 3/1000 done.", "areal", 3, 1000, 1, "", "training", 0},
		{"(TaskRunner pid=152455) step:7 - global_seqlen/min:484245.000 - actor/entropy:0.323 - actor/pg_loss:0.001 - timing_s/step:93.1", "verl", 7, none, none, "", "training", 93.1},
		{"step:12 - train/loss:0.8123 - train/lr(1e-3):0.01", "verl", 12, none, none, "0.8123", "training", 0},
		{"step 120/5000 loss 2.31 lr 1e-4", "generic", 120, 5000, none, "2.31", "training", 0},
		{"2025-07-28 14:09:00,811 - mmdet - INFO - Epoch [3][50/3862]\tlr: 1.000e-04, eta: 2 days, 14:54:24, time: 4.892, data_time: 0.668, memory: 10722, loss_cls: 6.8411, loss: 24.9035, grad_norm: 558.9835",
			"generic", none, none, 3, "24.9035", "training", 4.892},
		{"07/28 14:09:00 - mmengine - INFO - Epoch(train)  [1][  50/3862]  lr: 1.0e-04  eta: 1:00:00  time: 0.5120  data_time: 0.0110  memory: 10722  loss: 2.5  loss_cls: 1.0",
			"generic", none, none, 1, "2.5", "training", 0.512},
		{"07/28 14:09:00 - mmengine - INFO - Iter(train) [  50/80000]  lr: 1.0e-04  eta: 1:00:00  time: 0.5120  data_time: 0.0110  memory: 10722  loss: 2.5",
			"generic", 50, 80000, none, "2.5", "training", 0.512},
		{"2022-08-20 23:35:28 | INFO | train_inner | epoch 001:     10 / 2212 loss=12.4, ppl=5405.1, wps=0, ups=0, wpb=3.2e+06, num_updates=9, lr=1e-05",
			"generic", 9, none, 1, "12.4", "training", 0},
		{`2022-08-20 23:35:28 | INFO | train_inner | {"epoch": 1, "update": 0.004, "loss": "12.4", "ppl": "5405.1", "num_updates": "9", "lr": "1e-05"}`,
			"generic", 9, none, 1, "12.4", "training", 0},
		{"Epoch: [2][ 415/1736]\tTime  0.123 ( 0.150)\tLoss 5.8444e-01 (6.1e-01)\tAcc@1  20.00 ( 19.00)", "generic", none, none, 2, "5.8444e-01", "training", 0.123},
		{"2025-09-04,22:05:43 | INFO | Train Epoch: 0 [    128/1600000 (0%)] Data (t): 284.173 Batch (t): 302.214, 0.423541/s, 0.105885/s/gpu LR: 0.000000 Logit Scale: 2.659 Contrastive_loss: 4.9116 (4.9116) Loss: 9.7984 (9.7984)",
			"generic", none, none, none, "9.7984", "training", 302.214},
		{"I1117 08:48:40.604251 14020 train.py:240] step: 1960 loss: 2.7040 steps/s: 2.000", "generic", 1960, none, none, "2.7040", "training", 0.5},
		{"Step 3350 | loss:1.234503 lr:2e-05 tokens_per_second_per_gpu:8393.83 time_per_step:0.9811", "generic", 3350, none, none, "1.234503", "training", 0.9811},
		{"[05/19 11:26:28] x.engine INFO: Epoch: [14] [ 620/1832] learning_rate: 0.010000 loss: 1.885438 eta: 5:00:11 batch_cost: 0.8120 data_cost: 0.4120 ips: 19.7", "generic", none, none, 14, "1.885438", "training", 0.812},
		{"Train: 12 [  50/1251 (  4%)]  Loss: 6.95 (6.93)  Time: 0.5s,  512.0/s", "generic", none, none, none, "6.95", "training", 0.5},
		{"Epoch 7: 100%|██████████| 100/100 [02:53<00:00,  1.73s/it, v_num=x, train_loss_step=0.231]", "lightning-bar", none, none, 7, "0.231", "training", 1.73},
		{"{'loss': '0.4589', 'grad_norm': '1.04', 'learning_rate': '5e-06', 'epoch': '1.22'}", "hf-dict", none, none, 1, "0.4589", "training", 0},
		{"{\"global_step\": 7, \"lr\": 0.1, \"train_loss\": 1.25}", "generic", 7, none, none, "1.25", "training", 0},
		{"Iter 30 | lossy 8 | loss: 4.5", "generic", 30, none, none, "4.5", "training", 0},
		{"Epoch: [3]  [ 20/100]  eta: 0:05:10  lr: 0.000100  loss: 5.9200 (6.1000)  time: 2.1  data: 0.01", "generic", none, none, 3, "5.9200", "training", 2.1},
		{"INFO main: Epoch [2][100/500] lr 1e-3 loss 1.8000 (avg 1.9) data 0.010", "generic", none, none, 2, "1.8000", "training", 0},
		{"[2025-05-06 09:00:01 swin] (main.py 240): INFO Train: [0/300][10/1251]\teta 0:10:00 lr 0.0001\ttime 0.5 (0.6)\tloss 6.5000 (6.9)", "generic", none, none, none, "6.5000", "training", 0},
		{"I20250506 09:00:01 1234 dinov2 helpers.py:103] Training  [37/12500]  eta: 1 day  lr: 0.0001  total_loss: 9.1 (11.1)  time: 0.5", "generic", 37, 12500, none, "9.1", "training", 0},
		{"node01:0\tolmo.train:1022\tINFO\t[step=37/739328,epoch=0]", "generic", 37, 739328, none, "", "training", 0},
		{"[batch=37/200]:", "generic", 37, 200, none, "", "training", 0},
		{"Epoch 1 | iter 74 step 37 | loss train: 2.630, val: n/a | iter time: 300.11 ms", "generic", 37, none, none, "2.630", "training", 0.30011},
		{"1|37|Loss: 2.63:  10%|#         | 37/500 [00:11<10:00,  1.2it/s]", "generic", 37, none, none, "2.63", "training", 0.8333},
		{"INFO [train.py:898] (0/8) Epoch 1, batch 50, loss[loss=0.5, over 20000 frames.], tot_loss[loss=2.6, simple_loss=0.6], batch size: 70", "generic", none, none, 1, "2.6", "training", 0},
		{"DEBUG TRAIN Batch 0/100 loss 53.11 loss_att 80.1 lr 0.0001 rank 0", "generic", none, none, 0, "53.11", "training", 0},
		{"(trainer:762) INFO: 1epoch:train:51-100batch: iter_time=0.1, loss_ctc=90.1, loss=80.1, acc=0.2", "generic", none, none, 1, "80.1", "training", 0},
		{"speechbrain.utils.train_logger - epoch: 4, lr: 1.00e-03 - train loss: 1.80 - valid loss: 2.1, valid CER: 20.10", "generic", none, none, 4, "1.80", "training", 0},
		{"37/100 [=====>........] - ETA: 12s - loss: 2.2600 - accuracy: 0.5", "generic", none, none, none, "2.2600", "training", 0},
		{"37/100 ━━━━━━ 12s 31ms/step - accuracy: 0.5 - loss: 2.2600", "generic", none, none, none, "2.2600", "training", 0.031},
		{"I0506 09:00:01.1 1 logging_writer.py:48] [370] train_loss=2.63, steps_per_second=4.0", "generic", 370, none, none, "2.63", "training", 0.25},
		{"INFO:tensorflow:loss = 2.63, step = 3700 (5.1 sec)", "generic", 3700, none, none, "2.63", "training", 0},
		{"2025-05-06 09:00:01.311111: train_loss -0.37", "generic", none, none, none, "-0.37", "training", 0},
		{"  Learning iteration 37/1500", "generic", 37, 1500, none, "", "training", 0},
		{"|    total_timesteps      | 75776 |", "generic", 75776, none, none, "", "training", 0},
		{"      1/100      7.1G      1.1      0.9      1.1         21        640: 100%|##########| 4/4 [00:01<00:00,  4.00it/s]", "generic", none, none, 1, "1.1", "training", 0},
		{"Steps:  10%|#         | 37/1000 [01:00<10:00,  4.00it/s, lr=1e-5, step_loss=0.037]", "generic", 37, 1000, none, "0.037", "training", 0.25},
		{`{"ts":"2025-05-06T09:00:01Z","train_loss":2.63,"global_step":37}`, "generic", 37, none, none, "2.63", "training", 0},
		{"- loss: 2.63, learning_rate: 3e-05, global_step: 37, interval_runtime: 1.1", "generic", 37, none, none, "2.63", "training", 0},
		{"Epoch:[  1/  2], step:[   37/  500], loss: 8.630, per_step_time: 1100ms, overflow cond: False, loss_scale: 1.0", "generic", 37, 500, none, "8.630", "training", 1.1},
		{"Epoch 3: train_loss=2.6 val_loss=2.1", "generic", none, none, 3, "2.6", "training", 0},
		{"Val: epoch 3 val_loss nan val_acc 50.21", "generic", none, none, 3, "nan", "evaluation", 0},
		{"INFO  train step=480 loss 2.0200 loss_nan_count=0 num_error_samples=0", "generic", 480, none, none, "2.0200", "training", 0},
		{"step 20/400 loss 2.920 top5_error 19.40, error rate: 0.31", "generic", 20, 400, none, "2.920", "training", 0},
		{"[2026-05-05 10:00:01,114] [INFO] [d2.utils.events]:  eta: 1:02:11  iter: 20  total_loss: 1.9  loss_cls: 0.41  time: 0.4100  data_time: 0.0123", "generic", 20, none, none, "1.9", "training", 0.41},
		{"iter 10: loss 2.1000, time 310.12ms, mfu 41.21%", "generic", 10, none, none, "2.1000", "training", 0.3101},
		{"step    3/19560 | loss 9.1 (+1.21z)| norm 1.2 (-0.31z)| lr 1.00e-05 | 310.00 ms | 41.2% bf16 MFU | 412311 tok/s", "generic", 3, 19560, none, "9.1", "training", 0.31},
		{" samples/sec: 41.2 | iteration       30/  143000 | elapsed time per iteration (ms): 2500.0 | learning rate: 1.0E-05 | lm_loss: nan | loss scale: 1.0 |", "megatron", 30, 143000, none, "nan", "training", 2.5},
		{"37/900 [>.....] - ETA: 10:11 - loss: nan - accuracy: 0.1021", "generic", none, none, none, "nan", "training", 0},
		{"train:  30%|###   | 30/1000 [10:11<9:11:11, 2.0s/it, loss=nan]", "generic", none, none, none, "nan", "training", 2},
		{"[Epoch 1/2]:  30%|###   | 30/900 [10:11<9:11:11, 2.0s/it, Loss=nan]", "generic", none, none, none, "nan", "training", 2},
		{"      3/100      4.5G        nan        nan        nan         31        640: 100%|##########| 8/8 [00:01<00:00,  4.00it/s]", "generic", none, none, 3, "nan", "training", 0},
		{"epoch 3 training [time: 10.20s, train loss: nan]", "generic", none, none, 3, "nan", "training", 0},
		{"iteration: 2500 loss=inf", "generic", 2500, none, none, "inf", "training", 0},
		{"Epoch 3: val_loss: nan, train_loss: 0.51", "generic", none, none, 3, "0.51", "training", 0},
		{"step 40: valid loss nan | train loss 0.51", "generic", 40, none, none, "0.51", "training", 0},
		{"iter 120 | 2.31 s/it", "generic", 120, none, none, "", "training", 2.31},
		{"rank=3 step=120/9000 step_time=2.3s tokens/s=89000", "generic", 120, 9000, none, "", "training", 2.3},
		{"global_step: 7, time per step: 410 ms", "generic", 7, none, none, "", "training", 0.41},
		{"step 120 of the warm-up, batch 4/8", "generic", none, none, none, "", "", -1},
		{"iteration 120 restored in 2.31 s, a limit on step_time is 3", "generic", none, none, none, "", "", -1},
		{"Epoch 7: 100%|██████████| 100/100 [02:53<00:00,  1.73s/it, v_num=x, val_loss=nan]", "lightning-bar", none, none, 7, "", "training", 1.73},
		{"Epoch 7: 100%|██████████| 100/100 [02:53<00:00,  1.73s/it, v_num=x, aux_loss=inf, train_loss=0.231]", "lightning-bar", none, none, 7, "0.231", "training", 1.73},
		{"Epoch 7: 100%|██████████| 100/100 [02:53<00:00,  1.73s/it, v_num=x, train_loss=nan]", "lightning-bar", none, none, 7, "nan", "training", 1.73},
	} {
		obs := observe(t, tc.text+"\n")
		if tc.seconds < 0 && len(obs.Progress) == 0 {
			continue // no progress, whatever it looks like
		}
		if len(obs.Progress) != 1 {
			t.Errorf("%q: %d progress lines", tc.text, len(obs.Progress))
			continue
		}
		p := obs.Progress[0]
		if p.Form != tc.form || p.Step != tc.step || p.Total != tc.total || p.Epoch != tc.epoch || p.Loss != tc.loss || string(p.Phase) != tc.phase ||
			fmt.Sprintf("%.4f", p.StepSeconds) != fmt.Sprintf("%.4f", tc.seconds) {
			t.Errorf("%q:\n got %+v", tc.text, p)
		}
	}
}

// The loss of a step whose number stands on a line above.
func TestALossBelowItsStep(t *testing.T) {
	for _, tc := range []struct {
		text string
		want []string // step and loss
	}{
		{"node01:0\tolmo.train:1022\tINFO\t[step=37/739328,epoch=0]\n    optim/total_grad_norm=1.2\n    train/CrossEntropyLoss=nan\n", []string{"37 ", "37 nan"}},
		{"[batch=37/200]:\n         Train time/batch: 36\n         Train loss/train/total: 2.5\n", []string{"37 ", "37 2.5"}},
		{"    train/CrossEntropyLoss=nan\n", nil},
		{"[batch=37/200]:\n" + strings.Repeat("x\n", belowHead) + "         Train loss/train/total: 2.5\n", []string{"37 "}},
	} {
		var got []string
		for _, p := range observe(t, tc.text).Progress {
			got = append(got, fmt.Sprintf("%d %s", p.Step, p.Loss))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q: got %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestWhatOnlyLooksLikeProgress(t *testing.T) {
	for _, text := range []string{
		"Loading checkpoint shards:  50%|█████     | 2/4 [00:10<00:10,  5.01s/it]",
		"100%|██████████| 3/3 [00:00<00:00, 138.50it/s]",
		"Map: 100%|██████████| 1000/1000 [00:01<00:00, 900.00 examples/s]",
		"ValueError: step 3 loss = nan is not allowed",
		"stepping 3 times, loss 2.0",
		"CUDA error: 700 in step 3, loss 2.1",
		"error 12 at step 3: loss 2.1 is out of bounds",
		"Epoch 3: early stopping, val_loss did not improve from 2.1",
		"Downloading:  40%|####      | 4/10 [00:10<00:15,  2.50s/it]",
		"a step=3/4 of the way",
		"step 0.5 loss 2.0",
		"a loss of 2.31 in step 5",
		"[loss_scaler.py:190] Reducing dynamic loss scale from 65536 to 32768",
	} {
		if obs := observe(t, text+"\n"); len(obs.Progress) != 0 {
			t.Errorf("%q: %+v", text, obs.Progress)
		}
	}
}

func TestABarBetweenCarriageReturnsGivesEveryStep(t *testing.T) {
	obs := observe(t, "  1%|▏ | 1/90 [00:46<6:53:09, 46.16s/it]\r  2%|▏ | 2/90 [01:32<6:53:09, 46.16s/it]\n")
	if len(obs.Progress) != 2 || obs.Progress[1].Step != 2 {
		t.Errorf("%+v", obs.Progress)
	}
}

func TestCheckpoints(t *testing.T) {
	for _, tc := range []struct {
		text, kind string
		step       int64
		path       string
	}{
		{"saving checkpoint at iteration   33241 to /ckpt/tr1", "save-start", 33241, "/ckpt/tr1"},
		{"  successfully saved checkpoint at iteration   33241 to /ckpt/tr1", "save-done", 33241, "/ckpt/tr1"},
		{"  successfully saved checkpoint from iteration    1500 to /ckpt  [ t 1/4, p 1/2 ]", "save-done", 1500, "/ckpt"},
		{" loading checkpoint from /ckpt at iteration 1500", "load-start", 1500, "/ckpt"},
		{"  successfully loaded checkpoint from /ckpt [ t 0/4, p 0/2 ] at iteration 1500", "load-done", 1500, "/ckpt"},
		{"Global Checkpoint Save : Rank: 0 : Iteration: 99 : Start time: 1717436881.2s : Save duration: 4.1s", "save-done", 99, ""},
		{"Scheduled async checkpoint save for /r/step=99-last.ckpt", "scheduled", 99, "/r/step=99-last.ckpt"},
		{"Async checkpoint save for step 100 (/r/c.ckpt) finalized successfully.", "save-done", 100, "/r/c.ckpt"},
		{"[2021-08-08 01:00:44,221] [INFO] [logging.py:68:log_dist] [Rank 0] Saving model checkpoint: /c/global_step33241/mp_rank_00_model_states.pt", "save-start", 33241, "/c/global_step33241/mp_rank_00_model_states.pt"},
		{"[Torch] Checkpoint global_step100 is ready now!", "save-done", 100, ""},
		{"Saving model checkpoint to out/checkpoint-500", "save-start", 500, "out/checkpoint-500"},
		{"12/09 06:49:23 - mmengine - INFO - Saving checkpoint at 14 epochs", "save-start", line.Unknown, ""},
		{"[12/20 18:16:20 fvcore.common.checkpoint]: Saving checkpoint to ./output/model_0004999.pth", "save-start", line.Unknown, "./output/model_0004999.pth"},
		{"  Continuing training from global step 500", "load-done", 500, ""},
		{"[titan] 2025-06-03 17:48:01,123 - root - INFO - Finished saving the checkpoint in 4.10 seconds.", "save-done", line.Unknown, ""},
		{"[titan] 2025-06-03 17:48:01,123 - root - INFO - Finished saving the checkpoint (or staging if async is enabled) in 4.10 seconds.", "scheduled", line.Unknown, ""},
		{"[titan] 2025-06-03 17:48:01,123 - root - INFO - Saving the checkpoint (or staging if async is enabled).", "save-start", line.Unknown, ""},
		{"Saved checkpoint to /out/step_300.pt", "save-done", 300, "/out/step_300.pt"},
		{"2024-05-02 03:16:20,500 INFO: Saving latest checkpoint", "save-start", line.Unknown, ""},
		{"Saving models and training states.", "save-start", line.Unknown, ""},
		{"=> saving checkpoint at step 1200", "save-start", 1200, ""},
		{"[rank0]: Saving best model to out/best/step_40.pt ...", "save-start", 40, "out/best/step_40.pt"},
		{"Saved the best model.", "save-over", line.Unknown, ""},
		{"INFO:root:Finished saving model weights", "save-over", line.Unknown, ""},
		{"Model saved to out/model.pt", "save-over", line.Unknown, ""},
	} {
		obs := observe(t, tc.text+"\n")
		if len(obs.Checkpoints) != 1 {
			t.Errorf("%q: %+v", tc.text, obs.Checkpoints)
			continue
		}
		if c := obs.Checkpoints[0]; string(c.Kind) != tc.kind || c.Step != tc.step || c.Path != tc.path {
			t.Errorf("%q: %+v", tc.text, c)
		}
	}
	if obs := observe(t, "could not save checkpoint, disk full\nFailed to load: no checkpoint saved\nSaving the dataset (1/3 shards):\n"+
		"Checkpoints will be saved to /out/run\nLeaving model as it is, having weights of 3 models\nSaving tokenizer to out/\n"+
		"checkpoint could not be saved to /out/step_300: quota\nERROR: Saved model state is incompatible with this model\nERROR nothing saved to /out/7, exit\n"+
		"Saving checkpoints to /out/run every 500 steps\nSaving model every 500 steps\n"); len(obs.Checkpoints) != 0 {
		t.Errorf("%+v", obs.Checkpoints)
	}
}

func TestFacts(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"using world size: 64, data-parallel-size: 8, tensor-model-parallel size: 4, pipeline-model-parallel size: 2", "framework=megatron world_size=64 dp=8 tp=4 pp=2"},
		{"using world size: 64, data-parallel size: 8, context-parallel size: 1, hierarchical context-parallel sizes: None, tensor-model-parallel size: 4, pipeline-model-parallel size: 2", "framework=megatron world_size=64 dp=8 cp=1 tp=4 pp=2"},
		{"  world_size ...................................... 64", "world_size=64"},
		{"Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/16", "framework=lightning world_size=16"},
		{"***** Running training *****", "framework=hf-trainer task=training"},
		{"NCCL version 2.21.5+cuda12.4", "nccl_version=2.21.5 cuda_version=12.4"},
		{"PyTorch version: 2.6.0+cu124", "torch_version=2.6.0+cu124"},
		{"SLURM_JOB_ID=4242", "job_id=4242"},
		{"export SLURM_NNODES=16", "nodes=16"},
		{"KUBERNETES_SERVICE_HOST=10.0.0.1", "system=Kubernetes"},
		{"'KUBERNETES_SERVICE_HOST': 'fd00::1',", "system=Kubernetes"},
		{"if [ -n \"$KUBERNETES_SERVICE_HOST\" ]; then", ""},
		{"Sender: LSF System <admin@host>", "system=LSF"},
		{"PBS_JOBID=77.server", "system=PBS"},
		{"export PBS_JOBID=$JOB", ""},
		{"[exiting program after 1190.0357275923093 minutes] datetime: 2021-08-08 01:00:51", "exit_ok=exiting program exit_ok=exiting program after"},
		{"exiting program after receiving SIGTERM.", ""},
		{"`Trainer.fit` stopped: `max_epochs=1` reached.", "exit_ok=Trainer.fit stopped"},
		{"Successfully completed.", "exit_ok=LSF says it completed"},
		{"epoch 3: Successfully completed. next", ""},
		{"\t(1) Normal termination (return value 0)", "exit_ok=HTCondor saw it end with 0"},
		{"\t(1) Normal termination (return value 1)", ""},
		{"2025-09-04,22:18:43 | INFO | Finished training.", "exit_ok=finished training"},
		{"epoch 3 training finished after 200 batches", ""},
		{"the upload is successfully completed.", ""},
		{"Finished training epoch 3", ""},
		{"Training completed. Do not forget to share your model on huggingface.co/models =)", "exit_ok=Training completed"},
		{"reading shards from s3://corpus-bucket/train/000.tar", "data_source=s3://corpus-bucket"},
		{"Saving checkpoint to s3://other/train/1.pt", ""},
	} {
		got := facts(observe(t, tc.text+"\n"))
		if !sameWords(strings.Join(got, " "), tc.want) {
			t.Errorf("%q: %q", tc.text, got)
		}
	}
}

func sameWords(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func TestAFactIsStatedOncePerWriter(t *testing.T) {
	obs := observe(t, strings.Repeat("[rank1]: SLURM_JOB_ID=4242\n[rank2]: SLURM_JOB_ID=4242\n", 5))
	if len(obs.Facts) != 2 {
		t.Errorf("%q", facts(obs))
	}
}

func TestTopology(t *testing.T) {
	for _, tc := range []struct {
		text   string
		name   string
		groups [][]int
	}{
		{"[NeMo I 2025-06-03 17:48:01 megatron_init:1] Rank 0 has data parallel group: [0, 8]", "data parallel", [][]int{{0, 8}}},
		{"[NeMo I 2025-06-03 17:48:01 megatron_init:1] Rank 0 has data parallel group : [0, 8]", "data parallel", [][]int{{0, 8}}},
		{"All tensor model parallel group ranks: [[0, 1], [2, 3]]", "tensor model parallel", [][]int{{0, 1}, {2, 3}}},
		{"All data parallel group ranks: [[0,2],[1,3]]", "data parallel", [][]int{{0, 2}, {1, 3}}},
	} {
		obs := observe(t, tc.text+"\n")
		if len(obs.Topologies) != 1 || obs.Topologies[0].Name != tc.name || !reflect.DeepEqual(obs.Topologies[0].Groups, tc.groups) {
			t.Errorf("%q: %+v", tc.text, obs.Topologies)
		}
	}
}

func TestDeviceMeshListsItsGroups(t *testing.T) {
	obs := observe(t, "[titan] 2025-06-03 17:48:01,123 - root - INFO - Building 2-D device mesh with ['dp_shard', 'tp'], [3, 2]\n")
	if len(obs.Topologies) != 2 {
		t.Fatalf("%+v", obs.Topologies)
	}
	dp, tp := obs.Topologies[0], obs.Topologies[1]
	if dp.Name != "dp_shard" || !reflect.DeepEqual(dp.Groups, [][]int{{0, 2, 4}, {1, 3, 5}}) {
		t.Errorf("%+v", dp)
	}
	if tp.Name != "tp" || !reflect.DeepEqual(tp.Groups, [][]int{{0, 1}, {2, 3}, {4, 5}}) {
		t.Errorf("%+v", tp)
	}
	if !slices.Contains(facts(obs), "world_size=6") {
		t.Errorf("%q", facts(obs))
	}
	for _, text := range []string{
		"Building 2-D device mesh with ['dp', 'tp'], [999999, 999999]\n", "Building 2-D device mesh with ['dp'], [2, 2]\n", "Building 1-D device mesh with ['dp'], [0]\n",
		"DeviceMesh('cuda', [[0, 1], [2]], mesh_dim_names=('dp', 'tp'))\n",
	} {
		if obs := observe(t, text); len(obs.Topologies) != 0 {
			t.Errorf("%q: %+v", text, obs.Topologies)
		}
	}
}

func TestIdentities(t *testing.T) {
	for _, tc := range []struct {
		text                 string
		global, local, world int
		host                 string
	}{
		{"Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/16", 3, line.Unknown, 16, ""},
		{"LOCAL_RANK: 3 - CUDA_VISIBLE_DEVICES: [0,1,2,3]", line.Unknown, 3, line.Unknown, ""},
		{"[rank2] host=node02 local=0 job=11", 2, 0, line.Unknown, "node02"},
		{"rank: 12, hostname: gpu-7.cluster, local_rank: 4", 12, 4, line.Unknown, "gpu-7.cluster"},
	} {
		obs := observe(t, tc.text+"\n")
		if len(obs.Identities) != 1 {
			t.Errorf("%q: %+v", tc.text, obs.Identities)
			continue
		}
		if id := obs.Identities[0]; id.Global != tc.global || id.Local != tc.local || id.World != tc.world || id.Host != tc.host {
			t.Errorf("%q: %+v", tc.text, id)
		}
	}
	for text, want := range map[string][]int{ // Python writes a text and its end apart; another process may write between
		"Initializing distributed: GLOBAL_RANK: 2, MEMBER: 3/4Initializing distributed: GLOBAL_RANK: 3, MEMBER: 4/4\n\n": {2, 3},
		"step 1/8 loss 0.1417Initializing distributed: GLOBAL_RANK: 1, MEMBER: 2/4\n\n":                                  {1},
		"LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0,1]LOCAL_RANK: 1 - CUDA_VISIBLE_DEVICES: [0,1]\n\n":                     {-10, -11},
		"[rank4]: LOCAL_RANK: 0 - CUDA_VISIBLE_DEVICES: [0,1]LOCAL_RANK: 1 - CUDA_VISIBLE_DEVICES: [0,1]\n\n":            {-10, -11},
	} {
		var got []int
		for _, id := range observe(t, text).Identities {
			if id.Global != line.Unknown {
				got = append(got, id.Global)
			} else {
				got = append(got, -10-id.Local)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	for _, text := range []string{"rank 3 failed to connect to host=node7", "got message from rank 3 host=node7", "rank=3 host=10"} {
		if obs := observe(t, text+"\n"); len(obs.Identities) != 0 {
			t.Errorf("%q: %+v", text, obs.Identities)
		}
	}
}

func TestRunMarks(t *testing.T) {
	const end = "slurmstepd: error: *** STEP 8.0 ON n1 CANCELLED AT 2026-11-20T23:20:08 DUE TO PREEMPTION ***\n"
	for _, tc := range []struct {
		name, text string
		want       []string
	}{
		{"first run", "SLURM_RESTART_COUNT=0\nNCCL version 2.21.5+cuda12.4\n", nil},
		{"stated on every rank", end + "[rank0]: SLURM_RESTART_COUNT=1\n[rank1]: SLURM_RESTART_COUNT=1\n", []string{"requeue 1 2"}},
		{"not stated", end + "[rank0] got TERM\nNCCL version 2.21.5+cuda12.4\nNCCL version 2.21.5+cuda12.4\n", []string{"requeue -1 3"}},
		{"stated late", end + "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default\nSLURM_RESTART_COUNT=1\n", []string{"requeue 1 2"}},
		{"no new start", end + "[rank0] got TERM\nsrun: got SIGCONT\n", nil},
		{"several communicators", "NCCL version 2.21.5+cuda12.4\nNCCL version 2.21.5+cuda12.4\n", nil},
		{"a banner after a death", "NCCL version 2.21.5+cuda12.4\nfailed (exitcode: -6) local_rank: 3 (pid: 4242) of binary: x\nNCCL version 2.21.5+cuda12.4\n", []string{"banner -1 3"}},
		{"an error that names its NCCL", end + "[rank8]: ncclRemoteError: a remote process exited, NCCL version 2.21.5\n", nil},
		{"time limit", strings.Replace(end, "PREEMPTION", "TIME LIMIT", 1) + "SLURM_RESTART_COUNT=unset\n", nil},
	} {
		var got []string
		for _, m := range observe(t, tc.text).RunMarks {
			got = append(got, fmt.Sprint(m.Kind, " ", m.Count, " ", m.Line))
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}

func TestCorpusProgressAndCheckpoints(t *testing.T) {
	obs := readCase(t, "013")
	var done []int64
	for _, c := range obs.Checkpoints {
		if c.Kind == "save-done" {
			done = append(done, c.Step)
		}
	}
	if !slices.Equal(done, []int64{33241}) || len(obs.Progress) != 1 || obs.Progress[0].Step != 33240 {
		t.Errorf("done %v, progress %+v", done, obs.Progress)
	}
	for id, last := range map[string]int64{"006": 43680, "012": 45000, "004": 2500} {
		obs := readCase(t, id)
		if len(obs.Progress) == 0 || !slices.ContainsFunc(obs.Progress, func(p Progress) bool { return p.Step == last }) {
			t.Errorf("%s: step %d not seen: %+v", id, last, obs.Progress)
		}
	}
}

func FuzzProgress(f *testing.F) {
	for _, s := range []string{
		" iteration 1/ 2 | elapsed time per iteration (ms): 1.0 | lm loss: nan", "Epoch 0: 6%|x| 4/5 [0:1<0:2, 1.37it/s, loss=2]",
		"saving checkpoint at iteration 1 to /x", "Building 2-D device mesh with ['a', 'b'], [3, 2]", "All tensor group ranks: [[0,1],[2]]",
		"SLURM_RESTART_COUNT=1", "rank=3 host=n1", "DeviceMesh('cuda', [[0, 1]], mesh_dim_names=('dp', 'tp'))",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		obs := observe(t, s)
		for _, p := range obs.Progress {
			if p.StepSeconds < 0 || p.StepSeconds != p.StepSeconds {
				t.Fatalf("%+v", p)
			}
		}
		for _, g := range obs.Topologies {
			for _, group := range g.Groups {
				for _, rank := range group {
					if rank < 0 || rank >= maxTopology {
						t.Fatalf("%+v", g)
					}
				}
			}
		}
	})
}

func TestALongJobKeepsItsCourseAndItsEnd(t *testing.T) {
	var text strings.Builder
	const steps = 3 * maxSteps
	for i := range steps {
		fmt.Fprintf(&text, "[rank%d]: step %d/%d loss 2.31\n", i%2, i, steps)
	}
	obs := observe(t, text.String())
	n := len(obs.Progress)
	if n > maxSteps || n < maxSteps/4 || obs.Tails[0].Dropped != 0 {
		t.Fatalf("%d kept, %d dropped", n, obs.Tails[0].Dropped)
	}
	last := map[int]int64{}
	for i, p := range obs.Progress {
		last[p.Who().Global] = p.Step
		if i > 0 && p.Step <= obs.Progress[i-1].Step {
			t.Fatalf("step %d after %d", p.Step, obs.Progress[i-1].Step)
		}
	}
	if obs.Progress[0].Step != 0 || last[0] != steps-2 || last[1] != steps-1 {
		t.Errorf("from %d to %v", obs.Progress[0].Step, last)
	}
}

// Numbers are read as the patterns of the other forms read them.
func FuzzPrinted(f *testing.F) {
	for _, s := range []string{"2.184771E+00 |", "nan,", "-inf", "Infinity", "1e", "1.e5", ".5", "+3", "0.1.2e-7x", "NAN"} {
		f.Add([]byte(s))
	}
	re := regexp.MustCompile(`^` + number)
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := printed(b), re.Find(b); string(got) != string(want) {
			t.Fatalf("%q: %q, the pattern says %q", b, got, want)
		}
	})
}

// What is kept of a long course does not depend on how often, and when, it was thinned.
func TestThinningLeavesNoTraceOfItsSteps(t *testing.T) {
	course := func(n int) []Progress {
		var list []Progress
		for i := range n {
			who := line.NoOne
			who.Global = i % 3
			loss := fmt.Sprint((i * 7919) % 1000)
			if i == n/2 {
				loss = "nan"
			}
			list = append(list, Progress{At: At{Pos: Pos{File: "f", Off: int64(i)}, By: &who}, N: int64(i/3 + 1), Loss: loss})
		}
		return list
	}
	for _, n := range []int{1, 2, 3, 10, 97, 300} {
		for _, stride := range []int64{2, 4, 8, 64} {
			once := thinned(course(n), stride)
			often := course(n)
			for s := int64(2); s <= stride; s *= 2 {
				often = thinned(often, s)
			}
			if !reflect.DeepEqual(once, often) {
				t.Fatalf("%d lines at stride %d: %d kept at once, %d by and by", n, stride, len(once), len(often))
			}
			if !slices.ContainsFunc(once, func(p Progress) bool { return p.Loss == "nan" }) {
				t.Errorf("%d lines at stride %d: the one without a number is left out", n, stride)
			}
		}
	}
}

// A number that is named error is none, but a number behind which prose follows is a code.
func TestWhichNumbersAreErrors(t *testing.T) {
	for text, want := range map[string]bool{
		"step 20 loss 2.9 top5_error 19.40":                             false,
		"step=480 loss 2.02 num_error_samples=0":                        false,
		"step=480 num_error_samples=0 loss=2.02":                        false,
		"step=480 num_error_samples=0, loss 2.02":                       false,
		"rdma_error: 12 (transport retry counter exceeded)":             true,
		"http_error: 503 Service Unavailable, worker exits":             true,
		"fatal_error: 7 ring broken":                                    true,
		"error: 3 shards left":                                          true,
		"step 3 loss 2.1 error reading shard 7":                         true,
		"step 3 loss 2.1 top1_error 3.1 and an Error: it was not found": true,
	} {
		if got := complains([]byte(text)); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// What is read by hand is read as its pattern would.
func TestStepsThatAreReadByHandAreReadAsAPatternReadsThem(t *testing.T) {
	check := func(re string, read func(*step, []byte, []byte) bool, texts ...string) {
		for _, text := range texts {
			var want, got step
			want.Step, got.Step = line.Unknown, line.Unknown
			ok, matches := read(&got, []byte(text), nil), want.match(pattern.New(re), []byte(text))
			if ok != matches || got.Step != want.Step || string(got.Loss) != string(want.Loss) || got.StepSeconds != want.StepSeconds {
				t.Errorf("%s: %v %+v, not %v %+v", text, ok, got, matches, want)
			}
		}
	}
	check(`(?:^|\s)step:(?P<step>\d+) - (?:.*?\btrain/loss:(?P<loss>`+number+`))?`, readVerl,
		"step:12 - global_seqlen/min:3 - train/loss:2.25 - x:1", "(pid=3) step:7 - actor/loss:1.5", "substep:7 - step:8 - critic/x:1 - pretrain/loss:3 - train/loss:nan",
		"step:9 - train/loss:x - train/loss:4e-3", "step:9- actor/x:1", "a step: - actor/", "step:5 - train/loss:", "step:123456789012345678901 - train/loss:1")
	check(`completed step: (?P<step>\d+), seconds: (?P<seconds>`+number+`)(?:.*?\bloss: (?P<loss>`+number+`))?`, readMaxText,
		"completed step: 10, seconds: 0.73, TFLOP/s/device: 412, total_weights: 8192, loss: 10.8", "completed step: 3, seconds: 1", "completed step: , seconds: 2",
		"completed step: 4, seconds: x completed step: 5, seconds: 2.5, train_loss: 1, loss: nan", "completed step: 6, seconds: 1e-3, loss: , loss: 2", "a step")
}

// A loop that calls itself by its rank in its step lines is the writer of that rank's course, also in the log of a whole node.
func TestALoopSaysItsRank(t *testing.T) {
	for _, tc := range []struct {
		text string
		want int
	}{
		{"2026-11-27 03:36:45,438 [rank 2] step 27/64 | loss 0.0035", 2},
		{"rank=12 step=27 loss=0.0035", 12},
		{`{"rank": 3, "step": 27, "loss": 0.0035}`, 3},
		{"Global_Rank: 3, step 27, loss: 0.0035", 3},
		{"local_rank=3 step=27 loss=0.0035", line.Unknown},
		{"step 27 loss 0.0035 lora rank r=16, rank of the matrix", line.Unknown},
		{"step 27 loss 0.0035 effective-rank 12", line.Unknown},
	} {
		obs := observe(t, tc.text+"\n")
		if len(obs.Progress) != 1 || obs.Progress[0].Loop-1 != tc.want {
			t.Errorf("%q: %+v", tc.text, obs.Progress)
		}
	}
}
