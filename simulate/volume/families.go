package volume

import (
	"bufio"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// family is how one kind of program fills its log: lines by weight. What differs from line to line stands in braces; see
// words. A weight is in lines, not in bytes.
type family struct {
	name  string
	lines []template
}

type template struct {
	weight int
	text   string
}

// Families names the families of real-style logs that bench/families.sh measures, each with one kind of line or a few.
func Families() []string {
	var names []string
	for _, f := range families {
		names = append(names, f.name)
	}
	return names
}

// Templates is how many kinds of lines a family has.
func Templates(name string) int {
	for _, f := range families {
		if f.name == name {
			return len(f.lines)
		}
	}
	return 0
}

// Repeat writes n lines of one kind of a family.
func Repeat(w io.Writer, name string, kind, n int) error {
	i := slices.IndexFunc(families, func(f family) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("no family is called %q", name)
	}
	const ranks = 8
	p := &printer{
		Options: Options{PerFile: ranks, Files: 1}, w: bufio.NewWriter(w), rng: rand.New(rand.NewPCG(1, uint64(kind))),
		at: time.Date(2025, 9, 12, 3, 12, 44, 0, time.UTC), steps: make([]int, ranks),
	}
	parts := parse(families[i].lines[kind].text)
	for k := range n {
		p.at = p.at.Add(100 * time.Millisecond)
		p.say(parts, k%ranks)
	}
	if p.err != nil {
		return p.err
	}
	return p.w.Flush()
}

// Sources: the frameworks' own loggers, as named in the readers of package worker; the application's lines are invented.
var families = []family{
	{"megatron", []template{
		{60, " [{iso}] iteration {step8}/  500000 | consumed samples: {big12} | elapsed time per iteration (ms): {f1} | throughput per GPU (TFLOP/s/GPU): {f1} | learning rate: {exp} | global batch size:   256 | lm loss: {f6}E+00 | loss scale: 1.0 | grad norm: {f3} | number of skipped iterations:   0 | number of nan iterations:   0 |\n"},
		{4, "(min, max) time across ranks (ms):\n    forward-backward ...............................: ({f2}, {f2})\n    layernorm-grads-all-reduce .....................: ({f2}, {f2})\n    embedding-grads-all-reduce .....................: ({f2}, {f2})\n    all-grads-sync .................................: ({f2}, {f2})\n    optimizer-inner-step ...........................: ({f2}, {f2})\n    optimizer ......................................: ({f2}, {f2})\n"},
		{2, "[Rank {rank}] (after {step} iterations) memory (MB) | allocated: {f3} | max allocated: {f3} | reserved: {f1} | max reserved: {f1}\n"},
		{1, "saving checkpoint at iteration {step8} to /lustre/runs/gpt/ckpt in torch_dist format\n  successfully saved checkpoint from iteration {step8} to /lustre/runs/gpt/ckpt [ t 1/4, p 1/2 ]\n"},
		{1, "WARNING:megatron.core.rerun_state_machine:Setting RerunStateMachine mode RerunMode.DISABLED at {n}\n"},
	}},
	{"nemo", []template{
		{30, "[NeMo I {iso} rank:{rank} nemo_logging:393] consumed_samples={big} global_batch=256 micro_batch=2 data_wait={f4}\n"},
		{20, "Training epoch 0, iteration {step}/500000 | lr: {exp} | global_batch_size: 256 | global_step: {same} | reduced_train_loss: {f3} | train_step_timing in s: {f4} | consumed_samples: {big}\n"},
		{12, "[NeMo W {iso} nemo_logging:405] /opt/venv/lib/python3.12/site-packages/lightning/pytorch/trainer/connectors/logger_connector/result.py:{n}: You called `self.log('global_batch_size', ...)` in your `training_step` but the value needs to be floating point. Converting it to torch.float32.\n    \n"},
		{12, "[NeMo I {iso} nemo_logging:393] Loaded shard {shard} with {n} utterances totalling {f2} hours\n"},
		{8, "[NeMo I {iso} megatron_gpt_model:{n}] Pipeline model parallel rank: 0, Tensor model parallel rank: {local}, Number of model parameters on device: {big}\n"},
		{4, "[NeMo I {iso} audio_to_text_lhotse_dataset:{n}] bucket {n} batch_duration={f2} num_cuts={n} padding={f3}\n"},
	}},
	{"deepspeed", []template{
		{30, "[{iso},{ms}] [INFO] [logging.py:96:log_dist] [Rank 0] step={step}, skipped=0, lr=[{exp}, {exp}], mom=[(0.9, 0.95), (0.9, 0.95)]\n"},
		{30, "[{iso},{ms}] [INFO] [timer.py:215:stop] epoch=0/micro_step={big}/global_step={step}, RunningAvgSamplesPerSec={f6}, CurrSamplesPerSec={f6}, MemAllocated={f2}GB, MaxMemAllocated={f2}GB\n"},
		{20, "[{iso},{ms}] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd_microstep: {f2} | bwd_microstep: {f2} | bwd_inner_microstep: {f2} | bwd_allreduce_microstep: {f2} | step_microstep: {f2}\n"},
		{10, "{host}: [{iso},{ms}] [WARNING] [stage3.py:2069:step] {n} pytorch allocator cache flushes since last step. this happens when there is high memory pressure and is detrimental to performance. if this is happening frequently consider adjusting settings to reduce memory consumption.\n"},
		{5, "{host}: steps: {step} loss: {f4} iter time (s): {f3} samples/sec: {f3}\n"},
		{5, "[{iso},{ms}] [INFO] [loss_scaler.py:190:update_scale] [deepspeed] OVERFLOW! Rank {rank} Skipping step. Attempted loss scale: {n}, reducing to {n}\n"},
	}},
	{"titan", []template{
		{80, "[rank{rank}]:[titan] {iso},{ms} - root - INFO - \x1b[31mstep: {step}  \x1b[32mloss:  {f4}  \x1b[38;2;180;60;0mgrad_norm:  {f4}  \x1b[34mmemory: {f2}GiB({f2}%)  \x1b[36mtps: {n}  \x1b[33mtflops: {f2}  \x1b[35mmfu: {f2}%\x1b[0m\n"},
		{6, "[titan] {iso},{ms} - root - INFO - [GC] Performing periodical GC collection took {f2} seconds\n"},
		{2, "[titan] {iso},{ms} - root - INFO - Saving the checkpoint (or staging if async is enabled).\n[titan] {iso},{ms} - root - INFO - Finished saving the checkpoint in {f2} seconds.\n"},
		{10, "[titan] {iso},{ms} - root - WARNING - Dataset c4_{word} is being re-looped at sample {big}\n"},
	}},
	{"hf", []template{
		{50, "\r {pct}%|{bar}| {step}/500000 [{clock}<94:39:17,  {f2}s/it]"},
		{10, "{{'loss': {f4}, 'grad_norm': {f4}, 'learning_rate': {exp}, 'epoch': {f2}}}\n"},
		{2, "[INFO|trainer.py:3993] {iso},{ms} >> Saving model checkpoint to /data/out/run-{n}/checkpoint-{same}\n[INFO|configuration_utils.py:423] {iso},{ms} >> Configuration saved in /data/out/run-{n}/checkpoint-{same}/config.json\n"},
		{2, "[WARNING|logging.py:328] {iso},{ms} >> `use_cache=True` is incompatible with gradient checkpointing. Setting `use_cache=False`.\n"},
	}},
	{"lightning", []template{
		{90, "\rEpoch {n}: {pct}%|{bar}| {step}/10000 [{clock}<6:53:09,  {f2}it/s, v_num=9, train_loss_step={f3}, train_loss_epoch={f3}]"},
		{3, "\nValidation DataLoader 0: {pct}%|{bar}| {n}/500 [{clock}<00:09, {f2}it/s]\n"},
		{1, "\nEpoch {n}, global step {same}: 'val_loss' reached {f5} (best {f5}), saving model to '/data/run/epoch={n}-step={same}.ckpt' as top 3\n"},
	}},
	{"verl", []template{
		{20, "(TaskRunner pid={pid}) step:{step} - global_seqlen/min:{n} - global_seqlen/max:{n} - global_seqlen/minmax_diff:{n} - global_seqlen/balanced_min:{n} - actor/entropy:{f4} - actor/kl_loss:{f4} - actor/kl_coef:0.001 - actor/pg_loss:{f4} - actor/pg_clipfrac:{f4} - actor/ppo_kl:{f4} - actor/grad_norm:{f4} - perf/mfu/actor:{f4} - perf/max_memory_allocated_gb:{f4} - perf/max_memory_reserved_gb:{f4} - perf/cpu_memory_used_gb:{f4} - actor/lr:{exp} - training/global_step:{same} - training/epoch:0 - critic/score/mean:{f4} - critic/score/max:{f4} - critic/score/min:{f4} - critic/rewards/mean:{f4} - critic/rewards/max:{f4} - critic/rewards/min:{f4} - critic/advantages/mean:{f4} - critic/advantages/max:{f4} - critic/returns/mean:{f4} - critic/returns/max:{f4} - response_length/mean:{f4} - response_length/max:{f1} - response_length/clip_ratio:{f4} - prompt_length/mean:{f4} - prompt_length/max:{f1} - timing_s/generate_sequences:{f4} - timing_s/gen:{f4} - timing_s/reward:{f4} - timing_s/old_log_prob:{f4} - timing_s/ref:{f4} - timing_s/adv:{f4} - timing_s/update_actor:{f4} - timing_s/step:{f4} - timing_per_token_ms/gen:{f4} - timing_per_token_ms/ref:{f4} - timing_per_token_ms/update_actor:{f4} - perf/total_num_tokens:{big} - perf/time_per_step:{f4} - perf/throughput:{f4}\n"},
		{30, "\x1b[36m(WorkerDict pid={pid}, ip=10.0.{local}.{n})\x1b[0m INFO {iso2} [loggers.py:123] Engine 000: Avg prompt throughput: {f1} tokens/s, Avg generation throughput: {f1} tokens/s, Running: {n} reqs, Waiting: 0 reqs, GPU KV cache usage: {f1}%, Prefix cache hit rate: {f1}%\n"},
		{20, "\x1b[36m(WorkerDict pid={pid})\x1b[0m Before update policy, memory allocated (GB): {f4}, memory reserved (GB): {f4}, device memory used/total (GB): {f2}/79.11\x1b[32m [repeated {n}x across cluster]\x1b[0m\n"},
		{15, "(TaskRunner pid={pid}) [prompt] {word} {word} {word} {word} {word} {word} {word}\n(TaskRunner pid={pid}) [response] {word} {word} {word} {word} {word} {word} {word} {word} {word} {word} {word}\n(TaskRunner pid={pid}) [ground_truth] {n}\n(TaskRunner pid={pid}) [score] {f1}\n"},
		{5, "(TaskRunner pid={pid}) Training Progress: {pct}%|{bar}| {step}/1000 [{clock}<94:39, {f2}s/it]\n"},
	}},
	{"json", []template{
		{50, "{{\"ts\": \"{rfc}\", \"level\": \"info\", \"logger\": \"trainer\", \"rank\": {rank}, \"event\": \"step done\", \"step\": {step}, \"loss\": {f4}, \"lr\": {exp}, \"tokens_per_s\": {n}, \"mem_gb\": {f2}}}\n"},
		{20, "{{\"ts\": \"{rfc}\", \"level\": \"info\", \"logger\": \"data\", \"rank\": {rank}, \"event\": \"reading shard\", \"path\": \"s3://train/{word}/shard-{shard}.tar\", \"samples\": {n}}}\n"},
		{10, "{{\"ts\": \"{rfc}\", \"level\": \"debug\", \"logger\": \"data\", \"rank\": {rank}, \"event\": \"waiting for prefetch worker\", \"worker\": {local}, \"queue\": {n}}}\n"},
		{4, "{{\"ts\": \"{rfc}\", \"level\": \"info\", \"logger\": \"ckpt\", \"rank\": {rank}, \"event\": \"checkpoint saved\", \"path\": \"s3://runs/x/step_{same}\", \"seconds\": {f2}}}\n"},
		{4, "{{\"ts\": \"{rfc}\", \"level\": \"warning\", \"logger\": \"data\", \"rank\": {rank}, \"event\": \"slow batch\", \"seconds\": {f3}, \"error\": null, \"retries\": 0}}\n"},
	}},
	{"cri", []template{
		{50, "{nano} stdout F [rank{rank}]: {iso} INFO trainer: epoch 0 step {step} loss {f4} lr {exp} grad_norm {f3} {n} tokens/s\n"},
		{20, "{nano} stderr F {host}:{pid}:{pid} [{local}] NCCL INFO Channel {n}/0 : {rank}[{local}] -> {n}[0] [send] via NET/IB/{local}/GDRDMA\n"},
		{10, "{nano} stderr F [rank{rank}]:[W{c10} ProcessGroupNCCL.cpp:4561] [PG ID 0 PG GUID 0 Rank {rank}] Guessing device ID based on global rank. This can cause a hang if rank to GPU mapping is heterogeneous.\n"},
		{10, "{nano} stderr P {word} {word} {word} {word} metrics flush took {f3} s, {n} series\n{nano} stderr F  written\n"},
		{10, "{nano} stdout F {{\"event\": \"heartbeat\", \"pod\": \"train-worker-{local}\", \"step\": {same}, \"uptime_s\": {n}}}\n"},
	}},
	{"nccl", []template{
		{60, "{host}:{pid}:{pid} [{local}] NCCL INFO AllReduce: opCount {hex4} sendbuff 0x{hex12} recvbuff 0x{hex12} count {big} datatype 9 op 0 root 0 comm 0x55d0c1a{local} [nranks=64] stream 0x55d0d2b{local}\n"},
		{20, "{host}:{pid}:{pid} [{local}] NCCL INFO AllGather: opCount {hex4} sendbuff 0x{hex12} recvbuff 0x{hex12} count {big} datatype 9 op 0 root 0 comm 0x55d0e3c{local} [nranks=8] stream 0x55d0d2b{local}\n"},
		{20, "{host}:{pid}:{pid} [{local}] NCCL INFO {big} Bytes -> Algo {local} proto {local} time {f6}\n"},
	}},
	{"fairseq", []template{
		{70, "{iso} | INFO | train_inner | {{\"epoch\": 1, \"update\": {f3}, \"loss\": \"{f3}\", \"ppl\": \"{f2}\", \"wps\": \"{n}\", \"ups\": \"{f2}\", \"wpb\": \"{big}\", \"bsz\": \"512\", \"num_updates\": \"{step}\", \"lr\": \"{exp}\", \"gnorm\": \"{f3}\", \"clip\": \"0\", \"loss_scale\": \"1\", \"train_wall\": \"{n}\", \"gb_free\": \"{f1}\", \"wall\": \"{n}\"}}\n"},
		{10, "{iso} | INFO | fairseq.trainer | begin training epoch {n}\n"},
		{10, "{iso} | INFO | fairseq.data.iterators | grouped total_num_itrs = {n}\n{iso} | INFO | fairseq.tasks.audio | loaded {big} samples from /data/{word}/train.tsv\n"},
		{5, "{iso} | INFO | fairseq.checkpoint_utils | Preparing to save checkpoint for epoch 1 @ {same} updates\n{iso} | INFO | fairseq.checkpoint_utils | Saved checkpoint checkpoints/checkpoint_1_{same}.pt (epoch 1 @ {same} updates, score {f3}) (writing took {f6} seconds)\n"},
	}},
	{"plain", []template{
		{70, "[rank{rank}]: step {step} | loss {f4} | lr {exp} | {f1} ms | {n} tok/s\n"},
		{10, "[rank{rank}]: batch {n} done in {f3}s\n"},
		{10, "Epoch: [{n}][{n}/5004]\tTime  {f3} ( {f3})\tData  {f3} ( {f3})\tLoss {f4} ({f4})\tAcc@1  {f2} ( {f2})\n"},
		{5, "/opt/venv/lib/python3.12/site-packages/torch/utils/checkpoint.py:{n}: UserWarning: None of the inputs have requires_grad=True. Gradients will be None\n  warnings.warn(\n"},
	}},
	{"app", []template{
		{25, "{iso},{ms} INFO dataset.loader: reading shard s3://train/{word}/shard-{shard}.tar ({n} samples)\n"},
		{15, "{iso},{ms} DEBUG dataset.prefetch: waiting for prefetch worker {local}, queue {n}\n"},
		{15, "{iso},{ms} INFO trainer.{word}: processed batch {n}, done in {f3}s\n"},
		{10, "{iso},{ms} INFO http.client: GET http://ais-proxy:51080/v1/objects/train/{word}-{shard}.tar 200 {n} bytes {f3} ms\n"},
		{10, "{iso},{ms} INFO metrics: flushed {n} points for {word}, completed in {f3} ms\n"},
		{10, "{iso},{ms} WARNING data.{word}: sample {big} skipped: duration {f2} above limit\n"},
		{10, "{iso},{ms} INFO health: node {host} ok, gpu {local} temp {n} power {n}W ecc errors: 0\n"},
		{5, "{iso},{ms} INFO ckpt: uploading part {n} of step_{same} to s3://runs/x, finished {f2}%\n"},
	}},
	{"maxtext", []template{
		{80, "I{glog} {pid} metric_logger.py:181] completed step: {step}, seconds: {f3}, TFLOP/s/device: {f3}, Tokens/s/device: {f3}, total_weights: {big}, loss: {f3}\n"},
		{10, "I{glog} {pid} checkpointing.py:{n}] [process={rank}][thread=MainThread] Wait for pending save at step {same} to finish, {f3} s\n"},
		{10, "W{glog} {pid} array_metadata_store.py:{n}] Per-parameter metadata of {word} was missing in step {same}\n"},
	}},
	{"debug", []template{
		{30, "[rank{rank}]:[I{c10} ProcessGroupNCCL.cpp:{n}] [PG ID 0 PG GUID 0(default_pg) Rank {rank}] ProcessGroupNCCL broadcast unique ID through store took {f4} ms\n"},
		{30, "[rank{rank}]:[V{c10} reducer.cpp:{n}] Rank {rank} / 64 [Bucket {n}] gradient ready after {n} us, {big} bytes\n"},
		{20, "DEBUG:torch.distributed.{word}:rank {rank} entering collective {n} on group {local}\n"},
		{20, "[rank{rank}]:V{glog} {pid} torch/_dynamo/guards.py:{n}] [0/{n}] [__guards] | +- EQUALS_MATCH: L['self'].{word} == {n}\n"},
	}},
	{"storm-retries", []template{
		{30, "{iso},{ms} - urllib3.connectionpool - WARNING - Retrying (Retry(total={local}, connect=None, read=None, redirect=None, status=None)) after connection broken by 'ConnectionResetError(104, 'Connection reset by peer')': /v1/objects/train/{word}-{shard}.tar\n"},
		{20, "[rank{rank}]: WARNING:root:Retrying <unknown>.get in {f1} seconds as it raised ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer')).\n"},
		{20, "{iso},{ms} - aistore.client - ERROR - request to target t[{hex8}] failed: retry {local}/5\n"},
		{10, "[rank{rank}]: AISBatchLoaderError: batch {n} failed after {local} attempts: GET http://ais-proxy:51080/v1/objects: 503\n"},
		{20, "{iso},{ms} - trainer - INFO - step {step} loss {f4}\n"},
	}},
	{"storm-network", []template{
		{20, "{host}:{pid}:{pid} [{local}] misc/socket.cc:484 NCCL WARN socketStartConnect: Connect to 10.0.{n}.{n}<{n}> failed : Connection refused\n"},
		{20, "{host}:{pid}:{pid} [{local}] transport/net_ib.cc:2273 NCCL WARN NET/IB: Got completion from peer 10.0.{n}.{n}<{n}> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n"},
		{20, "[rank{rank}]:[W{c10} socket.cpp:755] [c10d] The client socket has failed to connect to [{host}]:29500 (errno: 110 - Connection timed out).\n"},
		{20, "[rank{rank}]: BrokenPipeError: [Errno 32] Broken pipe\n"},
		{20, "[rank{rank}]:[W{c10} TCPStore.cpp:106] [c10d] sendBytes failed on SocketImpl(fd={n}, addr=[{host}]:{n}, remote=[{host}]:29500): Broken pipe\n"},
	}},
	{"storm-tracebacks", []template{
		{30, "[rank{rank}]: Traceback (most recent call last):\n[rank{rank}]:   File \"/workspace/data/set.py\", line 88, in __getitem__\n[rank{rank}]:     return self.decode(self.read(index))\n[rank{rank}]:   File \"/workspace/data/reader.py\", line 212, in read\n[rank{rank}]:     raise OSError(errno.EIO, os.strerror(errno.EIO), path)\n[rank{rank}]: OSError: [Errno 5] Input/output error: '/lustre/train/{word}/shard-{shard}.tar'\n"},
		{20, "{iso},{ms} ERROR data.{word}: failed to decode sample {big}: invalid header\nTraceback (most recent call last):\n  File \"/workspace/data/audio.py\", line 41, in decode\n    return sf.read(buf)\nsoundfile.LibsndfileError: Error opening <_io.BytesIO object at 0x{hex12}>: Format not recognised.\n"},
		{50, "{iso},{ms} INFO trainer: step {step} loss {f4}\n"},
	}},
}

// vocabulary is what names in a log are made of.
var vocabulary = strings.Fields("alpha attention audio bucket cache common conv corpus cut decoder dev embed encoder english filter fisher fsdp german head hidden " +
	"hub inner large layer libri linear lm main manifest mask mel mixer mls model music norm noise outer packed pile pool proj query rope sample " +
	"small speech stage tedlium text token train tuner vision vocab voxpop web weight wiki worker yodas")

// part is a piece of a template: text as it stands, and behind it a word.
type part struct{ text, word string }

// parse cuts a template at its words; doubled braces are braces.
func parse(s string) []part {
	var list []part
	var text strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case i+1 < len(s) && (s[i] == '{' || s[i] == '}') && s[i+1] == s[i]:
			text.WriteByte(s[i])
			i++
		case s[i] == '{':
			n := strings.IndexByte(s[i:], '}')
			list = append(list, part{text.String(), s[i+1 : i+n]})
			text.Reset()
			i += n
		default:
			text.WriteByte(s[i])
		}
	}
	return append(list, part{text: text.String()})
}

// deck holds a family's templates, each as often as it weighs.
func deck(name string) [][]part {
	i := slices.IndexFunc(families, func(f family) bool { return f.name == name })
	if i < 0 {
		return nil
	}
	var list [][]part
	for _, t := range families[i].lines {
		parts := parse(t.text)
		for range t.weight {
			list = append(list, parts)
		}
	}
	return list
}

// say prints what a template makes of rank l.
func (p *printer) say(parts []part, l int) {
	for _, x := range parts {
		p.printf("%s", x.text)
		if x.word != "" {
			p.word(x.word, l)
		}
	}
}

// word prints what stands for a word in braces.
func (p *printer) word(w string, l int) {
	switch w {
	case "rank":
		p.printf("%d", p.global(l))
	case "local":
		p.printf("%d", l)
	case "host":
		p.printf("node%04d", p.node)
	case "pid":
		p.printf("%d", 41000+l)
	case "iso":
		p.printf("%s", p.at.Format(time.DateTime))
	case "iso2":
		p.printf("%s", p.at.Format("01-02 15:04:05"))
	case "rfc":
		p.printf("%s", p.at.Format(time.RFC3339))
	case "nano":
		p.printf("%s%09dZ", p.at.Format("2006-01-02T15:04:05."), p.rng.IntN(1e9))
	case "ms":
		p.printf("%03d", p.rng.IntN(1000))
	case "c10":
		p.printf("%s%09d", p.at.Format("102 15:04:05."), p.rng.IntN(1e9))
	case "glog":
		p.printf("%s%06d", p.at.Format("0102 15:04:05."), p.rng.IntN(1e6))
	case "step":
		p.steps[l]++
		p.printf("%d", p.steps[l])
	case "step8":
		p.steps[l]++
		p.printf("%8d", p.steps[l])
	case "same":
		p.printf("%d", p.steps[l])
	case "n":
		p.printf("%d", p.rng.IntN(10000))
	case "big":
		p.printf("%d", p.rng.IntN(1e8))
	case "big12":
		p.printf("%12d", p.steps[l]*256)
	case "shard":
		p.printf("%06d", p.rng.IntN(1e6))
	case "exp":
		p.printf("%.3e", (1+p.rng.Float64())*1e-4)
	case "hex4":
		p.printf("%x", p.rng.IntN(1<<16))
	case "hex8":
		p.printf("%08x", p.rng.Uint32())
	case "hex12":
		p.printf("7f%010x", p.rng.Uint64()>>24)
	case "pct":
		p.printf("%3d", p.steps[l]%10000/100)
	case "bar":
		filled := p.steps[l] % 10000 / 100 * 30 / 100
		p.printf("%s%*s", blocks[:3*filled], 30-filled, "")
	case "clock":
		p.printf("%d:%02d:%02d", p.steps[l]/4000, p.steps[l]/60%60, p.steps[l]%60)
	case "word":
		p.printf("%s", vocabulary[p.rng.IntN(len(vocabulary))])
	default: // f and how many decimals
		var decimals int
		if _, err := fmt.Sscanf(w, "f%d", &decimals); err != nil {
			panic("volume: no such word: " + w)
		}
		p.printf("%.*f", decimals, 1+p.rng.Float64()*99)
	}
}
