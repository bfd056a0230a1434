package diagnose

import (
	"fmt"
	"strings"
	"testing"
)

// What healthy jobs print, and what others do that came through: nobody is accused. Beside each, what looks like it and did not.
func TestFieldCameThrough(t *testing.T) {
	const (
		closed = "gn01:903:1503 [3] misc/socket.cc:881 NCCL WARN socketProgress: Connection closed by remote peer gn01.local<41022>\n"
		actor  = "(TrainController pid=800) Worker group status: A worker died: ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.\n"
		taken  = "slurmstepd: error: *** JOB 77 ON cn11 CANCELLED AT 2026-05-06T09:17:30 DUE TO PREEMPTION ***\n"
		over   = "INFO: Training finished.\n"
		upload = "WARNING: got an error while uploading; retrying (attempt 1/3): An error occurred (SlowDown) when calling the PutObject operation (reached max retries: 4): Please reduce your request rate.\n"
		trial  = "2026-05-06 09:10:00,114\tWARNING tune_controller.py:1321 -- Trial task failed for trial TorchTrainer_6f3f2_00000\nTraceback (most recent call last):\n" +
			"  File \"/opt/ray/air/execution/_internal/event_manager.py\", line 110, in resolve_future\n    result = ray.get(future)\nray.exceptions.RayActorError: The actor died because its node has died. Node Id: 6b5f\n"
		unwritten = "Traceback (most recent call last):\n  File \"/usr/lib/python3.10/logging/__init__.py\", line 1104, in emit\n    self.flush()\nBrokenPipeError: [Errno 32] Broken pipe\nCall stack:\n  File \"/a/train.py\", line 301, in <module>\n    main()\nMessage: 'step %d'\nArguments: (3,)\n"
		missing   = "FileNotFoundError: [Errno 2] No such file or directory: '/data/a.bin'"
	)
	more := "step 4 loss 2.12\nstep 5 loss 2.11\nstep 6 loss 2.10\nstep 7 loss 2.09\n"
	clocked := func(minute, from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "2026-05-06 09:%02d:%02d,000 step %d loss 2.%03d\n", minute, i-from, i, 999-i)
		}
		return b.String()
	}
	ranks := "" // of one batch, side by side
	for r := range 8 {
		ranks += fmt.Sprintf("[rank%d]: Epoch: [0]  [ 20/100]  eta: 0:05:10  loss: 2.%d (2.1)  time: 2.1\n", r, r)
	}
	noise := ""
	for i, v := range []string{"0.0911", "0.3120", "0.0140", "0.2210", "0.0050", "0.0300", "0.2050"} {
		noise += fmt.Sprintf("step %d loss %s\n", i, v)
	}
	epochs := ""
	for i := range 40 {
		epochs += fmt.Sprintf("Epoch %d: train_loss 2.%03d\n", i, 999-i)
	}
	for _, c := range []fieldCase{
		{"epochs out of a buffer, below what ended the process", one(raisedBy(1, "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.") + epochs), []string{"gpu-oom"}, "rank 1"},
		{"connections closed behind the end", one(fieldSteps + over + closed), []string{"completed"}, "-"},
		{"closed before it", one(fieldSteps + closed + over), []string{"peer-lost", "unknown"}, "-"},
		{"and with an exception behind the end", one(fieldSteps + over + closed + raisedBy(3, "ValueError: bad")), []string{"exception"}, "rank 3, node gn01"},
		{"and a task that failed", one(fieldSteps + over + closed + "srun: error: y2: task 5: Exited with exit code 1\n"), []string{"peer-lost", "unknown"}, "-"},
		{"a worker that was replaced", one(fieldSteps + actor + more + "Training completed after 7 iterations at 2026-05-06 09:15:00.\n"), []string{"completed"}, "-"},
		{"a trial that Ray restored", one(fieldSteps + trial + more + "Training completed after 7 iterations at 2026-05-06 09:15:00.\n"), []string{"completed"}, "-"},
		{"a trial that it did not", one(fieldSteps + trial + "Training completed after 7 iterations at 2026-05-06 09:15:00.\n"), []string{"node-failure", "peer-lost", "unknown"}, "-"},
		{"a rank that lost its peers for good", one(fieldSteps + strings.Replace(trial, "event_manager.py\", line 110, in resolve_future", "train.py\", line 110, in <module>", 1) + more + "Training completed after 7 iterations at 2026-05-06 09:15:00.\n"), []string{"node-failure", "peer-lost", "unknown"}, "-"},
		{"a line that logging could not write", one(fieldSteps + "--- Logging error ---\n" + unwritten + more), []string{"completed"}, "-"},
		{"the same, raised", one(fieldSteps + unwritten), []string{"unknown"}, "-"},
		{"one that was not", one(fieldSteps + actor + "step 4 loss 2.12\n"), []string{"peer-lost", "unknown"}, "-"},
		{"the job went on where it was taken away", one(clocked(16, 1, 9) + taken + clocked(40, 9, 20) + "INFO: Training finished.\n"), []string{"completed"}, "-"},
		{"what still ran when it was taken away", one(clocked(16, 1, 9) + taken + clocked(18, 9, 20)), []string{"preempted"}, "-"},
		{"an upload that is tried again", one(fieldSteps + upload), []string{"completed"}, "-"},
		{"a loss that is noise", one(noise), []string{"completed"}, "-"},
		{"a loss that climbs above all but one of many", one(course(0, 3, 9.5, -0.1) + "step 3 loss 60.0\n" + course(4, 60, 9.1, -0.13) + course(60, 100, 1.7, 1.0)), []string{"unknown"}, "-"},
		{"a loss above all before", one(noise + "step 8 loss 0.9\nstep 9 loss 0.8\n"), []string{"unknown"}, "-"},
		{"what could not be saved behind the end", one(fieldSteps + "Training completed. Do not forget to share your model on huggingface.co/models =)\n" + raisedBy(0, "OSError: [Errno 28] No space left on device: '/out/model.safetensors'")), []string{"storage-full"}, "rank 0"},
		{"what could not be saved by another process", map[string]string{"a.log": fieldSteps + "INFO: Training finished.\n", "b.log": fieldSteps + "Traceback (most recent call last):\n  File \"/a/train.py\", line 9, in <module>\n    main()\nOSError: [Errno 28] No space left on device: '/out/model.safetensors'\n"}, []string{"storage-full"}, ""},
		{"a shard that was left out", map[string]string{"a.log": fieldSteps + "INFO: Training finished.\n", "b.log": "WARNING: shard 3 left out\nOSError: [Errno 5] Input/output error: '/data/3.tar'\n" + fieldSteps}, []string{"completed"}, "-"},
		{"the NFS server answered again", one(fieldSteps + "[4411.1] nfs: server 10.1.1.9 not responding, still trying\n[4460.3] nfs: server 10.1.1.9 OK\n" + raisedBy(3, "KeyError: 'labels'")), []string{"exception"}, "rank 3"},
		{"it did not", one(fieldSteps + "[4411.1] nfs: server 10.1.1.9 not responding, still trying\n[4460.3] nfs: server 10.1.1.9 OK\n[4511.1] nfs: server 10.1.1.9 not responding, still trying\n"), []string{"storage-unresponsive"}, "-"},
		{"another server did", one(fieldSteps + "[4411.1] nfs: server 10.1.1.9 not responding, still trying\n[4460.3] nfs: server 10.1.1.8 OK\n"), []string{"storage-unresponsive"}, "-"},
		{"it did when the job was dead", one(fieldSteps + "[4411.1] nfs: server 10.1.1.9 not responding, still trying\n" + inDefault(0, 300, "ALLREDUCE", 64, 64, 300, 299) + "[5460.3] nfs: server 10.1.1.9 OK\n"), []string{"storage-unresponsive"}, "-"},
		{"it did when something had been raised", one(fieldSteps + "[4411.1] nfs: server 10.1.1.9 not responding, timed out\n" + raisedBy(3, "RuntimeError: DataLoader timed out after 300 seconds") + "[5460.3] nfs: server 10.1.1.9 OK\n"), []string{"dataloader-stall", "storage-unresponsive"}, ""},
		{"a cache that gave no lock", one("2026-05-06 09:00:01 WARN hub: lock failed: No locks available (os error 37)\n" + raisedBy(3, "KeyError: 'labels'")), []string{"exception"}, "rank 3"},
		{"a cache that cannot be written", one("2026-05-06 09:00:01 WARNING hub: no cache: Read-only file system (os error 30)\n" + raisedBy(3, "KeyError: 'labels'")), []string{"exception"}, "rank 3"},
		{"no lock, and no warning", one(raisedBy(3, "OSError: [Errno 37] No locks available")), []string{"storage-unresponsive"}, "rank 3"},
		{"NVLS without memory", one("n1:1:2 [3] transport/nvls.cc:235 NCCL WARN Failed to bind NVLink SHARP (NVLS) Multicast memory of size 2097152 : CUDA error 2 'out of memory'.\n"), []string{"gpu-oom"}, "node n1"},
		{"an item left out before something else", one(fieldSteps + "WARNING: skipping sample 12: UnidentifiedImageError('cannot identify image file <_io.BytesIO object at 0x7f>')\n" + raisedBy(3, "KeyError: 'labels'")), []string{"exception"}, "rank 3"},
		{"an item that ended it", one(fieldSteps + "ERROR: sample 12: UnidentifiedImageError('cannot identify image file <_io.BytesIO object at 0x7f>')\n"), []string{"bad-sample"}, "-"},
		{"a save that is tried again", one(fieldSteps + "WARNING: save failed: [Errno 116] Stale file handle; will retry at the next interval\n"), []string{"completed"}, "-"},
		{"a save that is not", one(fieldSteps + "ERROR: save failed: [Errno 116] Stale file handle; giving up\n"), []string{"storage-unresponsive"}, "-"},
		{"a save that did not work", one(fieldSteps + "ERROR trainer: model was not saved to /out/step_300\n"), []string{"unknown"}, "-"},
		{"what retries did not help", one(fieldSteps + "ERROR: cannot read 12.tar after retrying 5 times: [Errno 5] Input/output error\n"), []string{"storage-unresponsive"}, "-"},
		{"a path with such a word", one(fieldSteps + "ERROR: cannot write: [Errno 28] No space left on device: '/out/skipped/ids.json'\n"), []string{"storage-full"}, "-"},
		{"an option with such a word", one("usage: train.py [-h]\ntrain.py: error: unrecognized arguments: --ignored-layers 3\n"), []string{"config-error"}, "-"},
		{"a loss of other data is no number", one(fieldSteps + "Epoch 3: val_loss: nan, train_loss: 0.51\nEpoch 4: val_loss: nan, train_loss: 0.50\nTraining completed.\n"), []string{"completed"}, "-"},
		{"options of another program", one("prep.py: error: unrecognized arguments: --x\n" + manySteps(1000) + "srun: error: n1: task 3: Exited with exit code 1\n"), []string{"exception", "unknown"}, "-"},
		{"options of the program", one(manySteps(1000) + "prep.py: error: unrecognized arguments: --x\nsrun: error: n1: task 3: Exited with exit code 1\n"), []string{"config-error"}, "-"},
		{"many items left out, and no step between", one(fieldSteps + strings.Repeat("WARNING data: OSError: [Errno 5] Input/output error: '/data/1.tar', skipping\n", 40) + raisedBy(3, "RuntimeError: no samples left")), []string{"storage-unresponsive"}, "-"},
		{"many items left out, and steps between", one(strings.Repeat("step 1 loss 2.9\nWARNING data: OSError: [Errno 5] Input/output error: '/data/1.tar', skipping\n", 40) + raisedBy(3, "KeyError: 'labels'")), []string{"exception"}, "rank 3"},
		{"what was given up is left out", one(fieldSteps + "ERROR shard-41: Max retries exceeded with url: /shard-41 (Caused by ReadTimeoutError); skipping shard\n" + raisedBy(3, "KeyError: 'labels'")), []string{"exception"}, "rank 3"},
		{"who ran it says otherwise", one(fieldSteps + "INFO: Training finished.\nCommand exited with non-zero status 1\n"), []string{"unknown"}, "-"},
		{"who ran it before", one(fieldSteps + "Command exited with non-zero status 1\n" + more + "INFO: Training finished.\n"), []string{"completed"}, "-"},
		{"a program that time ran", one(fieldSteps + "Command exited with non-zero status 1\n"), []string{"unknown"}, "-"},
		{"a helper that the script ended", one(fieldSteps + "run.sh: line 9: 12102 Terminated              nvidia-smi -l 60 > gpu.csv\n"), []string{"completed"}, "-"},
		{"Java's heap", one(fieldSteps + "java.lang.OutOfMemoryError: Java heap space\n"), []string{"resource-limit"}, "-"},
		{"a bar that goes on", one(fieldSteps + " 40%|████      | 40/100 [01:00<01:30,  1.50s/it]"), []string{"completed"}, "-"},
		{"a bar drawn over itself", one(fieldSteps + " 40%|████      | 40/100 [01:00<01:30,  1.50s/it]\r 41%|████      | 41/100 [01:01<01:29,  1.50s/it]\r"), []string{"completed"}, "-"},
		{"a bar cut short", one(fieldSteps + " 40%|████      | 40/100 [01:00<01:"), []string{"unknown"}, "-"},
		{"a line cut short", one(fieldSteps + "step 4 lo"), []string{"unknown"}, "-"},
		{"the best error at the end", one(fieldSteps + "[trainer][INFO] - Done. Best error: 30.00 at step 400\n"), []string{"completed"}, "-"},
		{"an error at the end", one(fieldSteps + "[trainer] Done with error: 3 shards left\n"), []string{"unknown"}, "-"},
		{"ranks print their batch below what one raised", one(ranks + raisedBy(3, missing) + ranks), []string{"config-error"}, "rank 3"},
	} {
		c.check(t)
	}
}

// course are steps whose loss changes by so much from one to the next.
func course(from, to int, loss, by float64) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "step %d loss %.3f\n", i, loss+by*float64(i-from))
	}
	return b.String()
}
