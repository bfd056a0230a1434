package slow

import (
	"fmt"
	"strings"
	"time"

	"faultline/simulate"
)

const day = "2006-01-02 15:04:05"

// say writes a line to the file of a node.
func (p *player) say(node int, text string) {
	p.files[node] = append(append(p.files[node], text...), '\n')
}

// loop writes a line of a rank's own file.
func (p *player) loop(rank int, text string) {
	p.loops[rank] = append(append(p.loops[rank], p.now.Format(day+".000")+" INFO trainer: "+text...), '\n')
}

// main is the node whose file has the steps: Megatron's last rank prints them, else the first.
func (p *player) main() int {
	if p.megatron() {
		return p.Nodes - 1
	}
	return 0
}

// startup ties ranks to nodes and GPUs, as NCCL does.
func (p *player) startup() {
	for r := range p.world {
		n, local := r/p.PerNode, r%p.PerNode
		p.say(n, fmt.Sprintf("%s:%d:%d [%d] NCCL INFO ncclCommInitRank comm 0x55aa%06x rank %d nranks %d cudaDev %d nvmlDev %d busId %x000 commId 0x1f2e3d4c5b6a7988 - Init COMPLETE",
			p.nodes[n], 4000+r, 4200+r, local, r, r, p.world, local, local, bus(local)))
	}
	if p.megatron() {
		p.say(0, fmt.Sprintf("using world size: %d, data-parallel size: %d, context-parallel size: 1, hierarchical context-parallel sizes: None, tensor-model-parallel size: %d, pipeline-model-parallel size: 1", p.world, p.Nodes, p.PerNode))
	}
}

func bus(local int) int { return 0x1b + 0x10*local }

// progress writes the line of a step, and its timers.
func (p *player) progress(usual, culprit phases) {
	mine := usual
	if p.rank == 0 {
		mine = culprit
	}
	seconds := usual.sum()
	switch p.Timers {
	case MinMax, Max, PerRank:
		p.say(p.main(), fmt.Sprintf(" [%s] iteration %8d/  500000 | consumed samples: %12d | elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | learning rate: 1.500000E-04 | global batch size: %5d | lm loss: %.6E | loss scale: 1.0 | grad norm: %.3f | number of skipped iterations:   0 | number of nan iterations:   0 |",
			p.now.Format(day), p.step, p.step*p.batch, 1000*seconds, 2800/seconds, p.batch, p.loss, 0.3))
		p.timers(usual, culprit)
	case DeepSpeed:
		at := p.now.Format(day + ",000")
		p.say(0, fmt.Sprintf("[%s] [INFO] [logging.py:96:log_dist] [Rank 0] step=%d, skipped=0, lr=[1e-05], mom=[(0.9, 0.95)]", at, p.step))
		p.say(0, fmt.Sprintf("[%s] [INFO] [logging.py:96:log_dist] [Rank 0] time (ms) | fwd: %.2f | bwd: %.2f | bwd_inner: %.2f | bwd_allreduce: %.2f | step: %.2f", at,
			1000*mine.forward, 1000*(mine.backward+mine.sync), 1000*mine.backward, 1000*mine.sync, 1000*mine.optimizer))
	case Meter:
		p.say(0, fmt.Sprintf("Epoch: [0]  [ %d/50000]  eta: 9:11:02  lr: 0.000100  loss: %.4f (%.4f)  time: %.4f  data: %.4f  max mem: 40960", p.step, p.loss, p.loss+0.01, seconds, mine.data))
	case Loop:
		for r := range p.world {
			x := usual
			if r == p.rank {
				x = culprit
			}
			p.loop(r, fmt.Sprintf("step %d/50000 | loss %.4f | data %.1fms | fwd %.1fms | bwd %.1fms | allreduce %.1fms | opt %.1fms", p.step, p.loss, 1000*x.data, 1000*x.forward, 1000*x.backward, 1000*x.sync, 1000*x.optimizer))
		}
	case None:
		p.say(0, fmt.Sprintf("[titan] %s - root - INFO - step: %d  loss: %7.4f  grad_norm: 0.3512  memory: 60.21GiB(75.99%%)  tps: %d  tflops: %.2f  mfu: %.2f%%", p.now.Format(day+",000"), p.step, p.loss,
			int(8192/seconds), 400/seconds, 40/seconds))
	}
}

// timers are Megatron's, in milliseconds.
func (p *player) timers(usual, culprit phases) {
	list := []struct {
		name       string
		usual, his float64
	}{
		{"forward-backward", usual.forward + usual.backward, culprit.forward + culprit.backward}, {"forward-compute", usual.forward, culprit.forward}, {"backward-compute", usual.backward, culprit.backward},
		{"batch-generator", usual.data, culprit.data}, {"all-grads-sync", usual.sync, culprit.sync}, {"optimizer", usual.optimizer, culprit.optimizer},
	}
	jitter := func(v float64) float64 { return 1000 * v * (1 + 0.004*float64(min(p.Noise, 1))*p.rng.Float64()) }
	switch p.Timers {
	case PerRank:
		p.say(p.main(), "times across ranks (ms):")
	case MinMax:
		p.say(p.main(), "(min, max) time across ranks (ms):")
	default:
		p.say(p.main(), "max time across ranks (ms):")
	}
	for _, x := range list {
		dots := x.name + " " + strings.Repeat(".", 47-len(x.name))
		low, high := min(x.usual, x.his), max(x.usual, x.his)
		switch p.Timers {
		case PerRank:
			p.say(p.main(), "  "+x.name+":")
			for r := range p.world {
				v := x.usual
				if r == p.rank {
					v = x.his
				}
				p.say(p.main(), fmt.Sprintf("     rank %2d: %.2f", r, jitter(v)))
			}
		case MinMax:
			p.say(p.main(), fmt.Sprintf("    %s: (%.2f, %.2f)", dots, 1000*low, jitter(high)))
		default:
			p.say(p.main(), fmt.Sprintf("    %s: %.2f", dots, jitter(high)))
		}
	}
}

func (p *player) after(seconds float64) {
	p.now = p.now.Add(time.Duration(seconds * float64(time.Second)))
}

// save is a checkpoint that blocks.
func (p *player) save(seconds float64) {
	stamp := p.now.Format(day + ",000")
	begun := p.now
	if p.Timers == Loop {
		p.loop(0, fmt.Sprintf("Saving checkpoint to /ckpt/%d.pt", p.step))
	}
	p.after(seconds)
	done := p.now.Format(day + ",000")
	switch p.Timers {
	case DeepSpeed:
		p.say(0, fmt.Sprintf("[%s] [INFO] [torch_checkpoint_engine.py:21:save] [Torch] Saving /ckpt/global_step%d/mp_rank_00_model_states.pt...", stamp, p.step))
		p.say(0, fmt.Sprintf("[%s] [INFO] [torch_checkpoint_engine.py:33:commit] [Torch] Checkpoint global_step%d is ready now!", done, p.step))
	case None:
		p.say(0, fmt.Sprintf("[titan] %s - root - INFO - Saving the checkpoint (or staging if async is enabled).", stamp))
		p.say(0, fmt.Sprintf("[titan] %s - root - INFO - Finished saving the checkpoint in %.2f seconds.", done, p.now.Sub(begun).Seconds()))
	case Loop:
		p.loop(0, fmt.Sprintf("Checkpoint saved to /ckpt/%d.pt", p.step))
	case Meter:
		p.say(0, fmt.Sprintf("Saving checkpoint to /ckpt/%d.pt", p.step))
		p.say(0, fmt.Sprintf("Checkpoint saved to /ckpt/%d.pt", p.step))
	default:
		p.say(0, fmt.Sprintf("saving checkpoint at iteration %7d to /ckpt/gpt in torch_dist format", p.step))
		p.say(0, fmt.Sprintf("  successfully saved checkpoint from iteration %7d to /ckpt/gpt", p.step))
		p.say(p.main(), fmt.Sprintf("(min, max) time across ranks (ms):\n    save-checkpoint ................................: (%.2f, %.2f)", 1000*seconds-1, 1000*seconds))
	}
}

// evaluation is a pause in which other data are run.
func (p *player) evaluation(seconds float64) {
	p.after(seconds)
	switch {
	case p.megatron():
		p.say(p.main(), fmt.Sprintf(" validation loss at iteration %d | lm loss value: %.6E | lm loss PPL: 1.000000E+01 | ", p.step, p.loss))
	case p.Timers == None:
		p.say(0, fmt.Sprintf("[titan] %s - root - INFO - validate step: %d  loss: %7.4f  memory: 60.21GiB(75.99%%)  tps: 9,812", p.now.Format(day+",000"), p.step, p.loss))
	}
}

// evidence writes what is at hand beside the logs.
func (p *player) evidence() []simulate.File {
	var out []simulate.File
	add := func(name, text string) { out = append(out, simulate.File{Name: name, Data: []byte(text)}) }
	has := func(e Evidence) bool { return p.Evidence == e || p.Evidence == All }
	if has(Tests) {
		add("nccl-tests.txt", p.tests())
	}
	if has(Counters) {
		for n, name := range p.nodes[:min(p.Nodes, 8)] {
			if n == 7 && p.bad > 7 {
				n, name = p.bad, p.nodes[p.bad]
			}
			add("perfquery-"+name+".txt", p.ports(n))
		}
	}
	if p.Evidence == Paths {
		add("iperf3.txt", p.paths())
	}
	if has(GPUs) {
		for n, name := range p.nodes {
			add("nvidia-smi-"+name+".csv", p.smi(n))
		}
	}
	return out
}

// tests are runs of nccl-tests over pairs: the bad node with two others, these with each other, and two more.
func (p *player) tests() string {
	a, b := (p.bad+1)%p.Nodes, (p.bad+2)%p.Nodes
	pairs := [][2]int{{p.bad, a}}
	if p.Nodes > 2 {
		pairs = append(pairs, [2]int{p.bad, b}, [2]int{a, b})
	}
	if p.Nodes > 4 {
		pairs = append(pairs, [2]int{(p.bad + 3) % p.Nodes, (p.bad + 4) % p.Nodes})
	}
	var t strings.Builder
	for _, pair := range pairs {
		bw := 42.3 * (0.98 + 0.04*p.rng.Float64())
		switch {
		case (p.Kind == BadLink || p.Kind == DecayLink) && pair[0] == p.bad:
			bw *= 0.404
		case p.Kind == Congested:
			bw *= 0.45
		case p.Kind == NoisyTests:
			bw *= 0.92 + 0.08*p.rng.Float64()
		}
		fmt.Fprintf(&t, "# Collective test starting: all_reduce_perf\n# nThread 1 nGpus 1 minBytes 1073741824 maxBytes 1073741824 step: 1048576(bytes) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n")
		for i, n := range pair {
			for g := range p.PerNode {
				fmt.Fprintf(&t, "#  Rank %2d Group  0 Pid %6d on    %s device %2d [0000:%02x:00] NVIDIA H100 80GB HBM3\n", i*p.PerNode+g, 20000+n*10+g, p.nodes[n], g, bus(g))
			}
		}
		ranks := float64(2 * p.PerNode)
		alg := bw / (2 * (ranks - 1) / ranks)
		us := 1073741824 / (alg * 1e3)
		fmt.Fprintf(&t, "#\n#                                                              out-of-place                       in-place          \n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n"+
			"#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)       \n"+
			"  1073741824     268435456     float     sum      -1  %7.1f  %6.2f  %6.2f      0  %7.1f  %6.2f  %6.2f      0\n# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %.4f \n#\n\n", us, alg, bw, us, alg, bw, bw)
	}
	return t.String()
}

// ports are the counters of a node's port, read twice.
func (p *player) ports(n int) string {
	was := p.rng.IntN(3)
	is := was
	switch {
	case (p.Kind == BadLink || p.Kind == DecayLink) && n == p.bad:
		is = was + 14290
	case p.Kind == FewErrors && n == p.bad:
		is = was + 1
	}
	var t strings.Builder
	for i, errors := range []int{was, is} {
		fmt.Fprintf(&t, "root@%s:~# date\n%s\nroot@%s:~# perfquery -C mlx5_3\n# Port counters: Lid %d port 1 (CapMask: 0x5A00)\nPortSelect:......................1\nCounterSelect:...................0x0000\n"+
			"SymbolErrorCounter:..............%d\nLinkErrorRecoveryCounter:........0\nLinkDownedCounter:...............0\nPortRcvErrors:...................%d\nPortXmitDiscards:................0\n"+
			"PortXmitData:....................%d\nPortRcvData:.....................%d\n", p.nodes[n], p.now.Add(time.Duration(i)*time.Hour).Format("Mon Jan  2 15:04:05 UTC 2006"), p.nodes[n], 31+n,
			errors, errors, 16480432+i*90000000, 10932+i*90000000)
	}
	return t.String()
}

// smi is the state of a node's GPUs.
func (p *player) smi(n int) string {
	t := "index, pci.bus_id, clocks.sm [MHz], temperature.gpu, utilization.gpu [%], clocks_event_reasons.active\n"
	for g := range p.PerNode {
		clock, heat, reasons := 1980-p.rng.IntN(30), 55+p.rng.IntN(14), "0x0000000000000000"
		switch {
		case p.Kind == HotGPU && n*p.PerNode+g == p.rank:
			clock, heat, reasons = 1155, 87, "0x0000000000000040"
		case p.Kind == LowClock && n*p.PerNode+g == p.rank:
			clock = 1200
		case p.Kind == PowerCap:
			clock, reasons = 1290, "0x0000000000000080"
		}
		t += fmt.Sprintf("%d, 00000000:%02X:00.0, %d MHz, %d, 99 %%, %s\n", g, bus(g), clock, heat, reasons)
	}
	return t
}

// paths are runs of iperf3, each node with the two behind it.
func (p *player) paths() string {
	var t strings.Builder
	for n := range p.Nodes {
		for d := 1; d < min(p.Nodes, 3); d++ {
			to := (n + d) % p.Nodes
			rate := 94 + 2*p.rng.Float64()
			if (p.Kind == BadLink || p.Kind == DecayLink) && (n == p.bad || to == p.bad) || p.Kind == Congested {
				rate *= 0.4
			}
			fmt.Fprintf(&t, "root@%s:~# iperf3 -c %s -t 10\nConnecting to host %s, port 5201\n[  5] local 10.77.0.%d port 49650 connected to 10.77.0.%d port 5201\n[ ID] Interval           Transfer     Bitrate         Retr\n"+
				"[  5]   0.00-10.00  sec  %.1f GBytes  %.1f Gbits/sec    0             sender\n[  5]   0.00-10.04  sec  %.1f GBytes  %.1f Gbits/sec                  receiver\n\niperf Done.\n", p.nodes[n], p.nodes[to], p.nodes[to], n+1, to+1,
				rate*1.25, rate, rate*1.25, rate-0.1)
		}
	}
	return t.String()
}

// records are SLURM's: this job, one that began on a node of it when the steps became slower, and one that ran all the time.
func (p *player) records() string {
	const slurm = "2006-01-02T15:04:05"
	at := p.truth.Onset
	if at.IsZero() {
		at = p.now.Add(-10 * time.Minute)
	}
	list := fmt.Sprintf("node-[00-%02d]", p.Nodes-1)
	return "JobID|JobName|User|State|ExitCode|Start|End|NodeList\n" +
		fmt.Sprintf("4242|train|u|RUNNING|0:0|%s|Unknown|%s\n4242.0|train|u|RUNNING|0:0|%s|Unknown|%s\n", p.began.Format(slurm), list, p.began.Add(time.Second).Format(slurm), list) +
		fmt.Sprintf("4250|other|v|RUNNING|0:0|%s|Unknown|%s\n4100|third|w|RUNNING|0:0|%s|Unknown|%s\n", at.Add(-10*time.Second).Format(slurm), p.nodes[p.bad], p.began.Add(-time.Hour).Format(slurm), p.nodes[0])
}
