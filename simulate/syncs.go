package simulate

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// syncs lists the incidents of stop-line 5: hangs at the synchronisation points of frameworks.
func syncs() []mechanism {
	return []mechanism{
		{name: "preemption-broadcast", line: 5, ablations: []string{"no-dump", "no-world"}, fit: fitSync, run: playPreemption},
		{name: "object-broadcast", line: 5, ablations: []string{"no-dump", "no-world"}, fit: fitSync, run: playObject},
		{name: "buffers-broadcast", line: 5, ablations: []string{"no-dump", "no-world"}, fit: fitSync, run: playBuffers},
		{name: "stack-named", line: 5, ablations: []string{"no-dump"}, fit: fitStack, run: playStackNamed},
		{name: "steps-ahead", line: 5, fit: fitSamples, run: playStepsAhead},
		{name: "steps-apart", line: 5, fit: fitSamples, run: playStepsApart},
	}
}

// fitSync is for hangs in a broadcast of the default group. Where no dump line shows the staller, a lost file hides too
// much (see fitOneGroup).
func fitSync(s *Spec, p *picker) {
	fitOneGroup(s, p)
	s.Layout.Kind = "ddp"
}

// fitStack needs the release from which the stack of the failed collective is printed, and lines that nothing tears.
func fitStack(s *Spec, p *picker) {
	fitSync(s, p)
	p.atLeast(s, func(v *generation) bool { return v.at.stack != 0 })
	s.Damage, s.Prefixes = "", nil
}

// fitSamples needs counters, dump lines, every file, and one file for each rank: then the steps are its own.
func fitSamples(s *Spec, p *picker) {
	fitDump(s, p)
	s.Layout.Kind = "ddp"
	s.Damage, s.Prefixes = "", nil
	s.FileMode = "rank"
	if s.NodeCount*s.PerNode > 128 {
		s.NodeCount = 128 / s.PerNode
		s.Layout.DP = s.NodeCount * s.PerNode
	}
}

// step writes one optimizer step of the default group, as a data-parallel job does it: buffers, buckets of gradients, and
// what the framework adds at its end.
func (s *scene) syncStep(buckets int, tail ...op) []op {
	g := s.groups[0]
	out := []op{{g: g, kind: "BROADCAST", in: 2048, out: 2048, src: -1, dst: -1}}
	for range buckets {
		n := int64(1+s.rng.IntN(6)) * 1048576
		out = append(out, op{g: g, kind: "ALLREDUCE", in: n, out: n, src: -1, dst: -1})
	}
	return append(out, tail...)
}

func (s *scene) scalar(kind string) op {
	return op{g: s.groups[0], kind: kind, in: 1, out: 1, src: -1, dst: -1, sync: true}
}

// everybody gives all ranks the same program of some steps.
func (s *scene) everybody(step []op, n int) [][]op {
	prog := make([][]op, s.world)
	for r := range prog {
		for range n {
			prog[r] = append(prog[r], step...)
		}
	}
	s.number(prog)
	return prog
}

// straggler draws a rank that is not the sender.
func (s *scene) straggler() int {
	s.root = 1 + s.rng.IntN(s.world-1)
	return s.root
}

// letGo are the ranks that leave a broadcast in which others wait for a straggler: its sender, and now and then, in a
// ring, whoever stands between the sender and the straggler.
func (s *scene) letGo(straggler int) []int {
	out := []int{0}
	if s.rng.IntN(3) == 0 {
		for r := 1; r < straggler; r++ {
			out = append(out, r)
		}
	}
	return out
}

// held plays a broadcast at which a straggler does not come: who is let go runs on to the next operation that nobody can
// leave alone, and waits there.
func (s *scene) held(prog [][]op, onset time.Duration, at, straggler int, free []int) *outcome {
	o := s.play(prog, onset, s.limits([]int{straggler}, at), nil)
	for _, r := range free {
		k := at
		for k < len(prog[r]) && prog[r][k].kind == "BROADCAST" {
			k++
		}
		o.done[r], o.enqueued[r] = k, k
		for o.enqueued[r] < len(prog[r]) && !waits(prog[r][k:o.enqueued[r]]) {
			o.enqueued[r]++
		}
	}
	return o
}

// waitsAt is the truth of a hang at a synchronisation point: a stall, and where nobody is proven to have held the others
// but some are seen ahead of them, calls that do not match as well.
func (v *view) waitsAt(straggler int, free []int, point, world string) Truth {
	t := v.stalled([]int{straggler}, world)
	t.Sync = point
	if !slices.ContainsFunc(v.state, func(shown bool) bool { return shown }) || v.s.spec.Ablate == "no-world" && v.s.frame != &hfTrainer {
		t.Sync = "" // no-world takes Lightning's own lines away
	}
	if len(t.RootRanks) > 0 || !v.comparable() {
		return t
	}
	ahead, behind := false, false
	for r, shown := range v.state {
		if !shown || r == straggler {
			continue
		}
		if slices.Contains(free, r) {
			ahead = true
		} else {
			behind = true
		}
	}
	if ahead && behind && !slices.Contains(t.Candidates, "collective-mismatch") {
		t.Candidates = append(slices.Clone(t.Candidates), "collective-mismatch")
	}
	return t
}

// comparable says that lines tell of all waiting ranks that they are in one group: they name it, or their ranks in it
// reach beyond any group that only divides the world.
func (v *view) comparable() bool {
	if v.s.v.group != groupRankOnly {
		return true
	}
	most := 0
	for r, shown := range v.state {
		if shown && len(v.s.end.pendings(v.s, r)) > 0 {
			most = r
		}
	}
	return v.world && most >= v.s.world/2
}

// playSync is the common course of hangs at a broadcast.
func (s *scene) playSync(step []op, at int, point string) error {
	if !s.oneGroup() {
		return errOneGroup
	}
	root := s.straggler()
	free := s.letGo(root)
	onset := s.runUp()
	prog := s.everybody(step, 2)
	o := s.held(prog, onset, at, root, free)
	_, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("rank %d never enters BROADCAST %d; %d ranks have left it, the others wait", root, prog[0][at].seq, len(free))
	s.judge = func(v *view) Truth { return v.waitsAt(root, free, point, s.title) }
	return nil
}

// asNeMo makes the run one of NeMo on Lightning, without model parallelism: speech and multimodal models train so.
func (s *scene) asNeMo() {
	s.frame = &lightning
	s.plain(0, sec(5), fmt.Sprintf("[NeMo I %s exp_manager:396] Experiments will be logged at /results/asr/run", s.stamp(0, sec(5), "2006-01-02 15:04:05")))
}

// nemoData is NeMo with data parallelism only, whose progress lines state the step.
var nemoData = framework{
	name: "nemo", script: "speech_to_text_ctc.py", statesWorld: true,
	startup: lightning.startup,
	progress: func(s *scene, t time.Duration) {
		s.plain(0, t, fmt.Sprintf("Training epoch 0, iteration %d/499999 | lr: 2.9e-05 | global_batch_size: 256 | global_step: %d | reduced_train_loss: %.3f | train_step_timing in s: %.3f", s.step, s.step, s.loss, s.stepTime.Seconds()))
	},
	save: nemo.save,
}

// preemptionStep ends with NeMo's PreemptionCallback: an int32 scalar from rank 0, and .item() on every rank
// [NeMo nemo/utils/callbacks/preemption.py].
func (s *scene) preemptionStep() []op { return s.syncStep(2+s.rng.IntN(4), s.scalar("BROADCAST")) }

func playPreemption(s *scene) error {
	s.asNeMo()
	step := s.preemptionStep()
	return s.playSync(step, len(step)-1, "PreemptionCallback")
}

// playObject: Lightning's strategy.broadcast, which is broadcast_object_list: one length, then the bytes.
func playObject(s *scene) error {
	s.frame = &lightning
	body := s.scalar("BROADCAST")
	body.in = int64(60 + s.rng.IntN(200))
	body.out = body.in
	step := s.syncStep(2+s.rng.IntN(4), s.scalar("BROADCAST"), body, s.scalar("ALLREDUCE"))
	return s.playSync(step, len(step)-3, "Lightning's strategy")
}

// playBuffers: DistributedDataParallel's broadcast_buffers at the start of a forward pass.
func playBuffers(s *scene) error {
	s.frame = pick(s.rng, &lightning, &hfTrainer)
	s.askedWorld = s.askedWorld || !s.frame.statesWorld
	step := s.syncStep(3+s.rng.IntN(4), s.scalar("ALLREDUCE"))
	return s.playSync(step, 0, "buffer broadcast")
}

// playStackNamed: the flight recorder is on, and PyTorch prints the stack of the failed collective.
func playStackNamed(s *scene) error {
	s.asNeMo()
	s.callStack = []string{
		"#0 broadcast from /usr/local/lib/python3.12/dist-packages/torch/distributed/distributed_c10d.py:2772",
		"#1 wrapper from /usr/local/lib/python3.12/dist-packages/torch/distributed/c10d_logger.py:81",
		"#2 interrupted from /opt/NeMo/nemo/utils/callbacks/preemption.py:69",
		"#3 on_train_batch_end from /opt/NeMo/nemo/utils/callbacks/preemption.py:117",
		"#4 _call_callback_hooks from /usr/local/lib/python3.12/dist-packages/lightning/pytorch/trainer/call.py:218",
		"#5 advance from /usr/local/lib/python3.12/dist-packages/lightning/pytorch/loops/training_epoch_loop.py:278",
		"#6 main from /workspace/train.py:41",
	}
	step := s.preemptionStep()
	return s.playSync(step, len(step)-1, "PreemptionCallback")
}

// sampled writes the counters that a build with glog prints every 30 s at INFO on the rank that prints the steps, and sets
// the group's counter to what n collectives a step have made of it [ProcessGroupNCCL.cpp, kWorkStatusUpdatePeriodMs].
func (s *scene) sampled(rank, n int, last time.Duration) {
	g, steps := s.groups[0], s.step
	start := g.base
	g.base = start + n*steps
	from := sec(12)
	every := (last - from) / time.Duration(max(steps, 1))
	for k := 2; k+1 < steps; k += 3 {
		done := start + n*k + s.rng.IntN(n+1)
		s.c10(rank, from+time.Duration(k)*every+every/2, 'I', pg(s.v.at.caught+900),
			s.v.groupPrefix(g, rank)+fmt.Sprintf("NCCL Work update periodically: last enqueued NCCL work: %d, last completed NCCL work: %d.", done, done))
	}
}

// steady runs a job up that prints every step.
func (s *scene) steady() (onset, last time.Duration) {
	s.startup()
	last = s.training(sec(12), sec(12)+time.Duration(20+s.rng.IntN(18))*s.stepTime)
	return last + s.jitter(s.stepTime/4) + ms(20), last
}

var errSamples = errors.New("needs one group, dump lines, and a file for each rank")

// playStepsAhead: a group in which every step makes broadcasts only. Rank 0 sends, and is whole steps ahead before it
// stands still outside; the straggler has not come to a step's last one.
func playStepsAhead(s *scene) error {
	if !s.oneGroup() || s.v.dump == dumpNone || s.spec.FileMode != "rank" {
		return errSamples
	}
	s.asNeMo()
	s.frame = &nemoData
	root := s.straggler()
	onset, last := s.steady()
	n := 2 + s.rng.IntN(3)
	s.sampled(0, n, last)
	var step []op
	for i := range n {
		b := s.scalar("BROADCAST")
		b.in, b.out = int64(1+7*(n-1-i)), int64(1+7*(n-1-i))
		step = append(step, b)
	}
	k := 1 + s.rng.IntN(3)
	prog := s.everybody(step, k+2)
	at := n - 1
	o := s.play(prog, onset, s.limits([]int{root}, at), nil)
	o.done[0] = at + k*n
	o.enqueued[0] = o.done[0]
	_, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("rank %d never enters BROADCAST %d; rank 0, which sends, is %d steps of %d ahead", root, prog[0][at].seq, k, n)
	s.judge = func(v *view) Truth {
		t := v.waitsAt(root, []int{0}, "PreemptionCallback", s.title)
		t.PerStep, t.StepsApart = n, k
		return t
	}
	return nil
}

// playStepsApart: a rank calls a collective that the others do not, or they one that it does not; both sides wait.
func playStepsApart(s *scene) error {
	if !s.oneGroup() || s.v.dump == dumpNone || s.spec.FileMode != "rank" {
		return errSamples
	}
	s.asNeMo()
	s.frame = &nemoData
	odd := []int{1 + s.rng.IntN(s.world-1)}
	s.root = odd[0]
	onset, last := s.steady()
	step := s.syncStep(4, s.scalar("ALLREDUCE"))
	n := len(step)
	s.sampled(0, n, last)
	prog := s.everybody(step, 4)
	at := 1
	gap := 2 + s.rng.IntN(2*n-1)
	for i := range prog[0] {
		for r := range prog {
			prog[r][i].sync = false
		}
	}
	o := s.play(prog, onset, nil, stuckAt(s.groups[0], at+gap+1))
	for _, r := range odd {
		prog[r] = slices.Clone(prog[r])
		prog[r][at].kind, prog[r][at].in, prog[r][at].out = "ALLREDUCE", 1, 1
		o.done[r], o.enqueued[r] = at, at+1
	}
	for r := range prog { // the CPU stops with what it waits for
		if r != odd[0] {
			o.enqueued[r] = at + gap + 1
		}
	}
	_, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("rank %d waits %d collectives behind the others in one that nobody else calls; a step makes %d", odd[0], gap, n)
	s.judge = func(v *view) Truth {
		t := v.split(odd, s.title)
		t.PerStep, t.Gap = n, gap
		if gap%n == 0 {
			t.StepsApart = gap / n
		}
		return t
	}
	return nil
}

// stackLine is the flight recorder's stack of the failed collective, or that there is none.
func (s *scene) stackLine() string {
	if s.callStack == nil {
		return "Stack trace of the failed collective not found, potentially because FlightRecorder is disabled. You can enable it by setting TORCH_NCCL_TRACE_BUFFER_SIZE to a non-zero value."
	}
	return "Stack trace of the failed collective: \n" + strings.Join(s.callStack, "\n")
}
