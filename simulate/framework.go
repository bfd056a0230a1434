package simulate

import (
	"fmt"
	"strings"
	"time"
)

// framework is what a training framework prints: its banner, its layout, its progress and its saves.
type framework struct {
	name   string
	script string
	// statesWorld: its banner names the world size, in words that need no arithmetic.
	statesWorld bool
	startup     func(s *scene)
	progress    func(s *scene, t time.Duration)
	save        func(s *scene, t time.Duration) // a checkpoint save, begun and completed
}

func chooseFramework(s *scene) *framework {
	switch s.spec.Layout.Kind {
	case "megatron":
		if s.spec.Seed%2 == 0 {
			return &nemo
		}
		return &megatron
	case "hsdp":
		return &titan
	case "fsdp":
		if s.v.elastic < 2 { // TorchTitan began with 2.3
			return pick(s.rng, &hfTrainer, &deepspeed)
		}
		return pick(s.rng, &titan, &hfTrainer, &deepspeed)
	}
	return pick(s.rng, &lightning, &hfTrainer, &deepspeed)
}

// startup writes what every run prints before its first step: SLURM's batch script, the agents, NCCL, the framework.
func (s *scene) startup() {
	s.add(entry{to: toBatch, rank: -1, says: saysNodes, text: fmt.Sprintf("batch start job=%d nodelist=%s", s.jobID, s.hostlist())})
	t := ms(800)
	if s.torchrun && s.spec.PerNode > 1 {
		for n := range s.nodes {
			rule := strings.Repeat("*", 41)
			banner := "Setting OMP_NUM_THREADS environment variable for each process to be 1 in default, to avoid your system being overloaded, please further tune the variable for optimal performance in your application as needed. "
			for _, l := range []string{rule, banner, rule} {
				s.agent(n, t, 'W', "run", 793, l)
			}
		}
	}
	if s.spec.Noise >= 1 {
		for _, n := range s.nodes {
			s.plain(n.ranks[0], t+ms(20), "pyxis: importing docker image: example/pytorch:24.05")
			s.plain(n.ranks[0], t+ms(900), "pyxis: imported docker image: example/pytorch:24.05")
		}
	}
	s.frame.startup(s)
	s.ncclInit(sec(9))
	if s.v.rank {
		// The warning of the first barrier: the one line that PyTorch prints on every rank of a healthy run.
		text := " using GPU %d to perform barrier as devices used by this process are currently unknown. This can potentially cause a hang if this rank to GPU mapping is incorrect. Specify device_ids in barrier() to force use of a particular device, or call init_process_group() with a device_id."
		if s.v.dump >= dumpFirst {
			text = strings.Replace(text, "devices used by this process are", "device used by this process is", 1)
		}
		for _, r := range s.ranks {
			s.c10(r.id, sec(8)+s.jitter(ms(400)), 'W', pg(4115), s.v.groupPrefix(s.groups[0], r.id)+fmt.Sprintf(text, r.local))
		}
	}
}

// ncclInit writes NCCL's banner and, where NCCL_DEBUG=INFO is set, the line that ties a rank to a host, a process and a GPU.
func (s *scene) ncclInit(t time.Duration) {
	s.plain(0, t, fmt.Sprintf("NCCL version %s+cuda%s", s.v.nccl, s.v.cuda))
	if s.torchrun && s.spec.Noise == 0 {
		return
	}
	commID := s.rng.Uint64()
	for _, r := range s.ranks {
		head := fmt.Sprintf("%s:%d:%d [%d] NCCL INFO ", r.node.name, r.pid, r.pid+200, r.local)
		if s.spec.Noise >= 2 {
			s.plain(r.id, t+ms(20), head+fmt.Sprintf("Bootstrap : Using eth0:%s<0>", r.node.ip))
			s.plain(r.id, t+ms(60), head+"Using network IB")
		}
		fn := ""
		if !before(s.v.nccl, "2.21") {
			fn = "ncclCommInitRank "
		}
		nvml := ""
		if !before(s.v.nccl, "2.18") {
			nvml = fmt.Sprintf("nvmlDev %d ", r.local)
		}
		id := ""
		if !before(s.v.nccl, "2.18") {
			id = fmt.Sprintf("commId 0x%x ", commID)
		}
		s.said(r.id, t+ms(100)+s.jitter(ms(300)), saysRank|saysNode|saysWorld, head+fmt.Sprintf("%scomm 0x55%010x rank %d nranks %d cudaDev %d %sbusId %x000 %s- Init COMPLETE",
			fn, s.rng.Uint64()&0xffffffffff, r.id, s.world, r.local, nvml, 0x1b+0x20*r.local&0xff, id))
	}
}

// training writes the progress of a healthy run from one moment to another, at most 40 records, with a save about every
// twelfth. It returns the moment of the last record: a hang begins within the step after it.
func (s *scene) training(from, to time.Duration) time.Duration {
	every := s.stepTime
	for (to-from)/every > 40 {
		every *= 2
	}
	last := from
	for t, i := from+every, 1; t <= to; t, i = t+every, i+1 {
		s.step += int(every / s.stepTime)
		s.loss -= 0.004 * s.rng.Float64()
		s.frame.progress(s, t)
		if i%12 == 0 && t+3*every <= to { // never just before an incident: a save would be its suspect
			s.frame.save(s, t+ms(30))
		}
		s.benign(t)
		last = t
	}
	return last
}

// benign writes noise: warnings and errors of runs that are well.
func (s *scene) benign(t time.Duration) {
	if s.spec.Noise == 0 || s.rng.IntN(4-min(s.spec.Noise, 3)) != 0 {
		return
	}
	r, kind := s.rng.IntN(s.world), s.rng.IntN(6)
	if r == s.root && kind == 2 {
		kind = 0 // a retry on the culprit would be evidence, not noise
	}
	switch kind {
	case 0:
		s.plain(r, t, "/usr/local/lib/python3.10/dist-packages/torch/utils/checkpoint.py:429: UserWarning: torch.utils.checkpoint: please pass in use_reentrant=True or use_reentrant=False explicitly.\n  warnings.warn(")
	case 1:
		s.plain(r, t, "huggingface/tokenizers: The current process just got forked, after parallelism has already been used. Disabling parallelism to avoid deadlocks...")
	case 2:
		s.plain(r, t, "WARNING:root:Retrying <unknown>.request in 0.8 seconds as it raised ConnectionError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer')).")
	case 3:
		s.plain(r, t, "FutureWarning: `torch.cuda.amp.autocast(args...)` is deprecated. Please use `torch.amp.autocast('cuda', args...)` instead.")
	case 4:
		s.c10(r, t, 'W', "socket.cpp:697", "[c10d] The client socket has failed to connect to [localhost]:29500 (errno: 97 - Address family not supported by protocol).")
	default:
		s.plain(r, t, "ERROR:root:wandb: Network error (ReadTimeout), entering retry loop.")
	}
}

// stamp formats a rank's wall clock.
func (s *scene) stamp(r int, t time.Duration, layout string) string {
	return s.wall(s.ranks[r].node, t).Format(layout)
}

const commaMillis = "2006-01-02 15:04:05,000"

var lightning = framework{
	name: "lightning", script: "train.py", statesWorld: true,
	startup: func(s *scene) {
		s.plain(0, sec(3), "GPU available: True (cuda), used: True")
		for _, r := range s.ranks {
			s.said(r.id, sec(4)+s.jitter(ms(800)), saysRank|saysWorld, fmt.Sprintf("Initializing distributed: GLOBAL_RANK: %d, MEMBER: %d/%d", r.id, r.id+1, s.world))
		}
		rule := strings.Repeat("-", 100)
		s.said(0, sec(7), saysWorld, rule+"\ndistributed_backend=nccl\nAll distributed processes registered. Starting with "+fmt.Sprint(s.world)+" processes\n"+rule)
	},
	progress: func(s *scene, t time.Duration) {
		s.bar(0, t, fmt.Sprintf("Epoch 0:  %2d%%|%s| %d/50000 [%d:%02d<09:11:02,  %.2fs/it, v_num=3, reduced_train_loss=%.3f]",
			s.step*100/50000, "█▌        ", s.step, int(t.Minutes()), int(t.Seconds())%60, s.stepTime.Seconds(), s.loss))
	},
	save: func(s *scene, t time.Duration) {
		s.plain(0, t, fmt.Sprintf("Epoch 0, global step %d: 'val_loss' reached %.5f (best %.5f), saving model to '/ckpt/epoch=0-step=%d.ckpt' as top 3", s.step, s.loss, s.loss, s.step))
	},
}

// bar writes a progress bar that ends in \r when noise asks for bars, else a line.
func (s *scene) bar(r int, t time.Duration, msg string) {
	s.add(entry{at: t, to: toRank, rank: r, node: s.ranks[r].node.index, text: msg, bar: s.spec.Noise >= 2})
}

var hfTrainer = framework{
	name: "hf", script: "finetune.py",
	startup: func(s *scene) {
		s.plain(0, sec(6), "***** Running training *****\n  Num examples = 1,048,576\n  Num Epochs = 1\n  Total optimization steps = 50,000")
	},
	progress: func(s *scene, t time.Duration) {
		s.bar(0, t, fmt.Sprintf(" %2d%%|%s| %d/50000 [%02d:%02d<9:11:02,  %.2fs/it]", s.step*100/50000, "▌         ", s.step, int(t.Minutes()), int(t.Seconds())%60, s.stepTime.Seconds()))
		s.plain(0, t+ms(2), fmt.Sprintf("{'loss': %.4f, 'grad_norm': %.4f, 'learning_rate': 1e-05, 'epoch': %.2f}", s.loss, 0.3+s.rng.Float64()/5, float64(s.step)/50000))
	},
	save: func(s *scene, t time.Duration) {
		s.plain(0, t, fmt.Sprintf("Saving model checkpoint to /ckpt/checkpoint-%d", s.step))
	},
}

var deepspeed = framework{
	name: "deepspeed", script: "pretrain.py",
	startup: func(s *scene) {
		for _, r := range s.ranks {
			s.plain(r.id, sec(3)+s.jitter(ms(500)), fmt.Sprintf("[%s] [INFO] [real_accelerator.py:203:get_accelerator] Setting ds_accelerator to cuda (auto detect)", s.stamp(r.id, sec(3), commaMillis)))
			s.plain(r.id, sec(4)+s.jitter(ms(500)), fmt.Sprintf("[%s] [INFO] [comm.py:637:init_distributed] cdb=None", s.stamp(r.id, sec(4), commaMillis)))
		}
	},
	progress: func(s *scene, t time.Duration) {
		s.plain(0, t, fmt.Sprintf("[%s] [INFO] [logging.py:96:log_dist] [Rank 0] step=%d, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]", s.stamp(0, t, commaMillis), s.step))
	},
	save: func(s *scene, t time.Duration) {
		at := s.stamp(0, t, commaMillis)
		s.plain(0, t, fmt.Sprintf("[%s] [INFO] [torch_checkpoint_engine.py:21:save] [Torch] Saving /ckpt/global_step%d/mp_rank_00_model_states.pt...", at, s.step))
		s.plain(0, t+ms(100), fmt.Sprintf("[%s] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step%d is ready now!", at, s.step))
	},
}

var titan = framework{
	name: "torchtitan", script: "train.py",
	startup: func(s *scene) {
		f := says(0)
		mesh := fmt.Sprintf("Building 1-D device mesh with ['dp_shard'], [%d]", s.world)
		if s.spec.Layout.Kind == "hsdp" {
			mesh, f = fmt.Sprintf("Building 2-D device mesh with ['dp_replicate', 'dp_shard'], [%d, %d]", s.spec.Layout.DP, s.spec.Layout.TP), saysGroups
		}
		s.titanLine(sec(4), 0, "Starting job: Llama 3 8B training")
		s.titanLine(sec(6), f|saysWorld, mesh)
	},
	progress: func(s *scene, t time.Duration) {
		s.titanLine(t, 0, fmt.Sprintf("step: %d  loss: %7.4f  grad_norm: %.4f  memory: 60.21GiB(75.99%%)  tps: 5,812  tflops: 380.12  mfu: 38.41%%", s.step, s.loss, 0.3+s.rng.Float64()/5))
	},
	save: func(s *scene, t time.Duration) {
		s.titanLine(t, 0, "Saving the checkpoint (or staging if async is enabled).")
		s.titanLine(t+ms(400), 0, "Finished saving the checkpoint in 4.10 seconds.")
	},
}

func (s *scene) titanLine(t time.Duration, f says, msg string) {
	s.said(0, t, f, fmt.Sprintf("[titan] %s - root - INFO - %s", s.stamp(0, t, commaMillis), msg))
}

var megatron = framework{
	name: "megatron", script: "pretrain_gpt.py", statesWorld: true,
	startup: func(s *scene) {
		l := s.spec.Layout
		s.said(0, sec(3), saysWorld|saysGroups, fmt.Sprintf("using world size: %d, data-parallel size: %d, context-parallel size: %d, hierarchical context-parallel sizes: None, tensor-model-parallel size: %d, pipeline-model-parallel size: %d",
			s.world, l.DP*max(l.EP, 1), max(l.CP, 1), l.TP, l.PP))
		s.said(0, sec(3)+ms(5), saysWorld|saysGroups, fmt.Sprintf("------------------------ arguments ------------------------\n  context_parallel_size ........................... %d\n  expert_model_parallel_size ...................... %d\n  pipeline_model_parallel_size .................... %d\n  tensor_model_parallel_size ...................... %d\n  world_size ...................................... %d\n-------------------- end of arguments ---------------------",
			max(l.CP, 1), max(l.EP, 1), l.PP, l.TP, s.world))
		s.plain(0, sec(4), "> initializing torch distributed ...")
		s.said(0, sec(7), saysGroups, fmt.Sprintf("> initialized tensor model parallel with size %d\n> initialized pipeline model parallel with size %d", l.TP, l.PP))
	},
	progress: func(s *scene, t time.Duration) {
		r := s.world - 1
		s.plain(r, t, fmt.Sprintf(" [%s] iteration %8d/  500000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): 412.0 | learning rate: 1.500000E-04 | global batch size: %5d | lm loss: %.6E | loss scale: 1.0 | grad norm: %.3f | number of skipped iterations:   0 | number of nan iterations:   0 |",
			s.stamp(r, t, "2006-01-02 15:04:05"), s.step, s.step*256, float64(s.stepTime.Microseconds())/1000, 256, s.loss, 0.3+s.rng.Float64()/5))
	},
	save: func(s *scene, t time.Duration) {
		s.plain(0, t, fmt.Sprintf("saving checkpoint at iteration %7d to /ckpt/gpt in torch_dist format", s.step))
		s.plain(0, t+ms(300), fmt.Sprintf("  successfully saved checkpoint from iteration %7d to /ckpt/gpt", s.step))
	},
}

// nemo states the members of every group: the rank's own and all of a kind.
var nemo = framework{
	name: "nemo", script: "megatron_gpt_pretraining.py", statesWorld: true,
	startup: func(s *scene) {
		for _, r := range s.ranks {
			s.said(r.id, sec(3)+s.jitter(ms(800)), saysRank|saysWorld, fmt.Sprintf("Initializing distributed: GLOBAL_RANK: %d, MEMBER: %d/%d", r.id, r.id+1, s.world))
		}
		t := sec(6)
		at := s.stamp(0, t, "2006-01-02 15:04:05")
		names := []struct{ kind, own, all string }{
			{"dp", "data parallel group", "All data parallel group ranks"}, {"cp", "context parallel group", "All context parallel group ranks"},
			{"mp", "model parallel group", "All model parallel group ranks"}, {"tp", "tensor model parallel group", "All tensor model parallel group ranks"},
			{"pp", "pipeline model parallel group", "All pipeline model parallel group ranks"}, {"ep", "expert model parallel group", "All expert model parallel group ranks"},
		}
		for i, n := range names {
			g := s.groupOf(0, n.kind)
			if g == nil {
				continue
			}
			var all []string
			for _, x := range s.groups {
				if x.kind == n.kind {
					all = append(all, pyList(x.ranks))
				}
			}
			s.said(0, t+ms(2*i), saysWorld|saysGroups, fmt.Sprintf("[NeMo I %s megatron_init:%d] Rank 0 has %s: %s", at, 314+7*i, n.own, pyList(g.ranks)))
			s.said(0, t+ms(2*i+1), saysWorld|saysGroups, fmt.Sprintf("[NeMo I %s megatron_init:%d] %s: [%s]", at, 317+7*i, n.all, strings.Join(all, ", ")))
		}
	},
	progress: func(s *scene, t time.Duration) {
		r := s.world - 1
		s.plain(r, t, fmt.Sprintf("Training epoch 0, iteration %d/499999 | lr: 2.9e-05 | global_batch_size: 256 | global_step: %d | reduced_train_loss: %.3f | train_step_timing in s: %.3f | consumed_samples: %d", s.step, s.step, s.loss, s.stepTime.Seconds(), s.step*256))
	},
	save: func(s *scene, t time.Duration) {
		s.plain(0, t, fmt.Sprintf("[NeMo I %s nemo_logging:393] Global Checkpoint Save : Rank: 0 : Iteration: %d : Start time: %.3fs : Save duration: 4.100s", s.stamp(0, t, "2006-01-02 15:04:05"), s.step, float64(s.start.Add(t).UnixMilli())/1000))
	},
}

func pyList(xs []int) string { return strings.ReplaceAll(fmt.Sprint(xs), " ", ", ") }
