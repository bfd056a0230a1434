package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"
)

// playMismatch: a minority brings another operation, another size, or another sequence number.
func playMismatch(s *scene) error {
	if !s.oneGroup() {
		return errOneGroup
	}
	odd := s.minority()
	if tie := s.rng.IntN(8) == 0; tie && !slices.Contains(fileDamages, s.spec.Damage) { // half against half: nobody is the odd one
		odd, s.root = slices.Clone(s.groups[0].ranks[:s.world/2]), -1
	}
	onset := s.runUp()
	prog := s.stepPrograms()
	kinds := []string{"op", "detail"}
	if s.v.numel {
		kinds = append(kinds, "size")
	}
	if s.spec.Layout.Kind == "fsdp" && s.v.state != stateNone {
		kinds = append(kinds, "diverged")
	}
	kind := kinds[s.rng.IntN(len(kinds))]
	at := s.rng.IntN(min(4, len(prog[0])/2))
	var dead []exit
	switch kind {
	case "op", "size":
		for _, r := range odd {
			o := &prog[r][at]
			if kind == "size" { // every operation of these programs requires equal sizes
				switch o.kind {
				case "_ALLGATHER_BASE":
					o.in += 4096
					o.out = o.in * int64(s.world)
				case "_REDUCE_SCATTER_BASE":
					o.out += 4096
					o.in = o.out * int64(s.world)
				default:
					o.in += 4096
					o.out = o.in
				}
			} else if o.kind == "ALLREDUCE" {
				o.kind, o.in, o.out = "BROADCAST", 80, 80
			} else {
				o.kind, o.in, o.out = "ALLREDUCE", 1, 1
			}
		}
		_, dead = s.timeouts(s.play(prog, onset, nil, nil), waveOptions{})
	case "diverged":
		// The odd ones wait in a scalar all-reduce that nobody else calls, the others some works further on.
		ahead := at + 2 + s.rng.IntN(3)
		o := s.play(prog, onset, nil, stuckAt(s.groups[0], ahead+1))
		for _, r := range odd {
			prog[r] = slices.Clone(prog[r])
			prog[r][at].kind, prog[r][at].in, prog[r][at].out = "ALLREDUCE", 1, 1
			o.done[r], o.enqueued[r] = at, at+1
		}
		_, dead = s.timeouts(o, waveOptions{})
	default:
		dead = s.fingerprints(prog, odd, at, onset)
	}
	s.teardown(dead)
	s.title = fmt.Sprintf("rank %s brings another collective than the others (%s)", ranges(odd), kind)
	s.judge = func(v *view) Truth {
		if kind == "detail" {
			return v.compared(odd, s.title)
		}
		return v.split(odd, s.title)
	}
	return nil
}

// split is the truth of a mismatch: direct wherever both sides are seen, and one hang among others where they are not; the
// smaller side is the root if it is smaller however the unseen ranks stand.
func (v *view) split(odd []int, world string) Truth {
	t := mismatch(world)
	var shown []int
	unseen, others := 0, 0
	for r := range v.s.world {
		switch {
		case !v.state[r]:
			unseen++
		case slices.Contains(odd, r):
			shown = append(shown, r)
		default:
			others++
		}
	}
	if len(shown) == 0 || others == 0 {
		t.Candidates, t.ForbidMechanisms = v.open(), notAHang
		return t
	}
	if 2*(len(shown)+unseen) < v.s.world {
		t.RootRanks, t.RootNodes = shown, v.rootNodes(shown)
	}
	return t
}

func mismatch(world string) Truth {
	return Truth{World: world, Candidates: []string{"collective-mismatch"}, ForbidMechanisms: append([]string{"rank-stalled"}, notAHang...)}
}

// compared is the truth where PyTorch compared the calls: each line names a rank of either side, so that one of them is
// enough to see both, and to place two ranks.
func (v *view) compared(odd []int, world string) Truth {
	t := mismatch(world)
	named := make([]bool, v.s.world)
	for r, shown := range v.state {
		if shown {
			named[r], named[counterpart(odd, r)] = true, true
		}
	}
	var few []int
	unnamed := 0
	for r, ok := range named {
		switch {
		case !ok:
			unnamed++
		case slices.Contains(odd, r):
			few = append(few, r)
		}
	}
	if 2*(len(few)+unnamed) < v.s.world {
		t.RootRanks, t.RootNodes = few, v.rootNodes(few)
	}
	return t
}

// counterpart is the rank that PyTorch shows beside rank r: the first that differs.
func counterpart(odd []int, r int) int {
	if !slices.Contains(odd, r) {
		return odd[0]
	}
	for i := 0; ; i++ {
		if !slices.Contains(odd, i) {
			return i
		}
	}
}

// fingerprints plays TORCH_DISTRIBUTED_DEBUG=DETAIL: every rank raises at once, naming itself and the first rank that
// differs. There is no space before vs [ProcessGroupWrapper.cpp, 2.7 development tree]; 1.13 has no sequence number.
func (s *scene) fingerprints(prog [][]op, odd []int, at int, onset time.Duration) []exit {
	s.end = &outcome{onset: onset}
	const options = "TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt))"
	w := prog[0][at]
	kind := func(r int) (string, int64) {
		if !slices.Contains(odd, r) {
			return w.kind, w.in
		}
		if w.kind == "ALLREDUCE" {
			return "BROADCAST", 10
		}
		return "ALLREDUCE", 1
	}
	number := ""
	if s.v.name != "1.13" {
		number = fmt.Sprintf("SequenceNumber=%d, ", w.seq)
	}
	print := func(r int) string {
		k, n := kind(r)
		return fmt.Sprintf("CollectiveFingerPrint(%sOpType=%s, TensorShape=[%d], TensorDtypes=Float, TensorDeviceTypes=%s)", number, k, n, options)
	}
	var dead []exit
	for r := range s.world {
		other := counterpart(odd, r)
		ka, na := kind(r)
		kb, nb := kind(other)
		msg := fmt.Sprintf("RuntimeError: Detected mismatch between collectives on ranks. Rank %d is running collective: %s, but Rank %d is running collective: %s.", r, print(r), other, print(other))
		if s.v.name != "1.13" {
			msg += fmt.Sprintf("Collectives differ in the following aspects: \t Op type: %svs %s  Tensor Tensor shapes: %dvs %d", ka, kb, na, nb)
		}
		t := onset + ms(200) + s.jitter(ms(80))
		s.python(r, t, "Traceback (most recent call last):",
			fmt.Sprintf("  File \"/workspace/%s\", line 214, in <module>", s.frame.script), "    main()",
			fmt.Sprintf("  File \"/workspace/%s\", line 171, in main", s.frame.script), "    loss = train_step(model, batch)",
			"  File \"/usr/local/lib/python3.10/dist-packages/torch/distributed/distributed_c10d.py\", line 2501, in all_reduce", "    work = group.allreduce([tensor], opts)", msg)
		s.entries[len(s.entries)-1].says |= saysState
		dead = append(dead, exit{r, t + ms(900) + s.jitter(ms(300)), 1})
	}
	return dead
}

// playGlooSplit: some ranks are in a collective of a Gloo group, the others in one of NCCL. Nothing of NCCL is in flight
// on the former; when the others are taken down, their Gloo connections close.
func playGlooSplit(s *scene) error {
	if !s.oneGroup() || s.v.dump == dumpNone {
		return errors.Join(errOneGroup, errDump)
	}
	odd := s.minority()
	onset := s.runUp()
	prog := s.stepPrograms()
	o := s.play(prog, onset, s.limits(odd, 0), nil)
	_, dead := s.timeouts(o, waveOptions{})
	first := slices.MinFunc(dead, func(a, b exit) int { return cmp.Compare(a.at, b.at) })
	lib := "/usr/local/lib/python3.10/dist-packages/torch/distributed/"
	for _, r := range odd {
		peer := s.ranks[first.rank].node.ip
		t := first.at + ms(20) + s.jitter(ms(40))
		s.python(r, t, "Traceback (most recent call last):",
			fmt.Sprintf("  File \"/workspace/%s\", line 214, in <module>", s.frame.script), "    main()",
			fmt.Sprintf("  File \"/workspace/%s\", line 188, in main", s.frame.script), "    reports = gather_reports(report, group=cpu_group)",
			"  File \"/workspace/reports.py\", line 41, in gather_reports", "    dist.all_gather(parts, payload, group=group)",
			"  File \""+lib+"c10d_logger.py\", line 83, in wrapper", "    return func(*args, **kwargs)",
			"  File \""+lib+"distributed_c10d.py\", line 3521, in all_gather", "    work.wait()",
			fmt.Sprintf("RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer [%s]:%d", peer, 20000+s.rng.IntN(20000)))
		dead = append(dead, exit{r, t + ms(700), 1})
	}
	s.teardown(dead)
	s.title = fmt.Sprintf("rank %s is in a Gloo all_gather while the others wait in NCCL's %s %d", ranges(odd), prog[0][0].kind, prog[0][0].seq)
	s.judge = func(v *view) Truth { return v.split(odd, s.title) }
	return nil
}

func playMultiStall(s *scene) error {
	if s.oneGroup() || s.v.group == groupRankOnly {
		return errGroups
	}
	root := s.rng.IntN(s.world)
	s.root = root
	onset := s.runUp()
	prog := s.stepPrograms()
	half := len(prog[root]) / 2
	at := s.rng.IntN(max(1, half-4))
	if pp := s.groupOf(root, "pp"); s.rng.IntN(2) == 0 || pp != nil && pp.rankIn(root) == 0 && s.rng.IntN(2) == 0 {
		at = 0 // before the step's first operation, where a batch is waited for
	}
	o := s.play(prog, onset, s.limits([]int{root}, at), nil)
	for r := range s.world {
		if r != root && o.done[r] == o.enqueued[r] {
			return fmt.Errorf("rank %d is not held by rank %d", r, root)
		}
	}
	fired, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("rank %d never enters %s %d of %s; %d timeouts in %d groups", root, prog[root][at].kind, prog[root][at].seq, prog[root][at].g.kind, len(fired), countGroups(fired))
	s.judge = func(v *view) Truth { return v.stalled([]int{root}, s.title) }
	return nil
}

func countGroups(fired []firing) int {
	seen := map[*group]bool{}
	for _, f := range fired {
		seen[f.p.op.g] = true
	}
	return len(seen)
}

func playMultiHang(s *scene) error {
	if s.oneGroup() || s.v.group == groupRankOnly {
		return errGroups
	}
	onset := s.runUp()
	prog := s.stepPrograms()
	var choices []*group
	for _, g := range s.groups[1:] {
		if len(g.ranks) > 1 && slices.ContainsFunc(prog[g.ranks[0]], func(o op) bool { return o.g == g && !o.p2p() }) && (g.kind == "tp" || g.kind == "ep" || g.kind == "dp" || g.kind == "shard") {
			choices = append(choices, g)
		}
	}
	if len(choices) == 0 {
		return errors.New("no group of two or more to hang in")
	}
	g := choices[s.rng.IntN(len(choices))]
	n := 0
	for _, o := range prog[g.ranks[0]] {
		if o.g == g && !o.p2p() {
			n++
		}
	}
	k := 1 + s.rng.IntN(max(1, n/2-1))
	o := s.play(prog, onset, nil, stuckAt(g, k))
	for r := range s.world {
		if o.done[r] == o.enqueued[r] {
			return fmt.Errorf("rank %d is not held by group %s", r, g.guid)
		}
	}
	fired, dead := s.timeouts(o, waveOptions{})
	s.teardown(dead)
	s.title = fmt.Sprintf("the %d ranks of %s group %s hang inside work %d; %d timeouts in %d groups", len(g.ranks), g.kind, g.guid, g.base+k, len(fired), countGroups(fired))
	s.judge = func(v *view) Truth {
		// Without stated members somebody unseen might belong to the group. Every rank of a known world is seen waiting,
		// though, so nobody is left to have stalled.
		return v.closed(s.title)
	}
	return nil
}
