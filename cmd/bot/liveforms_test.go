package main

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// liveJobForm is how a framework prints the course of a job, and which of a triage's answers that holds.
type liveJobForm struct {
	ranks   int  // whose files hold steps
	stamped bool // lines state their time
	total   bool // the number of steps is printed
	loss    bool
	seconds bool // the time of a step is printed, or follows from the times of lines
	memory  bool
	untimed bool   // lines about saves state no time
	unit    string // of the throughput; "" where none is printed
	rate    float64
	start   func(at time.Time, rank int) string
	step    func(at time.Time, n int, loss, seconds, memory float64) string
	// Nil where the form has no words for it.
	saving, saved, eval func(at time.Time, n int) string
}

// throughput is what the form prints where a step takes so long.
func (f *liveJobForm) throughput(seconds float64) float64 { return f.rate / seconds }

const pythonTime = "2006-01-02 15:04:05"

func python(format string, more ...any) func(at time.Time, n int) string {
	return func(at time.Time, n int) string {
		return fmt.Sprintf("%s,417 INFO train.py: "+format+"\n", append([]any{at.Format(pythonTime), n}, more...)...)
	}
}

func launched(at time.Time, rank int) string {
	return fmt.Sprintf("%s,000 INFO launcher: starting rank %d\n", at.Format(pythonTime), rank)
}

func titan(format string) func(at time.Time, n int) string {
	return func(at time.Time, n int) string {
		text := format
		if strings.Contains(format, "%") {
			text = fmt.Sprintf(format, n)
		}
		return fmt.Sprintf("[titan] %s,417 - root - INFO - %s\n", at.Format(pythonTime), text)
	}
}

// liveForms: the words of the frameworks are those of their sources.
var liveForms = map[string]*liveJobForm{
	"titan": {ranks: 4, stamped: true, total: true, loss: true, seconds: true, memory: true, unit: "tokens/s", rate: 2 * 5812,
		start: func(at time.Time, rank int) string {
			return launched(at, rank) + titan("Trainer is initialized with local batch size 8, global batch size 64, gradient accumulation steps 1, sequence length 8192, total steps 5000 (warmup 200)")(at, 0)
		},
		step: func(at time.Time, n int, loss, seconds, memory float64) string {
			return titan(fmt.Sprintf("step: %2d  loss: %8.5f  grad_norm:  0.4512  memory: %5.2fGiB(%.2f%%%%)  tps: %s  tflops: %.2f  mfu: %.2f%%%%",
				n, loss, memory*0.7911, memory, thousands(2*5812/seconds), 760/seconds, 76.8/seconds))(at, n)
		},
		saving: titan("Saving the checkpoint (or staging if async is enabled)."),
		saved:  titan("Finished saving the checkpoint in 9.81 seconds."),
	},
	"megatron": {ranks: 1, stamped: true, untimed: true, total: true, loss: true, seconds: true, unit: "TFLOP/s per GPU", rate: 2 * 412,
		start: func(at time.Time, rank int) string {
			return launched(at, rank) + fmt.Sprintf("[before the start of training step] datetime: %s \n", at.Format(pythonTime))
		},
		step: func(at time.Time, n int, loss, seconds, memory float64) string {
			return fmt.Sprintf(" [%s] iteration %8d/%8d | consumed samples: %12d | elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: 3.000000E-04 | global batch size:   256 | lm loss: %.6E | loss scale: 1.0 | grad norm: 0.311 | number of skipped iterations:   0 | number of nan iterations:   0 |\n",
				at.Format(pythonTime), n, liveSteps, n*256, seconds*1000, 2*412/seconds, loss)
		},
		saving: func(_ time.Time, n int) string {
			return fmt.Sprintf("saving checkpoint at iteration %7d to /ckpt/run in torch_dist format\n", n)
		},
		saved: func(_ time.Time, n int) string {
			return fmt.Sprintf("  successfully saved checkpoint from iteration %7d to /ckpt/run [ t 1/1, p 1/1 ]\n", n)
		},
		eval: func(time.Time, int) string { return "Evaluating on 2560 samples\nEvaluating iter 1/10\n" },
	},
	"deepspeed": {ranks: 1, stamped: true, seconds: true, unit: "samples/s", rate: 2 * 128,
		start: launched,
		step: func(at time.Time, n int, loss, seconds, memory float64) string {
			stamp := at.Format(pythonTime) + ",123"
			return fmt.Sprintf("[%s] [INFO] [logging.py:96:log_dist] [Rank 0] step=%d, skipped=0, lr=[0.0003], mom=[(0.9, 0.95)]\n"+
				"[%[1]s] [INFO] [timer.py:264:stop] epoch=0/micro_step=%[2]d/global_step=%[2]d, RunningAvgSamplesPerSec=%.4f, CurrSamplesPerSec=%.4f, MemAllocated=21.53GB, MaxMemAllocated=34.09GB\n",
				stamp, n, 128.0, 2*128/seconds)
		},
		saving: func(at time.Time, n int) string {
			return fmt.Sprintf("[%s,200] [INFO] [torch_checkpoint_engine.py:21:save] [Torch] Saving /ckpt/global_step%d/mp_rank_00_model_states.pt...\n", at.Format(pythonTime), n)
		},
		saved: func(at time.Time, n int) string {
			return fmt.Sprintf("[%s,200] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step%d is ready now!\n", at.Format(pythonTime), n)
		},
	},
	"script": {ranks: 4, stamped: true, total: true, loss: true, seconds: true, unit: "samples/s", rate: 2 * 128.4,
		start: launched,
		step: func(at time.Time, n int, loss, seconds, memory float64) string {
			return fmt.Sprintf("%s,417 INFO train.py: step %d/5000 loss %.4f samples/s: %.1f\n", at.Format(pythonTime), n, loss, 2*128.4/seconds)
		},
		saving: python("saving checkpoint at step %d to /ckpt/run"),
		saved:  python("saved checkpoint /ckpt/run/step_%d"),
		eval:   python("Evaluating after step %d: batch 1/200"),
	},
	"own": {ranks: 4, stamped: true, total: true, loss: true, seconds: true, memory: true, unit: "tokens/s", rate: 2 * 71000,
		start: launched,
		step: func(at time.Time, n int, loss, seconds, memory float64) string {
			return fmt.Sprintf("[%s] train | it %d of 5000 | loss=%.4f | step_time=%.3fs | tokens/s=%.0f | mem=%.1f%%\n", at.Format(pythonTime), n, loss, seconds, 2*71000/seconds, memory)
		},
		saving: func(at time.Time, n int) string {
			return fmt.Sprintf("[%s] train | Saving model to /ckpt/step-%d\n", at.Format(pythonTime), n)
		},
		saved: func(at time.Time, n int) string {
			return fmt.Sprintf("[%s] train | Model saved to /ckpt/step-%d\n", at.Format(pythonTime), n)
		},
		eval: func(at time.Time, _ int) string {
			return fmt.Sprintf("[%s] train | validation: 1/80 batches\n", at.Format(pythonTime))
		},
	},
	"maxtext": {ranks: 1, stamped: true, loss: true, seconds: true, unit: "tokens/s", rate: 2 * 5812,
		start: func(at time.Time, _ int) string {
			return fmt.Sprintf("I%s 139872 max_utils.py:210] Started training\n", at.Format("0102 15:04:05.000000"))
		},
		step: func(at time.Time, n int, loss, seconds, memory float64) string {
			return fmt.Sprintf("I%s 139872 metric_logger.py:196] completed step: %d, seconds: %.3f, TFLOP/s/device: %.3f, Tokens/s/device: %.3f, total_weights: 65536, loss: %.3f\n",
				at.Format("0102 15:04:05.000000"), n, seconds, 760/seconds, 2*5812/seconds, loss)
		},
	},
	"olmo-core": {ranks: 1, stamped: true, total: true, loss: true, seconds: true, unit: "tokens/s", rate: 2 * 5812,
		start: func(at time.Time, _ int) string {
			return at.Format(pythonTime) + ".101\tnode01:0\tolmo_core.train.trainer:650\tINFO\tTraining for 5,000 steps\n"
		},
		step: func(at time.Time, n int, loss, seconds, memory float64) string {
			return fmt.Sprintf("%s.101\tnode01:0\tolmo_core.train.callbacks.console_logger:46\tINFO\t[step=%d/5000,epoch=1]\n    optim/total grad norm=0.4512\n    train/CE loss=%s\n    throughput/device/TPS=%s\n    throughput/device/BPS=%.3f\n",
				at.Format(pythonTime), n, fmt.Sprintf("%.4g", loss), thousands(2*5812/seconds), 1/seconds)
		},
	},
	"jsonl": {ranks: 4, stamped: true, loss: true, seconds: true, unit: "tokens/s", rate: 2 * 71000,
		start: func(at time.Time, rank int) string {
			return fmt.Sprintf("{\"time\": \"%s\", \"event\": \"start\", \"rank\": %d}\n", at.Format(time.RFC3339), rank)
		},
		step: func(at time.Time, n int, loss, seconds, memory float64) string {
			text := fmt.Sprintf("%.4f", loss)
			if math.IsNaN(loss) {
				text = "NaN"
			}
			return fmt.Sprintf("{\"time\": \"%s\", \"step\": %d, \"loss\": %s, \"step_time\": %.3f, \"tokens_per_sec\": %.0f}\n", at.Format(time.RFC3339), n, text, seconds, 2*71000/seconds)
		},
	},
	"nemo": {ranks: 1, total: true, loss: true, seconds: true,
		start: func(time.Time, int) string { return "Trainer: training begins\n" },
		step: func(_ time.Time, n int, loss, seconds, memory float64) string {
			return fmt.Sprintf("Training epoch 0, iteration %d/5000 | lr: 0.0003 | global_batch_size: 256 | global_step: %d | reduced_train_loss: %.4g | train_step_timing in s: %.4g | consumed_samples: %d\n", n, n, loss, seconds, 256*n)
		},
	},
	"nanogpt": {ranks: 1, loss: true, seconds: true, unit: "% MFU", rate: 2 * 38.41,
		start: func(time.Time, int) string {
			return "number of parameters: 123.59M\ncompiling the model... (takes a ~minute)\n"
		},
		step: func(_ time.Time, n int, loss, seconds, memory float64) string {
			return fmt.Sprintf("iter %d: loss %.4f, time %.2fms, mfu %.2f%%\n", n, loss, seconds*1000, 2*38.41/seconds)
		},
	},
	"trainer": {ranks: 1, total: true, loss: true, seconds: true,
		start: func(time.Time, int) string {
			return "***** Running training *****\n  Total optimization steps = 5,000\n"
		},
		step: func(at time.Time, n int, loss, seconds, memory float64) string {
			left := time.Duration(float64(liveSteps-n) * seconds * float64(time.Second))
			bar := fmt.Sprintf("\r%3d%%|▏         | %d/5000 [%s<%s,  %.2fs/it]", n*100/liveSteps, n, clock(at.Sub(liveAt(liveFirst-2))), clock(left), seconds)
			if n%10 == 0 {
				bar += fmt.Sprintf("{'loss': %.4f, 'grad_norm': 0.4512, 'learning_rate': 5e-06, 'epoch': %.2f}\n", loss, float64(n)/liveSteps)
			}
			return bar
		},
	},
}

// clock is a time as tqdm prints it.
func clock(d time.Duration) string {
	s := int(d.Seconds())
	if s >= 3600 {
		return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
	}
	return fmt.Sprintf("%02d:%02d", s/60, s%60)
}

// thousands is a whole number with separators.
func thousands(v float64) string {
	n := int(math.Round(v))
	if n < 1000 {
		return fmt.Sprint(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
